/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef COLL_COMM_H
#define COLL_COMM_H

#include <pthread.h>
#include <sys/socket.h>

#include "collective.h"
#include "comm/config.h"

struct coll_region;
struct coll_shrink;
struct request;

/**
 * struct coll_comm - a member of a group
 * @fd: /dev/collective
 * @pid: of the process that made it
 * @rank: mine
 * @nranks: how many there are
 * @settings: what the group was made with, which its children (split.c) inherit
 * @name_stem: characters of its name that its children's begin with; 0: those that fit
 * @addr: where it listens
 * @peers: where all listen, by rank, with their doors; NULL before CONNECT
 * @lock: protects the fields below
 * @regions: memory known to mem.c, in no order
 * @nregions: how many
 * @regions_max: how many @regions has room for
 * @failure: why the latest call failed, where the kernel knows no reason; or empty
 * @failure_instance: operation that had failed last when @failure was written
 * @failure_kind: what the group had failed by, enum collective_reason_kind
 * @requests: operations under way, see request.c
 * @detail: what coll_error_detail() returned last
 * @split_lock: one split at a time; taken before @lock; protects the fields below
 * @has_left: the group has been left already
 * @shrink: what lasts over calls of coll_shrink(); NULL: there was none
 * @nsplits: splits begun
 * @exchange: what the ranks tell each other in a split, COLL_RECORD_SIZE each;
 *	there from the beginning, so that a rank without memory can say so
 */
struct coll_comm {
	int fd;
	pid_t pid;
	int rank;
	int nranks;
	struct coll_settings settings;
	size_t name_stem;
	struct sockaddr_storage addr;
	struct sockaddr_storage *peers;

	pthread_mutex_t lock;
	struct coll_region *regions;
	size_t nregions;
	size_t regions_max;
	char failure[COLL_DETAIL_SIZE];
	__u64 failure_instance;
	__u32 failure_kind;
	struct request *requests;
	char detail[COLL_DETAIL_SIZE];

	pthread_mutex_t split_lock;
	bool has_left;
	struct coll_shrink *shrink;
	unsigned int nsplits;
	uint8_t *exchange;
};

#define COLL_RECORD_SIZE	32

/*
 * Is this process a child of the one that made @comm?  Its copies of the locks may be held for
 * ever, by threads that it does not have, so every function asks before it takes one.
 */
bool coll_comm_is_foreign(const struct coll_comm *comm);

/* Take @comm->lock.  Return: 0, -EPERM: a child, nothing is locked. */
int coll_comm_lock(struct coll_comm *comm);
void coll_comm_unlock(struct coll_comm *comm);

/* A communicator without a device yet, or NULL: no memory. */
struct coll_comm *coll_comm_new(const struct coll_settings *settings);

/*
 * A communicator for a group of some of @parent's ranks, with @settings->id, rank and
 * nranks; names it in @settings.  NULL: no memory.
 */
struct coll_comm *coll_comm_child(const struct coll_comm *parent, struct coll_settings *settings);

/* Close the device and free everything; NULL is ignored. */
void coll_comm_free(struct coll_comm *comm);

/*
 * CONNECT to the ranks at @peers, and keep these; @comm->setup.deadline holds.  On a
 * non-blocking file it is -EINPROGRESS, and the same call again tells.
 */
int coll_comm_connect(struct coll_comm *comm,
		      const struct sockaddr_storage *peers,
		      struct coll_detail *detail);

/*
 * Keep @text for coll_error_detail(), until another call fails; empty: what the kernel says is
 * the latest.
 */
void coll_comm_set_failure(struct coll_comm *comm, const char *text);

/* Say why memory was not registered, for coll_error_detail(); @err 0 says nothing. */
int coll_register_failed(struct coll_comm *comm, const void *addr, size_t size,
			 unsigned int flags, int err);

/* The registered buffer that holds all of this memory, or 0; under @comm->lock. */
__u32 coll_mem_buffer(struct coll_comm *comm, const void *addr, size_t size,
		      bool write);

/* Free all handles, once the device is closed. */
void coll_request_free_all(struct coll_comm *comm);

/* Free everything that mem.c knows, once the device is closed. */
void coll_mem_free_all(struct coll_comm *comm);

#endif /* COLL_COMM_H */
