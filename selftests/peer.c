// SPDX-License-Identifier: GPL-2.0-only
#include <linux/collective.h>
#include <netinet/in.h>
#include <unistd.h>

#include "peer.h"
#include "wire.h"

static int peer_connect(const struct peer_call *call, enum coll_conn_kind kind)
{
	struct coll_hello hello = {
		.kind = kind,
		.id = call->id,
		.from = call->from,
		.to = call->to,
		.nranks = call->nranks,
		.lanes = 1,
		.inflight = call->inflight,
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	u8 buf[COLL_HELLO_SIZE];

	if (fd < 0)
		return -errno;
	memcpy(hello.name, call->name, strnlen(call->name, sizeof(hello.name) - 1));
	coll_wire_put_hello(buf, &hello);
	if (!connect(fd, (const struct sockaddr *)call->addr, sizeof(struct sockaddr_in)) &&
	    send(fd, buf, sizeof(buf), MSG_NOSIGNAL) == sizeof(buf) &&
	    recv(fd, buf, sizeof(buf), MSG_WAITALL) == sizeof(buf) &&
	    !coll_wire_get_hello(buf, &hello) && hello.stage == COLL_HELLO_ANSWER && !hello.error)
		return fd;
	close(fd);
	return -ECONNREFUSED;
}

int peer_call(struct peer *peer, const struct peer_call *call)
{
	peer->incarnation = coll_wire_incarnation(call->id);
	peer->control = peer_connect(call, COLL_CONN_CONTROL);
	if (peer->control < 0)
		return peer->control;
	peer->data = peer_connect(call, COLL_CONN_DATA);
	if (peer->data < 0)
		close(peer->control);
	return peer->data < 0 ? peer->data : 0;
}

static int peer_tell(const struct peer *peer, const struct coll_control *control)
{
	u8 buf[COLL_CONTROL_SIZE];

	coll_wire_put_control(buf, control, peer->incarnation);
	return send(peer->control, buf, sizeof(buf), MSG_NOSIGNAL) == sizeof(buf) ? 0 : -errno;
}

/* Ask for what an operation has to send. */
int peer_grant(const struct peer *peer, __u64 instance)
{
	return peer_tell(peer, &(struct coll_control){
		.kind = COLL_CONTROL_GRANT,
		.instance = instance,
		.position = ~0ULL,
	});
}

int peer_ping(const struct peer *peer)
{
	return peer_tell(peer, &(struct coll_control){ .kind = COLL_CONTROL_PING });
}

/* Say that so many have called a barrier, the first operation. */
int peer_announce(const struct peer *peer, __u64 round)
{
	return peer_tell(peer, &(struct coll_control){
		.kind = COLL_CONTROL_ANNOUNCE,
		.position = round,
		.signature.algorithm = COLLECTIVE_ALGORITHM_TREE,
	});
}

/* Four bytes of what no operation is. */
int peer_payload(const struct peer *peer, __u64 instance)
{
	const struct coll_data data = {
		.flags = COLL_DATA_EAGER,
		.call = 0xffff,
		.length = 4,
		.instance = instance,
	};
	u8 buf[COLL_DATA_SIZE + 4] = { 0 };

	coll_wire_put_data(buf, &data, peer->incarnation);
	return send(peer->data, buf, sizeof(buf), MSG_NOSIGNAL) == sizeof(buf) ? 0 : -errno;
}

/* Say goodbye, but stay. */
int peer_leave(const struct peer *peer)
{
	return peer_tell(peer, &(struct coll_control){ .kind = COLL_CONTROL_LEAVE });
}

int peer_wait_leave(const struct peer *peer)
{
	struct coll_control control = {};
	u8 buf[COLL_CONTROL_SIZE];

	while (control.kind != COLL_CONTROL_LEAVE)
		if (recv(peer->control, buf, sizeof(buf), MSG_WAITALL) != sizeof(buf) ||
		    coll_wire_get_control(buf, &control, peer->incarnation))
			return -EPROTO;
	return 0;
}

int peer_wait_end(const struct peer *peer)
{
	u8 buf[COLL_CONTROL_SIZE];
	ssize_t n;

	do {
		n = recv(peer->control, buf, sizeof(buf), 0);
	} while (n > 0);
	return n ? -errno : 0;
}

void peer_close(struct peer *peer)
{
	close(peer->control);
	close(peer->data);
}
