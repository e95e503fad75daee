// SPDX-License-Identifier: GPL-2.0-only
/* Ranks that are handed out in the order of arrival, and by keys. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "comm/comm.h"
#include "comm/deadline.h"
#include "device_stub.h"
#include "tap.h"

#define MEMBERS		6
#define GROUPS		2

/**
 * struct member - a process and its results
 * @key: its key
 * @rank: its rank; COLL_RANK_AUTO: any
 * @wait_ms: time before each of its groups
 * @groups: number of groups that it joins
 * @err: result of coll_init(), for each group
 * @got: rank that it got
 * @ms: time of the latest coll_init()
 * @text: text of the latest failure
 * @began: true once it calls coll_init()
 */
struct member {
	const char *key;
	int rank;
	unsigned int wait_ms[GROUPS];
	int groups;
	int err[GROUPS];
	int got[GROUPS];
	unsigned int ms;
	char text[COLL_DETAIL_SIZE];
	bool began;
};

static struct member *members;
static pid_t pids[MEMBERS];
static char rendezvous[40];
static unsigned int timeout_ms;

static void choose_port(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	socklen_t length = sizeof(addr);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, length) ||
	    getsockname(fd, (struct sockaddr *)&addr, &length))
		exit(1);
	close(fd);
	snprintf(rendezvous, sizeof(rendezvous), "127.0.0.1:%d", ntohs(addr.sin_port));
}

static void be_member(struct member *member, int nranks)
{
	struct coll_config config = {
		.size = sizeof(config),
		.rank = member->rank,
		.nranks = nranks,
		.rendezvous = rendezvous,
		.key = member->key,
		.init_timeout_ms = timeout_ms,
		.detail = member->text,
		.detail_size = sizeof(member->text),
	};
	struct coll_comm *comm;
	uint64_t begin;
	int i;

	for (i = 0; i < member->groups; i++) {
		usleep(1000 * member->wait_ms[i]);
		member->began = true;
		begin = coll_deadline_now();
		member->err[i] = coll_init(&comm, &config);
		member->ms = coll_deadline_now() - begin;
		member->got[i] = member->err[i] ? -1 : coll_rank(comm);
		coll_finalize(comm);
		/* The next group meets at the same place, after every rank has left it. */
		usleep(300000);
	}
}

static void begin(void)
{
	int i;

	choose_port();
	timeout_ms = 20000;
	memset(members, 0, MEMBERS * sizeof(*members));
	for (i = 0; i < MEMBERS; i++) {
		members[i].rank = COLL_RANK_AUTO;
		members[i].groups = 1;
		members[i].err[0] = 1;
		members[i].err[1] = 1;
	}
}

static void start(int i, int nranks)
{
	fflush(NULL);
	pids[i] = fork();
	if (pids[i])
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	be_member(&members[i], nranks);
	_exit(0);
}

static void start_all(int n, int nranks)
{
	while (n--)
		start(n, nranks);
}

static void wait_all(int n)
{
	while (n--)
		if (pids[n])
			waitpid(pids[n], NULL, 0);
	memset(pids, 0, sizeof(pids));
}

static void note(int n)
{
	int i;

	for (i = 0; i < n; i++)
		tap_note("%d (%s): %d rank %d, then %d rank %d, %u ms: %s", i,
			 members[i].key ? members[i].key : "", members[i].err[0],
			 members[i].got[0], members[i].err[1], members[i].got[1], members[i].ms,
			 members[i].text);
}

/* Have the members every rank of the group once? */
static bool is_whole(int n, int group)
{
	unsigned int ranks = 0;
	int i;

	for (i = 0; i < n; i++)
		if (!members[i].err[group])
			ranks |= 1U << members[i].got[group];
	return ranks == (1U << n) - 1;
}

static void test_arrival(void)
{
	int i;

	begin();
	start_all(4, 4);
	wait_all(4);
	if (!tap_ok(is_whole(4, 0), "four processes get four ranks"))
		note(4);
	begin();
	for (i = 0; i < 4; i++)
		members[i].wait_ms[0] = 300 * i;
	start_all(4, 4);
	wait_all(4);
	if (!tap_ok(members[0].got[0] == 0 && members[1].got[0] == 1 && members[2].got[0] == 2 &&
		    members[3].got[0] == 3, "in the order of their arrival"))
		note(4);
}

static void test_keys(void)
{
	static const char * const keys[] = { "a", "b", "c", "d" };
	int i;

	begin();
	for (i = 0; i < 4; i++) {
		members[i].key = keys[i];
		members[i].groups = 2;
		members[i].wait_ms[0] = 200 * i;
		/* They come to the second group in the other order. */
		members[i].wait_ms[1] = 200 * (6 - 2 * i);
	}
	start_all(4, 4);
	wait_all(4);
	for (i = 0; i < 4 && members[i].got[0] == i && members[i].got[1] == i; i++)
		;
	if (!tap_ok(i == 4, "a key gets the rank that it had in the group before"))
		note(4);
}

static void test_same_key(void)
{
	begin();
	members[0].key = "a";
	members[1].key = "b";
	members[1].wait_ms[0] = 200;
	members[2].key = "b";
	members[2].wait_ms[0] = 500;
	members[3].key = "a";
	members[3].wait_ms[0] = 700;
	members[4].key = "c";
	members[4].wait_ms[0] = 1000;
	start_all(5, 3);
	wait_all(5);
	if (!tap_ok(members[2].err[0] == -EBUSY && strstr(members[2].text, "rank 1 (127.0.0.1") &&
		    strstr(members[2].text, "key b") && members[3].err[0] == -EBUSY &&
		    strstr(members[3].text, "rank 0 has the key a"),
		    "a key that another process has at the time is refused"))
		note(5);
	if (!tap_ok(!members[0].err[0] && !members[1].err[0] && !members[4].err[0] &&
		    members[4].got[0] == 2, "and the group forms without it"))
		note(5);
}

static void test_return(void)
{
	int i;

	begin();
	members[0].key = "a";
	members[1].key = "b";
	members[2].key = "c";
	members[3].key = "b";
	for (i = 0; i < 3; i++) {
		start(i, 4);
		usleep(300000);
	}
	kill(pids[1], SIGKILL);
	waitpid(pids[1], NULL, 0);
	pids[1] = 0;
	/* One without a key comes first, and does not take the rank of b. */
	start(4, 4);
	usleep(300000);
	start(3, 4);
	wait_all(5);
	if (!tap_ok(!members[3].err[0] && members[3].got[0] == 1 && members[4].got[0] == 3,
		    "a process that died is replaced by one with its key"))
		note(5);
}

static void test_missing(void)
{
	int i;

	begin();
	timeout_ms = 1500;
	start_all(3, 5);
	wait_all(3);
	for (i = 0; i < 3; i++)
		if (members[i].err[0] != -ETIMEDOUT || members[i].ms > 4000 ||
		    !strstr(members[i].text, "2 of 5 ranks never arrived"))
			break;
	if (!tap_ok(i == 3, "what is missing is told at the deadline"))
		note(3);
	begin();
	timeout_ms = 1500;
	for (i = 0; i < 3; i++) {
		members[i].key = i == 0 ? "a" : i == 1 ? "b" : "c";
		members[i].wait_ms[0] = 200 * i;
		members[i].groups = i < 2 ? 2 : 1;
	}
	start_all(3, 3);
	wait_all(3);
	if (!tap_ok(!members[2].err[0] && members[0].err[1] == -ETIMEDOUT &&
		    strstr(members[0].text, "key c, which was rank 2") &&
		    strstr(members[1].text, "key c, which was rank 2"),
		    "with the keys that are known"))
		note(3);
}

/* A key that rank 0 would refuse is refused at once. */
static void test_bad_keys(void)
{
	static const char * const keys[] = {
		"node-\xc3\xb8", "a\nb", "\x7f",
		"0123456789012345678901234567890123456789012345678901234567890123",
	};
	const int n = sizeof(keys) / sizeof(*keys);
	int i, refused = 0;

	begin();
	for (i = 0; i < n; i++)
		members[i].key = keys[i];
	start_all(n, n + 1);
	wait_all(n);
	for (i = 0; i < n; i++)
		refused += members[i].err[0] == -EINVAL && members[i].ms < timeout_ms / 2 &&
			   strstr(members[i].text, "key");
	if (!tap_ok(refused == n, "keys that are not printable ASCII, or too long"))
		note(n);
	begin();
	for (i = 0; i < 2; i++) {
		members[i].rank = i;
		members[i].key = keys[3 * i];
	}
	start_all(2, 2);
	wait_all(2);
	if (!tap_ok(!members[0].err[0] && !members[1].err[0], "ranks with numbers need no key"))
		note(2);
}

static void test_mixture(void)
{
	begin();
	timeout_ms = 1500;
	members[1].rank = 1;
	members[1].wait_ms[0] = 300;
	start_all(2, 2);
	wait_all(2);
	if (!tap_ok(members[1].err[0] == -EINVAL && strstr(members[1].text, "auto on all ranks") &&
		    members[0].err[0] == -ETIMEDOUT, "a rank with a number is refused"))
		note(2);
	begin();
	timeout_ms = 1500;
	members[0].rank = 0;
	members[1].wait_ms[0] = 300;
	start_all(2, 2);
	wait_all(2);
	if (!tap_ok(members[1].err[0] == -EINVAL && strstr(members[1].text, "auto on all ranks"),
		    "and so is one without, by a rank 0 with a number"))
		note(2);
	begin();
	members[2].wait_ms[0] = 200;
	timeout_ms = 1500;
	members[1].wait_ms[0] = 400;
	start_all(3, 2);
	wait_all(3);
	tap_ok(!members[0].err[0] && (!members[1].err[0] || !members[2].err[0]),
	       "one process too many leaves the group intact");
}

int main(void)
{
	members = mmap(NULL, MEMBERS * sizeof(*members), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (members == MAP_FAILED)
		return 1;
	tap_plan(0);
	test_arrival();
	test_keys();
	test_same_key();
	test_bad_keys();
	test_return();
	test_missing();
	test_mixture();
	return tap_exit();
}
