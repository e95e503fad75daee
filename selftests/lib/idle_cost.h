/* SPDX-License-Identifier: GPL-2.0-only */
/* What idle groups cost: numbers of /proc, sockets, CPU time, and the time of an munmap(). */
#ifndef COLL_IDLE_COST_H
#define COLL_IDLE_COST_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define IDLE_COST_UNMAPS	101

enum { TCP_STATE_ESTABLISHED = 1, TCP_STATE_LISTEN = 10 };

/* The number behind @key in the first line of @path that begins with @line; 0: none. */
static inline long proc_number(const char *path, const char *line, const char *key)
{
	FILE *file = fopen(path, "r");
	char text[512], *at;
	long value = 0;

	while (file && fgets(text, sizeof(text), file)) {
		if (strncmp(text, line, strlen(line)))
			continue;
		at = strstr(text, key);
		if (at)
			value = strtol(at + strlen(key), NULL, 10);
		break;
	}
	if (file)
		fclose(file);
	return value;
}

/* The sum of the number in each line of @path that is as @format; 0: none. */
static inline long proc_sum(const char *path, const char *format)
{
	FILE *file = fopen(path, "r");
	long sum = 0, value;
	char text[512];

	while (file && fgets(text, sizeof(text), file))
		if (sscanf(text, format, &value) == 1)
			sum += value;
	if (file)
		fclose(file);
	return sum;
}

/* MemAvailable does not have the free lists of the CPUs, which vary by some MiB. */
static inline long available_kib(void)
{
	return proc_number("/proc/meminfo", "MemAvailable:", ":") +
	       proc_sum("/proc/zoneinfo", " count: %ld") * (getpagesize() / 1024);
}

/* TCP sockets of this network namespace in a state. */
static inline long tcp_sockets_in(unsigned int wanted)
{
	static const char * const tables[] = { "/proc/net/tcp", "/proc/net/tcp6" };
	unsigned int state, i;
	char text[512];
	long n = 0;
	FILE *file;

	for (i = 0; i < 2; i++) {
		file = fopen(tables[i], "r");
		while (file && fgets(text, sizeof(text), file))
			n += sscanf(text, " %*u: %*s %*s %x", &state) == 1 && state == wanted;
		if (file)
			fclose(file);
	}
	return n;
}

/* CPU time of the whole machine: user, system, interrupts; ms. */
static inline long machine_busy_ms(void)
{
	FILE *file = fopen("/proc/stat", "r");
	long t[7] = { 0 };

	if (!file)
		return 0;
	if (fscanf(file, "cpu %ld %ld %ld %ld %ld %ld %ld", &t[0], &t[1], &t[2], &t[3], &t[4],
		   &t[5], &t[6]) != 7)
		memset(t, 0, sizeof(t));
	fclose(file);
	return (t[0] + t[1] + t[2] + t[5] + t[6]) * 1000 / sysconf(_SC_CLK_TCK);
}

static inline int by_long(const void *a, const void *b)
{
	return *(const long *)a < *(const long *)b ? -1 : *(const long *)a > *(const long *)b;
}

/* Median time of an munmap() of a page that was written; ns. */
static inline long munmap_ns(void)
{
	long times[IDLE_COST_UNMAPS];
	struct timespec begin, end;
	char *page;
	int i;

	for (i = 0; i < IDLE_COST_UNMAPS; i++) {
		page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (page == MAP_FAILED)
			return 0;
		*page = 1;
		clock_gettime(CLOCK_MONOTONIC, &begin);
		munmap(page, 4096);
		clock_gettime(CLOCK_MONOTONIC, &end);
		times[i] = (end.tv_sec - begin.tv_sec) * 1000000000L + end.tv_nsec - begin.tv_nsec;
	}
	qsort(times, IDLE_COST_UNMAPS, sizeof(times[0]), by_long);
	return times[IDLE_COST_UNMAPS / 2];
}

#endif /* COLL_IDLE_COST_H */
