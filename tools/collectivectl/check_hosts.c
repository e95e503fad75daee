// SPDX-License-Identifier: GPL-2.0-only
/*
 * check HOST...: what programs need on several hosts, and whether they reach each other.
 *
 * The hosts cannot be asked about a group that runs: its ranks read their UDP sockets in
 * coll_shrink() only, and only they have its secret.  So collective-run starts this program on each
 * host, as a rank of a group that checks it (COLL_CONFIG_CHECK_DATAGRAMS).  It prints a line for
 * what is not OK there: rank, verdict, name, what was found, and advice, separated by tabs.
 */
#include <err.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <collective.h>

#include "check.h"
#include "ctl.h"

/* collective-run passes variables on that begin so. */
#define PROBE		"COLL_CTL_PROBE"
#define DATAGRAMS	"datagrams"
#define HOSTS_MAX	1024
#define FORM_MS		30000	/* time limit of the group */

const char *check_hosts_rank(void)
{
	return getenv(PROBE) ? getenv("COLL_RANK") : NULL;
}

void check_hosts_probe(struct report *report)
{
	char detail[COLL_DETAIL_SIZE];
	struct coll_config config = {
		.size = sizeof(config),
		.flags = COLL_CONFIG_CHECK_DATAGRAMS,
		.detail = detail,
		.detail_size = sizeof(detail),
		.init_timeout_ms = FORM_MS,
	};
	struct coll_comm *comm;
	int error = coll_init(&comm, &config);

	if (!error)
		tell(report, DATAGRAMS, VERDICT_OK, NULL, "those of the other hosts arrive");
	else
		tell(report, error == -EHOSTUNREACH ? DATAGRAMS : "group", VERDICT_FAIL, NULL,
		     "%s", detail);
	coll_finalize(comm);
}

/* The hosts, as collective-run takes them. */
static char *list_of(int n, char **hosts)
{
	size_t size = 1;
	char *list;
	int i;

	for (i = 0; i < n; i++) {
		const char *end = strrchr(hosts[i], ']') ?: hosts[i];

		if (!*hosts[i] || strpbrk(hosts[i], ", ") || strchr(end, ':'))
			ctl_usage("%s is no host", hosts[i]);
		size += strlen(hosts[i]) + 1;
	}
	list = calloc(1, size);
	if (!list)
		err(CTL_FAILED, "memory");
	for (i = 0; i < n; i++) {
		strcat(list, i ? "," : "");
		strcat(list, hosts[i]);
	}
	return list;
}

/* Become collective-run: the one beside this program, or else that of the PATH. */
static void be_launcher(int n, char **hosts)
{
	char self[PATH_MAX], beside[PATH_MAX + 16], ranks[16];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *list = list_of(n, hosts);
	const char * const argv[] = {
		"collective-run", "-H", list, "-n", ranks, "--", self, "check", NULL,
	};

	self[length > 0 ? length : 0] = '\0';
	snprintf(ranks, sizeof(ranks), "%d", n);
	setenv(PROBE, "1", 1);
	snprintf(beside, sizeof(beside), "%.*scollective-run",
		 (int)(strrchr(self, '/') ? strrchr(self, '/') + 1 - self : 0), self);
	execv(beside, (char **)argv);
	execvp(argv[0], (char **)argv);
	warn("collective-run");
	_exit(CTL_FAILED);
}

/* Start it.  Return: the end of its output. */
static FILE *launch(int n, char **hosts, pid_t *pid)
{
	int pipes[2];

	fflush(NULL);
	if (pipe(pipes))
		err(CTL_FAILED, "pipe");
	*pid = fork();
	if (*pid < 0)
		err(CTL_FAILED, "fork");
	if (!*pid) {
		dup2(pipes[1], STDOUT_FILENO);
		close(pipes[0]);
		close(pipes[1]);
		be_launcher(n, hosts);
	}
	close(pipes[1]);
	return fdopen(pipes[0], "r");
}

/* Which host is which rank, of which the library's texts speak. */
static const char *ranks_text(int n, char **hosts)
{
	static char text[400];
	size_t at = 0;
	int i;

	for (i = 0; i < n && at < sizeof(text); i++)
		at += snprintf(text + at, sizeof(text) - at, "%srank %d is %s", i ? ", " : "", i,
			       hosts[i]);
	return text;
}

/* A line of a rank.  @reported: by rank: true if its group was formed, or not. */
static void take_line(struct report *report, char *line, int n, char **hosts, bool *reported)
{
	char *rank = strsep(&line, "\t"), *verdict = strsep(&line, "\t");
	char *name = strsep(&line, "\t"), *found = strsep(&line, "\t");
	int i = found ? atoi(rank) : -1;
	const char *advice = line && *line ? line : NULL;

	if (i < 0 || i >= n)
		return;
	if (!strcmp(name, DATAGRAMS) || !strcmp(name, "group")) {
		reported[i] = true;
		advice = *verdict == 'F' ? ranks_text(n, hosts) : NULL;
	}
	tell(report, name, *verdict == 'F' ? VERDICT_FAIL :
	     *verdict == 'W' ? VERDICT_WARN : VERDICT_OK, advice, "%s: %s", hosts[i], found);
}

void check_hosts(struct report *report, int n, char **hosts)
{
	bool reported[HOSTS_MAX] = { false };
	char *line = NULL;
	size_t size = 0;
	FILE *output;
	pid_t pid;
	int i;

	if (n < 2 || n > HOSTS_MAX)
		ctl_usage("check takes no host, or two to %d", HOSTS_MAX);
	free(list_of(n, hosts));
	output = launch(n, hosts, &pid);
	while (output && getline(&line, &size, output) > 0) {
		line[strcspn(line, "\n")] = '\0';
		take_line(report, line, n, hosts, reported);
	}
	free(line);
	if (output)
		fclose(output);
	waitpid(pid, NULL, 0);
	for (i = 0; i < n; i++)
		if (!reported[i])
			tell(report, "group", VERDICT_FAIL,
			     "collective-run --hosts must start programs there: see collective-run(1)",
			     "%s: no answer", hosts[i]);
}
