// SPDX-License-Identifier: GPL-2.0-only
/*
 * coll_shrink() beside packet filters that drop, reject, come and go, while ranks die, are late and
 * call again: of each group at most one group is left, and a minority gets none.
 *
 * Each rank has an address of its own, and the filters are between addresses.  Groups run side by
 * side in a round, because they mostly wait.
 *
 *	SHRINK_ROUNDS	number of rounds
 *	SHRINK_GROUPS	groups of a round
 *	SHRINK_SEED	of the first round; the next ones count on
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "lib/lib_group.h"
#include "lib/machine.h"
#include "lib/values.h"

#define GROUPS_MAX	32
#define RANKS_MAX	5
/* Time limit of coll_shrink(), and the time in which filters change; ms. */
#define LIMIT_MS	6000
#define CHANGES_MS	7000
/* What all ranks of a group take to connect, at most; all groups do before the first filter. */
#define WAIT_MS		enough_ms(20000)
#define ALL_WAIT_MS	(GROUPS_MAX * WAIT_MS)

/**
 * struct outcome - what a rank got
 * @done: true if it ended by itself
 * @error: of its last coll_shrink()
 * @size: size of its group
 * @members: their ranks, as a mask; 0: the allgather among them failed
 * @name: name of its group
 */
struct outcome {
	bool done;
	int error;
	int size;
	unsigned int members;
	char name[COLLECTIVE_NAME_MAX + 1];
};

/**
 * struct group_run - one group of a round, in memory that all processes share
 * @nranks: number of its ranks
 * @victim: rank that dies before coll_shrink(), which the others learn from the module; -1: none
 * @seed: of what its ranks do
 * @round: the round
 * @outcome: by rank
 */
struct group_run {
	int nranks;
	int victim;
	unsigned int seed;
	struct round *round;
	struct outcome outcome[RANKS_MAX];
};

/**
 * struct round - the groups of a round
 * @ready: number of ranks that are connected
 * @filtered: set when the first filter is there
 */
struct round {
	unsigned int ready;
	unsigned int filtered;
	struct group_run group[GROUPS_MAX];
};

static void note_group(struct outcome *mine, struct coll_comm *comm, int rank)
{
	int ranks[RANKS_MAX], i;

	mine->size = coll_size(comm);
	snprintf(mine->name, sizeof(mine->name), "%s", coll_name(comm));
	if (coll_allgather(comm, &rank, ranks, 1, COLL_INT32))
		return;
	for (i = 0; i < mine->size; i++)
		mine->members |= 1U << ranks[i];
}

/* Each rank of a group. */
static int rank_shrinks(struct lib_rank *me)
{
	struct group_run *group = me->arg;
	struct outcome *mine = &group->outcome[me->rank];
	const u32 random = hash(group->seed, me->rank, 1);
	unsigned int tries = 1 + random % 3;
	struct coll_comm *new;

	/* Before one dies, no rank is in an operation. */
	CHECK_EQ(0, coll_barrier(me->comm));
	__atomic_add_fetch(&group->round->ready, 1, __ATOMIC_SEQ_CST);
	CHECK(word_wait(&group->round->filtered, 1, ALL_WAIT_MS));
	if (me->rank == group->victim)
		kill(getpid(), SIGKILL);
	if (group->victim >= 0)
		CHECK(coll_barrier(me->comm));
	/* A quarter of the ranks is late, by up to the time limit. */
	if (!(random >> 4 & 3))
		sleep_ms((random >> 8) % LIMIT_MS);
	while (tries--) {
		mine->error = coll_shrink(me->comm, &new);
		if (mine->error)
			continue;
		note_group(mine, new, me->rank);
		coll_finalize(new);
		break;
	}
	mine->done = true;
	return 0;
}

/* Run nft with a ruleset.  Return: 0 or not. */
static int filter_set(const char *rules)
{
	FILE *nft = popen("nft -f -", "w");

	if (!nft)
		return -1;
	fprintf(nft, "flush ruleset\n"
		"table ip test {\n chain input {\n  type filter hook input priority 0;\n%s }\n}\n",
		rules);
	return pclose(nft);
}

/* A rule for what @from sends to @to. */
static int rule_between(char *text, size_t size, int from, int to, const char *match,
			const char *verdict)
{
	return snprintf(text, size, "  ip saddr 127.0.0.%d ip daddr 127.0.0.%d %s %s\n",
			from + 1, to + 1, match, verdict);
}

/* Rules of one kind, by @random. */
static void filter_write(char *text, size_t size, u32 random)
{
	static const char *const verdicts[] = { "drop", "reject" };
	const char *verdict = verdicts[random >> 3 & 1];
	const u32 part = random >> 4;
	int from, to;
	size_t n = 0;

	text[0] = '\0';
	for (from = 0; from < RANKS_MAX; from++) {
		for (to = 0; to < RANKS_MAX; to++) {
			const bool apart = (part >> from ^ part >> to) & 1;
			const u32 mine = hash(random, from, to);
			const char *match = NULL;

			if (from == to)
				continue;
			switch (random & 7) {
			case 0:		/* no filter */
				break;
			case 1:
			case 2:		/* the network is in two parts for datagrams */
				match = apart ? "meta l4proto udp" : NULL;
				break;
			case 3:		/* the same for all packets */
				match = apart ? "" : NULL;
				break;
			case 4:		/* only TCP passes */
				match = "meta l4proto udp";
				break;
			case 5:		/* one way */
				match = apart && part >> from & 1 ? "meta l4proto udp" : NULL;
				break;
			default:	/* any way */
				match = mine & 1 ? "meta l4proto udp" : NULL;
				verdict = verdicts[mine >> 1 & 1];
				break;
			}
			if (match)
				n += rule_between(text + n, size - n, from, to, match, verdict);
		}
	}
}

static int filter_change(unsigned int seed, unsigned int change)
{
	char rules[4096];

	filter_write(rules, sizeof(rules), hash(seed, change, 2));
	return filter_set(rules);
}

/* The ranks that got a group got the same one, and it has the quorum.  Return: true if so. */
static bool group_agrees(const struct group_run *group)
{
	const int voters = group->nranks - (group->victim >= 0);
	const struct outcome *first = NULL;
	int rank, count = 0;

	for (rank = 0; rank < group->nranks; rank++) {
		const struct outcome *o = &group->outcome[rank];

		if (rank == group->victim)
			continue;
		if (!o->done)
			return false;
		if (o->error)
			continue;
		count++;
		first = first ?: o;
		if (strcmp(o->name, first->name) || o->size != first->size)
			return false;
		if (o->members && (!(o->members & 1U << rank) ||
				   __builtin_popcount(o->members) != o->size))
			return false;
		if (o->members && first->members && o->members != first->members)
			return false;
	}
	return !first || (count <= first->size && 2 * first->size >= voters);
}

static void group_explain(const struct group_run *group, unsigned int seed)
{
	int rank;

	printf("# seed %u: %d ranks, rank %d dies\n", seed, group->nranks, group->victim);
	for (rank = 0; rank < group->nranks; rank++)
		printf("# rank %d: done %d, error %d, group %s of %d, members %x\n", rank,
		       group->outcome[rank].done, group->outcome[rank].error,
		       group->outcome[rank].name, group->outcome[rank].size,
		       group->outcome[rank].members);
}

static void group_fork(struct round *round, struct group_run *group, unsigned int seed)
{
	/* Half of the groups have connections that the filters can cut. */
	const struct coll_config config = {
		.init_timeout_ms = LIMIT_MS,
		.transport = seed & 1 ? "tcp" : NULL,
	};

	group->seed = seed;
	group->round = round;
	group->nranks = 3 + hash(seed, 0, 3) % (RANKS_MAX - 2);
	group->victim = hash(seed, 1, 3) % (2 * group->nranks);
	if (group->victim >= group->nranks)
		group->victim = -1;
	if (fork())
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	_exit(lib_group_run_apart(group->nranks, &config, rank_shrinks, group));
}

/* Return: the number of groups of the round that do not agree, or -1. */
static int round_run(unsigned int seed, unsigned int ngroups, int *whole)
{
	struct round *round = mmap(NULL, sizeof(*round), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned int ranks = 0, change = 0;
	unsigned int i;
	int bad = 0;
	__u64 end;

	if (round == MAP_FAILED || filter_set(""))
		return -1;
	/* One after the other: a slow machine would not connect all in time. */
	for (i = 0; i < ngroups; i++) {
		group_fork(round, &round->group[i], seed * ngroups + i);
		ranks += round->group[i].nranks;
		if (!word_wait(&round->ready, ranks, WAIT_MS))
			return -1;
	}
	if (filter_change(seed, change++))
		return -1;
	__atomic_store_n(&round->filtered, 1, __ATOMIC_SEQ_CST);
	for (end = now_ms() + CHANGES_MS; now_ms() < end; change++) {
		sleep_ms(100 + hash(seed, change, 4) % 900);
		if (filter_change(seed, change))
			return -1;
	}
	while (wait(NULL) > 0)
		;
	for (i = 0; i < ngroups; i++) {
		const struct group_run *group = &round->group[i];

		if (!group_agrees(group)) {
			group_explain(group, seed);
			bad++;
		}
		*whole += group->outcome[0].size > 0 || group->outcome[1].size > 0;
	}
	munmap(round, sizeof(*round));
	return bad;
}

FIXTURE(filters) {
};

FIXTURE_SETUP(filters)
{
	/* What the kernel has built in is no module. */
	if (system("modprobe -qa nf_tables nft_reject_inet nft_reject_ipv4") == -1 ||
	    unshare(CLONE_NEWNET) || loopback_set(true) || filter_set("reject\n"))
		SKIP(return, "no nftables");
}

FIXTURE_TEARDOWN(filters)
{
}

TEST_F_TIMEOUT(filters, one_group_is_left, 3600)
{
	const unsigned int rounds = env_number("SHRINK_ROUNDS", 1);
	const unsigned int first = env_number("SHRINK_SEED", 1);
	const unsigned int groups = env_number("SHRINK_GROUPS", 12);
	unsigned int i;
	int whole = 0;

	ASSERT_GE(GROUPS_MAX, groups);
	for (i = 0; i < rounds; i++)
		EXPECT_EQ(0, round_run(first + i, groups, &whole)) TH_LOG("round %u", first + i);
	TH_LOG("%d of %u groups were shrunk", whole, rounds * groups);
	/* Filters come and go: where none got a group, the test has shown nothing. */
	EXPECT_LT(0, whole);
}

TEST_HARNESS_MAIN
