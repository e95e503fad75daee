/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The processes that descend from this one.  As it is their subreaper (prctl(2)), they are
 * its descendants whatever becomes of the processes between.
 */
#ifndef DESCENDANTS_H
#define DESCENDANTS_H

#include <sys/types.h>

/**
 * descendants_signal - send a signal to all of them
 * @sig: signal; 0: none, only count
 * @except: a child that is spared, with what descends from it; 0: none
 *
 * Those that have ended and are not reaped do not count.
 *
 * Return: how many there are; -1: /proc does not say.
 */
int descendants_signal(int sig, pid_t except);

/* SIGKILL all of them until there are none, and reap them; for @ms at most. */
void descendants_kill(unsigned int ms);

#endif /* DESCENDANTS_H */
