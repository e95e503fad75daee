// SPDX-License-Identifier: GPL-2.0-only
/* The error texts of calls with invalid arguments. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <collective_uring.h>
#include <linux/collective.h>
#include <linux/io_uring.h>

#include "kselftest_harness.h"
#include "lib/lib_group.h"

#define NRANKS	2

/* True if the last call returned @want and the error text contains the words. */
static bool refused(struct lib_rank *me, int err, int want, const char *text)
{
	const char *said = coll_error_detail(me->comm);

	if (err == want && strstr(said, text))
		return true;
	dprintf(STDOUT_FILENO, "# %d: %s\n", err, said);
	return false;
}

static int rank_arguments(struct lib_rank *me)
{
	struct coll_comm *comm = me->comm;
	float in[4] = { 0 }, out[4];
	int other = !me->rank;
	int err;

	err = coll_allreduce(comm, in, out, 4, 99, COLL_SUM);
	CHECK(refused(me, err, -EINVAL,
		      "allreduce refused: there is no such type"));
	err = coll_allreduce(comm, in, out, 4, COLL_FLOAT32, -1);
	CHECK(refused(me, err, -EINVAL,
		      "allreduce refused: there is no such reduction"));
	err = coll_allreduce(comm, in, out, 4, COLL_FLOAT32, COLL_BAND);
	CHECK(refused(me, err, -EINVAL,
		      "allreduce refused: band is not defined for float32"));
	err = coll_scan(comm, in, out, 4, COLL_FLOAT32, COLL_AVG);
	CHECK(refused(me, err, -EINVAL,
		      "scan refused: avg is not defined for it"));
	err = coll_register(comm, in, sizeof(in), 8);
	CHECK(refused(me, err, -EINVAL, "register refused: there are no flags 0x8"));
	err = coll_register(comm, in, 0, 0);
	CHECK(refused(me, err, -EINVAL, "register refused: the size is 0"));
	err = coll_unregister(comm, in);
	CHECK(refused(me, err, -ENOENT, "unregister refused: nothing is registered at 0x"));
	err = coll_broadcast(comm, in, 4, COLL_FLOAT32, 2);
	CHECK(refused(me, err, -EINVAL,
		      "broadcast refused: there is no rank 2: the ranks are 0 to 1"));
	err = coll_recv(comm, in, 4, COLL_FLOAT32, -1, 0);
	CHECK(refused(me, err, -EINVAL,
		      "recv refused: there is no rank -1: the ranks are 0 to 1"));
	err = coll_send(comm, in, 4, COLL_FLOAT32, other, -7);
	CHECK(refused(me, err, -EINVAL,
		      "send refused: a tag is out of range"));
	err = coll_allreduce(comm, in, out, SIZE_MAX, COLL_FLOAT32, COLL_SUM);
	CHECK(refused(me, err, -EOVERFLOW,
		      "allreduce refused: Count times the size of the type does not fit"));
	return coll_barrier(comm);
}

TEST(arguments)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_arguments, NULL));
}

static int rank_memory(struct lib_rank *me)
{
	static const size_t counts[NRANKS] = { 2, 2 };
	struct coll_comm *comm = me->comm;
	float in[4] = { 0 }, out[4];
	int err, root = !me->rank;

	err = coll_allreduce(comm, (char *)in + 1, out, 3, COLL_FLOAT32, COLL_SUM);
	CHECK(refused(me, err, -EINVAL,
		      "allreduce refused: memory is not aligned to its elements of 4 bytes"));
	err = coll_allreduce(comm, in, in + 1, 3, COLL_FLOAT32, COLL_SUM);
	CHECK(refused(me, err, -EINVAL,
		      "allreduce refused: input and result overlap, and it is not in place"));
	err = coll_allgather(comm, in + 1, in, 2, COLL_FLOAT32);
	CHECK(refused(me, err, -EINVAL,
		      "allgather refused: input and result overlap, and it is not in place"));
	err = coll_allreduce(comm, (void *)0x10, (void *)0x1000, 4, COLL_FLOAT32, COLL_SUM);
	CHECK(refused(me, err, -EFAULT,
		      "input of 16 bytes at 0x10: memory at 0x10 is not mapped; "
		      "result of 16 bytes at 0x1000: memory at 0x1000 is not mapped"));
	err = coll_reduce(comm, COLL_IN_PLACE, in, 4, COLL_FLOAT32, COLL_SUM, root);
	CHECK(refused(me, err, -EINVAL,
		      "reduce refused: only the root may have its block in place"));
	err = coll_allgatherv(comm, in, 2, out, NULL, NULL, COLL_FLOAT32);
	CHECK(refused(me, err, -EINVAL,
		      "allgather refused: there are no counts"));
	err = coll_allgatherv(comm, in, 3, out, counts, NULL, COLL_FLOAT32);
	CHECK(refused(me, err, -EINVAL,
		      "allgather refused: lengths, places or rows of the blocks contradict"));
	return coll_barrier(comm);
}

/* The same of operations that the caller describes, of which the library has no sizes. */
static int rank_described(struct lib_rank *me)
{
	struct coll_comm *comm = me->comm;
	float in[4] = { 0 };
	struct collective_op op = {
		.opcode = COLLECTIVE_ALLREDUCE,
		.type = COLLECTIVE_FLOAT32,
		.count = 4,
		.send = 0x10,
		.recv = 0x1000,
	};
	int err;

	err = coll_submit(comm, &op);
	CHECK(refused(me, err, -EFAULT,
		      "input of 16 bytes at 0x10: memory at 0x10 is not mapped; "
		      "result of 16 bytes at 0x1000: memory at 0x1000 is not mapped"));
	op.opcode = COLLECTIVE_ALLGATHER;
	op.send = op.recv;
	err = coll_submit(comm, &op);
	CHECK(refused(me, err, -EFAULT,
		      "result of 32 bytes at 0x1000: memory at 0x1000 is not mapped"));
	op.send = (uintptr_t)in;
	op.recv = (uintptr_t)(in + 1);
	err = coll_submit(comm, &op);
	CHECK(refused(me, err, -EINVAL,
		      "allgather refused: input and result overlap, and it is not in place"));
	op.opcode = COLLECTIVE_ALLREDUCE;
	op.send = op.recv + 1;
	err = coll_submit(comm, &op);
	CHECK(refused(me, err, -EINVAL,
		      "allreduce refused: memory is not aligned to its elements of 4 bytes"));
	return coll_barrier(comm);
}

TEST(described)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_described, NULL));
}

TEST(memory)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_memory, NULL));
}

/* The error text in all ways to read it, until the next error replaces it. */
static int rank_ways(struct lib_rank *me)
{
	static const char said[] = "reduce refused: there is no rank 9: the ranks are 0 to 1";
	struct coll_comm *comm = me->comm;
	struct collective_op differs = { .opcode = COLLECTIVE_BARRIER };
	struct coll_request *request;
	union {
		struct io_uring_sqe sqe;
		char bytes[128];
	} entry;
	__u32 data = 1;
	int err;

	CHECK(!*coll_error_detail(comm));
	err = coll_ireduce(comm, &data, &data, 1, COLL_UINT32, COLL_SUM, 9, &request);
	CHECK(refused(me, err, -EINVAL, said));
	CHECK(!request);
	err = coll_prep_reduce(&entry.sqe, comm, &data, &data, 1, 77, COLL_SUM, 0);
	CHECK(refused(me, err, -EINVAL,
		      "reduce refused: there is no such type"));
	CHECK_EQ(0, coll_reduce_init(comm, &data, &data, 1, COLL_UINT32, COLL_SUM, 9, &request));
	err = coll_start(request);
	CHECK(refused(me, err, -EINVAL, said));
	CHECK_EQ(0, coll_request_free(request));

	if (me->rank) {
		differs.opcode = COLLECTIVE_ALLREDUCE;
		differs.send = (uintptr_t)&data;
		differs.recv = (uintptr_t)&data;
		differs.count = 1;
	}
	CHECK_EQ(-EBADMSG, coll_submit(comm, &differs));
	CHECK(strstr(coll_error_detail(comm), "made different calls"));
	return coll_barrier(comm);
}

TEST(ways)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_ways, NULL));
}

TEST_HARNESS_MAIN
