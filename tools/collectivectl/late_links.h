/* SPDX-License-Identifier: GPL-2.0-only */
/* Which link of a group has cost most. */
#ifndef LATE_LINKS_H
#define LATE_LINKS_H

#include "late.h"

/* For qsort(): of two uint64_t. */
int late_compare(const void *a, const void *b);

/*
 * Finds the link that has cost most, from what the ranks have waited and say of their links.
 * @values: memory for a value of each rank.
 */
void late_links_sum(struct late_group *group, uint64_t *values);

#endif /* LATE_LINKS_H */
