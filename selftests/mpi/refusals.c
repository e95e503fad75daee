// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel refuses a communicator's group to one rank only: all ranks stay with MPI's own path
 * for it, and communicators that come later get groups again.
 *
 *	refusals files		rank 1 has ever fewer files left to open
 *	refusals memory		rank 1 may use no more kernel memory for a while
 *
 * selftests/mpi/run compares the counters of the ranks.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>
#include <mpi.h>

#include "layout.h"

#define CALLS	8
#define COMMS	24
#define LIMIT	"/sys/module/collective/parameters/user_memory_mib"

static int rank, size;

static void use(MPI_Comm comm)
{
	int i, value, result;

	for (i = 0; i < CALLS; i++) {
		value = rank + i;
		result = -1;
		MPI_Allreduce(&value, &result, 1, MPI_INT, MPI_SUM, comm);
		if (result != size * (size - 1) / 2 + size * i)
			die("rank %d: sum is %d in call %d", rank, result, i);
	}
}

static void make(MPI_Comm *comms, int count)
{
	int i;

	for (i = 0; i < count; i++) {
		MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
		use(comms[i]);
	}
}

static void use_and_free(MPI_Comm *comms, int count)
{
	int i;

	for (i = 0; i < count; i++)
		use(comms[i]);
	for (i = 0; i < count; i++)
		MPI_Comm_free(&comms[i]);
}

static void make_and_use(int count)
{
	MPI_Comm comms[COMMS];

	make(comms, count);
	use_and_free(comms, count);
}

/* Leave @count files to open; negative: as many as before. */
static void leave_files(int count)
{
	static struct rlimit before;
	struct rlimit limit;
	int fd = open("/dev/null", O_RDONLY);

	if (!before.rlim_cur)
		getrlimit(RLIMIT_NOFILE, &before);
	close(fd);
	limit = before;
	if (count >= 0)
		limit.rlim_cur = fd + count;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		die("no limit of files");
}

static void files(void)
{
	int left;

	for (left = 0; left < 12; left++) {
		if (rank == 1)
			leave_files(left);
		make_and_use(1);
		if (rank == 1)
			leave_files(-1);
		make_and_use(1);
	}
}

static void set_limit(const char *mib)
{
	int fd = open(LIMIT, O_WRONLY);

	if (fd < 0 || write(fd, mib, strlen(mib)) < 0)
		die("no limit of memory");
	close(fd);
}

/* CAP_SYS_RESOURCE has no limit. */
static void obey_limit(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data))
		die("no capabilities");
	data[0].effective &= ~(1U << CAP_SYS_RESOURCE);
	if (syscall(SYS_capset, &header, data))
		die("no capabilities");
}

/*
 * The groups that were made before take more than the limit, so that every group is refused: one
 * that takes the last of it may have none for its first operation.
 */
static void memory(void)
{
	MPI_Comm before[COMMS];

	if (rank == 1)
		obey_limit();
	make(before, COMMS);
	if (!rank)
		set_limit("1");
	MPI_Barrier(MPI_COMM_WORLD);
	make_and_use(COMMS);
	MPI_Barrier(MPI_COMM_WORLD);
	if (!rank)
		set_limit("0");
	MPI_Barrier(MPI_COMM_WORLD);
	use_and_free(before, COMMS);
	make_and_use(2);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (argc > 1 && !strcmp(argv[1], "memory"))
		memory();
	else
		files();
	if (!rank)
		printf("refusals are right\n");
	MPI_Finalize();
	return 0;
}
