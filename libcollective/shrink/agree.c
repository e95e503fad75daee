// SPDX-License-Identifier: LGPL-2.1-or-later
#include "shrink/agree.h"

void coll_agree_init(struct coll_agree *agree, const struct coll_agree_ops *ops, void *env,
		     unsigned int rank, unsigned int nranks)
{
	agree->ops = ops;
	agree->env = env;
	agree->rank = rank;
	agree->nranks = nranks;
}

void coll_agree_send(struct coll_agree *agree, struct coll_agree_message *message,
		     unsigned int to)
{
	message->from = agree->rank;
	message->to = to;
	if (to == agree->rank)
		coll_agree_handle(agree, message);
	else
		agree->ops->send(agree->env, message);
}

/* Messages that were sent before the loss of a rank became known are dropped here. */
void coll_agree_handle(struct coll_agree *agree, const struct coll_agree_message *message)
{
	if (agree->finished || coll_agree_fenced(agree, message->from))
		return;
	if (!coll_agree_handle_acceptor(agree, message))
		coll_agree_handle_proposer(agree, message);
}

void coll_agree_receive(struct coll_agree *agree, const struct coll_agree_message *message)
{
	coll_agree_handle(agree, message);
	coll_agree_advance(agree);
}

void coll_agree_lost(struct coll_agree *agree, unsigned int rank)
{
	if (!agree->sealed)
		coll_ranks_add(&agree->lost, rank);
	coll_agree_advance(agree);
}
