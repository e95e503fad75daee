// SPDX-License-Identifier: GPL-2.0-only
/*
 * One rank of a group in which rank 2 calls each barrier late.
 *
 *	late_ranks BARRIERS MILLISECONDS
 */
#include <stdlib.h>
#include <unistd.h>

#include "../net/init.h"

int main(int argc, char **argv)
{
	struct coll_comm *comm;
	int barriers, err = 0;

	if (argc != 3)
		return 2;
	comm = init_comm();
	if (!comm)
		return 1;
	for (barriers = atoi(argv[1]); !err && barriers; barriers--) {
		if (coll_rank(comm) == 2)
			usleep(atoi(argv[2]) * 1000);
		err = coll_barrier(comm);
	}
	if (err)
		fprintf(stderr, "barrier: %s\n", coll_strerror(err));
	coll_finalize(comm);
	return err ? 1 : 0;
}
