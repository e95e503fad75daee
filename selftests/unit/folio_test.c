// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shares of large folios (mem/folio.c): of each folio, a user is charged for all its pages, or for
 * those pinned in it if they are more, however buffers come and go.
 */
#include <linux/sched/user.h>

#include "mem/folio.c"
#include "random.h"
#include "tap.h"

#define PROGRAMS	250
#define STEPS		120
#define USERS		2
#define FOLIOS		5
#define PAGES		64U
#define BUFFERS		8
#define LIMIT		150

static const struct folio folios[FOLIOS] = { { 1 }, { 2 }, { 4 }, { 8 }, { 16 } };
static struct page pages[FOLIOS];

static struct user_struct users[USERS];

/**
 * struct buffer - pinned pages
 * @pages: the pages
 * @n: number of them; 0: none
 * @user: the user that is charged
 * @shared: of coll_folios_charge()
 */
static struct buffer {
	struct page *pages[PAGES];
	u32 n;
	u32 user;
	bool shared;
} buffers[BUFFERS];

/* As mem/pin.c does. */
int coll_memlock_more(unsigned long npages, struct user_struct *user)
{
	if (atomic_long_read(&user->locked_vm) + npages > LIMIT)
		return -EDQUOT;
	atomic_long_add(npages, &user->locked_vm);
	return 0;
}

/* The pages of a folio that a buffer has in runs which are not the whole folio, and in those. */
static void buffer_count(const struct buffer *buffer, const struct folio *folio, u32 *parts,
			 u32 *wholes)
{
	u32 i, run;

	for (i = 0; i < buffer->n; i += run) {
		for (run = 1; i + run < buffer->n &&
		     buffer->pages[i + run]->folio == buffer->pages[i]->folio; run++)
			;
		if (buffer->pages[i]->folio != folio)
			continue;
		if (run == folio->pages)
			*wholes += run;
		else
			*parts += run;
	}
}

static u64 known_charge(u32 user)
{
	u32 f, b, parts, wholes;
	u64 sum = 0;

	for (f = 0; f < FOLIOS; f++) {
		parts = 0;
		wholes = 0;
		for (b = 0; b < BUFFERS; b++)
			if (buffers[b].user == user)
				buffer_count(&buffers[b], &folios[f], &parts, &wholes);
		sum += wholes + (parts ? max_t(u64, parts, folios[f].pages) : 0);
	}
	return sum;
}

/* Some runs of folios, whole ones and parts. */
static void some_pages(struct buffer *buffer)
{
	u32 f, run, i, n = 1 + random_below(4);

	buffer->n = 0;
	for (; n; n--) {
		f = random_below(FOLIOS);
		run = random_once(2) ? folios[f].pages : 1 + random_below(folios[f].pages + 3);
		for (i = 0; i < run && buffer->n < PAGES; i++)
			buffer->pages[buffer->n++] = &pages[f];
	}
}

static bool pin(struct buffer *buffer)
{
	struct buffer new = { .user = random_below(USERS) };
	struct user_struct *user = &users[new.user];
	u64 before = known_charge(new.user);
	int err;

	some_pages(&new);
	if (coll_memlock_more(new.n, user))
		return true;
	kernel_fails_after = random_once(3) ? 1 + random_below(4) : 0;
	err = coll_folios_charge(new.pages, new.n, user, &new.shared);
	if (err) {
		atomic_long_sub(new.n, &user->locked_vm);
		err = err == -ENOMEM && !kernel_fails_after;
		kernel_fails_after = 0;
		return HOLDS(!err) && HOLDS(atomic_long_read(&user->locked_vm) == before);
	}
	kernel_fails_after = 0;
	*buffer = new;
	return true;
}

static void unpin(struct buffer *buffer)
{
	struct user_struct *user = &users[buffer->user];
	u64 rest = 0;

	if (buffer->shared)
		rest = coll_folios_uncharge(buffer->pages, buffer->n, user);
	atomic_long_sub(buffer->n + rest, &user->locked_vm);
	buffer->n = 0;
}

static bool check(void)
{
	u32 i;

	for (i = 0; i < USERS; i++)
		if (!HOLDS((u64)atomic_long_read(&users[i].locked_vm) == known_charge(i)))
			return false;
	return true;
}

static bool run_program(void)
{
	bool good = true;
	u32 step, i;

	for (step = 0; good && step < STEPS; step++) {
		struct buffer *buffer = &buffers[random_below(BUFFERS)];

		if (buffer->n)
			unpin(buffer);
		else
			good = pin(buffer);
		good = good && check();
	}
	for (i = 0; i < BUFFERS; i++)
		if (buffers[i].n)
			unpin(&buffers[i]);
	return good && check() && HOLDS(!folio_table.entries);
}

int main(void)
{
	bool good = true;
	u64 seed;
	u32 i;

	tap_plan(1);
	for (i = 0; i < FOLIOS; i++)
		pages[i].folio = &folios[i];
	assert(!coll_folios_setup());
	for (seed = 1; good && seed <= PROGRAMS; seed++) {
		random_begin(seed);
		good = run_program();
	}
	coll_folios_cleanup();
	tap_ok(good, "each folio counts once for a user, from its first pin to its last");
	return tap_exit();
}
