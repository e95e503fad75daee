// SPDX-License-Identifier: LGPL-2.1-or-later
/* The host of this process. */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "common/digest.h"
#include "common/host.h"

long long cm_host_digest(int rank)
{
	unsigned long long digest = CM_DIGEST_INIT;
	struct utsname names;
	char boot[64];
	FILE *file;

	if (!uname(&names))
		digest = cm_digest(digest, names.nodename, strlen(names.nodename));
	file = fopen("/proc/sys/kernel/random/boot_id", "re");
	if (file && fgets(boot, sizeof(boot), file))
		digest = cm_digest(digest, boot, strlen(boot));
	else
		digest = cm_digest(digest, &rank, sizeof(rank));
	if (file)
		fclose(file);
	return cm_digest_value(digest);
}
