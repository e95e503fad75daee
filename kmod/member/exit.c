// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exit watch: the end of the process that joined is detected before its file is released, which
 * may be much later.  A dying process writes its core dump, then frees its memory, and then closes
 * its files, which a child may keep open.
 *
 * An MMU notifier tells the end of the memory.  A core dump is announced by no kernel interface,
 * so the signals that cause one are traced.
 */
#include <linux/hashtable.h>
#include <linux/memcontrol.h>
#include <linux/mmu_notifier.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/signal.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/tracepoint.h>
#include <linux/workqueue.h>
#include <trace/events/signal.h>

#include "exec/runner.h"
#include "member/exit.h"
#include "member/member.h"

/**
 * struct coll_exit_watch - a process that has joined, one for all its members
 * @node: in @watches, by @mm; changed under both locks, read under either
 * @notifier: tells the end of @mm, and keeps its address from being reused
 * @mm: of the process
 * @memcg: of the process; the notifier is charged to it
 * @pid: of the process, because a child may share its memory for a while (vfork)
 * @users: members that refer to it; protected by @watches_mutex
 * @mutex: protects @members; held while all of them are told, which other processes do not wait
 *	for
 * @members: those of its users that are told of the end
 * @work: tells @members that the process is about to end
 * @register_work: registers @notifier
 * @err: result of @register_work; negative errno or 0
 *
 * The last member removes the watch from the table, and frees it when neither @work nor @notifier
 * runs any more.
 */
struct coll_exit_watch {
	struct hlist_node node;
	struct mmu_notifier notifier;
	struct mm_struct *mm;
	struct mem_cgroup *memcg;
	pid_t pid;
	u32 users;
	struct mutex mutex; /* @members */
	struct list_head members;
	struct work_struct work;
	struct work_struct register_work;
	int err;
};

static DEFINE_HASHTABLE(watches, 8);
static DEFINE_MUTEX(watches_mutex);

/*
 * Taken by a tracepoint's probe with preemption disabled, so it must not sleep on PREEMPT_RT
 * either.  It is held for one look-up.
 */
static DEFINE_RAW_SPINLOCK(watches_lock);

/**
 * coll_exit_report() - report that the process has ended, or is about to
 * @member: of the process
 *
 * Context: process or work item; no lock of the member is held.
 */
void coll_exit_report(struct coll_member *member)
{
	coll_state_fail_kind(&member->state, COLLECTIVE_REASON_DEATH, member->id.rank,
			     COLLECTIVE_RANK_NONE);
}

/**
 * coll_exit_of() - does the process that joined end, as seen by one of its threads?
 * @member: of the process
 *
 * io_uring cancels the commands of a thread that ends.  To the other ranks that would look like a
 * cancellation by a living process.
 *
 * Context: any thread.
 * Return: false if the process lives, even if the thread ends alone or calls exec().
 */
bool coll_exit_of(const struct coll_member *member)
{
	return member->owner.mm == current->mm && member->owner.pid == task_tgid_nr(current) &&
	       current->signal->flags & SIGNAL_GROUP_EXIT;
}

/* mmu_notifier_unregister() calls this, too, when no member is left. */
static void watch_mm_release(struct mmu_notifier *notifier, struct mm_struct *mm)
{
	struct coll_exit_watch *watch = container_of(notifier, struct coll_exit_watch, notifier);
	struct coll_member *member;

	mutex_lock(&watch->mutex);
	list_for_each_entry(member, &watch->members, owner.exit_node) {
		WRITE_ONCE(member->owner.mm_released, true);
		coll_exit_report(member);
		/* Its pages need no fence any more: see member_wake_close(). */
		wake_up_all(&member->state.wait);
	}
	mutex_unlock(&watch->mutex);
}

static const struct mmu_notifier_ops watch_notifier_ops = {
	.release = watch_mm_release,
};

static void watch_report(struct work_struct *work)
{
	struct coll_exit_watch *watch = container_of(work, struct coll_exit_watch, work);
	struct coll_member *member;

	mutex_lock(&watch->mutex);
	list_for_each_entry(member, &watch->members, owner.exit_node)
		coll_exit_report(member);
	mutex_unlock(&watch->mutex);
}

static struct coll_exit_watch *watch_find(const struct mm_struct *mm, pid_t pid)
{
	struct coll_exit_watch *watch;

	hash_for_each_possible(watches, watch, node, (uintptr_t)mm)
		if (watch->mm == mm && watch->pid == pid)
			return watch;
	return NULL;
}

static void watch_register(struct work_struct *work)
{
	struct coll_exit_watch *watch = container_of(work, struct coll_exit_watch, register_work);
	struct mem_cgroup *memcg = set_active_memcg(watch->memcg);

	watch->err = mmu_notifier_register(&watch->notifier, watch->mm);
	set_active_memcg(memcg);
}

/*
 * mmu_notifier_register() fails if its thread has any signal pending, so a process that is
 * signalled often would never join.  A work item, which gets no signals, registers the notifier
 * then.  The process keeps its memory, because it waits for the work item.
 */
static int watch_begin(struct coll_exit_watch *watch)
{
	int err = mmu_notifier_register(&watch->notifier, watch->mm);

	if (err != -EINTR)
		return err;
	INIT_WORK(&watch->register_work, watch_register);
	queue_work(coll_unbound_wq, &watch->register_work);
	flush_work(&watch->register_work);
	return watch->err;
}

/* Return: a watch that is not in the table; or NULL without memory. */
static struct coll_exit_watch *watch_new(const struct coll_member *member)
{
	struct coll_exit_watch *watch = kzalloc(sizeof(*watch), GFP_KERNEL_ACCOUNT);

	if (!watch)
		return NULL;
	watch->notifier.ops = &watch_notifier_ops;
	watch->mm = member->owner.mm;
	watch->memcg = member->owner.memcg;
	watch->pid = member->owner.pid;
	mutex_init(&watch->mutex);
	INIT_LIST_HEAD(&watch->members);
	INIT_WORK(&watch->work, watch_report);
	if (!watch_begin(watch))
		return watch;
	kfree(watch);
	return NULL;
}

/* Free a watch that is in no table; may sleep. */
static void watch_free(struct coll_exit_watch *watch)
{
	cancel_work_sync(&watch->work);
	mmu_notifier_unregister(&watch->notifier, watch->mm);
	kfree(watch);
}

/*
 * Take the watch of the process for a member.  @fresh: added if there is none; NULL: none is.
 * Return: the watch, or NULL.
 */
static struct coll_exit_watch *watch_get(struct coll_member *member, struct coll_exit_watch *fresh)
{
	struct coll_exit_watch *watch;

	mutex_lock(&watches_mutex);
	watch = watch_find(member->owner.mm, member->owner.pid);
	if (!watch && fresh) {
		watch = fresh;
		raw_spin_lock_irq(&watches_lock);
		hash_add(watches, &watch->node, (uintptr_t)watch->mm);
		raw_spin_unlock_irq(&watches_lock);
	}
	if (watch)
		watch->users++;
	mutex_unlock(&watches_mutex);
	return watch;
}

/**
 * coll_exit_watch_begin() - watch the memory of the process
 * @member: that joins; its @owner is set
 *
 * Context: the process that joins; may sleep, whatever signals come.
 * Return: 0 or -ENOMEM.
 */
int coll_exit_watch_begin(struct coll_member *member)
{
	struct coll_exit_watch *watch = watch_get(member, NULL), *fresh;

	if (!watch) {
		fresh = watch_new(member);
		if (!fresh)
			return -ENOMEM;
		watch = watch_get(member, fresh);
		/* Another thread of the process has joined meanwhile. */
		if (watch != fresh)
			watch_free(fresh);
	}
	INIT_LIST_HEAD(&member->owner.exit_node);
	member->owner.exit_watch = watch;
	return 0;
}

/**
 * coll_exit_trace() - report the end of the process from now on
 * @member: watched and JOINED, because the report fails it
 *
 * Context: may sleep.
 */
void coll_exit_trace(struct coll_member *member)
{
	struct coll_exit_watch *watch = member->owner.exit_watch;

	mutex_lock(&watch->mutex);
	list_add(&member->owner.exit_node, &watch->members);
	mutex_unlock(&watch->mutex);
}

/**
 * coll_exit_watch_end() - undo coll_exit_watch_begin() and coll_exit_trace()
 * @member: watched
 *
 * Context: may sleep.
 */
void coll_exit_watch_end(struct coll_member *member)
{
	struct coll_exit_watch *watch = member->owner.exit_watch;
	bool last;

	mutex_lock(&watch->mutex);
	list_del(&member->owner.exit_node);
	mutex_unlock(&watch->mutex);
	mutex_lock(&watches_mutex);
	last = !--watch->users;
	if (last) {
		raw_spin_lock_irq(&watches_lock);
		hash_del(&watch->node);
		raw_spin_unlock_irq(&watches_lock);
	}
	mutex_unlock(&watches_mutex);
	if (last)
		watch_free(watch);
}

static bool trace_signals = true;
module_param(trace_signals, bool, 0444);
MODULE_PARM_DESC(trace_signals,
		 "Trace the signals of all processes, so that a process that dumps core is noticed before it has written the core. Default: yes; if no, afterwards");

#ifdef CONFIG_TRACEPOINTS
static struct tracepoint *signal_tracepoint;

/*
 * Called by the thread that gets the signal, with its process's siglock held and preemption
 * disabled.  The work item does what may sleep.
 */
static void watch_signal(void *data, int sig, struct kernel_siginfo *info,
			 struct k_sigaction *action)
{
	struct coll_exit_watch *watch;
	unsigned long flags;

	if (!sig_kernel_coredump(sig) || action->sa.sa_handler != SIG_DFL ||
	    current->signal->flags & SIGNAL_UNKILLABLE)
		return;
	raw_spin_lock_irqsave(&watches_lock, flags);
	watch = watch_find(current->mm, task_tgid_nr(current));
	if (watch)
		queue_work(coll_unbound_wq, &watch->work);
	raw_spin_unlock_irqrestore(&watches_lock, flags);
}

static void watch_find_tracepoint(struct tracepoint *tracepoint, void *name)
{
	if (!strcmp(tracepoint->name, name))
		signal_tracepoint = tracepoint;
}

/**
 * coll_exit_setup() - trace signals
 *
 * If that fails, or if the kernel has no tracepoints, or if the parameter forbids it, the death of
 * a process is noticed after it has written its core dump.
 */
void coll_exit_setup(void)
{
	check_trace_callback_type_signal_deliver(watch_signal);
	if (!trace_signals)
		return;
	for_each_kernel_tracepoint(watch_find_tracepoint, "signal_deliver");
	if (signal_tracepoint && tracepoint_probe_register(signal_tracepoint, watch_signal, NULL))
		signal_tracepoint = NULL;
	if (!signal_tracepoint)
		pr_warn("collective: signals cannot be traced: a process that dumps core is noticed late\n");
}

/** coll_exit_cleanup() - undo coll_exit_setup() */
void coll_exit_cleanup(void)
{
	if (!signal_tracepoint)
		return;
	tracepoint_probe_unregister(signal_tracepoint, watch_signal, NULL);
	tracepoint_synchronize_unregister();
}
#else
void coll_exit_setup(void)
{
}

void coll_exit_cleanup(void)
{
}
#endif /* CONFIG_TRACEPOINTS */
