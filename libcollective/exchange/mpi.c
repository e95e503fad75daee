// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The exchange of a process that has initialized MPI: a nonblocking allgather on MPI_COMM_WORLD,
 * which is polled until the deadline.  The library is found among the loaded ones, and its handles
 * by its name, so that this library depends on none.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "comm/deadline.h"
#include "comm/interrupt.h"
#include "exchange/exchange.h"
#include "exchange/mpi.h"
#include "exchange/reserve.h"
#include "exchange/session.h"

#define POLL_US		100
#define POLL_MAX_US	2000
#define VERSION_SIZE	8192	/* the longest text of PMPI_Get_library_version() */

/* MPICH's handles are integers, Open MPI's are pointers; both are passed as one register. */
#define MPICH_COMM_WORLD	0x44000000
#define MPICH_BYTE		0x4c00010d

/**
 * struct mpi - functions of the MPI library
 * @library: handle of dlopen(); RTLD_DEFAULT: the functions are the program's
 */
struct mpi {
	void *library;
	int (*initialized)(int *flag);
	int (*finalized)(int *flag);
	int (*version)(char *text, int *length);
	int (*comm_rank)(uintptr_t comm, int *rank);
	int (*comm_size)(uintptr_t comm, int *size);
	int (*iallgather)(const void *send, int scount, uintptr_t stype, void *recv, int rcount,
			  uintptr_t rtype, uintptr_t comm, void *request);
	int (*test)(void *request, int *flag, void *status);
	uintptr_t world;
	uintptr_t byte;
};

static struct session session = SESSION_INITIALIZER;

static int find_library(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *name = strrchr(info->dlpi_name, '/');
	void **library = arg;

	(void)size;
	name = name ? name + 1 : info->dlpi_name;
	if (strncmp(name, "libmpi.so", 9) && strncmp(name, "libmpich.so", 11))
		return 0;
	*library = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
	return *library ? 1 : 0;
}

/* Find the library: among the global symbols, or loaded by a module for itself alone. */
static bool find_mpi(struct mpi *mpi)
{
	void *library = NULL;

	memset(mpi, 0, sizeof(*mpi));
	mpi->library = RTLD_DEFAULT;
	if (!dlsym(RTLD_DEFAULT, "PMPI_Initialized")) {
		dl_iterate_phdr(find_library, &library);
		if (!library)
			return false;
		mpi->library = library;
	}
	mpi->initialized = dlsym(mpi->library, "PMPI_Initialized");
	mpi->finalized = dlsym(mpi->library, "PMPI_Finalized");
	mpi->version = dlsym(mpi->library, "PMPI_Get_library_version");
	mpi->comm_rank = dlsym(mpi->library, "PMPI_Comm_rank");
	mpi->comm_size = dlsym(mpi->library, "PMPI_Comm_size");
	mpi->iallgather = dlsym(mpi->library, "PMPI_Iallgather");
	mpi->test = dlsym(mpi->library, "PMPI_Test");
	return mpi->initialized;
}

static void put_mpi(const struct mpi *mpi)
{
	if (mpi->library != RTLD_DEFAULT)
		dlclose(mpi->library);
}

bool mpi_is_loaded(void)
{
	struct mpi mpi;

	if (!find_mpi(&mpi))
		return false;
	put_mpi(&mpi);
	return true;
}

bool mpi_is_initialized(void)
{
	struct mpi mpi;
	int flag = 0;

	if (!find_mpi(&mpi))
		return false;
	if (mpi.initialized(&flag))
		flag = 0;
	put_mpi(&mpi);
	return flag;
}

static bool find_handles(struct mpi *mpi)
{
	char text[VERSION_SIZE] = "";
	int length = 0;
	bool known;

	mpi->world = (uintptr_t)dlsym(mpi->library, "ompi_mpi_comm_world");
	mpi->byte = (uintptr_t)dlsym(mpi->library, "ompi_mpi_byte");
	if (mpi->version(text, &length))
		known = false;
	else
		known = strstr(text, "MPICH") || strstr(text, "Intel(R) MPI") ||
			strstr(text, "MVAPICH");
	if (mpi->world && mpi->byte)
		return true;
	mpi->world = MPICH_COMM_WORLD;
	mpi->byte = MPICH_BYTE;
	return known;
}

static int check(struct mpi *mpi, const struct exchange *exchange, struct coll_detail *detail)
{
	int flag = 0, over = 0, rank = -1, size = -1;

	if (!mpi->finalized || !mpi->version || !mpi->comm_rank || !mpi->comm_size ||
	    !mpi->iallgather || !mpi->test)
		return coll_fail(detail, -EOPNOTSUPP,
				 "the process's MPI library has no MPI_Iallgather");
	if (mpi->initialized(&flag) || !flag)
		return coll_fail(detail, -ENOENT,
				 "the process's MPI library is not initialized: call coll_init() after MPI_Init()");
	if (mpi->finalized(&over) || over)
		return coll_fail(detail, -ENOENT,
				 "the process's MPI library is finalized: call coll_init() before MPI_Finalize()");
	if (!find_handles(mpi))
		return coll_fail(detail, -EOPNOTSUPP,
				 "the process's MPI library is neither Open MPI nor MPICH or its like");
	if (mpi->comm_rank(mpi->world, &rank) || mpi->comm_size(mpi->world, &size) ||
	    rank != exchange->rank || size != exchange->nranks)
		return coll_fail(detail, -EINVAL,
				 "rank %d of %d of MPI_COMM_WORLD is to be rank %d of %d", rank,
				 size, exchange->rank, exchange->nranks);
	return 0;
}

static int open_mpi(const struct exchange *exchange, uint64_t deadline, struct coll_detail *detail)
{
	struct mpi mpi;
	int err;

	(void)deadline;
	if (!find_mpi(&mpi))
		return coll_fail(detail, -ENOENT, "the process has no MPI library");
	err = check(&mpi, exchange, detail);
	put_mpi(&mpi);
	return err;
}

/**
 * struct pending - memory of an allgather, which MPI keeps if it does not end
 * @request: MPI_Request, an integer or a pointer
 * @status: MPI_Status; larger than any
 * @bytes: @nranks blocks to receive, and one to send
 */
struct pending {
	uintptr_t request;
	uint64_t status[32];
	uint8_t bytes[];
};

/* MPI keeps it after a timeout, and then it is not used again. */
static _Alignas(max_align_t) uint8_t room[sizeof(struct pending) +
					  EXCHANGE_SIZE_MAX * (COLLECTIVE_RANKS_MAX + 1)];
static struct reserve reserve = { room, sizeof(room), false };

static int wait_for(const struct mpi *mpi, struct pending *pending, uint64_t deadline)
{
	unsigned int us = POLL_US;
	int done = 0;

	for (;;) {
		if (mpi->test(&pending->request, &done, pending->status))
			return -EIO;
		if (done)
			return 0;
		if (coll_interrupt_ask(false) || !coll_deadline_left(deadline))
			return -ETIMEDOUT;
		usleep(us);
		us = 2 * us < POLL_MAX_US ? 2 * us : POLL_MAX_US;
	}
}

static int run(const struct mpi *mpi, const struct exchange *exchange, const void *mine,
	       size_t size, void *all, uint64_t deadline, struct coll_detail *detail)
{
	const size_t total = size * exchange->nranks;
	const size_t room_size = sizeof(struct pending) + total + size;
	struct pending *pending = reserve_calloc(&reserve, room_size);
	int err;

	if (!pending)
		return coll_fail(detail, -ENOMEM, "no memory");
	memcpy(pending->bytes + total, mine, size);
	err = mpi->iallgather(pending->bytes + total, size, mpi->byte, pending->bytes, size,
			      mpi->byte, mpi->world, &pending->request) ? -EIO :
	      wait_for(mpi, pending, deadline);
	if (err == -ETIMEDOUT)
		return coll_fail(detail, err,
				 "rank %d waited in MPI_Iallgather until the deadline: not all %d ranks have called coll_init(), and MPI cannot tell which are missing",
				 exchange->rank, exchange->nranks);
	if (!err)
		memcpy(all, pending->bytes, total);
	explicit_bzero(pending->bytes, total + size);
	reserve_free(&reserve, pending, room_size);
	return err ? coll_fail(detail, err, "rank %d: MPI_Iallgather failed", exchange->rank) : 0;
}

static int gather(const struct exchange *exchange, const void *mine, size_t size, void *all,
		  uint64_t deadline, struct coll_detail *detail)
{
	struct mpi mpi;
	int err = session_begin(&session, "MPI_COMM_WORLD", deadline, detail);

	if (err)
		return err;
	if (find_mpi(&mpi)) {
		err = check(&mpi, exchange, detail) ?:
		      run(&mpi, exchange, mine, size, all, deadline, detail);
		put_mpi(&mpi);
	} else {
		err = coll_fail(detail, -ENOENT, "the process has no MPI library");
	}
	return session_end(&session, err, detail);
}

const struct exchange_ops exchange_mpi = { .name = "mpi", .open = open_mpi, .gather = gather };
