/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_RECORDER_H
#define COLL_RECORDER_H

#include <linux/collective.h>

struct coll_reason;
struct coll_group;
struct coll_link;
struct coll_member;
struct coll_request;

/* What happens to a link. */
enum coll_link_news {
	COLL_LINK_UP,		/* control and all lanes are open */
	COLL_LINK_LEFT,		/* the peer said goodbye */
	COLL_LINK_DOWN,		/* control has ended */
};

/* recorder.c */
void coll_record_state(const struct coll_member *member, enum collective_state state);
void coll_record_abort(const struct coll_member *member, const struct coll_reason *cause);
void coll_record_submit(const struct coll_request *request);
void coll_record_begin(const struct coll_request *request);
void coll_record_agreed(const struct coll_request *request);
void coll_record_fail(const struct coll_member *member, u64 instance,
		      const struct coll_reason *cause);
void coll_record_absent(const struct coll_member *member, u64 instance, u32 rank);
void coll_record_done(const struct coll_request *request);
void coll_record_link(const struct coll_link *link, enum coll_link_news news, int error);
int coll_recorder_enter(struct coll_member *member);
void coll_recorder_leave(struct coll_member *member);
void coll_recorder_begin(struct coll_group *group);
void coll_recorder_end(struct coll_group *group);
void coll_recorder_setup(void);
void coll_recorder_cleanup(void);

#endif /* COLL_RECORDER_H */
