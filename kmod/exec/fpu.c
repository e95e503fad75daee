// SPDX-License-Identifier: GPL-2.0-only
/*
 * The floating-point unit: sections in which kernel code may use vector registers, and the
 * instructions that the reductions use (core/reduce/).  These are the widest that the CPU has,
 * unless the parameter "reductions" names others.
 */
#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/moduleparam.h>
#include <linux/percpu.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <linux/timekeeping.h>
#include <linux/types.h>
#if defined(CONFIG_X86_64)
#include <asm/cpufeature.h>
#include <asm/fpu/api.h>
#else
#include <linux/fpu.h>
#endif

#include "exec/fpu.h"

#define CREATE_TRACE_POINTS
#include "exec/fpu_events.h"

static const struct coll_reduce_impl *vector_impl;

/* Memory of COLL_REDUCE_PART bytes for the FPU section of each CPU. */
static void __percpu *fpu_parts;

/*
 * Set the control register of the FPU as all reductions need it: round to nearest, keep
 * subnormal numbers, no traps.  Only some architectures reset this register in
 * kernel_fpu_begin().  On the others it keeps the value of the current thread, and the program
 * could change the results of a reduction.  The thread's own value was saved with its other FPU
 * registers, and is restored with them.
 */
static void fpu_set_default_mode(void)
{
#if defined(CONFIG_X86_64)
	static const u32 mxcsr = 0x1f80;

	asm volatile("ldmxcsr %0" : : "m" (mxcsr));
#elif defined(CONFIG_ARM64)
	asm volatile("msr fpcr, xzr");
#elif defined(CONFIG_RISCV)
	asm volatile("csrw fcsr, zero");
#elif defined(CONFIG_PPC64)
	/* FPSCR: field 6 has the traps; field 7 has NI and the rounding mode. */
	asm volatile("mtfsfi 6, 0\n\tmtfsfi 7, 0");
#elif defined(CONFIG_LOONGARCH)
	write_fcsr(LOONGARCH_FCSR0, 0);
#else
#error "which register holds the rounding mode of this architecture?"
#endif
}

/* Instructions that the CPU has.  A bit includes all lower ones. */
static u32 cpu_features(void)
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
	return features;
}

/**
 * coll_fpu_setup() - select the widest instructions, unless the parameter names some
 *
 * Return: 0 or -ENOMEM.
 */
int __init coll_fpu_setup(void)
{
	/* The parameter may have been written already. */
	cmpxchg(&vector_impl, NULL, coll_reduce_select(cpu_features()));
	fpu_parts = __alloc_percpu(COLL_REDUCE_PART, 64);
	return fpu_parts ? 0 : -ENOMEM;
}

/** coll_fpu_cleanup() - undo coll_fpu_setup() */
void coll_fpu_cleanup(void)
{
	free_percpu(fpu_parts);
}

/**
 * coll_fpu_reductions() - the reductions for a lane that is made now
 *
 * Context: any.
 * Return: table of functions; NULL before coll_fpu_setup().
 */
const struct coll_reduce_impl *coll_fpu_reductions(void)
{
	return READ_ONCE(vector_impl);
}

/* Called before coll_fpu_setup() when the module is loaded, and for each write in sysfs. */
static int reductions_set(const char *name, const struct kernel_param *kp)
{
	u32 features = cpu_features();
	u32 width;

	for (width = 0; width <= fls(features); width++) {
		const struct coll_reduce_impl *impl = coll_reduce_select(features >> width);

		if (sysfs_streq(name, impl->name)) {
			WRITE_ONCE(vector_impl, impl);
			return 0;
		}
	}
	return -EINVAL;
}

static int reductions_get(char *buffer, const struct kernel_param *kp)
{
	const struct coll_reduce_impl *impl = coll_fpu_reductions();

	/* The file exists before coll_fpu_setup() has run. */
	return sysfs_emit(buffer, "%s\n", impl ? impl->name : "");
}

static const struct kernel_param_ops reductions_ops = {
	.set = reductions_set,
	.get = reductions_get,
};
module_param_cb(reductions, &reductions_ops, NULL, 0644);
MODULE_PARM_DESC(reductions, "Instruction set that reduces and copies data: scalar, avx2 or avx512, as far as the CPU has it; read when a rank joins. Default: the widest");

/**
 * coll_fpu_begin() - begin an FPU section, unless it has begun
 * @fpu: the section
 *
 * Context: process or softirq; the caller must not sleep until coll_fpu_end().
 */
void coll_fpu_begin(struct coll_fpu *fpu)
{
	if (fpu->held)
		return;
	kernel_fpu_begin();
	fpu_set_default_mode();
	fpu->held = true;
	fpu->used = 0;
	fpu->since = trace_collective_vector_enabled() ? ktime_get_ns() : 0;
}

/**
 * coll_fpu_part() - memory for partial results of reductions
 *
 * Context: an FPU section of a task that reads exposed memory, which disables preemption; the
 * section itself does not on each architecture.
 * Return: COLL_REDUCE_PART bytes for this section, which are in the nearest caches if it has
 * been used before.
 */
void *coll_fpu_part(void)
{
	return this_cpu_ptr(fpu_parts);
}

/**
 * coll_fpu_used() - count work, and end the section when there was enough
 * @fpu: the section
 * @cost: cost of the work, in bytes; see coll_piece_cost()
 */
void coll_fpu_used(struct coll_fpu *fpu, u64 cost)
{
	fpu->used += cost;
	if (fpu->used >= COLL_FPU_SECTION_BYTES)
		coll_fpu_end(fpu);
}

/**
 * coll_fpu_end() - end an FPU section, if it has begun
 * @fpu: the section
 */
void coll_fpu_end(struct coll_fpu *fpu)
{
	if (!fpu->held)
		return;
	fpu->held = false;
	kernel_fpu_end();
	if (fpu->since)
		trace_collective_vector(fpu->used, ktime_get_ns() - fpu->since);
}
