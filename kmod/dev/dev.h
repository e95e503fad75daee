/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_DEV_H
#define COLL_DEV_H

struct coll_member;
struct collective_cancel;
struct io_uring_cmd;

int coll_dev_setup(void);
void coll_dev_cleanup(void);
int coll_dev_cancel(struct coll_member *member, const struct collective_cancel *cancel);

/* uring.c */
int coll_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags);

#endif /* COLL_DEV_H */
