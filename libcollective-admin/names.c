// SPDX-License-Identifier: LGPL-2.1-or-later
/* Names of enumerations. */
#include <assert.h>

#include <collective_names.h>

#include "admin.h"

#define SAME(_admin, _uapi)						\
	static_assert((int)COLL_ADMIN_##_admin == (int)COLLECTIVE_##_uapi, "same numbers")

SAME(STATE_LEFT, STATE_LEFT);
SAME(REASON_RESOURCES, REASON_RESOURCES);
SAME(REQUEST_FAILING, REQUEST_STATE_FAILING);
SAME(RECORD_GONE, RECORD_KIND_GONE);
SAME(EVENT_LEFT, EVENT_KIND_LEFT);

static const char * const states[] = { COLL_STATE_NAMES };
static const char * const opcodes[] = { COLL_OPCODE_NAMES };
static const char * const types[] = { COLL_TYPE_NAMES };
static const char * const reductions[] = { COLL_REDUCTION_NAMES };
static const char * const algorithms[] = {
	[COLLECTIVE_ALGORITHM_AUTO] = "auto",
	COLL_ALGORITHM_NAMES
};

static const char * const transports[] = { COLL_TRANSPORT_NAMES };
static const char * const reasons[] = { COLL_REASON_NAMES };

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
