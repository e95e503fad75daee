// SPDX-License-Identifier: GPL-2.0-only
/*
 * Groups run random collectives until one of their ranks fails. Every other rank returns in time
 * and names the failed rank, and nothing leaks. With COLL_TRANSPORT=auto some ranks of every second
 * group choose TCP, or RDMA where it is offered, so that it has links of both kinds.
 *
 * Environment: CHAOS_SEED is the seed of the first round, CHAOS_ROUNDS the number of rounds. A
 * failed round prints its seed.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/machine.h"
#include "lib/leak_check.h"

#define RANKS_MOST	6
#define ELEMENTS	(1 << 16)
#define ELEMENTS_LARGE	(1 << 21)	/* allreduces use another algorithm */

/* The deadline of operations that a stopped rank does not call. */
#define DEADLINE_MS	300

/* Survivors learn of a death at once, but may wait for a fence, which is five heartbeats. */
static unsigned int told_ms(void)
{
	return 8000 + 5 * short_heartbeat_ms();
}

/* What happens to the victim. */
enum fate {
	FATE_KILL,		/* by another process */
	FATE_EXIT,		/* in the middle of an operation */
	FATE_CLOSE,		/* of its file, in the middle of an operation */
	FATE_LEAVE,
	FATE_STOP,		/* SIGSTOP: only the module still runs */
	FATE_CANCEL,		/* one operation; the group lives */
	FATE_UNMAP,		/* its memory is unmapped; no failure */
	FATES
};

static const char * const fate_names[] = {
	"kill", "exit", "close", "leave", "stop", "cancel", "unmap",
};

/**
 * struct chaos - one round; the same for all ranks
 * @seed: seed of all other choices
 * @fate: what happens to the victim
 * @victim: rank to which it happens
 * @after_us: delay from when all ranks are connected; us
 * @operations: number of operations after which a round ends without failure
 * @elements: elements of a rank's memory
 */
struct chaos {
	unsigned int seed;
	enum fate fate;
	unsigned int victim;
	unsigned int after_us;
	unsigned int operations;
	unsigned int elements;
};

enum { FLAG_READY, FLAG_FATE, FLAG_MEET, VALUE_TOLD = 8 };

/*
 * The function of a rank
 */

struct rank_state {
	struct rank *rank;
	const struct chaos *chaos;
	__u32 *send;
	__u32 *recv;
	bool unmapped;
};

/* True if the other ranks have a block of each rank. */
static bool has_all_blocks(unsigned int opcode)
{
	return opcode == COLLECTIVE_ALLREDUCE || opcode == COLLECTIVE_BROADCAST ||
	       opcode == COLLECTIVE_REDUCE || opcode == COLLECTIVE_SCAN;
}

static __u32 *area(size_t elements)
{
	void *p = mmap(NULL, elements * sizeof(__u32), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* Fill in the next operation; the same on all ranks. */
static void operation(const struct rank_state *f, unsigned int *seed, struct collective_op *op)
{
	static const int opcodes[] = {
		COLLECTIVE_ALLREDUCE, COLLECTIVE_BROADCAST, COLLECTIVE_ALLGATHER,
		COLLECTIVE_REDUCE_SCATTER, COLLECTIVE_ALLTOALL, COLLECTIVE_REDUCE,
		COLLECTIVE_GATHER, COLLECTIVE_SCATTER, COLLECTIVE_BARRIER, COLLECTIVE_SCAN,
	};
	unsigned int opcode = opcodes[rand_r(seed) % ARRAY_SIZE(opcodes)];
	unsigned int root = rand_r(seed) % f->rank->nranks;
	unsigned int size = rand_r(seed), most = rand_r(seed) % 3;
	unsigned int elements = f->chaos->elements / (has_all_blocks(opcode) ? 1 : RANKS_MOST);

	*op = (struct collective_op){ .opcode = opcode };
	if (opcode == COLLECTIVE_BARRIER)
		return;
	op->type = COLLECTIVE_UINT32;
	op->count = size % (most == 0 ? 16 : most == 1 ? 3000 : elements);
	op->send = (uintptr_t)f->send;
	op->recv = (uintptr_t)f->recv;
	if (opcode == COLLECTIVE_BROADCAST || opcode == COLLECTIVE_REDUCE ||
	    opcode == COLLECTIVE_GATHER || opcode == COLLECTIVE_SCATTER)
		op->root = root;
	if (opcode == COLLECTIVE_BROADCAST)
		op->recv = op->send;
}

static bool fate_has_come(const struct rank_state *f)
{
	return __atomic_load_n(&f->rank->shared->flag[FLAG_FATE], __ATOMIC_SEQ_CST);
}

/* The victim fails itself with an operation in progress; may not return. */
static int victim_fail(struct rank_state *f, struct collective_op *op)
{
	struct collective_cancel cancel = { .size = sizeof(cancel) };
	struct rank *r = f->rank;
	__u64 request;
	int err;

	err = member_start(r->fd, op, &request);
	if (err)
		return err;
	switch (f->chaos->fate) {
	case FATE_EXIT:
		_exit(0);
	case FATE_CLOSE:
		close(r->fd);
		sleep_ms(50);
		_exit(0);
	case FATE_LEAVE:
		/* The memory must not be used before the operation has completed. */
		member_wait(r->fd, request, 0);
		member_leave(r->fd);
		_exit(0);
	case FATE_CANCEL:
		cancel.request = request;
		member_ioctl(r->fd, COLLECTIVE_IOC_CANCEL, &cancel);
		break;
	case FATE_UNMAP:
		munmap(f->send, f->chaos->elements * sizeof(__u32));
		munmap(f->recv, f->chaos->elements * sizeof(__u32));
		f->unmapped = true;
		break;
	default:
		break;
	}
	err = member_wait(r->fd, request, 0);
	if (f->unmapped) {
		f->send = area(f->chaos->elements);
		f->recv = area(f->chaos->elements);
		CHECK(f->send && f->recv);
	}
	return err;
}

/* Check that the victim is the reason of a failure. */
static int failure_allowed(const struct rank_state *f, int err)
{
	const struct chaos *chaos = f->chaos;
	struct collective_status status = { .size = sizeof(status) };
	const struct collective_reason *why = &status.group;

	CHECK_EQ(0, member_status(f->rank->fd, &status));
	switch (chaos->fate) {
	case FATE_KILL:
	case FATE_EXIT:
		CHECK_EQ(-ECONNRESET, err);
		CHECK_EQ(COLLECTIVE_REASON_DEATH, why->kind);
		break;
	case FATE_CLOSE:
	case FATE_LEAVE:
		CHECK_EQ(-ECONNRESET, err);
		CHECK_EQ(COLLECTIVE_REASON_LEFT, why->kind);
		break;
	case FATE_STOP:
		/* A late rank is not named by a timeout. */
		CHECK_EQ(-ETIMEDOUT, err);
		why = &status.last;
		CHECK_EQ(COLLECTIVE_REASON_DEADLINE, why->kind);
		return 0;
	case FATE_CANCEL:
		CHECK_EQ(-ECANCELED, err);
		CHECK_EQ(COLLECTIVE_STATE_UP, status.state);
		why = &status.last;
		CHECK_EQ(COLLECTIVE_REASON_CANCELLED, why->kind);
		break;
	default:
		CHECK_EQ(0, err);
	}
	CHECK_EQ(chaos->victim, why->rank_a);
	return 0;
}

static int rank_live(struct rank *r)
{
	const struct chaos *chaos = r->arg;
	struct rank_state f = {
		.rank = r,
		.chaos = chaos,
		.send = area(chaos->elements),
		.recv = area(chaos->elements),
	};
	bool mine = r->rank == chaos->victim, met = false, fails_group;
	unsigned int seed = chaos->seed, n;
	struct collective_op op;
	int err = 0;

	CHECK(f.send && f.recv);
	fails_group = chaos->fate != FATE_CANCEL && chaos->fate != FATE_UNMAP;
	CHECK(flag_barrier(r->shared, FLAG_READY, r->nranks));
	for (n = 0; n < chaos->operations || fails_group; n++) {
		operation(&f, &seed, &op);
		if (mine && !met && fate_has_come(&f)) {
			met = true;
			err = victim_fail(&f, &op);
		} else {
			err = member_submit(r->fd, &op);
		}
		if (!err)
			continue;
		if (failure_allowed(&f, err)) {
			dprintf(STDOUT_FILENO,
				"# rank %u: operation %u, opcode %u, count %llu: %d\n",
				r->rank, n, op.opcode, op.count, err);
			return 1;
		}
		if (fails_group)
			break;
	}
	r->shared->value[VALUE_TOLD + r->rank] = now_ms();
	/* A group that did not fail still works. */
	if (!fails_group) {
		memset(f.send, 0, 64);
		f.send[0] = 1;
		CHECK_EQ(0, member_allreduce(r->fd, f.send, f.recv, 16, COLLECTIVE_UINT32,
					     COLLECTIVE_SUM));
		CHECK_EQ(r->nranks, f.recv[0]);
		return 0;
	}
	/* Wait for each other, so that no rank sees another one leave. */
	if (chaos->fate != FATE_STOP || !mine)
		CHECK(flag_barrier(r->shared, FLAG_MEET, r->nranks - 1));
	CHECK_EQ(0, process_value(0, "VmPin:"));
	return 0;
}

/*
 * A round
 */

/* Return: the transport of each rank if they differ; NULL: that of COLL_TRANSPORT. */
static const unsigned int *transports(unsigned int seed, unsigned int *transport)
{
	const bool rdma = rdma_offered() && seed & 2;
	unsigned int i;

	if (transport_choice(NULL) != COLLECTIVE_TRANSPORT_AUTO || seed % 2)
		return NULL;
	for (i = 0; i < RANKS_MOST; i++)
		transport[i] = rand_r(&seed) % 3 ? COLLECTIVE_TRANSPORT_AUTO :
			       rdma ? COLLECTIVE_TRANSPORT_RDMA : COLLECTIVE_TRANSPORT_TCP;
	return transport;
}

static int round_run(unsigned int seed)
{
	struct chaos chaos = { .seed = seed };
	struct group_config config = {
		.timeout_ms = DEADLINE_MS, .heartbeat_ms = short_heartbeat_ms(),
	};
	unsigned int dice = seed * 2654435761U, transport[RANKS_MOST], i;
	struct group group;
	__u64 begin;
	int bad = 0;

	config.nranks = 2 + rand_r(&dice) % (RANKS_MOST - 1);
	config.lanes = 1 + rand_r(&dice) % 2;
	chaos.fate = rand_r(&dice) % FATES;
	chaos.victim = rand_r(&dice) % config.nranks;
	chaos.after_us = rand_r(&dice) % (rand_r(&dice) % 2 ? 30000 : 2000);
	chaos.operations = 20 + rand_r(&dice) % 80;
	config.bound = rand_r(&dice) % 2;
	chaos.elements = rand_r(&dice) % 6 || emulated() ? ELEMENTS : ELEMENTS_LARGE;
	config.transport = transports(seed, transport);
	/* Only a silent rank may cause a timeout. */
	if (chaos.fate != FATE_STOP)
		config.timeout_ms = 60000;

	CHECK_EQ(0, group_start(&group, &config, rank_live, &chaos));
	if (!flag_wait(group.shared, FLAG_READY, config.nranks, 20000))
		bad = 1;
	usleep(chaos.after_us);
	begin = now_ms();
	flag_set(group.shared, FLAG_FATE, 1);
	if (chaos.fate == FATE_KILL)
		kill(group.pid[chaos.victim], SIGKILL);
	if (chaos.fate == FATE_STOP)
		kill(group.pid[chaos.victim], SIGSTOP);
	for (i = 0; i < config.nranks; i++) {
		if (i == chaos.victim)
			continue;
		waitpid(group.pid[i], &group.status[i], 0);
		bad |= group.status[i] != 0;
	}
	if (chaos.fate == FATE_STOP)
		kill(group.pid[chaos.victim], SIGKILL);
	waitpid(group.pid[chaos.victim], &group.status[chaos.victim], 0);
	if (chaos.fate != FATE_KILL && chaos.fate != FATE_STOP)
		bad |= group.status[chaos.victim] != 0;
	for (i = 0; i < config.nranks && chaos.fate != FATE_CANCEL && chaos.fate != FATE_UNMAP; i++)
		bad |= group.shared->value[VALUE_TOLD + i] > begin + told_ms();
	munmap(group.shared, sizeof(*group.shared));
	if (bad)
		dprintf(STDOUT_FILENO,
			"# seed %u: %s of rank %u of %u, %u lanes, after %u us%s%s%s\n", seed,
			fate_names[chaos.fate], chaos.victim, config.nranks, config.lanes,
			chaos.after_us, config.bound ? ", bound" : "",
			chaos.elements == ELEMENTS_LARGE ? ", large" : "",
			config.transport ? ", mixed" : "");
	return bad;
}

FIXTURE(slow) {};
FIXTURE_SETUP(slow) {}
FIXTURE_TEARDOWN(slow) {}

TEST_F_TIMEOUT(slow, chaos, 280)
{
	unsigned int seed = env_number("CHAOS_SEED", 1);
	unsigned int rounds = env_number("CHAOS_ROUNDS", emulated() ? 40 : 300), i;
	const int before = tcp_sockets();
	int bad = 0;

	for (i = 0; i < rounds && bad < 3; i++)
		bad += round_run(seed + i);
	EXPECT_EQ(0, bad);
	EXPECT_TRUE(nothing_leaked(before));
}

/* Rank 0 exits while its first operation connects to the others, or they to it. */
static int rank_call(struct rank *r)
{
	__u32 *memory = area(2 * ELEMENTS);
	struct collective_op op = {
		.opcode = COLLECTIVE_ALLTOALL,
		.type = COLLECTIVE_UINT32,
		.count = ELEMENTS / r->nranks,
		.send = (uintptr_t)memory,
		.recv = (uintptr_t)(memory + ELEMENTS),
	};
	unsigned int seed = *(const unsigned int *)r->arg * 2654435761U;
	__u64 request;
	int err;

	CHECK(memory);
	CHECK(flag_barrier(r->shared, FLAG_READY, r->nranks));
	if (r->rank) {
		err = member_submit(r->fd, &op);
		CHECK(!err || err == -ECONNRESET);
		return 0;
	}
	CHECK_EQ(0, member_start(r->fd, &op, &request));
	usleep(rand_r(&seed) % 4000);
	_exit(0);
}

TEST_F_TIMEOUT(slow, first_calls, 280)
{
	const struct group_config config = {
		.nranks = 6, .lanes = 8, .heartbeat_ms = short_heartbeat_ms(),
	};
	unsigned int rounds = env_number("CHAOS_ROUNDS", emulated() ? 20 : 150), i;
	const int before = tcp_sockets();

	for (i = 0; i < rounds; i++)
		ASSERT_EQ(0, group_run(&config, rank_call, &i));
	EXPECT_TRUE(nothing_leaked(before));
}

TEST_HARNESS_MAIN
