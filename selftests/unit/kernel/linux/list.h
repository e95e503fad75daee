/* SPDX-License-Identifier: GPL-2.0-only */
/* What env.h has not: lists with one pointer in the head. */
#ifndef COLL_KERNEL_LIST_H
#define COLL_KERNEL_LIST_H

#include "env.h"

struct hlist_node {
	struct hlist_node *next, **pprev;
};

struct hlist_head {
	struct hlist_node *first;
};

static inline bool hlist_empty(const struct hlist_head *head)
{
	return !head->first;
}

static inline void hlist_add_head(struct hlist_node *node, struct hlist_head *head)
{
	node->next = head->first;
	node->pprev = &head->first;
	if (node->next)
		node->next->pprev = &node->next;
	head->first = node;
}

/* The pointers of a deleted node become NULL, so that a use after deletion crashes. */
static inline void hlist_del(struct hlist_node *node)
{
	*node->pprev = node->next;
	if (node->next)
		node->next->pprev = node->pprev;
	node->next = NULL;
	node->pprev = NULL;
}

#define hlist_entry(p, t, m)		container_of(p, t, m)
#define hlist_entry_safe(p, t, m) ({					\
	__typeof__(p) __node = (p);					\
									\
	__node ? hlist_entry(__node, t, m) : NULL;			\
})

#define hlist_for_each_entry(p, h, m)					\
	for (p = hlist_entry_safe((h)->first, __typeof__(*p), m); p;	\
	     p = hlist_entry_safe(p->m.next, __typeof__(*p), m))

#define hlist_for_each_entry_safe(p, n, h, m)				\
	for (p = hlist_entry_safe((h)->first, __typeof__(*p), m);	\
	     p && ({ n = p->m.next; true; });				\
	     p = hlist_entry_safe(n, __typeof__(*p), m))

#endif /* COLL_KERNEL_LIST_H */
