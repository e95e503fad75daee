// SPDX-License-Identifier: GPL-2.0-only
#include "faults/unauth_client.h"

#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

#include "faults/hostile_rank.h"
#include "faults/malformed.h"
#include "lib/raw_peer.h"
#include "lib/hello_auth.h"

static long long rejected(const struct hostile_fixture *fix, unsigned int rank)
{
	return member_value(fix->name, rank, "refused_connections");
}

static bool wait_rejected(const struct hostile_fixture *fix, unsigned int rank, long long count)
{
	const __u64 end = now_ms() + BOUND_MS;

	while (rejected(fix, rank) < count && now_ms() < end)
		sleep_ms(2);
	if (rejected(fix, rank) == count)
		return true;
	dprintf(STDOUT_FILENO, "# refused %lld, not %lld\n", rejected(fix, rank), count);
	return false;
}

static int dial(const struct sockaddr_storage *addr)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && !connect(fd, (const struct sockaddr *)addr, sizeof(struct sockaddr_in)))
		return fd;
	close(fd);
	return -1;
}

/* Without a secret, a HELLO with another rank, lane or kind is accepted. */
static bool would_be_accepted(const u8 *right, const u8 *said)
{
	return !memcmp(right, said, 7) && (said[7] || !said[8]) &&
	       !memcmp(right + 9, said + 9, 7) &&
	       !memcmp(right + 16, said + 16, 48) &&
		!memcmp(right + 68, said + 68, HELLO_SIZE - 68);
}

/* Make a HELLO that is never accepted. Return: its length, at most 512 bytes. */
static size_t make_bad_hello(struct hostile_fixture *fix, const struct raw_peer_config *call,
			     const u8 *recorded, u8 *said)
{
	struct rng *rng = &fix->rng;
	u8 right[HELLO_SIZE];

	raw_peer_hello(call, rng_below(rng, 2), rng_below(rng, fix->lanes), said);
	switch (rng_below(rng, 7)) {
	case 0:
		random_bytes(rng, said, 512);
		return 192 + rng_below(rng, 320);
	case 1:
		/* Incomplete: the rest never comes. */
		return rng_below(rng, 192);
	case 2:
		/* Too long: the excess is not read. */
		random_bytes(rng, said + HELLO_SIZE, 320);
		said[rng_below(rng, 6)] ^= 1;
		return 512;
	case 3:
		/* Replay of a handshake that was valid on another connection. */
		if (!fix->has_secret)
			break;
		memcpy(said, recorded, 2 * HELLO_SIZE);
		return 2 * HELLO_SIZE;
	case 4:
		/* A valid call, but a random proof. */
		if (!fix->has_secret)
			break;
		random_bytes(rng, said + HELLO_SIZE, 320);
		return 2 * HELLO_SIZE;
	}
	memcpy(right, said, HELLO_SIZE);
	do {
		malformed_hello(rng, said);
	} while (!fix->has_secret && would_be_accepted(right, said));
	memset(said + HELLO_SIZE, 0, HELLO_SIZE);
	return fix->has_secret ? 2 * HELLO_SIZE : HELLO_SIZE;
}

/* Record a valid call and confirmation. Then the connection is closed. */
static int record_valid_hello(struct hostile_fixture *fix, const struct raw_peer_config *call,
			      u8 *recorded)
{
	u8 answer[HELLO_SIZE];
	int fd = dial(call->addr);

	raw_peer_hello(call, 0, 0, recorded);
	CHECK_EQ(HELLO_SIZE, send(fd, recorded, HELLO_SIZE, MSG_NOSIGNAL));
	CHECK_EQ(HELLO_SIZE, recv(fd, answer, HELLO_SIZE, MSG_WAITALL));
	hello_confirm(recorded, answer, fix->secret, recorded + HELLO_SIZE);
	close(fd);
	return 0;
}

/* Connect many clients. The rank rejects and counts all of them. */
static int dial_unauthenticated(struct hostile_fixture *fix, unsigned int to)
{
	const unsigned int times = 1 + rng_below(&fix->rng, 60);
	struct raw_peer_config call = fixture_raw_config(fix, to);
	u8 recorded[2 * HELLO_SIZE] = { 0 };
	int fd[64];
	unsigned int i;

	if (fix->has_secret)
		CHECK_EQ(0, record_valid_hello(fix, &call, recorded));
	for (i = 0; i < times; i++) {
		u8 said[512];
		size_t len = make_bad_hello(fix, &call, recorded, said);

		fd[i] = dial(&fix->addr[to]);
		CHECK(fd[i] >= 0);
		/* The rank may have closed the connection already: ignore errors. */
		send(fd[i], said, len, MSG_NOSIGNAL);
		shutdown(fd[i], SHUT_WR);
	}
	CHECK(wait_rejected(fix, to, times + fix->has_secret));
	for (i = 0; i < times; i++)
		close(fd[i]);
	return 0;
}

int round_unauth_clients(__u64 seed)
{
	struct hostile_fixture fix;
	int bad = fixture_begin(&fix, seed, 2 + seed % 2, 0, 0);

	bad = bad || dial_unauthenticated(&fix, fix.nranks - 1) || fixture_check_works(&fix);
	if (bad)
		dprintf(STDOUT_FILENO, "# unauthenticated clients: seed %llu\n", seed);
	fixture_end(&fix);
	return bad;
}

int silent_clients_begin(struct hostile_fixture *fix, int *fd, unsigned int n)
{
	struct raw_peer_config call;
	u8 said[HELLO_SIZE];
	unsigned int i;

	if (fixture_begin(fix, 1, 2, 0, 0))
		return 1;
	call = fixture_raw_config(fix, 1);
	for (i = 0; i < n; i++) {
		raw_peer_hello(&call, 0, 0, said);
		fd[i] = dial(&fix->addr[1]);
		CHECK(fd[i] >= 0);
		CHECK_EQ(i * 8, send(fd[i], said, i * 8, MSG_NOSIGNAL));
	}
	return fixture_check_works(fix);
}

int silent_clients_end(struct hostile_fixture *fix, const int *fd, unsigned int n)
{
	unsigned int i;
	u8 byte;

	for (i = 0; i < n; i++) {
		struct pollfd poller = { .fd = fd[i], .events = POLLIN };

		CHECK_EQ(1, poll(&poller, 1, BOUND_MS));
		CHECK(recv(fd[i], &byte, 1, 0) <= 0);
		close(fd[i]);
	}
	CHECK(wait_rejected(fix, 1, n));
	return 0;
}
