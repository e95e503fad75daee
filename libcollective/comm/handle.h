/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Handles: numbers in the guise of pointers, by which callers name objects of the library.
 *
 * A handle is the index of a slot and the slot's generation.  The memory of slots is never
 * given back, and a generation is never used again, so any value at all may be looked up: a
 * handle whose object is gone is recognised and nothing is read through it.
 *
 * An object is referred to by its owner, from coll_handle_new() to coll_handle_retire(), and
 * by each thread between coll_handle_get() and coll_handle_put().  The thread that gives the
 * last reference back frees the object.
 *
 * There is no lock, so a child of fork() can use the table whatever other threads of its
 * parent were doing.  The table is the library's only state that belongs to no communicator.
 */
#ifndef COLL_HANDLE_H
#define COLL_HANDLE_H

#include <stdbool.h>

/** coll_handle_new - a handle for @object, or NULL: no memory, or 2^24 others are in use */
void *coll_handle_new(void *object);

/** coll_handle_get - the object of a handle, to be put back; NULL: it is gone */
void *coll_handle_get(const void *handle);

/** coll_handle_put - give a reference back; true: it was the last one, free the object */
bool coll_handle_put(const void *handle);

/**
 * coll_handle_retire - end a handle: nothing finds the object by it any more
 * @handle: one that coll_handle_new() has returned, retired by its owner and once
 *
 * Return: true: no thread has a reference left, free the object.
 */
bool coll_handle_retire(const void *handle);

#endif /* COLL_HANDLE_H */
