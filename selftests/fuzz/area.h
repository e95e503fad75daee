/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory in which a write outside an operation's buffer is noticed.
 *
 * The buffer lies between two margins, whose bytes are compared afterwards.  AddressSanitizer
 * notices an access beyond the margins.
 */
#ifndef COLL_FUZZ_AREA_H
#define COLL_FUZZ_AREA_H

#include "core/data/mem.h"

#define AREA_MARGIN	16	/* bytes on either side */
#define AREA_FRESH	0xa5	/* the value of every byte at first */

/**
 * struct area - memory of an operation
 * @mem: the memory as the engine sees it
 * @piece: bytes of a piece; a power of two
 * @window: true if offsets wrap around at the length
 * @bytes: the memory itself, with its margins if it has them
 */
struct area {
	struct coll_mem mem;
	u64 piece;
	bool window;
	u8 bytes[] __aligned(16);
};

struct area *area_new(u64 length, u64 piece);
struct area *area_window(u64 length, bool window);
void area_fill(struct area *area, u64 from, u64 len, u8 byte);
bool area_holds(const struct area *area, u64 from, u64 len, u8 byte);
bool area_margins(const struct area *area);

#endif /* COLL_FUZZ_AREA_H */
