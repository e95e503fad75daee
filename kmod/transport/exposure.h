/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Exposed memory: input and result of an operation, which ranks of the same kernel may read while
 * the operation is in progress.
 *
 * Each lane of a member has an *exposer* in the group's hub.  It holds an entry for each task that
 * exposes memory.  A reader finds the entry by rank, lane and instance, so no address travels in a
 * frame.  An entry is closed by its owner and counts its readers.  The owner gives the memory back
 * when the entry is closed and has no reader.
 */
#ifndef COLL_EXPOSURE_H
#define COLL_EXPOSURE_H

#include <linux/list.h>
#include <linux/types.h>

#include "core/data/mem.h"

struct coll_exposer;
struct coll_local_hub;

/* Memories of an entry: input and result. */
#define COLL_EXPOSED_AREAS	2

/**
 * struct coll_exposure - an entry: memory that one task exposes
 * @exposer: of the lane [c]
 * @node: in the exposer's table, or in its list of entries that are not read any more
 * @instance: of the operation [c]
 * @mem: the memories [c]
 * @off: offset of the operation's buffer in each; bytes [c]
 * @len: bytes of that buffer; 0: it is not exposed [c]
 * @readers: number of reads that have begun and not ended; protected by the exposer's lock
 * @closed: true if no read may begin; likewise
 */
struct coll_exposure {
	struct coll_exposer *exposer;
	struct list_head node;
	u64 instance;
	const struct coll_mem *mem[COLL_EXPOSED_AREAS];
	u64 off[COLL_EXPOSED_AREAS];
	u64 len[COLL_EXPOSED_AREAS];
	u32 readers;
	bool closed;
};

/**
 * struct coll_exposer_ops - what a lane does with events of its exposer
 * @ended: an entry that was closed is not read any more
 * @wake: another rank has stored on the board what the rank may wait for; rank @latest was the last
 *	one, or COLL_NO_RANK: none is known
 *
 * Called in any context but interrupts, with a lock of the exposer held.
 */
struct coll_exposer_ops {
	void (*ended)(void *owner);
	void (*wake)(void *owner, u32 latest);
};

/* The owner. */
struct coll_exposer *coll_exposer_open(struct coll_local_hub *hub, u32 rank, u32 lane,
				       const struct coll_exposer_ops *ops, void *owner);
void coll_exposer_close(struct coll_exposer *exposer);
void coll_exposure_open(struct coll_exposer *exposer, struct coll_exposure *exposure);
bool coll_exposure_close(struct coll_exposure *exposure);
struct coll_exposure *coll_exposer_next_unread(struct coll_exposer *exposer);

/* A reader. */
struct coll_exposure *coll_exposure_begin_read(struct coll_local_hub *hub, u32 rank, u32 lane,
					       u64 instance);
void coll_exposure_end_read(struct coll_exposure *exposure);

/* A rank that has stored on the board. */
void coll_exposer_wake(struct coll_local_hub *hub, u32 rank, u32 lane, u32 latest);

#endif /* COLL_EXPOSURE_H */
