// SPDX-License-Identifier: LGPL-2.1-or-later
/* Connections between the hosts that are tried. */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "bootstrap/address.h"
#include "bootstrap/bytes.h"
#include "bootstrap/place.h"
#include "bootstrap/probe.h"
#include "comm/deadline.h"
#include "comm/interrupt.h"
#include "comm/ports.h"

/* Time of a round in ms: a SYN that is lost is sent again after a second. */
#define ROUND_MS	1500

#define BACKLOG		256

/* What a connection carries: these bytes and the rank u32.  Nothing authenticates them. */
#define MAGIC		0x504c4c43	/* "CLLP" */
#define TOKEN_SIZE	8

static int listen_at(struct sockaddr_storage *addr)
{
	const int yes = 1, no = 0;
	socklen_t length = sizeof(*addr);
	int fd, err = 0;

	fd = socket(addr->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (addr->ss_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
	if (bind(fd, (struct sockaddr *)addr, coll_address_length(addr)) || listen(fd, BACKLOG) ||
	    getsockname(fd, (struct sockaddr *)addr, &length))
		err = -errno;
	if (!err)
		return fd;
	close(fd);
	return err;
}

/*
 * With SO_REUSEADDR two sockets can be bound to a port before either listens, and listen() then
 * finds the port in use.
 */
static int listen_with(const struct probe *probe, int family, uint16_t *port)
{
	struct sockaddr_storage addr = { .ss_family = family };
	int fd = -EADDRINUSE;
	unsigned int n = 0;

	while (fd == -EADDRINUSE && coll_ports_next(probe->settings, &n, &addr))
		fd = listen_at(&addr);
	*port = fd < 0 ? 0 : coll_address_port(&addr);
	return fd;
}

int probe_listen(const struct probe *probe, uint16_t *port)
{
	int fd = listen_with(probe, AF_INET6, port);

	return fd < 0 ? listen_with(probe, AF_INET, port) : fd;
}

/* Does the address belong to this host, although it is another's? */
static bool is_own(const struct sockaddr_storage *addr)
{
	struct sockaddr_storage here;

	return !coll_address_route(&here, addr) && coll_address_same_host(&here, addr);
}

/* Is it this process that lacks something, so that nothing is known of the way? */
static bool is_lack(int err)
{
	return err == -EMFILE || err == -ENFILE || err == -ENOMEM || err == -ENOBUFS;
}

/* Begin to connect to a peer.  Return: a socket, or a negative errno. */
static int begin(const struct probe *probe, unsigned int peer)
{
	struct sockaddr_storage to = probe_place(probe, peer)->addr;
	struct sockaddr_storage own = probe_place(probe, probe->own)->addr;
	int fd, err = 0;

	if (is_own(&to))
		return -EADDRNOTAVAIL;
	coll_address_set_port(&to, probe->hosts[peer].port);
	coll_address_set_port(&own, 0);
	fd = socket(to.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if ((probe->bound && bind(fd, (struct sockaddr *)&own, coll_address_length(&own))) ||
	    (connect(fd, (struct sockaddr *)&to, coll_address_length(&to)) &&
	     errno != EINPROGRESS))
		err = -errno;
	if (!err)
		return fd;
	close(fd);
	return err;
}

/* A connection is complete, or has failed: tell the rank of this end. */
static bool finish(const struct probe *probe, int fd)
{
	uint8_t token[TOKEN_SIZE];
	socklen_t length = sizeof(int);
	int err = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &length) || err)
		return false;
	put32(token, MAGIC);
	put32(token + 4, probe->settings->rank);
	(void)send(fd, token, sizeof(token), MSG_NOSIGNAL);
	return true;
}

uint64_t probe_connect(const struct probe *probe)
{
	const unsigned int n = probe_peers(probe);
	const unsigned int left = coll_deadline_left(probe->settings->deadline) / 8;
	const uint64_t deadline = coll_deadline_in(left < ROUND_MS ? left : ROUND_MS);
	struct pollfd polls[PROBE_PEERS_MAX];
	unsigned int i, waiting = 0;
	uint64_t reached = 0;

	for (i = 0; i < n; i++) {
		polls[i] = (struct pollfd) {
			.fd = begin(probe, probe_peer(probe, probe->own, i)),
			.events = POLLOUT,
		};
		waiting += polls[i].fd >= 0;
		if (is_lack(polls[i].fd))
			reached |= (uint64_t)1 << i;
	}
	while (waiting && coll_deadline_left(deadline)) {
		if (coll_interrupt_poll(polls, n, coll_deadline_left(deadline)) < 0 &&
		    errno != EINTR)
			break;
		for (i = 0; i < n; i++) {
			if (polls[i].fd < 0 || !polls[i].revents)
				continue;
			if (finish(probe, polls[i].fd))
				reached |= (uint64_t)1 << i;
			close(polls[i].fd);
			polls[i].fd = -1;
			waiting--;
		}
	}
	for (i = 0; i < n; i++)
		if (polls[i].fd >= 0)
			close(polls[i].fd);
	return reached;
}

/* An IPv4 address that came to a socket of IPv6, as itself. */
static void unmap(struct sockaddr_storage *addr)
{
	const struct sockaddr_in6 *v6 = (const void *)addr;
	struct sockaddr_in v4 = { .sin_family = AF_INET };

	if (addr->ss_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
		return;
	memcpy(&v4.sin_addr, v6->sin6_addr.s6_addr + 12, sizeof(v4.sin_addr));
	memset(addr, 0, sizeof(*addr));
	memcpy(addr, &v4, sizeof(v4));
}

/*
 * Is the address in a network of the card?  A host may have addresses that it does not tell, and
 * connect from one of them.
 */
static bool is_near(const struct bootstrap_card *card, const struct sockaddr_storage *addr)
{
	unsigned int j;

	for (j = 0; j < card->naddrs; j++)
		if (coll_address_same_host(&card->addrs[j].addr, addr) ||
		    (card->addrs[j].prefix &&
		     coll_address_in_network(addr, &card->addrs[j].addr, card->addrs[j].prefix)))
			return true;
	return false;
}

/* The connection came from @from. */
static void note_origin(struct probe *probe, int fd, const struct sockaddr_storage *from)
{
	const struct bootstrap_card *card;
	uint8_t token[TOKEN_SIZE];
	uint32_t rank;

	if (recv(fd, token, sizeof(token), MSG_DONTWAIT) != sizeof(token) ||
	    get32(token) != MAGIC)
		return;
	rank = get32(token + 4);
	if (rank >= (uint32_t)probe->settings->nranks)
		return;
	card = &probe->cards[rank];
	if (!card->naddrs || is_near(card, from))
		return;
	probe->stranger = rank;
	probe->origin = *from;
}

void probe_accept(struct probe *probe, int listener)
{
	struct sockaddr_storage from;
	socklen_t length;
	unsigned int n;
	int fd;

	for (n = 0; n < BACKLOG; n++) {
		memset(&from, 0, sizeof(from));
		length = sizeof(from);
		fd = accept4(listener, (struct sockaddr *)&from, &length, SOCK_CLOEXEC);
		if (fd < 0)
			return;
		unmap(&from);
		note_origin(probe, fd, &from);
		close(fd);
	}
}
