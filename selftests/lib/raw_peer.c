// SPDX-License-Identifier: GPL-2.0-only
#include <linux/collective.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#include "lib/raw_peer.h"
#include "lib/hello_auth.h"
#include "core/wire/wire.h"

static __u32 config_lanes(const struct raw_peer_config *call)
{
	return call->lanes ? call->lanes : 1;
}

void raw_peer_hello(const struct raw_peer_config *call, int kind, __u32 lane, __u8 *buf)
{
	struct coll_hello hello = {
		.secured = call->secret,
		.kind = kind,
		.lane = lane,
		.id = call->id,
		.from = call->from,
		.to = call->to,
		.nranks = call->nranks,
		.lanes = config_lanes(call),
		.inflight = call->inflight,
	};

	memcpy(hello.name, call->name, strnlen(call->name, sizeof(hello.name) - 1));
	if (call->secret)
		memset(hello.nonce, 1 + lane, sizeof(hello.nonce));
	coll_wire_put_hello(buf, &hello);
}

/* Send the call and receive the answer. If the group has a secret, send the confirmation. */
static bool raw_peer_handshake(int fd, const struct raw_peer_config *call, const __u8 *hello)
{
	u8 answer[HELLO_SIZE], confirm[HELLO_SIZE];
	struct coll_hello heard;

	if (send(fd, hello, HELLO_SIZE, MSG_NOSIGNAL) != HELLO_SIZE ||
	    recv(fd, answer, HELLO_SIZE, MSG_WAITALL) != HELLO_SIZE ||
	    coll_wire_get_hello(answer, &heard) || heard.stage != COLL_HELLO_REPLY ||
	    heard.error)
		return false;
	if (!call->secret)
		return true;
	hello_confirm(hello, answer, call->secret, confirm);
	return send(fd, confirm, HELLO_SIZE, MSG_NOSIGNAL) == HELLO_SIZE;
}

int raw_peer_dial(const struct raw_peer_config *call, const __u8 *hello)
{
	const struct timeval wait = {
		.tv_sec = call->wait_ms / 1000,
		.tv_usec = call->wait_ms % 1000 * 1000,
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool answered;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	errno = 0;
	if (!connect(fd, (const struct sockaddr *)call->addr, sizeof(struct sockaddr_in)) &&
	    raw_peer_handshake(fd, call, hello))
		return fd;
	answered = errno != EAGAIN;
	close(fd);
	return answered ? -ECONNREFUSED : -EAGAIN;
}

static int raw_peer_open(const struct raw_peer_config *call, enum coll_conn_kind kind, __u32 lane)
{
	u8 hello[HELLO_SIZE];

	raw_peer_hello(call, kind, lane, hello);
	return raw_peer_dial(call, hello);
}

int raw_peer_connect(struct raw_peer *peer, const struct raw_peer_config *call)
{
	__u32 lanes = config_lanes(call);

	peer->incarnation = coll_wire_incarnation(call->id);
	peer->lanes = 0;
	peer->control = raw_peer_open(call, COLL_CONN_CONTROL, 0);
	if (peer->control < 0)
		return peer->control;
	while (peer->lanes < lanes) {
		int fd = raw_peer_open(call, COLL_CONN_DATA, peer->lanes);

		if (fd < 0) {
			raw_peer_close(peer);
			return fd;
		}
		peer->data[peer->lanes++] = fd;
	}
	return 0;
}

/* Send all bytes with one call. */
static int send_all(int fd, const void *bytes, size_t len)
{
	ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);

	if (n < 0)
		return -errno;
	return n == (ssize_t)len ? 0 : -EIO;
}

int raw_peer_send_control(const struct raw_peer *peer, const struct coll_control *control)
{
	u8 buf[COLL_CONTROL_SIZE];

	coll_wire_put_control(buf, control, peer->incarnation);
	return send_all(peer->control, buf, sizeof(buf));
}

/* Grant the payload of a large ring allreduce, with the signature of a rank that has called @op. */
int raw_peer_grant(const struct raw_peer *peer, __u64 instance, const struct collective_op *op)
{
	const struct coll_signature signature = {
		.collective = op->opcode,
		.type = op->type,
		.reduction = op->reduction,
		.algorithm = COLLECTIVE_ALGORITHM_RING,
		.count = op->count,
	};

	return raw_peer_send_control(peer, &(struct coll_control){
		.kind = COLL_CONTROL_GRANT,
		.instance = instance,
		.position = ~0ULL,
		.digest = coll_signature_digest(&signature),
	});
}

int raw_peer_ping(const struct raw_peer *peer)
{
	return raw_peer_send_control(peer, &(struct coll_control){ .kind = COLL_CONTROL_PING });
}

int raw_peer_announce_op(const struct raw_peer *peer, __u64 round, const struct collective_op *op)
{
	return raw_peer_send_control(peer, &(struct coll_control){
		.kind = COLL_CONTROL_ANNOUNCE,
		.position = round,
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

/* Announce a barrier as the first operation, called by the ranks of @round. */
int raw_peer_announce(const struct raw_peer *peer, __u64 round)
{
	return raw_peer_announce_op(peer, round, &(struct collective_op){
		.opcode = COLLECTIVE_BARRIER,
		.algorithm = COLLECTIVE_ALGORITHM_TREE,
	});
}

/* Send four bytes of payload with a call that matches no operation. */
int raw_peer_payload(const struct raw_peer *peer, __u64 instance)
{
	const struct coll_data data = {
		.flags = COLL_DATA_EAGER,
		.call = 0xffff,
		.length = 4,
		.instance = instance,
	};
	u8 buf[COLL_DATA_SIZE + 4] = { 0 };

	coll_wire_put_data(buf, &data, peer->incarnation);
	return send_all(peer->data[0], buf, sizeof(buf));
}

int raw_peer_receive(const struct raw_peer *peer, void *payload, size_t len)
{
	u8 header[COLL_DATA_SIZE];
	struct coll_data data;

	if (recv(peer->data[0], header, sizeof(header), MSG_WAITALL) != sizeof(header) ||
	    coll_wire_get_data(header, &data, peer->incarnation) || data.length != len ||
	    recv(peer->data[0], payload, len, MSG_WAITALL) != (ssize_t)len)
		return -EPROTO;
	return 0;
}

/* Send LEAVE, but keep the connections open. */
int raw_peer_leave(const struct raw_peer *peer)
{
	return raw_peer_send_control(peer, &(struct coll_control){ .kind = COLL_CONTROL_LEAVE });
}

/* Read until a control frame of this kind. */
static int raw_peer_wait_control(const struct raw_peer *peer, u8 kind,
				 struct coll_control *control)
{
	u8 buf[COLL_CONTROL_SIZE];

	do {
		if (recv(peer->control, buf, sizeof(buf), MSG_WAITALL) != sizeof(buf) ||
		    coll_wire_get_control(buf, control, peer->incarnation))
			return -EPROTO;
	} while (control->kind != kind);
	return 0;
}

int raw_peer_wait_announce(const struct raw_peer *peer, struct coll_control *control)
{
	return raw_peer_wait_control(peer, COLL_CONTROL_ANNOUNCE, control);
}

int raw_peer_blocked(const struct raw_peer *peer, __u64 position, unsigned int times)
{
	const struct coll_control control = {
		.kind = COLL_CONTROL_BLOCKED,
		.position = position,
	};
	u8 *frames = malloc(times * COLL_CONTROL_SIZE);
	ssize_t sent;
	unsigned int i;

	if (!frames)
		return -ENOMEM;
	for (i = 0; i < times; i++)
		coll_wire_put_control(frames + i * COLL_CONTROL_SIZE, &control, peer->incarnation);
	sent = send(peer->control, frames, times * COLL_CONTROL_SIZE, MSG_NOSIGNAL);
	free(frames);
	return sent == times * COLL_CONTROL_SIZE ? 0 : -EIO;
}

int raw_peer_answer(const struct raw_peer *peer)
{
	return raw_peer_send_control(peer, &(struct coll_control) {
		.kind = COLL_CONTROL_CREDIT,
		.credit_reply = COLL_CREDIT_RAISED,
	});
}

int raw_peer_give_credit(const struct raw_peer *peer)
{
	return raw_peer_send_control(peer, &(struct coll_control) {
		.kind = COLL_CONTROL_CREDIT,
		.position = COLL_CREDIT - COLL_CREDIT_FIRST,
	});
}

int raw_peer_wait_credit(const struct raw_peer *peer, __u64 *position)
{
	struct coll_control control = {};
	int err = raw_peer_wait_control(peer, COLL_CONTROL_CREDIT, &control);

	*position = control.position;
	return err ? err : control.credit_reply;
}

int raw_peer_wait_leave(const struct raw_peer *peer)
{
	struct coll_control control;

	return raw_peer_wait_control(peer, COLL_CONTROL_LEAVE, &control);
}

int raw_peer_wait_end(const struct raw_peer *peer)
{
	u8 buf[COLL_CONTROL_SIZE];
	ssize_t n;

	do {
		n = recv(peer->control, buf, sizeof(buf), 0);
	} while (n > 0);
	return n ? -errno : 0;
}

void raw_peer_close(struct raw_peer *peer)
{
	close(peer->control);
	while (peer->lanes)
		close(peer->data[--peer->lanes]);
}
