// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Adjoints: the collectives that carry gradients backward.
 *
 * A collective without products or choices is a linear map A from the inputs x of all ranks to
 * the results y of all ranks.  Reverse-mode differentiation needs its transpose: <A x, y> = <x,
 * A' y>, with sums over all elements of all ranks.
 */
#include <errno.h>
#include <stdbool.h>

#include <linux/collective.h>

#include "collective.h"

enum kind {
	MOVES,
	REDUCES,
	SCANS,
};

/*
 *	collective		adjoint			divided by the number of ranks
 *	barrier			barrier
 *	allreduce sum, avg	allreduce, the same
 *	reduce sum		broadcast
 *	reduce avg		broadcast		yes
 *	broadcast		reduce sum
 *	allgather		reduce_scatter sum
 *	reduce_scatter sum	allgather
 *	reduce_scatter avg	allgather		yes
 *	gather			scatter
 *	scatter			gather
 *	alltoall		alltoall
 *	send			recv
 *	recv			send
 */
static const struct {
	enum coll_collective adjoint;
	enum kind kind;
} table[] = {
	[COLL_BARRIER] = { COLL_BARRIER, MOVES },
	[COLL_ALLREDUCE] = { COLL_ALLREDUCE, REDUCES },
	[COLL_REDUCE] = { COLL_BROADCAST, REDUCES },
	[COLL_BROADCAST] = { COLL_REDUCE, MOVES },
	[COLL_ALLGATHER] = { COLL_REDUCE_SCATTER, MOVES },
	[COLL_REDUCE_SCATTER] = { COLL_ALLGATHER, REDUCES },
	[COLL_GATHER] = { COLL_SCATTER, MOVES },
	[COLL_SCATTER] = { COLL_GATHER, MOVES },
	[COLL_ALLTOALL] = { COLL_ALLTOALL, MOVES },
	[COLL_SCAN] = { COLL_SCAN, SCANS },
	[COLL_EXSCAN] = { COLL_EXSCAN, SCANS },
	[COLL_SEND] = { COLL_RECV, MOVES },
	[COLL_RECV] = { COLL_SEND, MOVES },
};

int coll_adjoint(enum coll_collective collective, enum coll_op op,
		 struct coll_adjoint *adjoint)
{
	bool average = op == COLL_AVG;

	if (!adjoint || (unsigned int)collective >= sizeof(table) / sizeof(*table) ||
	    (unsigned int)op >= COLLECTIVE_REDUCTION_COUNT)
		return -EINVAL;
	*adjoint = (struct coll_adjoint){
		.collective = table[collective].adjoint,
		.op = COLL_SUM,
	};
	switch (table[collective].kind) {
	case MOVES:
		return 0;
	case REDUCES:
		if (op != COLL_SUM && !average)
			return -EOPNOTSUPP;
		if (table[adjoint->collective].kind == REDUCES)
			adjoint->op = op;
		else
			adjoint->divide = average;
		return 0;
	case SCANS:
		break;
	}
	return -EOPNOTSUPP;
}
