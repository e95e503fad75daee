// SPDX-License-Identifier: GPL-2.0-only
/*
 * The RDMA transport on a device that does one thing at a time, in an order that the test chooses.
 *
 * Two connections send frames to each other, some by reference, and one of them is closed.  The
 * device asserts that no message comes before its slot, and that no invalid key is used.  The test
 * checks that all bytes arrive, in place or not, and that what was read is returned before the end.
 */
#include "rdma_env.h"
#include "rdma_device.h"
#include "transport/rdma/rdma.h"
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "transport/rdma/queue.c"
#include "transport/rdma/reading.c"
#include "transport/rdma/reference.c"
#include "transport/rdma/send.c"
#include "transport/rdma/recv.c"
#include "transport/rdma/end.c"
#pragma GCC diagnostic pop
#include "tap.h"

#define ROUNDS		1500
#define STEPS		100000U
#define PAYLOAD_MOST	(192 * 1024U)
#define CREDITS		COLL_RDMA_CREDITS

/**
 * struct end - one end, and its owner
 * @ep: the endpoint
 * @charges: what it is charged
 * @conn: its connection, and what that is made of:
 * @qp: its queue pair
 * @cq: its completion queue
 * @id: its identifier
 * @pd: its protection domain
 * @out: payload of the two latest frames that were sent
 * @out_mem: likewise, for the transport
 * @in: payload of the frame that arrives
 * @in_mem: likewise
 * @piece: bytes of the pieces that @out is in
 * @frames: number of frames that were begun
 * @len: bytes of payload of the frame that is sent; 0: none is
 * @position: of the stream, at the end of the latest frame
 * @before: likewise, of the one before
 * @head: header of the latest frame: @len, and its number
 * @sent: bytes of it that were sent
 * @got_head: header of the frame that arrives
 * @got: bytes of it that have arrived
 * @received: number of frames that have arrived
 * @place: what the owner does with its payload: 0 takes it, 1 has it stored, 2 drops it
 * @drops: true if the owner drops all payload
 * @wrong: true if other bytes have arrived
 * @acknowledges: how often messages are acknowledged, of 32 steps of the device
 * @closed: true if the endpoint is closed
 * @freed: true if the connection was freed
 */
struct end {
	struct coll_endpoint ep;
	struct coll_charges charges;
	struct coll_rdma_conn *conn;
	struct ib_qp qp;
	struct ib_cq cq;
	struct rdma_cm_id id;
	struct ib_pd pd;
	u8 *out;
	struct coll_mem out_mem;
	u8 *in;
	struct coll_mem in_mem;
	u32 piece;
	u32 frames;
	u32 len;
	u64 position;
	u64 before;
	u32 head[2];
	u32 sent;
	u32 got_head[2];
	u32 got;
	u32 received;
	u32 place;
	bool drops;
	bool wrong;
	u32 acknowledges;
	bool closed;
	bool freed;
};

struct workqueue_struct *coll_rdma_wq;

static struct end ends[2];
static u64 random_state;

static u32 rnd(u32 n)
{
	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (random_state >> 33) % n;
}

/*
 * What the other files of the transport do
 */

static struct end *end_of(const struct coll_rdma_conn *conn)
{
	return &ends[conn == ends[1].conn];
}

void coll_rdma_conn_end(struct coll_rdma_conn *conn, int error)
{
	if (!conn->error)
		conn->error = error;
}

int coll_rdma_conn_error(const struct coll_rdma_conn *conn)
{
	return conn->error;
}

enum coll_rdma_state coll_rdma_conn_state(struct coll_rdma_conn *conn)
{
	return conn->error ? COLL_RDMA_ENDED : COLL_RDMA_OPEN;
}

void coll_rdma_conn_attach(struct coll_rdma_conn *conn, struct coll_endpoint *ep)
{
	conn->ep = ep;
}

void coll_rdma_info_attach(struct coll_endpoint *ep, struct coll_rdma_conn *conn)
{
	ep->end = conn;
}

void coll_rdma_close_listener(struct coll_endpoint *ep)
{
	(void)ep;
}

void coll_rdma_conn_release(struct coll_rdma_conn *conn)
{
	struct end *end = end_of(conn);
	struct rdma_cm_id *id = conn->id;

	if (!id)
		return;
	end->qp.destroyed = true;
	coll_rdma_release_reads(conn, id->device);
	coll_rdma_release_refs(conn, id->device);
	conn->cq = NULL;
	conn->id = NULL;
}

static void slots_new(struct coll_rdma_slots *slots, u32 n, u32 size)
{
	u32 i;

	slots->slot = size;
	slots->pages = DIV_ROUND_UP(n, PAGE_SIZE / size);
	slots->memory = calloc(slots->pages, sizeof(*slots->memory));
	slots->dma = calloc(slots->pages, sizeof(*slots->dma));
	for (i = 0; i < slots->pages; i++) {
		slots->memory[i] = aligned_alloc(PAGE_SIZE, PAGE_SIZE);
		slots->dma[i] = (u64)slots->memory[i];
	}
}

static void slots_end(struct coll_rdma_slots *slots)
{
	u32 i;

	for (i = 0; i < slots->pages; i++)
		free(slots->memory[i]);
	free(slots->memory);
	free(slots->dma);
}

void coll_rdma_conn_free(struct coll_rdma_conn *conn)
{
	assert(!conn->mutex.held && !conn->lock.held && !conn->id);
	end_of(conn)->freed = true;
	slots_end(&conn->rx_slots);
	slots_end(&conn->tx_slots);
	coll_rdma_reading_free(conn->reading);
	free(conn->refs);
	free(conn->rest);
	free(conn);
}

/*
 * The owner
 */

static void *piece_at(const u8 *memory, u32 piece, u64 off, size_t *len)
{
	*len = piece - off % piece;
	return (void *)(memory + off);
}

static void *out_at(const struct coll_mem *mem, u64 off, size_t *len)
{
	const struct end *end = container_of(mem, const struct end, out_mem);

	return piece_at(end->out, end->piece, off, len);
}

static void *in_at(const struct coll_mem *mem, u64 off, size_t *len)
{
	const struct end *end = container_of(mem, const struct end, in_mem);

	return piece_at(end->in, PAGE_SIZE, off, len);
}

static u8 pattern(u32 number, u32 i)
{
	return number * 31 + i * 7 + (i >> 8);
}

static void owner_event(struct coll_endpoint *ep, enum coll_event event)
{
	(void)ep;
	(void)event;
}

static void frame_arrived(struct end *end)
{
	u32 i;

	if (end->got < sizeof(end->got_head) ||
	    end->got < sizeof(end->got_head) + end->got_head[0])
		return;
	end->wrong |= end->got_head[1] != end->received;
	for (i = 0; i < end->got_head[0] && end->place != 2; i++)
		end->wrong |= end->in[i] != pattern(end->received, i);
	end->received++;
	end->got = 0;
}

static int owner_recv(struct coll_endpoint *ep, const void *ptr, u32 len)
{
	struct end *end = container_of(ep, struct end, ep);
	u32 head = sizeof(end->got_head), n = min(len, 1 + rnd(3000));

	if (end->got < head) {
		n = min(n, head - end->got);
		memcpy((u8 *)end->got_head + end->got, ptr, n);
		end->place = end->drops ? 2 : rnd(3);
	} else {
		n = min(n, head + end->got_head[0] - end->got);
		memcpy(end->in + end->got - head, ptr, n);
	}
	end->got += n;
	frame_arrived(end);
	return n;
}

static int owner_place(struct coll_endpoint *ep, u32 ahead, struct coll_place *place)
{
	struct end *end = container_of(ep, struct end, ep);
	u32 at = end->got - sizeof(end->got_head) + ahead;

	place->mem = end->place == 2 ? NULL : &end->in_mem;
	place->off = at;
	place->len = end->got_head[0] - at;
	return end->place != 0;
}

static void owner_placed(struct coll_endpoint *ep, u32 len)
{
	struct end *end = container_of(ep, struct end, ep);

	end->got += len;
	frame_arrived(end);
}

static const struct coll_endpoint_ops owner_ops = {
	.event		= owner_event,
	.recv		= owner_recv,
	.recv_place	= owner_place,
	.recv_placed	= owner_placed,
};

static bool all_consumed(struct end *end)
{
	return !end->len && coll_rdma_consumed(&end->ep) >= end->position;
}

/* The payload of a frame stays until the peer has consumed it, and there is memory for two. */
static void owner_begin_frame(struct end *end, u32 len)
{
	u8 *out = end->out + end->frames % 2 * PAYLOAD_MOST;
	u32 i;

	if (end->len || coll_rdma_consumed(&end->ep) < end->before)
		return;
	end->before = end->position;
	end->len = len;
	end->piece = rnd(4) ? PAGE_SIZE : 1000;
	end->head[0] = end->len;
	end->head[1] = end->frames++;
	end->sent = 0;
	end->position += end->len;
	for (i = 0; i < end->len; i++)
		out[i] = pattern(end->head[1], i);
}

static void owner_send(struct end *end)
{
	const u32 head = sizeof(end->head);
	struct coll_out out = {
		.mem = &end->out_mem,
		.off = (end->head[1] % 2) * PAYLOAD_MOST,
		.position = end->position,
		.owner = end,
	};
	u32 referred;
	int n;

	if (!end->len)
		return;
	if (end->sent < head) {
		out.ptr = (u8 *)end->head + end->sent;
		out.len = head - end->sent;
		out.more = end->len;
	} else {
		out.off += end->sent - head;
		out.len = head + end->len - end->sent;
	}
	n = coll_rdma_send_frame(&end->ep, &out, &referred);
	if (n > 0)
		end->sent += n;
	if (end->sent == head + end->len)
		end->len = 0;
}

/*
 * Two ends
 */

static void end_new(struct end *end, struct end *peer)
{
	struct coll_rdma_conn *conn = calloc(1, sizeof(*conn));

	*end = (struct end){
		.out = end->out ?: aligned_alloc(PAGE_SIZE, 2 * PAYLOAD_MOST),
		.in = end->in ?: aligned_alloc(PAGE_SIZE, PAYLOAD_MOST),
		.acknowledges = 1 + rnd(24),
	};
	end->out_mem.at = out_at;
	end->in_mem.at = in_at;
	end->qp.peer = &peer->qp;
	end->qp.cq = &end->cq;
	end->qp.space = COLL_RDMA_SEND_SLOTS + COLL_RDMA_BULK_WORK;
	end->cq.space = end->qp.space + coll_rdma_recv_slots(true);
	end->id.qp = &end->qp;
	end->ep.ops = &owner_ops;
	end->ep.charges = &end->charges;
	end->ep.end = conn;
	end->ep.transport = (void *)&owner_ops;
	end->conn = conn;
	conn->routed.done = true;
	conn->bulk = true;
	conn->ep = &end->ep;
	conn->id = &end->id;
	conn->pd = &end->pd;
	conn->cq = &end->cq;
	conn->depth.in = COLL_RDMA_READS;
	conn->depth.out = COLL_RDMA_READS;
	conn->read_pieces = COLL_RDMA_READ_PIECES;
	conn->refs = calloc(1, sizeof(*conn->refs));
	conn->reading = calloc(1, sizeof(*conn->reading));
	slots_new(&conn->rx_slots, coll_rdma_recv_slots(true), COLL_RDMA_SLOT_BULK);
	slots_new(&conn->tx_slots, COLL_RDMA_SEND_SLOTS, COLL_RDMA_SLOT_BULK);
	conn->hello = (struct coll_rdma_hello){
		.magic = cpu_to_le32(COLL_RDMA_MAGIC),
		.slot_bytes = cpu_to_le32(COLL_RDMA_SLOT_BULK),
		.credits = cpu_to_le16(CREDITS),
		.bulk = 1,
		.reads = 1,
	};
	assert(!coll_rdma_learn(conn));
	assert(!coll_rdma_post_receives(conn));
}

static void end_free(struct end *end)
{
	if (!end->closed)
		coll_rdma_close(&end->ep, true);
	if (!end->freed) {
		coll_rdma_conn_release(end->conn);
		coll_rdma_conn_free(end->conn);
	}
}

static void ends_new(void)
{
	end_new(&ends[0], &ends[1]);
	end_new(&ends[1], &ends[0]);
}

/* What an end does is done with its device. */
static struct end *turn(struct end *end)
{
	device_allocates = &end->qp;
	device_polled = &end->qp;
	return end;
}

static void device_step(struct end *end)
{
	if (rnd(32) >= end->acknowledges)
		device_send(&end->qp);
	else
		device_acknowledge(&end->qp);
}

static void work_step(struct end *end)
{
	if (end->freed || !end->closed)
		return;
	end->conn->work.work.queued = false;
	coll_rdma_work(&end->conn->work.work);
}

static void step(struct end *end, bool sends)
{
	turn(end);
	switch (rnd(8)) {
	case 0:
		if (sends && !end->closed)
			owner_begin_frame(end, 1 + rnd(rnd(2) ? 200 : PAYLOAD_MOST));
		break;
	case 1:
		if (!end->closed)
			owner_send(end);
		break;
	case 2:
	case 3:
		if (!end->closed)
			coll_rdma_receive(&end->ep, 1 + rnd(100000));
		else
			work_step(end);
		break;
	default:
		device_step(end);
	}
}

/* Was all consumed that the owner has sent, and is no frame in progress? */
static bool may_close(struct end *end)
{
	return all_consumed(end) && !end->got;
}

static void owner_close(struct end *end)
{
	turn(end);
	coll_rdma_shutdown(&end->ep, jiffies + 1000);
	coll_rdma_close(&end->ep, false);
	end->closed = true;
}

/* Does END come behind all that was due, of which @returns are returns? */
static bool ends_in_order(struct end *closed, u32 returns)
{
	struct end *other = closed->qp.peer == &ends[0].qp ? &ends[0] : &ends[1];
	u32 i;

	owner_close(closed);
	for (i = 0; i < STEPS && !other->conn->rx_end && !closed->qp.destroyed; i++) {
		step(closed, false);
		step(other, false);
	}
	/* All messages that have reached its device are there. */
	for (i = 0; i < 100; i++) {
		turn(other);
		coll_rdma_receive(&other->ep, PAYLOAD_MOST);
	}
	return other->conn->rx_end && !other->conn->error && !closed->wrong && !other->wrong &&
	       other->received == closed->frames && other->conn->refs->returned == returns;
}

static bool ends_free(bool good)
{
	end_free(&ends[0]);
	end_free(&ends[1]);
	return good && !ends[0].charges.bytes && !ends[1].charges.bytes && !device_mapped;
}

/* Frames each way, in any order; then one end closes. */
static bool at_random(u64 seed)
{
	struct end *a = &ends[0], *b = &ends[1];
	bool good;
	u32 i;

	random_state = seed;
	ends_new();
	for (i = 0; i < 400; i++) {
		step(a, true);
		step(b, true);
	}
	for (i = 0; i < STEPS && !may_close(a); i++) {
		step(a, false);
		step(b, false);
	}
	good = may_close(a);
	good &= ends_in_order(a, a->qp.returns + coll_rdma_read_taken(a->conn));
	return ends_free(good);
}

/*
 * None of the messages of one end is acknowledged, and it has dropped the payload of two references
 * when it closes.  There is a place for one more message, which END may use, and RETURN may not.
 */
static bool return_waits(void)
{
	struct end *a = &ends[0], *b = &ends[1];
	bool good;
	u32 i;

	random_state = 1;
	ends_new();
	a->drops = true;
	for (i = 0; i < COLL_RDMA_SEND_SLOTS - SEND_KEPT; i++) {
		turn(a);
		owner_begin_frame(a, 1);
		owner_send(a);
	}
	for (i = 0; i < COLL_RDMA_REFS; i++) {
		turn(b);
		owner_begin_frame(b, 2 * COLL_RDMA_REF_MIN);
		owner_send(b);
	}
	while (device_send(&b->qp))
		;
	turn(a);
	coll_rdma_receive(&a->ep, PAYLOAD_MOST);
	good = a->received == COLL_RDMA_REFS && a->qp.returns == 1 &&
	       coll_rdma_read_taken(a->conn);
	good &= ends_in_order(a, COLL_RDMA_REFS);
	return ends_free(good);
}

int main(void)
{
	u32 i, bad = 0;

	tap_plan(0);
	tap_ok(return_waits(), "the end follows a return that waits for space");
	for (i = 0; i < ROUNDS; i++)
		if (!at_random(i)) {
			tap_note("seed %u", i);
			bad++;
		}
	tap_ok(!bad, "%u random orders", ROUNDS);
	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		free(ends[i].out);
		free(ends[i].in);
	}
	return tap_exit();
}
