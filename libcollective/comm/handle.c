// SPDX-License-Identifier: LGPL-2.1-or-later
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "comm/handle.h"

#define INDEX_BITS	24
#define INDEX_MAX	((1U << INDEX_BITS) - 1)
#define REFERENCES	((1ULL << INDEX_BITS) - 1)

/* Bit that no user space address has, so that dereferencing a handle faults. */
#define GUISE		(1ULL << 63)

/* Number of slots of the first chunk; each further chunk has twice as many as the one before. */
#define CHUNK_FIRST	1024U
#define CHUNKS		14

/**
 * struct slot - object that a handle refers to
 * @state: generation in the upper bits, number of references in the lower INDEX_BITS; the slot
 *	is free if that is 0
 * @object: the object; written before the first reference exists
 * @next: in a free slot, index + 1 of the next free one
 */
struct slot {
	_Atomic uint64_t state;
	void *object;
	_Atomic uint32_t next;
};

static struct slot *_Atomic chunks[CHUNKS];
static _Atomic uint32_t used;		/* number of slots that were ever used */
/* Head of the list: index + 1 in the low half, number of changes in the high half (ABA). */
static _Atomic uint64_t free_slots;

static unsigned int chunk_of(uint32_t index, uint32_t *at)
{
	const unsigned int chunk = 31 - __builtin_clz(index / CHUNK_FIRST + 1);

	*at = index - ((1U << chunk) - 1) * CHUNK_FIRST;
	return chunk;
}

static struct slot *slot_at(uint32_t index)
{
	uint32_t at;
	const unsigned int chunk = chunk_of(index, &at);
	struct slot *slots = atomic_load(&chunks[chunk]);

	return slots ? slots + at : NULL;
}

/* The slot of an index that is used for the first time; may allocate its chunk. */
static struct slot *slot_make(uint32_t index)
{
	uint32_t at;
	const unsigned int chunk = chunk_of(index, &at);
	struct slot *slots = atomic_load(&chunks[chunk]), *none = NULL;

	if (slots)
		return slots + at;
	slots = calloc(CHUNK_FIRST << chunk, sizeof(*slots));
	if (!slots)
		return NULL;
	if (!atomic_compare_exchange_strong(&chunks[chunk], &none, slots)) {
		free(slots);
		slots = none;
	}
	return slots + at;
}

static void slot_push(struct slot *slot, uint32_t index)
{
	uint64_t head = atomic_load(&free_slots), new;

	do {
		atomic_store(&slot->next, (uint32_t)head);
		new = ((head >> 32) + 1) << 32 | (index + 1);
	} while (!atomic_compare_exchange_weak(&free_slots, &head, new));
}

static struct slot *slot_pop(uint32_t *index)
{
	uint64_t head = atomic_load(&free_slots), new;
	struct slot *slot;

	do {
		if (!(uint32_t)head)
			return NULL;
		*index = (uint32_t)head - 1;
		slot = slot_at(*index);
		new = ((head >> 32) + 1) << 32 | atomic_load(&slot->next);
	} while (!atomic_compare_exchange_weak(&free_slots, &head, new));
	return slot;
}

static struct slot *slot_take(uint32_t *index)
{
	struct slot *slot = slot_pop(index);

	if (slot)
		return slot;
	*index = atomic_load(&used);
	do {
		if (*index >= INDEX_MAX - CHUNK_FIRST)
			return NULL;
		slot = slot_make(*index);
		if (!slot)
			return NULL;
	} while (!atomic_compare_exchange_weak(&used, index, *index + 1));
	return slot;
}

/* A handle has a bit less for it than a slot. */
static uint64_t generation(uint64_t state)
{
	return (state & ~GUISE) >> INDEX_BITS;
}

/* Find the slot of a handle, whatever its generation; NULL: there is no such handle. */
static struct slot *slot_find(const void *handle, uint64_t *expected, uint32_t *index)
{
	const uint64_t number = (uintptr_t)handle;

	*index = (number & INDEX_MAX) - 1;
	*expected = generation(number);
	if (!(number & GUISE) || *index >= atomic_load(&used))
		return NULL;
	return slot_at(*index);
}

void *coll_handle_new(void *object)
{
	uint32_t index;
	struct slot *slot = slot_take(&index);
	uint64_t state;

	if (!slot)
		return NULL;
	state = atomic_load(&slot->state);
	slot->object = object;
	atomic_store(&slot->state, state + 1);
	return (void *)(uintptr_t)(GUISE | generation(state) << INDEX_BITS | (index + 1));
}

void *coll_handle_get(const void *handle)
{
	uint32_t index;
	uint64_t expected, state;
	struct slot *slot = slot_find(handle, &expected, &index);

	if (!slot)
		return NULL;
	state = atomic_load(&slot->state);
	do {
		if (generation(state) != expected || !(state & REFERENCES))
			return NULL;
	} while (!atomic_compare_exchange_weak(&slot->state, &state, state + 1));
	return slot->object;
}

static bool slot_drop(struct slot *slot, uint32_t index, uint64_t difference)
{
	const uint64_t state = atomic_fetch_add(&slot->state, difference) + difference;

	if (state & REFERENCES)
		return false;
	slot_push(slot, index);
	return true;
}

bool coll_handle_put(const void *handle)
{
	uint32_t index;
	uint64_t expected;
	struct slot *slot = slot_find(handle, &expected, &index);

	return slot_drop(slot, index, -1ULL);
}

bool coll_handle_retire(const void *handle)
{
	uint32_t index;
	uint64_t expected;
	struct slot *slot = slot_find(handle, &expected, &index);

	return slot_drop(slot, index, (1ULL << INDEX_BITS) - 1);
}
