// SPDX-License-Identifier: GPL-2.0-only
/* Groups by PMI-1, from a server that keeps its side of the protocol, and from faulty ones. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "comm/comm.h"
#include "comm/deadline.h"
#include "device_stub.h"
#include "tap.h"

#define RANKS		3
#define PAIRS_MAX	256
#define LINE		4096

/** enum fault - what the server, or rank 1, does wrong */
enum fault {
	FAULT_NONE,
	FAULT_SILENT,		/* the server never answers init */
	FAULT_CLOSED,		/* it closes rank 1's socket after the first put */
	FAULT_REFUSED,		/* it refuses puts */
	FAULT_NO_ROOM,		/* it refuses those of rank 1 */
	FAULT_GARBAGE,		/* its answer to init is no line of PMI-1 */
	FAULT_ENDLESS,		/* its answer to init has no end */
	FAULT_NUL,		/* its answer has a NUL in it */
	FAULT_NO_VALUES,	/* it allows values of no length */
	FAULT_DIGITS,		/* values that it returns are not what was put */
	FAULT_SHORT,		/* values that it returns are shortened */
	FAULT_SPLIT,		/* its answers come byte by byte */
	FAULT_SMALL,		/* its values are short, so that a rank needs many */
	FAULT_ABSENT,		/* rank 1 never calls coll_init() */
	FAULT_NUMBERS,		/* rank 1's configuration is wrong */
};

/**
 * struct result - what a rank saw
 * @err: result of its coll_init(), for each group
 * @text: text of the last failure
 * @ms: time of the last coll_init()
 */
struct result {
	int err[2];
	char text[COLL_DETAIL_SIZE];
	unsigned int ms;
};

/**
 * struct server - the PMI server of one job
 * @fault: what it does wrong
 * @fds: its sockets, by rank; -1: closed
 * @in: bytes received of each rank
 * @in_len: number of @in
 * @keys: store
 * @values: store
 * @npairs: number of pairs in the store
 * @waiting: ranks in the barrier
 * @inits: number of init messages of each rank
 * @finals: number of finalize messages of each rank
 */
struct server {
	enum fault fault;
	int fds[RANKS];
	char in[RANKS][LINE];
	size_t in_len[RANKS];
	char keys[PAIRS_MAX][64];
	char values[PAIRS_MAX][1100];
	int npairs;
	unsigned int waiting;
	int inits[RANKS];
	int finals[RANKS];
};

static struct result *results;
static struct server server;
static unsigned int timeout_ms;

static void answer(int rank, const char *text)
{
	size_t i, length = strlen(text);

	if (server.fault != FAULT_SPLIT) {
		(void)send(server.fds[rank], text, length, MSG_NOSIGNAL);
		return;
	}
	for (i = 0; i < length; i++) {
		(void)send(server.fds[rank], text + i, 1, MSG_NOSIGNAL);
		if (i % 64 == 0)
			usleep(100);
	}
}

static void answer_init(int rank)
{
	static char endless[3 * LINE];

	server.inits[rank]++;
	switch (server.fault) {
	case FAULT_SILENT:
		break;
	case FAULT_GARBAGE:
		answer(rank, "HTTP/1.1 400 Bad Request\n");
		break;
	case FAULT_ENDLESS:
		memset(endless, 'x', sizeof(endless) - 1);
		answer(rank, endless);
		break;
	case FAULT_NUL:
		(void)send(server.fds[rank], "cmd=response_to_init\0rc=1\n", 26, MSG_NOSIGNAL);
		break;
	default:
		answer(rank, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
	}
}

static void store(int rank, const char *line)
{
	const int n = server.npairs;

	if (server.fault == FAULT_REFUSED || (server.fault == FAULT_NO_ROOM && rank == 1)) {
		answer(rank, "cmd=put_result rc=-1 msg=no_room\n");
		return;
	}
	if (n < PAIRS_MAX &&
	    sscanf(line, "cmd=put kvsname=kvs_1 key=%63s value=%1099s", server.keys[n],
		   server.values[n]) == 2)
		server.npairs++;
	answer(rank, "cmd=put_result rc=0 msg=success\n");
	if (server.fault == FAULT_CLOSED && rank == 1) {
		close(server.fds[rank]);
		server.fds[rank] = -1;
	}
}

static void look_up(int rank, const char *line)
{
	char text[LINE], key[64] = "";
	int i;

	if (sscanf(line, "cmd=get kvsname=kvs_1 key=%63s", key) != 1)
		return;
	for (i = 0; i < server.npairs && strcmp(key, server.keys[i]); i++)
		;
	if (i == server.npairs) {
		answer(rank, "cmd=get_result rc=-1 msg=key_not_found value=unknown\n");
		return;
	}
	if (server.fault == FAULT_DIGITS)
		server.values[i][5] = 'g';
	if (server.fault == FAULT_SHORT)
		server.values[i][strlen(server.values[i]) - 2] = '\0';
	snprintf(text, sizeof(text), "cmd=get_result rc=0 msg=success value=%s\n",
		 server.values[i]);
	answer(rank, text);
}

static void handle(int rank, const char *line)
{
	int i;

	if (!strncmp(line, "cmd=init ", 9)) {
		answer_init(rank);
	} else if (!strcmp(line, "cmd=get_maxes")) {
		answer(rank, server.fault == FAULT_NO_VALUES ?
		       "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=0\n" :
		       server.fault == FAULT_SMALL ?
		       "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=101\n" :
		       "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n");
	} else if (!strcmp(line, "cmd=get_my_kvsname")) {
		answer(rank, "cmd=my_kvsname kvsname=kvs_1\n");
	} else if (!strncmp(line, "cmd=put ", 8)) {
		store(rank, line);
	} else if (!strcmp(line, "cmd=barrier_in")) {
		server.waiting |= 1U << rank;
		if (server.waiting != (1U << RANKS) - 1)
			return;
		server.waiting = 0;
		for (i = 0; i < RANKS; i++)
			answer(i, "cmd=barrier_out\n");
	} else if (!strncmp(line, "cmd=get ", 8)) {
		look_up(rank, line);
	} else if (!strcmp(line, "cmd=finalize")) {
		server.finals[rank]++;
		answer(rank, "cmd=finalize_ack\n");
	}
}

static void receive(int rank)
{
	char *in = server.in[rank], *end;
	ssize_t got = recv(server.fds[rank], in + server.in_len[rank],
			   LINE - 1 - server.in_len[rank], 0);

	if (got <= 0) {
		close(server.fds[rank]);
		server.fds[rank] = -1;
		return;
	}
	server.in_len[rank] += got;
	in[server.in_len[rank]] = '\0';
	while ((end = strchr(in, '\n'))) {
		*end = '\0';
		handle(rank, in);
		if (server.fds[rank] < 0)
			return;
		server.in_len[rank] -= end + 1 - in;
		memmove(in, end + 1, server.in_len[rank] + 1);
	}
}

/* Serve until every rank has closed its socket. */
static void serve(void)
{
	struct pollfd polls[RANKS];
	int i, left;

	for (;;) {
		for (left = 0, i = 0; i < RANKS; i++) {
			polls[i] = (struct pollfd) { .fd = server.fds[i], .events = POLLIN };
			left += server.fds[i] >= 0;
		}
		if (!left || poll(polls, RANKS, 60000) <= 0)
			return;
		for (i = 0; i < RANKS; i++)
			if (server.fds[i] >= 0 && polls[i].revents)
				receive(i);
	}
}

static void make_group(struct result *result, int group, int lanes)
{
	struct coll_config config = {
		.size = sizeof(config),
		.lanes = lanes,
		.init_timeout_ms = timeout_ms,
		.detail = result->text,
		.detail_size = sizeof(result->text),
	};
	uint64_t begin = coll_deadline_now();
	struct coll_comm *comm;

	result->err[group] = coll_init(&comm, &config);
	result->ms = coll_deadline_now() - begin;
	coll_comm_free(comm);
}

static void be_rank(int rank, int fd)
{
	struct result *result = &results[rank];
	char text[12];
	pid_t child;

	snprintf(text, sizeof(text), "%d", fd);
	setenv("PMI_FD", text, 1);
	snprintf(text, sizeof(text), "%d", rank);
	setenv("PMI_RANK", text, 1);
	snprintf(text, sizeof(text), "%d", RANKS);
	setenv("PMI_SIZE", text, 1);
	if (server.fault == FAULT_ABSENT && rank == 1) {
		usleep(1000 * timeout_ms);
		return;
	}
	make_group(result, 0, server.fault == FAULT_NUMBERS && rank == 1 ? 99 : 0);
	/* A child that exits says nothing to the server. */
	child = fork();
	if (!child)
		exit(0);
	waitpid(child, NULL, 0);
	make_group(result, 1, 0);
	usleep(200000);
}

static void run(enum fault fault)
{
	int pairs[RANKS][2], i, j;
	pid_t pids[RANKS];

	memset(&server, 0, sizeof(server));
	memset(results, 0, RANKS * sizeof(*results));
	server.fault = fault;
	for (i = 0; i < RANKS; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]))
			exit(1);
		server.fds[i] = pairs[i][0];
	}
	fflush(NULL);
	for (i = 0; i < RANKS; i++) {
		pids[i] = fork();
		if (pids[i])
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (j = 0; j < RANKS; j++) {
			close(pairs[j][0]);
			if (j != i)
				close(pairs[j][1]);
		}
		be_rank(i, pairs[i][1]);
		exit(0);
	}
	for (i = 0; i < RANKS; i++)
		close(pairs[i][1]);
	serve();
	for (i = 0; i < RANKS; i++)
		waitpid(pids[i], NULL, 0);
}

static void note(void)
{
	int i;

	for (i = 0; i < RANKS; i++)
		tap_note("rank %d: %d, then %d after %u ms (%d init, %d finalize): %s", i,
			 results[i].err[0], results[i].err[1], results[i].ms, server.inits[i],
			 server.finals[i], results[i].text);
}

static void expect_groups(enum fault fault, const char *what)
{
	bool right = true;
	int i;

	run(fault);
	for (i = 0; i < RANKS; i++)
		right &= !results[i].err[0] && !results[i].err[1] && server.inits[i] == 1 &&
			 server.finals[i] == 1;
	if (!tap_ok(right, "%s", what))
		note();
}

/* Every rank of @ranks fails with one of two errnos, and says @says. */
static void expect_failure(enum fault fault, unsigned int ranks, int err, int or, const char *says,
			   const char *what)
{
	bool right = true;
	int i;

	run(fault);
	for (i = 0; i < RANKS; i++)
		if (ranks & 1U << i)
			right &= (results[i].err[0] == err || results[i].err[0] == or) &&
				 strstr(results[i].text, says) && results[i].ms < timeout_ms + 1500;
	if (!tap_ok(right, "%s", what))
		note();
}

int main(void)
{
	static const char * const others[] = { "COLL_RANK", "COLL_SIZE", "RANK", "WORLD_SIZE" };
	size_t i;

	for (i = 0; i < sizeof(others) / sizeof(*others); i++)
		unsetenv(others[i]);
	results = mmap(NULL, RANKS * sizeof(*results), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (results == MAP_FAILED)
		return 1;
	tap_plan(0);
	timeout_ms = 20000;
	expect_groups(FAULT_NONE, "two groups by one init, and one finalize at exit");
	expect_groups(FAULT_SPLIT, "answers that come byte by byte");
	expect_groups(FAULT_SMALL, "values in many pieces");
	expect_failure(FAULT_NUMBERS, 7, -EINVAL, -EINVAL, "", "one rank's wrong configuration");
	tap_ok(!results[0].err[1] && !results[1].err[1], "leaves the next group intact");
	expect_failure(FAULT_REFUSED, 7, -EPROTO, -EPROTO, "refuses put (no_room)",
		       "a server that refuses a value");
	expect_failure(FAULT_NO_ROOM, 5, -EPROTO, -EPROTO, "refuses get (key_not_found)",
		       "a server that refuses one rank's value");
	expect_failure(FAULT_GARBAGE, 7, -EINVAL, -EINVAL, "refuses init",
		       "a server that speaks something else");
	expect_failure(FAULT_ENDLESS, 7, -EINVAL, -EINVAL, "does not answer as PMI-1 does",
		       "an answer without an end");
	expect_failure(FAULT_NUL, 7, -EINVAL, -EINVAL, "does not answer as PMI-1 does",
		       "an answer with a NUL");
	expect_failure(FAULT_NO_VALUES, 7, -EINVAL, -EINVAL, "allows no values",
		       "a server without values");
	expect_failure(FAULT_DIGITS, 7, -EPROTO, -EPROTO, "malformed", "a value of other digits");
	expect_failure(FAULT_SHORT, 7, -EPROTO, -EPROTO, "malformed", "a value that is too short");
	timeout_ms = 1500;
	expect_failure(FAULT_SILENT, 7, -EINVAL, -ETIMEDOUT, "does not answer",
		       "a server that never answers");
	expect_failure(FAULT_CLOSED, 2, -ECONNRESET, -EPIPE, "closed the connection",
		       "a server that closes the connection");
	expect_failure(FAULT_ABSENT, 5, -ETIMEDOUT, -ETIMEDOUT, "PMI cannot tell which are missing",
		       "a rank that is missing");
	return tap_exit();
}
