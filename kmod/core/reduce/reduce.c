// SPDX-License-Identifier: GPL-2.0-only
/*
 * The entry points of the reductions, and the choice of an implementation.  See reduce.h.
 */
#include "core/reduce/reduce.h"

static const u8 type_size[COLLECTIVE_TYPE_COUNT] = {
	[COLLECTIVE_INT8]	= 1,
	[COLLECTIVE_UINT8]	= 1,
	[COLLECTIVE_INT16]	= 2,
	[COLLECTIVE_UINT16]	= 2,
	[COLLECTIVE_INT32]	= 4,
	[COLLECTIVE_UINT32]	= 4,
	[COLLECTIVE_INT64]	= 8,
	[COLLECTIVE_UINT64]	= 8,
	[COLLECTIVE_FLOAT16]	= 2,
	[COLLECTIVE_BFLOAT16]	= 2,
	[COLLECTIVE_FLOAT32]	= 4,
	[COLLECTIVE_FLOAT64]	= 8,
};

/**
 * coll_type_size() - get the size of an element
 * @type: enum collective_type
 *
 * Return: number of bytes; 0 if @type is unknown.
 */
size_t coll_type_size(u8 type)
{
	return type < COLLECTIVE_TYPE_COUNT ? type_size[type] : 0;
}

/**
 * coll_reduce_valid() - check if a reduction exists for a type
 * @type: enum collective_type
 * @reduction: enum collective_reduction
 *
 * Return: false for an unknown type or reduction, and for a bitwise reduction of floats.
 */
bool coll_reduce_valid(u8 type, u8 reduction)
{
	return type < COLLECTIVE_TYPE_COUNT &&
	       reduction < COLLECTIVE_REDUCTION_COUNT &&
	       coll_reduce_scalar.fn[type][reduction];
}

/**
 * coll_reduce_select() - choose the implementation for a CPU
 * @features: COLL_REDUCE_HAS_* bits of the CPU
 *
 * Return: the implementation with the widest vectors that the CPU can run; never NULL.
 */
const struct coll_reduce_impl *coll_reduce_select(u32 features)
{
#if defined(__x86_64__)
	if (features & COLL_REDUCE_HAS_AVX512)
		return &coll_reduce_avx512;
	if (features & COLL_REDUCE_HAS_AVX2)
		return &coll_reduce_avx2;
#else
	(void)features;
#endif
	return &coll_reduce_scalar;
}

/**
 * coll_reduce() - compute dst[i] = a[i] (op) b[i]
 * @impl: implementation
 * @type: enum collective_type
 * @reduction: enum collective_reduction, valid with @type
 * @dst: destination: exactly @a, exactly @b, or disjoint from both; need not be aligned
 * @a: first operands; need not be aligned
 * @b: second operands; need not be aligned
 * @count: number of elements
 * @divisor: divisor of the sums if @reduction is COLLECTIVE_AVG; 0 or 1: they are not divided
 *
 * Context: any, between kernel_fpu_begin() and kernel_fpu_end().
 */
void coll_reduce(const struct coll_reduce_impl *impl, u8 type, u8 reduction,
		 void *dst, const void *a, const void *b, size_t count,
		 u32 divisor)
{
	if (reduction == COLLECTIVE_AVG && divisor <= 1)
		reduction = COLLECTIVE_SUM;
	impl->fn[type][reduction](dst, a, b, count, divisor);
}

/**
 * coll_reduce_wide_valid() - check if a reduction can have binary32 sums of 16-bit floats
 * @type: enum collective_type
 * @reduction: enum collective_reduction
 *
 * Return: true for sums and averages of 16-bit floats.
 */
bool coll_reduce_wide_valid(u8 type, u8 reduction)
{
	return (type == COLLECTIVE_FLOAT16 || type == COLLECTIVE_BFLOAT16) &&
	       (reduction == COLLECTIVE_SUM || reduction == COLLECTIVE_AVG);
}

/**
 * coll_reduce_wide() - compute dst[i] = own[i] + in[i], without intermediate rounding
 * @impl: implementation
 * @type: COLLECTIVE_FLOAT16 or COLLECTIVE_BFLOAT16
 * @dst: destination: exactly @own or @in, if its elements have the same size, or disjoint
 *	from both
 * @dst_wide: true if results are stored as binary32, false if they are rounded (once) to
 *	@type
 * @own: first operands, of @type; need not be aligned
 * @in: second operands; need not be aligned
 * @in_wide: true if the second operands are binary32, false if they have @type
 * @count: number of elements
 * @divisor: divisor of the sums, before they are rounded to @type; 0 or 1: they are not divided
 *
 * Addition is commutative, so one order of the operands suffices.
 *
 * Context: any, between kernel_fpu_begin() and kernel_fpu_end().
 */
void coll_reduce_wide(const struct coll_reduce_impl *impl, u8 type,
		      void *dst, bool dst_wide, const void *own,
		      const void *in, bool in_wide, size_t count, u32 divisor)
{
	impl->wide[type == COLLECTIVE_BFLOAT16][in_wide][dst_wide][divisor > 1]
		(dst, own, in, count, divisor);
}
