/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Keys of processes whose ranks rank 0 chooses, and the ranks that they had in this process's
 * earlier groups.  Rank 0 knows all keys of its group, any other rank knows its own.
 */
#ifndef COLL_KEY_H
#define COLL_KEY_H

#include "comm/config.h"

/*
 * Remember the rank of a key at the rendezvous of @settings.  Without memory it is not
 * remembered.
 */
void coll_key_remember(const struct coll_settings *settings, const char *key, int rank);

/* Return: the rank that the key had, or -1. */
int coll_key_rank(const struct coll_settings *settings, const char *key);

/* Find the key that had a rank.  Return: true if @key is set. */
bool coll_key_find(const struct coll_settings *settings, int rank, char key[COLL_KEY_SIZE]);

#endif /* COLL_KEY_H */
