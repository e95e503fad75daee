/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The rig: one engine whose peers may send anything.
 *
 * The rig keeps only the rules that core/engine/engine.h states for the engine's caller.  For
 * example, it does not read a connection any more when the engine has refused its bytes.  The
 * fuzzer chooses what the peers send and the order of all events.
 *
 * After every event the engine must be within its bounds.  The memory of an operation is freed
 * as soon as it completes.  At the end all submitted operations must complete.  rig.c has the
 * engine and its callbacks, operation.c operations, peer.c what peers send, and area.c memory.
 */
#ifndef COLL_FUZZ_RIG_H
#define COLL_FUZZ_RIG_H

#include "area.h"
#include "../unit/engine_drive.h"
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
 * struct operation - an operation in progress
 * @task: the engine's task
 * @area: memory by COLL_AREA_*; NULL: none; input and result are the same if in place
 * @send_len: length of the input; bytes; 0 if the operation is in place
 * @first: where the blocks of the input, and of the result, begin if their lengths differ
 */
struct operation {
	struct coll_task task;
	struct area *area[COLL_AREA_COUNT];
	u64 send_len;
	u64 first[2][RIG_RANKS + 1];
};

/**
 * struct peer - a peer of the engine
 * @stream: the engine's stream
 * @up: true if the peer is connected
 * @refused: true if the peer is not read any more: the engine has refused its bytes, or its
 *	stream was released
 * @head: header of the frame that is arriving
 * @head_left: bytes of the header that have not arrived
 * @body_left: bytes of the payload that have not arrived
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
 * struct rig - an engine, its peers and the state of its callbacks
 * @engine: the engine
 * @failures: instances that have failed
 * @peer: the peers by rank; the engine's own entry is not used
 * @next: instance of the next operation without a key
 * @again: the choices that the last operation was made of
 * @call: coll_plan_call() of the last operation
 * @submitted: number of submitted operations
 * @completed: number of these that have completed
 * @asked: callbacks since the last rig_check()
 * @now: the time; ns
 * @fpu: true between the two calls of the FPU callback
 * @failed: true if the group has failed
 * @part: partial results of reductions
 */
struct rig {
	struct coll_engine engine;
	struct failed_set failures;
	struct peer peer[RIG_RANKS];
	u64 next;
	struct input again;
	u16 call;
	u32 submitted;
	u32 completed;
	u32 asked;
	u64 now;
	bool fpu;
	bool failed;
	u8 part[COLL_REDUCE_PART];
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
u64 rig_instance(const struct rig *rig, struct input *in);
struct peer *rig_peer(struct rig *rig, struct input *in);
void peer_connect(struct rig *rig, struct peer *peer);
void peer_receive(struct rig *rig, struct peer *peer, const u8 *bytes, u32 len);
void peer_begin(struct rig *rig, struct peer *peer, struct input *in);
void peer_arrive(struct rig *rig, struct peer *peer, u32 most);
bool peer_send(struct rig *rig, struct peer *peer, u32 most);
void peer_control(struct rig *rig, struct peer *peer, struct input *in);

#endif /* COLL_FUZZ_RIG_H */
