// SPDX-License-Identifier: LGPL-2.1-or-later
/* Names of enumerations. */
#include <assert.h>

#include "admin.h"

#define SAME(_admin, _uapi)						\
	static_assert((int)COLL_ADMIN_##_admin == (int)COLLECTIVE_##_uapi, "same numbers")

SAME(STATE_LEFT, STATE_LEFT);
SAME(REASON_RESOURCES, REASON_RESOURCES);
SAME(REQUEST_FAILING, REQUEST_STATE_FAILING);
SAME(RECORD_GONE, RECORD_KIND_GONE);
SAME(EVENT_LEFT, EVENT_KIND_LEFT);

static const char * const states[] = {
	[COLLECTIVE_STATE_NEW]		= "new",
	[COLLECTIVE_STATE_JOINED]	= "joined",
	[COLLECTIVE_STATE_CONNECTING]	= "connecting",
	[COLLECTIVE_STATE_UP]		= "up",
	[COLLECTIVE_STATE_ABORTED]	= "aborted",
	[COLLECTIVE_STATE_LEFT]		= "left",
};

static const char * const opcodes[] = {
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

static const char * const types[] = {
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

static const char * const reductions[] = {
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

static const char * const algorithms[] = {
	[COLLECTIVE_ALGORITHM_AUTO]	= "auto",
	[COLLECTIVE_ALGORITHM_RING]	= "ring",
	[COLLECTIVE_ALGORITHM_TREE]	= "tree",
	[COLLECTIVE_ALGORITHM_DIRECT]	= "direct",
};

static const char * const transports[] = {
	[COLLECTIVE_TRANSPORT_TCP]	= "tcp",
	[COLLECTIVE_TRANSPORT_RDMA]	= "rdma",
	[COLLECTIVE_TRANSPORT_LOCAL]	= "local",
	[COLLECTIVE_TRANSPORT_AUTO]	= "auto",
};

static const char * const reasons[] = {
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

static const char * const connection_states[] = {
	[COLLECTIVE_CONNECTION_STATE_CONNECTING]	= "connecting",
	[COLLECTIVE_CONNECTION_STATE_HELLO]		= "hello",
	[COLLECTIVE_CONNECTION_STATE_PROVING]		= "proving",
	[COLLECTIVE_CONNECTION_STATE_OPEN]		= "open",
	[COLLECTIVE_CONNECTION_STATE_DOWN]		= "down",
};

static const char * const request_states[] = {
	[COLLECTIVE_REQUEST_STATE_QUEUED]	= "queued",
	[COLLECTIVE_REQUEST_STATE_MATCHING]	= "matching",
	[COLLECTIVE_REQUEST_STATE_MOVING]	= "moving",
	[COLLECTIVE_REQUEST_STATE_FAILING]	= "failing",
};

static const char * const record_kinds[] = {
	[COLLECTIVE_RECORD_KIND_STATE]	= "state",
	[COLLECTIVE_RECORD_KIND_SUBMIT]	= "submit",
	[COLLECTIVE_RECORD_KIND_BEGIN]	= "begin",
	[COLLECTIVE_RECORD_KIND_AGREED]	= "agreed",
	[COLLECTIVE_RECORD_KIND_FAIL]	= "fail",
	[COLLECTIVE_RECORD_KIND_ABSENT]	= "absent",
	[COLLECTIVE_RECORD_KIND_DONE]	= "done",
	[COLLECTIVE_RECORD_KIND_LINK]	= "link",
	[COLLECTIVE_RECORD_KIND_ABORT]	= "abort",
	[COLLECTIVE_RECORD_KIND_GONE]	= "gone",
};

static const char * const link_changes[] = {
	[COLLECTIVE_LINK_CHANGE_UP]	= "up",
	[COLLECTIVE_LINK_CHANGE_LEFT]	= "left",
	[COLLECTIVE_LINK_CHANGE_DOWN]	= "down",
};

static const char * const link_choices[] = {
	[COLLECTIVE_LINK_CHOICE_WISHED]		= "wished",
	[COLLECTIVE_LINK_CHOICE_CALLED]		= "called",
	[COLLECTIVE_LINK_CHOICE_SAME_KERNEL]	= "same-kernel",
	[COLLECTIVE_LINK_CHOICE_OFFERED]	= "offered",
	[COLLECTIVE_LINK_CHOICE_NOT_LOADED]	= "not-loaded",
	[COLLECTIVE_LINK_CHOICE_NO_DEVICE]	= "no-device",
	[COLLECTIVE_LINK_CHOICE_IWARP]		= "iwarp",
	[COLLECTIVE_LINK_CHOICE_PORT_TAKEN]	= "port-taken",
	[COLLECTIVE_LINK_CHOICE_NOT_OFFERED]	= "not-offered",
	[COLLECTIVE_LINK_CHOICE_NO_ROUTE]	= "no-route",
	[COLLECTIVE_LINK_CHOICE_REFUSED]	= "refused",
	[COLLECTIVE_LINK_CHOICE_NO_ANSWER]	= "no-answer",
	[COLLECTIVE_LINK_CHOICE_DEVICE_FAILED]	= "device-failed",
};

static const char * const event_kinds[] = {
	[COLLECTIVE_EVENT_KIND_JOINED]		= "joined",
	[COLLECTIVE_EVENT_KIND_UP]		= "up",
	[COLLECTIVE_EVENT_KIND_SLOW]		= "slow",
	[COLLECTIVE_EVENT_KIND_MISMATCH]	= "mismatch",
	[COLLECTIVE_EVENT_KIND_ABORTED]		= "aborted",
	[COLLECTIVE_EVENT_KIND_LEFT]		= "left",
};

#define ARRAY_SIZE(_array)	(sizeof(_array) / sizeof((_array)[0]))
#define TABLE(_names)		{ _names, ARRAY_SIZE(_names) }

static const struct {
	const char * const *names;
	size_t n;
} tables[] = {
	[COLL_ADMIN_STATE]		= TABLE(states),
	[COLL_ADMIN_OPCODE]		= TABLE(opcodes),
	[COLL_ADMIN_TYPE]		= TABLE(types),
	[COLL_ADMIN_REDUCTION]		= TABLE(reductions),
	[COLL_ADMIN_ALGORITHM]		= TABLE(algorithms),
	[COLL_ADMIN_TRANSPORT]		= TABLE(transports),
	[COLL_ADMIN_REASON]		= TABLE(reasons),
	[COLL_ADMIN_CONNECTION_STATE]	= TABLE(connection_states),
	[COLL_ADMIN_REQUEST_STATE]	= TABLE(request_states),
	[COLL_ADMIN_RECORD_KIND]	= TABLE(record_kinds),
	[COLL_ADMIN_LINK_CHANGE]	= TABLE(link_changes),
	[COLL_ADMIN_EVENT_KIND]		= TABLE(event_kinds),
	[COLL_ADMIN_LINK_CHOICE]	= TABLE(link_choices),
};

const char *coll_admin_name(enum coll_admin_names names, unsigned int value)
{
	if ((size_t)names >= ARRAY_SIZE(tables) || value >= tables[names].n ||
	    !tables[names].names[value])
		return "?";
	return tables[names].names[value];
}
