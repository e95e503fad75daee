/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One engine among peers of whom nothing good is expected.
 *
 * What the surroundings of an engine promise it (core/engine/engine.h) is kept here, and nothing
 * else: operations are submitted in the order of their numbers, a stream is asked
 * before something is sent, a connection on which the engine refused something is not
 * read any more.  What the peers do, and in which order everything happens, is the
 * fuzzer's choice.
 *
 * After every event the engine must be within its bounds; what it completes has its
 * memory taken away at once; and in the end everything that was submitted completes.
 *
 *	rig.c		the surroundings
 *	operation.c	an operation that somebody might submit
 *	peer.c		what a peer does
 *	area.c		memory
 */
#ifndef COLL_FUZZ_RIG_H
#define COLL_FUZZ_RIG_H

#include "area.h"
#include "../unit/failed_set.h"
#include "input.h"
#include "core/engine/task.h"
#include "require.h"

#include <linux/collective.h>

#define RIG_RANKS	4
#define RIG_SLOTS	8
#define RIG_INCARNATION	0x1234
#define RIG_KEYS	4

/**
 * struct operation - one that is in progress
 * @task: the engine's
 * @area: its memory; input and result may be the same one, there may be none
 * @send_len: bytes of the input, if nothing may be written to it
 * @first: where blocks begin that differ, of input and result
 */
struct operation {
	struct coll_task task;
	struct area *area[COLL_AREA_COUNT];
	u64 send_len;
	u64 first[2][RIG_RANKS + 1];
};

/**
 * struct peer - one rank as seen by the engine
 * @stream: the engine's
 * @up: there is a connection
 * @refused: the engine has refused something of it: it is read no more
 * @head: of the frame that is arriving
 * @head_left: bytes of it that have not
 * @body_left: likewise, of its payload
 */
struct peer {
	struct coll_stream stream;
	bool up;
	bool refused;
	u8 head[COLL_DATA_SIZE];
	u32 head_left;
	u32 body_left;
};

/**
 * struct rig - the engine and its surroundings
 * @next: the number of the next operation without a key
 * @again: what the last operation was made of
 * @call: the sixteen bits of it
 * @submitted: operations
 * @completed: of these
 * @asked: callbacks since the engine was called
 * @now: ns
 * @vector: the vector registers are in use
 * @failed: the group has failed
 */
struct rig {
	struct coll_engine engine;
	struct coll_task *hash[RIG_SLOTS];
	struct failed_set failures;
	struct peer peer[RIG_RANKS];
	u64 next;
	struct input again;
	u16 call;
	u32 submitted;
	u32 completed;
	u32 asked;
	u64 now;
	bool vector;
	bool failed;
};

/* rig.c */
struct rig *rig_new(struct input *in);
void rig_check(struct rig *rig);
void rig_fail(struct rig *rig);
void rig_free(struct rig *rig, bool released);

/* operation.c */
struct operation *operation_new(const struct rig *rig, struct input *in,
				struct coll_task_args *call);
void operation_check(const struct operation *operation);
void operation_free(struct operation *operation);
void rig_submit(struct rig *rig, struct input *in);

/* peer.c */
u64 rig_name(const struct rig *rig, struct input *in);
struct peer *rig_peer(struct rig *rig, struct input *in);
void peer_connect(struct rig *rig, struct peer *peer);
void peer_receive(struct rig *rig, struct peer *peer, const u8 *bytes, u32 len);
void peer_begin(struct rig *rig, struct peer *peer, struct input *in);
void peer_arrive(struct rig *rig, struct peer *peer, u32 most);
bool peer_send(struct rig *rig, struct peer *peer, u32 most);
void peer_control(struct rig *rig, struct peer *peer, struct input *in);

#endif /* COLL_FUZZ_RIG_H */
