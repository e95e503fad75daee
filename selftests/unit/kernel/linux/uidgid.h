/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_KERNEL_UIDGID_H
#define COLL_KERNEL_UIDGID_H

#include "env.h"

typedef struct {
	u32 val;
} kuid_t;

#define __kuid_val(uid)		((uid).val)

#endif /* COLL_KERNEL_UIDGID_H */
