// SPDX-License-Identifier: GPL-2.0-only
/*
 * The speed of the reductions compared with a plain loop.
 *
 * The plain loop moves the same bytes: it reads two streams and writes their bitwise OR, in
 * vectors of the same width, through the same pointers.  memcpy(), which reads one stream only,
 * is measured too.  A figure is bytes read plus bytes written in a second, the best of ROUNDS.
 * The loops are measured in turn.
 *
 *	reduce_bench		binary32 sums, of sizes that fit the caches and that do not
 *	reduce_bench many	binary32 sums of 2 to 16 operands, together and two at a time
 *	reduce_bench all	all of it, every type and reduction, and wide sums
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/reduce/reduce.h"
#include "reduce_reference.h"

#define ROUNDS		7
#define ROUND_SECONDS	0.01

typedef void (*plain_fn)(u8 *dst, const u8 *a, const u8 *b, size_t bytes);

#define PLAIN(bits, isa)							\
typedef u64 plain_vector_##bits							\
	__attribute__((__vector_size__(bits / 8), __aligned__(1), __may_alias__));\
										\
__attribute__((__target__(isa)))						\
static void plain_##bits(u8 *dst, const u8 *a, const u8 *b, size_t bytes)	\
{										\
	size_t i;								\
										\
	for (i = 0; i < bytes; i += bits / 8)					\
		*(plain_vector_##bits *)(dst + i) =				\
			*(const plain_vector_##bits *)(a + i) |			\
			*(const plain_vector_##bits *)(b + i);			\
}

#if defined(__x86_64__)
PLAIN(128, "sse2")
PLAIN(256, "avx2")
PLAIN(512, "avx512f")
#else
static void plain_128(u8 *dst, const u8 *a, const u8 *b, size_t bytes)
{
	size_t i;

	for (i = 0; i < bytes / 8; i++)
		((u64 *)dst)[i] = ((const u64 *)a)[i] | ((const u64 *)b)[i];
}
#endif

static const struct contender {
	const struct coll_reduce_impl *impl;
	plain_fn plain;
} contenders[] = {
	{ &coll_reduce_scalar, plain_128 },
#if defined(__x86_64__)
	{ &coll_reduce_avx2, plain_256 },
	{ &coll_reduce_avx512, plain_512 },
#endif
};

/* A loop to measure: a reduction; the plain loop if @impl is NULL; memcpy() if both are */
struct load {
	const struct coll_reduce_impl *impl;
	plain_fn plain;
	u8 type;
	u8 reduction;
};

struct place {
	u8 *dst;
	const u8 *a;
	const u8 *b;
	size_t bytes;
};

static u32 features(void)
{
	u32 found = 0;

#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx2"))
		found |= COLL_REDUCE_HAS_AVX2;
	if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
	    __builtin_cpu_supports("avx512dq"))
		found |= COLL_REDUCE_HAS_AVX512;
#endif
	return found;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec * 1e-9;
}

static void load_run(const struct load *load, const struct place *place)
{
	if (load->impl)
		coll_reduce(load->impl, load->type, load->reduction, place->dst, place->a,
			    place->b, place->bytes / coll_type_size(load->type), 3);
	else if (load->plain)
		load->plain(place->dst, place->a, place->b, place->bytes);
	else
		memcpy(place->dst, place->b, place->bytes);
	barrier();
}

/* Return: GB/s */
static double load_measure(const struct load *load, const struct place *place, double seconds)
{
	const int streams = load->impl || load->plain ? 3 : 2;
	const double begin = now();
	size_t runs = 0;
	double end;

	do {
		size_t batch = 1 + (64 << 10) / place->bytes;

		for (runs += batch; batch; batch--)
			load_run(load, place);
		end = now();
	} while (end - begin < seconds);
	return (double)streams * place->bytes * runs / (end - begin) * 1e-9;
}

static void sums(u8 *memory)
{
	static const struct {
		const char *name;
		size_t bytes;
		bool in_place;
		size_t offset;
	} cases[] = {
		{ "3 x 8 KiB",			8 << 10,	false,	0 },
		{ "3 x 8 KiB, b at byte 1",	8 << 10,	false,	1 },
		{ "2 x 8 KiB, dst is a",	8 << 10,	true,	0 },
		{ "3 x 256 KiB",		256 << 10,	false,	0 },
		{ "2 x 256 KiB, dst is a",	256 << 10,	true,	0 },
		{ "3 x 64 MiB",			64 << 20,	false,	0 },
		{ "3 x 64 MiB, b at byte 1",	64 << 20,	false,	1 },
		{ "2 x 64 MiB, dst is a",	64 << 20,	true,	0 },
	};
	size_t i, c;
	int round;

	printf("binary32 sum, GB/s of traffic; ratio: to a plain loop of the same traffic\n");
	printf("%-26s %-8s %8s %8s %8s %8s\n", "memory", "", "memcpy", "plain", "sum", "ratio");
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const size_t bytes = cases[i].bytes;
		/* Streams a whole number of pages apart would use the same sets of the caches. */
		const struct place place = {
			.a = memory,
			.b = memory + bytes + 1024 + cases[i].offset,
			.dst = memory + (cases[i].in_place ? 0 : 2 * (bytes + 1024)),
			.bytes = bytes,
		};

		for (c = 0; c < ARRAY_SIZE(contenders); c++) {
			const struct load loads[] = {
				{ NULL, NULL, 0, 0 },
				{ NULL, contenders[c].plain, 0, 0 },
				{ contenders[c].impl, NULL, COLLECTIVE_FLOAT32, COLLECTIVE_SUM },
			};
			double best[ARRAY_SIZE(loads)] = { 0 };
			size_t l;

			if (c && !(features() & BIT(c - 1)))
				continue;
			for (round = 0; round < ROUNDS; round++)
				for (l = 0; l < ARRAY_SIZE(loads); l++)
					best[l] = max(best[l], load_measure(&loads[l], &place,
									    ROUND_SECONDS));
			printf("%-26s %-8s %8.1f %8.1f %8.1f %8.2f\n", cases[i].name,
			       contenders[c].impl->name, best[0], best[1], best[2],
			       best[2] / best[1]);
		}
	}
}

/* Every reduction in percent of the sum's speed; less than 25 needs a reason. */
static void all(u8 *memory)
{
	const size_t bytes = 64 << 10;
	const struct place place = {
		.a = memory,
		.b = memory + bytes + 1024,
		.dst = memory + 2 * (bytes + 1024),
		.bytes = bytes,
	};
	struct load load = { .impl = NULL };
	size_t c;

	for (c = 0; c < ARRAY_SIZE(contenders); c++) {
		double sum = 0;
		int round;

		if (c && !(features() & BIT(c - 1)))
			continue;
		load.impl = contenders[c].impl;
		load.type = COLLECTIVE_FLOAT32;
		load.reduction = COLLECTIVE_SUM;
		for (round = 0; round < ROUNDS; round++)
			sum = max(sum, load_measure(&load, &place, ROUND_SECONDS));
		printf("\n%s, 3 x 64 KiB, percent of binary32 sum (%.1f GB/s)\n%-10s",
		       load.impl->name, sum, "");
		for (load.reduction = 0; load.reduction < COLLECTIVE_REDUCTION_COUNT;
		     load.reduction++)
			printf("%6s", reference_reductions[load.reduction]);
		printf("\n");
		for (load.type = 0; load.type < COLLECTIVE_TYPE_COUNT; load.type++) {
			printf("%-10s", reference_types[load.type].name);
			for (load.reduction = 0; load.reduction < COLLECTIVE_REDUCTION_COUNT;
			     load.reduction++) {
				double best = 0;

				if (!coll_reduce_valid(load.type, load.reduction)) {
					printf("%6s", "-");
					continue;
				}
				for (round = 0; round < 3; round++)
					best = max(best, load_measure(&load, &place, 0.002));
				printf("%6.0f", 100 * best / sum);
			}
			printf("\n");
		}
	}
}

/* Wide sums, with received operands and results of either width */
static void wide(u8 *memory)
{
	static const u8 types[] = { COLLECTIVE_FLOAT16, COLLECTIVE_BFLOAT16 };
	const size_t count = 16 << 10;
	size_t c, t;
	int widths, round;

	printf("\nwide sums, GB/s of traffic\n%-19s%8s%8s%8s%8s\n", "received -> stored",
	       "2 -> 2", "4 -> 2", "2 -> 4", "4 -> 4");
	for (c = 0; c < ARRAY_SIZE(contenders); c++) {
		if (c && !(features() & BIT(c - 1)))
			continue;
		for (t = 0; t < ARRAY_SIZE(types); t++) {
			printf("%-10s %-8s", reference_types[types[t]].name,
			       contenders[c].impl->name);
			for (widths = 0; widths < 4; widths++) {
				const bool in = widths & 1, out = widths & 2;
				const size_t bytes = count * ((in ? 4 : 2) + (out ? 4 : 2) + 2);
				double best = 1;

				for (round = 0; round < 100; round++) {
					const double begin = now();

					coll_reduce_wide(contenders[c].impl, types[t],
							 memory + (192 << 10), out, memory,
							 memory + (64 << 10), in, count, 0);
					best = min(best, now() - begin);
				}
				printf("%8.1f", bytes / best * 1e-9);
			}
			printf("\n");
		}
	}
}

/* The sources of operands that are reduced together; a place for each, and one for the result */
#define MANY_SOURCES	16

/* Return: GB/s of the operands and of the result, each counted once */
static double many_measure(const struct coll_reduce_impl *impl, bool together, u8 *memory,
			   size_t bytes, u32 sources)
{
	static u8 part[COLL_REDUCE_PART];
	const void *src[MANY_SOURCES];
	u8 *dst = memory + sources * (bytes + 1024);
	size_t runs = 0, count = bytes / 4;
	double begin, end;
	u32 i;

	for (i = 0; i < sources; i++)
		src[i] = memory + i * (bytes + 1024);
	begin = now();
	do {
		if (together) {
			coll_reduce_many(impl, COLLECTIVE_FLOAT32, COLLECTIVE_SUM, false, dst,
					 src, sources, count, 0, part);
		} else {
			for (i = 1; i < sources; i++)
				coll_reduce(impl, COLLECTIVE_FLOAT32, COLLECTIVE_SUM, dst,
					    i > 1 ? dst : src[0], src[i], count, 0);
		}
		runs++;
		end = now();
	} while (end - begin < ROUND_SECONDS);
	return (double)(sources + 1) * bytes * runs / (end - begin) * 1e-9;
}

static void many(u8 *memory, size_t size)
{
	static const size_t lengths[] = { 8 << 10, 256 << 10, 8 << 20 };
	static const u32 sources[] = { 2, 3, 4, 8, MANY_SOURCES };
	size_t c, l, s;
	int round;

	printf("\nbinary32 sums of several operands, GB/s of operands and result\n"
	       "%-14s %-8s %8s %8s %8s\n", "memory", "", "pairs", "together", "ratio");
	for (l = 0; l < ARRAY_SIZE(lengths); l++) {
		for (s = 0; s < ARRAY_SIZE(sources); s++) {
			if ((sources[s] + 1) * (lengths[l] + 1024) > size)
				continue;
			for (c = 0; c < ARRAY_SIZE(contenders); c++) {
				double best[2] = { 0 };

				if (c && !(features() & BIT(c - 1)))
					continue;
				for (round = 0; round < 2 * ROUNDS; round++)
					best[round & 1] =
						max(best[round & 1],
						    many_measure(contenders[c].impl, round & 1,
								 memory, lengths[l], sources[s]));
				printf("%2u x %4zu KiB  %-8s %8.1f %8.1f %8.2f\n", sources[s],
				       lengths[l] >> 10, contenders[c].impl->name, best[0],
				       best[1], best[1] / best[0]);
			}
		}
	}
}

int main(int argc, char **argv)
{
	const size_t size = 3 * ((64UL << 20) + 4096);
	u8 *memory = aligned_alloc(4096, size);
	size_t i;

	if (!memory) {
		perror("aligned_alloc");
		return 1;
	}
	/* Bytes that are normal numbers in every type */
	for (i = 0; i < size; i++)
		memory[i] = 0x3c + i % 3;
	if (argc < 2 || strcmp(argv[1], "many"))
		sums(memory);
	if (argc > 1)
		many(memory, size);
	if (argc > 1 && !strcmp(argv[1], "all")) {
		all(memory);
		wide(memory);
	}
	free(memory);
	return 0;
}
