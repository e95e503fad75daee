// SPDX-License-Identifier: LGPL-2.1-or-later
/* What is tried, and what follows from it.  Everything here is the same on every rank. */
#include <string.h>

#include "bootstrap/address.h"
#include "bootstrap/place.h"
#include "bootstrap/probe.h"

bool probe_leads(const struct probe *probe)
{
	return probe->hosts[probe->own].rank == probe->settings->rank;
}

static const struct bootstrap_card *card_of(const struct probe *probe, unsigned int host)
{
	return &probe->cards[probe->hosts[host].rank];
}

const struct bootstrap_place *probe_place(const struct probe *probe, unsigned int host)
{
	return &card_of(probe, host)->addrs[probe->hosts[host].at];
}

/* Each connects to all others; if there are many, to those at distances of powers of two. */
static unsigned int distance(const struct probe *probe, unsigned int i)
{
	return probe->nhosts - 1 <= PROBE_PEERS_MAX ? i + 1 : 1U << i;
}

unsigned int probe_peers(const struct probe *probe)
{
	unsigned int n = 0;

	while (n < PROBE_PEERS_MAX && distance(probe, n) < probe->nhosts)
		n++;
	return n;
}

unsigned int probe_peer(const struct probe *probe, unsigned int host, unsigned int i)
{
	return (host + distance(probe, i)) % probe->nhosts;
}

static void find_hosts(struct probe *probe)
{
	const struct bootstrap_card *cards = probe->cards;
	unsigned int h;
	int i;

	for (i = 0; i < probe->settings->nranks; i++) {
		for (h = 0; h < probe->nhosts; h++)
			if (bootstrap_same_host(&cards[i], card_of(probe, h)))
				break;
		if (h == probe->nhosts)
			probe->hosts[probe->nhosts++].rank = i;
		if (i == probe->settings->rank)
			probe->own = h;
	}
}

static bool has_address(const struct bootstrap_card *card, const struct bootstrap_place *place)
{
	unsigned int j;

	for (j = 0; j < card->naddrs; j++)
		if (coll_address_same_host(&card->addrs[j].addr, &place->addr))
			return true;
	return false;
}

static void find_unique(struct probe *probe, unsigned int host)
{
	const struct bootstrap_card *card = card_of(probe, host);
	unsigned int j, h;

	for (j = 0; j < card->naddrs; j++) {
		for (h = 0; h < probe->nhosts; h++)
			if (h != host && has_address(card_of(probe, h), &card->addrs[j]))
				break;
		if (h == probe->nhosts)
			probe->hosts[host].unique |= 1U << j;
	}
}

/*
 * Find the host's address in @network; NULL: of the family, from number @from on.  Return: its
 * number, or -1.
 */
static int find(const struct probe *probe, unsigned int host,
		const struct bootstrap_place *network, unsigned int from)
{
	const struct bootstrap_card *card = card_of(probe, host);
	unsigned int j;

	for (j = from; j < card->naddrs; j++) {
		const struct bootstrap_place *place = &card->addrs[j];

		if (!(probe->hosts[host].unique & 1U << j))
			continue;
		if (network ? bootstrap_same_network(network, place) :
		    place->addr.ss_family == probe->family)
			return j;
	}
	return -1;
}

/* Choose what find() finds. */
static bool choose(struct probe *probe, unsigned int host, const struct bootstrap_place *network,
		   unsigned int from)
{
	const int at = find(probe, host, network, from);

	if (at >= 0)
		probe->hosts[host].at = at;
	return at >= 0;
}

static bool choose_all(struct probe *probe, const struct bootstrap_place *network)
{
	unsigned int h;

	for (h = 0; h < probe->nhosts; h++)
		if (!choose(probe, h, network, 0))
			return false;
	return true;
}

static void find_networks(struct probe *probe)
{
	const struct bootstrap_card *first = card_of(probe, 0);
	unsigned int i, j;

	for (j = 0; j < first->naddrs && probe->nnetworks < PROBE_NETWORKS_MAX; j++) {
		for (i = 0; i < probe->nnetworks; i++)
			if (bootstrap_same_network(probe->networks[i], &first->addrs[j]))
				break;
		if (i == probe->nnetworks && probe->hosts[0].unique & 1U << j &&
		    choose_all(probe, &first->addrs[j]))
			probe->networks[probe->nnetworks++] = &first->addrs[j];
	}
}

bool probe_begin(struct probe *probe, const struct bootstrap_card *cards,
		 struct coll_settings *settings, struct probe_host *hosts)
{
	bool several = false;
	unsigned int h;
	int i;

	memset(probe, 0, sizeof(*probe));
	probe->cards = cards;
	probe->settings = settings;
	probe->hosts = hosts;
	/* TCP may not pass where RDMA does. */
	for (i = 0; i < settings->nranks; i++)
		if (cards[i].flags & (BOOTSTRAP_CARD_FIXED | BOOTSTRAP_CARD_RDMA))
			return false;
	find_hosts(probe);
	if (probe->nhosts == 1)
		return false;
	for (h = 0; h < probe->nhosts; h++) {
		find_unique(probe, h);
		if (!hosts[h].unique)
			return false;
		several |= !!(hosts[h].unique & (hosts[h].unique - 1));
	}
	find_networks(probe);
	/* Without a common network, one address of each is a guess all the same. */
	return several || !probe->nnetworks;
}

/*
 * Choose the next addresses of the hosts that were not reached.  One without a next address keeps
 * its own: a host that moves may reach it from there.
 */
static bool advance(struct probe *probe)
{
	bool moved = false;
	unsigned int h;

	for (h = 0; h < probe->nhosts; h++)
		if (!probe->hosts[h].found)
			moved |= choose(probe, h, NULL, probe->hosts[h].at + 1);
	return moved;
}

/* Choose the next addresses of the family, or the first ones of the next family. */
static bool move_on(struct probe *probe)
{
	if (probe->family != AF_UNSPEC && advance(probe))
		return true;
	while (probe->family != AF_INET6) {
		probe->family = probe->family == AF_UNSPEC ? AF_INET : AF_INET6;
		if (choose_all(probe, NULL))
			return true;
	}
	return false;
}

/* Are these the addresses in a network?  It was tried, and the same hosts were not reached. */
static bool was_tried(struct probe *probe)
{
	unsigned int i, h;

	for (i = 0; i < probe->nnetworks; i++) {
		for (h = 0; h < probe->nhosts; h++)
			if (find(probe, h, probe->networks[i], 0) != (int)probe->hosts[h].at)
				break;
		if (h == probe->nhosts)
			break;
	}
	if (i == probe->nnetworks)
		return false;
	for (h = 0; h < probe->nhosts; h++)
		probe->hosts[h].found = probe->hosts[h].found_in & 1U << i;
	return true;
}

bool probe_next(struct probe *probe)
{
	/* The round that repeats is the last one. */
	if (probe->family != AF_UNSPEC && (probe->all || probe->bound)) {
		probe->bound = !probe->bound;
		return probe->bound;
	}
	if (probe->round == PROBE_ROUNDS_MAX)
		return false;
	probe->bound = probe->round < probe->nnetworks;
	if (probe->bound)
		return choose_all(probe, probe->networks[probe->round++]);
	probe->round++;
	do {
		if (!move_on(probe))
			return false;
	} while (was_tried(probe));
	return true;
}

static void decide_for(struct probe *probe, unsigned int host)
{
	const unsigned int n = probe_peers(probe);
	char text[COLL_ADDRESS_TEXT];
	unsigned int i, to;

	for (i = 0; i < n; i++) {
		to = probe_peer(probe, host, i);
		if (probe->hosts[host].reached & (uint64_t)1 << i)
			continue;
		probe->hosts[to].found = false;
		if (probe->all) {
			coll_address_format_host(&probe_place(probe, to)->addr, text);
			bootstrap_note(probe->settings, "rank %d did not reach rank %d at %s",
				       probe->hosts[host].rank, probe->hosts[to].rank, text);
		}
		probe->all = false;
	}
}

bool probe_decide(struct probe *probe)
{
	unsigned int h;

	probe->all = true;
	for (h = 0; h < probe->nhosts; h++)
		probe->hosts[h].found = true;
	for (h = 0; h < probe->nhosts; h++)
		decide_for(probe, h);
	for (h = 0; probe->family == AF_UNSPEC && h < probe->nhosts; h++)
		if (probe->hosts[h].found)
			probe->hosts[h].found_in |= 1U << (probe->round - 1);
	return probe->all && probe->bound;
}
