/* SPDX-License-Identifier: GPL-2.0-only */
/* The second version of cgroups, with a group in which a test stops or throttles processes. */
#ifndef COLL_CGROUP_H
#define COLL_CGROUP_H

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/group.h"

#define CGROUP_CHILD	"stall"

/**
 * struct cgroup - the mount, and the group CGROUP_CHILD in it
 * @folder: where it is mounted
 * @mounted: true if it is
 */
struct cgroup {
	char folder[64];
	bool mounted;
};

/* Write a file of the group.  Return: 0 or a negative errno. */
static inline int cgroup_set(const struct cgroup *cgroup, const char *file, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/" CGROUP_CHILD "/%s", cgroup->folder, file);
	return file_set(path, text);
}

/* Return: 0, or a positive errno. */
static inline int cgroup_make(struct cgroup *cgroup)
{
	char path[128];

	snprintf(cgroup->folder, sizeof(cgroup->folder), "/tmp/cgroup-XXXXXX");
	if (!mkdtemp(cgroup->folder) || mount("none", cgroup->folder, "cgroup2", 0, NULL))
		return errno;
	cgroup->mounted = true;
	/* Fails where the first version of cgroups has the controller. */
	snprintf(path, sizeof(path), "%s/cgroup.subtree_control", cgroup->folder);
	file_set(path, "+cpu");
	snprintf(path, sizeof(path), "%s/" CGROUP_CHILD, cgroup->folder);
	return mkdir(path, 0755) ? errno : 0;
}

static inline void cgroup_drop(struct cgroup *cgroup)
{
	char path[128];

	if (!cgroup->mounted)
		return;
	snprintf(path, sizeof(path), "%s/" CGROUP_CHILD, cgroup->folder);
	rmdir(path);
	umount2(cgroup->folder, MNT_DETACH);
	rmdir(cgroup->folder);
}

/* Wait until the processes of the group do not run any more.  Return: 0 or 1, as a child does. */
static inline int cgroup_await_frozen(const struct cgroup *cgroup, unsigned int ms)
{
	const __u64 end = now_ms() + ms;
	char path[128], text[128];

	snprintf(path, sizeof(path), "%s/" CGROUP_CHILD "/cgroup.events", cgroup->folder);
	while (!file_get(path, text, sizeof(text)) && !strstr(text, "frozen 1")) {
		CHECK(now_ms() < end);
		sleep_ms(1);
	}
	return 0;
}

#endif /* COLL_CGROUP_H */
