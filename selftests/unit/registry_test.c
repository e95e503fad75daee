// SPDX-License-Identifier: GPL-2.0-only
/*
 * Registered buffers (mem/registry.c): their numbers, their references, and how many there may be.
 */
#include <linux/mm.h>
#include <linux/refcount.h>

#include "mem/pin.h"
#include "mem/registry.h"

static struct coll_registry registry;

/* What is found is taken under the lock: another thread may remove it right after. */
static void take_locked(refcount_t *refs)
{
	assert(registry.buffers.locked);
	refcount_inc(refs);
}

#define refcount_inc	take_locked
#include "mem/registry.c"
#undef refcount_inc

#include "random.h"
#include "tap.h"

#define PROGRAMS	300
#define STEPS		400

static u32 nbuffers, nfreed;

void coll_buffer_put(struct coll_buffer *buffer)
{
	assert(!registry.buffers.locked);
	if (!refcount_dec_and_test(&buffer->refs))
		return;
	nfreed++;
	free(buffer);
}

static struct coll_buffer *buffer_new(void)
{
	struct coll_buffer *buffer = calloc(1, sizeof(*buffer));

	refcount_set(&buffer->refs, 1);
	nbuffers++;
	return buffer;
}

static void registry_new(void)
{
	memset(&registry, 0, sizeof(registry));
	coll_registry_init(&registry);
	nbuffers = 0;
	nfreed = 0;
}

/* Return: the number of the new buffer, or a negative errno. */
static int add(void)
{
	struct coll_buffer *buffer = buffer_new();
	u32 id = 0;
	int err = coll_registry_add(&registry, buffer, &id);

	/* The caller has kept its reference. */
	if (err)
		coll_buffer_put(buffer);
	return err ? err : (int)id;
}

static void test_numbers(void)
{
	struct coll_buffer *buffer, *found;
	bool good = true;
	u32 i;

	registry_new();
	for (i = 1; i <= COLL_BUFFERS_MAX; i++)
		good &= HOLDS(add() == (int)i);
	good &= HOLDS(add() == -EMFILE) && HOLDS(nfreed == 1);
	/* A place that is free again is used again. */
	buffer = coll_registry_remove(&registry, 7);
	good &= HOLDS(buffer && !coll_registry_get(&registry, 7)) &&
		HOLDS(!coll_registry_remove(&registry, 7));
	coll_buffer_put(buffer);
	good &= HOLDS(add() == 7) && HOLDS(add() == -EMFILE);
	/* Numbers of no buffer, and those of the bounds. */
	good &= HOLDS(!coll_registry_get(&registry, 0)) &&
		HOLDS(!coll_registry_get(&registry, COLL_BUFFERS_MAX + 1)) &&
		HOLDS(!coll_registry_get(&registry, U32_MAX)) &&
		HOLDS(!coll_registry_remove(&registry, 0)) &&
		HOLDS(!coll_registry_remove(&registry, U32_MAX));
	found = coll_registry_get(&registry, COLL_BUFFERS_MAX);
	good &= HOLDS(found && found->refs.refs == 2);
	coll_registry_clear(&registry);
	/* The operation still has its memory. */
	good &= HOLDS(nfreed == nbuffers - 1) && HOLDS(found->refs.refs == 1);
	coll_buffer_put(found);
	tap_ok(good && HOLDS(nfreed == nbuffers) && HOLDS(!registry.buffers.entries),
	       "numbers count from 1 to the most, and are used again");
}

static void test_memory(void)
{
	bool good;

	registry_new();
	kernel_fails_after = 1;
	good = HOLDS(add() == -ENOMEM) && HOLDS(nfreed == 1);
	kernel_fails_after = 0;
	good = good && HOLDS(add() == 1);
	coll_registry_clear(&registry);
	/* A member that ends may clear it twice. */
	coll_registry_clear(&registry);
	tap_ok(good && HOLDS(nfreed == 2), "without memory the caller keeps its buffer");
}

/**
 * struct model - what the registry should have
 * @buffer: by number; NULL: none
 * @held: references that operations have to some buffers
 */
static struct {
	struct coll_buffer *buffer[32];
	struct coll_buffer *held[16];
	u32 nheld;
} model;

static bool step(void)
{
	u32 id = random_below(ARRAY_SIZE(model.buffer)), least = 1;
	struct coll_buffer *buffer;

	switch (random_below(4)) {
	case 0:
		while (least < ARRAY_SIZE(model.buffer) && model.buffer[least])
			least++;
		if (least == ARRAY_SIZE(model.buffer))
			return true;
		if (!HOLDS(add() == (int)least))
			return false;
		model.buffer[least] = xa_load(&registry.buffers, least);
		return true;
	case 1:
		buffer = coll_registry_remove(&registry, id);
		if (!HOLDS(buffer == model.buffer[id]))
			return false;
		model.buffer[id] = NULL;
		if (buffer)
			coll_buffer_put(buffer);
		return true;
	case 2:
		if (model.nheld == ARRAY_SIZE(model.held))
			return true;
		buffer = coll_registry_get(&registry, id);
		if (buffer)
			model.held[model.nheld++] = buffer;
		return HOLDS(buffer == model.buffer[id]);
	default:
		if (model.nheld)
			coll_buffer_put(model.held[--model.nheld]);
		return true;
	}
}

static bool run_program(void)
{
	bool good = true;
	u32 i, n = random_below(STEPS);

	registry_new();
	memset(&model, 0, sizeof(model));
	for (i = 0; good && i < n; i++)
		good = step();
	coll_registry_clear(&registry);
	while (model.nheld)
		coll_buffer_put(model.held[--model.nheld]);
	return good && HOLDS(nfreed == nbuffers) && HOLDS(!registry.buffers.locked);
}

static void test_programs(void)
{
	tap_ok(random_programs(PROGRAMS, run_program),
	       "each buffer is freed with its last reference, wherever that is");
}

int main(void)
{
	tap_plan(0);
	test_numbers();
	test_memory();
	test_programs();
	return tap_exit();
}
