// SPDX-License-Identifier: GPL-2.0-only
/*
 * Heartbeats of a link (net/heartbeat.c): when a peer is silent, on which connection, and what is
 * said to it until then.
 */
#include "charges_env.h"
#include "net/heartbeat.c"
#include "random.h"
#include "tap.h"

#define PROGRAMS	20000
#define BEATS		60
#define LANES		4
#define RANK		5
#define HEARTBEAT_MS	400

/**
 * struct end - a connection of the link
 * @silent: true if the peer acknowledges nothing that is on its way to it
 * @resends: number of times that lost bytes were sent again
 * @ms: time within which they were, the last time
 * @lost: true if it was said then that something is lost
 */
struct end {
	struct coll_conn conn;
	bool silent;
	u32 resends;
	u32 ms;
	bool lost;
};

static struct end control, data[LANES];
static struct coll_ident ident;
static struct coll_member_state state;
static struct coll_net net;
static struct coll_link the_link;
static u64 count;

/* What was done since the link was made. */
static u32 pings, kicks, reports;
static u64 last_ping, last_count;
static struct coll_reason reason;

/* What the other rooms do */

void coll_link_queue_frame(struct coll_link *link, const struct coll_control *frame)
{
	assert(link == &the_link && frame->kind == COLL_CONTROL_PING);
	pings++;
	last_ping = frame->position;
	last_count = frame->submitted;
}

void coll_state_fail_kind(struct coll_member_state *of, u32 kind, u32 rank_a, u32 rank_b)
{
	assert(of == &state);
	reports++;
	reason = (struct coll_reason){ .kind = kind, .rank_a = rank_a, .rank_b = rank_b };
	of->aborted = -1;
}

static u64 own_count(struct coll_net *of, u32 peer)
{
	assert(of == &net && peer == the_link.peer);
	return count;
}

static void kick_lanes(struct coll_net *of)
{
	kicks++;
}

static bool test_acknowledges(struct coll_endpoint *ep)
{
	return !container_of(ep, struct end, conn.ep)->silent;
}

static void test_resend(struct coll_endpoint *ep, u32 ms, bool lost)
{
	struct end *end = container_of(ep, struct end, conn.ep);

	end->resends++;
	end->ms = ms;
	end->lost = lost;
}

static const struct coll_transport coll_test = {
	.acknowledges	= test_acknowledges,
	.resend		= test_resend,
};

/* As RDMA: it finds silence by itself. */
static const struct coll_transport coll_silent = { };

const struct coll_transport coll_local;

static const struct coll_net_ops ops = {
	.own_count	= own_count,
	.kick_lanes	= kick_lanes,
};

static void end_open(struct end *end, const struct coll_transport *transport)
{
	*end = (struct end){
		.conn = {
			.ep.transport = transport,
			.state = COLL_CONN_OPEN,
			.net = &net,
			.link = &the_link,
		},
	};
}

static void link_new(u32 peer, const struct coll_transport *transport)
{
	u32 i;

	ident = (struct coll_ident){
		.rank = RANK, .nranks = 9, .nlanes = LANES, .heartbeat_ms = HEARTBEAT_MS,
	};
	memset(&state, 0, sizeof(state));
	state.value = COLLECTIVE_STATE_UP;
	net = (struct coll_net){ .id = &ident, .state = &state, .ops = &ops };
	the_link = (struct coll_link){
		.net = &net, .peer = peer, .transport = transport, .control = &control.conn,
	};
	end_open(&control, transport);
	for (i = 0; i < LANES; i++) {
		end_open(&data[i], transport);
		the_link.data[i] = &data[i].conn;
	}
	count = 3;
	pings = 0;
	kicks = 0;
	reports = 0;
}

/* As link_rx.c does with each frame of the peer. */
static void hear(void)
{
	the_link.missed_heartbeats = 0;
}

static bool said_silence(void)
{
	u32 peer = the_link.peer;

	return HOLDS(reports == 1) && HOLDS(reason.kind == COLLECTIVE_REASON_SILENCE) &&
	       HOLDS(reason.rank_a == min(peer, (u32)RANK)) &&
	       HOLDS(reason.rank_b == max(peer, (u32)RANK));
}

/* Beats up to the first that reports something; BEATS: none does. */
static u32 beats_until_report(void)
{
	u32 beat;

	for (beat = 1; beat < BEATS && !reports; beat++)
		coll_link_heartbeat(&the_link, beat);
	return reports ? beat - 1 : BEATS;
}

/* A peer of which nothing is heard, on either side of this rank. */
static void test_silence(void)
{
	static const u32 peers[] = { 0, RANK - 1, RANK + 1, 8 };
	bool good = true;
	u32 i, before;

	for (i = 0; i < ARRAY_SIZE(peers); i++)
		for (before = 0; before <= COLL_SILENCE_BEATS; before++) {
			u32 beat;

			link_new(peers[i], &coll_test);
			for (beat = 0; beat < before; beat++)
				coll_link_heartbeat(&the_link, beat);
			good &= HOLDS(!reports) && HOLDS(pings == before);
			/* Whatever was missed before, one frame is enough. */
			hear();
			good &= HOLDS(beats_until_report() == COLL_SILENCE_BEATS + 1) &&
				said_silence() && HOLDS(pings == before + COLL_SILENCE_BEATS);
		}
	tap_ok(good, "a peer is silent after %u heartbeats without a frame, and not before",
	       COLL_SILENCE_BEATS + 1);
}

/* Bytes of one lane stay unacknowledged, while frames come. */
static void test_lane_silence(void)
{
	bool good = true;
	u32 lane, beat;

	for (lane = 0; lane < LANES; lane++) {
		link_new(7, &coll_test);
		data[lane].silent = true;
		for (beat = 1; beat < BEATS && !reports; beat++) {
			hear();
			coll_link_heartbeat(&the_link, beat);
		}
		good &= HOLDS(beat - 1 == COLL_SILENCE_BEATS + 1) && said_silence();
	}
	/* Each lane is silent for a while, and one always is. */
	link_new(7, &coll_test);
	for (beat = 1; beat < 1000; beat++) {
		for (lane = 0; lane < LANES; lane++)
			data[lane].silent = beat / COLL_SILENCE_BEATS % LANES == lane;
		hear();
		coll_link_heartbeat(&the_link, beat);
	}
	good &= HOLDS(!reports) && HOLDS(pings == 999);
	tap_ok(good, "a lane is silent by itself: those of several lanes do not add up");
}

/**
 * struct history - when something was heard, by beats
 * @control: the latest beat at which nothing had been missed
 * @lane: the latest beat at which the bytes of a lane were acknowledged
 */
struct history {
	u32 control;
	u32 lane[LANES];
};

static bool is_silent(const struct history *history, u32 beat)
{
	u32 i;

	if (beat - history->control > COLL_SILENCE_BEATS)
		return true;
	for (i = 0; i < LANES; i++)
		if (beat - history->lane[i] > COLL_SILENCE_BEATS)
			return true;
	return false;
}

/* What of a lane is there differs: it has no connection yet, is closed, or needs no heartbeats. */
static void change_lane(u32 lane)
{
	switch (random_below(8)) {
	case 0:
		the_link.data[lane] = NULL;
		break;
	case 1:
		data[lane].conn.ep.transport = NULL;
		break;
	case 2:
		data[lane].conn.ep.transport = &coll_silent;
		break;
	default:
		the_link.data[lane] = &data[lane].conn;
		data[lane].conn.ep.transport = &coll_test;
	}
}

static bool lane_answers(u32 lane)
{
	return the_link.data[lane] != &data[lane].conn ||
	       data[lane].conn.ep.transport != &coll_test || !data[lane].silent;
}

/* Was all that may be lost sent again, within a quarter of a heartbeat? */
static bool was_resent(const struct history *history, u32 beat, const u32 *resends)
{
	bool good = HOLDS(control.ms == HEARTBEAT_MS / 4) &&
		    HOLDS(control.lost == (beat - history->control >= LOST_BEATS));
	u32 i;

	for (i = 0; good && i < LANES; i++) {
		bool there = the_link.data[i] && data[i].conn.ep.transport == &coll_test;

		good = HOLDS(data[i].resends == resends[i] + there);
		if (good && there)
			good = HOLDS(data[i].ms == HEARTBEAT_MS / 4) &&
			       HOLDS(data[i].lost == (beat - history->lane[i] >= LOST_BEATS));
	}
	return good;
}

static bool run_program(void)
{
	struct history history = { };
	u32 beat, i, rarely = 2 + random_below(20), resends[LANES];
	bool good = true;

	link_new(random_once(2) ? 1 : 8, &coll_test);
	for (beat = 1; good && beat < BEATS; beat++) {
		if (random_once(rarely)) {
			hear();
			history.control = beat - 1;
		}
		for (i = 0; i < LANES; i++) {
			resends[i] = data[i].resends;
			if (random_once(rarely))
				data[i].silent = !data[i].silent;
			if (random_once(4 * rarely))
				change_lane(i);
			if (lane_answers(i))
				history.lane[i] = beat;
		}
		count += random_below(3);
		coll_link_heartbeat(&the_link, 1000 + beat);
		if (is_silent(&history, beat))
			return said_silence() && HOLDS(pings == beat - 1);
		good = HOLDS(!reports) && HOLDS(pings == beat) && HOLDS(last_ping == 1000 + beat) &&
		       HOLDS(last_count == count) && HOLDS(the_link.submitted_told == count) &&
		       was_resent(&history, beat, resends);
	}
	return good;
}

static void test_programs(void)
{
	tap_ok(random_programs(PROGRAMS, run_program),
	       "each heartbeat has a PING and what was lost, until one connection is silent");
}

/* The control connection has two heartbeats to tell why a data connection is down. */
static void test_down(void)
{
	const struct coll_transport *transports[] = { &coll_test, &coll_local };
	u32 i, lane;
	bool good = true;

	for (i = 0; i < ARRAY_SIZE(transports); i++)
		for (lane = 0; lane < LANES; lane++) {
			link_new(2, transports[i]);
			data[lane].conn.state = COLL_CONN_BROKEN;
			coll_link_heartbeat(&the_link, 1);
			coll_link_heartbeat(&the_link, 2);
			coll_link_heartbeat(&the_link, 3);
			good &= HOLDS(!reports);
			hear();
			/* More lanes that are down make it no faster. */
			data[lane].conn.state = COLL_CONN_DOWN;
			data[LANES - 1].conn.state = COLL_CONN_DOWN;
			the_link.data[(lane + 1) % (LANES - 1)] = NULL;
			good &= HOLDS(beats_until_report() == 3) &&
				HOLDS(reason.kind == COLLECTIVE_REASON_RESET) &&
				HOLDS(reason.rank_a == 2 && reason.rank_b == RANK);
		}
	tap_ok(good, "a data connection that is down is a reset at the third heartbeat");
}

/* Connections that do not end after LEAVE. */
static void test_leave(void)
{
	bool good = true;
	u32 beat;

	link_new(2, &coll_test);
	the_link.peer_left = true;
	data[1].silent = true;
	data[2].conn.state = COLL_CONN_DOWN;
	control.conn.state = COLL_CONN_DOWN;
	for (beat = 1; beat < BEATS; beat++) {
		coll_link_heartbeat(&the_link, beat);
		good &= HOLDS(the_link.leave_timed_out == (beat > COLL_SILENCE_BEATS)) &&
			HOLDS(kicks == (beat > COLL_SILENCE_BEATS));
	}
	good &= HOLDS(!pings && !reports && !control.resends && !data[1].resends);
	tap_ok(good, "lanes look once at a peer that has left and does not end");
}

static void test_local(void)
{
	bool good = true;
	u32 beat;

	link_new(2, &coll_local);
	the_link.submitted_told = count;
	for (beat = 1; beat < 300; beat++) {
		count += !(beat % 5);
		coll_link_heartbeat(&the_link, beat);
		good &= HOLDS(pings == beat / 5) && HOLDS(the_link.submitted_told == count);
	}
	/* A lower number differs, too. */
	count--;
	coll_link_heartbeat(&the_link, beat);
	coll_link_heartbeat(&the_link, beat + 1);
	good &= HOLDS(pings == 300 / 5) && HOLDS(last_count == count) && HOLDS(last_ping == beat) &&
		HOLDS(!reports);
	tap_ok(good, "a local peer is told a changed count, and is never silent");
}

/* Nothing is said, asked, sent again or counted. */
static bool says_nothing(void)
{
	u32 beat;

	count++;
	data[0].silent = true;
	data[1].conn.state = COLL_CONN_DOWN;
	for (beat = 1; beat < BEATS; beat++)
		coll_link_heartbeat(&the_link, beat);
	return HOLDS(!pings && !reports && !kicks && !control.resends && !data[0].resends) &&
	       HOLDS(!the_link.missed_heartbeats && !the_link.down_heartbeats) &&
	       HOLDS(!the_link.unanswered_beats[0] && !the_link.leave_timed_out);
}

static void test_quiet(void)
{
	const struct coll_transport *transports[] = { &coll_test, &coll_local };
	static const u8 states[] = { COLL_CONN_BROKEN, COLL_CONN_DOWN };
	bool good = true;
	u32 i, left, j;

	for (i = 0; i < ARRAY_SIZE(transports); i++) {
		for (left = 0; left < 2; left++) {
			link_new(2, transports[i]);
			the_link.peer_left = left;
			state.aborted = -ECONNRESET;
			good &= says_nothing();
			link_new(2, transports[i]);
			the_link.peer_left = left;
			state.stopped = true;
			good &= says_nothing();
		}
		link_new(2, transports[i]);
		the_link.control = NULL;
		good &= says_nothing();
		for (j = 0; j < ARRAY_SIZE(states); j++) {
			link_new(2, transports[i]);
			control.conn.state = states[j];
			good &= says_nothing();
		}
	}
	tap_ok(good, "a group that has failed or leaves, and a link that is not open, say nothing");
}

int main(void)
{
	tap_plan(0);
	test_silence();
	test_lane_silence();
	test_programs();
	test_down();
	test_leave();
	test_local();
	test_quiet();
	return tap_exit();
}
