// SPDX-License-Identifier: GPL-2.0-only
#include "core/engine/instance.h"

/* 2^64 divided by the golden ratio, until a random number replaces it. */
u64 coll_instance_hash_factor = 0x9e3779b97f4a7c15ULL;
