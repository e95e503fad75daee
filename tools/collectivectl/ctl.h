/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CTL_H
#define CTL_H

#include <stdbool.h>

#define CTL_SYSFS	"/sys/class/collective/collective"
#define CTL_DEBUGFS	"/sys/kernel/debug/collective"
#define CTL_MODULE	"/sys/module/collective"
#define CTL_DEVICE	"/dev/collective"

/* Reads the first line of a file, without the newline.  Return: NULL if it cannot be read. */
char *ctl_read(const char *directory, const char *name);

/*
 * Prints the groups below @sysfs.  @only: the only group to print, or NULL.
 * Return: 0; 1: there is no such group; 2: the module is not loaded.
 */
int ctl_show(const char *sysfs, const char *only, bool json);

/*
 * Prints the flight records of the groups below @debugfs.  @only: GROUP of this network
 * namespace, or GROUP@NETNS; NULL: all groups of this network namespace.
 * Return: 0; 1: there is no such group; 2: a record cannot be read.
 */
int ctl_record(const char *debugfs, const char *only);

/* Prints whether libcollective can be used on this host.  Return: 0: yes; 1: no. */
int ctl_check(void);

#endif /* CTL_H */
