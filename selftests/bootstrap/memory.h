/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Replaces calloc(), malloc() and pthread_create() in the tests, so that a process can run out of
 * memory.
 */
#ifndef MEMORY_H
#define MEMORY_H

#include <pthread.h>
#include <stddef.h>

/* The linker's --wrap: the first is the function, the second is called in its place. */
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *arg),
			  void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *arg),
			  void *arg);

/* Number of calls that succeed before all others fail; negative: no limit. */
extern int memory_calls;

#endif /* MEMORY_H */
