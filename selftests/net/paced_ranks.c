// SPDX-License-Identifier: GPL-2.0-only
/*
 * One rank of a group whose ranks rest for 2 ms before each allreduce, for some seconds.  Then each
 * rank asks what the group waits for, and prints the answer.
 *
 *	paced_ranks SECONDS BYTES LATE_RANK LATE_US [SLOW_RANK NETEM]
 *
 * LATE_RANK (-1: none) rests for LATE_US more.  SLOW_RANK sends by a queue with NETEM, after the
 * group is connected.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "init.h"

#define REST_US	2000
#define ROUND	4

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

/* Rank 0 says when the time is over.  Return: 0 or a negative errno. */
static int work(struct coll_comm *comm, double seconds, size_t count, unsigned int rest_us)
{
	double end = now() + seconds;
	int32_t over = 0;
	int err = 0, i;

	while (!err && !over) {
		for (i = 0; !err && i < ROUND; i++) {
			usleep(rest_us);
			err = coll_allreduce(comm, vector, sum, count, COLL_FLOAT32, COLL_SUM);
		}
		over = now() >= end;
		err = err ?: coll_broadcast(comm, &over, 1, COLL_INT32, 0);
	}
	return err;
}

int main(int argc, char **argv)
{
	struct coll_comm *comm;
	int err, rank, late;

	if (argc != 5 && argc != 7)
		return 2;
	comm = init_comm();
	if (!comm)
		return 1;
	rank = coll_rank(comm);
	late = rank == atoi(argv[3]) ? atoi(argv[4]) : 0;
	if (argc == 7 && rank == atoi(argv[5]) && slow_down(argv[6]))
		return 1;
	err = work(comm, atof(argv[1]), atoi(argv[2]) / sizeof(*vector), REST_US + late);
	if (!err && system("collectivectl time straggler | grep ': '"))
		err = -1;
	err = err ?: coll_barrier(comm);
	if (err)
		printf("rank %d: %s\n", rank, coll_strerror(err));
	coll_finalize(comm);
	return !!err;
}
