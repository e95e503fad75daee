// SPDX-License-Identifier: GPL-2.0-only
#include "bench.h"

static int run(struct bench *bench, const struct trial *trial,
	       struct coll_request **request)
{
	(void)trial;
	return request ? coll_ibarrier(bench->comm, request) :
			 coll_barrier(bench->comm);
}

const struct collective bench_barrier = {
	.name = "barrier",
	.run = run,
};
