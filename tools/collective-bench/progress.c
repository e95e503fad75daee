// SPDX-License-Identifier: GPL-2.0-only
/* A line on a terminal that says how far a long measurement has come. */
#include <stdio.h>
#include <unistd.h>

#include "report.h"
#include "times.h"

/* What is measured within this time needs none; us. */
#define PROGRESS_AFTER	2e6
#define PROGRESS_EVERY	250e3

static double begun, shown;
static bool on_screen;

void progress_show(const struct bench *bench, const struct trial *trial, double done, double all)
{
	static int terminal = -1;
	double now, left;

	if (terminal < 0)
		terminal = isatty(STDERR_FILENO);
	if (bench->rank || !terminal)
		return;
	now = bench_now_us();
	if (!begun)
		begun = now;
	if (now - begun < PROGRESS_AFTER || now - shown < PROGRESS_EVERY)
		return;
	shown = now;
	on_screen = true;
	left = done > 0 && done < all ? (now - begun) * (all - done) / done / 1e6 : 0;
	fprintf(stderr, "\r%11zu bytes, %s: %3.0f %%, %.0f s left\033[K", trial->size,
		bench->in_place ? "in place" : "out of place", 100 * done / all, left);
}

void progress_end(void)
{
	if (on_screen)
		fprintf(stderr, "\r\033[K");
	on_screen = false;
	begun = 0;
}
