/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_CDEV_H
#define COLL_CDEV_H

struct io_uring_cmd;

int coll_cdev_setup(void);
void coll_cdev_cleanup(void);

/* uring.c */
int coll_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags);

#endif /* COLL_CDEV_H */
