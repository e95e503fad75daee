// SPDX-License-Identifier: GPL-2.0-only
/* A function of the caller's ends coll_init(), wherever it waits. */
#include <errno.h>
#include <string.h>

#include "session.h"
#include "tap.h"

#define AFTER_MS	300
#define MEET_MS		1500	/* until ranks have met */
#define LIMIT_MS	5000	/* of a busy machine; the time limit of coll_init() is 20 s */
#define NEVER		100000000

/* Does a rank that was interrupted end soon, with this text? */
static bool is_interrupted(const struct session *session, int rank, const char *text)
{
	const struct outcome *outcome = &session->outcomes[rank];

	return outcome->done && outcome->err == -ECANCELED && outcome->ms >= AFTER_MS &&
	       outcome->ms < AFTER_MS + LIMIT_MS && outcome->asked > 1 &&
	       !strncmp(outcome->detail, "interrupted: ", 13) && strstr(outcome->detail, text);
}

static void test_alone(void)
{
	struct session session = { .nranks = 2, .secured = true, .rendezvous = "127.0.0.1" };
	int rank;

	for (rank = 0; rank < 2; rank++) {
		memset(session.members, 0, sizeof(session.members));
		session.members[rank].interrupt_ms = AFTER_MS + 1;
		session_prepare(&session);
		session_start_rank(&session, rank);
		session_wait(&session);
		if (!tap_ok(is_interrupted(&session, rank, rank ? "cannot reach rank 0" :
						   "rank 0 was interrupted"),
			    "rank %d, which waits for the other", rank))
			session_note(&session);
	}
}

static void test_resolver(void)
{
	struct session session = { .nranks = 2, .secured = true };
	int rank;

	for (rank = 0; rank < 2; rank++)
		session.members[rank] = (struct member) {
			.answer = "127.0.0.1", .slow_ms = 15000, .interrupt_ms = AFTER_MS + 1,
		};
	session_run(&session);
	if (!tap_ok(is_interrupted(&session, 0, "") && is_interrupted(&session, 1, ""),
		    "ranks that wait for the resolver"))
		session_note(&session);
}

/* Ranks 0 and 1 meet, and wait for rank 2; one of them is interrupted. */
static void run_two(struct session *session, int interrupted)
{
	memset(session->members, 0, sizeof(session->members));
	session->members[interrupted].interrupt_ms = MEET_MS + 1;
	session_prepare(session);
	session_start_rank(session, 0);
	session_start_rank(session, 1);
	session_wait(session);
}

static void test_others_hear(void)
{
	struct session session = { .nranks = 3, .secured = true, .rendezvous = "127.0.0.1" };

	run_two(&session, 0);
	if (!tap_ok(is_interrupted(&session, 0, "") && session.outcomes[1].err == -ECANCELED &&
		    strstr(session.outcomes[1].detail, "rank 0 was interrupted"),
		    "a rank hears that rank 0 was interrupted"))
		session_note(&session);
	run_two(&session, 1);
	if (!tap_ok(is_interrupted(&session, 1, "") && session.outcomes[0].err == -ECONNRESET &&
		    strstr(session.outcomes[0].detail, "rank 1 (127.0.0.1"),
		    "rank 0 names the rank that was"))
		session_note(&session);
}

static bool is_asked_in_measure(const struct outcome *outcome)
{
	return outcome->asked >= 2 && outcome->asked < outcome->ms / 40 + 5;
}

/* A function that does not want the end changes nothing, and is not asked all the time. */
static void test_not_wanted(void)
{
	struct session session = { .nranks = 3, .secured = true, .rendezvous = "127.0.0.1" };
	unsigned int failed;
	int rank;

	for (rank = 0; rank < 3; rank++)
		session.members[rank].interrupt_ms = NEVER;
	session.members[2].start_ms = 1000;
	failed = session_run(&session);
	if (!tap_ok(!failed && is_asked_in_measure(&session.outcomes[0]) &&
		    is_asked_in_measure(&session.outcomes[1]),
		    "a group of ranks that could be interrupted (asked %u and %u times)",
		    session.outcomes[0].asked, session.outcomes[1].asked))
		session_note(&session);
}

/* The time that the function takes does not put the limit off. */
static void test_slow_function(void)
{
	struct session session = { .nranks = 2, .secured = true, .rendezvous = "127.0.0.1",
				   .timeout_ms = 1500 };

	session.members[1].interrupt_ms = NEVER;
	session.members[1].ask_ms = 300;
	session_prepare(&session);
	session_start_rank(&session, 1);
	session_wait(&session);
	if (!tap_ok(session.outcomes[1].err == -ETIMEDOUT && session.outcomes[1].ms < 4000,
		    "a slow function (%u ms, asked %u times)", session.outcomes[1].ms,
		    session.outcomes[1].asked))
		session_note(&session);
}

int main(void)
{
	tap_plan(7);
	test_alone();
	test_resolver();
	test_others_hear();
	test_not_wanted();
	test_slow_function();
	return tap_exit();
}
