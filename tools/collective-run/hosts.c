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
#include <sys/ioctl.h>
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
#define ENDED_US	50000	/* from the end of ssh to the message about it */

enum { STATUS_START = 125, STATUS_LOST = 255 };	/* 255 is ssh's own */

/*
 * The command that starts the agent: the program whose path comes first on standard input, or else
 * that of the PATH.  The login shell, which may be csh or fish, only has to know exec and a quoted
 * word.  So nothing in it may be special inside the quotes of any shell: no quote, \ or !.
 */
static const char agent_command[] =
	"exec /bin/sh -c 'IFS= read -r a; [ -x \"$a\" ] || a=collective-run; exec \"$a\" --agent'";

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
static char **environment;

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

static int choose_environment(void)
{
	const char **name;
	char **variable;
	size_t n = 0;

	for (name = hosts->exports; *name; name++)
		if (!getenv(*name))
			fprintf(stderr, "collective-run: -x %s: this variable is not set here\n",
				*name);
	for (variable = environ; *variable; variable++)
		n++;
	environment = calloc(n + 1, sizeof(*environment));
	if (!environment) {
		perror("environment");
		return -1;
	}
	for (variable = environ, n = 0; *variable; variable++)
		if (is_exported(*variable))
			environment[n++] = *variable;
	return 0;
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

static const char *rsh_name(void)
{
	return hosts->rsh ? hosts->rsh : "ssh";
}

/* Write the path of this program, which the agent has if it is at the same place there. */
static int write_path(int out)
{
	char self[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[length > 0 ? length : 0] = '\0';
	return dprintf(out, "%s\n", strchr(self, '\n') ? "" : self) < 0 ? -1 : 0;
}

static void be_rsh(const struct host *host, int in)
{
	const char *const argv[] = {
		rsh_name(), "-oBatchMode=yes", "-oServerAliveInterval=5",
		"-oServerAliveCountMax=3", "-oConnectTimeout=20", "-T", host->name, agent_command,
		NULL,
	};
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (dup2(in, STDIN_FILENO) < 0)
		_exit(STATUS_START);
	execvp(argv[0], (char **)argv);
	fprintf(stderr, "collective-run: %s: %s\n", argv[0], strerror(errno));
	_exit(STATUS_START);
}

/* Say how ssh has ended.  @unread: true if nothing has read the whole job. */
static void report_end(const struct host *host, int status, bool unread)
{
	char how[PATH_MAX + 100];

	/* If the job is being ended, this process has a signal coming, and says nothing. */
	usleep(ENDED_US);
	if (WIFSIGNALED(status))
		snprintf(how, sizeof(how), "%s was killed by signal %d (%s)", rsh_name(),
			 WTERMSIG(status), strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status) == STATUS_LOST)
		snprintf(how, sizeof(how), "there is no connection, or it was lost");
	else
		snprintf(how, sizeof(how), "%s exited with status %d%s", rsh_name(),
			 WEXITSTATUS(status),
			 unread ? " and has not started collective-run there" : "");
	/* In one piece: other hosts report at the same time. */
	fprintf(stderr, "collective-run: host %s: %s; its ranks %d to %d end\n", host->name, how,
		host->first, host->first + host->n - 1);
}

/* Write the job, and then a byte now and then, until ssh ends.  Return: its exit status. */
static int feed(const struct host *host, const struct job *job, int out, pid_t rsh)
{
	const struct timespec beat = { .tv_sec = JOB_BEAT_MS / 1000 };
	int status, left = 0, beats = 0;
	bool unread = write_path(out) || job_write(out, job);
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	/* Of a connection that fails, ssh has the reason. */
	if (unread && errno != EPIPE) {
		fprintf(stderr, "collective-run: host %s: its job cannot be sent: %s\n",
			host->name, strerror(errno));
		kill(rsh, SIGKILL);
		waitpid(rsh, &status, 0);
		return STATUS_START;
	}
	while (waitpid(rsh, &status, WNOHANG) != rsh) {
		if (sigtimedwait(&child, NULL, &beat) < 0 && errno == EAGAIN)
			beats += write(out, "\n", 1) == 1;
	}
	unread |= !ioctl(out, FIONREAD, &left) && left > beats;
	if (status || unread)
		report_end(host, status, unread);
	if (WIFSIGNALED(status))
		return 128 + WTERMSIG(status);
	return !status && unread ? STATUS_START : WEXITSTATUS(status);
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
	if (choose_environment())
		return STATUS_START;
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
