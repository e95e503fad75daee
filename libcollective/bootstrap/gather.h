/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Bootstrap over an exchange, without a rendezvous. */
#ifndef COLL_GATHER_H
#define COLL_GATHER_H

#include "comm/config.h"
#include "exchange/exchange.h"

/*
 * Every rank takes the same steps:
 *
 *	exchange	name, lanes, addresses of the host; id and secret, from rank 0
 *	probe		if several addresses remain: which the others reach (bootstrap/probe.h)
 *	choose		an address, by all ranks' cards, and JOIN
 *	exchange	the bound address, and a proof of the secret
 *
 * A rank that fails says so in its next card, with its errno and text, and every rank returns
 * that.  All ranks read the same cards, so all end after the same step.
 */

/**
 * bootstrap_run_gather - join the group and exchange the addresses of all ranks
 * @fd: as in bootstrap_run(); also an error of anything that precedes
 * @settings: as in bootstrap_run(); the secret is set to the one that rank 0 made, if it did
 * @exchange: the exchange
 * @peers: receives @settings->nranks addresses
 * @detail: text of a failure; must have a buffer
 *
 * Return: 0 or a negative errno.
 */
int bootstrap_run_gather(int fd, struct coll_settings *settings, const struct exchange *exchange,
			 struct sockaddr_storage *peers, struct coll_detail *detail);

#endif /* COLL_GATHER_H */
