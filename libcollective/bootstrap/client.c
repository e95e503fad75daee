// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Bootstrap of the ranks other than 0: see bootstrap/bootstrap.h.
 *
 * Until rank 0 has sent WAIT, every failure is retried unless an authenticated rank 0 declares
 * it final: rank 0 or its host's name may not exist yet, and another process may answer in its
 * place.  After WAIT the first failure is final.
 *
 * The addresses of the name are tried one after the other.  Each gets a share of the time,
 * which doubles from round to round, so a silent address does not keep the rank from the next.
 */
#include <errno.h>
#include <netdb.h>
#include <nettle/memops.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bootstrap/address.h"
#include "bootstrap/bootstrap.h"
#include "bootstrap/key.h"
#include "bootstrap/message.h"
#include "bootstrap/rejoin_port.h"
#include "bootstrap/resolve.h"
#include "bootstrap/secret.h"
#include "comm/deadline.h"
#include "comm/interrupt.h"

#define TRY_MIN_MS	300	/* for one address in the first round; doubles with each round */
#define TRY_MAX_MS	8000
#define REPORT_MS	2000	/* to report to rank 0 that there is no device */
#define PAUSE_MIN_MS	10
#define PAUSE_MAX_MS	250
#define GRACE_MS	2000	/* after the deadline, for the last message of rank 0 */
#define FILES_NEEDED	3	/* the device, a connection and the rejoin port */

/**
 * struct client - bootstrap of one rank
 * @settings: settings of the rank; the root fills in name, id and lanes
 * @detail: text of a final failure
 * @fd: connection to rank 0, non-blocking; -1: none
 * @id: number of the group, from WAIT
 * @has_waited: true if rank 0 has sent WAIT
 * @addr: address of rank 0 that is being tried
 * @root_trusted: true if the peer of @fd proved the secret, or the group has none
 * @attempts: text: each address tried in this round, and how it failed
 * @error: errno of this round if it says more than that rank 0 was not reachable; or 0
 * @report_attempts: @attempts of the latest round that had enough time
 * @report_error: @error of that round
 * @not_bootstrap: number of addresses in this round at which another program answered
 */
struct client {
	struct coll_settings *settings;
	struct coll_detail *detail;
	int fd;
	uint64_t id;
	bool has_waited;
	struct sockaddr_storage addr;
	bool root_trusted;
	char attempts[300];
	int error;
	char report_attempts[300];
	int report_error;
	unsigned int not_bootstrap;
};

static void disconnect(struct client *client)
{
	if (client->fd >= 0)
		close(client->fd);
	client->fd = -1;
}

/*
 * Note that an attempt at @client->addr failed, with @err, for the reason @why or the errno
 * itself.
 */
static int note_failed_attempt(struct client *client, int err, const char *why)
{
	size_t at = strlen(client->attempts);
	char text[COLL_ADDRESS_TEXT];

	coll_address_format(&client->addr, text);
	snprintf(client->attempts + at, sizeof(client->attempts) - at, "%s%s: %s", at ? "; " : "",
		 text, why ? why : coll_errno_text(-err));
	if (err == -EACCES || err == -EPROTO || err == -EPROTONOSUPPORT)
		client->error = err;
	client->not_bootstrap += err == -EPROTO;
	return -EAGAIN;
}

static int wait_for(int fd, short events, uint64_t deadline)
{
	struct pollfd one = { .fd = fd, .events = events };
	int n;

	do {
		n = coll_interrupt_poll(&one, 1, coll_deadline_left(deadline));
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

static int refuse_version(const struct client *client, const struct bootstrap_head *head, char *why)
{
	char own[20] = "this rank", text[BOOTSTRAP_VERSION_TEXT];
	char address[COLL_ADDRESS_TEXT], other[COLL_ADDRESS_TEXT + 20];

	if (client->settings->rank != COLL_RANK_AUTO)
		snprintf(own, sizeof(own), "rank %d", client->settings->rank);
	coll_address_format(&client->addr, address);
	snprintf(other, sizeof(other), "rank 0 (%s)", address);
	bootstrap_version_differs(text, other, &head->version, own);
	strcpy(why, text);
	return -EPROTONOSUPPORT;
}

/*
 * Read one message into @body; a FAIL becomes its errno, with its text in @why.  Return: the
 * kind of the message, or a negative errno.
 */
static int read_message(struct client *client, uint8_t *body, size_t max,
			size_t *length, uint64_t deadline, char why[BOOTSTRAP_FAIL_MAX])
{
	uint8_t bytes[BOOTSTRAP_HEAD_SIZE];
	struct bootstrap_head head;
	int err;

	why[0] = '\0';
	err = read_all(client->fd, bytes, sizeof(bytes), deadline);
	if (err)
		return err;
	err = bootstrap_read_head(bytes, max, &head);
	if (err) {
		snprintf(why, BOOTSTRAP_FAIL_MAX, "the program that answers is no rendezvous");
		return err;
	}
	if (!bootstrap_version_is_own(&head.version, BOOTSTRAP_VERSION))
		return refuse_version(client, &head, why);
	*length = head.length;
	err = read_all(client->fd, body, *length, deadline);
	if (err || head.kind != BOOTSTRAP_FAIL)
		return err ?: head.kind;
	return bootstrap_read_fail(body, *length, why, BOOTSTRAP_FAIL_MAX);
}

static int too_many_files(struct client *client, int err)
{
	return coll_fail(client->detail, err,
			 "rank %d has too many open files (%s): it needs %d more (see ulimit -n)",
			 client->settings->rank, coll_errno_text(-err), FILES_NEEDED);
}

static bool is_file_limit(int err)
{
	return err == -EMFILE || err == -ENFILE;
}

/* Connect to @client->addr. */
static int connect_root(struct client *client, uint64_t deadline)
{
	socklen_t size = sizeof(int);
	int fd, err = 0;

	fd = socket(client->addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&client->addr, coll_address_length(&client->addr))) {
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
	bootstrap_enable_keepalive(fd);
	client->fd = fd;
	client->root_trusted = !client->settings->secured;
	return 0;
}

/*
 * Answer a CHALLENGE: verify the proof of the root, which is trusted from then on, and send the
 * proof of this rank.  @hello_sent is the HELLO, @message the CHALLENGE.
 */
static int prove(struct client *client, const uint8_t *hello_sent, const uint8_t *message,
		 size_t length, uint64_t deadline)
{
	const struct coll_settings *settings = client->settings;
	uint8_t proof[COLL_PROOF_SIZE], answer[BOOTSTRAP_MESSAGE_MAX];

	if (!settings->secured || length != BOOTSTRAP_CHALLENGE_SIZE)
		return note_failed_attempt(client, -EPROTO, "its answer is malformed");
	coll_secret_prove(settings, COLL_SIDE_ROOT, hello_sent, BOOTSTRAP_HELLO_SIZE, message,
			  proof);
	if (!memeql_sec(proof, message + COLL_NONCE_SIZE, sizeof(proof)))
		return note_failed_attempt(client, -EACCES,
					   "the program that answers does not know the group's secret");
	client->root_trusted = true;
	coll_secret_prove(settings, COLL_SIDE_CLIENT, hello_sent, BOOTSTRAP_HELLO_SIZE, message,
			  proof);
	return send_all(client->fd, answer, bootstrap_write_proof(answer, proof), deadline);
}

/*
 * The answer to HELLO was neither WAIT nor CHALLENGE but @kind, or an error.  Return: -EAGAIN
 * if another attempt can succeed, else the final error.
 */
static int explain_rejection(struct client *client, int kind, const char *why)
{
	char text[BOOTSTRAP_FAIL_MAX + 32];

	if (kind >= 0)
		return note_failed_attempt(client, client->root_trusted ? -EPROTO : -EACCES,
					   client->root_trusted ?
					   "its answer is malformed" :
					   "the program that answers does not ask for the group's secret");
	if (kind == -ETIMEDOUT && !why[0])
		return note_failed_attempt(client, kind, "it does not answer");
	/* Rank 0 closes connections when it ends, or when too many are unauthenticated. */
	if (!why[0])
		return note_failed_attempt(client, kind, kind == -ECONNRESET || kind == -EPIPE ?
					   "it closed the connection" : NULL);
	if (!client->root_trusted) {
		snprintf(text, sizeof(text), "it reports without a proof: %s", why);
		return note_failed_attempt(client, kind == -EPROTO || kind == -EPROTONOSUPPORT ?
					   kind : -EACCES, text);
	}
	if (kind == -EAGAIN || kind == -EPROTO)
		return note_failed_attempt(client, kind, why);
	return coll_fail(client->detail, kind, "%s", why);
}

/*
 * Send HELLO and authenticate both sides.  Return: 0: rank 0 has answered with WAIT, in @wait;
 * -EAGAIN: another attempt can succeed; otherwise a final error.
 */
static int send_hello(struct client *client, struct bootstrap_wait *wait, uint64_t deadline)
{
	struct coll_settings *settings = client->settings;
	const bool any = settings->rank == COLL_RANK_AUTO;
	const int before = any ? coll_key_rank(settings, settings->key) : 0;
	struct bootstrap_hello hello = {
		.rank = any ? BOOTSTRAP_RANK_ANY : (uint32_t)settings->rank,
		.nranks = settings->nranks,
		.lanes = settings->lanes,
		.left_ms = coll_deadline_left(settings->deadline),
		.job = settings->job,
		.process = settings->process,
		.attempt = ++settings->attempt,
		.returns = client->has_waited,
		.id = client->id,
		.before = before > 0 ? before : 0,
		.restart = settings->restart,
	};
	uint8_t message[BOOTSTRAP_MESSAGE_MAX], hello_sent[BOOTSTRAP_MESSAGE_MAX];
	char why[BOOTSTRAP_FAIL_MAX] = "";
	size_t length;
	int kind;

	strcpy(hello.name, settings->name);
	if (any)
		strcpy(hello.key, settings->key);
	if (coll_secret_nonce(settings, hello.nonce))
		return coll_fail(client->detail, -EIO, "no random numbers");
	kind = send_all(client->fd, hello_sent, bootstrap_write_hello(hello_sent, &hello),
			deadline);
	/* A root that fails sends FAIL before it closes the connection. */
	if (!kind || kind == -EPIPE || kind == -ECONNRESET)
		kind = read_message(client, message, BOOTSTRAP_FAIL_MAX, &length, deadline, why);
	if (kind == BOOTSTRAP_CHALLENGE) {
		kind = prove(client, hello_sent + BOOTSTRAP_HEAD_SIZE, message, length, deadline);
		if (kind == -EAGAIN)
			return kind;
		if (!kind)
			kind = read_message(client, message, BOOTSTRAP_FAIL_MAX, &length, deadline,
					    why);
	}
	if (kind == BOOTSTRAP_WAIT && client->root_trusted &&
	    !bootstrap_read_wait(message, length, wait))
		return 0;
	return explain_rejection(client, kind, why);
}

/* Try @client->addr until @deadline.  Return: as send_hello(). */
static int try_address(struct client *client, uint64_t deadline)
{
	struct bootstrap_wait wait;
	int err = connect_root(client, deadline);

	if (is_file_limit(err))
		return too_many_files(client, err);
	if (err)
		return note_failed_attempt(client, err, err == -ETIMEDOUT ? "no connection" : NULL);
	err = send_hello(client, &wait, deadline);
	if (err) {
		disconnect(client);
		return err;
	}
	if (client->settings->rank == COLL_RANK_AUTO &&
	    wait.rank < (uint32_t)client->settings->nranks)
		client->settings->rank = wait.rank;
	if (wait.rank != (uint32_t)client->settings->rank) {
		disconnect(client);
		return note_failed_attempt(client, -EPROTO, "it confuses ranks");
	}
	client->has_waited = true;
	client->id = wait.id;
	return 0;
}

/* Try each address of rank 0 once, for @try_ms each. */
static int try_addresses(struct client *client, unsigned int try_ms)
{
	const struct coll_settings *settings = client->settings;
	struct coll_detail none = { NULL, 0 };
	char why[COLL_RESOLVE_TEXT] = "";
	const struct addrinfo *at;
	struct addrinfo *where;
	unsigned int tries = 0;
	uint64_t deadline;
	int err;

	client->attempts[0] = '\0';
	client->not_bootstrap = 0;
	client->error = 0;
	err = coll_resolve(settings->root_host, settings->root_port, settings->deadline, &where,
			   why);
	if (is_file_limit(err))
		return too_many_files(client, err);
	if (err) {
		snprintf(client->attempts, sizeof(client->attempts), "%s", why);
		return -EAGAIN;
	}
	err = -EAGAIN;
	for (at = where; at && err == -EAGAIN; at = at->ai_next) {
		memset(&client->addr, 0, sizeof(client->addr));
		memcpy(&client->addr, at->ai_addr, at->ai_addrlen);
		if (bootstrap_check_address(settings, &client->addr, &none))
			continue;
		tries++;
		deadline = coll_deadline_in(try_ms);
		err = try_address(client,
				  deadline < settings->deadline ? deadline : settings->deadline);
	}
	if (!tries)
		err = bootstrap_check_address(settings, &client->addr, client->detail);
	freeaddrinfo(where);
	/*
	 * Without a secret, whatever answered at every address counts as the only candidate.
	 * With one, rank 0 may still appear there.
	 */
	if (err == -EAGAIN && tries == client->not_bootstrap && !settings->secured)
		return -EPROTO;
	return err;
}

/* Double a time with each round, up to @max. */
static unsigned int grow(unsigned int ms, unsigned int rounds, unsigned int max)
{
	while (rounds-- && ms < max)
		ms *= 2;
	return ms < max ? ms : max;
}

static int reach_root(struct client *client)
{
	struct coll_settings *settings = client->settings;
	unsigned int pause, left;
	char who[20];
	int err;

	for (;;) {
		left = coll_deadline_left(settings->deadline);
		err = try_addresses(client, grow(TRY_MIN_MS, settings->rounds, TRY_MAX_MS));
		/*
		 * The last round may be too short to tell a reason; then the one before is
		 * reported.
		 */
		if (left > TRY_MIN_MS || !client->report_attempts[0]) {
			strcpy(client->report_attempts, client->attempts);
			client->report_error = client->error;
		}
		left = coll_deadline_left(settings->deadline);
		if (err != -EAGAIN)
			break;
		if (!left) {
			err = client->report_error ?: -ETIMEDOUT;
			break;
		}
		pause = grow(PAUSE_MIN_MS, settings->rounds++, PAUSE_MAX_MS);
		/* Only a signal ends it early. */
		coll_interrupt_pause(pause < left ? pause : left);
		/* Perhaps this process can listen, which then is rank 0. */
		if (settings->rank == COLL_RANK_AUTO)
			return -EAGAIN;
	}
	if (settings->rank == COLL_RANK_AUTO)
		strcpy(who, "a rank");
	else
		snprintf(who, sizeof(who), "rank %d", settings->rank);
	if (err)
		coll_fail(client->detail, err, "%s cannot reach rank 0 at %s:%d: %s", who,
			  settings->root_host, settings->root_port, client->report_attempts);
	return err;
}

/*
 * Rank 0 has fewer files than ranks and sent WAIT with a pause of @ms: disconnect, and connect
 * again after it.
 */
static int reconnect(struct client *client, unsigned int ms)
{
	const struct coll_settings *settings = client->settings;
	uint64_t until = settings->deadline + GRACE_MS, deadline;
	unsigned int left;
	int err;

	disconnect(client);
	for (;;) {
		left = coll_deadline_left(until);
		if (!left)
			return -ETIMEDOUT;
		coll_interrupt_pause(ms < left ? ms : left);
		client->attempts[0] = '\0';
		deadline = coll_deadline_in(TRY_MAX_MS);
		err = connect_root(client, deadline < until ? deadline : until);
		if (is_file_limit(err))
			return too_many_files(client, err);
		/* Nothing listens there any more: rank 0 has ended. */
		if (err == -ECONNREFUSED)
			return -ECONNRESET;
		if (!err) {
			struct bootstrap_wait wait;

			err = send_hello(client, &wait, deadline < until ? deadline : until);
			if (!err && wait.id != client->id)
				return -ECONNRESET;
			if (!err)
				return 0;
			disconnect(client);
			if (err != -EAGAIN)
				return err;
		}
		ms = PAUSE_MAX_MS;
	}
}

/*
 * Local address of the route to rank 0, which may differ from that of the bootstrap connection.
 */
static int local_address(const struct client *client,
			 const struct bootstrap_welcome *handle_welcome,
			 struct sockaddr_storage *addr, struct coll_detail *detail)
{
	struct sockaddr_storage far = handle_welcome->addr, here = { 0 };
	socklen_t length = sizeof(here);
	char text[COLL_ADDRESS_TEXT], reached[COLL_ADDRESS_TEXT];
	int err;

	if (client->settings->local_addr[0])
		return coll_address_local(addr, client->settings->local_addr, far.ss_family,
					  detail);
	if (getsockname(client->fd, (struct sockaddr *)&here, &length))
		return coll_fail(detail, -errno, "no local address");
	*addr = here;
	coll_address_scope(&far, &here);
	if (coll_address_same_host(&far, &client->addr))
		return 0;
	/* What rank 0 was reached at is not what it calls itself. */
	coll_address_format_host(&client->addr, reached);
	coll_address_format_host(&far, text);
	snprintf(client->settings->places, sizeof(client->settings->places),
		 "rank 0 was reached at %s and gives %s as its address: address translation? (COLL_LOCAL_ADDR on rank 0)",
		 reached, text);
	err = coll_address_route(addr, &far);
	if (!err)
		return 0;
	coll_address_format(&far, text);
	return coll_fail(detail, err,
			 "rank %d has no way to rank 0's address %s (%s): set COLL_LOCAL_ADDR on rank 0",
			 client->settings->rank, text, coll_errno_text(-err));
}

/*
 * JOIN and report the address to rank 0.  A negative @device is an errno, with its text in
 * @client->detail; it is reported instead.
 */
static int join(struct client *client, int device, const struct bootstrap_welcome *handle_welcome,
		struct sockaddr_storage *addr)
{
	uint64_t deadline = client->settings->deadline + GRACE_MS;
	uint8_t message[BOOTSTRAP_MESSAGE_MAX];
	char text[COLL_DETAIL_SIZE] = "";
	struct coll_detail mine = { text, sizeof(text) };
	int err = device < 0 ? device : 0;

	if (err)
		coll_fail(&mine, err, "rank %d: %s", client->settings->rank, client->detail->text);
	else
		err = local_address(client, handle_welcome, addr, &mine) ?:
		      bootstrap_check_address(client->settings, addr, &mine) ?:
		      coll_rejoin_port_join(device, client->settings, addr, &mine);
	err = coll_interrupt_explain(err, client->settings->rank, &mine);
	if (!err)
		return send_all(client->fd, message,
				bootstrap_write_address(message, addr), deadline);
	coll_fail(client->detail, err, "%s", text);
	/* This rank fails in any case; rank 0 at least sees that the connection is closed. */
	(void)send_all(client->fd, message, bootstrap_write_fail(message, err, text), deadline);
	return err;
}

static int read_table(const struct client *client, const uint8_t *body, size_t length,
		      const struct sockaddr_storage *own, struct sockaddr_storage *peers)
{
	int i, err;

	if (length != (size_t)client->settings->nranks * BOOTSTRAP_ENTRY_SIZE)
		return -EPROTO;
	for (i = 0; i < client->settings->nranks; i++) {
		err = bootstrap_read_entry(body + i * BOOTSTRAP_ENTRY_SIZE, &peers[i]);
		if (err)
			return err;
		coll_address_scope(&peers[i], own);
	}
	return 0;
}

static int handle_welcome(struct client *client, int device, const uint8_t *body, size_t length,
			  struct sockaddr_storage *own)
{
	struct bootstrap_welcome handle_welcome;

	if (bootstrap_read_welcome(body, length, &handle_welcome) ||
	    handle_welcome.id != client->id)
		return -EPROTO;
	strcpy(client->settings->name, handle_welcome.name);
	client->settings->id = handle_welcome.id;
	client->settings->lanes = handle_welcome.lanes;
	return join(client, device, &handle_welcome, own);
}

/* Handle messages of rank 0 until TABLE or a failure. */
static int follow_root(struct client *client, int device, struct sockaddr_storage *peers)
{
	size_t max = (size_t)client->settings->nranks * BOOTSTRAP_ENTRY_SIZE +
		     BOOTSTRAP_FAIL_MAX;
	struct sockaddr_storage own = { 0 };
	char why[BOOTSTRAP_FAIL_MAX];
	struct bootstrap_wait wait;
	bool joined = false, complete = false;
	uint8_t spare[BOOTSTRAP_FAIL_MAX], *memory, *body;
	size_t length;
	int kind, err = 0;

	/* Large enough for any message. */
	memory = malloc(max);
	body = memory ?: spare;
	if (!memory) {
		/* Rank 0 is told, and answers with FAIL. */
		device = coll_fail(client->detail, -ENOMEM, "no memory");
		max = sizeof(spare);
	}
	while (!err && !complete) {
		kind = read_message(client, body, max, &length,
				    client->settings->deadline + GRACE_MS, why);
		if (kind < 0) {
			err = why[0] ? coll_fail(client->detail, kind, "%s", why) : kind;
		} else if (kind == BOOTSTRAP_WAIT &&
			   !bootstrap_read_wait(body, length, &wait)) {
			if (wait.pause_ms)
				err = reconnect(client, wait.pause_ms);
		} else if (kind == BOOTSTRAP_WELCOME && !joined) {
			err = handle_welcome(client, device, body, length, &own);
			joined = true;
		} else if (kind == BOOTSTRAP_TABLE && joined) {
			err = read_table(client, body, length, &own, peers);
			complete = true;
		} else {
			err = -EPROTO;
		}
	}
	free(memory);
	return err;
}

static const char *failure_text(int err)
{
	switch (err) {
	case -ETIMEDOUT:
		return "rank 0 at %s:%d was silent until the deadline";
	case -EPROTO:
		return "rank 0 at %s:%d broke the protocol of the rendezvous";
	default:
		return "rank 0 at %s:%d went away while the group formed";
	}
}

int bootstrap_run_client(int fd, struct coll_settings *settings,
			 struct sockaddr_storage *peers,
			 struct coll_detail *detail)
{
	uint64_t report_attempts = coll_deadline_in(REPORT_MS);
	struct client client = { .settings = settings, .detail = detail, .fd = -1 };
	int err;

	if (fd < 0 && report_attempts < settings->deadline)
		settings->deadline = report_attempts;
	err = reach_root(&client);
	if (!err) {
		err = follow_root(&client, fd, peers);
		disconnect(&client);
		if (err == -ENOMEM)
			coll_fail(detail, err, "no memory");
		else if (err)
			coll_fail(detail, err, failure_text(err), settings->root_host,
				  settings->root_port);
	}
	/* If there is no device, that is the reason, whatever rank 0 answered. */
	return fd < 0 ? fd : err;
}
