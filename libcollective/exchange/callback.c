// SPDX-License-Identifier: LGPL-2.1-or-later
/* The exchange that the caller gives.  It knows no deadline, and ends by itself. */
#include <errno.h>

#include "comm/interrupt.h"
#include "exchange/exchange.h"

/* As of the kernel: no errno is larger. */
#define ERRNO_MAX	4095

static int gather(const struct exchange *exchange, const void *mine, size_t size, void *all,
		  uint64_t deadline, struct coll_detail *detail)
{
	struct coll_interrupt *const suspended = coll_interrupt_suspend();
	int err = exchange->callback(exchange->context, mine, size, all);

	coll_interrupt_resume(suspended);
	(void)deadline;
	if (!err)
		return 0;
	if (err > 0 || err < -ERRNO_MAX)
		return coll_fail(detail, -EINVAL,
				 "rank %d: the configuration's exchange returned %d, which is neither 0 nor a negative errno",
				 exchange->rank, err);
	return coll_fail(detail, err, "rank %d: the configuration's exchange failed: %s",
			 exchange->rank, coll_errno_text(-err));
}

const struct exchange_ops exchange_callback = { .gather = gather };
