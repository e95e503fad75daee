// SPDX-License-Identifier: GPL-2.0-only
/*
 * One rank of a group on two machines.  Rank 3, on the other machine, calls some operations late,
 * and then stops itself before another one.  Rank 0 runs "collectivectl why", which names the
 * process and its machine, "collectivectl rank", and "collectivectl time straggler", which names
 * rank 3, too, whatever rank of that machine passes its delay on.  Then rank 3 continues, and all
 * results are right.
 *
 *	query_ranks NODE
 *
 * NODE is the name of rank 3's machine; the environment of the launcher gives the rank.
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "init.h"

#define STOPPED		3U
#define OPERATIONS	17
#define LATE_US		100000

static char output[1 << 16];

/* Return: the exit status of a command; @output has what it printed. */
static int run(const char *command)
{
	FILE *pipe = popen(command, "r");
	size_t n;
	int status;

	if (!pipe)
		return -1;
	n = fread(output, 1, sizeof(output) - 1, pipe);
	output[n] = '\0';
	status = pclose(pipe);
	printf("# %s: %d: %s", command, WEXITSTATUS(status), output);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Stops this process; a child lets it continue. */
static int stop_for(unsigned int seconds)
{
	pid_t parent = getpid(), pid = fork();

	if (pid < 0)
		return 1;
	if (!pid) {
		sleep(seconds);
		_exit(kill(parent, SIGCONT));
	}
	raise(SIGSTOP);
	return waitpid(pid, NULL, 0) != pid;
}

static int sum(struct coll_comm *comm, uint32_t mine, uint32_t *total)
{
	return coll_allreduce(comm, &mine, total, 1, COLL_UINT32, COLL_SUM);
}

static int ask(uint32_t pid, const char *node)
{
	char wanted[300];
	int status;

	sleep(3);
	status = run("collectivectl why 2>&1");
	snprintf(wanted, sizeof(wanted), ": INCOMPLETE: rank 3 (pid %u on %s) is stopped and %s",
		 pid, node, "has not called allreduce #17; 3 ranks have waited ");
	if (status != 11 || !strstr(output, wanted)) {
		printf("# not in it: %s\n", wanted);
		return 1;
	}
	snprintf(wanted, sizeof(wanted), "collectivectl -j rank | jq -e '.ranks | %s and %s\"%s\"'",
		 "length == 4 and .[3].stopped and .[0].oldest == \"allreduce #17\"",
		 ".[2].node == .[3].node and .[3].node == ", node);
	if (run(wanted))
		return 1;
	run("collectivectl time straggler");
	snprintf(wanted, sizeof(wanted),
		 "collectivectl -j time straggler | jq -e '.stragglers | %s and %s and %s\"%s\"'",
		 "([.[] | select(.straggler and .late > 1e9) | .rank] == [3])",
		 "([.[] | select(.waited)] | length == 4)", ".[3].node == ", node);
	return run(wanted);
}

int main(int argc, char **argv)
{
	uint32_t pid = 0, total = 0;
	struct coll_comm *comm;
	unsigned int i;

	if (argc != 2)
		return 2;
	comm = init_comm();
	if (!comm || coll_size(comm) != 4)
		return 1;
	if (sum(comm, coll_rank(comm) == STOPPED ? getpid() : 0, &pid))
		return 1;
	for (i = 1; i < OPERATIONS; i++) {
		if (coll_rank(comm) == STOPPED)
			usleep(LATE_US);
		if (sum(comm, coll_rank(comm), &total) || total != 6)
			return 1;
	}
	if (coll_rank(comm) == STOPPED && stop_for(20))
		return 1;
	if (!coll_rank(comm)) {
		/* The other ranks wait meanwhile, and so does a request of this one. */
		struct coll_request *request;
		uint32_t mine = 0;

		if (coll_iallreduce(comm, &mine, &total, 1, COLL_UINT32, COLL_SUM, &request) ||
		    ask(pid, argv[1]) || coll_wait(request))
			return 1;
	} else if (sum(comm, coll_rank(comm), &total)) {
		return 1;
	}
	if (total != 6 || sum(comm, 1, &total) || total != 4)
		return 1;
	coll_finalize(comm);
	return 0;
}
