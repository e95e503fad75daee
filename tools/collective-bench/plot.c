// SPDX-License-Identifier: GPL-2.0-only
/* A plot of time and bus bandwidth over the size, by gnuplot. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

/**
 * struct point - a measured line
 * @curve: type, operation and place
 * @bytes: size
 * @us: median time
 * @busbw: bus bandwidth; GB/s
 */
struct point {
	char curve[64];
	size_t bytes;
	double us;
	double busbw;
};

static struct point *points;
static size_t npoints;

bool plot_name_valid(const char *file)
{
	size_t length = strlen(file);

	/* gnuplot has quotes of its own for these. */
	return length > 4 && !strcmp(file + length - 4, ".svg") && !strpbrk(file, "'\n\\");
}

bool plot_possible(const char *file)
{
	FILE *out;

	if (system("gnuplot --version >/dev/null 2>&1")) {
		fprintf(stderr, "collective-bench: --plot needs gnuplot\n");
		return false;
	}
	/* Known before the measurement, and not after it. */
	out = fopen(file, "ae");
	if (!out) {
		fprintf(stderr, "collective-bench: %s: ", file);
		perror(NULL);
		return false;
	}
	fclose(out);
	return true;
}

void plot_add(const struct trial *trial, const char *curve, double us, double busbw)
{
	struct point *more = realloc(points, (npoints + 1) * sizeof(*points));
	struct point *point;

	if (!more)
		return;
	points = more;
	point = &points[npoints++];
	*point = (struct point){ .bytes = trial->size, .us = us, .busbw = busbw };
	snprintf(point->curve, sizeof(point->curve), "%s", curve);
}

static bool first_of_curve(size_t i)
{
	size_t k;

	for (k = 0; k < i; k++)
		if (!strcmp(points[k].curve, points[i].curve))
			return false;
	return true;
}

/* A block of data for each curve: bytes, time and bus bandwidth. */
static void put_data(FILE *gnuplot)
{
	size_t i, k;
	int n = 0;

	for (i = 0; i < npoints; i++) {
		if (!first_of_curve(i))
			continue;
		fprintf(gnuplot, "$curve%d << EOD\n", n++);
		for (k = i; k < npoints; k++)
			if (!strcmp(points[k].curve, points[i].curve))
				fprintf(gnuplot, "%zu %.3f %.5f\n", points[k].bytes, points[k].us,
					points[k].busbw);
		fprintf(gnuplot, "EOD\n");
	}
}

static void put_panel(FILE *gnuplot, const char *label, int column)
{
	size_t i;
	int n = 0;

	fprintf(gnuplot, "set ylabel '%s'\nplot", label);
	for (i = 0; i < npoints; i++)
		if (first_of_curve(i)) {
			fprintf(gnuplot, "%s $curve%d using 1:%d with linespoints title '%s'",
				n ? "," : "", n, column, points[i].curve);
			n++;
		}
	fprintf(gnuplot, "\n");
}

int plot_make(const struct bench *bench, const struct collective *collective)
{
	bool rates = collective->bus_factor;
	FILE *gnuplot;

	if (!npoints)
		return 0;
	gnuplot = popen("gnuplot", "we");
	if (!gnuplot) {
		perror("collective-bench: gnuplot");
		return 1;
	}
	fprintf(gnuplot, "set terminal svg size %d,420 background '#ffffff'\nset output '%s'\n",
		rates ? 960 : 480, bench->plot);
	put_data(gnuplot);
	fprintf(gnuplot, "set multiplot layout 1,%d title '%s, %d ranks' noenhanced\n",
		rates ? 2 : 1, collective->name, bench->nranks);
	fprintf(gnuplot, "set logscale x 2\nset logscale y\nset format x '%%.0b%%B'\n"
			 "set grid\nset key left top\nset xlabel 'bytes'\n");
	put_panel(gnuplot, "median, us", 2);
	if (rates)
		put_panel(gnuplot, "bus bandwidth, GB/s", 3);
	fprintf(gnuplot, "unset multiplot\n");
	if (pclose(gnuplot)) {
		fprintf(stderr, "collective-bench: gnuplot has failed\n");
		return 1;
	}
	return 0;
}
