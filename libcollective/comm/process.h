/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef COLL_PROCESS_H
#define COLL_PROCESS_H

#include <sys/types.h>

/*
 * Both are known without a system call but for the first time: every operation asks for them, and a
 * small one is little more than its own system call.  Any thread may call them, also in a child.
 */

/* Return: the id of this process. */
pid_t coll_process_id(void);

/* Return: a number that no ancestor and no descendant of this process has. */
unsigned long coll_process_number(void);

/*
 * Keep the file that this library is linked into from being unmapped by dlclose().  To be called
 * before a thread is started, or a function is registered, that may outlive the call.  The shared
 * library is linked with -z nodelete as well; this is for plugins that have the static one.
 */
void coll_process_keep_library(void);

#endif /* COLL_PROCESS_H */
