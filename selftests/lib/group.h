/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Groups of processes for tests of the device. Each rank is a child process with its own file,
 * and uses ioctls only.
 *
 *	group_start()	forks; each child joins, connects and runs a function
 *	group_wait()	waits for the children; returns how many did not return 0
 *
 * A child checks conditions with CHECK(), which reports the line of a failure and returns 1.
 */
#ifndef COLL_GROUP_H
#define COLL_GROUP_H

#include <linux/collective.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#define GROUP_RANKS_MAX		16
#define GROUP_FLAGS_MAX		64

/* Exit status of a rank that a test makes exit without LEAVE. */
#define GROUP_SILENT_EXIT		77

/**
 * struct group_config - configuration of a group
 * @nranks: number of ranks
 * @lanes: number of lanes; 0: the default
 * @family: AF_INET or AF_INET6; 0: AF_INET
 * @timeout_ms: timeout of operations; ms
 * @heartbeat_ms: heartbeat period of links; ms
 * @algorithm: the algorithm that AUTO stands for, by opcode
 * @transport: enum collective_transport by rank; NULL: that of COLL_TRANSPORT, or else TCP.  All
 *	ranks listen on the address of the RDMA device if one of them has chosen RDMA
 * @enter: called by each rank before it opens its file; may be NULL
 * @unconnected: true if the function runs after JOIN, without CONNECT
 * @bound: true if each rank is pinned to one CPU; ranks share CPUs only if there are too few
 * @cpus: number of CPUs to which the ranks are pinned; 0: as many as there are
 */
struct group_config {
	unsigned int nranks;
	unsigned int lanes;
	int family;
	unsigned int timeout_ms;
	unsigned int heartbeat_ms;
	__u8 algorithm[COLLECTIVE_OPCODES_MAX];
	const unsigned int *transport;
	int (*enter)(unsigned int rank);
	bool unconnected;
	bool bound;
	unsigned int cpus;
};

/**
 * struct group_shared - memory that the test and all ranks share
 * @addr: bound addresses, by rank
 * @joined: number of ranks that have joined
 * @flag: words for the use of tests
 * @value: numbers for the use of tests
 */
struct group_shared {
	struct sockaddr_storage addr[GROUP_RANKS_MAX];
	unsigned int joined;
	unsigned int flag[GROUP_FLAGS_MAX];
	__u64 value[GROUP_FLAGS_MAX];
};

struct group {
	struct group_config config;
	char name[COLLECTIVE_NAME_MAX + 1];
	__u64 id;
	struct group_shared *shared;
	pid_t pid[GROUP_RANKS_MAX];
	int status[GROUP_RANKS_MAX];
};

/**
 * struct rank - one rank, in its own process
 * @group: the group
 * @shared: memory that all ranks share
 * @fd: the rank's file of the device
 * @rank: its number
 * @nranks: number of ranks of the group
 * @arg: argument that was passed to group_start()
 */
struct rank {
	struct group *group;
	struct group_shared *shared;
	int fd;
	unsigned int rank;
	unsigned int nranks;
	void *arg;
};

typedef int (*rank_fn)(struct rank *r);

#define CHECK(_cond) do {							\
	if (!(_cond)) {								\
		group_report_failure(__FILE__, __LINE__, #_cond, 0, 0);		\
		return 1;							\
	}									\
} while (0)

#define CHECK_EQ(_want, _got) do {						\
	long long _w = (long long)(_want), _g = (long long)(_got);		\
										\
	if (_w != _g) {								\
		group_report_failure(__FILE__, __LINE__, #_got, _w, _g);		\
		return 1;							\
	}									\
} while (0)

void group_report_failure(const char *file, int line, const char *what, long long want,
			  long long got);

int group_start(struct group *group, const struct group_config *config, rank_fn fn, void *arg);
int group_wait(struct group *group);
int group_run(const struct group_config *config, rank_fn fn, void *arg);

/**
 * struct links - links of a rank, as sysfs says
 * @local: bits (1 << rank) of the peers of local links
 * @tcp: likewise by TCP
 * @rdma: likewise by RDMA
 */
struct links {
	unsigned int local;
	unsigned int tcp;
	unsigned int rdma;
};

/* Return: 0, or a negative errno: -ENOENT or -ENODEV if the rank has left. */
int links_get(const char *name, unsigned int rank, struct links *links);

/*
 * Check that the links of a rank to the ranks of @local (bits) are local, those to the ranks of
 * @rdma by RDMA, and all others by TCP.  The rank may have left.  Return: 0 or 1, as a child does.
 */
int links_check_all(const char *name, unsigned int rank, unsigned int local, unsigned int rdma);

/* The same where all ranks have made one choice: by RDMA if it is that, and not local. */
int links_check(const char *name, unsigned int rank, unsigned int local);

/*
 * Return: enum collective_transport of @name; NULL: of COLL_TRANSPORT, or TCP if that is not set;
 * COLLECTIVE_TRANSPORT_COUNT, which JOIN refuses, for an unknown name.
 */
unsigned int transport_choice(const char *name);

/* Is a link between two ranks of one kernel local if both have made this choice? */
static inline bool transport_is_local(unsigned int transport)
{
	return transport == COLLECTIVE_TRANSPORT_LOCAL || transport == COLLECTIVE_TRANSPORT_AUTO;
}

/* Is the module of the RDMA transport loaded? */
static inline bool rdma_offered(void)
{
	return !access("/sys/module/collective_rdma", F_OK);
}

/* Return: ranks (bits) to which links are local where all ranks choose that of COLL_TRANSPORT. */
static inline unsigned int links_local(void)
{
	return transport_is_local(transport_choice(NULL)) ? ~0U : 0;
}

/* Calls of a single member. All return 0 or a negative errno. */
int member_ioctl(int fd, unsigned long cmd, void *arg);
int member_open(void);
int member_join(int fd, const char *name, __u64 id, unsigned int rank, unsigned int nranks,
		struct sockaddr_storage *addr);
/* @join has what is not usual; its size, name and loopback address are filled in. */
int member_join_as(int fd, struct collective_join *join, const char *name,
		   struct sockaddr_storage *addr);
int member_connect(int fd, const struct sockaddr_storage *addr, unsigned int npeers,
		   unsigned int timeout_ms);
int member_status(int fd, struct collective_status *status);
int member_leave(int fd);
int member_submit(int fd, const struct collective_op *op);
int member_start(int fd, const struct collective_op *op, __u64 *request);
int member_wait(int fd, __u64 request, unsigned int flags);
int member_wait_any(int fd, struct collective_wait *wait, const __u64 *requests,
		    unsigned int count);
int member_register(int fd, void *addr, size_t length, unsigned int flags, __u32 *buffer);
int member_unregister(int fd, __u32 buffer);
int member_allreduce(int fd, const void *send, void *recv, __u64 count, int type, int reduction);
int member_barrier(int fd);

/* Wait until members are up; from then on their calls wait. */
int members_await_up(const int *fd, unsigned int n);
/* Make a group of @n members of this process, and wait until all are up. */
int members_make(int *fd, struct sockaddr_storage *addr, unsigned int n, const char *name,
		 __u64 id);

int loopback_set(bool up);
int rank_connect(struct rank *r);
long long rank_value(const struct rank *r, const char *file);
/* Return: the sum of a statistic over all ranks; the caller keeps them from moving on. */
long long group_value(const struct rank *r, const char *file);
/* Return: the number in sysfs file @file of rank @rank of group @name, or a negative errno. */
long long member_value(const char *name, unsigned int rank, const char *file);
/* The path of a group's folder in sysfs; @owner: the user that has made the group. */
void group_folder(char *path, size_t size, const char *name, uid_t owner);
long long member_memory(const char *name, unsigned int rank);
/* Wait until the number in that file is @value.  Return: false on timeout. */
bool member_await(const char *name, unsigned int rank, const char *file, long long value);
int file_get(const char *path, char *text, size_t size);
int file_set(const char *path, const char *text);
int member_get(const char *name, unsigned int rank, const char *file, char *text, size_t size);
int member_set(const char *name, unsigned int rank, const char *file, const char *text);
void flag_set(struct group_shared *shared, unsigned int flag, unsigned int value);
/* Wait until a word that processes share is at least @value.  Return: false on timeout. */
bool word_wait(const unsigned int *word, unsigned int value, unsigned int timeout_ms);
bool flag_wait(struct group_shared *shared, unsigned int flag, unsigned int value,
	       unsigned int timeout_ms);
/* Count one more that has come to some point; flag_wait() for as many as there are. */
void flag_add(struct group_shared *shared, unsigned int flag);
bool flag_barrier(struct group_shared *shared, unsigned int flag, unsigned int nranks);

long long process_value(pid_t pid, const char *key);
__u64 now_ms(void);
void sleep_ms(unsigned int ms);
void group_unique(char *name, size_t size, __u64 *id);
/* An address of this host, for ranks with the choice of COLL_TRANSPORT. */
void loopback(struct sockaddr_storage *addr, int family);
/* The same, for a transport; that of RDMA is another one. */
void own_address(struct sockaddr_storage *addr, int family, unsigned int transport);

#endif /* COLL_GROUP_H */
