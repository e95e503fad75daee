/* SPDX-License-Identifier: GPL-2.0-only */
/* Open files that go from one process to another over a socket of AF_UNIX. */
#ifndef COLL_PASS_FILE_H
#define COLL_PASS_FILE_H

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

/* Send a file.  Return: 0 or a negative errno. */
static inline int file_send(int to, int fd)
{
	char byte = 0, space[CMSG_SPACE(sizeof(fd))] = "";
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = space,
		.msg_controllen = sizeof(space),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	return sendmsg(to, &msg, 0) == 1 ? 0 : -errno;
}

/* Wait for a file.  Return: it, or -1. */
static inline int file_receive(int from)
{
	char byte, space[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = space,
		.msg_controllen = sizeof(space),
	};
	int fd;

	if (recvmsg(from, &msg, 0) != 1 || !CMSG_FIRSTHDR(&msg))
		return -1;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

#endif /* COLL_PASS_FILE_H */
