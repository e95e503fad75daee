/* SPDX-License-Identifier: GPL-2.0-only */
/* People who call and are no rank. */
#ifndef COLL_UNAUTH_CLIENT_H
#define COLL_UNAUTH_CLIENT_H

#include "faults/hostile_fixture.h"

/* Many come before the ranks do, and nobody minds.  Return: 0, or 1 if somebody did. */
int round_unauth_clients(__u64 seed);

/* Some say nothing, or not all, and stay: until they are hung up on, ten seconds later. */
int silent_clients_begin(struct hostile_fixture *fix, int *fd, unsigned int n);
int silent_clients_end(struct hostile_fixture *fix, const int *fd, unsigned int n);

#endif /* COLL_UNAUTH_CLIENT_H */
