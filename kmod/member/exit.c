// SPDX-License-Identifier: GPL-2.0-only
/*
 * The end of the process that joined, known before its file is closed.  That may be
 * much later: a dying process writes its core, then gives back its memory, and only
 * then closes files, which a child may hold for ever.
 *
 * Memory says so itself (an MMU notifier); of a core, nobody is told but who traces
 * signals.
 */
#include <linux/hashtable.h>
#include <linux/memcontrol.h>
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
 * struct coll_exit_watch - a process that has joined, once for all its members
 * @node: in @watches, by @mm; changed under both locks, read under either
 * @mm: of the process, which joins, or whose notifiers keep the struct from being used again
 * @pid: of the process: a child may share its memory for a while (vfork)
 * @users: members that point here; protected by @watches_mutex
 * @traced: those of them that are told; protected by @watches_mutex
 * @work: tells @traced that the process is about to end
 *
 * The last member that goes takes the watch out of the table, waits for @work, and frees it.
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
 * Taken by a tracepoint's probe, with preemption off: it must not sleep on PREEMPT_RT either,
 * and is held for one look-up.
 */
static DEFINE_RAW_SPINLOCK(watches_lock);

/**
 * coll_exit_report() - the process has ended, or is about to
 * @member: that it has joined
 *
 * Context: process or work item; no lock of the member is held.
 */
noinline void coll_exit_report(struct coll_member *member)
{
	coll_fail_report_kind(&member->fail, COLLECTIVE_REASON_DEATH, member->id.rank,
			      COLLECTIVE_RANK_NONE);
}

/**
 * coll_exit_of() - does the calling thread end, with its process, which joined?
 * @member: the member
 *
 * io_uring cancels the commands of a thread that ends, which would look like a cancellation
 * by a living process to the other ranks.
 *
 * Context: any thread.
 * Return: false: the process lives, also if the thread ends alone or calls exec().
 */
bool coll_exit_of(const struct coll_member *member)
{
	return member->owner.mm == current->mm && member->owner.pid == task_tgid_nr(current) &&
	       current->signal->flags & SIGNAL_GROUP_EXIT;
}

static void death_mm_release(struct mmu_notifier *notifier, struct mm_struct *mm)
{
	struct coll_member *member = container_of(notifier, struct coll_member, owner.notifier);

	/* Unregistering calls this, too. */
	if (!READ_ONCE(member->owner.exit_watch))
		return;
	WRITE_ONCE(member->owner.mm_released, true);
	coll_exit_report(member);
}

static const struct mmu_notifier_ops death_notifier_ops = {
	.release = death_mm_release,
};

static void death_work(struct work_struct *work)
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
	INIT_WORK(&watch->work, death_work);
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
 * struct death_registration - the work item that registers a member's notifier
 * @work: the work item
 * @member: whose
 * @err: how it ended
 */
struct death_registration {
	struct work_struct work;
	struct coll_member *member;
	int err;
};

static void death_register(struct work_struct *work)
{
	struct death_registration *registration =
		container_of(work, struct death_registration, work);
	struct coll_member *member = registration->member;
	struct mem_cgroup *memcg = set_active_memcg(member->owner.memcg);

	registration->err = mmu_notifier_register(&member->owner.notifier, member->owner.mm);
	set_active_memcg(memcg);
}

static int death_register_elsewhere(struct coll_member *member)
{
	struct death_registration registration = { .member = member };

	INIT_WORK_ONSTACK(&registration.work, death_register);
	queue_work(coll_wq, &registration.work);
	flush_work(&registration.work);
	destroy_work_on_stack(&registration.work);
	return registration.err;
}

/**
 * coll_exit_watch_begin() - be told when the memory of the process goes
 * @member: that joins; its memory and cgroup are known
 *
 * mmu_notifier_register() gives up when its thread has a signal pending, whichever it is.  A
 * process that is signalled more often than that takes would never join.  Hence a work item,
 * which has no signals, does it then.  The process keeps its memory, as it waits for that.
 *
 * Context: the process that joins; may sleep, whatever signals come.
 * Return: 0 or -ENOMEM.
 */
int coll_exit_watch_begin(struct coll_member *member)
{
	int err;

	member->owner.notifier.ops = &death_notifier_ops;
	err = watch_enter(member);
	if (err)
		return err;
	err = mmu_notifier_register(&member->owner.notifier, member->owner.mm);
	if (err == -EINTR)
		err = death_register_elsewhere(member);
	if (err)
		watch_leave(member);
	return err;
}

/**
 * coll_exit_trace() - be told of signals that end the process, too
 * @member: one that is watched and has joined: it may fail
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
 * @member: the member
 *
 * Context: may sleep.
 */
void coll_exit_watch_end(struct coll_member *member)
{
	watch_leave(member);
	mmu_notifier_unregister(&member->owner.notifier, member->owner.mm);
}

#ifdef CONFIG_TRACEPOINTS
static struct tracepoint *death_tracepoint;

/*
 * By the thread itself, with its process's siglock held and preemption off: the work item does
 * the rest.
 */
static void death_signal(void *data, int sig, struct kernel_siginfo *info,
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

static void death_find(struct tracepoint *tracepoint, void *name)
{
	if (!strcmp(tracepoint->name, name))
		death_tracepoint = tracepoint;
}

/**
 * coll_exit_setup() - look at signals
 *
 * Without it, or where tracepoints are not built, a core is written before anybody
 * knows.
 */
void coll_exit_setup(void)
{
	check_trace_callback_type_signal_deliver(death_signal);
	for_each_kernel_tracepoint(death_find, "signal_deliver");
	if (death_tracepoint && tracepoint_probe_register(death_tracepoint, death_signal, NULL))
		death_tracepoint = NULL;
	if (!death_tracepoint)
		pr_warn("collective: signals cannot be traced: who dumps core is noticed late\n");
}

/** coll_exit_cleanup() - undo coll_exit_setup() */
void coll_exit_cleanup(void)
{
	if (death_tracepoint)
		tracepoint_probe_unregister(death_tracepoint, death_signal, NULL);
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
