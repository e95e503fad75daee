// SPDX-License-Identifier: GPL-2.0-only
/* dlclose() of a plugin with the library, after a coll_init() whose thread is still at work. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <collective.h>

#include "tap.h"

#define LATE_MS	700

/* Return: exit code; 0: the process outlives the library's thread. */
static int run(const char *path)
{
	int (*init)(struct coll_comm **comm, const struct coll_config *config);
	char detail[COLL_DETAIL_SIZE];
	struct coll_config config = {
		.size = sizeof(config),
		.nranks = 2,
		.rank = 1,
		.rendezvous = "slow.example.org:5000",
		.init_timeout_ms = 100,
		.detail = detail,
		.detail_size = sizeof(detail),
	};
	struct coll_comm *comm;
	unsigned int *slow_ms;
	void *plugin = dlopen(path, RTLD_NOW);

	if (!plugin)
		return fprintf(stderr, "%s\n", dlerror()) ? 2 : 2;
	init = dlsym(plugin, "coll_init");
	slow_ms = dlsym(plugin, "resolver_slow_ms");
	if (!init || !slow_ms)
		return 3;
	*slow_ms = LATE_MS;
	if (init(&comm, &config) != -ETIMEDOUT || !strstr(detail, "resolver"))
		return fprintf(stderr, "%s\n", detail) ? 4 : 4;
	if (dlclose(plugin))
		return 5;
	usleep(2000 * LATE_MS);
	return 0;
}

int main(int argc, char **argv)
{
	char path[4096];
	int status = -1;
	pid_t pid;

	(void)argc;
	snprintf(path, sizeof(path), "%.*s/plugin.so", (int)(strrchr(argv[0], '/') - argv[0]),
		 argv[0]);
	tap_plan(1);
	fflush(NULL);
	pid = fork();
	if (!pid)
		_exit(run(path));
	waitpid(pid, &status, 0);
	if (!tap_ok(!status, "dlclose() while a name is looked up"))
		tap_note("status %#x", status);
	return tap_exit();
}
