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
 * @mm: of the process; the members' notifiers keep its address from being reused
 * @pid: of the process, because a child may share its memory for a while (vfork)
 * @users: members that refer to it; protected by @watches_mutex
 * @traced: members that are told of signals; protected by @watches_mutex
 * @work: tells @traced that the process is about to end
 *
 * The last member removes the watch from the table, waits for @work, and frees it.
 */
struct coll_exit_watch {
	struct hlist_node node;
	const struct mm_struct *mm;
	pid_t pid;
	u32 users;
	struct list_head traced;
	struct work_struct work;
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
	coll_fail_report_kind(&member->fail, COLLECTIVE_REASON_DEATH, member->id.rank,
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

static void watch_mm_release(struct mmu_notifier *notifier, struct mm_struct *mm)
{
	struct coll_member *member = container_of(notifier, struct coll_member, owner.notifier);

	/* mmu_notifier_unregister() calls this, too. */
	if (!READ_ONCE(member->owner.exit_watch))
		return;
	WRITE_ONCE(member->owner.mm_released, true);
	coll_exit_report(member);
}

static const struct mmu_notifier_ops watch_notifier_ops = {
	.release = watch_mm_release,
};

static void watch_report(struct work_struct *work)
{
	struct coll_exit_watch *watch = container_of(work, struct coll_exit_watch, work);
	struct coll_member *member;

	mutex_lock(&watches_mutex);
	list_for_each_entry(member, &watch->traced, owner.exit_node)
		coll_exit_report(member);
	mutex_unlock(&watches_mutex);
}

static struct coll_exit_watch *watch_find(const struct mm_struct *mm, pid_t pid)
{
	struct coll_exit_watch *watch;

	hash_for_each_possible(watches, watch, node, (uintptr_t)mm)
		if (watch->mm == mm && watch->pid == pid)
			return watch;
	return NULL;
}

static struct coll_exit_watch *watch_new(const struct coll_member *member)
{
	struct coll_exit_watch *watch = kzalloc(sizeof(*watch), GFP_KERNEL_ACCOUNT);

	if (!watch)
		return NULL;
	watch->mm = member->owner.mm;
	watch->pid = member->owner.pid;
	INIT_LIST_HEAD(&watch->traced);
	INIT_WORK(&watch->work, watch_report);
	raw_spin_lock_irq(&watches_lock);
	hash_add(watches, &watch->node, (uintptr_t)watch->mm);
	raw_spin_unlock_irq(&watches_lock);
	return watch;
}

static int watch_enter(struct coll_member *member)
{
	struct coll_exit_watch *watch;

	mutex_lock(&watches_mutex);
	watch = watch_find(member->owner.mm, member->owner.pid);
	if (!watch)
		watch = watch_new(member);
	if (watch) {
		watch->users++;
		INIT_LIST_HEAD(&member->owner.exit_node);
		WRITE_ONCE(member->owner.exit_watch, watch);
	}
	mutex_unlock(&watches_mutex);
	return watch ? 0 : -ENOMEM;
}

static void watch_leave(struct coll_member *member)
{
	struct coll_exit_watch *watch = member->owner.exit_watch;
	bool last;

	mutex_lock(&watches_mutex);
	list_del(&member->owner.exit_node);
	WRITE_ONCE(member->owner.exit_watch, NULL);
	last = !--watch->users;
	if (last) {
		raw_spin_lock_irq(&watches_lock);
		hash_del(&watch->node);
		raw_spin_unlock_irq(&watches_lock);
	}
	mutex_unlock(&watches_mutex);
	if (!last)
		return;
	cancel_work_sync(&watch->work);
	kfree(watch);
}

/**
 * struct watch_registration - a work item that registers the notifier of a member
 * @work: the work item
 * @member: of the notifier
 * @err: result; negative errno or 0
 */
struct watch_registration {
	struct work_struct work;
	struct coll_member *member;
	int err;
};

static void watch_register(struct work_struct *work)
{
	struct watch_registration *registration =
		container_of(work, struct watch_registration, work);
	struct coll_member *member = registration->member;
	struct mem_cgroup *memcg = set_active_memcg(member->owner.memcg);

	registration->err = mmu_notifier_register(&member->owner.notifier, member->owner.mm);
	set_active_memcg(memcg);
}

static int watch_register_in_work(struct coll_member *member)
{
	struct watch_registration registration = { .member = member };

	INIT_WORK_ONSTACK(&registration.work, watch_register);
	queue_work(coll_wq, &registration.work);
	flush_work(&registration.work);
	destroy_work_on_stack(&registration.work);
	return registration.err;
}

/**
 * coll_exit_watch_begin() - watch the memory of the process
 * @member: that joins; its @owner is set
 *
 * mmu_notifier_register() fails if its thread has any signal pending, so a process that is
 * signalled often would never join.  A work item, which gets no signals, registers the notifier
 * then.  The process keeps its memory, because it waits for the work item.
 *
 * Context: the process that joins; may sleep, whatever signals come.
 * Return: 0 or -ENOMEM.
 */
int coll_exit_watch_begin(struct coll_member *member)
{
	int err;

	member->owner.notifier.ops = &watch_notifier_ops;
	err = watch_enter(member);
	if (err)
		return err;
	err = mmu_notifier_register(&member->owner.notifier, member->owner.mm);
	if (err == -EINTR)
		err = watch_register_in_work(member);
	if (err)
		watch_leave(member);
	return err;
}

/**
 * coll_exit_trace() - report signals that end the process, too
 * @member: watched and JOINED, because the report fails it
 *
 * Context: may sleep.
 */
void coll_exit_trace(struct coll_member *member)
{
	mutex_lock(&watches_mutex);
	list_add(&member->owner.exit_node, &member->owner.exit_watch->traced);
	mutex_unlock(&watches_mutex);
}

/**
 * coll_exit_watch_end() - undo coll_exit_watch_begin() and coll_exit_trace()
 * @member: watched
 *
 * Context: may sleep.
 */
void coll_exit_watch_end(struct coll_member *member)
{
	watch_leave(member);
	mmu_notifier_unregister(&member->owner.notifier, member->owner.mm);
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
		queue_work(coll_wq, &watch->work);
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
