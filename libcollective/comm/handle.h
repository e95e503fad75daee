/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Handles: numbers in the form of pointers, by which callers refer to objects of the library.
 *
 * A handle is the index of a slot and the slot's generation.  Slots are never freed and a
 * generation comes again after 2^39 others only, so any value may be looked up: a handle of an
 * object that no longer exists is recognized, and nothing is read through it.
 *
 * The owner has a reference from coll_handle_new() to coll_handle_retire(), each thread has one
 * from coll_handle_get() to coll_handle_put(), and the thread that drops the last frees the object.
 * The table, all that communicators share, has no lock, so a child of fork() can use it.
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
