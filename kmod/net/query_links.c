// SPDX-License-Identifier: GPL-2.0-only
/*
 * Queries on the links of a member: QUERY goes to every link, ANSWER back to the asking rank.
 *
 * Every frame is dropped where a link has other frames to send, so that no query delays or fails an
 * operation.
 */
#include <linux/ktime.h>
#include <linux/slab.h>

#include "fail/member_state.h"
#include "mem/account.h"
#include "net/conn.h"
#include "net/link.h"
#include "net/net.h"
#include "net/query_links.h"
#include "transport/transport.h"

/**
 * coll_query_init() - no query yet
 * @query: zeroed
 */
void coll_query_init(struct coll_net_query *query)
{
	spin_lock_init(&query->lock);
}

static u64 survey_bytes(const struct coll_net *net)
{
	return net->id->nranks * sizeof(struct coll_survey_entry);
}

/**
 * coll_query_cleanup() - forget all queries
 * @net: of a member whose runners are stopped, and which no group lists any more
 */
void coll_query_cleanup(struct coll_net *net)
{
	struct coll_net_query *query = &net->query;

	if (query->survey.entries)
		coll_uncharge(net->charges, survey_bytes(net));
	kvfree(query->survey.entries);
	memset(&query->survey, 0, sizeof(query->survey));
	memset(&query->relay, 0, sizeof(query->relay));
}

/* The caller serialises.  Return: 0, -EDQUOT or -ENOMEM. */
static int survey_setup(struct coll_net *net)
{
	struct coll_survey *survey = &net->query.survey;
	struct coll_survey_entry *entries;
	int err;

	if (survey->entries)
		return 0;
	err = coll_charge(net->charges, survey_bytes(net));
	if (err)
		return err;
	entries = kvcalloc(net->id->nranks, sizeof(*entries), GFP_KERNEL_ACCOUNT);
	if (!entries) {
		coll_uncharge(net->charges, survey_bytes(net));
		return -ENOMEM;
	}
	spin_lock(&net->query.lock);
	survey->nranks = net->id->nranks;
	survey->entries = entries;
	spin_unlock(&net->query.lock);
	return 0;
}

/**
 * coll_query_begin() - ask all ranks of the group
 * @net: of a member that does not end meanwhile
 * @number: out: number of the query, new or not
 *
 * Context: may sleep; the caller serialises.
 * Return: 1: the caller has the control runner call coll_query_send(); 0: the latest query is
 * younger than COLL_QUERY_PAUSE_NS, and its answers are the newest that there are; -EDQUOT or
 * -ENOMEM.
 */
int coll_query_begin(struct coll_net *net, u32 *number)
{
	struct coll_survey *survey = &net->query.survey;
	int err = survey_setup(net);
	u64 now = ktime_get_ns();
	bool begins;

	if (err)
		return err;
	spin_lock(&net->query.lock);
	begins = coll_survey_may_begin(survey, now);
	if (begins)
		coll_survey_begin(survey, now);
	*number = survey->number;
	spin_unlock(&net->query.lock);
	return begins;
}

/* May frames of queries be sent on a link? */
static bool link_takes_queries(const struct coll_link *link)
{
	return link->control && link->control->state == COLL_CONN_OPEN && !link->peer_left &&
	       !READ_ONCE(link->net->state->stopped);
}

/* Sends a QUERY to all ranks with a link but one. */
static void query_spread(struct coll_net *net, const struct coll_query *query, u32 except)
{
	struct coll_control control = { .kind = COLL_CONTROL_QUERY, .query = *query };
	struct coll_link *link;

	coll_for_each_link(link, net)
		if (link->peer != except && link->peer != query->origin &&
		    link_takes_queries(link))
			coll_link_queue_spare(link, &control);
}

static u32 conn_lost(struct coll_conn *conn)
{
	const struct coll_transport *transport = conn ? READ_ONCE(conn->ep.transport) : NULL;
	struct coll_endpoint_info info;

	if (!transport || !transport->info || !transport->info(&conn->ep, &info))
		return 0;
	return info.lost;
}

static u32 link_lost(struct coll_link *link)
{
	u32 i, lost = conn_lost(link->control);

	for (i = 0; i < link->net->id->nlanes; i++)
		lost += conn_lost(smp_load_acquire(&link->data[i]));	/* complete */
	return lost;
}

/* Adds the time that the bytes took which the peer has acknowledged, at the highest rate; ms. */
static void conn_add_rate(struct coll_conn *conn, u64 *ms, u64 *rate)
{
	const struct coll_transport *transport = conn ? READ_ONCE(conn->ep.transport) : NULL;
	struct coll_endpoint_info info;

	if (!transport || !transport->info || !transport->info(&conn->ep, &info) || !info.rate)
		return;
	*ms += div64_u64(info.acked * MSEC_PER_SEC, info.rate);
	*rate = max(*rate, info.rate);
}

/* Large payload goes by data connections. */
static void answer_rate(struct coll_link *link, struct coll_answer_links *links)
{
	u64 ms = 0, rate = 0;
	u32 i, kib;

	for (i = 0; i < link->net->id->nlanes; i++)
		conn_add_rate(smp_load_acquire(&link->data[i]), &ms, &rate);	/* complete */
	kib = clamp_t(u64, rate >> 10, !!rate, U32_MAX);
	links->wide_kib = max(links->wide_kib, kib);
	if (kib && (!links->narrow_kib || ms > links->narrow_ms)) {
		links->narrow = link->peer;
		links->narrow_ms = min_t(u64, ms, U32_MAX);
		links->narrow_kib = kib;
	}
}

/* A local link is as slow as the CPUs are. */
static void answer_links(struct coll_net *net, struct coll_answer_links *links)
{
	struct coll_link *link;
	u32 us, lost;

	coll_for_each_link(link, net) {
		if (link->transport == &coll_local)
			continue;
		us = coll_link_rtt_us(link);
		if (us && (!links->near_us || us < links->near_us))
			links->near_us = us;
		if (us > links->far_us) {
			links->far_us = us;
			links->far = link->peer;
		}
		lost = link_lost(link);
		if (lost > links->lost) {
			links->lost = lost;
			links->lossy = link->peer;
		}
		answer_rate(link, links);
	}
}

/* Calls @take for each part of this rank's answer. */
static void query_answer(struct coll_net *net, const struct coll_query *query,
			 void (*take)(struct coll_net *net, const struct coll_answer_frame *frame))
{
	struct coll_answer_frame frame = {
		.origin = query->origin,
		.number = query->number,
		.rank = net->id->rank,
	};
	struct coll_answer answer = { };

	net->ops->answer(net, &answer);
	answer_links(net, &answer.links);
	if (answer.links.narrow_kib)
		answer.parts |= BIT(COLL_ANSWER_RATES);
	for (frame.part = 0; frame.part < COLL_ANSWER_PARTS; frame.part++) {
		if (!(answer.parts & 1U << frame.part))
			continue;
		coll_answer_put(frame.body, &answer, frame.part);
		take(net, &frame);
	}
}

static void answer_keep(struct coll_net *net, const struct coll_answer_frame *frame)
{
	spin_lock(&net->query.lock);
	coll_survey_receive(&net->query.survey, frame, ktime_get_ns());
	spin_unlock(&net->query.lock);
}

static void answer_pass_on(struct coll_net *net, const struct coll_answer_frame *frame)
{
	struct coll_control control = { .kind = COLL_CONTROL_ANSWER, .answer = *frame };
	struct coll_link *link;
	u32 parent;

	if (!coll_relay_parent(&net->query.relay, frame->origin, frame->number, ktime_get_ns(),
			       &parent))
		return;
	link = coll_link_get(net, parent);
	if (link && link_takes_queries(link))
		coll_link_queue_spare(link, &control);
}

/**
 * coll_query_send() - begin to ask: answer, and send QUERY on every link
 * @net: of the member
 *
 * Context: control runner.
 */
void coll_query_send(struct coll_net *net)
{
	struct coll_query query = {
		.origin = net->id->rank,
		.hops = COLL_QUERY_HOPS,
	};

	spin_lock(&net->query.lock);
	query.number = net->query.survey.number;
	spin_unlock(&net->query.lock);
	query_answer(net, &query, answer_keep);
	query_spread(net, &query, net->id->rank);
}

/**
 * coll_query_receive() - a QUERY has come
 * @link: by which it has come
 * @query: the QUERY, as coll_wire_get_control() gives it
 *
 * Context: control runner.
 * Return: 0 or -EPROTO.
 */
int coll_query_receive(struct coll_link *link, const struct coll_query *query)
{
	struct coll_net *net = link->net;
	struct coll_query onward = *query;

	if (query->origin >= net->id->nranks)
		return -EPROTO;
	if (query->origin == net->id->rank || READ_ONCE(net->state->stopped) ||
	    !coll_relay_take(&net->query.relay, query, link->peer, net->id->nranks,
			     ktime_get_ns()))
		return 0;
	query_answer(net, query, answer_pass_on);
	onward.hops--;
	if (onward.hops)
		query_spread(net, &onward, link->peer);
	return 0;
}

/**
 * coll_query_receive_answer() - an ANSWER has come
 * @link: by which it has come
 * @answer: the ANSWER, as coll_wire_get_control() gives it
 *
 * Context: control runner.
 * Return: 0 or -EPROTO.
 */
int coll_query_receive_answer(struct coll_link *link, const struct coll_answer_frame *answer)
{
	struct coll_net *net = link->net;

	if (answer->origin >= net->id->nranks || answer->rank >= net->id->nranks)
		return -EPROTO;
	if (answer->origin == net->id->rank)
		answer_keep(net, answer);
	else
		answer_pass_on(net, answer);
	return 0;
}
