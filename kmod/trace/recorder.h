/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_RECORDER_H
#define COLL_RECORDER_H

#include <linux/list.h>
#include <linux/types.h>

#include <linux/collective.h>

#include "ident.h"

struct coll_charges;
struct coll_reason;
struct coll_record;
struct coll_recorder;
struct coll_signature;
struct dentry;

/**
 * struct coll_trace - a member as trace events and records name it
 * @id: identity of the member [c]
 * @recorder: flight recorder of the rank, set from JOIN to the teardown; NULL: none
 */
struct coll_trace {
	const struct coll_ident *id;
	struct coll_recorder *recorder;
};

/* Changes of a link that are recorded. */
enum coll_link_event {
	COLL_LINK_UP,		/* the control connection and those of all lanes are open */
	COLL_LINK_LEFT,		/* the peer has sent LEAVE */
	COLL_LINK_DOWN,		/* the control connection has ended */
};

/**
 * struct coll_recorder_dir - the flight recorders of a group
 * @dentry: their directory in debugfs, or an error pointer [c]
 * @recorders: struct coll_recorder of each rank that is or was a member on this host, the lowest
 *	rank first; the caller of enter, leave and remove serialises access
 */
struct coll_recorder_dir {
	struct dentry *dentry;
	struct list_head recorders;
};

void coll_record_state(const struct coll_trace *trace, enum collective_state from,
		       enum collective_state to);
void coll_record_abort(const struct coll_trace *trace, const struct coll_reason *reason);
void coll_record_submit(const struct coll_trace *trace, u64 instance,
			const struct coll_signature *signature, u64 bytes, u32 lanes,
			u64 submit_ns);
u64 coll_record_begin(const struct coll_trace *trace, u64 instance);
void coll_record_agreed(const struct coll_trace *trace, u64 instance);
void coll_record_fail(const struct coll_trace *trace, u64 instance,
		      const struct coll_reason *reason);
void coll_record_absent(const struct coll_trace *trace, u64 instance, u32 rank);
u64 coll_record_done(const struct coll_trace *trace, u64 instance, int error,
		     const struct coll_reason *reason, u64 submit_ns);
void coll_record_link(const struct coll_trace *trace, u32 peer, enum coll_link_event event,
		      int error);
int coll_recorder_enter(struct coll_recorder_dir *dir, struct coll_charges *charges,
			struct coll_trace *trace, pid_t pid);
void coll_recorder_reserve(const struct coll_trace *trace, struct coll_charges *charges);
void coll_recorder_leave(struct coll_trace *trace);
void coll_recorder_dir_make(struct coll_recorder_dir *dir, const char *group, unsigned int netns);
void coll_recorder_dir_remove(struct coll_recorder_dir *dir);
struct coll_recorder *coll_recorder_from(const struct coll_recorder_dir *dir, u32 rank);
struct coll_recorder *coll_recorder_after(const struct coll_recorder_dir *dir,
					  struct coll_recorder *recorder);
u32 coll_recorder_rank(const struct coll_recorder *recorder);
bool coll_recorder_get(struct coll_recorder *recorder, u64 *number, struct coll_record *record);
void coll_recorder_setup(void);
void coll_recorder_cleanup(void);

#endif /* COLL_RECORDER_H */
