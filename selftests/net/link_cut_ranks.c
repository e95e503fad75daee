// SPDX-License-Identifier: GPL-2.0-only
/*
 * One rank of a group, each of whose ranks has a network of its own, until the link of
 * one is cut: nothing gets there or comes from there any more, and nobody is told.
 * Every rank must hear of a silence that its link's other end or itself is part of,
 * in time.
 *
 *	cut_ranks VICTIM AFTER_MS TIME_MS
 *
 * The launcher's environment says which rank.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "init.h"

#define COUNT	100000

static float send[COUNT], receive[COUNT];

static long long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

/* "between rank A and rank B" with the victim among them. */
static int names(const char *detail, int victim)
{
	const char *pair = strstr(detail, "between rank ");
	int a, b;

	return pair && sscanf(pair, "between rank %d and rank %d", &a, &b) == 2 &&
	       (a == victim || b == victim);
}

int main(int argc, char **argv)
{
	int victim, err = 0, cut = 0;
	long long begin, told;
	struct coll_comm *comm;

	if (argc != 4)
		return 2;
	victim = atoi(argv[1]);
	comm = init_comm();
	if (!comm)
		return 1;
	begin = now_ms();
	while (!err && now_ms() < begin + 60000) {
		if (!cut && coll_rank(comm) == victim && now_ms() >= begin + atoi(argv[2])) {
			cut = 1;
			if (system("ip link set eth0 down"))
				return 1;
		}
		err = coll_allreduce(comm, send, receive, COUNT, COLL_FLOAT32, COLL_SUM);
	}
	told = now_ms() - begin - atoi(argv[2]);
	printf("rank %d after %lld ms: %d, %s\n", coll_rank(comm), told, err,
	       coll_error_detail(comm));
	if (err != -ECONNRESET || !names(coll_error_detail(comm), victim) || told > atoi(argv[3]))
		return 1;
	coll_finalize(comm);
	return 0;
}
