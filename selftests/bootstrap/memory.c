// SPDX-License-Identifier: GPL-2.0-only
#include "memory.h"

int memory_calls = -1;

void *__wrap_calloc(size_t n, size_t size)
{
	if (!memory_calls)
		return NULL;
	if (memory_calls > 0)
		memory_calls--;
	return __real_calloc(n, size);
}
