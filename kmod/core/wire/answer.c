// SPDX-License-Identifier: GPL-2.0-only
#include "core/wire/answer.h"
#include "core/wire/wire.h"

#include <linux/collective.h>
#include <linux/collective_netlink.h>

#define STATE_STOPPED		1U

#define LAST_SUBMITTED		1U
#define LAST_COMPLETED		2U

/* No rank, in two bytes. */
#define NO_RANK			0xffff

struct state_wire {
	__le32 pid;
	__le32 own_pid;
	u8 state;
	u8 flags;
	__le16 inflight;
	__le16 parts;
	__le16 reserved;
	__le64 counted;
} __packed;

struct last_wire {
	__le64 submitted;
	__le64 completed;
	__le32 submit_age_ms;
	u8 flags;
	u8 submitted_opcode;
	u8 completed_opcode;
	u8 completed_kind;
} __packed;

struct oldest_wire {
	__le64 instance;
	__le32 age_ms;
	u8 opcode;
	u8 state;
	__le16 nwaits;
	__le16 waits[COLL_ANSWER_WAITS];
} __packed;

struct failure_wire {
	__le64 instance;
	__le32 age_ms;
	__le16 kind;
	__le16 error;
	__le16 rank_a;
	__le16 rank_b;
	__le32 reserved;
} __packed;

/* @units have each waited_unit() ns. */
struct waited_wire {
	__le64 ns;
	struct {
		__le16 rank;
		__le16 units;
	} __packed longest[COLL_ANSWER_WAITS];
} __packed;

struct times_wire {
	__le32 called_ms;
	__le32 span_ms;
	__le32 far_us;
	__le32 near_us;
	__le32 lost;
	__le16 far;
	__le16 lossy;
} __packed;

struct rates_wire {
	__le32 narrow_ms;
	__le32 narrow_kib;
	__le32 wide_kib;
	__le32 narrow;
	__le64 reserved;
} __packed;

static_assert(sizeof(struct state_wire) == COLL_ANSWER_SIZE);
static_assert(sizeof(struct last_wire) == COLL_ANSWER_SIZE);
static_assert(sizeof(struct oldest_wire) == COLL_ANSWER_SIZE);
static_assert(sizeof(struct failure_wire) == COLL_ANSWER_SIZE);
static_assert(sizeof(struct waited_wire) == COLL_ANSWER_SIZE);
static_assert(sizeof(struct times_wire) == COLL_ANSWER_SIZE);
static_assert(sizeof(struct rates_wire) == COLL_ANSWER_SIZE);
static_assert(COLL_ANSWER_NODES * COLL_ANSWER_SIZE >= COLL_NODE_MAX);
static_assert(COLL_ANSWER_PARTS <= 16);

/* A name goes to terminals and logs of other hosts. */
static bool node_char(u8 c)
{
	return c > ' ' && c <= '~';
}

/**
 * coll_answer_set_node() - set the name of the host, and which parts carry it
 * @answer: @node is all zero
 * @name: the name; what is no printable character of ASCII becomes a '?'
 */
void coll_answer_set_node(struct coll_answer *answer, const char *name)
{
	u32 i;

	for (i = 0; i < COLL_NODE_MAX && name[i]; i++) {
		answer->node[i] = node_char(name[i]) ? name[i] : '?';
		answer->parts |= 1U << (COLL_ANSWER_NODE_0 + i / COLL_ANSWER_SIZE);
	}
}

static void put_state(u8 *buf, const struct coll_answer *answer)
{
	struct state_wire w = {
		.pid = cpu_to_le32(answer->pid),
		.own_pid = cpu_to_le32(answer->own_pid),
		.state = answer->state,
		.flags = answer->stopped ? STATE_STOPPED : 0,
		.inflight = cpu_to_le16(answer->inflight),
		.parts = cpu_to_le16(answer->parts),
		.counted = cpu_to_le64(answer->counted),
	};

	memcpy(buf, &w, sizeof(w));
}

static int get_state(const u8 *buf, struct coll_answer *answer)
{
	struct state_wire w;

	memcpy(&w, buf, sizeof(w));
	answer->parts = le16_to_cpu(w.parts);
	if (w.reserved || w.flags & ~STATE_STOPPED || w.state >= COLLECTIVE_STATE_COUNT ||
	    answer->parts >= 1U << COLL_ANSWER_PARTS ||
	    !(answer->parts & 1U << COLL_ANSWER_STATE))
		return -EPROTO;
	answer->pid = le32_to_cpu(w.pid);
	answer->own_pid = le32_to_cpu(w.own_pid);
	answer->state = w.state;
	answer->stopped = w.flags & STATE_STOPPED;
	answer->inflight = le16_to_cpu(w.inflight);
	answer->counted = le64_to_cpu(w.counted);
	return 0;
}

static void put_last(u8 *buf, const struct coll_answer *answer)
{
	struct last_wire w = {
		.flags = (answer->has_submitted ? LAST_SUBMITTED : 0) |
			 (answer->has_completed ? LAST_COMPLETED : 0),
		.submitted = cpu_to_le64(answer->submitted),
		.submitted_opcode = answer->submitted_opcode,
		.submit_age_ms = cpu_to_le32(answer->submit_age_ms),
		.completed = cpu_to_le64(answer->completed),
		.completed_opcode = answer->completed_opcode,
		.completed_kind = answer->completed_kind,
	};

	memcpy(buf, &w, sizeof(w));
}

static int get_last(const u8 *buf, struct coll_answer *answer)
{
	struct last_wire w;

	memcpy(&w, buf, sizeof(w));
	if (w.flags & ~(LAST_SUBMITTED | LAST_COMPLETED) ||
	    w.submitted_opcode >= COLLECTIVE_OPCODE_COUNT ||
	    w.completed_opcode >= COLLECTIVE_OPCODE_COUNT ||
	    w.completed_kind >= COLLECTIVE_REASON_COUNT)
		return -EPROTO;
	answer->has_submitted = w.flags & LAST_SUBMITTED;
	answer->submitted = le64_to_cpu(w.submitted);
	answer->submitted_opcode = w.submitted_opcode;
	answer->submit_age_ms = le32_to_cpu(w.submit_age_ms);
	answer->has_completed = w.flags & LAST_COMPLETED;
	answer->completed = le64_to_cpu(w.completed);
	answer->completed_opcode = w.completed_opcode;
	answer->completed_kind = w.completed_kind;
	return 0;
}

static void put_oldest(u8 *buf, const struct coll_answer *answer)
{
	struct oldest_wire w = {
		.instance = cpu_to_le64(answer->oldest),
		.age_ms = cpu_to_le32(answer->oldest_age_ms),
		.opcode = answer->oldest_opcode,
		.state = answer->oldest_state,
		.nwaits = cpu_to_le16(answer->nwaits),
	};
	u32 i;

	for (i = 0; i < answer->nwaits; i++)
		w.waits[i] = cpu_to_le16(answer->waits[i]);
	memcpy(buf, &w, sizeof(w));
}

static int get_oldest(const u8 *buf, struct coll_answer *answer)
{
	struct oldest_wire w;
	u32 i;

	memcpy(&w, buf, sizeof(w));
	if (w.opcode >= COLLECTIVE_OPCODE_COUNT ||
	    w.state > COLLECTIVE_REQUEST_STATE_FAILING ||
	    le16_to_cpu(w.nwaits) > COLL_ANSWER_WAITS)
		return -EPROTO;
	answer->nwaits = le16_to_cpu(w.nwaits);
	for (i = 0; i < COLL_ANSWER_WAITS; i++) {
		answer->waits[i] = le16_to_cpu(w.waits[i]);
		if (answer->waits[i] >= (i < answer->nwaits ? COLLECTIVE_RANKS_MAX : 1))
			return -EPROTO;
	}
	answer->oldest = le64_to_cpu(w.instance);
	answer->oldest_age_ms = le32_to_cpu(w.age_ms);
	answer->oldest_opcode = w.opcode;
	answer->oldest_state = w.state;
	return 0;
}

static void put_failure(u8 *buf, const struct coll_answer_failure *failure)
{
	struct failure_wire w = {
		.instance = cpu_to_le64(failure->instance),
		.age_ms = cpu_to_le32(failure->age_ms),
		.kind = cpu_to_le16(failure->kind),
		.error = cpu_to_le16(failure->error),
		/* COLLECTIVE_RANK_NONE becomes NO_RANK. */
		.rank_a = cpu_to_le16(failure->rank_a),
		.rank_b = cpu_to_le16(failure->rank_b),
	};

	memcpy(buf, &w, sizeof(w));
}

static u32 get_rank(__le16 rank)
{
	return le16_to_cpu(rank) == NO_RANK ? COLLECTIVE_RANK_NONE : le16_to_cpu(rank);
}

static int get_failure(const u8 *buf, struct coll_answer_failure *failure)
{
	struct coll_reason reason;
	struct failure_wire w;

	memcpy(&w, buf, sizeof(w));
	reason = (struct coll_reason){
		.kind = le16_to_cpu(w.kind),
		.error = le16_to_cpu(w.error),
		.rank_a = get_rank(w.rank_a),
		.rank_b = get_rank(w.rank_b),
	};
	if (w.reserved || !coll_reason_valid(&reason))
		return -EPROTO;
	failure->instance = le64_to_cpu(w.instance);
	failure->kind = reason.kind;
	failure->error = reason.error;
	failure->rank_a = reason.rank_a;
	failure->rank_b = reason.rank_b;
	failure->age_ms = le32_to_cpu(w.age_ms);
	return 0;
}

/* A part of a sum of waits has less than 2^16 of these. */
static u64 waited_unit(u64 waited_ns)
{
	return (waited_ns >> 16) + 1;
}

/**
 * coll_answer_add_wait() - add a wait to the sum, and to the longest ones if it is among them
 * @answer: the answer
 * @rank: rank that was waited for, once for each answer
 * @ns: how long; more than COLL_ANSWER_WAITED_MAX in all is left out
 */
void coll_answer_add_wait(struct coll_answer *answer, u32 rank, u64 ns)
{
	struct coll_answer_wait *longest = answer->longest;
	u32 i;

	ns = min(ns, COLL_ANSWER_WAITED_MAX - answer->waited_ns);
	if (!ns)
		return;
	answer->parts |= 1U << COLL_ANSWER_WAITED;
	answer->waited_ns += ns;
	for (i = COLL_ANSWER_WAITS; i && longest[i - 1].ns < ns; i--)
		if (i < COLL_ANSWER_WAITS)
			longest[i] = longest[i - 1];
	if (i < COLL_ANSWER_WAITS)
		longest[i] = (struct coll_answer_wait){ .rank = rank, .ns = ns };
}

static void put_waited(u8 *buf, const struct coll_answer *answer)
{
	struct waited_wire w = { .ns = cpu_to_le64(answer->waited_ns) };
	u64 unit = waited_unit(answer->waited_ns);
	u32 i;

	for (i = 0; i < COLL_ANSWER_WAITS && answer->longest[i].ns >= unit; i++) {
		w.longest[i].rank = cpu_to_le16(answer->longest[i].rank);
		w.longest[i].units = cpu_to_le16(div64_u64(answer->longest[i].ns, unit));
	}
	memcpy(buf, &w, sizeof(w));
}

static int get_waited(const u8 *buf, struct coll_answer *answer)
{
	struct waited_wire w;
	u64 left, unit;
	u32 i;

	memcpy(&w, buf, sizeof(w));
	left = le64_to_cpu(w.ns);
	if (!left || left > COLL_ANSWER_WAITED_MAX)
		return -EPROTO;
	unit = waited_unit(left);
	answer->waited_ns = left;
	for (i = 0; i < COLL_ANSWER_WAITS; i++) {
		struct coll_answer_wait wait = {
			.rank = le16_to_cpu(w.longest[i].rank),
			.ns = le16_to_cpu(w.longest[i].units) * unit,
		};

		/* Parts of the sum, the longest first. */
		if (wait.rank >= (wait.ns ? COLLECTIVE_RANKS_MAX : 1) || wait.ns > left ||
		    (i && wait.ns > answer->longest[i - 1].ns))
			return -EPROTO;
		left -= wait.ns;
		answer->longest[i] = wait;
	}
	return 0;
}

static void put_times(u8 *buf, const struct coll_answer *answer)
{
	struct times_wire w = {
		.called_ms = cpu_to_le32(answer->called_ms),
		.span_ms = cpu_to_le32(answer->span_ms),
		.far_us = cpu_to_le32(answer->links.far_us),
		.near_us = cpu_to_le32(answer->links.near_us),
		.lost = cpu_to_le32(answer->links.lost),
		.far = cpu_to_le16(answer->links.far),
		.lossy = cpu_to_le16(answer->links.lossy),
	};

	memcpy(buf, &w, sizeof(w));
}

static bool links_valid(const struct coll_answer_links *links)
{
	if (links->far >= COLLECTIVE_RANKS_MAX || links->lossy >= COLLECTIVE_RANKS_MAX)
		return false;
	return links->near_us <= links->far_us && !links->near_us == !links->far_us;
}

static int get_times(const u8 *buf, struct coll_answer *answer)
{
	struct times_wire w;

	memcpy(&w, buf, sizeof(w));
	answer->called_ms = le32_to_cpu(w.called_ms);
	answer->span_ms = le32_to_cpu(w.span_ms);
	answer->links.far = le16_to_cpu(w.far);
	answer->links.far_us = le32_to_cpu(w.far_us);
	answer->links.near_us = le32_to_cpu(w.near_us);
	answer->links.lossy = le16_to_cpu(w.lossy);
	answer->links.lost = le32_to_cpu(w.lost);
	return links_valid(&answer->links) ? 0 : -EPROTO;
}

static void put_rates(u8 *buf, const struct coll_answer *answer)
{
	struct rates_wire w = {
		.narrow_ms = cpu_to_le32(answer->links.narrow_ms),
		.narrow_kib = cpu_to_le32(answer->links.narrow_kib),
		.wide_kib = cpu_to_le32(answer->links.wide_kib),
		.narrow = cpu_to_le32(answer->links.narrow),
	};

	memcpy(buf, &w, sizeof(w));
}

static int get_rates(const u8 *buf, struct coll_answer *answer)
{
	struct coll_answer_links *links = &answer->links;
	struct rates_wire w;

	memcpy(&w, buf, sizeof(w));
	links->narrow_ms = le32_to_cpu(w.narrow_ms);
	links->narrow_kib = le32_to_cpu(w.narrow_kib);
	links->wide_kib = le32_to_cpu(w.wide_kib);
	links->narrow = le32_to_cpu(w.narrow);
	if (w.reserved || links->narrow >= COLLECTIVE_RANKS_MAX || !links->narrow_kib ||
	    links->narrow_kib > links->wide_kib)
		return -EPROTO;
	return 0;
}

static int get_node(const u8 *buf, struct coll_answer *answer, u32 index)
{
	char *to = answer->node + index * COLL_ANSWER_SIZE;
	u32 i;

	if (!buf[0])
		return -EPROTO;
	for (i = 0; i < COLL_ANSWER_SIZE; i++) {
		bool inside = index * COLL_ANSWER_SIZE + i < COLL_NODE_MAX;

		if (buf[i] && (!inside || !node_char(buf[i]) || (i && !buf[i - 1])))
			return -EPROTO;
		to[i] = buf[i];
	}
	return 0;
}

/**
 * coll_answer_put() - write a part of an answer
 * @buf: COLL_ANSWER_SIZE bytes
 * @answer: the answer
 * @part: which part
 */
void coll_answer_put(u8 *buf, const struct coll_answer *answer, enum coll_answer_part part)
{
	switch (part) {
	case COLL_ANSWER_STATE:
		put_state(buf, answer);
		break;
	case COLL_ANSWER_LAST:
		put_last(buf, answer);
		break;
	case COLL_ANSWER_OLDEST:
		put_oldest(buf, answer);
		break;
	case COLL_ANSWER_GROUP:
		put_failure(buf, &answer->group);
		break;
	case COLL_ANSWER_FAILED:
		put_failure(buf, &answer->failed);
		break;
	case COLL_ANSWER_WAITED:
		put_waited(buf, answer);
		break;
	case COLL_ANSWER_TIMES:
		put_times(buf, answer);
		break;
	case COLL_ANSWER_RATES:
		put_rates(buf, answer);
		break;
	default:
		memcpy(buf, answer->node + (part - COLL_ANSWER_NODE_0) * COLL_ANSWER_SIZE,
		       COLL_ANSWER_SIZE);
	}
}

/**
 * coll_answer_get() - read a part of an answer
 * @buf: COLL_ANSWER_SIZE bytes from a peer
 * @answer: the fields of the part are set; they are in range, and those of other parts stay
 * @part: which part; below COLL_ANSWER_PARTS
 *
 * Return: 0, or -EPROTO: no correct peer sends this.
 */
int coll_answer_get(const u8 *buf, struct coll_answer *answer, enum coll_answer_part part)
{
	int err;

	switch (part) {
	case COLL_ANSWER_STATE:
		err = get_state(buf, answer);
		break;
	case COLL_ANSWER_LAST:
		err = get_last(buf, answer);
		break;
	case COLL_ANSWER_OLDEST:
		err = get_oldest(buf, answer);
		break;
	case COLL_ANSWER_GROUP:
		err = get_failure(buf, &answer->group);
		break;
	case COLL_ANSWER_FAILED:
		err = get_failure(buf, &answer->failed);
		break;
	case COLL_ANSWER_WAITED:
		err = get_waited(buf, answer);
		break;
	case COLL_ANSWER_TIMES:
		err = get_times(buf, answer);
		break;
	case COLL_ANSWER_RATES:
		err = get_rates(buf, answer);
		break;
	default:
		err = get_node(buf, answer, part - COLL_ANSWER_NODE_0);
	}
	if (!err)
		answer->heard |= 1U << part;
	return err;
}
