// SPDX-License-Identifier: GPL-2.0-only
/* Queries of a member: which member of a group asks, and what a member answers. */
#include <linux/pid.h>
#include <linux/sched/signal.h>

#include "core/wire/answer.h"
#include "mem/account.h"
#include "member/query_member.h"
#include "member/group.h"
#include "member/member.h"
#include "op/requests.h"

/* Is the process stopped by a signal, as by SIGSTOP? */
static bool owner_stopped(const struct coll_owner *owner)
{
	const struct task_struct *task;
	bool stopped;

	rcu_read_lock();
	task = pid_task(owner->tgid, PIDTYPE_TGID);
	stopped = task && READ_ONCE(task->signal->flags) & SIGNAL_STOP_STOPPED;
	rcu_read_unlock();
	return stopped;
}

/**
 * coll_member_answer() - say what a member does
 * @member: the member
 * @answer: zeroed; filled in
 *
 * Context: control runner.
 */
void coll_member_answer(struct coll_member *member, struct coll_answer *answer)
{
	struct coll_member_state *state = &member->state;

	answer->parts = BIT(COLL_ANSWER_STATE);
	answer->pid = member->owner.pid;
	answer->own_pid = member->owner.own_pid;
	answer->stopped = owner_stopped(&member->owner);
	coll_answer_set_node(answer, member->owner.node);
	spin_lock(&state->lock);
	answer->state = state->value;
	coll_answer_add_failure(answer, COLL_ANSWER_GROUP, &state->reason, COLL_INSTANCE_GROUP,
				state->aborted_at);
	coll_requests_answer(&member->requests, answer);
	spin_unlock(&state->lock);
	coll_requests_answer_times(&member->requests, answer);
}

/* Members that have most links first; of a group that has failed any will do. */
static u32 member_worth(const struct coll_member *member)
{
	switch (READ_ONCE(member->state.value)) {
	case COLLECTIVE_STATE_UP:
		return 3;
	case COLLECTIVE_STATE_CONNECTING:
		return 2;
	case COLLECTIVE_STATE_ABORTED:
		return 1;
	default:
		return 0;
	}
}

/**
 * coll_member_asker() - the member of this host that asks for a group
 * @group: the group; locked
 *
 * Return: the first one of those that can ask best, or NULL.
 */
struct coll_member *coll_member_asker(const struct coll_group *group)
{
	struct coll_member *member, *best = NULL;

	list_for_each_entry(member, &group->members, group_node)
		if (!READ_ONCE(member->state.stopped) &&
		    member_worth(member) > (best ? member_worth(best) : 0))
			best = member;
	return best;
}

/**
 * coll_member_query() - ask all ranks of a member's group
 * @member: from coll_member_hold()
 * @number: out: number of the query
 *
 * Context: the group is locked; may sleep.
 * Return: 0, also if the latest query is too young for another one; -EDQUOT or -ENOMEM.
 */
int coll_member_query(struct coll_member *member, u32 *number)
{
	/* A dump of all groups waits for the lock of this one. */
	struct mem_cgroup *cgroup = coll_no_cgroup_begin();
	int ret = coll_query_begin(&member->net, number);

	coll_no_cgroup_end(cgroup);
	if (ret > 0)
		coll_control_post(&member->control, COLL_MEMBER_SEND_QUERY);
	return min(ret, 0);
}
