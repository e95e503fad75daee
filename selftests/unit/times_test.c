// SPDX-License-Identifier: GPL-2.0-only
/* Times of operations (op/times.c): buckets, and that nothing is counted twice or not at all. */
#include "charges_env.h"
#include "op/times.c"
#include "random.h"
#include "tap.h"

#define PROGRAMS	60
#define OPERATIONS	400
#define RANKS		5

static struct coll_charges charges;
static struct coll_ident ident = { .rank = 1, .nranks = RANKS };
static struct coll_member_state state = { .id = &ident };
static struct coll_requests reqs = { .id = &ident, .state = &state, .charges = &charges };
static u32 awaited;

u32 coll_match_awaited(const struct coll_request *request)
{
	return awaited;
}

/* The bucket as its documentation says. */
static u32 bucket_of(u64 ns)
{
	u32 i = 0;

	while (i < COLL_TIME_COUNTS - 1 && ns > 1ULL << (COLL_TIME_SHIFT + i))
		i++;
	return i;
}

static void test_buckets(void)
{
	bool good = true;
	u32 i;
	s32 d;

	for (i = 0; i < 64; i++)
		for (d = -2; d <= 2; d++)
			good &= histogram_bucket((1ULL << i) + d) == bucket_of((1ULL << i) + d);
	good &= histogram_bucket(0) == 0 && histogram_bucket(~0ULL) == COLL_TIME_COUNTS - 1;
	tap_ok(good, "each time is in its bucket");
}

/* Up to five hours. */
static u64 some_time(void)
{
	return random_once(4) ? 0 : random_u64() >> (20 + random_below(44));
}

static u64 count_of(const struct coll_histogram *histogram)
{
	u64 n = 0;
	u32 i;

	for (i = 0; i < COLL_TIME_COUNTS; i++)
		n += u64_stats_read(&histogram->count[i]);
	return n;
}

/**
 * struct sums - what should be counted
 * @n: operations that have succeeded
 * @took: their times
 * @waiting: part of these in which other ranks were waited for
 * @queued: part of these in which they had not started
 * @longest: the longest one
 * @waited: by rank: for the calls of that rank
 */
struct sums {
	u64 n;
	u64 took;
	u64 waiting;
	u64 queued;
	u64 longest;
	u64 waited[RANKS];
};

/* An operation from its submission to its end, of one part or more. */
static bool run_request(struct sums *sums)
{
	u64 queued = some_time(), moved = some_time(), calls = some_time();
	bool is_queued = random_once(3), awaits = random_once(3), fails = random_once(5);
	bool good = true;
	u32 nparts = 1 + random_below(3), i, peer;
	struct coll_request *request;
	u64 took, after, lanes = ~0ULL;

	request = calloc(1, sizeof(*request) + nparts * sizeof(request->part[0]));
	request->reqs = &reqs;
	request->op.opcode = COLLECTIVE_ALLREDUCE;
	request->nparts = nparts;
	request->waits_vary = nparts > 1;
	request->submit_ns = kernel_ns;
	request->error = fails ? -ECONNRESET : 0;
	if (is_queued) {
		kernel_ns += queued;
		coll_times_queued(request, kernel_ns);
		good = HOLDS(request->queued == max(queued, 1ULL));
	}
	kernel_ns += moved;
	for (i = 0; i < nparts; i++) {
		request->part[i].waited_ns = some_time();
		lanes = min(lanes, request->part[i].waited_ns);
	}
	peer = random_once(6) ? COLL_NO_RANK : random_below(RANKS);
	awaited = peer;
	if (awaits) {
		coll_times_wait_for_calls(request);
		kernel_ns += calls;
	}
	took = kernel_ns - request->submit_ns;
	after = request->calls_after;
	coll_times_add(request, kernel_ns);
	if (awaits && peer < RANKS && took > after)
		sums->waited[peer] += took - after;
	if (!fails) {
		sums->n++;
		sums->took += took;
		queued = min(request->queued, took);
		sums->queued += queued;
		sums->waiting += min(lanes + (awaits && took > after ? took - after : 0),
				     took - queued);
		sums->longest = max(sums->longest, took);
	}
	good = good && HOLDS(after == (awaits ? max(took - calls, 1ULL) : 0));
	free(request);
	return good;
}

static void run_immediate(struct sums *sums)
{
	u64 took = some_time(), waited = min(took, some_time());
	u32 peer = random_below(RANKS + 1);

	kernel_ns += took;
	coll_times_add_immediate(&reqs, COLLECTIVE_ALLREDUCE, took, waited, peer, kernel_ns);
	sums->n++;
	sums->took += took;
	sums->waiting += waited;
	sums->longest = max(sums->longest, took);
	if (peer < RANKS)
		sums->waited[peer] += waited;
}

static bool check(const struct sums *sums)
{
	const struct coll_times *times = reqs.times[COLLECTIVE_ALLREDUCE];
	bool good = HOLDS(count_of(&times->latency) == sums->n) &&
		    HOLDS(count_of(&times->waiting) == sums->n) &&
		    HOLDS(count_of(&times->moving) == sums->n) &&
		    HOLDS(u64_stats_read(&times->latency.sum) == sums->took) &&
		    HOLDS(u64_stats_read(&times->waiting.sum) == sums->waiting) &&
		    /* What is not queued either waits or moves. */
		    HOLDS(u64_stats_read(&times->waiting.sum) + u64_stats_read(&times->moving.sum) +
			  sums->queued == sums->took) &&
		    HOLDS(times->longest == sums->longest);
	u32 i;

	for (i = 0; i < RANKS; i++)
		good &= HOLDS((u64)atomic64_read(&times->waited[i]) == sums->waited[i]);
	return good;
}

static void test_programs(void)
{
	bool good = true;
	u64 seed;
	u32 i;

	for (seed = 1; good && seed <= PROGRAMS; seed++) {
		struct sums sums = { 0 };

		random_begin(seed);
		kernel_ns = 77;
		coll_times_new(&reqs, COLLECTIVE_ALLREDUCE);
		spin_lock(&state.lock);
		for (i = 0; good && i < OPERATIONS; i++) {
			if (random_once(4))
				run_immediate(&sums);
			else
				good = run_request(&sums);
			good = good && check(&sums);
		}
		spin_unlock(&state.lock);
		coll_times_free(&reqs);
	}
	tap_ok(good && !charges.bytes, "an operation waits, moves or is queued all the time");
}

static void test_memory(void)
{
	struct coll_times *first;
	bool good;

	charges.limit = 1;
	coll_times_new(&reqs, COLLECTIVE_SCAN);
	charges.limit = 0;
	kernel_fails_after = 1;
	coll_times_new(&reqs, COLLECTIVE_SCAN);
	kernel_fails_after = 0;
	good = !reqs.times[COLLECTIVE_SCAN] && !charges.bytes;
	/* Operations go on without a table. */
	spin_lock(&state.lock);
	coll_times_add_immediate(&reqs, COLLECTIVE_SCAN, 1, 1, 0, 1);
	spin_unlock(&state.lock);
	coll_times_new(&reqs, COLLECTIVE_SCAN);
	first = reqs.times[COLLECTIVE_SCAN];
	coll_times_new(&reqs, COLLECTIVE_SCAN);
	good &= first && reqs.times[COLLECTIVE_SCAN] == first;
	coll_times_free(&reqs);
	tap_ok(good && !charges.bytes && !reqs.times[COLLECTIVE_SCAN],
	       "a table is made once, and not without memory");
}

int main(void)
{
	tap_plan(0);
	test_buckets();
	test_programs();
	test_memory();
	return tap_exit();
}
