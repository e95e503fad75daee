// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Rank 0's side of the rendezvous: one poll() loop over the listening socket
 * and everybody who has connected.  See rendezvous.h for the conversation.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "deadline.h"
#include "device.h"
#include "host.h"
#include "lifeline.h"
#include "rendezvous.h"

#define STRANGERS	64	/* connections that have not said HELLO */
#define GOODBYE_MS	2000	/* to deliver the last message */
#define LATE_MS		1000	/* for ranks that come after a failure */

/* A free place, or that of the stranger who has been silent longest. */
static struct coll_guest *place(struct coll_host *host)
{
	struct coll_guest *oldest = NULL;
	size_t i;

	for (i = 0; i < host->nguests; i++) {
		struct coll_guest *at = &host->guests[i];

		if (at->state == GUEST_NONE)
			return at;
		if (at->state == GUEST_STRANGER &&
		    (!oldest || at->since < oldest->since))
			oldest = at;
	}
	coll_host_drop(oldest);	/* there are more places than ranks */
	return oldest;
}

static int welcome(struct coll_host *host)
{
	struct sockaddr_storage from = { 0 };
	socklen_t length = sizeof(from);
	struct coll_guest *guest = place(host);
	int fd;

	fd = accept4(host->fd, (struct sockaddr *)&from, &length,
		     SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0 && (errno == EMFILE || errno == ENFILE))
		return coll_fail(&host->why, -errno,
				 "rank 0 has too many open files (see ulimit -n)");
	if (fd < 0)
		return 0;
	memset(guest, 0, sizeof(*guest));
	guest->state = GUEST_STRANGER;
	guest->fd = fd;
	guest->since = coll_deadline_now();
	coll_address_format(&from, guest->from);
	return 0;
}

/* " 2, 5-7": the ranks in @state, from @at on; returns the new end. */
static size_t list(struct coll_host *host, enum coll_guest_state state, const char *verb,
		   char *text, size_t at, size_t size)
{
	int ranks = 0, first = -1, i;
	const struct coll_guest *guest;
	char numbers[300] = "";
	size_t end = 0;
	bool in;

	for (i = 1; i <= host->setup->nranks; i++) {
		guest = i < host->setup->nranks ? coll_host_find(host, i) : NULL;
		in = i < host->setup->nranks &&
		     (guest ? guest->state : GUEST_NONE) == state;
		ranks += in;
		if (in && first < 0)
			first = i;
		if (in || first < 0)
			continue;
		if (end + 20 < sizeof(numbers))
			end += snprintf(numbers + end, sizeof(numbers) - end,
					first == i - 1 ? "%s%d" : "%s%d-%d",
					end ? ", " : "", first, i - 1);
		else if (numbers[end - 1] != '.')
			end += snprintf(numbers + end, sizeof(numbers) - end,
					", ...");
		first = -1;
	}
	if (ranks && at < size)
		at += snprintf(text + at, size - at, "%srank%s %s %s",
			       at ? "; " : "", ranks > 1 ? "s" : "", numbers,
			       verb);
	return at < size ? at : size - 1;
}

static int too_late(struct coll_host *host)
{
	char text[COLL_DETAIL_SIZE] = "";
	size_t at = 0;

	at = list(host, GUEST_NONE, "never arrived", text, at, sizeof(text));
	at = list(host, GUEST_WELCOME, "arrived but never joined", text, at,
		  sizeof(text));
	if (host->refused[0])
		snprintf(text + at, sizeof(text) - at, "; refused %s",
			 host->refused);
	return coll_fail(&host->why, -ETIMEDOUT, "%s", text);
}

/* Until every rank has joined. */
static int gather(struct coll_host *host)
{
	unsigned int left;
	size_t i;
	int err;

	while (host->missing) {
		left = coll_deadline_left(host->deadline);
		if (!left)
			return too_late(host);
		host->polls[0].fd = host->fd;
		host->polls[0].events = POLLIN;
		for (i = 0; i < host->nguests; i++) {
			struct coll_guest *guest = &host->guests[i];

			host->polls[i + 1].fd = guest->state == GUEST_NONE ?
						-1 : guest->fd;
			host->polls[i + 1].events = POLLIN;
			host->polls[i + 1].revents = 0;
		}
		if (poll(host->polls, host->nguests + 1, left) <= 0)
			continue;
		for (i = 0; i < host->nguests; i++) {
			if (!host->polls[i + 1].revents)
				continue;
			err = coll_host_read(host, &host->guests[i]);
			if (err)
				return err;
		}
		/* Last, since it may give a guest's place away. */
		if (host->polls[0].revents) {
			err = welcome(host);
			if (err)
				return err;
		}
	}
	return 0;
}

/* The same last message to everybody. */
static void goodbye(struct coll_host *host, const uint8_t *last, size_t size)
{
	uint64_t deadline = coll_deadline_in(GOODBYE_MS);
	size_t i, waiting;
	ssize_t sent;

	do {
		waiting = 0;
		for (i = 0; i < host->nguests; i++) {
			struct coll_guest *guest = &host->guests[i];

			host->polls[i].fd = -1;
			if (guest->state == GUEST_NONE)
				continue;
			sent = send(guest->fd, last + guest->sent,
				    size - guest->sent,
				    MSG_DONTWAIT | MSG_NOSIGNAL);
			if (sent > 0)
				guest->sent += sent;
			if (guest->sent == size ||
			    (sent < 0 && errno != EAGAIN && errno != EINTR)) {
				coll_host_drop(guest);
				continue;
			}
			waiting++;
			host->polls[i].fd = guest->fd;
			host->polls[i].events = POLLOUT;
		}
	} while (waiting && coll_deadline_left(deadline) &&
		 poll(host->polls, host->nguests,
		      coll_deadline_left(deadline)) >= 0);
	for (i = 0; i < host->nguests; i++)
		if (host->guests[i].state != GUEST_NONE)
			coll_host_drop(&host->guests[i]);
}

/*
 * Who has not come yet would look for us until its deadline: wait a moment for
 * everybody, so that all hear what failed.
 */
static void welcome_late(struct coll_host *host)
{
	struct pollfd one = { .fd = host->fd, .events = POLLIN };
	uint64_t deadline = coll_deadline_in(LATE_MS);
	int here;
	size_t i;

	do {
		for (here = 0, i = 0; i < host->nguests; i++)
			here += host->guests[i].state != GUEST_NONE;
	} while (here < host->setup->nranks - 1 &&
		 poll(&one, 1, coll_deadline_left(deadline)) > 0 &&
		 !welcome(host));
}

/* Listen on the first of the addresses that can be had. */
static int open_at(struct coll_host *host, const struct addrinfo *where,
		   struct sockaddr_storage *addr)
{
	char text[COLL_ADDRESS_TEXT] = "";
	int err = -EADDRNOTAVAIL, one = 1;

	for (; where; where = where->ai_next) {
		memset(addr, 0, sizeof(*addr));
		memcpy(addr, where->ai_addr, where->ai_addrlen);
		coll_address_format(addr, text);
		err = coll_rendezvous_allowed(host->setup, addr, &host->why);
		if (err)
			return err;
		host->fd = socket(where->ai_family, SOCK_STREAM | SOCK_CLOEXEC |
				  SOCK_NONBLOCK, 0);
		if (host->fd < 0) {
			err = -errno;
			continue;
		}
		setsockopt(host->fd, SOL_SOCKET, SO_REUSEADDR, &one,
			   sizeof(one));
		if (!bind(host->fd, where->ai_addr, where->ai_addrlen) &&
		    !listen(host->fd, COLLECTIVE_RANKS_MAX))
			return 0;
		err = -errno;
		close(host->fd);
		host->fd = -1;
	}
	return coll_fail(&host->why, err,
			 "rank 0 cannot listen at rendezvous %s: %s", text,
			 strerrordesc_np(-err));
}

static int join(struct coll_host *host, int fd, struct sockaddr_storage *addr)
{
	struct coll_setup *setup = host->setup;
	struct collective_status status;
	int family = addr->ss_family;
	int err = 0;

	if (setup->local[0])
		err = coll_address_local(addr, setup->local, family,
					 &host->why);
	else if (coll_address_is_any(addr))
		err = coll_fail(&host->why, -EINVAL,
				"rendezvous %s is no address of rank 0: set COLL_LOCAL_ADDR too",
				setup->host);
	if (!err)
		err = coll_rendezvous_allowed(setup, addr, &host->why) ?:
		      coll_lifeline_join(fd, setup, addr, &host->why);
	if (err)
		return err;
	/* The number that the kernel chose is for everybody. */
	if (!setup->lanes && !coll_device_status(fd, &status) &&
	    status.lanes <= COLLECTIVE_LANES_MAX)
		setup->lanes = status.lanes;
	host->peers[0] = *addr;
	return 0;
}

int coll_rendezvous_host(int fd, struct coll_setup *setup,
			 const struct addrinfo *where,
			 struct sockaddr_storage *peers,
			 struct coll_detail *detail)
{
	char why[COLL_DETAIL_SIZE] = "";
	struct coll_host host = {
		.setup = setup,
		.peers = peers,
		.missing = setup->nranks - 1,
		.deadline = setup->deadline,
		.why = { why, sizeof(why) },
		.fd = -1,
		.nguests = setup->nranks - 1 + STRANGERS,
	};
	struct sockaddr_storage addr;
	uint8_t *last = NULL;
	int err = -ENOMEM;

	host.guests = calloc(host.nguests, sizeof(*host.guests));
	host.polls = calloc(host.nguests + 1, sizeof(*host.polls));
	last = malloc(COLL_MESSAGE_MAX +
		      (size_t)setup->nranks * COLL_ENTRY_SIZE);
	if (!host.guests || !host.polls || !last)
		goto free;
	err = coll_rendezvous_identify(setup, &host.why) ?:
	      open_at(&host, where, &addr);
	if (err)
		goto free;
	/* Ranks that come while we join wait in the listener's queue. */
	err = join(&host, fd, &addr) ?: gather(&host);
	if (err && err != -ETIMEDOUT)
		welcome_late(&host);
	goodbye(&host, last, err ? coll_message_fail(last, err, why) :
		coll_message_table(last, peers, setup->nranks));
	close(host.fd);
free:
	if (err)
		coll_fail(detail, err, "%s", why[0] ? why : "no memory");
	free(last);
	free(host.polls);
	free(host.guests);
	return err;
}
