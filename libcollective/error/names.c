// SPDX-License-Identifier: LGPL-2.1-or-later
#include "error/names.h"

#include <stddef.h>

const char * const coll_names_opcodes[COLLECTIVE_OPCODE_COUNT] = {
	[COLLECTIVE_BARRIER] = "barrier",
	[COLLECTIVE_ALLREDUCE] = "allreduce",
	[COLLECTIVE_REDUCE] = "reduce",
	[COLLECTIVE_BROADCAST] = "broadcast",
	[COLLECTIVE_ALLGATHER] = "allgather",
	[COLLECTIVE_REDUCE_SCATTER] = "reduce_scatter",
	[COLLECTIVE_GATHER] = "gather",
	[COLLECTIVE_SCATTER] = "scatter",
	[COLLECTIVE_ALLTOALL] = "alltoall",
	[COLLECTIVE_SCAN] = "scan",
	[COLLECTIVE_EXSCAN] = "exscan",
	[COLLECTIVE_SEND] = "send",
	[COLLECTIVE_RECV] = "recv",
};

const char * const coll_names_types[COLLECTIVE_TYPE_COUNT] = {
	[COLLECTIVE_INT8] = "int8",
	[COLLECTIVE_UINT8] = "uint8",
	[COLLECTIVE_INT16] = "int16",
	[COLLECTIVE_UINT16] = "uint16",
	[COLLECTIVE_INT32] = "int32",
	[COLLECTIVE_UINT32] = "uint32",
	[COLLECTIVE_INT64] = "int64",
	[COLLECTIVE_UINT64] = "uint64",
	[COLLECTIVE_FLOAT16] = "float16",
	[COLLECTIVE_BFLOAT16] = "bfloat16",
	[COLLECTIVE_FLOAT32] = "float32",
	[COLLECTIVE_FLOAT64] = "float64",
};

const char * const coll_names_reductions[COLLECTIVE_REDUCTION_COUNT] = {
	[COLLECTIVE_SUM] = "sum",
	[COLLECTIVE_PROD] = "prod",
	[COLLECTIVE_MIN] = "min",
	[COLLECTIVE_MAX] = "max",
	[COLLECTIVE_AVG] = "avg",
	[COLLECTIVE_BAND] = "band",
	[COLLECTIVE_BOR] = "bor",
	[COLLECTIVE_BXOR] = "bxor",
	[COLLECTIVE_LAND] = "land",
	[COLLECTIVE_LOR] = "lor",
	[COLLECTIVE_LXOR] = "lxor",
};

const char * const coll_names_transports[COLLECTIVE_TRANSPORT_COUNT] = {
	[COLLECTIVE_TRANSPORT_TCP] = "tcp",
	[COLLECTIVE_TRANSPORT_RDMA] = "rdma",
	[COLLECTIVE_TRANSPORT_LOCAL] = "local",
	[COLLECTIVE_TRANSPORT_AUTO] = "auto",
};

const char * const coll_names_algorithms[COLLECTIVE_ALGORITHM_COUNT] = {
	[COLLECTIVE_ALGORITHM_RING] = "ring",
	[COLLECTIVE_ALGORITHM_TREE] = "tree",
	[COLLECTIVE_ALGORITHM_DIRECT] = "direct",
};

static const char *name(const char * const *names, unsigned int n, unsigned int i)
{
	return i < n && names[i] ? names[i] : "?";
}

const char *coll_names_opcode(unsigned int i)
{
	return name(coll_names_opcodes, COLLECTIVE_OPCODE_COUNT, i);
}

const char *coll_names_type(unsigned int i)
{
	return name(coll_names_types, COLLECTIVE_TYPE_COUNT, i);
}

const char *coll_names_reduction(unsigned int i)
{
	return name(coll_names_reductions, COLLECTIVE_REDUCTION_COUNT, i);
}

const char *coll_names_algorithm(unsigned int i)
{
	return name(coll_names_algorithms, COLLECTIVE_ALGORITHM_COUNT, i);
}

const char *coll_names_root(unsigned int opcode)
{
	switch (opcode) {
	case COLLECTIVE_BROADCAST:
	case COLLECTIVE_SCATTER:
		return "from";
	case COLLECTIVE_REDUCE:
	case COLLECTIVE_GATHER:
		return "to";
	}
	return NULL;
}
