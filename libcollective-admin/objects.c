// SPDX-License-Identifier: LGPL-2.1-or-later
/* The objects: each message of a dump becomes a struct for the function of the user. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "admin.h"

static const char *group_of(struct nlattr **attrs)
{
	struct nlattr *attr = attrs[COLLECTIVE_A_GROUP_GROUP];

	return attr ? nla_get_string(attr) : "";
}

static unsigned int rank_of(struct nlattr **attrs)
{
	return attr_u32(attrs[COLLECTIVE_A_MEMBER_RANK], COLL_ADMIN_NONE);
}

/* Dumps objects.  @rank: COLL_ADMIN_ALL: all. */
static int dump(struct coll_admin *admin, int cmd, const char *group, unsigned int rank,
		int (*take)(struct nlattr **attrs, void *ctx), void *ctx)
{
	struct nl_msg *msg = admin_message(admin, cmd, NLM_F_REQUEST | NLM_F_DUMP, group);
	struct answer answer = { .take = take, .ctx = ctx };

	if (msg && rank != COLL_ADMIN_ALL)
		nla_put_u32(msg, COLLECTIVE_A_MEMBER_RANK, rank);
	return admin_call(admin, msg, &answer);
}

/* A function of the user and its argument. */
#define EACH(_object)								\
struct each_##_object {								\
	int (*each)(const struct coll_admin_##_object *object, void *arg);	\
	void *arg;								\
}

EACH(group);

static int take_group(struct nlattr **attrs, void *ctx)
{
	const struct each_group *user = ctx;
	struct coll_admin_group group = {
		.name = group_of(attrs),
		.id = attr_uint(attrs[COLLECTIVE_A_GROUP_ID], 0),
		.size = attr_u32(attrs[COLLECTIVE_A_GROUP_SIZE], 0),
		.lanes = attr_u32(attrs[COLLECTIVE_A_GROUP_LANES], 0),
		.members = attr_u32(attrs[COLLECTIVE_A_GROUP_MEMBERS], 0),
		.owner = attr_u32(attrs[COLLECTIVE_A_GROUP_OWNER], 0),
		.secured = attrs[COLLECTIVE_A_GROUP_SECURED],
		.timeout_ms = attr_u32(attrs[COLLECTIVE_A_GROUP_TIMEOUT_MS], 0),
		.slow_percent = attr_u32(attrs[COLLECTIVE_A_GROUP_SLOW_PERCENT], 0),
		.has_id = attrs[COLLECTIVE_A_GROUP_ID],
	};

	return user->each(&group, user->arg);
}

int coll_admin_groups(struct coll_admin *admin, const char *group,
		      int (*each)(const struct coll_admin_group *group, void *arg), void *arg)
{
	struct each_group user = { each, arg };

	return dump(admin, COLLECTIVE_CMD_GROUP_GET, group, COLL_ADMIN_ALL, take_group, &user);
}

EACH(member);

static_assert(COLLECTIVE_A_ERRORS_MAX <
	      sizeof(((struct coll_admin_member *)0)->errors) / sizeof(uint64_t), "kinds fit");

static void member_counters(struct nlattr **attrs, struct coll_admin_member *member)
{
	struct nlattr *errors[COLLECTIVE_A_ERRORS_MAX + 1] = { 0 };
	unsigned int i;

	member->submitted = attr_uint(attrs[COLLECTIVE_A_MEMBER_SUBMITTED], 0);
	member->completed = attr_uint(attrs[COLLECTIVE_A_MEMBER_COMPLETED], 0);
	member->failed = attr_uint(attrs[COLLECTIVE_A_MEMBER_FAILED], 0);
	member->pinned_bytes = attr_uint(attrs[COLLECTIVE_A_MEMBER_PINNED_BYTES], 0);
	member->memory_bytes = attr_uint(attrs[COLLECTIVE_A_MEMBER_MEMORY_BYTES], 0);
	member->refused_connections = attr_uint(attrs[COLLECTIVE_A_MEMBER_REFUSED_CONNECTIONS], 0);
	member->events_lost = attr_uint(attrs[COLLECTIVE_A_MEMBER_EVENTS_LOST], 0);
	if (attrs[COLLECTIVE_A_MEMBER_ERRORS])
		nla_parse_nested(errors, COLLECTIVE_A_ERRORS_MAX,
				 attrs[COLLECTIVE_A_MEMBER_ERRORS], NULL);
	for (i = 1; i <= COLLECTIVE_A_ERRORS_MAX; i++)
		member->errors[i] = attr_uint(errors[i], 0);
	parse_traffic(attrs[COLLECTIVE_A_MEMBER_TRAFFIC], &member->traffic, &member->placed_bytes);
}

static int take_member(struct nlattr **attrs, void *ctx)
{
	const struct each_member *user = ctx;
	struct coll_admin_member member = {
		.group = group_of(attrs),
		.rank = rank_of(attrs),
		.state = attr_u32(attrs[COLLECTIVE_A_MEMBER_STATE], 0),
		.pid = attr_u32(attrs[COLLECTIVE_A_MEMBER_PID], 0),
		.transport = attr_u32(attrs[COLLECTIVE_A_MEMBER_TRANSPORT], 0),
		.inflight = attr_u32(attrs[COLLECTIVE_A_MEMBER_INFLIGHT], 0),
		.timeout_ms = attr_u32(attrs[COLLECTIVE_A_MEMBER_TIMEOUT_MS], COLL_ADMIN_NONE),
		.heartbeat_ms = attr_u32(attrs[COLLECTIVE_A_MEMBER_HEARTBEAT_MS], 0),
	};

	member_counters(attrs, &member);
	attr_address(attrs[COLLECTIVE_A_MEMBER_ADDRESS], &member.address);
	parse_reason(attrs[COLLECTIVE_A_MEMBER_REASON], &member.reason);
	parse_reason(attrs[COLLECTIVE_A_MEMBER_LAST_FAILURE], &member.last);
	return user->each(&member, user->arg);
}

int coll_admin_members(struct coll_admin *admin, const char *group, unsigned int rank,
		       int (*each)(const struct coll_admin_member *member, void *arg), void *arg)
{
	struct each_member user = { each, arg };

	return dump(admin, COLLECTIVE_CMD_MEMBER_GET, group, rank, take_member, &user);
}

EACH(lane);

static int take_lane(struct nlattr **attrs, void *ctx)
{
	const struct each_lane *user = ctx;
	struct coll_admin_lane lane = {
		.group = group_of(attrs),
		.rank = rank_of(attrs),
		.lane = attr_u32(attrs[COLLECTIVE_A_LANE_LANE], 0),
		.cpu = attr_u32(attrs[COLLECTIVE_A_LANE_CPU], 0),
	};

	parse_traffic(attrs[COLLECTIVE_A_LANE_TRAFFIC], &lane.traffic, &lane.placed_bytes);
	return user->each(&lane, user->arg);
}

int coll_admin_lanes(struct coll_admin *admin, const char *group, unsigned int rank,
		     int (*each)(const struct coll_admin_lane *lane, void *arg), void *arg)
{
	struct each_lane user = { each, arg };

	return dump(admin, COLLECTIVE_CMD_LANE_GET, group, rank, take_lane, &user);
}

EACH(link);

static void parse_connection(struct nlattr *attr, struct coll_admin_connection *connection,
			     uint64_t *placed, unsigned int *unanswered)
{
	struct nlattr *attrs[COLLECTIVE_A_CONNECTION_MAX + 1] = { 0 };

	nla_parse_nested(attrs, COLLECTIVE_A_CONNECTION_MAX, attr, NULL);
	*connection = (struct coll_admin_connection){
		.lane = attr_u32(attrs[COLLECTIVE_A_CONNECTION_LANE], COLL_ADMIN_NONE),
		.state = attr_u32(attrs[COLLECTIVE_A_CONNECTION_STATE], 0),
		.outgoing = attrs[COLLECTIVE_A_CONNECTION_OUTGOING],
		.has_tcp = attrs[COLLECTIVE_A_CONNECTION_RTT_US],
		.rtt_us = attr_u32(attrs[COLLECTIVE_A_CONNECTION_RTT_US], 0),
		.retransmits = attr_u32(attrs[COLLECTIVE_A_CONNECTION_RETRANSMITS], 0),
		.unsent_bytes = attr_u32(attrs[COLLECTIVE_A_CONNECTION_UNSENT_BYTES], 0),
		.bytes_sent = attr_uint(attrs[COLLECTIVE_A_CONNECTION_BYTES_SENT], 0),
		.bytes_received = attr_uint(attrs[COLLECTIVE_A_CONNECTION_BYTES_RECEIVED], 0),
		.credit = attr_u32(attrs[COLLECTIVE_A_CONNECTION_CREDIT], 0),
		.stalls = attr_uint(attrs[COLLECTIVE_A_CONNECTION_STALLS], 0),
	};
	*placed = attr_uint(attrs[COLLECTIVE_A_CONNECTION_BYTES_PLACED], 0);
	*unanswered = attr_u32(attrs[COLLECTIVE_A_CONNECTION_UNANSWERED], 0);
	attr_address(attrs[COLLECTIVE_A_CONNECTION_LOCAL_ADDRESS], &connection->local);
	attr_address(attrs[COLLECTIVE_A_CONNECTION_PEER_ADDRESS], &connection->peer);
}

static int take_link(struct nlattr **attrs, void *ctx)
{
	struct coll_admin_connection connections[COLL_ADMIN_CONNECTIONS];
	uint64_t placed[COLL_ADMIN_CONNECTIONS];
	unsigned int unanswered[COLL_ADMIN_CONNECTIONS];
	const struct each_link *user = ctx;
	struct coll_admin_link link = {
		.group = group_of(attrs),
		.rank = rank_of(attrs),
		.peer = attr_u32(attrs[COLLECTIVE_A_LINK_PEER], 0),
		.transport = attr_u32(attrs[COLLECTIVE_A_LINK_TRANSPORT], COLL_ADMIN_NONE),
		.choice = attr_u32(attrs[COLLECTIVE_A_LINK_CHOICE], COLL_ADMIN_NONE),
		.open = attr_u32(attrs[COLLECTIVE_A_LINK_OPEN], 0),
		.peer_left = attrs[COLLECTIVE_A_LINK_PEER_LEFT],
		.peer_fenced = attrs[COLLECTIVE_A_LINK_PEER_FENCED],
		.missed_heartbeats = attr_u32(attrs[COLLECTIVE_A_LINK_MISSED_HEARTBEATS], 0),
		.queued_bytes = attr_u32(attrs[COLLECTIVE_A_LINK_QUEUED_BYTES], 0),
		.connection = connections,
		.placed_bytes = placed,
		.unanswered = unanswered,
	};
	struct nlattr *found[COLL_ADMIN_CONNECTIONS];
	unsigned int i;

	attr_address(attrs[COLLECTIVE_A_LINK_PEER_ADDRESS], &link.address);
	link.n = attr_all(attrs, COLLECTIVE_A_LINK_CONNECTION, found, COLL_ADMIN_CONNECTIONS);
	for (i = 0; i < link.n; i++)
		parse_connection(found[i], &connections[i], &placed[i], &unanswered[i]);
	return user->each(&link, user->arg);
}

int coll_admin_links(struct coll_admin *admin, const char *group, unsigned int rank,
		     int (*each)(const struct coll_admin_link *link, void *arg), void *arg)
{
	struct each_link user = { each, arg };

	return dump(admin, COLLECTIVE_CMD_LINK_GET, group, rank, take_link, &user);
}

EACH(request);

static int take_request(struct nlattr **attrs, void *ctx)
{
	const struct each_request *user = ctx;
	struct coll_admin_request request = {
		.group = group_of(attrs),
		.rank = rank_of(attrs),
		.id = attr_uint(attrs[COLLECTIVE_A_REQUEST_ID], 0),
		.instance = attr_uint(attrs[COLLECTIVE_A_REQUEST_INSTANCE], 0),
		.bytes = attr_uint(attrs[COLLECTIVE_A_REQUEST_BYTES], 0),
		.lanes = attr_u32(attrs[COLLECTIVE_A_REQUEST_LANES], 0),
		.state = attr_u32(attrs[COLLECTIVE_A_REQUEST_STATE], 0),
		.age_ns = attr_uint(attrs[COLLECTIVE_A_REQUEST_AGE_NS], 0),
		.left_ms = attr_uint(attrs[COLLECTIVE_A_REQUEST_LEFT_MS], COLL_ADMIN_NO_DEADLINE),
	};

	request.nwaits = attr_u32s(attrs, COLLECTIVE_A_REQUEST_WAITS_FOR, request.waits,
				   COLL_ADMIN_WAITS);
	parse_call(attrs[COLLECTIVE_A_REQUEST_CALL], &request.call);
	parse_reason(attrs[COLLECTIVE_A_REQUEST_REASON], &request.reason);
	return user->each(&request, user->arg);
}

int coll_admin_requests(struct coll_admin *admin, const char *group, unsigned int rank,
			int (*each)(const struct coll_admin_request *request, void *arg),
			void *arg)
{
	struct each_request user = { each, arg };

	return dump(admin, COLLECTIVE_CMD_REQUEST_GET, group, rank, take_request, &user);
}

EACH(buffer);

static int take_buffer(struct nlattr **attrs, void *ctx)
{
	const struct each_buffer *user = ctx;
	struct coll_admin_buffer buffer = {
		.group = group_of(attrs),
		.rank = rank_of(attrs),
		.number = attr_u32(attrs[COLLECTIVE_A_BUFFER_NUMBER], 0),
		.address = attr_uint(attrs[COLLECTIVE_A_BUFFER_ADDRESS], 0),
		.length = attr_uint(attrs[COLLECTIVE_A_BUFFER_LENGTH], 0),
		.pages = attr_uint(attrs[COLLECTIVE_A_BUFFER_PAGES], 0),
		.users = attr_u32(attrs[COLLECTIVE_A_BUFFER_USERS], 0),
		.writable = attrs[COLLECTIVE_A_BUFFER_WRITABLE],
	};

	return user->each(&buffer, user->arg);
}

int coll_admin_buffers(struct coll_admin *admin, const char *group, unsigned int rank,
		       int (*each)(const struct coll_admin_buffer *buffer, void *arg), void *arg)
{
	struct each_buffer user = { each, arg };

	return dump(admin, COLLECTIVE_CMD_BUFFER_GET, group, rank, take_buffer, &user);
}

EACH(record);

static int take_record(struct nlattr **attrs, void *ctx)
{
	const struct each_record *user = ctx;
	struct coll_admin_record record = {
		.group = group_of(attrs),
		.rank = rank_of(attrs),
		.number = attr_uint(attrs[COLLECTIVE_A_RECORD_NUMBER], 0),
		.kind = attr_u32(attrs[COLLECTIVE_A_RECORD_KIND], 0),
		.time_ns = attr_uint(attrs[COLLECTIVE_A_RECORD_TIME_NS], 0),
		.instance = attr_uint(attrs[COLLECTIVE_A_RECORD_INSTANCE], COLL_ADMIN_NO_INSTANCE),
		.state = attr_u32(attrs[COLLECTIVE_A_RECORD_STATE], 0),
		.bytes = attr_uint(attrs[COLLECTIVE_A_RECORD_BYTES], 0),
		.peer = attr_u32(attrs[COLLECTIVE_A_RECORD_PEER], COLL_ADMIN_NONE),
		.change = attr_u32(attrs[COLLECTIVE_A_RECORD_CHANGE], 0),
		.error = attr_u32(attrs[COLLECTIVE_A_RECORD_ERROR], 0),
	};

	parse_call(attrs[COLLECTIVE_A_RECORD_CALL], &record.call);
	parse_reason(attrs[COLLECTIVE_A_RECORD_REASON], &record.reason);
	return user->each(&record, user->arg);
}

int coll_admin_records(struct coll_admin *admin, const char *group, unsigned int rank,
		       int (*each)(const struct coll_admin_record *record, void *arg), void *arg)
{
	struct each_record user = { each, arg };

	return dump(admin, COLLECTIVE_CMD_RECORD_GET, group, rank, take_record, &user);
}

EACH(time);

static int take_time(struct nlattr **attrs, void *ctx)
{
	struct coll_admin_histogram latency, waiting, moving;
	struct coll_admin_wait waited[COLL_ADMIN_WAITED];
	struct nlattr *found[COLL_ADMIN_WAITED];
	const struct each_time *user = ctx;
	struct coll_admin_time time = {
		.group = group_of(attrs),
		.rank = rank_of(attrs),
		.opcode = attr_u32(attrs[COLLECTIVE_A_TIME_OPCODE], 0),
		.latency = &latency,
		.waiting = &waiting,
		.moving = &moving,
		.waited_ns = attr_uint(attrs[COLLECTIVE_A_TIME_WAITED_NS], 0),
		.waited = waited,
		.span_ns = attr_uint(attrs[COLLECTIVE_A_TIME_SPAN_NS], 0),
		.longest_ns = attr_uint(attrs[COLLECTIVE_A_TIME_LONGEST_NS], 0),
	};
	unsigned int i;

	parse_histogram(attrs[COLLECTIVE_A_TIME_LATENCY], &latency);
	parse_histogram(attrs[COLLECTIVE_A_TIME_WAITING], &waiting);
	parse_histogram(attrs[COLLECTIVE_A_TIME_MOVING], &moving);
	time.nwaited = attr_all(attrs, COLLECTIVE_A_TIME_WAITED, found, COLL_ADMIN_WAITED);
	for (i = 0; i < time.nwaited; i++)
		parse_wait(found[i], &waited[i]);
	return user->each(&time, user->arg);
}

int coll_admin_times(struct coll_admin *admin, const char *group, unsigned int rank,
		     int (*each)(const struct coll_admin_time *time, void *arg), void *arg)
{
	struct each_time user = { each, arg };

	return dump(admin, COLLECTIVE_CMD_TIME_GET, group, rank, take_time, &user);
}

EACH(pair);

static int take_waits(struct nlattr **attrs, void *ctx)
{
	const struct each_pair *user = ctx;
	struct nlattr *found[COLL_ADMIN_WAITED];
	struct coll_admin_pair pair = {
		.group = group_of(attrs),
		.rank = rank_of(attrs),
		.opcode = attr_u32(attrs[COLLECTIVE_A_TIME_OPCODE], 0),
	};
	unsigned int i, n = attr_all(attrs, COLLECTIVE_A_TIME_WAITED, found, COLL_ADMIN_WAITED);
	int stop = 0;

	for (i = 0; !stop && i < n; i++) {
		parse_wait(found[i], &pair.waited);
		stop = user->each(&pair, user->arg);
	}
	return stop;
}

int coll_admin_waits(struct coll_admin *admin, const char *group, unsigned int rank,
		     int (*each)(const struct coll_admin_pair *pair, void *arg), void *arg)
{
	struct each_pair user = { each, arg };

	return dump(admin, COLLECTIVE_CMD_WAIT_GET, group, rank, take_waits, &user);
}
