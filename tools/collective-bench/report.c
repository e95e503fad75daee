// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <stdio.h>

#include <json.h>

#include "report.h"

static const char * const places[PLACES] = { [PLACE_OUT] = "out", [PLACE_IN] = "in" };

/* Sum and number of the bus bandwidths so far. */
static double bus_sum;
static int bus_lines;

/* Document of --json, and its array of results. */
static struct json_object *json, *results;

static bool registered(const struct bench *bench)
{
	return bench->recv_base && coll_mem_registered(bench->comm, bench->recv_base, 1);
}

static double algorithm_bandwidth(const struct trial *trial, const struct outcome *outcome)
{
	return trial->size / outcome->median_us / 1e3;
}

static double bus_bandwidth(const struct bench *bench, const struct collective *collective,
			    const struct trial *trial, const struct outcome *outcome)
{
	if (!collective->bus_factor)
		return 0;
	return algorithm_bandwidth(trial, outcome) * collective->bus_factor(bench->nranks);
}

static const char *type_name(const struct collective *collective, const struct trial *trial)
{
	return collective->typed ? bench_type_name(trial->type) : "-";
}

static const char *op_name(const struct collective *collective, const struct trial *trial)
{
	return collective->reduces ? bench_op_name(trial->op) : "-";
}

/* Adds a number with as many digits as mean anything. */
static void json_add(struct json_object *object, const char *key, const char *format, double value)
{
	char text[32];

	snprintf(text, sizeof(text), format, value);
	json_object_object_add(object, key, json_object_new_double_s(value, text));
}

static void json_begin(const struct bench *bench, const struct collective *collective)
{
	unsigned int version = coll_version();
	char text[32];

	json = json_object_new_object();
	results = json_object_new_array();
	snprintf(text, sizeof(text), "%u.%u", version >> 16, version & 0xffff);
	json_object_object_add(json, "version", json_object_new_string(text));
	json_object_object_add(json, "collective", json_object_new_string(collective->name));
	json_object_object_add(json, "ranks", json_object_new_int(bench->nranks));
	json_object_object_add(json, "in_flight", json_object_new_int(bench->nonblocking ?: 1));
	json_object_object_add(json, "reproducible", json_object_new_boolean(bench->reproducible));
	json_object_object_add(json, "registered", json_object_new_boolean(registered(bench)));
	if (bench->algorithm)
		json_object_object_add(json, "algorithm", json_object_new_string(bench->algorithm));
	json_object_object_add(json, "results", results);
}

static void json_result(const struct bench *bench, const struct collective *collective,
			const struct trial *trial, int place, const struct outcome *outcome)
{
	struct json_object *result = json_object_new_object();

	json_object_object_add(result, "size", json_object_new_uint64(trial->size));
	json_object_object_add(result, "count", json_object_new_uint64(trial->count));
	if (collective->typed) {
		json_object_object_add(result, "type",
				       json_object_new_string(type_name(collective, trial)));
		json_object_object_add(result, "place", json_object_new_string(places[place]));
	}
	if (collective->reduces)
		json_object_object_add(result, "op",
				       json_object_new_string(op_name(collective, trial)));
	json_object_object_add(result, "repetitions", json_object_new_uint64(outcome->repetitions));
	json_object_object_add(result, "batch", json_object_new_int(outcome->batch));
	json_add(result, "min_us", "%.3f", outcome->min_us);
	json_add(result, "median_us", "%.3f", outcome->median_us);
	json_add(result, "p99_us", "%.3f", outcome->p99_us);
	if (bench->cpu)
		json_add(result, "cpu_us", "%.1f", outcome->cpu_us);
	if (collective->bus_factor) {
		json_add(result, "algbw_GBps", "%.6g", algorithm_bandwidth(trial, outcome));
		json_add(result, "busbw_GBps", "%.6g",
			 bus_bandwidth(bench, collective, trial, outcome));
	}
	json_object_object_add(result, "wrong", json_object_new_uint64(outcome->wrong));
	json_object_array_add(results, result);
}

static void json_end(const struct bench *bench)
{
	static const char * const transports[] = { "local", "tcp", "rdma" };
	struct json_object *links = json_object_new_object();
	uint64_t sum = 0;
	int i;

	for (i = 0; i < 3; i++) {
		json_object_object_add(links, transports[i],
				       json_object_new_uint64(bench->links[i]));
		sum += bench->links[i];
	}
	if (bus_lines)
		json_add(json, "average_busbw_GBps", "%.6g", bus_sum / bus_lines);
	if (sum)
		json_object_object_add(json, "links", json_object_get(links));
	json_object_object_add(json, "wrong", json_object_new_uint64(bench->wrong));
	puts(json_object_to_json_string_ext(json, JSON_C_TO_STRING_PRETTY |
						  JSON_C_TO_STRING_SPACED));
	json_object_put(links);
	json_object_put(json);
}

static void csv_line(const struct bench *bench, const struct collective *collective,
		     const struct trial *trial, const struct outcome *outcome)
{
	printf("%zu,%zu,%s,%s,%.3f,%.3f,%.3f,%.4f,%.4f,%" PRIu64, trial->size, trial->count,
	       type_name(collective, trial), op_name(collective, trial), outcome->min_us,
	       outcome->median_us, outcome->p99_us, algorithm_bandwidth(trial, outcome),
	       bus_bandwidth(bench, collective, trial, outcome), outcome->wrong);
	if (bench->cpu)
		printf(",%.1f", outcome->cpu_us);
	printf(",%d\n", outcome->batch);
}

static void table_headings(const struct bench *bench, const char *const *heading)
{
	int place;

	for (place = 0; place < PLACES; place++) {
		if (!(bench->places & 1U << place))
			continue;
		printf(" %5s %11s %11s %8s %8s %6s", heading[0], heading[1], heading[2],
		       heading[3], heading[4], heading[5]);
		if (bench->cpu)
			printf(" %11s", heading[6]);
	}
	printf("\n");
}

static void table_begin(const struct bench *bench, const struct collective *collective)
{
	static const char * const names[] = {
		"batch", "median", "p99", "algbw", "busbw", "wrong", "cpu"
	};
	static const char * const units[] = {
		"", "(us)", "(us)", "(GB/s)", "(GB/s)", "", "(us)"
	};
	int place, width = 54 + (bench->cpu ? 12 : 0);

	printf("# %s, %d rank%s", collective->name, bench->nranks, bench->nranks > 1 ? "s" : "");
	if (bench->reproducible)
		printf(", reproducible");
	if (bench->nonblocking)
		printf(", %d in flight", bench->nonblocking);
	if (bench->algorithm)
		printf(", %s", bench->algorithm);
	if (collective->typed)
		printf(", buffers %s", registered(bench) ? "registered" : "not registered");
	if (bench->overlap) {
		if (collective->typed)
			printf(", %s", bench->in_place ? "in place" : "out of place");
		printf("; mean of repetitions and ranks\n");
		return;
	}
	printf("; time of the slowest rank%s\n",
	       bench->batch == 1 ? "" : ", mean of a batch of operations");
	if (collective->typed) {
		printf("%35s", "");
		for (place = 0; place < PLACES; place++)
			if (bench->places & 1U << place)
				printf(" %*s", width, place == PLACE_IN ? "in place" :
				       "out of place");
		printf("\n");
	}
	printf("%11s %11s %5s %5s", "size", "count", "type", "op");
	table_headings(bench, names);
	printf("%11s %11s %5s %5s", "(bytes)", "", "", "");
	table_headings(bench, units);
}

static void table_line(const struct bench *bench, const struct collective *collective,
		       const struct trial *trial, const struct outcome *outcomes)
{
	int place;

	printf("%11zu %11zu %5s %5s", trial->size, trial->count, type_name(collective, trial),
	       op_name(collective, trial));
	for (place = 0; place < PLACES; place++) {
		const struct outcome *outcome = &outcomes[place];

		if (!outcome->measured)
			continue;
		printf(" %5d %11.2f %11.2f %8.3f %8.3f %6" PRIu64, outcome->batch,
		       outcome->median_us, outcome->p99_us, algorithm_bandwidth(trial, outcome),
		       bus_bandwidth(bench, collective, trial, outcome), outcome->wrong);
		if (bench->cpu)
			printf(" %11.1f", outcome->cpu_us);
	}
	printf("\n");
}

static void table_end(const struct bench *bench)
{
	if (bench->links[0] || bench->links[1])
		printf("# links: %" PRIu64 " local, %" PRIu64 " tcp\n", bench->links[0],
		       bench->links[1]);
	if (bench->links[2])
		printf("# links: %" PRIu64 " rdma\n", bench->links[2]);
	printf("# wrong elements: %" PRIu64, bench->wrong);
	if (bus_lines)
		printf("; average bus bandwidth: %.3f GB/s", bus_sum / bus_lines);
	printf("\n");
}

void report_begin(const struct bench *bench, const struct collective *collective)
{
	if (bench->format == FORMAT_JSON)
		json_begin(bench, collective);
	else if (bench->format == FORMAT_TABLE)
		table_begin(bench, collective);
	else if (!bench->overlap)
		printf("size,count,type,op,min_us,median_us,p99_us,algbw_GBps,busbw_GBps,wrong%s\n",
		       bench->cpu ? ",cpu_us,batch" : ",batch");
	if (bench->overlap)
		bench_overlap_header(bench);
	fflush(stdout);
}

static void report_place(const struct bench *bench, const struct collective *collective,
			 const struct trial *trial, int place, const struct outcome *outcome)
{
	double bus = bus_bandwidth(bench, collective, trial, outcome);
	char curve[64];

	if (collective->bus_factor) {
		bus_sum += bus;
		bus_lines++;
	}
	if (bench->format == FORMAT_CSV)
		csv_line(bench, collective, trial, outcome);
	if (bench->format == FORMAT_JSON)
		json_result(bench, collective, trial, place, outcome);
	if (!bench->plot)
		return;
	snprintf(curve, sizeof(curve), "%s%s%s, %s", type_name(collective, trial),
		 collective->reduces ? " " : "",
		 collective->reduces ? op_name(collective, trial) : "",
		 place == PLACE_IN ? "in place" : "out of place");
	plot_add(trial, curve, outcome->median_us, bus);
}

void report_line(const struct bench *bench, const struct collective *collective,
		 const struct trial *trial, const struct outcome *outcomes)
{
	int place;

	progress_end();
	for (place = 0; place < PLACES; place++)
		if (outcomes[place].measured)
			report_place(bench, collective, trial, place, &outcomes[place]);
	if (bench->format == FORMAT_TABLE)
		table_line(bench, collective, trial, outcomes);
	fflush(stdout);
}

int report_end(const struct bench *bench, const struct collective *collective)
{
	if (bench->format == FORMAT_JSON)
		json_end(bench);
	if (bench->format == FORMAT_TABLE)
		table_end(bench);
	fflush(stdout);
	return bench->plot ? plot_make(bench, collective) : 0;
}
