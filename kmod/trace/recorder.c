// SPDX-License-Identifier: GPL-2.0-only
/*
 * The flight recorder: the latest operations and state changes of each rank, to be read after a
 * failure (Documentation/ABI/debugfs-collective).  One call makes the record and the trace event.
 *
 * - A recorder belongs to the group, until the group's last member on this host has left.  A rank
 *   that joins again continues in the same recorder, so there are at most as many as ranks.
 * - A member uses it from JOIN to the end of the teardown.  A change of state outside of these is
 *   not recorded.
 * - coll_recorder_get() reads one record; its caller holds what serialises enter and leave.
 * - A reader of debugfs copies it in open().  debugfs_remove() waits for open() calls in progress
 *   and refuses new ones, so none of them sees a freed recorder.  Its lock is innermost.
 */
#include <linux/debugfs.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "mem/account.h"
#include "trace/names.h"
#include "trace/record.h"
#include "trace/recorder.h"

#define CREATE_TRACE_POINTS
#include "trace/events.h"

/* Records that are kept of a rank; the latest replace the oldest. */
#define COLL_RECORDS	256

/* Records that are kept of a rank that has submitted nothing: its links and states. */
#define COLL_RECORDS_FIRST	32

/* Version of the lines in a file.  A new field at the end of a line does not change it. */
#define RECORDER_VERSION	1

/**
 * struct coll_recording - all that a file shows of a rank
 * @group: name of the group [c]
 * @rank: the rank [c]
 * @nranks: number of ranks of the group [c]
 * @pid: process that joined last
 * @state: latest enum collective_state
 * @present: true if the rank is a member now
 * @submitted: number of operations that were submitted
 * @completed: number of operations that are complete
 * @total: number of records so far; the latest @size of them from @first on are kept
 * @first: number of the oldest record that was kept when the ring grew
 * @last: record of the operation that was submitted last, which may not be in @record any more;
 *	@last.ns is 0 if there was none
 * @size: entries of @record, a power of two; written under the lock [a]
 * @record: ring of records
 */
struct coll_recording {
	char group[COLL_GROUP_NAME_SIZE];
	u32 rank;
	u32 nranks;
	pid_t pid;
	enum collective_state state;
	bool present;
	u64 submitted;
	u64 completed;
	u64 total;
	u64 first;
	struct coll_record last;
	u32 size;
	struct coll_record *record;
};

/**
 * struct coll_recorder - flight recorder of one rank; see above for its lifetime
 * @node: entry in coll_recorder_dir.recorders, behind those of lower ranks
 * @account: account that is charged for it; outlives the member
 * @records_account: likewise for the ring of records
 * @lock: protects @recording
 * @recording: the records
 */
struct coll_recorder {
	struct list_head node;
	struct coll_account *account;
	struct coll_account *records_account;
	spinlock_t lock; /* of @recording */
	struct coll_recording recording;
};

/**
 * struct recorder_view - content of an open file
 * @now: time of the copy, CLOCK_MONOTONIC ns
 * @recording: copy of the recorder's content; its @record is that one
 * @record: copy of the records that are kept, at the same places
 */
struct recorder_view {
	u64 now;
	struct coll_recording recording;
	struct coll_record record[COLL_RECORDS];
};

static struct dentry *recorder_root;

/*
 * Recording
 */

/* The number of the oldest record that is kept. */
static u64 record_oldest(const struct coll_recording *recording)
{
	u64 kept = min_t(u64, recording->total, recording->size);

	return max(recording->first, recording->total - kept);
}

/* The place of a record in the ring; it may have been replaced by a later one. */
static struct coll_record *record_of(const struct coll_recording *recording, u64 number)
{
	return &recording->record[number & (recording->size - 1)];
}

/* The time of a record: the present, if @ns is 0.  Records are in the order of their times. */
static u64 record_time(const struct coll_recording *recording, u64 ns)
{
	return ns ? max(ns, record_of(recording, recording->total - 1)->ns) : ktime_get_ns();
}

/* Return: the time of the record. */
static u64 recorder_add(const struct coll_trace *trace, const struct coll_record *record)
{
	struct coll_recorder *recorder = trace->recorder;
	struct coll_recording *recording;
	struct coll_record *slot;
	u64 now;

	if (!recorder)
		return ktime_get_ns();
	recording = &recorder->recording;
	spin_lock(&recorder->lock);
	now = record_time(recording, record->ns);
	slot = record_of(recording, recording->total++);
	*slot = *record;
	slot->ns = now;
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
	return now;
}

static u64 recorder_add_reason(const struct coll_trace *trace, enum coll_record_kind kind,
			       u64 instance, int error, const struct coll_reason *reason)
{
	return recorder_add(trace, &(struct coll_record) {
		.kind = kind,
		.instance = instance,
		.error = error < 0 ? -error : error,
		.reason = reason->kind,
		.rank_a = reason->rank_a,
		.rank_b = reason->rank_b,
	});
}

/**
 * coll_record_state() - trace and record that a member changes its state
 * @trace: the member, which is locked
 * @from: state before
 * @to: state after
 */
void coll_record_state(const struct coll_trace *trace, enum collective_state from,
		       enum collective_state to)
{
	trace_collective_state(trace->id, from, to);
	recorder_add(trace, &(struct coll_record) {
		.kind = COLL_RECORD_STATE,
		.state = to,
	});
}

/**
 * coll_record_abort() - trace and record why the group has failed
 * @trace: the member, which is locked
 * @reason: the reason, stronger than those before
 */
void coll_record_abort(const struct coll_trace *trace, const struct coll_reason *reason)
{
	trace_collective_abort(trace->id, reason);
	recorder_add_reason(trace, COLL_RECORD_ABORT, 0, reason->error, reason);
}

/**
 * coll_record_submit() - trace and record that an operation was submitted
 * @trace: the member, which is locked
 * @instance: the operation
 * @signature: signature of the call
 * @bytes: size of the vector, or of the longest block that is known
 * @lanes: number of lanes that take part
 * @submit_ns: time of the submission, CLOCK_MONOTONIC ns; a moment ago
 */
void coll_record_submit(const struct coll_trace *trace, u64 instance,
			const struct coll_signature *signature, u64 bytes, u32 lanes,
			u64 submit_ns)
{
	trace_collective_begin(trace->id, instance, signature->collective, bytes, lanes);
	recorder_add(trace, &(struct coll_record) {
		.ns = submit_ns,
		.kind = COLL_RECORD_SUBMIT,
		.instance = instance,
		.opcode = signature->collective,
		.type = signature->type,
		.reduction = signature->reduction,
		.flags = signature->flags,
		.rank_a = signature->root,
		.count = signature->count,
		.bytes = bytes,
	});
}

/**
 * coll_record_begin() - record that an operation starts, after an earlier one of its instance
 * @trace: the member, which is locked
 * @instance: the operation
 *
 * Return: the time of the record; CLOCK_MONOTONIC ns.
 */
u64 coll_record_begin(const struct coll_trace *trace, u64 instance)
{
	return recorder_add(trace, &(struct coll_record) {
		.kind = COLL_RECORD_BEGIN,
		.instance = instance,
	});
}

/**
 * coll_record_agreed() - record that the calls of all ranks match
 * @trace: the member, which is locked
 * @instance: the operation
 */
void coll_record_agreed(const struct coll_trace *trace, u64 instance)
{
	recorder_add(trace, &(struct coll_record) {
		.kind = COLL_RECORD_AGREED,
		.instance = instance,
	});
}

/**
 * coll_record_fail() - record why an operation is going to fail
 * @trace: the member, which is locked
 * @instance: the operation, which this rank need not have submitted
 * @reason: the reason
 */
void coll_record_fail(const struct coll_trace *trace, u64 instance,
		      const struct coll_reason *reason)
{
	recorder_add_reason(trace, COLL_RECORD_FAIL, instance, reason->error, reason);
}

/**
 * coll_record_absent() - record that a rank has not submitted an operation that was late
 * @trace: the member, which is locked
 * @instance: the operation
 * @rank: the absent rank
 */
void coll_record_absent(const struct coll_trace *trace, u64 instance, u32 rank)
{
	recorder_add(trace, &(struct coll_record) {
		.kind = COLL_RECORD_ABSENT,
		.instance = instance,
		.rank_a = rank,
	});
}

/**
 * coll_record_done() - trace and record that an operation is complete
 * @trace: the member, which is locked
 * @instance: the operation
 * @error: result of the operation, 0 or a negative errno
 * @reason: reason of the failure; NULL: none
 * @submit_ns: time of the submission, CLOCK_MONOTONIC ns
 *
 * Return: the time of the record, likewise.
 */
u64 coll_record_done(const struct coll_trace *trace, u64 instance, int error,
		     const struct coll_reason *reason, u64 submit_ns)
{
	static const struct coll_reason none = { .kind = COLLECTIVE_REASON_NONE };

	if (trace_collective_end_enabled())
		trace_collective_end(trace->id, instance, error, ktime_get_ns() - submit_ns);
	return recorder_add_reason(trace, COLL_RECORD_DONE, instance, error, reason ?: &none);
}

/**
 * coll_record_link() - record that a link has changed
 * @trace: the member
 * @peer: rank of the peer
 * @event: the change
 * @error: of COLL_LINK_DOWN: negative errno; 0: the link has ended in order
 *
 * Context: control runner.
 */
void coll_record_link(const struct coll_trace *trace, u32 peer, enum coll_link_event event,
		      int error)
{
	recorder_add(trace, &(struct coll_record) {
		.kind = COLL_RECORD_LINK,
		.state = event,
		.rank_a = peer,
		.error = -error,
	});
}

/*
 * Reading
 */

static size_t records_bytes(u32 size)
{
	return size * sizeof(struct coll_record);
}

static u64 view_kept(const struct recorder_view *view)
{
	return view->recording.total - record_oldest(&view->recording);
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

/* Position 0 is the head; the records follow, the oldest first. */
static void *view_at(struct recorder_view *view, loff_t pos)
{
	u64 kept = view_kept(view);

	if (!pos)
		return SEQ_START_TOKEN;
	if (pos > kept)
		return NULL;
	return record_of(&view->recording, view->recording.total - kept + pos - 1);
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

/* Copies the recorder.  The other file operations use the copy. */
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
	memcpy(view->record, view->recording.record, records_bytes(view->recording.size));
	spin_unlock(&recorder->lock);
	view->recording.record = view->record;
	return 0;
}

static const struct file_operations recorder_fops = {
	.owner		= THIS_MODULE,
	.open		= recorder_open,
	.read		= seq_read,
	.llseek		= seq_lseek,
	.release	= seq_release_private,
};

/**
 * coll_recorder_from() - the recorder of the lowest rank, from a rank on
 * @dir: recorders of a group
 * @rank: least rank
 *
 * Context: process; the caller serialises calls for a group.
 * Return: the recorder, or NULL.
 */
struct coll_recorder *coll_recorder_from(const struct coll_recorder_dir *dir, u32 rank)
{
	struct coll_recorder *recorder;

	list_for_each_entry(recorder, &dir->recorders, node)
		if (recorder->recording.rank >= rank)
			return recorder;
	return NULL;
}

/**
 * coll_recorder_after() - the recorder of the next rank
 * @dir: recorders of a group
 * @recorder: of a rank
 *
 * Context: as coll_recorder_from().
 * Return: the recorder, or NULL.
 */
struct coll_recorder *coll_recorder_after(const struct coll_recorder_dir *dir,
					  struct coll_recorder *recorder)
{
	if (list_is_last(&recorder->node, &dir->recorders))
		return NULL;
	return list_next_entry(recorder, node);
}

/** coll_recorder_rank() - rank of a recorder */
u32 coll_recorder_rank(const struct coll_recorder *recorder)
{
	return recorder->recording.rank;
}

/**
 * coll_recorder_get() - copy a record
 * @recorder: of coll_recorder_from()
 * @number: number of the record, from 0; becomes that of the oldest one that is kept if it is lower
 * @record: out
 *
 * Context: process; the caller serialises calls for a group.
 * Return: false if there is no such record yet.
 */
bool coll_recorder_get(struct coll_recorder *recorder, u64 *number, struct coll_record *record)
{
	struct coll_recording *recording = &recorder->recording;
	bool found;

	spin_lock(&recorder->lock);
	*number = max(*number, record_oldest(recording));
	found = *number < recording->total;
	if (found)
		*record = *record_of(recording, *number);
	spin_unlock(&recorder->lock);
	return found;
}

/*
 * Lifetime
 */

static struct coll_recorder *recorder_find(const struct coll_recorder_dir *dir, u32 rank)
{
	struct coll_recorder *recorder;

	list_for_each_entry(recorder, &dir->recorders, node)
		if (recorder->recording.rank == rank)
			return recorder;
	return NULL;
}

/* Give a recorder a ring of more records.  Return: the old one. */
static struct coll_record *records_replace(struct coll_recording *recording,
					   struct coll_record *record, u32 size)
{
	struct coll_recording old = *recording;
	u64 i = record_oldest(&old);

	recording->first = i;
	recording->record = record;
	WRITE_ONCE(recording->size, size);
	for (; i < old.total; i++)
		*record_of(recording, i) = *record_of(&old, i);
	return old.record;
}

/* Return: 0, -EDQUOT or -ENOMEM. */
static int recorder_resize(struct coll_recorder *recorder, struct coll_charges *charges, u32 size)
{
	u32 unused = size;
	struct coll_account *account;
	struct coll_record *record;
	int err = coll_charge(charges, records_bytes(size));

	if (err)
		return err;
	record = kvzalloc(records_bytes(size),
			  GFP_KERNEL_ACCOUNT | __GFP_NOWARN | __GFP_RETRY_MAYFAIL);
	if (!record) {
		coll_uncharge(charges, records_bytes(size));
		return -ENOMEM;
	}
	account = coll_charge_detach(charges, records_bytes(size));
	spin_lock(&recorder->lock);
	/* Another thread may have been first. */
	if (size > recorder->recording.size) {
		unused = recorder->recording.size;
		record = records_replace(&recorder->recording, record, size);
		swap(account, recorder->records_account);
	}
	spin_unlock(&recorder->lock);
	kvfree(record);
	if (account)
		coll_account_return(account, records_bytes(unused));
	return 0;
}

/**
 * coll_recorder_reserve() - have space for all the records that are kept
 * @trace: of a member that is about to submit
 * @charges: charges of the member
 *
 * Without memory fewer records are kept.
 *
 * Context: process, with a call in progress, so that the member does not leave; may sleep.
 */
void coll_recorder_reserve(const struct coll_trace *trace, struct coll_charges *charges)
{
	struct coll_recorder *recorder = trace->recorder;

	if (recorder && READ_ONCE(recorder->recording.size) < COLL_RECORDS)
		recorder_resize(recorder, charges, COLL_RECORDS);
}

static void recorder_free(struct coll_recorder *recorder)
{
	if (recorder->records_account)
		coll_account_return(recorder->records_account,
				    records_bytes(recorder->recording.size));
	coll_account_return(recorder->account, sizeof(*recorder));
	kvfree(recorder->recording.record);
	kfree(recorder);
}

static void recorder_insert(struct coll_recorder_dir *dir, struct coll_recorder *recorder)
{
	struct coll_recorder *lower;

	list_for_each_entry_reverse(lower, &dir->recorders, node)
		if (lower->recording.rank < recorder->recording.rank)
			break;
	list_add(&recorder->node, &lower->node);
}

static struct coll_recorder *recorder_new(struct coll_recorder_dir *dir,
					  struct coll_charges *charges,
					  const struct coll_ident *id)
{
	struct coll_recorder *recorder;
	struct coll_recording *recording;
	char name[12];
	int err = coll_charge(charges, sizeof(*recorder));

	if (err)
		return ERR_PTR(err);
	recorder = kzalloc(sizeof(*recorder), GFP_KERNEL_ACCOUNT);
	if (!recorder) {
		coll_uncharge(charges, sizeof(*recorder));
		return ERR_PTR(-ENOMEM);
	}
	recorder->account = coll_charge_detach(charges, sizeof(*recorder));
	spin_lock_init(&recorder->lock);
	recording = &recorder->recording;
	err = recorder_resize(recorder, charges, COLL_RECORDS_FIRST);
	if (err) {
		recorder_free(recorder);
		return ERR_PTR(err);
	}
	memcpy(recording->group, id->group_name, sizeof(recording->group));
	recording->rank = id->rank;
	recording->nranks = id->nranks;
	recorder_insert(dir, recorder);
	snprintf(name, sizeof(name), "%u", id->rank);
	/* "Unsafe" is a file that uses the recorder after open(): this one does not. */
	debugfs_create_file_unsafe(name, 0400, dir->dentry, recorder, &recorder_fops);
	return recorder;
}

/**
 * coll_recorder_enter() - record a member from now on
 * @dir: recorders of the member's group
 * @charges: charges of the member, for a new recorder
 * @trace: the member; its @recorder is set
 * @pid: process that joins
 *
 * Context: process; may sleep; the caller serialises calls for a group, and charges no cgroup.
 * Return: 0, -EDQUOT or -ENOMEM.
 */
int coll_recorder_enter(struct coll_recorder_dir *dir, struct coll_charges *charges,
			struct coll_trace *trace, pid_t pid)
{
	struct coll_recorder *recorder;

	recorder = recorder_find(dir, trace->id->rank);
	if (!recorder)
		recorder = recorder_new(dir, charges, trace->id);
	if (IS_ERR(recorder))
		return PTR_ERR(recorder);
	spin_lock(&recorder->lock);
	recorder->recording.pid = pid;
	recorder->recording.present = true;
	spin_unlock(&recorder->lock);
	trace->recorder = recorder;
	return 0;
}

/**
 * coll_recorder_leave() - undo coll_recorder_enter()
 * @trace: the member; no other thread records anything of it
 *
 * Context: process; the caller serialises calls for a group.
 */
void coll_recorder_leave(struct coll_trace *trace)
{
	struct coll_recorder *recorder = trace->recorder;

	if (!recorder)
		return;
	recorder_add(trace, &(struct coll_record) { .kind = COLL_RECORD_GONE });
	spin_lock(&recorder->lock);
	recorder->recording.present = false;
	spin_unlock(&recorder->lock);
	trace->recorder = NULL;
}

/**
 * coll_recorder_dir_make() - make the directory of a group's recorders
 * @dir: recorders of a new group
 * @group: name of the group's folders
 * @netns: inode number of the group's network namespace, part of the directory's name
 *
 * Context: process; may sleep; the caller charges no cgroup, because users wait for one another.
 */
void coll_recorder_dir_make(struct coll_recorder_dir *dir, const char *group, unsigned int netns)
{
	char name[COLL_FOLDER_NAME_SIZE + 12];

	INIT_LIST_HEAD(&dir->recorders);
	snprintf(name, sizeof(name), "%s@%u", group, netns);
	dir->dentry = debugfs_create_dir(name, recorder_root);
}

/**
 * coll_recorder_dir_remove() - remove the directory, and free the recorders
 * @dir: recorders of a group that has no members any more
 *
 * Context: process; may sleep.
 */
void coll_recorder_dir_remove(struct coll_recorder_dir *dir)
{
	struct coll_recorder *recorder, *next;

	debugfs_remove(dir->dentry);
	list_for_each_entry_safe(recorder, next, &dir->recorders, node) {
		list_del(&recorder->node);
		recorder_free(recorder);
	}
}

/** coll_recorder_setup() - make the directory of all groups in debugfs, if there is one */
void coll_recorder_setup(void)
{
	recorder_root = debugfs_create_dir("collective", NULL);
}

/** coll_recorder_cleanup() - undo coll_recorder_setup(); no group is left */
void coll_recorder_cleanup(void)
{
	debugfs_remove(recorder_root);
}
