// SPDX-License-Identifier: GPL-2.0-only
/*
 * One of two ranks, each with its own network, while the path between them fails.
 *
 *	outage_ranks out|in|both|data|late|idle BYTES MS...
 *		For each MS no packet passes from rank 1, from rank 0 or in both directions; or no
 *		large one. Operations are in progress, every other time nonblocking ones; or rank 1
 *		is late; or nothing is in flight. Nothing fails.
 *	outage_ranks cut BYTES MS
 *		No packet passes for MS: all ranks fail meanwhile, not before six heartbeats without
 *		one.
 *	outage_ranks large BYTES MS
 *		Large packets do not pass any more: the next operation fails within MS, names the
 *		link, and before that `collectivectl why` does.
 *
 * The environment of the launcher gives the rank.
 */
#include <errno.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "init.h"

#define BYTES_MAX	(4 << 20)
/* An operation may last for so much longer than the outage: a machine may have more to do. */
#define MARGIN_MS	3000

static float sent[BYTES_MAX / sizeof(float)], received[BYTES_MAX / sizeof(float)];

static long long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

static int nonblocking;

static int call(struct coll_comm *comm, size_t count)
{
	struct coll_request *request;
	int err;

	if (!nonblocking)
		return coll_allreduce(comm, sent, received, count, COLL_FLOAT32, COLL_SUM);
	err = coll_iallreduce(comm, sent, received, count, COLL_FLOAT32, COLL_SUM, &request);
	return err || !request ? err : coll_wait(request);
}

static int allreduce(struct coll_comm *comm, int bytes)
{
	int err = call(comm, bytes / sizeof(float));

	if (err)
		printf("rank %d: %d, %s\n", coll_rank(comm), err, coll_error_detail(comm));
	return err;
}

static void put_attribute(struct nlmsghdr *header, int type, const void *data, int bytes)
{
	struct rtattr *attribute = (void *)((char *)header + NLMSG_ALIGN(header->nlmsg_len));

	attribute->rta_type = type;
	attribute->rta_len = RTA_LENGTH(bytes);
	memcpy(RTA_DATA(attribute), data, bytes);
	header->nlmsg_len = NLMSG_ALIGN(header->nlmsg_len) + RTA_ALIGN(attribute->rta_len);
}

/* Change the root queue of eth0, in less time than it takes to run tc(8). */
static int set_queue(int type, int flags, const char *kind, const void *options, int bytes)
{
	struct {
		struct nlmsghdr header;
		struct tcmsg message;
		char attributes[128];
	} request = {
		.header = {
			.nlmsg_len = NLMSG_LENGTH(sizeof(struct tcmsg)),
			.nlmsg_type = type,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags,
		},
		.message = { .tcm_parent = TC_H_ROOT, .tcm_ifindex = if_nametoindex("eth0") },
	};
	struct {
		struct nlmsghdr header;
		struct nlmsgerr error;
		char rest[512];
	} reply;
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE), err = -1;

	if (kind) {
		put_attribute(&request.header, TCA_KIND, kind, strlen(kind) + 1);
		put_attribute(&request.header, TCA_OPTIONS, options, bytes);
	}
	if (write(fd, &request, request.header.nlmsg_len) > 0 &&
	    read(fd, &reply, sizeof(reply)) > 0)
		err = reply.error.error;
	close(fd);
	if (err)
		printf("queue of eth0: %d\n", err);
	return err;
}

static int drop_all(void)
{
	const struct tc_netem_qopt options = { .limit = 1000, .loss = ~0U };

	return set_queue(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL, "netem", &options,
			 sizeof(options));
}

/* Those of more than 1000 bytes. */
static int drop_large(void)
{
	return system("tc qdisc add dev eth0 root tbf rate 1gbit burst 1000 limit 4000000");
}

/* An outage that is to end at a time; @length is what it was. */
static long long outage_begin, outage_end, outage_length;

static void *end_outage(void *err)
{
	while (now_ms() < outage_end)
		usleep(1000);
	*(int *)err = set_queue(RTM_DELQDISC, 0, NULL, NULL, 0);
	outage_length = now_ms() - outage_begin;
	return NULL;
}

/* Operations until all ranks are past the outage.  Return: the longest time of one, or -1. */
static long long run_through(struct coll_comm *comm, const char *mode, int bytes, int ms)
{
	long long begin = outage_begin, longest = 0;
	int late = !strcmp(mode, "late") && coll_rank(comm) == 1;

	if (!strcmp(mode, "idle"))
		usleep((ms + 500) * 1000);
	do {
		long long called;

		if (late)
			usleep((ms + 100) * 1000);
		late = 0;
		usleep(2000);
		called = now_ms();
		sent[0] = called > begin + ms + 200;
		if (allreduce(comm, bytes))
			return -1;
		if (now_ms() - called > longest)
			longest = now_ms() - called;
	} while (received[0] < coll_size(comm));
	return longest;
}

/* Does this rank lose what it sends? */
static int loses(const char *mode, int rank)
{
	return !strcmp(mode, "out") ? rank == 1 : !strcmp(mode, "in") ? rank == 0 : 1;
}

/* The outages of all ranks have the same begin and end: their clock is that of the machine. */
static int agree_begin(struct coll_comm *comm)
{
	long long soon = now_ms() + 50;
	int err = coll_allreduce(comm, &soon, &outage_begin, 1, COLL_INT64, COLL_MAX);

	while (!err && now_ms() < outage_begin)
		usleep(1000);
	return err;
}

static int survives(struct coll_comm *comm, const char *mode, int bytes, int ms)
{
	int muted = loses(mode, coll_rank(comm)), err = 0;
	pthread_t thread;
	long long longest;

	if (agree_begin(comm))
		return 1;
	outage_end = outage_begin + ms;
	if (muted && ((strcmp(mode, "data") ? drop_all() : drop_large()) ||
		      pthread_create(&thread, NULL, end_outage, &err)))
		return 1;
	longest = run_through(comm, mode, bytes, ms);
	if (muted)
		pthread_join(thread, NULL);
	printf("rank %d: %s, %d bytes, outage of %d ms (%lld): %lld ms\n", coll_rank(comm), mode,
	       bytes, ms, outage_length, longest);
	return err || longest < 0 || longest > ms + MARGIN_MS;
}

/* True if @detail has "between rank 0 and rank 1", and is not that of a death or a deadline. */
static int names(const char *detail)
{
	return strstr(detail, "between rank 0 and rank 1") && !strstr(detail, "died");
}

/* Ask six times in @ms: on an emulated machine an answer takes a while. */
static int ask_why(int ms)
{
	char command[400];

	snprintf(command, sizeof(command),
		 "exec >why.%d 2>&1; for i in 1 2 3 4 5 6; do sleep %d.%03d; collectivectl why; done &",
		 getpid(), ms / 6000, ms / 6 % 1000);
	return system(command);
}

/* Wait until one of these has told it, the last of which may still run. */
static int is_explained(void)
{
	char command[400];

	snprintf(command, sizeof(command),
		 "found=1; for i in $(seq 60); do grep -q '%s' why.$PPID && found=0 && break; %s",
		 "sent again .* times without an answer to rank [01] at 10[.].*MTU",
		 "sleep 0.5; done; cat why.$PPID; rm -f why.$PPID; exit $found");
	return !system(command);
}

static int fails(struct coll_comm *comm, int bytes, int ms)
{
	long long told;
	int err;

	if (drop_large() || ask_why(ms / 2) || agree_begin(comm))
		return 1;
	err = allreduce(comm, bytes);
	told = now_ms() - outage_begin;
	printf("rank %d: large after %lld ms\n", coll_rank(comm), told);
	if (err != -ECONNRESET || !names(coll_error_detail(comm)) || told > ms)
		return 1;
	return !is_explained();
}

static int fails_late(struct coll_comm *comm, int bytes, int ms)
{
	long long told;
	int err;

	if (agree_begin(comm) || drop_all())
		return 1;
	do {
		err = allreduce(comm, bytes);
	} while (!err && now_ms() < outage_begin + ms);
	told = now_ms() - outage_begin;
	printf("rank %d: cut after %lld ms\n", coll_rank(comm), told);
	/* The last that was heard may be older than the outage, by a heartbeat. */
	return err != -ECONNRESET || !names(coll_error_detail(comm)) || told > ms ||
	       told < 5 * atoi(getenv("COLL_HEARTBEAT_MS"));
}

/* What an outage has lost comes within a heartbeat; before that the next one would be the same. */
static void recover(void)
{
	usleep(atoi(getenv("COLL_HEARTBEAT_MS")) * 1000);
}

int main(int argc, char **argv)
{
	struct coll_comm *comm;
	int bytes, ms, failed, i;

	if (argc < 4 || chdir("/tmp"))
		return 2;
	bytes = atoi(argv[2]);
	ms = atoi(argv[3]);
	setlinebuf(stdout);
	comm = init_comm();
	if (!comm)
		return 1;
	/* Use all connections before. */
	if (allreduce(comm, bytes) || allreduce(comm, 8))
		return 1;
	if (!strcmp(argv[1], "large"))
		failed = fails(comm, bytes, ms);
	else if (!strcmp(argv[1], "cut"))
		failed = fails_late(comm, bytes, ms);
	else
		for (i = 3, failed = 0; i < argc && !failed; i++, nonblocking = !nonblocking) {
			failed = survives(comm, argv[1], bytes, atoi(argv[i]));
			recover();
		}
	coll_finalize(comm);
	return failed;
}
