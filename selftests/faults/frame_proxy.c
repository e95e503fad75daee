// SPDX-License-Identifier: GPL-2.0-only
#include "faults/frame_proxy.h"

#include <linux/collective.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <unistd.h>

#include "faults/malformed.h"

static bool put(int fd, const void *bytes, size_t len)
{
	const u8 *p = bytes;

	while (len) {
		ssize_t n = send(fd, p, len, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		p += n;
		len -= n;
	}
	return true;
}

static bool get(int fd, void *bytes, size_t len)
{
	return recv(fd, bytes, len, MSG_WAITALL) == (ssize_t)len;
}

static bool pass(struct proxy_conn *conn, u8 *bytes, size_t len)
{
	return get(conn->client, bytes, len) && put(conn->server, bytes, len);
}

/*
 * Faults; each function returns true if the connection goes on
 */

struct frame {
	u8 *bytes;
	u32 head;
	u32 payload;
	bool control;
};

static bool frame_put(struct proxy_conn *conn, const struct frame *frame)
{
	return put(conn->server, frame->bytes, frame->head + frame->payload);
}

static bool frame_field(struct proxy_conn *conn, struct rng *rng, struct frame *frame)
{
	const struct proxy_config *config = &conn->proxy->config;

	if (frame->control)
		malformed_control(rng, frame->bytes);
	else
		malformed_data(rng, frame->bytes);
	if (frame->control && accuses_others(frame->bytes, config->incarnation, config->sender,
					     config->nranks))
		conn->proxy->accused_others = true;
	return frame_put(conn, frame);
}

/* Send a payload of another length. The header states the length that is sent. */
static bool frame_resize(struct proxy_conn *conn, struct rng *rng, struct frame *frame, bool more)
{
	u32 by = rng_once_in(rng, 2) ? 4 * (1 + rng_below(rng, 64)) : 1 + rng_below(rng, 4096);
	struct coll_data data;

	if (frame->control || coll_wire_get_data(frame->bytes, &data,
						 conn->proxy->config.incarnation))
		return frame_put(conn, frame);
	if (more)
		frame->payload = min_t(u32, frame->payload + by, COLL_DATA_MAX);
	else
		frame->payload -= min(frame->payload, by);
	data.length = frame->payload;
	coll_wire_put_data(frame->bytes, &data, conn->proxy->config.incarnation);
	return frame_put(conn, frame);
}

static bool frame_truncate(struct proxy_conn *conn, struct rng *rng, struct frame *frame)
{
	put(conn->server, frame->bytes, rng_below(rng, frame->head + frame->payload));
	if (conn->proxy->config.fault == PROXY_TRUNCATE) {
		shutdown(conn->server, SHUT_WR);
		return false;
	}
	/* Read and drop all that follows. */
	while (recv(conn->client, frame->bytes, COLL_DATA_MAX, 0) > 0)
		;
	return false;
}

static bool frame_slow(struct proxy_conn *conn, const struct frame *frame)
{
	u32 i;

	for (i = 0; i < frame->head; i++)
		if (!put(conn->server, frame->bytes + i, 1))
			return false;
	return put(conn->server, frame->bytes + frame->head, frame->payload);
}

static bool frame_insert(struct proxy_conn *conn, struct rng *rng, const struct frame *frame)
{
	u8 noise[512];
	size_t len = 1 + rng_below(rng, sizeof(noise));

	random_bytes(rng, noise, len);
	return put(conn->server, noise, len) && frame_put(conn, frame);
}

static bool frame_change(struct proxy_conn *conn, struct frame *frame)
{
	struct frame_proxy *proxy = conn->proxy;
	struct rng rng = { proxy->config.seed };

	__atomic_add_fetch(&proxy->done, 1, __ATOMIC_SEQ_CST);
	switch (proxy->config.fault) {
	case PROXY_FIELD:
		return frame_field(conn, &rng, frame);
	case PROXY_DROP:
		return true;
	case PROXY_DUPLICATE:
		return frame_put(conn, frame) && frame_put(conn, frame);
	case PROXY_LONGER:
		return frame_resize(conn, &rng, frame, true);
	case PROXY_SHORTER:
		return frame_resize(conn, &rng, frame, false);
	case PROXY_TRUNCATE:
	case PROXY_STALL:
		return frame_truncate(conn, &rng, frame);
	case PROXY_SLOW:
		return frame_slow(conn, frame);
	case PROXY_INSERT:
		return frame_insert(conn, &rng, frame);
	default:
		return false;
	}
}

/*
 * Connections
 */

static bool frame_get(struct proxy_conn *conn, struct frame *frame)
{
	struct coll_data data;

	frame->head = frame->control ? COLL_CONTROL_SIZE : COLL_DATA_SIZE;
	frame->payload = 0;
	if (!get(conn->client, frame->bytes, frame->head))
		return false;
	if (frame->control)
		return true;
	if (coll_wire_get_data(frame->bytes, &data, conn->proxy->config.incarnation))
		return false;
	frame->payload = data.length;
	return get(conn->client, frame->bytes + frame->head, frame->payload);
}

/* Relay frames from the client rank to the rank that it called. */
static void *conn_to_server(void *arg)
{
	struct proxy_conn *conn = arg;
	const struct proxy_config *config = &conn->proxy->config;
	struct frame frame = { .bytes = calloc(1, COLL_DATA_SIZE + COLL_DATA_MAX) };
	u8 hello[COLL_HELLO_SIZE], confirm[COLL_HELLO_SIZE];
	unsigned int n;
	bool on;

	on = frame.bytes && pass(conn, hello, sizeof(hello)) &&
	     (!config->has_secret || pass(conn, confirm, sizeof(confirm)));
	frame.control = hello[7] == COLL_CONN_CONTROL;
	for (n = 0; on && frame_get(conn, &frame); n++)
		on = frame.control == config->control && n == config->nth ?
			frame_change(conn, &frame) : frame_put(conn, &frame);
	shutdown(conn->server, SHUT_WR);
	free(frame.bytes);
	return NULL;
}

static void *conn_to_client(void *arg)
{
	struct proxy_conn *conn = arg;
	u8 bytes[16384];
	ssize_t n;

	do {
		n = recv(conn->server, bytes, sizeof(bytes), 0);
	} while (n > 0 && put(conn->client, bytes, n));
	shutdown(conn->client, SHUT_RDWR);
	shutdown(conn->server, SHUT_RDWR);
	return NULL;
}

static int conn_new(struct frame_proxy *proxy, int client, const struct sockaddr_storage *addr)
{
	struct proxy_conn *conn = &proxy->conn[proxy->nconns];
	int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (proxy->ended || proxy->nconns == PROXY_CONNS || server < 0 ||
	    connect(server, (const struct sockaddr *)addr, sizeof(struct sockaddr_in)))
		goto close;
	*conn = (struct proxy_conn){ .proxy = proxy, .client = client, .server = server };
	if (pthread_create(&conn->up, NULL, conn_to_server, conn))
		goto close;
	if (pthread_create(&conn->down, NULL, conn_to_client, conn))
		abort();
	proxy->nconns++;
	return 0;

close:
	close(client);
	close(server);
	return -1;
}

static void *listener_run(void *arg)
{
	struct proxy_listener *listener = arg;
	int client;

	while ((client = accept(listener->fd, NULL, NULL)) >= 0) {
		pthread_mutex_lock(&listener->proxy->lock);
		conn_new(listener->proxy, client, &listener->addr);
		pthread_mutex_unlock(&listener->proxy->lock);
	}
	return NULL;
}

int proxy_start(struct frame_proxy *proxy, const struct proxy_config *config)
{
	memset(proxy, 0, sizeof(*proxy));
	proxy->config = *config;
	return -pthread_mutex_init(&proxy->lock, NULL);
}

int proxy_listener(struct frame_proxy *proxy, struct sockaddr_storage *addr)
{
	struct proxy_listener *listener = &proxy->listener[proxy->nlisteners];
	struct sockaddr_in in = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t len = sizeof(in);

	*listener = (struct proxy_listener){ .proxy = proxy, .addr = *addr };
	listener->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener->fd < 0)
		return -errno;
	if (bind(listener->fd, (struct sockaddr *)&in, len) || listen(listener->fd, 64) ||
	    getsockname(listener->fd, (struct sockaddr *)&in, &len) ||
	    pthread_create(&listener->thread, NULL, listener_run, listener)) {
		close(listener->fd);
		return -EIO;
	}
	proxy->nlisteners++;
	memset(addr, 0, sizeof(*addr));
	memcpy(addr, &in, sizeof(in));
	return 0;
}

void proxy_stop(struct frame_proxy *proxy)
{
	unsigned int i;

	pthread_mutex_lock(&proxy->lock);
	proxy->ended = true;
	pthread_mutex_unlock(&proxy->lock);
	for (i = 0; i < proxy->nlisteners; i++) {
		shutdown(proxy->listener[i].fd, SHUT_RDWR);
		pthread_join(proxy->listener[i].thread, NULL);
		close(proxy->listener[i].fd);
	}
	for (i = 0; i < proxy->nconns; i++) {
		struct proxy_conn *conn = &proxy->conn[i];

		shutdown(conn->client, SHUT_RDWR);
		shutdown(conn->server, SHUT_RDWR);
		pthread_join(conn->up, NULL);
		pthread_join(conn->down, NULL);
		close(conn->client);
		close(conn->server);
	}
	pthread_mutex_destroy(&proxy->lock);
}
