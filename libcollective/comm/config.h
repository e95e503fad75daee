/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Settings of a group, from configuration and environment. */
#ifndef COLL_CONFIG_H
#define COLL_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/collective.h>

#include "collective.h"
#include "comm/ports.h"
#include "error/detail.h"

struct coll_secret;

#define COLL_HOSTNAME_SIZE	256
#define COLL_PORT_DEFAULT	27182
#define COLL_PLACES_SIZE	384
#define COLL_KEY_SIZE		64	/* of a key, with NUL */

/** enum coll_launcher - what told this process its rank */
enum coll_launcher {
	COLL_LAUNCHER_NONE,	/* the configuration, or the library's own variables */
	COLL_LAUNCHER_TORCHRUN,
	COLL_LAUNCHER_MPI,	/* a launcher of MPI programs */
	COLL_LAUNCHER_SLURM,	/* srun */
};

/** enum coll_root_source - what told this process the rendezvous */
enum coll_root_source {
	COLL_ROOT_NONE,
	COLL_ROOT_GIVEN,	/* the configuration, or COLL_RENDEZVOUS */
	COLL_ROOT_MASTER,	/* MASTER_ADDR */
	COLL_ROOT_LAUNCHER,	/* variables of the launcher */
};

/** enum coll_bootstrap - how the group is to form (COLL_BOOTSTRAP) */
enum coll_bootstrap {
	COLL_BOOTSTRAP_AUTO,
	COLL_BOOTSTRAP_TCP,
	COLL_BOOTSTRAP_MPI,
	COLL_BOOTSTRAP_PMI,
	COLL_BOOTSTRAP_PMI2,
	COLL_BOOTSTRAP_PMIX,
};

/**
 * struct coll_settings - settings of a group, from struct coll_config and the environment
 * @rank: rank of this process, 0 .. @nranks - 1; COLL_RANK_AUTO until rank 0 has chosen one
 * @nranks: number of ranks of the group
 * @launcher: what told the rank
 * @launcher_name: its name in messages
 * @bootstrap: enum coll_bootstrap
 * @lanes: number of lanes; 0: that of rank 0, or the kernel's default
 * @transport: enum collective_transport of this rank's links
 * @insecure: true if addresses other than loopback are allowed without a secret
 * @secured: true if there is a secret
 * @secret: the secret (bootstrap/secret.h), or NULL; a communicator's settings have a
 *	reference, copies have none
 * @reproducible: true if reductions take the elements in the order of ranks
 * @wide: true if reductions keep sums of 16-bit floats in 32 bits
 * @private: true if no process may map the group's board
 * @nosync: true if calls need not wait for all ranks
 * @name: name of the group; empty: rank 0 chooses
 * @id: id of the group, which rank 0 chooses
 * @job: number of the launcher's job; 0: unknown
 * @restart: number of times that the launcher has started this rank again; 0: none, or unknown
 * @root_host: host part of the rendezvous; empty: there is none
 * @root_port: port of the rendezvous
 * @root_source: what told the rendezvous
 * @auto_rank: true if rank 0 chooses the ranks of the others
 * @key: name of this process by which it gets the same rank again; empty: none
 * @process: random number of this process's coll_init()
 * @attempt: number of HELLO messages that it has sent
 * @rounds: number of times that it has tried all addresses of rank 0
 * @local_addr: local address or interface; empty: that of the route to rank 0
 * @ports: at which the rank listens
 * @init_timeout_ms: time limit of coll_init(), coll_split() and coll_shrink() in ms
 * @timeout_ms: deadline of an operation in ms; 0: the kernel's default
 * @heartbeat_ms: heartbeat interval in ms; 0: the kernel's default
 * @algorithm: algorithm that AUTO stands for, by enum collective_opcode
 * @deadline: end of @init_timeout_ms (comm/deadline.h)
 * @places: text: what is known of addresses that may explain why ranks cannot connect; or empty
 * @check_datagrams: true if coll_init() finds out whether they pass between the hosts
 * @interrupt: function of the caller's that may end a call (comm/interrupt.h); NULL: none
 * @interrupt_context: its argument
 * @rejoin_fd: socket of the rejoin port (bootstrap/rejoin_port.h); -1: none
 */
struct coll_settings {
	int rank;
	int nranks;
	enum coll_launcher launcher;
	const char *launcher_name;
	int bootstrap;
	int lanes;
	int transport;
	bool insecure;
	bool secured;
	struct coll_secret *secret;
	bool reproducible;
	bool wide;
	bool private;
	bool nosync;
	bool check_datagrams;
	char name[COLLECTIVE_NAME_MAX + 1];
	__u64 id;
	uint64_t job;
	uint32_t restart;
	char root_host[COLL_HOSTNAME_SIZE];
	int root_port;
	enum coll_root_source root_source;
	bool auto_rank;
	char key[COLL_KEY_SIZE];
	uint64_t process;
	uint32_t attempt;
	unsigned int rounds;
	char local_addr[COLL_HOSTNAME_SIZE];
	struct coll_ports ports;
	unsigned int init_timeout_ms;
	unsigned int timeout_ms;
	unsigned int heartbeat_ms;
	__u8 algorithm[COLLECTIVE_OPCODES_MAX];
	uint64_t deadline;
	char places[COLL_PLACES_SIZE];
	int (*interrupt)(void *context);
	void *interrupt_context;
	int rejoin_fd;
};

/**
 * coll_config_read - combine configuration and environment
 * @settings: filled in; the caller gets the reference to its @secret, unless this fails; after a
 *	failure rank, number of ranks and deadline are valid unless the number is 0
 * @config: imported configuration of the current size; not NULL
 * @detail: text of a failure
 *
 * Return: 0, -EINVAL, or the errno of reading the secret.
 */
int coll_config_read(struct coll_settings *settings, const struct coll_config *config,
		     struct coll_detail *detail);

/** coll_config_name_valid - is this a valid name of a group? */
bool coll_config_name_valid(const char *name);

/** coll_config_name_has - may the name of a group have this character, whatever the locale? */
bool coll_config_name_has(char character);

/** coll_config_key_valid - is this a valid key?  Keys are printed in texts. */
bool coll_config_key_valid(const char *key);

#endif /* COLL_CONFIG_H */
