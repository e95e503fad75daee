// SPDX-License-Identifier: GPL-2.0-only
/*
 * The floating-point unit: sections in which kernel code may use vector registers, and the
 * instructions that the reductions use (core/reduce/).  A short trial selects the instructions
 * when the module is loaded, unless the parameter "reductions" names them.
 */
#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/delay.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
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

#define TRIAL_BYTES	8192U	/* bytes of one operand */
#define TRIAL_REPEATS	4	/* reductions in one run */
#define TRIAL_RUNS	200	/* wide units power up; one run is undisturbed */
#define TRIAL_PAUSE_US	100

static const struct coll_reduce_impl *vector_impl;

/*
 * Set the control register of the FPU as all reductions need it: round to nearest, keep
 * subnormal numbers, no traps.  Only some architectures reset this register in
 * kernel_fpu_begin().  On the others it keeps the value of the current thread, and the program
 * could change the results of a reduction.  The thread's own value was saved with its other FPU
 * registers, and is restored with them.
 *
 * x86: the flag "a result was inexact" is set, which this module does not read.  Emulators
 * compute with the floating-point instructions of their host only if the flag is set; otherwise
 * they compute with integers, which takes twice as long.
 */
static void fpu_set_default_mode(void)
{
#if defined(CONFIG_X86_64)
	static const u32 mxcsr = 0x1f80 | 0x20;

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

/* Add floats that are in the L1 cache.  Return: the time that it takes, ns. */
static u64 __init trial_run(const struct coll_reduce_impl *impl, u8 *memory)
{
	struct coll_fpu fpu = { };
	u64 begin, end;
	u32 i;

	coll_fpu_begin(&fpu);
	begin = ktime_get_ns();
	for (i = 0; i < TRIAL_REPEATS; i++)
		coll_reduce(impl, COLLECTIVE_FLOAT32, COLLECTIVE_SUM, memory,
			    memory + TRIAL_BYTES, memory + 2 * TRIAL_BYTES,
			    TRIAL_BYTES / sizeof(u32), 0);
	end = ktime_get_ns();
	coll_fpu_end(&fpu);
	return end - begin;
}

/* The shortest of many runs.  The pause is needed because wide vectors slow later code down. */
static u64 __init trial(const struct coll_reduce_impl *impl, u8 *memory)
{
	u64 least = U64_MAX;
	u32 i;

	fsleep(TRIAL_PAUSE_US);
	for (i = 0; i < TRIAL_RUNS; i++)
		least = min(least, trial_run(impl, memory));
	return least;
}

/*
 * The widest vectors are the fastest on real machines.  On emulated ones they may take two and a
 * half times as long as narrow vectors.  A trial decides, as in the kernel's RAID and XOR code:
 * the widest vectors are used unless narrower ones take at most three quarters of their time.
 */
static const struct coll_reduce_impl *__init trial_winner(u32 features, u8 *memory)
{
	const struct coll_reduce_impl *widest = coll_reduce_select(features);
	const struct coll_reduce_impl *narrow = widest;
	u64 least = U64_MAX;
	u32 width;

	for (width = fls(features); width; width--) {
		const struct coll_reduce_impl *impl = coll_reduce_select(features >> width);
		u64 time = trial(impl, memory);

		if (time < least) {
			least = time;
			narrow = impl;
		}
	}
	return least / 3 * 4 < trial(widest, memory) ? narrow : widest;
}

/**
 * coll_fpu_setup() - select the fastest instructions, unless the parameter names some
 *
 * Context: module initialisation; may sleep.
 */
void __init coll_fpu_setup(void)
{
	u32 features = cpu_features();
	const struct coll_reduce_impl *impl = coll_reduce_select(features);
	u8 *memory = NULL;

	if (coll_fpu_reductions())
		return;
	if (features)
		memory = kmalloc(3 * TRIAL_BYTES, GFP_KERNEL);
	if (memory) {
		memset(memory, 0x3f, 3 * TRIAL_BYTES);	/* floats: 0.747 */
		impl = trial_winner(features, memory);
		kfree(memory);
	}
	/* The parameter may have been written meanwhile. */
	cmpxchg(&vector_impl, NULL, impl);
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
MODULE_PARM_DESC(reductions, "Instruction set that reduces and copies data: scalar, avx2 or avx512, as far as the CPU has it; read when a rank joins. Default: chosen by a trial when the module is loaded");

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
