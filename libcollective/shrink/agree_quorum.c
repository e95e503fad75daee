// SPDX-License-Identifier: LGPL-2.1-or-later
/* The rules that keep two ranks from deciding differently: see Documentation/design/shrink.rst. */
#include "shrink/agree.h"

struct coll_ranks coll_agree_alive(const struct coll_agree *agree)
{
	const struct coll_ranks all = coll_ranks_first(agree->nranks);

	return coll_ranks_without(all, &agree->lost);
}

/*
 * A rank that is silent, refuses packets or has ended counts: it may live, or may have accepted
 * something.
 */
bool coll_agree_quorum(const struct coll_agree *agree, const struct coll_ranks *set)
{
	const struct coll_ranks all = coll_ranks_first(agree->nranks);
	const struct coll_ranks base = coll_ranks_without(all, &agree->ballot_lost);
	const unsigned int n = coll_ranks_count(&base), have = coll_ranks_count(set);

	return agree->minority || 2 * have > n ||
	       (2 * have == n && coll_ranks_has(set, coll_ranks_lowest(&base)));
}

/*
 * A rank that promises and is lost afterwards is missed in the quorums of ballots that know of its
 * loss.  So the promisers are a quorum without those that may still be lost, or they are all
 * ranks.
 */
bool coll_agree_promised(const struct coll_agree *agree)
{
	const struct coll_ranks all = coll_ranks_first(agree->nranks);
	const struct coll_ranks base = coll_ranks_without(all, &agree->ballot_lost);

	return coll_agree_quorum(agree, &agree->leavers) ||
	       coll_ranks_within(&base, &agree->promisers);
}

bool coll_agree_may_promise(const struct coll_agree *agree, uint64_t ballot)
{
	return ballot >= agree->promised;
}

/*
 * Only the promised ballot, so that every rank that accepts is among the promisers, with its
 * state known to the proposer.
 */
bool coll_agree_may_accept(const struct coll_agree *agree, uint64_t ballot)
{
	return ballot == agree->promised;
}

bool coll_agree_fenced(const struct coll_agree *agree, unsigned int rank)
{
	return coll_ranks_has(&agree->lost, rank);
}
