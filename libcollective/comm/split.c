// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * coll_split(): groups made of the ranks of another group, the parent.
 *
 * Every rank of the parent goes through the same steps, whatever fails on any rank:
 *
 *	exchange	colour and key of every rank, and rank 0's number of splits
 *	prepare		open the device and JOIN the child
 *	exchange	new address of every rank, or its error
 *	CONNECT		in the colours in which no rank failed
 *	barrier		of the child: all ranks have connected
 *	barrier		no rank was interrupted in the first one
 *
 * A function of the caller's may end each step but the last.  A rank that is interrupted cancels
 * the step on all ranks.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bootstrap/address.h"
#include "bootstrap/message.h"
#include "bootstrap/rejoin_port.h"
#include "comm/cancellation.h"
#include "comm/comm.h"
#include "comm/deadline.h"
#include "comm/device.h"
#include "comm/interrupt.h"
#include "comm/operation.h"

/* Interval between two attempts at an exchange, in ms. */
#define RETRY_MS	10

/*
 * Time that a rank takes after it was interrupted, in ms: to end the second exchange, so that no
 * rank connects to one that does not; and to connect, so that the others see it leave.
 */
#define PATIENCE_MS	200
#define PART_MS		1000

/* Records of the first and the second exchange; little-endian. */
struct split_request {
	__u32 color;
	__u32 key;
	__u32 count;
	__u32 unused[5];
};

struct split_address {
	__u8 entry[BOOTSTRAP_ENTRY_SIZE];
	__u32 error;
	__u32 unused;
};

_Static_assert(sizeof(struct split_request) == COLL_RECORD_SIZE, "call");
_Static_assert(sizeof(struct split_address) == COLL_RECORD_SIZE, "place");

/**
 * struct split_member - rank of the child
 * @key: its key
 * @rank: its rank in the parent
 */
struct split_member {
	int key;
	int rank;
};

/**
 * struct split - one call of coll_split()
 * @parent: communicator that is split
 * @color: colour of this rank, or COLL_UNDEFINED
 * @key: key of this rank
 * @detail: text of a failure
 * @deadline: end of the steps after the first exchange (comm/deadline.h)
 * @count: number of this split of the parent
 * @nmembers: number of ranks of this colour
 * @members: ranks of this colour, in the order of their new ranks
 * @peers: their addresses
 * @child: new communicator
 */
struct split {
	struct coll_comm *parent;
	int color;
	int key;
	struct coll_detail detail;
	uint64_t deadline;
	__u32 count;
	int nmembers;
	struct split_member *members;
	struct sockaddr_storage *peers;
	struct coll_comm *child;
};

static int exchange(struct coll_comm *comm, __u8 type, unsigned int timeout_ms, int patience_ms)
{
	struct coll_operation operation = {
		.op = {
			.opcode = COLLECTIVE_ALLGATHER,
			.type = type,
			.timeout_ms = timeout_ms,
			.count = COLL_RECORD_SIZE,
			.send = (uintptr_t)comm->exchange,
			.recv = (uintptr_t)comm->exchange,
		},
	};

	return coll_operation_run_interruptible(comm, &operation, patience_ms);
}

/*
 * Did this rank fail to submit the exchange, while the others wait for it?  It has not taken
 * part and would be out of step if it went on, so it retries until the time limit.  The two
 * exchanges differ in type, so a rank that is out of step anyway causes a mismatch.
 */
static bool exchange_refused(struct coll_comm *comm, int err)
{
	switch (err) {
	case -EAGAIN:
	case -ENOMEM:
	case -EDQUOT:
	case -ENOBUFS:
	case -ENFILE:
	case -EADDRINUSE:
	case -EADDRNOTAVAIL:
		return !coll_comm_failed(comm);
	}
	return false;
}

/* Time until @deadline in ms, also if the end is wanted: the other ranks wait for what follows. */
static unsigned int time_left(uint64_t deadline)
{
	struct coll_interrupt *const suspended = coll_interrupt_suspend();
	const unsigned int left = coll_deadline_left(deadline);

	coll_interrupt_resume(suspended);
	return left;
}

/* After a pause: should the exchange be tried again?  Not after @deadline. */
static bool exchange_retry(struct coll_comm *comm, int err, uint64_t deadline)
{
	return exchange_refused(comm, err) && time_left(deadline) && poll(NULL, 0, RETRY_MS) <= 0;
}

static int exchange_requests(struct split *split)
{
	struct coll_comm *parent = split->parent;
	const uint64_t deadline = coll_deadline_in(parent->settings.init_timeout_ms);
	struct split_request *requests = (void *)parent->exchange;
	int err;

	requests[parent->rank] = (struct split_request) {
		.color = htole32(split->color),
		.key = htole32(split->key),
		.count = htole32(parent->nsplits++),
	};
	/*
	 * EAGAIN ends the split before it has begun, because the caller has to wait for operations
	 * under way.  The other ranks wait until this one calls again.
	 */
	do {
		err = exchange(parent, COLLECTIVE_UINT8, 0, 0);
	} while (err != -EAGAIN && exchange_retry(parent, err, deadline) &&
		 !coll_interrupt_ask(false));
	split->count = le32toh(requests[0].count);
	return err;
}

/* Finalizer of MurmurHash3: every bit of @x affects every bit of the result. */
static __u64 mix(__u64 x)
{
	x = (x ^ x >> 33) * 0xff51afd7ed558ccdULL;
	x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53ULL;
	return x ^ x >> 33;
}

/*
 * Equal on all ranks of the child; differs from any other id, except for a collision of one in
 * 2^64.  The child's name ends with a digest of it and is thus unique as well.
 */
static __u64 child_id(const struct split *split)
{
	return mix(mix(split->parent->settings.id) +
		   ((__u64)split->count << 32 | (__u32)split->color));
}

static int member_compare(const void *a, const void *b)
{
	const struct split_member *l = a, *r = b;

	if (l->key != r->key)
		return l->key < r->key ? -1 : 1;
	return l->rank < r->rank ? -1 : l->rank > r->rank;
}

static int find_members(struct split *split)
{
	const struct coll_comm *parent = split->parent;
	const struct split_request *requests = (void *)parent->exchange;
	int i;

	split->members = calloc(parent->nranks, sizeof(*split->members));
	if (!split->members)
		return -ENOMEM;
	for (i = 0; i < parent->nranks; i++)
		if ((int)le32toh(requests[i].color) == split->color)
			split->members[split->nmembers++] = (struct split_member) {
				.key = (int)le32toh(requests[i].key),
				.rank = i,
			};
	qsort(split->members, split->nmembers, sizeof(*split->members), member_compare);
	split->peers = calloc(split->nmembers, sizeof(*split->peers));
	return split->peers ? 0 : -ENOMEM;
}

static int child_join(struct split *split)
{
	const struct coll_comm *parent = split->parent;
	struct coll_settings settings = parent->settings;
	struct coll_comm *child;
	int err;

	settings.rank = 0;
	while (split->members[settings.rank].rank != parent->rank)
		settings.rank++;
	settings.nranks = split->nmembers;
	settings.deadline = split->deadline;
	settings.id = child_id(split);
	child = coll_comm_child(parent, &settings);
	if (!child)
		return -ENOMEM;
	split->child = child;
	err = coll_device_open(settings.nranks, &split->detail);
	if (err < 0)
		return err;
	child->fd = err;
	return coll_rejoin_port_join(child->fd, &child->settings, &child->addr, &split->detail);
}

/* The step without communication: find the members, open the device and JOIN. */
static int prepare(struct split *split)
{
	int err;

	if (split->color == COLL_UNDEFINED)
		return 0;
	if (split->color < 0)
		return coll_fail(&split->detail, -EINVAL, "there is no colour %d",
				 split->color);
	err = find_members(split) ?: child_join(split);
	return err ? coll_fail(&split->detail, err, "rank %d: %s",
			       split->parent->rank, coll_strerror(err)) : 0;
}

static int read_addresses(struct split *split)
{
	const struct split_address *addresses = (void *)split->parent->exchange;
	int i, err;

	for (i = 0; i < split->nmembers; i++) {
		int rank = split->members[i].rank;

		err = le32toh(addresses[rank].error);
		if (err)
			return coll_fail(&split->detail,
					 err > 0 && err < 4096 ? -err : -EPROTO,
					 "rank %d could not join group %s: %s",
					 rank, split->child->settings.name,
					 coll_strerror(err));
		err = bootstrap_read_entry(addresses[rank].entry,
					   &split->peers[i]);
		if (err)
			return coll_fail(&split->detail, err,
					 "rank %d sent no address", rank);
		coll_address_scope(&split->peers[i], &split->child->addr);
	}
	return 0;
}

static int exchange_addresses(struct split *split, int mine)
{
	struct coll_comm *parent = split->parent;
	struct split_address *own = (struct split_address *)parent->exchange + parent->rank;
	int err;

	memset(own, 0, sizeof(*own));
	own->error = htole32(-mine);
	if (!mine && split->child)
		bootstrap_write_entry(own->entry, &split->child->addr);
	do {
		err = exchange(parent, COLLECTIVE_INT8, time_left(split->deadline) ?: 1,
			       PATIENCE_MS);
	} while (exchange_retry(parent, err, split->deadline));
	return err ?: mine ?: read_addresses(split);
}

/*
 * The steps that use the parent.  A rank that fails reports it in the second exchange: all
 * ranks of its colour return its error, and the other colours get their groups.  The first
 * exchange has the deadline of any operation.  After it all ranks are known to take part and
 * have the time limit of coll_init().
 *
 * Where a rank is interrupted in the first exchange, others may have completed it.  So all ranks go
 * on to the second one, and their calls stay in step.
 */
static int exchange_all(struct split *split)
{
	unsigned int timeout_ms = split->parent->settings.init_timeout_ms;
	int err = exchange_requests(split);

	if (err && err != -ECANCELED)
		return err;
	if (coll_interrupt_wanted())
		err = -ECANCELED;
	split->deadline = coll_deadline_in(timeout_ms);
	return exchange_addresses(split, err ?: prepare(split));
}

static int barrier(const struct split *split)
{
	struct coll_operation operation = {
		.op = {
			.opcode = COLLECTIVE_BARRIER,
			.timeout_ms = time_left(split->deadline) ?: 1,
		},
	};

	return coll_operation_run_interruptible(split->child, &operation, 0);
}

/*
 * Ranks may have completed the barrier in which another one is interrupted.  These wait for it in
 * the next barrier, so they do not return a group that it does not have.  That barrier does not
 * wait for calls, because all ranks have come.
 */
static int meet(const struct split *split)
{
	struct coll_interrupt *suspended;
	int err = barrier(split);

	if (err)
		return err;
	suspended = coll_interrupt_suspend();
	err = barrier(split);
	coll_interrupt_resume(suspended);
	return err;
}

/*
 * Let the others see that this rank leaves.  They may wait until their deadline for a rank that has
 * not connected, so it does that before the child is closed.
 */
static void part(const struct split *split)
{
	struct coll_interrupt *const suspended = coll_interrupt_suspend();
	struct pollfd up = { .fd = split->child->fd, .events = POLLOUT };
	struct coll_detail none = { 0 };

	fcntl(split->child->fd, F_SETFL, O_NONBLOCK);
	if (coll_comm_connect(split->child, split->peers, &none) == -EINPROGRESS)
		(void)poll(&up, 1, PART_MS);
	coll_interrupt_resume(suspended);
}

/*
 * The steps that use the child.  A rank that fails here closes the child, which ends these
 * steps on the other ranks.
 */
static int connect_child(struct split *split)
{
	struct coll_comm *child = split->child;
	int err = -ECANCELED;

	if (!coll_interrupt_wanted())
		err = coll_comm_connect(child, split->peers, &split->detail);
	if (err && coll_interrupt_wanted())
		part(split);
	if (err)
		return err;
	err = meet(split);
	return err ? coll_fail(&split->detail, err, "group %s: %s",
			       child->settings.name, coll_error_detail(child)) : 0;
}

static int run_split(struct split *split)
{
	struct coll_comm *parent = split->parent;
	int err;

	/* One split is one item in the parent's order of calls, also with several threads. */
	if (!coll_interrupt_lock_any_time(&parent->split_lock))
		return coll_interrupt_explain(-ECANCELED, parent->rank, &split->detail);
	err = exchange_all(split);
	pthread_mutex_unlock(&parent->split_lock);
	if (!err && split->child)
		err = connect_child(split);
	if (err) {
		err = coll_interrupt_explain(err, parent->rank, &split->detail);
		coll_comm_free(split->child);
		split->child = NULL;
	}
	free(split->peers);
	free(split->members);
	return err;
}

int coll_split(struct coll_comm *comm, int color, int key,
	       struct coll_comm **newcomm)
{
	char text[COLL_DETAIL_SIZE] = "";
	struct split split = {
		.parent = comm,
		.color = color,
		.key = key,
		.detail = { text, sizeof(text) },
	};
	struct coll_interrupt interrupt;
	int state, err;

	if (!comm || !newcomm)
		return -EINVAL;
	*newcomm = NULL;
	if (coll_comm_is_foreign(comm))
		return -EPERM;
	state = coll_cancellation_off();
	coll_interrupt_begin(&interrupt, comm->settings.interrupt,
			     comm->settings.interrupt_context);
	err = run_split(&split);
	(void)coll_interrupt_end(&interrupt);
	*newcomm = split.child;
	/* A failed exchange has set its own text. */
	if (!err || *text)
		coll_comm_set_failure(comm, text);
	coll_cancellation_restore(state);
	return err;
}

int coll_dup(struct coll_comm *comm, struct coll_comm **newcomm)
{
	return coll_split(comm, 0, 0, newcomm);
}
