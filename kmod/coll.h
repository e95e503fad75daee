/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The objects, who owns them, and what protects what.
 *
 *	group		from its first member to its last
 *	  member	one open file that has joined
 *	    link	the way to one peer: one control and some data connections
 *	    lane	an engine and the data connections that it serves
 *	    request	one operation, from submit to exactly one completion
 *
 * Runners (exec/runner.h): a member has one for its connections (listener,
 * handshakes, control connections) and one for each lane.  What a runner owns is
 * touched by its owner only and needs no lock.  Fields are marked
 *
 *	[c]	const after JOIN
 *	[C]	owned by the member's control runner
 *	[L]	owned by the lane's runner
 *	[l]	protected by coll_member.lock
 *	[m]	protected by coll_member.mutex
 *	[g]	protected by the mutex of member/group.c
 *	[a]	atomic, or read and written once
 *
 * Order: coll_member.mutex, coll_member.demand, the mutex of member/group.c,
 * coll_member.lock; the small locks of a lane's arrivals, a connection's mailbox,
 * a link's outgoing queue, a recorder and a group's idle threads are innermost and are never
 * held together.  The mutex of member/exit.c is taken inside of coll_member.mutex, and outside of
 * coll_member.lock.
 *
 * PREEMPT_RT: a spinlock_t sleeps there, and so is not taken where preemption or interrupts
 * are off: in a tracepoint's probe, in a helper's half of a copy (lane/copy_helper.c), or while
 * the vector registers are held (exec/fpu.h).  What such a place needs is a raw spinlock, which
 * is held for a few instructions and inside of which nothing is allocated and no wait queue is
 * woken: those of member/exit.c and of a runner, so that coll_runner_kick() may be called in
 * any context.  No other spinlock is taken in interrupts: socket callbacks only set bits and
 * kick.
 *
 * Teardown (member_stop): all runners are stopped, so that nobody is left who could
 * touch a connection, the control runner first, for who stops it to say goodbye;
 * sockets are closed, which waits for their callbacks, and after a goodbye linger
 * without their endpoints (transport/tcp/linger.c); what requests are left give their pages back.
 */
#ifndef COLL_H
#define COLL_H

#include "op/match.h"
#include "limits.h"
#include "net/conn.h"
#include "lane/copy_helper.h"
#include "member/group.h"
#include "lane/lane.h"
#include "net/link.h"
#include "member/member.h"
#include "trace/recorder.h"
#include "op/request.h"
#include "member/sysfs.h"

#endif /* COLL_H */
