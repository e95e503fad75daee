// SPDX-License-Identifier: GPL-2.0-only
#include "area.h"
#include "require.h"

static void *area_at(const struct coll_mem *mem, u64 off, size_t *len)
{
	struct area *area = container_of(mem, struct area, mem);

	if (area->window)
		off &= mem->length - 1;
	require(off < mem->length);
	*len = min(area->piece - (off & (area->piece - 1)), mem->length - off);
	return area->bytes + off;
}

static struct area *area_plain(u64 length)
{
	struct area *area = malloc(sizeof(*area) + length);

	*area = (struct area){
		.mem = { .at = area_at, .length = length },
		.piece = 1ULL << 32,
	};
	memset(area->bytes, AREA_FRESH, length);
	return area;
}

/**
 * area_new() - allocate memory with a margin on either side
 * @length: bytes between the margins
 * @piece: bytes of a piece; the pieces are apart for the engine; a power of two
 *
 * Return: the area; the caller frees it.
 */
struct area *area_new(u64 length, u64 piece)
{
	struct area *area = area_plain(length + 2 * AREA_MARGIN);

	area->piece = piece;
	return area;
}

/**
 * area_window() - allocate scratch memory, without margins
 * @length: bytes; a power of two if @window
 * @window: true if offsets wrap around at @length
 *
 * Return: the area; the caller frees it.
 */
struct area *area_window(u64 length, bool window)
{
	struct area *area = area_plain(length);

	area->window = window;
	return area;
}

void area_fill(struct area *area, u64 from, u64 len, u8 byte)
{
	memset(area->bytes + from, byte, len);
}

bool area_holds(const struct area *area, u64 from, u64 len, u8 byte)
{
	const u8 *at = area->bytes + from;

	return !len || (*at == byte && !memcmp(at, at + 1, len - 1));
}

/* Return: true if both margins are unchanged. */
bool area_margins(const struct area *area)
{
	return area_holds(area, 0, AREA_MARGIN, AREA_FRESH) &&
	       area_holds(area, area->mem.length - AREA_MARGIN, AREA_MARGIN, AREA_FRESH);
}
