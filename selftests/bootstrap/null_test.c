// SPDX-License-Identifier: GPL-2.0-only
/* Every public function with all pointers NULL: EINVAL, not the end of the process. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <collective.h>

#include "tap.h"

#define MAP "../../libcollective/libcollective.map"

/* Pointers and integers are passed in the same way, so this fits every function. */
typedef long function_t(const void *a, const void *b, long c, long d, long e, long f, long g,
			long h, long i, long j, long k, long l);

/* Functions for which NULL is something else: their result; or that take no pointer. */
static const struct {
	const char *name;
	long result;
} others[] = {
	{ "coll_finalize", 0 },
	{ "coll_mem_alloc", 0 },
	{ "coll_mem_number", 0 },
	{ "coll_mem_registered", 0 },
	{ "coll_name", 0 },
	{ "coll_small_bytes", 0 },
	{ "coll_request_free", 0 },
	{ "coll_wait", 0 },
	{ "coll_wait_all", 0 },
};

static const char * const without[] = {
	"coll_error_detail", "coll_mem_free", "coll_prep_cancel", "coll_prep_fixed",
	"coll_prep_key", "coll_strerror", "coll_type_size", "coll_version",
};

/* Functions of which the first argument is a communicator are called with one, too. */
static const char * const without_comm[] = {
	"coll_adjoint", "coll_cancel", "coll_finalize", "coll_init", "coll_req_fd",
	"coll_request_free", "coll_start", "coll_strerror", "coll_test", "coll_type_size",
	"coll_wait", "coll_wait_all", "coll_wait_any",
};

static bool is_among(const char *name, const char * const *names, size_t n)
{
	while (n--)
		if (!strcmp(name, names[n]))
			return true;
	return false;
}

#define IS_AMONG(name, names) is_among(name, names, sizeof(names) / sizeof(*(names)))

static bool is_right(const char *name, long got)
{
	size_t i;

	if (IS_AMONG(name, without))
		return true;
	for (i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (!strcmp(name, others[i].name))
			return got == others[i].result;
	return (int)got == -EINVAL;
}

/* Return: exit code of a process that calls the function; 0: it is right. */
static int call(const char *name, function_t *function, const struct coll_comm *comm)
{
	bool prep = !strncmp(name, "coll_prep_", 10), takes_handle;
	int status = -1;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		if (!is_right(name, function(NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)))
			_exit(1);
		if (IS_AMONG(name, without_comm))
			_exit(0);
		takes_handle = strstr(name, "_init") || !strncmp(name, "coll_i", 6);
		if (IS_AMONG(name, without))
			prep = false;
		status = function(prep ? NULL : comm, prep ? comm : NULL, 0, 0, 0, 0, 0, 0, 0, 0,
				  0, 0);
		_exit((takes_handle || prep) && status != -EINVAL ? 2 : 0);
	}
	waitpid(pid, &status, 0);
	return status;
}

int main(void)
{
	struct coll_config config = { .size = sizeof(config), .nranks = 1 };
	char line[200], name[100];
	struct coll_comm *comm;
	unsigned int n = 0, bad = 0;
	FILE *map = fopen(MAP, "re");
	function_t *function;
	int status;

	tap_plan(2);
	if (!tap_ok(map && !coll_init(&comm, &config), "a group of one, and the list of functions"))
		return tap_exit();
	while (fgets(line, sizeof(line), map)) {
		if (line[0] != '\t' || sscanf(line, " %99[a-z0-9_]", name) != 1)
			continue;
		function = (function_t *)dlsym(RTLD_DEFAULT, name);
		status = function ? call(name, function, comm) : -1;
		if (status)
			tap_note("%s: status %#x", name, status);
		bad += !!status;
		n++;
	}
	fclose(map);
	coll_finalize(comm);
	tap_ok(n > 100 && !bad, "%u functions with NULL", n);
	return tap_exit();
}
