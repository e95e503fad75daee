// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names of enumerators, as sysfs and the flight recorder show them.  libcollective has the same
 * names for programs.
 */
#include "trace/names.h"

const char * const coll_state_names[COLLECTIVE_STATE_COUNT] = {
	[COLLECTIVE_STATE_NEW]		= "new",
	[COLLECTIVE_STATE_JOINED]	= "joined",
	[COLLECTIVE_STATE_CONNECTING]	= "connecting",
	[COLLECTIVE_STATE_UP]		= "up",
	[COLLECTIVE_STATE_ABORTED]	= "aborted",
	[COLLECTIVE_STATE_LEFT]		= "left",
};

const char * const coll_opcode_names[COLLECTIVE_OPCODE_COUNT] = {
	[COLLECTIVE_BARRIER]		= "barrier",
	[COLLECTIVE_ALLREDUCE]		= "allreduce",
	[COLLECTIVE_REDUCE]		= "reduce",
	[COLLECTIVE_BROADCAST]		= "broadcast",
	[COLLECTIVE_ALLGATHER]		= "allgather",
	[COLLECTIVE_REDUCE_SCATTER]	= "reduce_scatter",
	[COLLECTIVE_GATHER]		= "gather",
	[COLLECTIVE_SCATTER]		= "scatter",
	[COLLECTIVE_ALLTOALL]		= "alltoall",
	[COLLECTIVE_SCAN]		= "scan",
	[COLLECTIVE_EXSCAN]		= "exscan",
	[COLLECTIVE_SEND]		= "send",
	[COLLECTIVE_RECV]		= "recv",
};

const char * const coll_type_names[COLLECTIVE_TYPE_COUNT] = {
	[COLLECTIVE_INT8]	= "int8",
	[COLLECTIVE_UINT8]	= "uint8",
	[COLLECTIVE_INT16]	= "int16",
	[COLLECTIVE_UINT16]	= "uint16",
	[COLLECTIVE_INT32]	= "int32",
	[COLLECTIVE_UINT32]	= "uint32",
	[COLLECTIVE_INT64]	= "int64",
	[COLLECTIVE_UINT64]	= "uint64",
	[COLLECTIVE_FLOAT16]	= "float16",
	[COLLECTIVE_BFLOAT16]	= "bfloat16",
	[COLLECTIVE_FLOAT32]	= "float32",
	[COLLECTIVE_FLOAT64]	= "float64",
};

const char * const coll_reduction_names[COLLECTIVE_REDUCTION_COUNT] = {
	[COLLECTIVE_SUM]	= "sum",
	[COLLECTIVE_PROD]	= "prod",
	[COLLECTIVE_MIN]	= "min",
	[COLLECTIVE_MAX]	= "max",
	[COLLECTIVE_AVG]	= "avg",
	[COLLECTIVE_BAND]	= "band",
	[COLLECTIVE_BOR]	= "bor",
	[COLLECTIVE_BXOR]	= "bxor",
	[COLLECTIVE_LAND]	= "land",
	[COLLECTIVE_LOR]	= "lor",
	[COLLECTIVE_LXOR]	= "lxor",
};

const char * const coll_transport_names[COLLECTIVE_TRANSPORT_COUNT] = {
	[COLLECTIVE_TRANSPORT_TCP]	= "tcp",
	[COLLECTIVE_TRANSPORT_RDMA]	= "rdma",
	[COLLECTIVE_TRANSPORT_LOCAL]	= "local",
	[COLLECTIVE_TRANSPORT_AUTO]	= "auto",
};

const char * const coll_reason_names[COLLECTIVE_REASON_COUNT] = {
	[COLLECTIVE_REASON_NONE]	= "none",
	[COLLECTIVE_REASON_DEATH]	= "death",
	[COLLECTIVE_REASON_LEFT]	= "left",
	[COLLECTIVE_REASON_MISMATCH]	= "mismatch",
	[COLLECTIVE_REASON_PROTOCOL]	= "protocol",
	[COLLECTIVE_REASON_RESET]	= "reset",
	[COLLECTIVE_REASON_SILENCE]	= "silence",
	[COLLECTIVE_REASON_DEADLINE]	= "deadline",
	[COLLECTIVE_REASON_CANCELLED]	= "cancelled",
	[COLLECTIVE_REASON_RESOURCES]	= "resources",
};
