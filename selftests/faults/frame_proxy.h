/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A proxy between a rank and the ranks that it calls. It changes one frame of that rank, so that
 * the rank is hostile to the others and still has the state of a correct rank.
 */
#ifndef COLL_FRAME_PROXY_H
#define COLL_FRAME_PROXY_H

#include <linux/types.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/socket.h>

enum proxy_fault {
	PROXY_FIELD,		/* change one field of a frame's header */
	PROXY_DROP,		/* drop a frame */
	PROXY_DUPLICATE,		/* send a frame twice */
	PROXY_LONGER,		/* send more payload than the operation has */
	PROXY_SHORTER,		/* send less */
	PROXY_TRUNCATE,		/* end a frame, and the connection, in the middle */
	PROXY_STALL,		/* end a frame in the middle, keep the connection */
	PROXY_SLOW,		/* send a header byte by byte: no error */
	PROXY_INSERT,		/* insert random bytes between two frames */
	PROXY_FAULTS
};

/**
 * struct proxy_config - what the proxy does
 * @fault: enum proxy_fault
 * @control: true if a frame of a control connection is changed, else of a data connection
 * @nth: index of the frame that is changed, on each of these connections
 * @seed: seed of the random choices
 * @sender: rank of which frames are changed
 * @nranks: number of ranks of the group
 * @has_secret: true if the group has a secret
 * @incarnation: incarnation of the group
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

/* One relayed connection: two sockets and two threads. */
struct proxy_conn {
	struct frame_proxy *proxy;
	int client;
	int server;
	pthread_t up;
	pthread_t down;
};

/* The listener that stands for one rank that is called. */
struct proxy_listener {
	struct frame_proxy *proxy;
	int fd;
	struct sockaddr_storage addr;
	pthread_t thread;
};

/**
 * struct frame_proxy - a running proxy
 * @config: its configuration
 * @done: number of frames changed
 * @accused_others: true if a changed frame accuses ranks other than the sender
 * @lock: protects @ended, @nconns and @conn
 * @ended: true if new connections are refused
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

/* Start the proxy. Return: 0 or a negative errno. */
int proxy_start(struct frame_proxy *proxy, const struct proxy_config *config);
/* Listen in place of the address @addr, which is replaced. Return: 0 or a negative errno. */
int proxy_listener(struct frame_proxy *proxy, struct sockaddr_storage *addr);
/* End all connections and threads. */
void proxy_stop(struct frame_proxy *proxy);

#endif /* COLL_FRAME_PROXY_H */
