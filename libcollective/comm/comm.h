/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The communicator, as the files of the library see it. */
#ifndef COLL_COMM_H
#define COLL_COMM_H

#include <pthread.h>
#include <sys/socket.h>

#include "collective.h"
#include "comm/config.h"

struct coll_mapping;
struct coll_region;
struct coll_shrink;
struct request;

/** enum coll_feature - what is known of a feature of the module */
enum coll_feature {
	COLL_FEATURE_UNASKED,
	COLL_FEATURE_KNOWN,
	COLL_FEATURE_MISSING,
};

/** coll_comm_knows_nosync - does the module know COLLECTIVE_F_NOSYNC?  It is asked once. */
bool coll_comm_knows_nosync(struct coll_comm *comm);

/**
 * struct coll_comm - communicator: this process's membership in a group
 * @fd: descriptor of /dev/collective
 * @process: coll_process_number() of the process that made it
 * @rank: rank of this process
 * @nranks: number of ranks of the group
 * @settings: settings with which the group was made; communicators made from it inherit them
 * @name_stem: number of characters of the name with which the names of its children begin; 0:
 *	as many as fit
 * @addr: address at which the kernel listens for this rank, with the rejoin port
 * @peers: such addresses of all ranks, by rank; NULL before CONNECT
 * @mapping: the group's board in this process (board/mapping.h); NULL before CONNECT, or if there
 *	is none
 * @nosync: does the module know COLLECTIVE_F_NOSYNC?
 * @lock: protects the fields below up to @detail
 * @regions: memory known to mem.c, in no order
 * @nregions: number of @regions
 * @regions_max: allocated length of @regions
 * @failure: text of the latest failure of which the kernel knows no reason; or empty
 * @failure_instance: latest failed operation when @failure was written
 * @failure_kind: reason of the group's failure then, enum collective_reason_kind
 * @why_aborted: why this rank has aborted the group, as the program says; or empty
 * @requests: list of operations under way, see request.c
 * @detail: text that coll_error_detail() returned last
 * @split_lock: serializes coll_split() and coll_shrink(); taken before @lock; protects the
 *	fields below
 * @has_left: true if the group has been left already
 * @shrink: state that lasts over calls of coll_shrink(); NULL before the first
 * @nsplits: number of splits started
 * @exchange: records that the ranks exchange in a split, COLL_RECORD_SIZE bytes each; allocated
 *	with the communicator, so that a rank without memory can report that
 */
struct coll_comm {
	int fd;
	unsigned long process;
	int rank;
	int nranks;
	struct coll_settings settings;
	size_t name_stem;
	struct sockaddr_storage addr;
	struct sockaddr_storage *peers;
	struct coll_mapping *mapping;
	enum coll_feature nosync;

	pthread_mutex_t lock;
	struct coll_region *regions;
	size_t nregions;
	size_t regions_max;
	char failure[COLL_DETAIL_SIZE];
	__u64 failure_instance;
	__u32 failure_kind;
	char why_aborted[COLL_DETAIL_SIZE / 2];
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
 * Is this process a child of the one that made @comm?  Other threads of the parent may have
 * held the locks at fork(), and the child would wait for them forever.  So every function asks
 * before it takes a lock.
 */
bool coll_comm_is_foreign(const struct coll_comm *comm);

/* Take @comm->lock.  Return: 0, or -EPERM in a child, which has not taken it. */
int coll_comm_lock(struct coll_comm *comm);
void coll_comm_unlock(struct coll_comm *comm);

/* Make a communicator without a device.  Return: it, or NULL: no memory. */
struct coll_comm *coll_comm_new(const struct coll_settings *settings);

/*
 * Make a communicator for a group of some ranks of @parent.  @settings has its id, rank and
 * number of ranks, and is given its name.  Return: it, or NULL: no memory.
 */
struct coll_comm *coll_comm_child(const struct coll_comm *parent, struct coll_settings *settings);

/* Close the device and free everything; NULL is ignored. */
void coll_comm_free(struct coll_comm *comm);

/*
 * CONNECT to the ranks at @peers and keep these addresses, until @comm->settings.deadline.
 * Return: 0 or a negative errno.  With a non-blocking device it is -EINPROGRESS until a later
 * call returns the result.
 */
int coll_comm_connect(struct coll_comm *comm,
		      const struct sockaddr_storage *peers,
		      struct coll_detail *detail);

/*
 * Keep @text for coll_error_detail() until another call fails.  If it is empty, the reason of
 * the kernel is used.
 */
void coll_comm_set_failure(struct coll_comm *comm, const char *text);

/*
 * Keep the text of a failed registration for coll_error_detail(); does nothing if @err is 0.
 * Return: @err.
 */
int coll_register_failed(struct coll_comm *comm, const void *addr, size_t size,
			 unsigned int flags, int err);

/* The same for coll_unregister(), if @err is -ENOENT.  Return: @err. */
int coll_unregister_failed(struct coll_comm *comm, const void *addr, int err);

/*
 * Number of the registered buffer that contains this memory, or 0.  Context: under @comm->lock.
 */
__u32 coll_mem_buffer(struct coll_comm *comm, const void *addr, size_t size,
		      bool write);

/* End all handles; the device is closed. */
void coll_request_free_all(struct coll_comm *comm);

/* Free all regions of mem.c; the device is closed. */
void coll_mem_free_all(struct coll_comm *comm);

#endif /* COLL_COMM_H */
