/* SPDX-License-Identifier: GPL-2.0-only */
/* What is charged for memory: a number.  Replaces kmod/mem/account.h, of the same include guard. */
#ifndef COLL_ACCOUNT_H
#define COLL_ACCOUNT_H

/* struct coll_charges - @bytes: charged; @limit: most of it, 0: there is no limit */
struct coll_charges {
	u64 bytes;
	u64 limit;
};

static int coll_charge(struct coll_charges *charges, u64 bytes)
{
	if (charges->limit && charges->bytes + bytes > charges->limit)
		return -EDQUOT;
	charges->bytes += bytes;
	return 0;
}

static void coll_uncharge(struct coll_charges *charges, u64 bytes)
{
	assert(charges->bytes >= bytes);
	charges->bytes -= bytes;
}

#endif /* COLL_ACCOUNT_H */
