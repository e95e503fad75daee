// SPDX-License-Identifier: LGPL-2.1-or-later
/* Settings of a group, from the caller's configuration and the environment. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bootstrap/address.h"
#include "bootstrap/secret.h"
#include "comm/config.h"
#include "comm/deadline.h"
#include "comm/launcher.h"
#include "error/names.h"

#define INIT_TIMEOUT_MS	60000
#define NAME_CHARACTERS	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

#define SIZE(array) (sizeof(array) / sizeof(*(array)))

static int copy_text(char *to, size_t size, const char *from, const char *what,
		     struct coll_detail *detail)
{
	if (strlen(from) >= size)
		return coll_fail(detail, -EINVAL, "%s is too long: %s", what,
				 from);
	strcpy(to, from);
	return 0;
}

bool coll_config_name_valid(const char *name)
{
	size_t length = strlen(name);

	return length && length <= COLLECTIVE_NAME_MAX &&
	       strcmp(name, ".") && strcmp(name, "..") &&
	       strspn(name, NAME_CHARACTERS) == length;
}

bool coll_config_name_has(char character)
{
	return character && strchr(NAME_CHARACTERS, character);
}

bool coll_config_key_valid(const char *key)
{
	/* Not isprint(), which depends on the locale. */
	while (*key >= ' ' && *key <= '~')
		key++;
	return !*key;
}

static int empty_variable(const char *name, struct coll_detail *detail)
{
	return coll_fail(detail, -EINVAL, "%s is empty", name);
}

/* Read the rendezvous, if one is given. */
static int read_root_address(struct coll_settings *settings, const struct coll_config *config,
			     struct coll_detail *detail)
{
	const char *rendezvous = config->rendezvous ?: coll_env_raw("COLL_RENDEZVOUS");
	const char *master = coll_env_raw("MASTER_ADDR");
	unsigned long port = COLL_PORT_DEFAULT - 1;
	int err;

	if (settings->nranks == 1 || config->exchange)
		return 0;
	if (rendezvous) {
		if (!*rendezvous)
			return empty_variable(config->rendezvous ?
					      "the configuration's rendezvous" :
					      "COLL_RENDEZVOUS", detail);
		settings->root_port = coll_address_split(rendezvous, settings->root_host,
							 sizeof(settings->root_host));
		if (settings->root_port < 0)
			return coll_fail(detail, -EINVAL,
					 "rendezvous %s is not host:port or [address]:port",
					 rendezvous);
		settings->root_source = COLL_ROOT_GIVEN;
		return 0;
	}
	if (!master)
		return 0;
	if (!*master)
		return empty_variable("MASTER_ADDR", detail);
	if (coll_env_raw("MASTER_PORT") && !coll_env_text("MASTER_PORT"))
		return empty_variable("MASTER_PORT", detail);
	err = copy_text(settings->root_host, sizeof(settings->root_host), master, "MASTER_ADDR",
			detail) ?:
	      coll_env_number("MASTER_PORT", 65534, &port, detail);
	settings->root_port = port + 1;
	settings->root_source = COLL_ROOT_MASTER;
	return err;
}

/* Index of a word in @names, or -1. */
static int find_word(const char * const *names, size_t n, const char *word, size_t length)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (names[i] && strlen(names[i]) == length && !strncmp(names[i], word, length))
			return i;
	return -1;
}

static int read_algorithm(struct coll_settings *settings, const char *item, size_t length)
{
	const char *colon = memchr(item, ':', length);
	const char *word = colon ? colon + 1 : item;
	int algorithm = find_word(coll_names_algorithms, SIZE(coll_names_algorithms), word,
				  item + length - word);
	int opcode;

	if (algorithm < 0)
		return -EINVAL;
	if (!colon) {
		memset(settings->algorithm, algorithm, COLLECTIVE_OPCODE_COUNT);
		return 0;
	}
	opcode = find_word(coll_names_opcodes, SIZE(coll_names_opcodes), item, colon - item);
	if (opcode < 0)
		return -EINVAL;
	settings->algorithm[opcode] = algorithm;
	return 0;
}

static int read_algorithms(struct coll_settings *settings, const char *text,
			   struct coll_detail *detail)
{
	const char *item = text;
	size_t length;

	for (;; item += length + 1) {
		length = strcspn(item, ",");
		if (read_algorithm(settings, item, length))
			return coll_fail(detail, -EINVAL,
					 "algorithm %.*s is not ring, tree or direct, or such after COLLECTIVE:",
					 (int)length, item);
		if (!item[length])
			return 0;
	}
}

static int read_bootstrap(struct coll_settings *settings, const char *text,
			  struct coll_detail *detail)
{
	static const char * const names[] = {
		[COLL_BOOTSTRAP_AUTO] = "auto",
		[COLL_BOOTSTRAP_TCP] = "tcp",
		[COLL_BOOTSTRAP_MPI] = "mpi",
		[COLL_BOOTSTRAP_PMI] = "pmi",
		[COLL_BOOTSTRAP_PMI2] = "pmi2",
		[COLL_BOOTSTRAP_PMIX] = "pmix",
	};

	settings->bootstrap = find_word(names, SIZE(names), text, strlen(text));
	if (settings->bootstrap < 0)
		return coll_fail(detail, -EINVAL,
				 "bootstrap %s is not auto, tcp, mpi, pmi, pmi2 or pmix", text);
	return 0;
}

static int read_transport(struct coll_settings *settings, const char *text,
			  struct coll_detail *detail)
{
	settings->transport = find_word(coll_names_transports, SIZE(coll_names_transports), text,
					strlen(text));
	if (settings->transport < 0)
		return coll_fail(detail, -EINVAL, "transport %s is not auto, local, rdma or tcp",
				 text);
	return 0;
}

/* The name of a process that is handed its rank. */
static int read_key(struct coll_settings *settings, const char *text, struct coll_detail *detail)
{
	int err = copy_text(settings->key, sizeof(settings->key), text, "key", detail);

	if (!err && !coll_config_key_valid(settings->key))
		err = coll_fail(detail, -EINVAL,
				"key %s has a character that is not printable ASCII",
				settings->key);
	return err;
}

/* The kernel refuses others. */
static int check_heartbeat(unsigned int ms, struct coll_detail *detail)
{
	if (!ms || (ms >= COLLECTIVE_HEARTBEAT_MIN_MS && ms <= COLLECTIVE_HEARTBEAT_MAX_MS))
		return 0;
	return coll_fail(detail, -EINVAL, "a heartbeat of %u ms: there must be %d to %d", ms,
			 COLLECTIVE_HEARTBEAT_MIN_MS, COLLECTIVE_HEARTBEAT_MAX_MS);
}

int coll_config_read(struct coll_settings *settings, const struct coll_config *config,
		     struct coll_detail *detail)
{
	unsigned long lanes = 0, init_ms = INIT_TIMEOUT_MS, ms = 0, beat = 0;
	unsigned long insecure = 0, reproducible = 0, wide = 0, check = 0, private = 0;
	unsigned long nosync = 0;
	const char *name = config->name ?: coll_env_text("COLL_NAME");
	const char *local = config->local_addr ?: coll_env_text("COLL_LOCAL_ADDR");
	const char *ports = config->ports ?: coll_env_text("COLL_PORTS");
	const char *algorithm = config->algorithm ?: coll_env_text("COLL_ALGORITHM");
	const char *transport = config->transport ?: coll_env_text("COLL_TRANSPORT") ?: "auto";
	const char *bootstrap = config->bootstrap ?: coll_env_text("COLL_BOOTSTRAP") ?: "auto";
	int err;

	memset(settings, 0, sizeof(*settings));
	settings->rejoin_fd = -1;
	settings->deadline = coll_deadline_in(config->init_timeout_ms ?: INIT_TIMEOUT_MS);
	err = coll_launcher_find(settings, config, detail);
	if (err) {
		settings->nranks = 0;
		return err;
	}
	err = read_bootstrap(settings, bootstrap, detail) ?:
	      read_root_address(settings, config, detail) ?:
	      coll_env_number("COLL_LANES", COLLECTIVE_LANES_MAX, &lanes, detail) ?:
	      coll_env_number("COLL_INIT_TIMEOUT_MS", INT_MAX, &init_ms, detail) ?:
	      coll_env_number("COLL_TIMEOUT_MS", UINT_MAX, &ms, detail) ?:
	      coll_env_number("COLL_HEARTBEAT_MS", UINT_MAX, &beat, detail) ?:
	      coll_env_number("COLL_INSECURE", 1, &insecure, detail) ?:
	      coll_env_number("COLL_REPRODUCIBLE", 1, &reproducible, detail) ?:
	      coll_env_number("COLL_WIDE", 1, &wide, detail) ?:
	      coll_env_number("COLL_PRIVATE", 1, &private, detail) ?:
	      coll_env_number("COLL_NOSYNC", 1, &nosync, detail) ?:
	      coll_env_number("COLL_CHECK_DATAGRAMS", 1, &check, detail);
	if (err)
		return err;
	err = check_heartbeat(config->heartbeat_ms ?: beat, detail);
	if (err)
		return err;
	if (config->lanes < 0 || config->lanes > COLLECTIVE_LANES_MAX)
		return coll_fail(detail, -EINVAL, "%d lanes: there must be 1 to %d",
				 config->lanes, COLLECTIVE_LANES_MAX);
	if (name && !coll_config_name_valid(name))
		return coll_fail(detail, -EINVAL,
				 "group name %s is not 1 to %d of [A-Za-z0-9._-]",
				 name, COLLECTIVE_NAME_MAX);
	err = copy_text(settings->name, sizeof(settings->name), name ?: "", "name",
			detail) ?:
	      copy_text(settings->local_addr, sizeof(settings->local_addr), local ?: "",
			"local address", detail) ?:
	      read_transport(settings, transport, detail);
	if (!err && ports)
		err = coll_ports_read(&settings->ports, ports, detail);
	if (!err && algorithm)
		err = read_algorithms(settings, algorithm, detail);
	if (!err && settings->auto_rank)
		err = read_key(settings, config->key ?: coll_env_text("COLL_KEY") ?: "", detail);
	settings->lanes = config->lanes ?: (int)lanes;
	settings->insecure = insecure || config->flags & COLL_CONFIG_INSECURE;
	settings->reproducible = reproducible ||
			      config->flags & COLL_CONFIG_REPRODUCIBLE;
	settings->check_datagrams = check || config->flags & COLL_CONFIG_CHECK_DATAGRAMS;
	settings->interrupt = config->interrupt;
	settings->interrupt_context = config->interrupt_context;
	settings->wide = wide || config->flags & COLL_CONFIG_WIDE;
	settings->private = private || config->flags & COLL_CONFIG_PRIVATE;
	settings->nosync = nosync || config->flags & COLL_CONFIG_NOSYNC;
	settings->init_timeout_ms = config->init_timeout_ms ?: init_ms;
	/* 0 in either place means the default. */
	if (!settings->init_timeout_ms)
		settings->init_timeout_ms = INIT_TIMEOUT_MS;
	if (settings->init_timeout_ms > INT_MAX)
		settings->init_timeout_ms = INT_MAX;
	settings->timeout_ms = config->timeout_ms ?: ms;
	settings->heartbeat_ms = config->heartbeat_ms ?: beat;
	settings->deadline = coll_deadline_in(settings->init_timeout_ms);
	/* Last, so that no failure has to put the reference. */
	return err ?: coll_secret_fill(settings, config, detail);
}
