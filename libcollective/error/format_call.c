// SPDX-License-Identifier: LGPL-2.1-or-later
/* Text of a mismatch: what two ranks called. */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "error/failure_text.h"
#include "error/names.h"

/* Names of the flags, from bit 0 on. */
static const char * const flags[] = {
	"keyed", "reproducible", "wide", "varlen", "vector", "nosync",
};

#define SIZE(array) (sizeof(array) / sizeof(*(array)))

static bool reduces(unsigned int opcode)
{
	return opcode == COLLECTIVE_ALLREDUCE || opcode == COLLECTIVE_REDUCE ||
	       opcode == COLLECTIVE_REDUCE_SCATTER || opcode == COLLECTIVE_SCAN ||
	       opcode == COLLECTIVE_EXSCAN;
}

/**
 * struct text - text that is being written
 * @at: end of the text
 * @left: number of bytes left, including one for the NUL
 */
struct text {
	char *at;
	size_t left;
};

static void __attribute__((format(printf, 2, 3)))
text_add(struct text *text, const char *format, ...)
{
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(text->at, text->left, format, args);
	va_end(args);
	if (length < 0)
		return;
	if ((size_t)length >= text->left)
		length = text->left ? text->left - 1 : 0;
	text->at += length;
	text->left -= length;
}

static void text_call(struct text *text, const struct collective_call *call,
		      const struct collective_call *other)
{
	const bool alike = call->opcode == other->opcode;
	unsigned int i;

	text_add(text, "rank %u called ", call->rank);
	for (i = 0; i < SIZE(flags); i++)
		if (call->flags & 1U << i)
			text_add(text, "%s ", flags[i]);
	text_add(text, "%s", coll_names_opcode(call->opcode));
	if (call->opcode != COLLECTIVE_BARRIER) {
		text_add(text, " of ");
		/*
		 * If each pair of ranks has a count of its own, there is no common count; the
		 * count is given only where it differs between the two.
		 */
		if (call->count || !(call->flags & COLLECTIVE_F_VECTOR) ||
		    (alike && other->count))
			text_add(text, "%llu ", (unsigned long long)call->count);
		text_add(text, "%s", coll_names_type(call->type));
	}
	if (reduces(call->opcode))
		text_add(text, " by %s", coll_names_reduction(call->reduction));
	if (coll_names_root(call->opcode))
		text_add(text, " %s root %u", coll_names_root(call->opcode), call->root);
	if (alike && call->algorithm != other->algorithm)
		text_add(text, " as %s", coll_names_algorithm(call->algorithm));
	if (alike && call->layout != other->layout)
		text_add(text, " with layout %016llx",
			 (unsigned long long)call->layout);
}

static bool known(const struct collective_call *call)
{
	return call->rank != COLLECTIVE_RANK_NONE &&
	       call->algorithm != COLLECTIVE_ALGORITHM_AUTO;
}

size_t coll_calls_format(const struct collective_call calls[2], char *string,
			 size_t size)
{
	struct text text = { string, size };
	int i;

	if (size)
		string[0] = '\0';
	for (i = 0; i < 2; i++) {
		if (!known(&calls[i]))
			continue;
		if (text.at != string)
			text_add(&text, ", ");
		text_call(&text, &calls[i], &calls[known(&calls[!i]) ? !i : i]);
	}
	return text.at - string;
}
