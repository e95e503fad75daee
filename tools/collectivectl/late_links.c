// SPDX-License-Identifier: GPL-2.0-only
/* Slow links of a group: far, narrow or lossy ones. */
#include <stdlib.h>
#include <string.h>

#include "late_links.h"

/* A link is named from this part of the time on, 1 / n, and of what ranks at its ends wait. */
#define SLOW_SHARE	8
#define WAIT_SHARE	4

/*
 * A link is far if the way there and back takes so many times as long as usual, and this longer,
 * because a busy CPU may keep a frame for some ms.
 */
#define FAR_TIMES	4
#define FAR_US		4000

/*
 * It is narrow if its rate is so many times lower than usual, and so low that 64 KiB take as long
 * as FAR_US.
 */
#define NARROW_TIMES	4
#define NARROW_KIB	(64 * 1000000 / FAR_US)

/* It is lossy from so many segments on, of which each costs half of the least timeout, about. */
#define LOSSY		4
#define LOST_NS		1e8

static uint64_t near_of(const struct late_rank *rank)
{
	return rank->links.near_us;
}

static uint64_t wide_of(const struct late_rank *rank)
{
	return rank->links.wide_kib;
}

/* The lower median of what ranks say of their best links; 0: not known. */
static uint64_t usual(const struct late_group *group, uint64_t *values,
		      uint64_t (*of)(const struct late_rank *rank))
{
	unsigned int number, n = 0;

	for (number = 0; number < group->size; number++)
		if (of(&group->rank[number]))
			values[n++] = of(&group->rank[number]);
	qsort(values, n, sizeof(*values), late_compare);
	return n ? values[(n - 1) / 2] : 0;
}

static bool is_far(const struct late_group *group, unsigned int number)
{
	const struct coll_admin_slow_links *links = &group->rank[number].links;

	return links->far < group->size && group->usual_us &&
	       links->far_us >= FAR_TIMES * group->usual_us + FAR_US;
}

/* The link of a rank to a peer cannot have cost more than ranks at its ends have waited. */
static uint64_t cost(const struct late_group *group, unsigned int number, unsigned int peer,
		     double ns)
{
	const struct late_rank *a = &group->rank[number], *b = &group->rank[peer];
	uint64_t waited = a->waited > b->waited ? a->waited : b->waited;

	if (ns < waited / WAIT_SHARE)
		return 0;
	return ns < waited ? ns : waited;
}

/* The way there and back for each round of the operations, of which a ring has most. */
static uint64_t cost_of_way(const struct late_group *group, unsigned int number)
{
	const struct late_rank *rank = &group->rank[number];

	if (!is_far(group, number))
		return 0;
	return cost(group, number, rank->links.far,
		    1e3 * rank->calls * group->size * rank->links.far_us);
}

static uint64_t cost_of_loss(const struct late_group *group, unsigned int number)
{
	const struct late_rank *rank = &group->rank[number];

	if (rank->links.lossy >= group->size || rank->links.lost < LOSSY)
		return 0;
	return cost(group, number, rank->links.lossy, LOST_NS * rank->links.lost);
}

static bool is_narrow(const struct late_group *group, unsigned int number)
{
	const struct coll_admin_slow_links *links = &group->rank[number].links;

	return links->narrow < group->size && links->narrow_kib <= NARROW_KIB &&
	       links->narrow_kib <= group->usual_kib / NARROW_TIMES;
}

static uint64_t cost_of_rate(const struct late_group *group, unsigned int number)
{
	const struct late_rank *rank = &group->rank[number];

	if (!is_narrow(group, number))
		return 0;
	return cost(group, number, rank->links.narrow, 1e6 * rank->links.narrow_ms);
}

static uint64_t way_of(const struct late_group *group, unsigned int number)
{
	return group->rank[number].links.far_us;
}

static uint64_t narrow_of(const struct late_group *group, unsigned int number)
{
	return is_narrow(group, number) ? group->rank[number].links.narrow_ms : 0;
}

static uint64_t lost_of(const struct late_group *group, unsigned int number)
{
	return group->rank[number].links.lost;
}

/* Return: the first rank with the highest value. */
static unsigned int highest(const struct late_group *group,
			    uint64_t (*of)(const struct late_group *group, unsigned int number))
{
	unsigned int number, found = 0;

	for (number = 1; number < group->size; number++)
		if (of(group, number) > of(group, found))
			found = number;
	return found;
}

static bool same_end(const struct late_group *group, unsigned int a, unsigned int b, bool hosts)
{
	return hosts ? !strcmp(group->rank[a].node, group->rank[b].node) : a == b;
}

/*
 * Have all far links one end in common, and do ranks at both of their ends say that they are far?
 * A busy CPU makes the way long for a rank or two, and links without a common end are how the
 * network is.
 */
static bool is_common_end(const struct late_group *group, unsigned int end, bool hosts)
{
	bool here = false, there = false;
	unsigned int number;

	for (number = 0; number < group->size; number++) {
		if (!is_far(group, number))
			continue;
		if (same_end(group, number, end, hosts))
			here = true;
		else if (same_end(group, group->rank[number].links.far, end, hosts))
			there = true;
		else
			return false;
	}
	return here && there;
}

/*
 * Have all narrow links one end in common?  The sender says so, since a link may be narrow in one
 * direction.
 */
static bool is_common_narrow_end(const struct late_group *group, unsigned int end, bool hosts)
{
	unsigned int number;

	for (number = 0; number < group->size; number++)
		if (is_narrow(group, number) && !same_end(group, number, end, hosts) &&
		    !same_end(group, group->rank[number].links.narrow, end, hosts))
			return false;
	return true;
}

static bool is_slow(const struct late_group *group, uint64_t ns)
{
	return ns > group->cost && ns >= group->span / SLOW_SHARE;
}

/*
 * Name the link of a rank to a peer, or the end that all such links have in common.  Return: false
 * if there is none.
 */
static bool name_link(struct late_group *group, unsigned int number, unsigned int peer,
		      bool (*is_common)(const struct late_group *group, unsigned int end,
					bool hosts))
{
	bool hosts = strcmp(group->rank[number].node, group->rank[peer].node);
	bool here = is_common(group, number, hosts), there = is_common(group, peer, hosts);

	if (!here && !there)
		return false;
	group->slow = here ? number : peer;
	group->slow_peer = here && there ? peer : COLL_ADMIN_NONE;
	return true;
}

/* Say why a link is named, and forget another reason. */
static void set_reason(struct late_group *group, uint64_t ns, unsigned int way_us,
		       unsigned int rate_kib, unsigned int lost)
{
	group->cost = ns;
	group->way_us = way_us;
	group->rate_kib = rate_kib;
	group->lost = lost;
}

static void find_far_link(struct late_group *group)
{
	unsigned int number = highest(group, way_of);
	const struct coll_admin_slow_links *links = &group->rank[number].links;
	uint64_t ns = cost_of_way(group, number);

	if (is_slow(group, ns) && name_link(group, number, links->far, is_common_end))
		set_reason(group, ns, links->far_us, 0, 0);
}

static void find_narrow_link(struct late_group *group)
{
	unsigned int number = highest(group, narrow_of);
	const struct coll_admin_slow_links *links = &group->rank[number].links;
	uint64_t ns = cost_of_rate(group, number);

	if (is_slow(group, ns) && name_link(group, number, links->narrow, is_common_narrow_end))
		set_reason(group, ns, 0, links->narrow_kib, 0);
}

static void find_lossy_link(struct late_group *group)
{
	unsigned int number = highest(group, lost_of);
	const struct coll_admin_slow_links *links = &group->rank[number].links;
	uint64_t ns = cost_of_loss(group, number);

	if (!is_slow(group, ns))
		return;
	group->slow = number;
	group->slow_peer = links->lossy;
	set_reason(group, ns, 0, 0, links->lost);
}

void late_links_sum(struct late_group *group, uint64_t *values)
{
	group->usual_us = usual(group, values, near_of);
	group->usual_kib = usual(group, values, wide_of);
	find_far_link(group);
	find_narrow_link(group);
	find_lossy_link(group);
}
