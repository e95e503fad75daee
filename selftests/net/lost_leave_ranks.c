// SPDX-License-Identifier: GPL-2.0-only
/*
 * One rank of a group, each of whose ranks has a network of its own.  One leaves while
 * nothing that it says gets anywhere, for a while; the others know nothing of it and call
 * something that they need it for.  They must hear that it has left, and of no lost link.
 *
 *	goodbye_ranks VICTIM MUTE_MS
 *
 * The launcher's environment says which rank.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "init.h"

#define COUNT	100000

static float send[COUNT], receive[COUNT];

/* From now on, for that long. */
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
	/* All connections are used; then nothing is under way, or what is, is lost too. */
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
