// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tables of requests and their claims (op/table.c, op/claim.c): random programs, compared with
 * plain arrays.
 */
#include "charges_env.h"
#include "op/table.c"
#include "op/claim.c"
#include "random.h"
#include "tap.h"

#define PROGRAMS	60
#define STEPS		1500
#define KEYS		6
#define WAITERS		3

static struct coll_charges charges;
static struct coll_ident ident = { .nranks = 4 };
static struct coll_member_state state = { .id = &ident };
static struct coll_requests reqs;

/* What is known of the requests: those not collected, in the order of their submission. */
static struct coll_request *known[COLL_INFLIGHT];
static u32 nknown;

static struct task_struct tasks[WAITERS];
static struct coll_wait waits[WAITERS];
static u64 ids[WAITERS][4];

static bool in_flight(const struct coll_request *request)
{
	return request->stage != COLL_REQUEST_COMPLETE;
}

/* The first request in flight of an instance; NULL: none. */
static struct coll_request *known_first(u64 instance)
{
	u32 i;

	for (i = 0; i < nknown; i++)
		if (known[i]->call.instance == instance && in_flight(known[i]))
			return known[i];
	return NULL;
}

/* The one after the first. */
static struct coll_request *known_second(const struct coll_request *first)
{
	u32 i;

	for (i = 0; i < nknown; i++)
		if (known[i] != first && known[i]->call.instance == first->call.instance &&
		    in_flight(known[i]))
			return known[i];
	return NULL;
}

static bool known_full(void)
{
	u32 i;

	if (nknown == COLL_INFLIGHT)
		return true;
	for (i = 0; i < nknown; i++)
		if (coll_instance_is_counted(known[i]->call.instance) && in_flight(known[i]))
			return reqs.next_instance - known[i]->call.instance >= COLL_INFLIGHT;
	return false;
}

static void requests_new(void)
{
	u32 i;

	reqs = (struct coll_requests){ .id = &ident, .state = &state, .charges = &charges };
	reqs.by_instance = calloc(COLL_REQUESTS_HASH, sizeof(*reqs.by_instance));
	INIT_LIST_HEAD(&reqs.inflight_list);
	INIT_LIST_HEAD(&reqs.counted);
	nknown = 0;
	/* As JOIN does. */
	assert(!coll_table_reserve(&reqs, 1));
	for (i = 0; i < WAITERS; i++) {
		kernel_current = &tasks[i];
		waits[i] = (struct coll_wait){ .ids = ids[i], .n = ARRAY_SIZE(ids[i]) };
		coll_wait_init(&waits[i]);
		assert(waits[i].task == &tasks[i]);
	}
	memset(ids, 0, sizeof(ids));
	kernel_current = &kernel_task;
}

/* A counted instance, or one of a few that are used again and again. */
static u64 some_instance(void)
{
	if (random_once(2))
		return reqs.next_instance;
	return random_once(2) ? coll_instance_keyed(random_below(KEYS)) :
				coll_instance_p2p(0, 1, random_below(KEYS), true);
}

static bool submit(void)
{
	struct coll_request *request, *first;
	u64 instance = some_instance();
	bool failed;

	if (!coll_table_has_place(&reqs)) {
		if (random_once(4))
			kernel_fails_after = 1;
		if (coll_table_reserve(&reqs, min(nknown + 1 + random_below(20),
						  (u32)COLL_INFLIGHT)))
			assert(kernel_fails_after);
		failed = kernel_fails_after;
		kernel_fails_after = 0;
		if (!coll_table_has_place(&reqs))
			return HOLDS(failed || coll_table_full(&reqs));
	}
	spin_lock(&state.lock);
	if (!HOLDS(coll_table_full(&reqs) == known_full()))
		return false;
	if (known_full()) {
		spin_unlock(&state.lock);
		return true;
	}
	first = known_first(instance);
	request = calloc(1, sizeof(*request) + sizeof(request->part[0]));
	request->reqs = &reqs;
	request->call.instance = instance;
	request->nparts = 1 + random_below(4);
	request->first_lane = random_below(3);
	request->plan.count = random_below(100);
	request->plan.size = 8;
	atomic_set(&request->parts_pending, 1);
	reqs.next_instance += coll_instance_is_counted(instance);
	coll_table_insert(request);
	coll_table_start(request);
	known[nknown++] = request;
	spin_unlock(&state.lock);
	return HOLDS(request->stage == (first ? COLL_REQUEST_QUEUED : COLL_REQUEST_STARTED)) &&
	       HOLDS(nknown == 1 || request->id > known[nknown - 2]->id);
}

/* Complete a request, and start the next one of its instance. */
static bool complete_one(void)
{
	struct coll_request *request, *next, *expected;
	u32 wakes = state.wait.wakes, done;
	struct coll_wait *wait;

	if (!nknown)
		return true;
	request = known[random_below(nknown)];
	if (request->stage != COLL_REQUEST_STARTED)
		return true;
	expected = known_second(request);
	spin_lock(&state.lock);
	atomic_set(&request->parts_pending, 0);
	if (!HOLDS(!coll_request_by_instance(&reqs, request->call.instance)))
		return false;
	next = coll_table_end(request);
	coll_request_set_stage(request, COLL_REQUEST_COMPLETE);
	if (next)
		coll_request_set_stage(next, COLL_REQUEST_STARTED);
	if (request->waiter) {
		wait = container_of(request->waiter, struct coll_wait, event);
		done = wait->event.done;
		kernel_current = &tasks[random_below(WAITERS)];
		wait->self_notified = false;
		coll_wait_notify(request);
		if (kernel_current == wait->task)
			assert(wait->self_notified && wait->event.done == done);
		else
			assert(!wait->self_notified && wait->event.done == done + 1);
	}
	spin_unlock(&state.lock);
	return HOLDS(next == expected) && HOLDS(state.wait.wakes == wakes);
}

static void claim(void)
{
	struct coll_wait *wait = &waits[random_below(WAITERS)];
	u64 *free_ids = (u64 *)wait->ids;
	struct coll_request *request;
	u32 i = random_below(wait->n);

	if (!nknown)
		return;
	request = known[random_below(nknown)];
	if (request->waiter || (coll_request_by_id(&reqs, free_ids[i]) &&
				coll_request_by_id(&reqs, free_ids[i])->waiter))
		return;
	coll_wait_claim(wait, request);
	assert(request->waiter == &wait->event);
	assert(wait->nparts >= request->first_lane + request->nparts);
	assert(wait->bytes >= request->plan.count * 8);
	free_ids[i] = request->id;
}

static void forget(u32 at)
{
	free(known[at]);
	nknown--;
	memmove(known + at, known + at + 1, (nknown - at) * sizeof(*known));
}

/* A waiter takes the first one that is complete of those that it names, and gives its claims up. */
static bool reap(void)
{
	struct coll_wait *wait = &waits[random_below(WAITERS)];
	struct coll_request *expected = NULL, *request;
	bool last = random_once(3), unclaimed, good;
	u32 i, j, wakes = state.wait.wakes, left = 0;

	for (i = 0; i < wait->n && !expected; i++)
		for (j = 0; j < nknown; j++)
			if (known[j]->id == wait->ids[i] && !in_flight(known[j]))
				expected = known[j];
	for (j = 0; j < nknown; j++)
		left += known[j]->waiter == &wait->event && known[j] != expected &&
			!in_flight(known[j]);
	wait->end = random_below(2) * 77;
	request = coll_wait_reap(wait, &reqs, last);
	unclaimed = request || last;
	good = HOLDS(request == expected) && HOLDS(!wait->self_notified) &&
	       HOLDS(request ? wait->ids[wait->index] == request->id : wait->index == wait->n) &&
	       /* Threads in poll() hear of what a waiter leaves behind. */
	       HOLDS(state.wait.wakes == wakes + (unclaimed ? left : 0));
	for (j = 0; unclaimed && j < nknown; j++)
		good &= known[j] == request || HOLDS(known[j]->waiter != &wait->event);
	for (j = 0; request && j < nknown; j++)
		if (known[j] == request) {
			forget(j);
			break;
		}
	return good;
}

static bool check_ids(void)
{
	u64 id = random_once(9) ? 0 : random_once(9) ? ~0ULL : random_below(reqs.last_id + 3);
	struct coll_request *request = NULL;
	u32 i;

	for (i = 0; i < nknown; i++)
		if (known[i]->id == id)
			request = known[i];
	return HOLDS(coll_request_by_id(&reqs, id) == request);
}

static bool check_instance(void)
{
	u64 instance = random_once(2) ? random_below(reqs.next_instance + 2) : some_instance();

	return HOLDS(coll_request_by_instance(&reqs, instance) == known_first(instance));
}

static bool check_lists(void)
{
	struct coll_request *request;
	u32 i, n = 0, counted = 0;

	request = list_first_entry(&reqs.inflight_list, struct coll_request, node);
	for (i = 0; i < nknown; i++) {
		if (!in_flight(known[i]))
			continue;
		if (!HOLDS(request == known[i]))
			return false;
		request = list_next_entry(request, node);
		n++;
		counted += coll_instance_is_counted(known[i]->call.instance);
	}
	list_for_each_entry(request, &reqs.counted, counted)
		counted--;
	return HOLDS(n == reqs.inflight) && HOLDS(!counted) && HOLDS(reqs.nrequests == nknown) &&
	       HOLDS(charges.bytes == reqs.table_size * sizeof(*reqs.table)) &&
	       HOLDS(reqs.table_size <= COLL_INFLIGHT);
}

static bool run_program(void)
{
	/* Some programs let the table become full. */
	u32 submits = 2 + random_below(8), step;
	bool good = true;

	requests_new();
	for (step = 0; good && step < STEPS; step++) {
		u32 what = random_below(10);

		if (what < submits)
			good = submit();
		else if (what == 8)
			good = reap();
		else
			good = complete_one();
		spin_lock(&state.lock);
		if (good && random_once(2))
			claim();
		good = good && check_ids() && check_instance() && check_lists();
		spin_unlock(&state.lock);
	}
	while (nknown)
		forget(0);
	free(reqs.by_instance);
	coll_table_free(&reqs);
	return good && !charges.bytes;
}

static void test_programs(void)
{
	tap_ok(random_programs(PROGRAMS, run_program),
	       "requests are found by id and by instance, and start in their order");
}

/* The oldest request stays, and the others are complete and collected. */
static void test_distance(void)
{
	struct coll_request *request;
	bool good = true;

	requests_new();
	spin_lock(&state.lock);
	request = calloc(1, sizeof(*request));
	request->reqs = &reqs;
	request->call.instance = 7;
	reqs.next_instance = 8;
	coll_table_insert(request);
	coll_table_start(request);
	for (; reqs.next_instance < 7 + 2 * COLL_INFLIGHT; reqs.next_instance++)
		good &= coll_table_full(&reqs) == (reqs.next_instance >= 7 + COLL_INFLIGHT);
	coll_table_end(request);
	good &= !coll_table_full(&reqs);
	coll_table_remove(request);
	free(request);
	spin_unlock(&state.lock);
	coll_table_free(&reqs);
	free(reqs.by_instance);
	tap_ok(good, "no request is more than %u after the oldest one", COLL_INFLIGHT - 1);
}

/* The table may be replaced while a thread waits for memory. */
static void test_reserve(void)
{
	bool good;

	charges.limit = 16 * sizeof(*reqs.table);
	requests_new();
	good = !coll_table_reserve(&reqs, 16) && reqs.table_size == 16 &&
	       coll_table_reserve(&reqs, 17) == -EDQUOT && reqs.table_size == 16;
	charges.limit = 0;
	good &= !coll_table_reserve(&reqs, COLL_INFLIGHT) && reqs.table_size == COLL_INFLIGHT &&
		!coll_table_reserve(&reqs, 1) && reqs.table_size == COLL_INFLIGHT;
	coll_table_free(&reqs);
	coll_table_free(&reqs);
	free(reqs.by_instance);
	tap_ok(good && !charges.bytes, "the table grows to its bound, and is charged");
}

static void test_left(void)
{
	struct coll_wait wait = { .timeout = MAX_SCHEDULE_TIMEOUT };
	bool good;

	jiffies = ~0UL - 5;
	good = coll_wait_left(&wait) == MAX_SCHEDULE_TIMEOUT;
	wait.timeout = 20;
	wait.end = jiffies + 20;
	good &= coll_wait_left(&wait) == 20;
	jiffies += 19;
	good &= coll_wait_left(&wait) == 1;
	jiffies += 1;
	good &= !coll_wait_left(&wait);
	jiffies += 1000;
	good &= !coll_wait_left(&wait);
	tap_ok(good, "a wait ends in time, also where jiffies wrap");
}

int main(void)
{
	tap_plan(0);
	test_programs();
	test_distance();
	test_reserve();
	test_left();
	return tap_exit();
}
