// SPDX-License-Identifier: GPL-2.0-only
#include "faults/tamper.h"

#include <linux/collective.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <unistd.h>

#include "faults/odd.h"

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

static bool pass(struct tamper_line *line, u8 *bytes, size_t len)
{
	return get(line->near, bytes, len) && put(line->far, bytes, len);
}

/*
 * What is done to a frame; all return whether the line goes on
 */

struct frame {
	u8 *bytes;
	u32 head;
	u32 payload;
	bool control;
};

static bool frame_put(struct tamper_line *line, const struct frame *frame)
{
	return put(line->far, frame->bytes, frame->head + frame->payload);
}

static bool frame_field(struct tamper_line *line, struct rng *rng, struct frame *frame)
{
	const struct tamper_config *config = &line->tamper->config;

	if (frame->control)
		odd_control(rng, frame->bytes);
	else
		odd_data(rng, frame->bytes);
	if (frame->control && odd_slanders(frame->bytes, config->incarnation, config->sender,
					   config->nranks))
		line->tamper->slandered = true;
	return frame_put(line, frame);
}

/* The header tells the length that there is, which is not the right one. */
static bool frame_resize(struct tamper_line *line, struct rng *rng, struct frame *frame, bool more)
{
	u32 by = rng_once_in(rng, 2) ? 4 * (1 + rng_below(rng, 64)) : 1 + rng_below(rng, 4096);
	struct coll_data data;

	if (frame->control || coll_wire_get_data(frame->bytes, &data,
						 line->tamper->config.incarnation))
		return frame_put(line, frame);
	if (more)
		frame->payload = min_t(u32, frame->payload + by, COLL_DATA_MAX);
	else
		frame->payload -= min(frame->payload, by);
	data.length = frame->payload;
	coll_wire_put_data(frame->bytes, &data, line->tamper->config.incarnation);
	return frame_put(line, frame);
}

static bool frame_cut(struct tamper_line *line, struct rng *rng, struct frame *frame)
{
	put(line->far, frame->bytes, rng_below(rng, frame->head + frame->payload));
	if (line->tamper->config.way == TAMPER_CUT) {
		shutdown(line->far, SHUT_WR);
		return false;
	}
	/* What follows is read, and that is all. */
	while (recv(line->near, frame->bytes, COLL_DATA_MAX, 0) > 0)
		;
	return false;
}

static bool frame_slow(struct tamper_line *line, const struct frame *frame)
{
	u32 i;

	for (i = 0; i < frame->head; i++)
		if (!put(line->far, frame->bytes + i, 1))
			return false;
	return put(line->far, frame->bytes + frame->head, frame->payload);
}

static bool frame_noise(struct tamper_line *line, struct rng *rng, const struct frame *frame)
{
	u8 noise[512];
	size_t len = 1 + rng_below(rng, sizeof(noise));

	odd_bytes(rng, noise, len);
	return put(line->far, noise, len) && frame_put(line, frame);
}

static bool frame_tamper(struct tamper_line *line, struct frame *frame)
{
	struct tamper *tamper = line->tamper;
	struct rng rng = { tamper->config.seed };

	__atomic_add_fetch(&tamper->done, 1, __ATOMIC_SEQ_CST);
	switch (tamper->config.way) {
	case TAMPER_FIELD:
		return frame_field(line, &rng, frame);
	case TAMPER_DROP:
		return true;
	case TAMPER_TWICE:
		return frame_put(line, frame) && frame_put(line, frame);
	case TAMPER_LONG:
		return frame_resize(line, &rng, frame, true);
	case TAMPER_SHORT:
		return frame_resize(line, &rng, frame, false);
	case TAMPER_CUT:
	case TAMPER_STOP:
		return frame_cut(line, &rng, frame);
	case TAMPER_SLOW:
		return frame_slow(line, frame);
	case TAMPER_NOISE:
		return frame_noise(line, &rng, frame);
	default:
		return false;
	}
}

/*
 * Lines
 */

static bool frame_get(struct tamper_line *line, struct frame *frame)
{
	struct coll_data data;

	frame->head = frame->control ? COLL_CONTROL_SIZE : COLL_DATA_SIZE;
	frame->payload = 0;
	if (!get(line->near, frame->bytes, frame->head))
		return false;
	if (frame->control)
		return true;
	if (coll_wire_get_data(frame->bytes, &data, line->tamper->config.incarnation))
		return false;
	frame->payload = data.length;
	return get(line->near, frame->bytes + frame->head, frame->payload);
}

/* From the rank to the one that it calls. */
static void *line_up(void *arg)
{
	struct tamper_line *line = arg;
	const struct tamper_config *config = &line->tamper->config;
	struct frame frame = { .bytes = calloc(1, COLL_DATA_SIZE + COLL_DATA_MAX) };
	u8 hello[COLL_HELLO_SIZE], confirm[COLL_HELLO_SIZE];
	unsigned int n;
	bool on;

	on = frame.bytes && pass(line, hello, sizeof(hello)) &&
	     (!config->secured || pass(line, confirm, sizeof(confirm)));
	frame.control = hello[7] == COLL_CONN_CONTROL;
	for (n = 0; on && frame_get(line, &frame); n++)
		on = frame.control == config->control && n == config->nth ?
			frame_tamper(line, &frame) : frame_put(line, &frame);
	shutdown(line->far, SHUT_WR);
	free(frame.bytes);
	return NULL;
}

static void *line_down(void *arg)
{
	struct tamper_line *line = arg;
	u8 bytes[16384];
	ssize_t n;

	do {
		n = recv(line->far, bytes, sizeof(bytes), 0);
	} while (n > 0 && put(line->near, bytes, n));
	shutdown(line->near, SHUT_RDWR);
	shutdown(line->far, SHUT_RDWR);
	return NULL;
}

static int line_new(struct tamper *tamper, int near, const struct sockaddr_storage *addr)
{
	struct tamper_line *line = &tamper->line[tamper->nlines];
	int far = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (tamper->ended || tamper->nlines == TAMPER_LINES || far < 0 ||
	    connect(far, (const struct sockaddr *)addr, sizeof(struct sockaddr_in)))
		goto close;
	*line = (struct tamper_line){ .tamper = tamper, .near = near, .far = far };
	if (pthread_create(&line->up, NULL, line_up, line))
		goto close;
	if (pthread_create(&line->down, NULL, line_down, line))
		abort();
	tamper->nlines++;
	return 0;

close:
	close(near);
	close(far);
	return -1;
}

static void *host_run(void *arg)
{
	struct tamper_host *host = arg;
	int near;

	while ((near = accept(host->listener, NULL, NULL)) >= 0) {
		pthread_mutex_lock(&host->tamper->lock);
		line_new(host->tamper, near, &host->addr);
		pthread_mutex_unlock(&host->tamper->lock);
	}
	return NULL;
}

int tamper_start(struct tamper *tamper, const struct tamper_config *config)
{
	memset(tamper, 0, sizeof(*tamper));
	tamper->config = *config;
	return -pthread_mutex_init(&tamper->lock, NULL);
}

int tamper_host(struct tamper *tamper, struct sockaddr_storage *addr)
{
	struct tamper_host *host = &tamper->host[tamper->nhosts];
	struct sockaddr_in in = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t len = sizeof(in);

	*host = (struct tamper_host){ .tamper = tamper, .addr = *addr };
	host->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (host->listener < 0)
		return -errno;
	if (bind(host->listener, (struct sockaddr *)&in, len) || listen(host->listener, 64) ||
	    getsockname(host->listener, (struct sockaddr *)&in, &len) ||
	    pthread_create(&host->thread, NULL, host_run, host)) {
		close(host->listener);
		return -EIO;
	}
	tamper->nhosts++;
	memset(addr, 0, sizeof(*addr));
	memcpy(addr, &in, sizeof(in));
	return 0;
}

void tamper_stop(struct tamper *tamper)
{
	unsigned int i;

	pthread_mutex_lock(&tamper->lock);
	tamper->ended = true;
	pthread_mutex_unlock(&tamper->lock);
	for (i = 0; i < tamper->nhosts; i++) {
		shutdown(tamper->host[i].listener, SHUT_RDWR);
		pthread_join(tamper->host[i].thread, NULL);
		close(tamper->host[i].listener);
	}
	for (i = 0; i < tamper->nlines; i++) {
		struct tamper_line *line = &tamper->line[i];

		shutdown(line->near, SHUT_RDWR);
		shutdown(line->far, SHUT_RDWR);
		pthread_join(line->up, NULL);
		pthread_join(line->down, NULL);
		close(line->near);
		close(line->far);
	}
	pthread_mutex_destroy(&tamper->lock);
}
