// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random programs (program.h), with every result compared.  Each thread has a communicator of its
 * own.  Operations are cancelled, or called differently by one rank, and then fail on all ranks; in
 * some programs a rank is killed, and the survivors shrink the group and go on.  Processes get
 * signals, and fork children that write to their copy of the memory.
 *
 * Environment: PROGRAM_SEED is the seed of the first program, PROGRAM_COUNT the number of programs.
 * A failed program prints its seed.
 */
#include <collective_uring.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "lib/lib_group.h"
#include "lib/leak_check.h"
#include "lib/machine.h"
#include "library/program.h"

/* user_data of SQEs that cancel. */
#define CANCEL_DATA	1

/* Report an error that the program does not expect.  Return: 1. */
static int unexpected(struct program_thread *t, const struct program_slot *slot, const char *what,
		      int err)
{
	dprintf(STDOUT_FILENO, "# seed %llu, rank %d of %d: %s: %d (%s)%s%s, operation %u\n",
		(unsigned long long)t->program->seed, t->rank, t->n, what, err,
		coll_error_detail(t->comm), slot ? ", " : "",
		slot ? program_kinds[slot->op.kind] : "", t->number);
	return 1;
}

/*
 * Completion
 */

static void request_ended(struct program_slot *slot, int which, int err)
{
	if (err && !slot->result)
		slot->result = err;
	if (slot->form == PROGRAM_PERSISTENT)
		coll_request_free(slot->request[which]);
	slot->request[which] = NULL;
}

/* Reap a completion of an SQE.  Return: 0, or 1 after a message. */
static int sqe_reap(struct program_thread *t)
{
	struct program_slot *slot;
	struct io_uring_cqe *cqe;
	int err, res;

	do {
		err = io_uring_wait_cqe(&t->ring, &cqe);
	} while (err == -EINTR);
	if (err)
		return unexpected(t, NULL, "io_uring", err);
	res = cqe->res;
	slot = cqe->user_data == CANCEL_DATA ? NULL : io_uring_cqe_get_data(cqe);
	io_uring_cqe_seen(&t->ring, cqe);
	if (!slot)
		return res && res != -ENOENT ? unexpected(t, NULL, "cancelling SQE", res) : 0;
	slot->pending--;
	if (res && !slot->result)
		slot->result = res;
	return 0;
}

/* Wait for any operation of the thread. */
static int wait_any(struct program_thread *t)
{
	struct coll_request *request[2 * PROGRAM_SLOTS];
	int i, index, err;

	for (i = 0; i < 2 * PROGRAM_SLOTS; i++)
		request[i] = t->slot[i / 2].busy ? t->slot[i / 2].request[i % 2] : NULL;
	err = coll_wait_any(request, 2 * PROGRAM_SLOTS, &index,
			    rng_once_in(&t->local, 2) ? -1 : 1 + (int)rng_below(&t->local, 5));
	if (index >= 0)
		request_ended(&t->slot[index / 2], index % 2, err);
	else if (err != -EINPROGRESS)
		return unexpected(t, NULL, "wait_any", err);
	return 0;
}

/* Poll, and test one request. */
static int test_one(struct program_thread *t, struct program_slot *slot, int which)
{
	struct pollfd poller = { .fd = coll_req_fd(slot->request[which]), .events = POLLIN };
	int done, err;

	if (poller.fd < 0)
		return unexpected(t, slot, "req_fd", poller.fd);
	if (rng_once_in(&t->local, 2))
		poll(&poller, 1, 10);
	err = coll_test(slot->request[which], &done);
	if (done)
		request_ended(slot, which, err);
	else if (err)
		return unexpected(t, slot, "test", err);
	return 0;
}

static int slot_wait(struct program_thread *t, struct program_slot *slot)
{
	const int style = rng_below(&t->local, 3);
	int i, err;

	while (slot->pending)
		if (sqe_reap(t))
			return 1;
	for (i = 0; i < 2; i++)
		while (slot->request[i]) {
			if (!style) {
				err = coll_wait(slot->request[i]);
				request_ended(slot, i, err);
			} else if (style == 1 ? wait_any(t) : test_one(t, slot, i)) {
				return 1;
			}
		}
	return 0;
}

/* Is a length that only the root knows told? */
static bool varlen_is_told(const struct program_thread *t, struct program_slot *slot)
{
	const struct program_op *op = &slot->op;
	const size_t real = op->count[op->root][t->rank];

	if (op->kind != PROGRAM_BROADCAST_VARLEN && op->kind != PROGRAM_SCATTER_VARLEN)
		return true;
	if (slot->result == (slot->recv.n && slot->recv.count[0] < real ? -EMSGSIZE : 0))
		slot->result = 0;
	return slot->result || slot->varlen == real;
}

static bool is_expected(const struct program_op *op, int result)
{
	if (op->fault == PROGRAM_MISMATCH)
		return result == -EBADMSG;
	return !result || (op->fault == PROGRAM_CANCEL && result == -ECANCELED);
}

/* Wait for an operation, and check its result.  Return: 0, or 1 after a message. */
static int slot_end(struct program_thread *t, struct program_slot *slot)
{
	if (slot_wait(t, slot))
		return 1;
	slot->busy = false;
	if (!varlen_is_told(t, slot))
		return unexpected(t, slot, "length", slot->varlen);
	if (!is_expected(&slot->op, slot->result)) {
		if (t->program->victim < 0)
			return unexpected(t, slot, "result", slot->result);
		t->err = slot->result;
	}
	return program_slot_check(t, slot);
}

static int end_all(struct program_thread *t)
{
	int i;

	for (i = 0; i < PROGRAM_SLOTS; i++)
		if (t->slot[i].busy && slot_end(t, &t->slot[i]))
			return 1;
	return 0;
}

/*
 * Submission
 */

static int choose_form(struct program_thread *t, const struct program_slot *slot)
{
	const struct program_op *op = &slot->op;
	const bool cancels = op->fault == PROGRAM_CANCEL && op->culprit == t->rank;
	int form = rng_below(&t->local, op->kind < PROGRAM_BASIC ? 4 : 2);

	if (form == PROGRAM_BLOCKING && (cancels || op->kind == PROGRAM_SHIFT))
		form = PROGRAM_NONBLOCKING;
	/* The library moves the result, which an SQE does not offer. */
	if (form == PROGRAM_SQE && slot->in_place && op->kind == PROGRAM_REDUCE_SCATTER)
		form = PROGRAM_PERSISTENT;
	return form;
}

/* The capacity of a rank that does not know the length. */
static void choose_varlen(struct program_thread *t, struct program_slot *slot)
{
	const struct program_op *op = &slot->op;
	const size_t real = op->count[op->root][t->rank];

	slot->varlen = real;
	if (t->rank == op->root || !slot->recv.n ||
	    (op->kind != PROGRAM_BROADCAST_VARLEN && op->kind != PROGRAM_SCATTER_VARLEN))
		return;
	slot->varlen = rng_once_in(&t->local, 4) ? rng_below(&t->local, real + 1) :
						   real + rng_below(&t->local, 9);
	if (slot->varlen < real)
		slot->recv.count[0] = slot->varlen;
}

static int cancel(struct program_thread *t, struct program_slot *slot)
{
	struct io_uring_sqe *sqe;
	int err;

	if (rng_once_in(&t->local, 2))
		usleep(rng_below(&t->local, 2000));
	if (slot->form != PROGRAM_SQE) {
		err = coll_cancel(slot->request[0]);
		return err && err != -ENOENT ? unexpected(t, slot, "cancel", err) : 0;
	}
	sqe = io_uring_get_sqe(&t->ring);
	coll_prep_cancel(sqe, t->comm, (uintptr_t)slot);
	sqe->user_data = CANCEL_DATA;
	err = io_uring_submit(&t->ring);
	return err == 1 ? 0 : unexpected(t, slot, "submission of the cancelling SQE", err);
}

/* A child writes to all of its copy, while operations use the memory of its parent. */
static int fork_child(struct program_thread *t)
{
	int i, status;
	pid_t pid = fork();

	if (!pid) {
		for (i = 0; i < PROGRAM_SLOTS; i++)
			if (t->slot[i].readable)
				memset(t->slot[i].arena, 0xa5, 2 * PROGRAM_HALF);
		_exit(0);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid < 0 || status ? unexpected(t, NULL, "child", status) : 0;
}

/* Return: a slot for the next operation, after waiting for one or more if need be; NULL: failed. */
static struct program_slot *slot_next(struct program_thread *t)
{
	int i = rng_below(&t->local, PROGRAM_SLOTS);

	if (rng_once_in(&t->local, 8) && end_all(t))
		return NULL;
	if (t->slot[i].busy && slot_end(t, &t->slot[i]))
		return NULL;
	return &t->slot[i];
}

/* A call that failed has started nothing, or one of two operations. */
static void call_failed(struct program_slot *slot, int err)
{
	int i;

	slot->result = err;
	for (i = 0; i < 2 && slot->form == PROGRAM_PERSISTENT; i++)
		if (slot->request[i] && !coll_request_free(slot->request[i]))
			slot->request[i] = NULL;
}

static int step(struct program_thread *t)
{
	struct program_slot *slot = slot_next(t);
	int err;

	if (!slot)
		return 1;
	if (t->err)
		return 0;
	program_op_choose(t, &slot->op);
	program_slot_fill(t, slot);
	slot->form = choose_form(t, slot);
	choose_varlen(t, slot);
	slot->result = 0;
	slot->busy = true;
	err = program_call(t, slot);
	if (err && slot->form != PROGRAM_BLOCKING && t->program->victim < 0)
		return unexpected(t, slot, "call", err);
	if (err)
		call_failed(slot, err);
	if (slot->op.fault == PROGRAM_CANCEL && slot->op.culprit == t->rank && cancel(t, slot))
		return 1;
	if (rng_once_in(&t->local, 30) && fork_child(t))
		return 1;
	return slot->form == PROGRAM_BLOCKING || err ? slot_end(t, slot) : 0;
}

/*
 * Threads
 */

static int memory_begin(struct program_thread *t)
{
	const size_t size = 2 * PROGRAM_HALF;
	struct iovec fixed[PROGRAM_SLOTS];
	int i, kind, err = 0;

	for (i = 0; i < PROGRAM_SLOTS; i++) {
		struct program_slot *slot = &t->slot[i];

		kind = rng_below(&t->local, 4);
		slot->readable = kind;
		slot->expected = malloc(size);
		slot->arena = kind ? mmap(NULL, size, PROT_READ | PROT_WRITE,
					  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) :
				     coll_mem_alloc(t->comm, size);
		if (!slot->expected || !slot->arena || slot->arena == MAP_FAILED)
			return unexpected(t, NULL, "memory", errno);
		if (kind == 2)
			err = coll_register(t->comm, slot->arena, size, 0);
		if (kind == 3)
			err = coll_register(t->comm, slot->arena, PROGRAM_HALF,
					    COLL_REGISTER_READ_ONLY);
		if (err)
			return unexpected(t, NULL, "register", err);
		fixed[i] = (struct iovec){ slot->arena, size };
	}
	err = io_uring_register_buffers(&t->ring, fixed, PROGRAM_SLOTS);
	return err ? unexpected(t, NULL, "buffers of the ring", err) : 0;
}

/* The memory of coll_mem_alloc() ends with the communicator, and so do registrations. */
static void memory_end(struct program_thread *t)
{
	int i;

	for (i = 0; i < PROGRAM_SLOTS; i++) {
		if (t->slot[i].readable)
			munmap(t->slot[i].arena, 2 * PROGRAM_HALF);
		free(t->slot[i].expected);
	}
}

static void *kill_soon(void *arg)
{
	usleep((uintptr_t)arg);
	kill(getpid(), SIGKILL);
	return NULL;
}

/* The victim dies between two operations, or some time after. */
static void die(struct program_thread *t)
{
	pthread_t thread;

	if (rng_once_in(&t->local, 3) ||
	    pthread_create(&thread, NULL, kill_soon, (void *)(uintptr_t)rng_below(&t->local, 5000)))
		kill(getpid(), SIGKILL);
}

static int run_steps(struct program_thread *t, int steps, bool dies)
{
	int i;

	for (i = 0; i < steps && !t->err; i++) {
		if (dies && i == t->program->victim_step)
			die(t);
		if (step(t))
			return 1;
	}
	return end_all(t);
}

/* After the death of the victim: what is told of it, and a group of the others. */
static int run_shrunk(struct program_thread *t)
{
	const int victim = t->program->victim;
	struct coll_comm *old = t->comm, *new;
	char want[32];
	int err;

	/* The latest failure is told: an operation that was collected last may have its own. */
	do {
		t->err = coll_barrier(t->comm);
	} while (!t->err);
	snprintf(want, sizeof(want), "rank %d died", victim);
	if (!coll_comm_failed(t->comm) || !strstr(coll_error_detail(t->comm), want))
		return unexpected(t, NULL, "after a death", t->err);
	err = coll_shrink(old, &new);
	if (err)
		return unexpected(t, NULL, "shrink", err);
	if (coll_size(new) != t->n - 1 ||
	    coll_rank(new) != (t->rank > victim ? t->rank - 1 : t->rank))
		return unexpected(t, NULL, "size after shrink", coll_size(new));
	io_uring_unregister_buffers(&t->ring);
	memory_end(t);
	coll_finalize(old);
	t->comm = new;
	t->n = coll_size(new);
	t->rank = coll_rank(new);
	t->err = 0;
	/* The survivors have noticed the death in different operations. */
	t->number = 0;
	t->common.state = t->program->seed + t->n;
	if (memory_begin(t) || run_steps(t, 10, false))
		return 1;
	return t->err ? unexpected(t, NULL, "after shrink", t->err) : 0;
}

static int run_thread(struct program_thread *t)
{
	static const unsigned int flags[] = {
		0, IORING_SETUP_COOP_TASKRUN,
		IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
	};
	const bool dies = t->rank == t->program->victim;

	if (io_uring_queue_init(64, &t->ring, IORING_SETUP_SQE128 |
				flags[rng_below(&t->local, ARRAY_SIZE(flags))]))
		return unexpected(t, NULL, "ring", errno);
	if (memory_begin(t) || run_steps(t, t->program->steps, dies))
		return 1;
	while (dies)
		pause();
	if (t->program->victim >= 0 && run_shrunk(t))
		return 1;
	io_uring_queue_exit(&t->ring);
	return 0;
}

static void *thread_main(void *arg)
{
	return (void *)(uintptr_t)run_thread(arg);
}

/*
 * Ranks
 */

static void on_alarm(int signal)
{
}

static void get_signals(struct rng *rng)
{
	struct itimerval timer = { .it_value.tv_usec = 3000, .it_interval.tv_usec = 3000 };
	struct sigaction action = { .sa_handler = on_alarm };

	if (!rng_once_in(rng, 3))
		return;
	action.sa_flags = rng_once_in(rng, 2) ? SA_RESTART : 0;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
}

/* A communicator for each thread: of all ranks, or of some. */
static int make_comm(struct lib_rank *me, struct program_thread *t, int thread, struct rng *common)
{
	const bool splits = rng_once_in(common, 2) && thread && t->program->victim < 0;
	const int color = splits ? me->rank % 2 : 0;
	int err = 0;

	t->comm = me->comm;
	if (thread)
		err = splits ? coll_split(me->comm, color, -me->rank, &t->comm) :
			       coll_dup(me->comm, &t->comm);
	CHECK_EQ(0, err);
	t->rank = coll_rank(t->comm);
	t->n = coll_size(t->comm);
	t->common.state = rng_mix(t->program->seed + thread) + color;
	t->local.state = rng_mix(t->common.state + 1000 + me->rank);
	return 0;
}

static int rank_run(struct lib_rank *me)
{
	const struct program *program = me->arg;
	struct program_thread *threads = calloc(program->threads, sizeof(*threads));
	struct rng common = { program->seed }, local = { rng_mix(program->seed + me->rank) };
	pthread_t thread[PROGRAM_THREADS];
	void *failed;
	int i, bad = 0;

	CHECK(threads);
	for (i = 0; i < program->threads; i++) {
		threads[i].program = program;
		CHECK(!make_comm(me, &threads[i], i, &common));
	}
	get_signals(&local);
	for (i = 0; i < program->threads; i++)
		CHECK_EQ(0, pthread_create(&thread[i], NULL, thread_main, &threads[i]));
	for (i = 0; i < program->threads; i++) {
		pthread_join(thread[i], &failed);
		bad |= !!failed;
	}
	/* A failed check of one rank leaves the others waiting: end at once. */
	if (bad)
		_exit(1);
	me->comm = threads[0].comm;
	for (i = program->threads - 1; i > 0; i--)
		CHECK_EQ(0, coll_finalize(threads[i].comm));
	/* Its memory lasts until here. */
	for (i = 0; i < program->threads; i++)
		memory_end(&threads[i]);
	free(threads);
	return 0;
}

static const char * const algorithms[] = { NULL, NULL, "ring", "tree", "direct" };

static void program_choose(struct program *program, struct coll_config *config, u64 seed)
{
	const unsigned int most = min_t(unsigned int, max_ranks(), PROGRAM_RANKS);
	struct rng rng = { rng_mix(seed) };

	*program = (struct program){
		.seed = seed,
		.nranks = 1 + rng_below(&rng, most),
		.threads = 1 + rng_below(&rng, PROGRAM_THREADS),
		.steps = 20 + rng_below(&rng, slow_machine() ? 20 : 60),
		.flags = (rng_once_in(&rng, 3) ? COLL_CONFIG_WIDE : 0) |
			 (rng_once_in(&rng, 3) ? COLL_CONFIG_REPRODUCIBLE : 0),
		.victim = -1,
	};
	if (program->nranks > 1 && rng_once_in(&rng, 4)) {
		program->victim = rng_below(&rng, program->nranks);
		program->victim_step = rng_below(&rng, program->steps);
	}
	*config = (struct coll_config){
		.flags = program->flags,
		.lanes = 1 + rng_below(&rng, 3),
		.algorithm = algorithms[rng_below(&rng, ARRAY_SIZE(algorithms))],
	};
}

FIXTURE(slow) {};
FIXTURE_SETUP(slow) {}
FIXTURE_TEARDOWN(slow) {}

TEST_F_TIMEOUT(slow, program, 4000)
{
	const unsigned int seed = env_number("PROGRAM_SEED", 1);
	const unsigned int count = env_number("PROGRAM_COUNT", slow_machine() ? 3 : 12);
	const int before = tcp_sockets();
	struct coll_config config;
	struct program program;
	unsigned int i, killed = 0;

	TH_LOG("PROGRAM_SEED=%u PROGRAM_COUNT=%u", seed, count);
	for (i = 0; i < count; i++) {
		program_choose(&program, &config, seed + i);
		killed += program.victim >= 0;
		TH_LOG("seed %llu: %d ranks, %d threads, %d steps, victim %d in step %d",
		       (unsigned long long)program.seed, program.nranks, program.threads,
		       program.steps, program.victim, program.victim_step);
		ASSERT_EQ(program.victim >= 0,
			  lib_group_run(program.nranks, &config, rank_run, &program));
	}
	TH_LOG("%u programs, a rank killed in %u", count, killed);
	EXPECT_TRUE(nothing_leaked(before));
}

TEST_HARNESS_MAIN
