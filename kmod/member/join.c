// SPDX-License-Identifier: GPL-2.0-only
/*
 * JOIN: what a member allocates and registers, and how the teardown undoes it.
 */
#include <linux/cred.h>
#include <linux/ctype.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/memcontrol.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/utsname.h>

#include "core/wire/wire.h"
#include "lane/lane.h"
#include "limits.h"
#include "member/group.h"
#include "member/member.h"
#include "net/link.h"
#include "op/match.h"
#include "transport/board.h"
#include "transport/hub.h"

/* Tables by rank and by request, lanes, and what is known of the calls of other ranks. */
static int join_charge(struct coll_member *member)
{
	u64 rank = sizeof(*member->net.links) + sizeof(*member->net.peers);
	u64 bytes = COLL_CHARGE_SYSFS + sizeof(struct coll_failed_ops) + COLL_REQUESTS_BYTES +
		    member->id.nlanes * sizeof(*member->lanes) + member->id.nranks * rank;
	int err = coll_charges_begin(&member->charges);

	if (err)
		return err;
	if (coll_wishes_local(member->net.wish))
		bytes += coll_local_board_bytes(member->id.nranks);
	err = coll_charge(&member->charges, bytes);
	if (err) {
		coll_charges_end(&member->charges);
		return err;
	}
	member->charged = bytes;
	return 0;
}

/**
 * coll_member_uncharge() - return what JOIN and CONNECT were charged
 * @member: whose tables and lanes are freed
 */
void coll_member_uncharge(struct coll_member *member)
{
	coll_uncharge(&member->charges, member->charged);
	member->charged = 0;
}

static int join_check(const struct collective_join *join)
{
	const u8 *c = join->name;
	size_t len = strnlen(join->name, sizeof(join->name));
	u32 i;

	if (!len || len > COLLECTIVE_NAME_MAX || !strcmp(join->name, ".") ||
	    !strcmp(join->name, ".."))
		return -EINVAL;
	/* The kernel's isalnum() knows the letters of Latin-1, too. */
	for (; *c; c++)
		if (!isascii(*c) || (!isalnum(*c) && !strchr("._-", *c)))
			return -EINVAL;
	if (memchr_inv(join->name + len, 0, sizeof(join->name) - len) ||
	    join->flags & ~COLLECTIVE_JOIN_PRIVATE || join->reserved)
		return -EINVAL;
	if (!join->nranks || join->nranks > COLLECTIVE_RANKS_MAX ||
	    join->rank >= join->nranks || join->lanes > COLLECTIVE_LANES_MAX ||
	    join->transport >= COLLECTIVE_TRANSPORT_COUNT)
		return -EINVAL;
	/* So short that a lost peer is noticed soon, and so long that its timer costs little. */
	if (join->heartbeat_ms && (join->heartbeat_ms < COLLECTIVE_HEARTBEAT_MIN_MS ||
				   join->heartbeat_ms > COLLECTIVE_HEARTBEAT_MAX_MS))
		return -EINVAL;
	for (i = 0; i < COLLECTIVE_OPCODES_MAX; i++)
		if (join->algorithm[i] >= COLLECTIVE_ALGORITHM_COUNT ||
		    (i >= COLLECTIVE_OPCODE_COUNT && join->algorithm[i]))
			return -EINVAL;
	return 0;
}

static void join_lane(struct coll_member *member, u32 index)
{
	struct coll_lane *lane = &member->lanes[index];

	lane->id = &member->id;
	lane->state = &member->state;
	lane->net = &member->net;
	lane->process = member->process;
	lane->owner = &member->owner.cpus;
	lane->memcg = member->owner.memcg;
	lane->ops = &coll_request_lane_ops;
	lane->times = member->requests.times;
	coll_lane_setup(lane, index);
}

static int join_lanes(struct coll_member *member)
{
	u32 i;

	member->process = coll_cpu_process_get(member->owner.mm);
	if (!member->process)
		return -ENOMEM;
	member->lanes = kvcalloc(member->id.nlanes, sizeof(*member->lanes), GFP_KERNEL_ACCOUNT);
	if (!member->lanes) {
		coll_cpu_process_put(member->process);
		return -ENOMEM;
	}
	for (i = 0; i < member->id.nlanes; i++)
		join_lane(member, i);
	coll_lane_home(&member->id, 0, &member->owner.cpus, &member->control.home);
	member->control.runner.home = &member->control.home;
	member->requests.lanes = member->lanes;
	return 0;
}

/**
 * coll_member_free_lanes() - free the lanes and their connections
 * @member: whose lanes have closed their connections, or never had any
 */
void coll_member_free_lanes(struct coll_member *member)
{
	u32 i;

	for (i = 0; i < member->id.nlanes; i++)
		coll_lane_cleanup(&member->lanes[i]);
	coll_cpu_process_put(member->process);
	member->process = NULL;
	kvfree(member->lanes);
	member->lanes = NULL;
	member->requests.lanes = NULL;
	member->id.nlanes = 0;
}

/**
 * coll_member_free_links() - free the links, and the tables by rank and by request
 * @member: whose lanes are freed
 * @reset: drop what is queued
 *
 * Context: may sleep.
 */
void coll_member_free_links(struct coll_member *member, bool reset)
{
	coll_net_free_links(&member->net, reset);
	member->id.reads = false;
	member->id.board = false;
	coll_requests_cleanup(&member->requests);
	coll_failed_ops_free(member->state.failed_ops);
	member->state.failed_ops = NULL;
}

/* Links to the neighbours on the ring, and to the peers of each round of matching. */
static int join_links(struct coll_member *member)
{
	struct coll_requests *reqs = &member->requests;
	u32 rounds = coll_match_rounds(member->id.nranks);
	struct coll_net *net = &member->net;
	int err = coll_requests_setup(reqs);
	u32 i;

	member->state.failed_ops = coll_failed_ops_new(&member->state, &member->charges);
	net->links = kvcalloc(member->id.nranks, sizeof(*net->links), GFP_KERNEL_ACCOUNT);
	if (!member->state.failed_ops || !net->links)
		err = -ENOMEM;
	for (i = 0; !err && i < rounds; i++) {
		err = coll_link_new(net, coll_match_next_peer(reqs, i), true);
		if (!err)
			err = coll_link_new(net, coll_match_prev_peer(reqs, i), true);
	}
	if (err)
		coll_member_free_links(member, true);
	return err;
}

static void join_identity(struct coll_ident *id, const struct collective_join *join)
{
	id->rank = join->rank;
	id->nranks = join->nranks;
	id->nlanes = join->lanes ? join->lanes : COLL_DEFAULT_LANES;
	id->incarnation = coll_wire_incarnation(join->id);
	id->group_id = join->id;
	memcpy(id->group_name, join->name, sizeof(id->group_name));
	id->timeout = msecs_to_jiffies(join->timeout_ms ? join->timeout_ms :
							  COLL_DEFAULT_TIMEOUT_MS);
	id->slow_percent = COLL_DEFAULT_SLOW_PERCENT;
	id->heartbeat_ms = join->heartbeat_ms ? join->heartbeat_ms : COLL_DEFAULT_HEARTBEAT_MS;
	memcpy(id->algorithm, join->algorithm, sizeof(id->algorithm));
}

static void join_owner(struct coll_member *member, const struct collective_join *join)
{
	struct coll_owner *owner = &member->owner;
	struct coll_net *net = &member->net;

	owner->mm = current->mm;
	owner->cred = get_current_cred();
	owner->memcg = get_mem_cgroup_from_mm(current->mm);
	owner->pid = task_tgid_nr(current);
	owner->own_pid = task_tgid_vnr(current);
	owner->tgid = get_pid(task_tgid(current));
	coll_cpu_owner_get(&owner->cpus);
	strscpy(owner->node, utsname()->nodename, sizeof(owner->node));
	memcpy(net->secret, join->secret, sizeof(net->secret));
	net->secured = memchr_inv(join->secret, 0, sizeof(join->secret));
	net->wish = join->transport;
	net->cred = owner->cred;
}

/**
 * coll_member_forget_owner() - wipe the secret, and drop the references to the process
 * @member: whose connections are closed
 */
void coll_member_forget_owner(struct coll_member *member)
{
	struct coll_owner *owner = &member->owner;

	memzero_explicit(member->net.secret, sizeof(member->net.secret));
	put_pid(owner->tgid);
	coll_cpu_owner_put(&owner->cpus);
	put_cred(owner->cred);
	mem_cgroup_put(owner->memcg);
	owner->tgid = NULL;
	owner->cred = NULL;
	owner->memcg = NULL;
	member->net.cred = NULL;
}

/* JOIN has failed: the file has no rank, as when it was opened. */
static void join_forget(struct coll_member *member)
{
	/* Nothing kicks it, as no listener stands.  A work item still runs if one had stood. */
	flush_work(&member->control.runner.work);
	member->control.runner.home = NULL;
	coll_member_forget_owner(member);
	memset(&member->id, 0, sizeof(member->id));
	member->net.nr_required = 0;
	memset(&member->net.addr, 0, sizeof(member->net.addr));
	member->net.secured = false;
	member->net.wish = 0;
	member->net.hub = NULL;
	member->net.ns = NULL;
	member->owner.mm = NULL;
	member->owner.pid = 0;
}

/**
 * coll_member_join() - become a rank of a group
 * @member: a new one
 * @join: checked by the caller for size only; the bound address is put in
 *
 * Context: the process that joins; the member's mutex is held.
 * Return: 0; or a negative errno, after which the file may be used for another JOIN.
 */
int coll_member_join(struct coll_member *member, struct collective_join *join)
{
	struct sockaddr_storage *addr = &member->net.addr;
	u32 len;
	int err;

	if (member->state.value != COLLECTIVE_STATE_NEW)
		return -EISCONN;
	err = join_check(join);
	if (err)
		return err;
	if (join->addr_len < sizeof(addr->ss_family) || join->addr_len > sizeof(*addr))
		return -EINVAL;
	memset(addr, 0, sizeof(*addr));
	memcpy(addr, join->addr, join->addr_len);
	len = coll_addr_len(addr);
	if (join->addr_len < len)
		return -EINVAL;
	/* The bytes behind the address will say what this rank offers: coll_addr_offer_rdma(). */
	memset((u8 *)addr + len, 0, sizeof(*addr) - len);

	join_identity(&member->id, join);
	join_owner(member, join);
	err = join_charge(member);
	if (err)
		goto identity;
	err = join_links(member);
	if (err)
		goto charge;
	err = join_lanes(member);
	if (err)
		goto links;
	err = coll_group_join(member, join);
	if (err)
		goto lanes;
	member->net.hub = &member->group->hub;
	member->net.ns = member->group->net;
	if (coll_wishes_local(join->transport))
		err = coll_local_board_join(member->net.hub, member->id.rank,
					    join->flags & COLLECTIVE_JOIN_PRIVATE);
	err = err ?: coll_exit_watch_begin(member);
	if (err)
		goto group;
	err = coll_net_listen(&member->net, addr);
	if (err)
		goto watch;

	memcpy(join->addr, addr, sizeof(*addr));
	join->addr_len = coll_addr_len(addr);
	join->lanes = member->id.nlanes;
	spin_lock(&member->state.lock);
	member->requests.last_submit_ns = ktime_get_ns();
	coll_state_set(&member->state, COLLECTIVE_STATE_JOINED);
	spin_unlock(&member->state.lock);
	/* Last: a signal fails the member, and a JOIN that fails could not take that back. */
	coll_exit_trace(member);
	return 0;

watch:
	coll_exit_watch_end(member);
group:
	coll_group_leave(member);
lanes:
	coll_member_free_lanes(member);
links:
	coll_member_free_links(member, true);
charge:
	coll_member_uncharge(member);
	coll_charges_end(&member->charges);
identity:
	join_forget(member);
	return err;
}
