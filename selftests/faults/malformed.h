/* SPDX-License-Identifier: GPL-2.0-only */
/* Boundary values and malformed frames. Needs unit/env.h. */
#ifndef COLL_MALFORMED_H
#define COLL_MALFORMED_H

#include "sim/rng.h"
#include "core/wire/wire.h"

/* Return: a random number, in nine of ten cases at a boundary. */
static inline u64 boundary_number(struct rng *rng)
{
	switch (rng_below(rng, 10)) {
	case 0:
		return 0;
	case 1:
		return 1;
	case 2:
		return ~0ULL;
	case 3:
		return ~0ULL - 1;
	case 4:
		return 1ULL << 63;
	case 5:
		return 0x80000000;
	case 6:
		return BIT_ULL(rng_below(rng, 64));
	case 7:
		return BIT_ULL(rng_below(rng, 64)) - 1;
	case 8:
		return rng_below(rng, 64);
	}
	return rng_next(rng);
}

static inline void random_bytes(struct rng *rng, void *bytes, size_t len)
{
	u8 *p = bytes;

	while (len--)
		*p++ = rng_next(rng);
}

/* Position and size of a field of a frame; bytes. */
struct malformed_field {
	u8 at;
	u8 size;
};

static const struct malformed_field control_fields[] = {
	{ 0, 1 }, { 1, 1 }, { 2, 1 }, { 3, 1 }, { 4, 4 }, { 8, 8 }, { 16, 8 },
	{ 24, 1 }, { 25, 1 }, { 26, 1 }, { 27, 1 }, { 28, 2 }, { 30, 2 }, { 32, 8 }, { 40, 8 },
	{ 24, 4 }, { 28, 4 }, { 32, 4 }, { 36, 4 },
};

static const struct malformed_field data_fields[] = {
	{ 0, 1 }, { 1, 1 }, { 2, 1 }, { 3, 1 }, { 4, 4 }, { 8, 8 }, { 16, 2 }, { 18, 2 },
	{ 20, 4 }, { 24, 8 },
};

static const struct malformed_field hello_fields[] = {
	{ 0, 4 }, { 4, 2 }, { 6, 1 }, { 7, 1 }, { 8, 1 }, { 9, 1 }, { 10, 2 }, { 12, 4 },
	{ 16, 8 }, { 24, 1 }, { 63, 1 }, { 64, 4 }, { 68, 4 }, { 72, 4 }, { 76, 4 }, { 80, 4 },
	{ 84, 4 }, { 88, 8 }, { 120, 8 }, { 152, 8 }, { 184, 8 },
};

/* Change one field: by one, by one bit, or to a random value. The new value always differs. */
static inline void malformed_change(struct rng *rng, u8 *frame,
				    const struct malformed_field *fields,
				    size_t nfields)
{
	const struct malformed_field *field = &fields[rng_below(rng, nfields)];
	u64 mask = ~0ULL >> (64 - 8 * field->size), was = 0, is;

	memcpy(&was, frame + field->at, field->size);
	do {
		switch (rng_below(rng, 4)) {
		case 0:
			is = was + 1;
			break;
		case 1:
			is = was - 1;
			break;
		case 2:
			is = was ^ BIT_ULL(rng_below(rng, 8 * field->size));
			break;
		default:
			is = boundary_number(rng);
		}
		is &= mask;
	} while (is == was);
	memcpy(frame + field->at, &is, field->size);
}

static inline void malformed_control(struct rng *rng, u8 *frame)
{
	malformed_change(rng, frame, control_fields, ARRAY_SIZE(control_fields));
}

static inline void malformed_data(struct rng *rng, u8 *frame)
{
	malformed_change(rng, frame, data_fields, ARRAY_SIZE(data_fields));
}

static inline void malformed_hello(struct rng *rng, u8 *frame)
{
	malformed_change(rng, frame, hello_fields, ARRAY_SIZE(hello_fields));
}

/*
 * A rank of the group is believed if it accuses others (Documentation/wire.rst). Return: true if
 * this control frame is an ABORT that names ranks of the group other than @sender.
 */
static inline bool accuses_others(const u8 *frame, u32 incarnation, u32 sender, u32 nranks)
{
	struct coll_control control;
	u32 a, b;

	if (coll_wire_get_control(frame, &control, incarnation) ||
	    control.kind != COLL_CONTROL_ABORT)
		return false;
	a = control.reason.rank_a;
	b = control.reason.rank_b;
	return a != sender && b != sender &&
	       (a < nranks || a == COLLECTIVE_RANK_NONE) &&
	       (b < nranks || b == COLLECTIVE_RANK_NONE);
}

#endif /* COLL_MALFORMED_H */
