/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef COLL_PROCESS_H
#define COLL_PROCESS_H

#include <sys/types.h>

/*
 * Return: the id of this process, by a system call only once: every operation asks for it, and a
 * small one is little more than its own system call.  Any thread may call it, also in a child.
 */
pid_t coll_process_id(void);

#endif /* COLL_PROCESS_H */
