# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The files of the module's core that the library compiles, for its Makefile and those of tests.
# CORE is the folder kmod/core; objects are $(1)/board/core/ROOM/FILE.o.

board-core := board/board board/order board/take data/mem reduce/copy reduce/reduce reduce/reduce_scalar \
	      schedule/board schedule/partition schedule/plan wire/signature
# After the system's headers: kmod/ has a limits.h.
board-cppflags := -idirafter $(CORE)/.. -include board/env.h
board-core-objects = $(board-core:%=$(1)/board/core/%.o)

ifneq ($(findstring x86_64,$(shell $(CC) -dumpmachine)),)
COLL_REDUCE_X86 := y
endif
include $(CORE)/reduce/reduce.mk

# For some bytes, vectorized loops are only larger.
board-reduce-cflags := $(coll-reduce-cflags-scalar) -O2
