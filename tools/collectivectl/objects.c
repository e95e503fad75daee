// SPDX-License-Identifier: GPL-2.0-only
/* The objects: show and set. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "table.h"

/* group */

enum {
	GROUP_NAME,
	GROUP_ID,
	GROUP_SIZE,
	GROUP_HERE,
	GROUP_LANES,
	GROUP_OWNER,
	GROUP_SECURED,
	GROUP_TIMEOUT,
	GROUP_SLOW,
};

static const struct column group_columns[] = {
	[GROUP_NAME]	= { .name = "GROUP" },
	[GROUP_ID]	= { "ID", COLUMN_NUMBER, true },
	[GROUP_SIZE]	= { .name = "RANKS", .kind = COLUMN_NUMBER },
	[GROUP_HERE]	= { .name = "HERE", .kind = COLUMN_NUMBER },
	[GROUP_LANES]	= { .name = "LANES", .kind = COLUMN_NUMBER },
	[GROUP_OWNER]	= { .name = "OWNER", .kind = COLUMN_NUMBER },
	[GROUP_SECURED]	= { .name = "SECURED", .kind = COLUMN_FLAG },
	[GROUP_TIMEOUT]	= { .name = "TIMEOUT-MS", .kind = COLUMN_NUMBER },
	[GROUP_SLOW]	= { .name = "SLOW-PERCENT", .kind = COLUMN_NUMBER },
};

/* JSON has the number of the kernel, because the type of a field does not change. */
static void table_timeout(struct table *table, size_t column, unsigned int ms)
{
	if (ms == COLL_ADMIN_NONE && !ctl.json)
		table_text(table, column, "none");
	else
		table_number(table, column, ms);
}

static int group_row(const struct coll_admin_group *group, void *arg)
{
	struct table *table = arg;

	table_row(table);
	table_text(table, GROUP_NAME, group->name);
	if (group->has_id)
		table_number(table, GROUP_ID, group->id);
	table_number(table, GROUP_SIZE, group->size);
	table_number(table, GROUP_HERE, group->members);
	table_number(table, GROUP_LANES, group->lanes);
	table_number(table, GROUP_OWNER, group->owner);
	table_flag(table, GROUP_SECURED, group->secured);
	if (group->timeout_ms)
		table_timeout(table, GROUP_TIMEOUT, group->timeout_ms);
	table_number(table, GROUP_SLOW, group->slow_percent);
	return 0;
}

static int group_show(int argc, char **argv)
{
	struct table *table = table_new("groups", group_columns, ARRAY_SIZE(group_columns));
	int err;

	if (argc > 1)
		ctl_usage("too many arguments");
	err = coll_admin_groups(ctl.admin, argc ? argv[0] : NULL, group_row, table);
	if (err >= 0)
		table_print(table);
	return ctl_result(err);
}

static int group_set(int argc, char **argv)
{
	unsigned int timeout = COLL_ADMIN_KEEP_TIMEOUT, slow = COLL_ADMIN_KEEP_SLOW;
	int i;

	if (argc < 3 || argc % 2 == 0)
		ctl_usage("group set needs GROUP, and timeout MS or slow PERCENT");
	for (i = 1; i < argc; i += 2) {
		if (!strcmp(argv[i], "timeout"))
			timeout = strcmp(argv[i + 1], "none") ?
				  ctl_number(argv[i + 1], "number of milliseconds") :
				  COLL_ADMIN_NONE;
		else if (!strcmp(argv[i], "slow"))
			slow = ctl_number(argv[i + 1], "percentage");
		else
			ctl_usage("%s: no such default of a group", argv[i]);
	}
	if (slow != COLL_ADMIN_KEEP_SLOW && slow > 100)
		ctl_usage("%u is no percentage", slow);
	if (!timeout && slow == COLL_ADMIN_KEEP_SLOW)
		ctl_usage("a timeout is at least 1 ms, or none");
	return ctl_result(coll_admin_set_group(ctl.admin, argv[0], timeout, slow));
}

const struct verb group_verbs[] = {
	{ .name = "show", .run = group_show },
	{ .name = "set", .run = group_set },
	{ .name = "abort", .run = ctl_abort },
	{ 0 }
};

/* member */

enum {
	MEMBER_GROUP,
	MEMBER_RANK,
	MEMBER_STATE,
	MEMBER_PID,
	MEMBER_TRANSPORT,
	MEMBER_ADDRESS,
	MEMBER_INFLIGHT,
	MEMBER_SUBMITTED,
	MEMBER_COMPLETED,
	MEMBER_FAILED,
	MEMBER_SENT,
	MEMBER_RECEIVED,
	MEMBER_REDUCED,
	MEMBER_PLACED,
	MEMBER_READ,
	MEMBER_READ_OWN,
	MEMBER_STORED,
	MEMBER_ZERO_COPY,
	MEMBER_NONTEMPORAL,
	MEMBER_PINNED,
	MEMBER_MEMORY,
	MEMBER_REFUSED,
	MEMBER_TIMEOUT,
	MEMBER_HEARTBEAT,
	MEMBER_EVENTS_LOST,
	MEMBER_REASON,
	MEMBER_LAST,
	MEMBER_ERRORS,
};

#define ERRORS	9

static const struct column member_columns[] = {
	[MEMBER_GROUP]		= { .name = "GROUP" },
	[MEMBER_RANK]		= { .name = "RANK", .kind = COLUMN_NUMBER },
	[MEMBER_STATE]		= { .name = "STATE" },
	[MEMBER_PID]		= { .name = "PID", .kind = COLUMN_NUMBER },
	[MEMBER_TRANSPORT]	= { .name = "TRANSPORT", .detail = true },
	[MEMBER_ADDRESS]	= { .name = "ADDRESS" },
	[MEMBER_INFLIGHT]	= { .name = "INFLIGHT", .kind = COLUMN_NUMBER },
	[MEMBER_SUBMITTED]	= { .name = "SUBMITTED", .kind = COLUMN_NUMBER },
	[MEMBER_COMPLETED]	= { "COMPLETED", COLUMN_NUMBER, true },
	[MEMBER_FAILED]		= { .name = "FAILED", .kind = COLUMN_NUMBER },
	[MEMBER_SENT]		= { .name = "SENT", .kind = COLUMN_BYTES },
	[MEMBER_RECEIVED]	= { .name = "RECEIVED", .kind = COLUMN_BYTES },
	[MEMBER_REDUCED]	= { "REDUCED", COLUMN_BYTES, true },
	[MEMBER_PLACED]		= { "PLACED", COLUMN_BYTES, true },
	[MEMBER_READ]		= { .name = "READ", .kind = COLUMN_BYTES },
	[MEMBER_READ_OWN]	= { "READ-OWN", COLUMN_BYTES, true },
	[MEMBER_STORED]		= { "STORED", COLUMN_BYTES, true },
	[MEMBER_ZERO_COPY]	= { "ZERO-COPY", COLUMN_BYTES, true },
	[MEMBER_NONTEMPORAL]	= { "NONTEMPORAL", COLUMN_BYTES, true },
	[MEMBER_PINNED]		= { .name = "PINNED", .kind = COLUMN_BYTES },
	[MEMBER_MEMORY]		= { .name = "MEMORY", .kind = COLUMN_BYTES },
	[MEMBER_REFUSED]	= { "REFUSED", COLUMN_NUMBER, true },
	[MEMBER_TIMEOUT]	= { "TIMEOUT-MS", COLUMN_NUMBER, true },
	[MEMBER_HEARTBEAT]	= { "HEARTBEAT-MS", COLUMN_NUMBER, true },
	[MEMBER_EVENTS_LOST]	= { "EVENTS-LOST", COLUMN_NUMBER, true },
	[MEMBER_REASON]		= { .name = "REASON" },
	[MEMBER_LAST]		= { .name = "LAST-FAILURE", .detail = true },
	[MEMBER_ERRORS]		= { "ERRORS-DEATH", COLUMN_NUMBER, true },
	{ "ERRORS-LEFT", COLUMN_NUMBER, true },
	{ "ERRORS-MISMATCH", COLUMN_NUMBER, true },
	{ "ERRORS-PROTOCOL", COLUMN_NUMBER, true },
	{ "ERRORS-RESET", COLUMN_NUMBER, true },
	{ "ERRORS-SILENCE", COLUMN_NUMBER, true },
	{ "ERRORS-DEADLINE", COLUMN_NUMBER, true },
	{ "ERRORS-CANCELLED", COLUMN_NUMBER, true },
	{ "ERRORS-RESOURCES", COLUMN_NUMBER, true },
};

static_assert(ARRAY_SIZE(member_columns) == MEMBER_ERRORS + ERRORS, "a column for each reason");

static int member_row(const struct coll_admin_member *member, void *arg)
{
	struct table *table = arg;
	unsigned int i;

	table_row(table);
	table_text(table, MEMBER_GROUP, member->group);
	table_number(table, MEMBER_RANK, member->rank);
	table_state(table, MEMBER_STATE, member->state);
	table_number(table, MEMBER_PID, member->pid);
	table_text(table, MEMBER_TRANSPORT,
		   coll_admin_name(COLL_ADMIN_TRANSPORT, member->transport));
	if (member->address.ss_family)
		table_text(table, MEMBER_ADDRESS, text_address(&member->address));
	table_number(table, MEMBER_INFLIGHT, member->inflight);
	table_number(table, MEMBER_SUBMITTED, member->submitted);
	table_number(table, MEMBER_COMPLETED, member->completed);
	table_number(table, MEMBER_FAILED, member->failed);
	table_number(table, MEMBER_SENT, member->traffic.sent);
	table_number(table, MEMBER_RECEIVED, member->traffic.received);
	table_number(table, MEMBER_REDUCED, member->traffic.reduced);
	table_number(table, MEMBER_PLACED, member->placed_bytes);
	table_number(table, MEMBER_READ, member->traffic.read);
	table_number(table, MEMBER_READ_OWN, member->traffic.read_own);
	table_number(table, MEMBER_STORED, member->traffic.stored);
	table_number(table, MEMBER_ZERO_COPY, member->traffic.zero_copy);
	table_number(table, MEMBER_NONTEMPORAL, member->traffic.nontemporal);
	table_number(table, MEMBER_PINNED, member->pinned_bytes);
	table_number(table, MEMBER_MEMORY, member->memory_bytes);
	table_number(table, MEMBER_REFUSED, member->refused_connections);
	table_timeout(table, MEMBER_TIMEOUT, member->timeout_ms);
	table_number(table, MEMBER_HEARTBEAT, member->heartbeat_ms);
	table_number(table, MEMBER_EVENTS_LOST, member->events_lost);
	table_text(table, MEMBER_REASON, text_reason(&member->reason));
	table_text(table, MEMBER_LAST, text_reason(&member->last));
	for (i = 0; i < ERRORS; i++)
		table_number(table, MEMBER_ERRORS + i, member->errors[i + 1]);
	return 0;
}

static int member_show(int argc, char **argv)
{
	struct table *table = table_new("members", member_columns, ARRAY_SIZE(member_columns));
	const char *group;
	unsigned int rank;
	int err;

	ctl_selection(argc, argv, &group, &rank);
	err = coll_admin_members(ctl.admin, group, rank, member_row, table);
	if (err >= 0)
		table_print(table);
	return ctl_result(err);
}

const struct verb member_verbs[] = {
	{ .name = "show", .run = member_show },
	{ 0 }
};

/* lane */

enum {
	LANE_GROUP,
	LANE_RANK,
	LANE_LANE,
	LANE_CPU,
	LANE_SENT,
	LANE_RECEIVED,
	LANE_REDUCED,
	LANE_PLACED,
	LANE_READ,
	LANE_READ_OWN,
	LANE_STORED,
	LANE_ZERO_COPY,
	LANE_NONTEMPORAL,
};

static const struct column lane_columns[] = {
	[LANE_GROUP]		= { .name = "GROUP" },
	[LANE_RANK]		= { .name = "RANK", .kind = COLUMN_NUMBER },
	[LANE_LANE]		= { .name = "LANE", .kind = COLUMN_NUMBER },
	[LANE_CPU]		= { .name = "CPU", .kind = COLUMN_NUMBER },
	[LANE_SENT]		= { .name = "SENT", .kind = COLUMN_BYTES },
	[LANE_RECEIVED]		= { .name = "RECEIVED", .kind = COLUMN_BYTES },
	[LANE_REDUCED]		= { .name = "REDUCED", .kind = COLUMN_BYTES },
	[LANE_PLACED]		= { "PLACED", COLUMN_BYTES, true },
	[LANE_READ]		= { .name = "READ", .kind = COLUMN_BYTES },
	[LANE_READ_OWN]		= { "READ-OWN", COLUMN_BYTES, true },
	[LANE_STORED]		= { "STORED", COLUMN_BYTES, true },
	[LANE_ZERO_COPY]	= { "ZERO-COPY", COLUMN_BYTES, true },
	[LANE_NONTEMPORAL]	= { "NONTEMPORAL", COLUMN_BYTES, true },
};

static int lane_row(const struct coll_admin_lane *lane, void *arg)
{
	struct table *table = arg;

	table_row(table);
	table_text(table, LANE_GROUP, lane->group);
	table_number(table, LANE_RANK, lane->rank);
	table_number(table, LANE_LANE, lane->lane);
	table_number(table, LANE_CPU, lane->cpu);
	table_number(table, LANE_SENT, lane->traffic.sent);
	table_number(table, LANE_RECEIVED, lane->traffic.received);
	table_number(table, LANE_REDUCED, lane->traffic.reduced);
	table_number(table, LANE_PLACED, lane->placed_bytes);
	table_number(table, LANE_READ, lane->traffic.read);
	table_number(table, LANE_READ_OWN, lane->traffic.read_own);
	table_number(table, LANE_STORED, lane->traffic.stored);
	table_number(table, LANE_ZERO_COPY, lane->traffic.zero_copy);
	table_number(table, LANE_NONTEMPORAL, lane->traffic.nontemporal);
	return 0;
}

static int lane_show(int argc, char **argv)
{
	struct table *table = table_new("lanes", lane_columns, ARRAY_SIZE(lane_columns));
	const char *group;
	unsigned int rank;
	int err;

	ctl_selection(argc, argv, &group, &rank);
	err = coll_admin_lanes(ctl.admin, group, rank, lane_row, table);
	if (err >= 0)
		table_print(table);
	return ctl_result(err);
}

static int lane_set(int argc, char **argv)
{
	if (argc != 5 || strcmp(argv[3], "cpu"))
		ctl_usage("lane set needs GROUP RANK LANE cpu CPU");
	return ctl_result(coll_admin_set_cpu(ctl.admin, argv[0], ctl_number(argv[1], "rank"),
					     ctl_number(argv[2], "lane"),
					     ctl_number(argv[4], "CPU")));
}

const struct verb lane_verbs[] = {
	{ .name = "show", .run = lane_show },
	{ .name = "set", .run = lane_set },
	{ 0 }
};

/* link: a row for each connection */

enum {
	LINK_GROUP,
	LINK_RANK,
	LINK_PEER,
	LINK_TRANSPORT,
	LINK_WHY,
	LINK_LANE,
	LINK_STATE,
	LINK_OUTGOING,
	LINK_LOCAL,
	LINK_ADDRESS,
	LINK_RTT,
	LINK_RETRANS,
	LINK_UNANSWERED,
	LINK_UNSENT,
	LINK_SENT,
	LINK_RECEIVED,
	LINK_PLACED,
	LINK_CREDIT,
	LINK_STALLS,
	LINK_OPEN,
	LINK_LEFT,
	LINK_FENCED,
	LINK_MISSED,
	LINK_QUEUED,
};

static const struct column link_columns[] = {
	[LINK_GROUP]		= { .name = "GROUP" },
	[LINK_RANK]		= { .name = "RANK", .kind = COLUMN_NUMBER },
	[LINK_PEER]		= { .name = "PEER", .kind = COLUMN_NUMBER },
	[LINK_TRANSPORT]	= { .name = "TRANSPORT" },
	[LINK_WHY]		= { .name = "WHY" },
	[LINK_LANE]		= { .name = "LANE" },
	[LINK_STATE]		= { .name = "STATE" },
	[LINK_OUTGOING]		= { "OUTGOING", COLUMN_FLAG, true },
	[LINK_LOCAL]		= { .name = "LOCAL" },
	[LINK_ADDRESS]		= { .name = "REMOTE" },
	[LINK_RTT]		= { .name = "RTT-US", .kind = COLUMN_NUMBER },
	[LINK_RETRANS]		= { .name = "RETRANS", .kind = COLUMN_NUMBER },
	[LINK_UNANSWERED]	= { "UNANSWERED", COLUMN_NUMBER, true },
	[LINK_UNSENT]		= { "UNSENT", COLUMN_BYTES, true },
	[LINK_SENT]		= { .name = "SENT", .kind = COLUMN_BYTES },
	[LINK_RECEIVED]		= { .name = "RECEIVED", .kind = COLUMN_BYTES },
	[LINK_PLACED]		= { "PLACED", COLUMN_BYTES, true },
	[LINK_CREDIT]		= { .name = "CREDIT", .kind = COLUMN_BYTES },
	[LINK_STALLS]		= { .name = "STALLS", .kind = COLUMN_NUMBER },
	[LINK_OPEN]		= { "OPEN", COLUMN_NUMBER, true },
	[LINK_LEFT]		= { "PEER-LEFT", COLUMN_FLAG, true },
	[LINK_FENCED]		= { "PEER-FENCED", COLUMN_FLAG, true },
	[LINK_MISSED]		= { "MISSED-HEARTBEATS", COLUMN_NUMBER, true },
	[LINK_QUEUED]		= { "QUEUED", COLUMN_BYTES, true },
};

static void link_begin(struct table *table, const struct coll_admin_link *link)
{
	table_row(table);
	table_text(table, LINK_GROUP, link->group);
	table_number(table, LINK_RANK, link->rank);
	table_number(table, LINK_PEER, link->peer);
	if (link->transport != COLL_ADMIN_NONE)
		table_text(table, LINK_TRANSPORT,
			   coll_admin_name(COLL_ADMIN_TRANSPORT, link->transport));
	if (link->choice != COLL_ADMIN_NONE)
		table_text(table, LINK_WHY,
			   coll_admin_name(COLL_ADMIN_LINK_CHOICE, link->choice));
	table_number(table, LINK_OPEN, link->open);
	table_flag(table, LINK_LEFT, link->peer_left);
	table_flag(table, LINK_FENCED, link->peer_fenced);
	table_number(table, LINK_MISSED, link->missed_heartbeats);
	table_number(table, LINK_QUEUED, link->queued_bytes);
}

static void connection_row(struct table *table, const struct coll_admin_connection *connection,
			   uint64_t placed, unsigned int unanswered)
{
	bool control = connection->lane == COLL_ADMIN_NONE;

	table_text(table, LINK_LANE, control ? "control" : text_rank(connection->lane));
	table_text(table, LINK_STATE,
		   coll_admin_name(COLL_ADMIN_CONNECTION_STATE, connection->state));
	table_flag(table, LINK_OUTGOING, connection->outgoing);
	table_number(table, LINK_SENT, connection->bytes_sent);
	if (!control) {
		table_number(table, LINK_RECEIVED, connection->bytes_received);
		table_number(table, LINK_PLACED, placed);
		table_number(table, LINK_CREDIT, connection->credit);
		table_number(table, LINK_STALLS, connection->stalls);
	}
	if (!connection->has_tcp)
		return;
	table_text(table, LINK_LOCAL, text_address(&connection->local));
	table_text(table, LINK_ADDRESS, text_address(&connection->peer));
	table_number(table, LINK_RTT, connection->rtt_us);
	table_number(table, LINK_RETRANS, connection->retransmits);
	table_number(table, LINK_UNANSWERED, unanswered);
	table_number(table, LINK_UNSENT, connection->unsent_bytes);
}

static int link_rows(const struct coll_admin_link *link, void *arg)
{
	struct table *table = arg;
	unsigned int i;

	if (!link->n) {
		link_begin(table, link);
		if (link->address.ss_family)
			table_text(table, LINK_ADDRESS, text_address(&link->address));
	}
	for (i = 0; i < link->n; i++) {
		link_begin(table, link);
		connection_row(table, &link->connection[i], link->placed_bytes[i],
			       link->unanswered[i]);
	}
	return 0;
}

static int link_show(int argc, char **argv)
{
	struct table *table = table_new("links", link_columns, ARRAY_SIZE(link_columns));
	const char *group;
	unsigned int rank;
	int err;

	ctl_selection(argc, argv, &group, &rank);
	err = coll_admin_links(ctl.admin, group, rank, link_rows, table);
	if (err >= 0)
		table_print(table);
	return ctl_result(err);
}

const struct verb link_verbs[] = {
	{ .name = "show", .run = link_show },
	{ 0 }
};

/* request */

enum {
	REQUEST_GROUP,
	REQUEST_RANK,
	REQUEST_ID,
	REQUEST_OPERATION,
	REQUEST_OPCODE,
	REQUEST_TYPE,
	REQUEST_REDUCTION,
	REQUEST_ALGORITHM,
	REQUEST_FLAGS,
	REQUEST_ROOT,
	REQUEST_COUNT,
	REQUEST_BYTES,
	REQUEST_LANES,
	REQUEST_STATE,
	REQUEST_AGE,
	REQUEST_LEFT,
	REQUEST_WAITS,
	REQUEST_REASON,
};

static const struct column request_columns[] = {
	[REQUEST_GROUP]		= { .name = "GROUP" },
	[REQUEST_RANK]		= { .name = "RANK", .kind = COLUMN_NUMBER },
	[REQUEST_ID]		= { .name = "ID", .kind = COLUMN_NUMBER },
	[REQUEST_OPERATION]	= { .name = "OPERATION" },
	[REQUEST_OPCODE]	= { .name = "OPCODE" },
	[REQUEST_TYPE]		= { .name = "TYPE" },
	[REQUEST_REDUCTION]	= { .name = "REDUCTION", .detail = true },
	[REQUEST_ALGORITHM]	= { .name = "ALGORITHM", .detail = true },
	[REQUEST_FLAGS]		= { "FLAGS", COLUMN_NUMBER, true },
	[REQUEST_ROOT]		= { "ROOT", COLUMN_NUMBER, true },
	[REQUEST_COUNT]		= { "COUNT", COLUMN_NUMBER, true },
	[REQUEST_BYTES]		= { .name = "BYTES", .kind = COLUMN_BYTES },
	[REQUEST_LANES]		= { "LANES", COLUMN_NUMBER, true },
	[REQUEST_STATE]		= { .name = "STATE" },
	[REQUEST_AGE]		= { .name = "AGE", .kind = COLUMN_DURATION },
	[REQUEST_LEFT]		= { .name = "LEFT-MS", .kind = COLUMN_NUMBER },
	[REQUEST_WAITS]		= { .name = "WAITS-FOR" },
	[REQUEST_REASON]	= { .name = "REASON", .detail = true },
};

static int request_row(const struct coll_admin_request *request, void *arg)
{
	const struct coll_admin_call *call = &request->call;
	struct table *table = arg;

	table_row(table);
	table_text(table, REQUEST_GROUP, request->group);
	table_number(table, REQUEST_RANK, request->rank);
	table_number(table, REQUEST_ID, request->id);
	table_text(table, REQUEST_OPERATION, text_operation(request->instance));
	table_text(table, REQUEST_OPCODE, coll_admin_name(COLL_ADMIN_OPCODE, call->opcode));
	table_text(table, REQUEST_TYPE, coll_admin_name(COLL_ADMIN_TYPE, call->type));
	table_text(table, REQUEST_REDUCTION,
		   coll_admin_name(COLL_ADMIN_REDUCTION, call->reduction));
	table_text(table, REQUEST_ALGORITHM,
		   coll_admin_name(COLL_ADMIN_ALGORITHM, call->algorithm));
	table_number(table, REQUEST_FLAGS, call->flags);
	table_number(table, REQUEST_ROOT, call->root);
	table_number(table, REQUEST_COUNT, call->count);
	table_number(table, REQUEST_BYTES, request->bytes);
	table_number(table, REQUEST_LANES, request->lanes);
	table_text(table, REQUEST_STATE,
		   coll_admin_name(COLL_ADMIN_REQUEST_STATE, request->state));
	table_number(table, REQUEST_AGE, request->age_ns);
	if (request->left_ms != COLL_ADMIN_NO_DEADLINE)
		table_number(table, REQUEST_LEFT, request->left_ms);
	table_text(table, REQUEST_WAITS, text_ranks(request->waits, request->nwaits));
	table_text(table, REQUEST_REASON, text_reason(&request->reason));
	return 0;
}

static int request_show(int argc, char **argv)
{
	struct table *table = table_new("requests", request_columns, ARRAY_SIZE(request_columns));
	const char *group;
	unsigned int rank;
	int err;

	ctl_selection(argc, argv, &group, &rank);
	err = coll_admin_requests(ctl.admin, group, rank, request_row, table);
	if (err >= 0)
		table_print(table);
	return ctl_result(err);
}

int ctl_cancel(int argc, char **argv)
{
	char *end;
	uint64_t id;

	if (argc != 3)
		ctl_usage("cancel needs GROUP RANK ID");
	id = strtoull(argv[2], &end, 10);
	if (*argv[2] < '0' || *argv[2] > '9' || *end)
		ctl_usage("%s is no id of a request", argv[2]);
	return ctl_result(coll_admin_cancel(ctl.admin, argv[0], ctl_number(argv[1], "rank"), id));
}

int ctl_abort(int argc, char **argv)
{
	if (argc != 1)
		ctl_usage("abort needs GROUP");
	return ctl_result(coll_admin_abort(ctl.admin, argv[0]));
}

const struct verb request_verbs[] = {
	{ .name = "show", .run = request_show },
	{ .name = "cancel", .run = ctl_cancel },
	{ 0 }
};

/* buffer */

enum {
	BUFFER_GROUP,
	BUFFER_RANK,
	BUFFER_NUMBER,
	BUFFER_ADDRESS,
	BUFFER_LENGTH,
	BUFFER_PAGES,
	BUFFER_USERS,
	BUFFER_WRITABLE,
};

static const struct column buffer_columns[] = {
	[BUFFER_GROUP]		= { .name = "GROUP" },
	[BUFFER_RANK]		= { .name = "RANK", .kind = COLUMN_NUMBER },
	[BUFFER_NUMBER]		= { .name = "NUMBER", .kind = COLUMN_NUMBER },
	[BUFFER_ADDRESS]	= { .name = "ADDRESS" },
	[BUFFER_LENGTH]		= { .name = "LENGTH", .kind = COLUMN_BYTES },
	[BUFFER_PAGES]		= { .name = "PAGES", .kind = COLUMN_NUMBER },
	[BUFFER_USERS]		= { .name = "USERS", .kind = COLUMN_NUMBER },
	[BUFFER_WRITABLE]	= { .name = "WRITABLE", .kind = COLUMN_FLAG },
};

static int buffer_row(const struct coll_admin_buffer *buffer, void *arg)
{
	struct table *table = arg;
	char address[32];

	snprintf(address, sizeof(address), "%#llx", (unsigned long long)buffer->address);
	table_row(table);
	table_text(table, BUFFER_GROUP, buffer->group);
	table_number(table, BUFFER_RANK, buffer->rank);
	table_number(table, BUFFER_NUMBER, buffer->number);
	table_text(table, BUFFER_ADDRESS, address);
	table_number(table, BUFFER_LENGTH, buffer->length);
	table_number(table, BUFFER_PAGES, buffer->pages);
	table_number(table, BUFFER_USERS, buffer->users);
	table_flag(table, BUFFER_WRITABLE, buffer->writable);
	return 0;
}

static int buffer_show(int argc, char **argv)
{
	struct table *table = table_new("buffers", buffer_columns, ARRAY_SIZE(buffer_columns));
	const char *group;
	unsigned int rank;
	int err;

	ctl_selection(argc, argv, &group, &rank);
	err = coll_admin_buffers(ctl.admin, group, rank, buffer_row, table);
	if (err >= 0)
		table_print(table);
	return ctl_result(err);
}

const struct verb buffer_verbs[] = {
	{ .name = "show", .run = buffer_show },
	{ 0 }
};
