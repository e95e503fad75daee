// SPDX-License-Identifier: GPL-2.0-only
#include "faults/scene.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/machine.h"
#include "faults/odd.h"

static bool memory_sound(const u8 *memory)
{
	return all_same(memory, RECV_AT, 0x5a) &&
	       all_same(memory + RECV_AT + AREA, GUARD, 0x5a);
}

/*
 * A group with some ranks of the kernel's
 */

unsigned int scene_hurry(void)
{
	return slow_machine() ? 200 : 30;
}

static unsigned int deadline_ms(void)
{
	return slow_machine() ? 800 : 100;
}

int scene_join(struct scene *scene, unsigned int rank)
{
	struct collective_join join;
	int fd = member_open();

	CHECK(fd >= 0);
	scene->fd[rank] = fd;
	join = (struct collective_join){
		.size = sizeof(join),
		.id = scene->id,
		.rank = rank,
		.nranks = scene->nranks,
		.addr_len = sizeof(struct sockaddr_in),
	};
	memcpy(join.name, scene->name, strlen(scene->name));
	memcpy(join.addr, &scene->addr[rank], join.addr_len);
	join.lanes = scene->lanes;
	join.heartbeat_ms = scene->heartbeat_ms;
	join.timeout_ms = deadline_ms();
	if (scene->secured)
		memcpy(join.secret, scene->secret, sizeof(join.secret));
	CHECK_EQ(0, member_ioctl(fd, COLLECTIVE_IOC_JOIN, &join));
	memcpy(&scene->addr[rank], join.addr, sizeof(scene->addr[rank]));

	scene->memory[rank] = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(scene->memory[rank] != MAP_FAILED);
	memset(scene->memory[rank], 0x5a, MEMORY);
	return 0;
}

int scene_begin(struct scene *scene, __u64 seed, unsigned int nranks, unsigned int first,
		unsigned int heartbeat_ms)
{
	unsigned int rank;

	memset(scene, 0, sizeof(*scene));
	scene->seed = seed;
	scene->rng.state = seed;
	scene->nranks = nranks;
	scene->heartbeat_ms = heartbeat_ms;
	scene->lanes = 1 + rng_below(&scene->rng, 2);
	scene->secured = rng_once_in(&scene->rng, 2);
	odd_bytes(&scene->rng, scene->secret, sizeof(scene->secret));
	group_unique(scene->name, sizeof(scene->name), &scene->id);
	for (rank = 0; rank < nranks; rank++) {
		scene->fd[rank] = -1;
		loopback(&scene->addr[rank], AF_INET);
	}
	for (rank = first; rank < nranks; rank++)
		CHECK_EQ(0, scene_join(scene, rank));
	return 0;
}

int scene_connect(struct scene *scene, unsigned int rank,
		  const struct sockaddr_storage *addr)
{
	int err;

	fcntl(scene->fd[rank], F_SETFL, O_NONBLOCK);
	err = member_connect(scene->fd[rank], addr, scene->nranks, BOUND_MS);
	return err == -EINPROGRESS ? 0 : err;
}

int scene_met(struct scene *scene)
{
	unsigned int rank;
	int failed = 0;

	for (rank = 0; rank < scene->nranks; rank++) {
		struct pollfd poller = { .fd = scene->fd[rank], .events = POLLOUT };

		if (scene->fd[rank] < 0)
			continue;
		if (poll(&poller, 1, BOUND_MS) != 1) {
			dprintf(STDOUT_FILENO, "# rank %u: neither up nor failed\n", rank);
			return -1;
		}
		failed += poller.revents != POLLOUT;
		fcntl(scene->fd[rank], F_SETFL, 0);
	}
	return failed;
}

void scene_end(struct scene *scene)
{
	unsigned int rank;

	for (rank = 0; rank < scene->nranks; rank++) {
		if (scene->fd[rank] >= 0)
			close(scene->fd[rank]);
		if (scene->memory[rank])
			munmap(scene->memory[rank], MEMORY);
	}
}

int scene_works(struct scene *scene)
{
	__u64 request[RANKS_MOST];
	unsigned int rank;

	for (rank = 0; rank < scene->nranks; rank++)
		CHECK_EQ(0, scene_connect(scene, rank, scene->addr));
	CHECK_EQ(0, scene_met(scene));
	for (rank = 0; rank < scene->nranks; rank++) {
		struct collective_op op = {
			.opcode = COLLECTIVE_ALLREDUCE,
			.type = COLLECTIVE_UINT8,
			.count = 20000,
			.timeout_ms = BOUND_MS,
			.send = (uintptr_t)scene->memory[rank] + SEND_AT,
			.recv = (uintptr_t)scene->memory[rank] + RECV_AT,
		};

		CHECK_EQ(0, member_start(scene->fd[rank], &op, &request[rank]));
	}
	for (rank = 0; rank < scene->nranks; rank++) {
		const u8 *recv = scene->memory[rank] + RECV_AT;

		CHECK_EQ(0, member_wait(scene->fd[rank], request[rank], 0));
		CHECK(all_same(recv, 20000, scene->nranks * 0x5a));
		CHECK(all_same(recv + 20000, AREA - 20000, 0x5a));
		CHECK(memory_sound(scene->memory[rank]));
	}
	return 0;
}

/*
 * Operations
 */

static void operation(struct scene *scene, struct collective_op *op)
{
	static const __u8 opcodes[] = {
		COLLECTIVE_ALLREDUCE, COLLECTIVE_ALLREDUCE, COLLECTIVE_BROADCAST,
		COLLECTIVE_BROADCAST, COLLECTIVE_ALLGATHER, COLLECTIVE_REDUCE_SCATTER,
		COLLECTIVE_ALLTOALL, COLLECTIVE_REDUCE, COLLECTIVE_GATHER, COLLECTIVE_SCATTER,
		COLLECTIVE_SCAN, COLLECTIVE_BARRIER, COLLECTIVE_SEND,
	};
	static const unsigned int most[] = { 16, 1500, AREA / 4 / RANKS_MOST };
	struct rng *rng = &scene->rng;

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
		op->root = rng_below(rng, scene->nranks);
		break;
	}
}

/* What @rank asks for; false: nothing. */
static bool operation_of(const struct scene *scene, unsigned int rank,
			 const struct collective_op *op, struct collective_op *mine)
{
	*mine = *op;
	mine->send = (uintptr_t)scene->memory[rank] + SEND_AT;
	mine->recv = (uintptr_t)scene->memory[rank] + RECV_AT;
	mine->send_buffer = scene->buffer[rank];
	mine->recv_buffer = scene->buffer[rank];
	if (op->opcode == COLLECTIVE_BARRIER) {
		*mine = *op;
		return true;
	}
	if (op->opcode != COLLECTIVE_SEND)
		return true;
	/* From some rank to the next one. */
	if (rank == op->root) {
		mine->root = (op->root + 1) % scene->nranks;
		return true;
	}
	mine->opcode = COLLECTIVE_RECV;
	mine->root = op->root;
	return rank == (op->root + 1) % scene->nranks;
}

int scene_register(struct scene *scene)
{
	unsigned int rank;

	if (rng_once_in(&scene->rng, 2))
		return 0;
	for (rank = 0; rank < scene->nranks; rank++)
		if (scene->fd[rank] >= 0)
			CHECK_EQ(0, member_register(scene->fd[rank], scene->memory[rank], MEMORY, 0,
						    &scene->buffer[rank]));
	return 0;
}

void scene_submit(struct scene *scene)
{
	unsigned int rank, i;

	scene->nops = 1 + rng_below(&scene->rng, OPERATIONS_MOST);
	for (i = 0; i < scene->nops; i++)
		operation(scene, &scene->op[i]);
	for (rank = 0; rank < scene->nranks; rank++)
		for (i = 0; i < scene->nops && scene->fd[rank] >= 0; i++) {
			struct collective_op op;

			if (!operation_of(scene, rank, &scene->op[i], &op) ||
			    member_start(scene->fd[rank], &op, &scene->request[rank][i]))
				scene->request[rank][i] = 0;
		}
}

/*
 * Verdict
 */

bool blamed_rightly(const struct scene *scene, unsigned int rank, const char *what,
		    const struct collective_reason *reason)
{
	if (scene->slandered || (scene->tamper && scene->tamper->slandered) ||
	    reason->kind == COLLECTIVE_REASON_NONE || reason->rank_a == HOSTILE ||
	    reason->rank_b == HOSTILE)
		return true;
	/* Whose deadline it was. */
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

static int rank_judge(const struct scene *scene, unsigned int rank)
{
	struct collective_status status;
	unsigned int i;

	for (i = 0; i < scene->nops; i++) {
		int err = 0;

		if (scene->request[rank][i])
			err = wait_bounded(scene->fd[rank], scene->request[rank][i]);
		if (err == -EINPROGRESS)
			dprintf(STDOUT_FILENO, "# rank %u: opcode %u count %llu flags %x hangs\n",
				rank, scene->op[i].opcode, scene->op[i].count, scene->op[i].flags);
		CHECK(err == 0 || err == -EBADMSG || err == -ECONNRESET || err == -ETIMEDOUT ||
		      err == -EPROTO || err == -ENOMEM);
	}
	CHECK(memory_sound(scene->memory[rank]));
	CHECK_EQ(0, member_status(scene->fd[rank], &status));
	CHECK_EQ(0, status.inflight);
	if (rank == HOSTILE)
		return 0;
	CHECK(blamed_rightly(scene, rank, "group", &status.group));
	CHECK(blamed_rightly(scene, rank, "operation", &status.last));
	return 0;
}

int scene_judge(const struct scene *scene)
{
	unsigned int rank;

	for (rank = 0; rank < scene->nranks; rank++)
		if (scene->fd[rank] >= 0)
			CHECK_EQ(0, rank_judge(scene, rank));
	return 0;
}
