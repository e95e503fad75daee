// SPDX-License-Identifier: GPL-2.0-only
#include "lib/team.h"

#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

int folder_count(const char *path)
{
	DIR *dir = opendir(path);
	int n = 0;

	if (!dir)
		return -errno;
	while (readdir(dir))
		n++;
	closedir(dir);
	return n - 2;
}

int team_port(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	socklen_t length = sizeof(addr);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, length) ||
	    getsockname(fd, (struct sockaddr *)&addr, &length))
		return -errno;
	close(fd);
	return ntohs(addr.sin_port);
}

static int mate_main(struct mate *mate, const struct coll_config *base, const char *rendezvous,
		     mate_fn fn)
{
	struct coll_config config = base ? *base : (struct coll_config) { 0 };
	char detail[COLL_DETAIL_SIZE];
	int err;

	config.size = sizeof(config);
	config.rank = mate->rank;
	config.nranks = mate->nranks;
	config.rendezvous = rendezvous;
	config.detail = detail;
	config.detail_size = sizeof(detail);
	err = coll_init(&mate->comm, &config);
	if (err) {
		dprintf(STDOUT_FILENO, "# rank %d: coll_init: %s\n", mate->rank, detail);
		return 1;
	}
	err = fn(mate);
	if (err && mate->comm)
		dprintf(STDOUT_FILENO, "# rank %d: %s\n", mate->rank,
			coll_error_detail(mate->comm));
	if (coll_finalize(mate->comm))
		err = 1;
	return err;
}

int team_run(int nranks, const struct coll_config *config, mate_fn fn, void *arg)
{
	struct group_shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
					   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int i, status, failed = 0, port = team_port();
	pid_t pid[GROUP_RANKS_MAX];
	char rendezvous[32];

	if (shared == MAP_FAILED || port < 0)
		return -1;
	snprintf(rendezvous, sizeof(rendezvous), "127.0.0.1:%d", port);
	for (i = 0; i < nranks; i++) {
		struct mate mate = {
			.shared = shared,
			.rank = i,
			.nranks = nranks,
			.arg = arg,
		};

		pid[i] = fork();
		if (!pid[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			_exit(mate_main(&mate, config, rendezvous, fn));
		}
	}
	for (i = 0; i < nranks; i++) {
		if (pid[i] < 0 || waitpid(pid[i], &status, 0) < 0 || !WIFEXITED(status) ||
		    WEXITSTATUS(status))
			failed++;
	}
	munmap(shared, sizeof(*shared));
	return failed;
}
