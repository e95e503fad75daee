// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What guests say to rank 0, and what follows from it.  An error of one that has a rank is
 * the group's; a stranger is sent away, and the group goes on waiting.
 */
#include <errno.h>
#include <nettle/memops.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bootstrap/root.h"
#include "comm/deadline.h"

/* From its welcome a rank joins in milliseconds: another process may have its place then. */
#define STALE_MS	3000

#define PAUSE_MS	200	/* and PAUSE_EACH_MS for each rank that pauses */
#define PAUSE_EACH_MS	2

void coll_host_drop(struct coll_guest *guest)
{
	/* An error says that the other end has closed it already. */
	(void)shutdown(guest->fd, SHUT_WR);
	close(guest->fd);
	guest->fd = -1;
	guest->rank = -1;
}

/* Short, and with little before it on its connection: it fits the socket's buffer. */
static bool tell(const struct coll_guest *guest, const uint8_t *message, size_t size)
{
	return send(guest->fd, message, size, MSG_DONTWAIT | MSG_NOSIGNAL) ==
	       (ssize_t)size;
}

static void refuse(struct coll_host *host, struct coll_guest *guest, int err,
		   const char *text)
{
	uint8_t message[COLL_MESSAGE_MAX];
	char from[COLL_ADDRESS_TEXT];

	coll_address_format(&guest->from, from);
	snprintf(host->refused, sizeof(host->refused), "%s: %s", from, text);
	/* It hears why, or only that the connection is closed. */
	(void)tell(guest, message, coll_message_fail(message, err, text));
	coll_host_drop(guest);
}

static void told(struct coll_host *host, struct coll_arrival *at)
{
	if (at->told)
		return;
	at->told = true;
	host->untold--;
}

/* The rank is missing again. */
static void forget(struct coll_host *host, struct coll_arrival *at)
{
	if (at->guest)
		coll_host_drop(at->guest);
	else
		host->paused--;
	at->guest = NULL;
	at->state = ARRIVAL_NONE;
	at->lost = true;
	host->absent++;
}

int coll_host_lost(struct coll_host *host, struct coll_guest *guest)
{
	struct coll_arrival *at = guest->rank < 0 ? NULL : &host->arrivals[guest->rank];
	char from[COLL_ADDRESS_TEXT];
	int rank = guest->rank;

	if (!at) {
		coll_host_drop(guest);
		return 0;
	}
	if (!host->over && at->state < ARRIVAL_JOINED) {
		forget(host, at);
		return 0;
	}
	if (host->over) {
		told(host, at);
		coll_host_drop(guest);
		at->guest = NULL;
		return 0;
	}
	coll_address_format(&at->from, from);
	coll_host_drop(guest);
	at->guest = NULL;
	return coll_fail(&host->why, -ECONNRESET,
			 "rank %d (%s) went away while the group formed", rank, from);
}

void coll_host_send_last(struct coll_host *host, struct coll_guest *guest)
{
	struct coll_arrival *at = &host->arrivals[guest->rank];
	ssize_t sent = send(guest->fd, host->last + guest->sent,
			    host->last_size - guest->sent, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (sent < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (sent > 0)
		guest->sent += sent;
	if (sent > 0 && guest->sent < host->last_size)
		return;
	told(host, at);
	at->guest = NULL;
	coll_host_drop(guest);
}

unsigned int coll_host_pause_ms(const struct coll_host *host)
{
	return PAUSE_MS + PAUSE_EACH_MS * host->paused;
}

bool coll_host_pause(struct coll_host *host, int rank)
{
	struct coll_arrival *at = &host->arrivals[rank];
	struct coll_wait wait = {
		.id = host->setup->id,
		.pause_ms = coll_host_pause_ms(host),
	};
	uint8_t message[COLL_MESSAGE_MAX];

	/* One that is joining comes back to say so. */
	if (!at->guest || at->guest->have ||
	    (at->state != ARRIVAL_HERE && at->state != ARRIVAL_JOINED))
		return false;
	if (!tell(at->guest, message, coll_message_wait(message, &wait)))
		return false;
	coll_host_drop(at->guest);
	at->guest = NULL;
	at->since = coll_deadline_in(wait.pause_ms + COLL_RETURN_MS);
	host->paused++;
	return true;
}

int coll_host_welcome(struct coll_host *host, int rank)
{
	const struct coll_setup *setup = host->setup;
	struct coll_arrival *at = &host->arrivals[rank];
	struct coll_welcome welcome = {
		.id = setup->id,
		.lanes = setup->lanes,
		.addr = host->peers[0],
	};
	uint8_t message[COLL_MESSAGE_MAX];

	if (at->lanes && at->lanes != (unsigned int)setup->lanes)
		return coll_fail(&host->why, -EINVAL, "rank %d wants %u lanes, rank 0 has %d",
				 rank, at->lanes, setup->lanes);
	strcpy(welcome.name, setup->name);
	if (!tell(at->guest, message, coll_message_welcome(message, &welcome))) {
		forget(host, at);
		return 0;
	}
	at->state = ARRIVAL_WELCOME;
	at->since = coll_deadline_now();
	return 0;
}

/* May the process that said @hello be one of the group?  If not, it is told. */
static bool acceptable(struct coll_host *host, struct coll_guest *guest,
		       const struct coll_hello *hello)
{
	const struct coll_setup *setup = host->setup;
	char text[200];

	/* Of an earlier run, say, that still looks for its own rank 0. */
	if (hello->job && setup->job && hello->job != setup->job) {
		refuse(host, guest, -EAGAIN, "rank 0 there is of another job");
		return false;
	}
	if (hello->name[0] && strcmp(hello->name, setup->name)) {
		snprintf(text, sizeof(text),
			 "this is the rendezvous of group %s, not of %s",
			 setup->name, hello->name);
		refuse(host, guest, -EINVAL, text);
		return false;
	}
	if (hello->returns && hello->id != setup->id) {
		refuse(host, guest, -ECONNRESET, "rank 0 went away, and another one came");
		return false;
	}
	return true;
}

/* What contradicts rank 0 ends the group. */
static int contradiction(struct coll_host *host, const struct coll_hello *hello,
			 const char *from)
{
	const struct coll_setup *setup = host->setup;

	if (hello->nranks != (unsigned int)setup->nranks)
		return coll_fail(&host->why, -EINVAL,
				 "rank %u (%s) says the group has %u ranks, rank 0 says %d",
				 hello->rank, from, hello->nranks, setup->nranks);
	/* Unknown before rank 0 has joined, if the kernel is to choose. */
	if (hello->lanes && setup->lanes && hello->lanes != (unsigned int)setup->lanes)
		return coll_fail(&host->why, -EINVAL,
				 "rank %u (%s) wants %u lanes, rank 0 has %d",
				 hello->rank, from, hello->lanes, setup->lanes);
	if (!hello->rank)
		return coll_fail(&host->why, -EBUSY,
				 "two processes are rank 0: the other is %s", from);
	return 0;
}

/* Has the process that is rank @at left its place to that of @hello?  @drop: the new one goes. */
static int take_place(struct coll_host *host, struct coll_arrival *at,
		      const struct coll_hello *hello, const char *from, bool *drop)
{
	char other[COLL_ADDRESS_TEXT];

	*drop = false;
	if (at->state == ARRIVAL_NONE)
		return 0;
	if (at->process == hello->process) {
		*drop = hello->attempt <= at->attempt;
		if (*drop)
			return 0;
		if (at->guest)
			coll_host_drop(at->guest);
		else
			host->paused--;
		at->guest = NULL;
		return 0;
	}
	if (at->state == ARRIVAL_WELCOME && at->since + STALE_MS < coll_deadline_now()) {
		forget(host, at);
		return 0;
	}
	coll_address_format(&at->from, other);
	return coll_fail(&host->why, -EBUSY, "two processes are rank %u: %s and %s",
			 hello->rank, other, from);
}

/* The process at the other end has proved which rank it is. */
static int arrive(struct coll_host *host, struct coll_guest *guest)
{
	const struct coll_hello *hello = &guest->hello;
	struct coll_wait wait = { .id = host->setup->id };
	uint64_t deadline = coll_deadline_in(hello->left_ms);
	socklen_t length = sizeof(struct sockaddr_storage);
	uint8_t message[COLL_MESSAGE_MAX];
	char from[COLL_ADDRESS_TEXT];
	struct coll_arrival *at;
	bool drop;
	int err;

	if (!acceptable(host, guest, hello))
		return 0;
	coll_address_format(&guest->from, from);
	err = host->over ? 0 : contradiction(host, hello, from);
	if (err)
		return err;
	if (hello->rank >= (unsigned int)host->setup->nranks || !hello->rank) {
		coll_host_drop(guest);
		return 0;
	}
	at = &host->arrivals[hello->rank];
	err = take_place(host, at, hello, from, &drop);
	if (err && !host->over)
		return err;
	if (err || drop) {
		coll_host_drop(guest);
		return 0;
	}
	if (at->state == ARRIVAL_NONE) {
		at->state = ARRIVAL_HERE;
		host->absent--;
	}
	guest->rank = hello->rank;
	at->guest = guest;
	at->process = hello->process;
	at->attempt = hello->attempt;
	at->since = coll_deadline_now();
	at->from = guest->from;
	at->lanes = hello->lanes;
	memset(&at->via, 0, sizeof(at->via));
	if (getsockname(guest->fd, (struct sockaddr *)&at->via, &length) ||
	    !tell(guest, message, coll_message_wait(message, &wait)))
		return coll_host_lost(host, guest);
	if (deadline < host->deadline)
		host->deadline = deadline;
	if (!host->over && host->joined && at->state == ARRIVAL_HERE)
		return coll_host_welcome(host, hello->rank);
	return 0;
}

/* A stranger has introduced itself: rank 0 proves that it knows the secret, and asks. */
static int challenge(struct coll_host *host, struct coll_guest *guest, const uint8_t *hello)
{
	const struct coll_setup *setup = host->setup;
	uint8_t message[COLL_MESSAGE_MAX], nonce[COLL_NONCE_SIZE], proof[COLL_PROOF_SIZE];

	if (coll_secret_nonce(setup, nonce))
		return coll_fail(&host->why, -EAGAIN, "no random numbers");
	coll_secret_prove(setup, COLL_SIDE_HOST, hello, COLL_HELLO_SIZE, nonce, proof);
	coll_secret_prove(setup, COLL_SIDE_GUEST, hello, COLL_HELLO_SIZE, nonce, guest->proof);
	guest->challenged = true;
	if (!tell(guest, message, coll_message_challenge(message, nonce, proof)))
		coll_host_drop(guest);
	return 0;
}

static int stranger(struct coll_host *host, struct coll_guest *guest, int kind,
		    const uint8_t *body, size_t length)
{
	static const uint8_t none[COLL_NONCE_SIZE];

	if (guest->challenged) {
		if (kind == COLL_MESSAGE_PROOF && length == COLL_PROOF_SIZE &&
		    memeql_sec(body, guest->proof, COLL_PROOF_SIZE))
			return arrive(host, guest);
		refuse(host, guest, -EACCES, "it does not know the group's secret");
		return 0;
	}
	if (kind != COLL_MESSAGE_HELLO ||
	    coll_message_read_hello(body, length, &guest->hello)) {
		refuse(host, guest, -EPROTO, "malformed greeting");
		return 0;
	}
	if (host->setup->secured != !!memcmp(guest->hello.nonce, none, sizeof(none))) {
		refuse(host, guest, -EACCES, host->setup->secured ?
		       "the group has a secret, and it has none (see COLL_SECRET)" :
		       "it has a secret, and rank 0 has none (see COLL_SECRET)");
		return 0;
	}
	if (host->setup->secured)
		return challenge(host, guest, body);
	return arrive(host, guest);
}

/* A whole message is in @guest->in. */
static int message(struct coll_host *host, struct coll_guest *guest, int kind,
		   size_t length)
{
	const uint8_t *body = guest->in + COLL_HEAD_SIZE;
	char text[400], from[COLL_ADDRESS_TEXT];
	struct coll_arrival *at;
	int err;

	if (guest->rank < 0)
		return stranger(host, guest, kind, body, length);
	if (host->over)
		return 0;
	at = &host->arrivals[guest->rank];
	if (kind == COLL_MESSAGE_FAIL) {
		err = coll_message_read_fail(body, length, text, sizeof(text));
		return coll_fail(&host->why, err, "%s", text);
	}
	if (at->state != ARRIVAL_WELCOME || kind != COLL_MESSAGE_ADDRESS ||
	    length != COLL_ENTRY_SIZE ||
	    coll_message_read_entry(body, &host->peers[guest->rank])) {
		coll_address_format(&guest->from, from);
		return coll_fail(&host->why, -EPROTO, "rank %d (%s) sent a malformed address",
				 guest->rank, from);
	}
	at->state = ARRIVAL_JOINED;
	host->missing--;
	return 0;
}

static int broken(struct coll_host *host, struct coll_guest *guest, int err)
{
	char from[COLL_ADDRESS_TEXT];

	if (guest->rank < 0) {
		refuse(host, guest, -EPROTO, "does not speak this rendezvous");
		return 0;
	}
	if (host->over)
		return coll_host_lost(host, guest);
	coll_address_format(&guest->from, from);
	return coll_fail(&host->why, err, "rank %d (%s) broke the rendezvous", guest->rank,
			 from);
}

int coll_host_read(struct coll_host *host, struct coll_guest *guest)
{
	size_t want, length;
	int kind, err;
	ssize_t got;

	for (;;) {
		want = COLL_HEAD_SIZE;
		length = 0;
		kind = 0;
		if (guest->have >= COLL_HEAD_SIZE) {
			kind = coll_message_head(guest->in, COLL_FAIL_MAX,
						 &length);
			if (kind < 0)
				return broken(host, guest, kind);
			want += length;
		}
		if (kind && guest->have == want) {
			guest->have = 0;
			err = message(host, guest, kind, length);
			if (err || guest->fd < 0)
				return err;
			continue;
		}
		got = recv(guest->fd, guest->in + guest->have,
			   want - guest->have, MSG_DONTWAIT);
		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			return 0;
		if (got <= 0)
			return coll_host_lost(host, guest);
		guest->have += got;
	}
}
