/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_KERNEL_LLIST_H
#define COLL_KERNEL_LLIST_H

struct llist_node {
	struct llist_node *next;
};

struct llist_head {
	struct llist_node *first;
};

#endif /* COLL_KERNEL_LLIST_H */
