// SPDX-License-Identifier: GPL-2.0-only
/*
 * One rank of a group in which each rank has its own network. One rank leaves while its packets
 * are dropped for some time. The others do not know, and call an operation. They must get the
 * error that the rank left, not that of a lost link.
 *
 *	lost_leave_ranks VICTIM MUTE_MS
 *
 * The environment of the launcher gives the rank.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "init.h"

#define COUNT	100000

static float send[COUNT], receive[COUNT];

/* Drop all packets of this rank for @ms. */
static int mute(int ms)
{
	char unmute[120];

	snprintf(unmute, sizeof(unmute),
		 "(sleep %d.%03d; tc qdisc del dev eth0 root) </dev/null >/dev/null 2>&1 &",
		 ms / 1000, ms % 1000);
	return system("tc qdisc add dev eth0 root netem loss 100%") || system(unmute);
}

static int has_left(const char *detail, int victim)
{
	int who;

	return strstr(detail, " left ") && sscanf(detail, "rank %d", &who) == 1 && who == victim;
}

int main(int argc, char **argv)
{
	struct coll_comm *comm;
	int victim, err;

	if (argc != 3)
		return 2;
	victim = atoi(argv[1]);
	comm = init_comm();
	if (!comm)
		return 1;
	/* Use all connections; then nothing else is in flight. */
	err = coll_allreduce(comm, send, receive, COUNT, COLL_FLOAT32, COLL_SUM);
	if (err) {
		fprintf(stderr, "coll_allreduce: %s\n", coll_error_detail(comm));
		return 1;
	}
	if (coll_rank(comm) == victim) {
		if (mute(atoi(argv[2])))
			return 1;
	} else {
		usleep(atoi(argv[2]) * 500);
		err = coll_allreduce(comm, send, receive, COUNT, COLL_FLOAT32, COLL_SUM);
		printf("rank %d: %d, %s\n", coll_rank(comm), err, coll_error_detail(comm));
		if (err != -ECONNRESET || !has_left(coll_error_detail(comm), victim))
			return 1;
	}
	coll_finalize(comm);
	return 0;
}
