// SPDX-License-Identifier: GPL-2.0-only
/* COLL_CONFIG_CHECK_DATAGRAMS: coll_init() finds out that datagrams do not pass between hosts. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "network.h"
#include "session.h"
#include "tap.h"

static void prepare(struct session *session)
{
	static const char * const addresses[] = { "10.77.0.1", "10.77.0.2", "10.77.0.3" };
	int rank;

	*session = (struct session) { .nranks = 3, .secured = true, .rendezvous = "10.77.0.1" };
	for (rank = 0; rank < 3; rank++)
		session->members[rank].local = addresses[rank];
}

static void test_pass(void)
{
	struct session session;
	int rank;

	prepare(&session);
	if (!tap_ok(!session_run(&session), "datagrams pass"))
		session_note(&session);
	/* One host has nothing to check, and does not wait. */
	prepare(&session);
	for (rank = 0; rank < 3; rank++)
		session.members[rank].local = "10.77.0.1";
	if (!tap_ok(!session_run(&session), "ranks of one host"))
		session_note(&session);
}

static void expect_silence(struct session *session, const char *name)
{
	int rank;

	session_run(session);
	for (rank = 0; rank < 3; rank += 2)
		if (session->outcomes[rank].err != -EHOSTUNREACH ||
		    !strstr(session->outcomes[rank].detail, "no datagram of rank 1,"))
			break;
	if (!tap_ok(rank == 4 && session->outcomes[1].err == 0, "%s", name))
		session_note(session);
}

/* @rule: of nft, for packets from rank 1. */
static void test_filter(const char *rule, const char *name)
{
	struct session session;
	char command[200];

	snprintf(command, sizeof(command), "nft 'add table inet t; %s; %s %s' 2>/dev/null",
		 "add chain inet t in { type filter hook input priority 0; }",
		 "add rule inet t in ip saddr 10.77.0.2", rule);
	if (system(command)) {
		tap_skip("no nft", "%s", name);
		return;
	}
	prepare(&session);
	expect_silence(&session, name);
	unsetenv("COLL_CHECK_DATAGRAMS");
	prepare(&session);
	session.check_datagrams = true;
	expect_silence(&session, "as the flag asks for it");
	prepare(&session);
	if (!tap_ok(!session_run(&session), "is not looked for unasked"))
		session_note(&session);
	setenv("COLL_CHECK_DATAGRAMS", "1", 1);
	system("nft delete table inet t");
}

int main(void)
{
	tap_plan(0);
	setenv("COLL_CHECK_DATAGRAMS", "1", 1);
	if (!network_enter()) {
		tap_skip("no network namespace", "datagrams");
		return tap_exit();
	}
	test_pass();
	test_filter("meta l4proto udp drop", "a filter that drops what rank 1 sends");
	test_filter("meta l4proto udp reject", "a filter that rejects it");
	return tap_exit();
}
