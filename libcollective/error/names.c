// SPDX-License-Identifier: LGPL-2.1-or-later
#include "error/names.h"

#include <collective_names.h>
#include <stddef.h>

const char * const coll_names_opcodes[COLLECTIVE_OPCODE_COUNT] = { COLL_OPCODE_NAMES };
const char * const coll_names_types[COLLECTIVE_TYPE_COUNT] = { COLL_TYPE_NAMES };
const char * const coll_names_reductions[COLLECTIVE_REDUCTION_COUNT] = { COLL_REDUCTION_NAMES };
const char * const coll_names_transports[COLLECTIVE_TRANSPORT_COUNT] = { COLL_TRANSPORT_NAMES };
const char * const coll_names_algorithms[COLLECTIVE_ALGORITHM_COUNT] = { COLL_ALGORITHM_NAMES };

static const char *name(const char * const *names, unsigned int n, unsigned int i)
{
	return i < n && names[i] ? names[i] : "?";
}

const char *coll_names_opcode(unsigned int i)
{
	return name(coll_names_opcodes, COLLECTIVE_OPCODE_COUNT, i);
}

const char *coll_names_type(unsigned int i)
{
	return name(coll_names_types, COLLECTIVE_TYPE_COUNT, i);
}

const char *coll_names_reduction(unsigned int i)
{
	return name(coll_names_reductions, COLLECTIVE_REDUCTION_COUNT, i);
}

const char *coll_names_algorithm(unsigned int i)
{
	return name(coll_names_algorithms, COLLECTIVE_ALGORITHM_COUNT, i);
}

const char *coll_names_root(unsigned int opcode)
{
	switch (opcode) {
	case COLLECTIVE_BROADCAST:
	case COLLECTIVE_SCATTER:
		return "from";
	case COLLECTIVE_REDUCE:
	case COLLECTIVE_GATHER:
		return "to";
	}
	return NULL;
}
