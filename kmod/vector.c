// SPDX-License-Identifier: GPL-2.0-only
#include "vector.h"

#include <linux/types.h>
#if defined(CONFIG_X86_64)
#include <asm/cpufeature.h>
#include <asm/fpu/api.h>
#else
#include <linux/fpu.h>
#endif

/**
 * coll_vector_impl() - the fastest way to reduce on this CPU
 *
 * Return: a table of functions.
 */
const struct coll_reduce_impl *coll_vector_impl(void)
{
	u32 features = 0;

#if defined(CONFIG_X86_64)
	if (boot_cpu_has(X86_FEATURE_AVX2) && boot_cpu_has(X86_FEATURE_F16C))
		features |= COLL_REDUCE_HAS_AVX2;
	if (boot_cpu_has(X86_FEATURE_AVX512F) && boot_cpu_has(X86_FEATURE_AVX512BW) &&
	    boot_cpu_has(X86_FEATURE_AVX512VL) && boot_cpu_has(X86_FEATURE_AVX512DQ) &&
	    features)
		features |= COLL_REDUCE_HAS_AVX512;
#endif
	return coll_reduce_select(features);
}

/*
 * As kernel_fpu_begin() leaves it, and with the flag that a result was inexact, which
 * nobody asks for.  Emulators compute floats with the instructions of the machine below
 * only once it is up: one by one, in integers, takes twice as long.
 */
static void vector_inexact(void)
{
#if defined(CONFIG_X86_64)
	static const u32 mxcsr = 0x1f80 | 0x20;

	asm volatile("ldmxcsr %0" : : "m" (mxcsr));
#endif
}

/**
 * coll_vector_hold() - take the vector registers, if they are not held
 * @vector: ours
 *
 * Context: process or softirq; no sleeping until they are dropped.
 */
void coll_vector_hold(struct coll_vector *vector)
{
	if (vector->held)
		return;
	kernel_fpu_begin();
	vector_inexact();
	vector->held = true;
	vector->used = 0;
}

/**
 * coll_vector_used() - work was done with them
 * @vector: ours
 * @bytes: how much
 */
void coll_vector_used(struct coll_vector *vector, u32 bytes)
{
	vector->used += bytes;
	if (vector->used >= COLL_VECTOR_BYTES)
		coll_vector_drop(vector);
}

/**
 * coll_vector_drop() - give them back, if they are held
 * @vector: ours
 */
void coll_vector_drop(struct coll_vector *vector)
{
	if (!vector->held)
		return;
	vector->held = false;
	kernel_fpu_end();
}
