// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ranks, unauthenticated clients and impostors at the rendezvous, and the address at which rank 0
 * listens.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bootstrap/address.h"
#include "bootstrap/message.h"
#include "comm/deadline.h"
#include "network.h"
#include "session.h"
#include "tap.h"
#include "version.h"

/* A version of messages that did not tell the library's. */
#define OLDER	4

static void at(struct sockaddr_in *addr, const char *host, int port)
{
	memset(addr, 0, sizeof(*addr));
	addr->sin_family = AF_INET;
	addr->sin_port = htons(port);
	inet_pton(AF_INET, host, &addr->sin_addr);
}

/* Connect to the rendezvous as soon as it exists. Return: the socket. */
static int call(const char *host, int port)
{
	struct sockaddr_in addr;
	int fd, tries;

	at(&addr, host, port);
	for (tries = 0; tries < 1000; tries++) {
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (!connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
			return fd;
		close(fd);
		usleep(5000);
	}
	return -1;
}

static int answer_at(const char *host, int port)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
	struct sockaddr_in addr;

	at(&addr, host, port);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) || listen(fd, 64))
		perror("listen");
	return fd;
}

/* Read until the other end closes, for @ms at most. Return: the number of bytes. */
static size_t read_to_end(int fd, uint8_t *to, size_t size, unsigned int ms)
{
	struct pollfd one = { .fd = fd, .events = POLLIN };
	uint64_t deadline = coll_deadline_in(ms);
	size_t have = 0;
	ssize_t got;

	while (have < size && poll(&one, 1, coll_deadline_left(deadline)) > 0) {
		got = read(fd, to + have, size - have);
		if (got <= 0)
			break;
		have += got;
	}
	return have;
}

static void say_hello(int fd, int rank, int nranks, unsigned int left_ms)
{
	struct bootstrap_hello hello = {
		.rank = rank,
		.nranks = nranks,
		.left_ms = left_ms,
		.process = 4711,
		.attempt = 1,
	};
	uint8_t message[BOOTSTRAP_MESSAGE_MAX];
	size_t size = bootstrap_write_hello(message, &hello);

	if (write(fd, message, size) != (ssize_t)size)
		perror("hello");
}

static bool is_at(const struct sockaddr_storage *addr, const char *host)
{
	char text[COLL_ADDRESS_TEXT];
	size_t length;

	coll_address_format(addr, text);
	length = strlen(host);
	return !strncmp(text, host, length) && text[length] == ':';
}

/* Check that all ranks succeed and that rank 0 has the address @host. */
static void expect_all(struct session *session, const char *host, const char *name)
{
	unsigned int failed = session_run(session);
	bool there = true;
	int i;

	for (i = 0; i < session->nranks; i++)
		there &= !host || is_at(&session->outcomes[i].peers[0], host);
	if (!tap_ok(!failed && there, "%s", name))
		session_note(session);
}

/* True if a rank ended with @err within @ms, and its text has @text. */
static bool ended(const struct session *session, int rank, int err, unsigned int ms,
		  const char *text)
{
	const struct outcome *outcome = &session->outcomes[rank];

	return outcome->done && outcome->err == err && outcome->ms <= ms &&
	       strstr(outcome->detail, text);
}

static void test_plain(void)
{
	struct session session = { .nranks = 4, .rendezvous = "127.0.0.1" };

	expect_all(&session, "127.0.0.1", "a group without a secret");
	session.secured = true;
	expect_all(&session, "127.0.0.1", "a group with a secret");
	session.rendezvous = "[::1]";
	expect_all(&session, "[::1]", "over IPv6");
}

/* Clients that are no rank stay until the end: one reads, one never does. */
static void test_strangers(void)
{
	struct session session = { .nranks = 3, .rendezvous = "127.0.0.1", .secured = true };
	int fd[2], small = 1024;
	unsigned int failed;
	uint8_t got[4096];
	size_t n;

	session.members[1].start_ms = 300;
	session.members[2].start_ms = 600;
	session_prepare(&session);
	session_start(&session);
	fd[0] = call("127.0.0.1", session.port);
	fd[1] = call("127.0.0.1", session.port);
	setsockopt(fd[1], SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	n = read_to_end(fd[0], got, sizeof(got), 5000);
	failed = session_wait(&session);
	if (!tap_ok(!failed && !n, "a stranger is told nothing at the end (%zu bytes)", n))
		session_note(&session);
	tap_ok(session.outcomes[0].ms < 1600, "and costs no time (%u ms)",
	       session.outcomes[0].ms);
	close(fd[0]);
	close(fd[1]);
}

/* The group fails. A late rank learns of it although other clients are connected. */
static void test_late(void)
{
	struct session session = { .nranks = 3, .rendezvous = "127.0.0.1", .timeout_ms = 5000 };
	int fd[2];

	session.members[1].nranks = 4;
	session.members[1].start_ms = 200;
	session.members[2].start_ms = 700;
	session_prepare(&session);
	session_start(&session);
	fd[0] = call("127.0.0.1", session.port);
	fd[1] = call("127.0.0.1", session.port);
	session_wait(&session);
	if (!tap_ok(ended(&session, 2, -EINVAL, 2000, "says the group has 4"),
		    "a late rank hears of the failure, strangers or not"))
		session_note(&session);
	close(fd[0]);
	close(fd[1]);
}

/* Rank 0 comes late: by then the other rank waits longer for an answer than rank 0 is there. */
static void test_contradiction(void)
{
	struct session session = { .nranks = 2, .rendezvous = "127.0.0.1", .timeout_ms = 8000 };

	session.members[0].start_ms = 2500;
	session.members[1].nranks = 3;
	session_prepare(&session);
	session_start(&session);
	session_wait(&session);
	if (!tap_ok(ended(&session, 0, -EINVAL, 4000, "says the group has 3") &&
		    ended(&session, 1, -EINVAL, 4000, "says the group has 3"),
		    "a rank that contradicts a late rank 0 is told so"))
		session_note(&session);
}

/* Bytes before a valid proof are not accepted as those of rank 0. */
static void impostor(const char *name, const uint8_t *answer, size_t size)
{
	struct session session = { .nranks = 3, .rendezvous = "127.0.0.1", .secured = true };
	unsigned int failed, answered = 0;
	struct pollfd one = { .events = POLLIN };
	uint8_t got[512];
	uint64_t until;
	int fd;

	/* Long after the impostor has gone, also on a busy machine. */
	session.members[0].start_ms = 3000;
	session_prepare(&session);
	/* In this order: the ranks would inherit the socket. */
	session_start(&session);
	one.fd = answer_at("127.0.0.1", session.port);
	until = coll_deadline_in(600);
	while (poll(&one, 1, coll_deadline_left(until)) > 0) {
		fd = accept(one.fd, NULL, NULL);
		if (read(fd, got, sizeof(got)) > 0 &&
		    write(fd, answer, size) == (ssize_t)size)
			answered++;
		close(fd);
	}
	close(one.fd);
	failed = session_wait(&session);
	if (!tap_ok(!failed && answered, "%s ends no rank", name))
		session_note(&session);
}

#define HAS_OWN		" has version " VERSION_OWN_TEXT " of the library and "
#define HAS_OTHER	" has version " VERSION_OTHER_TEXT " of the library and "
#define TO_OTHER	" has " VERSION_OTHER_TEXT ": all ranks need the same"

/* A library of another version, without and with a secret, among others. */
static void test_versions(void)
{
	struct session session = { .nranks = 3, .rendezvous = "127.0.0.1", .timeout_ms = 2500 };
	const int err = -EPROTONOSUPPORT;

	session.members[1].library = VERSION_OTHER;
	session_run(&session);
	if (!tap_ok(ended(&session, 0, err, 1500, "rank 0" HAS_OWN "rank 1 (127.0.0.1:") &&
		    ended(&session, 1, err, 1500, "rank 1" HAS_OTHER "rank 0 (127.0.0.1:") &&
		    ended(&session, 2, err, 1500, TO_OTHER),
		    "all ranks hear of another version of the library"))
		session_note(&session);

	session.secured = true;
	session_run(&session);
	if (!tap_ok(ended(&session, 0, -ETIMEDOUT, 5000, "rank 0" HAS_OWN "rank 1" TO_OTHER) &&
		    ended(&session, 1, err, 5000, "rank 1" HAS_OTHER "rank 0 (127.0.0.1:") &&
		    ended(&session, 2, -ETIMEDOUT, 5000, "rank 1 never arrived"),
		    "with a secret likewise, at the deadline"))
		session_note(&session);

	session = (struct session) { .nranks = 2, .rendezvous = "127.0.0.1", .timeout_ms = 2500 };
	session.members[0].library = VERSION_OTHER;
	session_run(&session);
	if (!tap_ok(ended(&session, 0, err, 1500, "rank 0" HAS_OTHER "rank 1 (127.0.0.1:") &&
		    ended(&session, 1, err, 1500, "rank 1" HAS_OWN "rank 0 (127.0.0.1:") &&
		    strstr(session.outcomes[1].detail, TO_OTHER), "also of a newer rank 0"))
		session_note(&session);
}

/* Say HELLO as an older library.  Return: true if that can read the answer, which has @says. */
static bool call_as_older(const struct session *session, uint64_t job, const char *says)
{
	struct bootstrap_hello hello = { .rank = 1, .nranks = 2, .left_ms = 20000, .job = job };
	uint8_t message[BOOTSTRAP_MESSAGE_MAX], got[BOOTSTRAP_MESSAGE_MAX] = { 0 };
	const size_t size = bootstrap_write_hello(message, &hello);
	const int fd = call("127.0.0.1", session->port);
	char text[BOOTSTRAP_FAIL_MAX] = "";
	struct bootstrap_head head;
	size_t n;

	bootstrap_write_version(message, OLDER);
	if (write(fd, message, size) != (ssize_t)size)
		perror("hello");
	n = read_to_end(fd, got, sizeof(got), 5000);
	close(fd);
	if (n < BOOTSTRAP_HEAD_SIZE || bootstrap_read_head(got, BOOTSTRAP_FAIL_MAX, &head) ||
	    n != BOOTSTRAP_HEAD_SIZE + head.length)
		return false;
	bootstrap_read_fail(got + BOOTSTRAP_HEAD_SIZE, head.length, text, sizeof(text));
	return head.kind == BOOTSTRAP_FAIL && head.version.format == OLDER &&
	       !head.version.library && strstr(text, says);
}

/* Libraries of a version that did not tell the library's. */
static void test_older(void)
{
	struct session session = { .nranks = 2, .rendezvous = "127.0.0.1", .timeout_ms = 5000 };
	bool told;

	session_prepare(&session);
	session_start_rank(&session, 0);
	told = call_as_older(&session, 0, "has one before 0.2: all ranks need the same");
	session_wait(&session);
	if (!tap_ok(told && ended(&session, 0, -EPROTONOSUPPORT, 4000, "rank 1 (127.0.0.1:"),
		    "an older library is told, and ends a group without a secret"))
		session_note(&session);

	session.members[0].job = "one";
	session.members[1].job = "one";
	session_prepare(&session);
	session_start_rank(&session, 0);
	told = call_as_older(&session, 4711, "of another job");
	session_start_rank(&session, 1);
	if (!tap_ok(!session_wait(&session) && told, "but not one of another job"))
		session_note(&session);

	session = (struct session) { .nranks = 2, .rendezvous = "127.0.0.1", .secured = true };
	session_prepare(&session);
	session_start_rank(&session, 0);
	told = call_as_older(&session, 0, "rank 1 has one before 0.2");
	session_start_rank(&session, 1);
	if (!tap_ok(!session_wait(&session) && told, "nor a group with one"))
		session_note(&session);
}

/* Rank 0's library is older: it says so with each answer. */
static void older_root(bool secured, unsigned int ms)
{
	struct session session = { .nranks = 2, .rendezvous = "127.0.0.1", .secured = secured };
	uint8_t answer[BOOTSTRAP_MESSAGE_MAX], got[512];
	const size_t size = bootstrap_write_fail(answer, -EPROTO, "malformed HELLO");
	struct pollfd one = { .events = POLLIN };
	const uint64_t until = coll_deadline_in(4000);
	int fd;

	bootstrap_write_version(answer, OLDER);
	session.timeout_ms = 2000;
	session_prepare(&session);
	session_start_rank(&session, 1);
	one.fd = answer_at("127.0.0.1", session.port);
	while (!session.outcomes[1].done && coll_deadline_left(until)) {
		if (poll(&one, 1, 20) <= 0)
			continue;
		fd = accept(one.fd, NULL, NULL);
		if (read(fd, got, sizeof(got)) > 0 && write(fd, answer, size) != (ssize_t)size)
			perror("answer");
		close(fd);
	}
	close(one.fd);
	session_wait(&session);
	if (!tap_ok(ended(&session, 1, -EPROTONOSUPPORT, ms,
			  "rank 1" HAS_OWN "rank 0 (127.0.0.1:") &&
		    strstr(session.outcomes[1].detail, "has one before 0.2"),
		    "an older rank 0%s", secured ? ", with a secret" : ""))
		session_note(&session);
}

static void test_impostors(void)
{
	uint8_t answer[2 * BOOTSTRAP_MESSAGE_MAX] = { 0 };
	size_t size;

	size = bootstrap_write_fail(answer, -EPERM, "go away");
	impostor("a FAIL without a proof", answer, size);
	bootstrap_write_version(answer, OLDER);
	impostor("one of an older library", answer, size);
	size = bootstrap_write_challenge(answer, answer + 100, answer + 200);
	impostor("a CHALLENGE with a wrong proof", answer, size);
	impostor("nonsense", (const uint8_t *)"HTTP/1.0 400 Bad Request\r\n\r\n", 28);
	size = bootstrap_write_wait(answer, &(struct bootstrap_wait) { .id = 7 });
	impostor("a WAIT without a proof", answer, size);
}

/* The deadline holds, however long the resolver takes. */
static void test_resolver(void)
{
	struct session session = { .nranks = 2, .secured = true, .timeout_ms = 700 };

	session.members[0] = (struct member) { .answer = "127.0.0.1", .slow_ms = 30000 };
	session.members[1] = session.members[0];
	session_run(&session);
	if (!tap_ok(ended(&session, 0, -ETIMEDOUT, 3000, "resolver does not answer") &&
		    ended(&session, 1, -ETIMEDOUT, 3000, "resolver does not answer"),
		    "a resolver that hangs does not outlast the deadline"))
		session_note(&session);
	session.timeout_ms = 20000;
	session.members[0] = (struct member) { .answer = "127.0.0.1", .answer_after_ms = 700 };
	session.members[1] = (struct member) { .answer = "127.0.0.1", .answer_after_ms = 400 };
	expect_all(&session, NULL, "a name that is known a moment later");
}

/* The first address accepts but stays silent, or drops all packets. */
static void test_silent(void)
{
	struct session session = { .nranks = 3, .secured = true };
	unsigned int failed;
	int fd, i;

	for (i = 0; i < 3; i++)
		session.members[i].answer = i ? "10.77.0.2 10.77.0.1" : "10.77.0.1";
	session_prepare(&session);
	fd = answer_at("10.77.0.2", session.port);
	session_start(&session);
	failed = session_wait(&session);
	if (!tap_ok(!failed && session.outcomes[1].ms < 5000,
		    "an address that is silent does not keep a rank from the next (%u ms)",
		    session.outcomes[1].ms))
		session_note(&session);
	close(fd);
}

/* A process claims to be rank 1, and then closes, or stays silent. */
static void test_stale(void)
{
	struct session session = { .nranks = 3, .rendezvous = "127.0.0.1" };
	struct linger now = { .l_onoff = 1 };
	unsigned int failed;
	int fd;

	session_prepare(&session);
	session_start_rank(&session, 0);
	fd = call("127.0.0.1", session.port);
	say_hello(fd, 1, 3, 20000);
	usleep(100000);
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(fd);
	session_start_rank(&session, 1);
	session_start_rank(&session, 2);
	failed = session_wait(&session);
	if (!tap_ok(!failed, "a process that has gone takes no place"))
		session_note(&session);

	session.members[1].start_ms = 4000;
	session_prepare(&session);
	session_start(&session);
	fd = call("127.0.0.1", session.port);
	say_hello(fd, 1, 3, 20000);
	failed = session_wait(&session);
	if (!tap_ok(!failed, "nor does one that never joins"))
		session_note(&session);
	close(fd);

	session.nranks = 3;
	session.members[0] = (struct member) { .job = "two", .start_ms = 300 };
	session.members[1] = (struct member) { .job = "one" };
	session.members[2] = (struct member) { .job = "two", .start_ms = 600 };
	session.timeout_ms = 2500;
	session_prepare(&session);
	session_start(&session);
	session_wait(&session);
	if (!tap_ok(ended(&session, 1, -ETIMEDOUT, 5000, "of another job") &&
		    ended(&session, 0, -ETIMEDOUT, 5000, "rank 1 never arrived"),
		    "a rank of another job is none of this one"))
		session_note(&session);
}

/* Another host has restarted its rank 1 more often, which says nothing about that of this host. */
static void test_restart_elsewhere(void)
{
	struct session other = { .nranks = 3, .timeout_ms = 2500 };
	struct session session = other;

	other.members[1] = (struct member){
		.job = "job", .here = 1, .restart = 5, .answer = "::1",
	};
	session.members[0] = (struct member){
		.job = "job", .here = 1, .answer = "127.0.0.1 ::1",
	};
	session.members[1] = (struct member){ .job = "job", .here = 1, .answer = "127.0.0.1" };
	session.members[2] = session.members[1];
	session.members[2].start_ms = 900;
	session_prepare(&session);
	session_prepare(&other);
	other.port = session.port;
	session_start(&session);
	usleep(400000);
	session_start_rank(&other, 1);
	session_wait(&session);
	session_wait(&other);
	if (!tap_ok(ended(&other, 1, -EBUSY, 2500, "two processes are rank 1") &&
		    ended(&session, 1, -EBUSY, 2500, "two processes are rank 1"),
		    "the attempts of two hosts are not compared")) {
		session_note(&session);
		session_note(&other);
	}
}

/* Rank 1 is left over from the attempt before; the process that has taken its place is late. */
static void test_restart(int here)
{
	struct session old = { .nranks = 3, .rendezvous = "127.0.0.1", .timeout_ms = 2500 };
	struct session session = old;

	session_prepare(&session);
	old.members[1] = (struct member){ .job = "job", .here = here };
	session.members[0] = (struct member){ .job = "job", .here = here, .restart = 1 };
	session.members[1] = session.members[0];
	session.members[2] = session.members[0];
	session.members[1].start_ms = 500;
	session.members[2].start_ms = 900;
	session_prepare(&old);
	old.port = session.port;
	session_start_rank(&old, 1);
	usleep(100000);
	session_start(&session);
	if (!tap_ok(!session_wait(&session) && session_wait(&old) == 2 &&
		    (here == 3 || ended(&old, 1, -EBUSY, 1500, "earlier attempt")),
		    "a rank of an earlier attempt is left out where %d are on its host", here)) {
		session_note(&session);
		session_note(&old);
	}
}

/* A rank that gives another address than it is seen from, and is not reached there. */
static void test_translation(void)
{
	struct session session = { .nranks = 2, .rendezvous = "10.77.0.1", .insecure = true };
	uint8_t message[BOOTSTRAP_MESSAGE_MAX];
	struct sockaddr_storage own = { 0 };
	size_t size;
	int fd;

	at((struct sockaddr_in *)&own, "10.99.0.9", 4711);
	session.timeout_ms = 2000;
	session_prepare(&session);
	session_start_rank(&session, 0);
	fd = call("10.77.0.1", session.port);
	say_hello(fd, 1, 2, 2000);
	read_to_end(fd, message, BOOTSTRAP_HEAD_SIZE + BOOTSTRAP_WAIT_SIZE, 1000);
	read_to_end(fd, message, BOOTSTRAP_HEAD_SIZE + BOOTSTRAP_WELCOME_SIZE, 1000);
	size = bootstrap_write_address(message, &own);
	if (write(fd, message, size) != (ssize_t)size)
		perror("address");
	session_wait(&session);
	close(fd);
	if (!tap_ok(ended(&session, 0, -ENETUNREACH, 2000,
			  "rank 1 came from 10.77.0.1 and gives 10.99.0.9 as its address"),
		    "address translation is recognized, and said"))
		session_note(&session);
}

/* More allocations than a rank makes. */
#define MEMORY_MAX	12

/* A rank has no memory from some allocation on. */
static void test_memory(int rank)
{
	struct session session = { .nranks = 3, .rendezvous = "127.0.0.1", .secured = true,
				   .timeout_ms = 4000 };
	int memory, i, failed = 0, worked = 0;

	for (memory = 1; memory <= MEMORY_MAX; memory++) {
		session.members[rank].memory = memory;
		if (!session_run(&session)) {
			worked++;
			continue;
		}
		for (i = 0; i < 3 && ended(&session, i, -ENOMEM, 3000, "memory"); i++)
			;
		failed += i == 3;
		if (i < 3)
			session_note(&session);
	}
	tap_ok(failed && worked && failed + worked == MEMORY_MAX,
	       "all hear that rank %d has no memory", rank);
}

static void test_where(void)
{
	struct session session = { .nranks = 3, .secured = true };
	const unsigned int all = 7;
	int i;

	session.members[0].answer = "127.0.1.1";
	session.members[1].answer = "127.0.1.1";
	session.members[2].answer = "10.77.0.1";
	expect_all(&session, "10.77.0.1", "rank 0's own name is loopback at home");
	session.members[1].answer = "10.77.0.2";
	session.members[0].answer = "127.0.0.1 ::1";
	expect_all(&session, NULL, "localhost on rank 0, its addresses elsewhere");
	session.members[0].answer = "10.77.0.1 10.77.0.2";
	session.members[1].answer = "10.77.0.2";
	expect_all(&session, NULL, "a name of two addresses, each rank knows one");
	session.members[0].answer = "fd77::1 10.77.0.1";
	session.members[1].answer = "fd77::1";
	session.members[2].answer = "10.77.0.1";
	expect_all(&session, "10.77.0.1", "IPv6 here and not there");
	session.members[0].answer = "10.77.0.99";
	session.members[1].answer = "10.77.0.99 10.77.0.2";
	session.members[2].answer = "10.77.0.2";
	expect_all(&session, "10.77.0.2", "with a secret a name that is no address of the host");

	session.secured = false;
	session.insecure = true;
	session.timeout_ms = 2000;
	session_run(&session);
	if (!tap_ok(ended(&session, 0, -EADDRNOTAVAIL, 1000, "10.77.0.99:"),
		    "without one another host's name is said at once"))
		session_note(&session);
	session.insecure = false;
	session.members[0].answer = "127.0.1.1";
	session.members[1].answer = "127.0.1.1";
	session_run(&session);
	if (!tap_ok(ended(&session, 2, -EACCES, 1000, "10.77.0.2:") &&
		    ended(&session, 0, -ETIMEDOUT, 4000, "rank 0 listened on 127.0.1.1:"),
		    "without one loopback is not left"))
		session_note(&session);
	session.secured = true;
	for (i = 0; i < 3; i++)
		session.members[i].answer = i ? "10.77.0.2 10.77.0.3" : "10.77.0.1";
	if (!tap_ok(session_run(&session) == all &&
		    ended(&session, 0, -ETIMEDOUT, 4000, "rank 0 listened on 10.77.0.1:") &&
		    ended(&session, 1, -ETIMEDOUT, 4000, "10.77.0.2:") &&
		    ended(&session, 2, -ETIMEDOUT, 4000, "10.77.0.3:"),
		    "rank 0 says where it listened, the others what they tried"))
		session_note(&session);
}

/* If one rank lacks a resource, all ranks get the error at once. */
static void test_lack(void)
{
	struct session session = { .nranks = 3, .rendezvous = "127.0.0.1", .secured = true };
	int i, lacking;

	for (lacking = 0; lacking < 2; lacking++) {
		memset(session.members, 0, sizeof(session.members));
		session.members[lacking].open_error = -ENOENT;
		session_run(&session);
		for (i = 0; i < 3; i++)
			if (!ended(&session, i, -ENOENT, 3500, "No such file"))
				break;
		if (!tap_ok(i == 3, "all hear that rank %d has no device", lacking))
			session_note(&session);
		memset(session.members, 0, sizeof(session.members));
		session.members[lacking].files = 2;
		session_run(&session);
		for (i = 0; i < 3; i++)
			if (!ended(&session, i, -EMFILE, 3500, "open files"))
				break;
		if (!tap_ok(i == 3, "all hear that rank %d has too few files", lacking))
			session_note(&session);
	}
}

/*
 * However few files a rank may have, all ranks succeed, or all fail at once. To report the
 * failure, rank 0 needs a listener and a connection, and the others a connection.
 */
static void test_files(const char *addresses)
{
	struct session session = { .nranks = 3, .secured = true, .socketless = true };
	unsigned int files, failed, worked = 0, wrong = 0;
	int i, lacking;

	for (lacking = 0; lacking < 2; lacking++) {
		for (files = lacking ? 1 : 2; files < 9; files++) {
			memset(session.members, 0, sizeof(session.members));
			for (i = 0; i < 3; i++)
				session.members[i].answer = addresses;
			session.members[lacking].files = files;
			failed = session_run(&session);
			worked += !failed;
			for (i = 0; failed && i < 3; i++)
				if (!ended(&session, i, -EMFILE, 3500, "open files"))
					break;
			if (failed && i < 3) {
				wrong++;
				tap_note("rank %d may have %u files:", lacking, files);
				session_note(&session);
			}
		}
	}
	tap_ok(!wrong && worked, "all or none start where a rank may have few files (%s)",
	       addresses);
}

/* Make an interface on which an address is tentative for 0.7 s.  Return: false: it cannot be. */
static bool make_interface(void)
{
	static const char * const commands[] = {
		"ip link add dad0 type veth peer name dad1",
		"echo 0 >/proc/sys/net/ipv6/conf/dad0/router_solicitation_delay",
		"echo 700 >/proc/sys/net/ipv6/neigh/dad0/retrans_time_ms",
		"ip link set dad1 up",
		"ip link set dad0 up",
	};
	size_t i;

	for (i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		if (system(commands[i]))
			return false;
	return true;
}

/* Addresses of IPv6 are tentative for a moment after they were assigned. */
static void test_tentative(void)
{
	struct session session = { .nranks = 2, .insecure = true, .rendezvous = "[fd88::1]" };
	pid_t pid;

	if (!make_interface() || system("ip addr add fd88::1/64 dev dad0") ||
	    system("ip -6 addr show tentative | grep -q fd88::1/")) {
		tap_skip("no tentative address", "tentative addresses");
		return;
	}
	expect_all(&session, "[fd88::1]", "a rendezvous that is tentative");

	(void)!system("ip addr add fd88::2/64 dev dad0");
	session.rendezvous = "127.0.0.1";
	setenv("COLL_LOCAL_ADDR", "fd88::2", 1);
	expect_all(&session, "[fd88::2]", "addresses for data that are tentative");
	unsetenv("COLL_LOCAL_ADDR");

	fflush(NULL);
	pid = fork();
	if (!pid) {
		usleep(300000);
		_exit(system("ip addr add fd88::3/64 dev dad0"));
	}
	session.rendezvous = "[fd88::3]";
	expect_all(&session, "[fd88::3]", "a rendezvous that is assigned later");
	waitpid(pid, NULL, 0);

	session.timeout_ms = 5000;
	session.rendezvous = "[fd88::99]";
	session_run(&session);
	if (!tap_ok(ended(&session, 0, -EADDRNOTAVAIL, 4500, "fd88::99"),
		    "another host's is said after a while"))
		session_note(&session);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	tap_plan(0);
	test_plain();
	test_strangers();
	test_late();
	test_contradiction();
	test_impostors();
	test_versions();
	test_older();
	older_root(false, 1500);
	older_root(true, 4000);
	test_resolver();
	test_stale();
	test_restart(3);
	test_restart(1);
	test_restart_elsewhere();
	test_lack();
	test_memory(1);
	test_memory(0);
	test_files("127.0.0.1");
	test_files("127.0.0.1 ::1");
	if (network_enter()) {
		test_silent();
		test_where();
		test_translation();
		test_tentative();
	} else {
		tap_skip("no network namespace", "where rank 0 listens");
	}
	return tap_exit();
}
