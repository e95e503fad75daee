/* SPDX-License-Identifier: GPL-2.0-only */
/* io_uring commands: their payload, the ring's registered buffers, completion, task work. */
#ifndef COLL_COMPAT_URING_H
#define COLL_COMPAT_URING_H

#include <linux/io_uring/cmd.h>

/* Payload of a 128-byte SQE, which is longer than its field @cmd is declared. */
static inline const void *coll_uring_payload(const struct io_uring_cmd *cmd)
{
	return (const void *)cmd->sqe + offsetof(struct io_uring_sqe, cmd);
}

/*
 * Import a registered buffer of the ring.  Since 6.15 the issue flags are an argument.  All
 * branches of _Generic must compile, so each one calls through an untyped pointer.
 */
static inline int coll_uring_import(u64 addr, unsigned long len, int rw, struct iov_iter *iter,
				    struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	typedef int (untyped)(u64, unsigned long, int, struct iov_iter *, void *);
	typedef int (typed)(u64, unsigned long, int, struct iov_iter *, struct io_uring_cmd *);
	typedef int (flagged)(u64, unsigned long, int, struct iov_iter *, struct io_uring_cmd *,
			      unsigned int);
	void *import = io_uring_cmd_import_fixed;

	return _Generic(&io_uring_cmd_import_fixed,
		untyped *: ((untyped *)import)(addr, len, rw, iter, cmd),
		typed *: ((typed *)import)(addr, len, rw, iter, cmd),
		flagged *: ((flagged *)import)(addr, len, rw, iter, cmd, issue_flags));
}

/* Complete a command.  Since 6.18 a completion with @extra has a function of its own. */
static inline void coll_uring_done(struct io_uring_cmd *cmd, int result, u64 extra, bool big,
				   unsigned int issue_flags)
{
#ifdef COLL_HAS_URING_DONE32
	if (big)
		io_uring_cmd_done32(cmd, result, extra, issue_flags);
	else
		io_uring_cmd_done(cmd, result, issue_flags);
#else
	io_uring_cmd_done(cmd, result, extra, issue_flags);
#endif
}

/* Define task work of a command.  Since 6.19 it has the type of any request's task work. */
#ifdef COLL_HAS_URING_FROM_TW
#define COLL_URING_TASK_WORK(_name, _cmd, _flags)				\
	static void _name##_work(struct io_uring_cmd *_cmd, unsigned int _flags); \
	static void _name(struct io_tw_req tw_req, io_tw_token_t tw)		\
	{									\
		_name##_work(io_uring_cmd_from_tw(tw_req),			\
			     IO_URING_CMD_TASK_WORK_ISSUE_FLAGS);		\
	}									\
	static void _name##_work(struct io_uring_cmd *_cmd, unsigned int _flags)
#else
#define COLL_URING_TASK_WORK(_name, _cmd, _flags)				\
	static void _name(struct io_uring_cmd *_cmd, unsigned int _flags)
#endif

#endif /* COLL_COMPAT_URING_H */
