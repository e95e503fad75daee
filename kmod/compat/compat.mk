# SPDX-License-Identifier: GPL-2.0-only
#
# What the kernel's headers offer, asked of the headers and not of their version: distributions
# bring interfaces to older kernels.  In Kbuild:
#
#	include $(src)/kmod/compat/compat.mk
#	ccflags-y += $(coll-compat-cflags)
#
# COLL_HAS_NAME says that a header has an identifier.  What differs by type only, the headers of
# this folder find out by themselves.

# $(call coll-has,HEADER,IDENTIFIER,NAME)
coll-has = $(shell grep -sqw '$(2)' $(srctree)/include/$(1) && echo -DCOLL_HAS_$(3))

coll-compat-cflags := $(call coll-has,linux/workqueue.h,WQ_PERCPU,WQ_PERCPU)
coll-compat-cflags += $(call coll-has,crypto/sha2.h,hmac_sha256_usingrawkey,HMAC_SHA256)
coll-compat-cflags += $(call coll-has,linux/io_uring/cmd.h,io_uring_cmd_done32,URING_DONE32)
coll-compat-cflags += $(call coll-has,linux/io_uring/cmd.h,io_uring_cmd_from_tw,URING_FROM_TW)
