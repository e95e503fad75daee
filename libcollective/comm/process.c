// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The id of this process.
 *
 * It is kept on a page that is zero in a child (MADV_WIPEONFORK), however the child was made.  So
 * the child asks for its own.
 */
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "comm/process.h"

static pid_t *kept;

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

pid_t coll_process_id(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pid_t id;

	pthread_once(&once, keep);
	if (!kept)
		return getpid();
	id = __atomic_load_n(kept, __ATOMIC_RELAXED);
	if (!id) {
		id = getpid();
		__atomic_store_n(kept, id, __ATOMIC_RELAXED);
	}
	return id;
}
