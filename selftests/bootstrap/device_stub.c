// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bootstrap/address.h"
#include "comm/config.h"
#include "comm/device.h"
#include "device_stub.h"

int stub_open_error;
bool stub_without_sockets;

int coll_device_open(int nranks, struct coll_detail *detail)
{
	int fd;

	(void)nranks;
	if (stub_open_error)
		return coll_fail(detail, stub_open_error, "the device: %s",
				 strerrordesc_np(-stub_open_error));
	fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	return fd < 0 ? coll_fail(detail, -errno, "the device: %s", strerrordesc_np(errno)) : fd;
}

int coll_device_join(int fd, const struct coll_settings *settings,
		     struct sockaddr_storage *addr, struct coll_detail *detail)
{
	socklen_t length = coll_address_length(addr);
	int listener;

	(void)fd;
	if (stub_without_sockets) {
		coll_address_set_port(addr, 1024 + settings->rank);
		return 0;
	}
	coll_address_set_port(addr, 0);
	/* The socket stays open until the process exits. */
	listener = socket(addr->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener < 0 || bind(listener, (struct sockaddr *)addr, length) ||
	    listen(listener, settings->nranks) ||
	    getsockname(listener, (struct sockaddr *)addr, &length))
		return coll_fail(detail, -errno, "rank %d cannot join: %s", settings->rank,
				 strerrordesc_np(errno));
	return 0;
}

int coll_device_connect(int fd, const struct sockaddr_storage *peers,
			unsigned int npeers, unsigned int timeout_ms)
{
	unsigned int i;
	int out, err;

	(void)fd;
	(void)timeout_ms;
	for (i = 0; !stub_without_sockets && npeers > 1 && i < npeers; i++) {
		out = socket(peers[i].ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (out < 0)
			return -errno;
		err = connect(out, (const struct sockaddr *)&peers[i],
			      coll_address_length(&peers[i])) ? -errno : 0;
		close(out);
		if (err)
			return err;
	}
	return 0;
}

int coll_device_submit(int fd, const struct collective_op *op, int timeout_ms, __u64 *request,
		       __u64 *received)
{
	(void)fd;
	(void)op;
	(void)timeout_ms;
	*request = 0;
	*received = 0;
	return -EOPNOTSUPP;
}

int coll_device_resume(int fd, const struct collective_op *op, __u64 instance, int timeout_ms,
		       __u64 *request)
{
	(void)fd;
	(void)op;
	(void)instance;
	(void)timeout_ms;
	*request = 0;
	return -EOPNOTSUPP;
}

bool coll_device_has(int fd, __u64 feature)
{
	(void)fd;
	(void)feature;
	return false;
}

int coll_device_abort(int fd)
{
	(void)fd;
	return -EOPNOTSUPP;
}

void coll_device_wake(int fd)
{
	(void)fd;
}

int coll_device_cancel(int fd, __u64 request)
{
	(void)fd;
	(void)request;
	return -EOPNOTSUPP;
}

int coll_device_wait(int fd, const __u64 *requests, unsigned int count,
		     int timeout_ms, __u64 *which, __u64 *received)
{
	(void)fd;
	(void)requests;
	(void)count;
	(void)timeout_ms;
	*which = 0;
	*received = 0;
	return -EOPNOTSUPP;
}

int coll_device_register(int fd, const void *addr, size_t size,
			 unsigned int flags, __u32 *buffer)
{
	(void)fd;
	(void)addr;
	(void)size;
	(void)flags;
	*buffer = 0;
	return -EOPNOTSUPP;
}

int coll_device_unregister(int fd, __u32 buffer)
{
	(void)fd;
	(void)buffer;
	return -EOPNOTSUPP;
}

int coll_device_status(int fd, struct collective_status *status)
{
	(void)fd;
	memset(status, 0, sizeof(*status));
	status->lanes = 1;
	return 0;
}

int coll_device_leave(int fd)
{
	(void)fd;
	return 0;
}
