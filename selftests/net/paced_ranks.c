// SPDX-License-Identifier: GPL-2.0-only
/*
 * One rank of a group whose ranks rest for 2 ms before each allreduce, for some seconds.  Then each
 * rank asks what the group waits for, and prints the answer.
 *
 *	paced_ranks SECONDS BYTES LATE_RANKS LATE_US [SLOW_RANK NETEM]
 *
 * LATE_RANKS (one digit each; -: none) rest for LATE_US more.  A single one rests for twice as long
 * as its latest operation took, if that is more, which waits for no other rank: so it is late on a
 * busy machine, too, where they take longer.  There are LATE_OPS operations at least then.
 * SLOW_RANK sends by a queue with NETEM, after the group is connected.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "init.h"

#define REST_US	2000
#define ROUND	4
#define LATE_OPS	24

static float vector[1 << 18], sum[1 << 18];

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static int slow_down(const char *netem)
{
	char command[200];

	snprintf(command, sizeof(command), "tc qdisc add dev eth0 root netem %s", netem);
	return system(command);
}

struct pace {
	double seconds;
	size_t count;
	int late_us;	/* of this rank */
	bool alone;	/* no other rank is late */
	int least;	/* operations */
};

/* How long this rank rests before its next operation, if the latest one took so long. */
static unsigned int rest_us(const struct pace *pace, double took)
{
	/* With others, the operation may have waited for one of them. */
	const double longer = pace->alone ? 2e6 * took : 0;

	if (!pace->late_us)
		return REST_US;
	return REST_US + (longer > pace->late_us ? longer : pace->late_us);
}

/* Rank 0 says when the time is over.  Return: 0 or a negative errno. */
static int work(struct coll_comm *comm, const struct pace *pace)
{
	const double end = now() + pace->seconds;
	double begin, took = 0;
	int err = 0, n = 0, i;
	int32_t over = 0;

	while (!err && !over) {
		for (i = 0; !err && i < ROUND; i++, n++) {
			usleep(rest_us(pace, took));
			begin = now();
			err = coll_allreduce(comm, vector, sum, pace->count, COLL_FLOAT32,
					     COLL_SUM);
			took = now() - begin;
		}
		over = now() >= end && n >= pace->least;
		err = err ?: coll_broadcast(comm, &over, 1, COLL_INT32, 0);
	}
	return err;
}

int main(int argc, char **argv)
{
	struct pace pace = { 0 };
	struct coll_comm *comm;
	int err, rank;

	if (argc != 5 && argc != 7)
		return 2;
	comm = init_comm();
	if (!comm)
		return 1;
	rank = coll_rank(comm);
	pace.seconds = atof(argv[1]);
	pace.count = atoi(argv[2]) / sizeof(*vector);
	pace.late_us = strchr(argv[3], '0' + rank) ? atoi(argv[4]) : 0;
	pace.alone = strlen(argv[3]) == 1;
	pace.least = *argv[3] == '-' ? 0 : LATE_OPS;
	if (argc == 7 && rank == atoi(argv[5]) && slow_down(argv[6]))
		return 1;
	err = work(comm, &pace);
	if (!err && system("collectivectl time straggler | grep ': '"))
		err = -1;
	err = err ?: coll_barrier(comm);
	if (err)
		printf("rank %d: %s\n", rank, coll_strerror(err));
	coll_finalize(comm);
	return !!err;
}
