// SPDX-License-Identifier: GPL-2.0-only
/*
 * The flight recorder: the last operations and changes of every rank, for whoever
 * asks afterwards what has happened.  Documentation/ABI/debugfs-collective says what
 * can be read.
 *
 * Whatever is worth a trace event or a record is told here, by one call for both.
 *
 * Who may look at what, and when:
 *
 * - A recorder is the group's, one a rank, and stays until the group's last member of
 *   this host has left: what a rank did is most wanted when it is dead.  A rank that
 *   joins again goes on in the same recorder, so there are never more than ranks.
 * - A member has it from coll_recorder_enter() to coll_recorder_leave(), which JOIN
 *   and the end of the teardown call: before and behind these nothing runs that could
 *   record, but for a change of the state, which then is not recorded.
 * - A reader copies all of it as it opens the file, and from then on has nothing to do
 *   with the recorder.  debugfs lets nobody open a file that is being removed and
 *   waits, when it is, for those who are about to have opened it; so nobody looks at
 *   a recorder that is freed behind that.  For what is open nobody waits, however long
 *   it is, and it keeps the module.
 *
 * The recorder's lock is innermost and held for the time of one record, or of one copy.
 */
#include <linux/debugfs.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "coll.h"
#include "trace/record.h"
#include "trace/events.h"

/* How many records are kept of a rank. */
#define COLL_RECORDS	256

/* Of the lines that are read; a field that is added at the end of one is no change. */
#define RECORDER_VERSION	1

/**
 * struct coll_recording - all there is to read of a rank
 * @group: name of the group
 * @rank: [c]
 * @nranks: [c]
 * @pid: the process that has joined, or had
 * @state: enum collective_state, the last one
 * @present: there is such a member
 * @submitted: operations
 * @completed: of these
 * @total: records so far; the last ones of them are kept
 * @last: the last operation submitted, for it may be kept no more; @ns is 0: none
 * @record: a ring
 */
struct coll_recording {
	char group[40];
	u32 rank;
	u32 nranks;
	pid_t pid;
	enum collective_state state;
	bool present;
	u64 submitted;
	u64 completed;
	u64 total;
	struct coll_record last;
	struct coll_record record[COLL_RECORDS];
};

/**
 * struct coll_recorder - of one rank; see above for its lifetime
 * @node: in the group's list [g]
 * @account: that is charged for it; it outlives the member
 * @lock: protects @recording
 * @recording: what there is to read
 */
struct coll_recorder {
	struct list_head node;
	struct coll_account *account;
	spinlock_t lock; /* of @recording */
	struct coll_recording recording;
};

/**
 * struct recorder_view - what who has opened a file reads
 * @now: when it was taken, CLOCK_MONOTONIC ns
 * @recording: a copy
 */
struct recorder_view {
	u64 now;
	struct coll_recording recording;
};

static struct dentry *recorder_root;

/*
 * Recording
 */

static void recorder_add(const struct coll_member *member, const struct coll_record *record)
{
	struct coll_recorder *recorder = member->recorder;
	struct coll_recording *recording;
	struct coll_record *slot;

	if (!recorder)
		return;
	recording = &recorder->recording;
	spin_lock(&recorder->lock);
	slot = &recording->record[recording->total++ % COLL_RECORDS];
	*slot = *record;
	slot->ns = ktime_get_ns();
	switch (record->kind) {
	case COLL_RECORD_STATE:
		recording->state = record->state;
		break;
	case COLL_RECORD_SUBMIT:
		recording->submitted++;
		recording->last = *slot;
		break;
	case COLL_RECORD_DONE:
		recording->completed++;
		break;
	}
	spin_unlock(&recorder->lock);
}

static void recorder_cause(const struct coll_member *member, enum coll_record_kind kind,
			   u64 instance, int error, const struct coll_reason *cause)
{
	recorder_add(member, &(struct coll_record) {
		.kind = kind,
		.instance = instance,
		.error = error < 0 ? -error : error,
		.reason = cause->kind,
		.rank_a = cause->rank_a,
		.rank_b = cause->rank_b,
	});
}

/**
 * coll_record_state() - a member goes from one state to the next
 * @member: the member, locked
 * @state: the next one
 */
void coll_record_state(const struct coll_member *member, enum collective_state state)
{
	trace_collective_state(member, state);
	recorder_add(member, &(struct coll_record) {
		.kind = COLL_RECORD_STATE,
		.state = state,
	});
}

/**
 * coll_record_abort() - a member learns a (better) reason why the group has failed
 * @member: the member, locked
 * @cause: the reason
 */
void coll_record_abort(const struct coll_member *member, const struct coll_reason *cause)
{
	trace_collective_abort(member, cause);
	recorder_cause(member, COLL_RECORD_ABORT, 0, cause->error, cause);
}

/**
 * coll_record_submit() - an operation has got its name
 * @request: the operation; its member is locked
 */
void coll_record_submit(const struct coll_request *request)
{
	trace_collective_begin(request);
	recorder_add(request->member, &(struct coll_record) {
		.kind = COLL_RECORD_SUBMIT,
		.instance = request->instance,
		.opcode = request->signature.collective,
		.type = request->signature.type,
		.reduction = request->signature.reduction,
		.flags = request->signature.flags,
		.rank_a = request->signature.root,
		.count = request->signature.count,
		.bytes = request->footprint.block,
	});
}

/**
 * coll_record_begin() - an operation that had to wait for its turn begins
 * @request: the operation; its member is locked
 */
void coll_record_begin(const struct coll_request *request)
{
	recorder_add(request->member, &(struct coll_record) {
		.kind = COLL_RECORD_BEGIN,
		.instance = request->instance,
	});
}

/**
 * coll_record_agreed() - all ranks have called the same
 * @request: the operation; its member is locked
 */
void coll_record_agreed(const struct coll_request *request)
{
	recorder_add(request->member, &(struct coll_record) {
		.kind = COLL_RECORD_AGREED,
		.instance = request->instance,
	});
}

/**
 * coll_record_fail() - an operation is to fail
 * @member: the member, locked
 * @instance: its name; it need not be submitted here
 * @cause: why
 */
void coll_record_fail(const struct coll_member *member, u64 instance,
		      const struct coll_reason *cause)
{
	recorder_cause(member, COLL_RECORD_FAIL, instance, cause->error, cause);
}

/**
 * coll_record_absent() - a rank has not submitted an operation that was late
 * @member: the member, locked
 * @instance: its name
 * @rank: which rank
 */
void coll_record_absent(const struct coll_member *member, u64 instance, u32 rank)
{
	recorder_add(member, &(struct coll_record) {
		.kind = COLL_RECORD_ABSENT,
		.instance = instance,
		.rank_a = rank,
	});
}

/**
 * coll_record_done() - an operation is complete
 * @request: the operation; its member is locked
 */
void coll_record_done(const struct coll_request *request)
{
	static const struct coll_reason none = { .kind = COLLECTIVE_REASON_NONE };
	const struct coll_member *member = request->member;
	bool failed = request->error && request->error != -EMSGSIZE;

	if (trace_collective_end_enabled())
		trace_collective_end(request, ktime_get_ns() - request->submit_ns);
	recorder_cause(member, COLL_RECORD_DONE, request->instance, request->error,
		       failed ? &member->last : &none);
}

/**
 * coll_record_link() - something has happened to a link
 * @link: the link
 * @news: what
 * @error: of what is down: a negative errno; 0: it has ended in good order
 *
 * Context: control runner.
 */
void coll_record_link(const struct coll_link *link, enum coll_link_news news, int error)
{
	recorder_add(link->member, &(struct coll_record) {
		.kind = COLL_RECORD_LINK,
		.state = news,
		.rank_a = link->peer,
		.error = -error,
	});
}

/*
 * Reading
 */

static u64 view_kept(const struct recorder_view *view)
{
	return min_t(u64, view->recording.total, COLL_RECORDS);
}

static void show_head(struct seq_file *seq, const struct recorder_view *view)
{
	const struct coll_recording *recording = &view->recording;

	seq_printf(seq, "# collective %u group=%s rank=%u nranks=%u pid=%d state=%s present=%d now=%llu records=%llu kept=%llu submitted=%llu completed=%llu\n",
		   RECORDER_VERSION, recording->group, recording->rank, recording->nranks,
		   recording->pid,
		   coll_state_names[recording->state],
		   recording->present, view->now, recording->total, view_kept(view),
		   recording->submitted, recording->completed);
	seq_puts(seq, "# last ");
	if (recording->last.ns)
		coll_record_show(seq, &recording->last, view->now);
	else
		seq_puts(seq, "none\n");
}

/* Position 0 is the head, the others are the records that are kept. */
static void *view_at(struct recorder_view *view, loff_t pos)
{
	u64 kept = view_kept(view);

	if (!pos)
		return SEQ_START_TOKEN;
	if (pos > kept)
		return NULL;
	return &view->recording.record[(view->recording.total - kept + pos - 1) % COLL_RECORDS];
}

static void *recorder_start(struct seq_file *seq, loff_t *pos)
{
	return view_at(seq->private, *pos);
}

static void *recorder_next(struct seq_file *seq, void *at, loff_t *pos)
{
	return view_at(seq->private, ++*pos);
}

static void recorder_stop(struct seq_file *seq, void *at)
{
}

static int recorder_show(struct seq_file *seq, void *at)
{
	const struct recorder_view *view = seq->private;

	if (at == SEQ_START_TOKEN)
		show_head(seq, view);
	else
		coll_record_show(seq, at, view->now);
	return 0;
}

static const struct seq_operations recorder_seq_ops = {
	.start	= recorder_start,
	.next	= recorder_next,
	.stop	= recorder_stop,
	.show	= recorder_show,
};

/* The only one who looks at a recorder for a reader. */
static int recorder_open(struct inode *inode, struct file *file)
{
	struct coll_recorder *recorder = inode->i_private;
	struct recorder_view *view;

	view = __seq_open_private(file, &recorder_seq_ops, sizeof(*view));
	if (!view)
		return -ENOMEM;
	spin_lock(&recorder->lock);
	view->now = ktime_get_ns();
	view->recording = recorder->recording;
	spin_unlock(&recorder->lock);
	return 0;
}

static const struct file_operations recorder_fops = {
	.owner		= THIS_MODULE,
	.open		= recorder_open,
	.read		= seq_read,
	.llseek		= seq_lseek,
	.release	= seq_release_private,
};

/*
 * Lifetime
 */

static struct coll_recorder *recorder_find(const struct coll_group *group, u32 rank)
{
	struct coll_recorder *recorder;

	list_for_each_entry(recorder, &group->recorders, node)
		if (recorder->recording.rank == rank)
			return recorder;
	return NULL;
}

static struct coll_recorder *recorder_new(struct coll_member *member)
{
	struct coll_group *group = member->group;
	struct coll_recorder *recorder;
	struct coll_recording *recording;
	u32 rank = member->rank;
	char name[12];
	int err = coll_charge(&member->charges, sizeof(*recorder));

	if (err)
		return ERR_PTR(err);
	recorder = kvzalloc(sizeof(*recorder), GFP_KERNEL_ACCOUNT);
	if (!recorder) {
		coll_uncharge(&member->charges, sizeof(*recorder));
		return ERR_PTR(-ENOMEM);
	}
	recorder->account = coll_charge_detach(&member->charges, sizeof(*recorder));
	spin_lock_init(&recorder->lock);
	recording = &recorder->recording;
	memcpy(recording->group, group->name, sizeof(recording->group));
	recording->rank = rank;
	recording->nranks = group->nranks;
	list_add_tail(&recorder->node, &group->recorders);
	snprintf(name, sizeof(name), "%u", rank);
	/* Unsafe is what touches the recorder when it is open: nothing does. */
	debugfs_create_file_unsafe(name, 0400, group->recorded, recorder, &recorder_fops);
	return recorder;
}

/**
 * coll_recorder_enter() - a member is recorded from now on
 * @member: its group is set, but not yet seen by others
 *
 * Context: process; the mutex of member/group.c is held.
 * Return: 0, -EDQUOT or -ENOMEM.
 */
int coll_recorder_enter(struct coll_member *member)
{
	struct coll_recorder *recorder;

	/* Nobody could read it. */
	if (!IS_ENABLED(CONFIG_DEBUG_FS))
		return 0;
	recorder = recorder_find(member->group, member->rank);
	if (!recorder)
		recorder = recorder_new(member);
	if (IS_ERR(recorder))
		return PTR_ERR(recorder);
	spin_lock(&recorder->lock);
	recorder->recording.pid = member->pid;
	recorder->recording.present = true;
	spin_unlock(&recorder->lock);
	member->recorder = recorder;
	return 0;
}

/**
 * coll_recorder_leave() - nothing is recorded of a member any more
 * @member: the member; all that could record has ended
 *
 * Context: process; the mutex of member/group.c is held.
 */
void coll_recorder_leave(struct coll_member *member)
{
	struct coll_recorder *recorder = member->recorder;

	if (!recorder)
		return;
	recorder_add(member, &(struct coll_record) { .kind = COLL_RECORD_GONE });
	spin_lock(&recorder->lock);
	recorder->recording.present = false;
	spin_unlock(&recorder->lock);
	member->recorder = NULL;
}

/**
 * coll_recorder_begin() - make the place of a group's recorders
 * @group: a new one; its network namespace is part of the place's name
 */
void coll_recorder_begin(struct coll_group *group)
{
	char name[sizeof(group->name) + 12];

	INIT_LIST_HEAD(&group->recorders);
	snprintf(name, sizeof(name), "%s@%u", group->name, group->net->ns.inum);
	group->recorded = debugfs_create_dir(name, recorder_root);
}

/**
 * coll_recorder_end() - a group is gone, and with it what was recorded
 * @group: it has no members any more
 *
 * Context: process; the mutex of member/group.c is held.
 */
void coll_recorder_end(struct coll_group *group)
{
	struct coll_recorder *recorder, *next;

	debugfs_remove(group->recorded);
	list_for_each_entry_safe(recorder, next, &group->recorders, node) {
		list_del(&recorder->node);
		coll_account_return(recorder->account, sizeof(*recorder));
		kvfree(recorder);
	}
}

/** coll_recorder_setup() - make the place of recorders in debugfs, if there is one */
void coll_recorder_setup(void)
{
	recorder_root = debugfs_create_dir("collective", NULL);
}

/** coll_recorder_cleanup() - undo coll_recorder_setup(); there is no group any more */
void coll_recorder_cleanup(void)
{
	debugfs_remove(recorder_root);
}
