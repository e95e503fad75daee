// SPDX-License-Identifier: GPL-2.0-only
/*
 * What peers send.  A data frame matches what the engine waits for, differs in one field, or
 * is anything.  A control frame has a plausible position, or any.
 */
#include "rig.h"

/**
 * rig_instance() - choose an instance
 * @rig: the rig
 * @in: the choices: an operation in progress, an earlier one, a later one, or none
 *
 * Return: the instance.
 */
u64 rig_instance(const struct rig *rig, struct input *in)
{
	const struct coll_engine *engine = &rig->engine;
	u8 how = input_byte(in);
	u32 skip = how >> 3;
	const struct coll_task *task;

	switch (how & 7) {
	case 0:
		return input_number(in);
	case 1:
		return rig->next + skip;
	case 2:
		return coll_instance_keyed(skip % RIG_KEYS);
	case 3:
		return coll_instance_p2p(engine->rank, skip % engine->nranks, skip % RIG_KEYS,
					 skip & 16);
	case 4:
		return coll_instance_p2p(skip % engine->nranks, engine->rank, skip % RIG_KEYS,
					 skip & 16);
	}
	list_for_each_entry(task, &engine->active, node)
		if (!(skip-- % RIG_SLOTS))
			return task->args.instance;
	return rig->next;
}

/**
 * rig_peer() - choose a peer
 * @rig: the rig
 * @in: the choices
 *
 * Return: the peer.
 */
struct peer *rig_peer(struct rig *rig, struct input *in)
{
	u32 rank = input_below(in, rig->engine.nranks - 1);

	return &rig->peer[rank < rig->engine.rank ? rank : rank + 1];
}

/**
 * peer_connect() - connect to a peer, unless it is connected
 * @rig: the rig
 * @peer: the peer
 */
void peer_connect(struct rig *rig, struct peer *peer)
{
	if (peer->up)
		return;
	peer->up = true;
	coll_engine_connected(&rig->engine, &peer->stream);
}

/* The engine has refused the peer's bytes: the group fails, and the peer is not read any more. */
static void peer_refuse(struct rig *rig, struct peer *peer, int err)
{
	require(err == -EPROTO);
	peer->refused = true;
	rig_fail(rig);
}

/**
 * peer_receive() - give the engine bytes that a peer has sent
 * @rig: the rig
 * @peer: the peer
 * @bytes: the bytes
 * @len: the number of @bytes
 */
void peer_receive(struct rig *rig, struct peer *peer, const u8 *bytes, u32 len)
{
	while (len && peer->up && !peer->refused) {
		int n;

		rig->fpu = coll_stream_reduces(&peer->stream);
		n = coll_stream_receive(&peer->stream, bytes, len);
		rig->fpu = false;
		if (n < 0) {
			peer_refuse(rig, peer, n);
			require(coll_stream_receive(&peer->stream, bytes, len) == -EPROTO);
			return;
		}
		require(n && (u32)n <= len);
		rig->asked = 0;
		bytes += n;
		len -= n;
	}
	coll_stream_pause(&peer->stream);
}

/*
 * Make the frame that a task of the engine waits for from this peer.
 *
 * Return: true if there is such a task.
 */
static bool fitting(const struct rig *rig, const struct peer *peer, struct input *in,
		    struct coll_data *data)
{
	u32 skip = input_below(in, RIG_SLOTS);
	const struct coll_task *task;
	bool found = false;

	list_for_each_entry(task, &rig->engine.active, node) {
		u64 left = task->rx.in.len - task->rx_off;

		if (task_rx_done(task) || task->rx.from != peer->stream.peer ||
		    (task->error && skip & 1))
			continue;
		*data = (struct coll_data){
			.flags = task->args.eager ? COLL_DATA_EAGER : 0,
			.call = coll_plan_call(&task->args.plan),
			.step = task->rx.tag,
			.instance = task->args.instance,
			.offset = task->rx_off,
			.length = task->rx.signal ? 0 : min_t(u64, left, COLL_DATA_MAX),
		};
		found = true;
		if (!skip--)
			break;
	}
	return found;
}

/* Make an eager frame of an operation that need not be submitted. */
static void early(const struct rig *rig, struct input *in, struct coll_data *data)
{
	*data = (struct coll_data){
		.flags = COLL_DATA_EAGER,
		.call = rig->call,
		.step = input_below(in, 4),
		.instance = rig_instance(rig, in),
		.length = 8 * input_byte(in),
	};
}

/* Change one field of the frame, or none. */
static void distort(const struct rig *rig, struct input *in, struct coll_data *data)
{
	switch (input_below(in, 16)) {
	case 0:
		data->flags = input_byte(in);
		break;
	case 1:
		data->flags ^= COLL_DATA_ZEROCOPY;
		break;
	case 2:
		data->flags |= COLL_DATA_EAGER | COLL_DATA_REQUEST;
		data->offset = input_byte(in) & 1 ? data->length : data->offset;
		data->length = 0;
		break;
	case 3:
		data->step = input_number(in);
		break;
	case 4:
		data->offset = input_number(in);
		break;
	case 5:
		data->length = input_number(in);
		break;
	case 6:
		data->call = input_bits(in, 2);
		break;
	case 7:
		data->instance = rig_instance(rig, in);
		break;
	case 8:
		data->lane = input_byte(in);
		break;
	case 9:
	case 10:
	case 11:
		data->length &= input_bits(in, 2);
		break;
	}
}

/**
 * peer_begin() - begin a frame of a peer
 * @rig: the rig
 * @peer: the peer
 * @in: the choices
 *
 * If the peer's last frame has not arrived as a whole, the engine takes the bytes of the new
 * frame for the rest of it.
 */
void peer_begin(struct rig *rig, struct peer *peer, struct input *in)
{
	struct coll_data data = { 0 };

	if (input_once_in(in, 4) || !fitting(rig, peer, in, &data))
		early(rig, in, &data);
	distort(rig, in, &data);
	coll_wire_put_data(peer->head, &data, RIG_INCARNATION);
	if (input_once_in(in, 64))
		peer->head[input_below(in, COLL_DATA_SIZE)] ^= input_byte(in);
	peer->head_left = COLL_DATA_SIZE;
	peer->body_left = data.length;
}

/**
 * peer_arrive() - give the engine a part of the frame that a peer has begun
 * @rig: the rig
 * @peer: the peer
 * @most: the most bytes that arrive
 */
void peer_arrive(struct rig *rig, struct peer *peer, u32 most)
{
	static const u8 body[4096] = { 0x3f, 0x80, 1, 0xff, 0x7f, 0xc0, 0, 3 };
	u32 head = min(most, peer->head_left);
	u32 len = min3(most - head, peer->body_left, (u32)sizeof(body));

	peer_receive(rig, peer, peer->head + COLL_DATA_SIZE - peer->head_left, head);
	peer_receive(rig, peer, body + sizeof(body) - len, len);
	peer->head_left -= head;
	peer->body_left -= len;
}

/* Read the bytes that a transport would copy or refer to, so that the sanitizer checks them. */
static void touch(const struct coll_mem *mem, u64 off, u64 len)
{
	static u8 socket[4096];

	while (len) {
		size_t n;
		const void *at = mem->at(mem, off, &n);

		n = min3((u64)n, len, (u64)sizeof(socket));
		memcpy(socket, at, n);
		off += n;
		len -= n;
	}
}

/**
 * peer_send() - take bytes from the stream as a transport does
 * @rig: the rig
 * @peer: the peer that the bytes are sent to
 * @most: the most bytes that are taken
 *
 * Return: true if there was something to send.
 */
bool peer_send(struct rig *rig, struct peer *peer, u32 most)
{
	struct coll_out out, again;
	u32 len;

	if (!coll_stream_next(&peer->stream, &out))
		return false;
	require(coll_stream_next(&peer->stream, &again) && again.ptr == out.ptr &&
		again.mem == out.mem && again.off == out.off && again.len == out.len);
	require(out.len);
	len = min(most, out.len + out.more);
	if (!out.ptr)
		touch(out.mem, out.off, len);
	else if (len > out.len)
		touch(out.mem, out.off, len - out.len);
	coll_stream_sent(&peer->stream, len);
	rig->asked = 0;
	return true;
}

/* Grant up to 63 consecutive instances. */
static int grant_many(const struct rig *rig, struct coll_stream *stream, struct input *in)
{
	u64 instance = rig_instance(rig, in);
	u32 count = input_below(in, 64);
	int err = 0;

	while (count-- && !err)
		err = coll_stream_granted(stream, instance++, COLL_GRANT_ALL, 0);
	return err;
}

/* Return: a position between @from and @to, or any. */
static u64 position(struct input *in, u64 from, u64 to)
{
	u8 how = input_byte(in);

	if (how == 0xff)
		return input_number(in);
	return from + (to - from) * how / 0xfe;
}

/* Return: a CREDIT, which seldom answers what was not asked, or the other way around. */
static int credit(struct coll_stream *stream, struct input *in)
{
	u64 most = stream->tx_credited + COLL_CREDIT + stream->tx_eager - stream->tx_credit;
	bool answer = (stream->tx_ask == COLL_ASK_SENT) != input_once_in(in, 16);

	return coll_stream_credited(stream, position(in, stream->tx_credited, most),
				    answer ? 1 + input_below(in, COLL_CREDIT_REPLIES - 1) : 0);
}

/* The owner of the stream gives credit that is wanted, or has no memory. */
static void give_credit(struct coll_stream *stream, struct input *in)
{
	u32 wanted = stream->rx_wanted;

	require(wanted <= COLL_CREDIT && (!wanted || stream->engine->credit_wanted));
	if (wanted > stream->rx_credit && !input_once_in(in, 4))
		free(coll_stream_raise_credit(stream, malloc(coll_unexp_bytes(wanted)), wanted));
	else if (stream->rx_blocked)
		coll_stream_refuse_credit(stream);
	require(!stream->rx_blocked);
}

/**
 * peer_control() - give the engine a control frame of a peer: GRANT, CONSUMED, CREDIT or BLOCKED
 * @rig: the rig
 * @peer: the peer
 * @in: the choices
 */
void peer_control(struct rig *rig, struct peer *peer, struct input *in)
{
	struct coll_stream *stream = &peer->stream;
	u64 instance, limit;
	int err;

	if (!peer->up || peer->refused)
		return;
	switch (input_below(in, 6)) {
	case 0:
		err = coll_stream_consumed(stream, position(in, stream->tx_consumed,
							    stream->tx_position));
		break;
	case 1:
		err = credit(stream, in);
		break;
	case 2:
		instance = rig_instance(rig, in);
		err = coll_stream_granted(stream, instance, COLL_GRANT_ALL, 0);
		break;
	case 3:
		err = grant_many(rig, stream, in);
		break;
	case 4:
		err = coll_stream_blocked(stream, position(in, stream->rx_returned,
							   stream->rx_eager + COLL_CREDIT));
		if (!err || input_once_in(in, 2))
			give_credit(stream, in);
		break;
	default:
		instance = rig_instance(rig, in);
		limit = input_number(in);
		err = coll_stream_granted(stream, instance, limit, limit % 7 == 3);
	}
	if (err)
		peer_refuse(rig, peer, err);
}
