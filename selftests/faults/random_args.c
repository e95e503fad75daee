// SPDX-License-Identifier: GPL-2.0-only
/* Arguments of calls: valid, nearly valid, or random. */
#include <linux/collective.h>
#include <stdint.h>

#include "lib/group.h"
#include "faults/random_calls.h"
#include "faults/malformed.h"

/* Return: an address, mostly in the arena. */
static __u64 pointer(struct random_thread *t)
{
	const struct random_memory *memory = &t->process->memory;
	struct rng *rng = &t->rng;
	__u64 some = rng_below(rng, RANDOM_ARENA);

	switch (rng_below(rng, 40)) {
	case 0:
		return boundary_number(rng);
	case 1:
		return (uintptr_t)memory->edge - rng_below(rng, 256);
	case 2:
		return (uintptr_t)memory->read_only + some % 65536;
	case 3:
		return (uintptr_t)memory->no_access + some % 65536;
	case 4:
		return (uintptr_t)memory->arena + some;
	case 5:
		return 0;
	}
	return (uintptr_t)memory->arena + (some & ~63ULL) % (RANDOM_ARENA / 2);
}

void random_op(struct random_thread *t, struct collective_op *op)
{
	struct rng *rng = &t->rng;

	*op = (struct collective_op){
		.opcode = rng_below(rng, COLLECTIVE_OPCODE_COUNT),
		.type = rng_below(rng, COLLECTIVE_TYPE_COUNT),
		.reduction = rng_below(rng, COLLECTIVE_REDUCTION_COUNT),
		.algorithm = rng_once_in(rng, 4) ? rng_below(rng, 5) : 0,
		.count = rng_below(rng, rng_once_in(rng, 2) ? 64 : 8192),
		.send = pointer(t),
		.recv = pointer(t),
	};
	if (rng_once_in(rng, 3))
		op->flags = 1U << rng_below(rng, 6);
	if (op->flags & COLLECTIVE_F_KEYED)
		op->key = rng_below(rng, 16);
	if (rng_once_in(rng, 2))
		op->root = rng_below(rng, RANDOM_RANKS);
	if (op->flags & COLLECTIVE_F_VECTOR || rng_once_in(rng, 8))
		op->layout = (uintptr_t)&t->process->memory.valid->layout;
	if (rng_once_in(rng, 6))
		op->send_buffer = rng_below(rng, 4);
	if (rng_once_in(rng, 6))
		op->recv_buffer = rng_below(rng, 4);
	if (rng_once_in(rng, 4))
		op->recv = op->send;
	if (op->opcode == COLLECTIVE_BARRIER && !rng_once_in(rng, 4))
		*op = (struct collective_op){ .opcode = COLLECTIVE_BARRIER };
	op->timeout_ms = 1 + rng_below(rng, RANDOM_TIMEOUT_MS);
}

static void argument_join(struct random_thread *t, struct collective_join *join)
{
	struct random_shared *shared = t->process->shared;
	struct rng *rng = &t->rng;
	unsigned int whose = rng_below(rng, RANDOM_WORKERS);
	struct sockaddr_storage addr;

	memcpy(join->name, shared->name[whose], sizeof(join->name));
	join->id = shared->id[whose] + rng_once_in(rng, 8);
	join->rank = rng_below(rng, RANDOM_RANKS);
	join->nranks = 1 + rng_below(rng, RANDOM_RANKS);
	join->transport = rng_once_in(rng, 8) ? rng_below(rng, COLLECTIVE_TRANSPORT_COUNT + 1) :
						transport_choice(NULL);
	join->lanes = rng_below(rng, 4);
	if (rng_once_in(rng, 4))
		random_bytes(rng, join->secret, sizeof(join->secret));
	join->addr_len = sizeof(addr);
	loopback(&addr, rng_once_in(rng, 4) ? AF_INET6 : AF_INET);
	memcpy(join->addr, &addr, sizeof(addr));
}

static void argument_wait(struct random_thread *t, struct collective_wait *wait)
{
	struct rng *rng = &t->rng;

	wait->flags = rng_below(rng, 4);
	wait->request = wait->flags & COLLECTIVE_WAIT_ANY ? 0 : 1 + rng_below(rng, 64);
	if (wait->flags & COLLECTIVE_WAIT_ANY) {
		wait->requests = (uintptr_t)t->process->memory.valid->counts;
		wait->count = 1 + rng_below(rng, 8);
	}
}

void random_fill(struct random_thread *t, unsigned int nr, union argument *arg)
{
	static const __u32 sizes[RANDOM_IOCTLS] = {
		sizeof(arg->query), sizeof(arg->join), sizeof(arg->connect), sizeof(arg->reg),
		sizeof(arg->unreg), sizeof(arg->submit), sizeof(arg->wait), sizeof(arg->cancel),
		sizeof(arg->status), sizeof(arg->leave),
	};
	struct rng *rng = &t->rng;

	memset(arg, 0, sizeof(*arg));
	arg->size = sizes[nr % RANDOM_IOCTLS];
	switch (nr) {
	case 1:
		argument_join(t, &arg->join);
		break;
	case 2:
		arg->connect.peers = (uintptr_t)(rng_once_in(rng, 3) ?
						 t->process->memory.valid->unreachable :
						 t->process->memory.valid->peers);
		arg->connect.npeers = t->process->nranks;
		break;
	case 3:
		arg->reg.addr = pointer(t);
		arg->reg.length = 1 + rng_below(rng, RANDOM_ARENA / 2);
		arg->reg.flags = rng_once_in(rng, 4);
		break;
	case 4:
		arg->unreg.buffer = rng_below(rng, 8);
		break;
	case 5:
		arg->submit.flags = rng_below(rng, 4) ? COLLECTIVE_SUBMIT_NOWAIT : 0;
		random_op(t, &arg->submit.op);
		break;
	case 6:
		argument_wait(t, &arg->wait);
		break;
	case 7:
		arg->cancel.request = 1 + rng_below(rng, 64);
		arg->cancel.flags = rng_once_in(rng, 4);
		break;
	}
}

void random_corrupt(struct random_thread *t, union argument *arg)
{
	struct rng *rng = &t->rng;
	unsigned int words = arg->size / 4, at = rng_below(rng, words);
	__u64 value = rng_once_in(rng, 2) ? boundary_number(rng) : pointer(t);

	if (rng_once_in(rng, 16)) {
		arg->size = boundary_number(rng);
		return;
	}
	arg->word[at] = value;
	if (at + 1 < words && rng_once_in(rng, 2))
		arg->word[at + 1] = value >> 32;
}

void random_limit_time(unsigned int nr, union argument *arg)
{
	__u32 *ms = NULL;

	switch (nr) {
	case 1:
		arg->join.timeout_ms = RANDOM_TIMEOUT_MS;
		/* Keep values that are refused anyway. */
		if (!arg->join.heartbeat_ms ||
		    (arg->join.heartbeat_ms >= COLLECTIVE_HEARTBEAT_MIN_MS &&
		     arg->join.heartbeat_ms <= COLLECTIVE_HEARTBEAT_MAX_MS))
			arg->join.heartbeat_ms = RANDOM_HEARTBEAT_MS;
		break;
	case 2:
		ms = &arg->connect.timeout_ms;
		break;
	case 5:
		ms = &arg->submit.op.timeout_ms;
		break;
	case 6:
		ms = &arg->wait.timeout_ms;
		break;
	}
	if (ms && (!*ms || *ms > RANDOM_TIMEOUT_MS))
		*ms = RANDOM_TIMEOUT_MS;
}

void *random_address(struct random_thread *t, union argument *arg)
{
	const struct random_memory *memory = &t->process->memory;
	struct rng *rng = &t->rng;
	__u32 size = min_t(__u32, arg->size, 4096);

	switch (rng_below(rng, 40)) {
	case 0:
		return (void *)(uintptr_t)boundary_number(rng);
	case 1:
		return memory->read_only;
	case 2:
		return memory->no_access;
	case 3:
		/* The argument ends at the hole, or its last bytes are beyond it. */
		size -= min_t(__u32, size, rng_below(rng, 16));
		memcpy(memory->edge - size, arg, size);
		return memory->edge - size;
	}
	return arg;
}

static bool is_vector(unsigned int opcode)
{
	return opcode == COLLECTIVE_ALLREDUCE || opcode == COLLECTIVE_REDUCE ||
	       opcode == COLLECTIVE_BROADCAST || opcode == COLLECTIVE_SCAN;
}

void valid_op(struct random_thread *t, struct collective_op *op)
{
	static const __u8 opcodes[] = {
		COLLECTIVE_ALLREDUCE, COLLECTIVE_ALLREDUCE, COLLECTIVE_REDUCE,
		COLLECTIVE_BROADCAST, COLLECTIVE_ALLGATHER, COLLECTIVE_REDUCE_SCATTER,
		COLLECTIVE_GATHER, COLLECTIVE_SCATTER, COLLECTIVE_ALLTOALL, COLLECTIVE_SCAN,
		COLLECTIVE_BARRIER,
	};
	struct rng *rng = &t->rng;

	*op = (struct collective_op){
		.opcode = opcodes[rng_below(rng, sizeof(opcodes))],
		.timeout_ms = RANDOM_TIMEOUT_MS,
	};
	if (rng_once_in(rng, 3)) {
		op->flags = COLLECTIVE_F_KEYED;
		op->key = rng_next(rng) & COLLECTIVE_KEY_MAX;
	}
	if (op->opcode == COLLECTIVE_BARRIER)
		return;
	op->type = rng_below(rng, COLLECTIVE_TYPE_COUNT);
	op->reduction = rng_below(rng, COLLECTIVE_MAX + 1);
	/* Half of the arena has room for a vector, or for a block of each rank. */
	op->count = rng_below(rng, rng_once_in(rng, 2) ? 64 : is_vector(op->opcode) ? 16000 : 5000);
	op->send = (uintptr_t)t->process->memory.arena;
	op->recv = (uintptr_t)t->process->memory.arena + RANDOM_ARENA / 2;
	if (op->opcode == COLLECTIVE_REDUCE || op->opcode == COLLECTIVE_BROADCAST ||
	    op->opcode == COLLECTIVE_GATHER || op->opcode == COLLECTIVE_SCATTER)
		op->root = rng_below(rng, t->process->nranks);
}
