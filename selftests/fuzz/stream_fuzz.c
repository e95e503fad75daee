// SPDX-License-Identifier: GPL-2.0-only
/*
 * One peer sends any bytes, and the engine's own frames leave at once.  The frames belong to
 * operations in progress or to later ones.  Most headers get the right constant fields and a
 * possible instance, because random bytes would hardly ever have them.
 */
#include "rig.h"

int LLVMFuzzerTestOneInput(const u8 *bytes, size_t size);

#define OPERATIONS_MAX	4

/* The peers grant everything, receive everything and consume it. */
static void answer(struct rig *rig)
{
	const struct coll_task *task, *next;
	u32 rank;

	for (rank = 0; rank < rig->engine.nranks; rank++) {
		struct peer *peer = &rig->peer[rank];

		if (!peer->up || peer->refused)
			continue;
		list_for_each_entry_safe(task, next, &rig->engine.active, node)
			coll_stream_granted(&peer->stream, task->args.instance, COLL_GRANT_ALL, 0);
		while (peer_send(rig, peer, U32_MAX))
			;
		require(!coll_stream_consumed(&peer->stream, peer->stream.tx_position));
		require(!coll_stream_credited(&peer->stream, peer->stream.tx_eager,
					      peer->stream.tx_ask == COLL_ASK_SENT ?
					      COLL_CREDIT_REFUSED : COLL_CREDIT_UNASKED));
	}
}

/* Make a valid header of the next bytes.  Return: false if they are to arrive as they are. */
static bool receive_header(struct rig *rig, struct peer *peer, struct input *in)
{
	const struct coll_stream *stream = &peer->stream;
	struct input name = { .at = in->at + 8, .left = 8 };
	u8 head[COLL_DATA_SIZE];
	struct coll_data data;
	u64 instance;

	if (stream->rx_open || stream->rx_hdr_len || in->left < sizeof(head) || in->at[0] & 1)
		return false;
	memcpy(head, in->at, sizeof(head));
	instance = rig_instance(rig, &name);
	data = (struct coll_data){
		.flags = head[1],
		.instance = instance,
		.step = head[16],
		.call = head[17] ? get_unaligned_le16(head + 18) : rig->call,
		.length = get_unaligned_le32(head + 20) & (2 * COLL_DATA_MAX - 1),
		.offset = head[24] ? input_bits(&name, 4) : head[25],
	};
	coll_wire_put_data(head, &data, RIG_INCARNATION);
	in->at += sizeof(head);
	in->left -= sizeof(head);
	peer_receive(rig, peer, head, sizeof(head));
	return true;
}

static void receive_bytes(struct rig *rig, struct peer *peer, struct input *in, u32 piece)
{
	u32 len = min_t(size_t, piece, in->left);

	peer_receive(rig, peer, in->at, len);
	in->at += len;
	in->left -= len;
}

int LLVMFuzzerTestOneInput(const u8 *bytes, size_t size)
{
	struct input in = { .at = bytes, .left = size };
	struct rig *rig = rig_new(&in);
	u32 operations = input_below(&in, OPERATIONS_MAX + 1);
	u32 piece = 1 + input_byte(&in);
	struct peer *peer = rig_peer(rig, &in);

	peer_connect(rig, peer);
	while (operations--)
		rig_submit(rig, &in);
	while (in.left) {
		if (!receive_header(rig, peer, &in))
			receive_bytes(rig, peer, &in, piece);
		engine_deliver_unexpected(&rig->engine);
		answer(rig);
		rig_check(rig);
	}
	rig_free(rig, piece & 1);
	return 0;
}
