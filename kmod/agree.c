// SPDX-License-Identifier: GPL-2.0-only
/*
 * Agreement: have all ranks called the same?  And failing on all of them.
 */
#include "coll.h"

static struct coll_memo *memo_of(struct coll_member *member, u64 instance)
{
	return &member->memo[instance & (COLL_INFLIGHT - 1)];
}

static bool signatures_differ(const struct coll_signature *a, const struct coll_signature *b)
{
	return a->collective != b->collective || a->type != b->type ||
	       a->reduction != b->reduction || a->algorithm != b->algorithm ||
	       a->flags != b->flags || a->root != b->root || a->count != b->count ||
	       a->layout != b->layout;
}

/**
 * coll_agree_previous() - the rank before ours on the ring
 * @member: the member
 */
u32 coll_agree_previous(const struct coll_member *member)
{
	return (member->rank ? member->rank : member->nranks) - 1;
}

static u32 member_next(const struct coll_member *member)
{
	return member->rank + 1 == member->nranks ? 0 : member->rank + 1;
}

static struct coll_cause mismatch_cause(const struct coll_member *member)
{
	return (struct coll_cause){
		.kind = COLLECTIVE_REASON_MISMATCH,
		.error = EBADMSG,
		.rank_a = coll_agree_previous(member),
		.rank_b = member->rank,
	};
}

/**
 * coll_agree_begin() - what is known of an operation already may doom it
 * @request: that has got a number; its member is locked
 * @doom: out: why it is to fail, if it is
 */
void coll_agree_begin(struct coll_request *request, struct coll_cause *doom)
{
	struct coll_member *member = request->member;
	const struct coll_memo *memo = memo_of(member, request->instance);

	doom->kind = COLLECTIVE_REASON_NONE;
	request->announced = memo->announced == request->instance + 1;
	if (memo->failed == request->instance + 1)
		*doom = memo->cause;
	else if (request->announced &&
		 signatures_differ(&memo->signature, &request->signature))
		*doom = mismatch_cause(member);
}

/**
 * coll_agree_announce() - tell the next rank what we have submitted
 * @request: numbered
 */
void coll_agree_announce(struct coll_request *request)
{
	struct coll_member *member = request->member;

	if (member->nranks == 1)
		return;
	coll_link_post(member->links[member_next(member)], &(struct coll_control) {
		.kind = COLL_CONTROL_ANNOUNCE,
		.instance = request->instance,
		.signature = request->signature,
	});
}

static void agree_flood(struct coll_member *member, u64 instance,
			  const struct coll_cause *cause)
{
	struct coll_control control = {
		.kind = COLL_CONTROL_ABORT,
		.instance = instance,
		.cause = *cause,
	};
	struct coll_link *link;
	u32 i;

	coll_for_each_link(link, member)
		coll_link_post(link, &control);
	coll_runner_kick(&member->control);
	for (i = 0; i < member->nlanes; i++)
		coll_lane_recheck(&member->lanes[i]);
}

/**
 * coll_request_abort() - fail one operation on every rank
 * @member: the member
 * @instance: its number; it need not be submitted here yet
 * @cause: why
 *
 * Context: process or work item.
 */
void coll_request_abort(struct coll_member *member, u64 instance,
			const struct coll_cause *cause)
{
	struct coll_request *request;
	bool news = false;

	spin_lock(&member->lock);
	request = coll_request_find(member, instance);
	if (request && !request->aborted) {
		request->cause = *cause;
		WRITE_ONCE(request->aborted, -(int)cause->error);
		news = true;
	} else if (!request && instance >= member->instances &&
		   instance - member->instances < COLL_INFLIGHT) {
		struct coll_memo *memo = memo_of(member, instance);

		news = memo->failed != instance + 1;
		memo->failed = instance + 1;
		memo->cause = *cause;
	}
	spin_unlock(&member->lock);

	if (news)
		agree_flood(member, instance, cause);
}

/**
 * coll_request_announced() - the previous rank has submitted an operation
 * @member: the member
 * @peer: who says so
 * @instance: number of the operation
 * @signature: what it submitted
 *
 * Context: control runner.
 */
void coll_request_announced(struct coll_member *member, u32 peer, u64 instance,
			    const struct coll_signature *signature)
{
	struct coll_cause cause = mismatch_cause(member);
	struct coll_request *request;
	bool differs = false;

	if (peer != coll_agree_previous(member))
		return;
	spin_lock(&member->lock);
	request = coll_request_find(member, instance);
	if (request) {
		request->announced = true;
		differs = signatures_differ(&request->signature, signature);
	} else if (instance >= member->instances &&
		   instance - member->instances < COLL_INFLIGHT) {
		struct coll_memo *memo = memo_of(member, instance);

		memo->announced = instance + 1;
		memo->signature = *signature;
	}
	spin_unlock(&member->lock);

	if (differs)
		coll_request_abort(member, instance, &cause);
}
