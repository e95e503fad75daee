// SPDX-License-Identifier: GPL-2.0-only
/*
 * What pins keep beside the pages that they pin: the rest of large folios.
 *
 * A pin of one page keeps the whole folio, also when the process unmaps the rest.  So each large
 * folio counts whole against RLIMIT_MEMLOCK of a user from its first pin for that user to its last.
 * Pinned pages count at each pin (mem/pin.c).  The share here is the part of the folio above them,
 * once for all buffers of the user: max(pages of the folio, pages pinned in it) in all.
 *
 * A run of pages that is a whole folio has no share, and no entry in the table.
 */
#include <linux/atomic.h>
#include <linux/hash.h>
#include <linux/mm.h>
#include <linux/rhashtable.h>
#include <linux/sched.h>
#include <linux/sched/user.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "mem/folio.h"
#include "mem/pin.h"

/* A folio that is pinned in part, for one user. */
struct folio_key {
	const struct folio *folio;
	const struct user_struct *user;
};

/**
 * struct folio_entry - the share of a large folio that a user's pins keep, but have not pinned
 * @node: in folio_table
 * @key: the folio and the user
 * @pinned: pages pinned in the folio, of all runs that are no whole folio; under folio_lock()
 * @rcu: lookups of other keys may still pass it
 */
struct folio_entry {
	struct rhash_head node;
	struct folio_key key;
	unsigned long pinned;
	struct rcu_head rcu;
};

static const struct rhashtable_params folio_params = {
	.key_len = sizeof(struct folio_key),
	.key_offset = offsetof(struct folio_entry, key),
	.head_offset = offsetof(struct folio_entry, node),
	.automatic_shrinking = true,
};

static struct rhashtable folio_table;

/* Processes that pin different folios rarely meet at a lock. */
#define FOLIO_LOCK_BITS		6

static struct {
	spinlock_t lock;	/* entries of folios with this hash */
} ____cacheline_aligned_in_smp folio_locks[1 << FOLIO_LOCK_BITS];

static spinlock_t *folio_lock(const struct folio *folio)
{
	return &folio_locks[hash_ptr(folio, FOLIO_LOCK_BITS)].lock;
}

/* Pages of a folio that are kept, but not pinned, when @pinned pages of it are pinned. */
static unsigned long folio_share(const struct folio *folio, unsigned long pinned)
{
	unsigned long all = folio_nr_pages(folio);

	return all > pinned ? all - pinned : 0;
}

/* The number of pages from @pages on that are of one folio. */
static unsigned long folio_run(const struct folio *folio, struct page **pages, unsigned long n)
{
	unsigned long i = 1;

	while (i < n && page_folio(pages[i]) == folio)
		i++;
	return i;
}

/*
 * The next run of pages that is a part of a large folio, from index *@end on.  *@end becomes the
 * index behind it, and *@run its number of pages.  Return: the folio; NULL: there is none.
 */
static const struct folio *next_part(struct page **pages, unsigned long n, unsigned long *end,
				     unsigned long *run)
{
	const struct folio *folio;

	while (*end < n) {
		folio = page_folio(pages[*end]);
		if (!folio_test_large(folio)) {
			++*end;
			continue;
		}
		*run = folio_run(folio, pages + *end, n - *end);
		*end += *run;
		if (*run != folio_nr_pages(folio))
			return folio;
	}
	return NULL;
}

/* Add an entry and charge its share; under folio_lock().  Return: 0, -EDQUOT or -ENOMEM. */
static int folio_insert(struct folio_entry *entry, struct user_struct *user)
{
	unsigned long share = folio_share(entry->key.folio, entry->pinned);
	int err = coll_memlock_more(share, user);

	if (err)
		return err;
	err = rhashtable_insert_fast(&folio_table, &entry->node, folio_params);
	if (err)
		atomic_long_sub(share, &user->locked_vm);
	return err ? -ENOMEM : 0;
}

/* More pages of a folio that has an entry; under folio_lock().  Return: false: no entry. */
static bool folio_more(const struct folio_key *key, unsigned long n, struct user_struct *user)
{
	struct folio_entry *entry = rhashtable_lookup_fast(&folio_table, key, folio_params);

	if (!entry)
		return false;
	/* The buffer has charged its pages, which were in the share until now. */
	atomic_long_sub(folio_share(key->folio, entry->pinned) -
			folio_share(key->folio, entry->pinned + n), &user->locked_vm);
	entry->pinned += n;
	return true;
}

static int folio_charge(const struct folio *folio, unsigned long n, struct user_struct *user)
{
	const struct folio_key key = { folio, user };
	spinlock_t *lock = folio_lock(folio);
	struct folio_entry *entry;
	bool found;
	int err = 0;

	spin_lock(lock);
	found = folio_more(&key, n, user);
	spin_unlock(lock);
	if (found)
		return 0;
	entry = kzalloc(sizeof(*entry), GFP_KERNEL_ACCOUNT);
	if (!entry)
		return -ENOMEM;
	entry->key = key;
	entry->pinned = n;
	spin_lock(lock);
	found = folio_more(&key, n, user);
	if (!found)
		err = folio_insert(entry, user);
	spin_unlock(lock);
	if (found || err)
		kfree(entry);
	return err;
}

/* Return: the share that the folio had, if no page of it is pinned any more; or 0. */
static unsigned long folio_uncharge(const struct folio *folio, unsigned long n,
				    struct user_struct *user)
{
	const struct folio_key key = { folio, user };
	spinlock_t *lock = folio_lock(folio);
	struct folio_entry *entry;
	unsigned long share;

	spin_lock(lock);
	entry = rhashtable_lookup_fast(&folio_table, &key, folio_params);
	/* A pin keeps its folio from being split, so the entry of folio_charge() is found. */
	share = folio_share(folio, entry->pinned);
	entry->pinned -= n;
	if (!entry->pinned) {
		rhashtable_remove_fast(&folio_table, &entry->node, folio_params);
		kfree_rcu(entry, rcu);
	} else {
		/* Pages that the caller is about to uncharge are in the share again. */
		atomic_long_add(folio_share(folio, entry->pinned) - share, &user->locked_vm);
		share = 0;
	}
	spin_unlock(lock);
	return share;
}

/**
 * coll_folios_charge() - charge the shares of the folios of pages that were pinned
 * @pages: the pages, pinned and charged themselves
 * @n: number of pages
 * @user: user against RLIMIT_MEMLOCK of which they count
 * @shared: out: true if a folio has a share, so that coll_folios_uncharge() must be called
 *
 * Context: process; may sleep.
 * Return: 0; or -EDQUOT or -ENOMEM, and nothing is charged.
 */
int coll_folios_charge(struct page **pages, unsigned long n, struct user_struct *user,
		       bool *shared)
{
	unsigned long end = 0, run;
	const struct folio *folio;
	int err;

	*shared = false;

	while ((folio = next_part(pages, n, &end, &run))) {
		err = folio_charge(folio, run, user);
		if (err)
			goto undo;
		*shared = true;
	}
	return 0;

undo:
	atomic_long_sub(coll_folios_uncharge(pages, end - run, user), &user->locked_vm);
	return err;
}

/**
 * coll_folios_uncharge() - undo coll_folios_charge(), before the pages are unpinned
 * @pages: the same pages
 * @n: number of pages
 * @user: user that was charged
 *
 * Context: any but interrupts.
 * Return: the number of pages that the user is charged for in addition, until they are unpinned.
 */
unsigned long coll_folios_uncharge(struct page **pages, unsigned long n, struct user_struct *user)
{
	unsigned long end = 0, run, rest = 0;
	const struct folio *folio;

	while ((folio = next_part(pages, n, &end, &run)))
		rest += folio_uncharge(folio, run, user);
	return rest;
}

/**
 * coll_folios_setup() - make the table of folios
 *
 * Return: 0 or -ENOMEM.
 */
int coll_folios_setup(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(folio_locks); i++)
		spin_lock_init(&folio_locks[i].lock);
	return rhashtable_init(&folio_table, &folio_params);
}

/**
 * coll_folios_cleanup() - undo coll_folios_setup(), when no buffer is left
 */
void coll_folios_cleanup(void)
{
	rhashtable_destroy(&folio_table);
}
