// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The root of the bootstrap (rank 0): one poll() loop over the listeners and all connections.
 * bootstrap/bootstrap.h describes the messages.
 *
 * The loop has two phases.  First the root gathers ranks until all have joined or something
 * fails.  Then the last message, TABLE or FAIL, is sent to every rank that is connected, and
 * for a short time to ranks that arrive late.
 *
 * If the root has fewer files than ranks, it sends WAIT with a pause and closes the connection.
 * The client connects again after the pause and goes on where it was.  Its HELLO has the same
 * process number and a higher attempt number, which identifies older connections.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bootstrap/bootstrap.h"
#include "bootstrap/rejoin_port.h"
#include "bootstrap/root.h"
#include "comm/deadline.h"
#include "comm/device.h"
#include "comm/interrupt.h"
#include "error/ranks_text.h"

#define UNAUTHENTICATED_MAX	64	/* maximum number of unauthenticated connections */
#define RESULT_MS	2000	/* time to send the last message */
#define LATE_MS		1000	/* time to wait for late ranks after a failure */
#define SLOT_RETRY_MS		20	/* retry interval while no slot is free */
#define FILES_LEFT	16	/* files left for the rest of this process */
#define CONNS_MIN	2

/* Number of files that this process may still open. */
static size_t files_left(void)
{
	struct rlimit limit;
	size_t used = 0;
	DIR *folder;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return INT_MAX;
	folder = opendir("/proc/self/fd");
	if (!folder)
		return errno == EMFILE ? 0 : limit.rlim_cur;
	while (readdir(folder))
		used++;
	closedir(folder);
	used -= used < 3 ? used : 3;	/* ".", ".." and the directory itself */
	return limit.rlim_cur > used ? limit.rlim_cur - used : 0;
}

/*
 * Number of slots: one for each rank and for unauthenticated connections, as far as the limit
 * of open files allows.
 */
static size_t conns_wanted(const struct bootstrap_root *root)
{
	size_t left = files_left(), spare = left / 2 < FILES_LEFT ? left / 2 : FILES_LEFT;
	size_t wish = root->settings->nranks - 1 + UNAUTHENTICATED_MAX;

	return wish < left - spare ? wish : left - spare;
}

static int too_few_files(struct bootstrap_root *root, int err)
{
	struct rlimit limit = { 0 };

	/* A single connection is enough to tell the ranks, one after the other. */
	if (root->nlisteners > 1)
		close(root->listeners[--root->nlisteners]);
	(void)getrlimit(RLIMIT_NOFILE, &limit);	/* only for the text */
	return coll_fail(&root->failure, err,
			 "rank 0 has too many open files: of the %llu that are allowed (ulimit -n) at least %d have to be free, at best %d",
			 (unsigned long long)limit.rlim_cur, 2 * CONNS_MIN,
			 root->settings->nranks - 1 + UNAUTHENTICATED_MAX + FILES_LEFT);
}

/* Pause the rank that arrived first; it connects again.  Return: its slot, or NULL. */
static struct bootstrap_conn *pause_oldest(struct bootstrap_root *root)
{
	struct bootstrap_conn *oldest = NULL;
	size_t i;

	for (i = 0; i < root->nconns; i++) {
		struct bootstrap_conn *at = &root->conns[i];

		if (at->fd >= 0 && at->rank >= 0 &&
		    (!oldest || at->accepted_at < oldest->accepted_at) &&
		    root->ranks[at->rank].state != RANK_WELCOMED)
			oldest = at;
	}
	return oldest && bootstrap_root_pause(root, oldest->rank) ? oldest : NULL;
}

/*
 * Find a slot for a new connection: a free one; or, if many connections are unauthenticated,
 * that of the oldest of them; or that of a rank, which is paused.  NULL: none now.
 */
static struct bootstrap_conn *find_slot(struct bootstrap_root *root)
{
	size_t unauthenticated = 0, most = root->nconns / 4;
	struct bootstrap_conn *oldest = NULL, *paused;
	size_t i;

	if (most > UNAUTHENTICATED_MAX)
		most = UNAUTHENTICATED_MAX;
	for (i = 0; i < root->nconns; i++) {
		struct bootstrap_conn *at = &root->conns[i];

		if (at->fd < 0)
			return at;
		if (at->rank >= 0)
			continue;
		unauthenticated++;
		if (!oldest || at->accepted_at < oldest->accepted_at)
			oldest = at;
	}
	if (!oldest || unauthenticated <= most) {
		paused = pause_oldest(root);
		if (paused)
			return paused;
	}
	if (oldest)
		bootstrap_conn_close(oldest);
	return oldest;
}

/* Does the error belong to one incoming connection, not to the listener? */
static bool is_transient(int err)
{
	switch (err) {
	case EAGAIN:
	case EINTR:
	case ECONNABORTED:
	case EPROTO:
	case ENETDOWN:
	case ENETUNREACH:
	case EHOSTDOWN:
	case EHOSTUNREACH:
	case ENONET:
	case ENOPROTOOPT:
	case EOPNOTSUPP:
		return true;
	}
	return false;
}

static int accept_one(struct bootstrap_root *root, int listener)
{
	struct sockaddr_storage from = { 0 };
	socklen_t length = sizeof(from);
	struct bootstrap_conn *conn = find_slot(root);
	int fd;

	/* All connected ranks are about to join. */
	root->conns_full = !conn;
	if (root->conns_full)
		return 0;
	fd = accept4(listener, (struct sockaddr *)&from, &length, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0 && (errno == EMFILE || errno == ENFILE))
		return pause_oldest(root) ? 0 : too_few_files(root, -errno);
	if (fd < 0)
		return is_transient(errno) ? 0 :
		       coll_fail(&root->failure, -errno, "rank 0 cannot accept connections: %s",
				 coll_errno_text(errno));
	bootstrap_enable_keepalive(fd);
	memset(conn, 0, sizeof(*conn));
	conn->fd = fd;
	conn->rank = -1;
	conn->accepted_at = coll_deadline_now();
	conn->from = from;
	return 0;
}

/* What a rank lacks: it never arrived, it went away, or it has not joined. */
enum lack { LACK_NEVER, LACK_LOST, LACK_JOIN };

/**
 * struct lacking - ranks that lack something
 * @root: the root
 * @lack: what they lack
 */
struct lacking {
	const struct bootstrap_root *root;
	enum lack lack;
};

static bool rank_lacks(const void *arg, int rank)
{
	const struct lacking *lacking = arg;
	const struct bootstrap_rank *at = &lacking->root->ranks[rank];

	if (!rank)
		return false;
	switch (lacking->lack) {
	case LACK_NEVER:
		return at->state == RANK_MISSING && !at->went_away;
	case LACK_LOST:
		return at->state == RANK_MISSING && at->went_away;
	case LACK_JOIN:
		return at->state == RANK_WELCOMED;
	}
	return false;
}

/* Append the ranks that lack @lack, as in "ranks 2, 5-7 @verb".  Return: the new length. */
static size_t list_ranks(struct bootstrap_root *root, enum lack lack, const char *verb,
			 char *text, size_t at, size_t size)
{
	const struct lacking lacking = { root, lack };
	char ranks[200];

	if (coll_ranks_text(ranks, sizeof(ranks), root->settings->nranks, rank_lacks, &lacking))
		at += snprintf(text + at, size - at, "%s%s %s", at ? "; " : "", ranks, verb);
	return at < size ? at : size - 1;
}

/* Ranks that are handed out: say how many are missing, and which keys are known. */
static size_t list_absent(const struct bootstrap_root *root, char *text, size_t size)
{
	const struct lacking lacking = { root, LACK_NEVER };
	int rank, n = 0, known = 0;
	size_t at = 0;

	for (rank = 1; rank < root->settings->nranks; rank++)
		n += rank_lacks(&lacking, rank);
	if (n)
		at = snprintf(text, size, "%d of %d ranks never arrived", n,
			      root->settings->nranks);
	for (rank = 1; rank < root->settings->nranks && at + COLL_KEY_SIZE + 32 < size / 2; rank++)
		if (root->ranks[rank].key[0] && rank_lacks(&lacking, rank))
			at += snprintf(text + at, size - at, "%skey %s, which was rank %d",
				       known++ ? ", " : " (", root->ranks[rank].key, rank);
	return at + (known ? snprintf(text + at, size - at, ")") : 0);
}

static int report_missing(struct bootstrap_root *root)
{
	char text[COLL_DETAIL_SIZE] = "";
	size_t at = 0;

	if (root->settings->auto_rank)
		at = list_absent(root, text, sizeof(text));
	else
		at = list_ranks(root, LACK_NEVER, "never arrived", text, at, sizeof(text));
	at = list_ranks(root, LACK_LOST, "arrived and went away", text, at, sizeof(text));
	at = list_ranks(root, LACK_JOIN, "arrived but never joined", text, at, sizeof(text));
	at += snprintf(text + at, sizeof(text) - at, "; rank 0 listened on %s", root->listening_on);
	if (root->rejected[0] && at < sizeof(text))
		snprintf(text + at, sizeof(text) - at, "; refused %s",
			 root->rejected);
	return coll_fail(&root->failure, -ETIMEDOUT, "%s", text);
}

/* Fail if a paused rank has not returned in time. */
static int check_paused(struct bootstrap_root *root)
{
	uint64_t now = coll_deadline_now();
	char from[COLL_ADDRESS_TEXT];
	int i;

	for (i = 1; root->paused && i < root->settings->nranks; i++) {
		struct bootstrap_rank *at = &root->ranks[i];

		if (at->state == RANK_MISSING || at->conn || now < at->state_at)
			continue;
		coll_address_format(&at->from, from);
		return coll_fail(&root->failure, -ECONNRESET,
				 "rank %d (%s) went away while the group formed", i, from);
	}
	return 0;
}

/*
 * Choose the address by which the others reach rank 0, out of those to which they connected:
 * one that is not loopback if possible, then IPv4, since hosts may be without IPv6.
 */
static const struct sockaddr_storage *choose_root_address(const struct bootstrap_root *root)
{
	const struct sockaddr_storage *best = &root->bound, *via;
	int i, points, most = -1;

	for (i = 1; i < root->settings->nranks; i++) {
		via = &root->ranks[i].root_addr;
		if (root->ranks[i].state == RANK_MISSING)
			continue;
		points = 2 * !coll_address_is_loopback(via) + (via->ss_family == AF_INET);
		if (points > most) {
			most = points;
			best = via;
		}
	}
	return best;
}

static int join(struct bootstrap_root *root)
{
	struct coll_settings *settings = root->settings;
	struct sockaddr_storage addr = *choose_root_address(root);
	struct collective_status status;
	int i, err = 0;

	if (root->device < 0)
		return root->device;
	if (settings->local_addr[0])
		err = coll_address_local(&addr, settings->local_addr,
					 root->on_all_addresses ? AF_UNSPEC :
					 addr.ss_family, &root->failure);
	if (!err)
		err = bootstrap_check_address(settings, &addr, &root->failure) ?:
		      coll_rejoin_port_join(root->device, settings, &addr, &root->failure);
	if (err)
		return err;
	/* The kernel has chosen the number of lanes; every rank uses it. */
	if (!settings->lanes && !coll_device_status(root->device, &status) &&
	    status.lanes <= COLLECTIVE_LANES_MAX)
		settings->lanes = status.lanes;
	root->peers[0] = addr;
	root->joined = true;
	for (i = 1; !err && i < settings->nranks; i++)
		if (root->ranks[i].state == RANK_ARRIVED && root->ranks[i].conn)
			err = bootstrap_root_welcome(root, i);
	return err;
}

/*
 * Is the address by which the others reach rank 0 known?  Ranks that are handed out join when
 * all have come, since a process that goes away before it joins can be replaced.
 */
static bool can_join(const struct bootstrap_root *root)
{
	if (root->joined)
		return false;
	if (!root->absent || root->device < 0)
		return true;
	return !root->settings->auto_rank &&
	       (root->settings->local_addr[0] ||
		(root->nlisteners == 1 && !root->on_all_addresses));
}

static int wait_for_events(struct bootstrap_root *root, unsigned int ms, nfds_t *n)
{
	size_t i;

	*n = 0;
	for (i = 0; i < root->nlisteners; i++)
		root->polls[(*n)++] = (struct pollfd) {
			.fd = root->listeners[i],
			.events = root->conns_full ? 0 : POLLIN,
		};
	if (root->conns_full && ms > SLOT_RETRY_MS)
		ms = SLOT_RETRY_MS;
	root->conns_full = false;
	for (i = 0; i < root->nconns; i++) {
		struct bootstrap_conn *at = &root->conns[i];

		if (at->fd >= 0)
			root->polls[(*n)++] = (struct pollfd) {
				.fd = at->fd,
				.events = root->has_ended &&
					at->rank >= 0 ? POLLIN | POLLOUT : POLLIN,
			};
	}
	if (coll_interrupt_poll(root->polls, *n, ms) >= 0)
		return 0;
	*n = 0;
	return errno == EINTR ? 0 :
	       coll_fail(&root->failure, -errno, "rank 0 cannot wait: %s", coll_errno_text(errno));
}

/* Wait for events, @ms at most, and handle them. */
static int poll_once(struct bootstrap_root *root, unsigned int ms)
{
	short events;
	nfds_t n, at = root->nlisteners;
	size_t i;
	int err;

	err = wait_for_events(root, ms, &n);
	for (i = 0; !err && n && i < root->nconns; i++) {
		struct bootstrap_conn *conn = &root->conns[i];

		/* Handling a message may have closed another connection. */
		while (at < n && conn->fd >= 0 && root->polls[at].fd != conn->fd)
			at++;
		if (at == n)
			break;
		events = root->polls[at].revents;
		if (conn->fd < 0 || !events)
			continue;
		if (events & ~POLLOUT)
			err = bootstrap_conn_read(root, conn);
		if (!err && root->has_ended && conn->fd >= 0 && conn->rank >= 0)
			bootstrap_conn_send_last(root, conn);
	}
	/* After the connections, because it may reuse a slot. */
	for (i = 0; !err && n && i < root->nlisteners; i++)
		if (root->polls[i].revents)
			err = accept_one(root, root->listeners[i]);
	return err;
}

/* Gather until every rank has joined.  Return: 0, or the error of the group. */
static int gather_ranks(struct bootstrap_root *root)
{
	unsigned int left;
	int err;

	while (root->missing || !root->joined) {
		if (can_join(root)) {
			err = join(root);
			if (err)
				return err;
			continue;
		}
		left = coll_deadline_left(root->deadline);
		if (!left)
			return report_missing(root);
		if (root->paused && left > BOOTSTRAP_RETURN_MS / 10)
			left = BOOTSTRAP_RETURN_MS / 10;
		err = poll_once(root, left) ?: check_paused(root);
		if (err)
			return err;
	}
	return 0;
}

/*
 * Send the outcome to all ranks.  After a failure the root waits a moment for ranks that have
 * not arrived: they would look for it until their deadline.  An interrupted one does, too.
 */
static void send_result(struct bootstrap_root *root, int err)
{
	unsigned int ms = (root->paused ? bootstrap_root_pause_ms(root) : 0) +
			  (err ? LATE_MS : RESULT_MS), left;
	struct coll_interrupt *const suspended = coll_interrupt_suspend();
	uint64_t until = coll_deadline_in(ms);
	size_t i;
	int rank;

	root->has_ended = true;
	root->err = err;
	root->last_size = err ? bootstrap_write_fail(root->last, err, root->failure.text) :
			  bootstrap_write_table(root->last, root->peers, root->settings->nranks);
	for (rank = 1; rank < root->settings->nranks; rank++) {
		struct bootstrap_rank *at = &root->ranks[rank];

		at->last_done = err == -ETIMEDOUT && at->state == RANK_MISSING;
		root->last_pending += !at->last_done;
	}
	for (i = 0; i < root->nconns; i++) {
		struct bootstrap_conn *conn = &root->conns[i];

		if (conn->fd < 0)
			continue;
		if (conn->rank >= 0)
			bootstrap_conn_send_last(root, conn);
		else if (!err)
			bootstrap_conn_close(conn);
	}
	while (root->last_pending) {
		left = coll_deadline_left(until);
		if (!left || poll_once(root, left))
			break;
	}
	for (i = 0; i < root->nconns; i++)
		if (root->conns[i].fd >= 0)
			bootstrap_conn_close(&root->conns[i]);
	coll_interrupt_resume(suspended);
}

static void clear_conns(struct bootstrap_root *root)
{
	size_t i;

	for (i = 0; i < root->nconns; i++) {
		root->conns[i].fd = -1;
		root->conns[i].rank = -1;
	}
}

static void release(struct bootstrap_root *root)
{
	free(root->last);
	free(root->polls);
	free(root->ranks);
	free(root->conns);
}

/* Return: false: there is no memory, and none is taken. */
static bool allocate(struct bootstrap_root *root)
{
	root->nconns = conns_wanted(root);
	if (!root->nconns)
		root->nconns = 1;
	root->conns = calloc(root->nconns, sizeof(*root->conns));
	root->ranks = calloc(root->settings->nranks, sizeof(*root->ranks));
	root->polls = calloc(root->nconns + BOOTSTRAP_LISTENERS_MAX, sizeof(*root->polls));
	root->last = malloc(BOOTSTRAP_MESSAGE_MAX +
			    (size_t)root->settings->nranks * BOOTSTRAP_ENTRY_SIZE);
	if (!root->conns || !root->ranks || !root->polls || !root->last) {
		release(root);
		return false;
	}
	clear_conns(root);
	return true;
}

/*
 * Memory for rank 0 if it has no other: it has to tell the ranks, which would look for it until
 * their deadline.  Unused, it takes no space.
 */
#define RESERVE_CONNS	32

static struct {
	pthread_mutex_t lock;
	struct bootstrap_conn conns[RESERVE_CONNS];
	struct bootstrap_rank ranks[COLLECTIVE_RANKS_MAX];
	struct pollfd polls[RESERVE_CONNS + BOOTSTRAP_LISTENERS_MAX];
	uint8_t last[BOOTSTRAP_HEAD_SIZE + BOOTSTRAP_FAIL_MAX];
} reserve = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Tell all ranks that there is no memory. */
static int tell_no_memory(struct bootstrap_root *root)
{
	int err = coll_fail(&root->failure, -ENOMEM, "rank 0 has no memory");

	/* Another thread of this process that is rank 0 and has no memory either. */
	if (!coll_interrupt_lock(&reserve.lock, root->deadline))
		return err;
	if (root->nconns > RESERVE_CONNS)
		root->nconns = RESERVE_CONNS;
	root->conns = reserve.conns;
	root->ranks = reserve.ranks;
	root->polls = reserve.polls;
	root->last = reserve.last;
	memset(root->ranks, 0, root->settings->nranks * sizeof(*root->ranks));
	clear_conns(root);
	send_result(root, err);
	pthread_mutex_unlock(&reserve.lock);
	return err;
}

int bootstrap_run_root(int fd, struct coll_settings *settings,
		       struct sockaddr_storage *peers,
		       struct coll_detail *detail)
{
	char why[COLL_DETAIL_SIZE] = "";
	struct bootstrap_root root = {
		.settings = settings,
		.peers = peers,
		.device = fd,
		.missing = settings->nranks - 1,
		.absent = settings->nranks - 1,
		.deadline = settings->deadline,
		.failure = { why, sizeof(why) },
	};
	int err;

	if (fd < 0)
		coll_fail(&root.failure, fd, "rank 0: %s", detail->text);
	err = bootstrap_root_listen(&root);
	if (settings->auto_rank && (err == -EADDRINUSE || err == -EADDRNOTAVAIL))
		return -EALREADY;
	if (!root.nlisteners)
		goto out;
	err = err ?: bootstrap_choose_id(settings, &root.failure);
	settings->rank = 0;
	if (!allocate(&root)) {
		err = tell_no_memory(&root);
		goto close;
	}
	bootstrap_root_recall_keys(&root);
	if (!err && root.nconns < CONNS_MIN)
		err = too_few_files(&root, -EMFILE);
	/* Ranks that connect while rank 0 joins wait in the backlog of the listeners. */
	if (!err)
		err = gather_ranks(&root);
	if (!err && settings->auto_rank)
		bootstrap_root_remember_keys(&root);
	err = coll_interrupt_explain(err, 0, &root.failure);
	send_result(&root, err);
	release(&root);
close:
	while (root.nlisteners)
		close(root.listeners[--root.nlisteners]);
out:
	if (err)
		coll_fail(detail, err, "%s", why[0] ? why : "no memory");
	return err;
}
