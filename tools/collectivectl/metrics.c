// SPDX-License-Identifier: GPL-2.0-only
/*
 * metrics: counters in the text format of Prometheus, for the textfile collector of its node
 * exporter.
 *
 * All samples of a metric follow one another, so the objects are collected first.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctl.h"

#define NAME_SIZE	48

/**
 * struct link_sums - a link: its control and data connections together
 * @rank: the rank
 * @peer: the peer
 * @open: 1 if a connection is open, else 0
 * @retransmits: segments that were sent again
 * @stalls: of data connections
 * @sent: payload
 * @received: payload
 * @placed: part of @received that a device has stored in its place
 * @rtt_us: the longest one
 */
struct link_sums {
	char group[NAME_SIZE];
	unsigned int rank;
	unsigned int peer;
	uint64_t open;
	uint64_t retransmits;
	uint64_t stalls;
	uint64_t sent;
	uint64_t received;
	uint64_t placed;
	uint64_t rtt_us;
};

/**
 * struct member_copy - a member
 * @group: name of its group
 * @member: the member; its group is not valid
 * @oldest_ns: age of its oldest request in flight; 0: none
 */
struct member_copy {
	char group[NAME_SIZE];
	struct coll_admin_member member;
	uint64_t oldest_ns;
};

/**
 * struct time_copy - times of a collective of a rank
 * @group: name of its group
 * @rank: the rank
 * @opcode: the collective
 * @histogram: by the number of the metric in time_metrics
 * @nwaited: entries of @waited
 * @waited: ranks that were waited for
 */
struct time_copy {
	char group[NAME_SIZE];
	unsigned int rank;
	unsigned int opcode;
	struct coll_admin_histogram histogram[3];
	unsigned int nwaited;
	struct coll_admin_wait waited[COLL_ADMIN_WAITED];
};

static struct member_copy *members;
static size_t nmembers;
static struct link_sums *links;
static size_t nlinks;
static struct time_copy *times;
static size_t ntimes;

static void *grow(void *array, size_t n, size_t size)
{
	array = reallocarray(array, n, size);
	if (!array)
		err(CTL_FAILED, "memory");
	return array;
}

static int add_member(const struct coll_admin_member *member, void *arg)
{
	struct member_copy *copy;

	(void)arg;
	members = grow(members, nmembers + 1, sizeof(*members));
	copy = &members[nmembers++];
	*copy = (struct member_copy){ .member = *member };
	snprintf(copy->group, sizeof(copy->group), "%s", member->group);
	return 0;
}

static int add_request(const struct coll_admin_request *request, void *arg)
{
	size_t i;

	(void)arg;
	for (i = 0; i < nmembers; i++)
		if (members[i].member.rank == request->rank &&
		    !strcmp(members[i].group, request->group) &&
		    members[i].oldest_ns < request->age_ns)
			members[i].oldest_ns = request->age_ns;
	return 0;
}

static int add_link(const struct coll_admin_link *link, void *arg)
{
	struct link_sums *sums;
	unsigned int i;

	(void)arg;
	links = grow(links, nlinks + 1, sizeof(*links));
	sums = &links[nlinks++];
	*sums = (struct link_sums){ .rank = link->rank, .peer = link->peer };
	snprintf(sums->group, sizeof(sums->group), "%s", link->group);
	for (i = 0; i < link->n; i++) {
		const struct coll_admin_connection *connection = &link->connection[i];
		bool data = connection->lane != COLL_ADMIN_NONE;

		sums->open |= !strcmp(coll_admin_name(COLL_ADMIN_CONNECTION_STATE,
						      connection->state), "open");
		sums->retransmits += connection->retransmits;
		sums->stalls += connection->stalls;
		sums->sent += data ? connection->bytes_sent : 0;
		sums->received += connection->bytes_received;
		sums->placed += link->placed_bytes[i];
		if (connection->rtt_us > sums->rtt_us)
			sums->rtt_us = connection->rtt_us;
	}
	return 0;
}

static int add_time(const struct coll_admin_time *time, void *arg)
{
	struct time_copy *copy;

	(void)arg;
	times = grow(times, ntimes + 1, sizeof(*times));
	copy = &times[ntimes++];
	*copy = (struct time_copy){
		.rank = time->rank,
		.opcode = time->opcode,
		.histogram = { *time->latency, *time->waiting, *time->moving },
		.nwaited = time->nwaited,
	};
	memcpy(copy->waited, time->waited, time->nwaited * sizeof(*copy->waited));
	snprintf(copy->group, sizeof(copy->group), "%s", time->group);
	return 0;
}

/**
 * struct metric - a metric of members or links
 * @name: its name
 * @type: counter or gauge
 * @help: what it is
 * @offset: of its uint64_t
 * @per: how many of its units are one of the metric's
 */
struct metric {
	const char *name;
	const char *type;
	const char *help;
	size_t offset;
	double per;
};

#define MEMBER(_name, _type, _field, _help)					\
	{ "collective_" _name, _type, _help, offsetof(struct member_copy, member._field), 1 }

static const struct metric member_metrics[] = {
	MEMBER("operations_submitted_total", "counter", submitted, "Operations submitted"),
	MEMBER("operations_completed_total", "counter", completed,
	       "Operations completed, with any result"),
	MEMBER("sent_bytes_total", "counter", traffic.sent, "Payload handed to the transport"),
	MEMBER("received_bytes_total", "counter", traffic.received,
	       "Payload taken from the transport"),
	MEMBER("reduced_bytes_total", "counter", traffic.reduced,
	       "Received payload that was reduced into memory"),
	MEMBER("placed_bytes_total", "counter", placed_bytes,
	       "Received payload that a device has stored in its place"),
	MEMBER("read_bytes_total", "counter", traffic.read,
	       "Bytes read from the memory of other ranks"),
	MEMBER("stored_bytes_total", "counter", traffic.stored,
	       "Results stored from the memory of several ranks"),
	MEMBER("zero_copy_bytes_total", "counter", traffic.zero_copy,
	       "Payload sent without a copy"),
	MEMBER("pinned_bytes", "gauge", pinned_bytes, "User memory that is pinned"),
	MEMBER("memory_bytes", "gauge", memory_bytes, "Kernel memory charged for the rank"),
	MEMBER("refused_connections_total", "counter", refused_connections,
	       "Connections that did not identify themselves as a rank of the group"),
	MEMBER("events_lost_total", "counter", events_lost, "Events that were not sent"),
	{ "collective_oldest_operation_seconds", "gauge",
	  "Age of the oldest operation in flight; 0 if there is none",
	  offsetof(struct member_copy, oldest_ns), 1e9 },
};

#define LINK(_name, _type, _field, _per, _help)					\
	{ "collective_link_" _name, _type, _help, offsetof(struct link_sums, _field), _per }

static const struct metric link_metrics[] = {
	LINK("open", "gauge", open, 1, "1 if a connection to the peer is open"),
	LINK("retransmits_total", "counter", retransmits, 1, "TCP segments that were sent again"),
	LINK("stalls_total", "counter", stalls, 1,
	     "Times that bytes were ready and the peer took none"),
	LINK("sent_bytes_total", "counter", sent, 1, "Payload sent to the peer"),
	LINK("received_bytes_total", "counter", received, 1, "Payload received from the peer"),
	LINK("placed_bytes_total", "counter", placed, 1,
	     "Payload received from the peer that a device has stored in its place"),
	LINK("rtt_seconds", "gauge", rtt_us, 1e6, "Longest smoothed round-trip time"),
};

static void print_head(FILE *to, const char *name, const char *type, const char *help)
{
	fprintf(to, "# HELP %s %s.\n# TYPE %s %s\n", name, help, name, type);
}

static void print_value(FILE *to, const struct metric *metric, const void *object)
{
	uint64_t value;

	memcpy(&value, (const char *)object + metric->offset, sizeof(value));
	if (metric->per == 1)
		fprintf(to, " %" PRIu64 "\n", value);
	else
		fprintf(to, " %.9g\n", value / metric->per);
}

static void print_members(FILE *to)
{
	const struct metric *metric;
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(member_metrics); i++) {
		metric = &member_metrics[i];
		print_head(to, metric->name, metric->type, metric->help);
		for (j = 0; j < nmembers; j++) {
			fprintf(to, "%s{group=\"%s\",rank=\"%u\"}", metric->name, members[j].group,
				members[j].member.rank);
			print_value(to, metric, &members[j]);
		}
	}
}

static void print_links(FILE *to)
{
	const struct metric *metric;
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(link_metrics); i++) {
		metric = &link_metrics[i];
		print_head(to, metric->name, metric->type, metric->help);
		for (j = 0; j < nlinks; j++) {
			fprintf(to, "%s{group=\"%s\",rank=\"%u\",peer=\"%u\"}", metric->name,
				links[j].group, links[j].rank, links[j].peer);
			print_value(to, metric, &links[j]);
		}
	}
}

/* Metrics with a label of their own: states, and failures by reason. */
static void print_labelled(FILE *to)
{
	unsigned int state, kind;
	size_t i;

	print_head(to, "collective_member_state", "gauge", "1 for the state of the rank, else 0");
	for (i = 0; i < nmembers; i++)
		for (state = COLL_ADMIN_STATE_JOINED; state <= COLL_ADMIN_STATE_LEFT; state++)
			fprintf(to, "%s{group=\"%s\",rank=\"%u\",state=\"%s\"} %u\n",
				"collective_member_state", members[i].group,
				members[i].member.rank, coll_admin_name(COLL_ADMIN_STATE, state),
				members[i].member.state == state);
	print_head(to, "collective_operations_failed_total", "counter",
		   "Operations completed without success");
	for (i = 0; i < nmembers; i++)
		for (kind = COLL_ADMIN_REASON_DEATH; kind <= COLL_ADMIN_REASON_RESOURCES; kind++)
			fprintf(to, "%s{group=\"%s\",rank=\"%u\",reason=\"%s\"} %" PRIu64 "\n",
				"collective_operations_failed_total", members[i].group,
				members[i].member.rank, coll_admin_name(COLL_ADMIN_REASON, kind),
				members[i].member.errors[kind]);
	print_head(to, "collective_operations_in_flight", "gauge", "Operations in progress");
	for (i = 0; i < nmembers; i++)
		fprintf(to, "collective_operations_in_flight{group=\"%s\",rank=\"%u\"} %u\n",
			members[i].group, members[i].member.rank, members[i].member.inflight);
}

/* The buckets of the module are powers of two; each second one is enough, and has a stable name. */
#define LIMIT_MIN	(1ULL << 10)
#define LIMIT_MAX	(1ULL << 40)

static const struct {
	const char *name;
	const char *help;
} time_metrics[] = {
	{ "collective_operation_seconds",
	  "Time of operations from the submission to the completion" },
	{ "collective_operation_waiting_seconds",
	  "Part of that time in which other ranks were waited for" },
	{ "collective_operation_moving_seconds",
	  "Part of that time in which other ranks were not waited for" },
};

static void print_labels(FILE *to, const char *name, const char *suffix,
			 const struct time_copy *time)
{
	fprintf(to, "%s%s{group=\"%s\",rank=\"%u\",collective=\"%s\"", name, suffix, time->group,
		time->rank, coll_admin_name(COLL_ADMIN_OPCODE, time->opcode));
}

static void print_histogram(FILE *to, const char *name, const struct time_copy *time,
			    const struct coll_admin_histogram *histogram)
{
	uint64_t limit, sum = 0;
	unsigned int i = 0;

	for (limit = LIMIT_MIN; limit <= LIMIT_MAX; limit *= 4) {
		for (; i < histogram->n && histogram->bucket[i].limit_ns <= limit; i++)
			sum += histogram->bucket[i].count;
		print_labels(to, name, "_bucket", time);
		fprintf(to, ",le=\"%.12g\"} %" PRIu64 "\n", limit / 1e9, sum);
	}
	print_labels(to, name, "_bucket", time);
	fprintf(to, ",le=\"+Inf\"} %" PRIu64 "\n", histogram->count);
	print_labels(to, name, "_sum", time);
	fprintf(to, "} %.9f\n", histogram->sum_ns / 1e9);
	print_labels(to, name, "_count", time);
	fprintf(to, "} %" PRIu64 "\n", histogram->count);
}

static void print_times(FILE *to)
{
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(time_metrics); i++) {
		print_head(to, time_metrics[i].name, "histogram", time_metrics[i].help);
		for (j = 0; j < ntimes; j++)
			print_histogram(to, time_metrics[i].name, &times[j],
					&times[j].histogram[i]);
	}
	print_head(to, "collective_waited_seconds_total", "counter",
		   "Time that the rank has waited for a peer");
	for (i = 0; i < ntimes; i++)
		for (j = 0; j < times[i].nwaited; j++) {
			print_labels(to, "collective_waited_seconds_total", "", &times[i]);
			fprintf(to, ",peer=\"%u\"} %.9f\n", times[i].waited[j].peer,
				times[i].waited[j].ns / 1e9);
		}
}

static void print_all(FILE *to)
{
	print_labelled(to);
	print_members(to);
	print_links(to);
	print_times(to);
}

/* Return: a new file beside @path that no other user could have made; *@temporary: its name. */
static FILE *create_file(const char *path, char **temporary)
{
	mode_t mask = umask(0);
	FILE *file = NULL;
	int fd;

	umask(mask);
	if (asprintf(temporary, "%s.XXXXXX", path) < 0)
		err(CTL_FAILED, "memory");
	fd = mkostemp(*temporary, O_CLOEXEC);
	/* The collector is another user. */
	if (fd >= 0 && !fchmod(fd, 0666 & ~mask))
		file = fdopen(fd, "w");
	if (!file)
		err(CTL_FAILED, "%s", *temporary);
	return file;
}

/* The collector may read the file at any time, so it is replaced as a whole. */
static int write_file(const char *path)
{
	char *temporary;
	FILE *file = create_file(path, &temporary);

	print_all(file);
	/* fclose() does not tell of a flush that has failed before. */
	if (ferror(file) | fclose(file) || rename(temporary, path)) {
		warn("%s", path);
		unlink(temporary);
		free(temporary);
		return CTL_FAILED;
	}
	free(temporary);
	return 0;
}

int ctl_metrics(int argc, char **argv)
{
	int error;

	if (argc > 1)
		ctl_usage("too many arguments");
	error = coll_admin_members(ctl.admin, NULL, COLL_ADMIN_ALL, add_member, NULL);
	if (error >= 0)
		error = coll_admin_requests(ctl.admin, NULL, COLL_ADMIN_ALL, add_request, NULL);
	if (error >= 0)
		error = coll_admin_links(ctl.admin, NULL, COLL_ADMIN_ALL, add_link, NULL);
	if (error >= 0)
		error = coll_admin_times(ctl.admin, NULL, COLL_ADMIN_ALL, add_time, NULL);
	if (error < 0)
		return ctl_result(error);
	if (argc)
		return write_file(argv[0]);
	print_all(stdout);
	return 0;
}
