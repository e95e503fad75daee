// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "bench.h"

static const char * const types[BENCH_TYPES] = {
	[COLL_INT8] = "i8",
	[COLL_UINT8] = "u8",
	[COLL_INT16] = "i16",
	[COLL_UINT16] = "u16",
	[COLL_INT32] = "i32",
	[COLL_UINT32] = "u32",
	[COLL_INT64] = "i64",
	[COLL_UINT64] = "u64",
	[COLL_FLOAT16] = "f16",
	[COLL_BFLOAT16] = "bf16",
	[COLL_FLOAT32] = "f32",
	[COLL_FLOAT64] = "f64",
};

static const char * const ops[BENCH_OPS] = {
	[COLL_SUM] = "sum",
	[COLL_PROD] = "prod",
	[COLL_MIN] = "min",
	[COLL_MAX] = "max",
	[COLL_AVG] = "avg",
	[COLL_BAND] = "band",
	[COLL_BOR] = "bor",
	[COLL_BXOR] = "bxor",
	[COLL_LAND] = "land",
	[COLL_LOR] = "lor",
	[COLL_LXOR] = "lxor",
};

static int find(const char * const *names, int n, const char *name)
{
	while (n--)
		if (!strcmp(names[n], name))
			break;
	return n;
}

const char *bench_type_name(enum coll_type type)
{
	return types[type];
}

const char *bench_op_name(enum coll_op op)
{
	return ops[op];
}

int bench_type_find(const char *name)
{
	return find(types, BENCH_TYPES, name);
}

int bench_op_find(const char *name)
{
	return find(ops, BENCH_OPS, name);
}

bool bench_type_takes(enum coll_type type, enum coll_op op)
{
	return type < COLL_FLOAT16 || op < COLL_BAND || op > COLL_BXOR;
}
