// SPDX-License-Identifier: GPL-2.0-only
/*
 * A rank by RDMA that has introduced itself, and then refers to memory that does not hold the
 * payload, or returns what it was to read in another way than it must: the other rank reads, stores
 * and gives away nothing that it should not, and its group fails.
 *
 * Rank 0 of two is a program of librdmacm.  The machine has soft-RoCE: selftests/vm/run --rdma.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <rdma/rdma_verbs.h>

#include "core/wire/wire.h"
#include "faults/rdma_peer.h"
#include "lib/group.h"
#include "lib/memory.h"
#include "lib/raw_peer.h"
#include "kselftest_harness.h"

#define RDMA		COLLECTIVE_TRANSPORT_RDMA

/* Time in which something comes, on a slow machine. */
#define BOUND_MS	10000

/* Bytes of the payload, and of all memory that the peer lets be read. */
#define LEN		(64 * 1024U)
#define REGION		(4 * LEN)

/**
 * struct member - a rank, and the peer that is its only one
 * @fd: of rank 1
 * @name: name of the group
 * @id: its number
 * @control: connection of the peer, and
 * @data: likewise
 * @memory: the peer's, REGION bytes
 * @readable: region of @memory that may be read, and
 * @hidden: one that may not
 * @sends: memory of rank 1 for its input, LEN bytes and four pages
 * @send: input of rank 1, LEN bytes of it
 * @buffer: buffer that contains @sends; 0: none does
 * @recv: its result, LEN bytes
 * @request: its operation
 */
struct member {
	int fd;
	char name[33];
	__u64 id;
	struct rdma_peer control;
	struct rdma_peer data;
	__s32 *memory;
	struct ibv_mr *readable;
	struct ibv_mr *hidden;
	__u8 *sends;
	__s32 *send;
	__u32 buffer;
	__s32 *recv;
	__u64 request;
};

/* Introduce the peer, and see that it is taken for that.  Return: 0 or 1. */
static int introduce(struct member *m, struct rdma_peer *peer, int kind, __u32 inflight)
{
	const struct raw_peer_config config = {
		.name = m->name, .id = m->id, .to = 1, .nranks = 2, .inflight = inflight,
	};
	struct coll_hello heard;
	__u8 hello[COLL_HELLO_SIZE];

	raw_peer_hello(&config, kind, 0, hello);
	CHECK_EQ(0, rdma_peer_send_bytes(peer, RDMA_BYTES, hello, sizeof(hello)));
	CHECK_EQ(0, rdma_peer_receive(peer, hello, sizeof(hello), BOUND_MS));
	CHECK_EQ(0, coll_wire_get_hello(hello, &heard));
	CHECK_EQ(0, heard.error);
	return 0;
}

static int peer_connects(struct member *m, const struct sockaddr_storage *addr, __u32 inflight)
{
	struct rdma_hello bulk = rdma_hello_good;

	bulk.bulk = 1;
	bulk.reads = 1;
	CHECK_EQ(RDMA_CM_EVENT_ESTABLISHED,
		 rdma_peer_connect(&m->control, addr, &rdma_hello_good, sizeof(bulk)));
	CHECK_EQ(RDMA_CM_EVENT_ESTABLISHED,
		 rdma_peer_connect(&m->data, addr, &bulk, sizeof(bulk)));
	CHECK_EQ(0, introduce(m, &m->control, COLL_CONN_CONTROL, inflight));
	CHECK_EQ(0, introduce(m, &m->data, COLL_CONN_DATA, inflight));
	return 0;
}

static int memory_makes(struct member *m)
{
	unsigned int i;

	m->memory = memory(REGION);
	m->sends = memory(LEN + 4 * sysconf(_SC_PAGESIZE));
	m->send = (void *)m->sends;
	m->recv = memory(LEN);
	CHECK(m->memory && m->sends && m->recv);
	for (i = 0; i < REGION / sizeof(*m->memory); i++)
		m->memory[i] = i + 1;
	m->readable = ibv_reg_mr(m->data.id->pd, m->memory, REGION,
				 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	m->hidden = ibv_reg_mr(m->data.id->pd, m->memory, REGION, IBV_ACCESS_LOCAL_WRITE);
	CHECK(m->readable && m->hidden);
	return 0;
}

static int member_begins(struct member *m)
{
	struct collective_query query = { .size = sizeof(query) };
	struct collective_join join = {
		.transport = RDMA,
		.rank = 1,
		.nranks = 2,
		.lanes = 1,
	};
	struct sockaddr_storage addr[2];
	struct pollfd up;

	memset(m, 0, sizeof(*m));
	CHECK_EQ(0, system("modprobe rdma_ucm"));
	group_unique(m->name, sizeof(m->name), &m->id);
	join.id = m->id;
	m->fd = member_open();
	CHECK(m->fd >= 0);
	CHECK_EQ(0, member_ioctl(m->fd, COLLECTIVE_IOC_QUERY, &query));
	own_address(&addr[0], AF_INET, RDMA);
	CHECK_EQ(0, member_join_as(m->fd, &join, m->name, &addr[1]));
	fcntl(m->fd, F_SETFL, O_NONBLOCK);
	CHECK_EQ(-EINPROGRESS, member_connect(m->fd, addr, 2, 60000));
	CHECK_EQ(0, peer_connects(m, &addr[1], query.inflight_max));
	up = (struct pollfd){ .fd = m->fd, .events = POLLOUT };
	CHECK_EQ(1, poll(&up, 1, BOUND_MS));
	CHECK_EQ(POLLOUT, up.revents);
	fcntl(m->fd, F_SETFL, 0);
	return memory_makes(m);
}

static void member_ends(struct member *m)
{
	if (m->fd > 0)
		close(m->fd);
	if (m->readable)
		ibv_dereg_mr(m->readable);
	if (m->hidden)
		ibv_dereg_mr(m->hidden);
	rdma_peer_close(&m->data);
	rdma_peer_close(&m->control);
}

static int control_send(struct member *m, const struct coll_control *control)
{
	__u8 frame[COLL_CONTROL_SIZE];

	coll_wire_put_control(frame, control, coll_wire_incarnation(m->id));
	return rdma_peer_send_bytes(&m->control, RDMA_BYTES, frame, sizeof(frame));
}

static int announce(struct member *m, const struct collective_op *op)
{
	return control_send(m, &(struct coll_control){
		.kind = COLL_CONTROL_ANNOUNCE,
		.signature = {
			.collective = op->opcode,
			.type = op->type,
			.reduction = op->reduction,
			.algorithm = op->algorithm,
			.root = op->root,
			.count = op->count,
		},
	});
}

/* Read control frames until one of this kind. */
static int control_await(struct member *m, __u8 kind)
{
	__u8 frame[COLL_CONTROL_SIZE];
	struct coll_control control;
	int err;

	do {
		err = rdma_peer_receive(&m->control, frame, sizeof(frame), BOUND_MS);
		if (!err)
			err = coll_wire_get_control(frame, &control, coll_wire_incarnation(m->id));
	} while (!err && control.kind != kind);
	return err;
}

static struct collective_op ring_op(struct member *m, __u8 opcode, __u32 root)
{
	return (struct collective_op){
		.opcode = opcode,
		.type = COLLECTIVE_INT32,
		.algorithm = COLLECTIVE_ALGORITHM_RING,
		.root = root,
		.count = LEN / sizeof(*m->recv),
		.send = (uintptr_t)m->send,
		.recv = (uintptr_t)m->recv,
		.timeout_ms = 4 * BOUND_MS,
	};
}

/* The group has failed, and the peer is to blame; not because of a deadline.  Return: 0 or 1. */
static int group_failed(struct member *m)
{
	struct collective_status status;

	CHECK_EQ(0, member_status(m->fd, &status));
	CHECK_EQ(COLLECTIVE_STATE_ABORTED, status.state);
	CHECK(status.group.kind == COLLECTIVE_REASON_PROTOCOL ||
	      status.group.kind == COLLECTIVE_REASON_RESET);
	CHECK(!status.group.rank_a || !status.group.rank_b);
	return 0;
}

/**
 * struct deviation - what is wrong with a reference
 * @addr: added to its address
 * @key: added to its key
 * @len: added to its length
 * @hidden: true if its key is that of memory that may not be read
 * @copied: bytes of the payload that come before it
 * @headless: true if the frame's header is not complete before it
 * @err: what the operation returns
 */
struct deviation {
	int addr;
	__u32 key;
	int len;
	bool hidden;
	unsigned int copied;
	bool headless;
	int err;
};

/* The peer refers to the payload that rank 1 takes. */
FIXTURE(reference) {
	struct member m;
};

FIXTURE_VARIANT(reference) {
	struct deviation by;
};

FIXTURE_VARIANT_ADD(reference, correct) { };
FIXTURE_VARIANT_ADD(reference, nothing) { .by = { .len = -(int)LEN, .err = -EPROTO } };
FIXTURE_VARIANT_ADD(reference, too_much) { .by = { .len = 2 * 1024 * 1024, .err = -EPROTO } };
FIXTURE_VARIANT_ADD(reference, part) { .by = { .len = -4, .err = -EPROTO } };
FIXTURE_VARIANT_ADD(reference, more) { .by = { .len = 4, .err = -EPROTO } };
FIXTURE_VARIANT_ADD(reference, no_frame) { .by = { .headless = true, .err = -EPROTO } };
FIXTURE_VARIANT_ADD(reference, other_key) { .by = { .key = 1, .err = -ECONNRESET } };
FIXTURE_VARIANT_ADD(reference, no_key) { .by = { .key = 0x10000, .err = -ECONNRESET } };
FIXTURE_VARIANT_ADD(reference, before) { .by = { .addr = -4, .err = -ECONNRESET } };
FIXTURE_VARIANT_ADD(reference, beyond) { .by = { .addr = REGION - LEN + 4, .err = -ECONNRESET } };
FIXTURE_VARIANT_ADD(reference, hidden) { .by = { .hidden = true, .err = -ECONNRESET } };
/* To the bytes behind those that are copied: whole elements, or not. */
FIXTURE_VARIANT_ADD(reference, behind) { .by = { .copied = 100, .len = -100, .addr = 100 } };
FIXTURE_VARIANT_ADD(reference, within) { .by = { .copied = 102, .len = -102, .addr = 102 } };

FIXTURE_SETUP(reference)
{
	if (!rdma_offered())
		SKIP(return, "no collective_rdma.ko");
	ASSERT_EQ(0, member_begins(&self->m));
}

FIXTURE_TEARDOWN(reference)
{
	member_ends(&self->m);
}

/* Send the frame with the reference to its payload. */
static int refer(struct member *m, const struct deviation *by, const struct collective_op *op)
{
	const struct coll_data data = {
		.call = op->opcode | op->type << 4 | op->reduction << 8 | op->algorithm << 12,
		.length = LEN,
	};
	const struct rdma_reference reference = {
		.addr = (uintptr_t)m->memory + by->addr,
		.key = (by->hidden ? m->hidden : m->readable)->rkey + by->key,
		.len = LEN + by->len,
	};
	__u8 message[RDMA_PEER_SLOT], *at = message;

	memcpy(at, &reference, sizeof(reference));
	at += sizeof(reference);
	coll_wire_put_data(at, &data, coll_wire_incarnation(m->id));
	at += by->headless ? 1 : COLL_DATA_SIZE;
	memcpy(at, m->memory, by->copied);
	at += by->copied;
	return rdma_peer_send_bytes(&m->data, RDMA_REFERENCE, message, at - message);
}

static bool result_is_right(const struct member *m, bool scan)
{
	unsigned int i;

	for (i = 0; i < LEN / sizeof(*m->recv); i++)
		if (m->recv[i] != m->memory[i] + (scan ? m->send[i] : 0))
			return false;
	return true;
}

/* Return: 0 if the operation ends as it should. */
static int judge(struct member *m, const struct deviation *by, __u8 opcode)
{
	struct collective_op op = ring_op(m, opcode, 0);

	CHECK_EQ(0, member_start(m->fd, &op, &m->request));
	CHECK_EQ(0, announce(m, &op));
	/* Without a grant the frame itself would be wrong. */
	CHECK_EQ(0, control_await(m, COLL_CONTROL_GRANT));
	CHECK_EQ(0, refer(m, by, &op));
	CHECK_EQ(by->err, member_wait(m->fd, m->request, 0));
	if (by->err)
		return group_failed(m);
	CHECK(result_is_right(m, opcode == COLLECTIVE_SCAN));
	return 0;
}

/* The payload of a broadcast is stored where it belongs. */
TEST_F_TIMEOUT(reference, stored, 100)
{
	EXPECT_EQ(0, judge(&self->m, &variant->by, COLLECTIVE_BROADCAST));
}

/* That of a scan is reduced from other memory. */
TEST_F_TIMEOUT(reference, reduced, 100)
{
	unsigned int i;

	for (i = 0; i < LEN / sizeof(*self->m.send); i++)
		self->m.send[i] = 3 * i;
	EXPECT_EQ(0, judge(&self->m, &variant->by, COLLECTIVE_SCAN));
}

/* Rank 1 refers to its payload, and the peer is to return it. */
FIXTURE(returned) {
	struct member m;
	struct rdma_reference reference;
};

enum answer { ANSWER_KEY, ANSWER_NO_KEY, ANSWER_OTHER_KEY, ANSWER_OTHER_KIND };

FIXTURE_VARIANT(returned) {
	enum answer answer;
	int err;
};

FIXTURE_VARIANT_ADD(returned, correct) { ANSWER_KEY, 0 };
FIXTURE_VARIANT_ADD(returned, no_key) { ANSWER_NO_KEY, -EPROTO };
FIXTURE_VARIANT_ADD(returned, other_key) { ANSWER_OTHER_KEY, -ECONNRESET };
FIXTURE_VARIANT_ADD(returned, other_kind) { ANSWER_OTHER_KIND, -EPROTO };

FIXTURE_SETUP(returned)
{
	if (!rdma_offered())
		SKIP(return, "no collective_rdma.ko");
	ASSERT_EQ(0, member_begins(&self->m));
}

FIXTURE_TEARDOWN(returned)
{
	member_ends(&self->m);
}

/* Have rank 1 broadcast its memory, and take its reference.  Return: 0 or 1. */
static int be_referred(struct member *m, unsigned int timeout_ms, struct rdma_reference *reference)
{
	struct collective_op op = ring_op(m, COLLECTIVE_BROADCAST, 1);
	__u8 *send = (void *)m->send;
	unsigned int i;

	for (i = 0; i < LEN; i++)
		send[i] = 5 * i + i / 256;
	/* Bytes can be anywhere. */
	op.type = COLLECTIVE_UINT8;
	op.count = LEN;
	op.send_buffer = m->buffer;
	op.timeout_ms = timeout_ms;
	CHECK_EQ(0, member_start(m->fd, &op, &m->request));
	CHECK_EQ(0, announce(m, &op));
	/* Ranks of a broadcast are compared by ANNOUNCE, and not by what they grant. */
	CHECK_EQ(0, control_send(m, &(struct coll_control){
		.kind = COLL_CONTROL_GRANT,
		.position = ~0ULL,
	}));
	CHECK_EQ(RDMA_REFERENCE, rdma_peer_message(&m->data, BOUND_MS));
	CHECK_EQ(0, rdma_peer_receive(&m->data, reference, sizeof(*reference), 0));
	CHECK_EQ(LEN, reference->len);
	CHECK_EQ(COLL_DATA_SIZE, m->data.left);
	/* Nothing tells where the memory is. */
	CHECK_EQ((uintptr_t)m->send % sysconf(_SC_PAGESIZE), reference->addr);
	return 0;
}

/* Read what rank 1 refers to.  Return: enum ibv_wc_status, or -1. */
static int peer_reads(struct member *m, const struct rdma_reference *reference)
{
	const __u64 end = now_ms() + 2 * BOUND_MS;
	struct ibv_wc wc = { 0 };

	memset(m->memory, 0, LEN);
	if (rdma_post_read(m->data.id, m, m->memory, LEN, m->readable, 0, reference->addr,
			   reference->key))
		return -1;
	do {
		if (ibv_poll_cq(m->data.id->send_cq, 1, &wc) < 0 || now_ms() >= end)
			return -1;
	} while (wc.wr_id != (uintptr_t)m);
	return wc.status;
}

static int answer(struct member *m, enum answer how, __u32 key)
{
	switch (how) {
	case ANSWER_NO_KEY:
		return rdma_peer_send(&m->data, RDMA_RETURN, 0, sizeof(struct rdma_head));
	case ANSWER_OTHER_KEY:
		return rdma_peer_invalidate(&m->data, RDMA_RETURN, 0, key + 0x100);
	case ANSWER_OTHER_KIND:
		return rdma_peer_invalidate(&m->data, RDMA_CREDIT, 1, key);
	default:
		return rdma_peer_invalidate(&m->data, RDMA_RETURN, 0, key);
	}
}

TEST_F_TIMEOUT(returned, is_judged, 100)
{
	struct member *m = &self->m;

	ASSERT_EQ(0, be_referred(m, 4 * BOUND_MS, &self->reference));
	EXPECT_EQ(IBV_WC_SUCCESS, peer_reads(m, &self->reference));
	EXPECT_EQ(0, memcmp(m->memory, m->send, LEN));
	ASSERT_EQ(0, answer(m, variant->answer, self->reference.key));
	EXPECT_EQ(variant->err, member_wait(m->fd, m->request, 0));
	EXPECT_EQ(0, variant->err ? group_failed(m) : 0);
	/* In any case the operation is over, and so is the key. */
	EXPECT_NE(IBV_WC_SUCCESS, peer_reads(m, &self->reference));
	EXPECT_NE(0, memcmp(m->memory, m->send, LEN));
}

/* What the peer is told of payload: its offset in a page. */
FIXTURE(told) {
	struct member m;
};

FIXTURE_VARIANT(told) {
	int offset;
	bool registered;
};

FIXTURE_VARIANT_ADD(told, page) { 0, false };
FIXTURE_VARIANT_ADD(told, odd) { 1, false };
FIXTURE_VARIANT_ADD(told, behind_a_page) { 4100, false };
FIXTURE_VARIANT_ADD(told, before_a_page) { 4095, false };
FIXTURE_VARIANT_ADD(told, registered) { 0, true };
FIXTURE_VARIANT_ADD(told, registered_odd) { 8191, true };

FIXTURE_SETUP(told)
{
	if (!rdma_offered())
		SKIP(return, "no collective_rdma.ko");
	ASSERT_EQ(0, member_begins(&self->m));
}

FIXTURE_TEARDOWN(told)
{
	member_ends(&self->m);
}

TEST_F_TIMEOUT(told, no_address, 100)
{
	struct rdma_reference reference;
	struct member *m = &self->m;

	if (variant->registered)
		ASSERT_EQ(0, member_register(m->fd, m->sends, LEN + 4 * sysconf(_SC_PAGESIZE), 0,
					     &m->buffer));
	m->send = (void *)(m->sends + variant->offset);
	ASSERT_EQ(0, be_referred(m, 4 * BOUND_MS, &reference));
	EXPECT_EQ(IBV_WC_SUCCESS, peer_reads(m, &reference));
	EXPECT_EQ(0, memcmp(m->memory, m->send, LEN));
	ASSERT_EQ(0, rdma_peer_invalidate(&m->data, RDMA_RETURN, 0, reference.key));
	EXPECT_EQ(0, member_wait(m->fd, m->request, 0));
}

/* The peer returns nothing: at the deadline the group fails, and nothing can be read any more. */
TEST_F_TIMEOUT(returned, deadline, 100)
{
	struct member *m = &self->m;

	if (variant->answer != ANSWER_KEY)
		SKIP(return, "it does not matter how the peer would return it");
	ASSERT_EQ(0, be_referred(m, 500, &self->reference));
	EXPECT_EQ(-ETIMEDOUT, member_wait(m->fd, m->request, 0));
	EXPECT_NE(IBV_WC_SUCCESS, peer_reads(m, &self->reference));
	EXPECT_NE(0, memcmp(m->memory, m->send, LEN));
}

TEST_HARNESS_MAIN
