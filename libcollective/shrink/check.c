// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * COLL_CONFIG_CHECK_DATAGRAMS: do datagrams of coll_shrink() pass between the hosts?  At the end of
 * coll_init() each rank sends some to ranks at other addresses, and waits for theirs.  To stay few
 * in large groups, they go to the ranks at distances of powers of two.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "bootstrap/address.h"
#include "bootstrap/rejoin_port.h"
#include "comm/deadline.h"
#include "comm/interrupt.h"
#include "error/ranks_text.h"
#include "shrink/check.h"
#include "shrink/message.h"

#define CHECK_MS	5000	/* a rank may connect later than another */
#define PAUSE_MS	50
#define COPIES		3	/* sent in any case: the other rank may have heard none */

/**
 * struct check - a check of this rank
 * @comm: communicator, which is connected
 * @silent: by rank: true if its datagram is waited for
 * @missing: number of these
 * @elsewhere: a rank whose datagrams come from another address, which coll_shrink() drops; -1: none
 * @from: that address
 */
struct check {
	struct coll_comm *comm;
	bool *silent;
	int missing;
	int elsewhere;
	struct sockaddr_storage from;
};

/* Do these ranks check each other? */
static bool is_partner(const struct coll_comm *comm, int rank)
{
	const unsigned int n = comm->nranks, up = (rank - comm->rank + n) % n, down = n - up;

	return rank != comm->rank && (!(up & (up - 1)) || !(down & (down - 1))) &&
	       coll_rejoin_port_get(&comm->peers[rank]) &&
	       !coll_address_same_host(&comm->peers[rank], &comm->peers[comm->rank]);
}

static struct sockaddr_storage rejoin_addr(const struct coll_comm *comm, int rank)
{
	struct sockaddr_storage addr = comm->peers[rank];

	coll_address_set_port(&addr, coll_rejoin_port_get(&addr));
	return addr;
}

/* What cannot be sent is not heard either. */
static void send_all(const struct coll_comm *comm)
{
	struct coll_agree_message message = { .kind = COLL_AGREE_CHECK, .from = comm->rank };
	uint8_t bytes[COLL_SHRINK_MESSAGE_MAX];
	struct sockaddr_storage to;
	size_t size;
	int rank;

	for (rank = 0; rank < comm->nranks; rank++) {
		if (!is_partner(comm, rank))
			continue;
		message.to = rank;
		to = rejoin_addr(comm, rank);
		size = coll_shrink_write(bytes, &comm->settings, &message, NULL, 0);
		(void)!sendto(comm->settings.rejoin_fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL,
			      (struct sockaddr *)&to, coll_address_length(&to));
	}
}

/* The group is new, so no datagram of coll_shrink() is lost here: no rank of it has failed yet. */
static void receive_all(struct check *check)
{
	const struct coll_settings *settings = &check->comm->settings;
	uint8_t bytes[COLL_SHRINK_MESSAGE_MAX];
	struct sockaddr_storage from, rejoin;
	struct coll_agree_message message;
	const uint8_t *body;
	unsigned int left;
	socklen_t room;
	ssize_t size;
	size_t length;

	/* An ICMP error is returned once, and then the next datagram. */
	for (left = 4 * check->comm->nranks; left; left--) {
		room = sizeof(from);
		size = recvfrom(settings->rejoin_fd, bytes, sizeof(bytes), MSG_DONTWAIT,
				(struct sockaddr *)&from, &room);
		if (size < 0 && errno == EAGAIN)
			return;
		if (size < 0 || coll_shrink_read(bytes, size, settings, &message, &body, &length) ||
		    message.kind != COLL_AGREE_CHECK || !check->silent[message.from])
			continue;
		rejoin = rejoin_addr(check->comm, message.from);
		if (!coll_address_same_socket(&from, &rejoin)) {
			check->elsewhere = message.from;
			check->from = from;
			continue;
		}
		check->silent[message.from] = false;
		check->missing--;
	}
}

/* What was refused is no sign of a rank's end when coll_shrink() is called later. */
static void drop_icmp_errors(const struct coll_comm *comm)
{
	unsigned int left = 4 * COPIES * comm->nranks;
	uint8_t byte;

	while (left-- && recv(comm->settings.rejoin_fd, &byte, 1, MSG_ERRQUEUE | MSG_DONTWAIT) >= 0)
		;
}

static bool is_silent(const void *arg, int rank)
{
	const struct check *check = arg;

	return check->silent[rank];
}

static int report(const struct check *check, struct coll_detail *detail)
{
	char text[COLL_DETAIL_SIZE / 4], own[COLL_ADDRESS_TEXT];
	struct sockaddr_storage addr = rejoin_addr(check->comm, check->comm->rank);

	if (check->elsewhere >= 0) {
		coll_address_format(&check->from, own);
		return coll_fail(detail, -EHOSTUNREACH,
				 "rank %d hears datagrams of rank %d from %s, which coll_shrink() drops: address translation between the hosts?",
				 check->comm->rank, check->elsewhere, own);
	}
	coll_ranks_text(text, sizeof(text), check->comm->nranks, is_silent, check);
	coll_address_format(&addr, own);
	return coll_fail(detail, -EHOSTUNREACH,
			 "rank %d hears no datagram of %s, which coll_shrink() needs: packet filters have to let UDP pass, as to %s, and COLL_CHECK_DATAGRAMS is for all ranks",
			 check->comm->rank, text, own);
}

int coll_shrink_check(struct coll_comm *comm, struct coll_detail *detail)
{
	struct check check = {
		.comm = comm,
		.silent = calloc(comm->nranks, sizeof(bool)),
		.elsewhere = -1,
	};
	const uint64_t deadline = coll_deadline_in(CHECK_MS);
	int rank, sent, err = 0;

	if (!check.silent)
		return coll_fail(detail, -ENOMEM, "no memory");
	for (rank = 0; rank < comm->nranks; rank++) {
		check.silent[rank] = is_partner(comm, rank);
		check.missing += check.silent[rank];
	}
	for (sent = 0; check.missing || (sent && sent < COPIES); sent++) {
		if (coll_interrupt_wanted()) {
			err = coll_interrupt_explain(-ECANCELED, comm->rank, detail);
			break;
		}
		if (!coll_deadline_left(deadline)) {
			err = report(&check, detail);
			break;
		}
		send_all(comm);
		coll_interrupt_pause(PAUSE_MS);
		receive_all(&check);
	}
	drop_icmp_errors(comm);
	free(check.silent);
	return err;
}
