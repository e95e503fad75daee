// SPDX-License-Identifier: GPL-2.0-only
/*
 * The module is really unloaded and loaded again: collectivectl monitor and top, a handle of
 * libcollective-admin, and a process with the library go on with the next module.  An open file of
 * the device keeps the module.  netlink_reload_test has all orders of messages.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <collective.h>
#include <collective_admin.h>

#include "kselftest_harness.h"
#include "lib/any_transport.h"
#include "lib/group.h"
#include "lib/machine.h"

#define MODULE		"collective"
#define DEVICE		"/dev/collective"
#define PATIENCE_MS	60000

#define LOG		"/tmp/reload."
/* Without spaces, as all of read_log(). */
#define UNLOADED	"themodulewasunloaded;eventscomewhenitisloadedagain"
#define LOADED		"themodulewasloaded;eventsinbetweenwerelost"
#define NOT_LOADED	"themoduleisnotloaded"

/* Read a log without its spaces and lines, which JSON has between all words. */
static const char *read_log(const char *log)
{
	static char text[1 << 20];
	char path[64];
	size_t n = 0;
	FILE *file;
	int c;

	snprintf(path, sizeof(path), LOG "%s", log);
	file = fopen(path, "r");
	while (file && n < sizeof(text) - 1 && (c = getc(file)) != EOF)
		if (c != ' ' && c != '\n')
			text[n++] = c;
	if (file)
		fclose(file);
	text[n] = '\0';
	return text;
}

/* How often has a log @text, which has no spaces? */
static unsigned int count_in(const char *log, const char *text)
{
	const char *at = read_log(log);
	unsigned int n = 0;

	while ((at = strstr(at, text))) {
		at += strlen(text);
		n++;
	}
	return n;
}

/* Wait until a log has @text @n times. */
static bool has_said(const char *log, const char *text, unsigned int n)
{
	const __u64 end = now_ms() + PATIENCE_MS;

	while (count_in(log, text) < n) {
		if (now_ms() > end) {
			printf("# not in %s: %s\n", log, read_log(log));
			return false;
		}
		sleep_ms(20);
	}
	return true;
}

static bool is_loaded(void)
{
	return !access("/sys/module/" MODULE, F_OK);
}

/* Connections of groups that have ended linger for a while. Return: 0 or a negative errno. */
static int unload(void)
{
	const __u64 end = now_ms() + PATIENCE_MS;
	int err;

	do {
		err = syscall(SYS_delete_module, MODULE, O_NONBLOCK) ? -errno : 0;
		if (err == -EAGAIN || err == -EBUSY)
			sleep_ms(50);
	} while ((err == -EAGAIN || err == -EBUSY) && now_ms() < end);
	return err;
}

/* Load the module of this machine, with its parameters and its rights. */
static int load(void)
{
	const int fd = open(getenv("MODULE") ?: "", O_RDONLY | O_CLOEXEC);
	const __u64 end = now_ms() + PATIENCE_MS;
	int err;

	if (fd < 0)
		return -errno;
	err = syscall(SYS_finit_module, fd, getenv("MODULE_PARAMS") ?: "", 0) ? -errno : 0;
	close(fd);
	while (!err && access(DEVICE, F_OK) && now_ms() < end)
		sleep_ms(10);
	return err ?: chmod(DEVICE, 0666) ? -errno : 0;
}

/* @name: of the latest group; @pid: programs that are killed at the end */
FIXTURE(reload) {
	char name[COLLECTIVE_NAME_MAX + 1];
	pid_t pid[3];
};

static pid_t start(const char *log, const char *command)
{
	char line[128];
	pid_t pid;

	snprintf(line, sizeof(line), "exec collectivectl %s >" LOG "%s 2>&1", command, log);
	pid = fork();
	if (pid)
		return pid;
	execl("/bin/sh", "sh", "-c", line, NULL);
	_exit(127);
}

static bool is_running(pid_t pid)
{
	return !waitpid(pid, NULL, WNOHANG);
}

FIXTURE_SETUP(reload)
{
	if (!getenv("MODULE") || access(getenv("MODULE"), R_OK))
		SKIP(return, "not in the test machine");
	if (!access("/sys/module/collective_rdma", F_OK))
		SKIP(return, "collective_rdma holds the module");
	ASSERT_TRUE(is_loaded());
	unlink(LOG "text");
	unlink(LOG "json");
	unlink(LOG "top");
}

/* Other programs of the machine need the module. */
FIXTURE_TEARDOWN(reload)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(self->pid); i++) {
		if (self->pid[i] <= 0)
			continue;
		kill(self->pid[i], SIGKILL);
		waitpid(self->pid[i], NULL, 0);
	}
	if (getenv("MODULE") && !is_loaded())
		EXPECT_EQ(0, load());
}

/* Join a group of one rank, which lives for @ms. */
static int join_for(char *name, unsigned int ms)
{
	struct sockaddr_storage addr;
	__u64 id;
	int fd, err;

	group_unique(name, COLLECTIVE_NAME_MAX + 1, &id);
	fd = member_open();
	if (fd < 0)
		return fd;
	err = member_join(fd, name, id, 0, 1, &addr) ?: member_connect(fd, &addr, 1, 1000);
	sleep_ms(ms);
	close(fd);
	return err;
}

/* Do both monitors tell of a group that joins now? */
static bool monitors_tell(char *name)
{
	char text[80];

	if (join_for(name, 0))
		return false;
	snprintf(text, sizeof(text), "%srank0left", name);
	if (!has_said("text", text, 1))
		return false;
	snprintf(text, sizeof(text), "\"group\":\"%s\",\"rank\":0,\"event\":\"left\"", name);
	return has_said("json", text, 1);
}

/* A monitor that begins has no sign for it: it hears of one of these groups. */
static bool monitors_have_begun(char *name)
{
	const __u64 end = now_ms() + PATIENCE_MS;

	while (now_ms() < end) {
		if (join_for(name, 0))
			return false;
		sleep_ms(100);
		if (count_in("text", "left") && count_in("json", "left"))
			return true;
	}
	return false;
}

TEST_F_TIMEOUT(reload, programs_go_on, 300)
{
	char text[80];
	unsigned int i;

	self->pid[0] = start("text", "monitor");
	self->pid[1] = start("json", "-j monitor");
	self->pid[2] = start("top", "top");
	ASSERT_TRUE(monitors_have_begun(self->name));
	for (i = 1; i <= 2; i++) {
		ASSERT_EQ(0, unload());
		EXPECT_TRUE(has_said("text", UNLOADED, i));
		EXPECT_TRUE(has_said("json", UNLOADED, i));
		EXPECT_TRUE(has_said("top", NOT_LOADED, i));
		ASSERT_EQ(0, load());
		EXPECT_TRUE(has_said("text", LOADED, i));
		EXPECT_TRUE(has_said("json", LOADED, i));
		/* From then on nothing is missed. */
		EXPECT_TRUE(monitors_tell(self->name));
		EXPECT_EQ(0, join_for(self->name, enough_ms(3000)));
		snprintf(text, sizeof(text), "%s0%d", self->name, getpid());
		EXPECT_TRUE(has_said("top", text, 1));
	}
	for (i = 0; i < ARRAY_SIZE(self->pid); i++)
		EXPECT_TRUE(is_running(self->pid[i]));
}

/* A monitor that looks only when another module is there already. */
TEST_F_TIMEOUT(reload, monitor_is_late, 300)
{
	self->pid[0] = start("text", "monitor");
	self->pid[1] = start("json", "-j monitor");
	ASSERT_TRUE(monitors_have_begun(self->name));
	ASSERT_EQ(0, kill(self->pid[0], SIGSTOP));
	ASSERT_EQ(0, unload());
	ASSERT_EQ(0, load());
	ASSERT_EQ(0, kill(self->pid[0], SIGCONT));
	EXPECT_TRUE(has_said("text", LOADED, 1));
	EXPECT_TRUE(has_said("json", LOADED, 1));
	EXPECT_TRUE(monitors_tell(self->name));
}

static int count(const struct coll_admin_group *group, void *arg)
{
	++*(unsigned int *)arg;
	return 0;
}

TEST_F_TIMEOUT(reload, handle, 120)
{
	struct coll_admin *admin;
	unsigned int n = 0;

	ASSERT_EQ(0, coll_admin_open(&admin));
	EXPECT_EQ(0, coll_admin_groups(admin, NULL, count, &n));
	ASSERT_EQ(0, unload());
	EXPECT_EQ(-ENOENT, coll_admin_groups(admin, NULL, count, &n));
	EXPECT_STREQ("the module is not loaded", coll_admin_error(admin));
	ASSERT_EQ(0, load());
	EXPECT_EQ(0, coll_admin_groups(admin, NULL, count, &n));
	EXPECT_EQ(0, n);
	coll_admin_close(admin);
}

/* An open file of the device keeps the module, also when its group has failed. */
TEST_F_TIMEOUT(reload, open_device_holds, 120)
{
	struct sockaddr_storage addr;
	struct coll_admin *admin;
	__u64 id;
	int fd;

	group_unique(self->name, sizeof(self->name), &id);
	fd = member_open();
	ASSERT_LE(0, fd);
	EXPECT_EQ(-1, syscall(SYS_delete_module, MODULE, O_NONBLOCK));
	ASSERT_EQ(0, member_join(fd, self->name, id, 0, 1, &addr));
	ASSERT_EQ(0, member_connect(fd, &addr, 1, 1000));
	EXPECT_EQ(-1, syscall(SYS_delete_module, MODULE, O_NONBLOCK));
	EXPECT_EQ(0, coll_admin_open(&admin));
	EXPECT_EQ(0, coll_admin_abort(admin, self->name));
	coll_admin_close(admin);
	EXPECT_EQ(-1, syscall(SYS_delete_module, MODULE, O_NONBLOCK));
	close(fd);
	ASSERT_EQ(0, unload());
	EXPECT_EQ(-ENOENT, member_open());
	ASSERT_EQ(0, load());
	EXPECT_EQ(0, join_for(self->name, 0));
}

static int sum_once(struct coll_comm **comm)
{
	const struct coll_config config = { .size = sizeof(config), .nranks = 1 };
	int one = 1, sum = 0, err = coll_init(comm, &config);

	err = err ?: coll_allreduce(*comm, &one, &sum, 1, COLL_INT32, COLL_SUM);
	return err ?: sum != 1;
}

/* A process of which an earlier group was in the module that has gone. */
TEST_F_TIMEOUT(reload, library, 120)
{
	struct coll_comm *comm;
	int i;

	for (i = 0; i < 3; i++) {
		EXPECT_EQ(0, sum_once(&comm));
		EXPECT_EQ(0, coll_finalize(comm));
		ASSERT_EQ(0, unload());
		EXPECT_EQ(-ENOENT, sum_once(&comm));
		ASSERT_EQ(0, load());
	}
}

#define FOLDERS		{ "/sys/kernel/debug/" MODULE, "/sys/class/" MODULE "/" MODULE, \
			  "/sys/class/" MODULE "/" MODULE "/groups", \
			  "/sys/module/" MODULE "/parameters" }

/* Open all files of a folder. Return: their number. */
static unsigned int open_files(const char *path, int *fd, unsigned int max)
{
	DIR *folder = opendir(path);
	struct dirent *entry;
	unsigned int n = 0;

	while (folder && n < max && (entry = readdir(folder))) {
		fd[n] = openat(dirfd(folder), entry->d_name, O_RDONLY | O_CLOEXEC);
		n += fd[n] >= 0;
	}
	if (folder)
		closedir(folder);
	return n;
}

/* Files of sysfs and debugfs that are open do not keep the module, and end with it. */
TEST_F_TIMEOUT(reload, files_end, 120)
{
	static const char * const folders[] = FOLDERS;
	unsigned int n = 0, i;
	char byte;
	int fd[256];

	for (i = 0; i < ARRAY_SIZE(folders); i++)
		n += open_files(folders[i], fd + n, ARRAY_SIZE(fd) - n);
	ASSERT_LT(4, n);
	ASSERT_EQ(0, unload());
	ASSERT_EQ(0, load());
	for (i = 0; i < n; i++) {
		EXPECT_GE(0, pread(fd[i], &byte, 1, 0));
		close(fd[i]);
	}
}

TEST_HARNESS_MAIN
