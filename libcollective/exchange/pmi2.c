// SPDX-License-Identifier: LGPL-2.1-or-later
/* PMI-2 by the launcher's libpmi2, as Slurm and Cray have it, opened with dlopen(). */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "comm/process.h"
#include "exchange/kvs.h"
#include "exchange/library.h"
#include "exchange/mpi.h"

#define PMI2_VALUE_MAX	1024

/**
 * struct pmi2 - the library in this process
 * @library: handle of dlopen()
 * @pid: process that initialized it
 * @rank: rank of this process in the job
 * @size: number of processes of the job
 */
static struct pmi2 {
	void *library;
	pid_t pid;
	int rank;
	int size;
	int (*init)(int *spawned, int *size, int *rank, int *appnum);
	int (*finalize)(void);
	int (*put)(const char *key, const char *value);
	int (*fence)(void);
	int (*get)(const char *job, int rank, const char *key, char *value, int size, int *length);
} pmi2;

static const char *const names[] = { "libpmi2.so.0", "libpmi2.so", NULL };

static int find_functions(struct coll_detail *detail)
{
	void *library = library_load(names, false, detail);

	if (!library)
		return -ENOENT;
	pmi2.init = dlsym(library, "PMI2_Init");
	pmi2.finalize = dlsym(library, "PMI2_Finalize");
	pmi2.put = dlsym(library, "PMI2_KVS_Put");
	pmi2.fence = dlsym(library, "PMI2_KVS_Fence");
	pmi2.get = dlsym(library, "PMI2_KVS_Get");
	if (pmi2.init && pmi2.finalize && pmi2.put && pmi2.fence && pmi2.get) {
		pmi2.library = library;
		return 0;
	}
	dlclose(library);
	return coll_fail(detail, -EOPNOTSUPP, "libpmi2 lacks a function of PMI-2");
}

static void finalize(void)
{
	pmi2.finalize();
}

static void finalize_at_exit(void)
{
	if (pmi2.pid == getpid() && !mpi_is_initialized())
		library_call(finalize, LIBRARY_FINALIZE_MS);
}

static int open_pmi2(struct coll_detail *detail)
{
	int spawned, appnum, status, err;

	if (pmi2.pid == getpid())
		return 0;
	if (pmi2.pid)
		return coll_fail(detail, -EPERM, "PMI-2 was initialized by this process's parent");
	err = pmi2.library ? 0 : find_functions(detail);
	if (err)
		return err;
	status = pmi2.init(&spawned, &pmi2.size, &pmi2.rank, &appnum);
	if (status)
		return coll_fail(detail, -EPROTO, "PMI2_Init of libpmi2 failed: %d", status);
	pmi2.pid = getpid();
	coll_process_keep_library();
	return atexit(finalize_at_exit) ? coll_fail(detail, -ENOMEM, "no memory") : 0;
}

static int put(struct kvs *kvs, const char *key, const char *value)
{
	int status = pmi2.put(key, value);

	return status ? coll_fail(kvs->detail, -EPROTO, "PMI2_KVS_Put of libpmi2 failed: %d",
				  status) : 0;
}

static int fence(struct kvs *kvs)
{
	int status = pmi2.fence();

	return status ? coll_fail(kvs->detail, -EPROTO, "PMI2_KVS_Fence of libpmi2 failed: %d",
				  status) : 0;
}

static int get(struct kvs *kvs, int rank, const char *key, char *value, size_t size)
{
	int length = 0, status = pmi2.get(NULL, rank, key, value, size, &length);

	return status ? coll_fail(kvs->detail, -EPROTO, "PMI2_KVS_Get of libpmi2 failed: %d",
				  status) : 0;
}

static int run(struct library_task *task)
{
	const struct exchange *exchange = &task->exchange;
	struct kvs kvs = {
		.rank = exchange->rank,
		.nranks = exchange->nranks,
		.value_max = PMI2_VALUE_MAX,
		.deadline = task->deadline,
		.detail = &task->detail,
		.put = put,
		.fence = fence,
		.get = get,
	};
	int err = open_pmi2(&task->detail);

	if (err)
		return err;
	if (pmi2.rank != exchange->rank || pmi2.size != exchange->nranks)
		return coll_fail(&task->detail, -EINVAL,
				 "rank %d of %d of PMI-2 is to be rank %d of %d", pmi2.rank,
				 pmi2.size, exchange->rank, exchange->nranks);
	return task->size ? kvs_gather(&kvs, task->generation, task->bytes, task->size,
				       task->bytes + task->size) : 0;
}

static struct library library = {
	.session = SESSION_INITIALIZER,
	.title = "PMI-2",
	.run = run,
};

static int open_library(const struct exchange *exchange, uint64_t deadline,
			struct coll_detail *detail)
{
	if (mpi_is_loaded())
		return coll_fail(detail, -EPERM,
				 "PMI belongs to this process's MPI library: call coll_init() between MPI_Init() and MPI_Finalize()");
	return library_open(&library, exchange, deadline, detail);
}

static int gather(const struct exchange *exchange, const void *mine, size_t size, void *all,
		  uint64_t deadline, struct coll_detail *detail)
{
	return library_gather(&library, exchange, mine, size, all, deadline, detail);
}

const struct exchange_ops exchange_pmi2 = {
	.name = "pmi2",
	.open = open_library,
	.gather = gather,
};
