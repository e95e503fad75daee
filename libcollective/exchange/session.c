// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "exchange/session.h"

int session_begin(struct session *session, const char *name, uint64_t deadline,
		  struct coll_detail *detail)
{
	const struct timespec until = {
		.tv_sec = deadline / 1000,
		.tv_nsec = deadline % 1000 * 1000000,
	};

	if (pthread_mutex_clocklock(&session->lock, CLOCK_MONOTONIC, &until))
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
