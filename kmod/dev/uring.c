// SPDX-License-Identifier: GPL-2.0-only
/*
 * Operations as SQEs of io_uring (Documentation/design/overview.rst).
 *
 * A command has at most one request, and a request from here has one command.  The command keeps
 * the result of its request.  Its task work collects the request, unless LEAVE has done that, and
 * then completes the command.  The command keeps its file open, and the file its member.
 *
 * From io_uring_cmd_mark_cancelable() on io_uring drops a command only when it is completed, so
 * an error is then a completion, too.
 */
#include "compat/uring.h"
#include "dev/dev.h"
#include "mem/pin.h"
#include "member/member.h"
#include "op/request.h"
#include "op/wait.h"

/**
 * struct uring_pdu - the module's part of a command
 * @id: of the complete request
 * @received: of it: see struct coll_request
 * @error: result of the operation; negative errno or 0
 * @issue_flags: valid while the command is issued
 * @big: true if the CQE has 32 bytes, so that the received length fits
 */
struct uring_pdu {
	u64 id;
	u64 received;
	int error;
	unsigned int issue_flags;
	bool big;
};

static struct uring_pdu *uring_pdu(struct io_uring_cmd *cmd)
{
	return io_uring_cmd_to_pdu(cmd, struct uring_pdu);
}

COLL_URING_TASK_WORK(uring_finish, cmd, issue_flags)
{
	struct coll_member *member = cmd->file->private_data;
	const struct uring_pdu *pdu = uring_pdu(cmd);

	coll_wait_collect(&member->requests, pdu->id);
	coll_uring_done(cmd, pdu->error, pdu->received, pdu->big, issue_flags);
}

/* Called with [l].  LEAVE may free the request as soon as that is unlocked. */
static void uring_complete(struct coll_request *request)
{
	struct uring_pdu *pdu = uring_pdu(request->completion_ctx);

	pdu->id = request->id;
	pdu->error = request->error;
	pdu->received = request->received;
	io_uring_cmd_complete_in_task(request->completion_ctx, uring_finish);
}

static struct coll_buffer *uring_import(const struct coll_request *request, u64 addr, u64 length,
					bool writable)
{
	struct io_uring_cmd *cmd = request->completion_ctx;
	struct iov_iter iter;
	int err;

	/* io_uring keeps the buffer that this finds as long as the command. */
	err = coll_uring_import(addr, length, writable ? ITER_DEST : ITER_SOURCE, &iter, cmd,
				uring_pdu(cmd)->issue_flags);
	if (err)
		return ERR_PTR(err);
	return coll_buffer_import(request->reqs->charges, request->reqs->pinned, &iter, addr,
				length, writable);
}

static const struct coll_completion_ops uring_own = {
	.done	= uring_complete,
};

static const struct coll_completion_ops uring_fixed = {
	.done	= uring_complete,
	.import	= uring_import,
};

static int uring_submit(struct coll_member *member, struct io_uring_cmd *cmd,
			unsigned int issue_flags)
{
	bool fixed = cmd->flags & IORING_URING_CMD_FIXED;
	struct uring_pdu *pdu = uring_pdu(cmd);
	struct coll_request *request;
	struct collective_op op;
	int err;

	if (!(issue_flags & IO_URING_F_SQE128))
		return -EINVAL;
	/* The user may change the SQE at any time, so it is read once. */
	memcpy(&op, coll_uring_payload(cmd), sizeof(op));
	pdu->issue_flags = issue_flags;
	pdu->big = issue_flags & IO_URING_F_CQE32;
	if ((op.flags & COLLECTIVE_F_VARLEN && !pdu->big) ||
	    (fixed && (op.send_buffer || op.recv_buffer)))
		return -EINVAL;
	request = coll_request_new(&member->requests, &op, fixed ? &uring_fixed : &uring_own, cmd);
	if (IS_ERR(request))
		return PTR_ERR(request);

	request->user_data = cmd_to_io_kiocb(cmd)->cqe.user_data;
	io_uring_cmd_mark_cancelable(cmd, issue_flags);
	err = coll_request_start(request, NULL);
	if (err) {
		coll_request_free(request);
		/* The thread is to end: nothing is repeated. */
		err = err == -ERESTARTSYS ? -EINTR : err;
		coll_uring_done(cmd, err, 0, pdu->big, issue_flags);
	}
	return -EIOCBQUEUED;
}

static int uring_cancel(struct coll_member *member, struct io_uring_cmd *cmd)
{
	struct collective_cancel cancel;

	memcpy(&cancel, coll_uring_payload(cmd), sizeof(cancel));
	return cancel.size == sizeof(cancel) ? coll_dev_cancel(member, &cancel) : -EINVAL;
}

/* The ring or the submitting thread ends; the command completes with its request, as always. */
static int uring_end(struct coll_member *member, struct io_uring_cmd *cmd)
{
	/* The failure of the group ends the operation, and tells the other ranks the reason. */
	if (coll_exit_of(member)) {
		coll_exit_report(member);
	} else if (!coll_member_hold(member)) {
		/* LEAVE frees links and lanes as soon as the operation has ended. */
		coll_request_cancel(&member->requests, COLL_FIND_BY_CTX, (uintptr_t)cmd);
		coll_member_drop(member);
	}
	return 0;
}

/**
 * coll_uring_cmd() - IORING_OP_URING_CMD
 * @cmd: the command
 * @issue_flags: IO_URING_F_*
 *
 * Context: process of the ring, its lock held (but not in io-wq).
 * Return: 0, a negative errno, or -EIOCBQUEUED.
 */
int coll_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	struct coll_member *member = cmd->file->private_data;
	int err;

	if (issue_flags & IO_URING_F_CANCEL)
		return uring_end(member, cmd);
	if (cmd->cmd_op == COLLECTIVE_IOC_CANCEL)
		return uring_cancel(member, cmd);
	if (cmd->cmd_op != COLLECTIVE_IOC_SUBMIT)
		return -ENOTTY;
	err = coll_member_use(member, COLLECTIVE_STATE_UP);
	if (err)
		return err;
	err = uring_submit(member, cmd, issue_flags);
	coll_member_unuse(member);
	if (err != -EAGAIN)
		return err;
	/* Returned, it would pass the SQE to io-wq, which keeps no order. */
	coll_uring_done(cmd, err, 0, issue_flags & IO_URING_F_CQE32, issue_flags);
	return -EIOCBQUEUED;
}
