// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdbool.h>

#include "memory.h"

int memory_calls = -1;

static bool is_left(void)
{
	if (!memory_calls)
		return false;
	if (memory_calls > 0)
		memory_calls--;
	return true;
}

void *__wrap_calloc(size_t n, size_t size)
{
	return is_left() ? __real_calloc(n, size) : NULL;
}

void *__wrap_malloc(size_t size)
{
	return is_left() ? __real_malloc(size) : NULL;
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *arg),
			  void *arg)
{
	return is_left() ? __real_pthread_create(thread, attr, run, arg) : EAGAIN;
}
