// SPDX-License-Identifier: GPL-2.0-only
/*
 * The board, step by step: every interleaving of two and three ranks with store buffers.
 *
 * The code is that of core/board/board.c.  Each of its accesses to shared memory is a step.  A rank
 * executes a part of an operation anew for each step, with the values that it has loaded before, up
 * to the first access that is new.  So what a rank knows is what it has loaded, and no state is
 * visited twice.  Stores leave a buffer in any order, except of the same variable and as a release
 * demands.
 *
 * No processor of the tests and no sanitizer shows what a missing barrier permits.  Here each rule
 * is broken once, and the model must find the lost wake-up or the wrong byte.
 */
#include <setjmp.h>
#include <stdlib.h>

#include "core/board/board.h"
#include "tap.h"

#define RANKS_MAX	3U
#define SLOTS_MAX	4U
#define STORES_MAX	8U
#define LOADS_MAX	24U
#define VISITED_BITS	23

/* Variables of a rank */
enum {
	DONE,
	SEQ,
	DIGEST = SEQ + SLOTS_MAX,
	DATA = DIGEST + SLOTS_MAX,
	OF_RANK = DATA + SLOTS_MAX
};

#define SLEEPERS	(RANKS_MAX * OF_RANK)
#define IMPATIENT	(SLEEPERS + 1)
#define VARIABLES	(IMPATIENT + 1)

enum breach {
	NONE,
	FINISH_BARRIER,		/* a slot and @done may be seen after the next load */
	SLEEP_BARRIER,		/* so may the bit of a sleeper */
	SEQ_RELEASE,		/* a slot is seen before its payload */
	EARLY,			/* a slot is reused one operation too early */
	EARLY_PAGE,		/* a page is */
	OWN_COUNT,		/* a slot is chosen by how many operations were published */
	AHEAD_BARRIER,		/* the others' slots may be looked at before the own one is seen */
	BREACHES
};

static const char *const breach_names[BREACHES] = {
	[FINISH_BARRIER] = "no barrier after @done is stored",
	[SLEEP_BARRIER] = "no barrier after a sleeper's bit is set",
	[SEQ_RELEASE] = "a slot's number is stored in no order",
	[EARLY] = "a slot is reused one operation too early",
	[EARLY_PAGE] = "a page is reused one operation too early",
	[OWN_COUNT] = "a slot is chosen by the number of operations that were published",
	[AHEAD_BARRIER] = "no barrier after a slot is stored that need not synchronize",
};

enum part {
	RESERVE, PAYLOAD, PUBLISH, TELL, ROUSE, SCAN, TAKE, FINISH, WAKE, SLEEP, LOOK, RISE, ASLEEP,
	END
};

struct store {
	u8 variable, value;
	bool release;
};

/**
 * struct cpu - a rank
 * @part: part of the operation that it executes
 * @after: part to go on with after it has slept
 * @op: number of the operation
 * @published: operations that it has published
 * @least: see struct coll_board
 * @event: true if it is to wake up
 * @differs: operations in which it has found another call, as a set
 * @loads: values that it has loaded in this part
 * @stores: its store buffer
 */
struct cpu {
	u8 part, after, op, published, least;
	bool event;
	u8 differs;
	u8 nloads, nstores;
	u8 loads[LOADS_MAX];
	struct store stores[STORES_MAX];
};

struct state {
	u8 memory[VARIABLES];
	struct cpu cpu[RANKS_MAX];
};

/**
 * struct world - bounds of what is explored
 * @place: where payload is
 * @nosync: rank 0 is the root of broadcasts that need not synchronize
 * @mixed: but on rank 0
 * @others: ranks that call another broadcast, of their own, as a set
 */
struct world {
	u32 ranks, ops, slots;
	bool sleeps, gives_up, nosync, mixed;
	u8 others;
	enum coll_board_place place;
};

/* The access that a rank is about to make. */
enum access { LOAD, STORE, RELEASE, BARRIER, SET, CLEAR };

static const struct world *world;
static enum breach breach;
static u64 *visited;
static u32 states, wrong;

/* What is executed now. */
static struct state *now;
static u32 now_rank, now_access;
static jmp_buf new_access;
static struct {
	enum access kind;
	u8 variable, value;
} next;
static struct coll_board_words words[RANKS_MAX];
static u64 sleepers, impatient;
static u64 data[RANKS_MAX][SLOTS_MAX];

static u8 variable_of(const void *address)
{
	u32 rank, slot;

	for (rank = 0; rank < RANKS_MAX; rank++) {
		if (address == &words[rank].done)
			return rank * OF_RANK + DONE;
		for (slot = 0; slot < SLOTS_MAX; slot++) {
			if (address == &words[rank].slot[slot].seq)
				return rank * OF_RANK + SEQ + slot;
			if (address == &words[rank].slot[slot].digest)
				return rank * OF_RANK + DIGEST + slot;
			if (address == &data[rank][slot])
				return rank * OF_RANK + DATA + slot;
		}
	}
	return address == &impatient ? IMPATIENT : SLEEPERS;
}

/* An access: one that was made before has its value, and the first new one ends the execution. */
static u64 model_access(enum access kind, const void *address, u64 value)
{
	const struct cpu *cpu = &now->cpu[now_rank];

	if (now_access < cpu->nloads)
		return cpu->loads[now_access++];
	next.kind = kind;
	next.variable = address ? variable_of(address) : 0;
	next.value = value;
	longjmp(new_access, 1);
}

static void model_barrier(const char *function)
{
	if ((breach != FINISH_BARRIER || !strstr(function, "finish")) &&
	    (breach != AHEAD_BARRIER || !strstr(function, "publish_call")))
		model_access(BARRIER, NULL, 0);
}

/* Calls that are kept are for messages. */
static bool is_kept_call(const void *address)
{
	u32 rank;

	for (rank = 0; rank < RANKS_MAX; rank++)
		if (address >= (void *)words[rank].ahead && address < (void *)(words + rank + 1))
			return true;
	return false;
}

static void model_store(const void *address, u64 value)
{
	if (!is_kept_call(address))
		model_access(STORE, address, value);
}

static u64 model_done(const char *function, u64 done)
{
	return done + ((breach == EARLY || breach == EARLY_PAGE) && strstr(function, "done_of"));
}

static struct coll_board_part parts[COLL_BOARD_RANKS];

static void model_release(const void *address, u64 value)
{
	u32 rank;

	/* There are no hidden pages here. */
	for (rank = 0; rank < RANKS_MAX; rank++)
		if (address == &parts[rank].hidden_done || is_kept_call(address))
			return;
	model_access(breach == SEQ_RELEASE ? STORE : RELEASE, address, value);
}

#undef READ_ONCE
#undef WRITE_ONCE
#undef smp_mb
#undef smp_load_acquire
#undef smp_store_release
#define READ_ONCE(x)		model_access(LOAD, &(x), 0)
#define WRITE_ONCE(x, v)	model_store(&(x), v)
/* They pair as board.c says. */
#define smp_mb()		model_barrier(__func__)
/* Likewise. */
#define smp_load_acquire(p)	model_done(__func__, model_access(LOAD, p, 0))
/* Likewise. */
#define smp_store_release(p, v)	model_release(p, v)
#define coll_set_bits(word, bits)		model_access(SET, word, bits)
#define coll_clear_bits(word, bits)	model_access(CLEAR, word, bits)

#undef COLL_BOARD_SLOTS
#define COLL_BOARD_SLOTS	world->slots
#include "core/board/board.c"

/* The value of a variable as a rank sees it. */
static u8 value_of(const struct state *s, u32 rank, u8 variable)
{
	const struct cpu *cpu = &s->cpu[rank];
	u8 i, value = s->memory[variable];

	for (i = 0; i < cpu->nstores; i++)
		if (cpu->stores[i].variable == variable)
			value = cpu->stores[i].value;
	return value;
}

/* Index of the payload of an operation. */
static u32 payload_at(u64 number)
{
	return number % (world->place == COLL_BOARD_SLOT ? world->slots : COLL_BOARD_PAGES);
}

/* Number of the operation by which a rank chooses slots. */
static u64 slot_number(const struct cpu *cpu)
{
	return breach == OWN_COUNT ? cpu->published : cpu->op;
}

static void go(struct cpu *cpu, enum part part)
{
	cpu->part = part;
	cpu->nloads = 0;
}

static void go_to_next_op(struct cpu *cpu)
{
	go(cpu, ++cpu->op == world->ops ? END : RESERVE);
}

/* What a rank waits for is not there. */
static void go_to_wait(struct cpu *cpu, enum part after)
{
	cpu->after = after;
	go(cpu, world->sleeps ? SLEEP : after);
}

static void go_after_look(struct cpu *cpu, bool there, enum part on)
{
	if (cpu->part == LOOK)
		go(cpu, there ? RISE : ASLEEP);
	else if (there)
		go(cpu, on);
	else
		go_to_wait(cpu, cpu->part);
}

static void begin_board(struct coll_board *board, u32 rank)
{
	static struct coll_board_part *views[COLL_BOARD_RANKS];
	u32 i;

	memset(board, 0, sizeof(*board));
	board->part = views;
	board->rank = rank;
	board->nranks = world->ranks;
	board->sleepers = &sleepers;
	board->impatient = &impatient;
	board->least[0] = now->cpu[rank].least;
	for (i = 0; i < world->ranks; i++) {
		parts[i].words = &words[i];
		views[i] = &parts[i];
	}
}

/* Each rank publishes payload, also one whose payload no rank needs. */
static struct coll_plan plan_of(u32 rank)
{
	return (struct coll_plan){
		.collective = COLLECTIVE_BROADCAST,
		.nosync = world->nosync && (rank || !world->mixed),
		.nranks = world->ranks,
		.rank = rank,
		.root = world->others >> rank & 1 ? rank : 0,
	};
}

static u64 digest_of(u32 rank)
{
	return 1 + (world->others >> rank & 1);
}

/* The payload of all ranks that are needed must be that of the operation. */
static void take(const struct cpu *cpu, u64 number)
{
	const struct coll_plan plan = plan_of(now_rank);
	u32 rank;

	for (rank = 0; rank < world->ranks; rank++)
		if (coll_board_needs(&plan) >> rank & 1 &&
		    model_access(LOAD, &data[rank][payload_at(number)], 0) != cpu->op + 1U)
			wrong++;
}

static void wake(struct coll_board *board)
{
	const u64 some = coll_board_sleepers(board);
	u32 rank;

	for (rank = 0; rank < world->ranks; rank++)
		if (some >> rank & 1)
			now->cpu[rank].event = true;
}

/* Execute a part up to its end, or up to an access that is new. */
static void execute(struct cpu *cpu)
{
	const struct coll_signature signature = { .collective = COLLECTIVE_BROADCAST };
	const struct coll_plan plan = plan_of(now_rank);
	const u64 number = slot_number(cpu), digest = digest_of(now_rank);
	const enum part part = cpu->part == LOOK ? cpu->after : cpu->part;
	enum coll_board_found found;
	struct coll_board board;
	u32 rank = 0;
	bool there;

	now_access = 0;
	begin_board(&board, now_rank);
	switch (part) {
	case RESERVE:
		there = coll_board_reserve(&board, number, world->place);
		cpu->least = board.least[0];
		go_after_look(cpu, there, PAYLOAD);
		break;
	case PAYLOAD:
		model_access(STORE, &data[now_rank][payload_at(number)], cpu->op + 1);
		go(cpu, PUBLISH);
		break;
	case PUBLISH:
		if (world->nosync)
			coll_board_publish_call(&board, &plan, number, &signature, digest);
		else
			coll_board_publish(&board, number, digest, world->place);
		go(cpu, world->nosync && world->sleeps ? TELL : SCAN);
		break;
	case TELL:
		go(cpu, coll_board_wakes(&board) ? ROUSE : SCAN);
		break;
	case ROUSE:
		wake(&board);
		go(cpu, SCAN);
		break;
	case SCAN:
		found = coll_board_scan(&board, number, digest, coll_board_needs(&plan), &rank);
		wrong += found > COLL_BOARD_MISSING && !world->gives_up && !world->others;
		cpu->differs |= (found == COLL_BOARD_DIFFERS) << cpu->op;
		/* It is given up. */
		if (found > COLL_BOARD_MISSING && cpu->part != LOOK)
			go(cpu, FINISH);
		else
			go_after_look(cpu, found != COLL_BOARD_MISSING, TAKE);
		break;
	case TAKE:
		take(cpu, number);
		go(cpu, FINISH);
		break;
	case FINISH:
		there = coll_board_finish(&board, number);
		cpu->published++;
		go(cpu, WAKE);
		if (!there)
			go_to_next_op(cpu);
		break;
	case WAKE:
		wake(&board);
		go_to_next_op(cpu);
		break;
	case SLEEP:
		coll_board_sleep(&board, coll_board_needs(&plan));
		go(cpu, LOOK);
		break;
	case RISE:
		coll_board_wake_up(&board);
		cpu->event = false;
		go(cpu, cpu->after);
		break;
	default:
		break;
	}
}

/* Execute up to the next access.  Return: true if there is one, in @next. */
static bool find_access(struct state *s, u32 rank)
{
	now = s;
	now_rank = rank;
	if (setjmp(new_access))
		return true;
	execute(&s->cpu[rank]);
	return false;
}

/* Make the access.  Return: false if it waits for stores. */
static bool make_access(struct state *s, u32 rank)
{
	struct cpu *cpu = &s->cpu[rank];
	u8 value = 0;

	switch (next.kind) {
	case LOAD:
		value = value_of(s, rank, next.variable);
		break;
	case STORE:
	case RELEASE:
		if (cpu->nstores == STORES_MAX)
			return false;
		cpu->stores[cpu->nstores++] = (struct store){
			next.variable, next.value, next.kind == RELEASE,
		};
		break;
	case BARRIER:
		if (cpu->nstores)
			return false;
		break;
	case SET:
	case CLEAR:
		if (cpu->nstores && breach != SLEEP_BARRIER)
			return false;
		value = s->memory[next.variable];
		if (next.kind == CLEAR)
			s->memory[next.variable] &= ~next.value;
		else if (breach == SLEEP_BARRIER)
			cpu->stores[cpu->nstores++] = (struct store){
				next.variable, value | next.value, false,
			};
		else
			s->memory[next.variable] |= next.value;
		break;
	}
	coll_assert(cpu->nloads < LOADS_MAX);
	cpu->loads[cpu->nloads++] = value;
	return true;
}

static bool may_leave(const struct cpu *cpu, u32 i)
{
	u32 j;

	for (j = 0; j < i; j++)
		if (cpu->stores[j].variable == cpu->stores[i].variable || cpu->stores[i].release)
			return false;
	return true;
}

static void search(const struct state *s);

static void drain(const struct state *s, u32 rank)
{
	u32 i, j;

	for (i = 0; i < s->cpu[rank].nstores; i++) {
		struct state then = *s;
		struct cpu *cpu = &then.cpu[rank];

		if (!may_leave(cpu, i))
			continue;
		then.memory[cpu->stores[i].variable] = cpu->stores[i].value;
		for (j = i; j + 1U < cpu->nstores; j++)
			cpu->stores[j] = cpu->stores[j + 1];
		memset(&cpu->stores[--cpu->nstores], 0, sizeof(cpu->stores[0]));
		search(&then);
	}
}

static void step(const struct state *s, u32 rank)
{
	struct state then = *s;
	struct cpu *cpu = &then.cpu[rank];

	if (cpu->part == END || (cpu->part == ASLEEP && !cpu->event))
		return;
	if (cpu->part == ASLEEP) {
		cpu->event = false;
		go(cpu, cpu->after);
	} else if (find_access(&then, rank) && !make_access(&then, rank)) {
		return;
	}
	memset(&cpu->loads[cpu->nloads], 0, LOADS_MAX - cpu->nloads);
	search(&then);
}

/* A rank gives up what it waits for, or an operation before it has published anything. */
static void give_up(const struct state *s, u32 rank)
{
	struct state then = *s;
	struct cpu *cpu = &then.cpu[rank];

	if (!world->gives_up || cpu->nloads)
		return;
	if (cpu->part == SCAN)
		go(cpu, FINISH);
	else if (cpu->part == RESERVE)
		go_to_next_op(cpu);
	else
		return;
	memset(cpu->loads, 0, sizeof(cpu->loads));
	search(&then);
}

static u64 hash_of(const struct state *s)
{
	const u8 *byte = (const u8 *)s;
	u64 hash = 0xcbf29ce484222325ULL;
	size_t i;

	for (i = 0; i < sizeof(*s); i++)
		hash = (hash ^ byte[i]) * 0x100000001b3ULL;
	return hash ^ hash >> 29 ?: 1;
}

static bool visit(const struct state *s)
{
	const u64 mask = (1ULL << VISITED_BITS) - 1, hash = hash_of(s);
	u64 at = hash & mask;

	for (; visited[at]; at = (at + 1) & mask)
		if (visited[at] == hash)
			return false;
	visited[at] = hash;
	coll_assert(++states < mask);
	return true;
}

/* Does nothing happen any more, although a rank sleeps? */
static bool is_stuck(const struct state *s)
{
	u32 rank, asleep = 0;

	for (rank = 0; rank < world->ranks; rank++) {
		const struct cpu *cpu = &s->cpu[rank];

		if (cpu->nstores || (cpu->part != END && (cpu->part != ASLEEP || cpu->event)))
			return false;
		asleep += cpu->part == ASLEEP;
	}
	return asleep;
}

/* Have all ranks ended, and did of two with different calls neither find the other's? */
static bool is_unseen(const struct state *s)
{
	u8 seen = (1U << world->ops) - 1;
	u32 rank, other;

	for (rank = 0; rank < world->ranks; rank++)
		if (s->cpu[rank].part != END || s->cpu[rank].nstores)
			return false;
	for (rank = 0; rank < world->ranks; rank++)
		for (other = 0; other < rank; other++)
			if (digest_of(rank) != digest_of(other))
				seen &= s->cpu[rank].differs | s->cpu[other].differs;
	return seen != (1U << world->ops) - 1;
}

static void search(const struct state *s)
{
	u32 rank;

	if (wrong || !visit(s))
		return;
	if ((is_stuck(s) && !world->gives_up) || is_unseen(s)) {
		wrong++;
		return;
	}
	for (rank = 0; rank < world->ranks; rank++) {
		drain(s, rank);
		step(s, rank);
		give_up(s, rank);
	}
}

static void explore(const struct world *bounds, enum breach rule)
{
	struct state s = { 0 };

	world = bounds;
	breach = rule;
	states = 0;
	wrong = 0;
	memset(visited, 0, sizeof(*visited) << VISITED_BITS);
	search(&s);
}

static const struct world worlds[] = {
	{ .ranks = 2, .ops = 4, .slots = 2, .sleeps = true },
	{ .ranks = 2, .ops = 4, .slots = 3, .sleeps = true },
	{ .ranks = 2, .ops = 3, .slots = 2, .gives_up = true },
	{ .ranks = 2, .ops = 4, .slots = 3, .gives_up = true },
	{ .ranks = 2, .ops = 4, .slots = 4, .sleeps = true, .place = COLL_BOARD_SHOWN },
	{ .ranks = 2, .ops = 4, .slots = 4, .gives_up = true, .place = COLL_BOARD_SHOWN },
	{ .ranks = 3, .ops = 1, .slots = 2, .sleeps = true },
	{ .ranks = 3, .ops = 2, .slots = 2 },
	{ .ranks = 2, .ops = 4, .slots = 2, .sleeps = true, .nosync = true },
	{ .ranks = 3, .ops = 2, .slots = 2, .nosync = true },
	{ .ranks = 3, .ops = 1, .slots = 2, .sleeps = true, .nosync = true },
	{ .ranks = 2, .ops = 3, .slots = 2, .sleeps = true, .nosync = true, .mixed = true },
	{ .ranks = 3, .ops = 1, .slots = 2, .sleeps = true, .nosync = true, .mixed = true },
	{ .ranks = 2, .ops = 3, .slots = 2, .nosync = true, .others = 2 },
	{ .ranks = 3, .ops = 1, .slots = 2, .nosync = true, .others = 4 },
	{ .ranks = 3, .ops = 1, .slots = 2, .nosync = true, .others = 1 },
};

static const struct world found_in[BREACHES] = {
	[FINISH_BARRIER] = { .ranks = 2, .ops = 1, .slots = 2, .sleeps = true },
	[SLEEP_BARRIER] = { .ranks = 2, .ops = 1, .slots = 2, .sleeps = true },
	[SEQ_RELEASE] = { .ranks = 2, .ops = 1, .slots = 2 },
	[EARLY] = { .ranks = 2, .ops = 4, .slots = 2, .gives_up = true },
	[EARLY_PAGE] = {
		.ranks = 2, .ops = 4, .slots = 4, .gives_up = true, .place = COLL_BOARD_SHOWN,
	},
	[OWN_COUNT] = { .ranks = 2, .ops = 3, .slots = 2, .gives_up = true },
	[AHEAD_BARRIER] = { .ranks = 2, .ops = 1, .slots = 2, .nosync = true, .others = 2 },
};

int main(void)
{
	enum breach rule;
	u32 i;

	visited = calloc(1ULL << VISITED_BITS, sizeof(*visited));
	if (!visited)
		return 1;
	tap_plan(0);
	for (i = 0; i < ARRAY_SIZE(worlds); i++) {
		explore(&worlds[i], NONE);
		tap_ok(!wrong, "%u ranks, %u operations, %u slots%s%s%s%s%s%s (%u states)",
		       worlds[i].ranks, worlds[i].ops, worlds[i].slots,
		       worlds[i].place == COLL_BOARD_SLOT ? "" : ", payload in pages",
		       worlds[i].sleeps ? ", ranks sleep" : "",
		       worlds[i].gives_up ? ", ranks give up" : "",
		       worlds[i].nosync ? ", no synchronization" : "",
		       worlds[i].mixed ? " but of rank 0" : "",
		       worlds[i].others ? ", calls differ" : "", states);
	}
	for (rule = NONE + 1; rule < BREACHES; rule++) {
		explore(&found_in[rule], rule);
		tap_ok(wrong, "found: %s (%u states)", breach_names[rule], states);
	}
	free(visited);
	return tap_exit();
}
