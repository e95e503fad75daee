/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_NAMES_H
#define COLL_NAMES_H

#include <linux/collective.h>

/* By their enumerators. */
extern const char * const coll_state_names[COLLECTIVE_STATE_COUNT];
extern const char * const coll_opcode_names[COLLECTIVE_OPCODE_COUNT];
extern const char * const coll_type_names[COLLECTIVE_TYPE_COUNT];
extern const char * const coll_reduction_names[COLLECTIVE_REDUCTION_COUNT];
extern const char * const coll_transport_names[COLLECTIVE_TRANSPORT_COUNT];
extern const char * const coll_reason_names[COLLECTIVE_REASON_COUNT];

#endif /* COLL_NAMES_H */
