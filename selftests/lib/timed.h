/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tests that may take longer than the 30 s of the harness: TEST_F_TIMEOUT() has a time of its own,
 * and needs a fixture.  Include after kselftest_harness.h.
 */
#ifndef COLL_TIMED_H
#define COLL_TIMED_H

/* A fixture that is nothing but a name. */
#define TIMED_TESTS(name)	\
	FIXTURE(name) {		\
	};			\
	FIXTURE_SETUP(name)	\
	{			\
	}			\
	FIXTURE_TEARDOWN(name)	\
	{			\
	}

#endif /* COLL_TIMED_H */
