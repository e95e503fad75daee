// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "output.h"

static int status_when_lost;

int output_flush(void)
{
	static bool said;
	bool earlier = ferror(stdout);

	errno = 0;
	if (!fflush(stdout) && !earlier)
		return 0;
	if (!said)
		fprintf(stderr, "%s: standard output: %s\n", program_invocation_short_name,
			errno ? strerror(errno) : "it could not be written");
	said = true;
	return -1;
}

static void check(void)
{
	if (output_flush())
		_exit(status_when_lost);
	/* Some file systems report errors only here.  EBADF: it was never open, nothing is lost. */
	if (close(STDOUT_FILENO) && errno != EBADF) {
		perror("standard output");
		_exit(status_when_lost);
	}
}

void output_check_at_exit(int status)
{
	status_when_lost = status;
	/* Cannot fail: there is space for at least 32 functions. */
	(void)atexit(check);
}

int output_version(void)
{
	printf("%s %s\n", program_invocation_short_name, VERSION);
	return 0;
}
