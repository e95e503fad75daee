// SPDX-License-Identifier: GPL-2.0-only
/* collective-run - starts the ranks of a group, on this host or on others */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent.h"
#include "hosts.h"
#include "netns.h"
#include "output.h"
#include "launch.h"

enum { OPTION_NETNS = 256, OPTION_NO_BIND, OPTION_RSH, OPTION_AGENT };

#define EXPORTS_MAX	64

static const struct option options[] = {
	{ "ranks", required_argument, NULL, 'n' },
	{ "hosts", required_argument, NULL, 'H' },
	{ "export", required_argument, NULL, 'x' },
	{ "rendezvous", required_argument, NULL, 'r' },
	{ "rsh", required_argument, NULL, OPTION_RSH },
	{ "agent", no_argument, NULL, OPTION_AGENT },
	{ "netns", no_argument, NULL, OPTION_NETNS },
	{ "no-bind", no_argument, NULL, OPTION_NO_BIND },
	{ "ipv6", no_argument, NULL, '6' },
	{ "timeout", required_argument, NULL, 't' },
	{ "kill-after", required_argument, NULL, 'k' },
	{ "label", no_argument, NULL, 'l' },
	{ "version", no_argument, NULL, 'V' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 }
};

static int usage(FILE *to, int status)
{
	fprintf(to,
		"usage: collective-run [options] [--] PROGRAM [ARGUMENT...]\n"
		"  -n, --ranks N      start N ranks (default: the CPUs)\n"
		"  -H, --hosts LIST   on these hosts, by ssh: a,b:4 is 1 rank on a and 4 on b\n"
		"  -x, --export NAME  variable that ranks on other hosts get, besides COLL_*\n"
		"  -r, --rendezvous HOST:PORT  of --hosts (default: a port of the first host)\n"
		"      --rsh PROGRAM  reaches a host, with ssh's arguments (ssh)\n"
		"      --netns        each rank in its own network namespace (root)\n"
		"      --no-bind      each rank on all CPUs, not on its part of them\n"
		"  -6, --ipv6         rendezvous over IPv6\n"
		"  -t, --timeout S    end all ranks after S seconds, status 124\n"
		"  -k, --kill-after S seconds from SIGINT to SIGTERM and to SIGKILL (2)\n"
		"  -l, --label        begin every line of output with its rank\n"
		"  -V, --version      print the version\n"
		"  -h, --help         print the options\n");
	return status;
}

/* An option that would have no effect is refused.  Return: why, or NULL. */
static const char *contradiction(const struct hosts *hosts, bool netns, bool v6)
{
	if (!hosts->list)
		return hosts->exports[0] || hosts->rendezvous || hosts->rsh ?
		       "--export, --rendezvous and --rsh need --hosts" : NULL;
	return netns || v6 ? "--netns and --ipv6 do not go with --hosts" : NULL;
}

static int number(const char *text, long max)
{
	char *end;
	long value = strtol(text, &end, 10);

	return *text && !*end && value > 0 && value <= max ? (int)value : -1;
}

/* Rank 0 gets the standard input, the others an empty one. */
static int run_program(int rank, void *arg)
{
	char **argv = arg;
	int null;

	if (rank) {
		null = open("/dev/null", O_RDONLY);
		if (null < 0 || dup2(null, STDIN_FILENO) < 0) {
			perror("/dev/null");
			return 125;
		}
		if (null != STDIN_FILENO)
			close(null);
	}
	execvp(argv[0], argv);
	fprintf(stderr, "collective-run: %s: %s\n", argv[0], strerror(errno));
	return errno == ENOENT ? 127 : 126;
}

int main(int argc, char **argv)
{
	struct launch launch = {
		.n = sysconf(_SC_NPROCESSORS_ONLN),
		.run = run_program,
	};
	const char *exports[EXPORTS_MAX + 1] = { NULL };
	struct hosts hosts = { .exports = exports, .launch = &launch };
	bool netns = false, v6 = false;
	int option, value, nexports = 0;
	const char *wrong;

	output_check_at_exit(125);
	while ((option = getopt_long(argc, argv, "+n:H:x:r:6t:k:lVh", options,
				     NULL)) != -1) {
		switch (option) {
		case 'n':
			launch.n = number(optarg, LAUNCH_MAX);
			if (launch.n < 0) {
				fprintf(stderr, "%s: 1 to %d ranks\n", argv[0],
					LAUNCH_MAX);
				return 125;
			}
			hosts.n = launch.n;
			break;
		case 'H':
			hosts.list = optarg;
			break;
		case 'x':
			if (nexports == EXPORTS_MAX) {
				fprintf(stderr, "%s: more than %d exports\n", argv[0],
					EXPORTS_MAX);
				return 125;
			}
			if (!*optarg || strchr(optarg, '=')) {
				fprintf(stderr, "%s: '%s' is no name of a variable\n", argv[0],
					optarg);
				return 125;
			}
			exports[nexports++] = optarg;
			break;
		case 'r':
			hosts.rendezvous = optarg;
			break;
		case OPTION_RSH:
			hosts.rsh = optarg;
			break;
		case OPTION_AGENT:
			return agent_run(run_program);
		case OPTION_NETNS:
			netns = true;
			break;
		case OPTION_NO_BIND:
			launch.unbound = true;
			break;
		case '6':
			v6 = true;
			launch.address = "::1";
			break;
		case 't':
			value = number(optarg, 1000000);
			if (value < 0) {
				fprintf(stderr, "%s: %s is no number of seconds\n",
					argv[0], optarg);
				return 125;
			}
			launch.timeout_s = value;
			break;
		case 'k':
			value = number(optarg, 1000000);
			if (value < 0) {
				fprintf(stderr, "%s: %s is no number of seconds\n",
					argv[0], optarg);
				return 125;
			}
			launch.grace_s = value;
			break;
		case 'l':
			launch.label = true;
			break;
		case 'V':
			return output_version();
		case 'h':
			return usage(stdout, 0);
		default:
			return usage(stderr, 125);
		}
	}
	if (optind == argc)
		return usage(stderr, 125);
	wrong = contradiction(&hosts, netns, v6);
	if (wrong) {
		fprintf(stderr, "%s: %s\n", argv[0], wrong);
		return 125;
	}
	launch.arg = argv + optind;
	if (hosts.list) {
		hosts.argv = argv + optind;
		return hosts_run(&hosts);
	}
	if (netns) {
		launch.address = v6 ? NETNS_ADDRESS6_RANK0 :
				      NETNS_ADDRESS_RANK0;
		launch.port = NETNS_PORT;
		launch.prepare = netns_prepare;
		launch.attach = netns_attach;
		if (netns_hub())
			return 125;
	}
	return launch_ranks(&launch);
}
