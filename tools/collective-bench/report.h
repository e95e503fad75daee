/* SPDX-License-Identifier: GPL-2.0-only */
/* What rank 0 prints: a table, comma separated values or JSON, and a plot. */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include "bench.h"

/**
 * struct outcome - what was measured of one size in one place
 * @measured: true if it was
 * @repetitions: timed repetitions
 * @batch: calls, or groups of operations in flight, of a repetition
 * @min_us: shortest time of an operation: the mean of a repetition's batch
 * @median_us: median
 * @p99_us: 99th percentile
 * @cpu_us: CPU time of the host for an operation, if it is measured
 * @wrong: wrong elements of all ranks
 */
struct outcome {
	bool measured;
	uint64_t repetitions;
	int batch;
	double min_us;
	double median_us;
	double p99_us;
	double cpu_us;
	uint64_t wrong;
};

/* Prints the heading. */
void report_begin(const struct bench *bench, const struct collective *collective);

/* Prints the outcomes of one size, by enum bench_place. */
void report_line(const struct bench *bench, const struct collective *collective,
		 const struct trial *trial, const struct outcome *outcomes);

/* Prints the summary, and makes the plot.  Return: 0 or an exit status. */
int report_end(const struct bench *bench, const struct collective *collective);

/* Is this the name of a file that gnuplot can be told? */
bool plot_name_valid(const char *file);

/* Can the plot of --plot be made?  If not, says why. */
bool plot_possible(const char *file);

/* Adds a point to the plot. */
void plot_add(const struct trial *trial, const char *curve, double us, double busbw);

/* Makes the plot.  Return: 0 or an exit status. */
int plot_make(const struct bench *bench, const struct collective *collective);

/*
 * On a terminal, shows how much of a line has been measured, once that takes long.  @done and
 * @all are repetitions, or microseconds.
 */
void progress_show(const struct bench *bench, const struct trial *trial, double done, double all);

/* A line has been measured, and takes the place of what progress_show() has shown. */
void progress_end(void);

#endif /* BENCH_REPORT_H */
