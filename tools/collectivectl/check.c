// SPDX-License-Identifier: GPL-2.0-only
/* Can programs use the module here, and how well? */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctl.h"

#define CAP_IPC_LOCK_BIT	14
#define MEMLOCK_WANTED		((rlim_t)1 << 30)

static void say(const char *what, const char *how)
{
	printf("%-10s %s\n", what, how);
}

static bool module(void)
{
	char *version = ctl_read(CTL_MODULE, "version");
	bool there = version || !access(CTL_MODULE, F_OK);

	if (version)
		printf("%-10s collective %s\n", "module", version);
	else if (there)
		say("module", "collective, no version");
	else
		say("module", "not loaded: modprobe collective");
	free(version);
	return there;
}

static bool device(void)
{
	const char *path = getenv("COLL_DEVICE");
	struct stat info;
	int fd;

	if (!path || !*path)
		path = CTL_DEVICE;
	if (stat(path, &info)) {
		printf("%-10s %s: %s\n", "device", path, strerror(errno));
		return false;
	}
	if (!S_ISCHR(info.st_mode)) {
		printf("%-10s %s is no character device\n", "device", path);
		return false;
	}
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		printf("%-10s %s: %s (mode %04o, owner %u:%u; the udev rule or chmod decides)\n",
		       "device", path, strerror(errno), info.st_mode & 07777,
		       info.st_uid, info.st_gid);
		return false;
	}
	close(fd);
	printf("%-10s %s, mode %04o, can be opened\n", "device", path,
	       info.st_mode & 07777);
	return true;
}

/* May this process pin without limit? */
static bool exempt(void)
{
	unsigned long long capabilities = 0;
	char line[128];
	FILE *file = fopen("/proc/self/status", "re");

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "CapEff: %llx", &capabilities) == 1)
			break;
	if (file)
		fclose(file);
	return capabilities >> CAP_IPC_LOCK_BIT & 1;
}

/* Advice only: everything works with little, but not with large buffers. */
static void memlock(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit)) {
		say("memlock", strerror(errno));
		return;
	}
	if (limit.rlim_cur == RLIM_INFINITY)
		say("memlock", "unlimited");
	else
		printf("%-10s %llu KiB%s\n", "memlock",
		       (unsigned long long)limit.rlim_cur >> 10,
		       exempt() ? ", but CAP_IPC_LOCK lifts it here" : "");
	if (limit.rlim_cur >= MEMLOCK_WANTED || exempt())
		return;
	printf("%-10s operations on larger buffers fail with EDQUOT, and registering them\n"
	       "%-10s falls back.  Raise it with ulimit -l, \"@group - memlock unlimited\" in\n"
	       "%-10s /etc/security/limits.conf, or LimitMEMLOCK=infinity in a unit.\n",
	       "", "", "");
}

int ctl_check(void)
{
	bool have_module = module();
	bool have_device = device();

	memlock();
	if (have_module && have_device)
		return 0;
	printf("programs cannot use libcollective here\n");
	return 1;
}
