// SPDX-License-Identifier: GPL-2.0-only
/* Which transport the links of the ranks use, as the module says in sysfs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

#define GROUPS	"/sys/class/collective/collective/groups"

/* A list of all ranks without ranges has 4,010 characters. */
#define LIST_MAX	4096

enum { LOCAL, TCP, RDMA, UNREADABLE, WRONG, NCOUNTS };

static const char * const transports[] = { [LOCAL] = "local", [TCP] = "tcp", [RDMA] = "rdma" };

/* Counts the ranks of a list such as "0-2,5". */
static uint64_t count_ranks(const char *list)
{
	unsigned int first, last;
	uint64_t n = 0;

	while (sscanf(list, "%u", &first) == 1) {
		if (sscanf(list, "%u-%u", &first, &last) == 2)
			n += last - first;
		n++;
		list += strcspn(list, ",\n");
		list += strspn(list, ",\n");
	}
	return n;
}

/* Reads the list of ranks to which this one has links of a transport.  Return: NULL: unreadable. */
static const char *read_links(const struct bench *bench, const char *transport, char *list)
{
	char path[200], owner[16] = "";
	FILE *file;

	if (getuid())
		snprintf(owner, sizeof(owner), "@%u", getuid());
	snprintf(path, sizeof(path), GROUPS "/%s%s/%d/links/%s", coll_name(bench->comm), owner,
		 bench->rank, transport);
	file = fopen(path, "re");
	if (!file)
		return NULL;
	if (!fgets(list, LIST_MAX, file))
		list = NULL;
	fclose(file);
	return list;
}

/* Counts the links of this rank, and checks them against --transport. */
static void count_links(const struct bench *bench, uint64_t *counts)
{
	const char *want = bench->transport;
	bool forced = want && strcmp(want, "auto");
	char text[LIST_MAX];
	const char *list;
	int i;

	for (i = LOCAL; i <= RDMA; i++) {
		list = read_links(bench, transports[i], text);
		counts[list ? i : UNREADABLE] += list ? count_ranks(list) : 1;
		if (!forced || (list && (!strcmp(want, transports[i]) || *list == '\n')))
			continue;
		fprintf(stderr, "collective-bench: rank %d: --transport %s, but links/%s %s%s",
			bench->rank, want, transports[i], list ? "has " : "cannot be read\n",
			list ?: "");
		counts[WRONG]++;
	}
}

int bench_links(struct bench *bench)
{
	uint64_t counts[NCOUNTS] = { 0 };
	int i, err;

	count_links(bench, counts);
	err = coll_allreduce(bench->comm, COLL_IN_PLACE, counts, NCOUNTS, COLL_UINT64, COLL_SUM);
	if (err)
		return bench_fail(bench, "counting links", err);
	/* Both ends count a link. */
	for (i = LOCAL; i <= RDMA && !counts[UNREADABLE]; i++)
		bench->links[i] = counts[i] / 2;
	return counts[WRONG] != 0;
}
