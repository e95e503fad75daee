/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reductions: dst[i] = a[i] (op) b[i], for every type and operation of the UAPI.
 *
 * There is one source, reduce_impl.h: plain loops over single elements, that
 * the compiler turns into vectors.  It is compiled once for each instruction
 * set (reduce_scalar.c, reduce_avx2.c, reduce_avx512.c), and the caller picks
 * one of the tables by what the CPU can do.  A few elements are reduced without
 * the vector registers, if they can be (reduce_soft.c).  A group's ranks may pick different
 * ones: the results are equal to the last bit, because
 *
 *  - every operation rounds each element by itself; nothing adds up across
 *    elements and nothing is contracted into fused operations,
 *  - binary16 and bfloat16 are widened (exactly), computed in binary32 and
 *    rounded once, to nearest even; an average is the rounded sum, divided and
 *    rounded again,
 *  - a NaN result is always the canonical one, whichever operand it came from,
 *  - minimum, maximum and the logical operations are defined to the last bit.
 *
 * In the kernel the caller holds kernel_fpu_begin() if the implementation needs it,
 * which also gives the rounding mode and leaves denormals alone; nothing in here sleeps.
 *
 * The flags each file needs are the variables of reduce.mk.  In short,
 *
 *	reduce_scalar.c		-O3 -ffp-contract=off -fno-trapping-math
 *				(x86: -msse -msse2)
 *	reduce_avx2.c		the same, -mavx -mavx2 -mf16c
 *	reduce_avx512.c		the same, -mavx512f -mavx512bw -mavx512vl
 *				-mavx512dq -mprefer-vector-width=512
 *
 * and in the kernel also $(CC_FLAGS_FPU), with whatever forbids floating point
 * taken away.  reduce.c and reduce_soft.c take no flags of their own.
 */
#ifndef COLL_REDUCE_H
#define COLL_REDUCE_H

#include <linux/collective.h>

#include "core/env.h"
#include "core/reduce/copy.h"

/* What the CPU (and its operating system) offers, for coll_reduce_select() */
#define COLL_REDUCE_HAS_AVX2	(1U << 0)	/* AVX2, F16C */
#define COLL_REDUCE_HAS_AVX512	(1U << 1)	/* AVX-512 F, BW, VL, DQ; F16C */

/**
 * typedef coll_reduce_fn - reduce arrays of one type with one operation
 * @dst: where the results go: exactly @a, exactly @b, or clear of both
 * @a: first operands, at any byte
 * @b: second operands, at any byte
 * @count: elements
 * @divisor: of COLLECTIVE_AVG, at least 2; the others do not look at it
 */
typedef void (*coll_reduce_fn)(void *dst, const void *a, const void *b,
			       size_t count, u32 divisor);

/**
 * struct coll_reduce_impl - all reductions, for one instruction set
 * @name: of the instruction set, for humans
 * @registers: it needs the vector registers
 * @fn: by type and operation; NULL where coll_reduce_valid() is false, or it is not offered
 * @wide: of coll_reduce_wide(): by type (binary16, bfloat16), whether the second
 *	operand is wide, whether the result is, and whether it is divided
 * @copy: copy what is hardly in the nearest caches; the two do not overlap, and no
 *	vector registers are needed
 */
struct coll_reduce_impl {
	const char *name;
	bool registers;
	coll_reduce_fn fn[COLLECTIVE_TYPE_COUNT][COLLECTIVE_REDUCTION_COUNT];
	coll_reduce_fn wide[2][2][2][2];
	coll_copy_fn copy;
};

/* Bytes; what is more is done with the vector registers. */
#define COLL_REDUCE_SOFT_MAX	64

extern const struct coll_reduce_impl coll_reduce_soft;
extern const struct coll_reduce_impl coll_reduce_scalar;
#if defined(__x86_64__)
extern const struct coll_reduce_impl coll_reduce_avx2;
extern const struct coll_reduce_impl coll_reduce_avx512;
#endif

size_t coll_type_size(u8 type);
bool coll_reduce_valid(u8 type, u8 reduction);
const struct coll_reduce_impl *coll_reduce_select(u32 features);
const struct coll_reduce_impl *coll_reduce_for(const struct coll_reduce_impl *impl, u8 type,
					       u8 reduction, size_t bytes);
void coll_reduce(const struct coll_reduce_impl *impl, u8 type, u8 reduction,
		 void *dst, const void *a, const void *b, size_t count,
		 u32 divisor);
bool coll_reduce_wide_valid(u8 type, u8 reduction);
void coll_reduce_wide(const struct coll_reduce_impl *impl, u8 type,
		      void *dst, bool dst_wide, const void *own,
		      const void *in, bool in_wide, size_t count, u32 divisor);

#endif /* COLL_REDUCE_H */
