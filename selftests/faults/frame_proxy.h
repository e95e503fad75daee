/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Somebody between a rank and those that it calls, who does one thing to the frames of
 * that rank: to the others it is hostile, and knows all that an honest one does.
 */
#ifndef COLL_FRAME_PROXY_H
#define COLL_FRAME_PROXY_H

#include <linux/types.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/socket.h>

enum proxy_fault {
	PROXY_FIELD,		/* one field of a frame's header is another */
	PROXY_DROP,		/* a frame is missing */
	PROXY_DUPLICATE,		/* a frame comes twice */
	PROXY_LONGER,		/* there is more payload than there should be */
	PROXY_SHORTER,		/* there is less */
	PROXY_TRUNCATE,		/* a frame ends in the middle, with the connection */
	PROXY_STALL,		/* likewise, but the connection stays */
	PROXY_SLOW,		/* a header comes byte by byte: nothing is wrong */
	PROXY_INSERT,		/* random bytes between two frames */
	PROXY_FAULTS
};

/**
 * struct proxy_config - what is done
 * @fault: enum proxy_fault
 * @control: to a frame of a control connection; otherwise of a data connection
 * @nth: to that one, of each of them
 * @seed: of how
 * @sender: rank whose frames they are
 * @nranks: of the group
 * @has_secret: the group has a secret
 * @incarnation: of the group
 */
struct proxy_config {
	enum proxy_fault fault;
	bool control;
	unsigned int nth;
	__u64 seed;
	__u32 sender;
	__u32 nranks;
	bool has_secret;
	__u32 incarnation;
};

#define PROXY_LISTENERS	4
#define PROXY_CONNS	32

struct frame_proxy;

/* One connection, two sockets. */
struct proxy_conn {
	struct frame_proxy *proxy;
	int client;
	int server;
	pthread_t up;
	pthread_t down;
};

/* One rank that is called. */
struct proxy_listener {
	struct frame_proxy *proxy;
	int fd;
	struct sockaddr_storage addr;
	pthread_t thread;
};

/**
 * struct frame_proxy - one of these
 * @config: what it does
 * @done: how often it has done it
 * @accused_others: and thereby named others
 * @lock: protects the rest
 * @ended: no more lines
 */
struct frame_proxy {
	struct proxy_config config;
	unsigned int done;
	bool accused_others;
	pthread_mutex_t lock;
	bool ended;
	unsigned int nlisteners;
	struct proxy_listener listener[PROXY_LISTENERS];
	unsigned int nconns;
	struct proxy_conn conn[PROXY_CONNS];
};

/* Begin.  Return: 0 or a negative errno. */
int proxy_start(struct frame_proxy *proxy, const struct proxy_config *config);
/* Stand before an address: @addr is replaced.  Return: 0 or a negative errno. */
int proxy_listener(struct frame_proxy *proxy, struct sockaddr_storage *addr);
/* All connections end. */
void proxy_stop(struct frame_proxy *proxy);

#endif /* COLL_FRAME_PROXY_H */
