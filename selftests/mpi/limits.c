// SPDX-License-Identifier: GPL-2.0-only
/* The parameters min_bytes and max_bytes: what their texts mean, and texts that mean nothing. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/limits.h"

/* The limit after @text has been read on top of 100 for all functions. */
static const struct meaning {
	const char *text;
	enum cm_function function;
	int ranks;
	int cpus;
	size_t bytes;
} meanings[] = {
	{ "", CM_BCAST, 2, 2, 100 },
	{ "0", CM_BARRIER, 2, 2, 0 },
	{ "0", CM_ALLREDUCE, 4096, 1, 0 },
	{ "none", CM_SCAN, 2, 2, SIZE_MAX },
	{ "4096,bcast:0", CM_BCAST, 2, 2, 0 },
	{ "4096,bcast:0", CM_REDUCE, 2, 2, 4096 },
	{ "bcast:0,4096", CM_BCAST, 2, 2, 4096 },
	{ "bcast:3", CM_REDUCE, 2, 2, 100 },
	{ "reduce:1K,reduce_scatter:2M", CM_REDUCE, 2, 2, 1024 },
	{ "reduce:1K,reduce_scatter:2M", CM_REDUCE_SCATTER, 2, 2, 2 << 20 },
	{ "reduce:1K,reduce_scatter:2M", CM_REDUCE_SCATTER_BLOCK, 2, 2, 100 },
	{ "reduce_scatter_block:3G", CM_REDUCE_SCATTER_BLOCK, 2, 2, 3UL << 30 },
	{ "scan@2:7", CM_SCAN, 3, 2, 100 },
	{ "scan@2:7", CM_SCAN, 4, 2, 7 },
	{ "scan@2:7", CM_SCAN, 7, 2, 7 },
	{ "scan@2:7", CM_SCAN, 4096, 1, 7 },
	{ "scan@2:7,scan@4:8", CM_SCAN, 7, 2, 7 },
	{ "scan@2:7,scan@4:8", CM_SCAN, 8, 2, 8 },
	{ "scan@4:8,scan@2:7", CM_SCAN, 8, 2, 7 },
	{ "scan:1,@2:7", CM_SCAN, 3, 2, 1 },
	{ "scan:1,@2:7", CM_SCAN, 4, 2, 7 },
	{ "@2:7,scan:1", CM_SCAN, 4, 2, 1 },
	{ "@2:7,scan:1", CM_BARRIER, 4, 2, 7 },
	{ "@2:7,scan:1", CM_SCATTERV, 2, 2, 100 },
	{ "scan@1:7", CM_SCAN, 2, 64, 7 },
	{ "scan@128:7", CM_SCAN, 127, 1, 100 },
	{ "scan@128:7", CM_SCAN, 128, 1, 7 },
	{ "scan@128:7", CM_SCAN, 100000, 1, 7 },
};

static const char * const wrong[] = {
	"x", "-1", "1x", "1KK", "1 ", " 1", "+1", "K", "non", "nonee",
	":1", "scan", "scan:", "scan:x", "scan:-1", "scans:1", "sca:1", "scan:1:2", "scan:1,,x",
	"@2", "@3:1", "x@2:1", "scan@:1", "scan@3:1", "scan@0:1", "scan@-2:1", "scan@256:1",
	"scan@2", "scan@2x:1", "99999999999999999999", "17179869184G",
	"scan@18446744073709551618:1",
};

int main(void)
{
	struct cm_limits limits;
	unsigned int i;
	int failed = 0;

	for (i = 0; i < sizeof(meanings) / sizeof(*meanings); i++) {
		const struct meaning *m = &meanings[i];
		size_t bytes;

		cm_limits_fill(&limits, 100);
		if (cm_limits_read(&limits, m->text)) {
			printf("\"%s\" is not understood\n", m->text);
			failed = 1;
			continue;
		}
		bytes = limits.bytes[m->function][cm_limits_sharing(m->ranks, m->cpus)];
		if (bytes == m->bytes)
			continue;
		printf("\"%s\": %s of %d ranks on %d CPUs: %zu\n", m->text,
		       cm_function_name(m->function), m->ranks, m->cpus, bytes);
		failed = 1;
	}
	for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		if (!cm_limits_read(&limits, wrong[i])) {
			printf("\"%s\" is understood\n", wrong[i]);
			failed = 1;
		}
	return failed;
}
