/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_KERNEL_LINUX_PID_H
#define COLL_KERNEL_LINUX_PID_H

#include <linux/sched.h>

struct pid;

#define task_tgid(task)		((task)->tgid)
#define task_tgid_nr(task)	((void)(task), 1)
#define task_tgid_vnr(task)	((void)(task), 1)
#define get_pid(pid)		(pid)
#define put_pid(pid)		((void)(pid))

#endif /* COLL_KERNEL_LINUX_PID_H */
