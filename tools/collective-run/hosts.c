// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ranks on other hosts.  For each host launch_ranks() starts a process here, the feeder, which
 * starts ssh with the agent (agent.c) at its other end, writes the job to it, and then a byte
 * now and then.  It ends with the agent's status.  If it ends, or ssh does, the agent finds its
 * input closed.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hosts.h"
#include "job.h"

#define PORT_FIRST	16384	/* below the ports that the kernel hands out */
#define PORTS		16384
#define SECRET_SIZE	32
#define VARIABLES_MAX	256

enum { STATUS_START = 125, STATUS_LOST = 255 };	/* 255 is ssh's own */

/**
 * struct host - a host and its ranks
 * @name: its name, as ssh takes it
 * @first: its first rank
 * @n: number of its ranks
 */
struct host {
	const char *name;
	int first;
	int n;
};

static const struct hosts *hosts;
static struct host *all;
static int nhosts, total;
static char *environment[VARIABLES_MAX + 1];

/* Parse "name", "name:ranks" or "[address]:ranks".  Return: 0 or -1. */
static int parse_host(char *text, struct host *host, bool *counted)
{
	char *colon = strrchr(text, ':'), *end;
	long n = 1;

	if (*text == '[' && strchr(text, ']')) {
		end = strchr(text, ']');
		*end = '\0';
		text++;
		colon = end[1] == ':' ? end + 1 : NULL;
		if (end[1] && !colon)
			return -1;
	} else if (colon && strchr(text, ':') != colon) {
		colon = NULL;	/* an IPv6 address */
	}
	if (colon) {
		*colon = '\0';
		n = strtol(colon + 1, &end, 10);
		if (!colon[1] || *end || n < 1 || n > LAUNCH_MAX)
			return -1;
		*counted = true;
	}
	host->name = text;
	host->n = n;
	/* A host that begins with a dash would be an option of ssh. */
	return *text && *text != '-' ? 0 : -1;
}

static int parse_hosts(void)
{
	char *list = strdup(hosts->list), *rest = NULL, *one;
	bool counted = false;
	int i;

	all = calloc(strlen(hosts->list) + 1, sizeof(*all));
	if (!list || !all) {
		perror("hosts");
		return -1;
	}
	for (one = strtok_r(list, ",", &rest); one; one = strtok_r(NULL, ",", &rest)) {
		if (parse_host(one, &all[nhosts++], &counted)) {
			fprintf(stderr,
				"collective-run: --hosts %s: %s is not HOST or HOST:RANKS\n",
				hosts->list, one);
			return -1;
		}
	}
	for (i = 0; i < nhosts; i++) {
		if (hosts->n && !counted)
			all[i].n = (i + 1) * hosts->n / nhosts - i * hosts->n / nhosts;
		all[i].first = total;
		total += all[i].n;
	}
	if (total < 1 || total > LAUNCH_MAX || nhosts > total || (hosts->n && hosts->n != total)) {
		fprintf(stderr, "collective-run: --hosts %s: %d hosts and %d ranks%s\n",
			hosts->list, nhosts, total, hosts->n && hosts->n != total ?
			", which is not the number of -n" : "");
		return -1;
	}
	return 0;
}

/* Is it a variable that the ranks get?  Those that collective-run sets come from the agent. */
static bool is_exported(const char *variable)
{
	static const char * const own[] = {
		"COLL_RANK=", "COLL_SIZE=", "COLL_RENDEZVOUS=", "COLL_SECRET",
	};
	const char **name;
	size_t i;

	for (name = hosts->exports; *name; name++)
		if (!strncmp(variable, *name, strlen(*name)) && variable[strlen(*name)] == '=')
			return true;
	for (i = 0; i < sizeof(own) / sizeof(*own); i++)
		if (!strncmp(variable, own[i], strlen(own[i])))
			return false;
	return !strncmp(variable, "COLL_", 5);
}

static void choose_environment(void)
{
	char **variable;
	int n = 0;

	for (variable = environ; *variable && n < VARIABLES_MAX; variable++)
		if (is_exported(*variable))
			environment[n++] = *variable;
}

/* Read the secret that launch_ranks() has published to this process, in digits. */
static int read_secret(char text[2 * SECRET_SIZE + 1])
{
	const char *number = getenv("COLL_SECRET_FD"), *path = getenv("COLL_SECRET_FILE");
	int fd = number ? atoi(number) : path ? open(path, O_RDONLY | O_CLOEXEC) : -1, i;
	char bytes[2 * SECRET_SIZE + 2];
	ssize_t got = fd < 0 ? -1 : pread(fd, bytes, sizeof(bytes), 0);

	while (got > SECRET_SIZE && bytes[got - 1] == '\n')
		got--;
	if (got == SECRET_SIZE) {
		for (i = 0; i < SECRET_SIZE; i++)
			sprintf(text + 2 * i, "%02x", (unsigned char)bytes[i]);
	} else if (got == 2 * SECRET_SIZE) {
		memcpy(text, bytes, got);
		text[got] = '\0';
	} else {
		fprintf(stderr, "collective-run: the secret is not 64 hexadecimal digits\n");
		return -1;
	}
	return 0;
}

/* The shell command that starts the agent: this program, if it is at the same place there. */
static int agent_command(char *command, size_t size)
{
	char self[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[length > 0 ? length : 0] = '\0';
	if (strpbrk(self, "'\n"))
		self[0] = '\0';
	return snprintf(command, size,
			"a='%s'; [ -x \"$a\" ] || a=collective-run; exec \"$a\" --agent",
			self) < (int)size ? 0 : -1;
}

static void be_rsh(const struct host *host, int in)
{
	char command[PATH_MAX + 100];
	const char *rsh = hosts->rsh ? hosts->rsh : "ssh";
	const char *const argv[] = {
		rsh, "-oBatchMode=yes", "-oServerAliveInterval=5", "-oServerAliveCountMax=3",
		"-oConnectTimeout=20", "-T", host->name, command, NULL,
	};
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (dup2(in, STDIN_FILENO) < 0 || agent_command(command, sizeof(command)))
		_exit(STATUS_START);
	execvp(rsh, (char **)argv);
	fprintf(stderr, "collective-run: %s: %s\n", rsh, strerror(errno));
	_exit(STATUS_START);
}

/* Write the job, and then a byte now and then, until ssh ends.  Return: its exit status. */
static int feed(const struct host *host, const struct job *job, int out, pid_t rsh)
{
	const struct timespec beat = { .tv_sec = JOB_BEAT_MS / 1000 };
	sigset_t child;
	int status;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	/* A connection that fails here ends ssh. */
	(void)!job_write(out, job);
	while (waitpid(rsh, &status, WNOHANG) != rsh) {
		if (sigtimedwait(&child, NULL, &beat) < 0 && errno == EAGAIN)
			(void)!write(out, "\n", 1);
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == STATUS_LOST)
		fprintf(stderr,
			"collective-run: host %s: there is no connection, or it was lost; its ranks %d to %d end\n",
			host->name, host->first, host->first + host->n - 1);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int run_host(int index, void *arg)
{
	const struct host *host = &all[index];
	char folder[PATH_MAX], secret[2 * SECRET_SIZE + 1];
	struct job job = {
		.first = host->first,
		.n = host->n,
		.total = total,
		.grace_s = hosts->launch->grace_s,
		.label = hosts->launch->label,
		.unbound = hosts->launch->unbound,
		.rendezvous = getenv("COLL_RENDEZVOUS"),
		.secret = secret,
		.folder = folder,
		.environment = environment,
		.argv = arg,
	};
	int pipes[2], status;
	sigset_t child;
	pid_t rsh;

	if (!getcwd(folder, sizeof(folder)) || pipe2(pipes, O_CLOEXEC)) {
		perror("collective-run");
		return STATUS_START;
	}
	if (read_secret(secret))
		return STATUS_START;
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	rsh = fork();
	if (rsh < 0) {
		perror("fork");
		return STATUS_START;
	}
	if (!rsh)
		be_rsh(host, pipes[0]);
	close(pipes[0]);
	status = feed(host, &job, pipes[1], rsh);
	explicit_bzero(secret, sizeof(secret));
	return status;
}

/* The name by which other hosts know the first one: that to which ssh would connect. */
static void find_name(const char *host, char *name, size_t size)
{
	/* Without -T ssh complains of an input that is no terminal. */
	const char *const argv[] = { "ssh", "-T", "-G", host, NULL };
	char line[1024];
	int pipes[2];
	pid_t ssh;
	FILE *in;

	snprintf(name, size, "%s", host);
	if (strchr(name, '@'))
		memmove(name, strchr(name, '@') + 1, strlen(strchr(name, '@')));
	if (hosts->rsh || pipe2(pipes, O_CLOEXEC))
		return;
	ssh = fork();
	if (!ssh) {
		dup2(pipes[1], STDOUT_FILENO);
		execvp(argv[0], (char **)argv);
		_exit(1);
	}
	close(pipes[1]);
	in = fdopen(pipes[0], "r");
	while (in && fgets(line, sizeof(line), in))
		if (!strncmp(line, "hostname ", 9) && strlen(line) - 10 < size) {
			line[strcspn(line, "\n")] = '\0';
			strcpy(name, line + 9);
		}
	if (in)
		fclose(in);
	if (ssh > 0)
		waitpid(ssh, NULL, 0);
}

static char *choose_rendezvous(void)
{
	unsigned short random = 0;
	char name[256], *text;

	find_name(all[0].name, name, sizeof(name));
	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		random = getpid();
	if (asprintf(&text, strchr(name, ':') ? "[%s]:%d" : "%s:%d", name,
		     PORT_FIRST + random % PORTS) < 0)
		return NULL;
	return text;
}

int hosts_run(const struct hosts *parameters)
{
	struct launch launch = {
		.timeout_s = parameters->launch->timeout_s,
		.grace_s = parameters->launch->grace_s,
		.quiet = true,
		.unbound = true,
		.run = run_host,
		.arg = parameters->argv,
	};
	const char **names;
	int i;

	hosts = parameters;
	if (parse_hosts())
		return STATUS_START;
	choose_environment();
	names = calloc(nhosts, sizeof(*names));
	launch.rendezvous = hosts->rendezvous ? hosts->rendezvous : choose_rendezvous();
	if (!names || !launch.rendezvous) {
		perror("collective-run");
		return STATUS_START;
	}
	for (i = 0; i < nhosts; i++)
		names[i] = all[i].name;
	launch.n = nhosts;
	launch.names = names;
	return launch_ranks(&launch);
}
