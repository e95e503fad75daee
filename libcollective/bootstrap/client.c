// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The other ranks' side of the rendezvous.  See rendezvous.h.
 *
 * Until rank 0 has said WAIT anything that goes wrong is tried again, unless rank 0 itself
 * says that it is final: rank 0 may not be there yet, nor its host's name, and another
 * process may answer in its place.  From then on the first failure is final.
 *
 * The addresses of the name are tried one after the other.  Each has a share of the time,
 * which grows from round to round: one that is silent does not keep the rank from the next.
 */
#include <errno.h>
#include <netdb.h>
#include <nettle/memops.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "bootstrap/address.h"
#include "bootstrap/bootstrap.h"
#include "bootstrap/message.h"
#include "bootstrap/rejoin_port.h"
#include "bootstrap/resolve.h"
#include "bootstrap/secret.h"
#include "comm/deadline.h"

#define SHARE_MIN_MS	300	/* for an address in the first round */
#define SHARE_MAX_MS	8000
#define REPORT_MS	2000	/* to tell rank 0 that there is no device */
#define PAUSE_MIN_MS	10
#define PAUSE_MAX_MS	250
#define GRACE_MS	2000	/* for rank 0's word after the deadline */
#define FILES_NEEDED	3	/* the device, a connection, and what waits for coll_shrink() */

/**
 * struct guest - a rank on its way
 * @setup: its own
 * @detail: texts that are final
 * @fd: connection to rank 0, non-blocking; -1: none
 * @process: random number of this process
 * @attempt: how often it has said HELLO
 * @id: of the rendezvous, once rank 0 has said WAIT
 * @known: rank 0 has
 * @addr: of rank 0
 * @believed: what the other end of @fd says is rank 0's word
 * @tried: what became of the addresses in this round
 * @error: errno of this round, if it tells more than that rank 0 was not there; or 0
 * @report: what was tried in the latest round that had some time
 * @report_error: its errno
 * @nonsense: addresses in this round where something else than rank 0 answered
 */
struct guest {
	struct coll_setup *setup;
	struct coll_detail *detail;
	int fd;
	uint64_t process;
	uint32_t attempt;
	uint64_t id;
	bool known;
	struct sockaddr_storage addr;
	bool believed;
	char tried[300];
	int error;
	char report[300];
	int report_error;
	unsigned int nonsense;
};

static void hang_up(struct guest *guest)
{
	if (guest->fd >= 0)
		close(guest->fd);
	guest->fd = -1;
}

/* The address did not do, by @err or for the reason @why. */
static int trouble(struct guest *guest, int err, const char *why)
{
	size_t at = strlen(guest->tried);
	char text[COLL_ADDRESS_TEXT];

	coll_address_format(&guest->addr, text);
	snprintf(guest->tried + at, sizeof(guest->tried) - at, "%s%s: %s", at ? "; " : "", text,
		 why ? why : strerrordesc_np(-err));
	if (err == -EACCES || err == -EPROTO)
		guest->error = err;
	guest->nonsense += err == -EPROTO;
	return -EAGAIN;
}

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
 * One message into @body; FAIL is turned into rank 0's errno, with its text in @why.
 * Returns the kind or an error.
 */
static int read_message(struct guest *guest, uint8_t *body, size_t max,
			size_t *length, uint64_t deadline, char why[COLL_FAIL_MAX])
{
	uint8_t head[COLL_HEAD_SIZE];
	int kind, err;

	why[0] = '\0';
	err = read_all(guest->fd, head, sizeof(head), deadline);
	if (err)
		return err;
	kind = coll_message_head(head, max, length);
	if (kind < 0) {
		snprintf(why, COLL_FAIL_MAX,
			 "what answers there is no rendezvous of this version");
		return kind;
	}
	err = read_all(guest->fd, body, *length, deadline);
	if (err || kind != COLL_MESSAGE_FAIL)
		return err ?: kind;
	return coll_message_read_fail(body, *length, why, COLL_FAIL_MAX);
}

static int too_many_files(struct guest *guest, int err)
{
	return coll_fail(guest->detail, err,
			 "rank %d has too many open files (%s): it needs %d more (see ulimit -n)",
			 guest->setup->rank, strerrordesc_np(-err), FILES_NEEDED);
}

static bool is_files(int err)
{
	return err == -EMFILE || err == -ENFILE;
}

/* Connect to @guest->addr. */
static int dial(struct guest *guest, uint64_t deadline)
{
	socklen_t size = sizeof(int);
	int fd, err = 0;

	fd = socket(guest->addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&guest->addr, coll_address_length(&guest->addr))) {
		err = errno == EINPROGRESS || errno == EINTR ?
		      wait_for(fd, POLLOUT, deadline) : -errno;
		if (!err)
			err = getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &size) ? -errno : -err;
	}
	if (!err && coll_address_met_self(fd))
		err = -ECONNREFUSED;
	if (err) {
		close(fd);
		return err;
	}
	coll_rendezvous_probe(fd);
	guest->fd = fd;
	guest->believed = !guest->setup->secured;
	return 0;
}

/*
 * Rank 0 has answered the HELLO in @said with the CHALLENGE in @message: believe it, and
 * prove that this rank is one of the group too.
 */
static int prove(struct guest *guest, const uint8_t *said, const uint8_t *message,
		 size_t length, uint64_t deadline)
{
	const struct coll_setup *setup = guest->setup;
	uint8_t proof[COLL_PROOF_SIZE], answer[COLL_MESSAGE_MAX];

	if (!setup->secured || length != COLL_CHALLENGE_SIZE)
		return trouble(guest, -EPROTO, "it answered nonsense");
	coll_secret_prove(setup, COLL_SIDE_HOST, said, COLL_HELLO_SIZE, message, proof);
	if (!memeql_sec(proof, message + COLL_NONCE_SIZE, sizeof(proof)))
		return trouble(guest, -EACCES,
			       "what answers there does not know the group's secret");
	guest->believed = true;
	coll_secret_prove(setup, COLL_SIDE_GUEST, said, COLL_HELLO_SIZE, message, proof);
	return send_all(guest->fd, answer, coll_message_proof(answer, proof), deadline);
}

/* Neither WAIT nor CHALLENGE came, but @kind, or an error. */
static int rebuffed(struct guest *guest, int kind, const char *why)
{
	char text[COLL_FAIL_MAX + 32];

	if (kind >= 0)
		return trouble(guest, guest->believed ? -EPROTO : -EACCES, guest->believed ?
			       "it answered nonsense" :
			       "what answers there does not ask for the group's secret");
	if (kind == -ETIMEDOUT && !why[0])
		return trouble(guest, kind, "it does not answer");
	/* A listener that closes: rank 0 is ending, or was full of strangers. */
	if (!why[0])
		return trouble(guest, kind, kind == -ECONNRESET || kind == -EPIPE ?
			       "it closed the connection" : NULL);
	if (!guest->believed) {
		snprintf(text, sizeof(text), "it says without a proof: %s", why);
		return trouble(guest, kind == -EPROTO ? kind : -EACCES, text);
	}
	if (kind == -EAGAIN || kind == -EPROTO)
		return trouble(guest, kind, why);
	return coll_fail(guest->detail, kind, "%s", why);
}

/*
 * Say which rank this is; 0: rank 0 has said WAIT, in @wait; -EAGAIN: it may be tried again; or
 * rank 0's last word.
 */
static int greet(struct guest *guest, struct coll_wait *wait, uint64_t deadline)
{
	const struct coll_setup *setup = guest->setup;
	struct coll_hello hello = {
		.rank = setup->rank,
		.nranks = setup->nranks,
		.lanes = setup->lanes,
		.left_ms = coll_deadline_left(setup->deadline),
		.job = setup->job,
		.process = guest->process,
		.attempt = ++guest->attempt,
		.returns = guest->known,
		.id = guest->id,
	};
	uint8_t message[COLL_MESSAGE_MAX], said[COLL_MESSAGE_MAX];
	char why[COLL_FAIL_MAX] = "";
	size_t length;
	int kind;

	strcpy(hello.name, setup->name);
	if (coll_secret_nonce(setup, hello.nonce))
		return coll_fail(guest->detail, -EIO, "no random numbers");
	kind = send_all(guest->fd, said, coll_message_hello(said, &hello), deadline);
	/* A rank 0 that gives up has said why before it closed. */
	if (!kind || kind == -EPIPE || kind == -ECONNRESET)
		kind = read_message(guest, message, COLL_FAIL_MAX, &length, deadline, why);
	if (kind == COLL_MESSAGE_CHALLENGE) {
		kind = prove(guest, said + COLL_HEAD_SIZE, message, length, deadline);
		if (kind == -EAGAIN)
			return kind;
		if (!kind)
			kind = read_message(guest, message, COLL_FAIL_MAX, &length, deadline,
					    why);
	}
	if (kind == COLL_MESSAGE_WAIT && guest->believed &&
	    !coll_message_read_wait(message, length, wait))
		return 0;
	return rebuffed(guest, kind, why);
}

/* Try an address until @deadline; as greet(). */
static int attempt(struct guest *guest, uint64_t deadline)
{
	struct coll_wait wait;
	int err = dial(guest, deadline);

	if (is_files(err))
		return too_many_files(guest, err);
	if (err)
		return trouble(guest, err, err == -ETIMEDOUT ? "no connection" : NULL);
	err = greet(guest, &wait, deadline);
	if (err) {
		hang_up(guest);
		return err;
	}
	guest->known = true;
	guest->id = wait.id;
	return 0;
}

/* Try each of rank 0's addresses once, @share ms each. */
static int round_trip(struct guest *guest, unsigned int share)
{
	const struct coll_setup *setup = guest->setup;
	struct coll_detail none = { NULL, 0 };
	char why[COLL_RESOLVE_TEXT] = "";
	const struct addrinfo *at;
	struct addrinfo *where;
	unsigned int tries = 0;
	uint64_t deadline;
	int err;

	guest->tried[0] = '\0';
	guest->nonsense = 0;
	guest->error = 0;
	err = coll_resolve(setup->host, setup->port, setup->deadline, &where, why);
	if (is_files(err))
		return too_many_files(guest, err);
	if (err) {
		snprintf(guest->tried, sizeof(guest->tried), "%s", why);
		return -EAGAIN;
	}
	err = -EAGAIN;
	for (at = where; at && err == -EAGAIN; at = at->ai_next) {
		memset(&guest->addr, 0, sizeof(guest->addr));
		memcpy(&guest->addr, at->ai_addr, at->ai_addrlen);
		if (coll_rendezvous_allowed(setup, &guest->addr, &none))
			continue;
		tries++;
		deadline = coll_deadline_in(share);
		err = attempt(guest, deadline < setup->deadline ? deadline : setup->deadline);
	}
	if (!tries)
		err = coll_rendezvous_allowed(setup, &guest->addr, guest->detail);
	freeaddrinfo(where);
	/* With a secret rank 0 would not have to be what answers there now. */
	if (err == -EAGAIN && tries == guest->nonsense && !setup->secured)
		return -EPROTO;
	return err;
}

static int arrive(struct guest *guest)
{
	const struct coll_setup *setup = guest->setup;
	unsigned int pause = PAUSE_MIN_MS, share = SHARE_MIN_MS, left;
	int err;

	for (;;) {
		left = coll_deadline_left(setup->deadline);
		err = round_trip(guest, share);
		/* The last round may be too short to tell anything. */
		if (left > SHARE_MIN_MS || !guest->report[0]) {
			strcpy(guest->report, guest->tried);
			guest->report_error = guest->error;
		}
		left = coll_deadline_left(setup->deadline);
		if (err != -EAGAIN)
			break;
		if (!left) {
			err = guest->report_error ?: -ETIMEDOUT;
			break;
		}
		/* Only a signal ends it early. */
		(void)poll(NULL, 0, pause < left ? pause : left);
		pause = 2 * pause < PAUSE_MAX_MS ? 2 * pause : PAUSE_MAX_MS;
		share = 2 * share < SHARE_MAX_MS ? 2 * share : SHARE_MAX_MS;
	}
	if (err)
		coll_fail(guest->detail, err,
			  "rank %d cannot reach rank 0 at %s:%d: %s",
			  setup->rank, setup->host, setup->port,
			  guest->report);
	return err;
}

/* Rank 0 has too few files for all: stay away for @ms, and call again. */
static int call_again(struct guest *guest, unsigned int ms)
{
	const struct coll_setup *setup = guest->setup;
	uint64_t until = setup->deadline + GRACE_MS, deadline;
	unsigned int left;
	int err;

	hang_up(guest);
	for (;;) {
		left = coll_deadline_left(until);
		if (!left)
			return -ETIMEDOUT;
		(void)poll(NULL, 0, ms < left ? ms : left);
		guest->tried[0] = '\0';
		deadline = coll_deadline_in(SHARE_MAX_MS);
		err = dial(guest, deadline < until ? deadline : until);
		if (is_files(err))
			return too_many_files(guest, err);
		/* Nothing listens there any more. */
		if (err == -ECONNREFUSED)
			return -ECONNRESET;
		if (!err) {
			struct coll_wait wait;

			err = greet(guest, &wait, deadline < until ? deadline : until);
			if (!err && wait.id != guest->id)
				return -ECONNRESET;
			if (!err)
				return 0;
			hang_up(guest);
			if (err != -EAGAIN)
				return err;
		}
		ms = PAUSE_MAX_MS;
	}
}

/* The address that leads to rank 0's, which may be another than the one that was dialled. */
static int local_address(const struct guest *guest, const struct coll_welcome *welcome,
			 struct sockaddr_storage *addr, struct coll_detail *detail)
{
	struct sockaddr_storage far = welcome->addr, here = { 0 };
	socklen_t length = sizeof(here);
	char text[COLL_ADDRESS_TEXT];
	int err;

	if (guest->setup->local[0])
		return coll_address_local(addr, guest->setup->local, far.ss_family, detail);
	if (getsockname(guest->fd, (struct sockaddr *)&here, &length))
		return coll_fail(detail, -errno, "no local address");
	*addr = here;
	coll_address_scope(&far, &here);
	if (coll_address_same_host(&far, &guest->addr))
		return 0;
	err = coll_address_route(addr, &far);
	if (!err)
		return 0;
	coll_address_format(&far, text);
	return coll_fail(detail, err,
			 "rank %d has no way to rank 0's address %s (%s): set COLL_LOCAL_ADDR on rank 0",
			 guest->setup->rank, text, strerrordesc_np(-err));
}

/* @device: or why there is none, which @guest->detail says. */
static int join(struct guest *guest, int device, const struct coll_welcome *welcome,
		struct sockaddr_storage *addr)
{
	uint64_t deadline = guest->setup->deadline + GRACE_MS;
	uint8_t message[COLL_MESSAGE_MAX];
	char text[COLL_DETAIL_SIZE] = "";
	struct coll_detail mine = { text, sizeof(text) };
	int err = device < 0 ? device : 0;

	if (err)
		coll_fail(&mine, err, "rank %d: %s", guest->setup->rank, guest->detail->text);
	else
		err = local_address(guest, welcome, addr, &mine) ?:
		      coll_rendezvous_allowed(guest->setup, addr, &mine) ?:
		      coll_lifeline_join(device, guest->setup, addr, &mine);
	if (!err)
		return send_all(guest->fd, message,
				coll_message_address(message, addr), deadline);
	coll_fail(guest->detail, err, "%s", text);
	/* It is the end in any case; rank 0 sees at least that the connection is closed. */
	(void)send_all(guest->fd, message, coll_message_fail(message, err, text), deadline);
	return err;
}

static int read_table(const struct guest *guest, const uint8_t *body, size_t length,
		      const struct sockaddr_storage *own, struct sockaddr_storage *peers)
{
	int i, err;

	if (length != (size_t)guest->setup->nranks * COLL_ENTRY_SIZE)
		return -EPROTO;
	for (i = 0; i < guest->setup->nranks; i++) {
		err = coll_message_read_entry(body + i * COLL_ENTRY_SIZE, &peers[i]);
		if (err)
			return err;
		coll_address_scope(&peers[i], own);
	}
	return 0;
}

static int welcome(struct guest *guest, int device, const uint8_t *body, size_t length,
		   struct sockaddr_storage *own)
{
	struct coll_welcome welcome;

	if (coll_message_read_welcome(body, length, &welcome) || welcome.id != guest->id)
		return -EPROTO;
	strcpy(guest->setup->name, welcome.name);
	guest->setup->id = welcome.id;
	guest->setup->lanes = welcome.lanes;
	return join(guest, device, &welcome, own);
}

/* Do what rank 0 says until it has sent the table. */
static int obey(struct guest *guest, int device, struct sockaddr_storage *peers)
{
	const size_t max = (size_t)guest->setup->nranks * COLL_ENTRY_SIZE + COLL_FAIL_MAX;
	struct sockaddr_storage own = { 0 };
	char why[COLL_FAIL_MAX];
	struct coll_wait wait;
	bool joined = false, complete = false;
	uint8_t *body;
	size_t length;
	int kind, err = 0;

	/* Room for any message. */
	body = malloc(max);
	if (!body)
		return -ENOMEM;
	while (!err && !complete) {
		kind = read_message(guest, body, max, &length,
				    guest->setup->deadline + GRACE_MS, why);
		if (kind < 0) {
			err = why[0] ? coll_fail(guest->detail, kind, "%s", why) : kind;
		} else if (kind == COLL_MESSAGE_WAIT &&
			   !coll_message_read_wait(body, length, &wait)) {
			if (wait.pause_ms)
				err = call_again(guest, wait.pause_ms);
		} else if (kind == COLL_MESSAGE_WELCOME && !joined) {
			err = welcome(guest, device, body, length, &own);
			joined = true;
		} else if (kind == COLL_MESSAGE_TABLE && joined) {
			err = read_table(guest, body, length, &own, peers);
			complete = true;
		} else {
			err = -EPROTO;
		}
	}
	free(body);
	return err;
}

static const char *end_of(int err)
{
	switch (err) {
	case -ETIMEDOUT:
		return "rank 0 at %s:%d was silent until the deadline";
	case -EPROTO:
		return "rank 0 at %s:%d broke the rendezvous";
	default:
		return "rank 0 at %s:%d went away while the group formed";
	}
}

int coll_rendezvous_guest(int fd, struct coll_setup *setup,
			  struct sockaddr_storage *peers,
			  struct coll_detail *detail)
{
	uint64_t report = coll_deadline_in(REPORT_MS);
	struct guest guest = { .setup = setup, .detail = detail, .fd = -1 };
	int err;

	if (getrandom(&guest.process, sizeof(guest.process), 0) != sizeof(guest.process))
		return coll_fail(detail, -EAGAIN, "no random numbers");
	if (fd < 0 && report < setup->deadline)
		setup->deadline = report;
	err = arrive(&guest);
	if (!err) {
		err = obey(&guest, fd, peers);
		hang_up(&guest);
		if (err == -ENOMEM)
			coll_fail(detail, err, "no memory");
		else if (err)
			coll_fail(detail, err, end_of(err), setup->host, setup->port);
	}
	/* What the others make of it is not the reason. */
	return fd < 0 ? fd : err;
}
