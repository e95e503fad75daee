// SPDX-License-Identifier: GPL-2.0-only
/*
 * Queries with ranks that are made of sockets: a rank that is silent, of an older wire version, or
 * sends malformed frames; answers to another query; a storm of queries by a hostile rank while
 * others send messages.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <collective_admin.h>

#include "lib/any_transport.h"
#include "lib/as_user.h"
#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/queries.h"
#include "lib/raw_peer.h"
#include "core/wire/wire.h"

/*
 * Ranks made of sockets, which have lower numbers
 */

/**
 * struct raw_group - a group whose rank 0 is made of sockets
 * @n: ranks
 * @fd: files of the others
 * @addr: by rank
 * @name: of the group
 * @id: of the group
 * @peer: rank 0, as each of the others knows it
 */
struct raw_group {
	unsigned int n;
	int fd[3];
	struct sockaddr_storage addr[3];
	char name[33];
	__u64 id;
	struct raw_peer peer[3];
};

static int raw_join(struct raw_group *raw, unsigned int n)
{
	unsigned int i;

	memset(raw, 0, sizeof(*raw));
	raw->n = n;
	group_unique(raw->name, sizeof(raw->name), &raw->id);
	loopback(&raw->addr[0], AF_INET);
	for (i = 1; i < n; i++) {
		struct collective_join join = {
			.id = raw->id, .rank = i, .nranks = n,
			.transport = COLLECTIVE_TRANSPORT_TCP, .heartbeat_ms = 60000,
		};

		raw->fd[i] = member_open();
		CHECK(raw->fd[i] >= 0);
		CHECK_EQ(0, member_join_as(raw->fd[i], &join, raw->name, &raw->addr[i]));
		fcntl(raw->fd[i], F_SETFL, O_NONBLOCK);
	}
	for (i = 1; i < n; i++)
		CHECK_EQ(-EINPROGRESS, member_connect(raw->fd[i], raw->addr, n, 20000));
	return 0;
}

static void raw_config(const struct raw_group *raw, unsigned int to, struct raw_peer_config *call)
{
	struct collective_query query = { .size = sizeof(query) };

	member_ioctl(raw->fd[to], COLLECTIVE_IOC_QUERY, &query);
	*call = (struct raw_peer_config){
		.addr = &raw->addr[to], .name = raw->name, .id = raw->id, .to = to,
		.nranks = raw->n, .inflight = query.inflight_max,
	};
}

static int raw_connect(struct raw_group *raw)
{
	struct raw_peer_config call;
	unsigned int i;

	for (i = 1; i < raw->n; i++) {
		raw_config(raw, i, &call);
		CHECK_EQ(0, raw_peer_connect(&raw->peer[i], &call));
	}
	return members_await_up(&raw->fd[1], raw->n - 1);
}

static void raw_close(struct raw_group *raw)
{
	unsigned int i;

	for (i = 1; i < raw->n; i++) {
		raw_peer_close(&raw->peer[i]);
		close(raw->fd[i]);
	}
}

/* The peer is connected, and does not know queries. */
TEST(silent)
{
	struct raw_group raw;
	struct seen seen;

	ASSERT_EQ(0, raw_join(&raw, 3));
	ASSERT_EQ(0, raw_connect(&raw));
	EXPECT_EQ(1, ask(raw.name, 2, &seen));
	ASSERT_EQ(3, seen.n);
	EXPECT_FALSE(seen.answer[0].answered);
	EXPECT_TRUE(seen.answer[1].answered);
	EXPECT_TRUE(seen.answer[2].answered);
	raw_close(&raw);
}

/* A peer of an older version never becomes a rank of the group. */
TEST(older_version)
{
	struct raw_peer_config call;
	struct raw_group raw;
	struct seen seen;
	__u8 hello[COLL_HELLO_SIZE];

	ASSERT_EQ(0, raw_join(&raw, 2));
	raw_config(&raw, 1, &call);
	raw_peer_hello(&call, COLL_CONN_CONTROL, 0, hello);
	EXPECT_EQ(COLL_WIRE_VERSION, hello[4]);
	hello[4] = COLL_WIRE_VERSION - 1;
	EXPECT_EQ(-ECONNREFUSED, raw_peer_dial(&call, hello));
	EXPECT_EQ(1, ask(raw.name, 1, &seen));
	ASSERT_EQ(2, seen.n);
	EXPECT_FALSE(seen.answer[0].answered);
	EXPECT_TRUE(seen.answer[1].answered);
	EXPECT_EQ(COLL_ADMIN_STATE_CONNECTING, seen.answer[1].state);
	close(raw.fd[1]);
}

/* A QUERY or ANSWER that no correct rank sends ends the group, as every such frame. */
TEST(malformed)
{
	struct coll_control wrong[] = {
		{ .kind = COLL_CONTROL_QUERY, .query = { 2, 1, 1 } },
		{ .kind = COLL_CONTROL_QUERY, .query = { 0, 1, 0 } },
		{ .kind = COLL_CONTROL_QUERY, .query = { 0, 1, COLL_QUERY_HOPS + 1 } },
		{ .kind = COLL_CONTROL_ANSWER, .answer = { 1, 1, 2, COLL_ANSWER_NODE_0, "x" } },
		{ .kind = COLL_CONTROL_ANSWER, .answer = { 1, 1, 0, COLL_ANSWER_PARTS, "" } },
		{ .kind = COLL_CONTROL_ANSWER, .answer = { 1, 1, 0, COLL_ANSWER_NODE_0, "\033" } },
		{ .kind = COLL_CONTROL_ANSWER, .answer = { 1, 1, 0, COLL_ANSWER_STATE, "" } },
	};
	struct collective_status status;
	struct raw_group raw;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		ASSERT_EQ(0, raw_join(&raw, 2));
		ASSERT_EQ(0, raw_connect(&raw));
		ASSERT_EQ(0, raw_peer_send_control(&raw.peer[1], &wrong[i]));
		EXPECT_EQ(-EPROTO, member_barrier(raw.fd[1]));
		EXPECT_EQ(0, member_status(raw.fd[1], &status));
		EXPECT_EQ(COLLECTIVE_REASON_PROTOCOL, status.group.kind);
		EXPECT_EQ(0, status.group.rank_a);
		raw_close(&raw);
	}
}

/* The raw rank asks: it gets a whole answer of each rank, once. */
TEST(asked_by_raw)
{
	struct coll_control query = { .kind = COLL_CONTROL_QUERY, .query = { 0, 9, 3 } };
	struct coll_answer answer[3] = { 0 };
	unsigned int done = 0;
	struct raw_group raw;
	struct timeval patience = { .tv_sec = 5 };

	ASSERT_EQ(0, raw_join(&raw, 3));
	ASSERT_EQ(0, raw_connect(&raw));
	setsockopt(raw.peer[1].control, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	ASSERT_EQ(0, raw_peer_send_control(&raw.peer[1], &query));
	while (done != 6) {
		struct coll_control control;
		u8 frame[COLL_CONTROL_SIZE];
		__u32 rank;

		ASSERT_EQ((ssize_t)sizeof(frame),
			  recv(raw.peer[1].control, frame, sizeof(frame), MSG_WAITALL));
		ASSERT_EQ(0, coll_wire_get_control(frame, &control, raw.peer[1].incarnation));
		if (control.kind != COLL_CONTROL_ANSWER)
			continue;
		rank = control.answer.rank;
		ASSERT_TRUE(rank == 1 || rank == 2);
		EXPECT_EQ(9, control.answer.number);
		EXPECT_EQ(0, answer[rank].heard >> control.answer.part & 1);
		ASSERT_EQ(0, coll_answer_get(control.answer.body, &answer[rank],
					     control.answer.part));
		if (coll_answer_complete(&answer[rank]))
			done |= 1 << rank;
	}
	EXPECT_EQ((__u32)getpid(), answer[2].own_pid);
	EXPECT_EQ(COLLECTIVE_STATE_UP, answer[2].state);
	raw_close(&raw);
}

/*
 * Raw ranks that answer late, or not every time
 */

/**
 * struct responder - a raw rank that answers some queries
 * @peer: as the rank knows it that is asked through
 * @rank: its number
 * @first: the first query that it answers, from 1
 * @last: the last one
 * @delay_ms: time to the answer
 * @queries: queries that it has received [a]
 */
struct responder {
	struct raw_peer *peer;
	__u32 rank;
	unsigned int first;
	unsigned int last;
	unsigned int delay_ms;
	unsigned int queries;
};

static void respond(const struct responder *responder, const struct coll_query *query)
{
	const struct coll_answer answer = {
		.parts = 1 << COLL_ANSWER_STATE, .state = COLLECTIVE_STATE_UP,
		.pid = 1, .own_pid = 1,
	};
	struct coll_control control = {
		.kind = COLL_CONTROL_ANSWER,
		.answer = { query->origin, query->number, responder->rank, COLL_ANSWER_STATE, "" },
	};

	coll_answer_put(control.answer.body, &answer, COLL_ANSWER_STATE);
	sleep_ms(responder->delay_ms);
	raw_peer_send_control(responder->peer, &control);
}

/* Ends with the connection. */
static void *responder_run(void *arg)
{
	struct responder *responder = arg;
	struct coll_control control;
	u8 frame[COLL_CONTROL_SIZE];
	unsigned int n;

	while (recv(responder->peer->control, frame, sizeof(frame), MSG_WAITALL) ==
	       sizeof(frame)) {
		if (coll_wire_get_control(frame, &control, responder->peer->incarnation) ||
		    control.kind != COLL_CONTROL_QUERY)
			continue;
		n = __atomic_add_fetch(&responder->queries, 1, __ATOMIC_SEQ_CST);
		if (n >= responder->first && n <= responder->last)
			respond(responder, &control.query);
	}
	return NULL;
}

/*
 * Start a program that asks, and stop it while it waits.  Of its time less is left then than the
 * answer to the next query takes.  Return: the process, or -1.
 */
static pid_t stopped_asker(const struct raw_group *raw, struct responder *responder)
{
	struct seen seen;
	int status, tries;
	unsigned int before;
	pid_t pid;

	for (tries = 0; tries < 5; tries++) {
		before = __atomic_load_n(&responder->queries, __ATOMIC_SEQ_CST);
		responder->first = before + 2;
		pid = fork();
		if (!pid)
			_exit(ask_for(raw->name, 900, &seen));
		word_wait(&responder->queries, before + 1, 20000);
		sleep_ms(500);
		kill(pid, SIGSTOP);
		if (waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status))
			return pid;
		/* On a busy machine it had ended before. */
		sleep_ms(COLL_ADMIN_QUERY_MS);
	}
	return -1;
}

/*
 * While a program waits for answers, another one has the same rank ask again.  The program is
 * stopped meanwhile, and would otherwise take the other query's missing answer for its own.
 */
TEST(overtaken)
{
	struct responder responder = { .last = ~0U, .delay_ms = 600 };
	struct raw_group raw;
	pthread_t thread;
	struct seen seen;
	int status;
	pid_t pid;

	ASSERT_EQ(0, raw_join(&raw, 2));
	ASSERT_EQ(0, raw_connect(&raw));
	responder.peer = &raw.peer[1];
	ASSERT_EQ(0, pthread_create(&thread, NULL, responder_run, &responder));
	pid = stopped_asker(&raw, &responder);
	ASSERT_LT(0, pid);
	sleep_ms(COLL_ADMIN_QUERY_MS);
	EXPECT_EQ(1, ask_for(raw.name, 0, &seen));
	ASSERT_EQ(0, kill(pid, SIGCONT));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_LE(2, responder.queries);
	shutdown(raw.peer[1].control, SHUT_RDWR);
	pthread_join(thread, NULL);
	raw_close(&raw);
}

/* Of two raw ranks, one never answers, and the other only the first of the queries of why. */
TEST(answers_once)
{
	struct responder responder = { .first = 1, .last = 1 };
	struct raw_peer_config call;
	struct raw_group raw = { .n = 3 };
	struct collective_join join;
	char line[300] = "", command[100];
	struct raw_peer peer[2];
	pthread_t thread;
	unsigned int i;
	FILE *pipe;

	if (system("collectivectl --version >/dev/null 2>&1"))
		SKIP(return, "no collectivectl in PATH");
	group_unique(raw.name, sizeof(raw.name), &raw.id);
	join = (struct collective_join){
		.id = raw.id, .rank = 2, .nranks = 3, .transport = COLLECTIVE_TRANSPORT_TCP,
		.heartbeat_ms = 60000,
	};
	raw.fd[2] = member_open();
	ASSERT_EQ(0, member_join_as(raw.fd[2], &join, raw.name, &raw.addr[2]));
	loopback(&raw.addr[0], AF_INET);
	loopback(&raw.addr[1], AF_INET);
	fcntl(raw.fd[2], F_SETFL, O_NONBLOCK);
	ASSERT_EQ(-EINPROGRESS, member_connect(raw.fd[2], raw.addr, 3, 20000));
	raw_config(&raw, 2, &call);
	for (i = 0; i < 2; i++) {
		call.from = i;
		ASSERT_EQ(0, raw_peer_connect(&peer[i], &call));
	}
	ASSERT_EQ(0, members_await_up(&raw.fd[2], 1));
	responder.peer = &peer[1];
	responder.rank = 1;
	ASSERT_EQ(0, pthread_create(&thread, NULL, responder_run, &responder));
	snprintf(command, sizeof(command), "collectivectl why %s", raw.name);
	pipe = popen(command, "r");
	ASSERT_NE(NULL, pipe);
	EXPECT_NE(NULL, fgets(line, sizeof(line), pipe));
	EXPECT_EQ(11, WEXITSTATUS(pclose(pipe)));
	EXPECT_NE(NULL, strstr(line, "INCOMPLETE: rank 0 does not answer")) TH_LOG("%s", line);
	EXPECT_LT(1, responder.queries);
	shutdown(peer[1].control, SHUT_RDWR);
	pthread_join(thread, NULL);
	raw_peer_close(&peer[0]);
	raw_peer_close(&peer[1]);
	close(raw.fd[2]);
}

/*
 * The storm
 */

/**
 * struct storm - a storm of queries, and the messages of ranks 1 and 2 meanwhile
 * @raw: the group
 * @drains: true if the hostile rank reads what it gets
 * @end: true if the hostile rank is to end
 * @sent: frames that it has sent
 * @failed: ranks whose messages failed
 */
struct storm {
	struct raw_group raw;
	bool drains;
	bool end;
	unsigned long sent;
	int failed;
};

static void *storm_rank(void *arg)
{
	static char bytes[65536];
	struct storm *storm = arg;
	unsigned int seed = 1;

	while (!__atomic_load_n(&storm->end, __ATOMIC_ACQUIRE)) {
		struct coll_control control = { .kind = COLL_CONTROL_QUERY };
		unsigned int to = 1 + rand_r(&seed) % 2;
		struct raw_peer *peer = &storm->raw.peer[to];
		u8 frames[64 * COLL_CONTROL_SIZE];
		unsigned int i;

		for (i = 0; i < 64; i++) {
			control.kind = rand_r(&seed) % 2 ? COLL_CONTROL_QUERY :
							   COLL_CONTROL_ANSWER;
			if (control.kind == COLL_CONTROL_QUERY)
				control.query = (struct coll_query){
					.origin = rand_r(&seed) % 3, .number = rand_r(&seed) % 100,
					.hops = 1 + rand_r(&seed) % COLL_QUERY_HOPS,
				};
			else
				control.answer = (struct coll_answer_frame){
					.origin = rand_r(&seed) % 3, .number = rand_r(&seed) % 100,
					.rank = rand_r(&seed) % 3, .part = COLL_ANSWER_NODE_0,
					.body = "hostile",
				};
			coll_wire_put_control(frames + i * COLL_CONTROL_SIZE, &control,
					      peer->incarnation);
		}
		for (i = 1; storm->drains && i < 3; i++)
			while (recv(storm->raw.peer[i].control, bytes, sizeof(bytes),
				    MSG_DONTWAIT) > 0)
				;
		if (send(peer->control, frames, sizeof(frames), MSG_NOSIGNAL) != sizeof(frames))
			break;
		storm->sent += 64;
	}
	return NULL;
}

#define LARGE	(1 << 20)
#define ROUNDS	40

/* Sends a message to the other rank, and receives one. */
static int exchange(struct storm *storm, unsigned int rank, __u8 *memory, unsigned int round)
{
	unsigned int count = round % 2 ? LARGE : 8 + round;
	struct collective_op receive = {
		.opcode = COLLECTIVE_RECV, .type = COLLECTIVE_UINT8, .count = count,
		.root = 3 - rank, .recv = (uintptr_t)memory, .timeout_ms = 30000,
	};
	struct collective_op send = receive;
	__u8 own = rank * 100 + round, other = (3 - rank) * 100 + round;
	unsigned int i;
	__u64 id;

	send.opcode = COLLECTIVE_SEND;
	send.send = (uintptr_t)(memory + LARGE);
	send.recv = 0;
	memset(memory, 0, count);
	memset(memory + LARGE, own, count);
	CHECK_EQ(0, member_start(storm->raw.fd[rank], &receive, &id));
	CHECK_EQ(0, member_submit(storm->raw.fd[rank], &send));
	CHECK_EQ(0, member_wait(storm->raw.fd[rank], id, 0));
	for (i = 0; i < count; i++)
		CHECK_EQ(other, memory[i]);
	return 0;
}

static int exchange_all(struct storm *storm, unsigned int rank)
{
	__u8 *memory = mmap(NULL, 2 * LARGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	unsigned int round;

	CHECK(memory != MAP_FAILED);
	for (round = 0; round < ROUNDS; round++)
		if (exchange(storm, rank, memory, round))
			return 1;
	munmap(memory, 2 * LARGE);
	return 0;
}

static void *exchange_thread(void *arg)
{
	struct storm *storm = arg;

	__atomic_fetch_add(&storm->failed, exchange_all(storm, 2), __ATOMIC_RELAXED);
	return NULL;
}

static void storm_run(struct __test_metadata *_metadata, bool drains)
{
	struct collective_status status;
	pthread_t hostile, other;
	static struct storm storm;
	struct seen seen;
	unsigned int i;

	memset(&storm, 0, sizeof(storm));
	storm.drains = drains;
	ASSERT_EQ(0, raw_join(&storm.raw, 3));
	ASSERT_EQ(0, raw_connect(&storm.raw));
	ASSERT_EQ(0, pthread_create(&hostile, NULL, storm_rank, &storm));
	ASSERT_EQ(0, pthread_create(&other, NULL, exchange_thread, &storm));
	storm.failed += exchange_all(&storm, 1);
	pthread_join(other, NULL);
	EXPECT_EQ(0, storm.failed);
	/* A query of a correct rank meanwhile is bounded, whatever it finds. */
	EXPECT_LE(0, ask_once(storm.raw.name, &seen));
	EXPECT_EQ(3, seen.n);
	EXPECT_TRUE(seen.answer[1].answered);
	__atomic_store_n(&storm.end, true, __ATOMIC_RELEASE);
	pthread_join(hostile, NULL);
	EXPECT_LT(1000, storm.sent);
	for (i = 1; i < 3; i++) {
		EXPECT_EQ(0, member_status(storm.raw.fd[i], &status));
		EXPECT_EQ(COLLECTIVE_STATE_UP, status.state);
		EXPECT_EQ(2 * ROUNDS, status.completed);
	}
	/* Afterwards queries are answered again. */
	EXPECT_EQ(1, ask_again(storm.raw.name, 2, &seen));
	EXPECT_TRUE(seen.answer[1].answered && seen.answer[2].answered);
	raw_close(&storm.raw);
}

TEST(storm)
{
	storm_run(_metadata, true);
}

TEST(storm_without_reading)
{
	storm_run(_metadata, false);
}

static int learn_group(const struct coll_admin_group *group, void *arg)
{
	*(struct coll_admin_group *)arg = *group;
	return 0;
}

static int learn_member(const struct coll_admin_member *member, void *arg)
{
	*(struct sockaddr_storage *)arg = member->address;
	return 0;
}

/* What a user is told of the group that admits to it.  Return: 0: nothing. */
static int learn(const char *name, struct coll_admin_group *group, struct sockaddr_storage *addr)
{
	struct coll_admin *admin = NULL;
	int err = coll_admin_open(&admin);

	memset(group, 0, sizeof(*group));
	memset(addr, 0, sizeof(*addr));
	if (!err)
		err = coll_admin_groups(admin, name, learn_group, group);
	if (err >= 0)
		err = coll_admin_members(admin, name, 1, learn_member, addr);
	coll_admin_close(admin);
	return err < 0 ? err : group->has_id || group->id || addr->ss_family;
}

/*
 * Another user finds the port by a scan, and knows name and size from generic netlink, but not the
 * number of the group.
 */
static int stranger_calls(const void *arg)
{
	const struct raw_group *raw = arg;
	struct raw_peer_config call;
	struct coll_admin_group group;
	struct sockaddr_storage addr;
	struct raw_peer peer;

	CHECK_EQ(0, learn(raw->name, &group, &addr));
	CHECK_EQ(2, group.size);
	call = (struct raw_peer_config){
		.addr = &raw->addr[1], .name = raw->name, .id = group.id, .from = 0, .to = 1,
		.nranks = group.size, .lanes = group.lanes, .inflight = 512, .wait_ms = 3000,
	};
	CHECK(raw_peer_connect(&peer, &call));
	call.id = ~0ULL;
	CHECK(raw_peer_connect(&peer, &call));
	return 0;
}

TEST(stranger)
{
	struct collective_status status;
	struct coll_admin_group group;
	struct sockaddr_storage addr;
	struct raw_group raw;

	ASSERT_EQ(0, raw_join(&raw, 2));
	EXPECT_EQ(0, as_other_user(stranger_calls, &raw));
	ASSERT_EQ(0, member_status(raw.fd[1], &status));
	EXPECT_EQ(COLLECTIVE_STATE_CONNECTING, status.state);
	/* The owner sees both. */
	EXPECT_EQ(1, learn(raw.name, &group, &addr));
	EXPECT_EQ(raw.id, group.id);
	EXPECT_EQ(0, memcmp(&raw.addr[1], &addr, sizeof(struct sockaddr_in)));
	close(raw.fd[1]);
}

TEST_HARNESS_MAIN
