// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * How the ranks of a group reach each other, by what the launcher set.  In this order: the
 * exchange or the rendezvous that the caller gives; torchrun's host; an exchange of the
 * launcher; MASTER_ADDR; the first host of a Slurm step.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bootstrap/address.h"
#include "comm/launcher.h"
#include "exchange/exchange.h"
#include "exchange/hostlist.h"

/* Ports for rendezvous of Slurm steps, below those that the kernel hands out. */
#define PORT_FIRST	10000
#define PORTS		20000

/**
 * struct choice - a choice that is being made
 * @exchange: the result
 * @settings: settings of the group
 * @tried: text: each exchange that does not do, and why
 */
struct choice {
	struct exchange *exchange;
	struct coll_settings *settings;
	char tried[COLL_DETAIL_SIZE];
};

static void note(struct choice *choice, const char *name, const char *why)
{
	const size_t at = strlen(choice->tried);

	snprintf(choice->tried + at, sizeof(choice->tried) - at, "%s%s: %s", at ? "; " : "", name,
		 why);
}

/*
 * Try to use an exchange.  Return: 0; -ECONNABORTED: it has served an earlier group, and
 * nothing else will do; or another negative errno: the next one may do.
 */
static int try(struct choice *choice, const struct exchange_ops *ops, struct coll_detail *detail)
{
	char why[COLL_DETAIL_SIZE] = "";
	struct coll_detail mine = { why, sizeof(why) };
	int err = ops->open(choice->exchange, choice->settings->deadline, &mine);

	if (!err)
		choice->exchange->ops = ops;
	else if (err == -ECONNABORTED)
		coll_fail(detail, err, "%s", why);
	else
		note(choice, ops->name, why);
	return err;
}

/*
 * All ranks are on this host: they meet at its loopback address, which no
 * other host reaches.
 */
static bool meet_on_loopback(struct coll_settings *settings)
{
	struct sockaddr_storage addr;
	char text[COLL_ADDRESS_TEXT];

	if (coll_address_any_local(&addr, settings->deadline) || !coll_address_is_loopback(&addr))
		return false;
	coll_address_set_port(&addr, settings->root_port);
	coll_address_format(&addr, text);
	return coll_address_split(text, settings->root_host, sizeof(settings->root_host)) > 0;
}

static bool is_loopback_name(const char *host)
{
	struct sockaddr_storage addr;
	struct coll_detail none = { NULL, 0 };

	return !strcmp(host, "localhost") ||
	       (coll_address_is_numeric(host) &&
		!coll_address_local(&addr, host, AF_UNSPEC, &none) &&
		coll_address_is_loopback(&addr));
}

/* torchrun has no exchange: on several hosts the user has to give a secret. */
static int meet_by_torchrun(struct coll_settings *settings, struct coll_detail *detail)
{
	unsigned long here = 0;
	int err = coll_env_number("LOCAL_WORLD_SIZE", COLLECTIVE_RANKS_MAX, &here, detail);

	if (err || !here || settings->secured || settings->insecure)
		return err;
	if (here == (unsigned long)settings->nranks) {
		meet_on_loopback(settings);
		return 0;
	}
	if (is_loopback_name(settings->root_host))
		return 0;
	return coll_fail(detail, -EACCES,
			 "torchrun started %lu of %d ranks on this host, and has no channel for a secret: set COLL_SECRET, or COLL_SECRET_FILE, on every host, or COLL_INSECURE=1 in a network that you trust",
			 here, settings->nranks);
}

/* Ranks that srun started without any PMI meet at the first host of their step. */
static int meet_by_slurm(struct choice *choice, struct coll_detail *detail)
{
	const char *list = coll_env_text("SLURM_STEP_NODELIST");
	struct coll_settings *settings = choice->settings;
	unsigned long hosts = 0;
	int err;

	settings->root_port = PORT_FIRST + settings->job % PORTS;
	err = coll_env_number("SLURM_STEP_NUM_NODES", COLLECTIVE_RANKS_MAX, &hosts, detail);
	if (err)
		return err;
	if (!list || hostlist_first(list, settings->root_host, sizeof(settings->root_host)))
		return coll_fail(detail, -EINVAL,
				 "SLURM_STEP_NODELIST=%s is no list of hosts", list ?: "");
	settings->root_source = COLL_ROOT_LAUNCHER;
	if (settings->secured || settings->insecure)
		return 0;
	if (hosts == 1) {
		meet_on_loopback(settings);
		return 0;
	}
	return coll_fail(detail, -EACCES,
			 "srun started the ranks on %lu hosts without a channel for a secret (%s): use srun --mpi=pmi2 or --mpi=pmix, install libpmi0 on every host, or set COLL_SECRET_FILE",
			 hosts, choice->tried);
}

static int no_way(struct choice *choice, struct coll_detail *detail)
{
	const struct coll_settings *settings = choice->settings;
	char who[32];

	snprintf(who, sizeof(who), settings->rank < 0 ? "a rank" : "rank %d", settings->rank);
	return coll_fail(detail, -EINVAL,
			 "%s of %d comes from %s, but there is no way to the other ranks: %s%stcp: neither COLL_RENDEZVOUS=host:port nor MASTER_ADDR is set",
			 who, settings->nranks, settings->launcher_name, choice->tried,
			 choice->tried[0] ? "; " : "");
}

static int select_tcp(struct choice *choice, struct coll_detail *detail)
{
	struct coll_settings *settings = choice->settings;

	if (settings->root_source == COLL_ROOT_MASTER &&
	    settings->launcher == COLL_LAUNCHER_TORCHRUN)
		return meet_by_torchrun(settings, detail);
	if (settings->root_source != COLL_ROOT_NONE)
		return 0;
	if (settings->launcher == COLL_LAUNCHER_SLURM)
		return meet_by_slurm(choice, detail);
	return no_way(choice, detail);
}

static int select_auto(struct choice *choice, struct coll_detail *detail)
{
	static const struct exchange_ops * const all[] = {
		&exchange_mpi, &exchange_pmix, &exchange_pmi1, &exchange_slurm,
	};
	const struct coll_settings *settings = choice->settings;
	size_t i;
	int err;

	if (settings->root_source == COLL_ROOT_GIVEN || settings->rank < 0 ||
	    settings->launcher == COLL_LAUNCHER_TORCHRUN)
		return select_tcp(choice, detail);
	for (i = 0; i < sizeof(all) / sizeof(*all); i++) {
		err = try(choice, all[i], detail);
		if (!err || err == -ECONNABORTED)
			return err;
	}
	return select_tcp(choice, detail);
}

/* Use an exchange that COLL_BOOTSTRAP demands. */
static int select_forced(struct choice *choice, const struct exchange_ops *ops,
			 const struct exchange_ops *other, struct coll_detail *detail)
{
	int err;

	if (choice->settings->rank < 0)
		return coll_fail(detail, -EINVAL,
				 "COLL_RANK=auto needs a rendezvous, not COLL_BOOTSTRAP=%s",
				 ops->name);
	err = try(choice, ops, detail);
	if (err && err != -ECONNABORTED && other)
		err = try(choice, other, detail);
	if (!err || err == -ECONNABORTED)
		return err;
	return coll_fail(detail, -EINVAL, "COLL_BOOTSTRAP=%s cannot be used: %s", ops->name,
			 choice->tried);
}

int exchange_select(struct exchange *exchange, struct coll_settings *settings,
		    const struct coll_config *config, struct coll_detail *detail)
{
	struct choice choice = { .exchange = exchange, .settings = settings };

	*exchange = (struct exchange) {
		.rank = settings->rank,
		.nranks = settings->nranks,
		.callback = config->exchange,
		.context = config->exchange_context,
	};
	if (settings->nranks == 1)
		return 0;
	if (config->exchange) {
		exchange->ops = &exchange_callback;
		return settings->rank < 0 ?
		       coll_fail(detail, -EINVAL,
				 "COLL_RANK_AUTO needs a rendezvous, not an exchange") : 0;
	}
	switch (settings->bootstrap) {
	case COLL_BOOTSTRAP_TCP:
		return select_tcp(&choice, detail);
	case COLL_BOOTSTRAP_MPI:
		return select_forced(&choice, &exchange_mpi, NULL, detail);
	case COLL_BOOTSTRAP_PMI:
		return select_forced(&choice, &exchange_pmi1, &exchange_slurm, detail);
	case COLL_BOOTSTRAP_PMI2:
		return select_forced(&choice, &exchange_pmi2, NULL, detail);
	case COLL_BOOTSTRAP_PMIX:
		return select_forced(&choice, &exchange_pmix, NULL, detail);
	default:
		return select_auto(&choice, detail);
	}
}
