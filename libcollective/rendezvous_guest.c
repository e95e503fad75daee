// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The other ranks' side of the rendezvous.  See rendezvous.h.
 *
 * Until rank 0 has welcomed us anything that goes wrong is tried again: rank 0
 * may not be there yet, nor its host's name.  From then on the first failure
 * is final.
 */
#include <errno.h>
#include <nettle/memops.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "address.h"
#include "deadline.h"
#include "lifeline.h"
#include "message.h"
#include "rendezvous.h"

#define ATTEMPT_MS	3000	/* for one connection, then try anew */
#define PAUSE_MIN_MS	10
#define PAUSE_MAX_MS	250
#define GRACE_MS	2000	/* for rank 0's word after the deadline */

/**
 * struct guest - a rank on its way
 * @setup: its own
 * @detail: texts that are final
 * @fd: connection to rank 0, non-blocking
 * @addr: of rank 0
 * @trouble: what the latest attempt failed with
 */
struct guest {
	struct coll_setup *setup;
	struct coll_detail *detail;
	int fd;
	struct sockaddr_storage addr;
	char trouble[160];
};

static int wait_for(int fd, short events, uint64_t deadline)
{
	struct pollfd one = { .fd = fd, .events = events };
	int n;

	do {
		n = poll(&one, 1, coll_deadline_left(deadline));
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return n ? 0 : -ETIMEDOUT;
}

static int send_all(int fd, const uint8_t *from, size_t size, uint64_t deadline)
{
	ssize_t sent;
	int err;

	while (size) {
		sent = send(fd, from, size, MSG_NOSIGNAL);
		if (sent >= 0) {
			from += sent;
			size -= sent;
			continue;
		}
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		err = wait_for(fd, POLLOUT, deadline);
		if (err)
			return err;
	}
	return 0;
}

static int read_all(int fd, uint8_t *to, size_t size, uint64_t deadline)
{
	ssize_t got;
	int err;

	while (size) {
		got = recv(fd, to, size, 0);
		if (got > 0) {
			to += got;
			size -= got;
			continue;
		}
		if (!got)
			return -ECONNRESET;
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		err = wait_for(fd, POLLIN, deadline);
		if (err)
			return err;
	}
	return 0;
}

/*
 * One message into @body; FAIL is turned into rank 0's errno, its text noted.
 * Returns the kind or an error.
 */
static int read_message(struct guest *guest, uint8_t *body, size_t max,
			size_t *length, uint64_t deadline)
{
	uint8_t head[COLL_HEAD_SIZE];
	char text[COLL_FAIL_MAX];
	int kind, err;

	err = read_all(guest->fd, head, sizeof(head), deadline);
	if (err)
		return err;
	kind = coll_message_head(head, max, length);
	if (kind < 0)
		return coll_fail(guest->detail, kind,
				 "what answers at %s:%d is no rendezvous of this version",
				 guest->setup->host, guest->setup->port);
	err = read_all(guest->fd, body, *length, deadline);
	if (err || kind != COLL_MESSAGE_FAIL)
		return err ?: kind;
	err = coll_message_read_fail(body, *length, text, sizeof(text));
	return coll_fail(guest->detail, err, "%s", text);
}

static int dial(struct guest *guest, const struct addrinfo *to)
{
	uint64_t deadline = coll_deadline_in(ATTEMPT_MS);
	socklen_t size = sizeof(int);
	int fd, err = 0;

	if (deadline > guest->setup->deadline)
		deadline = guest->setup->deadline;
	fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
		    0);
	if (fd < 0)
		return -errno;
	if (connect(fd, to->ai_addr, to->ai_addrlen)) {
		err = errno == EINPROGRESS || errno == EINTR ?
		      wait_for(fd, POLLOUT, deadline) : -errno;
		if (!err && !getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &size))
			err = -err;
	}
	if (!err && coll_address_met_self(fd))
		err = -ECONNREFUSED;
	if (err) {
		close(fd);
		return err;
	}
	guest->fd = fd;
	return 0;
}

/*
 * Rank 0 has answered the HELLO in @said with a CHALLENGE: believe it, prove that we
 * are one of the group too, and read on.  Returns the kind of the next message.
 */
static int prove(struct guest *guest, const uint8_t *said, uint8_t *message,
		 size_t *length, uint64_t deadline)
{
	const struct coll_setup *setup = guest->setup;
	uint8_t proof[COLL_PROOF_SIZE], answer[COLL_MESSAGE_MAX];
	int err;

	if (!setup->secured || *length != COLL_CHALLENGE_SIZE)
		return coll_fail(guest->detail, -EPROTO, "rank 0 at %s:%d answered nonsense",
				 setup->host, setup->port);
	coll_secret_prove(setup, COLL_SIDE_HOST, said, COLL_HELLO_SIZE, message, proof);
	if (!memeql_sec(proof, message + COLL_NONCE_SIZE, sizeof(proof)))
		return coll_fail(guest->detail, -EACCES,
				 "what answers at %s:%d does not know the group's secret",
				 setup->host, setup->port);
	coll_secret_prove(setup, COLL_SIDE_GUEST, said, COLL_HELLO_SIZE, message, proof);
	err = send_all(guest->fd, answer, coll_message_proof(answer, proof), deadline);
	return err ?: read_message(guest, message, COLL_FAIL_MAX, length, deadline);
}

/* Say who we are; the answer, or -EAGAIN when it may be tried again. */
static int greet(struct guest *guest, struct coll_welcome *welcome)
{
	const struct coll_setup *setup = guest->setup;
	uint64_t deadline = setup->deadline + GRACE_MS;
	struct coll_hello hello = {
		.rank = setup->rank,
		.nranks = setup->nranks,
		.lanes = setup->lanes,
		.left_ms = coll_deadline_left(setup->deadline),
	};
	uint8_t message[COLL_MESSAGE_MAX], said[COLL_MESSAGE_MAX];
	bool proved = !setup->secured;
	size_t length;
	int kind;

	strcpy(hello.name, setup->name);
	if (coll_secret_nonce(setup, hello.nonce))
		return coll_fail(guest->detail, -EAGAIN, "no random numbers");
	kind = send_all(guest->fd, said, coll_message_hello(said, &hello), deadline);
	/* A rank 0 that gives up has said why before it closed. */
	if (!kind || kind == -EPIPE || kind == -ECONNRESET)
		kind = read_message(guest, message, COLL_FAIL_MAX, &length,
				    deadline);
	if (kind == COLL_MESSAGE_CHALLENGE) {
		kind = prove(guest, said + COLL_HEAD_SIZE, message, &length, deadline);
		proved = true;
	}
	if (kind == COLL_MESSAGE_WELCOME && !proved)
		return coll_fail(guest->detail, -EACCES,
				 "what answers at %s:%d does not ask for the group's secret",
				 setup->host, setup->port);
	if (kind == COLL_MESSAGE_WELCOME &&
	    !coll_message_read_welcome(message, length, welcome))
		return 0;
	if (kind >= 0)
		return coll_fail(guest->detail, -EPROTO,
				 "rank 0 at %s:%d answered nonsense",
				 setup->host, setup->port);
	/* A listener that closes: rank 0 is ending, or was full of strangers. */
	if (guest->detail->text && guest->detail->text[0])
		return kind;
	snprintf(guest->trouble, sizeof(guest->trouble),
		 kind == -ETIMEDOUT ? "it does not answer" :
		 "it closed the connection");
	return kind == -ECONNRESET || kind == -EPIPE ? -EAGAIN : kind;
}

/* Try each of rank 0's addresses once. */
static int attempt(struct guest *guest, struct coll_welcome *welcome)
{
	const struct addrinfo *at;
	struct addrinfo *where;
	int err;

	err = coll_rendezvous_resolve(guest->setup, &where);
	if (err) {
		snprintf(guest->trouble, sizeof(guest->trouble), "%s",
			 gai_strerror(err));
		return -EAGAIN;
	}
	err = -EAGAIN;
	for (at = where; at && err == -EAGAIN; at = at->ai_next) {
		memset(&guest->addr, 0, sizeof(guest->addr));
		memcpy(&guest->addr, at->ai_addr, at->ai_addrlen);
		err = coll_rendezvous_allowed(guest->setup, &guest->addr,
					      guest->detail);
		if (err)
			break;
		err = dial(guest, at);
		if (err) {
			snprintf(guest->trouble, sizeof(guest->trouble), "%s",
				 strerrordesc_np(-err));
			err = -EAGAIN;
			continue;
		}
		err = greet(guest, welcome);
		if (err) {
			close(guest->fd);
			guest->fd = -1;
		}
	}
	freeaddrinfo(where);
	return err;
}

static int arrive(struct guest *guest, struct coll_welcome *welcome)
{
	struct coll_setup *setup = guest->setup;
	unsigned int pause = PAUSE_MIN_MS, left;
	int err;

	for (;;) {
		err = attempt(guest, welcome);
		left = coll_deadline_left(setup->deadline);
		if (err != -EAGAIN)
			break;
		if (!left) {
			err = -ETIMEDOUT;
			break;
		}
		poll(NULL, 0, pause < left ? pause : left);
		pause = 2 * pause < PAUSE_MAX_MS ? 2 * pause : PAUSE_MAX_MS;
	}
	if (err)
		coll_fail(guest->detail, err,
			  "rank %d cannot reach rank 0 at %s:%d: %s",
			  setup->rank, setup->host, setup->port,
			  guest->trouble);
	return err;
}

static int local_address(const struct guest *guest,
			 struct sockaddr_storage *addr)
{
	socklen_t length = sizeof(*addr);

	if (guest->setup->local[0])
		return coll_address_local(addr, guest->setup->local,
					  guest->addr.ss_family, guest->detail);
	memset(addr, 0, sizeof(*addr));
	if (getsockname(guest->fd, (struct sockaddr *)addr, &length))
		return coll_fail(guest->detail, -errno, "no local address");
	return 0;
}

static int join(struct guest *guest, int device,
		struct sockaddr_storage *addr)
{
	uint64_t deadline = guest->setup->deadline + GRACE_MS;
	uint8_t message[COLL_MESSAGE_MAX];
	char text[COLL_DETAIL_SIZE] = "";
	struct coll_detail mine = { text, sizeof(text) };
	int err;

	err = local_address(guest, addr) ?:
	      coll_rendezvous_allowed(guest->setup, addr, &mine) ?:
	      coll_lifeline_join(device, guest->setup, addr, &mine);
	if (!err)
		return send_all(guest->fd, message,
				coll_message_address(message, addr), deadline);
	coll_fail(guest->detail, err, "%s", text);
	send_all(guest->fd, message, coll_message_fail(message, err, text),
		 deadline);
	return err;
}

static int read_table(struct guest *guest, const struct sockaddr_storage *own,
		      struct sockaddr_storage *peers)
{
	size_t size = (size_t)guest->setup->nranks * COLL_ENTRY_SIZE, length;
	uint8_t *body;
	int i, err;

	/* Room for either message. */
	body = malloc(size + COLL_FAIL_MAX);
	if (!body)
		return -ENOMEM;
	err = read_message(guest, body, size + COLL_FAIL_MAX, &length,
			   guest->setup->deadline + GRACE_MS);
	if (err < 0)
		goto free;
	err = err == COLL_MESSAGE_TABLE && length == size ? 0 : -EPROTO;
	for (i = 0; !err && i < guest->setup->nranks; i++) {
		err = coll_message_read_entry(body + i * COLL_ENTRY_SIZE,
					      &peers[i]);
		if (!err)
			coll_address_scope(&peers[i], own);
	}
	if (err)
		coll_fail(guest->detail, err,
			  "rank 0 at %s:%d sent a malformed table",
			  guest->setup->host, guest->setup->port);
free:
	free(body);
	return err;
}

int coll_rendezvous_guest(int fd, struct coll_setup *setup,
			  struct sockaddr_storage *peers,
			  struct coll_detail *detail)
{
	/* Texts decide here what is final, so there is always room for one. */
	char text[COLL_DETAIL_SIZE] = "";
	struct coll_detail mine = { text, sizeof(text) };
	struct guest guest = { .setup = setup, .detail = &mine, .fd = -1 };
	struct sockaddr_storage own;
	struct coll_welcome welcome;
	int err;

	err = arrive(&guest, &welcome);
	if (err)
		goto out;
	strcpy(setup->name, welcome.name);
	setup->id = welcome.id;
	setup->lanes = welcome.lanes;
	err = join(&guest, fd, &own) ?:
	      read_table(&guest, &own, peers);
	close(guest.fd);
	if (err)
		coll_fail(&mine, err, err == -ETIMEDOUT ?
			  "rank 0 at %s:%d was silent until the deadline" :
			  "rank 0 at %s:%d went away while the group formed",
			  setup->host, setup->port);
out:
	return err ? coll_fail(detail, err, "%s", text) : 0;
}
