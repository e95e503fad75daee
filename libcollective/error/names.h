/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The kernel's enumerators in words; NULL: there is none. */
#ifndef COLL_NAMES_H
#define COLL_NAMES_H

#include <linux/collective.h>

extern const char * const coll_names_opcodes[COLLECTIVE_OPCODE_COUNT];
extern const char * const coll_names_types[COLLECTIVE_TYPE_COUNT];
extern const char * const coll_names_reductions[COLLECTIVE_REDUCTION_COUNT];
extern const char * const coll_names_algorithms[COLLECTIVE_ALGORITHM_COUNT];

/* What number @i is called; "?": there is none, or it is a newer kernel's. */
const char *coll_names_opcode(unsigned int i);
const char *coll_names_type(unsigned int i);
const char *coll_names_reduction(unsigned int i);
const char *coll_names_algorithm(unsigned int i);

/* Before the root's number: "from", "to"; NULL: the collective has no root. */
const char *coll_names_root(unsigned int opcode);

#endif /* COLL_NAMES_H */
