// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Messages of the clients, and the state of their ranks.  An error of a rank fails the group;
 * an unauthenticated client is rejected, and the group goes on waiting.
 */
#include <errno.h>
#include <nettle/memops.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bootstrap/place.h"
#include "bootstrap/root.h"
#include "comm/deadline.h"

/*
 * A rank joins within milliseconds of WELCOME.  After this time in ms another process may
 * replace it.
 */
#define STALE_MS	3000

static const char older[] =
	"this process is of an earlier attempt: the launcher started the rank again";

#define PAUSE_MS	200	/* plus PAUSE_EACH_MS for each paused rank */
#define PAUSE_EACH_MS	2

void bootstrap_conn_close(struct bootstrap_conn *conn)
{
	/* An error means that the client has closed it already. */
	(void)shutdown(conn->fd, SHUT_WR);
	close(conn->fd);
	conn->fd = -1;
	conn->rank = -1;
}

/* Send a short message.  Little precedes it on its connection, so it fits the socket buffer. */
static bool send_message(const struct bootstrap_conn *conn, const uint8_t *message, size_t size)
{
	return send(conn->fd, message, size, MSG_DONTWAIT | MSG_NOSIGNAL) ==
	       (ssize_t)size;
}

static void reject(struct bootstrap_root *root, struct bootstrap_conn *conn, int err,
		   const char *text)
{
	uint8_t message[BOOTSTRAP_MESSAGE_MAX];
	size_t size = bootstrap_write_fail(message, err, text);
	char from[COLL_ADDRESS_TEXT];

	coll_address_format(&conn->from, from);
	snprintf(root->rejected, sizeof(root->rejected), "%s: %s", from, text);
	/* A library reads a FAIL of its own version only. */
	if (conn->version)
		bootstrap_write_version(message, conn->version);
	/* The client gets the reason, or at least sees the connection closed. */
	(void)send_message(conn, message, size);
	bootstrap_conn_close(conn);
}

static void mark_last_done(struct bootstrap_root *root, struct bootstrap_rank *at)
{
	if (at->last_done)
		return;
	at->last_done = true;
	root->last_pending--;
}

/* The process of the rank is of an earlier attempt: it is told, and gives way. */
static void drop_older(struct bootstrap_root *root, struct bootstrap_rank *at)
{
	if (at->conn)
		reject(root, at->conn, -EBUSY, older);
	else
		root->paused--;
	root->missing += at->state == RANK_JOINED;
	at->conn = NULL;
	at->state = RANK_MISSING;
	root->absent++;
}

/* The rank counts as missing again; another process may take it. */
static void drop_rank(struct bootstrap_root *root, struct bootstrap_rank *at)
{
	if (at->conn)
		bootstrap_conn_close(at->conn);
	else
		root->paused--;
	at->conn = NULL;
	at->state = RANK_MISSING;
	at->went_away = true;
	root->absent++;
}

int bootstrap_conn_lost(struct bootstrap_root *root, struct bootstrap_conn *conn)
{
	struct bootstrap_rank *at = conn->rank < 0 ? NULL : &root->ranks[conn->rank];
	char from[COLL_ADDRESS_TEXT];
	int rank = conn->rank;

	if (!at) {
		bootstrap_conn_close(conn);
		return 0;
	}
	if (!root->has_ended && at->state < RANK_JOINED) {
		drop_rank(root, at);
		return 0;
	}
	if (root->has_ended) {
		mark_last_done(root, at);
		bootstrap_conn_close(conn);
		at->conn = NULL;
		return 0;
	}
	coll_address_format(&at->from, from);
	bootstrap_conn_close(conn);
	at->conn = NULL;
	return coll_fail(&root->failure, -ECONNRESET,
			 "rank %d (%s) went away while the group formed", rank, from);
}

void bootstrap_conn_send_last(struct bootstrap_root *root, struct bootstrap_conn *conn)
{
	struct bootstrap_rank *at = &root->ranks[conn->rank];
	ssize_t sent = send(conn->fd, root->last + conn->last_sent,
			    root->last_size - conn->last_sent, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (sent < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (sent > 0)
		conn->last_sent += sent;
	if (sent > 0 && conn->last_sent < root->last_size)
		return;
	mark_last_done(root, at);
	at->conn = NULL;
	bootstrap_conn_close(conn);
}

unsigned int bootstrap_root_pause_ms(const struct bootstrap_root *root)
{
	return PAUSE_MS + PAUSE_EACH_MS * root->paused;
}

bool bootstrap_root_pause(struct bootstrap_root *root, int rank)
{
	struct bootstrap_rank *at = &root->ranks[rank];
	struct bootstrap_wait wait = {
		.id = root->settings->id,
		.pause_ms = bootstrap_root_pause_ms(root),
		.rank = rank,
	};
	uint8_t message[BOOTSTRAP_MESSAGE_MAX];

	/* A rank that is joining needs its connection to send ADDRESS. */
	if (!at->conn || at->conn->in_len ||
	    (at->state != RANK_ARRIVED && at->state != RANK_JOINED))
		return false;
	if (!send_message(at->conn, message, bootstrap_write_wait(message, &wait)))
		return false;
	bootstrap_conn_close(at->conn);
	at->conn = NULL;
	at->state_at = coll_deadline_in(wait.pause_ms + BOOTSTRAP_RETURN_MS);
	root->paused++;
	return true;
}

int bootstrap_root_welcome(struct bootstrap_root *root, int rank)
{
	const struct coll_settings *settings = root->settings;
	struct bootstrap_rank *at = &root->ranks[rank];
	struct bootstrap_welcome welcome = {
		.id = settings->id,
		.lanes = settings->lanes,
		.addr = root->peers[0],
	};
	uint8_t message[BOOTSTRAP_MESSAGE_MAX];

	if (at->lanes && at->lanes != (unsigned int)settings->lanes)
		return coll_fail(&root->failure, -EINVAL, "rank %d wants %u lanes, rank 0 has %d",
				 rank, at->lanes, settings->lanes);
	strcpy(welcome.name, settings->name);
	if (!send_message(at->conn, message, bootstrap_write_welcome(message, &welcome))) {
		drop_rank(root, at);
		return 0;
	}
	at->state = RANK_WELCOMED;
	at->state_at = coll_deadline_now();
	return 0;
}

/*
 * Is the client of this group's job?  If not, it is rejected: for example a process of an earlier
 * run that still looks for its own rank 0.
 */
static bool check_job(struct bootstrap_root *root, struct bootstrap_conn *conn, uint64_t job)
{
	if (!job || !root->settings->job || job == root->settings->job)
		return true;
	reject(root, conn, -EAGAIN, "rank 0 there is of another job");
	return false;
}

/* Does @hello belong to this group?  If not, the client is rejected. */
static bool check_hello(struct bootstrap_root *root, struct bootstrap_conn *conn,
			const struct bootstrap_hello *hello)
{
	const struct coll_settings *settings = root->settings;
	char text[200];

	if (!check_job(root, conn, hello->job))
		return false;
	if (hello->name[0] && strcmp(hello->name, settings->name)) {
		snprintf(text, sizeof(text),
			 "this is the rendezvous of group %s, not of %s",
			 settings->name, hello->name);
		reject(root, conn, -EINVAL, text);
		return false;
	}
	if (hello->returns && hello->id != settings->id) {
		reject(root, conn, -ECONNRESET, "rank 0 went away, and another one came");
		return false;
	}
	return true;
}

/* Compare @hello with the settings of rank 0; a contradiction fails the group. */
static int check_consistent(struct bootstrap_root *root, const struct bootstrap_hello *hello,
			    const char *from)
{
	const struct coll_settings *settings = root->settings;

	if (hello->nranks != (unsigned int)settings->nranks)
		return coll_fail(&root->failure, -EINVAL,
				 "rank %u (%s) says the group has %u ranks, rank 0 says %d",
				 hello->rank, from, hello->nranks, settings->nranks);
	/* If the kernel chooses the number, it is unknown before rank 0 has joined. */
	if (hello->lanes && settings->lanes && hello->lanes != (unsigned int)settings->lanes)
		return coll_fail(&root->failure, -EINVAL,
				 "rank %u (%s) wants %u lanes, rank 0 has %d",
				 hello->rank, from, hello->lanes, settings->lanes);
	if (!hello->rank)
		return coll_fail(&root->failure, -EBUSY,
				 "two processes are rank 0: the other is %s", from);
	return 0;
}

/*
 * A process claims a rank.  If the rank is taken by another process, it may replace it only
 * if that is of an earlier attempt, or after WELCOME and STALE_MS; otherwise the group fails.
 * @drop is set if the connection is an older one of the same process, or of an earlier attempt.
 * Each host counts its own attempts, so the counts of two hosts have no order.
 */
static int replace_process(struct bootstrap_root *root, struct bootstrap_rank *at,
			   const struct bootstrap_conn *conn, const struct bootstrap_hello *hello,
			   const char *from, bool *drop)
{
	const bool here = coll_address_same_host(&at->from, &conn->from);
	char other[COLL_ADDRESS_TEXT];

	*drop = false;
	if (at->state == RANK_MISSING)
		return 0;
	if (at->process == hello->process) {
		*drop = hello->attempt <= at->attempt;
		if (*drop)
			return 0;
		if (at->conn)
			bootstrap_conn_close(at->conn);
		else
			root->paused--;
		at->conn = NULL;
		return 0;
	}
	if (here && !root->has_ended && hello->restart > at->restart) {
		drop_older(root, at);
		return 0;
	}
	if (here && hello->restart < at->restart) {
		*drop = true;
		return 0;
	}
	if (at->state == RANK_WELCOMED && at->state_at + STALE_MS < coll_deadline_now()) {
		drop_rank(root, at);
		return 0;
	}
	coll_address_format(&at->from, other);
	return coll_fail(&root->failure, -EBUSY, "two processes are rank %u: %s and %s",
			 hello->rank, other, from);
}

/* Give the client a rank, if it has none and one is free.  Return: false: it is rejected. */
static bool has_rank(struct bootstrap_root *root, struct bootstrap_conn *conn,
		     struct bootstrap_hello *hello)
{
	char text[200];
	int rank;

	if (hello->rank != BOOTSTRAP_RANK_ANY) {
		if (!root->settings->auto_rank || hello->returns)
			return true;
		reject(root, conn, -EINVAL,
		       "COLL_RANK is a number there and auto on rank 0: set it to auto on all ranks or on none");
		return false;
	}
	rank = bootstrap_root_hand_out(root, hello, text, sizeof(text));
	if (rank < 0) {
		reject(root, conn, rank, text);
		return false;
	}
	hello->rank = rank;
	return true;
}

/*
 * The client has made the group fail, and has no rank by which it would get the last message.  It
 * is told at once: after many attempts it waits longer for an answer than rank 0 is there.
 */
static int refuse(struct bootstrap_root *root, struct bootstrap_conn *conn, int err)
{
	reject(root, conn, err, root->failure.text);
	return err;
}

/* The client is authenticated, or the group has no secret: record its rank. */
static int rank_arrived(struct bootstrap_root *root, struct bootstrap_conn *conn)
{
	struct bootstrap_hello *hello = &conn->hello;
	struct bootstrap_wait wait = { .id = root->settings->id };
	uint64_t deadline = coll_deadline_in(hello->left_ms);
	socklen_t length = sizeof(struct sockaddr_storage);
	uint8_t message[BOOTSTRAP_MESSAGE_MAX];
	char from[COLL_ADDRESS_TEXT];
	struct bootstrap_rank *at;
	bool drop;
	int err;

	if (!check_hello(root, conn, hello) || !has_rank(root, conn, hello))
		return 0;
	wait.rank = hello->rank;
	coll_address_format(&conn->from, from);
	err = root->has_ended ? 0 : check_consistent(root, hello, from);
	if (err)
		return refuse(root, conn, err);
	if (hello->rank >= (unsigned int)root->settings->nranks || !hello->rank) {
		bootstrap_conn_close(conn);
		return 0;
	}
	at = &root->ranks[hello->rank];
	err = replace_process(root, at, conn, hello, from, &drop);
	if (err && !root->has_ended)
		return refuse(root, conn, err);
	if (drop && at->process != hello->process) {
		reject(root, conn, -EBUSY, older);
		return 0;
	}
	if (err || drop) {
		bootstrap_conn_close(conn);
		return 0;
	}
	if (at->state == RANK_MISSING) {
		at->state = RANK_ARRIVED;
		root->absent--;
	}
	conn->rank = hello->rank;
	at->conn = conn;
	at->process = hello->process;
	at->attempt = hello->attempt;
	at->restart = hello->restart;
	at->state_at = coll_deadline_now();
	at->from = conn->from;
	at->lanes = hello->lanes;
	memset(&at->root_addr, 0, sizeof(at->root_addr));
	if (getsockname(conn->fd, (struct sockaddr *)&at->root_addr, &length) ||
	    !send_message(conn, message, bootstrap_write_wait(message, &wait)))
		return bootstrap_conn_lost(root, conn);
	if (deadline < root->deadline)
		root->deadline = deadline;
	if (!root->has_ended && root->joined && at->state == RANK_ARRIVED)
		return bootstrap_root_welcome(root, hello->rank);
	return 0;
}

/*
 * Answer an unauthenticated HELLO with CHALLENGE: the root's proof, and a nonce for the
 * client's.
 */
static int challenge(struct bootstrap_root *root, struct bootstrap_conn *conn, const uint8_t *hello)
{
	const struct coll_settings *settings = root->settings;
	uint8_t message[BOOTSTRAP_MESSAGE_MAX], nonce[COLL_NONCE_SIZE], proof[COLL_PROOF_SIZE];

	if (coll_secret_nonce(settings, nonce))
		return coll_fail(&root->failure, -EAGAIN, "no random numbers");
	coll_secret_prove(settings, COLL_SIDE_ROOT, hello, BOOTSTRAP_HELLO_SIZE, nonce, proof);
	coll_secret_prove(settings, COLL_SIDE_CLIENT, hello, BOOTSTRAP_HELLO_SIZE, nonce,
			  conn->proof);
	conn->challenged = true;
	if (!send_message(conn, message, bootstrap_write_challenge(message, nonce, proof)))
		bootstrap_conn_close(conn);
	return 0;
}

static int handle_unauthenticated(struct bootstrap_root *root, struct bootstrap_conn *conn,
				  int kind, const uint8_t *body, size_t length)
{
	static const uint8_t none[COLL_NONCE_SIZE];

	if (conn->challenged) {
		if (kind == BOOTSTRAP_PROOF && length == COLL_PROOF_SIZE &&
		    memeql_sec(body, conn->proof, COLL_PROOF_SIZE))
			return rank_arrived(root, conn);
		reject(root, conn, -EACCES, "it does not know the group's secret");
		return 0;
	}
	if (kind != BOOTSTRAP_HELLO ||
	    bootstrap_read_hello(body, length, &conn->hello)) {
		reject(root, conn, -EPROTO, "malformed HELLO");
		return 0;
	}
	if (root->settings->secured != !!memcmp(conn->hello.nonce, none, sizeof(none))) {
		reject(root, conn, -EACCES, root->settings->secured ?
		       "the group has a secret, and it has none (see COLL_SECRET)" :
		       "it has a secret, and rank 0 has none (see COLL_SECRET)");
		return 0;
	}
	if (root->settings->secured)
		return challenge(root, conn, body);
	return rank_arrived(root, conn);
}

/*
 * The rank calls itself other than rank 0 sees it: it may have chosen another interface, or there
 * is address translation, through which the others do not reach it.
 */
static void note_translation(struct bootstrap_root *root, int rank,
			     const struct sockaddr_storage *from)
{
	if (from->ss_family == root->peers[rank].ss_family &&
	    !coll_address_same_host(from, &root->peers[rank]))
		bootstrap_note_translation(root->settings, rank, from, &root->peers[rank]);
}

static int protocol_error(struct bootstrap_root *root, struct bootstrap_conn *conn, int err)
{
	char from[COLL_ADDRESS_TEXT];

	if (conn->rank < 0) {
		reject(root, conn, -EPROTO, "malformed message");
		return 0;
	}
	if (root->has_ended)
		return bootstrap_conn_lost(root, conn);
	coll_address_format(&conn->from, from);
	return coll_fail(&root->failure, err,
			 "rank %d (%s) broke the protocol of the rendezvous", conn->rank, from);
}

/*
 * The client's library is of another version.  It can be asked for no proof.  So it ends a group
 * that has no secret, as other contradictions do, and counts as missing in one that has a secret.
 */
static int refuse_version(struct bootstrap_root *root, struct bootstrap_conn *conn,
			  const struct bootstrap_head *head)
{
	char text[BOOTSTRAP_VERSION_TEXT], from[COLL_ADDRESS_TEXT];
	char who[20] = "a rank", where[COLL_ADDRESS_TEXT + 32];
	uint32_t rank;
	uint64_t job;

	if (conn->rank >= 0 || conn->challenged || head->kind != BOOTSTRAP_HELLO ||
	    bootstrap_read_hello_rank(conn->in + BOOTSTRAP_HEAD_SIZE, head->length, &rank, &job))
		return protocol_error(root, conn, -EPROTO);
	if (!check_job(root, conn, job))
		return 0;
	if (rank != BOOTSTRAP_RANK_ANY)
		snprintf(who, sizeof(who), "rank %u", rank);
	if (root->settings->secured || root->has_ended) {
		bootstrap_version_differs(text, who, &head->version, "rank 0");
		reject(root, conn, -EPROTONOSUPPORT, text);
		return 0;
	}
	coll_address_format(&conn->from, from);
	snprintf(where, sizeof(where), "%s (%s)", who, from);
	bootstrap_version_differs(text, where, &head->version, "rank 0");
	coll_fail(&root->failure, -EPROTONOSUPPORT, "%s", text);
	return refuse(root, conn, -EPROTONOSUPPORT);
}

/* Handle the message in @conn->in. */
static int handle_message(struct bootstrap_root *root, struct bootstrap_conn *conn,
			  const struct bootstrap_head *head)
{
	const uint8_t *body = conn->in + BOOTSTRAP_HEAD_SIZE;
	const size_t length = head->length;
	const int kind = head->kind;
	char text[400], from[COLL_ADDRESS_TEXT];
	struct bootstrap_rank *at;
	int err;

	if (!bootstrap_version_is_own(&head->version, BOOTSTRAP_VERSION))
		return refuse_version(root, conn, head);
	if (conn->rank < 0)
		return handle_unauthenticated(root, conn, kind, body, length);
	if (root->has_ended)
		return 0;
	at = &root->ranks[conn->rank];
	if (kind == BOOTSTRAP_FAIL) {
		err = bootstrap_read_fail(body, length, text, sizeof(text));
		return coll_fail(&root->failure, err, "%s", text);
	}
	if (at->state != RANK_WELCOMED || kind != BOOTSTRAP_ADDRESS ||
	    length != BOOTSTRAP_ENTRY_SIZE ||
	    bootstrap_read_entry(body, &root->peers[conn->rank])) {
		coll_address_format(&conn->from, from);
		return coll_fail(&root->failure, -EPROTO, "rank %d (%s) sent a malformed address",
				 conn->rank, from);
	}
	note_translation(root, conn->rank, &conn->from);
	at->state = RANK_JOINED;
	root->missing--;
	return 0;
}

int bootstrap_conn_read(struct bootstrap_root *root, struct bootstrap_conn *conn)
{
	struct bootstrap_head head;
	size_t want;
	ssize_t got;
	int err;

	for (;;) {
		want = BOOTSTRAP_HEAD_SIZE;
		head.kind = 0;
		if (conn->in_len >= BOOTSTRAP_HEAD_SIZE) {
			err = bootstrap_read_head(conn->in, BOOTSTRAP_FAIL_MAX, &head);
			if (err)
				return protocol_error(root, conn, err);
			conn->version = head.version.format;
			want += head.length;
		}
		if (head.kind && conn->in_len == want) {
			conn->in_len = 0;
			err = handle_message(root, conn, &head);
			if (err || conn->fd < 0)
				return err;
			continue;
		}
		got = recv(conn->fd, conn->in + conn->in_len,
			   want - conn->in_len, MSG_DONTWAIT);
		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			return 0;
		if (got <= 0)
			return bootstrap_conn_lost(root, conn);
		conn->in_len += got;
	}
}
