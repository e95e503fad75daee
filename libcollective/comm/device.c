// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bootstrap/address.h"
#include "bootstrap/secret.h"
#include "collective.h"
#include "comm/config.h"
#include "comm/deadline.h"
#include "comm/device.h"
#include "comm/interrupt.h"

/* Longest pause between two attempts to connect, in ms. */
#define CONNECT_PAUSE_MS	64

/* Call an ioctl once.  After -EINTR part of its time limit may have passed. */
static int call_once(int fd, unsigned long request, void *arg)
{
	return ioctl(fd, request, arg) < 0 ? -errno : 0;
}

/* Repeat an ioctl after -EINTR: it has changed nothing, or @arg says where to go on. */
static int call(int fd, unsigned long request, void *arg)
{
	int err;

	do {
		err = call_once(fd, request, arg);
	} while (err == -EINTR);
	return err;
}

/* Explain why the device cannot be opened, and what to do. */
static int open_failed(const char *path, int err, struct coll_detail *detail)
{
	struct stat info;

	if (err == -ENOENT || err == -ENXIO)
		return coll_fail(detail, err, "%s: %s (is the module loaded?)", path,
				 strerror(-err));
	if ((err != -EACCES && err != -EPERM) || stat(path, &info))
		return coll_fail(detail, err, "%s: %s", path, strerror(-err));
	if (err == -EACCES && (info.st_mode & 0060) == 0060 && (info.st_mode & 0006) != 0006)
		return coll_fail(detail, err,
				 "%s: %s: mode %04o is for the members of group %u: add the user to it and log in again (\"collectivectl check\" tells how)",
				 path, strerror(-err), info.st_mode & 07777, info.st_gid);
	return coll_fail(detail, err,
			 "%s: %s: mode %04o, owner %u, group %u (\"collectivectl check\" tells more)",
			 path, strerror(-err), info.st_mode & 07777, info.st_uid, info.st_gid);
}

int coll_device_open(int nranks, struct coll_detail *detail)
{
	const char *path = secure_getenv("COLL_DEVICE");
	struct collective_query query = { .size = sizeof(query) };
	int fd, err;

	if (!path || !*path)
		path = "/dev/collective";
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return open_failed(path, -errno, detail);
	err = call(fd, COLLECTIVE_IOC_QUERY, &query);
	if (err) {
		coll_fail(detail, err, "%s does not answer: %s", path,
			  strerror(-err));
		goto close;
	}
	if (query.abi_version != COLLECTIVE_ABI_VERSION) {
		err = coll_fail(detail, -EOPNOTSUPP,
				"%s speaks version %u of the interface, the library %u",
				path, query.abi_version,
				COLLECTIVE_ABI_VERSION);
		goto close;
	}
	if ((unsigned int)nranks > query.ranks_max) {
		err = coll_fail(detail, -EINVAL,
				"%d ranks, but the kernel allows %u", nranks,
				query.ranks_max);
		goto close;
	}
	return fd;

close:
	close(fd);
	return err;
}

bool coll_device_has(int fd, __u64 feature)
{
	struct collective_query query = { .size = sizeof(query) };

	return !call(fd, COLLECTIVE_IOC_QUERY, &query) && query.features & feature;
}

/* Why JOIN has failed. */
static const char *join_error(const struct coll_settings *settings, int err)
{
	if (settings->transport != COLLECTIVE_TRANSPORT_RDMA)
		return coll_strerror(err);
	switch (err) {
	case -EOPNOTSUPP:
		return "the kernel has no module collective_rdma";
	case -ENODEV:
		return "no RDMA device has this address";
	case -EPROTONOSUPPORT:
		return "the RDMA device with this address is an iWARP one, which is not supported";
	}
	return coll_strerror(err);
}

/* JOIN at a port of the range.  A port that is in use leaves the device as it is. */
static int join_at_port(int fd, const struct coll_settings *settings, struct collective_join *join,
			struct sockaddr_storage *addr)
{
	int err = -EADDRINUSE;
	unsigned int n = 0;

	while (err == -EADDRINUSE && coll_ports_next(settings, &n, addr)) {
		join->addr_len = coll_address_length(addr);
		memcpy(join->addr, addr, join->addr_len);
		err = call(fd, COLLECTIVE_IOC_JOIN, join);
	}
	return err;
}

int coll_device_join(int fd, const struct coll_settings *settings,
		     struct sockaddr_storage *addr, struct coll_detail *detail)
{
	struct collective_join join = {
		.size = sizeof(join),
		.id = settings->id,
		.rank = settings->rank,
		.nranks = settings->nranks,
		.transport = settings->transport,
		.lanes = settings->lanes,
		.timeout_ms = settings->timeout_ms,
		.heartbeat_ms = settings->heartbeat_ms,
	};
	char local[COLL_ADDRESS_TEXT];
	int err;

	_Static_assert(sizeof(join.addr) == sizeof(*addr),
		       "COLLECTIVE_ADDR_SIZE is sockaddr_storage");
	/* A kernel without boards knows no flag. */
	join.flags = settings->private ? COLLECTIVE_JOIN_PRIVATE : 0;
	memcpy(join.name, settings->name, strlen(settings->name));
	memcpy(join.algorithm, settings->algorithm, sizeof(join.algorithm));
	if (settings->secured)
		memcpy(join.secret, settings->secret->key, sizeof(join.secret));
	err = join_at_port(fd, settings, &join, addr);
	/* A kernel that does not know the flag maps nothing. */
	if (err == -EINVAL && join.flags) {
		join.flags = 0;
		err = join_at_port(fd, settings, &join, addr);
	}
	explicit_bzero(join.secret, sizeof(join.secret));
	coll_address_format_host(addr, local);
	if (err == -EADDRINUSE && settings->ports.first)
		return coll_fail(detail, err,
				 "rank %d cannot join group %s on %s: no port of %u-%u is free",
				 settings->rank, settings->name, local, settings->ports.first,
				 settings->ports.last);
	if (err)
		return coll_fail(detail, err,
				 "rank %d cannot join group %s on %s: %s",
				 settings->rank, settings->name, local,
				 join_error(settings, err));
	/* With what the rank offers, which is behind the address proper. */
	memcpy(addr, join.addr, sizeof(*addr));
	if (!coll_address_length(addr) || !coll_address_port(addr))
		return coll_fail(detail, -EPROTO,
				 "the device returned no bound address");
	return 0;
}

/* Ports of closed connections become free a moment later; the same call then goes on. */
static bool connect_may_pass(int err)
{
	return err == -EADDRINUSE || err == -EADDRNOTAVAIL;
}

/*
 * CONNECT, where a function of the caller's may end it: the kernel restarts a blocking call after a
 * signal whose handler says so, and no signal need come.
 */
static int connect_interruptible(int fd, struct collective_connect *connect, __u64 deadline)
{
	const int flags = fcntl(fd, F_GETFL);
	struct pollfd up = { .fd = fd, .events = POLLOUT };
	int err;

	if (!coll_interrupt_can() || flags & O_NONBLOCK)
		return call_once(fd, COLLECTIVE_IOC_CONNECT, connect);
	fcntl(fd, F_SETFL, flags | O_NONBLOCK);
	err = call_once(fd, COLLECTIVE_IOC_CONNECT, connect);
	while (err == -EINPROGRESS && coll_deadline_left(deadline)) {
		(void)coll_interrupt_poll(&up, 1, coll_deadline_left(deadline));
		err = call_once(fd, COLLECTIVE_IOC_CONNECT, connect);
	}
	fcntl(fd, F_SETFL, flags);
	if (err != -EINPROGRESS)
		return err;
	/* Without time left the blocking call says which rank is late. */
	return coll_interrupt_wanted() ? -EINTR : call_once(fd, COLLECTIVE_IOC_CONNECT, connect);
}

int coll_device_connect(int fd, const struct sockaddr_storage *peers,
			unsigned int npeers, unsigned int timeout_ms)
{
	struct collective_connect connect = {
		.size = sizeof(connect),
		.peers = (uintptr_t)peers,
		.npeers = npeers,
	};
	__u64 deadline = coll_deadline_in(timeout_ms);
	unsigned int pause_ms = 1;
	int err;

	for (;;) {
		/* 0 would mean the default. */
		connect.timeout_ms = coll_deadline_left(deadline) ?: 1;
		err = connect_interruptible(fd, &connect, deadline);
		if (err == -EINTR && !coll_interrupt_ask(true))
			continue;
		if (!connect_may_pass(err) || coll_deadline_left(deadline) <= pause_ms)
			return err;
		poll(NULL, 0, pause_ms);
		if (pause_ms < CONNECT_PAUSE_MS)
			pause_ms *= 2;
	}
}

int coll_device_submit(int fd, const struct collective_op *op, int timeout_ms, __u64 *request,
		       __u64 *received)
{
	struct collective_submit submit = {
		.size = sizeof(submit),
		.flags = timeout_ms ? 0 : COLLECTIVE_SUBMIT_NOWAIT,
		.op = *op,
		.wait_ms = timeout_ms > 0 ? timeout_ms : 0,
	};
	int err;

	/* After EINTR @submit.request is the request to wait for; 0: nothing was submitted. */
	do {
		err = call_once(fd, COLLECTIVE_IOC_SUBMIT, &submit);
	} while (err == -EINTR && (timeout_ms < 0 || !submit.request));
	*request = submit.request;
	*received = submit.received;
	return submit.request && (!err || err == -EINTR) ? -EINPROGRESS : err;
}

int coll_device_resume(int fd, const struct collective_op *op, __u64 instance, int timeout_ms,
		       __u64 *request)
{
	struct collective_submit submit = {
		.size = sizeof(submit),
		.op = *op,
		.wait_ms = timeout_ms > 0 ? timeout_ms : 0,
	};
	int err;

	/* After EINTR the kernel has a request for it; without one it has not gone on yet. */
	do {
		submit.flags = submit.request ? 0 : COLLECTIVE_SUBMIT_BOARD;
		submit.received = submit.request ? 0 : instance;
		err = call_once(fd, COLLECTIVE_IOC_SUBMIT, &submit);
	} while (err == -EINTR && (timeout_ms < 0 || !submit.request));
	*request = submit.request;
	return submit.request && (!err || err == -EINTR) ? -EINPROGRESS : err;
}

void coll_device_wake(int fd)
{
	struct collective_wake wake = { .size = sizeof(wake) };

	(void)call(fd, COLLECTIVE_IOC_WAKE, &wake);
}

int coll_device_abort(int fd)
{
	struct collective_abort abort = { .size = sizeof(abort) };

	return call(fd, COLLECTIVE_IOC_ABORT, &abort);
}

int coll_device_cancel(int fd, __u64 request)
{
	struct collective_cancel cancel = { .size = sizeof(cancel), .request = request };

	return call(fd, COLLECTIVE_IOC_CANCEL, &cancel);
}

int coll_device_wait(int fd, const __u64 *requests, unsigned int count,
		     int timeout_ms, __u64 *which, __u64 *received)
{
	struct collective_wait wait = {
		.size = sizeof(wait),
		.flags = COLLECTIVE_WAIT_ANY,
		.requests = (uintptr_t)requests,
		.count = count,
	};
	__u64 deadline = timeout_ms > 0 ? coll_deadline_in(timeout_ms) : 0;
	int err;

	do {
		if (timeout_ms >= 0) {
			wait.timeout_ms = deadline ? coll_deadline_left(deadline) : 0;
			if (!wait.timeout_ms)
				wait.flags |= COLLECTIVE_WAIT_NOWAIT;
		}
		err = call_once(fd, COLLECTIVE_IOC_WAIT, &wait);
	} while (err == -EINTR && (timeout_ms < 0 || !coll_interrupt_ask(true)));
	*which = wait.request;
	*received = wait.received;
	return err == -EINTR ? -EINPROGRESS : err;
}

int coll_device_register(int fd, const void *addr, size_t size,
			 unsigned int flags, __u32 *buffer)
{
	struct collective_register reg = {
		.size = sizeof(reg),
		.flags = flags,
		.addr = (uintptr_t)addr,
		.length = size,
	};
	int err = call(fd, COLLECTIVE_IOC_REGISTER, &reg);

	*buffer = reg.buffer;
	return err;
}

int coll_device_unregister(int fd, __u32 buffer)
{
	struct collective_unregister unreg = {
		.size = sizeof(unreg),
		.buffer = buffer,
	};

	return call(fd, COLLECTIVE_IOC_UNREGISTER, &unreg);
}

int coll_device_status(int fd, struct collective_status *status)
{
	memset(status, 0, sizeof(*status));
	status->size = sizeof(*status);
	return call(fd, COLLECTIVE_IOC_STATUS, status);
}

int coll_device_leave(int fd)
{
	struct collective_leave leave = { .size = sizeof(leave) };

	return call(fd, COLLECTIVE_IOC_LEAVE, &leave);
}
