// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Registered memory, which operations find by the addresses of their buffers.
 *
 * A region without a registration (@buffer is 0) is kept so that coll_mem_free() knows its
 * size: the kernel refused to register it.  Programs have few regions, so lookups are linear.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "comm/cancellation.h"
#include "comm/comm.h"
#include "comm/device.h"

#define HUGE_PAGE	((size_t)2 << 20)
/* Below this size, anonymous memory is contiguous often enough. */
#define DEVICE_MIN	((size_t)64 << 10)

/**
 * struct coll_region - memory known to the communicator
 * @addr: beginning
 * @size: size in bytes
 * @mapped: number of bytes that coll_mem_alloc() mapped; 0: memory of the caller
 * @buffer: number of the kernel's registration; 0: not registered
 * @flags: COLL_REGISTER_*
 */
struct coll_region {
	char *addr;
	size_t size;
	size_t mapped;
	__u32 buffer;
	unsigned int flags;
};

/* Context: under @comm->lock, as region_insert(). */
static struct coll_region *region_find(struct coll_comm *comm, const void *addr,
				       bool mapped)
{
	size_t i;

	for (i = 0; i < comm->nregions; i++) {
		struct coll_region *at = &comm->regions[i];

		if (at->addr == addr && !at->mapped == !mapped)
			return at;
	}
	return NULL;
}

static int region_insert(struct coll_comm *comm, const struct coll_region *region)
{
	if (comm->nregions == comm->regions_max) {
		size_t max = comm->regions_max ? 2 * comm->regions_max : 8;
		struct coll_region *more = reallocarray(comm->regions, max,
							sizeof(*more));

		if (!more)
			return -ENOMEM;
		comm->regions = more;
		comm->regions_max = max;
	}
	comm->regions[comm->nregions++] = *region;
	return 0;
}

/* Remove a region from the table and from the kernel. */
static int region_remove(struct coll_comm *comm, const void *addr, bool mapped,
			 struct coll_region *region)
{
	struct coll_region *at;
	int err = coll_comm_lock(comm);

	if (err)
		return err;
	at = region_find(comm, addr, mapped);
	if (at) {
		*region = *at;
		*at = comm->regions[--comm->nregions];
	} else {
		err = -ENOENT;
	}
	coll_comm_unlock(comm);
	if (!err && region->buffer)
		err = coll_device_unregister(comm->fd, region->buffer);
	return err;
}

__u32 coll_mem_buffer(struct coll_comm *comm, const void *addr, size_t size,
		      bool write)
{
	const char *from = addr;
	size_t i;

	for (i = 0; i < comm->nregions; i++) {
		const struct coll_region *at = &comm->regions[i];

		if (!at->buffer || from < at->addr || size > at->size ||
		    (size_t)(from - at->addr) > at->size - size)
			continue;
		if (write && at->flags & COLL_REGISTER_READ_ONLY)
			continue;
		return at->buffer;
	}
	return 0;
}

int coll_mem_registered(struct coll_comm *comm, const void *addr, size_t size)
{
	return coll_mem_number(comm, addr, size, 0) != 0;
}

unsigned int coll_mem_number(struct coll_comm *comm, const void *addr, size_t size, int write)
{
	__u32 buffer;

	if (!comm || coll_comm_lock(comm))
		return 0;
	buffer = coll_mem_buffer(comm, addr, size, write);
	coll_comm_unlock(comm);
	return buffer;
}

/* Map @want bytes, a multiple of the page size, aligned to huge pages if large enough. */
static void *map(size_t want, int prot)
{
	size_t extra = want >= HUGE_PAGE ? HUGE_PAGE : 0;
	size_t head;
	char *at;

	if (want > SIZE_MAX - extra)
		return NULL;
	at = mmap(NULL, want + extra, prot,
		  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return NULL;
	if (!extra)
		return at;
	head = -(uintptr_t)at & (HUGE_PAGE - 1);
	if (head)
		munmap(at, head);
	if (extra - head)
		munmap(at + head + want, extra - head);
	at += head;
	madvise(at, want, MADV_HUGEPAGE);	/* only an optimization */
	return at;
}

/* Are transparent huge pages available to madvise()? */
static bool huge_pages(void)
{
	FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "re");
	char line[80] = "";

	if (!file)
		return false;
	if (!fgets(line, sizeof(line), file))
		line[0] = '\0';
	fclose(file);
	return line[0] && !strstr(line, "[never]");
}

/* Is the memlock limit of this process infinite? */
static bool unlimited(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { 0 } };
	struct rlimit limit;

	if (!getrlimit(RLIMIT_MEMLOCK, &limit) && limit.rlim_cur == RLIM_INFINITY)
		return true;
	return !syscall(SYS_capget, &header, data) &&
	       data[0].effective & 1U << CAP_IPC_LOCK;
}

/*
 * Without huge pages, memory mapped from the device is still in large pieces, zeroed and
 * present.  It counts against the memlock limit, and once more when it is registered.  All
 * ranks of a user share that limit, so this is only for processes without one.
 */
static void *map_device(int fd, size_t want)
{
	void *at, *hint;

	if (want < DEVICE_MIN || huge_pages() || !unlimited())
		return NULL;
	/* Find an address with room for the alignment. */
	hint = map(want, PROT_NONE);
	if (!hint)
		return NULL;
	munmap(hint, want);
	at = mmap(hint, want, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return at == MAP_FAILED ? NULL : at;
}

static int region_register(struct coll_comm *comm, struct coll_region *region)
{
	int err = coll_device_register(comm->fd, region->addr, region->mapped, 0,
				       &region->buffer);

	if (err)
		region->buffer = 0;
	return err;
}

/*
 * The memlock limit allows parts of the memory only.  A part of a huge page would count as a whole
 * one, so there are none.
 */
static void use_small_pages(struct coll_region *region)
{
	if (!madvise(region->addr, region->mapped, MADV_NOHUGEPAGE) &&
	    !madvise(region->addr, region->mapped, MADV_DONTNEED))
		memset(region->addr, 0, region->mapped);
}

/* Map memory for a region and register it, unless the memlock limit forbids that. */
static int region_map(struct coll_comm *comm, struct coll_region *region)
{
	region->addr = map_device(comm->fd, region->mapped);
	if (region->addr) {
		if (!region_register(comm, region))
			return 0;
		munmap(region->addr, region->mapped);
	}
	region->addr = map(region->mapped, PROT_READ | PROT_WRITE);
	if (!region->addr)
		return -ENOMEM;
	/* Take the page faults now instead of in the first operation. */
	memset(region->addr, 0, region->mapped);
	if (region_register(comm, region) == -EDQUOT)
		use_small_pages(region);
	return 0;
}

static int region_new(struct coll_comm *comm, struct coll_region *region)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	int err;

	if (coll_comm_is_foreign(comm))
		return -EPERM;
	if (!region->size)
		return -EINVAL;
	if (region->size > SIZE_MAX / 2)
		return -ENOMEM;
	region->mapped = (region->size + page - 1) & ~(page - 1);
	err = region_map(comm, region);
	if (err)
		return err;
	pthread_mutex_lock(&comm->lock);
	err = region_insert(comm, region);
	pthread_mutex_unlock(&comm->lock);
	if (!err)
		return 0;
	if (region->buffer)
		coll_device_unregister(comm->fd, region->buffer);
	munmap(region->addr, region->mapped);
	return err;
}

void *coll_mem_alloc(struct coll_comm *comm, size_t size)
{
	struct coll_region region = { .size = size };
	const int state = coll_cancellation_off();
	const int err = comm ? region_new(comm, &region) : -EINVAL;

	coll_cancellation_restore(state);
	if (!err)
		return region.addr;
	errno = -err;
	return NULL;
}

/* In a child of fork() nothing is mapped there, or memory of its own. */
static void unmap(const struct coll_comm *comm, const struct coll_region *region)
{
	if (region->mapped && !coll_comm_is_foreign(comm))
		munmap(region->addr, region->mapped);
}

void coll_mem_free(struct coll_comm *comm, void *addr)
{
	struct coll_region region;

	int err = comm && addr ? region_remove(comm, addr, true, &region) : -ENOENT;

	if (err != -ENOENT && err != -EPERM)
		unmap(comm, &region);
}

int coll_register(struct coll_comm *comm, const void *addr, size_t size,
		  unsigned int flags)
{
	struct coll_region region = {
		.addr = (char *)addr,
		.size = size,
		.flags = flags,
	};
	int err;

	if (!comm)
		return -EINVAL;
	if (coll_comm_is_foreign(comm))
		return -EPERM;
	if (flags & ~COLL_REGISTER_READ_ONLY)
		return coll_register_failed(comm, addr, size, flags, -EINVAL);
	err = coll_device_register(comm->fd, addr, size, flags, &region.buffer);
	if (err)
		return coll_register_failed(comm, addr, size, flags, err);
	pthread_mutex_lock(&comm->lock);
	err = region_find(comm, addr, false) ? -EEXIST : region_insert(comm, &region);
	pthread_mutex_unlock(&comm->lock);
	if (err)
		coll_device_unregister(comm->fd, region.buffer);
	return coll_register_failed(comm, addr, size, flags, err);
}

int coll_unregister(struct coll_comm *comm, const void *addr)
{
	struct coll_region region;
	int err;

	if (!comm)
		return -EINVAL;
	err = region_remove(comm, addr, false, &region);
	return coll_unregister_failed(comm, addr, err);
}

void coll_mem_free_all(struct coll_comm *comm)
{
	size_t i;

	for (i = 0; i < comm->nregions; i++)
		unmap(comm, &comm->regions[i]);
	free(comm->regions);
}
