/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Exchanges: allgathers by which the ranks of a group learn each other's addresses. */
#ifndef COLL_EXCHANGE_H
#define COLL_EXCHANGE_H

#include <stddef.h>
#include <stdint.h>

#include "comm/config.h"
#include "error/detail.h"

/* What a rank gives is smaller, in bytes. */
#define EXCHANGE_SIZE_MAX	1024

struct exchange;

/**
 * struct exchange_ops - a kind of exchange
 * @name: its name in COLL_BOOTSTRAP
 * @open: can this process use it?  Return: 0, or a negative errno, with the reason in @detail;
 *	-ENOENT: the launcher has not set it up
 * @gather: copy @size bytes at @mine of every rank to @all, in the order of ranks, until @deadline
 *	(comm/deadline.h).  Return: 0, or a negative errno, with a text in @detail that says which
 *	ranks gave nothing, or that this cannot be known
 */
struct exchange_ops {
	const char *name;
	int (*open)(const struct exchange *exchange, uint64_t deadline, struct coll_detail *detail);
	int (*gather)(const struct exchange *exchange, const void *mine, size_t size, void *all,
		      uint64_t deadline, struct coll_detail *detail);
};

/**
 * struct exchange - exchange between all ranks of a group
 * @ops: its kind; NULL: the ranks meet at a rendezvous instead
 * @rank: rank of this process
 * @nranks: number of ranks
 * @callback: callback of the caller's (struct coll_config), with @ops of exchange_callback
 * @context: its argument
 */
struct exchange {
	const struct exchange_ops *ops;
	int rank;
	int nranks;
	int (*callback)(void *context, const void *mine, size_t size, void *all);
	void *context;
};

extern const struct exchange_ops exchange_callback;	/* of struct coll_config */
extern const struct exchange_ops exchange_mpi;		/* through the process's MPI library */
extern const struct exchange_ops exchange_pmix;		/* libpmix */
extern const struct exchange_ops exchange_pmi1;		/* PMI-1, over PMI_FD */
extern const struct exchange_ops exchange_pmi2;		/* libpmi2 */
extern const struct exchange_ops exchange_slurm;	/* Slurm's libpmi */

/**
 * exchange_select - choose how the ranks of a group reach each other
 * @exchange: filled in
 * @settings: from coll_config_read(); the rendezvous is filled in if it is the launcher's
 * @config: configuration of the caller
 * @detail: text of a failure: what was tried, and why it does not do
 *
 * Return: 0, or a negative errno.
 */
int exchange_select(struct exchange *exchange, struct coll_settings *settings,
		    const struct coll_config *config, struct coll_detail *detail);

#endif /* COLL_EXCHANGE_H */
