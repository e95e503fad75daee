/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef COLL_CONFIG_H
#define COLL_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/collective.h>

#include "collective.h"
#include "error/detail.h"

struct coll_secret;

#define COLL_HOSTNAME_SIZE		256
#define COLL_PORT_DEFAULT	27182

/**
 * struct coll_settings - what the configuration and the environment came to
 * @rank: 0 .. @nranks - 1
 * @nranks: size of the group
 * @lanes: 0: rank 0's, or the kernel's default
 * @insecure: addresses other than loopback allowed, secret or not
 * @secured: there is a secret
 * @secret: it (secret.h), or NULL; a communicator's setup has a reference, copies have none
 * @reproducible: reductions take the elements in the order of ranks
 * @wide: reductions keep sums of 16-bit floats in 32 bits
 * @name: the group's; empty: rank 0 chooses
 * @id: the group's number, which rank 0 chooses
 * @job: number of the launcher's job; 0: unknown
 * @root_host: of the rendezvous; empty with one rank
 * @root_port: of the rendezvous
 * @local_addr: address or interface; empty: the one that leads to rank 0
 * @init_timeout_ms: milliseconds for everything
 * @timeout_ms: for an operation
 * @heartbeat_ms: 0: the kernel's default
 * @algorithm: what AUTO means, by enum collective_opcode
 * @deadline: when @init_timeout_ms is over (deadline.h)
 * @rejoin_fd: socket for coll_shrink() (lifeline.h); -1: none
 */
struct coll_settings {
	int rank;
	int nranks;
	int lanes;
	bool insecure;
	bool secured;
	struct coll_secret *secret;
	bool reproducible;
	bool wide;
	char name[COLLECTIVE_NAME_MAX + 1];
	__u64 id;
	uint64_t job;
	char root_host[COLL_HOSTNAME_SIZE];
	int root_port;
	char local_addr[COLL_HOSTNAME_SIZE];
	unsigned int init_timeout_ms;
	unsigned int timeout_ms;
	unsigned int heartbeat_ms;
	__u8 algorithm[COLLECTIVE_OPCODES_MAX];
	uint64_t deadline;
	int rejoin_fd;
};

/**
 * coll_config_read - read configuration and environment
 * @settings: filled in; a reference to its @secret is the caller's, unless it fails
 * @config: of a published size already; not NULL
 * @detail: texts
 *
 * Return: 0, -EINVAL, or why the file of the secret cannot be read.
 */
int coll_config_read(struct coll_settings *settings, const struct coll_config *config,
		     struct coll_detail *detail);

/** coll_config_name_valid - may a group have this name? */
bool coll_config_name_valid(const char *name);

#endif /* COLL_CONFIG_H */
