// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures what idle communicators cost the kernel.
 *
 *	collective-run -n RANKS crowd COMMUNICATORS WHERE
 *
 * Each process is a rank of every communicator.  Rank 0 prints a line, which
 * selftests/bench/run describes, after all communicators have been made.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <collective.h>

#include "times.h"

#define IDLE_SECONDS 10
#define UNMAPS 101

struct state {
	long slab, vmalloc, percpu, available, sockets, ends, listening;
	double munmap_us;
};

/* The number behind @key in the line of @path that begins with @line. */
static long number(const char *path, const char *line, const char *key)
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

/* TCP sockets in the state @wanted: 1 established, 10 listening. */
static long sockets(unsigned int wanted)
{
	static const char *const tables[] = { "/proc/net/tcp", "/proc/net/tcp6" };
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

/* Median time of an munmap() of a page that was written. */
static double munmap_us(void)
{
	double times[UNMAPS], begin;
	char *page;
	int i;

	for (i = 0; i < UNMAPS; i++) {
		page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (page == MAP_FAILED)
			return 0;
		*page = 1;
		begin = bench_now_us();
		munmap(page, 4096);
		times[i] = bench_now_us() - begin;
	}
	times_sort(times, UNMAPS);
	return times_median(times, UNMAPS);
}

static struct state look(void)
{
	return (struct state){
		.slab = number("/proc/meminfo", "Slab:", ":"),
		.vmalloc = number("/proc/meminfo", "VmallocUsed:", ":"),
		.percpu = number("/proc/meminfo", "Percpu:", ":"),
		.available = number("/proc/meminfo", "MemAvailable:", ":"),
		.sockets = number("/proc/net/sockstat", "TCP:", "mem") * 4,
		.ends = sockets(1),
		.listening = sockets(10),
		.munmap_us = munmap_us(),
	};
}

/* CPU time of the whole machine, user, system and interrupts; ticks. */
static long busy(void)
{
	long t[7] = { 0 };
	FILE *file = fopen("/proc/stat", "r");

	if (!file)
		return 0;
	if (fscanf(file, "cpu %ld %ld %ld %ld %ld %ld %ld", &t[0], &t[1], &t[2], &t[3], &t[4],
		   &t[5], &t[6]) != 7)
		t[0] = 0;
	fclose(file);
	return t[0] + t[1] + t[2] + t[5] + t[6];
}

static void report(const char *where, int comms, int ranks, const struct state *before)
{
	struct state now = look();
	long ticks = busy();

	sleep(IDLE_SECONDS);
	ticks = busy() - ticks;
	printf("crowd,%s,%d,%d,%ld,%ld,%ld,%ld,%ld,%ld,%ld,%.2f,%.2f,%ld\n", where, comms, ranks,
	       now.ends - before->ends, now.listening - before->listening, now.slab - before->slab,
	       now.vmalloc - before->vmalloc, now.percpu - before->percpu,
	       now.sockets - before->sockets, before->available - now.available,
	       before->munmap_us, now.munmap_us, ticks * 1000 / sysconf(_SC_CLK_TCK));
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct coll_config config = { .size = sizeof(config), .init_timeout_ms = 60000 };
	struct coll_comm **comm;
	struct state before;
	int comms, i, err = 0;
	char name[32];

	comms = argc == 3 ? atoi(argv[1]) : 0;
	if (comms < 1)
		return 2;
	comm = calloc(comms, sizeof(*comm));
	if (!comm)
		return 1;
	before = look();
	config.name = name;
	for (i = 0; i < comms; i++) {
		snprintf(name, sizeof(name), "crowd%d", i);
		err = coll_init(&comm[i], &config);
		if (err) {
			fprintf(stderr, "crowd: communicator %d: %s\n", i, coll_strerror(err));
			return 1;
		}
	}
	/* The other ranks sleep meanwhile. */
	sleep(1);
	if (!coll_rank(comm[0]))
		report(argv[2], comms, coll_size(comm[0]), &before);
	else
		sleep(IDLE_SECONDS + 1);
	err = coll_barrier(comm[0]);
	while (comms--)
		coll_finalize(comm[comms]);
	return err ? 1 : 0;
}
