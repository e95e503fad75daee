// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ioctls of /dev/collective.  Structs from user space are copied and their sizes checked here;
 * only the layout that an operation points to is read in op/layout.c, and the buffers of one that
 * its thread executes are copied in op/immediate.c.
 */
#include <linux/cdev.h>
#include <linux/compat.h>
#include <linux/device.h>
#include <linux/fs.h>
#include <linux/nospec.h>
#include <linux/poll.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "dev/dev.h"
#include "lane/lane.h"
#include "mem/pin.h"
#include "member/group.h"
#include "member/member.h"
#include "op/immediate.h"
#include "op/request.h"
#include "op/wait.h"
#include "transport/board.h"

/* All ioctl arguments; each begins with its size. */
union ioc_arg {
	u32 size;
	struct collective_query query;
	struct collective_join join;
	struct collective_connect connect;
	struct collective_register reg;
	struct collective_unregister unreg;
	struct collective_submit submit;
	struct collective_wait wait;
	struct collective_cancel cancel;
	struct collective_status status;
	struct collective_leave leave;
	struct collective_wake wake;
	struct collective_abort abort;
};

static bool ioc_mine(const struct coll_member *member)
{
	return member->owner.mm == current->mm;
}

/* Locks a member that has joined, for the process that joined it. */
static int ioc_lock(struct coll_member *member)
{
	int err = 0;

	if (mutex_lock_interruptible(&member->mutex))
		return -ERESTARTSYS;
	if (member->state.value == COLLECTIVE_STATE_NEW || member->state.stopped)
		err = -ENOTCONN;
	else if (!ioc_mine(member))
		err = -EPERM;
	if (err)
		mutex_unlock(&member->mutex);
	return err;
}

/* Copies an array that a struct points to; charged to the process, freed by kvfree(). */
static void *ioc_array(u64 addr, size_t bytes)
{
	void *array = kvmalloc(bytes, GFP_KERNEL_ACCOUNT);

	if (!array)
		return ERR_PTR(-ENOMEM);
	if (copy_from_user(array, u64_to_user_ptr(addr), bytes)) {
		kvfree(array);
		return ERR_PTR(-EFAULT);
	}
	return array;
}

static int ioc_query(struct file *file, union ioc_arg *arg)
{
	struct collective_query *query = &arg->query;
	u32 i;

	if (query->flags)
		return -EINVAL;
	*query = (struct collective_query){ .size = query->size };
	query->abi_version = COLLECTIVE_ABI_VERSION;
	query->lanes_max = COLLECTIVE_LANES_MAX;
	query->ranks_max = COLLECTIVE_RANKS_MAX;
	query->inflight_max = COLL_INFLIGHT;
	query->eager_limit = COLLECTIVE_EAGER_LIMIT;
	query->transports = BIT(COLLECTIVE_TRANSPORT_TCP) | BIT(COLLECTIVE_TRANSPORT_LOCAL) |
			    BIT(COLLECTIVE_TRANSPORT_AUTO);
	if (coll_rdma_registered())
		query->transports |= BIT(COLLECTIVE_TRANSPORT_RDMA);
	query->features = COLLECTIVE_FEATURE_NOSYNC;
	/* Words of 64 bits are stored at once, by the kernel and by processes. */
	if (IS_ENABLED(CONFIG_64BIT))
		query->features |= COLLECTIVE_FEATURE_BOARD;
	query->types = BIT_ULL(COLLECTIVE_TYPE_COUNT) - 1;
	query->reductions = BIT_ULL(COLLECTIVE_REDUCTION_COUNT) - 1;
	for (i = 0; i < COLLECTIVE_OPCODE_COUNT; i++) {
		struct coll_plan plan = { .collective = i, .size = 1 };

		if (coll_schedule_find(&plan))
			query->opcodes |= BIT_ULL(i);
	}
	return 0;
}

static int ioc_join(struct file *file, union ioc_arg *arg)
{
	struct coll_member *member = file->private_data;
	int err;

	if (mutex_lock_interruptible(&member->mutex))
		return -ERESTARTSYS;
	err = coll_member_join(member, &arg->join);
	mutex_unlock(&member->mutex);
	return err;
}

/* Return: 0: coll_member_unuse() must follow, which a LEAVE waits for; or a negative errno. */
static int connect_begin(struct coll_member *member, const struct sockaddr_storage *peers,
			 u32 timeout_ms)
{
	int err = ioc_lock(member);

	if (err)
		return err;
	err = coll_member_connect(member, peers, timeout_ms);
	if (!err)
		err = coll_member_use(member, COLLECTIVE_STATE_JOINED);
	mutex_unlock(&member->mutex);
	return err;
}

static int ioc_connect(struct file *file, union ioc_arg *arg)
{
	struct coll_member *member = file->private_data;
	const struct collective_connect *connect = &arg->connect;
	struct sockaddr_storage *peers;
	int err;

	static_assert(sizeof(*peers) == COLLECTIVE_ADDR_SIZE);
	if (connect->flags)
		return -EINVAL;
	err = ioc_lock(member);
	if (err)
		return err;
	/*
	 * The number of ranks does not change.  User memory may take long, so it is read unlocked.
	 */
	if (connect->npeers != member->id.nranks)
		err = -EINVAL;
	mutex_unlock(&member->mutex);
	if (err)
		return err;
	peers = ioc_array(connect->peers, array_size(connect->npeers, sizeof(*peers)));
	if (IS_ERR(peers))
		return PTR_ERR(peers);
	err = connect_begin(member, peers, connect->timeout_ms);
	kvfree(peers);
	if (err)
		return err;
	err = coll_connect_wait(member, file->f_flags & O_NONBLOCK);
	coll_member_unuse(member);
	return err;
}

static int ioc_register(struct file *file, union ioc_arg *arg)
{
	struct coll_member *member = file->private_data;
	struct collective_register *reg = &arg->reg;
	struct coll_buffer *buffer;
	int err;

	if (reg->flags & ~COLLECTIVE_REGISTER_READ_ONLY || reg->buffer || reg->reserved ||
	    !reg->length)
		return -EINVAL;
	/*
	 * Pinning may take long.  LEAVE waits for it, and can be interrupted; no other call waits.
	 */
	err = coll_member_use(member, COLLECTIVE_STATE_JOINED);
	if (err)
		return err;
	buffer = coll_buffer_pin(&member->charges, &member->pinned, reg->addr, reg->length,
				 !(reg->flags & COLLECTIVE_REGISTER_READ_ONLY));
	err = PTR_ERR_OR_ZERO(buffer);
	if (!err) {
		err = coll_registry_add(&member->registry, buffer, &reg->buffer);
		if (err)
			coll_buffer_put(buffer);
	}
	coll_member_unuse(member);
	return err;
}

static int ioc_unregister(struct file *file, union ioc_arg *arg)
{
	struct coll_member *member = file->private_data;
	struct coll_buffer *buffer;

	if (mutex_lock_interruptible(&member->mutex))
		return -ERESTARTSYS;
	if (member->owner.mm && !ioc_mine(member)) {
		mutex_unlock(&member->mutex);
		return -EPERM;
	}
	buffer = coll_registry_remove(&member->registry, arg->unreg.buffer);
	mutex_unlock(&member->mutex);
	if (!buffer)
		return -ENOENT;
	coll_buffer_put(buffer);
	return 0;
}

/* Time to wait, in jiffies. */
static long ioc_timeout(bool nowait, u32 limit_ms)
{
	if (nowait)
		return 0;
	return limit_ms ? msecs_to_jiffies(limit_ms) + 1 : MAX_SCHEDULE_TIMEOUT;
}

/*
 * The result of a wait, and what the struct must keep of it.
 *
 * A thread that waits is interrupted without a signal, too: by task work such as io_uring's, the
 * freezer, SIGSTOP and SIGCONT, a debugger.  The kernel then makes the same call again, with the
 * same struct, and nothing else of the first call is left.  A module cannot use the restart_block
 * of nanosleep(): the process may restart the call when the module is gone.
 *
 * After a signal with a handler, a call with a limit returns EINTR, as poll() does.
 */
static int ioc_interrupted(int err, u32 limit_ms, const struct coll_wait *wait, u32 *until)
{
	bool interrupted = err == -ERESTARTSYS && limit_ms;

	*until = interrupted ? wait->until : 0;
	return interrupted ? -ERESTARTNOHAND : err;
}

static int ioc_submit(struct file *file, union ioc_arg *arg)
{
	struct coll_member *member = file->private_data;
	struct collective_submit *submit = &arg->submit;
	bool nowait = submit->flags & COLLECTIVE_SUBMIT_NOWAIT;
	bool board = submit->flags & COLLECTIVE_SUBMIT_BOARD;
	struct coll_begun begun = { .origin = COLL_FROM_PROCESS, .instance = submit->received };
	struct coll_wait wait = {
		.ids = &submit->request,
		.n = 1,
		.timeout = ioc_timeout(nowait, submit->wait_ms),
		.until = submit->until,
	};
	int err;

	submit->received = 0;
	submit->until = 0;
	if (submit->flags & ~(COLLECTIVE_SUBMIT_NOWAIT | COLLECTIVE_SUBMIT_BOARD) ||
	    (nowait && (board || submit->request || submit->wait_ms)))
		return -EINVAL;
	err = coll_member_use(member, COLLECTIVE_STATE_UP);
	if (err)
		return err;

	if (board && !submit->request) {
		err = coll_request_submit_begun(&member->requests, &submit->op, &begun,
						&submit->request, &wait);
	} else if (!submit->request) {
		err = coll_immediate_submit(&member->requests, &submit->op, &submit->request,
					    &wait);
	} else {
		/* Submitted by an earlier call, whose wait has ended before the operation. */
		err = coll_wait(&wait, &member->requests);
		if (wait.index < wait.n)
			submit->request = 0;
	}
	coll_member_unuse(member);
	submit->received = wait.received;
	err = ioc_interrupted(err, submit->wait_ms, &wait, &submit->until);
	/* A struct that ends before @until cannot keep it. */
	return err == -ERESTARTNOHAND && arg->size < offsetofend(struct collective_submit, until) ?
	       -EINTR : err;
}

static int ioc_wait(struct file *file, union ioc_arg *arg)
{
	struct coll_member *member = file->private_data;
	struct collective_wait *request = &arg->wait;
	bool any = request->flags & COLLECTIVE_WAIT_ANY;
	struct coll_wait wait = {
		.ids = &request->request,
		.n = 1,
		.timeout = ioc_timeout(request->flags & COLLECTIVE_WAIT_NOWAIT,
				       request->timeout_ms),
		.until = request->until,
	};
	u64 *ids = NULL;
	int err;

	/* No request was collected, whatever the error is. */
	if (any)
		request->request = 0;
	request->received = 0;
	request->index = 0;
	request->until = 0;
	if (request->flags & ~(COLLECTIVE_WAIT_NOWAIT | COLLECTIVE_WAIT_ANY) ||
	    request->count > COLL_INFLIGHT || !request->count == any || !request->requests == any)
		return -EINVAL;
	if (any) {
		ids = ioc_array(request->requests, array_size(request->count, sizeof(*ids)));
		if (IS_ERR(ids))
			return PTR_ERR(ids);
		wait.ids = ids;
		wait.n = request->count;
	}

	err = coll_member_use(member, COLLECTIVE_STATE_UP);
	if (!err) {
		err = coll_wait(&wait, &member->requests);
		coll_member_unuse(member);
	} else {
		wait.index = wait.n;
	}
	request->received = wait.received;
	if (any && wait.index < wait.n) {
		request->request = ids[wait.index];
		request->index = wait.index;
	}
	kvfree(ids);
	return ioc_interrupted(err, request->timeout_ms, &wait, &request->until);
}

/**
 * coll_dev_cancel() - CANCEL, by ioctl or as an SQE
 * @member: of the calling process
 * @cancel: copied from user space
 *
 * Return: 0 or a negative errno.
 */
int coll_dev_cancel(struct coll_member *member, const struct collective_cancel *cancel)
{
	bool user_data = cancel->flags & COLLECTIVE_CANCEL_USER_DATA;
	int err;

	if (cancel->flags & ~COLLECTIVE_CANCEL_USER_DATA)
		return -EINVAL;
	err = coll_member_use(member, COLLECTIVE_STATE_UP);
	if (err)
		return err;
	err = coll_request_cancel(&member->requests,
				  user_data ? COLL_FIND_BY_USER_DATA : COLL_FIND_BY_ID,
				  cancel->request);
	coll_member_unuse(member);
	return err;
}

static int ioc_cancel(struct file *file, union ioc_arg *arg)
{
	return coll_dev_cancel(file->private_data, &arg->cancel);
}

static int ioc_status(struct file *file, union ioc_arg *arg)
{
	if (arg->status.flags || arg->status.reserved)
		return -EINVAL;
	arg->status = (struct collective_status){ .size = arg->size };
	coll_member_status(file->private_data, &arg->status);
	return 0;
}

static int ioc_leave(struct file *file, union ioc_arg *arg)
{
	struct coll_member *member = file->private_data;
	int err;

	if (arg->leave.flags)
		return -EINVAL;
	if (mutex_lock_interruptible(&member->mutex))
		return -ERESTARTSYS;
	if (member->state.value != COLLECTIVE_STATE_NEW && !ioc_mine(member))
		err = -EPERM;
	else
		err = coll_member_leave(member);
	mutex_unlock(&member->mutex);
	return err;
}

/* Return: 0: coll_member_unuse() must follow; or a negative errno. */
static int board_begin(struct coll_member *member, struct coll_board **board)
{
	int err = coll_member_use(member, COLLECTIVE_STATE_UP);

	if (err)
		return err;
	*board = READ_ONCE(member->lanes[0].engine.board);
	if (*board && IS_ENABLED(CONFIG_64BIT))
		return 0;
	coll_member_unuse(member);
	return -EOPNOTSUPP;
}

static int ioc_wake(struct file *file, union ioc_arg *arg)
{
	struct coll_member *member = file->private_data;
	struct coll_board *board;
	int err;

	if (arg->wake.flags)
		return -EINVAL;
	err = board_begin(member, &board);
	if (err)
		return err;
	coll_lane_wake_board(&member->lanes[0]);
	wake_up_all(&member->state.wait);
	coll_member_unuse(member);
	return 0;
}

static int ioc_abort(struct file *file, union ioc_arg *arg)
{
	struct coll_member *member = file->private_data;
	u32 rank;
	int err;

	if (arg->abort.flags)
		return -EINVAL;
	err = coll_member_use(member, COLLECTIVE_STATE_JOINED);
	if (err)
		return err;
	rank = member->id.rank;
	/* Twice the rank: a command on its host has not done it. */
	if (READ_ONCE(member->state.aborted))
		err = -EALREADY;
	else
		coll_state_fail_kind(&member->state, COLLECTIVE_REASON_CANCELLED, rank, rank);
	coll_member_unuse(member);
	return err;
}

/* When the answer in the struct of an ioctl is copied to the user. */
enum ioc_back {
	IOC_NEVER,
	IOC_SUCCESS,
	IOC_ALWAYS,	/* also with every other error of the call */
};

/**
 * struct ioc - an ioctl
 * @call: its function
 * @size: bytes of its struct
 * @min: bytes of the first version of the struct
 * @back: when the answer is copied to the user
 * @answer: offset of the answer in the struct, below @min
 */
struct ioc {
	int (*call)(struct file *file, union ioc_arg *arg);
	u32 size;
	u32 min;
	enum ioc_back back;
	u32 answer;
};

#define IOC(_cmd, _call, _struct, _last, _back, ...)		\
	[_IOC_NR(_cmd)] = {					\
		.call = _call,					\
		.size = sizeof(struct _struct),			\
		.min = offsetofend(struct _struct, _last),	\
		.back = _back,					\
		__VA_ARGS__					\
	}

/* Copies the struct to the user from its answer on. */
#define IOC_ANSWER(_struct, _first)	.answer = offsetof(struct _struct, _first)

static const struct ioc iocs[] = {
	IOC(COLLECTIVE_IOC_QUERY, ioc_query, collective_query, features, IOC_SUCCESS),
	IOC(COLLECTIVE_IOC_JOIN, ioc_join, collective_join, addr, IOC_SUCCESS),
	IOC(COLLECTIVE_IOC_CONNECT, ioc_connect, collective_connect, timeout_ms, IOC_NEVER),
	IOC(COLLECTIVE_IOC_REGISTER, ioc_register, collective_register, reserved, IOC_SUCCESS),
	IOC(COLLECTIVE_IOC_UNREGISTER, ioc_unregister, collective_unregister, buffer, IOC_NEVER),
	IOC(COLLECTIVE_IOC_SUBMIT, ioc_submit, collective_submit, request, IOC_ALWAYS,
	    IOC_ANSWER(collective_submit, request)),
	IOC(COLLECTIVE_IOC_WAIT, ioc_wait, collective_wait, until, IOC_ALWAYS),
	IOC(COLLECTIVE_IOC_CANCEL, ioc_cancel, collective_cancel, request, IOC_NEVER),
	IOC(COLLECTIVE_IOC_STATUS, ioc_status, collective_status, last, IOC_SUCCESS),
	IOC(COLLECTIVE_IOC_LEAVE, ioc_leave, collective_leave, flags, IOC_NEVER),
	IOC(COLLECTIVE_IOC_WAKE, ioc_wake, collective_wake, flags, IOC_NEVER),
	IOC(COLLECTIVE_IOC_ABORT, ioc_abort, collective_abort, flags, IOC_NEVER),
};

static int ioc_copy_back(const struct ioc *ioc, void __user *ptr, const union ioc_arg *arg,
			 u32 size)
{
	return copy_to_user(ptr + ioc->answer, (const void *)arg + ioc->answer,
			    min(size, ioc->size) - ioc->answer) ? -EFAULT : 0;
}

static int ioc_run(const struct ioc *ioc, struct file *file, void __user *ptr, u32 size,
		   union ioc_arg *arg)
{
	int err = copy_struct_from_user(arg, ioc->size, ptr, size);

	if (err)
		return err;
	arg->size = size;
	/* A call that cannot be answered is not made. */
	if (ioc->back && ioc_copy_back(ioc, ptr, arg, size))
		return -EFAULT;

	err = ioc->call(file, arg);
	if ((ioc->back == IOC_ALWAYS || (ioc->back == IOC_SUCCESS && !err)) &&
	    ioc_copy_back(ioc, ptr, arg, size))
		return -EFAULT;
	return err;
}

static long cdev_ioctl(struct file *file, unsigned int cmd, unsigned long user)
{
	void __user *ptr = (void __user *)user;
	union ioc_arg arg __uninitialized;	/* only the copied part is read */
	const struct ioc *ioc;
	u32 size;
	int err;

	if (_IOC_TYPE(cmd) != COLLECTIVE_IOC_MAGIC || _IOC_NR(cmd) >= ARRAY_SIZE(iocs) ||
	    _IOC_DIR(cmd) != _IOC_NONE || _IOC_SIZE(cmd))
		return -ENOTTY;
	ioc = &iocs[array_index_nospec(_IOC_NR(cmd), ARRAY_SIZE(iocs))];
	if (!ioc->call)
		return -ENOTTY;
	if (get_user(size, (u32 __user *)ptr))
		return -EFAULT;
	if (size < ioc->min)
		return -EINVAL;
	if (size > PAGE_SIZE)
		return -E2BIG;
	err = ioc_run(ioc, file, ptr, size, &arg);
	/* The secret of the group is in the struct. */
	if (ioc->call == ioc_join)
		memzero_explicit(&arg.join, sizeof(arg.join));
	return err;
}

static __poll_t cdev_poll(struct file *file, poll_table *table)
{
	struct coll_member *member = file->private_data;
	__poll_t events = 0;

	poll_wait(file, &member->state.wait, table);
	switch (READ_ONCE(member->state.value)) {
	case COLLECTIVE_STATE_UP:
		events = EPOLLOUT | EPOLLWRNORM;
		break;
	case COLLECTIVE_STATE_ABORTED:
		events = EPOLLERR;
		break;
	case COLLECTIVE_STATE_LEFT:
		events = EPOLLHUP;
		break;
	default:
		return 0;
	}
	/* WAIT returns something. */
	if (coll_wait_has_collectable(&member->requests))
		events |= EPOLLIN | EPOLLRDNORM;
	return events;
}

static int cdev_open(struct inode *inode, struct file *file)
{
	file->private_data = coll_member_new();
	return file->private_data ? nonseekable_open(inode, file) : -ENOMEM;
}

static int cdev_release(struct inode *inode, struct file *file)
{
	coll_member_close(file->private_data);
	return 0;
}

static int board_map(struct coll_member *member, struct vm_area_struct *vma, bool own)
{
	struct coll_board *board;
	int err = board_begin(member, &board);

	if (err)
		return err;
	err = coll_local_board_map(board, &member->charges, vma, own);
	if (!err && own)
		err = coll_process_open(&member->requests, board->part[board->rank]->words);
	coll_member_unuse(member);
	return err;
}

static int cdev_mmap(struct file *file, struct vm_area_struct *vma)
{
	const u64 offset = (u64)vma->vm_pgoff << PAGE_SHIFT;

	switch (offset) {
	case 0:
		return coll_map(vma);
	case COLLECTIVE_MMAP_BOARD:
	case COLLECTIVE_MMAP_BOARD_OWN:
		return board_map(file->private_data, vma, offset == COLLECTIVE_MMAP_BOARD_OWN);
	default:
		return -EINVAL;
	}
}

static const struct file_operations cdev_ops = {
	.owner		= THIS_MODULE,
	.open		= cdev_open,
	.release	= cdev_release,
	.unlocked_ioctl	= cdev_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.poll		= cdev_poll,
	.mmap		= cdev_mmap,
	.uring_cmd	= coll_uring_cmd,
};

/* Root's only, until udev or the administrator admits others. */
static char *cdev_node(const struct device *device, umode_t *mode)
{
	if (mode)
		*mode = 0600;
	return NULL;
}

static const struct class cdev_class = {
	.name		= "collective",
	.devnode	= cdev_node,
};

static dev_t cdev_number;
static struct cdev cdev;

/**
 * coll_dev_setup() - make the device
 *
 * The character device comes last, when the folder of groups exists.  Its node exists a moment
 * earlier, and open() returns ENXIO until then.
 *
 * Return: 0 or a negative errno.
 */
int coll_dev_setup(void)
{
	struct device *device;
	int err;

	err = alloc_chrdev_region(&cdev_number, 0, 1, "collective");
	if (err)
		return err;
	err = class_register(&cdev_class);
	if (err)
		goto region;
	device = device_create(&cdev_class, NULL, cdev_number, NULL, "collective");
	if (IS_ERR(device)) {
		err = PTR_ERR(device);
		goto class;
	}
	err = coll_group_setup(&device->kobj);
	if (err)
		goto device;
	cdev_init(&cdev, &cdev_ops);
	cdev.owner = THIS_MODULE;
	err = cdev_add(&cdev, cdev_number, 1);
	if (err)
		goto group;
	return 0;

group:
	coll_group_cleanup();
device:
	device_destroy(&cdev_class, cdev_number);
class:
	class_unregister(&cdev_class);
region:
	unregister_chrdev_region(cdev_number, 1);
	return err;
}

/** coll_dev_cleanup() - undo coll_dev_setup(); no file is open */
void coll_dev_cleanup(void)
{
	cdev_del(&cdev);
	coll_group_cleanup();
	device_destroy(&cdev_class, cdev_number);
	class_unregister(&cdev_class);
	unregister_chrdev_region(cdev_number, 1);
}
