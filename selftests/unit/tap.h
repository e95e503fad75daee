/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The Test Anything Protocol as kselftest reads it: a plan, a line for each test, and an exit
 * code: 0 (passed), 1 (failed) or 4 (all skipped).
 */
#ifndef COLL_TAP_H
#define COLL_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

static unsigned int tap_planned, tap_count, tap_failures, tap_skips;

/* Print the header and the number of tests; 0: tap_exit() counts and prints it. */
static inline void tap_plan(unsigned int tests)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("TAP version 13\n");
	if (tests)
		printf("1..%u\n", tests);
	tap_planned = tests;
}

/* Return: @passed */
__attribute__((__format__(printf, 2, 3)))
static inline bool tap_ok(bool passed, const char *format, ...)
{
	va_list args;

	printf("%sok %u - ", passed ? "" : "not ", ++tap_count);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	tap_failures += !passed;
	return passed;
}

__attribute__((__format__(printf, 2, 3)))
static inline void tap_skip(const char *reason, const char *format, ...)
{
	va_list args;

	printf("ok %u - ", ++tap_count);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf(" # SKIP %s\n", reason);
	tap_skips++;
}

__attribute__((__format__(printf, 1, 2)))
static inline void tap_note(const char *format, ...)
{
	va_list args;

	printf("# ");
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

/* Return: the exit code. */
static inline int tap_exit(void)
{
	if (!tap_planned)
		printf("1..%u\n", tap_count);
	printf("# %u passed, %u failed, %u skipped\n",
	       tap_count - tap_failures - tap_skips, tap_failures, tap_skips);
	if (tap_failures || (tap_planned && tap_planned != tap_count))
		return 1;
	return tap_count && tap_skips == tap_count ? 4 : 0;
}

#endif /* COLL_TAP_H */
