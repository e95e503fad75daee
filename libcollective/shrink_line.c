// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The connections of coll_shrink(): one poll() loop over our door, those who have
 * come through it, and those whom we have called.
 */
#include <errno.h>
#include <nettle/memops.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "address.h"
#include "deadline.h"
#include "lifeline.h"
#include "shrink.h"

#define AGAIN_MS	20	/* between two attempts to reach a rank */
#define SEND_MS		2000	/* for a peer to make room */

static void line_open(struct coll_line *line, int fd)
{
	line->fd = fd;
	line->have = 0;
	line->mail = 0;
	line->asked = false;
	line->proved = false;
}

void coll_line_close(struct coll_line *line)
{
	if (line->fd >= 0)
		close(line->fd);
	line_open(line, -1);
}

void coll_line_send(struct coll_line *line, const uint8_t *message, size_t size)
{
	struct pollfd one = { .fd = line->fd, .events = POLLOUT };
	uint64_t deadline = coll_deadline_in(SEND_MS);
	ssize_t sent;

	while (line->fd >= 0 && size) {
		sent = send(line->fd, message, size, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (sent >= 0) {
			message += sent;
			size -= sent;
			continue;
		}
		if ((errno != EAGAIN && errno != EINTR) || !coll_deadline_left(deadline)) {
			/* Half a message would be taken for another one. */
			shutdown(line->fd, SHUT_RDWR);
			return;
		}
		poll(&one, 1, coll_deadline_left(deadline));
	}
}

const uint8_t *coll_line_body(const struct coll_line *line, size_t *length)
{
	*length = line->have - COLL_HEAD_SIZE;
	return line->in + COLL_HEAD_SIZE;
}

void coll_line_taken(struct coll_line *line)
{
	line->have = 0;
	line->mail = 0;
}

static int line_grow(struct coll_line *line, size_t room)
{
	uint8_t *in;

	if (room <= line->room)
		return 0;
	in = realloc(line->in, room);
	if (!in)
		return -ENOMEM;
	line->in = in;
	line->room = room;
	return 0;
}

/* Until a whole message is there (its kind) or no more comes (0); an error: it is over. */
static int line_read(struct coll_line *line, size_t max)
{
	size_t want, length;
	ssize_t got;
	int kind;

	for (;;) {
		want = COLL_HEAD_SIZE;
		kind = 0;
		if (line->have >= COLL_HEAD_SIZE) {
			kind = coll_message_head(line->in, max, &length);
			if (kind < 0)
				return kind;
			want += length;
		}
		if (kind && line->have == want) {
			line->mail = kind;
			return kind;
		}
		if (line_grow(line, want > COLL_MESSAGE_MAX ? want : COLL_MESSAGE_MAX))
			return -ENOMEM;
		got = recv(line->fd, line->in + line->have, want - line->have, MSG_DONTWAIT);
		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			return 0;
		if (got <= 0)
			return -ECONNRESET;
		line->have += got;
	}
}

/*
 * Who we are
 */

_Static_assert(COLL_NONCE_SIZE == COLL_PROOF_SIZE, "a line's word is either");

/* Our first word on a connection that we made; @asked: the other's nonce, or NULL. */
static void greet(struct coll_shrink *shrink, struct coll_line *line, const uint8_t *asked)
{
	const struct coll_comm *comm = shrink->comm;
	struct coll_survivor_hello hello = {
		.id = comm->setup.id,
		.rank = comm->rank,
		.nranks = comm->nranks,
		.left_ms = coll_deadline_left(shrink->deadline),
		.phase = shrink->phase,
		.round = shrink->round,
		.follows = shrink->leader != comm->rank,
	};
	const struct coll_setup *setup = &comm->setup;
	uint8_t message[COLL_MESSAGE_MAX], *said = message + COLL_HEAD_SIZE;
	size_t size;

	if (coll_secret_nonce(setup, hello.nonce))
		return;
	size = coll_message_survivor(message, &hello);
	if (asked) {
		coll_secret_prove(setup, COLL_SIDE_GUEST, said, COLL_SURVIVOR_SAID, asked,
				  said + COLL_SURVIVOR_SAID);
		coll_secret_prove(setup, COLL_SIDE_HOST, said, COLL_SURVIVOR_SAID, asked,
				  line->word);
	}
	coll_line_send(line, message, size);
}

/* Who has come through our door is to prove that it knows the secret. */
static void ask(struct coll_shrink *shrink, struct coll_line *line)
{
	static const uint8_t none[COLL_PROOF_SIZE];
	uint8_t message[COLL_MESSAGE_MAX];

	if (!shrink->comm->setup.secured)
		return;
	if (coll_secret_nonce(&shrink->comm->setup, line->word))
		coll_line_close(line);
	else
		coll_line_send(line, message,
			       coll_message_challenge(message, line->word, none));
}

/* It has said @said: does it know the secret?  Then it hears that we do. */
static bool proves(struct coll_shrink *shrink, struct coll_line *line, const uint8_t *said)
{
	const struct coll_setup *setup = &shrink->comm->setup;
	uint8_t message[COLL_MESSAGE_MAX], proof[COLL_PROOF_SIZE];

	if (!setup->secured)
		return true;
	coll_secret_prove(setup, COLL_SIDE_GUEST, said, COLL_SURVIVOR_SAID, line->word, proof);
	if (!memeql_sec(proof, said + COLL_SURVIVOR_SAID, sizeof(proof)))
		return false;
	coll_secret_prove(setup, COLL_SIDE_HOST, said, COLL_SURVIVOR_SAID, line->word, proof);
	coll_line_send(line, message, coll_message_proof(message, proof));
	return true;
}

static void tell_leader(struct coll_shrink *shrink, struct coll_line *line, int leader)
{
	uint8_t message[COLL_MESSAGE_MAX];

	coll_line_send(line, message, coll_message_here(message, leader, shrink->forming));
}

void coll_shrink_tell_leader(struct coll_shrink *shrink, int leader)
{
	int rank;

	for (rank = 0; rank < shrink->comm->nranks; rank++)
		tell_leader(shrink, &shrink->survivors[rank].in, leader);
}

/* The first word on a connection that came through the door: is it one of us? */
static struct coll_survivor *admit(struct coll_shrink *shrink, struct coll_line *line)
{
	const struct coll_comm *comm = shrink->comm;
	struct coll_survivor_hello hello;
	struct coll_survivor *survivor;
	const uint8_t *body;
	uint64_t deadline;
	size_t length;

	body = coll_line_body(line, &length);
	if (line->mail != COLL_MESSAGE_SURVIVOR ||
	    coll_message_read_survivor(body, length, &hello) ||
	    hello.id != comm->setup.id || hello.nranks != (uint32_t)comm->nranks ||
	    hello.rank == (uint32_t)comm->rank || !proves(shrink, line, body))
		return NULL;
	survivor = &shrink->survivors[hello.rank];
	survivor->phase = hello.phase;
	survivor->round = hello.round;
	survivor->follows = hello.follows;
	survivor->told = false;
	survivor->said = 0;
	survivor->late = false;
	survivor->suspected = false;
	if (survivor->state >= SURVIVOR_SHUT) {
		coll_line_close(&survivor->out);
		survivor->state = SURVIVOR_UNKNOWN;
	}
	deadline = coll_deadline_in(hello.left_ms);
	if (deadline < shrink->half)
		deadline = shrink->half;
	if (hello.follows && deadline < shrink->deadline)
		shrink->deadline = deadline;
	return survivor;
}

/*
 * Whom we call
 */

void coll_shrink_drop(struct coll_survivor *survivor)
{
	coll_line_close(&survivor->out);
	survivor->answered = false;
	survivor->again = coll_deadline_in(AGAIN_MS);
	survivor->state = survivor->state == SURVIVOR_GONE ? SURVIVOR_SHUT : SURVIVOR_UNKNOWN;
}

static void dial(struct coll_shrink *shrink, int rank);

/* The door is closed: try the life.  That, too: it has none any more. */
static void out_refused(struct coll_shrink *shrink, int rank)
{
	struct coll_survivor *survivor = &shrink->survivors[rank];

	coll_line_close(&survivor->out);
	if (survivor->state == SURVIVOR_SHUT) {
		survivor->state = SURVIVOR_DEAD;
		return;
	}
	survivor->state = SURVIVOR_SHUT;
	dial(shrink, rank);
}

/* Connected, or not: @err. */
static void out_done(struct coll_shrink *shrink, int rank, int err)
{
	struct coll_survivor *survivor = &shrink->survivors[rank];

	if (!err && coll_address_met_self(survivor->out.fd))
		err = -ECONNREFUSED;
	if (err == -ECONNREFUSED) {
		out_refused(shrink, rank);
	} else if (err) {
		coll_shrink_drop(survivor);
	} else if (survivor->state == SURVIVOR_SHUT) {
		survivor->state = SURVIVOR_GONE;
	} else {
		survivor->state = SURVIVOR_REACHED;
		survivor->out.proved = !shrink->comm->setup.secured;
		if (survivor->out.proved)
			greet(shrink, &survivor->out, NULL);
	}
}

static void dial(struct coll_shrink *shrink, int rank)
{
	struct coll_survivor *survivor = &shrink->survivors[rank];
	struct sockaddr_storage to = shrink->comm->peers[rank];
	const struct coll_lifeline_ports ports = coll_lifeline_ports(&to);
	int fd;

	if (!survivor->dialed)
		survivor->dialed = coll_deadline_now();
	if (survivor->state == SURVIVOR_UNKNOWN)
		survivor->state = SURVIVOR_DIALED;
	coll_address_set_port(&to, survivor->state == SURVIVOR_SHUT ? ports.life : ports.door);
	fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	line_open(&survivor->out, fd);
	if (fd < 0)
		coll_shrink_drop(survivor);
	else if (!connect(fd, (struct sockaddr *)&to, coll_address_length(&to)))
		out_done(shrink, rank, 0);
	else if (errno != EINPROGRESS && errno != EINTR)
		out_done(shrink, rank, -errno);
}

static void out_here(struct coll_shrink *shrink, struct coll_survivor *survivor)
{
	const uint8_t *body;
	uint32_t leader;
	size_t length;

	body = coll_line_body(&survivor->out, &length);
	if (coll_message_read_here(body, length, &leader, &survivor->forming)) {
		coll_shrink_drop(survivor);
		return;
	}
	coll_line_taken(&survivor->out);
	survivor->answered = true;
	survivor->leader = leader < (uint32_t)shrink->comm->nranks ? (int)leader : -1;
}

/* It asks for our proof, or gives its own. */
static void out_prove(struct coll_shrink *shrink, struct coll_survivor *survivor, int kind)
{
	struct coll_line *line = &survivor->out;
	bool asks = kind == COLL_MESSAGE_CHALLENGE;
	const uint8_t *body;
	size_t length;

	body = coll_line_body(line, &length);
	if (line->proved || asks == line->asked ||
	    length != (asks ? COLL_CHALLENGE_SIZE : COLL_PROOF_SIZE) ||
	    (!asks && !memeql_sec(body, line->word, COLL_PROOF_SIZE))) {
		coll_shrink_drop(survivor);
		return;
	}
	if (asks)
		greet(shrink, line, body);
	line->asked = true;
	line->proved = !asks;
	coll_line_taken(line);
}

static void out_event(struct coll_shrink *shrink, int rank)
{
	struct coll_survivor *survivor = &shrink->survivors[rank];
	socklen_t size = sizeof(int);
	int err = 0, kind;
	char byte;

	switch (survivor->state) {
	case SURVIVOR_DIALED:
	case SURVIVOR_SHUT:
		if (getsockopt(survivor->out.fd, SOL_SOCKET, SO_ERROR, &err, &size))
			err = errno;
		out_done(shrink, rank, -err);
		return;
	case SURVIVOR_GONE:
		/* Nobody speaks there: it is the end. */
		if (recv(survivor->out.fd, &byte, 1, MSG_DONTWAIT) >= 0 || errno != EAGAIN)
			coll_shrink_drop(survivor);
		return;
	default:
		break;
	}
	while (survivor->state == SURVIVOR_REACHED && !survivor->out.mail) {
		kind = line_read(&survivor->out, COLL_ROUND_SIZE + COLL_FAIL_MAX +
				 (size_t)shrink->comm->nranks * COLL_ENTRY_SIZE);
		if (!kind)
			return;
		if (kind == COLL_MESSAGE_CHALLENGE || kind == COLL_MESSAGE_PROOF)
			out_prove(shrink, survivor, kind);
		else if (kind < 0 || !survivor->out.proved)
			coll_shrink_drop(survivor);
		else if (kind == COLL_MESSAGE_HERE)
			out_here(shrink, survivor);
		else
			return;
	}
}

/*
 * Who calls us
 */

/* What somebody says of a round is looked at when it is the current one. */
static void in_message(struct coll_shrink *shrink, struct coll_survivor *survivor)
{
	struct coll_line *line = &survivor->in;
	char text[COLL_DETAIL_SIZE] = "";
	const uint8_t *body;
	size_t length;

	body = coll_line_body(line, &length);
	if (length < COLL_ROUND_SIZE || coll_message_read_round(body) != shrink->round ||
	    shrink->leader != shrink->comm->rank) {
		coll_line_taken(line);
		return;
	}
	survivor->said = line->mail;
	if (line->mail == COLL_MESSAGE_PLACE &&
	    (length != COLL_ROUND_SIZE + COLL_ENTRY_SIZE ||
	     coll_message_read_entry(body + COLL_ROUND_SIZE, &survivor->place)))
		coll_line_close(line);
	if (line->mail == COLL_MESSAGE_UNABLE) {
		survivor->error = coll_message_read_fail(body + COLL_ROUND_SIZE,
							 length - COLL_ROUND_SIZE, text,
							 sizeof(text));
		if (survivor->error != -ECONNRESET && survivor->error != -ETIMEDOUT)
			coll_fail(&shrink->detail, survivor->error, "%s", text);
	}
	coll_line_taken(line);
}

static void in_event(struct coll_shrink *shrink, struct coll_survivor *survivor)
{
	int kind;

	while (survivor->in.fd >= 0 && !survivor->in.mail) {
		kind = line_read(&survivor->in, COLL_FAIL_MAX);
		if (kind < 0)
			coll_line_close(&survivor->in);
		if (kind <= 0)
			return;
		in_message(shrink, survivor);
	}
}

static void stranger_event(struct coll_shrink *shrink, struct coll_line *stranger)
{
	struct coll_survivor *survivor = NULL;
	int kind = line_read(stranger, COLL_SURVIVOR_SIZE);
	struct coll_line line;

	if (!kind)
		return;
	if (kind > 0)
		survivor = admit(shrink, stranger);
	if (!survivor) {
		coll_line_close(stranger);
		return;
	}
	/* The same rank again: it has given up the connection it had. */
	coll_line_close(&survivor->in);
	line = survivor->in;
	survivor->in = *stranger;
	*stranger = line;
	coll_line_taken(&survivor->in);
	tell_leader(shrink, &survivor->in, shrink->leader);
}

/* Take one in; with no place left the first is given up, who comes again if it is one of us. */
static void door_event(struct coll_shrink *shrink)
{
	struct coll_line *line = shrink->strangers;
	int fd, i;

	fd = accept4(shrink->comm->setup.door, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0) {
		/* Without a file for it, it stays there: do not look all the time. */
		if (errno == EMFILE || errno == ENFILE)
			poll(NULL, 0, AGAIN_MS);
		return;
	}
	for (i = 0; i < COLL_STRANGERS && line[i].fd >= 0; i++)
		;
	if (i == COLL_STRANGERS) {
		struct coll_line oldest = line[0];

		coll_line_close(&oldest);
		memmove(line, line + 1, sizeof(*line) * --i);
		line[i] = oldest;
	}
	line_open(&line[i], fd);
	ask(shrink, &line[i]);
}

/*
 * All together
 */

static void set_poll(struct pollfd *one, const struct coll_line *line, short events)
{
	/* What is not taken yet is not to wake us again. */
	one->fd = line->mail ? -1 : line->fd;
	one->events = events;
	one->revents = 0;
}

/* Call whom we want, and say when the next call is due. */
static uint64_t call_wanted(struct coll_shrink *shrink, uint64_t until)
{
	uint64_t now = coll_deadline_now();
	int rank;

	for (rank = 0; rank < shrink->comm->nranks; rank++) {
		struct coll_survivor *survivor = &shrink->survivors[rank];

		if (!survivor->wanted || rank == shrink->comm->rank || survivor->out.fd >= 0 ||
		    survivor->state == SURVIVOR_DEAD)
			continue;
		if (survivor->again <= now)
			dial(shrink, rank);
		if (survivor->out.fd < 0 && survivor->again < until)
			until = survivor->again;
	}
	return until;
}

void coll_shrink_pump(struct coll_shrink *shrink, uint64_t until)
{
	const int n = shrink->comm->nranks;
	struct pollfd *polls = shrink->polls, *in = polls + 1, *out = in + n, *new = out + n;
	int i;

	until = call_wanted(shrink, until);
	polls->fd = shrink->comm->setup.door;
	polls->events = POLLIN;
	polls->revents = 0;
	for (i = 0; i < n; i++) {
		const struct coll_survivor *survivor = &shrink->survivors[i];

		set_poll(&in[i], &survivor->in, POLLIN);
		set_poll(&out[i], &survivor->out, survivor->state == SURVIVOR_DIALED ||
			 survivor->state == SURVIVOR_SHUT ? POLLOUT : POLLIN);
	}
	for (i = 0; i < COLL_STRANGERS; i++)
		set_poll(&new[i], &shrink->strangers[i], POLLIN);
	new[i].fd = shrink->connecting ? shrink->child->fd : -1;
	new[i].events = POLLOUT;
	if (poll(polls, COLL_SHRINK_POLLS(n), coll_deadline_left(until)) <= 0)
		return;
	for (i = 0; i < n; i++) {
		if (in[i].revents)
			in_event(shrink, &shrink->survivors[i]);
		if (out[i].revents)
			out_event(shrink, i);
	}
	for (i = 0; i < COLL_STRANGERS; i++)
		if (new[i].revents)
			stranger_event(shrink, &shrink->strangers[i]);
	/* Last, since it may give a place away. */
	if (polls->revents)
		door_event(shrink);
}

void coll_shrink_hang_up(struct coll_shrink *shrink)
{
	int i;

	for (i = 0; i < COLL_STRANGERS; i++) {
		coll_line_close(&shrink->strangers[i]);
		free(shrink->strangers[i].in);
	}
	for (i = 0; shrink->survivors && i < shrink->comm->nranks; i++) {
		coll_line_close(&shrink->survivors[i].in);
		coll_line_close(&shrink->survivors[i].out);
		free(shrink->survivors[i].in.in);
		free(shrink->survivors[i].out.in);
	}
}
