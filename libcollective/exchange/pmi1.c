// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * PMI-1 over the socket in PMI_FD, as Hydra (mpiexec of MPICH) and Slurm (srun --mpi=pmi2)
 * speak it:
 *
 *	init, get_maxes, get_my_kvsname		once in a process
 *	put, barrier_in, get			in every gather
 *	finalize				once, when the process exits
 *
 * Hydra closes the socket after finalize, so nothing may use it afterwards, and it ends the job
 * if a process exits without.  The socket belongs to the MPI library of a process that has one,
 * whose MPI_Init() and MPI_Finalize() say the same.
 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "comm/deadline.h"
#include "comm/interrupt.h"
#include "comm/launcher.h"
#include "comm/process.h"
#include "exchange/exchange.h"
#include "exchange/kvs.h"
#include "exchange/mpi.h"
#include "exchange/pmi1_line.h"
#include "exchange/session.h"

#define FINALIZE_MS	2000
#define NAME_MAX_KVS	256
#define REQUEST_MAX	1024	/* the longest request that Slurm takes */

/**
 * struct pmi1 - connection of this process to its PMI server
 * @fd: the socket, which the launcher opened
 * @pid: process that opened the session; its children leave the socket alone
 * @dev: device of the socket's file
 * @ino: number of that file, which differs when another file has got the descriptor
 * @value_max: maximum length of a value, with NUL
 * @kvsname: name of the store
 * @in: bytes that were read behind the last line
 * @in_len: number of @in
 */
static struct pmi1 {
	int fd;
	pid_t pid;
	dev_t dev;
	ino_t ino;
	size_t value_max;
	char kvsname[NAME_MAX_KVS + 1];
	char in[PMI1_LINE_MAX];
	size_t in_len;
} pmi1;

static struct session session = SESSION_INITIALIZER;

static int wait_for(short events, uint64_t deadline)
{
	struct pollfd one = { .fd = pmi1.fd, .events = events };
	int n;

	do {
		n = coll_interrupt_poll(&one, 1, coll_deadline_left(deadline));
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return n ? 0 : -ETIMEDOUT;
}

static int send_line(const char *line, uint64_t deadline)
{
	size_t left = strlen(line);
	ssize_t sent;
	int err;

	while (left) {
		err = wait_for(POLLOUT, deadline);
		if (err)
			return err;
		sent = send(pmi1.fd, line, left, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (sent < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (sent > 0) {
			line += sent;
			left -= sent;
		}
	}
	return 0;
}

/* Read one line; its end is replaced by NUL. */
static int read_line(char line[PMI1_LINE_MAX], uint64_t deadline)
{
	const char *end;
	ssize_t got;
	size_t size;
	int err;

	while (!(end = memchr(pmi1.in, '\n', pmi1.in_len))) {
		if (pmi1.in_len == sizeof(pmi1.in))
			return -EPROTO;
		err = wait_for(POLLIN, deadline);
		if (err)
			return err;
		got = recv(pmi1.fd, pmi1.in + pmi1.in_len, sizeof(pmi1.in) - pmi1.in_len,
			   MSG_DONTWAIT);
		if (!got)
			return -ECONNRESET;
		if (got < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (got > 0)
			pmi1.in_len += got;
	}
	size = end - pmi1.in;
	memcpy(line, pmi1.in, size);
	line[size] = '\0';
	/* A NUL in the line would hide the rest of it. */
	if (strlen(line) != size)
		return -EPROTO;
	pmi1.in_len -= size + 1;
	memmove(pmi1.in, end + 1, pmi1.in_len);
	return 0;
}

/* Send a request and read its answer, which must be @answer and report success. */
static int ask(const char *request, const char *answer, char line[PMI1_LINE_MAX],
	       uint64_t deadline, struct coll_detail *detail)
{
	int err = send_line(request, deadline) ?: read_line(line, deadline);
	char why[64];

	if (err == -ETIMEDOUT)
		return err;
	if (err)
		return coll_fail(detail, err,
				 "the launcher's PMI server (PMI_FD=%d) %s: %s", pmi1.fd,
				 err == -ECONNRESET || err == -EPIPE ?
				 "closed the connection" : "does not answer as PMI-1 does",
				 coll_errno_text(-err));
	if (pmi1_line_is(line, answer) && !pmi1_line_result(line))
		return 0;
	if (pmi1_line_get(line, "msg", why, sizeof(why)) < 0)
		strcpy(why, "no reason");
	return coll_fail(detail, -EPROTO, "the launcher's PMI server refuses %.*s (%s)",
			 (int)strcspn(request + 4, "\n "), request + 4, why);
}

/* Give the error of ask() a text, if it has none yet. */
static int no_answer(int err, struct coll_detail *detail)
{
	return err == -ETIMEDOUT ?
	       coll_fail(detail, err, "the launcher's PMI server does not answer") : err;
}

static int shake_hands(uint64_t deadline, struct coll_detail *detail)
{
	char line[PMI1_LINE_MAX];
	int number, err;

	err = ask("cmd=init pmi_version=1 pmi_subversion=1\n", "response_to_init", line, deadline,
		  detail) ?:
	      ask("cmd=get_maxes\n", "maxes", line, deadline, detail);
	if (err)
		return err;
	number = pmi1_line_number(line, "vallen_max", INT_MAX);
	if (number < 64)
		return coll_fail(detail, -EPROTO, "the launcher's PMI server allows no values");
	pmi1.value_max = number;
	err = ask("cmd=get_my_kvsname\n", "my_kvsname", line, deadline, detail);
	if (!err && pmi1_line_get(line, "kvsname", pmi1.kvsname, sizeof(pmi1.kvsname)) < 1)
		err = coll_fail(detail, -EPROTO, "the launcher's PMI server has no store");
	return err;
}

/* Parse PMI_FD, which has to be a socket. */
static int find_socket(struct coll_detail *detail)
{
	const char *text = coll_env_text("PMI_FD") ?: "";
	struct stat stat;
	char *end;
	long fd;

	errno = 0;
	fd = strtol(text, &end, 10);
	if (!isdigit((unsigned char)*text) || *end || errno || fd > INT_MAX)
		return coll_fail(detail, -EINVAL, "PMI_FD=%s is not the number of a descriptor",
				 text);
	if (fstat(fd, &stat) || !S_ISSOCK(stat.st_mode))
		return coll_fail(detail, -EBADF,
				 "PMI_FD=%s is no socket: a program in between has closed it",
				 text);
	pmi1.fd = fd;
	pmi1.dev = stat.st_dev;
	pmi1.ino = stat.st_ino;
	return 0;
}

static bool is_same_socket(void)
{
	struct stat stat;

	return pmi1.pid == getpid() && !fstat(pmi1.fd, &stat) && stat.st_dev == pmi1.dev &&
	       stat.st_ino == pmi1.ino;
}

/*
 * At exit: the server ends the whole job if a process goes away without it.  A process that ends
 * inside a gather may get the answer of the barrier first.
 */
static void finalize(void)
{
	const uint64_t deadline = coll_deadline_in(FINALIZE_MS);
	char line[PMI1_LINE_MAX];

	if (!session.opened || !is_same_socket() || mpi_is_initialized())
		return;
	session.opened = false;
	if (send_line("cmd=finalize\n", deadline))
		return;
	while (!read_line(line, deadline) && !pmi1_line_is(line, "finalize_ack"))
		;
}

static int open_session(uint64_t deadline, struct coll_detail *detail)
{
	int err;

	if (session.opened) {
		if (is_same_socket())
			return 0;
		return coll_fail(detail, -EPERM,
				 "PMI_FD belongs to another process, or has been closed");
	}
	if (mpi_is_loaded())
		return coll_fail(detail, -EPERM,
				 "PMI_FD belongs to this process's MPI library: call coll_init() between MPI_Init() and MPI_Finalize()");
	err = find_socket(detail) ?: shake_hands(deadline, detail);
	if (err)
		return no_answer(err, detail);
	pmi1.pid = getpid();
	session.opened = true;
	coll_process_keep_library();
	return atexit(finalize) ? coll_fail(detail, -ENOMEM, "no memory") : 0;
}

/* Does the launcher of PMI_FD mean the same process as the settings? */
static int check_rank(const struct exchange *exchange, struct coll_detail *detail)
{
	unsigned long rank = 0, size = 0;
	int err = coll_env_number("PMI_RANK", INT_MAX, &rank, detail) ?:
		  coll_env_number("PMI_SIZE", INT_MAX, &size, detail);

	if (err)
		return err;
	if (rank != (unsigned long)exchange->rank || size != (unsigned long)exchange->nranks)
		return coll_fail(detail, -EINVAL, "rank %lu of %lu of PMI is to be rank %d of %d",
				 rank, size, exchange->rank, exchange->nranks);
	return 0;
}

static int open_pmi1(const struct exchange *exchange, uint64_t deadline, struct coll_detail *detail)
{
	int err;

	if (!coll_env_text("PMI_FD"))
		return coll_fail(detail, -ENOENT, "PMI_FD is not set%s",
				 coll_env_text("PMI_PORT") ?
				 " (PMI_PORT is, which is not supported)" : "");
	err = check_rank(exchange, detail) ?: session_begin(&session, "PMI_FD", deadline, detail);
	if (err)
		return err;
	err = open_session(deadline, detail);
	/* Nothing that the other ranks see has happened. */
	session_end(&session, 0, detail);
	return err;
}

/* Length of values, with NUL: a whole request has to be short as well. */
static size_t value_max(void)
{
	const size_t rest = sizeof("cmd=put kvsname= key= value=\n") + KVS_KEY_SIZE +
			    strlen(pmi1.kvsname);

	return pmi1.value_max < REQUEST_MAX - rest ? pmi1.value_max : REQUEST_MAX - rest;
}

static int put(struct kvs *kvs, const char *key, const char *value)
{
	char request[PMI1_LINE_MAX], line[PMI1_LINE_MAX];
	int err;

	snprintf(request, sizeof(request), "cmd=put kvsname=%s key=%s value=%s\n", pmi1.kvsname,
		 key, value);
	err = ask(request, "put_result", line, kvs->deadline, kvs->detail);
	explicit_bzero(request, sizeof(request));
	return no_answer(err, kvs->detail);
}

static int fence(struct kvs *kvs)
{
	char line[PMI1_LINE_MAX];
	int err = ask("cmd=barrier_in\n", "barrier_out", line, kvs->deadline, kvs->detail);

	return err == -ETIMEDOUT ?
	       coll_fail(kvs->detail, err,
			 "rank %d waited in the barrier of PMI until the deadline: not all %d ranks of the job have called coll_init(), and PMI cannot tell which are missing",
			 kvs->rank, kvs->nranks) : err;
}

static int get(struct kvs *kvs, int rank, const char *key, char *value, size_t size)
{
	char request[PMI1_LINE_MAX], line[PMI1_LINE_MAX];
	int err;

	(void)rank;
	snprintf(request, sizeof(request), "cmd=get kvsname=%s key=%s\n", pmi1.kvsname, key);
	err = ask(request, "get_result", line, kvs->deadline, kvs->detail);
	if (!err && pmi1_line_get(line, "value", value, size) < 0)
		err = -EPROTO;
	explicit_bzero(line, sizeof(line));
	return no_answer(err, kvs->detail);
}

static int gather(const struct exchange *exchange, const void *mine, size_t size, void *all,
		  uint64_t deadline, struct coll_detail *detail)
{
	struct kvs kvs = {
		.rank = exchange->rank,
		.nranks = exchange->nranks,
		.deadline = deadline,
		.detail = detail,
		.put = put,
		.fence = fence,
		.get = get,
	};
	int err = session_begin(&session, "PMI_FD", deadline, detail);

	if (err)
		return err;
	err = open_session(deadline, detail);
	kvs.value_max = value_max();
	err = err ?: kvs_gather(&kvs, session.generation++, mine, size, all);
	explicit_bzero(pmi1.in + pmi1.in_len, sizeof(pmi1.in) - pmi1.in_len);
	return session_end(&session, err, detail);
}

const struct exchange_ops exchange_pmi1 = { .name = "pmi", .open = open_pmi1, .gather = gather };
