# SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
#
# The compiler flags of reduce_*.c, for Kbuild and for user-space Makefiles.
# In Kbuild:
#
#	include $(src)/kmod/core/reduce/reduce.mk
#	CFLAGS_kmod/core/reduce/reduce_scalar.o		+= $(coll-reduce-cflags-scalar)
#	CFLAGS_REMOVE_kmod/core/reduce/reduce_scalar.o	+= $(coll-reduce-cflags-remove)
#
# and so on for avx2 and avx512.  CC_FLAGS_FPU and CC_FLAGS_NO_FPU are Kbuild's
# and empty elsewhere.  Machine-dependent flags are given only where
# COLL_REDUCE_X86 or CONFIG_X86_64 is not empty.

# -fno-trapping-math lets the compiler vectorize loops with float comparisons.  It
# changes no result, because no code reads the exception flags.
# -Wno-pass-failed: clang warns if a sanitizer prevents vectorization; gcc ignores
# the option.
# coll-reduce-cflags-remove are the kernel's options that forbid floating point.
# reduce.c needs no flags of its own.
coll-reduce-cflags := $(CC_FLAGS_FPU) -O3 -ffp-contract=off \
		      -fno-trapping-math -Wno-pass-failed
coll-reduce-cflags-remove := $(CC_FLAGS_NO_FPU)

coll-reduce-cflags-scalar := $(coll-reduce-cflags)
coll-reduce-cflags-avx2   := $(coll-reduce-cflags)
coll-reduce-cflags-avx512 := $(coll-reduce-cflags)

ifneq ($(COLL_REDUCE_X86)$(CONFIG_X86_64),)
coll-reduce-cflags-remove += -mno-sse -mno-sse2 -mno-sse4a -mno-mmx \
			     -mno-3dnow -mno-avx -msoft-float
coll-reduce-cflags-scalar += -msse -msse2
coll-reduce-cflags-avx2   += -msse -msse2 -mavx -mavx2 -mf16c
coll-reduce-cflags-avx512 += -msse -msse2 -mavx -mavx2 -mf16c -mavx512f \
			     -mavx512bw -mavx512vl -mavx512dq \
			     -mprefer-vector-width=512
endif
