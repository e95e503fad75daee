/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_CLOSING_H
#define COLL_CLOSING_H

#include <linux/workqueue.h>

/* Runs work that continues after its file has been released. */
extern struct workqueue_struct *coll_closing_wq;

int coll_closing_setup(void);
void coll_closing_cleanup(void);
void coll_closing_begin(void);
void coll_closing_end(void);
void coll_closing_wait(void);

#endif /* COLL_CLOSING_H */
