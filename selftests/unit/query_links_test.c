// SPDX-License-Identifier: GPL-2.0-only
/*
 * Queries on the links of members (net/query_links.c): whole groups of any links ask and answer,
 * ranks that take no part, what an answer tells of links, and the memory of a survey.
 */
#include "charges_env.h"
#include "net/query_links.c"
#include "random.h"
#include "tap.h"

#define GROUPS		400
#define RATES		5000
#define RANKS		12
#define LANES		3
#define FRAMES		8192

/**
 * struct member - one rank
 * @link: by rank of the peer; those that are in the list of @net are links
 * @control: their control connections
 * @data: their data connections, by lane
 * @told: number of QUERY frames that were queued on each link
 * @deaf: true if nothing that it sends arrives
 */
static struct member {
	struct coll_ident id;
	struct coll_member_state state;
	struct coll_charges charges;
	struct coll_net net;
	struct coll_link *links[RANKS];
	struct coll_link link[RANKS];
	struct coll_conn control[RANKS], data[RANKS][LANES];
	u32 told[RANKS];
	bool deaf;
} members[RANKS];

/* struct frame - on its way */
static struct frame {
	u32 from, to;
	struct coll_control control;
} frames[FRAMES];

static u32 nranks, nframes;

/*
 * What the other files of the room do
 */

static struct member *member_of(const struct coll_net *net)
{
	return container_of(net, struct member, net);
}

bool coll_link_queue_spare(struct coll_link *link, const struct coll_control *control)
{
	struct member *member = member_of(link->net);

	assert(nframes < FRAMES);
	if (control->kind == COLL_CONTROL_QUERY) {
		/* The asking rank does not hear its own question. */
		assert(control->query.origin != link->peer);
		member->told[link->peer]++;
	}
	if (!member->deaf)
		frames[nframes++] = (struct frame){ member->id.rank, link->peer, *control };
	return true;
}

struct coll_link *coll_link_get(const struct coll_net *net, u32 peer)
{
	return net->links[peer];
}

/* By the rank of the peer. */
static u32 rtt_us[RANKS];

u32 coll_link_rtt_us(const struct coll_link *link)
{
	return rtt_us[link->peer];
}

static void answer(struct coll_net *net, struct coll_answer *said)
{
	/* A rank that is being torn down says nothing. */
	assert(!net->state->stopped);
	said->parts = BIT(COLL_ANSWER_STATE) | BIT(COLL_ANSWER_TIMES);
	said->pid = 1000 + net->id->rank;
	said->own_pid = 1;
}

static const struct coll_net_ops ops = {
	.answer		= answer,
};

/* By the rank of the peer; the last one is the control connection. */
static struct coll_endpoint_info infos[RANKS][LANES + 1];

static bool test_info(struct coll_endpoint *ep, struct coll_endpoint_info *info)
{
	const struct coll_conn *conn = container_of(ep, struct coll_conn, ep);

	*info = infos[conn->peer][conn->kind == COLL_CONN_CONTROL ? LANES : conn->lane];
	return info->rtt_us;
}

static const struct coll_transport coll_test = {
	.info		= test_info,
};

/* It has nothing to tell. */
static const struct coll_transport coll_mute = { };

const struct coll_transport coll_local = {
	.info		= test_info,
};

/*
 * Groups
 */

static void member_new(u32 rank)
{
	struct member *member = &members[rank];

	memset(member, 0, sizeof(*member));
	member->id = (struct coll_ident){ .rank = rank, .nranks = nranks, .nlanes = LANES };
	member->net = (struct coll_net){
		.id = &member->id, .state = &member->state, .charges = &member->charges,
		.ops = &ops, .links = member->links,
	};
	INIT_LIST_HEAD(&member->net.link_list);
	coll_query_init(&member->net.query);
}

static void link_new(u32 rank, u32 peer)
{
	struct member *member = &members[rank];
	struct coll_link *link = &member->link[peer];
	u32 i;

	if (rank == peer || member->links[peer])
		return;
	*link = (struct coll_link){
		.net = &member->net, .peer = peer, .transport = &coll_test,
		.control = &member->control[peer],
	};
	*link->control = (struct coll_conn){
		.ep.transport = &coll_test, .state = COLL_CONN_OPEN, .peer = peer,
		.kind = COLL_CONN_CONTROL,
	};
	for (i = 0; i < LANES; i++) {
		member->data[peer][i] = *link->control;
		member->data[peer][i].kind = COLL_CONN_DATA;
		member->data[peer][i].lane = i;
		link->data[i] = &member->data[peer][i];
	}
	member->links[peer] = link;
	list_add_tail(&link->node, &member->net.link_list);
}

static void link_both(u32 a, u32 b)
{
	link_new(a, b);
	link_new(b, a);
}

static bool member_end(struct member *member)
{
	coll_query_cleanup(&member->net);
	return HOLDS(!member->charges.bytes);
}

static bool members_end(void)
{
	bool good = true;
	u32 i;

	for (i = 0; i < nranks; i++)
		good = member_end(&members[i]) && good;
	return good;
}

/* The frames of one connection arrive in their order, those of others in any. */
static bool deliver(void)
{
	u32 at = random_below(nframes), i;
	struct frame frame;
	int err;

	for (i = 0; frames[i].from != frames[at].from || frames[i].to != frames[at].to; i++)
		;
	frame = frames[i];
	memmove(frames + i, frames + i + 1, (--nframes - i) * sizeof(frame));
	err = frame.control.kind == COLL_CONTROL_QUERY ?
	      coll_query_receive(&members[frame.to].link[frame.from], &frame.control.query) :
	      coll_query_receive_answer(&members[frame.to].link[frame.from],
					&frame.control.answer);
	return HOLDS(!err);
}

/* A rank asks; as the file of netlink does. */
static u32 ask(struct member *member)
{
	u32 number;

	if (coll_query_begin(&member->net, &number) == 1)
		coll_query_send(&member->net);
	return number;
}

static bool check_answers(const struct member *member, const bool *hears)
{
	const struct coll_survey *survey = &member->net.query.survey;
	u32 i, n = 0;

	for (i = 0; i < nranks; i++) {
		const struct coll_survey_entry *entry = &survey->entries[i];

		n += hears[i];
		if (!HOLDS(coll_answer_complete(&entry->answer) == hears[i]) ||
		    !HOLDS(!entry->answer.heard || entry->answer.pid == 1000 + i))
			return false;
	}
	return HOLDS(survey->nanswers == n);
}

/* Each rank passes a QUERY on once, and not to where it is from. */
static bool check_told(u32 queries)
{
	u32 i, peer;

	for (i = 0; i < nranks; i++)
		for (peer = 0; peer < nranks; peer++)
			if (!HOLDS(members[i].told[peer] <= queries))
				return false;
	return true;
}

/* All ranks have a tree of links and some more; each is next to rank 0 by few of them. */
static void group_new(void)
{
	u32 i, n;

	nranks = 2 + random_below(RANKS - 1);
	nframes = 0;
	kernel_ns = 5 * COLL_QUERY_PAUSE_NS;
	for (i = 0; i < nranks; i++)
		member_new(i);
	for (i = 1; i < nranks; i++)
		link_both(i, i / 2);
	for (n = random_below(nranks); n; n--)
		link_both(random_below(nranks), random_below(nranks));
}

/* Each rank of the group hears, and is heard, unless it is deaf: then only it is not. */
static bool run_group(void)
{
	u32 origins[2], i, nasking = 1 + random_below(2), deaf;
	bool good = true, hears[RANKS];

	group_new();
	memset(hears, true, sizeof(hears));
	memset(infos, 0, sizeof(infos));
	for (i = 0; i < nasking; i++)
		origins[i] = random_below(nranks);
	if (nasking == 2 && origins[0] == origins[1])
		nasking = 1;
	deaf = nranks - 1;
	/* The last rank is a leaf of the tree.  All others hear one another without it. */
	if (random_once(2) && deaf != origins[0] && (nasking == 1 || deaf != origins[1])) {
		members[deaf].deaf = true;
		hears[deaf] = false;
	}
	for (i = 0; i < nasking; i++)
		ask(&members[origins[i]]);
	while (good && nframes)
		good = deliver();
	for (i = 0; good && i < nasking; i++)
		good = check_answers(&members[origins[i]], hears);
	return members_end() && good && check_told(nasking);
}

static void test_groups(void)
{
	tap_ok(random_programs(GROUPS, run_group),
	       "ranks that ask at a time hear all ranks, by any links and in any order");
}

/* A chain of ranks: a QUERY passes so many links. */
static bool hears_chain(u32 hops)
{
	struct coll_query query = { .origin = 0, .number = 1, .hops = hops };
	bool good = true;
	u32 i;

	nranks = RANKS;
	nframes = 0;
	for (i = 0; i < nranks; i++)
		member_new(i);
	for (i = 1; i < nranks; i++)
		link_both(i - 1, i);
	good = HOLDS(!coll_query_receive(&members[1].link[0], &query));
	while (good && nframes)
		good = deliver();
	/* Rank 1 takes part, and passes a QUERY on that has more than one hop. */
	for (i = 1; i < nranks - 1; i++)
		good = good && HOLDS(members[i].told[i + 1] == (hops > i)) &&
		       HOLDS(!members[i].told[i - 1]);
	return members_end() && good;
}

static void test_hops(void)
{
	bool good = true;
	u32 hops;

	random_begin(1);
	for (hops = 1; hops <= COLL_QUERY_HOPS; hops++)
		good = good && hears_chain(hops);
	tap_ok(good, "a QUERY passes as many links as it says");
}

/*
 * Links and ranks that take no part
 */

/* The middle one of three ranks takes a QUERY.  Return: frames that it sends to each side. */
static void take_query(u32 *back, u32 *onward)
{
	const struct coll_query query = { .origin = 0, .number = 1, .hops = 2 };
	u32 i;

	assert(!coll_query_receive(&members[1].link[0], &query));
	*back = 0;
	*onward = 0;
	for (i = 0; i < nframes; i++) {
		assert(frames[i].from == 1);
		if (frames[i].control.kind == COLL_CONTROL_QUERY)
			*onward += frames[i].to == 2;
		else
			*back += frames[i].to == 0;
	}
	assert(*onward + *back == nframes);
}

enum refusal { NONE, STOPPED, LEFT, DOWN, NO_CONTROL, NO_LINK, REFUSALS };

static void refuse(enum refusal what, u32 peer)
{
	struct coll_link *link = &members[1].link[peer];

	switch (what) {
	case STOPPED:
		members[1].state.stopped = true;
		break;
	case LEFT:
		link->peer_left = true;
		break;
	case DOWN:
		link->control->state = COLL_CONN_DOWN;
		break;
	case NO_CONTROL:
		link->control = NULL;
		break;
	case NO_LINK:
		members[1].links[peer] = NULL;
		list_del(&link->node);
		break;
	default:
		break;
	}
}

static void test_refusals(void)
{
	bool good = true, other;
	enum refusal what;
	u32 peer, back, onward;

	for (what = NONE; what < REFUSALS; what++)
		for (peer = 0; peer <= 2; peer += 2) {
			random_seed = what;
			nranks = 3;
			nframes = 0;
			member_new(1);
			link_new(1, 0);
			link_new(1, 2);
			refuse(what, peer);
			take_query(&back, &onward);
			/* The other link goes on, unless the rank itself is stopped. */
			other = what != STOPPED;
			good &= HOLDS(back == (what == NONE || (peer && other) ? 2 : 0)) &&
				HOLDS(onward == (what == NONE || (!peer && other)));
			good &= member_end(&members[1]);
		}
	tap_ok(good, "nothing goes to a link that ends, and nothing of a rank that does");
}

/* A query of this rank comes back, and an answer to another one's has no way. */
static void test_strays(void)
{
	struct coll_query query = { .origin = 1, .number = 1, .hops = 2 };
	struct coll_answer_frame frame = { .origin = 0, .number = 1, .rank = 2 };
	bool good;

	nranks = 3;
	nframes = 0;
	member_new(1);
	link_new(1, 0);
	link_new(1, 2);
	good = HOLDS(!coll_query_receive(&members[1].link[0], &query)) && HOLDS(!nframes) &&
	       HOLDS(!coll_query_receive_answer(&members[1].link[2], &frame)) && HOLDS(!nframes);
	frame.origin = 1;
	/* There is no query of this rank either. */
	good = good && HOLDS(!coll_query_receive_answer(&members[1].link[2], &frame)) &&
	       HOLDS(!nframes);
	query.origin = 3;
	frame.origin = 3;
	good = good && HOLDS(coll_query_receive(&members[1].link[0], &query) == -EPROTO) &&
	       HOLDS(coll_query_receive_answer(&members[1].link[2], &frame) == -EPROTO);
	frame.origin = 1;
	frame.rank = 3;
	good = good && HOLDS(coll_query_receive_answer(&members[1].link[2], &frame) == -EPROTO);
	tap_ok(member_end(&members[1]) && good, "frames without a way are dropped");
}

/*
 * What an answer tells of links
 */

static u64 ms_of(const struct coll_endpoint_info *info)
{
	return info->acked * 1000 / info->rate;
}

/* The link of one rank as an answer should describe it, in three sums. */
static void sum_link(u32 peer, u64 *ms, u64 *rate, u32 *lost)
{
	const struct member *member = &members[0];
	u32 i;

	*ms = 0;
	*rate = 0;
	*lost = 0;
	for (i = 0; i <= LANES; i++) {
		const struct coll_endpoint_info *info = &infos[peer][i];
		const struct coll_conn *conn = i < LANES ? member->link[peer].data[i] :
							   member->link[peer].control;

		if (!conn || conn->ep.transport != &coll_test || !info->rtt_us)
			continue;
		*lost += info->lost;
		if (i == LANES || !info->rate)
			continue;
		*ms += ms_of(info);
		*rate = max(*rate, info->rate);
	}
}

static bool check_links(const struct coll_answer_links *links)
{
	u32 peer, lost, most = 0, near = 0, far = 0, kib;
	u64 ms, rate, widest = 0, longest = 0;

	for (peer = 1; peer < nranks; peer++) {
		if (members[0].link[peer].transport == &coll_local)
			continue;
		if (rtt_us[peer])
			near = near ? min(near, rtt_us[peer]) : rtt_us[peer];
		far = max(far, rtt_us[peer]);
		sum_link(peer, &ms, &rate, &lost);
		most = max(most, lost);
		/* A rate of less than 1 KiB/s is one. */
		kib = rate && rate < 1024 ? 1 : min_t(u64, rate / 1024, U32_MAX);
		widest = max_t(u64, widest, kib);
		if (kib)
			longest = max(longest, min_t(u64, ms, U32_MAX));
	}
	if (!HOLDS(links->near_us == near && links->far_us == far) ||
	    !HOLDS(links->lost == most) || !HOLDS(links->wide_kib == widest) ||
	    !HOLDS(!far || rtt_us[links->far] == far))
		return false;
	if (most) {
		sum_link(links->lossy, &ms, &rate, &lost);
		if (!HOLDS(lost == most))
			return false;
	}
	if (!widest)
		return HOLDS(!links->narrow_kib);
	sum_link(links->narrow, &ms, &rate, &lost);
	return HOLDS(links->narrow_ms == longest) && HOLDS(min_t(u64, ms, U32_MAX) == longest) &&
	       HOLDS(links->narrow_kib == max_t(u64, rate / 1024, 1) || rate >> 42);
}

static struct coll_endpoint_info some_info(void)
{
	return (struct coll_endpoint_info){
		.rtt_us = !random_once(6),
		.lost = random_once(2) ? 0 : random_below(50),
		.acked = random_u64() % (1ULL << random_below(50)),
		.rate = random_once(3) ? 0 : random_u64() % (1ULL << (1 + random_below(45))),
	};
}

static bool run_rates(void)
{
	struct coll_answer_links links = { };
	struct member *member = &members[0];
	u32 peer, i;

	nranks = 2 + random_below(RANKS - 1);
	member_new(0);
	for (peer = 1; peer < nranks; peer++) {
		link_new(0, peer);
		rtt_us[peer] = random_once(3) ? 0 : random_below(100);
		for (i = 0; i <= LANES; i++)
			infos[peer][i] = some_info();
		for (i = 0; i < LANES; i++)
			if (random_once(6))
				member->link[peer].data[i] = NULL;
		if (random_once(6))
			member->control[peer].ep.transport = random_once(2) ? NULL : &coll_mute;
		if (random_once(6))
			member->data[peer][0].ep.transport = random_once(2) ? NULL : &coll_mute;
		if (random_once(6))
			member->link[peer].transport = &coll_local;
	}
	answer_links(&member->net, &links);
	return check_links(&links);
}

static void test_rates(void)
{
	tap_ok(random_programs(RATES, run_rates),
	       "an answer names the farthest, the most lossy and the slowest link");
}

/*
 * The memory of a survey, and its times
 */

static void test_survey(void)
{
	struct member *member = &members[0];
	struct coll_net *net = &member->net;
	u32 number = 0;
	bool good;

	nranks = RANKS;
	nframes = 0;
	kernel_ns = 1;
	member_new(0);
	member->charges.limit = survey_bytes(net) - 1;
	good = HOLDS(coll_query_begin(net, &number) == -EDQUOT) && HOLDS(!member->charges.bytes);
	member->charges.limit++;
	kernel_fails_after = 1;
	good = good && HOLDS(coll_query_begin(net, &number) == -ENOMEM) &&
	       HOLDS(!member->charges.bytes);
	kernel_fails_after = 0;
	good = good && HOLDS(coll_query_begin(net, &number) == 1) && HOLDS(number == 1) &&
	       HOLDS(member->charges.bytes == survey_bytes(net));
	coll_query_send(net);
	good = good && HOLDS(net->query.survey.nanswers == 1);
	/* One a second; its answers are the newest until then.  No memory is taken again. */
	kernel_ns += COLL_QUERY_PAUSE_NS - 1;
	good = good && HOLDS(coll_query_begin(net, &number) == 0) && HOLDS(number == 1) &&
	       HOLDS(net->query.survey.nanswers == 1);
	kernel_ns++;
	kernel_fails_after = 1;
	good = good && HOLDS(coll_query_begin(net, &number) == 1) && HOLDS(number == 2) &&
	       HOLDS(!net->query.survey.nanswers);
	kernel_fails_after = 0;
	good = member_end(member) && good;
	/* Late answers find nothing. */
	coll_query_send(net);
	tap_ok(good && HOLDS(!net->query.survey.entries),
	       "a survey takes memory once, and gives it back");
}

int main(void)
{
	tap_plan(0);
	test_groups();
	test_hops();
	test_refusals();
	test_strays();
	test_rates();
	test_survey();
	return tap_exit();
}
