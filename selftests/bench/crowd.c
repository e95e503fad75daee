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
#include <unistd.h>

#include <collective.h>

#include "../lib/idle_cost.h"

#define IDLE_SECONDS 10

struct state {
	long slab, vmalloc, percpu, available, sockets, ends, listening;
	double munmap_us;
};

static struct state look(void)
{
	return (struct state){
		.slab = proc_number("/proc/meminfo", "Slab:", ":"),
		.vmalloc = proc_number("/proc/meminfo", "VmallocUsed:", ":"),
		.percpu = proc_number("/proc/meminfo", "Percpu:", ":"),
		.available = available_kib(),
		.sockets = proc_number("/proc/net/sockstat", "TCP:", "mem") * 4,
		.ends = tcp_sockets_in(TCP_STATE_ESTABLISHED),
		.listening = tcp_sockets_in(TCP_STATE_LISTEN),
		.munmap_us = munmap_ns() / 1e3,
	};
}

static void report(const char *where, int comms, int ranks, const struct state *before)
{
	struct state now = look();
	long busy = machine_busy_ms();

	sleep(IDLE_SECONDS);
	busy = machine_busy_ms() - busy;
	printf("crowd,%s,%d,%d,%ld,%ld,%ld,%ld,%ld,%ld,%ld,%.2f,%.2f,%ld\n", where, comms, ranks,
	       now.ends - before->ends, now.listening - before->listening, now.slab - before->slab,
	       now.vmalloc - before->vmalloc, now.percpu - before->percpu,
	       now.sockets - before->sockets, before->available - now.available,
	       before->munmap_us, now.munmap_us, busy);
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
