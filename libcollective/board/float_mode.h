/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The modes of floating point: rounding, denormals as zeros, traps.  A program may have set any,
 * but all ranks, and the kernel, compute with the same: to nearest, with denormals, without traps.
 * The program's flags of exceptions stay as they are, too.
 */
#ifndef COLL_FLOAT_MODE_H
#define COLL_FLOAT_MODE_H

#if defined(__x86_64__)

/* What a process begins with, and the kernel computes with. */
#define FLOAT_MODE_DEFAULT	0x1f80U

struct coll_float_mode {
	unsigned int mxcsr;
};

static inline void coll_float_mode_begin(struct coll_float_mode *saved)
{
	const unsigned int mxcsr = FLOAT_MODE_DEFAULT;

	__asm__ volatile("stmxcsr %0" : "=m" (saved->mxcsr));
	__asm__ volatile("ldmxcsr %0" : : "m" (mxcsr) : "memory");
}

static inline void coll_float_mode_end(const struct coll_float_mode *saved)
{
	__asm__ volatile("ldmxcsr %0" : : "m" (saved->mxcsr) : "memory");
}

#elif defined(__aarch64__)

struct coll_float_mode {
	unsigned long fpcr;
	unsigned long fpsr;
};

static inline void coll_float_mode_begin(struct coll_float_mode *saved)
{
	__asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r" (saved->fpcr), "=r" (saved->fpsr));
	__asm__ volatile("msr fpcr, %0" : : "r" (0UL) : "memory");
}

static inline void coll_float_mode_end(const struct coll_float_mode *saved)
{
	__asm__ volatile("msr fpcr, %0\n\tmsr fpsr, %1" : : "r" (saved->fpcr), "r" (saved->fpsr) :
			 "memory");
}

#else

#include <fenv.h>

struct coll_float_mode {
	fenv_t env;
};

static inline void coll_float_mode_begin(struct coll_float_mode *saved)
{
	fegetenv(&saved->env);
	fesetenv(FE_DFL_ENV);
}

static inline void coll_float_mode_end(const struct coll_float_mode *saved)
{
	fesetenv(&saved->env);
}

#endif

#endif /* COLL_FLOAT_MODE_H */
