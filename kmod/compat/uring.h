/* SPDX-License-Identifier: GPL-2.0-only */
/* Commands of io_uring: how one is completed, in its task, and finds the ring's buffers. */
#ifndef COLL_COMPAT_URING_H
#define COLL_COMPAT_URING_H

#include <linux/version.h>
#include <linux/io_uring/cmd.h>

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 14, 0)
#define coll_uring_import(addr, len, rw, iter, cmd, issue_flags) \
	io_uring_cmd_import_fixed(addr, len, rw, iter, cmd, issue_flags)
#else
#define coll_uring_import(addr, len, rw, iter, cmd, issue_flags) \
	io_uring_cmd_import_fixed(addr, len, rw, iter, cmd)
#endif

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 19, 0)
#define COLL_URING_TASK_WORK(_name, _cmd, _flags)				\
	static void _name##_work(struct io_uring_cmd *_cmd, unsigned int _flags); \
	static void _name(struct io_tw_req tw_req, io_tw_token_t tw)		\
	{									\
		_name##_work(io_uring_cmd_from_tw(tw_req),			\
			     IO_URING_CMD_TASK_WORK_ISSUE_FLAGS);		\
	}									\
	static void _name##_work(struct io_uring_cmd *_cmd, unsigned int _flags)

static inline void coll_uring_done(struct io_uring_cmd *cmd, int result, u64 extra, bool big,
				   unsigned int issue_flags)
{
	if (big)
		io_uring_cmd_done32(cmd, result, extra, issue_flags);
	else
		io_uring_cmd_done(cmd, result, issue_flags);
}
#else
#define COLL_URING_TASK_WORK(_name, _cmd, _flags)				\
	static void _name(struct io_uring_cmd *_cmd, unsigned int _flags)

/* @extra goes where there is room for it. */
static inline void coll_uring_done(struct io_uring_cmd *cmd, int result, u64 extra, bool big,
				   unsigned int issue_flags)
{
	io_uring_cmd_done(cmd, result, extra, issue_flags);
}
#endif

#endif /* COLL_COMPAT_URING_H */
