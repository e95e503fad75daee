/* SPDX-License-Identifier: GPL-2.0-only */
/* Replaces calloc() and malloc() in the tests, so that a process can run out of memory. */
#ifndef MEMORY_H
#define MEMORY_H

#include <stddef.h>

/* The linker's --wrap: the first is the function, the second is called in its place. */
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

/* Number of calls that succeed before all others fail; negative: no limit. */
extern int memory_calls;

#endif /* MEMORY_H */
