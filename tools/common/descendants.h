/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The descendants of this process.  Because it is their subreaper (prctl(2)), they remain its
 * descendants when the processes between end.
 */
#ifndef DESCENDANTS_H
#define DESCENDANTS_H

#include <sys/types.h>

/**
 * descendants_signal - send a signal to all descendants
 * @sig: signal; 0: only count
 * @except: child that is left out, with its descendants; 0: none
 *
 * Zombies do not count.
 *
 * Return: the number of descendants; -1: /proc cannot be read.
 */
int descendants_signal(int sig, pid_t except);

/* Sends SIGKILL to all descendants until none is left, for at most @ms, and reaps them. */
void descendants_kill(unsigned int ms);

#endif /* DESCENDANTS_H */
