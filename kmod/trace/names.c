// SPDX-License-Identifier: GPL-2.0-only
#include "trace/names.h"

#include <collective_names.h>

const char * const coll_state_names[COLLECTIVE_STATE_COUNT] = { COLL_STATE_NAMES };
const char * const coll_opcode_names[COLLECTIVE_OPCODE_COUNT] = { COLL_OPCODE_NAMES };
const char * const coll_type_names[COLLECTIVE_TYPE_COUNT] = { COLL_TYPE_NAMES };
const char * const coll_reduction_names[COLLECTIVE_REDUCTION_COUNT] = { COLL_REDUCTION_NAMES };
const char * const coll_transport_names[COLLECTIVE_TRANSPORT_COUNT] = { COLL_TRANSPORT_NAMES };
const char * const coll_reason_names[COLLECTIVE_REASON_COUNT] = { COLL_REASON_NAMES };
