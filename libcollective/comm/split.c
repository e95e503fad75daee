// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Groups made of the ranks of another one.
 *
 * Every rank of the parent goes through the same steps, whatever fails where:
 *
 *	exchange	everybody's colour and key, and rank 0's count of splits
 *	prepare		open the device and JOIN the child
 *	exchange	everybody's new address, or the error that there is none
 *	CONNECT		of the colours in which nobody failed
 *	barrier		of the child: all have connected
 *
 * So a rank that cannot go on says so while the others listen, and its whole
 * colour returns its error; the other colours get their groups.  Who fails in the
 * last two steps closes the child, which ends these steps elsewhere.  The first
 * exchange waits as any operation does; from then on all ranks are known to be
 * there and have the time of coll_init() for the rest.
 *
 * The child's number is made of the parent's, the count and the colour, so that
 * it is the same on all its ranks and, but for an accident of one in 2^64, no
 * other group's.  Its name ends with that number and thus is unique, too.
 *
 * The exchanges are operations of the parent.  Splits by several threads are kept
 * apart by @order, so that one split is one item in the parent's order of calls.  A rank
 * whose exchange is refused, for want of memory say, has not taken part in it, and would be out
 * of step with the others from then on if it went on without: so it tries again until the time
 * of the group is over.  Only EAGAIN ends a split before it has begun, because it is the caller
 * who has to wait for operations under way; the others meanwhile wait for this rank to call
 * again.  The two exchanges differ in type, so that a rank which is out of step all the same
 * makes a mismatch of it.
 */
#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bootstrap/address.h"
#include "bootstrap/message.h"
#include "bootstrap/rejoin_port.h"
#include "comm/cancellation.h"
#include "comm/comm.h"
#include "comm/deadline.h"
#include "comm/device.h"
#include "comm/operation.h"

/* Between two attempts at an exchange that is refused. */
#define AGAIN_MS	10

/* What a rank says in the first exchange, and in the second; little-endian. */
struct call {
	__u32 color;
	__u32 key;
	__u32 count;
	__u32 unused[5];
};

struct place {
	__u8 entry[COLL_ENTRY_SIZE];
	__u32 error;
	__u32 unused;
};

_Static_assert(sizeof(struct call) == COLL_RECORD_SIZE, "call");
_Static_assert(sizeof(struct place) == COLL_RECORD_SIZE, "place");

/**
 * struct part - a rank of the child
 * @key: that it gave
 * @rank: its rank in the parent
 */
struct part {
	int key;
	int rank;
};

/**
 * struct split - one call of coll_split()
 * @parent: communicator
 * @color: this rank's, perhaps COLL_UNDEFINED
 * @key: this rank's
 * @detail: texts
 * @deadline: of everything behind the first exchange (deadline.h)
 * @count: which split of the parent it is
 * @nparts: ranks of this colour
 * @parts: these, in the order of their new ranks
 * @peers: their addresses
 * @child: the new communicator
 */
struct split {
	struct coll_comm *parent;
	int color;
	int key;
	struct coll_detail detail;
	uint64_t deadline;
	__u32 count;
	int nparts;
	struct part *parts;
	struct sockaddr_storage *peers;
	struct coll_comm *child;
};

static int exchange(struct coll_comm *comm, __u8 type, unsigned int timeout_ms)
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

	return coll_operation_run(comm, &operation, 0);
}

/* Has the exchange not begun here, while the others wait for this rank? */
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

/* Try an exchange again after a pause?  Until @deadline. */
static bool exchange_again(struct coll_comm *comm, int err, uint64_t deadline)
{
	return exchange_refused(comm, err) && coll_deadline_left(deadline) &&
	       !usleep(AGAIN_MS * 1000);
}

static int exchange_calls(struct split *split)
{
	struct coll_comm *parent = split->parent;
	const uint64_t deadline = coll_deadline_in(parent->setup.init_timeout_ms);
	struct call *calls = (void *)parent->exchange;
	int err;

	calls[parent->rank] = (struct call) {
		.color = htole32(split->color),
		.key = htole32(split->key),
		.count = htole32(parent->nsplits++),
	};
	do {
		err = exchange(parent, COLLECTIVE_UINT8, 0);
	} while (err != -EAGAIN && exchange_again(parent, err, deadline));
	split->count = le32toh(calls[0].count);
	return err;
}

/* MurmurHash3's finalizer: every bit of @x counts for every bit of the result. */
static __u64 mix(__u64 x)
{
	x = (x ^ x >> 33) * 0xff51afd7ed558ccdULL;
	x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53ULL;
	return x ^ x >> 33;
}

static __u64 child_id(const struct split *split)
{
	return mix(mix(split->parent->setup.id) +
		   ((__u64)split->count << 32 | (__u32)split->color));
}

static int part_compare(const void *a, const void *b)
{
	const struct part *l = a, *r = b;

	if (l->key != r->key)
		return l->key < r->key ? -1 : 1;
	return l->rank < r->rank ? -1 : l->rank > r->rank;
}

static int find_parts(struct split *split)
{
	const struct coll_comm *parent = split->parent;
	const struct call *calls = (void *)parent->exchange;
	int i;

	split->parts = calloc(parent->nranks, sizeof(*split->parts));
	if (!split->parts)
		return -ENOMEM;
	for (i = 0; i < parent->nranks; i++)
		if ((int)le32toh(calls[i].color) == split->color)
			split->parts[split->nparts++] = (struct part) {
				.key = (int)le32toh(calls[i].key),
				.rank = i,
			};
	qsort(split->parts, split->nparts, sizeof(*split->parts), part_compare);
	split->peers = calloc(split->nparts, sizeof(*split->peers));
	return split->peers ? 0 : -ENOMEM;
}

static int child_join(struct split *split)
{
	const struct coll_comm *parent = split->parent;
	struct coll_setup setup = parent->setup;
	struct coll_comm *child;
	int err;

	setup.rank = 0;
	while (split->parts[setup.rank].rank != parent->rank)
		setup.rank++;
	setup.nranks = split->nparts;
	setup.deadline = split->deadline;
	setup.id = child_id(split);
	child = coll_comm_child(parent, &setup);
	if (!child)
		return -ENOMEM;
	split->child = child;
	err = coll_device_open(setup.nranks, &split->detail);
	if (err < 0)
		return err;
	child->fd = err;
	return coll_lifeline_join(child->fd, &child->setup, &child->addr, &split->detail);
}

/* This rank's part, as far as it needs nobody else. */
static int prepare(struct split *split)
{
	int err;

	if (split->color == COLL_UNDEFINED)
		return 0;
	if (split->color < 0)
		return coll_fail(&split->detail, -EINVAL, "there is no colour %d",
				 split->color);
	err = find_parts(split) ?: child_join(split);
	return err ? coll_fail(&split->detail, err, "rank %d: %s",
			       split->parent->rank, coll_strerror(err)) : 0;
}

static int read_places(struct split *split)
{
	const struct place *places = (void *)split->parent->exchange;
	int i, err;

	for (i = 0; i < split->nparts; i++) {
		int rank = split->parts[i].rank;

		err = le32toh(places[rank].error);
		if (err)
			return coll_fail(&split->detail,
					 err > 0 && err < 4096 ? -err : -EPROTO,
					 "rank %d could not join group %s: %s",
					 rank, split->child->setup.name,
					 coll_strerror(err));
		err = coll_message_read_entry(places[rank].entry,
					      &split->peers[i]);
		if (err)
			return coll_fail(&split->detail, err,
					 "rank %d sent no address", rank);
		coll_address_scope(&split->peers[i], &split->child->addr);
	}
	return 0;
}

static int exchange_places(struct split *split, int mine)
{
	struct coll_comm *parent = split->parent;
	struct place *place = (struct place *)parent->exchange + parent->rank;
	int err;

	memset(place, 0, sizeof(*place));
	place->error = htole32(-mine);
	if (!mine && split->child)
		coll_message_entry(place->entry, &split->child->addr);
	do {
		err = exchange(parent, COLLECTIVE_INT8, coll_deadline_left(split->deadline) ?: 1);
	} while (exchange_again(parent, err, split->deadline));
	return err ?: mine ?: read_places(split);
}

/* The parent's part in it. */
static int agree(struct split *split)
{
	unsigned int timeout_ms = split->parent->setup.init_timeout_ms;
	int err = exchange_calls(split);

	if (err)
		return err;
	split->deadline = coll_deadline_in(timeout_ms);
	return exchange_places(split, prepare(split));
}

/* The child's part. */
static int meet(struct split *split)
{
	struct coll_operation barrier = { .op.opcode = COLLECTIVE_BARRIER };
	struct coll_comm *child = split->child;
	int err;

	err = coll_comm_connect(child, split->peers, &split->detail);
	if (err)
		return err;
	barrier.op.timeout_ms = coll_deadline_left(split->deadline) ?: 1;
	err = coll_operation_run(child, &barrier, 0);
	return err ? coll_fail(&split->detail, err, "group %s: %s",
			       child->setup.name, coll_error_detail(child)) : 0;
}

static int make(struct split *split)
{
	struct coll_comm *parent = split->parent;
	int err;

	pthread_mutex_lock(&parent->order);
	err = agree(split);
	pthread_mutex_unlock(&parent->order);
	if (!err && split->child)
		err = meet(split);
	if (err) {
		coll_comm_free(split->child);
		split->child = NULL;
	}
	free(split->peers);
	free(split->parts);
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
	int state, err;

	*newcomm = NULL;
	if (coll_comm_foreign(comm))
		return -EPERM;
	state = coll_cancellation_off();
	err = make(&split);
	*newcomm = split.child;
	/* Of an exchange there is a text already. */
	if (!err || *text)
		coll_comm_note(comm, text);
	coll_cancellation_restore(state);
	return err;
}

int coll_dup(struct coll_comm *comm, struct coll_comm **newcomm)
{
	return coll_split(comm, 0, 0, newcomm);
}
