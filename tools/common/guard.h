/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef GUARD_H
#define GUARD_H

/**
 * guard_run - call a function in a child, and leave no processes behind if it is killed
 * @run: function; returns the exit status
 * @arg: argument of @run
 *
 * This process forwards SIGINT, SIGTERM and SIGHUP to the child.  The child gets SIGTERM if
 * this process dies.  If the child is killed, this process kills its descendants.  So if
 * either of the two is killed, even by SIGKILL, the other one ends all processes.
 *
 * Return: the child's exit status; 128 + the signal that killed it; 125: fork() failed.
 */
int guard_run(int (*run)(void *arg), void *arg);

#endif /* GUARD_H */
