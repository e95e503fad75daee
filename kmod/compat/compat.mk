# SPDX-License-Identifier: GPL-2.0-only
#
# Flags for the interfaces that the kernel's headers declare.  The headers are searched, because
# distributions bring interfaces to older kernels, so that the version says too little.  In Kbuild:
#
#	include $(src)/kmod/compat/compat.mk
#	ccflags-y += $(coll-compat-cflags)
#
# COLL_HAS_NAME is defined if the header has the identifier.  The headers of this folder find out
# by themselves what differs only by type.

# $(call coll-has,HEADER,IDENTIFIER,NAME)
coll-has = $(shell grep -sqw '$(2)' $(srctree)/include/$(1) && echo -DCOLL_HAS_$(3))

coll-compat-cflags := $(call coll-has,linux/workqueue.h,WQ_PERCPU,WQ_PERCPU)
coll-compat-cflags += $(call coll-has,crypto/sha2.h,hmac_sha256_usingrawkey,HMAC_SHA256)
coll-compat-cflags += $(call coll-has,linux/io_uring/cmd.h,io_uring_cmd_done32,URING_DONE32)
coll-compat-cflags += $(call coll-has,linux/io_uring/cmd.h,io_uring_cmd_from_tw,URING_FROM_TW)
coll-compat-cflags += $(call coll-has,linux/hrtimer.h,hrtimer_setup,HRTIMER_SETUP)
