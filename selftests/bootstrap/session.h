/* SPDX-License-Identifier: GPL-2.0-only */
/* Ranks of a group, each a process that calls coll_init() and says how it went. */
#ifndef SESSION_H
#define SESSION_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <collective.h>

#define SESSION_RANKS_MAX	8

/**
 * struct member - a rank; what is 0 or NULL is as in struct session
 * @answer: what its resolver says
 * @answer_after_ms: and since when
 * @slow_ms: and how long that takes
 * @start_ms: when it begins
 * @nranks: what it believes
 * @job: of its launcher
 * @files: that it may open, besides those that it has; 0: as it is
 * @open_error: of its device
 * @secret: it has another one, of this byte
 */
struct member {
	const char *answer;
	unsigned int answer_after_ms;
	unsigned int slow_ms;
	unsigned int start_ms;
	int nranks;
	const char *job;
	unsigned int files;
	int open_error;
	unsigned char secret;
};

/**
 * struct outcome - of a rank
 * @done: it has returned
 * @err: of coll_init()
 * @ms: that it took
 * @detail: text
 * @peers: the addresses that it learned
 */
struct outcome {
	bool done;
	int err;
	unsigned int ms;
	char detail[COLL_DETAIL_SIZE];
	struct sockaddr_storage peers[SESSION_RANKS_MAX];
};

/**
 * struct session - a group that begins
 * @nranks: how many
 * @rendezvous: host:port; NULL: "name:PORT"
 * @secured: they have a secret
 * @insecure: they allow any address
 * @socketless: their devices have no sockets, which take files
 * @timeout_ms: of coll_init()
 * @members: by rank
 * @outcomes: by rank
 * @port: of the rendezvous
 * @pids: the processes
 */
struct session {
	int nranks;
	const char *rendezvous;
	bool secured;
	bool insecure;
	bool socketless;
	unsigned int timeout_ms;
	struct member members[SESSION_RANKS_MAX];
	struct outcome *outcomes;
	int port;
	pid_t pids[SESSION_RANKS_MAX];
};

/* A port that is free, and memory for the outcomes. */
void session_prepare(struct session *session);

/* One rank, or all of them. */
void session_start_rank(struct session *session, int rank);
void session_start(struct session *session);

/* Until all have ended; which of them did not return 0, as bits. */
unsigned int session_wait(struct session *session);

/* Both. */
unsigned int session_run(struct session *session);

/* As notes: what the ranks say. */
void session_note(const struct session *session);

/* The secret of all ranks. */
extern unsigned char session_secret[32];

/*
 * A network namespace with 127.0.0.1, ::1, 10.77.0.1 to 10.77.0.3, fd77::1 and fd77::2.
 * False: this process may not have one.
 */
bool session_network(void);

#endif /* SESSION_H */
