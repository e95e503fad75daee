// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mailboxes: GRANT, CREDIT and CONSUMED frames on their way from the control runner, which
 * receives them, to the lane that they are for.
 */
#include "core/engine/instance.h"
#include "core/wire/wire.h"
#include "net/mailbox.h"

/**
 * coll_mailbox_init() - an empty mailbox
 * @mailbox: zeroed
 */
void coll_mailbox_init(struct coll_mailbox *mailbox)
{
	spin_lock_init(&mailbox->lock);
}

static u16 *mailbox_head(struct coll_mailbox *mailbox, u64 instance)
{
	return &mailbox->head[coll_instance_hash(instance, COLL_MAILBOX_HASH)];
}

static int put_grant(struct coll_mailbox *mailbox, const struct coll_control *control)
{
	u16 *head = mailbox_head(mailbox, control->instance);
	u32 i = *head;

	while (i && mailbox->grants[i - 1].instance != control->instance)
		i = mailbox->next[i - 1];
	if (!i && mailbox->ngrants == ARRAY_SIZE(mailbox->grants))
		return -EPROTO;
	if (!i) {
		i = ++mailbox->ngrants;
		mailbox->next[i - 1] = *head;
		*head = i;
	}
	mailbox->grants[i - 1] = (struct coll_grant){
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

/**
 * coll_mailbox_put() - pass a frame on to the lane, which the caller kicks afterwards
 * @mailbox: of the lane; its connection need not be open yet
 * @control: GRANT, CREDIT or CONSUMED
 *
 * Context: control runner.
 * Return: 0 or -EPROTO.
 */
int coll_mailbox_put(struct coll_mailbox *mailbox, const struct coll_control *control)
{
	int err = 0;

	spin_lock(&mailbox->lock);
	switch (control->kind) {
	case COLL_CONTROL_GRANT:
		err = put_grant(mailbox, control);
		break;
	case COLL_CONTROL_CREDIT:
		err = put_position(&mailbox->credited, control->position);
		break;
	case COLL_CONTROL_CONSUMED:
		err = put_position(&mailbox->consumed, control->position);
		break;
	}
	mailbox->posted = true;
	spin_unlock(&mailbox->lock);
	return err;
}

/* The last grant is the first one in the chain of its hash. */
static int take_grant(struct coll_mailbox *mailbox, struct coll_stream *stream)
{
	const struct coll_grant *grant = &mailbox->grants[--mailbox->ngrants];

	*mailbox_head(mailbox, grant->instance) = mailbox->next[mailbox->ngrants];
	return coll_stream_granted(stream, grant->instance, grant->limit, grant->digest);
}

/**
 * coll_mailbox_take() - give the stream of a data connection what was put in for it
 * @mailbox: of the connection
 * @stream: of the connection
 * @max: grants taken at a time, under the lock
 * @more: out: true if grants are left
 *
 * Context: the lane.
 * Return: 0 or -EPROTO.
 */
int coll_mailbox_take(struct coll_mailbox *mailbox, struct coll_stream *stream, u32 max,
		      bool *more)
{
	int err = 0;

	*more = false;
	if (!READ_ONCE(mailbox->posted))
		return 0;
	spin_lock(&mailbox->lock);
	while (mailbox->ngrants && max-- && !err)
		err = take_grant(mailbox, stream);
	*more = mailbox->ngrants;
	mailbox->posted = *more;
	/* The transport of a stream by reference knows better. */
	if (!err && !stream->by_reference)
		err = coll_stream_consumed(stream, mailbox->consumed);
	if (!err)
		err = coll_stream_credited(stream, mailbox->credited);
	spin_unlock(&mailbox->lock);
	return err;
}
