// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Ranks that the root hands out.  A client gets, in this order: the rank that it has, if it
 * connects again; the rank of its key; the lowest rank of which no key is known; the lowest
 * free rank.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bootstrap/key.h"
#include "bootstrap/root.h"

void bootstrap_root_recall_keys(struct bootstrap_root *root)
{
	int rank;

	if (!root->settings->auto_rank)
		return;
	for (rank = 1; rank < root->settings->nranks; rank++)
		coll_key_find(root->settings, rank, root->ranks[rank].key);
}

void bootstrap_root_remember_keys(const struct bootstrap_root *root)
{
	int rank;

	if (root->settings->key[0])
		coll_key_remember(root->settings, root->settings->key, 0);
	for (rank = 1; rank < root->settings->nranks; rank++)
		if (root->ranks[rank].key[0])
			coll_key_remember(root->settings, root->ranks[rank].key, rank);
}

static int find_process(const struct bootstrap_root *root, uint64_t process)
{
	int rank;

	for (rank = 1; rank < root->settings->nranks; rank++)
		if (root->ranks[rank].state != RANK_MISSING && root->ranks[rank].process == process)
			return rank;
	return 0;
}

static int find_key(const struct bootstrap_root *root, const char *key)
{
	int rank;

	for (rank = 1; *key && rank < root->settings->nranks; rank++)
		if (!strcmp(root->ranks[rank].key, key))
			return rank;
	return 0;
}

static bool is_free(const struct bootstrap_root *root, unsigned int rank, bool also_known)
{
	return rank && rank < (unsigned int)root->settings->nranks &&
	       root->ranks[rank].state == RANK_MISSING &&
	       (also_known || !root->ranks[rank].key[0]);
}

static int find_free(const struct bootstrap_root *root, const struct bootstrap_hello *hello)
{
	int rank;

	/* Another process, which had rank 0 then, may have handed out that rank. */
	if (is_free(root, hello->before, false))
		return hello->before;
	for (rank = 1; rank < root->settings->nranks; rank++)
		if (is_free(root, rank, false))
			return rank;
	for (rank = 1; rank < root->settings->nranks; rank++)
		if (is_free(root, rank, true))
			return rank;
	return 0;
}

int bootstrap_root_hand_out(struct bootstrap_root *root, const struct bootstrap_hello *hello,
			    char *text, size_t size)
{
	const struct coll_settings *settings = root->settings;
	char other[COLL_ADDRESS_TEXT];
	int rank;

	if (!settings->auto_rank) {
		snprintf(text, size,
			 "COLL_RANK is auto there and a number on rank 0: set it to auto on all ranks or on none");
		return -EINVAL;
	}
	rank = find_process(root, hello->process);
	if (rank)
		return rank;
	if (hello->key[0] && !strcmp(hello->key, settings->key)) {
		snprintf(text, size,
			 "rank 0 has the key %s, too: give each process a key of its own (COLL_KEY)",
			 hello->key);
		return -EBUSY;
	}
	rank = find_key(root, hello->key);
	if (rank && root->ranks[rank].state != RANK_MISSING) {
		coll_address_format(&root->ranks[rank].from, other);
		snprintf(text, size,
			 "rank %d (%s) has the key %s, too: give each process a key of its own (COLL_KEY)",
			 rank, other, hello->key);
		return -EBUSY;
	}
	rank = rank ?: find_free(root, hello);
	if (rank) {
		strcpy(root->ranks[rank].key, hello->key);
		return rank;
	}
	snprintf(text, size, "all %d ranks of the group have come", settings->nranks);
	return -EBUSY;
}
