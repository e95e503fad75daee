// SPDX-License-Identifier: GPL-2.0-only
/*
 * The end of the process that joined, known before its file is closed.  That may be
 * much later: a dying process writes its core, then gives back its memory, and only
 * then closes files, which a child may hold for ever.
 *
 * Memory says so itself (an MMU notifier); of a core, nobody is told but who traces
 * signals.
 */
#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/signal.h>
#include <linux/tracepoint.h>
#include <trace/events/signal.h>

#include "coll.h"

static LIST_HEAD(watched);
static DEFINE_SPINLOCK(watched_lock);	/* taken inside of a process's siglock */

/**
 * coll_death_tell() - the process has ended, or is about to
 * @member: that it has joined
 *
 * Context: process or work item; no lock of the member is held.
 */
noinline void coll_death_tell(struct coll_member *member)
{
	coll_member_fail(member, COLLECTIVE_REASON_DEATH, member->rank, COLLECTIVE_RANK_NONE);
}

static void death_mm_release(struct mmu_notifier *notifier, struct mm_struct *mm)
{
	struct coll_member *member = container_of(notifier, struct coll_member, notifier);

	/* Unregistering calls this, too. */
	if (!READ_ONCE(member->mm_watched))
		return;
	WRITE_ONCE(member->mm_gone, true);
	coll_death_tell(member);
}

static const struct mmu_notifier_ops death_notifier_ops = {
	.release = death_mm_release,
};

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
	struct mem_cgroup *memcg = set_active_memcg(member->memcg);

	registration->err = mmu_notifier_register(&member->notifier, member->mm);
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
 * coll_death_watch() - be told when the memory of the process goes
 * @member: that joins; its memory and cgroup are known
 *
 * mmu_notifier_register() gives up when its thread has a signal pending, whichever it is.  A
 * process that is signalled more often than that takes would never join.  Hence a work item,
 * which has no signals, does it then.  The process keeps its memory, as it waits for that.
 *
 * Context: the process that joins; may sleep, whatever signals come.
 * Return: 0 or -ENOMEM.
 */
int coll_death_watch(struct coll_member *member)
{
	int err;

	member->notifier.ops = &death_notifier_ops;
	INIT_LIST_HEAD(&member->watched);
	WRITE_ONCE(member->mm_watched, true);
	err = mmu_notifier_register(&member->notifier, member->mm);
	if (err == -EINTR)
		err = death_register_elsewhere(member);
	if (err)
		WRITE_ONCE(member->mm_watched, false);
	return err;
}

/**
 * coll_death_trace() - be told of signals that end the process, too
 * @member: one that is watched and has joined: its control runner may be kicked
 */
void coll_death_trace(struct coll_member *member)
{
	spin_lock_irq(&watched_lock);
	list_add(&member->watched, &watched);
	spin_unlock_irq(&watched_lock);
}

/**
 * coll_death_unwatch() - undo coll_death_watch() and coll_death_trace()
 * @member: the member
 *
 * Context: may sleep.
 */
void coll_death_unwatch(struct coll_member *member)
{
	spin_lock_irq(&watched_lock);
	list_del_init(&member->watched);
	spin_unlock_irq(&watched_lock);
	WRITE_ONCE(member->mm_watched, false);
	mmu_notifier_unregister(&member->notifier, member->mm);
}

#ifdef CONFIG_TRACEPOINTS
static struct tracepoint *death_tracepoint;

/* By the thread itself, its process's siglock held: the control runner does the rest. */
static void death_signal(void *data, int sig, struct kernel_siginfo *info,
			 struct k_sigaction *action)
{
	struct coll_member *member;
	unsigned long flags;

	if (!sig_kernel_coredump(sig) || action->sa.sa_handler != SIG_DFL ||
	    current->signal->flags & SIGNAL_UNKILLABLE)
		return;
	spin_lock_irqsave(&watched_lock, flags);
	list_for_each_entry(member, &watched, watched) {
		if (member->mm != current->mm || member->pid != task_tgid_nr(current))
			continue;
		set_bit(COLL_CHORE_DEATH, &member->chores);
		coll_runner_kick(&member->control);
	}
	spin_unlock_irqrestore(&watched_lock, flags);
}

static void death_find(struct tracepoint *tracepoint, void *name)
{
	if (!strcmp(tracepoint->name, name))
		death_tracepoint = tracepoint;
}

/**
 * coll_death_setup() - look at signals
 *
 * Without it, or where tracepoints are not built, a core is written before anybody
 * knows.
 */
void coll_death_setup(void)
{
	check_trace_callback_type_signal_deliver(death_signal);
	for_each_kernel_tracepoint(death_find, "signal_deliver");
	if (death_tracepoint && tracepoint_probe_register(death_tracepoint, death_signal, NULL))
		death_tracepoint = NULL;
	if (!death_tracepoint)
		pr_warn("collective: signals cannot be traced: who dumps core is noticed late\n");
}

/** coll_death_cleanup() - undo coll_death_setup() */
void coll_death_cleanup(void)
{
	if (death_tracepoint)
		tracepoint_probe_unregister(death_tracepoint, death_signal, NULL);
	tracepoint_synchronize_unregister();
}
#else
void coll_death_setup(void)
{
}

void coll_death_cleanup(void)
{
}
#endif /* CONFIG_TRACEPOINTS */
