/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Grants: how much of an operation a peer can receive.
 *
 * A table, searched by instance.  An entry exists from the first grant until the run that it covers
 * is sent, or until the operation has failed.  The owner of the stream makes the table larger, up
 * to COLL_GRANTS() entries, before it passes on more grants than there is space for.
 */
#ifndef COLL_GRANT_H
#define COLL_GRANT_H

#include "core/engine/instance.h"

/* Limit of a grant that covers the whole run. */
#define COLL_GRANT_ALL	(~0ULL)

/**
 * struct coll_grant - how much of an operation a peer can receive
 * @instance: the instance plus one; 0: free entry
 * @limit: bytes of the run to that peer that may be sent; a signal counts as one
 * @digest: digest of the peer's call: see struct coll_task_args
 */
struct coll_grant {
	u64 instance;
	u64 limit;
	u64 digest;
};

/**
 * struct coll_grants - all grants of one peer
 * @entry: the table; an entry is at the hash of its instance or after it
 * @size: number of entries, a power of two
 * @count: number of used entries; at least one entry is always free
 */
struct coll_grants {
	struct coll_grant *entry;
	u32 size;
	u32 count;
};

/* First number of entries of the table. */
#define COLL_GRANTS_FIRST	16U

/* Most entries of the table: for @n operations, and for as many failed ones. */
#define COLL_GRANTS(n)	(2 * (n) < COLL_GRANTS_FIRST ? COLL_GRANTS_FIRST : 2U * (n))

const struct coll_grant *coll_grants_get(const struct coll_grants *grants, u64 instance);
int coll_grants_raise(struct coll_grants *grants, u64 instance, u64 limit, u64 digest);
u32 coll_grants_space(const struct coll_grants *grants);
struct coll_grant *coll_grants_move(struct coll_grants *grants, struct coll_grant *entry, u32 size);
void coll_grants_drop(struct coll_grants *grants, u64 instance);

#endif /* COLL_GRANT_H */
