// SPDX-License-Identifier: GPL-2.0-only
/*
 * Results do not depend on the floating-point mode of the calling threads: neither on the
 * rounding mode nor on flushing subnormal numbers to zero.
 */
#include <fenv.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include <collective.h>

#include "lib/group.h"
#include "kselftest_harness.h"

#define FPMODE_BYTES	(1024 * 1024U)

/* Round up or down, and flush to zero where the CPU can. */
static void mode_set(bool up)
{
#if defined(__x86_64__)
	/* All traps masked; FTZ and DAZ. */
	unsigned int mxcsr = 0x1f80 | 0x8040 | (up ? 0x4000 : 0x2000);

	asm volatile("ldmxcsr %0" : : "m" (mxcsr));
#elif defined(__aarch64__)
	/* FZ, FZ16 and the rounding mode. */
	unsigned long fpcr = 1UL << 24 | 1UL << 19 | (up ? 1UL : 2UL) << 22;

	asm volatile("msr fpcr, %0" : : "r" (fpcr));
#else
	fesetround(up ? FE_UPWARD : FE_DOWNWARD);
#endif
}

static void mode_default(void)
{
	fesetenv(FE_DFL_ENV);
}

/* Bits of floats of which the sums are rounded, and of subnormal floats, by rank. */
static void fill(void *memory, int type, unsigned int rank)
{
	__u32 *f32 = memory, i;
	__u64 *f64 = memory;
	__u16 *f16 = memory;

	for (i = 0; i < FPMODE_BYTES / coll_type_size(type); i++)
		switch (type) {
		case COLLECTIVE_FLOAT32:
			/* 1 or -1, plus less than half of the last bit; or a subnormal number. */
			f32[i] = i % 3 == 2 ? 0x00080000 + i % 64 :
				 (rank ? 0x33000000 - i % 64 * 16 : 0x3f800000) |
				 (i % 3 ? 0x80000000U : 0);
			break;
		case COLLECTIVE_FLOAT64:
			f64[i] = i % 3 == 2 ? 0x0000800000000000ULL + i % 64 :
				 (rank ? 0x3c90000000000000ULL : 0x3ff0000000000000ULL) |
				 (i % 3 ? 1ULL << 63 : 0);
			break;
		case COLLECTIVE_FLOAT16:
			f16[i] = i % 3 == 2 ? 0x0021 + i % 64 :
				 (rank ? 0x0c01 : 0x3c00) | (i % 3 ? 0x8000 : 0);
			break;
		default:
			f16[i] = i % 3 == 2 ? 0x0021 + i % 64 :
				 (rank ? 0x3a81 : 0x3f80) | (i % 3 ? 0x8000 : 0);
		}
}

/* Sizes: reduced with integer instructions, in one frame, in many frames. */
static const unsigned int fpmode_bytes[] = { 8, 64, 4096, FPMODE_BYTES };

static int sums(struct rank *r, int type, int reduction, __u8 *send, __u8 *plain, __u8 *altered)
{
	unsigned int i, n, err;

	fill(send, type, r->rank);
	for (i = 0; i < sizeof(fpmode_bytes) / sizeof(*fpmode_bytes); i++) {
		n = fpmode_bytes[i] / coll_type_size(type);
		CHECK_EQ(0, member_allreduce(r->fd, send, plain, n, type, reduction));
		mode_set(!r->rank);
		err = member_allreduce(r->fd, send, altered, n, type, reduction);
		mode_default();
		CHECK_EQ(0, err);
		if (memcmp(plain, altered, fpmode_bytes[i])) {
			group_report_failure(__FILE__, __LINE__, "bits of a type and bytes", type,
					     fpmode_bytes[i]);
			return 1;
		}
	}
	return 0;
}

/* Check the result against that of the CPU in the default mode. */
static int check_result(struct rank *r, const __u8 *result)
{
	const float *f32 = (const float *)result;
	float terms[2][6];
	unsigned int i;
	__u32 bits[2];

	for (i = 0; i < 2; i++) {
		__u8 *memory = malloc(FPMODE_BYTES);

		fill(memory, COLLECTIVE_FLOAT32, i);
		memcpy(terms[i], memory, sizeof(terms[i]));
		free(memory);
	}
	for (i = 0; i < 6; i++) {
		float sum = terms[0][i] + terms[1][i];

		memcpy(&bits[0], &sum, 4);
		memcpy(&bits[1], &f32[i], 4);
		CHECK_EQ(bits[0], bits[1]);
	}
	/* The subnormal result is not flushed. */
	CHECK(f32[2] > 0 && f32[2] < FLT_MIN);
	/* Less than half of the last bit is not rounded up. */
	CHECK_EQ(1, f32[0] == 1);
	return 0;
}

static int fpmode_rank(struct rank *r)
{
	static const int types[] = {
		COLLECTIVE_FLOAT32, COLLECTIVE_FLOAT64, COLLECTIVE_FLOAT16, COLLECTIVE_BFLOAT16,
	};
	__u8 *send = malloc(FPMODE_BYTES), *plain = malloc(FPMODE_BYTES);
	__u8 *altered = malloc(FPMODE_BYTES);
	unsigned int i;

	CHECK(send && plain && altered);
	for (i = 0; i < sizeof(types) / sizeof(*types); i++) {
		if (sums(r, types[i], COLLECTIVE_SUM, send, plain, altered) ||
		    sums(r, types[i], COLLECTIVE_AVG, send, plain, altered) ||
		    sums(r, types[i], COLLECTIVE_PROD, send, plain, altered))
			return 1;
	}
	fill(send, COLLECTIVE_FLOAT32, r->rank);
	mode_set(!r->rank);
	i = member_allreduce(r->fd, send, altered, 1024, COLLECTIVE_FLOAT32, COLLECTIVE_SUM);
	mode_default();
	CHECK_EQ(0, i);
	return check_result(r, altered);
}

TEST(results_do_not_depend_on_the_callers_mode)
{
	const struct group_config config = { .nranks = 2 };

	EXPECT_EQ(0, group_run(&config, fpmode_rank, NULL));
}

/* The waiting thread itself reduces, and a work item that interrupts it does, too. */
TEST(results_do_not_depend_on_the_mode_of_bound_threads)
{
	const struct group_config config = { .nranks = 2, .lanes = 2, .bound = true };

	EXPECT_EQ(0, group_run(&config, fpmode_rank, NULL));
}

TEST_HARNESS_MAIN
