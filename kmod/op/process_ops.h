/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Operations that the process of a member executes itself, on the board that it has mapped
 * (core/board/order.h).
 *
 * The kernel hears of them when it looks, and it looks before it compares numbers of operations:
 * coll_process_sync().  An operation of the process that is not over is not submitted yet: with
 * COLLECTIVE_SUBMIT_BOARD it becomes a request, the next one.
 *
 * A thread of SUBMIT does the same (immediate.h), from coll_process_begin() to coll_process_end().
 * To the order it is a thread of the process.  But it also reads what processes must not see, so
 * that it is the only one at the board is not for the process to say.
 */
#ifndef COLL_PROCESS_OPS_H
#define COLL_PROCESS_OPS_H

#include <linux/types.h>

#include "core/data/fuse.h"

/* Where an operation has begun: its instance is known before it is a request. */
enum coll_request_origin {
	COLL_FROM_CALL,		/* here: it begins as a request */
	COLL_FROM_PROCESS,	/* in the process, on the board that it has mapped */
	COLL_FROM_THREAD,	/* in the thread of SUBMIT: immediate.h */
};

struct coll_board_words;
struct collective_op;
struct coll_request;
struct coll_requests;

/**
 * struct coll_process_ops - what the kernel knows of such operations
 * @words: where the process says what it has executed; NULL: it takes no part [l]
 * @immediate: number of the operation that a thread of SUBMIT is at, plus 1; 0: none.  Meanwhile
 *	@words tell nothing [l]
 * @immediate_ns: time at which it has begun that; ns [l]
 * @attention: what the process is told, for that thread [a]
 * @stats: what operations of such threads have moved; written by the one that is at one [a]
 * @requests: requests on the board that are not complete [l]
 * @waiters: calls that wait until the process is at no operation [l]
 * @alarm_until: an operation below this number has failed, which the process may be at, or begin;
 *	~0: the member fails or leaves [l]
 * @refused: number of the operation that could not be handed over for want of memory, plus 1 [l]
 * @refused_until: time until which the process may go on with it; jiffies; 0: no limit [l]
 * @broken: the process has stored what it must not [l]
 * @calls: operations that it has executed, from before @words were gone [l]
 */
struct coll_process_ops {
	struct coll_board_words *words;
	u64 immediate;
	u64 immediate_ns;
	bool attention;
	struct coll_fuse_stats stats;
	u32 requests;
	u32 waiters;
	u64 alarm_until;
	u64 refused;
	unsigned long refused_until;
	bool broken;
	u64 calls;
};

int coll_process_open(struct coll_requests *reqs, struct coll_board_words *words);
void coll_process_close(struct coll_requests *reqs);
bool coll_process_begin(struct coll_requests *reqs, u64 now, u64 *instance);
void coll_process_end(struct coll_requests *reqs, u64 instance, u8 opcode, u64 now);
void coll_process_sync(struct coll_requests *reqs);
int coll_process_place(struct coll_request *request);
void coll_process_done(const struct coll_request *request);
int coll_process_await(const struct coll_request *request, long limit);
int coll_process_failed(struct coll_requests *reqs, const struct collective_op *op,
			enum coll_request_origin origin, u64 instance, int err);
void coll_process_notice(struct coll_requests *reqs);
void coll_process_alarm(struct coll_requests *reqs, u64 instance);
u64 coll_process_called(const struct coll_requests *reqs);
bool coll_process_is_at(const struct coll_requests *reqs, u64 *instance);
u64 coll_process_calls(const struct coll_requests *reqs);

#endif /* COLL_PROCESS_OPS_H */
