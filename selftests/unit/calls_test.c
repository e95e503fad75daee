// SPDX-License-Identifier: GPL-2.0-only
/* The library's text of two ranks' calls, as in the message of a mismatch. */
#include "tap.h"

#include "../../libcollective/error/format_call.c"
#include "../../libcollective/error/names.c"

#include <string.h>

static const struct collective_call nobody = { .rank = COLLECTIVE_RANK_NONE };

static void test_text(struct collective_call a, struct collective_call b, const char *want)
{
	const struct collective_call calls[2] = { a, b };
	char text[256];
	size_t length = coll_calls_format(calls, text, sizeof(text));

	tap_ok(!strcmp(text, want) && length == strlen(want), "%s", *want ? want : "nothing");
	if (strcmp(text, want))
		tap_note("instead: %s", text);
}

#define BY(_algorithm, _rank, _opcode, ...)					\
	((struct collective_call){						\
		.rank = _rank,							\
		.opcode = COLLECTIVE_##_opcode,					\
		.algorithm = COLLECTIVE_ALGORITHM_##_algorithm,			\
		##__VA_ARGS__							\
	})
#define CALL(...)	BY(RING, __VA_ARGS__)

/* The text is cut at the end of the buffer. */
static void test_buffer_sizes(void)
{
	const struct collective_call calls[2] = {
		CALL(1, BROADCAST, .count = 100), CALL(2, BARRIER),
	};
	char whole[256], part[256];
	size_t size, length;
	bool passed = true;

	coll_calls_format(calls, whole, sizeof(whole));
	for (size = 1; size < sizeof(part); size++) {
		memset(part, 'x', sizeof(part));
		length = coll_calls_format(calls, part, size);
		passed &= length < size && !part[length] && !strncmp(whole, part, length) &&
			  (size == sizeof(part) - 1 || part[size] == 'x');
	}
	tap_ok(passed, "a text that is too long is cut");
}

int main(void)
{
	const struct collective_call newer = {
		.rank = 1, .opcode = 200, .type = 99, .algorithm = COLLECTIVE_ALGORITHM_RING,
	};

	tap_plan(0);
	test_text(nobody, nobody, "");
	test_text(CALL(2, BROADCAST, .type = COLLECTIVE_FLOAT32, .count = 100, .root = 1),
		  CALL(3, BROADCAST, .type = COLLECTIVE_FLOAT32, .count = 100),
		  "rank 2 called broadcast of 100 float32 from root 1, "
		  "rank 3 called broadcast of 100 float32 from root 0");
	test_text(CALL(0, BARRIER),
		  CALL(1, REDUCE, .count = 7, .reduction = COLLECTIVE_MAX, .root = 2),
		  "rank 0 called barrier, rank 1 called reduce of 7 int8 by max to root 2");
	test_text(CALL(0, ALLREDUCE, .flags = COLLECTIVE_F_REPRODUCIBLE),
		  BY(TREE, 1, ALLREDUCE),
		  "rank 0 called reproducible allreduce of 0 int8 by sum as ring, "
		  "rank 1 called allreduce of 0 int8 by sum as tree");
	test_text(CALL(0, ALLGATHER, .layout = 0x10), CALL(1, ALLGATHER, .layout = 0x11),
		  "rank 0 called allgather of 0 int8 with layout 0000000000000010, "
		  "rank 1 called allgather of 0 int8 with layout 0000000000000011");
	test_text(nobody, CALL(1, SCAN, .count = 1), "rank 1 called scan of 1 int8 by sum");
	/* Opcodes and types of a newer kernel are unknown. */
	test_text(newer, nobody, "rank 1 called ? of 0 ?");
	test_buffer_sizes();
	return tap_exit();
}
