// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reductions: what is offered, and the way in.  See reduce.h.
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
 * coll_type_size() - the size of an element
 * @type: enum collective_type
 *
 * Return: bytes; 0 if there is no such type.
 */
size_t coll_type_size(u8 type)
{
	return type < COLLECTIVE_TYPE_COUNT ? type_size[type] : 0;
}

/**
 * coll_reduce_valid() - is there such a reduction?
 * @type: enum collective_type
 * @reduction: enum collective_reduction
 *
 * Return: false for unknown numbers, and for bitwise operations on floats.
 */
bool coll_reduce_valid(u8 type, u8 reduction)
{
	return type < COLLECTIVE_TYPE_COUNT &&
	       reduction < COLLECTIVE_REDUCTION_COUNT &&
	       coll_reduce_scalar.fn[type][reduction];
}

/**
 * coll_reduce_select() - the best implementation for a CPU
 * @features: COLL_REDUCE_HAS_*
 *
 * Return: one that the CPU can run; never NULL.
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
 * coll_reduce_for() - the implementation for a number of bytes
 * @impl: the best one for the CPU
 * @type: enum collective_type
 * @reduction: enum collective_reduction, valid with @type
 * @bytes: bytes of each operand
 *
 * Return: @impl, or an implementation that needs no FPU registers.
 */
const struct coll_reduce_impl *coll_reduce_for(const struct coll_reduce_impl *impl, u8 type,
					       u8 reduction, size_t bytes)
{
	if (bytes <= COLL_REDUCE_SOFT_MAX && coll_reduce_soft.fn[type][reduction])
		return &coll_reduce_soft;
	return impl;
}

/**
 * coll_reduce() - dst[i] = a[i] (op) b[i]
 * @impl: which implementation
 * @type: enum collective_type
 * @reduction: enum collective_reduction, valid with @type
 * @dst: where the results go: exactly @a, exactly @b, or clear of both
 * @a: first operands, at any byte
 * @b: second operands, at any byte
 * @count: elements
 * @divisor: with COLLECTIVE_AVG, what the sums are divided by in the same go;
 *	0 and 1: they are not
 *
 * Context: any, between kernel_fpu_begin() and kernel_fpu_end() if @impl needs that.
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
 * coll_reduce_wide_valid() - can sums be kept in a wider type?
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
 * coll_reduce_wide() - dst[i] = own[i] + in[i], without intermediate rounding
 * @impl: which implementation
 * @type: COLLECTIVE_FLOAT16 or COLLECTIVE_BFLOAT16
 * @dst: destination: exactly @own or @in, if its elements have the same size, or disjoint
 *	from both
 * @dst_wide: true if results are stored as binary32, false if they are rounded (once) to
 *	@type
 * @own: first operands, of @type, at any byte
 * @in: second operands, at any byte
 * @in_wide: true if the second operands are binary32, false if they have @type
 * @count: elements
 * @divisor: what the sums are divided by before they are rounded to @type; 0 and 1: nothing
 *
 * Addition is commutative, so the order of the operands is no argument.
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
