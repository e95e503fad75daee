// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bootstrap/address.h"
#include "bootstrap/bootstrap.h"
#include "bootstrap/card.h"
#include "bootstrap/gather.h"
#include "bootstrap/place.h"
#include "bootstrap/probe.h"
#include "bootstrap/proof.h"
#include "bootstrap/rejoin_port.h"
#include "bootstrap/secret.h"
#include "comm/deadline.h"
#include "comm/device.h"
#include "comm/interrupt.h"

_Static_assert(BOOTSTRAP_CARD_SIZE <= EXCHANGE_SIZE_MAX, "a card fits into each exchange");

/**
 * struct gather - bootstrap of one rank over an exchange
 * @settings: settings of the rank
 * @exchange: the exchange
 * @bytes: cards as they are exchanged
 * @cards: cards of all ranks
 * @hosts: memory for bootstrap/probe.h
 * @own: card of this rank
 * @err: error of this rank; or 0
 * @detail: text of @err, or of the error of another rank
 */
struct gather {
	struct coll_settings *settings;
	const struct exchange *exchange;
	uint8_t *bytes;
	struct bootstrap_card *cards;
	struct probe_host *hosts;
	struct bootstrap_card own;
	int err;
	struct coll_detail *detail;
};

static void begin_card(struct gather *gather, unsigned int round)
{
	const struct coll_settings *settings = gather->settings;
	struct bootstrap_card *card = &gather->own;

	memset(card, 0, sizeof(*card));
	card->round = round;
	card->rank = settings->rank;
	card->nranks = settings->nranks;
	card->lanes = settings->lanes;
	card->number = settings->id;
	card->left_ms = coll_deadline_left(settings->deadline);
	strcpy(card->name, settings->name);
}

/* Give this rank's card, and get all, as bytes. */
static int exchange_bytes(struct gather *gather)
{
	uint8_t mine[BOOTSTRAP_CARD_SIZE];
	int err;

	gather->err = coll_interrupt_explain(gather->err, gather->settings->rank, gather->detail);
	gather->own.err = gather->err;
	if (gather->err)
		snprintf(gather->own.text, sizeof(gather->own.text), "%s", gather->detail->text);
	bootstrap_write_card(mine, &gather->own);
	err = gather->exchange->ops->gather(gather->exchange, mine, sizeof(mine), gather->bytes,
					    gather->settings->deadline, gather->detail);
	explicit_bzero(mine, sizeof(mine));
	return err;
}

static int read_card(const struct gather *gather, int rank, struct bootstrap_card *card)
{
	const unsigned int round = gather->own.round;
	char text[BOOTSTRAP_VERSION_TEXT], other[20], own[20];
	int err = bootstrap_read_card(gather->bytes + (size_t)rank * BOOTSTRAP_CARD_SIZE, round,
				      card);

	if (!err)
		return 0;
	if (err == -EPROTO)
		return coll_fail(gather->detail, err,
				 "what the exchange gave for rank %d is no card of round %u: does it keep the order of ranks and of calls?",
				 rank, round);
	snprintf(other, sizeof(other), "rank %d", rank);
	snprintf(own, sizeof(own), "rank %d", gather->settings->rank);
	bootstrap_version_differs(text, other, &card->version, own);
	return coll_fail(gather->detail, err, "%s", text);
}

/* Exchange this rank's card for all cards. */
static int exchange_cards(struct gather *gather)
{
	int i, err = exchange_bytes(gather);

	for (i = 0; !err && i < gather->settings->nranks; i++)
		err = read_card(gather, i, &gather->cards[i]);
	explicit_bzero(gather->bytes, (size_t)gather->settings->nranks * BOOTSTRAP_CARD_SIZE);
	return err;
}

/*
 * Has the rank @rank, whose card this is, failed?  This rank's own text is nearer to the cause than
 * that of another rank.
 */
static int check_failure(const struct gather *gather, int rank, const struct bootstrap_card *card)
{
	if (gather->err || !card->err)
		return gather->err;
	return coll_fail(gather->detail, card->err, "rank %d: %s", rank,
			 card->text[0] ? card->text : coll_strerror(card->err));
}

static int check_failures(const struct gather *gather)
{
	int i, err = 0;

	for (i = 0; !err && i < gather->settings->nranks; i++)
		err = check_failure(gather, i, &gather->cards[i]);
	return err;
}

/*
 * Exchange the number of a round of probes, and keep those of the first ranks of hosts.  A failure
 * of any rank ends this round on all.  The cards of round 1 stay, since they have the addresses.
 */
static int exchange_number(struct gather *gather, struct probe *probe, unsigned int round,
			   uint64_t number)
{
	struct bootstrap_card card;
	unsigned int h = 0;
	int i, err;

	begin_card(gather, round);
	gather->own.number = number;
	err = exchange_bytes(gather);
	for (i = 0; !err && i < gather->settings->nranks; i++) {
		err = read_card(gather, i, &card) ?: check_failure(gather, i, &card);
		if (err || h == probe->nhosts || probe->hosts[h].rank != i)
			continue;
		if (round == BOOTSTRAP_ROUND_LISTEN)
			probe->hosts[h++].port = card.number;
		else
			probe->hosts[h++].reached = card.number;
	}
	return err;
}

/* Either all ranks have a secret, or none has: the rank @rank differs from rank 0. */
static int refuse_secret(const struct gather *gather, int rank)
{
	const bool has = gather->cards[rank].flags & BOOTSTRAP_CARD_SECURED;
	char names[2][BOOTSTRAP_CARD_NAME];

	bootstrap_name_card(&gather->cards[rank], rank, names[!has]);
	bootstrap_name_card(&gather->cards[0], 0, names[has]);
	return coll_fail(gather->detail, -EACCES,
			 "%s has a secret, and %s has none: give it to all ranks or to none (see COLL_SECRET)",
			 names[0], names[1]);
}

/* Compare the card of a rank with that of rank 0. */
static int check_card(const struct gather *gather, int rank)
{
	const struct bootstrap_card *card = &gather->cards[rank], *first = &gather->cards[0];
	const unsigned int secured = card->flags & BOOTSTRAP_CARD_SECURED;

	if (card->rank != (uint32_t)rank)
		return coll_fail(gather->detail, -EINVAL,
				 "the exchange has rank %d in the place of which the process says it is rank %u: its order is not that of ranks",
				 rank, card->rank);
	if (card->nranks != first->nranks)
		return coll_fail(gather->detail, -EINVAL,
				 "rank %d says the group has %u ranks, rank 0 says %u", rank,
				 card->nranks, first->nranks);
	if (card->name[0] && strcmp(card->name, first->name))
		return coll_fail(gather->detail, -EINVAL,
				 "rank %d wants group %s, rank 0 has %s", rank, card->name,
				 first->name);
	if (secured != (first->flags & BOOTSTRAP_CARD_SECURED))
		return refuse_secret(gather, rank);
	return 0;
}

/* Number of lanes: that of the first rank that asks for one; the others may ask for the same. */
static int agree_on_lanes(struct gather *gather)
{
	int i, first = -1;

	for (i = 0; i < gather->settings->nranks; i++) {
		if (!gather->cards[i].lanes)
			continue;
		if (first < 0)
			first = i;
		else if (gather->cards[i].lanes != gather->cards[first].lanes)
			return coll_fail(gather->detail, -EINVAL,
					 "rank %d wants %u lanes, rank %d has %u: set COLL_LANES to one number on all ranks",
					 i, gather->cards[i].lanes, first,
					 gather->cards[first].lanes);
	}
	if (first >= 0)
		gather->settings->lanes = gather->cards[first].lanes;
	return 0;
}

/* The deadline is the earliest of all ranks. */
static void agree_on_deadline(struct gather *gather)
{
	struct coll_settings *settings = gather->settings;
	uint64_t deadline;
	int i;

	for (i = 0; i < settings->nranks; i++) {
		deadline = coll_deadline_in(gather->cards[i].left_ms);
		if (deadline < settings->deadline)
			settings->deadline = deadline;
	}
}

/* What depends on the cards alone: the result is the same on every rank. */
static int agree(struct gather *gather)
{
	struct coll_settings *settings = gather->settings;
	int i, err = check_failures(gather);

	for (i = 0; !err && i < settings->nranks; i++)
		err = check_card(gather, i);
	if (err)
		return err;
	agree_on_deadline(gather);
	strcpy(settings->name, gather->cards[0].name);
	settings->id = gather->cards[0].number;
	return agree_on_lanes(gather);
}

static int introduce(struct gather *gather)
{
	struct coll_settings *settings = gather->settings;
	const bool secured = settings->secured;

	if (!gather->err && !settings->rank) {
		gather->err = bootstrap_choose_id(settings, gather->detail);
		if (!gather->err && !secured && !settings->insecure)
			gather->err = coll_secret_make(settings, gather->detail);
	}
	begin_card(gather, BOOTSTRAP_ROUND_INTRODUCE);
	if (!gather->err)
		gather->err = bootstrap_list_places(&gather->own, settings, gather->detail);
	if (secured)
		gather->own.flags |= BOOTSTRAP_CARD_SECURED;
	if (settings->transport == COLLECTIVE_TRANSPORT_RDMA)
		gather->own.flags |= BOOTSTRAP_CARD_RDMA;
	if (!settings->rank && !secured && settings->secured) {
		gather->own.flags |= BOOTSTRAP_CARD_MADE;
		memcpy(gather->own.secret, settings->secret->key, COLLECTIVE_SECRET_SIZE);
	}
	return exchange_cards(gather) ?: agree(gather);
}

/* Try the addresses until all hosts are reached.  Return: 0 or a negative errno. */
static int run_rounds(struct gather *gather, struct probe *probe, int listener,
		      struct sockaddr_storage *addr)
{
	struct coll_settings *settings = gather->settings;
	const bool leads = probe_leads(probe);
	char told[sizeof(settings->places)];
	bool decided = false;
	int err = 0;

	strcpy(told, settings->places);
	while (!err && !decided && probe_next(probe)) {
		err = exchange_number(gather, probe, BOOTSTRAP_ROUND_REACHED,
				      leads ? probe_connect(probe) : 0);
		if (listener >= 0)
			probe_accept(probe, listener);
		decided = !err && probe_decide(probe);
	}
	if (decided) {
		*addr = probe_place(probe, probe->own)->addr;
		/* The other addresses explain nothing any more. */
		strcpy(settings->places, told);
	}
	if (probe->origin.ss_family != AF_UNSPEC)
		bootstrap_note_translation(settings, probe->stranger, &probe->origin,
					   &gather->cards[probe->stranger].addrs[0].addr);
	return err;
}

/* Do all hosts listen?  If not, nothing can be tried, and the rank's text of addresses says so. */
static bool check_ports(const struct probe *probe)
{
	unsigned int h;

	for (h = 0; h < probe->nhosts; h++)
		if (!probe->hosts[h].port) {
			bootstrap_note(probe->settings,
				       "no address was tried, since rank %d found no port for that",
				       probe->hosts[h].rank);
			return false;
		}
	return true;
}

/*
 * Where several addresses remain, find the one of this host that others reach.  @addr: set to it,
 * unless nothing is found out.
 */
static int probe_addresses(struct gather *gather, struct sockaddr_storage *addr)
{
	int listener = -1, err;
	struct probe probe;
	uint16_t port = 0;

	if (!probe_begin(&probe, gather->cards, gather->settings, gather->hosts))
		return 0;
	if (probe_leads(&probe))
		listener = probe_listen(&probe, &port);
	err = exchange_number(gather, &probe, BOOTSTRAP_ROUND_LISTEN, port);
	if (!err && check_ports(&probe))
		err = run_rounds(gather, &probe, listener, addr);
	if (listener >= 0)
		close(listener);
	return err;
}

/* Choose an address, unless it is known, and JOIN.  The next card tells the others of an error. */
static int join(struct gather *gather, int fd, struct sockaddr_storage *addr)
{
	const struct bootstrap_card *first = &gather->cards[0];
	struct coll_settings *settings = gather->settings;
	struct collective_status status;
	int err = 0;

	if (settings->rank && first->flags & BOOTSTRAP_CARD_MADE)
		err = coll_secret_take(settings, first->secret, gather->detail);
	if (!err && addr->ss_family == AF_UNSPEC)
		err = bootstrap_choose_place(addr, gather->cards, settings, gather->detail);
	err = err ?: bootstrap_check_address(settings, addr, gather->detail) ?:
	      coll_rejoin_port_join(fd, settings, addr, gather->detail);
	/* The kernel may have chosen the number of lanes. */
	if (!err && !settings->lanes && !coll_device_status(fd, &status) &&
	    status.lanes <= COLLECTIVE_LANES_MAX)
		settings->lanes = status.lanes;
	return err;
}

static int report_address(struct gather *gather, const struct sockaddr_storage *addr)
{
	begin_card(gather, BOOTSTRAP_ROUND_JOINED);
	if (!gather->err) {
		gather->own.addrs[0].addr = *addr;
		gather->own.naddrs = 1;
		if (gather->settings->secured)
			bootstrap_make_proof(gather->settings, gather->settings->rank,
					     gather->own.secret);
	}
	return exchange_cards(gather) ?: check_failures(gather);
}

static int read_addresses(struct gather *gather, const struct sockaddr_storage *own,
			  struct sockaddr_storage *peers)
{
	int i, err = agree_on_lanes(gather) ?:
		     bootstrap_check_proofs(gather->cards, gather->settings, gather->detail);

	for (i = 0; !err && i < gather->settings->nranks; i++) {
		if (gather->cards[i].naddrs != 1)
			err = coll_fail(gather->detail, -EPROTO, "rank %d sent no address", i);
		peers[i] = gather->cards[i].addrs[0].addr;
		coll_address_scope(&peers[i], own);
	}
	return err;
}

static int run(struct gather *gather, int fd, struct sockaddr_storage *peers)
{
	struct sockaddr_storage own = { 0 };
	int err = introduce(gather) ?: probe_addresses(gather, &own);

	if (err)
		return err;
	gather->err = gather->err ?: join(gather, fd, &own);
	return report_address(gather, &own) ?: read_addresses(gather, &own, peers);
}

/*
 * A rank without memory for the cards takes part all the same: the others would wait for it until
 * the deadline.  This memory is not used, and so takes no space, unless there is no other.
 */
static uint8_t reserve[COLLECTIVE_RANKS_MAX * BOOTSTRAP_CARD_SIZE];
static pthread_mutex_t reserve_lock = PTHREAD_MUTEX_INITIALIZER;

/* Give a card with the error; all ranks fail with it, and there is no second round. */
static int tell_no_memory(struct gather *gather)
{
	const struct exchange *exchange = gather->exchange;
	uint8_t mine[BOOTSTRAP_CARD_SIZE];

	gather->err = coll_fail(gather->detail, -ENOMEM, "no memory");
	begin_card(gather, BOOTSTRAP_ROUND_INTRODUCE);
	gather->own.err = gather->err;
	strcpy(gather->own.text, "no memory");
	bootstrap_write_card(mine, &gather->own);
	/* Another thread of this process that has no memory either is heard before. */
	if (!coll_interrupt_lock(&reserve_lock, gather->settings->deadline))
		return gather->err;
	(void)exchange->ops->gather(exchange, mine, sizeof(mine), reserve,
				    gather->settings->deadline, gather->detail);
	explicit_bzero(reserve, (size_t)exchange->nranks * BOOTSTRAP_CARD_SIZE);
	pthread_mutex_unlock(&reserve_lock);
	return gather->err;
}

int bootstrap_run_gather(int fd, struct coll_settings *settings, const struct exchange *exchange,
			 struct sockaddr_storage *peers, struct coll_detail *detail)
{
	const size_t n = settings->nranks;
	struct gather gather = {
		.settings = settings,
		.exchange = exchange,
		.bytes = calloc(n, BOOTSTRAP_CARD_SIZE),
		.cards = calloc(n, sizeof(*gather.cards)),
		.hosts = calloc(n, sizeof(*gather.hosts)),
		.err = fd < 0 ? fd : 0,
		.detail = detail,
	};
	int err = gather.bytes && gather.cards && gather.hosts ? run(&gather, fd, peers) :
		  tell_no_memory(&gather);

	if (gather.cards)
		explicit_bzero(gather.cards, n * sizeof(*gather.cards));
	explicit_bzero(&gather.own, sizeof(gather.own));
	free(gather.hosts);
	free(gather.cards);
	free(gather.bytes);
	return err ? coll_fail(detail, err, "%s", coll_strerror(err)) : 0;
}
