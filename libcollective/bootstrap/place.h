/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which of its host's addresses a rank uses, when the ranks know each other's. */
#ifndef COLL_PLACE_H
#define COLL_PLACE_H

#include "bootstrap/card.h"
#include "comm/config.h"

/**
 * bootstrap_list_places - fill in the addresses and the host of a card of round 1
 * @card: @flags, @naddrs, @addrs and @host are set
 * @settings: with a local address, the card has that one only; @places is set to what was told and
 *	what was left out
 * @detail: text of a failure
 *
 * Return: 0, -EADDRNOTAVAIL or -ENOMEM.
 */
int bootstrap_list_places(struct bootstrap_card *card, struct coll_settings *settings,
			  struct coll_detail *detail);

/**
 * bootstrap_choose_place - choose the address by which the others reach this rank
 * @addr: the address, with port 0
 * @cards: cards of all ranks, the same on every rank
 * @settings: rank and number of ranks
 * @detail: text of a failure
 *
 * In this order: the local address that was asked for; loopback, if all ranks are on one host;
 * the address in the first network of rank 0 in which every rank has one; the local address of
 * the route to a rank of another host.  An address that two hosts have, as bridges of containers
 * do, identifies no host and is left out.
 *
 * Return: 0, -ENETUNREACH, or another negative errno.
 */
int bootstrap_choose_place(struct sockaddr_storage *addr, const struct bootstrap_card *cards,
			   const struct coll_settings *settings, struct coll_detail *detail);

/* Are two ranks on one host: of one kernel and network namespace? */
bool bootstrap_same_host(const struct bootstrap_card *a, const struct bootstrap_card *b);

bool bootstrap_same_network(const struct bootstrap_place *a, const struct bootstrap_place *b);

/* Put a sentence in front of what is known of addresses (@settings->places). */
void bootstrap_note(struct coll_settings *settings, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Note that a rank came from @seen and calls itself @own, unless this is known of another rank. */
void bootstrap_note_translation(struct coll_settings *settings, int rank,
				const struct sockaddr_storage *seen,
				const struct sockaddr_storage *own);

#endif /* COLL_PLACE_H */
