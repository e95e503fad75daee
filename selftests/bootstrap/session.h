/* SPDX-License-Identifier: GPL-2.0-only */
/* Ranks of a group, each a process that calls coll_init() and reports the result. */
#ifndef SESSION_H
#define SESSION_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <collective.h>

#define SESSION_RANKS_MAX	8

/**
 * struct member - a rank; 0 or NULL means the value of struct session
 * @answer: addresses that its resolver returns
 * @answer_after_ms: time at which the resolver begins to return them; ms
 * @slow_ms: time that each answer takes; ms
 * @start_ms: time at which the rank starts; ms
 * @nranks: number of ranks that it is configured with
 * @job: job identifier of its launcher
 * @restart: number of restarts by its launcher, with @job
 * @here: number of ranks of its host, with @job; 0: not told
 * @memory: number of allocations that succeed in coll_init(), + 1; 0: all
 * @files: number of files that it may open in addition; 0: no limit
 * @open_error: error of opening its device
 * @secret: a secret other than the group's, of this byte
 * @library: version of its library
 * @local: its local address; NULL: it finds one
 * @interrupt_ms: time after which it wants the end of coll_init(), + 1; 0: never
 * @ask_ms: time that the function which says so takes
 */
struct member {
	const char *answer;
	unsigned int answer_after_ms;
	unsigned int slow_ms;
	unsigned int start_ms;
	int nranks;
	const char *job;
	int restart;
	int here;
	int memory;
	unsigned int files;
	int open_error;
	unsigned char secret;
	unsigned int library;
	const char *local;
	unsigned int interrupt_ms;
	unsigned int ask_ms;
};

/**
 * struct outcome - result of a rank
 * @done: true if coll_init() has returned
 * @err: result of coll_init()
 * @ms: time that it took; ms
 * @asked: number of calls of its interrupt
 * @detail: error text
 * @peers: addresses of the ranks that it learned
 */
struct outcome {
	bool done;
	int err;
	unsigned int ms;
	unsigned int asked;
	char detail[COLL_DETAIL_SIZE];
	struct sockaddr_storage peers[SESSION_RANKS_MAX];
};

/**
 * struct session - a group that starts
 * @nranks: number of ranks
 * @rendezvous: host:port; NULL: "name:PORT"
 * @secured: true if the ranks have a secret
 * @insecure: true if the ranks allow any address without a secret
 * @check_datagrams: true if the ranks set COLL_CONFIG_CHECK_DATAGRAMS
 * @socketless: true if their devices open no sockets, which count as files
 * @timeout_ms: time limit of coll_init(); ms
 * @members: configurations, by rank
 * @outcomes: results, by rank
 * @port: port of the rendezvous
 * @pids: processes, by rank
 */
struct session {
	int nranks;
	const char *rendezvous;
	bool secured;
	bool insecure;
	bool check_datagrams;
	bool socketless;
	unsigned int timeout_ms;
	struct member members[SESSION_RANKS_MAX];
	struct outcome *outcomes;
	int port;
	pid_t pids[SESSION_RANKS_MAX];
};

/* Choose a free port, and allocate memory for the outcomes. */
void session_prepare(struct session *session);

/* Start one rank, or all of them. */
void session_start_rank(struct session *session, int rank);
void session_start(struct session *session);

/* Wait for all ranks. Return: a mask of the ranks that did not return 0. */
unsigned int session_wait(struct session *session);

/* Start all ranks and wait for them. */
unsigned int session_run(struct session *session);

/* Print the results of the ranks as TAP comments. */
void session_note(const struct session *session);

/* The secret of all ranks. */
extern unsigned char session_secret[32];

#endif /* SESSION_H */
