// SPDX-License-Identifier: GPL-2.0-only
/* The subcommand check: whether programs can use the module on this host. */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctl.h"

static char *read_line(const char *directory, const char *name)
{
	char *path, *line = NULL;
	size_t room = 0;
	ssize_t length;
	FILE *file;

	if (asprintf(&path, "%s/%s", directory, name) < 0)
		err(CTL_FAILED, "memory");
	file = fopen(path, "re");
	free(path);
	if (!file)
		return NULL;
	length = getline(&line, &room, file);
	fclose(file);
	if (length < 0) {
		free(line);
		return NULL;
	}
	line[strcspn(line, "\n")] = '\0';
	return line;
}

#define CAP_IPC_LOCK_BIT	14
#define MEMLOCK_WANTED		((rlim_t)1 << 30)

static void say(const char *what, const char *how)
{
	printf("%-10s %s\n", what, how);
}

static bool module(void)
{
	char *version = read_line(CTL_MODULE, "version");
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

/* Returns true if the user's account is a member of the group. */
static bool enlisted(const struct passwd *user, gid_t gid)
{
	gid_t groups[1024];
	int n = 1024, i;

	if (getgrouplist(user->pw_name, user->pw_gid, groups, &n) < 0)
		return false;
	for (i = 0; i < n; i++)
		if (groups[i] == gid)
			return true;
	return false;
}

/* Advises on a device that cannot be opened. */
static void device_advice(const char *path, const struct stat *info, int err)
{
	bool for_group = (info->st_mode & 0060) == 0060;
	struct passwd *user = getpwuid(geteuid());
	struct group *group = getgrgid(info->st_gid);
	char name[32];

	if (err != EACCES && err != EPERM)
		return;
	snprintf(name, sizeof(name), "%u", info->st_gid);
	if (err == EPERM || (info->st_mode & 0006) == 0006)
		printf("%-10s its mode allows it: a container or a security module does not.\n"
		       "%-10s Give a container the device (--device %s).\n", "", "", path);
	else if (!for_group)
		printf("%-10s only its owner may open it: a udev rule decides, as\n"
		       "%-10s KERNEL==\"collective\", MODE=\"0660\", GROUP=\"collective\"\n",
		       "", "");
	else if (user && enlisted(user, info->st_gid))
		printf("%-10s the account is in group %s, this session not yet: log in again.\n",
		       "", group ? group->gr_name : name);
	else
		printf("%-10s it is for the members of group %s: usermod -aG %s %s,\n"
		       "%-10s then log in again; in a container: --group-add %u.\n", "",
		       group ? group->gr_name : name, group ? group->gr_name : name,
		       user ? user->pw_name : "USER", "", info->st_gid);
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
		int err = errno;

		printf("%-10s %s: %s (mode %04o, owner %u:%u)\n", "device", path, strerror(err),
		       info.st_mode & 07777, info.st_uid, info.st_gid);
		device_advice(path, &info, err);
		return false;
	}
	close(fd);
	printf("%-10s %s, mode %04o, can be opened\n", "device", path,
	       info.st_mode & 07777);
	return true;
}

/* Returns true if this process may pin memory without limit. */
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

/* Advises only: with a low limit everything works except large buffers. */
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
	       "%-10s falls back.  Raise it with ulimit -l, LimitMEMLOCK=4G in a unit, or a line\n"
	       "%-10s \"@collective - memlock 4194304\" in /etc/security/limits.d.\n",
	       "", "", "");
}

int ctl_check(int argc, char **argv)
{
	bool have_module = module();
	bool have_device = device();

	(void)argv;
	if (argc)
		ctl_usage("too many arguments");
	memlock();
	if (have_module && have_device)
		return 0;
	printf("programs cannot use libcollective here\n");
	return 1;
}
