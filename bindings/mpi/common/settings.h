/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Settings, which must be the same on every rank unless they say otherwise. */
#ifndef CM_SETTINGS_H
#define CM_SETTINGS_H

#include <stdbool.h>

#include "common/limits.h"

/**
 * struct cm_settings - settings of all communicators
 * @priority: among the components of Open MPI; the same, because a rank whose calls another
 *	component gets is as one without this component
 * @calls: number of the blocking collective in which a communicator makes its group, from 1
 * @min_bytes: on one host, calls of fewer bytes are left to MPI; barriers, and calls of which not
 *	every rank knows the bytes, count as calls of none
 * @small_bytes: but blocking barriers, allreduces and allgathers of at most so many bytes a rank
 *	are taken where processes execute them without the kernel; 0: none
 * @max_bytes: calls of more bytes are left to MPI
 * @reproducible: sums are in the order of ranks
 * @timeout_ms: deadline of an operation in ms; ~0U: none
 * @transport: transport of the group's links, as in struct coll_config
 * @ring: operations complete in memory; may differ
 * @wait_ms: time in ms for which a blocking collective waits in the kernel before it turns to MPI's
 *	progress, 0: none; may differ
 * @spin_us: time in microseconds after which a waiting rank sleeps between two looks; may differ
 * @sleep_us: longest such sleep in microseconds, 0: none; may differ
 * @memory_mib: limit in MiB for the kernel memory of the groups of all ranks of a host, 0: a tenth
 *	of the host's memory; may differ
 * @verbose: level of messages on stderr; may differ
 */
struct cm_settings {
	int priority;
	int calls;
	struct cm_limits min_bytes;
	unsigned int small_bytes;
	struct cm_limits max_bytes;
	bool reproducible;
	unsigned int timeout_ms;
	const char *transport;
	bool ring;
	unsigned int wait_ms;
	unsigned int spin_us;
	unsigned int sleep_us;
	unsigned int memory_mib;
	int verbose;
};

extern struct cm_settings cm_settings;

/** cm_settings_digest - digest of the settings that must be the same, below 2^62 */
long long cm_settings_digest(void);

/**
 * cm_say - print a message on stderr
 * @level: it is printed if the verbosity is at least this
 * @format: as printf(), without a newline
 */
void cm_say(int level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif /* CM_SETTINGS_H */
