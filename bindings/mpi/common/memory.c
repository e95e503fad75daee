// SPDX-License-Identifier: LGPL-2.1-or-later
/* Kernel memory of the groups of this process. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "collective.h"
#include "common/group.h"
#include "common/memory.h"
#include "common/settings.h"

/* Without a setting, the limit is the host's memory divided by this; the kernel's is an eighth. */
#define MEMORY_PART	10

/*
 * @lock protects all.  @ranks is the number of ranks of all groups, @newest the latest group that
 * exists, and @rank_bytes the most memory that a group of this process had for each of its ranks.
 */
static struct {
	pthread_mutex_t lock;
	unsigned long long ranks;
	unsigned long long rank_bytes;
	struct cm_group *newest;
} memory = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* The newest group has been used since it was made, so that it has the memory that this takes. */
static void measure(void)
{
	struct cm_group *group = memory.newest;
	unsigned long long bytes = 0;
	char path[256] = "", owner[16] = "";
	FILE *file;

	if (!group)
		return;
	/* The folder of a group of another user than root says whose it is. */
	if (getuid())
		snprintf(owner, sizeof(owner), "@%u", getuid());
	pthread_mutex_lock(&group->lock);
	if (group->comm)
		snprintf(path, sizeof(path),
			 "/sys/class/collective/collective/groups/%s%s/%d/memory_bytes",
			 coll_name(group->comm), owner, group->rank);
	pthread_mutex_unlock(&group->lock);
	file = *path ? fopen(path, "re") : NULL;
	if (!file)
		return;
	if (fscanf(file, "%llu", &bytes) == 1 && bytes / group->size > memory.rank_bytes)
		memory.rank_bytes = bytes / group->size;
	fclose(file);
}

static unsigned long long limit(int local)
{
	unsigned long long bytes = cm_settings.memory_mib * 1048576ULL;

	if (!bytes)
		bytes = (unsigned long long)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE) /
			MEMORY_PART;
	return bytes / (local > 0 ? local : 1);
}

bool cm_memory_allows(int size, int local)
{
	unsigned long long bytes;

	pthread_mutex_lock(&memory.lock);
	measure();
	bytes = (memory.ranks + size) * memory.rank_bytes;
	pthread_mutex_unlock(&memory.lock);
	if (bytes <= limit(local))
		return true;
	cm_say(1, "a group of %d ranks may need more kernel memory than memory_mib allows", size);
	return false;
}

void cm_memory_add(struct cm_group *group)
{
	pthread_mutex_lock(&memory.lock);
	memory.ranks += group->size;
	memory.newest = group;
	group->counted = true;
	pthread_mutex_unlock(&memory.lock);
}

void cm_memory_remove(struct cm_group *group)
{
	pthread_mutex_lock(&memory.lock);
	if (group->counted)
		memory.ranks -= group->size;
	group->counted = false;
	if (memory.newest == group)
		memory.newest = NULL;
	pthread_mutex_unlock(&memory.lock);
}
