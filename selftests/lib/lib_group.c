// SPDX-License-Identifier: GPL-2.0-only
#include "lib/lib_group.h"

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

/*
 * Ports below those that connections get by themselves: such a connection, as of a group that runs
 * meanwhile, could take the port before it is listened on.
 */
#define PORT_FIRST	10240
#define PORT_COUNT	20000U

int free_port(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	static unsigned int next;
	int fd, err, port, tries;

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	for (tries = 0; tries < 100; tries++) {
		port = PORT_FIRST + (61U * getpid() + next++) % PORT_COUNT;
		addr.sin_port = htons(port);
		fd = socket(AF_INET, SOCK_STREAM, 0);
		err = fd < 0 ? -errno : bind(fd, (struct sockaddr *)&addr, sizeof(addr));
		close(fd);
		if (!err)
			return port;
	}
	return -EADDRINUSE;
}

static int lib_rank_main(struct lib_rank *me, const struct coll_config *base,
			 const char *rendezvous, bool apart, lib_rank_fn fn)
{
	struct coll_config config = base ? *base : (struct coll_config) { 0 };
	char detail[COLL_DETAIL_SIZE], addr[32];
	int err;

	config.size = sizeof(config);
	config.rank = me->rank;
	config.nranks = me->nranks;
	config.rendezvous = rendezvous;
	if (apart) {
		snprintf(addr, sizeof(addr), "127.0.0.%d", me->rank + 1);
		config.local_addr = addr;
	}
	config.detail = detail;
	config.detail_size = sizeof(detail);
	err = coll_init(&me->comm, &config);
	if (err) {
		dprintf(STDOUT_FILENO, "# rank %d: coll_init: %s\n", me->rank, detail);
		return 1;
	}
	err = fn(me);
	if (!err && me->comm)
		err = links_check(coll_name(me->comm), coll_rank(me->comm),
				  transport_is_local(transport_choice(config.transport)) ?
				  ~0U : 0);
	if (err && me->comm)
		dprintf(STDOUT_FILENO, "# rank %d: %s\n", me->rank,
			coll_error_detail(me->comm));
	if (coll_finalize(me->comm))
		err = 1;
	return err;
}

static int run(int nranks, const struct coll_config *config, bool apart, lib_rank_fn fn, void *arg)
{
	struct group_shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
					   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int i, status, failed = 0, port = free_port();
	pid_t pid[GROUP_RANKS_MAX];
	char rendezvous[32];

	if (shared == MAP_FAILED || port < 0)
		return -1;
	snprintf(rendezvous, sizeof(rendezvous), "127.0.0.1:%d", port);
	for (i = 0; i < nranks; i++) {
		struct lib_rank me = {
			.shared = shared,
			.rank = i,
			.nranks = nranks,
			.arg = arg,
		};

		pid[i] = fork();
		if (!pid[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			_exit(lib_rank_main(&me, config, rendezvous, apart, fn));
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

int lib_group_run(int nranks, const struct coll_config *config, lib_rank_fn fn, void *arg)
{
	return run(nranks, config, false, fn, arg);
}

int lib_group_run_apart(int nranks, const struct coll_config *config, lib_rank_fn fn, void *arg)
{
	return run(nranks, config, true, fn, arg);
}
