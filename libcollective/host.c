// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What guests say to rank 0, and what follows from it.  An error of one who has
 * a rank is the group's; a stranger is sent away, and the group goes on waiting.
 */
#include <errno.h>
#include <nettle/memops.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "deadline.h"
#include "host.h"

void coll_host_drop(struct coll_guest *guest)
{
	shutdown(guest->fd, SHUT_WR);
	close(guest->fd);
	guest->state = GUEST_NONE;
}

/* Short, and the first on its connection: it fits the socket's buffer. */
static bool tell(const struct coll_guest *guest, const uint8_t *message, size_t size)
{
	return send(guest->fd, message, size, MSG_DONTWAIT | MSG_NOSIGNAL) ==
	       (ssize_t)size;
}

static void refuse(struct coll_host *host, struct coll_guest *guest, int err,
		   const char *text)
{
	uint8_t message[COLL_MESSAGE_MAX];

	snprintf(host->refused, sizeof(host->refused), "%s: %s", guest->from,
		 text);
	tell(guest, message, coll_message_fail(message, err, text));
	coll_host_drop(guest);
}

struct coll_guest *coll_host_find(struct coll_host *host, unsigned int rank)
{
	size_t i;

	for (i = 0; i < host->nguests; i++)
		if (host->guests[i].state > GUEST_STRANGER &&
		    host->guests[i].rank == rank)
			return &host->guests[i];
	return NULL;
}

static int hello(struct coll_host *host, struct coll_guest *guest,
		 const struct coll_hello *hello)
{
	const struct coll_setup *setup = host->setup;
	struct coll_welcome welcome = { .id = setup->id, .lanes = setup->lanes };
	uint8_t message[COLL_MESSAGE_MAX];
	uint64_t deadline = coll_deadline_in(hello->left_ms);
	struct coll_guest *other;
	char text[200];

	if (hello->name[0] && strcmp(hello->name, setup->name)) {
		snprintf(text, sizeof(text),
			 "this is the rendezvous of group %s, not of %s",
			 setup->name, hello->name);
		refuse(host, guest, -EINVAL, text);
		return 0;
	}
	if (hello->nranks != (unsigned int)setup->nranks)
		return coll_fail(&host->why, -EINVAL,
				 "rank %u (%s) says the group has %u ranks, rank 0 says %d",
				 hello->rank, guest->from, hello->nranks,
				 setup->nranks);
	if (hello->lanes && hello->lanes != (unsigned int)setup->lanes)
		return coll_fail(&host->why, -EINVAL,
				 "rank %u (%s) wants %u lanes, rank 0 has %d",
				 hello->rank, guest->from, hello->lanes,
				 setup->lanes);
	if (!hello->rank)
		return coll_fail(&host->why, -EBUSY,
				 "two processes are rank 0: the other is %s",
				 guest->from);
	other = coll_host_find(host, hello->rank);
	if (other)
		return coll_fail(&host->why, -EBUSY,
				 "two processes are rank %u: %s and %s",
				 hello->rank, other->from, guest->from);
	strcpy(welcome.name, setup->name);
	if (!tell(guest, message, coll_message_welcome(message, &welcome))) {
		coll_host_drop(guest);
		return 0;
	}
	if (deadline < host->deadline)
		host->deadline = deadline;
	guest->rank = hello->rank;
	guest->state = GUEST_WELCOME;
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
			return hello(host, guest, &guest->hello);
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
	return hello(host, guest, &guest->hello);
}

/* A whole message is in @guest->in. */
static int message(struct coll_host *host, struct coll_guest *guest, int kind,
		   size_t length)
{
	const uint8_t *body = guest->in + COLL_HEAD_SIZE;
	char text[400];
	int err;

	if (guest->state == GUEST_STRANGER)
		return stranger(host, guest, kind, body, length);
	if (kind == COLL_MESSAGE_FAIL) {
		err = coll_message_read_fail(body, length, text, sizeof(text));
		return coll_fail(&host->why, err, "%s", text);
	}
	if (guest->state != GUEST_WELCOME || kind != COLL_MESSAGE_ADDRESS ||
	    length != COLL_ENTRY_SIZE ||
	    coll_message_read_entry(body, &host->peers[guest->rank]))
		return coll_fail(&host->why, -EPROTO,
				 "rank %u (%s) sent a malformed address",
				 guest->rank, guest->from);
	guest->state = GUEST_JOINED;
	host->missing--;
	return 0;
}

static int gone(struct coll_host *host, struct coll_guest *guest)
{
	if (guest->state > GUEST_STRANGER)
		return coll_fail(&host->why, -ECONNRESET,
				 "rank %u (%s) went away while the group formed",
				 guest->rank, guest->from);
	coll_host_drop(guest);
	return 0;
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
			if (kind < 0 && guest->state == GUEST_STRANGER) {
				refuse(host, guest, -EPROTO,
				       "does not speak this rendezvous");
				return 0;
			}
			if (kind < 0)
				return coll_fail(&host->why, kind,
						 "rank %u (%s) broke the rendezvous",
						 guest->rank, guest->from);
			want += length;
		}
		if (kind && guest->have == want) {
			guest->have = 0;
			err = message(host, guest, kind, length);
			if (err || guest->state == GUEST_NONE)
				return err;
			continue;
		}
		got = recv(guest->fd, guest->in + guest->have,
			   want - guest->have, MSG_DONTWAIT);
		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			return 0;
		if (got <= 0)
			return gone(host, guest);
		guest->have += got;
	}
}
