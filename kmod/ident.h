/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_IDENT_H
#define COLL_IDENT_H

#include <linux/types.h>

#include <linux/collective.h>

/* Bytes of a group name with its padding, as in a HELLO. */
#define COLL_GROUP_NAME_SIZE	40

/* Bytes of the name of a group's folders: its own, and the number of a user. */
#define COLL_FOLDER_NAME_SIZE	(COLL_GROUP_NAME_SIZE + 12)

/**
 * struct coll_ident - what a rank is in its group; const after JOIN, unless marked
 * @rank: of this member
 * @nranks: ranks of the group
 * @nlanes: lanes of each rank
 * @incarnation: of the group, in every frame header
 * @group_id: of this incarnation of the group, in every HELLO
 * @group_name: likewise; for people, too
 * @timeout: of an operation that gives none; jiffies, MAX_JIFFY_OFFSET: none [a]
 * @slow_percent: an operation is slow after this part of the time to its deadline; 0: never [a]
 * @heartbeat_ms: heartbeat interval, ms
 * @algorithm: by enum collective_opcode, what AUTO means
 * @reads: true if all ranks can read each other's memory; written by CONNECT before the state
 *	becomes CONNECTING
 * @board: true if they have a board; likewise
 */
struct coll_ident {
	u32 rank;
	u32 nranks;
	u32 nlanes;
	u32 incarnation;
	u64 group_id;
	char group_name[COLL_GROUP_NAME_SIZE];
	unsigned long timeout;
	u32 slow_percent;
	u32 heartbeat_ms;
	u8 algorithm[COLLECTIVE_OPCODES_MAX];
	bool reads;
	bool board;
};

#endif /* COLL_IDENT_H */
