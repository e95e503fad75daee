/* SPDX-License-Identifier: GPL-2.0-only */
/* People who call and are no rank. */
#ifndef COLL_STRANGER_H
#define COLL_STRANGER_H

#include "faults/scene.h"

/* Many come before the ranks do, and nobody minds.  Return: 0, or 1 if somebody did. */
int round_strangers(__u64 seed);

/* Some say nothing, or not all, and stay: until they are hung up on, ten seconds later. */
int silence_begin(struct scene *scene, int *fd, unsigned int n);
int silence_end(struct scene *scene, const int *fd, unsigned int n);

#endif /* COLL_STRANGER_H */
