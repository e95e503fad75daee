// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long preemption is disabled: sections with the vector registers, measured with the
 * tracepoint collective_vector, for layouts with rows of one element and for contiguous memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "lib/group.h"
#include "kselftest_harness.h"

#define TRACING	"/sys/kernel/tracing"
#define EVENT	TRACING "/events/collective/collective_vector/enable"

#define RANKS	2
#define COUNT	(128 * 1024)	/* elements of a block */
#define TURNS	4

/* Upper bound of the work of a section: kmod/exec/fpu.h. */
#define COST_MAX	(2 * 64 * 1024)
/* Hundreds of pieces take longer than as many bytes in one piece, but not a hundred times. */
#define RATIO_MAX	25

/**
 * struct sections - the sections that were traced
 * @n: number of sections
 * @cost: largest cost of a section
 * @ns: median duration; ns
 * @longest: longest duration; ns
 */
struct sections {
	size_t n;
	unsigned long long cost;
	unsigned long long ns;
	unsigned long long longest;
};

struct layout_arg {
	__u64 stride;
};

/* Sum blocks of elements that are this far apart. */
static int rank_reduces(struct rank *r)
{
	const struct layout_arg *arg = r->arg;
	const size_t span = COUNT * arg->stride;
	float *send = calloc(RANKS * span, sizeof(*send));
	float *recv = calloc(span, sizeof(*recv));
	struct collective_layout layout = {
		.size = sizeof(layout),
		.send = { .rows = COUNT, .stride = arg->stride, .distance = span },
		.recv = { .rows = COUNT, .stride = arg->stride },
	};
	struct collective_op op = {
		.opcode = COLLECTIVE_REDUCE_SCATTER,
		.type = COLLECTIVE_FLOAT32,
		.reduction = COLLECTIVE_SUM,
		.count = COUNT,
		.send = (uintptr_t)send,
		.recv = (uintptr_t)recv,
		.layout = (uintptr_t)&layout,
	};
	size_t i;

	CHECK(send && recv);
	for (i = 0; i < RANKS * span; i += arg->stride)
		send[i] = 1;
	for (i = 0; i < TURNS; i++)
		CHECK_EQ(0, member_submit(r->fd, &op));
	for (i = 0; i < span; i++)
		CHECK_EQ(i % arg->stride ? 0 : RANKS, recv[i]);
	free(send);
	free(recv);
	return 0;
}

static int compare(const void *a, const void *b)
{
	unsigned long long x = *(const unsigned long long *)a, y = *(const unsigned long long *)b;

	return x < y ? -1 : x > y;
}

static void sections_read(struct sections *sections)
{
	FILE *file = fopen(TRACING "/trace", "r");
	unsigned long long *all = NULL, cost, ns;
	char line[512];

	memset(sections, 0, sizeof(*sections));
	while (file && fgets(line, sizeof(line), file)) {
		const char *at = strstr(line, "collective_vector: cost=");

		if (!at || sscanf(at, "collective_vector: cost=%llu ns=%llu", &cost, &ns) != 2)
			continue;
		all = realloc(all, (sections->n + 1) * sizeof(*all));
		all[sections->n++] = ns;
		if (cost > sections->cost)
			sections->cost = cost;
	}
	if (file)
		fclose(file);
	if (sections->n) {
		qsort(all, sections->n, sizeof(*all), compare);
		sections->ns = all[sections->n / 2];
		sections->longest = all[sections->n - 1];
	}
	free(all);
}

static int sections_of(__u64 stride, struct sections *sections)
{
	const struct group_config config = { .nranks = RANKS };
	struct layout_arg arg = { .stride = stride };

	close(open(TRACING "/trace", O_WRONLY | O_TRUNC));
	CHECK_EQ(0, file_set(EVENT, "1"));
	CHECK_EQ(0, group_run(&config, rank_reduces, &arg));
	CHECK_EQ(0, file_set(EVENT, "0"));
	sections_read(sections);
	dprintf(STDOUT_FILENO, "# stride %llu: %zu sections, cost %llu, ",
		(unsigned long long)stride, sections->n, sections->cost);
	dprintf(STDOUT_FILENO, "half below %llu ns, longest %llu ns\n", sections->ns,
		sections->longest);
	return 0;
}

TEST(sections)
{
	struct sections plain, rows;

	if (access(EVENT, F_OK))
		mount("tracefs", TRACING, "tracefs", 0, NULL);
	if (access(EVENT, F_OK))
		SKIP(return, "no trace events");
	ASSERT_EQ(0, sections_of(1, &plain));
	ASSERT_EQ(0, sections_of(2, &rows));
	if (!plain.n && !rows.n)
		SKIP(return, "no vector registers");
	/* The same number of elements in pieces takes more sections, each as short. */
	EXPECT_LT(plain.n, rows.n);
	EXPECT_GT(COST_MAX, plain.cost);
	EXPECT_GT(COST_MAX, rows.cost);
	EXPECT_GT(RATIO_MAX * plain.ns, rows.ns);
}

TEST_HARNESS_MAIN
