/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Grants: how much of which operation a peer can take.
 *
 * A table of fixed size, searched by name.  An entry is there from the first grant
 * until the run that it speaks of has left, or the operation has failed.
 */
#ifndef COLL_GRANT_H
#define COLL_GRANT_H

#include "core/engine/instance.h"

/* The limit of a grant: all that there is. */
#define COLL_GRANT_ALL	(~0ULL)

/**
 * struct coll_grant - how much of an instance a peer can take
 * @instance: its name plus one, 0: none
 * @limit: bytes of what it sends to that peer, in order; a token counts for one
 * @digest: of what the peer has called: see struct coll_task_args
 */
struct coll_grant {
	u64 instance;
	u64 limit;
	u64 digest;
};

/**
 * struct coll_grants - what one peer can take
 * @entry: by the hash of the name, or after it
 * @size: entries there are, a power of two
 * @count: of these, taken; one at least is not
 */
struct coll_grants {
	struct coll_grant *entry;
	u32 size;
	u32 count;
};

/* Entries for what @n operations may need, and as many that have failed. */
#define COLL_GRANTS(n)	(2 * (n) < 16 ? 16U : 2U * (n))

const struct coll_grant *coll_grants_get(const struct coll_grants *grants, u64 instance);
int coll_grants_raise(struct coll_grants *grants, u64 instance, u64 limit, u64 digest);
void coll_grants_drop(struct coll_grants *grants, u64 instance);

#endif /* COLL_GRANT_H */
