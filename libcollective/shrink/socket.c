// SPDX-License-Identifier: LGPL-2.1-or-later
/* Datagrams of coll_shrink(), sent and received by the rejoin port, and ICMP errors. */
#include <errno.h>
#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <string.h>
#include <time.h>

#include <linux/errqueue.h>

#include "bootstrap/address.h"
#include "bootstrap/bytes.h"
#include "bootstrap/rejoin_port.h"
#include "comm/deadline.h"
#include "comm/interrupt.h"
#include "shrink/shrink.h"

/* Maximum number of datagrams that are handled at once, in addition to a few for each rank. */
#define BATCH	256

static void set_socket_error(struct coll_shrink *shrink, int err, const char *what)
{
	if (!shrink->socket_error)
		shrink->socket_error = coll_fail(&shrink->detail, err, "rank %d cannot %s: %s",
						 shrink->comm->rank, what, coll_errno_text(-err));
}

/*
 * Is it an error of the network, or of an earlier datagram?  Then a datagram is lost, and that
 * is all.
 */
static bool is_packet_loss(int err)
{
	switch (err) {
	case EAGAIN:
	case EINTR:
	case ENOBUFS:
	case ENOMEM:
	case EPERM:		/* a packet filter */
	case EACCES:
	case EPROTO:
	case ECONNREFUSED:
	case EHOSTUNREACH:
	case EHOSTDOWN:
	case ENETUNREACH:
	case ENETDOWN:
	case ENONET:
	case ENOPROTOOPT:
	case EMSGSIZE:
	case EOPNOTSUPP:
	case EADDRNOTAVAIL:
	case EINVAL:		/* the local address, or */
	case ENODEV:		/* its device, has gone */
		return true;
	}
	return false;
}

static struct sockaddr_storage rejoin_addr(const struct coll_shrink *shrink, unsigned int rank)
{
	struct sockaddr_storage addr = shrink->comm->peers[rank];

	coll_address_set_port(&addr, coll_rejoin_port_get(&addr));
	return addr;
}

static void transmit(struct coll_shrink *shrink, const struct coll_agree_message *message,
		     const uint8_t *body, size_t length)
{
	struct sockaddr_storage to = rejoin_addr(shrink, message->to);
	uint8_t bytes[COLL_SHRINK_MESSAGE_MAX];
	size_t size = coll_shrink_write(bytes, &shrink->comm->settings, message, body, length);

	if (sendto(shrink->comm->settings.rejoin_fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL,
		   (struct sockaddr *)&to, coll_address_length(&to)) < 0 && !is_packet_loss(errno))
		set_socket_error(shrink, -errno, "send");
}

/* Send the addresses of all members, in several datagrams if necessary. */
static void transmit_places(struct coll_shrink *shrink, const struct coll_agree_message *message)
{
	const struct coll_ranks *members = &message->value.members;
	uint8_t body[COLL_SHRINK_BODY_MAX];
	unsigned int rank, n = 0, first = 0;

	for (rank = 0; rank < shrink->agree.nranks; rank++) {
		if (!coll_ranks_has(members, rank))
			continue;
		bootstrap_write_entry(body + 8 + n * BOOTSTRAP_ENTRY_SIZE,
				      rank == shrink->agree.rank ? &shrink->child->addr :
				      &shrink->places[rank]);
		if (++n < COLL_SHRINK_PLACES_MAX && first + n < coll_ranks_count(members))
			continue;
		put32(body, first);
		put32(body + 4, 0);
		transmit(shrink, message, body, 8 + n * BOOTSTRAP_ENTRY_SIZE);
		first += n;
		n = 0;
	}
}

void coll_shrink_send(void *env, const struct coll_agree_message *said)
{
	struct coll_shrink *shrink = env;
	struct coll_agree_message message = *said;
	uint8_t entry[BOOTSTRAP_ENTRY_SIZE];
	const char *text;

	coll_pace_stamp(&shrink->pace, coll_deadline_now(), &message);
	switch (message.kind) {
	case COLL_AGREE_PLACE:
		bootstrap_write_entry(entry, &shrink->child->addr);
		transmit(shrink, &message, entry, sizeof(entry));
		return;
	case COLL_AGREE_PLACES:
		transmit_places(shrink, &message);
		return;
	case COLL_AGREE_UNABLE:
	case COLL_AGREE_GIVE_UP:
		text = shrink->text[0] ? shrink->text : shrink->peer_text[0] ? shrink->peer_text :
		       coll_strerror(message.error);
		transmit(shrink, &message, (const uint8_t *)text,
			 strnlen(text, COLL_SHRINK_TEXT_MAX));
		return;
	default:
		transmit(shrink, &message, NULL, 0);
	}
}

/*
 * Receiving
 */

/* Note the address of a member if this rank proposes the group.  Return: false: malformed. */
static bool take_address(struct coll_shrink *shrink, const struct coll_agree_message *message,
			 const uint8_t *body, size_t length)
{
	const struct coll_agree *agree = &shrink->agree;
	struct sockaddr_storage addr;

	if (length != BOOTSTRAP_ENTRY_SIZE || bootstrap_read_entry(body, &addr))
		return false;
	if (agree->step == COLL_STEP_JOIN && agree->ballot == message->ballot &&
	    coll_ranks_has(&agree->proposal.members, message->from))
		shrink->places[message->from] = addr;
	return true;
}

/* Note the addresses of some members.  Return: true if all are known, or none are needed. */
static bool take_addresses(struct coll_shrink *shrink, const struct coll_agree_message *message,
			   const uint8_t *body, size_t length)
{
	const struct coll_agree *agree = &shrink->agree;
	const unsigned int n = coll_ranks_count(&agree->formed.members);
	unsigned int i, first, count;

	if (length < 8 || (length - 8) % BOOTSTRAP_ENTRY_SIZE || get32(body + 4))
		return false;
	first = get32(body);
	count = (length - 8) / BOOTSTRAP_ENTRY_SIZE;
	if (agree->form != COLL_FORM_JOINED || agree->formed.id != message->value.id)
		return true;
	if (count > COLL_SHRINK_PLACES_MAX || first >= n || count > n - first)
		return false;
	if (shrink->table_id != message->value.id) {
		shrink->table_id = message->value.id;
		memset(&shrink->table_ranks, 0, sizeof(shrink->table_ranks));
	}
	for (i = 0; i < count; i++) {
		if (bootstrap_read_entry(body + 8 + i * BOOTSTRAP_ENTRY_SIZE,
					 &shrink->table[first + i]))
			return false;
		coll_ranks_add(&shrink->table_ranks, first + i);
	}
	return coll_ranks_count(&shrink->table_ranks) == n;
}

static void take_text(struct coll_shrink *shrink, const uint8_t *body, size_t length)
{
	size_t i;

	for (i = 0; i < length && i < COLL_SHRINK_TEXT_MAX; i++)
		shrink->peer_text[i] = body[i] < ' ' || body[i] > '~' ? '?' : body[i];
	shrink->peer_text[i] = '\0';
}

static void handle_datagram(struct coll_shrink *shrink, const uint8_t *bytes, size_t size,
			    const struct sockaddr_storage *from)
{
	struct coll_agree_message message;
	struct sockaddr_storage rejoin;
	const uint8_t *body;
	size_t length;

	if (coll_shrink_read(bytes, size, &shrink->comm->settings, &message, &body, &length) ||
	    message.kind == COLL_AGREE_CHECK)
		return;
	rejoin = rejoin_addr(shrink, message.from);
	if (!coll_address_same_socket(from, &rejoin))
		return;
	if (message.kind == COLL_AGREE_PLACE && !take_address(shrink, &message, body, length))
		return;
	if (message.kind == COLL_AGREE_PLACES && !take_addresses(shrink, &message, body, length))
		return;
	if (message.kind == COLL_AGREE_UNABLE || message.kind == COLL_AGREE_GIVE_UP)
		take_text(shrink, body, length);
	coll_pace_receive(&shrink->pace, coll_deadline_now(), &message);
	/* If another rank's error ended the call, its text is the reason. */
	if (shrink->agree.finished && shrink->agree.result && shrink->peer_text[0])
		coll_fail(&shrink->detail, shrink->agree.result, "%s", shrink->peer_text);
	shrink->peer_text[0] = '\0';
}

/* ICMP errors */

static bool is_port_closed(const struct sock_extended_err *error)
{
	return error->ee_errno == ECONNREFUSED &&
	       ((error->ee_origin == SO_EE_ORIGIN_ICMP && error->ee_type == ICMP_UNREACH &&
		 error->ee_code == ICMP_UNREACH_PORT) ||
		(error->ee_origin == SO_EE_ORIGIN_ICMP6 &&
		 error->ee_type == ICMP6_DST_UNREACH &&
		 error->ee_code == ICMP6_DST_UNREACH_NOPORT));
}

/*
 * An ICMP error from another host says nothing of the rejoin port.  One from the rank's own
 * address may be of a packet filter, and may be forged: coll_pace_refused().
 */
static void handle_icmp_error(struct coll_shrink *shrink, const struct sock_extended_err *error,
			      const struct sockaddr_storage *to)
{
	struct sockaddr_storage offender, rejoin;
	unsigned int rank;

	memset(&offender, 0, sizeof(offender));
	memcpy(&offender, SO_EE_OFFENDER(error), coll_address_length(to));
	if (!is_port_closed(error) || !coll_address_same_host(&offender, to))
		return;
	for (rank = 0; rank < shrink->agree.nranks; rank++) {
		rejoin = rejoin_addr(shrink, rank);
		if (rank != shrink->agree.rank && coll_address_same_socket(&rejoin, to))
			coll_pace_refused(&shrink->pace, rank);
	}
}

/* Return: true if there was one. */
static bool read_icmp_error(struct coll_shrink *shrink)
{
	union {
		struct cmsghdr align;
		char bytes[256];
	} control;
	struct sockaddr_storage to;
	struct msghdr header = {
		.msg_name = &to,
		.msg_namelen = sizeof(to),
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	struct cmsghdr *c;

	memset(&to, 0, sizeof(to));
	if (recvmsg(shrink->comm->settings.rejoin_fd, &header, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) {
		if (!is_packet_loss(errno))
			set_socket_error(shrink, -errno, "read errors");
		return false;
	}
	for (c = CMSG_FIRSTHDR(&header); c; c = CMSG_NXTHDR(&header, c))
		if (((c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR) ||
		     (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR)) &&
		    c->cmsg_len >= CMSG_LEN(sizeof(struct sock_extended_err) +
					    coll_address_length(&to)))
			handle_icmp_error(shrink, (const void *)CMSG_DATA(c), &to);
	return true;
}

/* Return: true if there was one. */
static bool read_message(struct coll_shrink *shrink)
{
	uint8_t bytes[COLL_SHRINK_MESSAGE_MAX + 1];
	struct sockaddr_storage from;
	socklen_t length = sizeof(from);
	ssize_t size;

	memset(&from, 0, sizeof(from));
	size = recvfrom(shrink->comm->settings.rejoin_fd, bytes, sizeof(bytes), MSG_DONTWAIT,
			(struct sockaddr *)&from, &length);
	if (size >= 0) {
		handle_datagram(shrink, bytes, size, &from);
		return true;
	}
	/*
	 * Errors of earlier datagrams are also returned here; their details are in the error
	 * queue.
	 */
	if (errno == EAGAIN)
		return false;
	if (!is_packet_loss(errno)) {
		set_socket_error(shrink, -errno, "receive");
		return false;
	}
	return true;
}

void coll_shrink_receive_all(struct coll_shrink *shrink)
{
	unsigned int left = BATCH + 4 * shrink->agree.nranks;

	if (shrink->comm->settings.rejoin_fd < 0)
		return;
	while (left-- && !shrink->socket_error && !shrink->agree.finished && read_message(shrink))
		;
	left = BATCH + shrink->agree.nranks;
	while (left-- && !shrink->socket_error && !shrink->agree.finished &&
	       read_icmp_error(shrink))
		;
}

void coll_shrink_wait(struct coll_shrink *shrink, uint64_t until)
{
	struct pollfd polls[2];
	nfds_t n = 0;

	if (shrink->comm->settings.rejoin_fd >= 0)
		polls[n++] = (struct pollfd){ .fd = shrink->comm->settings.rejoin_fd,
					     .events = POLLIN };
	if (shrink->connecting && shrink->child->peers)
		polls[n++] = (struct pollfd){ .fd = shrink->child->fd, .events = POLLOUT };
	if (coll_interrupt_poll(polls, n, coll_deadline_left(until)) < 0 && errno != EINTR)
		set_socket_error(shrink, -errno, "wait");
	/* Nothing is begun any more: CONNECT would have no time left, and fail. */
	if (coll_interrupt_wanted())
		return;
	coll_shrink_receive_all(shrink);
	coll_shrink_poll_connect(shrink);
}
