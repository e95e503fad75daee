// SPDX-License-Identifier: LGPL-2.1-or-later
#include <stdlib.h>
#include <string.h>

#include "exchange/reserve.h"

void *reserve_calloc(struct reserve *reserve, size_t size)
{
	void *memory = calloc(1, size);

	if (memory || size > reserve->size ||
	    __atomic_exchange_n(&reserve->is_used, true, __ATOMIC_ACQUIRE))
		return memory;
	return reserve->memory;
}

void reserve_free(struct reserve *reserve, void *memory, size_t size)
{
	if (memory != reserve->memory) {
		free(memory);
		return;
	}
	memset(memory, 0, size);
	__atomic_store_n(&reserve->is_used, false, __ATOMIC_RELEASE);
}
