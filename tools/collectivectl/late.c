// SPDX-License-Identifier: GPL-2.0-only
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "late.h"
#include "late_links.h"

/* A rank is named from this part of the time on, 1 / n. */
#define LATE_SHARE	4

/* And from this part of what operations of the others take. */
#define WAIT_SHARE	4

/* A rank must also differ from the others by so many times as much as they do among themselves. */
#define LATE_DEVIATIONS	4

/* If several ranks are late, each is by this part of what operations of the others take. */
#define TOGETHER_SHARE	2

/* Two answers of a rank are further apart. */
#define SAME_ANSWER_NS	(COLL_ADMIN_QUERY_MS * 1000000ULL / 2)

static const struct coll_admin_slow_links no_links = {
	.far = COLL_ADMIN_NONE,
	.lossy = COLL_ADMIN_NONE,
	.narrow = COLL_ADMIN_NONE,
};

void late_group_init(struct late_group *group, const char *name, unsigned int size)
{
	unsigned int rank;

	*group = (struct late_group){
		.size = size,
		.rank = calloc(size, sizeof(*group->rank)),
		.answer = calloc(size, sizeof(*group->answer)),
	};
	if (!group->rank || !group->answer)
		err(CTL_FAILED, "memory");
	snprintf(group->name, sizeof(group->name), "%s", name);
	for (rank = 0; rank < size; rank++)
		group->answer[rank].links = no_links;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static int add_group(const struct coll_admin_group *group, void *arg)
{
	struct lates *lates = arg;

	lates->group = reallocarray(lates->group, lates->n + 1, sizeof(*lates->group));
	if (!lates->group)
		err(CTL_FAILED, "memory");
	late_group_init(&lates->group[lates->n], group->name, group->size);
	lates->group[lates->n++].members = group->members;
	return 0;
}

static int add_member(const struct coll_admin_member *member, void *arg)
{
	struct late_group *group = arg;

	if (member->rank >= group->size)
		return 0;
	group->rank[member->rank].here = true;
	group->rank[member->rank].known = group->members == group->size;
	return 0;
}

static int add_wait(const struct coll_admin_pair *pair, void *arg)
{
	struct late_group *group = arg;

	if (pair->rank >= group->size || pair->waited.peer >= group->size)
		return 0;
	group->rank[pair->rank].waited += pair->waited.ns;
	group->rank[pair->waited.peer].awaited += pair->waited.ns;
	return 0;
}

static int add_time(const struct coll_admin_time *time, void *arg)
{
	struct late_group *group = arg;
	struct late_rank *rank;

	if (time->rank >= group->size)
		return 0;
	rank = &group->rank[time->rank];
	/* They are of different moments, of which the sum is the later one. */
	rank->called += time->latency->sum_ns - least(time->longest_ns, time->latency->sum_ns);
	rank->span = most(rank->span, time->span_ns - least(time->longest_ns, time->span_ns));
	return 0;
}

static int add_answer(const struct coll_admin_answer *answer, void *arg)
{
	struct late_group *group = arg;
	struct late_answer *late;

	if (!answer->answered || answer->rank >= group->size)
		return 0;
	snprintf(group->rank[answer->rank].node, sizeof(group->rank[answer->rank].node), "%s",
		 answer->node);
	late = &group->answer[answer->rank];
	late->answered = true;
	late->at = ctl_clock_ns(CLOCK_MONOTONIC) - answer->age_ns;
	late->waited = answer->waited_ns;
	late->called = answer->called_ms * 1000000ULL;
	late->span = answer->span_ms * 1000000ULL;
	late->calls = answer->counted;
	late->links = answer->links;
	late->awaits = COLL_ADMIN_NONE;
	if (answer->oldest.instance != COLL_ADMIN_NO_INSTANCE) {
		late->oldest = answer->oldest.age_ms * 1000000ULL;
		late->awaits = answer->oldest.nwaits ? answer->oldest.waits[0] : COLL_ADMIN_NONE;
	}
	late->n = answer->nlongest;
	memcpy(late->longest, answer->longest, late->n * sizeof(*late->longest));
	return 0;
}

static void group_free(struct late_group *group)
{
	free(group->rank);
	free(group->answer);
}

/*
 * A group on several hosts is asked, so that each host sees the same.
 *
 * Return: 0 or more; or a negative errno, as of a group of another user, or that has ended.
 */
static int take_group(struct late_group *group, struct coll_admin *admin, unsigned int timeout_ms)
{
	int error = coll_admin_members(admin, group->name, COLL_ADMIN_ALL, add_member, group);

	if (error >= 0 && group->members < group->size) {
		/* Nothing is known of a rank that does not answer. */
		coll_admin_query(admin, group->name, timeout_ms, add_answer, group);
		return error;
	}
	if (error >= 0)
		error = coll_admin_waits(admin, group->name, COLL_ADMIN_ALL, add_wait, group);
	if (error >= 0)
		error = coll_admin_times(admin, group->name, COLL_ADMIN_ALL, add_time, group);
	return error;
}

int lates_take(struct lates *lates, struct coll_admin *admin, const char *name,
	       unsigned int timeout_ms)
{
	size_t i, n = 0;
	int error;

	*lates = (struct lates){ 0 };
	error = coll_admin_groups(admin, name, add_group, lates);
	for (i = 0; error >= 0 && i < lates->n; i++) {
		int refused = take_group(&lates->group[i], admin, timeout_ms);

		if (refused >= 0) {
			lates->group[n++] = lates->group[i];
			continue;
		}
		group_free(&lates->group[i]);
		if (name || (refused != -EACCES && refused != -ENOENT))
			error = refused;
	}
	/* After an error the rest was not taken. */
	for (; i < lates->n; i++)
		group_free(&lates->group[i]);
	lates->n = n;
	return error;
}

struct lates lates_copy(const struct lates *lates)
{
	struct lates copy = { .n = lates->n };
	size_t i;

	copy.group = reallocarray(NULL, lates->n + 1, sizeof(*copy.group));
	if (!copy.group)
		err(CTL_FAILED, "memory");
	for (i = 0; i < lates->n; i++) {
		const struct late_group *from = &lates->group[i];
		struct late_group *to = &copy.group[i];

		late_group_init(to, from->name, from->size);
		to->members = from->members;
		memcpy(to->rank, from->rank, from->size * sizeof(*to->rank));
		memcpy(to->answer, from->answer, from->size * sizeof(*to->answer));
	}
	return copy;
}

void lates_free(struct lates *lates)
{
	size_t i;

	for (i = 0; i < lates->n; i++)
		group_free(&lates->group[i]);
	free(lates->group);
}

static struct late_group *find(const struct lates *lates, const char *group)
{
	size_t i;

	for (i = 0; i < lates->n; i++)
		if (!strcmp(lates->group[i].name, group))
			return &lates->group[i];
	return NULL;
}

const struct late_group *lates_find(const struct lates *lates, const char *group)
{
	return find(lates, group);
}

void lates_wait(struct lates *lates, const char *group, unsigned int rank, unsigned int peer,
		uint64_t ns)
{
	struct late_group *late = find(lates, group);

	if (!late || rank >= late->size || peer >= late->size || late->members < late->size)
		return;
	late->rank[rank].called = most(late->rank[rank].called, ns);
	if (late->rank[rank].waited >= ns)
		return;
	late->rank[peer].awaited += ns - late->rank[rank].waited;
	late->rank[rank].waited = ns;
}

/* A rank that has joined again counts from 0. */
static void subtract(uint64_t *now, uint64_t earlier)
{
	if (*now >= earlier)
		*now -= earlier;
}

/* Operations overlap, so a long one may move the latest completion by less than it is long. */
static void subtract_span(uint64_t *now, uint64_t earlier)
{
	*now -= least(*now, earlier);
}

/*
 * A rank that an answer does not name was waited for less than those that it names, so the
 * difference is that much at least.
 */
static uint64_t longest_before(const struct late_answer *earlier, unsigned int peer)
{
	unsigned int i;

	for (i = 0; i < earlier->n; i++)
		if (earlier->longest[i].peer == peer)
			return earlier->longest[i].ns;
	return earlier->n < COLL_ADMIN_LONGEST ? 0 : earlier->longest[earlier->n - 1].ns;
}

/*
 * An operation in flight that was there before has taken all the time.  If no wait has ended since,
 * it has waited all the time, and that is not counted yet.
 */
static void add_oldest(struct late_answer *now, uint64_t ns)
{
	if (now->oldest < ns)
		return;
	now->called = most(now->called, ns);
	if (now->waited || now->awaits == COLL_ADMIN_NONE)
		return;
	now->waited = ns;
	now->n = 1;
	now->longest[0] = (struct coll_admin_wait){ .peer = now->awaits, .ns = ns };
}

/* Of another link than before nothing is known. */
static void subtract_lost(struct coll_admin_slow_links *now,
			  const struct coll_admin_slow_links *earlier)
{
	if (now->lossy == earlier->lossy && now->lost >= earlier->lost)
		now->lost -= earlier->lost;
	else if (earlier->lossy != COLL_ADMIN_NONE)
		now->lost = 0;
}

static void subtract_narrow(struct coll_admin_slow_links *now,
			    const struct coll_admin_slow_links *earlier)
{
	if (now->narrow == earlier->narrow && now->narrow_ms >= earlier->narrow_ms)
		now->narrow_ms -= earlier->narrow_ms;
	else if (earlier->narrow != COLL_ADMIN_NONE)
		now->narrow_ms = 0;
}

static void subtract_answer(struct late_answer *now, const struct late_answer *earlier)
{
	unsigned int i;

	/* A group is asked once a second at most: another program may have asked just before. */
	now->answered &= earlier->answered && now->at - earlier->at > SAME_ANSWER_NS;
	/* It has joined again. */
	if (now->waited < earlier->waited)
		return;
	now->waited -= earlier->waited;
	subtract(&now->called, earlier->called);
	subtract_span(&now->span, earlier->span);
	subtract(&now->calls, earlier->calls);
	subtract_lost(&now->links, &earlier->links);
	subtract_narrow(&now->links, &earlier->links);
	for (i = 0; i < now->n; i++) {
		uint64_t before = longest_before(earlier, now->longest[i].peer);

		now->longest[i].ns -= least(before, now->longest[i].ns);
	}
	add_oldest(now, now->at - earlier->at);
}

void lates_subtract(struct lates *lates, const struct lates *earlier)
{
	const struct late_group *before;
	unsigned int rank;
	size_t i;

	for (i = 0; i < lates->n; i++) {
		before = lates_find(earlier, lates->group[i].name);
		/* Another group may have the name now. */
		if (!before || before->size != lates->group[i].size)
			continue;
		for (rank = 0; rank < before->size; rank++) {
			struct late_rank *now = &lates->group[i].rank[rank];

			subtract(&now->waited, before->rank[rank].waited);
			subtract(&now->awaited, before->rank[rank].awaited);
			subtract(&now->called, before->rank[rank].called);
			subtract_span(&now->span, before->rank[rank].span);
			subtract_answer(&lates->group[i].answer[rank], &before->answer[rank]);
		}
	}
}

static void sum_answer(struct late_group *group, unsigned int number)
{
	const struct late_answer *answer = &group->answer[number];
	struct late_rank *rank = &group->rank[number];
	unsigned int i;

	if (!answer->answered)
		return;
	rank->known = true;
	rank->waited += answer->waited;
	rank->called += answer->called;
	rank->span = answer->span;
	rank->calls = answer->calls;
	rank->links = answer->links;
	for (i = 0; i < answer->n; i++)
		if (answer->longest[i].peer < group->size)
			group->rank[answer->longest[i].peer].awaited += answer->longest[i].ns;
}

int late_compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Of the @n values of @sorted without @own, which is one of them, the lower median. */
static uint64_t median_of_others(const uint64_t *sorted, unsigned int n, uint64_t own)
{
	unsigned int middle = (n - 2) / 2;

	return sorted[middle] < own ? sorted[middle] : sorted[middle + 1];
}

static uint64_t waited_of(const struct late_rank *rank)
{
	return rank->waited;
}

static uint64_t called_of(const struct late_rank *rank)
{
	return rank->called;
}

/* Writes a time of all known ranks into @times, in order. */
static void sort_times(const struct late_group *group, uint64_t *times,
		       uint64_t (*of)(const struct late_rank *rank))
{
	unsigned int number, n = 0;

	for (number = 0; number < group->size; number++)
		if (group->rank[number].known)
			times[n++] = of(&group->rank[number]);
	qsort(times, n, sizeof(*times), late_compare);
}

static uint64_t less(uint64_t own, uint64_t others)
{
	return own < others ? others - own : 0;
}

static bool is_much(const struct late_group *group, uint64_t ns, uint64_t median)
{
	return ns && ns >= group->span / LATE_SHARE && ns >= median / WAIT_SHARE;
}

/**
 * struct late_sorted - times of all known ranks, in order
 * @waited: how long they have waited
 * @called: how long their operations took
 */
struct late_sorted {
	uint64_t *waited;
	uint64_t *called;
};

static uint64_t median_called(const struct late_group *group, unsigned int number,
			      const struct late_sorted *sorted)
{
	return median_of_others(sorted->called, group->known, group->rank[number].called);
}

static bool is_early(const struct late_group *group, unsigned int number,
		     const struct late_sorted *sorted)
{
	return is_much(group, group->rank[number].early, median_called(group, number, sorted));
}

/*
 * The mean by which the operations of the other ranks that take part differ from their median.
 * @prompt: only of those that are not early themselves
 */
static uint64_t deviation_of_others(const struct late_group *group, unsigned int except,
				    const struct late_sorted *sorted, bool prompt)
{
	const uint64_t median = median_called(group, except, sorted);
	unsigned int number, n = 0;
	uint64_t sum = 0;

	for (number = 0; number < group->size; number++) {
		const struct late_rank *rank = &group->rank[number];

		if (!rank->known || number == except || !(rank->called || rank->awaited) ||
		    (prompt && is_early(group, number, sorted)))
			continue;
		sum += most(rank->called, median) - least(rank->called, median);
		n++;
	}
	return n ? sum / n : 0;
}

/* Writes how late each rank is.  Return: the latest one; COLL_ADMIN_NONE: none is late. */
static unsigned int find_latest(struct late_group *group, const struct late_sorted *sorted)
{
	unsigned int number, latest = COLL_ADMIN_NONE;

	for (number = 0; number < group->size; number++) {
		struct late_rank *rank = &group->rank[number];

		if (!rank->known)
			continue;
		rank->early = less(rank->waited, median_of_others(sorted->waited, group->known,
								  rank->waited));
		rank->early = least(rank->early,
				    less(rank->called, median_called(group, number, sorted)));
		rank->late = least(rank->early, rank->awaited);
		if (rank->late && (latest == COLL_ADMIN_NONE ||
				   rank->late > group->rank[latest].late))
			latest = number;
	}
	return latest;
}

static bool is_late(const struct late_group *group, unsigned int number,
		    const struct late_sorted *sorted)
{
	return is_much(group, group->rank[number].late, median_called(group, number, sorted));
}

/*
 * Does a late rank differ from the others by much more than they do among themselves?  Other late
 * ranks make them differ, and so do ranks on a busy CPU; the operations of the latter take nearly
 * as long as those of the others.
 */
static bool is_sure(const struct late_group *group, unsigned int number,
		    const struct late_sorted *sorted)
{
	const uint64_t late = group->rank[number].late;

	if (late >= LATE_DEVIATIONS * deviation_of_others(group, number, sorted, false))
		return true;
	return late >= median_called(group, number, sorted) / TOGETHER_SHARE &&
	       late >= LATE_DEVIATIONS * deviation_of_others(group, number, sorted, true);
}

static void find_stragglers(struct late_group *group, const struct late_sorted *sorted)
{
	unsigned int number, latest;

	sort_times(group, sorted->waited, waited_of);
	sort_times(group, sorted->called, called_of);
	latest = find_latest(group, sorted);
	if (latest == COLL_ADMIN_NONE || !is_late(group, latest, sorted))
		return;
	if (!is_sure(group, latest, sorted)) {
		group->unsure = latest;
		return;
	}
	group->straggler = latest;
	for (number = 0; number < group->size; number++)
		group->rank[number].straggler = group->rank[number].known &&
						is_late(group, number, sorted) &&
						is_sure(group, number, sorted);
}

static void drop_stragglers(struct late_group *group)
{
	unsigned int number;

	group->straggler = COLL_ADMIN_NONE;
	for (number = 0; number < group->size; number++)
		group->rank[number].straggler = false;
}

/* The group waits for ranks or for the link, whatever has cost more. */
static void choose(struct late_group *group)
{
	if (group->straggler == COLL_ADMIN_NONE || group->slow == COLL_ADMIN_NONE)
		return;
	if (group->rank[group->straggler].late > group->cost)
		group->slow = COLL_ADMIN_NONE;
	else
		drop_stragglers(group);
}

/* Ranks that have waited long for once have the shortest spans. */
static void add_known(struct late_group *group, const struct late_rank *rank)
{
	if (!rank->known)
		return;
	group->known++;
	if (rank->span)
		group->span = group->span ? least(group->span, rank->span) : rank->span;
}

static void sum_group(struct late_group *group)
{
	uint64_t *times = calloc(2 * group->size, sizeof(*times));
	unsigned int number;

	if (!times)
		err(CTL_FAILED, "memory");
	group->straggler = COLL_ADMIN_NONE;
	group->unsure = COLL_ADMIN_NONE;
	group->slow = COLL_ADMIN_NONE;
	group->span = 0;
	group->cost = 0;
	group->way_us = 0;
	group->lost = 0;
	group->rate_kib = 0;
	group->known = 0;
	for (number = 0; number < group->size; number++)
		sum_answer(group, number);
	for (number = 0; number < group->size; number++)
		add_known(group, &group->rank[number]);
	if (group->known > 1) {
		find_stragglers(group, &(struct late_sorted){ times, times + group->size });
		late_links_sum(group, times);
		choose(group);
	}
	free(times);
}

void lates_sum(struct lates *lates)
{
	size_t i;

	for (i = 0; i < lates->n; i++)
		sum_group(&lates->group[i]);
}

static void print_rank(const struct late_group *group, unsigned int number)
{
	printf("rank %u", number);
	if (group->members < group->size && *group->rank[number].node)
		printf(" (on %s)", group->rank[number].node);
}

static unsigned int percent(const struct late_group *group, uint64_t ns)
{
	return group->span && ns < group->span ? 100.0 * ns / group->span + 0.5 : 100;
}

static void print_slow_link(const struct late_group *group)
{
	if (group->slow_peer == COLL_ADMIN_NONE) {
		printf("the links of ");
		print_rank(group, group->slow);
		printf(" are slow");
	} else {
		printf("the link between ");
		print_rank(group, group->slow);
		printf(" and ");
		print_rank(group, group->slow_peer);
		printf(" is slow");
	}
	printf(": some %u%% of the time", percent(group, group->cost));
	if (group->way_us)
		printf(", there and back in %.1f ms, others in %.1f ms", group->way_us / 1e3,
		       group->usual_us / 1e3);
	else if (group->rate_kib)
		printf(", %.1f MB/s, others %.1f MB/s", group->rate_kib * 1024 / 1e6,
		       group->usual_kib * 1024 / 1e6);
	else
		printf(", %u segments lost", group->lost);
	putchar('\n');
}

static void print_stragglers(const struct late_group *group)
{
	unsigned int number;

	for (number = 0; number < group->size; number++) {
		if (!group->rank[number].straggler)
			continue;
		printf("%s: ", group->name);
		print_rank(group, number);
		printf(" is waited for: late by %u%% of the time\n",
		       percent(group, group->rank[number].late));
	}
}

void late_print(const struct late_group *group)
{
	if (group->straggler != COLL_ADMIN_NONE) {
		print_stragglers(group);
	} else if (group->slow != COLL_ADMIN_NONE) {
		printf("%s: ", group->name);
		print_slow_link(group);
	} else if (group->unsure != COLL_ADMIN_NONE) {
		printf("%s: not sure: ", group->name);
		print_rank(group, group->unsure);
		printf(" is late by %u%% of the time, but others differ as much\n",
		       percent(group, group->rank[group->unsure].late));
	} else if (group->known > 1) {
		printf("%s: no straggler\n", group->name);
	}
	if (group->known < group->size)
		printf("%s: %u of %u ranks have not answered: another one may be the straggler\n",
		       group->name, group->size - group->known, group->size);
}
