/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Handles: numbers in the form of pointers, by which callers refer to objects of the library.
 *
 * A handle is the index of a slot and the slot's generation.  Slots are never freed and a
 * generation is never used again, so any value may be looked up: a handle of an object that no
 * longer exists is recognized, and nothing is read through it.
 *
 * References: the owner has one from coll_handle_new() to coll_handle_retire(), and each thread
 * has one from coll_handle_get() to coll_handle_put().  Dropping the last one means that the
 * object must be freed by the thread that dropped it.
 *
 * The table has no lock, so a child of fork() can use it whatever other threads of its parent
 * were doing.  It is the only state of the library that belongs to no communicator.
 */
#ifndef COLL_HANDLE_H
#define COLL_HANDLE_H

#include <stdbool.h>

/** coll_handle_new - make a handle for @object; NULL: no memory, or 2^24 are in use */
void *coll_handle_new(void *object);

/** coll_handle_get - get a reference to the object of @handle; NULL: there is none */
void *coll_handle_get(const void *handle);

/** coll_handle_put - put a reference; true: it was the last, free the object */
bool coll_handle_put(const void *handle);

/**
 * coll_handle_retire - end a handle, so that lookups fail, and put the owner's reference
 * @handle: handle from coll_handle_new(); retired once, by its owner
 *
 * Return: true: no thread has a reference, free the object.
 */
bool coll_handle_retire(const void *handle);

#endif /* COLL_HANDLE_H */
