// SPDX-License-Identifier: GPL-2.0-only
/*
 * Operations that a process executes itself (op/process_ops.c): each has one number, and numbers
 * have no gaps, in any order of its operations, of threads of SUBMIT and of requests.  The process
 * may store anything in its words.
 */
#include "charges_env.h"
#include "op/process_ops.c"
#include "random.h"
#include "tap.h"

#define PROGRAMS	4000
#define STEPS		300
#define OPS		512
#define RANK		1

static struct coll_ident ident = {
	.rank = RANK, .nranks = 2, .nlanes = 1, .timeout = 1000,
};

static struct coll_member_state state;
static struct coll_lane *lane;
static struct coll_requests reqs;
static struct coll_board_words words;
static struct coll_board_part part = { .words = &words }, *parts[] = { &part, &part };
static u64 sleepers, impatient;

static struct coll_board board = {
	.rank = RANK, .nranks = 2, .part = parts, .sleepers = &sleepers, .impatient = &impatient,
};

static struct coll_request a_request;

/* By number: the executor of an operation. */
enum executor { NONE, PROCESS, THREAD, REQUEST, GIVEN_UP };

static u8 executed[OPS];

/* What was heard of the operations; @succeeded: by number. */
static bool succeeded[OPS], failed[OPS];
static struct coll_failure failure;
static u32 completed, lane_wakes, aborts;

/* The operations that are in flight, all of the board. */
static u32 nrequests;

/* Where the process, or a thread of SUBMIT, is; OPS: nowhere. */
static u64 process_at, thread_at;

static bool too_far, has_space, may_take_over;

/*
 * What the other files do
 */

bool coll_request_too_far_ahead(const struct coll_requests *of)
{
	return too_far;
}

bool coll_request_has_space(const struct coll_requests *of)
{
	return has_space;
}

void coll_ahead_succeeded(struct coll_requests *of, u64 instance)
{
	assert(state.lock.held && instance < of->next_instance);
	if (instance < OPS)
		succeeded[instance] = true;
}

void coll_unexpected_forget(struct coll_requests *of)
{
	assert(state.lock.held);
}

void coll_unexpected_submitted(struct coll_requests *of)
{
	assert(state.lock.held);
}

bool coll_failed_ops_has(struct coll_failed_ops *of, u64 instance)
{
	return instance < OPS && failed[instance];
}

const struct coll_failure *coll_failed_ops_find(struct coll_failed_ops *of, u64 instance)
{
	return coll_failed_ops_has(of, instance) ? &failure : NULL;
}

int coll_errno_for_rank(const struct coll_member_state *of, const struct coll_reason *reason)
{
	return -(int)reason->error;
}

u64 coll_record_done(const struct coll_trace *trace, u64 instance, int error,
		     const struct coll_reason *reason, u64 submit_ns)
{
	completed++;
	return 0;
}

void coll_lane_wake_board(const struct coll_lane *of)
{
	assert(!state.lock.held);
	lane_wakes++;
}

void coll_match_abort(struct coll_requests *of, u64 instance, const struct coll_failure *why)
{
	assert(!state.lock.held);
	failure = *why;
	failed[instance] = true;
	aborts++;
}

static const struct coll_schedule on_board = { .board = true }, off_board;

static void program_new(void)
{
	memset(&state, 0, sizeof(state));
	memset(&reqs, 0, sizeof(reqs));
	memset(&words, 0, sizeof(words));
	memset(executed, 0, sizeof(executed));
	memset(succeeded, 0, sizeof(succeeded));
	memset(failed, 0, sizeof(failed));
	board.done = 0;
	state.value = COLLECTIVE_STATE_UP;
	reqs.id = &ident;
	reqs.state = &state;
	reqs.lanes = lane;
	reqs.spare = &a_request;
	lane->engine.board = &board;
	process_at = OPS;
	thread_at = OPS;
	nrequests = 0;
	too_far = false;
	has_space = true;
	completed = 0;
	lane_wakes = 0;
	aborts = 0;
	jiffies = 100;
	assert(!coll_process_open(&reqs, &words));
}

static void lock(void)
{
	spin_lock(&state.lock);
}

static void unlock(void)
{
	spin_unlock(&state.lock);
}

static bool execute(u64 instance, enum executor who)
{
	if (!HOLDS(instance < OPS) || !HOLDS(executed[instance] == NONE))
		return false;
	executed[instance] = who;
	return true;
}

/*
 * What a process may do that does as it must
 */

static bool process_take(void)
{
	u64 instance;

	if (process_at < OPS || !coll_order_take(&words, &instance))
		return true;
	process_at = instance;
	/* Nothing else is on the board. */
	return HOLDS(thread_at == OPS && !nrequests) && HOLDS(instance < OPS) &&
	       HOLDS(executed[instance] == NONE);
}

static bool process_release(void)
{
	bool good;

	if (process_at == OPS)
		return true;
	words.calls[COLLECTIVE_SCAN]++;
	words.latest = COLLECTIVE_SCAN;
	good = execute(process_at, PROCESS) &&
	       HOLDS(coll_order_release(&words, process_at) == !!words.attention);
	process_at = OPS;
	return good;
}

/* As submit.c starts a request. */
static int start_request(enum coll_request_origin origin, u64 instance, bool is_board)
{
	int err;

	a_request = (struct coll_request){
		.reqs = &reqs, .origin = origin, .call.instance = instance,
		.plan = { .schedule = is_board ? &on_board : &off_board },
	};
	lock();
	coll_process_sync(&reqs);
	err = coll_process_place(&a_request);
	if (!err) {
		reqs.next_instance = a_request.call.instance + 1;
		coll_process_notice(&reqs);
		nrequests += is_board;
	}
	unlock();
	return err;
}

static bool call_request(void)
{
	bool is_board = random_once(2);
	int err = start_request(COLL_FROM_CALL, 0, is_board);

	if (process_at < OPS || thread_at < OPS)
		return HOLDS(err == -EBUSY);
	return HOLDS(!err) && execute(a_request.call.instance, REQUEST);
}

static bool end_request(void)
{
	if (!nrequests)
		return true;
	nrequests--;
	a_request = (struct coll_request){ .reqs = &reqs, .plan = { .schedule = &on_board } };
	lock();
	coll_process_done(&a_request);
	unlock();
	return true;
}

/* A request takes the operation over that the process, or the thread, is at. */
static bool hand_over(void)
{
	const bool thread = thread_at < OPS;
	const u64 at = thread ? thread_at : process_at;
	const enum coll_request_origin origin = thread ? COLL_FROM_THREAD : COLL_FROM_PROCESS;

	if (at == OPS) {
		/* There is nothing to take over. */
		return HOLDS(start_request(COLL_FROM_PROCESS, random_below(OPS), true) == -EINVAL);
	}
	if (random_once(4))
		return HOLDS(start_request(origin, at, false) == -EINVAL);
	if (thread && random_once(4))
		return HOLDS(start_request(COLL_FROM_PROCESS, at, true) == -EBUSY);
	if (!HOLDS(!start_request(origin, at, true)) || !HOLDS(a_request.call.instance == at))
		return false;
	process_at = OPS;
	thread_at = OPS;
	return execute(at, REQUEST);
}

static bool thread_begin(void)
{
	u64 instance;
	bool begun, attention;

	has_space = !random_once(9);
	reqs.spare = random_once(9) ? NULL : &a_request;
	lock();
	coll_process_sync(&reqs);
	attention = reqs.process.attention;
	may_take_over = has_space && reqs.spare && !attention;
	begun = coll_process_begin(&reqs, 5, &instance);
	unlock();
	if (!HOLDS(begun == (may_take_over && process_at == OPS && thread_at == OPS && !nrequests)))
		return false;
	if (begun)
		thread_at = instance;
	return HOLDS(!begun || executed[instance] == NONE);
}

static bool thread_end(void)
{
	bool good;

	if (thread_at == OPS)
		return true;
	lock();
	coll_process_end(&reqs, thread_at, COLLECTIVE_REDUCE, 7);
	unlock();
	good = execute(thread_at, THREAD) && HOLDS(succeeded[thread_at]) &&
	       HOLDS(reqs.last_ops.completed == thread_at);
	thread_at = OPS;
	return good;
}

/* A hand-over has failed.  Without memory the process goes on; else others may have seen it. */
static bool fail_hand_over(void)
{
	static const int errors[] = { -ENOMEM, -EDQUOT, -EAGAIN, -EINVAL, -EFAULT };
	const int err = errors[random_below(ARRAY_SIZE(errors))];
	const bool thread = thread_at < OPS, goes_on = err != -EINVAL && err != -EFAULT;
	const u64 at = thread ? thread_at : process_at;
	const struct collective_op op = { .timeout_ms = 1 << 30 };
	bool published = random_once(2);
	int result;

	if (at == OPS)
		return HOLDS(coll_process_failed(&reqs, &op, COLL_FROM_PROCESS, 0, err) == err);
	if (published)
		words.slot[at % COLL_BOARD_SLOTS].seq = at + 1;
	result = coll_process_failed(&reqs, &op, thread ? COLL_FROM_THREAD : COLL_FROM_PROCESS,
				     at, err);
	if (goes_on)
		return HOLDS(result == -EBUSY);
	published = coll_board_has(&board, RANK, at);
	process_at = OPS;
	thread_at = OPS;
	/* What no rank has seen has no place: the next operation has its number. */
	return HOLDS(result == err) && (!published || execute(at, GIVEN_UP)) &&
	       HOLDS(published ? reqs.next_instance == at + 1 && words.done == at + 1 :
				 reqs.next_instance <= at);
}

/* A failure, and what else the process is to be told. */
static bool change(void)
{
	u64 instance;

	too_far = random_once(3);
	lock();
	instance = reqs.next_instance + random_below(3);
	if (random_once(3))
		coll_process_alarm(&reqs, instance);
	coll_process_notice(&reqs);
	unlock();
	return HOLDS(words.attention == (too_far || reqs.next_instance < reqs.process.alarm_until));
}

static bool look(void)
{
	u64 i, known, at, called;
	bool is_at, good;

	lock();
	coll_process_sync(&reqs);
	known = reqs.next_instance;
	is_at = coll_process_is_at(&reqs, &at);
	called = coll_process_called(&reqs);
	good = HOLDS(coll_process_calls(&reqs) == words.calls[COLLECTIVE_SCAN]);
	unlock();
	for (i = 0; good && i < known; i++)
		good = HOLDS(executed[i] != NONE) &&
		       HOLDS(executed[i] != PROCESS || succeeded[i] ||
			     known - i > COLL_BOARD_SLOTS);
	return good && HOLDS(executed[known] == NONE) && HOLDS(called == known + is_at) &&
	       HOLDS(is_at == (process_at < OPS || thread_at < OPS)) &&
	       HOLDS(!is_at || at == (thread_at < OPS ? thread_at : process_at)) &&
	       HOLDS(!reqs.process.broken) && HOLDS(reqs.process.attention == !!words.attention);
}

static bool run_program(void)
{
	static bool (*const steps[])(void) = {
		process_take, process_take, process_release, process_release, call_request,
		end_request, end_request, hand_over, thread_begin, thread_end, thread_end,
		fail_hand_over, change, look,
	};
	u32 i;

	program_new();
	for (i = 0; i < STEPS; i++)
		if (!steps[random_below(ARRAY_SIZE(steps))]())
			return false;
	return look();
}

static void test_programs(void)
{
	tap_ok(random_programs(PROGRAMS, run_program),
	       "each operation has one executor and the next number");
}

/*
 * A process that stores anything
 */

static u64 some_word(void)
{
	u64 near = reqs.next_instance + random_below(5) - 2;

	switch (random_below(6)) {
	case 0:
		return random_u64();
	case 1:
		return coll_order_word(COLL_ORDER_MAX - random_below(2), random_below(4));
	case 2:
		return 0;
	default:
		return coll_order_word(near, random_below(4));
	}
}

static bool run_wild(void)
{
	const struct collective_op op = { .timeout_ms = 1 << 30 };
	u64 known, instance = 0, before = 0;
	u32 i;
	bool thread = false, good = true, taken;
	int err;

	program_new();
	for (i = 0; good && i < 60; i++) {
		WRITE_ONCE(words.order, some_word());
		words.latest = random_u64();
		words.attention = random_u64();
		lock();
		known = reqs.next_instance;
		unlock();
		good = HOLDS(known >= before) && HOLDS(known <= COLL_ORDER_MAX);
		before = known;
		switch (random_below(5)) {
		case 0:
			err = start_request(COLL_FROM_CALL, 0, random_once(2));
			/* Its number is the kernel's, not one of the process. */
			good = good && HOLDS(err || a_request.call.instance >= known);
			break;
		case 1:
			err = start_request(COLL_FROM_PROCESS, random_u64(), true);
			good = good && HOLDS(err || a_request.call.instance >= known);
			break;
		case 2:
			lock();
			taken = coll_process_begin(&reqs, 1, &instance);
			unlock();
			good = good && HOLDS(!taken || !thread) &&
			       HOLDS(!taken || instance == reqs.next_instance);
			thread |= taken;
			break;
		case 3:
			if (!thread)
				break;
			lock();
			coll_process_end(&reqs, instance, COLLECTIVE_SCAN, 1);
			unlock();
			/* Whatever the word is, nothing is executed twice. */
			good = good && HOLDS(reqs.next_instance == instance + 1);
			thread = false;
			break;
		default:
			err = coll_process_failed(&reqs, &op, COLL_FROM_PROCESS,
						  known + random_below(3), -EINVAL);
			good = good && HOLDS(err == -EINVAL);
		}
		good = good && HOLDS(!!reqs.process.immediate == thread);
		/* From then on it takes part in nothing. */
		if (reqs.process.broken && !thread)
			good = good && HOLDS(start_request(COLL_FROM_CALL, 0, true) == -EPROTO);
	}
	return good;
}

static void test_wild(void)
{
	tap_ok(random_programs(PROGRAMS, run_wild),
	       "numbers rise and stay in bounds, whatever the process stores");
}

/*
 * Waits, and times without memory
 */

static u32 sleeps;
static bool releases;

static long sleep_while_asked(long left)
{
	/* The process was asked before the thread sleeps. */
	assert(!state.lock.held && words.attention && reqs.process.waiters == 1);
	sleeps++;
	if (releases && sleeps == 3)
		assert(process_release());
	return releases ? left : 0;
}

static int await(unsigned long deadline, long limit)
{
	a_request = (struct coll_request){ .reqs = &reqs, .deadline = deadline };
	sleeps = 0;
	return coll_process_await(&a_request, limit);
}

static void test_await(void)
{
	bool good;

	kernel_sleep = sleep_while_asked;
	program_new();
	good = HOLDS(!await(0, 100)) && HOLDS(!sleeps);
	assert(process_take());
	releases = false;
	good = good && HOLDS(await(0, 100) == -EAGAIN) && HOLDS(sleeps == 1);
	kernel_signals = TASK_INTERRUPTIBLE;
	good = good && HOLDS(await(0, 100) == -ERESTARTSYS) && HOLDS(!sleeps);
	kernel_signals = 0;
	releases = true;
	good = good && HOLDS(!await(0, 100)) && HOLDS(sleeps == 3);
	assert(process_take());
	state.stopped = true;
	good = good && HOLDS(!await(0, 100)) && HOLDS(!sleeps);
	tap_ok(good && HOLDS(!words.attention && !reqs.process.waiters && !state.wait.waiters),
	       "a thread waits for the process, no longer than it may");
}

/* The process goes on without memory until the time of its operation is over. */
static bool overdue(u32 timeout_ms, bool ends)
{
	const struct collective_op op = { .timeout_ms = timeout_ms };
	bool good;
	int err;

	program_new();
	ident.timeout = ends ? 500 : MAX_JIFFY_OFFSET;
	assert(process_take());
	good = HOLDS(coll_process_failed(&reqs, &op, COLL_FROM_PROCESS, 0, -ENOMEM) == -EBUSY);
	jiffies += timeout_ms ? timeout_ms : 500;
	good = good &&
	       HOLDS(coll_process_failed(&reqs, &op, COLL_FROM_PROCESS, 0, -ENOMEM) == -EBUSY);
	jiffies += 3;
	err = coll_process_failed(&reqs, &op, COLL_FROM_PROCESS, 0, -ENOMEM);
	if (!ends && !timeout_ms)
		return good && HOLDS(err == -EBUSY && !aborts);
	/* The operation has failed for all ranks, so that it has its place. */
	return good && HOLDS(err == -ETIMEDOUT && aborts == 1 && lane_wakes == 1) &&
	       HOLDS(reqs.next_instance == 1) && HOLDS(failure.reason.rank_a == RANK) &&
	       HOLDS(coll_order_owner(words.order) == COLL_ORDER_FREE) &&
	       HOLDS(coll_order_count(words.order) == 1);
}

static void test_overdue(void)
{
	bool good = overdue(200, true) && overdue(0, true) && overdue(0, false);

	ident.timeout = 1000;
	tap_ok(good, "an operation without memory ends at its deadline");
}

static void test_states(void)
{
	bool good;
	u64 instance;

	program_new();
	assert(process_take() && process_release());
	coll_process_close(&reqs);
	/* What the process has done is still known, and it can do nothing more. */
	lock();
	good = HOLDS(reqs.next_instance == 1) && HOLDS(coll_process_calls(&reqs) == 1) &&
	       HOLDS(!coll_process_is_at(&reqs, &instance));
	coll_process_sync(&reqs);
	unlock();
	state.value = COLLECTIVE_STATE_CONNECTING;
	good = good && HOLDS(coll_process_open(&reqs, &words) == -ENOTCONN) &&
	       HOLDS(!reqs.process.words);
	state.value = COLLECTIVE_STATE_UP;
	/* An operation on the board is in flight. */
	reqs.process.requests = 1;
	good = good && HOLDS(!coll_process_open(&reqs, &words)) &&
	       HOLDS(coll_order_owner(words.order) == COLL_ORDER_KERNEL);
	reqs.process.requests = 0;
	program_new();
	lock();
	coll_process_alarm(&reqs, COLL_INSTANCE_GROUP);
	coll_process_alarm(&reqs, 0);
	unlock();
	good = good && HOLDS(words.attention && reqs.process.alarm_until == U64_MAX);
	tap_ok(good, "a process takes part from open to close");
}

int main(void)
{
	tap_plan(0);
	lane = calloc(1, sizeof(*lane));
	test_programs();
	test_wild();
	test_await();
	test_overdue();
	test_states();
	free(lane);
	return tap_exit();
}
