/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CTL_H
#define CTL_H

#include <stdbool.h>

#define CTL_SYSFS	"/sys/class/collective/collective"
#define CTL_DEBUGFS	"/sys/kernel/debug/collective"
#define CTL_MODULE	"/sys/module/collective"
#define CTL_DEVICE	"/dev/collective"

/* The first line of a file, no newline; NULL when it cannot be read. */
char *ctl_read(const char *directory, const char *name);

/*
 * Print the groups below @sysfs; @only: that one, or NULL.
 * Return: 0; 1: no such group; 2: no module.
 */
int ctl_show(const char *sysfs, const char *only, bool json);

/*
 * Print what has happened to the groups below @debugfs; @only: to GROUP of this network
 * namespace, or to GROUP@NETNS; NULL: to all of this network namespace.
 * Return: 0; 1: no such group; 2: it cannot be read.
 */
int ctl_record(const char *debugfs, const char *only);

/* Print what libcollective needs here.  0: all there, 1: not. */
int ctl_check(void);

#endif /* CTL_H */
