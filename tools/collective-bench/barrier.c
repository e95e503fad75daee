// SPDX-License-Identifier: GPL-2.0-only
#include "bench.h"

static int run(struct bench *bench, const struct trial *trial)
{
	(void)trial;
	return coll_barrier(bench->comm);
}

const struct collective bench_barrier = {
	.name = "barrier",
	.run = run,
};
