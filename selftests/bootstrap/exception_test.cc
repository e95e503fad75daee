// SPDX-License-Identifier: GPL-2.0-only
/* Functions of the caller's that a C++ exception leaves: the process ends, and no handler is found. */
#include <cerrno>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

#include "collective.h"

enum { TERMINATED = 42, CAUGHT, RETURNED };

static int n, failed;

static void ok(bool passed, const char *what)
{
	std::printf("%s %d - %s\n", passed ? "ok" : "not ok", ++n, what);
	failed |= !passed;
}

static int throw_it(void)
{
	throw std::runtime_error("a callback");
}

static int exchange(void *, const void *, size_t, void *)
{
	return throw_it();
}

static int interrupt(void *)
{
	return throw_it();
}

/* Nobody listens at the rendezvous, so that @interrupt is called. */
static int run(bool with_exchange)
{
	struct coll_config config = {};
	struct coll_comm *comm;

	config.size = sizeof(config);
	config.rank = 1;
	config.nranks = 2;
	config.init_timeout_ms = 3000;
	config.flags = COLL_CONFIG_INSECURE;
	if (with_exchange) {
		config.exchange = exchange;
	} else {
		config.interrupt = interrupt;
		config.rendezvous = "127.0.0.1:9";
	}
	std::set_terminate([] { _exit(TERMINATED); });
	try {
		coll_init(&comm, &config);
	} catch (...) {
		return CAUGHT;
	}
	return RETURNED;
}

static int run_child(bool with_exchange)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(run(with_exchange));
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(void)
{
	std::printf("TAP version 13\n1..2\n");
	std::fflush(stdout);
	ok(run_child(true) == TERMINATED, "an exception that leaves exchange");
	ok(run_child(false) == TERMINATED, "and one that leaves interrupt");
	return failed;
}
