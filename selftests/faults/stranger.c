// SPDX-License-Identifier: GPL-2.0-only
#include "faults/stranger.h"

#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

#include "faults/foe.h"
#include "faults/odd.h"
#include "lib/peer.h"
#include "lib/proof.h"

static long long refused(const struct scene *scene, unsigned int rank)
{
	return member_value(scene->name, rank, "refused_connections");
}

static bool refused_are(const struct scene *scene, unsigned int rank, long long count)
{
	const __u64 end = now_ms() + BOUND_MS;

	while (refused(scene, rank) < count && now_ms() < end)
		sleep_ms(2);
	if (refused(scene, rank) == count)
		return true;
	dprintf(STDOUT_FILENO, "# refused %lld, not %lld\n", refused(scene, rank), count);
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

/* Without a secret another rank, lane or kind is as good. */
static bool lets_in(const u8 *right, const u8 *said)
{
	return !memcmp(right, said, 7) && !memcmp(right + 9, said + 9, 3) &&
	       !memcmp(right + 16, said + 16, 48) && !memcmp(right + 68, said + 68, HELLO - 68);
}

/* What a stranger says: never what lets him in.  Return: how many bytes, at most 512. */
static size_t intrusion(struct scene *scene, const struct peer_call *call, const u8 *heard,
			u8 *said)
{
	struct rng *rng = &scene->rng;
	u8 right[HELLO];

	peer_hello(call, rng_below(rng, 2), rng_below(rng, scene->lanes), said);
	switch (rng_below(rng, 7)) {
	case 0:
		odd_bytes(rng, said, 512);
		return 192 + rng_below(rng, 320);
	case 1:
		/* Begun, and never ended. */
		return rng_below(rng, 192);
	case 2:
		/* Too much: the rest is not looked at. */
		odd_bytes(rng, said + HELLO, 320);
		said[rng_below(rng, 6)] ^= 1;
		return 512;
	case 3:
		/* What was said, and believed, when another connection was made. */
		if (!scene->secured)
			break;
		memcpy(said, heard, 2 * HELLO);
		return 2 * HELLO;
	case 4:
		/* All is well but what has to prove it. */
		if (!scene->secured)
			break;
		odd_bytes(rng, said + HELLO, 320);
		return 2 * HELLO;
	}
	memcpy(right, said, HELLO);
	do {
		odd_hello(rng, said);
	} while (!scene->secured && lets_in(right, said));
	memset(said + HELLO, 0, HELLO);
	return scene->secured ? 2 * HELLO : HELLO;
}

/* A call and a confirmation that were good once; that caller has gone. */
static int overhear(struct scene *scene, const struct peer_call *call, u8 *heard)
{
	u8 answer[HELLO];
	int fd = dial(call->addr);

	peer_hello(call, 0, 0, heard);
	CHECK_EQ(HELLO, send(fd, heard, HELLO, MSG_NOSIGNAL));
	CHECK_EQ(HELLO, recv(fd, answer, HELLO, MSG_WAITALL));
	hello_confirm(heard, answer, scene->secret, heard + HELLO);
	close(fd);
	return 0;
}

/* Nobody of the group takes notice, and all are counted. */
static int intrude(struct scene *scene, unsigned int to)
{
	const unsigned int times = 1 + rng_below(&scene->rng, 60);
	struct peer_call call = scene_call(scene, to);
	u8 heard[2 * HELLO] = { 0 };
	int fd[64];
	unsigned int i;

	if (scene->secured)
		CHECK_EQ(0, overhear(scene, &call, heard));
	for (i = 0; i < times; i++) {
		u8 said[512];
		size_t len = intrusion(scene, &call, heard, said);

		fd[i] = dial(&scene->addr[to]);
		CHECK(fd[i] >= 0);
		/* He may have been hung up on. */
		send(fd[i], said, len, MSG_NOSIGNAL);
		shutdown(fd[i], SHUT_WR);
	}
	CHECK(refused_are(scene, to, times + scene->secured));
	for (i = 0; i < times; i++)
		close(fd[i]);
	return 0;
}

int round_strangers(__u64 seed)
{
	struct scene scene;
	int bad = scene_begin(&scene, seed, 2 + seed % 2, 0, 0);

	bad = bad || intrude(&scene, scene.nranks - 1) || scene_works(&scene);
	if (bad)
		dprintf(STDOUT_FILENO, "# strangers: seed %llu\n", seed);
	scene_end(&scene);
	return bad;
}

int silence_begin(struct scene *scene, int *fd, unsigned int n)
{
	struct peer_call call;
	u8 said[HELLO];
	unsigned int i;

	if (scene_begin(scene, 1, 2, 0, 0))
		return 1;
	call = scene_call(scene, 1);
	for (i = 0; i < n; i++) {
		peer_hello(&call, 0, 0, said);
		fd[i] = dial(&scene->addr[1]);
		CHECK(fd[i] >= 0);
		CHECK_EQ(i * 8, send(fd[i], said, i * 8, MSG_NOSIGNAL));
	}
	return scene_works(scene);
}

int silence_end(struct scene *scene, const int *fd, unsigned int n)
{
	unsigned int i;
	u8 byte;

	for (i = 0; i < n; i++) {
		struct pollfd poller = { .fd = fd[i], .events = POLLIN };

		CHECK_EQ(1, poll(&poller, 1, BOUND_MS));
		CHECK(recv(fd[i], &byte, 1, 0) <= 0);
		close(fd[i]);
	}
	CHECK(refused_are(scene, 1, n));
	return 0;
}
