/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For a test that does the same whatever COLL_TRANSPORT says, and no less on a slow machine: the
 * suites of one transport leave it out.  A script has a comment instead.
 */
#ifndef COLL_ANY_TRANSPORT_H
#define COLL_ANY_TRANSPORT_H

/* selftests/run-programs --links searches the program for this text. */
static const char any_transport[] __attribute__((used)) = "any-transport";

#endif /* COLL_ANY_TRANSPORT_H */
