// SPDX-License-Identifier: GPL-2.0-only
/* collective-bench - measures the collectives and checks their results */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "batch.h"
#include "report.h"
#include "output.h"
#include "launch.h"

enum {
	OPTION_MIN = 256, OPTION_MAX, OPTION_FACTOR, OPTION_TYPE, OPTION_OP,
	OPTION_ITERS, OPTION_WARMUP, OPTION_IN_PLACE, OPTION_OUT_OF_PLACE,
	OPTION_UNREGISTERED, OPTION_CSV, OPTION_CHECK, OPTION_ROOT,
	OPTION_REPRODUCIBLE, OPTION_NONBLOCKING, OPTION_ASYNC, OPTION_OVERLAP, OPTION_DEVICE,
	OPTION_SIZES, OPTION_CPU, OPTION_MIN_TIME, OPTION_TRANSPORT, OPTION_ALGORITHM,
	OPTION_JSON, OPTION_TIME, OPTION_PLOT, OPTION_BATCH,
};

static const struct option options[] = {
	{ "ranks", required_argument, NULL, 'n' },
	{ "min", required_argument, NULL, OPTION_MIN },
	{ "max", required_argument, NULL, OPTION_MAX },
	{ "factor", required_argument, NULL, OPTION_FACTOR },
	{ "sizes", required_argument, NULL, OPTION_SIZES },
	{ "type", required_argument, NULL, OPTION_TYPE },
	{ "op", required_argument, NULL, OPTION_OP },
	{ "iters", required_argument, NULL, OPTION_ITERS },
	{ "warmup", required_argument, NULL, OPTION_WARMUP },
	{ "min-time", required_argument, NULL, OPTION_MIN_TIME },
	{ "time", required_argument, NULL, OPTION_TIME },
	{ "batch", required_argument, NULL, OPTION_BATCH },
	{ "in-place", no_argument, NULL, OPTION_IN_PLACE },
	{ "out-of-place", no_argument, NULL, OPTION_OUT_OF_PLACE },
	{ "unregistered", no_argument, NULL, OPTION_UNREGISTERED },
	{ "csv", no_argument, NULL, OPTION_CSV },
	{ "json", no_argument, NULL, OPTION_JSON },
	{ "plot", required_argument, NULL, OPTION_PLOT },
	{ "check", required_argument, NULL, OPTION_CHECK },
	{ "root", required_argument, NULL, OPTION_ROOT },
	{ "reproducible", no_argument, NULL, OPTION_REPRODUCIBLE },
	{ "nonblocking", required_argument, NULL, OPTION_NONBLOCKING },
	{ "async", no_argument, NULL, OPTION_ASYNC },
	{ "overlap", no_argument, NULL, OPTION_OVERLAP },
	{ "device", no_argument, NULL, OPTION_DEVICE },
	{ "algorithm", required_argument, NULL, OPTION_ALGORITHM },
	{ "transport", required_argument, NULL, OPTION_TRANSPORT },
	{ "cpu", no_argument, NULL, OPTION_CPU },
	{ "version", no_argument, NULL, 'V' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 }
};

struct job {
	struct bench bench;
	const struct collective *collective;
};

static int usage(FILE *to, int status)
{
	const struct collective *collective;

	fprintf(to, "usage: collective-bench COLLECTIVE [options]\n");
	fprintf(to, "  COLLECTIVE:");
	for (collective = bench_collectives; collective->name; collective++)
		fprintf(to, " %s", collective->name);
	fprintf(to, "\n"
		"  -n, --ranks N      start N ranks here (else: the launcher's)\n"
		"      --min SIZE     smallest buffer, bytes or 4K 2M 1G (8)\n"
		"      --max SIZE     largest buffer (64M)\n"
		"      --factor N     from one size to the next (2)\n"
		"      --sizes S,...  these instead, rising\n"
		"      --type T,...   i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64, all (f32)\n"
		"      --op O,...     sum prod min max avg band bor bxor land lor lxor, all (sum)\n"
		"      --iters N      timed repetitions (100 up to 64K, then 20)\n"
		"      --warmup N     repetitions before them (10, 3)\n"
		"      --min-time MS  up to 20 times as many, until they take so long (0)\n"
		"      --time S       repeat each line for S seconds instead\n"
		"      --batch N      operations timed together up to 64K, 1 to 512 (by the clock's cost)\n"
		"      --in-place     only with the result over the input\n"
		"      --out-of-place only with the result apart\n"
		"      --unregistered plain memory, pinned by each operation\n"
		"      --csv          comma separated; in place unless --out-of-place\n"
		"      --json         as JSON\n"
		"      --plot FILE    time and bandwidth over the size, FILE.svg, by gnuplot\n"
		"      --root N       of broadcast, reduce, gather(v), scatter(v) (0)\n"
		"      --nonblocking N  N in flight, each with its buffers\n"
		"      --async        the same as --nonblocking 1\n"
		"      --overlap      what of it is hidden behind computation\n"
		"      --device       computation of a device: the CPU sleeps\n"
		"      --cpu          CPU time of an operation, too: of the whole host\n"
		"      --reproducible allreduce in the order of ranks\n"
		"      --algorithm A  ring, tree or direct, where the kernel has it (its choice)\n"
		"      --transport T  auto, or fail unless all links are local, rdma or tcp (auto)\n"
		"      --check WHAT   all, last or none of the results (all)\n"
		"  -V, --version      print the version\n"
		"  -h, --help         print the options\n");
	return status;
}

static bool parse_size(const char *text, size_t *size)
{
	static const char units[] = "KMG";
	const char *unit;
	char *end;
	unsigned long long value = strtoull(text, &end, 10);

	if (*text < '0' || *text > '9' || !value || value >> 40)
		return false;
	if (*end) {
		unit = strchr(units, *end & ~0x20);
		if (!unit || !*unit || end[1])
			return false;
		value <<= 10 * (unit - units + 1);
	}
	*size = value;
	return true;
}

/* Parses sizes in rising order, such as "8,64K,1M". */
static bool parse_sizes(char *text, struct bench *bench)
{
	char *one, *rest = NULL;
	size_t size, last = 0;

	bench->nsizes = 0;
	for (one = strtok_r(text, ",", &rest); one;
	     one = strtok_r(NULL, ",", &rest)) {
		if (bench->nsizes == SIZES_MAX || !parse_size(one, &size) ||
		    size <= last)
			return false;
		bench->sizes[bench->nsizes++] = size;
		last = size;
	}
	return bench->nsizes > 0;
}

/* Lists the sizes from @min to @max.  A list from --sizes sets @max instead. */
static void list_sizes(struct bench *bench)
{
	size_t size = bench->min;

	if (bench->nsizes) {
		bench->max = bench->sizes[bench->nsizes - 1];
		return;
	}
	while (size <= bench->max && bench->nsizes < SIZES_MAX) {
		bench->sizes[bench->nsizes++] = size;
		if (size > bench->max / bench->factor)
			break;
		size *= bench->factor;
	}
}

static bool parse_int(const char *text, int min, int *value)
{
	char *end;
	long number = strtol(text, &end, 10);

	*value = number;
	return *text && !*end && number >= min && number <= 100000000;
}

/* Parses names, such as "f32,f64", or "all" into bits. */
static bool parse_set(char *text, int (*find)(const char *), int all,
		      unsigned int *set)
{
	char *name, *rest = NULL;
	int i;

	*set = 0;
	for (name = strtok_r(text, ",", &rest); name;
	     name = strtok_r(NULL, ",", &rest)) {
		i = find(name);
		if (i < 0 && strcmp(name, "all"))
			return false;
		*set |= i < 0 ? (1U << all) - 1 : 1U << i;
	}
	return *set != 0;
}

static bool parse_check(const char *text, enum bench_check *check)
{
	static const char * const names[] = { "all", "last", "none" };
	int i;

	for (i = CHECK_ALL; i <= CHECK_NONE; i++)
		if (!strcmp(text, names[i])) {
			*check = i;
			return true;
		}
	return false;
}

static bool parse_transport(const char *text, const char **transport)
{
	*transport = text;
	return !strcmp(text, "auto") || !strcmp(text, "local") || !strcmp(text, "rdma") ||
	       !strcmp(text, "tcp");
}

static bool parse_option(struct bench *bench, int option, int *ranks)
{
	int value;

	switch (option) {
	case 'n':
		return parse_int(optarg, 1, ranks) && *ranks <= LAUNCH_MAX;
	case OPTION_MIN:
		return parse_size(optarg, &bench->min);
	case OPTION_MAX:
		return parse_size(optarg, &bench->max);
	case OPTION_FACTOR:
		if (!parse_int(optarg, 2, &value))
			return false;
		bench->factor = value;
		return true;
	case OPTION_SIZES:
		return parse_sizes(optarg, bench);
	case OPTION_TYPE:
		return parse_set(optarg, bench_type_find, BENCH_TYPES,
				 &bench->types);
	case OPTION_OP:
		return parse_set(optarg, bench_op_find, BENCH_OPS, &bench->ops);
	case OPTION_ITERS:
		return parse_int(optarg, 1, &bench->iters);
	case OPTION_WARMUP:
		return parse_int(optarg, 0, &bench->warmup);
	case OPTION_MIN_TIME:
		return parse_int(optarg, 0, &bench->min_time);
	case OPTION_TIME:
		return parse_int(optarg, 1, &bench->seconds) && bench->seconds <= 1000000;
	case OPTION_BATCH:
		return parse_int(optarg, 1, &bench->batch) && bench->batch <= BATCH_MAX;
	case OPTION_IN_PLACE:
		bench->places = 1U << PLACE_IN;
		return true;
	case OPTION_OUT_OF_PLACE:
		bench->places = 1U << PLACE_OUT;
		return true;
	case OPTION_UNREGISTERED:
		bench->unregistered = true;
		return true;
	case OPTION_CSV:
		bench->format = FORMAT_CSV;
		return true;
	case OPTION_JSON:
		bench->format = FORMAT_JSON;
		return true;
	case OPTION_PLOT:
		bench->plot = optarg;
		return true;
	case OPTION_ROOT:
		return parse_int(optarg, 0, &bench->root);
	case OPTION_NONBLOCKING:
		return parse_int(optarg, 1, &bench->nonblocking) &&
		       bench->nonblocking <= NONBLOCKING_MAX;
	case OPTION_ASYNC:
		bench->nonblocking = 1;
		return true;
	case OPTION_OVERLAP:
		bench->overlap = true;
		return true;
	case OPTION_DEVICE:
		bench->device = true;
		return true;
	case OPTION_ALGORITHM:
		bench->algorithm = optarg;
		return true;
	case OPTION_TRANSPORT:
		return parse_transport(optarg, &bench->transport);
	case OPTION_CPU:
		bench->cpu = true;
		return true;
	case OPTION_REPRODUCIBLE:
		bench->reproducible = true;
		return true;
	case OPTION_CHECK:
		return parse_check(optarg, &bench->check);
	default:
		return false;
	}
}

/* Bytes of the inputs, or of the results, of a batch of any size that is measured. */
static size_t batch_bytes(const struct bench *bench)
{
	size_t n = bench->nonblocking ? bench->nonblocking : 1;
	size_t large = batch_stride(bench->max) * n;
	size_t small = bench->max < BATCH_SIZE_MAX ? bench->max : BATCH_SIZE_MAX;

	small = bench->batch ? batch_stride(small) * n * bench->batch : BATCH_BYTES;
	return small > large ? small : large;
}

static void *memory(struct bench *bench)
{
	size_t size = batch_bytes(bench);
	void *at;

	if (!bench->unregistered)
		return coll_mem_alloc(bench->comm, size);
	at = mmap(NULL, size, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	return at == MAP_FAILED ? NULL : at;
}

/* Which places are measured.  Overlap, and comma separated values, have one. */
static void choose_places(struct bench *bench, const struct collective *collective)
{
	if (!bench->places)
		bench->places = bench->overlap || bench->format == FORMAT_CSV ?
				1U << PLACE_IN : 1U << PLACE_IN | 1U << PLACE_OUT;
	if (collective->one_buffer || !collective->typed)
		bench->places = 1U << PLACE_IN;
	if (collective->two_buffers)
		bench->places = 1U << PLACE_OUT;
	bench->in_place = bench->places == 1U << PLACE_IN;
}

static bool get_buffers(struct bench *bench)
{
	bench->recv_base = memory(bench);
	if (bench->places & 1U << PLACE_OUT)
		bench->out_base = memory(bench);
	if (bench->recv_base && (bench->out_base || bench->in_place))
		return true;
	perror("collective-bench: buffers");
	return false;
}

/* Can rank 0 make the plot?  All ranks get the same answer. */
static int ask_for_plot(struct bench *bench)
{
	unsigned int wrong = !bench->rank && !plot_possible(bench->plot);
	int err = coll_allreduce(bench->comm, COLL_IN_PLACE, &wrong, 1, COLL_UINT32, COLL_MAX);

	return err ? bench_fail(bench, "allreduce", err) : (int)wrong;
}

/* Measures all lines.  Rank 0 reports them; only it knows whether that has @failed. */
static int run_lines(struct bench *bench, const struct collective *collective, int *failed)
{
	int status = bench->plot ? ask_for_plot(bench) : 0;

	if (status)
		return status;
	if (!bench->rank)
		report_begin(bench, collective);
	status = bench_measure(bench, collective);
	if (!status)
		status = bench_links(bench);
	if (!bench->rank)
		*failed = report_end(bench, collective);
	return status;
}

static int run_rank(int rank, void *arg)
{
	struct job *job = arg;
	struct bench *bench = &job->bench;
	char detail[COLL_DETAIL_SIZE];
	struct coll_config config = {
		.size = sizeof(config),
		.flags = bench->reproducible ? COLL_CONFIG_REPRODUCIBLE : 0,
		.detail = detail,
		.detail_size = sizeof(detail),
		.algorithm = bench->algorithm,
		.transport = bench->transport,
	};
	int err, status, failed = 0;

	(void)rank;
	err = coll_init(&bench->comm, &config);
	if (err) {
		fprintf(stderr, "collective-bench: %s: %s\n",
			coll_strerror(err), detail);
		return 1;
	}
	bench->rank = coll_rank(bench->comm);
	bench->nranks = coll_size(bench->comm);
	if (job->collective->typed && !get_buffers(bench))
		return 1;
	status = run_lines(bench, job->collective, &failed);
	/* No rank leaves before rank 0 has printed. */
	if (!status)
		err = coll_barrier(bench->comm);
	if (err)
		status = bench_fail(bench, "barrier", err);
	if (bench->wrong) {
		if (!bench->rank)
			fprintf(stderr, "collective-bench: %llu wrong elements\n",
				(unsigned long long)bench->wrong);
		status = 1;
	}
	err = coll_finalize(bench->comm);
	if (err && !status) {
		fprintf(stderr, "collective-bench: rank %d: leaving: %s\n",
			bench->rank, coll_strerror(err));
		status = 1;
	}
	return status ?: failed;
}

/* Returns NULL, or what is wrong with the options together. */
static const char *check_options(const struct bench *bench, const struct collective *collective)
{
	if (bench->reproducible && !collective->can_reproduce)
		return "--reproducible is for allreduce";
	if (bench->cpu && (bench->overlap || bench->nonblocking))
		return "--cpu is of the blocking call";
	if (bench->device && !bench->overlap)
		return "--device is for --overlap";
	if (bench->overlap && (bench->nonblocking > 1 || bench->batch > 1))
		return "--overlap is of one at a time";
	if (bench->overlap && (bench->format == FORMAT_JSON || bench->seconds || bench->plot))
		return "--overlap has no --json, --time or --plot";
	if (bench->seconds && bench->iters)
		return "--time or --iters";
	if (bench->plot && !collective->typed)
		return "--plot is of a collective with sizes";
	if (bench->plot && !plot_name_valid(bench->plot))
		return "--plot: the name ends with .svg, and has no quote, backslash or newline";
	return NULL;
}

int main(int argc, char **argv)
{
	struct job job = {
		.bench = {
			.min = 8,
			.max = (size_t)64 << 20,
			.factor = 2,
			.types = 1U << COLL_FLOAT32,
			.ops = 1U << COLL_SUM,
			.warmup = -1,
		},
	};
	struct launch launch = { .run = run_rank, .arg = &job, .quiet = true };
	const char *wrong, *given;
	int option, index = 0, n = 0;

	output_check_at_exit(1);
	while ((option = getopt_long(argc, argv, "n:Vh", options,
				     &index)) != -1) {
		if (option == 'V')
			exit(output_version());
		if (option == 'h')
			return usage(stdout, 0);
		if (option == '?')
			return usage(stderr, 2);
		/* Lists are taken apart where they are. */
		given = optarg ? strdupa(optarg) : "";
		if (!parse_option(&job.bench, option, &n)) {
			fprintf(stderr, "collective-bench: --%s %s: bad value\n",
				option == 'n' ? "ranks" : options[index].name, given);
			return 2;
		}
	}
	list_sizes(&job.bench);
	if (optind == argc - 1)
		job.collective = bench_find_collective(argv[optind]);
	if (!job.collective)
		return usage(stderr, 2);
	wrong = check_options(&job.bench, job.collective);
	if (wrong) {
		fprintf(stderr, "collective-bench: %s\n", wrong);
		return 2;
	}
	choose_places(&job.bench, job.collective);
	if (!n)
		return run_rank(0, &job);
	launch.n = n;
	return launch_ranks(&launch);
}
