/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * Reductions: dst[i] = a[i] (op) b[i] (op) ..., for every type and reduction of the UAPI.
 *
 * reduce_impl.h has the loops over elements, which the compiler vectorizes.  It is compiled once
 * for each instruction set (reduce_scalar.c, reduce_avx2.c, reduce_avx512.c; compiler flags in
 * reduce.mk).  The caller chooses an implementation by the CPU's features.
 *
 * Nothing here sleeps.  The caller holds kernel_fpu_begin(), and has set the rounding mode, without
 * traps and with denormals.
 */
#ifndef COLL_REDUCE_H
#define COLL_REDUCE_H

#include <linux/collective.h>

#include "core/env.h"
#include "core/reduce/copy.h"

/*
 * Ranks of a group may use different implementations.  Their results are equal to the last bit:
 *
 *  - Every element is rounded by itself: elements are not added to one another, and the compiler
 *    must not contract operations into fused ones.
 *  - binary16 and bfloat16 are converted to binary32 exactly, computed in it, and rounded once, to
 *    nearest even.  An average is the rounded sum, divided and rounded again.
 *  - Every NaN result is the canonical NaN, whatever the operands are.
 *  - Minimum, maximum and the logical reductions are defined to the last bit.
 */

/* Features of the CPU that the operating system has enabled, for coll_reduce_select() */
#define COLL_REDUCE_HAS_AVX2	(1U << 0)	/* AVX2, F16C */
#define COLL_REDUCE_HAS_AVX512	(1U << 1)	/* AVX-512 F, BW, VL, DQ; F16C */

/**
 * typedef coll_reduce_fn - reduce arrays of one type with one reduction
 * @dst: destination: exactly @a, exactly @b, or disjoint from both; need not be aligned
 * @a: first operands; need not be aligned
 * @b: second operands; need not be aligned
 * @count: number of elements
 * @divisor: divisor of COLLECTIVE_AVG, at least 2; other reductions ignore it
 */
typedef void (*coll_reduce_fn)(void *dst, const void *a, const void *b,
			       size_t count, u32 divisor);

/* Most operands that a coll_reduce_many_fn takes, and the unit of its number of elements */
#define COLL_REDUCE_TOGETHER	4
#define COLL_REDUCE_STEP	64

/*
 * Bytes of the results of the first operands, if not all operands fit one pass.  So much is read of
 * each operand at a time.  That is a page, because prefetchers of CPUs find their way anew in each
 * page, and in a part of one as well.
 */
#define COLL_REDUCE_PART	4096

/**
 * typedef coll_reduce_many_fn - reduce three or four arrays of one type with one reduction
 * @dst: destination: exactly one of the operands, or disjoint from all; need not be aligned
 * @src: the operands, in order; none need be aligned
 * @sources: number of operands: 3 or COLL_REDUCE_TOGETHER
 * @count: number of elements, a multiple of COLL_REDUCE_STEP
 * @divisor: see coll_reduce_fn
 *
 * What two operands give is rounded, as if it were stored, before the next one is reduced with it;
 * wide sums are not.
 */
typedef void (*coll_reduce_many_fn)(void *dst, const void *const *src, u32 sources,
				    size_t count, u32 divisor);

/**
 * struct coll_reduce_impl - the reductions of one instruction set
 * @name: name of the instruction set, for messages
 * @fn: functions by type and reduction; NULL if coll_reduce_valid() is false, or if this
 *	implementation does not have the reduction
 * @many: functions for more than two operands, by type and reduction; NULL: two at a time
 * @wide: functions of coll_reduce_wide(), by four indices: bfloat16 (not binary16), first operand
 *	is binary32, result is binary32, sum is divided
 * @wide_many: likewise, for more than two operands; the others have 16 bits
 * @copy: function for copies of bytes that are hardly in the nearest caches; uses no FPU registers
 *
 * Constant after load.
 */
struct coll_reduce_impl {
	const char *name;
	coll_reduce_fn fn[COLLECTIVE_TYPE_COUNT][COLLECTIVE_REDUCTION_COUNT];
	coll_reduce_many_fn many[COLLECTIVE_TYPE_COUNT][COLLECTIVE_REDUCTION_COUNT];
	coll_reduce_fn wide[2][2][2][2];
	coll_reduce_many_fn wide_many[2][2][2][2];
	coll_copy_fn copy;
};

extern const struct coll_reduce_impl coll_reduce_scalar;
#if defined(__x86_64__)
extern const struct coll_reduce_impl coll_reduce_avx2;
extern const struct coll_reduce_impl coll_reduce_avx512;
#endif

size_t coll_type_size(u8 type);
bool coll_reduce_valid(u8 type, u8 reduction);
const struct coll_reduce_impl *coll_reduce_select(u32 features);
void coll_reduce(const struct coll_reduce_impl *impl, u8 type, u8 reduction,
		 void *dst, const void *a, const void *b, size_t count,
		 u32 divisor);
void coll_reduce_many(const struct coll_reduce_impl *impl, u8 type, u8 reduction, bool wide,
		      void *dst, const void *const *src, u32 sources, size_t count, u32 divisor,
		      void *part);
bool coll_reduce_wide_valid(u8 type, u8 reduction);
void coll_reduce_wide(const struct coll_reduce_impl *impl, u8 type,
		      void *dst, bool dst_wide, const void *own,
		      const void *in, bool in_wide, size_t count, u32 divisor);

#endif /* COLL_REDUCE_H */
