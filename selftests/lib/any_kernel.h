/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For a test of what is above the system calls, which is slow in an emulated machine and does the
 * same with every kernel: the suites of QEMU and of the debug kernel leave it out, and
 * kselftest-tools runs it.  A script has a comment instead.
 */
#ifndef COLL_ANY_KERNEL_H
#define COLL_ANY_KERNEL_H

/* selftests/run-programs searches the program for this text. */
static const char any_kernel[] __attribute__((used)) = "any-kernel";

#endif /* COLL_ANY_KERNEL_H */
