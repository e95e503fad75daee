// SPDX-License-Identifier: GPL-2.0-only
/* The tables that hold the requests of a member. */
#include <linux/slab.h>

#include "mem/account.h"
#include "op/match.h"
#include "op/request.h"
#include "op/requests.h"
#include "op/times.h"

/**
 * coll_requests_init() - initialise the requests of a new member
 * @reqs: of the member; the caller sets the fields that are constant after JOIN
 */
void coll_requests_init(struct coll_requests *reqs)
{
	INIT_LIST_HEAD(&reqs->inflight_list);
	INIT_LIST_HEAD(&reqs->counted);
	INIT_DELAYED_WORK(&reqs->expiry, coll_expire_work);
	reqs->last_failure.instance = COLL_INSTANCE_GROUP;
	reqs->last_failure.calls[0].rank = COLLECTIVE_RANK_NONE;
	reqs->last_failure.calls[1].rank = COLLECTIVE_RANK_NONE;
}

/**
 * coll_requests_setup() - allocate the tables
 * @reqs: of the member
 *
 * Context: may sleep.
 * Return: 0, -EDQUOT or -ENOMEM; coll_requests_cleanup() must follow either.
 */
int coll_requests_setup(struct coll_requests *reqs)
{
	int err = coll_table_reserve(reqs, 1);

	if (err)
		return err;
	reqs->by_instance = kcalloc(COLL_REQUESTS_HASH, sizeof(*reqs->by_instance),
				    GFP_KERNEL_ACCOUNT);
	if (!reqs->by_instance)
		return -ENOMEM;
	return coll_unexpected_setup(reqs);
}

/**
 * coll_requests_cleanup() - free the tables
 * @reqs: of the member; no request is left
 */
void coll_requests_cleanup(struct coll_requests *reqs)
{
	coll_uncharge(reqs->charges, reqs->board_charged);
	reqs->board_charged = 0;
	if (reqs->spare)
		coll_request_free(reqs->spare);
	reqs->spare = NULL;
	coll_unexpected_cleanup(reqs);
	coll_times_free(reqs);
	kfree(reqs->by_instance);
	reqs->by_instance = NULL;
	coll_table_free(reqs);
}
