// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Memory that this process may access.
 *
 * The kernel copies a byte of each page into a pipe, and back.  It tells where that fails, also for
 * memory of devices and of files that have become shorter.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/access.h"

/* Pages that are checked at a time; a pipe has room for more bytes. */
#define BATCH	256

static int check_batch(const int ends[2], const struct iovec *pages, int count, bool write)
{
	char unused[BATCH];

	if (writev(ends[1], pages, count) != count)
		return -EFAULT;
	if (write)
		return readv(ends[0], pages, count) == count ? 0 : -EFAULT;
	return read(ends[0], unused, count) == count ? 0 : -EIO;
}

int cm_access_check(char *addr, size_t bytes, bool write)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	struct iovec pages[BATCH];
	size_t at = 0;
	int ends[2], count, err = 0;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	while (!err && at < bytes) {
		for (count = 0; count < BATCH && at < bytes; count++) {
			pages[count] = (struct iovec){ .iov_base = addr + at, .iov_len = 1 };
			at += page - (uintptr_t)(addr + at) % page;
		}
		err = check_batch(ends, pages, count, write);
	}
	close(ends[0]);
	close(ends[1]);
	return err;
}
