// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "comm/comm.h"
#include "comm/deadline.h"
#include "device_stub.h"
#include "memory.h"
#include "resolver.h"
#include "session.h"
#include "tap.h"
#include "version.h"

unsigned char session_secret[32] = { 1, 2, 3, 4, 5, 6, 7, 8 };

static int free_port(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	socklen_t length = sizeof(addr);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, length) ||
	    getsockname(fd, (struct sockaddr *)&addr, &length))
		exit(1);
	close(fd);
	return ntohs(addr.sin_port);
}

void session_prepare(struct session *session)
{
	session->outcomes = mmap(NULL, sizeof(struct outcome) * SESSION_RANKS_MAX,
				 PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (session->outcomes == MAP_FAILED)
		exit(1);
	session->port = free_port();
	if (!session->timeout_ms)
		session->timeout_ms = 20000;
}

static struct {
	uint64_t at;
	unsigned int ask_ms;
	struct outcome *outcome;
} interruption;

static int interrupt(void *context)
{
	if (context != &interruption)
		abort();
	interruption.outcome->asked++;
	usleep(1000 * interruption.ask_ms);
	return coll_deadline_now() >= interruption.at;
}

static void be_rank(const struct session *session, int rank)
{
	const struct member *member = &session->members[rank];
	struct outcome *outcome = &session->outcomes[rank];
	unsigned char other[32];
	char rendezvous[64];
	struct coll_config config = {
		.size = sizeof(config),
		.rank = rank,
		.nranks = member->nranks ? member->nranks : session->nranks,
		.rendezvous = rendezvous,
		.flags = (session->insecure ? COLL_CONFIG_INSECURE : 0) |
			 (session->check_datagrams ? COLL_CONFIG_CHECK_DATAGRAMS : 0),
		.secret = session->secured ? session_secret : NULL,
		.init_timeout_ms = session->timeout_ms,
		.detail = outcome->detail,
		.detail_size = sizeof(outcome->detail),
		.local_addr = member->local,
		.interrupt = member->interrupt_ms ? interrupt : NULL,
		.interrupt_context = &interruption,
	};
	char number[12];
	struct coll_comm *comm;
	struct rlimit limit;
	uint64_t begin;
	int i;

	snprintf(rendezvous, sizeof(rendezvous), "%s:%d",
		 session->rendezvous ? session->rendezvous : "name", session->port);
	if (member->secret) {
		memset(other, member->secret, sizeof(other));
		config.secret = other;
	}
	resolver_answer = member->answer;
	resolver_delay_ms = member->answer_after_ms;
	resolver_slow_ms = member->slow_ms;
	version_library = member->library;
	stub_open_error = member->open_error;
	stub_without_sockets = session->socketless;
	if (member->job) {
		/* Only a launcher sets a job. */
		setenv("TORCHELASTIC_RUN_ID", member->job, 1);
		snprintf(number, sizeof(number), "%d", rank);
		setenv("RANK", number, 1);
		snprintf(number, sizeof(number), "%d", config.nranks);
		setenv("WORLD_SIZE", number, 1);
		snprintf(number, sizeof(number), "%d", member->restart);
		setenv("TORCHELASTIC_RESTART_COUNT", number, 1);
		snprintf(number, sizeof(number), "%d", member->here);
		if (member->here)
			setenv("LOCAL_WORLD_SIZE", number, 1);
		config.nranks = 0;
		config.rank = 0;
	}
	usleep(1000 * member->start_ms);
	if (member->files) {
		int next = dup(0);

		close(next);
		limit.rlim_cur = next + member->files;
		limit.rlim_max = limit.rlim_cur;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	begin = coll_deadline_now();
	interruption.at = begin + member->interrupt_ms - 1;
	interruption.ask_ms = member->ask_ms;
	interruption.outcome = outcome;
	memory_calls = member->memory - 1;
	outcome->err = coll_init(&comm, &config);
	memory_calls = -1;
	outcome->ms = coll_deadline_now() - begin;
	if (!outcome->err) {
		memcpy(outcome->peers, comm->peers,
		       comm->nranks * sizeof(*comm->peers));
		coll_comm_free(comm);
	}
	outcome->done = true;
	/* The other ranks connect to it. */
	begin = coll_deadline_now();
	for (i = 0; !outcome->err && i < session->nranks; i++)
		while (!session->outcomes[i].done && coll_deadline_now() < begin + 5000)
			usleep(2000);
}

void session_start_rank(struct session *session, int rank)
{
	fflush(NULL);
	session->pids[rank] = fork();
	if (session->pids[rank])
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	be_rank(session, rank);
	/* _exit(): memory of an abandoned thread is not reported as a leak. */
	_exit(0);
}

void session_start(struct session *session)
{
	int i;

	for (i = 0; i < session->nranks; i++)
		session_start_rank(session, i);
}

unsigned int session_wait(struct session *session)
{
	unsigned int failed = 0;
	int i, status;

	for (i = 0; i < session->nranks; i++) {
		if (!session->pids[i])
			continue;
		waitpid(session->pids[i], &status, 0);
		if (status || !session->outcomes[i].done || session->outcomes[i].err)
			failed |= 1U << i;
		session->pids[i] = 0;
	}
	return failed;
}

unsigned int session_run(struct session *session)
{
	session_prepare(session);
	session_start(session);
	return session_wait(session);
}

void session_note(const struct session *session)
{
	int i;

	for (i = 0; i < session->nranks; i++)
		tap_note("rank %d: %d after %u ms: %s", i, session->outcomes[i].err,
			 session->outcomes[i].ms, session->outcomes[i].detail);
}
