// SPDX-License-Identifier: GPL-2.0-only
#include "faults/hostile_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/machine.h"
#include "faults/malformed.h"

static bool guards_intact(const u8 *memory)
{
	return all_same(memory, RECV_AT, 0x5a) &&
	       all_same(memory + RECV_AT + AREA, GUARD, 0x5a);
}

/*
 * A group in which some ranks are the module's
 */

unsigned int fixture_short_heartbeat(void)
{
	return slow_machine() ? 200 : COLLECTIVE_HEARTBEAT_MIN_MS;
}

static unsigned int deadline_ms(void)
{
	return slow_machine() ? 800 : 100;
}

int fixture_join(struct hostile_fixture *fix, unsigned int rank)
{
	struct collective_join join;
	int fd = member_open();

	CHECK(fd >= 0);
	fix->fd[rank] = fd;
	join = (struct collective_join){
		.size = sizeof(join),
		.id = fix->id,
		.rank = rank,
		.nranks = fix->nranks,
		.transport = COLLECTIVE_TRANSPORT_TCP,
		.addr_len = sizeof(struct sockaddr_in),
	};
	memcpy(join.name, fix->name, strlen(fix->name));
	memcpy(join.addr, &fix->addr[rank], join.addr_len);
	join.lanes = fix->lanes;
	join.heartbeat_ms = fix->heartbeat_ms;
	join.timeout_ms = deadline_ms();
	if (fix->has_secret)
		memcpy(join.secret, fix->secret, sizeof(join.secret));
	CHECK_EQ(0, member_ioctl(fd, COLLECTIVE_IOC_JOIN, &join));
	memcpy(&fix->addr[rank], join.addr, sizeof(fix->addr[rank]));

	fix->memory[rank] = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(fix->memory[rank] != MAP_FAILED);
	memset(fix->memory[rank], 0x5a, MEMORY);
	return 0;
}

int fixture_begin(struct hostile_fixture *fix, __u64 seed, unsigned int nranks, unsigned int first,
		  unsigned int heartbeat_ms)
{
	unsigned int rank;

	memset(fix, 0, sizeof(*fix));
	fix->seed = seed;
	fix->rng.state = seed;
	fix->nranks = nranks;
	fix->heartbeat_ms = heartbeat_ms;
	fix->lanes = 1 + rng_below(&fix->rng, 2);
	fix->has_secret = rng_once_in(&fix->rng, 2);
	random_bytes(&fix->rng, fix->secret, sizeof(fix->secret));
	group_unique(fix->name, sizeof(fix->name), &fix->id);
	for (rank = 0; rank < nranks; rank++) {
		fix->fd[rank] = -1;
		loopback(&fix->addr[rank], AF_INET);
	}
	for (rank = first; rank < nranks; rank++)
		CHECK_EQ(0, fixture_join(fix, rank));
	return 0;
}

int fixture_connect(struct hostile_fixture *fix, unsigned int rank,
		    const struct sockaddr_storage *addr)
{
	int err;

	fcntl(fix->fd[rank], F_SETFL, O_NONBLOCK);
	err = member_connect(fix->fd[rank], addr, fix->nranks, BOUND_MS);
	return err == -EINPROGRESS ? 0 : err;
}

int fixture_wait_up(struct hostile_fixture *fix)
{
	unsigned int rank;
	int failed = 0;

	for (rank = 0; rank < fix->nranks; rank++) {
		struct pollfd poller = { .fd = fix->fd[rank], .events = POLLOUT };

		if (fix->fd[rank] < 0)
			continue;
		if (poll(&poller, 1, BOUND_MS) != 1) {
			dprintf(STDOUT_FILENO, "# rank %u: neither up nor failed\n", rank);
			return -1;
		}
		failed += poller.revents != POLLOUT;
		fcntl(fix->fd[rank], F_SETFL, 0);
	}
	return failed;
}

void fixture_end(struct hostile_fixture *fix)
{
	unsigned int rank;

	for (rank = 0; rank < fix->nranks; rank++) {
		if (fix->fd[rank] >= 0)
			close(fix->fd[rank]);
		if (fix->memory[rank])
			munmap(fix->memory[rank], MEMORY);
	}
}

int fixture_check_works(struct hostile_fixture *fix)
{
	__u64 request[RANKS_MOST];
	unsigned int rank;

	for (rank = 0; rank < fix->nranks; rank++)
		CHECK_EQ(0, fixture_connect(fix, rank, fix->addr));
	CHECK_EQ(0, fixture_wait_up(fix));
	for (rank = 0; rank < fix->nranks; rank++) {
		struct collective_op op = {
			.opcode = COLLECTIVE_ALLREDUCE,
			.type = COLLECTIVE_UINT8,
			.count = 20000,
			.timeout_ms = BOUND_MS,
			.send = (uintptr_t)fix->memory[rank] + SEND_AT,
			.recv = (uintptr_t)fix->memory[rank] + RECV_AT,
		};

		CHECK_EQ(0, member_start(fix->fd[rank], &op, &request[rank]));
	}
	for (rank = 0; rank < fix->nranks; rank++) {
		const u8 *recv = fix->memory[rank] + RECV_AT;

		CHECK_EQ(0, member_wait(fix->fd[rank], request[rank], 0));
		CHECK(all_same(recv, 20000, fix->nranks * 0x5a));
		CHECK(all_same(recv + 20000, AREA - 20000, 0x5a));
		CHECK(guards_intact(fix->memory[rank]));
	}
	return 0;
}

/*
 * Operations
 */

static void operation(struct hostile_fixture *fix, struct collective_op *op)
{
	static const __u8 opcodes[] = {
		COLLECTIVE_ALLREDUCE, COLLECTIVE_ALLREDUCE, COLLECTIVE_BROADCAST,
		COLLECTIVE_BROADCAST, COLLECTIVE_ALLGATHER, COLLECTIVE_REDUCE_SCATTER,
		COLLECTIVE_ALLTOALL, COLLECTIVE_REDUCE, COLLECTIVE_GATHER, COLLECTIVE_SCATTER,
		COLLECTIVE_SCAN, COLLECTIVE_BARRIER, COLLECTIVE_SEND,
	};
	static const unsigned int most[] = { 16, 1500, AREA / 4 / RANKS_MOST };
	struct rng *rng = &fix->rng;

	*op = (struct collective_op){
		.opcode = opcodes[rng_below(rng, ARRAY_SIZE(opcodes))],
		.timeout_ms = deadline_ms(),
	};
	if (rng_once_in(rng, 3)) {
		op->flags = COLLECTIVE_F_KEYED;
		op->key = rng_below(rng, 1000000);
	}
	if (op->opcode == COLLECTIVE_BARRIER)
		return;
	op->type = rng_once_in(rng, 2) ? COLLECTIVE_UINT32 : COLLECTIVE_FLOAT32;
	op->count = 1 + rng_below(rng, most[rng_below(rng, 3)]);
	switch (op->opcode) {
	case COLLECTIVE_BROADCAST:
	case COLLECTIVE_SCATTER:
		if (rng_once_in(rng, 3))
			op->flags |= COLLECTIVE_F_VARLEN;
		op->root = HOSTILE;
		break;
	case COLLECTIVE_REDUCE:
	case COLLECTIVE_GATHER:
	case COLLECTIVE_SEND:
		op->root = rng_below(rng, fix->nranks);
		break;
	}
}

/* Fill in the operation of @rank. Return: false if it has none. */
static bool operation_of(const struct hostile_fixture *fix, unsigned int rank,
			 const struct collective_op *op, struct collective_op *mine)
{
	*mine = *op;
	mine->send = (uintptr_t)fix->memory[rank] + SEND_AT;
	mine->recv = (uintptr_t)fix->memory[rank] + RECV_AT;
	mine->send_buffer = fix->buffer[rank];
	mine->recv_buffer = fix->buffer[rank];
	if (op->opcode == COLLECTIVE_BARRIER) {
		*mine = *op;
		return true;
	}
	if (op->opcode != COLLECTIVE_SEND)
		return true;
	/* A message goes from the root to the next rank. */
	if (rank == op->root) {
		mine->root = (op->root + 1) % fix->nranks;
		return true;
	}
	mine->opcode = COLLECTIVE_RECV;
	mine->root = op->root;
	return rank == (op->root + 1) % fix->nranks;
}

int fixture_register(struct hostile_fixture *fix)
{
	unsigned int rank;

	if (rng_once_in(&fix->rng, 2))
		return 0;
	for (rank = 0; rank < fix->nranks; rank++)
		if (fix->fd[rank] >= 0)
			CHECK_EQ(0, member_register(fix->fd[rank], fix->memory[rank], MEMORY, 0,
						    &fix->buffer[rank]));
	return 0;
}

void fixture_submit(struct hostile_fixture *fix)
{
	unsigned int rank, i;

	fix->nops = 1 + rng_below(&fix->rng, OPERATIONS_MOST);
	for (i = 0; i < fix->nops; i++)
		operation(fix, &fix->op[i]);
	for (rank = 0; rank < fix->nranks; rank++)
		for (i = 0; i < fix->nops && fix->fd[rank] >= 0; i++) {
			struct collective_op op;

			if (!operation_of(fix, rank, &fix->op[i], &op) ||
			    member_start(fix->fd[rank], &op, &fix->request[rank][i]))
				fix->request[rank][i] = 0;
		}
}

/*
 * Checks
 */

bool reason_allowed(const struct hostile_fixture *fix, unsigned int rank, const char *what,
		    const struct collective_reason *reason)
{
	if (fix->accused_others || (fix->proxy && fix->proxy->accused_others) ||
	    reason->kind == COLLECTIVE_REASON_NONE || reason->rank_a == HOSTILE ||
	    reason->rank_b == HOSTILE)
		return true;
	/* A deadline of the rank itself names no second rank. */
	if (reason->kind == COLLECTIVE_REASON_DEADLINE &&
	    reason->rank_b == COLLECTIVE_RANK_NONE)
		return true;
	dprintf(STDOUT_FILENO, "# rank %u: %s: kind %u error %u ranks %d %d\n", rank, what,
		reason->kind, reason->error, (int)reason->rank_a, (int)reason->rank_b);
	return false;
}

int wait_bounded(int fd, __u64 request)
{
	struct collective_wait wait = {
		.size = sizeof(wait), .request = request, .timeout_ms = BOUND_MS,
	};

	return member_ioctl(fd, COLLECTIVE_IOC_WAIT, &wait);
}

static int rank_check(const struct hostile_fixture *fix, unsigned int rank)
{
	struct collective_status status;
	unsigned int i;

	for (i = 0; i < fix->nops; i++) {
		int err = 0;

		if (fix->request[rank][i])
			err = wait_bounded(fix->fd[rank], fix->request[rank][i]);
		if (err == -EINPROGRESS)
			dprintf(STDOUT_FILENO, "# rank %u: opcode %u count %llu flags %x hangs\n",
				rank, fix->op[i].opcode, fix->op[i].count, fix->op[i].flags);
		CHECK(err == 0 || err == -EBADMSG || err == -ECONNRESET || err == -ETIMEDOUT ||
		      err == -EPROTO || err == -ENOMEM);
	}
	CHECK(guards_intact(fix->memory[rank]));
	CHECK_EQ(0, member_status(fix->fd[rank], &status));
	CHECK_EQ(0, status.inflight);
	if (rank == HOSTILE)
		return 0;
	CHECK(reason_allowed(fix, rank, "group", &status.group));
	CHECK(reason_allowed(fix, rank, "operation", &status.last));
	return 0;
}

int fixture_check(const struct hostile_fixture *fix)
{
	unsigned int rank;

	for (rank = 0; rank < fix->nranks; rank++)
		if (fix->fd[rank] >= 0)
			CHECK_EQ(0, rank_check(fix, rank));
	return 0;
}
