/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * Names of enumerators, as sysfs, the flight recorder, the libraries and the tools show them.  Each
 * is the inside of an initializer.  Module and libraries compile them; programs get them by
 * functions.  Include linux/collective.h before.
 */
#ifndef COLLECTIVE_NAMES_H
#define COLLECTIVE_NAMES_H

#define COLL_STATE_NAMES					\
	[COLLECTIVE_STATE_NEW]		= "new",		\
	[COLLECTIVE_STATE_JOINED]	= "joined",		\
	[COLLECTIVE_STATE_CONNECTING]	= "connecting",		\
	[COLLECTIVE_STATE_UP]		= "up",			\
	[COLLECTIVE_STATE_ABORTED]	= "aborted",		\
	[COLLECTIVE_STATE_LEFT]		= "left"

#define COLL_OPCODE_NAMES					\
	[COLLECTIVE_BARRIER]		= "barrier",		\
	[COLLECTIVE_ALLREDUCE]		= "allreduce",		\
	[COLLECTIVE_REDUCE]		= "reduce",		\
	[COLLECTIVE_BROADCAST]		= "broadcast",		\
	[COLLECTIVE_ALLGATHER]		= "allgather",		\
	[COLLECTIVE_REDUCE_SCATTER]	= "reduce_scatter",	\
	[COLLECTIVE_GATHER]		= "gather",		\
	[COLLECTIVE_SCATTER]		= "scatter",		\
	[COLLECTIVE_ALLTOALL]		= "alltoall",		\
	[COLLECTIVE_SCAN]		= "scan",		\
	[COLLECTIVE_EXSCAN]		= "exscan",		\
	[COLLECTIVE_SEND]		= "send",		\
	[COLLECTIVE_RECV]		= "recv"

#define COLL_TYPE_NAMES						\
	[COLLECTIVE_INT8]		= "int8",		\
	[COLLECTIVE_UINT8]		= "uint8",		\
	[COLLECTIVE_INT16]		= "int16",		\
	[COLLECTIVE_UINT16]		= "uint16",		\
	[COLLECTIVE_INT32]		= "int32",		\
	[COLLECTIVE_UINT32]		= "uint32",		\
	[COLLECTIVE_INT64]		= "int64",		\
	[COLLECTIVE_UINT64]		= "uint64",		\
	[COLLECTIVE_FLOAT16]		= "float16",		\
	[COLLECTIVE_BFLOAT16]		= "bfloat16",		\
	[COLLECTIVE_FLOAT32]		= "float32",		\
	[COLLECTIVE_FLOAT64]		= "float64"

#define COLL_REDUCTION_NAMES					\
	[COLLECTIVE_SUM]		= "sum",		\
	[COLLECTIVE_PROD]		= "prod",		\
	[COLLECTIVE_MIN]		= "min",		\
	[COLLECTIVE_MAX]		= "max",		\
	[COLLECTIVE_AVG]		= "avg",		\
	[COLLECTIVE_BAND]		= "band",		\
	[COLLECTIVE_BOR]		= "bor",		\
	[COLLECTIVE_BXOR]		= "bxor",		\
	[COLLECTIVE_LAND]		= "land",		\
	[COLLECTIVE_LOR]		= "lor",		\
	[COLLECTIVE_LXOR]		= "lxor"

/* Of algorithms that are asked for. */
#define COLL_ALGORITHM_NAMES					\
	[COLLECTIVE_ALGORITHM_RING]	= "ring",		\
	[COLLECTIVE_ALGORITHM_TREE]	= "tree",		\
	[COLLECTIVE_ALGORITHM_DIRECT]	= "direct"

#define COLL_TRANSPORT_NAMES					\
	[COLLECTIVE_TRANSPORT_TCP]	= "tcp",		\
	[COLLECTIVE_TRANSPORT_RDMA]	= "rdma",		\
	[COLLECTIVE_TRANSPORT_LOCAL]	= "local",		\
	[COLLECTIVE_TRANSPORT_AUTO]	= "auto"

#define COLL_REASON_NAMES					\
	[COLLECTIVE_REASON_NONE]	= "none",		\
	[COLLECTIVE_REASON_DEATH]	= "death",		\
	[COLLECTIVE_REASON_LEFT]	= "left",		\
	[COLLECTIVE_REASON_MISMATCH]	= "mismatch",		\
	[COLLECTIVE_REASON_PROTOCOL]	= "protocol",		\
	[COLLECTIVE_REASON_RESET]	= "reset",		\
	[COLLECTIVE_REASON_SILENCE]	= "silence",		\
	[COLLECTIVE_REASON_DEADLINE]	= "deadline",		\
	[COLLECTIVE_REASON_CANCELLED]	= "cancelled",		\
	[COLLECTIVE_REASON_RESOURCES]	= "resources"

#endif /* COLLECTIVE_NAMES_H */
