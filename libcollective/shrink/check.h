/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef COLL_CHECK_H
#define COLL_CHECK_H

#include "comm/comm.h"
#include "error/detail.h"

/**
 * coll_shrink_check - find out whether datagrams of ranks at other addresses arrive
 * @comm: communicator, just connected
 * @detail: text of a failure
 *
 * Context: sleeps, a moment if they arrive, and 5 s at most.
 * Return: 0; -EHOSTUNREACH: those of a rank do not arrive; -ECANCELED: interrupted; -ENOMEM.
 */
int coll_shrink_check(struct coll_comm *comm, struct coll_detail *detail);

#endif /* COLL_CHECK_H */
