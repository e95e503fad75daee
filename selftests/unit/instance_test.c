// SPDX-License-Identifier: GPL-2.0-only
/* The hash of instances: how it spreads them over tables. */
#include "tap.h"

#include "core/engine/instance.h"

#define SIZE	512

/* Return: the most of @instances, @apart from one to the next, that have the same hash. */
static unsigned int fullest(u64 from, u64 apart, unsigned int instances)
{
	unsigned int at[SIZE] = { 0 }, most = 0, i;

	for (i = 0; i < instances; i++) {
		u32 hash = coll_instance_hash(from + i * apart, SIZE);

		if (hash >= SIZE)
			return ~0U;
		if (++at[hash] > most)
			most = at[hash];
	}
	return most;
}

/* With random hashes the fullest of SIZE entries would have five or six of SIZE instances. */
static void test_spread(void)
{
	static const u64 apart[] = { 1, 2, 3, 7, 8, 9, 64, 100, 512, 1000, 4096, 1 << 20,
				     1ULL << 32, 1ULL << 40 };
	unsigned int i;

	for (i = 0; i < sizeof(apart) / sizeof(*apart); i++) {
		u64 from = coll_instance_keyed(0);
		unsigned int most = fullest(from, apart[i], SIZE);

		tap_ok(most <= 6, "instances %llu apart: at most %u have the same hash",
		       (unsigned long long)apart[i], most);
	}
}

int main(void)
{
	tap_plan(0);
	test_spread();
	return tap_exit();
}
