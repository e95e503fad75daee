// SPDX-License-Identifier: LGPL-2.1-or-later
/* Memory of a group that is pinned when the group is made, and stays so. */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>
#include <pthread.h>

#include "collective.h"
#include "common/region.h"

/* Sizes of regions are multiples of this, the smallest one. */
#define UNIT		(16 << 10)
/* Regions of a process have this many bytes in all, and the smallest size beyond that. */
#define PROCESS_MAX	(16LL << 20)

/* Inode of the initial user namespace, a constant of the kernel */
#define INITIAL_USER_NS	0xeffffffdU

/* Parts of a region: a form has the bytes from one of these to the next, in quarters. */
static const unsigned char quarters[CM_FORM_COUNT + 1] = {
	[CM_BLOCKING]		= 0,
	[CM_NONBLOCKING]	= 1,
	[CM_PERSISTENT]		= 3,
	[CM_FORM_COUNT]		= 4,
};

/* Bytes that are reserved for all regions; @lock protects it. */
static struct {
	pthread_mutex_t lock;
	long long reserved;
} process = { .lock = PTHREAD_MUTEX_INITIALIZER };

/*
 * Has this process CAP_IPC_LOCK for the kernel?  A capability in a user namespace of its own does
 * not count.
 */
static bool may_lock_all(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };
	struct stat namespace;

	return !syscall(SYS_capget, &header, data) && data[0].effective & 1U << CAP_IPC_LOCK &&
	       !stat("/proc/self/ns/user", &namespace) && namespace.st_ino == INITIAL_USER_NS;
}

/*
 * Number of bytes for the regions of this process, beyond which they have the smallest size.
 * Processes of one user share the limit; half of it is left to large blocking calls, and to the
 * other things that they lock.
 */
static long long bytes_for_all(int local)
{
	struct rlimit limit;
	long long bytes;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY ||
	    limit.rlim_cur > LLONG_MAX || may_lock_all())
		return LLONG_MAX;
	bytes = limit.rlim_cur / 2 / (local > 0 ? local : 1);
	return bytes < PROCESS_MAX ? bytes : PROCESS_MAX;
}

long long cm_region_reserve(struct cm_region *region, int local)
{
	const long long all = bytes_for_all(local);
	long long bytes;

	if (all == LLONG_MAX)
		return LLONG_MAX;
	pthread_mutex_lock(&process.lock);
	/* Half of what is left, so that later groups have more than the smallest ones, too. */
	bytes = (all - process.reserved) / 2 / UNIT * UNIT;
	if (bytes < UNIT)
		bytes = UNIT;
	process.reserved += bytes;
	pthread_mutex_unlock(&process.lock);
	region->reserved = bytes;
	return bytes;
}

int cm_region_make(struct cm_region *region, struct coll_comm *comm)
{
	void *addr = mmap(NULL, region->bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int err;

	if (addr == MAP_FAILED)
		return -errno;
	region->addr = addr;
	/* A huge page would count whole, also the part of it that is none of the region. */
	madvise(addr, region->bytes, MADV_NOHUGEPAGE);
	err = coll_register(comm, addr, region->bytes, 0);
	if (!err)
		region->number = coll_mem_number(comm, addr, region->bytes, 1);
	return err;
}

void cm_region_free(struct cm_region *region)
{
	if (region->addr)
		munmap(region->addr, region->bytes);
	pthread_mutex_lock(&process.lock);
	process.reserved -= region->reserved;
	pthread_mutex_unlock(&process.lock);
	*region = (struct cm_region){ 0 };
}

static size_t part_begin(const struct cm_region *region, int form)
{
	return region->bytes / 4 * quarters[form];
}

size_t cm_region_room(const struct cm_region *region, enum cm_form form)
{
	if (!region->addr)
		return SIZE_MAX;
	return part_begin(region, form + 1) - part_begin(region, form);
}

char *cm_region_at(const struct cm_region *region, enum cm_form form, size_t offset)
{
	return region->addr + part_begin(region, form) + offset;
}
