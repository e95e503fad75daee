/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What tx_ring.c takes from the kernel.  selftests/unit/tx_ring_env.h replaces it in user space: it
 * has the same include guard.
 */
#ifndef COLL_TX_RING_ENV_H
#define COLL_TX_RING_ENV_H

#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "mem/account.h"

#endif /* COLL_TX_RING_ENV_H */
