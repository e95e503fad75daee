// SPDX-License-Identifier: GPL-2.0-only
/*
 * Transmit rings: frames keep their order while the ring changes its size, and threads that change
 * it at the same time.
 */
#include "tx_ring_env.h"
#include "net/tx_ring.c"
#include "tap.h"

#define LANES	1
#define SPARE	65536

static struct coll_charges charges;
static struct coll_tx_ring ring;
static u32 put, got;

static void ring_new(void)
{
	charges.bytes = 0;
	memset(&ring, 0, sizeof(ring));
	put = 0;
	got = 0;
	assert(!coll_tx_ring_init(&ring, &charges, LANES, COLL_TX_OPS_FIRST, SPARE));
}

static void ring_end(const char *what)
{
	bool charged = charges.bytes == ring.size;

	coll_tx_ring_cleanup(&ring);
	tap_ok(charged && !charges.bytes && !tx_ring_env.others, "%s: its size is charged", what);
}

static bool put_frames(u32 n)
{
	u8 frame[COLL_CONTROL_SIZE] = { 0 };
	bool good = true;

	for (; n; n--) {
		memcpy(frame, &put, sizeof(put));
		put++;
		spin_lock(&ring.lock);
		good &= coll_tx_ring_put(&ring, frame);
		spin_unlock(&ring.lock);
	}
	return good;
}

/* Take what is queued, in pieces of @most bytes; @others run while a piece is sent. */
static bool take_frames(u32 most, void (*others)(void))
{
	static u8 bytes[1 << 20];
	u32 length = 0, len, i, number;
	const u8 *from;
	bool good = true;

	for (;;) {
		from = coll_tx_ring_begin_send(&ring, &len);
		if (!len)
			break;
		if (others)
			others();
		others = NULL;
		len = min(len, most);
		memcpy(bytes + length, from, len);
		length += len;
		coll_tx_ring_end_send(&ring, len);
	}
	for (i = 0; i < length; i += COLL_CONTROL_SIZE) {
		memcpy(&number, bytes + i, sizeof(number));
		good &= number == got++;
	}
	return good && length % COLL_CONTROL_SIZE == 0;
}

static void test_grow(void)
{
	u32 size;

	ring_new();
	size = ring.size;
	tap_ok(put_frames(50) && take_frames(100, NULL) && put_frames(60) && ring.size == size,
	       "frames wrap around");
	tap_ok(!coll_tx_ring_grow(&ring, coll_tx_ring_bytes(LANES, 64)) && ring.size > size &&
	       put_frames(100) && take_frames(1000, NULL) && got == put,
	       "they keep their order when the ring grows");
	coll_tx_ring_shrink(&ring, coll_tx_ring_bytes(LANES, COLL_TX_OPS_FIRST));
	tap_ok(ring.size == size, "an empty ring becomes small again");
	ring_end("a ring");
}

static void grow_while_sending(void)
{
	assert(!coll_tx_ring_grow(&ring, coll_tx_ring_bytes(LANES, 32)));
	assert(!coll_tx_ring_grow(&ring, coll_tx_ring_bytes(LANES, 128)));
	assert(put_frames(30));
}

static void test_grow_while_sending(void)
{
	ring_new();
	tap_ok(put_frames(60) && take_frames(1000, grow_while_sending) && got == 90,
	       "the ring grows twice while frames are sent from it");
	ring_end("a ring that grows while it is sent from");
}

/* More frames of peers than there is space for, which the control runner then sends. */
static void other_grows(void)
{
	assert(put_frames(500));
	assert(take_frames(4096, NULL));
}

static void test_both_grow(void)
{
	u32 size;

	ring_new();
	tx_ring_env.others = other_grows;
	tap_ok(!coll_tx_ring_grow(&ring, coll_tx_ring_bytes(LANES, 8)) && got == 500,
	       "a ring grows while a thread waits for memory to let it grow");
	size = ring.size;
	tap_ok(size >= 500 * COLL_CONTROL_SIZE, "that thread does not make it smaller");
	ring_end("a ring that two threads let grow");

	ring_new();
	assert(put_frames(60));
	tx_ring_env.others = other_grows;
	tap_ok(!coll_tx_ring_make_space(&ring) && ring.size >= 500 * COLL_CONTROL_SIZE,
	       "nor does the control runner that waits to make room");
	ring_end("a ring that has got room");
}

static void test_shrink(void)
{
	u32 size;

	ring_new();
	assert(!coll_tx_ring_grow(&ring, coll_tx_ring_bytes(LANES, 64)));
	size = ring.size;
	tx_ring_env.others = other_grows;
	coll_tx_ring_shrink(&ring, coll_tx_ring_bytes(LANES, COLL_TX_OPS_FIRST));
	tap_ok(!put && ring.size < size, "a ring becomes smaller without waiting for memory");
	ring_end("a small ring");

	ring_new();
	assert(!coll_tx_ring_grow(&ring, coll_tx_ring_bytes(LANES, 64)) && put_frames(1));
	size = ring.size;
	coll_tx_ring_shrink(&ring, coll_tx_ring_bytes(LANES, COLL_TX_OPS_FIRST));
	tap_ok(ring.size == size && take_frames(4096, NULL), "one with frames does not");
	tx_ring_env.fails = true;
	coll_tx_ring_shrink(&ring, coll_tx_ring_bytes(LANES, COLL_TX_OPS_FIRST));
	tx_ring_env.fails = false;
	tap_ok(ring.size == size, "nor does one if there is no memory");
	ring_end("a ring that stays large");
}

/* Return: number of frames that the ring takes of @n frames of queries. */
static u32 put_spare_frames(u32 n)
{
	u8 frame[COLL_CONTROL_SIZE] = { 0 };
	u32 taken = 0;

	for (; n; n--) {
		memcpy(frame, &put, sizeof(put));
		spin_lock(&ring.lock);
		if (coll_tx_ring_put_spare(&ring, frame)) {
			taken++;
			put++;
		}
		spin_unlock(&ring.lock);
	}
	return taken;
}

static void test_spare(void)
{
	const u32 requests = coll_tx_ring_bytes(LANES, 64);
	u32 taken, size;

	ring_new();
	taken = put_spare_frames(10000);
	tap_ok(taken == SPARE / COLL_CONTROL_SIZE,
	       "a ring takes frames of queries up to their bound");
	assert(!coll_tx_ring_grow(&ring, requests));
	size = ring.size;
	tap_ok(put_frames(requests / COLL_CONTROL_SIZE) && ring.size == size,
	       "they take no space from requests that follow");
	tap_ok(take_frames(4096, NULL) && got == put, "all keep their order");
	ring_end("a ring with frames of queries");

	ring_new();
	assert(!coll_tx_ring_grow(&ring, requests));
	taken = put_spare_frames(COLL_TX_SPARE / COLL_CONTROL_SIZE);
	tx_ring_env.fails = true;
	taken += put_spare_frames(10000);
	tap_ok(taken >= COLL_TX_SPARE / COLL_CONTROL_SIZE &&
	       put_frames(requests / COLL_CONTROL_SIZE),
	       "a busy ring has space for some without more memory, and for all of its requests");
	tap_ok(coll_tx_ring_grow(&ring, 4 * requests) && ring.reserved == requests,
	       "one that cannot grow reserves nothing more");
	tx_ring_env.fails = false;
	assert(take_frames(4096, NULL));
	ring_end("a busy ring with frames of queries");
}

int main(void)
{
	tap_plan(0);
	test_grow();
	test_grow_while_sending();
	test_both_grow();
	test_shrink();
	test_spare();
	return tap_exit();
}
