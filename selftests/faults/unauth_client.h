/* SPDX-License-Identifier: GPL-2.0-only */
/* Clients that connect to a rank, but are no rank of the group. */
#ifndef COLL_UNAUTH_CLIENT_H
#define COLL_UNAUTH_CLIENT_H

#include "faults/hostile_fixture.h"

/* Many clients connect before the ranks do; the group must work. Return: 0, or 1 on failure. */
int round_unauth_clients(__u64 seed);

/*
 * Clients that send part of a HELLO, or nothing, and stay. The rank closes them after ten
 * seconds.
 */
int silent_clients_begin(struct hostile_fixture *fix, int *fd, unsigned int n);
int silent_clients_end(struct hostile_fixture *fix, const int *fd, unsigned int n);

#endif /* COLL_UNAUTH_CLIENT_H */
