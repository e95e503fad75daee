/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_CDEV_H
#define COLL_CDEV_H

int coll_cdev_setup(void);
void coll_cdev_cleanup(void);

#endif /* COLL_CDEV_H */
