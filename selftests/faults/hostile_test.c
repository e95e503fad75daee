// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hostile peers: clients that are no rank of the group, ranks made of sockets that send malformed
 * frames, and a rank of the module behind a proxy that changes its frames (frame_proxy.h). Every
 * operation ends in time. If it fails, its reason names the hostile rank. No byte outside the
 * result is written, and nothing leaks.
 *
 * Environment: HOSTILE_SEED is the seed of the first round, HOSTILE_ROUNDS the number of rounds.
 * A failed round prints its seed; that seed with HOSTILE_ROUNDS=1 repeats it.
 */
#include <errno.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include "lib/any_transport.h"
#include "lib/group.h"
#include "kselftest_harness.h"
#include "faults/hostile_rank.h"
#include "lib/machine.h"
#include "core/engine/instance.h"
#include "faults/malformed.h"
#include "lib/hello_auth.h"
#include "lib/leak_check.h"
#include "faults/unauth_client.h"
#include "faults/frame_proxy.h"

#define SILENT		8

static const char * const attack_names[] = {
	"random_control", "random_data", "malformed_control", "malformed_data", "truncated",
	"overlong", "repeat", "unsolicited", "slow", "flood", "no_read", "close",
};

static int round_hostile_rank(__u64 seed)
{
	struct hostile_fixture fix;
	struct hostile_rank hostile = { .fix = &fix };
	enum attack attack;
	unsigned int to, when;
	int bad = fixture_begin(&fix, seed, 2 + seed % 2, 1, fixture_short_heartbeat()) ||
		  hostile_connect(&fix, &hostile);

	attack = rng_below(&fix.rng, ATTACKS);
	to = 1 + rng_below(&fix.rng, fix.nranks - 1);
	when = rng_below(&fix.rng, 3);
	if (!bad) {
		if (when)
			fixture_submit(&fix);
		if (when == 2)
			sleep_ms(1);
		if (attack != ATTACK_NO_READ)
			hostile_drain(&hostile, to);
		hostile_attack(&hostile, to, attack);
		if (!when)
			fixture_submit(&fix);
		bad = fixture_check(&fix);
	}
	hostile_end(&hostile);
	fixture_end(&fix);
	if (bad)
		dprintf(STDOUT_FILENO, "# hostile rank: seed %llu: %s, %u ranks, %u lanes, at %u\n",
			seed, attack_names[attack], fix.nranks, fix.lanes, when);
	return bad;
}

/*
 * A rank of the module behind a proxy
 */

static int fixture_connect_proxied(struct hostile_fixture *fix, struct frame_proxy *proxy)
{
	struct sockaddr_storage addr[RANKS_MOST];
	unsigned int rank;

	memcpy(addr, fix->addr, sizeof(addr));
	for (rank = 1; rank < fix->nranks; rank++) {
		CHECK_EQ(0, proxy_listener(proxy, &addr[rank]));
		CHECK_EQ(0, fixture_connect(fix, rank, fix->addr));
	}
	CHECK_EQ(0, fixture_connect(fix, HOSTILE, addr));
	CHECK(fixture_wait_up(fix) >= 0);
	return fixture_register(fix);
}

static int round_frame_proxy(__u64 seed, unsigned int *done)
{
	struct hostile_fixture fix;
	static struct frame_proxy proxy;
	struct proxy_config config;
	int bad = fixture_begin(&fix, seed, 2 + seed % 2, 0, fixture_short_heartbeat());

	config = (struct proxy_config){
		.fault = rng_below(&fix.rng, 2) ? PROXY_FIELD :
						  rng_below(&fix.rng, PROXY_FAULTS),
		.control = rng_once_in(&fix.rng, 2),
		.nth = rng_below(&fix.rng, rng_once_in(&fix.rng, 2) ? 3 : 20),
		.seed = rng_next(&fix.rng),
		.sender = HOSTILE,
		.nranks = fix.nranks,
		.has_secret = fix.has_secret,
		.incarnation = coll_wire_incarnation(fix.id),
	};
	bad = bad || proxy_start(&proxy, &config);
	if (!bad)
		bad = fixture_connect_proxied(&fix, &proxy);
	if (!bad) {
		fixture_submit(&fix);
		fix.proxy = &proxy;
		bad = fixture_check(&fix);
	}
	proxy_stop(&proxy);
	*done += !!proxy.done;
	fixture_end(&fix);
	if (bad)
		dprintf(STDOUT_FILENO,
			"# frame proxy: seed %llu: fault %u, %s frame %u, %u ranks, %u lanes\n",
			seed,
			config.fault, config.control ? "control" : "data", config.nth,
			fix.nranks, fix.lanes);
	return bad;
}

/*
 * A hostile rank that is called, and answers
 */

/* Answer one call so that the caller must not accept it. */
static void answer(struct rng *rng, int listener)
{
	int fd = accept(listener, NULL, NULL);
	u8 said[2 * HELLO_SIZE];
	u32 rank[2];

	if (fd < 0)
		return;
	if (recv(fd, said, HELLO_SIZE, MSG_WAITALL) != HELLO_SIZE)
		goto close;
	said[HELLO_STAGE] = 1;
	memcpy(rank, said + 64, sizeof(rank));
	memcpy(said + 64, &rank[1], 4);
	memcpy(said + 68, &rank[0], 4);
	switch (rng_below(rng, 5)) {
	case 0:
		random_bytes(rng, said, sizeof(said));
		break;
	case 1:
		said[HELLO_STAGE] = 0;
		break;
	case 2:
		said[HELLO_ERROR] = 1 + rng_below(rng, 255);
		break;
	case 3:
		shutdown(fd, SHUT_WR);
		goto close;
	case 4:
		/*
		 * An identifier that is not the group's, or a field that must be zero in an
		 * answer.
		 */
		said[rng_once_in(rng, 2) ? 16 : 152] ^= 1 + rng_below(rng, 255);
		break;
	}
	send(fd, said, rng_once_in(rng, 2) ? HELLO_SIZE : sizeof(said), MSG_NOSIGNAL);
close:
	close(fd);
}

static int round_answer(__u64 seed)
{
	struct sockaddr_storage addr[2];
	struct collective_status status;
	struct hostile_fixture fix;
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(struct sockaddr_in);
	int err;

	CHECK_EQ(0, fixture_begin(&fix, seed, 2, 2, fixture_short_heartbeat()));
	CHECK_EQ(0, fixture_join(&fix, 0));
	loopback(&addr[0], AF_INET);
	loopback(&addr[1], AF_INET);
	CHECK_EQ(0, bind(listener, (struct sockaddr *)&addr[1], len));
	CHECK_EQ(0, listen(listener, 64));
	CHECK_EQ(0, getsockname(listener, (struct sockaddr *)&addr[1], &len));
	CHECK_EQ(0, fixture_connect(&fix, 0, addr));
	answer(&fix.rng, listener);
	CHECK_EQ(1, fixture_wait_up(&fix));
	err = member_connect(fix.fd[0], addr, 2, BOUND_MS);
	CHECK(err == -EACCES || err == -EPROTO || err == -ECONNRESET);
	CHECK_EQ(0, member_status(fix.fd[0], &status));
	CHECK(status.group.rank_a == 1 || status.group.rank_b == 1);
	close(listener);
	fixture_end(&fix);
	return 0;
}

/*
 * Tests
 */

FIXTURE(hostile) {
	int before;
	__u64 seed;
	unsigned int rounds;
};

FIXTURE_SETUP(hostile)
{
	self->before = tcp_sockets();
	self->seed = env_number("HOSTILE_SEED", 1);
	self->rounds = env_number("HOSTILE_ROUNDS", slow_machine() ? 30 : 80);
	TH_LOG("HOSTILE_SEED=%llu HOSTILE_ROUNDS=%u", self->seed, self->rounds);
}

FIXTURE_TEARDOWN(hostile)
{
	EXPECT_TRUE(nothing_leaked(self->before));
	EXPECT_EQ(0, process_value(0, "VmPin:"));
}

/* Return: the number of failed rounds; stops after three. */
static unsigned int rounds(__u64 seed, unsigned int n, int (*round)(__u64 seed))
{
	unsigned int i, bad = 0;

	for (i = 0; i < n && bad < 3; i++)
		bad += round(seed + i);
	return bad;
}

TEST_F_TIMEOUT(hostile, unauthenticated_clients, 3000)
{
	struct hostile_fixture silence;
	int fd[SILENT];

	ASSERT_EQ(0, silent_clients_begin(&silence, fd, SILENT));
	EXPECT_EQ(0, rounds(self->seed, self->rounds / 4, round_unauth_clients));
	EXPECT_EQ(0, silent_clients_end(&silence, fd, SILENT));
	fixture_end(&silence);
}

TEST_F_TIMEOUT(hostile, malformed_answers, 3000)
{
	EXPECT_EQ(0, rounds(self->seed, self->rounds / 4, round_answer));
}

TEST_F_TIMEOUT(hostile, hostile_ranks, 3000)
{
	EXPECT_EQ(0, rounds(self->seed, self->rounds, round_hostile_rank));
}

TEST_F_TIMEOUT(hostile, frame_proxy, 3000)
{
	unsigned int i, bad = 0, done = 0;

	for (i = 0; i < self->rounds && bad < 3; i++)
		bad += round_frame_proxy(self->seed + i, &done);
	EXPECT_EQ(0, bad);
	TH_LOG("%u of %u frames that were to be changed were sent", done, i);
	EXPECT_LT(i / 4, done + 1);
}

/*
 * Single frames that no correct rank sends. The hostile rank has read all frames before.
 */

static int hostile_begin(struct hostile_fixture *fix, struct hostile_rank *hostile,
			 unsigned int nranks)
{
	CHECK_EQ(0, fixture_begin(fix, 2, nranks, 1, 0));
	return hostile_connect(fix, hostile);
}

/* Check that the group of @rank fails with a protocol error of the hostile rank. */
static int rank_found_out(const struct hostile_fixture *fix, unsigned int rank)
{
	const __u64 end = now_ms() + BOUND_MS;
	struct collective_status status;

	do {
		CHECK_EQ(0, member_status(fix->fd[rank], &status));
	} while (status.state == COLLECTIVE_STATE_UP && now_ms() < end);
	CHECK_EQ(COLLECTIVE_STATE_ABORTED, status.state);
	CHECK_EQ(COLLECTIVE_REASON_PROTOCOL, status.group.kind);
	CHECK_EQ(HOSTILE, status.group.rank_a);
	CHECK_EQ(rank, status.group.rank_b);
	return 0;
}

static int blames(struct hostile_fixture *fix, struct hostile_rank *hostile, u32 rank_a, u32 rank_b)
{
	CHECK_EQ(0, hostile_begin(fix, hostile, 2));
	CHECK_EQ(0, raw_peer_send_control(&hostile->peer[1], &(struct coll_control){
		.kind = COLL_CONTROL_ABORT,
		.instance = COLL_INSTANCE_GROUP,
		.reason = {
			.kind = COLLECTIVE_REASON_DEATH,
			.error = ECONNRESET,
			.rank_a = rank_a,
			.rank_b = rank_b,
		},
	}));
	CHECK_EQ(0, rank_found_out(fix, 1));
	hostile_end(hostile);
	fixture_end(fix);
	return 0;
}

/* A group of two has no rank 2. */
TEST_F(hostile, blames_unknown_rank)
{
	struct hostile_fixture fix;
	struct hostile_rank hostile;

	EXPECT_EQ(0, blames(&fix, &hostile, 2, COLLECTIVE_RANK_NONE));
	EXPECT_EQ(0, blames(&fix, &hostile, HOSTILE, 1000));
}

static int sends_urgent(struct hostile_fixture *fix, struct hostile_rank *hostile, bool data)
{
	CHECK_EQ(0, hostile_begin(fix, hostile, 2));
	CHECK_EQ(1, send(data ? hostile->peer[1].data[0] : hostile->peer[1].control, "", 1,
			 MSG_OOB | MSG_NOSIGNAL));
	CHECK_EQ(0, rank_found_out(fix, 1));
	hostile_end(hostile);
	fixture_end(fix);
	return 0;
}

/* No rank sends urgent bytes. The kernel does not pass them, so the stream would stop. */
TEST_F(hostile, urgent_byte)
{
	struct hostile_fixture fix;
	struct hostile_rank hostile;

	EXPECT_EQ(0, sends_urgent(&fix, &hostile, false));
	EXPECT_EQ(0, sends_urgent(&fix, &hostile, true));
}

/* Messages are not announced. A rank that accepted this would pass on a false reason. */
static int announces_message(struct hostile_fixture *fix, struct hostile_rank *hostile)
{
	struct collective_op op = {
		.opcode = COLLECTIVE_SEND,
		.type = COLLECTIVE_UINT32,
		.root = 2,
		.count = 20000,
		.timeout_ms = BOUND_MS,
	};
	__u64 request;

	CHECK_EQ(0, hostile_begin(fix, hostile, 3));
	op.send = (uintptr_t)fix->memory[1] + SEND_AT;
	CHECK_EQ(0, member_start(fix->fd[1], &op, &request));
	CHECK_EQ(0, raw_peer_send_control(&hostile->peer[1], &(struct coll_control){
		.kind = COLL_CONTROL_ANNOUNCE,
		.instance = coll_instance_p2p(1, 2, 0, false),
		.signature = {
			.collective = COLLECTIVE_SEND,
			.type = COLLECTIVE_UINT32,
			.algorithm = COLLECTIVE_ALGORITHM_DIRECT,
			.root = 2,
			.count = 20000,
		},
	}));
	CHECK_EQ(0, rank_found_out(fix, 1));
	wait_bounded(fix->fd[1], request);
	hostile_end(hostile);
	fixture_end(fix);
	return 0;
}

TEST_F(hostile, announces_message)
{
	struct hostile_fixture fix;
	struct hostile_rank hostile;

	EXPECT_EQ(0, announces_message(&fix, &hostile));
}

/* Send messages between the two correct ranks until a group fails. */
static int converse(struct hostile_fixture *fix, unsigned int n)
{
	struct collective_op op = {
		.type = COLLECTIVE_UINT32,
		.count = 1000,
		.timeout_ms = BOUND_MS,
		.send = (uintptr_t)fix->memory[1] + SEND_AT,
		.recv = (uintptr_t)fix->memory[2] + RECV_AT,
	};
	__u64 request[2];

	while (n--) {
		op.opcode = COLLECTIVE_SEND;
		op.root = 2;
		if (member_start(fix->fd[1], &op, &request[0]))
			return 0;
		op.opcode = COLLECTIVE_RECV;
		op.root = 1;
		if (!member_start(fix->fd[2], &op, &request[1]))
			CHECK(wait_bounded(fix->fd[2], request[1]) != -EINPROGRESS);
		CHECK(wait_bounded(fix->fd[1], request[0]) != -EINPROGRESS);
	}
	return 0;
}

static int endless_aborts(struct hostile_fixture *fix, struct hostile_rank *hostile,
			  unsigned int times)
{
	struct coll_control control = {
		.kind = COLL_CONTROL_ABORT,
		.reason = {
			.kind = COLLECTIVE_REASON_CANCELLED,
			.error = ECONNRESET,
			.rank_a = HOSTILE,
			.rank_b = COLLECTIVE_RANK_NONE,
		},
	};
	const struct timeval patience = { .tv_sec = 2 };
	struct collective_status status;
	unsigned int i;

	CHECK_EQ(0, hostile_begin(fix, hostile, 3));
	/* A rank of which the group has failed need not read: bound the time of a send. */
	setsockopt(hostile->peer[1].control, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	for (i = 0; i < times; i++) {
		control.instance = coll_instance_keyed(i);
		if (raw_peer_send_control(&hostile->peer[1], &control))
			break;
		if (i % 64)
			continue;
		CHECK_EQ(0, raw_peer_ping(&hostile->peer[2]));
		hostile_drain(hostile, 1);
		hostile_drain(hostile, 2);
	}
	CHECK_EQ(0, converse(fix, 10));
	for (i = 1; i < 3; i++) {
		CHECK_EQ(0, member_status(fix->fd[i], &status));
		CHECK(reason_allowed(fix, i, "group", &status.group));
	}
	hostile_end(hostile);
	fixture_end(fix);
	return 0;
}

TEST_F(hostile, endless_aborts)
{
	struct hostile_fixture fix;
	struct hostile_rank hostile;

	EXPECT_EQ(0, endless_aborts(&fix, &hostile, slow_machine() ? 2000 : 20000));
}

/*
 * Headers of small frames sent to a large operation. The cost of each must not exceed its length.
 * Rank 2 is the last of a chain, expects no payload from the hostile rank, and has some thousand
 * steps.
 */

#define FLOOD_COUNT	(8 * 1024 * 1024)	/* elements of a block */
#define FLOOD_HEADERS	(384 * 1024)		/* more than socket buffers hold */

/* Three blocks of input, followed by one block of result. */
static struct collective_op flood_op(__u8 *memory)
{
	return (struct collective_op){
		.opcode = COLLECTIVE_REDUCE_SCATTER,
		.type = COLLECTIVE_FLOAT32,
		.reduction = COLLECTIVE_SUM,
		.flags = COLLECTIVE_F_REPRODUCIBLE,
		.count = FLOOD_COUNT,
		.timeout_ms = BOUND_MS,
		.send = (uintptr_t)memory,
		.recv = (uintptr_t)memory + 3 * sizeof(float) * FLOOD_COUNT,
	};
}

/* Return: ms until nearly all was read, or a negative number. */
static long long flood(int fd, u32 incarnation)
{
	static u8 frames[1024][COLL_DATA_SIZE];
	const struct timeval patience = { .tv_sec = 60 };
	const __u64 begin = now_ms();
	struct coll_data data = {
		.flags = COLL_DATA_EAGER,
		.call = COLLECTIVE_REDUCE_SCATTER | COLLECTIVE_FLOAT32 << 4 |
			COLLECTIVE_SUM << 8 | COLLECTIVE_ALGORITHM_RING << 12 | 1 << 15,
	};
	unsigned int i;

	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	for (i = 0; i < 1024; i++)
		coll_wire_put_data(frames[i], &data, incarnation);
	for (i = 0; i < FLOOD_HEADERS / 1024; i++)
		if (send(fd, frames, sizeof(frames), MSG_NOSIGNAL) != sizeof(frames))
			return -1;
	return now_ms() - begin;
}

static int floods(struct hostile_fixture *fix, struct hostile_rank *hostile)
{
	const size_t length = 4 * sizeof(float) * FLOOD_COUNT;
	__u8 *memory = mmap(NULL, length, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	struct collective_op op = flood_op(memory);
	struct collective_status status;
	long long ms, over;
	__u64 request;

	CHECK(memory != MAP_FAILED);
	CHECK_EQ(0, hostile_begin(fix, hostile, 3));
	CHECK_EQ(0, member_start(fix->fd[2], &op, &request));
	ms = flood(hostile->peer[2].data[0], hostile->peer[2].incarnation);
	/* The frames do not match; the operation fails, the group does not. */
	CHECK_EQ(-EBADMSG, wait_bounded(fix->fd[2], request));
	CHECK_EQ(0, member_status(fix->fd[2], &status));
	CHECK_EQ(COLLECTIVE_STATE_UP, status.state);
	/* Measure how long the same frames take when no operation is active. */
	over = flood(hostile->peer[2].data[0], hostile->peer[2].incarnation);
	dprintf(STDOUT_FILENO, "# %u headers in %lld ms, %lld when it is over\n",
		FLOOD_HEADERS, ms, over);
	CHECK(ms >= 0 && over >= 0 && ms < 500 + 5 * over);
	munmap(memory, length);
	hostile_end(hostile);
	fixture_end(fix);
	return 0;
}

/* Set the kernel's watchdog to one second: it reports a CPU that does not schedule for two. */
TEST_F_TIMEOUT(hostile, floods, 120)
{
	static const char watchdog[] = "/proc/sys/kernel/watchdog_thresh";
	char before[16] = "10";
	struct hostile_fixture fix;
	struct hostile_rank hostile;

	file_get(watchdog, before, sizeof(before));
	file_set(watchdog, "1");
	EXPECT_EQ(0, floods(&fix, &hostile));
	file_set(watchdog, before);
}

TEST_HARNESS_MAIN
