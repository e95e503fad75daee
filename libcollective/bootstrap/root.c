// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Rank 0's side of the rendezvous: one poll() loop over the listening sockets and all
 * connections.  See rendezvous.h for the conversation.
 *
 * The loop has two parts.  Ranks are gathered until all have joined, or something fails.
 * Then it is over: the last message, TABLE or FAIL, goes to every rank that is connected, and
 * for a short while to those that still come.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
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

#define STRANGERS	64	/* connections that have not proved anything */
#define GOODBYE_MS	2000	/* to deliver the last message */
#define LATE_MS		1000	/* for ranks that come after a failure */
#define FULL_MS		20	/* until a place may be free */
#define FILES_LEFT	16	/* for others of this process */
#define PLACES_MIN	2

/* Files that this process may open still. */
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
	used -= used < 3 ? used : 3;	/* "." and ".." and the folder itself */
	return limit.rlim_cur > used ? limit.rlim_cur - used : 0;
}

/* One for each rank, and for some strangers, if there are so many files. */
static size_t places(const struct coll_host *host)
{
	size_t left = files_left(), spare = left / 2 < FILES_LEFT ? left / 2 : FILES_LEFT;
	size_t wish = host->setup->nranks - 1 + STRANGERS;

	return wish < left - spare ? wish : left - spare;
}

static int few_files(struct coll_host *host, int err)
{
	struct rlimit limit = { 0 };

	/* One file is enough to tell the ranks, one after the other. */
	if (host->nlisteners > 1)
		close(host->listeners[--host->nlisteners]);
	(void)getrlimit(RLIMIT_NOFILE, &limit);	/* it is for the text */
	return coll_fail(&host->why, err,
			 "rank 0 has too many open files: of the %llu that are allowed (ulimit -n) at least %d have to be free, at best %d",
			 (unsigned long long)limit.rlim_cur, 2 * PLACES_MIN,
			 host->setup->nranks - 1 + STRANGERS + FILES_LEFT);
}

/* Close the connection of the rank that has waited longest; it calls again. */
static struct coll_guest *pause_one(struct coll_host *host)
{
	struct coll_guest *oldest = NULL;
	size_t i;

	for (i = 0; i < host->nguests; i++) {
		struct coll_guest *at = &host->guests[i];

		if (at->fd >= 0 && at->rank >= 0 && (!oldest || at->since < oldest->since) &&
		    host->arrivals[at->rank].state != ARRIVAL_WELCOME)
			oldest = at;
	}
	return oldest && coll_host_pause(host, oldest->rank) ? oldest : NULL;
}

/*
 * A place for a new connection: a free one, or that of the stranger that has been silent
 * longest if there are many of them, or that of a rank, which calls again.
 */
static struct coll_guest *place(struct coll_host *host)
{
	size_t strangers = 0, most = host->nguests / 4 < STRANGERS ? host->nguests / 4 : STRANGERS;
	struct coll_guest *oldest = NULL, *paused;
	size_t i;

	for (i = 0; i < host->nguests; i++) {
		struct coll_guest *at = &host->guests[i];

		if (at->fd < 0)
			return at;
		if (at->rank >= 0)
			continue;
		strangers++;
		if (!oldest || at->since < oldest->since)
			oldest = at;
	}
	if (!oldest || strangers <= most) {
		paused = pause_one(host);
		if (paused)
			return paused;
	}
	if (oldest)
		coll_host_drop(oldest);
	return oldest;
}

/* Are these of a connection that was, rather than of the listener? */
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

static int accept_one(struct coll_host *host, int listener)
{
	struct sockaddr_storage from = { 0 };
	socklen_t length = sizeof(from);
	struct coll_guest *guest = place(host);
	int fd;

	/* All are about to join. */
	host->full = !guest;
	if (host->full)
		return 0;
	fd = accept4(listener, (struct sockaddr *)&from, &length, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0 && (errno == EMFILE || errno == ENFILE))
		return pause_one(host) ? 0 : few_files(host, -errno);
	if (fd < 0)
		return is_transient(errno) ? 0 :
		       coll_fail(&host->why, -errno, "rank 0 cannot accept connections: %s",
				 strerrordesc_np(errno));
	coll_rendezvous_probe(fd);
	memset(guest, 0, sizeof(*guest));
	guest->fd = fd;
	guest->rank = -1;
	guest->since = coll_deadline_now();
	guest->from = from;
	return 0;
}

/* How a rank that is missing is called. */
enum lack { LACK_NEVER, LACK_LOST, LACK_JOIN };

static bool lacks(const struct coll_arrival *at, enum lack lack)
{
	switch (lack) {
	case LACK_NEVER:
		return at->state == ARRIVAL_NONE && !at->lost;
	case LACK_LOST:
		return at->state == ARRIVAL_NONE && at->lost;
	case LACK_JOIN:
		return at->state == ARRIVAL_WELCOME;
	}
	return false;
}

/* " 2, 5-7": the ranks of which this is so, from @at on; returns the new end. */
static size_t list(struct coll_host *host, enum lack lack, const char *verb,
		   char *text, size_t at, size_t size)
{
	int ranks = 0, first = -1, i;
	char numbers[200] = "";
	size_t end = 0;
	bool in;

	for (i = 1; i <= host->setup->nranks; i++) {
		in = i < host->setup->nranks && lacks(&host->arrivals[i], lack);
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

	at = list(host, LACK_NEVER, "never arrived", text, at, sizeof(text));
	at = list(host, LACK_LOST, "arrived and went away", text, at, sizeof(text));
	at = list(host, LACK_JOIN, "arrived but never joined", text, at, sizeof(text));
	at += snprintf(text + at, sizeof(text) - at, "; rank 0 listened on %s", host->where);
	if (host->refused[0] && at < sizeof(text))
		snprintf(text + at, sizeof(text) - at, "; refused %s",
			 host->refused);
	return coll_fail(&host->why, -ETIMEDOUT, "%s", text);
}

/* A rank that was to call again has not. */
static int check_paused(struct coll_host *host)
{
	uint64_t now = coll_deadline_now();
	char from[COLL_ADDRESS_TEXT];
	int i;

	for (i = 1; host->paused && i < host->setup->nranks; i++) {
		struct coll_arrival *at = &host->arrivals[i];

		if (at->state == ARRIVAL_NONE || at->guest || now < at->since)
			continue;
		coll_address_format(&at->from, from);
		return coll_fail(&host->why, -ECONNRESET,
				 "rank %d (%s) went away while the group formed", i, from);
	}
	return 0;
}

/*
 * The address that others can reach rank 0 by: of those that they have come by one that is
 * not loopback, of IPv4 if there is one, since the others' hosts may be without IPv6.
 */
static const struct sockaddr_storage *best_address(const struct coll_host *host)
{
	const struct sockaddr_storage *best = &host->bound, *via;
	int i, points, most = -1;

	for (i = 1; i < host->setup->nranks; i++) {
		via = &host->arrivals[i].via;
		if (host->arrivals[i].state == ARRIVAL_NONE)
			continue;
		points = 2 * !coll_address_is_loopback(via) + (via->ss_family == AF_INET);
		if (points > most) {
			most = points;
			best = via;
		}
	}
	return best;
}

static int join(struct coll_host *host)
{
	struct coll_setup *setup = host->setup;
	struct sockaddr_storage addr = *best_address(host);
	struct collective_status status;
	int i, err = 0;

	if (host->device < 0)
		return host->device;
	if (setup->local[0])
		err = coll_address_local(&addr, setup->local, host->everywhere ? AF_UNSPEC :
					 addr.ss_family, &host->why);
	if (!err)
		err = coll_rendezvous_allowed(setup, &addr, &host->why) ?:
		      coll_lifeline_join(host->device, setup, &addr, &host->why);
	if (err)
		return err;
	/* The number that the kernel chose is for everybody. */
	if (!setup->lanes && !coll_device_status(host->device, &status) &&
	    status.lanes <= COLLECTIVE_LANES_MAX)
		setup->lanes = status.lanes;
	host->peers[0] = addr;
	host->joined = true;
	for (i = 1; !err && i < setup->nranks; i++)
		if (host->arrivals[i].state == ARRIVAL_HERE && host->arrivals[i].guest)
			err = coll_host_welcome(host, i);
	return err;
}

/* Is it clear by which address the others reach rank 0? */
static bool can_join(const struct coll_host *host)
{
	if (host->joined)
		return false;
	return !host->absent || host->device < 0 || host->setup->local[0] ||
	       (host->nlisteners == 1 && !host->everywhere);
}

static int wait_for_events(struct coll_host *host, unsigned int ms, nfds_t *n)
{
	size_t i;

	*n = 0;
	for (i = 0; i < host->nlisteners; i++)
		host->polls[(*n)++] = (struct pollfd) {
			.fd = host->listeners[i],
			.events = host->full ? 0 : POLLIN,
		};
	if (host->full && ms > FULL_MS)
		ms = FULL_MS;
	host->full = false;
	for (i = 0; i < host->nguests; i++) {
		struct coll_guest *at = &host->guests[i];

		if (at->fd >= 0)
			host->polls[(*n)++] = (struct pollfd) {
				.fd = at->fd,
				.events = host->over && at->rank >= 0 ? POLLIN | POLLOUT : POLLIN,
			};
	}
	if (poll(host->polls, *n, ms) >= 0)
		return 0;
	*n = 0;
	return errno == EINTR ? 0 :
	       coll_fail(&host->why, -errno, "rank 0 cannot wait: %s", strerrordesc_np(errno));
}

/* Wait @ms at most, and do what there is to do. */
static int turn(struct coll_host *host, unsigned int ms)
{
	short events;
	nfds_t n, at = host->nlisteners;
	size_t i;
	int err;

	err = wait_for_events(host, ms, &n);
	for (i = 0; !err && n && i < host->nguests; i++) {
		struct coll_guest *guest = &host->guests[i];

		/* One message may have closed another connection. */
		while (at < n && guest->fd >= 0 && host->polls[at].fd != guest->fd)
			at++;
		if (at == n)
			break;
		events = host->polls[at].revents;
		if (guest->fd < 0 || !events)
			continue;
		if (events & ~POLLOUT)
			err = coll_host_read(host, guest);
		if (!err && host->over && guest->fd >= 0 && guest->rank >= 0)
			coll_host_send_last(host, guest);
	}
	/* Last, since it may give a guest's place away. */
	for (i = 0; !err && n && i < host->nlisteners; i++)
		if (host->polls[i].revents)
			err = accept_one(host, host->listeners[i]);
	return err;
}

/* Until every rank has joined. */
static int gather(struct coll_host *host)
{
	unsigned int left;
	int err;

	while (host->missing || !host->joined) {
		if (can_join(host)) {
			err = join(host);
			if (err)
				return err;
			continue;
		}
		left = coll_deadline_left(host->deadline);
		if (!left)
			return too_late(host);
		if (host->paused && left > COLL_RETURN_MS / 10)
			left = COLL_RETURN_MS / 10;
		err = turn(host, left) ?: check_paused(host);
		if (err)
			return err;
	}
	return 0;
}

/*
 * Tell all how it ended.  A rank that has not come yet would look for rank 0 until its
 * deadline: after a failure rank 0 stays a moment for it.
 */
static void conclude(struct coll_host *host, int err)
{
	unsigned int ms = (host->paused ? coll_host_pause_ms(host) : 0) +
			  (err ? LATE_MS : GOODBYE_MS), left;
	uint64_t until = coll_deadline_in(ms);
	size_t i;
	int rank;

	host->over = true;
	host->err = err;
	host->last_size = err ? coll_message_fail(host->last, err, host->why.text) :
			  coll_message_table(host->last, host->peers, host->setup->nranks);
	for (rank = 1; rank < host->setup->nranks; rank++) {
		struct coll_arrival *at = &host->arrivals[rank];

		at->told = err == -ETIMEDOUT && at->state == ARRIVAL_NONE;
		host->untold += !at->told;
	}
	for (i = 0; i < host->nguests; i++) {
		struct coll_guest *guest = &host->guests[i];

		if (guest->fd < 0)
			continue;
		if (guest->rank >= 0)
			coll_host_send_last(host, guest);
		else if (!err)
			coll_host_drop(guest);
	}
	while (host->untold) {
		left = coll_deadline_left(until);
		if (!left || turn(host, left))
			break;
	}
	for (i = 0; i < host->nguests; i++)
		if (host->guests[i].fd >= 0)
			coll_host_drop(&host->guests[i]);
}

static bool allocate(struct coll_host *host)
{
	size_t i;

	host->nguests = places(host);
	if (!host->nguests)
		host->nguests = 1;
	host->guests = calloc(host->nguests, sizeof(*host->guests));
	host->arrivals = calloc(host->setup->nranks, sizeof(*host->arrivals));
	host->polls = calloc(host->nguests + COLL_LISTENERS_MAX, sizeof(*host->polls));
	host->last = malloc(COLL_MESSAGE_MAX +
			    (size_t)host->setup->nranks * COLL_ENTRY_SIZE);
	if (!host->guests || !host->arrivals || !host->polls || !host->last)
		return false;
	for (i = 0; i < host->nguests; i++) {
		host->guests[i].fd = -1;
		host->guests[i].rank = -1;
	}
	return true;
}

int coll_rendezvous_host(int fd, struct coll_setup *setup,
			 struct sockaddr_storage *peers,
			 struct coll_detail *detail)
{
	char why[COLL_DETAIL_SIZE] = "";
	struct coll_host host = {
		.setup = setup,
		.peers = peers,
		.device = fd,
		.missing = setup->nranks - 1,
		.absent = setup->nranks - 1,
		.deadline = setup->deadline,
		.why = { why, sizeof(why) },
	};
	int err;

	if (fd < 0)
		coll_fail(&host.why, fd, "rank 0: %s", detail->text);
	err = coll_rendezvous_identify(setup, &host.why) ?: coll_host_listen(&host);
	if (!host.nlisteners)
		goto out;
	if (!allocate(&host)) {
		err = -ENOMEM;
		goto free;
	}
	if (!err && host.nguests < PLACES_MIN)
		err = few_files(&host, -EMFILE);
	/* Ranks that come while rank 0 joins wait in the listeners' queues. */
	if (!err)
		err = gather(&host);
	conclude(&host, err);
free:
	while (host.nlisteners)
		close(host.listeners[--host.nlisteners]);
	free(host.last);
	free(host.polls);
	free(host.arrivals);
	free(host.guests);
out:
	if (err)
		coll_fail(detail, err, "%s", why[0] ? why : "no memory");
	return err;
}
