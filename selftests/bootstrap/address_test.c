// SPDX-License-Identifier: GPL-2.0-only
/* Addresses of ranks on hosts without 127.0.0.1. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <collective.h>

#include "bootstrap/address.h"
#include "comm/comm.h"
#include "tap.h"

/*
 * A group of one in a network namespace of its own, after @commands; @want: the expected address.
 */
static void alone(const char *commands, const char *want, int err)
{
	char text[COLL_DETAIL_SIZE] = "", addr[COLL_ADDRESS_TEXT] = "";
	struct coll_config config = {
		.size = sizeof(config),
		.detail = text,
		.detail_size = sizeof(text),
	};
	struct coll_comm *comm;
	int status, got;
	bool right;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		if (unshare(CLONE_NEWNET) || system(commands))
			_exit(4);
		got = coll_init(&comm, &config);
		right = got == err;
		if (!got) {
			coll_address_format(&comm->addr, addr);
			right &= !strncmp(addr, want, strlen(want));
			coll_finalize(comm);
		} else {
			right &= !!strstr(text, want);
		}
		if (!right)
			tap_note("%d %s %s", got, addr, text);
		fflush(NULL);
		_exit(!right);
	}
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 4)
		tap_skip("no network namespace", "%s", commands);
	else
		tap_ok(!status, "a group of one after: %s", commands);
}

int main(void)
{
	clearenv();
	setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1);
	tap_plan(6);
	alone("ip link set lo up", "127.0.0.1:", 0);
	alone("true", "127.0.0.1:", 0);
	alone("ip link set lo up; ip addr del 127.0.0.1/8 dev lo", "[::1]:", 0);
	alone("ip link set lo up; ip a flush dev lo; ip a add 10.9.8.7/32 dev lo", "10.9.8.7:", 0);
	alone("ip link set lo up; ip addr flush dev lo", "ip link set lo up", -EADDRNOTAVAIL);
	alone("ip l add v0 type veth; ip l set group 0 up; ip a flush lo; ip a add fd88::1 dev v0",
	      "[fd88::1]:", 0);
	return tap_exit();
}
