/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Somebody between a rank and those that it calls, who does one thing to the frames of
 * that rank: to the others it is hostile, and knows all that an honest one does.
 */
#ifndef COLL_TAMPER_H
#define COLL_TAMPER_H

#include <linux/types.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/socket.h>

enum tamper_way {
	TAMPER_FIELD,		/* one field of a frame's header is another */
	TAMPER_DROP,		/* a frame is missing */
	TAMPER_TWICE,		/* a frame comes twice */
	TAMPER_LONG,		/* there is more payload than there should be */
	TAMPER_SHORT,		/* there is less */
	TAMPER_CUT,		/* a frame ends in the middle, with the connection */
	TAMPER_STOP,		/* likewise, but the connection stays */
	TAMPER_SLOW,		/* a header comes byte by byte: nothing is wrong */
	TAMPER_NOISE,		/* random bytes between two frames */
	TAMPER_WAYS
};

/**
 * struct tamper_config - what is done
 * @way: enum tamper_way
 * @control: to a frame of a control connection; otherwise of a data connection
 * @nth: to that one, of each of them
 * @seed: of how
 * @sender: rank whose frames they are
 * @nranks: of the group
 * @secured: the group has a secret
 * @incarnation: of the group
 */
struct tamper_config {
	enum tamper_way way;
	bool control;
	unsigned int nth;
	__u64 seed;
	__u32 sender;
	__u32 nranks;
	bool secured;
	__u32 incarnation;
};

#define TAMPER_HOSTS	4
#define TAMPER_LINES	32

struct tamper;

/* One connection, two sockets. */
struct tamper_line {
	struct tamper *tamper;
	int near;
	int far;
	pthread_t up;
	pthread_t down;
};

/* One rank that is called. */
struct tamper_host {
	struct tamper *tamper;
	int listener;
	struct sockaddr_storage addr;
	pthread_t thread;
};

/**
 * struct tamper - one of these
 * @config: what it does
 * @done: how often it has done it
 * @slandered: and thereby named others
 * @lock: protects the rest
 * @ended: no more lines
 */
struct tamper {
	struct tamper_config config;
	unsigned int done;
	bool slandered;
	pthread_mutex_t lock;
	bool ended;
	unsigned int nhosts;
	struct tamper_host host[TAMPER_HOSTS];
	unsigned int nlines;
	struct tamper_line line[TAMPER_LINES];
};

/* Begin.  Return: 0 or a negative errno. */
int tamper_start(struct tamper *tamper, const struct tamper_config *config);
/* Stand before an address: @addr is replaced.  Return: 0 or a negative errno. */
int tamper_host(struct tamper *tamper, struct sockaddr_storage *addr);
/* All connections end. */
void tamper_stop(struct tamper *tamper);

#endif /* COLL_TAMPER_H */
