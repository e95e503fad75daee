/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_FUZZ_REQUIRE_H
#define COLL_FUZZ_REQUIRE_H

#include <stdio.h>
#include <stdlib.h>

/* @what must be true whatever the input is.  Otherwise the fuzzer reports the input. */
#define require(what) do {							\
	if (!(what)) {								\
		fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what); \
		abort();							\
	}									\
} while (0)

#endif /* COLL_FUZZ_REQUIRE_H */
