// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include <linux/filter.h>

#include "bootstrap/address.h"
#include "bootstrap/rejoin_port.h"
#include "comm/deadline.h"
#include "comm/device.h"
#include "shrink/message.h"

/* Offset of the rejoin port: behind the largest address (address.h). */
#define PORT_AT		sizeof(struct sockaddr_in6)

/*
 * Size of the receive buffer for messages that arrive while no call reads them; the kernel may
 * allow less.
 */
#define RCVBUF_SIZE		(1 << 20)

_Static_assert(PORT_AT + sizeof(uint16_t) <= sizeof(struct sockaddr_storage), "port");

uint16_t coll_rejoin_port_get(const struct sockaddr_storage *addr)
{
	uint16_t port;

	memcpy(&port, (const char *)addr + PORT_AT, sizeof(port));
	return port;
}

void coll_rejoin_port_set(struct sockaddr_storage *addr, uint16_t port)
{
	memcpy((char *)addr + PORT_AT, &port, sizeof(port));
}

/*
 * Drop datagrams that are no messages of coll_shrink(), so that they take no buffer space.  The
 * filter sees datagrams from the UDP header on.  An unauthenticated sender that knows the
 * format can still fill the buffer.
 */
static void attach_filter(int fd)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 8),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, COLL_SHRINK_MAGIC, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, ~0U),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	const struct sock_fprog program = { .len = 4, .filter = code };

	setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

/* Open a socket at @addr, on a free port, that receives ICMP errors. */
static int open_at(const struct coll_settings *settings, struct sockaddr_storage *addr)
{
	const bool v6 = addr->ss_family == AF_INET6;
	const int yes = 1, size = RCVBUF_SIZE;
	int fd, err;

	fd = socket(addr->ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	/* Errors are ignored: both calls are optimizations. */
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	attach_filter(fd);
	err = setsockopt(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_RECVERR : IP_RECVERR, &yes,
			 sizeof(yes)) ? -errno : coll_ports_bind(settings, fd, addr);
	if (!err)
		return fd;
	close(fd);
	return err;
}

static int open_rejoin_port(struct coll_settings *settings, struct sockaddr_storage *addr)
{
	struct sockaddr_storage own = *addr;
	socklen_t length = sizeof(own);

	if (settings->rejoin_fd < 0)
		settings->rejoin_fd = open_at(settings, &own);
	if (settings->rejoin_fd < 0)
		return settings->rejoin_fd;
	if (getsockname(settings->rejoin_fd, (struct sockaddr *)&own, &length))
		return -errno;
	coll_rejoin_port_set(addr, coll_address_port(&own));
	return 0;
}

/* JOIN and open the rejoin port; EADDRNOTAVAIL leaves the device as it is, or has joined it. */
static int join_once(int fd, struct coll_settings *settings, struct sockaddr_storage *addr,
		     bool *joined, struct coll_detail *detail)
{
	int err = *joined ? 0 : coll_device_join(fd, settings, addr, detail);

	if (err)
		return err;
	if (!*joined)
		coll_rejoin_port_set(addr, 0);
	*joined = true;
	if (settings->nranks > 1)
		err = open_rejoin_port(settings, addr);
	return err ? coll_fail(detail, err, "rank %d cannot open a socket: %s", settings->rank,
			       coll_errno_text(-err)) : 0;
}

int coll_rejoin_port_join(int fd, struct coll_settings *settings, struct sockaddr_storage *addr,
			  struct coll_detail *detail)
{
	const uint64_t begin = coll_deadline_now();
	bool joined = false;
	int err;

	for (;;) {
		err = join_once(fd, settings, addr, &joined, detail);
		if (err != -EADDRNOTAVAIL || !coll_address_wait(addr, begin, settings->deadline))
			return err;
		if (detail->text)
			detail->text[0] = '\0';
	}
}

void coll_rejoin_port_close(struct coll_settings *settings)
{
	if (settings->rejoin_fd >= 0)
		close(settings->rejoin_fd);
	settings->rejoin_fd = -1;
}
