// SPDX-License-Identifier: GPL-2.0-only
/*
 * Callers that do not know the secret call a rank as often as they can and keep what they get:
 * they say nothing, or a part of a HELLO, or a HELLO that lacks nothing but the proof.  A rank
 * that knows the secret connects meanwhile, by the same listener.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lib/group.h"
#include "lib/hello_auth.h"
#include "lib/machine.h"
#include "lib/raw_peer.h"
#include "lib/tcp_only.h"
#include "kselftest_harness.h"

/* Calls that are held at a time: more than there are places and calls that wait. */
#define CALLS		300
/* Time limit of CONNECT, and how long it takes at most. */
#define CONNECT_MS	30000
#define BOUND_MS	8000

enum kind {
	SILENT,
	BYTEWISE,	/* a byte of a HELLO for each round */
	UNPROVED,	/* a HELLO, and no confirmation */
	MIXED,
};

/**
 * struct flood - callers of one thread
 * @call: the rank that is called
 * @kind: enum kind
 * @stop: true if it is to end
 * @made: number of calls made
 * @ended: number of calls that the rank has ended
 * @fd: sockets; -1: none
 * @sent: bytes of the HELLO that were sent
 */
struct flood {
	struct raw_peer_config call;
	enum kind kind;
	bool stop;
	unsigned int made;
	unsigned int ended;
	int fd[CALLS];
	unsigned int sent[CALLS];
};

static void flood_dial(struct flood *flood, unsigned int i)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return;
	connect(fd, (const struct sockaddr *)flood->call.addr, sizeof(struct sockaddr_in));
	flood->fd[i] = fd;
	flood->sent[i] = 0;
	flood->made++;
}

static bool has_ended(int fd)
{
	char byte;
	/* What is answered stays unread. */
	ssize_t n = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	return !n || (n < 0 && errno != EAGAIN && errno != ENOTCONN);
}

static void flood_say(struct flood *flood, unsigned int i)
{
	enum kind kind = flood->kind == MIXED ? i % MIXED : flood->kind;
	unsigned int most = kind == BYTEWISE ? HELLO_SIZE - 1 : kind == UNPROVED ? HELLO_SIZE : 0;
	unsigned int len = kind == BYTEWISE ? 1 : most;
	__u8 hello[HELLO_SIZE];
	ssize_t n;

	if (flood->sent[i] >= most)
		return;
	raw_peer_hello(&flood->call, 0, 0, hello);
	n = send(flood->fd[i], hello + flood->sent[i], len, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n > 0)
		flood->sent[i] += n;
}

static void *flood_run(void *arg)
{
	struct flood *flood = arg;
	unsigned int i;

	while (!__atomic_load_n(&flood->stop, __ATOMIC_RELAXED)) {
		for (i = 0; i < CALLS; i++) {
			if (flood->fd[i] >= 0 && has_ended(flood->fd[i])) {
				close(flood->fd[i]);
				flood->fd[i] = -1;
				flood->ended++;
			}
			if (flood->fd[i] < 0)
				flood_dial(flood, i);
			else
				flood_say(flood, i);
		}
		sleep_ms(1);
	}
	for (i = 0; i < CALLS; i++)
		close(flood->fd[i]);
	return NULL;
}

FIXTURE(called) {
	char name[33];
	__u64 id;
	int fd[2];
	struct sockaddr_storage addr[2];
	struct flood *flood;
};

FIXTURE_VARIANT(called) {
	enum kind kind;
};

FIXTURE_VARIANT_ADD(called, silent) { .kind = SILENT };
FIXTURE_VARIANT_ADD(called, bytewise) { .kind = BYTEWISE };
FIXTURE_VARIANT_ADD(called, unproved) { .kind = UNPROVED };
FIXTURE_VARIANT_ADD(called, mixed) { .kind = MIXED };

FIXTURE_SETUP(called)
{
	unsigned int i;

	group_unique(self->name, sizeof(self->name), &self->id);
	for (i = 0; i < 2; i++) {
		struct collective_join join = {
			.transport = COLLECTIVE_TRANSPORT_TCP,
			.rank = i,
			.nranks = 2,
			.id = self->id,
		};

		memset(join.secret, 7, sizeof(join.secret));
		self->fd[i] = member_open();
		ASSERT_LE(0, self->fd[i]);
		ASSERT_EQ(0, member_join_as(self->fd[i], &join, self->name, &self->addr[i]));
	}
	fcntl(self->fd[1], F_SETFL, O_NONBLOCK);
	ASSERT_EQ(-EINPROGRESS, member_connect(self->fd[1], self->addr, 2, CONNECT_MS));
	self->flood = calloc(1, sizeof(*self->flood));
	ASSERT_NE(NULL, self->flood);
	self->flood->kind = variant->kind;
	/* The right group and the right ranks. */
	self->flood->call = (struct raw_peer_config){
		.addr = &self->addr[1],
		.name = self->name,
		.id = self->id,
		.to = 1,
		.nranks = 2,
		.inflight = 512,
		.secret = (const __u8 *)self->name,
	};
	memset(self->flood->fd, -1, sizeof(self->flood->fd));
}

FIXTURE_TEARDOWN(called)
{
	free(self->flood);
	close(self->fd[0]);
	close(self->fd[1]);
}

TEST_F_TIMEOUT(called, connects, 100)
{
	pthread_t thread;
	__u64 begin;

	ASSERT_EQ(0, pthread_create(&thread, NULL, flood_run, self->flood));
	sleep_ms(1000);
	begin = now_ms();
	EXPECT_EQ(0, member_connect(self->fd[0], self->addr, 2, CONNECT_MS));
	EXPECT_GE(enough_ms(BOUND_MS), now_ms() - begin);
	TH_LOG("connected after %llu ms", (unsigned long long)(now_ms() - begin));
	EXPECT_EQ(0, members_await_up(self->fd, 2));
	__atomic_store_n(&self->flood->stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	TH_LOG("%u calls, %u of them ended", self->flood->made, self->flood->ended);
	/* All that lost their place were counted. */
	EXPECT_LE(1, self->flood->ended);
	EXPECT_LE(self->flood->ended,
		  member_value(self->name, 1, "refused_connections"));
}

TEST_HARNESS_MAIN
