/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef GUARD_H
#define GUARD_H

/**
 * guard_run - do something in a child, and leave nothing behind if it is killed
 * @run: what; gives the exit status
 * @arg: for @run
 *
 * This process hands SIGINT, SIGTERM and SIGHUP on to the child, which gets SIGTERM if this
 * process dies.  If the child is killed, what it has started is killed too.  So whichever of
 * the two is killed, by SIGKILL even, the other one sees to it that all processes end.
 *
 * Return: the child's status, or 128 and the signal that killed it; 125: there is no child.
 */
int guard_run(int (*run)(void *arg), void *arg);

#endif /* GUARD_H */
