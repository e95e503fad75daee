// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * PMIx, of which mpirun of Open MPI, srun --mpi=pmix and PRRTE are servers.  The library is
 * opened with dlopen(), and what follows is the part of its binary interface, the same since
 * version 2, that is used here.  It may be initialized several times in a process, as Open MPI
 * itself does.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "comm/process.h"
#include "error/ranks_text.h"
#include "exchange/kvs.h"
#include "exchange/library.h"

#define VALUE_BOOL	1
#define VALUE_STRING	3
#define VALUE_INT	6
#define VALUE_UINT32	14
#define SCOPE_GLOBAL	3
#define RANK_ALL	0xfffffffe	/* all processes of a namespace */
#define NSPACE_SIZE	256
#define KEY_SIZE	512
#define MISSING_MS	1000	/* to find out which ranks are missing */
#define GET_S		5	/* for a value, which the server has after the fence */

struct pmix_proc {
	char nspace[NSPACE_SIZE];
	uint32_t rank;
};

struct pmix_value {
	uint16_t type;
	union {
		bool flag;
		int integer;
		uint32_t number;
		char *string;
		struct {
			char *a;
			char *b;
			char c;
		} largest;
	} data;
};

struct pmix_info {
	char key[KEY_SIZE];
	uint32_t flags;
	struct pmix_value value;
};

/**
 * struct pmix - the library in this process
 * @library: handle of dlopen()
 * @pid: process that initialized it
 * @self: this process as PMIx names it
 * @size: number of processes of the job
 */
static struct pmix {
	void *library;
	pid_t pid;
	struct pmix_proc self;
	uint32_t size;
	int (*init)(struct pmix_proc *proc, struct pmix_info *info, size_t n);
	int (*finalize)(const struct pmix_info *info, size_t n);
	int (*put)(uint8_t scope, const char *key, struct pmix_value *value);
	int (*commit)(void);
	int (*fence)(const struct pmix_proc *procs, size_t nprocs,
		     const struct pmix_info *info, size_t n);
	int (*get)(const struct pmix_proc *proc, const char *key, const struct pmix_info *info,
		   size_t n, struct pmix_value **value);
	/* NULL in a library without it. */
	int (*get_later)(const struct pmix_proc *proc, const char *key,
			 const struct pmix_info *info, size_t n,
			 void (*answer)(int status, struct pmix_value *value, void *arg),
			 void *arg);
	const char *(*text)(int status);
} pmix;

static const char *const names[] = { "libpmix.so.2", "libpmix.so", NULL };

static int fail(struct coll_detail *detail, const char *what, int status)
{
	return coll_fail(detail, -EPROTO, "%s of libpmix failed: %s", what, pmix.text(status));
}

static int find_functions(struct coll_detail *detail)
{
	void *library = library_load(names, false, detail);

	if (!library)
		return -ENOENT;
	pmix.init = dlsym(library, "PMIx_Init");
	pmix.finalize = dlsym(library, "PMIx_Finalize");
	pmix.put = dlsym(library, "PMIx_Put");
	pmix.commit = dlsym(library, "PMIx_Commit");
	pmix.fence = dlsym(library, "PMIx_Fence");
	pmix.get = dlsym(library, "PMIx_Get");
	pmix.get_later = dlsym(library, "PMIx_Get_nb");
	pmix.text = dlsym(library, "PMIx_Error_string");
	if (pmix.init && pmix.finalize && pmix.put && pmix.commit && pmix.fence && pmix.get &&
	    pmix.text) {
		/* It stays loaded: it has threads. */
		pmix.library = library;
		return 0;
	}
	dlclose(library);
	return coll_fail(detail, -EOPNOTSUPP, "libpmix lacks a function of PMIx 2");
}

static void finalize(void)
{
	pmix.finalize(NULL, 0);
}

/* The server takes the end of a process that has not finalized for a failure of the job. */
static void finalize_at_exit(void)
{
	if (pmix.pid == getpid())
		library_call(finalize, LIBRARY_FINALIZE_MS);
}

static int read_size(struct coll_detail *detail)
{
	struct pmix_proc job = pmix.self;
	struct pmix_value *value = NULL;
	int status;

	job.rank = RANK_ALL;
	status = pmix.get(&job, "pmix.job.size", NULL, 0, &value);
	if (status || !value)
		return fail(detail, "PMIx_Get(job size)", status);
	pmix.size = value->type == VALUE_UINT32 ? value->data.number : 0;
	free(value);
	return 0;
}

static int open_pmix(struct coll_detail *detail)
{
	int status, err;

	if (pmix.pid == getpid())
		return 0;
	if (pmix.pid)
		return coll_fail(detail, -EPERM, "PMIx was initialized by this process's parent");
	err = pmix.library ? 0 : find_functions(detail);
	if (err)
		return err;
	status = pmix.init(&pmix.self, NULL, 0);
	if (status)
		return fail(detail, "PMIx_Init", status);
	pmix.pid = getpid();
	coll_process_keep_library();
	if (atexit(finalize_at_exit))
		return coll_fail(detail, -ENOMEM, "no memory");
	return read_size(detail);
}

static int put(struct kvs *kvs, const char *key, const char *text)
{
	struct pmix_value value = {
		.type = VALUE_STRING,
		.data.string = (char *)text,
	};
	int status = pmix.put(SCOPE_GLOBAL, key, &value);

	return status ? fail(kvs->detail, "PMIx_Put", status) : 0;
}

static int fence(struct kvs *kvs)
{
	struct pmix_info collect = {
		.key = "pmix.collect",
		.value = { .type = VALUE_BOOL, .data.flag = true },
	};
	struct pmix_proc all = pmix.self;
	int committed = pmix.commit(), status;

	/* The others wait for this rank in any case. */
	all.rank = RANK_ALL;
	status = pmix.fence(&all, 1, &collect, 1);
	if (committed)
		return fail(kvs->detail, "PMIx_Commit", committed);
	return status ? fail(kvs->detail, "PMIx_Fence", status) : 0;
}

static int get(struct kvs *kvs, int rank, const char *key, char *text, size_t size)
{
	/* Otherwise the library waits until the rank puts it, which may never be. */
	const struct pmix_info soon = {
		.key = "pmix.timeout",
		.value = { .type = VALUE_INT, .data.integer = GET_S },
	};
	struct pmix_proc proc = pmix.self;
	struct pmix_value *value = NULL;
	int status, err = 0;

	proc.rank = rank;
	status = pmix.get(&proc, key, &soon, 1, &value);
	if (status || !value)
		return fail(kvs->detail, "PMIx_Get", status);
	if (value->type != VALUE_STRING || !value->data.string ||
	    strlen(value->data.string) >= size)
		err = -EPROTO;
	else
		strcpy(text, value->data.string);
	if (value->type == VALUE_STRING && value->data.string) {
		explicit_bzero(value->data.string, strlen(value->data.string));
		free(value->data.string);
	}
	free(value);
	return err;
}

static int run(struct library_task *task)
{
	const struct exchange *exchange = &task->exchange;
	struct kvs kvs = {
		.rank = exchange->rank,
		.nranks = exchange->nranks,
		.value_max = KVS_VALUE_MAX,
		.deadline = task->deadline,
		.detail = &task->detail,
		.put = put,
		.fence = fence,
		.get = get,
	};
	int err = open_pmix(&task->detail);

	if (err)
		return err;
	if (pmix.self.rank != (uint32_t)exchange->rank || pmix.size != (uint32_t)exchange->nranks)
		return coll_fail(&task->detail, -EINVAL,
				 "rank %u of %u of PMIx is to be rank %d of %d", pmix.self.rank,
				 pmix.size, exchange->rank, exchange->nranks);
	return task->size ? kvs_gather(&kvs, task->generation, task->bytes, task->size,
				       task->bytes + task->size) : 0;
}

/**
 * struct question - has a rank given its first piece?
 * @answered: true if the library has said so, or not
 * @given: true if it has
 */
struct question {
	bool answered;
	bool given;
};

static void note_answer(int status, struct pmix_value *value, void *arg)
{
	struct question *question = arg;

	(void)value;
	question->given = !status;
	__atomic_store_n(&question->answered, true, __ATOMIC_RELEASE);
}

static bool has_given_nothing(const void *arg, int rank)
{
	const struct question *questions = arg;

	return !__atomic_load_n(&questions[rank].answered, __ATOMIC_ACQUIRE) ||
	       !questions[rank].given;
}

/*
 * Ask for a value of every rank.  The server has those of ranks that have put it, also while
 * the fence waits for the others.  The memory is the library's from then on: it may answer at
 * any time.
 */
static bool find_missing(const struct exchange *exchange, unsigned int generation, char *text,
			 size_t size)
{
	const struct pmix_info soon = {
		.key = "pmix.timeout",
		.value = { .type = VALUE_INT, .data.integer = 1 },
	};
	struct question *questions = calloc(exchange->nranks, sizeof(*questions));
	struct pmix_proc proc = pmix.self;
	char key[KVS_KEY_SIZE];
	int rank, missing;

	if (!questions || !pmix.get_later)
		return false;
	for (rank = 0; rank < exchange->nranks; rank++) {
		proc.rank = rank;
		kvs_name(key, generation, rank, 0);
		if (pmix.get_later(&proc, key, &soon, 1, note_answer, &questions[rank]))
			note_answer(-1, NULL, &questions[rank]);
	}
	usleep(MISSING_MS * 1000);
	missing = coll_ranks_text(text, size, exchange->nranks, has_given_nothing, questions);
	/* If all have given, or none, the server says nothing of use. */
	return missing && missing < exchange->nranks;
}

static struct library library = {
	.session = SESSION_INITIALIZER,
	.title = "PMIx",
	.run = run,
	.find_missing = find_missing,
};

static int open_library(const struct exchange *exchange, uint64_t deadline,
			struct coll_detail *detail)
{
	if (!secure_getenv("PMIX_NAMESPACE"))
		return coll_fail(detail, -ENOENT, "PMIX_NAMESPACE is not set");
	return library_open(&library, exchange, deadline, detail);
}

static int gather(const struct exchange *exchange, const void *mine, size_t size, void *all,
		  uint64_t deadline, struct coll_detail *detail)
{
	return library_gather(&library, exchange, mine, size, all, deadline, detail);
}

const struct exchange_ops exchange_pmix = {
	.name = "pmix",
	.open = open_library,
	.gather = gather,
};
