// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * coll_shrink(): a group of the surviving ranks of another group.
 *
 * agree.c decides which group, pace.c decides when to send, socket.c sends and receives, and
 * round.c makes this rank a member.  This file has the call itself and asks the module for dead
 * ranks.  Documentation/design/shrink.rst proves that two ranks never get different groups.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "bootstrap/rejoin_port.h"
#include "comm/cancellation.h"
#include "comm/deadline.h"
#include "comm/device.h"
#include "comm/interrupt.h"
#include "shrink/shrink.h"

#define DEVICE_POLL_MS	100	/* interval at which the module is asked for dead ranks */

/*
 * The module
 */

static int leave(struct coll_comm *comm)
{
	const int err = coll_device_leave(comm->fd);

	if (err && err != -ENOTCONN)
		return err;
	comm->has_left = true;
	return 0;
}

/*
 * Leave the old group, unless it has failed: this rank's death must not be given as the reason for
 * its failure later, nor have been.  The latter is when another thread of this process dumps core,
 * which is reported at once; then the others may go on without this rank.
 */
static int leave_old_group(void *env)
{
	struct coll_comm *comm = ((struct coll_shrink *)env)->comm;
	struct collective_status status;
	int err = coll_device_status(comm->fd, &status);

	if (!err && status.state != COLLECTIVE_STATE_ABORTED && !comm->has_left)
		err = leave(comm) ?: coll_device_status(comm->fd, &status);
	if (err)
		return err;
	return status.group.kind == COLLECTIVE_REASON_DEATH &&
	       status.group.rank_a == (uint32_t)comm->rank ? -ECONNRESET : 0;
}

/* A rank that died and thereby failed the old group has accepted nothing. */
static void check_device(struct coll_shrink *shrink)
{
	const struct collective_reason *reason;
	struct collective_status status;
	uint64_t now = coll_deadline_now();

	if (shrink->polled_at && now < shrink->polled_at + DEVICE_POLL_MS)
		return;
	shrink->polled_at = now;
	if (shrink->agree.sealed || coll_device_status(shrink->comm->fd, &status))
		return;
	reason = &status.group;
	if (reason->kind == COLLECTIVE_REASON_DEATH && reason->rank_a < shrink->agree.nranks &&
	    reason->rank_a != shrink->agree.rank)
		coll_agree_lost(&shrink->agree, reason->rank_a);
}

static uint64_t number(void *env)
{
	uint64_t id = 0;

	(void)env;
	while (!id)
		if (getrandom(&id, sizeof(id), 0) != sizeof(id))
			id = 0;
	return id;
}

static const struct coll_agree_ops ops = {
	.send = coll_shrink_send,
	.join = coll_shrink_join,
	.connect = coll_shrink_connect,
	.abandon = coll_shrink_abandon,
	.leave = leave_old_group,
	.number = number,
};

/*
 * Texts
 */

/* Write the ranks as "rank 1, rank 2".  Return: their number. */
static unsigned int list(char *text, size_t size, const struct coll_ranks *ranks,
			 unsigned int nranks)
{
	unsigned int rank, n = 0;
	size_t at = 0;

	text[0] = '\0';
	for (rank = 0; rank < nranks; rank++) {
		if (!coll_ranks_has(ranks, rank))
			continue;
		if (at + 16 < size)
			at += sprintf(text + at, "%srank %u", n ? ", " : "", rank);
		else if (at + 6 < size && text[at - 1] != '.')
			at += sprintf(text + at, ", ...");
		n++;
	}
	return n;
}

/* Name the ranks that were left out although they may be alive. */
static void report_left_out(const struct coll_shrink *shrink)
{
	const struct coll_ranks alive = coll_agree_alive(&shrink->agree);
	const struct coll_ranks late = coll_ranks_without(alive,
							  &shrink->agree.value.members);
	char text[COLL_DETAIL_SIZE] = "";
	size_t at;

	if (!list(text, sizeof(text) - 100, &late, shrink->agree.nranks))
		return;
	at = strlen(text);
	sprintf(text + at, " of group %.32s did not come and was left out",
		shrink->comm->settings.name);
	coll_comm_set_failure(shrink->child, text);
}

static int report_timeout(struct coll_shrink *shrink)
{
	const struct coll_agree *agree = &shrink->agree;
	const struct coll_ranks *refused = &shrink->pace.refused;
	struct coll_ranks silent = coll_agree_alive(agree);
	char text[COLL_DETAIL_SIZE / 2];
	unsigned int rank;

	for (rank = 0; rank < agree->nranks; rank++)
		if (rank == agree->rank || shrink->peers[rank].heard_at)
			coll_ranks_remove(&silent, rank);
	if (!list(text, sizeof(text), &silent, agree->nranks))
		return coll_fail(&shrink->detail, -ETIMEDOUT,
				 "no group was formed before the deadline");
	return coll_fail(&shrink->detail, -ETIMEDOUT,
			 "no answer from %s; the other ranks may be too few for a group%s", text,
			 coll_ranks_none(refused) ? "" :
			 " (UDP is refused: some have ended, or a packet filter rejects it)");
}

static int report_end(struct coll_shrink *shrink)
{
	if (coll_interrupt_wanted())
		return coll_interrupt_explain(-ECANCELED, shrink->comm->rank, &shrink->detail);
	return report_timeout(shrink);
}

static int report_too_late(struct coll_shrink *shrink)
{
	char text[COLL_DETAIL_SIZE / 2];

	list(text, sizeof(text), &shrink->agree.value.members, shrink->agree.nranks);
	return coll_fail(&shrink->detail, -ETIMEDOUT,
			 "rank %d came too late: the others have formed a group without it: %s",
			 shrink->comm->rank, text);
}

/*
 * The call
 */

void coll_shrink_free(struct coll_shrink *shrink)
{
	if (!shrink)
		return;
	coll_comm_free(shrink->child);
	free(shrink->table);
	free(shrink->places);
	free(shrink->peers);
	free(shrink);
}

static struct coll_shrink *shrink_new(struct coll_comm *comm)
{
	struct coll_shrink *shrink = calloc(1, sizeof(*shrink));

	if (!shrink)
		return NULL;
	shrink->comm = comm;
	shrink->peers = calloc(comm->nranks, sizeof(*shrink->peers));
	shrink->places = calloc(comm->nranks, sizeof(*shrink->places));
	shrink->table = calloc(comm->nranks, sizeof(*shrink->table));
	if (!shrink->peers || !shrink->places || !shrink->table) {
		coll_shrink_free(shrink);
		return NULL;
	}
	shrink->pace.agree = &shrink->agree;
	shrink->pace.peers = shrink->peers;
	coll_agree_init(&shrink->agree, &ops, shrink, comm->rank, comm->nranks);
	return shrink;
}

/*
 * Run the agreement until it has finished, time is over, or the caller wants the end, which is as
 * if time were over: the other ranks see a rank that is silent from now on.  Messages that have
 * arrived are handled first: a rank that was stopped learns from them before it acts.
 */
static void run_agreement(struct coll_shrink *shrink)
{
	uint64_t next;

	coll_shrink_receive_all(shrink);
	while (!shrink->agree.finished && !shrink->socket_error && !coll_interrupt_wanted()) {
		check_device(shrink);
		coll_shrink_receive_all(shrink);
		next = coll_pace_run(&shrink->pace, coll_deadline_now());
		coll_shrink_poll_connect(shrink);
		if (shrink->agree.finished)
			break;
		if (!coll_deadline_left(shrink->pace.deadline))
			break;
		coll_shrink_wait(shrink, next < shrink->pace.deadline ? next :
				 shrink->pace.deadline);
	}
	if (!shrink->agree.finished && !shrink->socket_error && shrink->agree.decided)
		coll_agree_finish(&shrink->agree);
}

static int run(struct coll_shrink *shrink, unsigned int flags)
{
	int err;

	shrink->detail = (struct coll_detail){ shrink->text, sizeof(shrink->text) };
	shrink->text[0] = '\0';
	shrink->socket_error = 0;
	shrink->polled_at = 0;
	coll_agree_begin(&shrink->agree, flags & COLL_SHRINK_MINORITY);
	coll_pace_begin(&shrink->pace, coll_deadline_now(),
			shrink->comm->settings.init_timeout_ms);
	run_agreement(shrink);
	if (!shrink->agree.finished)
		err = shrink->socket_error ?: report_end(shrink);
	else if (shrink->agree.result && shrink->agree.decided)
		err = report_too_late(shrink);
	else
		err = shrink->agree.result;
	/* A group in which this rank is ready is kept, since it may have been decided. */
	shrink->agree.finished = true;
	if (err)
		coll_agree_end(&shrink->agree);
	return err;
}

static int shrink(struct coll_comm *comm, unsigned int flags, struct coll_comm **new)
{
	struct coll_shrink *shrink;
	int err;

	if (flags & ~COLL_SHRINK_MINORITY) {
		coll_comm_set_failure(comm, "unknown flag");
		return -EINVAL;
	}
	if (comm->nranks > 1 && comm->settings.rejoin_fd < 0) {
		coll_comm_set_failure(comm, "the group has been shrunk before");
		return -EINVAL;
	}
	if (!comm->shrink)
		comm->shrink = shrink_new(comm);
	shrink = comm->shrink;
	if (!shrink) {
		coll_comm_set_failure(comm, "no memory");
		return -ENOMEM;
	}
	err = run(shrink, flags);
	if (!err) {
		report_left_out(shrink);
		*new = shrink->child;
		shrink->child = NULL;
		/* The child has a duplicate of the rejoin port. */
		coll_rejoin_port_close(&comm->settings);
	}
	coll_comm_set_failure(comm, err ? shrink->text : "");
	if (!err) {
		coll_shrink_free(shrink);
		comm->shrink = NULL;
	}
	return err;
}

static int shrink_interruptible(struct coll_comm *comm, unsigned int flags, struct coll_comm **new)
{
	struct coll_interrupt interrupt;
	int err = -ECANCELED;

	coll_interrupt_begin(&interrupt, comm->settings.interrupt,
			     comm->settings.interrupt_context);
	if (coll_interrupt_lock_any_time(&comm->split_lock)) {
		err = shrink(comm, flags, new);
		pthread_mutex_unlock(&comm->split_lock);
	} else {
		coll_comm_set_failure(comm, "interrupted before it has begun");
	}
	(void)coll_interrupt_end(&interrupt);
	return err;
}

int coll_shrink_flags(struct coll_comm *comm, unsigned int flags, struct coll_comm **left)
{
	int state, err;

	if (!comm || !left)
		return -EINVAL;
	*left = NULL;
	if (coll_comm_is_foreign(comm))
		return -EPERM;
	state = coll_cancellation_off();
	err = shrink_interruptible(comm, flags, left);
	coll_cancellation_restore(state);
	return err;
}

int coll_shrink(struct coll_comm *comm, struct coll_comm **new)
{
	return coll_shrink_flags(comm, 0, new);
}
