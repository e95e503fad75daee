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
 * The control register of the floating-point unit, as every reduction needs it: rounding to
 * nearest, subnormal numbers kept, no traps.  Only some architectures reset it when an FPU
 * section begins.  On the others it would still be that of the thread that runs here, and
 * results would depend on what a program has done to its own.  The thread's own value has
 * been saved with its registers, and comes back with them.
 *
 * x86: with the flag that a result was inexact, which nothing here reads.  Emulators compute
 * floats with the instructions of the machine below only once it is up: one by one, in
 * integers, takes twice as long.
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

/* What the CPU offers; each is told by a higher bit than those that it includes. */
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

/* Add floats that are in the nearest cache; how long it takes, ns. */
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

/* The least of many turns, after a pause: wide vectors slow down what follows them. */
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
 * The widest vectors are the fastest, but where a machine is emulated they may take two
 * and a half times as long as narrow ones.  As elsewhere in the kernel (RAID, XOR) a trial
 * tells: the widest it is, unless narrower ones take three quarters of its time or less.
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
 * coll_fpu_setup() - find the fastest way to reduce on this CPU, unless one was named
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
	/* It may have been named meanwhile. */
	cmpxchg(&vector_impl, NULL, impl);
}

/**
 * coll_vector_impl() - the way to reduce, for those that join now
 *
 * Return: a table of functions.
 */
const struct coll_reduce_impl *coll_vector_impl(void)
{
	return READ_ONCE(vector_impl);
}

/* When the module is loaded, before anything else, and while it runs. */
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

	/* The file is there before the module has begun. */
	return sysfs_emit(buffer, "%s\n", impl ? impl->name : "");
}

static const struct kernel_param_ops reductions_ops = {
	.set = reductions_set,
	.get = reductions_get,
};
module_param_cb(reductions, &reductions_ops, NULL, 0644);
MODULE_PARM_DESC(reductions, "Instruction set that reduces and copies data: scalar, avx2 or avx512, as far as the CPU has it; read when a rank joins. Default: chosen by a trial when the module is loaded");

/**
 * coll_fpu_begin() - take the vector registers, if they are not held
 * @vector: ours
 *
 * Context: process or softirq; no sleeping until they are dropped.
 */
void coll_fpu_begin(struct coll_fpu *vector)
{
	if (vector->held)
		return;
	kernel_fpu_begin();
	vector_default_mode();
	vector->held = true;
	vector->used = 0;
	vector->since = trace_collective_vector_enabled() ? ktime_get_ns() : 0;
}

/**
 * coll_fpu_used() - work was done with them
 * @vector: ours
 * @cost: how much, bytes
 */
void coll_fpu_used(struct coll_fpu *vector, u64 cost)
{
	vector->used += cost;
	if (vector->used >= COLL_VECTOR_BYTES)
		coll_fpu_end(vector);
}

/**
 * coll_fpu_end() - give them back, if they are held
 * @vector: ours
 */
void coll_fpu_end(struct coll_fpu *vector)
{
	if (!vector->held)
		return;
	vector->held = false;
	kernel_fpu_end();
	if (vector->since)
		trace_collective_vector(vector->used, ktime_get_ns() - vector->since);
}
