// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mailboxes: GRANT, CREDIT and CONSUMED frames on their way from the control runner, which
 * receives them, to the lane that they are for.
 */
#include <linux/slab.h>

#include "core/engine/instance.h"
#include "core/wire/wire.h"
#include "mem/account.h"
#include "net/mailbox.h"

static u32 grants_bytes(u32 size)
{
	return size * sizeof(struct coll_mailbox_grant);
}

/* Make space for @size grants.  Context: control runner, or no other thread; may sleep. */
static int mailbox_resize(struct coll_mailbox *mailbox, u32 size)
{
	struct coll_mailbox_grant *grants, *old = mailbox->grants;
	int err = coll_charge(mailbox->charges, grants_bytes(size));

	if (err)
		return err;
	grants = kvmalloc(grants_bytes(size), GFP_KERNEL_ACCOUNT);
	if (!grants) {
		coll_uncharge(mailbox->charges, grants_bytes(size));
		return -ENOMEM;
	}
	spin_lock(&mailbox->lock);
	if (old)
		memcpy(grants, old, grants_bytes(mailbox->ngrants));
	mailbox->grants = grants;
	spin_unlock(&mailbox->lock);
	kvfree(old);
	coll_uncharge(mailbox->charges, grants_bytes(mailbox->size));
	mailbox->size = size;
	return 0;
}

/**
 * coll_mailbox_init() - an empty mailbox
 * @mailbox: zeroed
 * @charges: the memory is charged to
 *
 */
void coll_mailbox_init(struct coll_mailbox *mailbox, struct coll_charges *charges)
{
	spin_lock_init(&mailbox->lock);
	mailbox->charges = charges;
}

/**
 * coll_mailbox_cleanup() - undo coll_mailbox_init(), if it was called
 * @mailbox: no runner uses it
 */
void coll_mailbox_cleanup(struct coll_mailbox *mailbox)
{
	if (!mailbox->grants)
		return;
	kvfree(mailbox->grants);
	coll_uncharge(mailbox->charges, grants_bytes(mailbox->size));
}

static u16 *mailbox_head(struct coll_mailbox *mailbox, u64 instance)
{
	return &mailbox->head[coll_instance_hash(instance, COLL_MAILBOX_HASH)];
}

/* Return: 0, or -ENOBUFS: there is no space. */
static int put_grant(struct coll_mailbox *mailbox, const struct coll_control *control)
{
	u16 *head = mailbox_head(mailbox, control->instance);
	u32 i = *head;

	while (i && mailbox->grants[i - 1].grant.instance != control->instance)
		i = mailbox->grants[i - 1].next;
	if (!i && mailbox->ngrants == mailbox->size)
		return -ENOBUFS;
	if (!i) {
		i = ++mailbox->ngrants;
		mailbox->grants[i - 1].next = *head;
		*head = i;
	}
	mailbox->grants[i - 1].grant = (struct coll_grant){
		.instance = control->instance,
		.limit = control->position,
		.digest = control->digest,
	};
	return 0;
}

/* Positions of CREDIT and CONSUMED only grow. */
static int put_position(u64 *at, u64 position)
{
	int err = position < *at ? -EPROTO : 0;

	*at = position;
	return err;
}

/* A peer gets one reply to each BLOCKED, and awaits it before the next one. */
static int put_credit(struct coll_mailbox *mailbox, const struct coll_control *control)
{
	int err = put_position(&mailbox->credited, control->position);

	if (err || !control->credit_reply)
		return err;
	if (mailbox->reply)
		return -EPROTO;
	mailbox->reply = control->credit_reply;
	return 0;
}

static int put_blocked(struct coll_mailbox *mailbox, const struct coll_control *control)
{
	if (mailbox->has_blocked)
		return -EPROTO;
	mailbox->has_blocked = true;
	mailbox->blocked = control->position;
	return 0;
}

static int mailbox_put(struct coll_mailbox *mailbox, const struct coll_control *control)
{
	int err = 0;

	spin_lock(&mailbox->lock);
	switch (control->kind) {
	case COLL_CONTROL_GRANT:
		err = put_grant(mailbox, control);
		break;
	case COLL_CONTROL_CREDIT:
		err = put_credit(mailbox, control);
		break;
	case COLL_CONTROL_BLOCKED:
		err = put_blocked(mailbox, control);
		break;
	case COLL_CONTROL_CONSUMED:
		err = put_position(&mailbox->consumed, control->position);
		break;
	}
	mailbox->posted = true;
	spin_unlock(&mailbox->lock);
	return err;
}

/**
 * coll_mailbox_put() - pass a frame on to the lane, which the caller kicks afterwards
 * @mailbox: of the lane; its connection need not be open yet
 * @control: GRANT, CREDIT, CONSUMED or BLOCKED
 *
 * Context: control runner; may sleep.
 * Return: 0, -EPROTO, -EDQUOT or -ENOMEM.
 */
int coll_mailbox_put(struct coll_mailbox *mailbox, const struct coll_control *control)
{
	int err = mailbox_put(mailbox, control);

	if (err != -ENOBUFS)
		return err;
	if (mailbox->size >= COLL_MAILBOX_MOST)
		return -EPROTO;
	err = mailbox_resize(mailbox, max(2 * mailbox->size, COLL_MAILBOX_FIRST));
	return err ? err : mailbox_put(mailbox, control);
}

/* The last grant is the first one in the chain of its hash. */
static int take_grant(struct coll_mailbox *mailbox, struct coll_stream *stream)
{
	const struct coll_mailbox_grant *last = &mailbox->grants[--mailbox->ngrants];
	const struct coll_grant *grant = &last->grant;

	*mailbox_head(mailbox, grant->instance) = last->next;
	return coll_stream_granted(stream, grant->instance, grant->limit, grant->digest);
}

/**
 * coll_mailbox_take() - give the stream of a data connection what was put in for it
 * @mailbox: of the connection
 * @stream: of the connection
 * @max: grants taken at a time, under the lock
 * @more: out: number of grants that are left
 *
 * Context: the lane.
 * Return: 0 or -EPROTO.
 */
int coll_mailbox_take(struct coll_mailbox *mailbox, struct coll_stream *stream, u32 max,
		      u32 *more)
{
	int err = 0;

	spin_lock(&mailbox->lock);
	while (mailbox->ngrants && max-- && !err)
		err = take_grant(mailbox, stream);
	*more = mailbox->ngrants;
	mailbox->posted = *more;
	/* The transport of a stream by reference knows better. */
	if (!err && !stream->by_reference)
		err = coll_stream_consumed(stream, mailbox->consumed);
	if (!err)
		err = coll_stream_credited(stream, mailbox->credited, mailbox->reply);
	mailbox->reply = COLL_CREDIT_UNASKED;
	if (!err && mailbox->has_blocked)
		err = coll_stream_blocked(stream, mailbox->blocked);
	mailbox->has_blocked = false;
	spin_unlock(&mailbox->lock);
	return err;
}
