/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names of the enumerators of the kernel, NULL where there is none. */
#ifndef COLL_NAMES_H
#define COLL_NAMES_H

#include <linux/collective.h>

extern const char * const coll_names_opcodes[COLLECTIVE_OPCODE_COUNT];
extern const char * const coll_names_types[COLLECTIVE_TYPE_COUNT];
extern const char * const coll_names_reductions[COLLECTIVE_REDUCTION_COUNT];
extern const char * const coll_names_transports[COLLECTIVE_TRANSPORT_COUNT];
extern const char * const coll_names_algorithms[COLLECTIVE_ALGORITHM_COUNT];

/* Name of enumerator @i; "?": there is none, or only a newer kernel has it. */
const char *coll_names_opcode(unsigned int i);
const char *coll_names_type(unsigned int i);
const char *coll_names_reduction(unsigned int i);
const char *coll_names_algorithm(unsigned int i);

/* Preposition before the root: "from" or "to"; NULL: the collective has no root. */
const char *coll_names_root(unsigned int opcode);

#endif /* COLL_NAMES_H */
