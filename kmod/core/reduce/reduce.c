// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * The entry points of the reductions: see reduce.h.
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
 * @own: this rank's operands, of @type; need not be aligned
 * @in: the other operands; need not be aligned
 * @in_wide: true if the other operands are binary32, false if they have @type
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
		(dst, in, own, count, divisor);
}

static_assert(COLL_REDUCE_PART / sizeof(u64) % COLL_REDUCE_STEP == 0);

/**
 * struct reduce_pass - reduction of a few operands, or of all
 * @impl: implementation
 * @type: enum collective_type
 * @reduction: enum collective_reduction; SUM if a sum is not divided
 * @wide: true for wide sums
 * @first_wide: true if the first operand is a binary32 sum
 * @dst_wide: true if the result is a binary32 sum
 * @divisor: divisor of the sums
 * @part: results of the first operands
 */
struct reduce_pass {
	const struct coll_reduce_impl *impl;
	u8 type;
	u8 reduction;
	bool wide;
	bool first_wide;
	bool dst_wide;
	u32 divisor;
	void *part;
};

static void reduce_pass(const struct reduce_pass *pass, void *dst, const void *const *src,
			u32 sources, size_t count)
{
	const struct coll_reduce_impl *impl = pass->impl;

	if (pass->wide) {
		bool bfloat = pass->type == COLLECTIVE_BFLOAT16;
		bool divided = pass->reduction == COLLECTIVE_AVG;

		if (sources == 2)
			impl->wide[bfloat][pass->first_wide][pass->dst_wide][divided]
				(dst, src[0], src[1], count, pass->divisor);
		else
			impl->wide_many[bfloat][pass->first_wide][pass->dst_wide][divided]
				(dst, src, sources, count, pass->divisor);
		return;
	}
	if (sources == 2)
		impl->fn[pass->type][pass->reduction](dst, src[0], src[1], count, pass->divisor);
	else
		impl->many[pass->type][pass->reduction](dst, src, sources, count, pass->divisor);
}

/*
 * Reduce a part of the elements, few enough that what the first operands give fits the memory for
 * it.  The result goes to @dst only with the last operands, because @dst may be one of them.
 */
static void reduce_part(struct reduce_pass pass, u32 most, void *dst, const void *const *src,
			u32 sources, size_t from, size_t count)
{
	const size_t size = coll_type_size(pass.type);
	const u8 reduction = pass.reduction;
	const void *operand[COLL_REDUCE_TOGETHER];
	u32 done = 0;

	while (done < sources) {
		u32 n = 0;

		if (done)
			operand[n++] = pass.part;
		while (n < most && done < sources)
			operand[n++] = src[done++] + from * size;
		pass.dst_wide = pass.wide && done < sources;
		pass.reduction = reduction == COLLECTIVE_AVG && done < sources ?
				 COLLECTIVE_SUM : reduction;
		reduce_pass(&pass, done < sources ? pass.part : dst + from * size, operand, n,
			    count);
		pass.first_wide = pass.wide;
	}
}

/**
 * coll_reduce_many() - compute dst[i] = src[0][i] (op) src[1][i] (op) ..., from left to right
 * @impl: implementation
 * @type: enum collective_type
 * @reduction: enum collective_reduction, valid with @type
 * @wide: true if sums are rounded once, at the end; coll_reduce_wide_valid()
 * @dst: destination: exactly one of the operands, or disjoint from all; need not be aligned
 * @src: the operands; none need be aligned
 * @sources: number of operands, at least 2
 * @count: number of elements
 * @divisor: divisor of the sums if @reduction is COLLECTIVE_AVG; 0 or 1: they are not divided
 * @part: memory of COLL_REDUCE_PART bytes for what the first operands give
 *
 * Each operand is read once, and each result is stored once.  The results are those of
 * coll_reduce(), or of coll_reduce_wide(), with one operand after the other.
 *
 * Context: any; between kernel_fpu_begin() and kernel_fpu_end(), whatever the implementation.
 */
void coll_reduce_many(const struct coll_reduce_impl *impl, u8 type, u8 reduction, bool wide,
		      void *dst, const void *const *src, u32 sources, size_t count, u32 divisor,
		      void *part)
{
	struct reduce_pass pass = {
		.impl = impl,
		.type = type,
		.reduction = reduction,
		.wide = wide,
		.divisor = divisor,
		.part = part,
	};
	const size_t each = COLL_REDUCE_PART / (coll_type_size(type) << wide);
	size_t from = 0, whole = 0, n;

	if (reduction == COLLECTIVE_AVG && divisor <= 1)
		pass.reduction = COLLECTIVE_SUM;
	if (sources == 2) {
		reduce_pass(&pass, dst, src, 2, count);
		return;
	}
	if (wide || impl->many[type][pass.reduction])
		whole = round_down(count, (size_t)COLL_REDUCE_STEP);
	if (sources <= COLL_REDUCE_TOGETHER) {
		if (whole)
			reduce_pass(&pass, dst, src, sources, whole);
		from = whole;
	}
	for (; from < count; from += n) {
		n = min(each, (from < whole ? whole : count) - from);
		reduce_part(pass, from < whole ? COLL_REDUCE_TOGETHER : 2, dst, src, sources,
			    from, n);
	}
}
