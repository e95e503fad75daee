/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For a test that looks at the ioctls of the library, or makes them fail.  The library is linked
 * statically and calls this ioctl().  Include in one file of a program.
 */
#ifndef COLL_BEFORE_IOCTL_H
#define COLL_BEFORE_IOCTL_H

#include <errno.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Called before each ioctl of the program, with its argument; NULL: none is.  Return: 0, or the
 * errno with which the ioctl fails instead.
 */
static int (*before_ioctl)(unsigned long request, const void *arg);

int ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *arg;
	int error;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	error = before_ioctl ? before_ioctl(request, arg) : 0;
	if (error) {
		errno = error;
		return -1;
	}
	return syscall(SYS_ioctl, fd, request, arg);
}

#endif /* COLL_BEFORE_IOCTL_H */
