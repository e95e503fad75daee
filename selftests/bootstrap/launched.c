// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rank of the tests of launchers, without the module: makes groups from what its launcher set, and
 * prints a line for each.
 *
 *	launched [-g GROUPS] [-t MS] [-a RANK] [-e RANK] [-n RANK] [-m FIRST|LAST]
 *
 * -a: this rank is absent, it never calls coll_init(); -e: this rank has no device; -n: no memory
 * is left for the library on this rank; -m: with
 * the MPI library, which is loaded at run time: initialized before the groups and finalized
 * after them, or the other way round.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "comm/comm.h"
#include "device_stub.h"
#include "memory.h"

static int number_of(const char *text)
{
	return text ? atoi(text) : -1;
}

/* Rank as any launcher tells it. */
static int own_rank(void)
{
	static const char * const names[] = {
		"COLL_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID",
	};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (getenv(names[i]))
			return number_of(getenv(names[i]));
	return 0;
}

static int call_mpi(const char *library, const char *name)
{
	int (*init)(int *argc, char ***argv);
	int (*finalize)(void);
	void *mpi = dlopen(library, RTLD_NOW | RTLD_GLOBAL);

	if (!mpi) {
		fprintf(stderr, "%s\n", dlerror());
		return -1;
	}
	if (!strcmp(name, "MPI_Init")) {
		init = dlsym(mpi, name);
		return init(NULL, NULL);
	}
	finalize = dlsym(mpi, name);
	return finalize();
}

static int make_group(unsigned int timeout_ms, bool has_memory)
{
	char text[COLL_DETAIL_SIZE];
	struct coll_config config = {
		.size = sizeof(config),
		.detail = text,
		.detail_size = sizeof(text),
		.init_timeout_ms = timeout_ms,
	};
	struct coll_comm *comm;
	int err;

	memory_calls = has_memory ? -1 : 0;
	err = coll_init(&comm, &config);
	memory_calls = -1;
	if (err) {
		printf("failed %d: %s\n", err, text);
		return 1;
	}
	printf("rank %d of %d %s\n", coll_rank(comm), coll_size(comm),
	       comm->settings.secured ? "secured" : "open");
	/* The stub's listeners stay open; the communicator is for the next group to reuse. */
	coll_finalize(comm);
	return 0;
}

int main(int argc, char **argv)
{
	int groups = 2, timeout_ms = 20000, absent = -1, error = -1, needy = -1, option, failed = 0;
	const char *mpi = NULL;
	const char *library = getenv("MPI_LIBRARY");

	while ((option = getopt(argc, argv, "g:t:a:e:n:m:")) > 0) {
		switch (option) {
		case 'g':
			groups = atoi(optarg);
			break;
		case 't':
			timeout_ms = atoi(optarg);
			break;
		case 'a':
			absent = atoi(optarg);
			break;
		case 'e':
			error = atoi(optarg);
			break;
		case 'n':
			needy = atoi(optarg);
			break;
		case 'm':
			mpi = optarg;
			break;
		default:
			return 2;
		}
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (absent == own_rank()) {
		sleep(timeout_ms / 1000 + 2);
		return 0;
	}
	if (error == own_rank())
		stub_open_error = -ENOENT;
	if (mpi && !strcmp(mpi, "first") && call_mpi(library, "MPI_Init"))
		return 3;
	while (groups--)
		failed |= make_group(timeout_ms, needy != own_rank());
	if (mpi && !strcmp(mpi, "last") && call_mpi(library, "MPI_Init"))
		return 3;
	if (mpi && call_mpi(library, "MPI_Finalize"))
		return 3;
	/* The others may still connect to the listeners. */
	usleep(300000);
	return failed;
}
