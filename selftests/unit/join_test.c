// SPDX-License-Identifier: GPL-2.0-only
/*
 * What JOIN accepts (member/join.c), and what can be changed of members later (member/defaults.c):
 * each field at its limits and beyond.
 */
#include <linux/ctype.h>
#include <linux/cpumask.h>

#include "member/join.c"
#include "member/defaults.c"
#include "random.h"
#include "tap.h"

static struct collective_join right(void)
{
	return (struct collective_join){
		.size = sizeof(struct collective_join),
		.name = "a.B_c-9",
		.nranks = 4,
		.rank = 3,
	};
}

/* Does JOIN take a name of @len bytes, of which the last one is @last? */
static bool takes_name(u32 len, u8 last)
{
	struct collective_join join = right();

	memset(join.name, 0, sizeof(join.name));
	memset(join.name, 'x', len);
	if (len)
		join.name[len - 1] = last;
	return !join_check(&join);
}

static void test_names(void)
{
	struct collective_join join;
	bool good = true;
	u32 c, len;

	for (c = 1; c < 256; c++) {
		bool allowed = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			       (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';

		for (len = 2; len <= COLLECTIVE_NAME_MAX; len += 10)
			good &= takes_name(len, c) == allowed;
		good &= takes_name(1, c) == (allowed && c != '.');
	}
	for (len = 0; len <= sizeof(join.name); len++)
		good &= takes_name(len, 'y') == (len && len <= COLLECTIVE_NAME_MAX);
	join = right();
	memset(join.name, 0, sizeof(join.name));
	join.name[0] = '.';
	good &= join_check(&join) == -EINVAL;
	join.name[1] = '.';
	good &= join_check(&join) == -EINVAL;
	join.name[2] = '.';
	good &= !join_check(&join);
	/* Padding is zero: each byte behind the end. */
	for (len = 1; len < sizeof(join.name); len++) {
		join = right();
		memset(join.name, 0, sizeof(join.name));
		join.name[0] = 'x';
		join.name[len] = 'y';
		good &= !join_check(&join) == (len == 1);
	}
	tap_ok(good, "a name has 1 to 32 of the documented characters, and is padded");
}

/* The values of a 32-bit field that JOIN takes are those from @from to @to, and 0 if @zero. */
static bool takes(size_t off, u32 from, u32 to, bool zero)
{
	const u32 values[] = {
		0, 1, from - 1, from, from + 1, to - 1, to, to + 1, to + 2, S32_MAX, 1U << 31,
		U32_MAX - 1, U32_MAX,
	};
	struct collective_join join;
	bool good = true;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(values); i++) {
		bool taken = (values[i] >= from && values[i] <= to) || (!values[i] && zero);

		join = right();
		memcpy((u8 *)&join + off, &values[i], sizeof(u32));
		good &= HOLDS(join_check(&join) == (taken ? 0 : -EINVAL));
	}
	return good;
}

#define TAKES(field, from, to, zero)					\
	takes(offsetof(struct collective_join, field), from, to, zero)

static void test_fields(void)
{
	struct collective_join join;
	bool good = true;
	u32 i, value;

	good &= TAKES(flags, 0, COLLECTIVE_JOIN_PRIVATE, true);
	good &= TAKES(nranks, 4, COLLECTIVE_RANKS_MAX, false);
	good &= TAKES(rank, 0, 3, true);
	good &= TAKES(lanes, 0, COLLECTIVE_LANES_MAX, true);
	good &= TAKES(transport, 0, COLLECTIVE_TRANSPORT_COUNT - 1, true);
	good &= TAKES(heartbeat_ms, COLLECTIVE_HEARTBEAT_MIN_MS, COLLECTIVE_HEARTBEAT_MAX_MS, true);
	good &= TAKES(timeout_ms, 0, U32_MAX, true);
	good &= TAKES(reserved, 0, 0, true);
	tap_ok(good, "each number is taken within its limits, and not beyond");
	good = true;
	for (i = 0; i < COLLECTIVE_OPCODES_MAX; i++)
		for (value = 0; value < 256; value++) {
			join = right();
			join.algorithm[i] = value;
			good &= !join_check(&join) ==
				(value < (i < COLLECTIVE_OPCODE_COUNT ?
					  (u32)COLLECTIVE_ALGORITHM_COUNT : 1U));
		}
	tap_ok(good, "so is each algorithm, and none of a collective that there is not");
}

static void test_identity(void)
{
	struct collective_join join = right();
	struct coll_ident id = { 0 };
	bool good;

	join_identity(&id, &join);
	good = id.rank == 3 && id.nranks == 4 && id.nlanes == COLL_DEFAULT_LANES &&
	       id.timeout == msecs_to_jiffies(COLL_DEFAULT_TIMEOUT_MS) &&
	       id.heartbeat_ms == COLL_DEFAULT_HEARTBEAT_MS &&
	       id.slow_percent == COLL_DEFAULT_SLOW_PERCENT && !strcmp(id.group_name, "a.B_c-9");
	join.lanes = COLLECTIVE_LANES_MAX;
	join.timeout_ms = ~0U;
	join.heartbeat_ms = 100;
	memset(join.name, 'n', COLLECTIVE_NAME_MAX);
	join_identity(&id, &join);
	good &= id.nlanes == COLLECTIVE_LANES_MAX && id.timeout == MAX_JIFFY_OFFSET &&
		id.heartbeat_ms == 100 && strlen(id.group_name) == COLLECTIVE_NAME_MAX;
	tap_ok(good, "what a rank leaves out has its default");
}

static void test_defaults(void)
{
	const struct coll_defaults timeout = {
		.has_timeout = true, .timeout_ms = 70, .slow_percent = COLL_DEFAULT_UNSET,
	};
	const struct coll_defaults never = { .timeout_ms = 5, .slow_percent = 0 };
	static struct coll_member members[2];
	static struct coll_group group;
	bool good = true;
	u32 i;

	INIT_LIST_HEAD(&group.members);
	group.defaults.slow_percent = COLL_DEFAULT_UNSET;
	for (i = 0; i < 2; i++) {
		list_add_tail(&members[i].group_node, &group.members);
		members[i].id.slow_percent = 50;
		members[i].id.timeout = 9;
	}
	coll_group_set_defaults(&group, &timeout);
	for (i = 0; i < 2; i++)
		good &= members[i].id.timeout == 70 && members[i].id.slow_percent == 50;
	good &= group.defaults.has_timeout && group.defaults.timeout_ms == 70 &&
		group.defaults.slow_percent == COLL_DEFAULT_UNSET;
	coll_group_set_defaults(&group, &never);
	for (i = 0; i < 2; i++)
		good &= members[i].id.timeout == 70 && !members[i].id.slow_percent;
	good &= group.defaults.has_timeout && group.defaults.timeout_ms == 70 &&
		!group.defaults.slow_percent;
	tap_ok(good, "a default that is set holds for all members, and leaves others as they are");
}

/* What the room below does with a CPU that is chosen. */

void coll_cpu_home_set(struct coll_cpu_home *home, int cpu, bool any)
{
	*(any ? &home->beyond : &home->wish) = cpu;
}

int coll_cpu_pick(const struct coll_runner *runner)
{
	return runner->home->wish;
}

void coll_cpu_move(struct coll_cpu_user *user, int cpu)
{
	assert(user->runner->home->wish == cpu);
	user->runner->cpu = cpu;
}

bool coll_cpu_owner_may_use(const struct coll_cpu_owner *owner, const struct cpumask *cpus)
{
	return !(cpus->bits & 2);
}

/* Lanes are dealt out over the CPUs in turn, and the control runner goes with the first one. */
static void test_cpus(void)
{
	static const u64 sets[] = { 1, 6, 1ULL << 63, 0x8000000000000005ULL, ~0ULL };
	struct coll_lane *lanes = calloc(COLLECTIVE_LANES_MAX, sizeof(*lanes));
	static struct coll_member member;
	bool good = true;
	u32 i, n;

	member.lanes = lanes;
	for (i = 0; i < COLLECTIVE_LANES_MAX; i++) {
		lanes[i].runner.home = &lanes[i].home;
		lanes[i].cpu_user.runner = &lanes[i].runner;
	}
	for (n = 0; n < ARRAY_SIZE(sets); n++) {
		struct cpumask cpus = { sets[n] };
		u64 left = 0;

		for (member.id.nlanes = 1; member.id.nlanes <= COLLECTIVE_LANES_MAX;
		     member.id.nlanes++) {
			coll_member_set_cpus(&member, &cpus, false);
			left = 0;
			for (i = 0; i < member.id.nlanes; i++) {
				left = left ? left : sets[n];
				good &= lanes[i].runner.cpu == __builtin_ctzll(left);
				left &= left - 1;
			}
			good &= member.control.home.wish == __builtin_ctzll(sets[n]);
		}
		/* The caller's, and the member's. */
		kernel_task.cpus_mask.bits = sets[n];
		good &= coll_member_may_use_cpus(&member, &cpus) == !(sets[n] & 2);
		kernel_task.cpus_mask.bits &= sets[n] - 1;
		good &= !coll_member_may_use_cpus(&member, &cpus);
	}
	free(lanes);
	tap_ok(good, "lanes are dealt out over the CPUs that the caller may choose");
}

int main(void)
{
	tap_plan(0);
	test_names();
	test_fields();
	test_identity();
	test_defaults();
	test_cpus();
	return tap_exit();
}
