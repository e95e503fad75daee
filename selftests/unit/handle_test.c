// SPDX-License-Identifier: GPL-2.0-only
/* Handles of the library's requests: generations that come to their end. */
#include "tap.h"

#include "../../libcollective/comm/handle.c"

static int first, second;

/* Use the slot of @index, whose last generation was @last, for two objects. */
static void test_generation(u32 index, u64 last, const char *what)
{
	void *old, *new;
	u32 at;

	slot_push(slot_at(index), index);
	atomic_store(&slot_at(index)->state, last << INDEX_BITS);
	old = coll_handle_new(&first);
	tap_ok(coll_handle_get(old) == &first && !coll_handle_put(old), "%s: found", what);
	tap_ok((uintptr_t)old & GUISE, "%s: no address", what);
	tap_ok(coll_handle_retire(old) && !coll_handle_get(old), "%s: ended", what);
	new = coll_handle_new(&second);
	tap_ok(new != old && coll_handle_get(new) == &second && !coll_handle_get(old),
	       "%s: the next one", what);
	coll_handle_put(new);
	tap_ok(coll_handle_retire(new) && !coll_handle_get(new), "%s: ended, too", what);
	slot_pop(&at);
}

int main(void)
{
	u32 index;

	tap_plan(0);
	if (!slot_take(&index))
		return 1;
	test_generation(index, 0, "the first generation");
	test_generation(index, 1ULL << 30, "some generation");
	test_generation(index, (1ULL << 39) - 2, "the last two generations of a handle");
	test_generation(index, (1ULL << 39) - 1, "the last generation of a handle, and the first");
	test_generation(index, 1ULL << 39, "a generation beyond those of a handle");
	test_generation(index, (1ULL << 40) - 1, "the last generation of a slot");
	return tap_exit();
}
