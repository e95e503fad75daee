/* SPDX-License-Identifier: GPL-2.0-only */
/* The fuzzer's bytes as a sequence of choices; after the last byte every choice is 0. */
#ifndef COLL_FUZZ_INPUT_H
#define COLL_FUZZ_INPUT_H

#include "core/env.h"

/**
 * struct input - the rest of the fuzzer's bytes
 * @at: the next byte
 * @left: bytes that are left
 */
struct input {
	const u8 *at;
	size_t left;
};

static inline u8 input_byte(struct input *in)
{
	if (!in->left)
		return 0;
	in->left--;
	return *in->at++;
}

/* Return: a choice from 0 to @n - 1; @n is at most 256. */
static inline u32 input_below(struct input *in, u32 n)
{
	return input_byte(in) % n;
}

/* Return: true for one of @n choices, the last; false when no bytes are left, if @n > 1. */
static inline bool input_once_in(struct input *in, u32 n)
{
	return input_below(in, n) == n - 1;
}

static inline u64 input_bits(struct input *in, u32 bytes)
{
	u64 bits = 0;

	while (bytes--)
		bits = bits << 8 | input_byte(in);
	return bits;
}

/* Return: any number; often a small one, or one close to U64_MAX. */
static inline u64 input_number(struct input *in)
{
	switch (input_below(in, 4)) {
	case 0:
		return input_byte(in);
	case 1:
		return input_bits(in, 2);
	case 2:
		return ~(u64)input_byte(in);
	}
	return input_bits(in, 8);
}

#endif /* COLL_FUZZ_INPUT_H */
