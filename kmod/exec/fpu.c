// SPDX-License-Identifier: GPL-2.0-only
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
#include "exec/fpu_events.h"

#define TRIAL_BYTES	8192U	/* of one operand */
#define TRIAL_REPEATS	4	/* in a turn */
#define TRIAL_TURNS	200	/* until wide units have woken up, and undisturbed */
#define TRIAL_PAUSE_US	100

static const struct coll_reduce_impl *vector_impl;

/*
 * Sets the control register of the FPU as every reduction needs it: round to nearest, keep
 * subnormal numbers, no traps.  Only some architectures reset it when an FPU section begins; on
 * the others it would still be the current thread's, and results would depend on the program.  The
 * thread's own value was saved with its registers and is restored with them.
 *
 * x86: the inexact flag is set, too, which nothing here reads.  Emulators use the host's
 * floating-point instructions only while it is set, and are twice as slow otherwise.
 */
static void vector_default_mode(void)
{
#if defined(CONFIG_X86_64)
	static const u32 mxcsr = 0x1f80 | 0x20;

	asm volatile("ldmxcsr %0" : : "m" (mxcsr));
#elif defined(CONFIG_ARM64)
	asm volatile("msr fpcr, xzr");
#elif defined(CONFIG_RISCV)
	asm volatile("csrw fcsr, zero");
#elif defined(CONFIG_PPC64)
	/* The fields of the FPSCR with the traps, and with NI and the rounding mode. */
	asm volatile("mtfsfi 6, 0\n\tmtfsfi 7, 0");
#elif defined(CONFIG_LOONGARCH)
	write_fcsr(LOONGARCH_FCSR0, 0);
#else
#error "which register holds the rounding mode of this architecture?"
#endif
}

/* Instruction sets of the CPU; a set has a higher bit than the sets that it includes. */
static u32 vector_features(void)
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

/* Time to add floats that are in the nearest cache, ns. */
static u64 __init trial_turn(const struct coll_reduce_impl *impl, u8 *memory)
{
	struct coll_fpu vector = { };
	u64 begin, end;
	u32 i;

	coll_fpu_begin(&vector);
	begin = ktime_get_ns();
	for (i = 0; i < TRIAL_REPEATS; i++)
		coll_reduce(impl, COLLECTIVE_FLOAT32, COLLECTIVE_SUM, memory,
			    memory + TRIAL_BYTES, memory + 2 * TRIAL_BYTES,
			    TRIAL_BYTES / sizeof(u32), 0);
	end = ktime_get_ns();
	coll_fpu_end(&vector);
	return end - begin;
}

/* The least of many turns, after a pause, because wide vectors slow down the code after them. */
static u64 __init trial(const struct coll_reduce_impl *impl, u8 *memory)
{
	u64 least = U64_MAX;
	u32 i;

	fsleep(TRIAL_PAUSE_US);
	for (i = 0; i < TRIAL_TURNS; i++)
		least = min(least, trial_turn(impl, memory));
	return least;
}

/*
 * The widest vectors are the fastest on hardware, but in emulators they may take two and a half
 * times as long as narrow ones.  So a trial decides, as in the kernel's RAID and XOR code: the
 * widest implementation is used unless a narrower one takes three quarters of its time or less.
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
 * coll_fpu_setup() - select the fastest reductions on this CPU, unless the parameter names them
 */
void __init coll_fpu_setup(void)
{
	u32 features = vector_features();
	const struct coll_reduce_impl *impl = coll_reduce_select(features);
	u8 *memory = NULL;

	if (coll_vector_impl())
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
 * coll_vector_impl() - the reductions for members that join now
 *
 * Return: a table of functions.
 */
const struct coll_reduce_impl *coll_vector_impl(void)
{
	return READ_ONCE(vector_impl);
}

/* Called when the module is loaded, before its init, and while it runs. */
static int reductions_set(const char *name, const struct kernel_param *kp)
{
	u32 features = vector_features();
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
	const struct coll_reduce_impl *impl = coll_vector_impl();

	/* The parameter's file exists before the module's init has run. */
	return sysfs_emit(buffer, "%s\n", impl ? impl->name : "");
}

static const struct kernel_param_ops reductions_ops = {
	.set = reductions_set,
	.get = reductions_get,
};
module_param_cb(reductions, &reductions_ops, NULL, 0644);
MODULE_PARM_DESC(reductions, "Instruction set that reduces and copies data: scalar, avx2 or avx512, as far as the CPU has it; read when a rank joins. Default: chosen by a trial when the module is loaded");

/**
 * coll_fpu_begin() - begin an FPU section, unless one has begun
 * @fpu: of the lane that runs
 *
 * Context: process or softirq; must not sleep until coll_fpu_end().
 */
void coll_fpu_begin(struct coll_fpu *fpu)
{
	if (fpu->held)
		return;
	kernel_fpu_begin();
	vector_default_mode();
	fpu->held = true;
	fpu->used = 0;
	fpu->since = trace_collective_vector_enabled() ? ktime_get_ns() : 0;
}

/**
 * coll_fpu_used() - count work in the section, and end it when it is long enough
 * @fpu: of the lane that runs
 * @cost: bytes
 */
void coll_fpu_used(struct coll_fpu *fpu, u64 cost)
{
	fpu->used += cost;
	if (fpu->used >= COLL_VECTOR_BYTES)
		coll_fpu_end(fpu);
}

/**
 * coll_fpu_end() - end the FPU section, if one has begun
 * @fpu: of the lane that runs
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
