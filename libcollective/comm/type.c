// SPDX-License-Identifier: LGPL-2.1-or-later
#include "collective.h"

#include <linux/collective.h>

#define SAME(name) \
	_Static_assert((int)COLL_##name == (int)COLLECTIVE_##name, #name)

SAME(INT8);
SAME(UINT8);
SAME(INT16);
SAME(UINT16);
SAME(INT32);
SAME(UINT32);
SAME(INT64);
SAME(UINT64);
SAME(FLOAT16);
SAME(BFLOAT16);
SAME(FLOAT32);
SAME(FLOAT64);
SAME(SUM);
SAME(PROD);
SAME(MIN);
SAME(MAX);
SAME(AVG);
SAME(BAND);
SAME(BOR);
SAME(BXOR);
SAME(LAND);
SAME(LOR);
SAME(LXOR);
SAME(BARRIER);
SAME(ALLREDUCE);
SAME(REDUCE);
SAME(BROADCAST);
SAME(ALLGATHER);
SAME(REDUCE_SCATTER);
SAME(GATHER);
SAME(SCATTER);
SAME(ALLTOALL);
SAME(SCAN);
SAME(EXSCAN);
SAME(SEND);
SAME(RECV);
SAME(REGISTER_READ_ONLY);

size_t coll_type_size(enum coll_type type)
{
	switch (type) {
	case COLL_INT8:
	case COLL_UINT8:
		return 1;
	case COLL_INT16:
	case COLL_UINT16:
	case COLL_FLOAT16:
	case COLL_BFLOAT16:
		return 2;
	case COLL_INT32:
	case COLL_UINT32:
	case COLL_FLOAT32:
		return 4;
	case COLL_INT64:
	case COLL_UINT64:
	case COLL_FLOAT64:
		return 8;
	}
	return 0;
}
