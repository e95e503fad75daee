// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What tells this process from its ancestors and descendants.
 *
 * It is kept on a page that is zero in a child (MADV_WIPEONFORK), however the child was made.  So
 * the child makes its own.  The number is one more than that of the parent, which the child finds
 * in ordinary memory.  The id would not do: in a new PID namespace a child may have its parent's.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include "comm/process.h"

struct process {
	pid_t id;
	unsigned long number;
};

static struct process *kept;

/* Of the process that has set it last: of this one, or of its parent. */
static unsigned long latest;

/* Without such a page each call asks the kernel. */
static void keep(void)
{
	const size_t size = sysconf(_SC_PAGESIZE);
	void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return;
	if (madvise(page, size, MADV_WIPEONFORK))
		munmap(page, size);
	else
		kept = page;
}

static struct process *process(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, keep);
	return kept;
}

pid_t coll_process_id(void)
{
	struct process *self = process();
	pid_t id;

	if (!self)
		return getpid();
	id = __atomic_load_n(&self->id, __ATOMIC_RELAXED);
	if (!id) {
		id = getpid();
		__atomic_store_n(&self->id, id, __ATOMIC_RELAXED);
	}
	return id;
}

unsigned long coll_process_number(void)
{
	struct process *self = process();
	unsigned long number, none = 0;

	if (!self)
		return getpid();
	number = __atomic_load_n(&self->number, __ATOMIC_ACQUIRE);
	if (number)
		return number;
	/* Before the number can be seen: a child of this process must not get it, too. */
	number = __atomic_add_fetch(&latest, 1, __ATOMIC_ACQ_REL);
	/* Another thread may have been first; then the new number is not used. */
	if (!__atomic_compare_exchange_n(&self->number, &none, number, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE))
		return none;
	return number;
}

void coll_process_keep_library(void)
{
	void *library;
	Dl_info info;

	if (!dladdr(&latest, &info) || !info.dli_fname)
		return;
	library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
	if (library)
		dlclose(library);
	else
		(void)dlerror();	/* the program itself, of which no error is to be left */
}
