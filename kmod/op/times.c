// SPDX-License-Identifier: GPL-2.0-only
/*
 * Times of operations: how long they took, and how long other ranks were waited for.
 *
 * Lanes measure what they wait (lane/wait_time.h); an operation has waited while all its lanes did,
 * so the least of them counts.  What it waits after its lanes, for the calls of other ranks, is
 * measured here.
 *
 * A collective has its table from the first call on.  An operation goes on without one if there is
 * no memory: figures are no reason to fail.
 */
#include <linux/bitops.h>
#include <linux/ktime.h>
#include <linux/slab.h>

#include "mem/account.h"
#include "op/request.h"
#include "op/requests.h"
#include "op/times.h"

static size_t times_bytes(const struct coll_requests *reqs)
{
	return struct_size_t(struct coll_times, waited, reqs->id->nranks);
}

/**
 * coll_times_new() - make the table of a collective
 * @reqs: of the member
 * @collective: enum collective_opcode
 *
 * Context: process of the mm that joined; may sleep.
 */
void coll_times_new(struct coll_requests *reqs, u32 collective)
{
	struct coll_times *times;

	if (coll_charge(reqs->charges, times_bytes(reqs)))
		return;
	times = kvzalloc(times_bytes(reqs), GFP_KERNEL_ACCOUNT);
	if (!times)
		goto uncharge;
	times->since = ktime_get_ns();
	times->until = times->since;
	/* Publishes the table, zeroed but for that, unless another thread was first. */
	if (!cmpxchg(&reqs->times[collective], NULL, times))
		return;
	kvfree(times);
uncharge:
	coll_uncharge(reqs->charges, times_bytes(reqs));
}

/**
 * coll_times_free() - free the tables
 * @reqs: of the member; no request is left, and no lane runs
 */
void coll_times_free(struct coll_requests *reqs)
{
	u32 i;

	for (i = 0; i < COLLECTIVE_OPCODE_COUNT; i++) {
		if (!reqs->times[i])
			continue;
		kvfree(reqs->times[i]);
		reqs->times[i] = NULL;
		coll_uncharge(reqs->charges, times_bytes(reqs));
	}
}

/* The least i with @ns <= 2^(COLL_TIME_SHIFT + i). */
static u32 histogram_bucket(u64 ns)
{
	return ns ? min(fls64((ns - 1) >> COLL_TIME_SHIFT), COLL_TIME_COUNTS - 1) : 0;
}

static void histogram_add(struct coll_histogram *histogram, u32 bucket, u64 ns)
{
	u64_stats_inc(&histogram->count[bucket]);
	u64_stats_add(&histogram->sum, ns);
}

/* An operation that has not waited, which is frequent, has moved for all its time. */
static void times_count(struct coll_times *times, u64 took, u64 waited, u64 moved)
{
	u32 bucket = histogram_bucket(took);

	histogram_add(&times->latency, bucket, took);
	if (moved == took) {
		u64_stats_inc(&times->waiting.count[0]);
		histogram_add(&times->moving, bucket, took);
		return;
	}
	histogram_add(&times->waiting, histogram_bucket(waited), waited);
	histogram_add(&times->moving, histogram_bucket(moved), moved);
}

/* Time since the submission as a request keeps it: at least 1, as 0 says that there is none. */
static u64 since_submit(const struct coll_request *request, u64 now)
{
	return max(now - request->submit_ns, 1ULL);
}

/**
 * coll_times_queued() - an operation starts, after an earlier one of its instance
 * @request: its member is locked
 * @now: the time; ns
 */
void coll_times_queued(struct coll_request *request, u64 now)
{
	request->queued = since_submit(request, now);
	WRITE_ONCE(request->waits_vary, true);
}

/**
 * coll_times_wait_for_calls() - a part has ended, and the calls of all ranks are not known yet
 * @request: in flight
 *
 * Of several parts the last one counts.
 */
void coll_times_wait_for_calls(struct coll_request *request)
{
	WRITE_ONCE(request->calls_peer, coll_match_awaited(request));
	WRITE_ONCE(request->calls_after, since_submit(request, ktime_get_ns()));
	WRITE_ONCE(request->waits_vary, true);
}

static u64 waited_for_calls(const struct coll_request *request, struct coll_times *times, u64 took)
{
	u64 after = request->calls_after;
	u32 peer = request->calls_peer;

	if (!after || took <= after)
		return 0;
	if (peer < request->reqs->id->nranks)
		atomic64_add(took - after, &times->waited[peer]);
	return took - after;
}

static u64 waited_in_lanes(const struct coll_request *request)
{
	u64 ns = request->part[0].waited_ns;
	u32 i;

	for (i = 1; i < request->nparts; i++)
		ns = min(ns, request->part[i].waited_ns);
	return ns;
}

static void times_end(struct coll_times *times, u64 took, u64 waited, u64 active, u64 now)
{
	waited = min(waited, active);
	times_count(times, took, waited, active - waited);
	WRITE_ONCE(times->until, now);
	WRITE_ONCE(times->longest, max(times->longest, took));
}

/**
 * coll_times_add_immediate() - count an operation that was no request
 * @reqs: of the member, locked
 * @collective: enum collective_opcode
 * @took: how long it took; ns
 * @waited: how long it has waited; ns
 * @peer: the rank that it has waited for last
 * @now: time of its end; ns
 */
void coll_times_add_immediate(struct coll_requests *reqs, u32 collective, u64 took, u64 waited,
			      u32 peer, u64 now)
{
	struct coll_times *times = READ_ONCE(reqs->times[collective]);

	lockdep_assert_held(&reqs->state->lock);
	if (!times)
		return;
	if (waited && peer < reqs->id->nranks)
		atomic64_add(waited, &times->waited[peer]);
	times_end(times, took, waited, took, now);
}

/**
 * coll_times_add() - count an operation that is complete
 * @request: all its parts have been reported; its member is locked
 * @now: time of the completion; ns
 */
void coll_times_add(const struct coll_request *request, u64 now)
{
	struct coll_requests *reqs = request->reqs;
	struct coll_times *times = READ_ONCE(reqs->times[request->op.opcode]);
	u64 took = now - request->submit_ns, active = took, waited = request->part[0].waited_ns;

	lockdep_assert_held(&reqs->state->lock);
	if (!times)
		return;
	if (unlikely(request->waits_vary)) {
		waited = waited_in_lanes(request) + waited_for_calls(request, times, took);
		active -= min(request->queued, took);
	}
	if (!request->error)
		times_end(times, took, waited, active, now);
}
