// SPDX-License-Identifier: GPL-2.0-only
/* Breaks rules on purpose, with the linker's --wrap or where the world applies the rule. */
#include "world.h"

enum mutation mutation;

const char * const mutation_names[MUTATIONS] = {
	[MUTATION_NONE]		= "none",
	[MUTATION_ONE]		= "any rank is a quorum",
	[MUTATION_SHRUNK]	= "ranks that are not waited for do not count in quorums",
	[MUTATION_PROMISE]	= "an outdated ballot is promised",
	[MUTATION_ACCEPT]	= "a ballot that was not promised is accepted",
	[MUTATION_FORGET]	= "an accepted value is not told",
	[MUTATION_STAY]		= "the old group is not left before a value is accepted",
	[MUTATION_UNSEALED]	= "a rank that was ready in a group of all may be lost",
	[MUTATION_LOSABLE]	= "a promise counts although its rank may still be lost",
	[MUTATION_REFUSED]	= "a refusal is taken for the loss of a rank",
};

bool __wrap_coll_agree_quorum(const struct coll_agree *agree, const struct coll_ranks *set)
{
	struct coll_agree other = *agree;

	if (mutation == MUTATION_ONE)
		return true;
	if (mutation == MUTATION_SHRUNK)
		other.ballot_lost = coll_ranks_or(other.ballot_lost, &other.slow);
	return __real_coll_agree_quorum(&other, set);
}

bool __wrap_coll_agree_promised(const struct coll_agree *agree)
{
	struct coll_agree other = *agree;

	if (mutation == MUTATION_LOSABLE)
		other.leavers = other.promisers;
	return __real_coll_agree_promised(&other);
}

bool __wrap_coll_agree_may_promise(const struct coll_agree *agree, uint64_t ballot)
{
	return mutation == MUTATION_PROMISE || mutation == MUTATION_ACCEPT ||
	       __real_coll_agree_may_promise(agree, ballot);
}

bool __wrap_coll_agree_may_accept(const struct coll_agree *agree, uint64_t ballot)
{
	return mutation == MUTATION_ACCEPT || __real_coll_agree_may_accept(agree, ballot);
}
