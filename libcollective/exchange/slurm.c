// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Slurm's own PMI-1, a library that speaks to srun itself, where srun starts the ranks without
 * a PMI plug-in.  It is opened with dlopen().
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "comm/process.h"
#include "exchange/kvs.h"
#include "exchange/library.h"
#include "exchange/mpi.h"

#define STORE_SIZE	257

/**
 * struct libpmi - the library in this process
 * @library: handle of dlopen()
 * @pid: process that initialized it
 * @rank: rank of this process in the step
 * @size: number of processes of the step
 * @value_max: maximum length of a value, with NUL
 * @store: name of the store
 */
static struct libpmi {
	void *library;
	pid_t pid;
	int rank;
	int size;
	int value_max;
	char store[STORE_SIZE];
	int (*init)(int *spawned);
	int (*finalize)(void);
	int (*get_rank)(int *rank);
	int (*get_size)(int *size);
	int (*get_store)(char *name, int length);
	int (*get_max)(int *length);
	int (*put)(const char *store, const char *key, const char *value);
	int (*commit)(const char *store);
	int (*barrier)(void);
	int (*get)(const char *store, const char *key, char *value, int length);
} libpmi;

static const char *const names[] = { "libpmi.so.0", "libpmi.so", NULL };

static int find_functions(struct coll_detail *detail)
{
	void *library = library_load(names, true, detail);

	if (!library)
		return -ENOENT;
	libpmi.init = dlsym(library, "PMI_Init");
	libpmi.finalize = dlsym(library, "PMI_Finalize");
	libpmi.get_rank = dlsym(library, "PMI_Get_rank");
	libpmi.get_size = dlsym(library, "PMI_Get_size");
	libpmi.get_store = dlsym(library, "PMI_KVS_Get_my_name");
	libpmi.get_max = dlsym(library, "PMI_KVS_Get_value_length_max");
	libpmi.put = dlsym(library, "PMI_KVS_Put");
	libpmi.commit = dlsym(library, "PMI_KVS_Commit");
	libpmi.barrier = dlsym(library, "PMI_Barrier");
	libpmi.get = dlsym(library, "PMI_KVS_Get");
	if (libpmi.init && libpmi.finalize && libpmi.get_rank && libpmi.get_size &&
	    libpmi.get_store && libpmi.get_max && libpmi.put && libpmi.commit && libpmi.barrier &&
	    libpmi.get) {
		libpmi.library = library;
		return 0;
	}
	dlclose(library);
	return coll_fail(detail, -EOPNOTSUPP, "libpmi lacks a function of PMI-1");
}

static void finalize(void)
{
	libpmi.finalize();
}

static void finalize_at_exit(void)
{
	if (libpmi.pid == getpid() && !mpi_is_initialized())
		library_call(finalize, LIBRARY_FINALIZE_MS);
}

static int check(const char *what, int status, struct coll_detail *detail)
{
	return status ? coll_fail(detail, -EPROTO, "%s of libpmi failed: %d", what, status) : 0;
}

static int open_libpmi(struct coll_detail *detail)
{
	int spawned, err;

	if (libpmi.pid == getpid())
		return 0;
	if (libpmi.pid)
		return coll_fail(detail, -EPERM, "PMI was initialized by this process's parent");
	err = libpmi.library ? 0 : find_functions(detail);
	err = err ?: check("PMI_Init", libpmi.init(&spawned), detail);
	if (err)
		return err;
	libpmi.pid = getpid();
	coll_process_keep_library();
	if (atexit(finalize_at_exit))
		return coll_fail(detail, -ENOMEM, "no memory");
	return check("PMI_Get_rank", libpmi.get_rank(&libpmi.rank), detail) ?:
	       check("PMI_Get_size", libpmi.get_size(&libpmi.size), detail) ?:
	       check("PMI_KVS_Get_value_length_max", libpmi.get_max(&libpmi.value_max), detail) ?:
	       check("PMI_KVS_Get_my_name", libpmi.get_store(libpmi.store, sizeof(libpmi.store)),
		     detail);
}

static int put(struct kvs *kvs, const char *key, const char *value)
{
	return check("PMI_KVS_Put", libpmi.put(libpmi.store, key, value), kvs->detail);
}

static int fence(struct kvs *kvs)
{
	int committed = check("PMI_KVS_Commit", libpmi.commit(libpmi.store), kvs->detail);
	/* The others wait for this rank in any case. */
	int met = check("PMI_Barrier", libpmi.barrier(), kvs->detail);

	return committed ?: met;
}

static int get(struct kvs *kvs, int rank, const char *key, char *value, size_t size)
{
	(void)rank;
	return check("PMI_KVS_Get", libpmi.get(libpmi.store, key, value, size), kvs->detail);
}

static int run(struct library_task *task)
{
	const struct exchange *exchange = &task->exchange;
	struct kvs kvs = {
		.rank = exchange->rank,
		.nranks = exchange->nranks,
		.deadline = task->deadline,
		.detail = &task->detail,
		.put = put,
		.fence = fence,
		.get = get,
	};
	int err = open_libpmi(&task->detail);

	if (err)
		return err;
	if (libpmi.rank != exchange->rank || libpmi.size != exchange->nranks)
		return coll_fail(&task->detail, -EINVAL,
				 "rank %d of %d of Slurm's PMI is to be rank %d of %d", libpmi.rank,
				 libpmi.size, exchange->rank, exchange->nranks);
	kvs.value_max = libpmi.value_max > 0 ? libpmi.value_max : 0;
	return task->size ? kvs_gather(&kvs, task->generation, task->bytes, task->size,
				       task->bytes + task->size) : 0;
}

static struct library library = {
	.session = SESSION_INITIALIZER,
	.title = "Slurm's PMI",
	.run = run,
};

static int open_library(const struct exchange *exchange, uint64_t deadline,
			struct coll_detail *detail)
{
	if (!secure_getenv("SLURM_STEP_ID"))
		return coll_fail(detail, -ENOENT, "SLURM_STEP_ID is not set");
	if (mpi_is_loaded())
		return coll_fail(detail, -EPERM,
				 "Slurm's PMI belongs to this process's MPI library: call coll_init() between MPI_Init() and MPI_Finalize()");
	return library_open(&library, exchange, deadline, detail);
}

static int gather(const struct exchange *exchange, const void *mine, size_t size, void *all,
		  uint64_t deadline, struct coll_detail *detail)
{
	return library_gather(&library, exchange, mine, size, all, deadline, detail);
}

const struct exchange_ops exchange_slurm = {
	.name = "pmi",
	.open = open_library,
	.gather = gather,
};
