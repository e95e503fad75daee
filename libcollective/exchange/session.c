// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdio.h>

#include "comm/deadline.h"
#include "comm/interrupt.h"
#include "exchange/session.h"

int session_begin(struct session *session, const char *name, uint64_t deadline,
		  struct coll_detail *detail)
{
	if (!coll_interrupt_lock(&session->lock, deadline))
		return coll_fail(detail, -ETIMEDOUT,
				 "another thread was using %s until the deadline", name);
	if (!session->broken)
		return 0;
	coll_fail(detail, -ECONNABORTED,
		  "%s can make no more groups in this process, since an earlier one failed to form: %s",
		  name, session->why);
	pthread_mutex_unlock(&session->lock);
	return -ECONNABORTED;
}

int session_end(struct session *session, int err, const struct coll_detail *detail)
{
	if (err && !session->broken) {
		session->broken = true;
		snprintf(session->why, sizeof(session->why), "%s", detail->text ?: "");
	}
	pthread_mutex_unlock(&session->lock);
	return err;
}
