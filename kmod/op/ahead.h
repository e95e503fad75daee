/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Operations that a rank has completed before all others have called them (COLLECTIVE_F_NOSYNC).
 *
 * The rank keeps its calls of them, by which they are still compared: those of the board there
 * (struct coll_board_words), others in the table of unexpected calls.  The rank that finds two that
 * differ fails the operation everywhere.  A rank that has completed it notes that as any failure,
 * so that it is passed on once, and the next operation that completes takes it.
 */
#ifndef COLL_AHEAD_H
#define COLL_AHEAD_H

#include "fail/member_state.h"

struct coll_request;
struct coll_requests;

/**
 * struct coll_ahead - the failure of an operation that this rank had completed
 * @failed: true if there is one that no operation has taken yet [l]
 * @instance: number of that operation [l]
 * @failure: why [l]
 */
struct coll_ahead {
	bool failed;
	u64 instance;
	struct coll_failure failure;
};

bool coll_ahead_call(const struct coll_requests *reqs, u64 instance,
		     struct coll_signature *signature);
bool coll_ahead_may_fail(const struct coll_requests *reqs, u64 instance,
			 const struct coll_reason *reason);
bool coll_ahead_is_used(const struct coll_requests *reqs, u64 instance);
bool coll_ahead_call_of(const struct coll_requests *reqs, u32 rank, u64 instance,
			struct coll_signature *signature);
void coll_ahead_succeeded(struct coll_requests *reqs, u64 instance);
void coll_ahead_fail(struct coll_requests *reqs, u64 instance,
		     const struct coll_failure *failure);
bool coll_ahead_take(struct coll_request *request, u64 *instance);
void coll_ahead_run(struct coll_requests *reqs);

#endif /* COLL_AHEAD_H */
