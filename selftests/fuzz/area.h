/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory that shows who writes where nothing is to be written.
 *
 * What belongs to an operation lies between two margins, and the sanitizer guards
 * both ends of the whole.
 */
#ifndef COLL_FUZZ_AREA_H
#define COLL_FUZZ_AREA_H

#include "core/data/mem.h"

#define AREA_MARGIN	16	/* bytes on either side */
#define AREA_FRESH	0xa5	/* what is there in the beginning */

/**
 * struct area - some memory
 * @mem: as the engine sees it
 * @piece: bytes between two breaks, a power of two
 * @window: offsets go around
 * @bytes: all of it
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
