// SPDX-License-Identifier: GPL-2.0-only
/*
 * The flags of a configuration apply to every form of every reduction. Each form is called; the
 * operation that the library submits is checked, and so is the result, which the flag changes.
 */
#include <collective_uring.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/collective.h>
#include <linux/io_uring.h>

#include "kselftest_harness.h"
#include "lib/before_ioctl.h"
#include "lib/lib_group.h"

#define NRANKS	4
#define FLAGS	(COLLECTIVE_F_REPRODUCIBLE | COLLECTIVE_F_WIDE)

/* Eager and not eager counts. */
static const size_t counts[] = { 1000, 40000 };
#define COUNT_MAX	40000

/* The last operation that this process submitted. */
static struct collective_op submitted;

static int note_submitted(unsigned long request, const void *arg)
{
	const struct collective_submit *submit = arg;

	if (request == COLLECTIVE_IOC_SUBMIT)
		submitted = submit->op;
	return 0;
}

/* All operations are submitted: none is executed on the board in this process. */
static void __attribute__((constructor)) submit_all(void)
{
	setenv("COLL_PRIVATE", "1", 1);
	before_ioctl = note_submitted;
}

enum how {
	BLOCKING,
	NONBLOCKING,
	PERSISTENT,
	SQE,
	HOWS
};

static const char * const hows[HOWS] = { "blocking", "not blocking", "persistent", "as an SQE" };

/**
 * struct job - a reduction to be called
 * @comm: communicator
 * @send: input
 * @recv: result
 * @count: elements of the vector, or of a block
 * @type: type of the elements
 * @opcode: of an operation that coll_submit() gets
 * @how: form of the call; PERSISTENT and NONBLOCKING set @request
 * @request: request of a nonblocking form
 * @sqe: SQE that the form SQE fills in
 */
struct job {
	struct coll_comm *comm;
	const void *send;
	void *recv;
	size_t count;
	enum coll_type type;
	int opcode;
	enum how how;
	struct coll_request *request;
	struct io_uring_sqe *sqe;
};

#define NO_FORM	1

/* Define a function that calls a reduction in all forms. */
#define EVERY_WAY(_name, _job, ...)							\
do {											\
	switch ((_job)->how) {								\
	case BLOCKING:									\
		return coll_##_name((_job)->comm, __VA_ARGS__);				\
	case NONBLOCKING:								\
		return coll_i##_name((_job)->comm, __VA_ARGS__, &(_job)->request);	\
	case PERSISTENT:								\
		return coll_##_name##_init((_job)->comm, __VA_ARGS__, &(_job)->request);	\
	default:									\
		return coll_prep_##_name((_job)->sqe, (_job)->comm, __VA_ARGS__);	\
	}										\
} while (0)

/* Define a function that calls a reduction in two forms. */
#define TWO_WAYS(_name, _job, ...)							\
do {											\
	if ((_job)->how == BLOCKING)							\
		return coll_##_name((_job)->comm, __VA_ARGS__);				\
	if ((_job)->how == NONBLOCKING)							\
		return coll_i##_name((_job)->comm, __VA_ARGS__, &(_job)->request);	\
	return NO_FORM;									\
} while (0)

static int do_allreduce(struct job *j)
{
	EVERY_WAY(allreduce, j, j->send, j->recv, j->count, j->type, COLL_SUM);
}

static int do_reduce(struct job *j)
{
	EVERY_WAY(reduce, j, j->send, j->recv, j->count, j->type, COLL_SUM, 1);
}

static int do_scan(struct job *j)
{
	EVERY_WAY(scan, j, j->send, j->recv, j->count, j->type, COLL_SUM);
}

static int do_exscan(struct job *j)
{
	EVERY_WAY(exscan, j, j->send, j->recv, j->count, j->type, COLL_SUM);
}

static int do_reduce_scatter(struct job *j)
{
	EVERY_WAY(reduce_scatter, j, j->send, j->recv, j->count, j->type, COLL_SUM);
}

static int do_reduce_scatterv(struct job *j)
{
	size_t each[NRANKS];
	int i;

	for (i = 0; i < NRANKS; i++)
		each[i] = j->count;
	TWO_WAYS(reduce_scatterv, j, j->send, NULL, j->recv, each, j->type, COLL_SUM);
}

static int do_reduce_scatter_view(struct job *j)
{
	const struct coll_view all = { .rows = 1, .stride = j->count, .distance = j->count };

	TWO_WAYS(reduce_scatter_view, j, j->send, &all, j->recv, NULL, j->count, j->type,
		 COLL_SUM);
}

static int do_reduce_scatter_axis(struct job *j)
{
	const size_t shape[] = { j->count };

	TWO_WAYS(reduce_scatter_axis, j, j->send, j->recv, shape, 1, 0, j->type, COLL_SUM);
}

static int do_submit(struct job *j)
{
	const struct collective_op op = {
		.opcode = j->opcode,
		.type = j->type,
		.reduction = COLLECTIVE_SUM,
		.root = j->opcode == COLLECTIVE_REDUCE,
		.count = j->count,
		.send = (uintptr_t)j->send,
		.recv = (uintptr_t)j->recv,
	};

	EVERY_WAY(submit, j, &op);
}

/**
 * struct form - a kind of reduction
 * @name: name in messages
 * @begin: function that calls it in one of its forms, or returns NO_FORM
 * @opcode: opcode that the kernel must get
 */
static const struct form {
	const char *name;
	int (*begin)(struct job *job);
	int opcode;
} forms[] = {
	{ "allreduce", do_allreduce, COLLECTIVE_ALLREDUCE },
	{ "reduce", do_reduce, COLLECTIVE_REDUCE },
	{ "scan", do_scan, COLLECTIVE_SCAN },
	{ "exscan", do_exscan, COLLECTIVE_EXSCAN },
	{ "reduce_scatter", do_reduce_scatter, COLLECTIVE_REDUCE_SCATTER },
	{ "reduce_scatterv", do_reduce_scatterv, COLLECTIVE_REDUCE_SCATTER },
	{ "reduce_scatter_view", do_reduce_scatter_view, COLLECTIVE_REDUCE_SCATTER },
	{ "reduce_scatter_axis", do_reduce_scatter_axis, COLLECTIVE_REDUCE_SCATTER },
	{ "allreduce by submit", do_submit, COLLECTIVE_ALLREDUCE },
	{ "reduce by submit", do_submit, COLLECTIVE_REDUCE },
	{ "scan by submit", do_submit, COLLECTIVE_SCAN },
	{ "exscan by submit", do_submit, COLLECTIVE_EXSCAN },
	{ "reduce_scatter by submit", do_submit, COLLECTIVE_REDUCE_SCATTER },
};

static bool scans(int opcode)
{
	return opcode == COLLECTIVE_SCAN || opcode == COLLECTIVE_EXSCAN;
}

/* Return: the result of the operation, or NO_FORM. Its flags are in @submitted. */
static int job_run(struct job *job, const struct form *form)
{
	__u64 sqe[16];
	int err;

	memset(&submitted, 0xff, sizeof(submitted));
	job->sqe = (struct io_uring_sqe *)sqe;
	err = form->begin(job);
	if (err)
		return err;
	if (job->how == NONBLOCKING)
		return coll_wait(job->request);
	if (job->how == PERSISTENT) {
		err = coll_start(job->request) ?: coll_wait(job->request);
		return coll_request_free(job->request) ?: err;
	}
	/* The SQE has what the kernel gets; uring_test runs such operations. */
	if (job->how == SQE)
		memcpy(&submitted, job->sqe->cmd, sizeof(submitted));
	return 0;
}

/* Return: values of all magnitudes, so that any other order rounds differently. */
static float uneven(int rank, size_t i)
{
	unsigned int h = (rank * 2654435761U) ^ ((unsigned int)i * 2246822519U);

	h ^= h >> 15;
	h *= 3266489917U;
	return (1.0f + (h >> 8) / 16777216.0f) * (1U << (h & 7));
}

/* Return: element @i of the result of the ranks below @end, reduced in order. */
static float sum_in_order(int end, size_t i)
{
	float sum = uneven(0, i);
	int r;

	for (r = 1; r < end; r++)
		sum += uneven(r, i);
	return sum;
}

/* Return: the number of elements of a rank's result that differ from those in order. */
static size_t wrong_elements(const struct lib_rank *me, const struct form *form,
			     const struct job *job)
{
	const float *recv = job->recv;
	int end = NRANKS;
	size_t from = 0, i, bad = 0;

	if (form->opcode == COLLECTIVE_REDUCE && me->rank != 1)
		return 0;
	if (scans(form->opcode))
		end = me->rank + (form->opcode == COLLECTIVE_SCAN);
	if (form->opcode == COLLECTIVE_REDUCE_SCATTER)
		from = me->rank * job->count;
	if (!end)
		return 0;
	for (i = 0; i < job->count; i++) {
		const float want = sum_in_order(end, from + i);

		bad += memcmp(&recv[i], &want, sizeof(want)) != 0;
	}
	return bad;
}

/*
 * 256 and three ones: if the sum is rounded at every step, the ones are lost where they come
 * last.
 */
#define BF16_1		0x3f80
#define BF16_256	0x4380
#define BF16_260	0x4382

static size_t too_narrow(const struct lib_rank *me, const struct form *form,
			 const struct job *job)
{
	const __u16 *recv = job->recv;
	size_t i, bad = 0;

	if (form->opcode == COLLECTIVE_REDUCE && me->rank != 1)
		return 0;
	for (i = 0; i < job->count; i++)
		bad += recv[i] != BF16_260;
	return bad;
}

struct memory {
	float *send32;
	__u16 *send16;
	void *recv;
};

static int memory_fill(struct memory *memory, int rank)
{
	size_t i;

	memory->send32 = malloc(NRANKS * COUNT_MAX * sizeof(float));
	memory->send16 = malloc(NRANKS * COUNT_MAX * sizeof(__u16));
	memory->recv = malloc(COUNT_MAX * sizeof(float));
	CHECK(memory->send32 && memory->send16 && memory->recv);
	for (i = 0; i < NRANKS * COUNT_MAX; i++) {
		memory->send32[i] = uneven(rank, i);
		memory->send16[i] = i % NRANKS == (unsigned int)rank ? BF16_256 : BF16_1;
	}
	return 0;
}

static int form_check(struct lib_rank *me, struct coll_comm *comm, const struct form *form,
		      enum how how, size_t count, __u32 want, const struct memory *memory)
{
	struct job job = {
		.comm = comm, .send = memory->send32, .recv = memory->recv, .count = count,
		.type = COLL_FLOAT32, .opcode = form->opcode, .how = how,
	};
	int err = job_run(&job, form);

	if (err == NO_FORM)
		return 0;
	CHECK_EQ(0, err);
	CHECK_EQ(form->opcode, submitted.opcode);
	CHECK_EQ(want, submitted.flags & FLAGS);
	if (want & COLLECTIVE_F_REPRODUCIBLE && how != SQE)
		CHECK_EQ(0, wrong_elements(me, form, &job));

	job.send = memory->send16;
	job.type = COLL_BFLOAT16;
	err = job_run(&job, form);
	if (want & COLLECTIVE_F_WIDE && scans(form->opcode)) {
		CHECK_EQ(-EOPNOTSUPP, err);
		CHECK(strstr(coll_error_detail(comm), "32 bits"));
		return 0;
	}
	CHECK_EQ(0, err);
	CHECK_EQ(want, submitted.flags & FLAGS);
	if (want & COLLECTIVE_F_WIDE && how != SQE)
		CHECK_EQ(0, too_narrow(me, form, &job));
	return 0;
}

static int rank_forms(struct lib_rank *me)
{
	const __u32 want = *(const __u32 *)me->arg;
	struct memory memory;
	unsigned int f, c;
	enum how how;

	CHECK_EQ(0, memory_fill(&memory, me->rank));
	for (f = 0; f < ARRAY_SIZE(forms); f++)
		for (how = 0; how < HOWS; how++)
			for (c = 0; c < ARRAY_SIZE(counts); c++)
				if (form_check(me, me->comm, &forms[f], how, counts[c], want,
					       &memory)) {
					dprintf(STDOUT_FILENO, "# %s, %s, %zu elements\n",
						forms[f].name, hows[how], counts[c]);
					return 1;
				}
	return 0;
}

static const struct {
	unsigned int config;
	__u32 want;
} flags[] = {
	{ 0, 0 },
	{ COLL_CONFIG_REPRODUCIBLE, COLLECTIVE_F_REPRODUCIBLE },
	{ COLL_CONFIG_WIDE, COLLECTIVE_F_WIDE },
	{ COLL_CONFIG_REPRODUCIBLE | COLL_CONFIG_WIDE, FLAGS },
};

TEST(every_form)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		struct coll_config config = { .size = sizeof(config), .flags = flags[i].config };
		__u32 want = flags[i].want;

		EXPECT_EQ(0, lib_group_run(NRANKS, &config, rank_forms, &want))
			TH_LOG("flags %#x", flags[i].config);
	}
}

/* Without flags, the same input gives other bits; otherwise the checks prove nothing. */
static int rank_differs(struct lib_rank *me)
{
	struct memory memory;
	struct job job = { .comm = me->comm, .count = COUNT_MAX, .how = BLOCKING };

	CHECK_EQ(0, memory_fill(&memory, me->rank));
	job.recv = memory.recv;
	job.send = memory.send32;
	job.type = COLL_FLOAT32;
	CHECK_EQ(0, job_run(&job, &forms[0]));
	CHECK(wrong_elements(me, &forms[0], &job));
	job.send = memory.send16;
	job.type = COLL_BFLOAT16;
	CHECK_EQ(0, job_run(&job, &forms[0]));
	CHECK(too_narrow(me, &forms[0], &job));
	return 0;
}

TEST(nothing_without)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_differs, NULL));
}

/*
 * A communicator that is made from another has its flags. Collectives that do not reduce ignore
 * them.
 */
static int rank_children(struct lib_rank *me)
{
	const __u32 want = *(const __u32 *)me->arg;
	struct coll_comm *twin;
	struct memory memory;
	__u32 one = 1, all[NRANKS];
	const struct collective_op gather = {
		.opcode = COLLECTIVE_ALLGATHER, .type = COLLECTIVE_UINT32, .count = 1,
		.send = (uintptr_t)&one, .recv = (uintptr_t)all,
	};

	CHECK_EQ(0, memory_fill(&memory, me->rank));
	CHECK_EQ(0, coll_dup(me->comm, &twin));
	CHECK_EQ(0, form_check(me, twin, &forms[0], BLOCKING, counts[0], want, &memory));
	CHECK_EQ(0, coll_allgather(twin, &one, all, 1, COLL_UINT32));
	CHECK_EQ(0, submitted.flags & FLAGS);
	CHECK_EQ(0, coll_submit(twin, &gather));
	CHECK_EQ(0, submitted.flags & FLAGS);
	CHECK_EQ(0, coll_barrier(twin));
	CHECK_EQ(0, submitted.flags & FLAGS);
	CHECK_EQ(0, coll_finalize(twin));
	CHECK_EQ(0, coll_shrink(me->comm, &twin));
	CHECK_EQ(0, form_check(me, twin, &forms[0], BLOCKING, counts[0], want, &memory));
	return coll_finalize(twin);
}

TEST(children)
{
	struct coll_config config = { .size = sizeof(config), .flags = flags[3].config };
	__u32 want = flags[3].want;

	EXPECT_EQ(0, lib_group_run(NRANKS, &config, rank_children, &want));
}

TEST(environment)
{
	__u32 want;

	setenv("COLL_WIDE", "1", 1);
	want = COLLECTIVE_F_WIDE;
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_children, &want));
	setenv("COLL_REPRODUCIBLE", "1", 1);
	want = FLAGS;
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_children, &want));
	setenv("COLL_WIDE", "0", 1);
	want = COLLECTIVE_F_REPRODUCIBLE;
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_children, &want));
}

TEST(environment_refused)
{
	struct coll_comm *comm;

	setenv("COLL_WIDE", "yes", 1);
	EXPECT_EQ(-EINVAL, coll_init(&comm, NULL));
}

TEST_HARNESS_MAIN
