// SPDX-License-Identifier: GPL-2.0-only
/* Accounts of users (mem/account.c): random charges, compared with sums. */
#include "mem/account.c"
#include "random.h"
#include "tap.h"

#define PROGRAMS	60
#define STEPS		1500
#define USERS		3
#define MEMBERS		6
#define DETACHED	20
#define LIMIT_MIB	3

/* What is known: members, and charges that have outlived theirs. */
static struct coll_charges members[MEMBERS];
static u64 charged[MEMBERS];
static u32 user_of[MEMBERS];
static bool exempt[MEMBERS];
static struct {
	struct coll_account *account;
	u64 bytes;
	u32 user;
} detached[DETACHED];

static u64 known_bytes(u32 user)
{
	u64 bytes = 0;
	u32 i;

	for (i = 0; i < MEMBERS; i++)
		bytes += members[i].account && user_of[i] == user ? charged[i] : 0;
	for (i = 0; i < DETACHED; i++)
		bytes += detached[i].account && detached[i].user == user ? detached[i].bytes : 0;
	return bytes;
}

static bool begin_member(u32 i)
{
	kernel_uid.val = random_below(USERS);
	kernel_capable = random_once(4);
	kernel_fails_after = random_once(5);
	if (coll_charges_begin(&members[i])) {
		kernel_fails_after = 0;
		return HOLDS(!members[i].account);
	}
	kernel_fails_after = 0;
	user_of[i] = kernel_uid.val;
	exempt[i] = kernel_capable;
	charged[i] = 0;
	return HOLDS(coll_account_user(members[i].account) == user_of[i]);
}

static u64 some_bytes(void)
{
	static const u64 large[] = {
		LIMIT_MIB << 20, (LIMIT_MIB << 20) + 1, S64_MAX, 1ULL << 63, ~0ULL,
	};

	return random_once(8) ? large[random_below(ARRAY_SIZE(large))] : random_below(1 << 18);
}

/* A charge that fits below the limit is taken, and no other one. */
static bool charge(u32 i)
{
	u64 bytes = some_bytes(), bound = exempt[i] ? S64_MAX : LIMIT_MIB << 20;
	bool exceeds;
	u64 sum;
	int err;

	if (random_once(6))
		bytes = bound - min(bound, known_bytes(user_of[i])) + random_below(2);
	/* Exempt members would use up all numbers. */
	if (exempt[i] && bytes > 1 << 20 && bytes <= S64_MAX)
		bytes = 1;
	exceeds = check_add_overflow(known_bytes(user_of[i]), bytes, &sum) || sum > bound;
	err = coll_charge(&members[i], bytes);
	charged[i] += err ? 0 : bytes;
	return HOLDS(err == (exceeds ? -EDQUOT : 0));
}

static bool detach(u32 i)
{
	u32 d = random_below(DETACHED);

	if (detached[d].account) {
		coll_account_return(detached[d].account, detached[d].bytes);
		detached[d].account = NULL;
		return true;
	}
	if (!members[i].account || !charged[i])
		return true;
	detached[d].bytes = 1 + random_u64() % charged[i];
	detached[d].user = user_of[i];
	detached[d].account = coll_charge_detach(&members[i], detached[d].bytes);
	charged[i] -= detached[d].bytes;
	return HOLDS(detached[d].account == members[i].account);
}

static bool step(void)
{
	u32 i = random_below(MEMBERS);
	u64 bytes;

	if (random_once(5))
		return detach(i);
	if (!members[i].account)
		return begin_member(i);
	if (random_once(10)) {
		coll_uncharge(&members[i], charged[i]);
		coll_charges_end(&members[i]);
		members[i] = (struct coll_charges){ 0 };
		coll_charges_end(&members[i]);
		return true;
	}
	if (random_once(2))
		return charge(i);
	bytes = charged[i] ? random_u64() % charged[i] : 0;
	coll_uncharge(&members[i], bytes);
	charged[i] -= bytes;
	return true;
}

static bool check(void)
{
	u32 i, users = 0;
	struct coll_account *account;
	bool good = true;

	for (i = 0; i < USERS; i++) {
		account = xa_load(&accounts, i);
		users += !!account;
		good &= HOLDS(known_bytes(i) ==
			      (account ? (u64)atomic64_read(&account->bytes) : 0));
	}
	for (i = 0; i < MEMBERS; i++)
		good &= !members[i].account ||
			HOLDS((u64)atomic64_read(&members[i].bytes) == charged[i]);
	return good && HOLDS(accounts.entries == users);
}

static bool end_all(void)
{
	u32 i;

	for (i = 0; i < MEMBERS; i++) {
		if (!members[i].account)
			continue;
		coll_uncharge(&members[i], charged[i]);
		coll_charges_end(&members[i]);
		members[i] = (struct coll_charges){ 0 };
	}
	for (i = 0; i < DETACHED; i++) {
		if (detached[i].account)
			coll_account_return(detached[i].account, detached[i].bytes);
		detached[i].account = NULL;
	}
	/* The last reference has freed each account. */
	return HOLDS(!accounts.entries);
}

static void test_programs(void)
{
	bool good = true;
	u64 seed;
	u32 n;

	user_memory_mib = LIMIT_MIB;
	for (seed = 1; good && seed <= PROGRAMS; seed++) {
		random_begin(seed);
		for (n = 0; good && n < STEPS; n++)
			good = step() && check();
		good = end_all() && good;
	}
	tap_ok(good, "each user is charged what the user's members are, up to the limit");
}

static void test_limit(void)
{
	static const struct {
		ulong mib;
		u64 bytes;
	} limits[] = {
		{ 0, 1ULL << 29 }, { 1, 1 << 20 }, { S64_MAX >> 20, (S64_MAX >> 20) << 20 },
		{ (S64_MAX >> 20) + 1, S64_MAX }, { ~0UL, S64_MAX },
	};
	struct coll_charges charges = { 0 };
	bool good = true;
	u32 i;

	kernel_capable = false;
	assert(!coll_charges_begin(&charges));
	for (i = 0; i < ARRAY_SIZE(limits); i++) {
		user_memory_mib = limits[i].mib;
		good &= coll_charge(&charges, limits[i].bytes + 1) == -EDQUOT;
		good &= !coll_charge(&charges, limits[i].bytes);
		good &= coll_charge(&charges, 1) == -EDQUOT;
		/* It may be lowered below what is charged. */
		user_memory_mib = 1;
		good &= coll_charge(&charges, 1) == -EDQUOT;
		good &= !coll_charge(&charges, 0) == (limits[i].bytes <= 1 << 20);
		coll_uncharge(&charges, limits[i].bytes);
	}
	coll_charges_end(&charges);
	tap_ok(good, "the limit is exact for each value of the parameter");
}

int main(void)
{
	tap_plan(0);
	test_programs();
	test_limit();
	return tap_exit();
}
