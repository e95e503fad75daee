/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * Collective operations between processes, through /dev/collective.
 *
 * One open file is one member (one rank) of at most one group.  The usual life:
 *
 *	fd = open("/dev/collective", O_RDWR | O_CLOEXEC);
 *	ioctl(fd, COLLECTIVE_IOC_JOIN, &join);       returns the bound address
 *	    ... tell every rank everybody's address, by any means ...
 *	ioctl(fd, COLLECTIVE_IOC_CONNECT, &connect); returns when the group is up
 *	ioctl(fd, COLLECTIVE_IOC_SUBMIT, &submit);   one operation, blocking
 *	ioctl(fd, COLLECTIVE_IOC_LEAVE, &leave);     or close(fd)
 *
 * Every struct begins with its own size in bytes.  A size below the first
 * published one is EINVAL; a larger one than the kernel knows is accepted when
 * the tail is zero, and E2BIG otherwise.  Reserved fields must be zero.
 *
 * Any memory of the process will do for operations.  mmap() of the device, shared and from
 * offset 0, gives zeroed memory in pieces as large as there are, as huge pages would:
 * once it is registered, operations on it take less time.  It lives on when the file is
 * closed, is not given to children, cannot grow, is in no core dump by default, and counts
 * against RLIMIT_MEMLOCK, as an even number of pages, until all of it is unmapped, besides
 * what is registered; a page that is dropped (MADV_DONTNEED) and touched again counts as two
 * more, and beyond the limit is a SIGBUS.  Errors: EINVAL (private, an offset, or the file
 * cannot be written), EACCES (likewise), EDQUOT, ENOMEM, ENFILE, EINTR.
 */
#ifndef _UAPI_LINUX_COLLECTIVE_H
#define _UAPI_LINUX_COLLECTIVE_H

#include <linux/types.h>
#include <linux/ioctl.h>

#define COLLECTIVE_ABI_VERSION		1

#define COLLECTIVE_NAME_MAX		32	/* characters of a group's name */
#define COLLECTIVE_ADDR_SIZE		128	/* as struct sockaddr_storage */
#define COLLECTIVE_SECRET_SIZE		32
#define COLLECTIVE_LANES_MAX		8
#define COLLECTIVE_RANKS_MAX		1024
#define COLLECTIVE_EAGER_LIMIT		32768	/* bytes: up to here, copied */
#define COLLECTIVE_OPCODES_MAX		32	/* of all kernels to come */
#define COLLECTIVE_KEY_MAX		((1ULL << 40) - 1)
#define COLLECTIVE_RANK_NONE		0xffffffffU

/**
 * enum collective_opcode - the collectives
 *
 * QUERY tells in @opcodes which of them this kernel offers; the others answer
 * EOPNOTSUPP.
 */
enum collective_opcode {
	COLLECTIVE_BARRIER,
	COLLECTIVE_ALLREDUCE,
	COLLECTIVE_REDUCE,
	COLLECTIVE_BROADCAST,
	COLLECTIVE_ALLGATHER,
	COLLECTIVE_REDUCE_SCATTER,
	COLLECTIVE_GATHER,
	COLLECTIVE_SCATTER,
	COLLECTIVE_ALLTOALL,
	COLLECTIVE_SCAN,
	COLLECTIVE_EXSCAN,
	COLLECTIVE_SEND,	/* matched by order, or by key, between the two ranks */
	COLLECTIVE_RECV,
	/* private: */
	COLLECTIVE_OPCODE_COUNT
};

/** enum collective_type - element types, in host byte order */
enum collective_type {
	COLLECTIVE_INT8,
	COLLECTIVE_UINT8,
	COLLECTIVE_INT16,
	COLLECTIVE_UINT16,
	COLLECTIVE_INT32,
	COLLECTIVE_UINT32,
	COLLECTIVE_INT64,
	COLLECTIVE_UINT64,
	COLLECTIVE_FLOAT16,	/* IEEE binary16, computed in binary32 */
	COLLECTIVE_BFLOAT16,	/* computed in binary32 */
	COLLECTIVE_FLOAT32,
	COLLECTIVE_FLOAT64,
	/* private: */
	COLLECTIVE_TYPE_COUNT
};

/**
 * enum collective_reduction - how two elements become one
 *
 * Integer SUM, PROD and AVG wrap modulo 2^bits; AVG divides the (wrapped) sum
 * by the number of ranks, rounding toward zero for integers.  MIN and MAX
 * propagate NaN and order -0 below +0.  A NaN result is always the canonical
 * quiet NaN.  The bitwise operations take integers only (EINVAL otherwise);
 * the logical ones read any nonzero element (NaN included) as true and write 0
 * or 1 in the element's type.  A group of one rank reduces nothing: the result is
 * the input.
 */
enum collective_reduction {
	COLLECTIVE_SUM,
	COLLECTIVE_PROD,
	COLLECTIVE_MIN,
	COLLECTIVE_MAX,
	COLLECTIVE_AVG,
	COLLECTIVE_BAND,
	COLLECTIVE_BOR,
	COLLECTIVE_BXOR,
	COLLECTIVE_LAND,
	COLLECTIVE_LOR,
	COLLECTIVE_LXOR,
	/* private: */
	COLLECTIVE_REDUCTION_COUNT
};

enum collective_transport {
	COLLECTIVE_TRANSPORT_TCP,
	COLLECTIVE_TRANSPORT_RDMA,
	/* private: */
	COLLECTIVE_TRANSPORT_COUNT
};

/**
 * enum collective_algorithm - how a collective is done
 *
 * AUTO: BARRIER as TREE; ALLREDUCE, REDUCE, BROADCAST, SCAN and EXSCAN of at most
 * COLLECTIVE_EAGER_LIMIT bytes, and ALLGATHER of so many in all, as TREE, and of
 * more as RING; all others as DIRECT.  But ALLREDUCE of 1 MiB a rank or more, of 3 to
 * 16 ranks whose addresses are all the same but for the port, is done as DIRECT, which
 * gives the same bits as RING.  That depends on nothing but the call and what CONNECT
 * was told, so it is the same on every rank.  What a collective has no schedule for is
 * EOPNOTSUPP; TREE is for the small ones only, but for BARRIER and BROADCAST, and DIRECT
 * of ALLREDUCE for what is not small.
 */
enum collective_algorithm {
	COLLECTIVE_ALGORITHM_AUTO,
	COLLECTIVE_ALGORITHM_RING,	/* along the ring of ranks: least bytes */
	COLLECTIVE_ALGORITHM_TREE,	/* trees and doubling: fewest steps */
	COLLECTIVE_ALGORITHM_DIRECT,	/* every pair for itself */
	/* private: */
	COLLECTIVE_ALGORITHM_COUNT
};

/** enum collective_state - of a member; it only ever moves down this list */
enum collective_state {
	COLLECTIVE_STATE_NEW,		/* opened, no group */
	COLLECTIVE_STATE_JOINED,	/* has a rank and a bound address */
	COLLECTIVE_STATE_CONNECTING,	/* knows its peers */
	COLLECTIVE_STATE_UP,		/* operations may be submitted */
	COLLECTIVE_STATE_ABORTED,	/* failed; STATUS has the reason */
	COLLECTIVE_STATE_LEFT,
	/* private: */
	COLLECTIVE_STATE_COUNT
};

/** enum collective_reason_kind - why something failed, strongest first */
enum collective_reason_kind {
	COLLECTIVE_REASON_NONE,
	COLLECTIVE_REASON_DEATH,	/* rank_a's process died */
	COLLECTIVE_REASON_LEFT,		/* rank_a left while it was needed */
	COLLECTIVE_REASON_MISMATCH,	/* rank_a and rank_b made different calls */
	COLLECTIVE_REASON_PROTOCOL,	/* rank_b found rank_a breaking the protocol */
	COLLECTIVE_REASON_RESET,	/* the link rank_a - rank_b was reset */
	COLLECTIVE_REASON_SILENCE,	/* nothing heard on the link rank_a - rank_b */
	COLLECTIVE_REASON_DEADLINE,	/* rank_a's deadline passed, waiting for rank_b */
	COLLECTIVE_REASON_CANCELLED,	/* rank_a asked for it */
	COLLECTIVE_REASON_RESOURCES,	/* rank_a ran out of memory */
	/* private: */
	COLLECTIVE_REASON_COUNT
};

/**
 * DOC: errors
 *
 * The same numbers come from the ioctls, io_uring completions and the library.
 *
 * EINVAL	malformed: a short struct, an unknown flag or enumerator, a rank
 *		outside the group, a misaligned pointer
 * E2BIG	a struct with a nonzero tail that this kernel does not know
 * EFAULT	memory that is not there, or may not be written
 * EOVERFLOW	count times the size of the type does not fit an address
 * EBADMSG	the ranks' calls do not match
 * EMSGSIZE	more came than there was room for (VARLEN): on this rank only
 * ECONNRESET	a peer died, or left while it was needed
 * ETIMEDOUT	the deadline passed
 * ECANCELED	cancelled by this rank
 * EPROTO	a peer broke the protocol
 * EACCES	the handshake was refused
 * EBUSY	this rank of this group is taken by another process; another thread
 *		waits for this request
 * EEXIST	this group's name is in use with another id, size or lane count
 * EISCONN	this file joined (or connected) before
 * ENOTCONN	the group is not up, or not joined yet
 * EPERM	the calling process is not the one that joined
 * ENOMEM	no memory
 * EDQUOT	the pinned pages would exceed RLIMIT_MEMLOCK; or the kernel memory of all
 *		groups of the user (real user ID) the module's parameter user_memory_mib.
 *		The kernel's log then says so.  Processes that had CAP_SYS_RESOURCE when
 *		they joined are counted, and not limited
 * EMFILE	too many registered buffers
 * ENOENT	no such registered buffer, or no such request
 * EAGAIN	too many requests in flight, or not collected; or this rank is twice as many
 *		collectives without a key ahead of another one, as they have failed meanwhile: try
 *		again when the other has submitted them
 * ENOSPC	65,536 messages, and operations with a key, have failed in this group, and no
 *		more are taken: use a new group
 * EINPROGRESS	CONNECT on a non-blocking file: poll for POLLOUT; WAIT: not complete
 * EOPNOTSUPP	not offered by this kernel or transport
 * ENOTTY	no such ioctl
 * EINTR	a signal came first, in whatever call; SUBMIT has left the request's number
 *		in @request, if there is one: the same call again goes on waiting for it
 */

/*
 * Names of operations that are not counted among all: with a key, or between two ranks.  In
 * the low bits, of a message those of COLLECTIVE_KEY_MAX, is the key, or how many messages
 * went that way before it.
 */
#define COLLECTIVE_INSTANCE_KEYED	(1ULL << 63)
#define COLLECTIVE_INSTANCE_MESSAGE	(1ULL << 62)
#define COLLECTIVE_INSTANCE_FROM(name)	((name) >> 50 & (COLLECTIVE_RANKS_MAX - 1))
#define COLLECTIVE_INSTANCE_TO(name)	((name) >> 40 & (COLLECTIVE_RANKS_MAX - 1))

/**
 * struct collective_reason - who is at fault
 * @kind: enum collective_reason_kind
 * @error: the errno that operations fail with, positive
 * @rank_a: the rank at fault, or one end of the link; or COLLECTIVE_RANK_NONE
 * @rank_b: the other end or the rank that saw it; or COLLECTIVE_RANK_NONE
 * @instance: the operation: a collective without a key as counted from 0 by each member,
 *	else COLLECTIVE_INSTANCE_*; ~0: the whole group, or none
 */
struct collective_reason {
	__u32 kind;
	__u32 error;
	__u32 rank_a;
	__u32 rank_b;
	__aligned_u64 instance;
};

/**
 * struct collective_query - ioctl(COLLECTIVE_IOC_QUERY): what is offered
 * @size: sizeof(struct collective_query)
 * @flags: 0
 * @abi_version: COLLECTIVE_ABI_VERSION of the kernel
 * @lanes_max: lanes a group may have
 * @ranks_max: ranks a group may have
 * @inflight_max: requests a member may have in flight
 * @eager_limit: bytes; larger operations go without copies
 * @transports: bit (1 << enum collective_transport)
 * @opcodes: bit (1 << enum collective_opcode)
 * @types: bit (1 << enum collective_type)
 * @reductions: bit (1 << enum collective_reduction)
 * @features: COLLECTIVE_FEATURE_*
 */
struct collective_query {
	__u32 size;
	__u32 flags;
	__u32 abi_version;
	__u32 lanes_max;
	__u32 ranks_max;
	__u32 inflight_max;
	__u32 eager_limit;
	__u32 transports;
	__aligned_u64 opcodes;
	__aligned_u64 types;
	__aligned_u64 reductions;
	__aligned_u64 features;
};

/**
 * struct collective_join - ioctl(COLLECTIVE_IOC_JOIN): become a rank of a group
 * @size: sizeof(struct collective_join)
 * @flags: 0
 * @name: the group's, 1 to 32 of [A-Za-z0-9._-], not "." or "..", NUL-padded
 * @id: the same number on every rank, and another one for every new group of
 *	the same name: whatever arrives from an earlier incarnation is refused
 * @rank: 0 .. @nranks - 1
 * @nranks: 1 .. COLLECTIVE_RANKS_MAX
 * @transport: enum collective_transport
 * @lanes: 1 .. COLLECTIVE_LANES_MAX, the same on every rank; 0: the default
 * @timeout_ms: deadline of an operation that names none; 0: the default
 *	(300 s); ~0: none
 * @heartbeat_ms: how often a link is probed; 0: the default (1 s); at most 60 s
 * @secret: of the group, the same random bytes on every rank: both ends of every
 *	connection prove that they know it (HMAC-SHA256, Documentation/wire.rst),
 *	and who does not is refused with EACCES; zero: whoever names the group is
 *	believed
 * @reserved: 0
 * @addr_len: in: bytes of @addr; out: bytes of the bound address
 * @addr: in: the local address to listen on (AF_INET or AF_INET6, port 0: any);
 *	out: the bound address
 * @algorithm: by enum collective_opcode, what AUTO means in this group: enum
 *	collective_algorithm; where a call has no schedule of that kind, AUTO
 *	means what it always does.  To be the same on every rank: operations fail
 *	with EBADMSG otherwise
 *
 * Errors: EINVAL, E2BIG, EFAULT, EISCONN (joined before), EBUSY (rank taken),
 * EEXIST (another group of this name), EOPNOTSUPP (transport), ENOMEM, EDQUOT (kernel
 * memory: it grows with ranks and lanes), ENFILE, EPERM, EINTR,
 * and whatever binding the address gives (EADDRINUSE, EADDRNOTAVAIL, EACCES,
 * EAFNOSUPPORT, ENODEV).
 */
struct collective_join {
	__u32 size;
	__u32 flags;
	__u8  name[40];
	__aligned_u64 id;
	__u32 rank;
	__u32 nranks;
	__u32 transport;
	__u32 lanes;
	__u32 timeout_ms;
	__u32 heartbeat_ms;
	__u8  secret[COLLECTIVE_SECRET_SIZE];
	__u32 reserved;
	__u32 addr_len;
	__u8  addr[COLLECTIVE_ADDR_SIZE];
	__u8  algorithm[COLLECTIVE_OPCODES_MAX];
};

/**
 * struct collective_connect - ioctl(COLLECTIVE_IOC_CONNECT): meet the others
 * @size: sizeof(struct collective_connect)
 * @flags: 0
 * @peers: pointer to @npeers addresses of COLLECTIVE_ADDR_SIZE bytes each
 *	(struct sockaddr_storage), in the order of ranks, one's own included; every rank
 *	gives the same ones
 * @npeers: the group's size
 * @timeout_ms: how long to wait for the others; 0: the default (60 s); ~0: ever
 *
 * Returns 0 when the group is up.  On a non-blocking file it is EINPROGRESS and
 * poll() tells: POLLOUT when up, POLLERR when failed; the same call then says
 * why.  Errors: EINVAL, E2BIG, EFAULT, ENOTCONN (not joined), EISCONN, EPERM,
 * ETIMEDOUT, ECONNRESET, EACCES, EPROTO, EBUSY, EINTR, ECANCELED (LEAVE was
 * called), EOPNOTSUPP (a rank's host has the other byte order), and whatever calling an
 * address gives (ENETUNREACH, EHOSTUNREACH, EAFNOSUPPORT, ECONNREFUSED), by which the group
 * has failed.
 *
 * ENOMEM, EDQUOT, ENOBUFS, ENFILE, EADDRINUSE and EADDRNOTAVAIL (no local port is free) leave the
 * group as it is, unless STATUS has a reason: the same call goes on with the peers that have
 * not been called, within the time of the first call.
 */
struct collective_connect {
	__u32 size;
	__u32 flags;
	__aligned_u64 peers;
	__u32 npeers;
	__u32 timeout_ms;
};

#define COLLECTIVE_REGISTER_READ_ONLY	(1U << 0)	/* send from it only */

/**
 * struct collective_register - ioctl(COLLECTIVE_IOC_REGISTER): pin a buffer
 * @size: sizeof(struct collective_register)
 * @flags: COLLECTIVE_REGISTER_*
 * @addr: where it begins
 * @length: bytes, not 0
 * @buffer: out: its number, from 1, for struct collective_op
 * @reserved: 0
 *
 * The pages found there now are the ones used until UNREGISTER, whatever is
 * mapped there later.  Errors: EINVAL, E2BIG, EFAULT, EOVERFLOW, EDQUOT,
 * ENOMEM, EMFILE, EPERM, ENOTCONN (not joined), EINTR.
 */
struct collective_register {
	__u32 size;
	__u32 flags;
	__aligned_u64 addr;
	__aligned_u64 length;
	__u32 buffer;
	__u32 reserved;
};

/**
 * struct collective_unregister - ioctl(COLLECTIVE_IOC_UNREGISTER)
 * @size: sizeof(struct collective_unregister)
 * @buffer: its number
 *
 * Operations in flight keep the pages until they complete.  Errors: EINVAL,
 * E2BIG, EFAULT, ENOENT, EPERM, EINTR.
 */
struct collective_unregister {
	__u32 size;
	__u32 buffer;
};

/**
 * struct collective_op - one operation, the same in ioctl and io_uring
 * @opcode: enum collective_opcode
 * @type: enum collective_type
 * @reduction: enum collective_reduction
 * @algorithm: enum collective_algorithm
 * @flags: COLLECTIVE_F_*
 * @root: rank, of BROADCAST, REDUCE, GATHER and SCATTER; the other rank, of SEND and
 *	RECV (which is not one's own); else 0
 * @timeout_ms: deadline; 0: the group's; ~0: none
 * @key: with COLLECTIVE_F_KEYED, its name, up to COLLECTIVE_KEY_MAX; else 0
 * @count: elements: of the whole vector (ALLREDUCE, REDUCE, BROADCAST, SCAN, EXSCAN,
 *	SEND, RECV), or of one rank's block (the others); with VECTOR of this rank's own
 *	block (0 for ALLTOALL)
 * @send: address of what this rank contributes; of a BROADCAST the root's only
 * @recv: address of the result; equal to @send: in place.  ALLGATHER then finds
 *	this rank's block where it belongs in the result.  The root of a BROADCAST
 *	in place is not written.  Of an ALLTOALL block r goes to rank r and is replaced
 *	by what comes from there; with a layout both sides of it must be the same, and
 *	other ranks need not be in place
 * @layout: address of a struct collective_layout, of ALLGATHER, REDUCE_SCATTER,
 *	GATHER, SCATTER and ALLTOALL (else EINVAL); 0: one block after the other
 * @send_buffer: registered buffer that holds @send; 0: none
 * @recv_buffer: registered buffer that holds @recv; 0: none
 * @reserved: 0
 *
 * Both addresses must be aligned to the size of the type.  @send and @recv may
 * be equal but must not overlap otherwise (EINVAL).  The input is never written.
 *
 * An operation works on the pages that were there when it was submitted, whatever
 * happens to the mapping until it is complete.  Memory that is unmapped, dropped
 * (MADV_DONTNEED), truncated or punched out of its file meanwhile is read as it was, and
 * a result that goes there is seen by nobody; memory that is moved (mremap) takes the
 * operation along; after fork() it is the parent's.
 *
 * SCAN reduces on rank r the input of the ranks 0 .. r, EXSCAN of 0 .. r - 1 (@recv of
 * rank 0 is not looked at), taking operands in this order; neither takes AVG (EINVAL).
 */
struct collective_op {
	__u8  opcode;
	__u8  type;
	__u8  reduction;
	__u8  algorithm;
	__u32 flags;
	__u32 root;
	__u32 timeout_ms;
	__aligned_u64 key;
	__aligned_u64 count;
	__aligned_u64 send;
	__aligned_u64 recv;
	__aligned_u64 layout;
	__u32 send_buffer;
	__u32 recv_buffer;
	__aligned_u64 reserved[2];
};

/*
 * KEYED	the operation is named by @key, not by the order of calls: ranks
 *		may submit what has keys in any order, as much of it at once as
 *		may be in flight.  A key names one operation at a time: what
 *		has a key that is in use begins when that is complete.  After
 *		a failure the key is spent: it fails in the same way until more
 *		than a thousand others have failed, and should not be used again;
 *		the use before it fails, too, on ranks that had not completed it
 *		Of SEND and RECV it is the tag: it names a message from one rank to
 *		another, and nothing to others
 * REPRODUCIBLE	a reduction takes the ranks' elements in their order, ((x0 op x1) op
 *		x2) and so on: the result depends neither on the algorithm, nor on
 *		the number of lanes or the sizes of messages.  Every rank then sends
 *		the vector twice in an ALLREDUCE instead of 2 (n - 1) / n times, and
 *		all n blocks in a REDUCE_SCATTER instead of n - 1; and what is small
 *		takes n steps.  Where nothing is rounded it changes nothing
 * WIDE		sums and averages of FLOAT16 and BFLOAT16 are kept and passed on as
 *		FLOAT32 and rounded once, in ALLREDUCE, REDUCE and REDUCE_SCATTER
 *		(SCAN and EXSCAN: EOPNOTSUPP), which sends up to twice as much.  With
 *		other types and reductions it changes nothing
 * VARLEN	BROADCAST, SCATTER, on all ranks; RECV: of a rank that receives, @count is
 *		room, and the completion tells in @received how many elements came (at a
 *		root: how many it has itself).  If it is more than there was room for, as
 *		many as fit are stored and the rest is dropped: this rank's operation
 *		fails with EMSGSIZE, those of the others do not, and nothing else does.
 *		Counts are not compared.  What is sent goes straight from the root to each
 *		rank in turn, on one lane, so that a broadcast leaves it n - 1 times; what
 *		is not small waits for each of them to ask for it.  Algorithms: AUTO,
 *		DIRECT
 * VECTOR	counts differ by rank: allgatherv and so on, see struct
 *		collective_layout
 */
#define COLLECTIVE_F_KEYED		(1U << 0)
#define COLLECTIVE_F_REPRODUCIBLE	(1U << 1)
#define COLLECTIVE_F_WIDE		(1U << 2)
#define COLLECTIVE_F_VARLEN		(1U << 3)
#define COLLECTIVE_F_VECTOR		(1U << 4)
#define COLLECTIVE_F_ALL		0x1fU

/**
 * struct collective_view - where the blocks of a buffer are, in elements
 * @rows: pieces of equal length that a block consists of, a divisor of its
 *	elements; 0 or 1: it is contiguous
 * @stride: from the beginning of a row to that of the next; not less than a row
 * @distance: from the beginning of a block to that of the next one; 0 of a buffer
 *	that has one block only
 *
 * An allgather of an [outer, n, inner] array along the axis in the middle:
 * @rows = outer, @stride = ranks * n * inner, @distance = n * inner.
 */
struct collective_view {
	__aligned_u64 rows;
	__aligned_u64 stride;
	__aligned_u64 distance;
};

/**
 * struct collective_layout - where the blocks are that belong to the ranks
 * @size: sizeof(struct collective_layout)
 * @flags: 0
 * @send_counts: with VECTOR: address of a __u64 for each rank, the elements
 *	of its block in @send; 0: @send has one block, of the operation's count
 * @send_displs: likewise, where the block begins, in elements; 0: one block
 *	follows the other
 * @recv_counts: the same of @recv
 * @recv_displs: likewise; no two blocks may share an element (EINVAL)
 * @send: view of @send, without VECTOR; all zero: one block follows the other
 * @recv: view of @recv, in which no two rows may share an element (EINVAL)
 *
 * With VECTOR, ALLGATHER wants @recv_counts and REDUCE_SCATTER @recv_counts (the
 * blocks of @send too, placed by @send_displs) on every rank, GATHER @recv_counts and
 * SCATTER @send_counts at the root, ALLTOALL both on every rank.  All others are 0.
 * Those of ALLGATHER and REDUCE_SCATTER must be the same on every rank (EBADMSG).
 * Those of which only two ranks know must be the same for both: if a rank sends more, or less,
 * than the other expects, be it none, the operation fails on every rank when all have submitted
 * it (EBADMSG).  STATUS tells the counts as those of the calls of rank_a, which sends, and of
 * rank_b, if no other counts differ and it is one of these two that asks; else both ranks may be
 * COLLECTIVE_RANK_NONE.  An operation with VECTOR of which all ranks know everything may
 * be sent at once when it is small; the others are not.  A block without elements may
 * have any place.
 *
 * Of a buffer that an operation does not look at on this rank, nothing is looked at
 * here either.  Ranks need not have their blocks in the same places.
 *
 * All memory from the first element to the last is pinned, what lies between the
 * blocks too: it must be mapped (EFAULT), writable in a result, counts against
 * RLIMIT_MEMLOCK, and lies in the registered buffer, if there is one; it is neither
 * read nor written.  From first to last @send and @recv must not overlap.
 *
 * In place (@send equal to @recv, see struct collective_op) our own block is where the
 * view of the other buffer has it, and the view of ours is zero.  REDUCE_SCATTER is in
 * place when @recv, with its view, is just our own block of @send.  ALLTOALL is in place
 * when its views, or its counts and displacements, are the same for @send and @recv
 * (else EINVAL).
 */
struct collective_layout {
	__u32 size;
	__u32 flags;
	__aligned_u64 send_counts;
	__aligned_u64 send_displs;
	__aligned_u64 recv_counts;
	__aligned_u64 recv_displs;
	struct collective_view send;
	struct collective_view recv;
};

#define COLLECTIVE_SUBMIT_NOWAIT	(1U << 0)	/* WAIT collects it */

/**
 * struct collective_submit - ioctl(COLLECTIVE_IOC_SUBMIT): do it
 * @size: sizeof(struct collective_submit)
 * @flags: COLLECTIVE_SUBMIT_*
 * @op: the operation
 * @request: in: 0; out, with NOWAIT or EINTR: the request that goes on; in,
 *	after EINTR: wait for that request (@op is not looked at)
 * @received: out, with VARLEN: elements that came, also if they are too many
 *	(EMSGSIZE); else 0
 *
 * Without NOWAIT, returns 0 when the result is complete and both buffers may be
 * used again.  Errors: all of the list above but EISCONN and EINPROGRESS;
 * EBUSY only where @request is given.  An operation that needs a connection to a rank with
 * which there is none yet may also fail with what calling it gives: see CONNECT.  It has no
 * place in the order of operations then, and may be submitted again.
 *
 * With NOWAIT, returns 0 when the operation has its place in the order of
 * operations.  It goes on whether or not anybody waits, until it is complete or
 * its deadline has passed; its buffers are the kernel's until WAIT has told.
 *
 * Requests are numbered from 1 by each member; no number is used again.  A request
 * is collected once, by the call that tells how it ended; until then it counts
 * against @inflight_max of QUERY (EAGAIN) and keeps its pages pinned.  LEAVE and
 * the end of the file collect what is left.
 */
struct collective_submit {
	__u32 size;
	__u32 flags;
	struct collective_op op;
	__aligned_u64 request;
	__aligned_u64 received;
};

#define COLLECTIVE_WAIT_NOWAIT		(1U << 0)	/* only look */
#define COLLECTIVE_WAIT_ANY		(1U << 1)	/* one of several */

/**
 * struct collective_wait - ioctl(COLLECTIVE_IOC_WAIT): collect a request
 * @size: sizeof(struct collective_wait)
 * @flags: COLLECTIVE_WAIT_*
 * @request: in: its number; with ANY only out: the number of the one that was
 *	collected, 0: none was
 * @received: out, with VARLEN: elements that came, also if they are too many
 *	(EMSGSIZE); else 0
 * @requests: with ANY: address of @count numbers (__u64), of which zeros are
 *	skipped; else 0
 * @count: with ANY: 1 .. @inflight_max of QUERY; else 0
 * @timeout_ms: how long to wait; 0: as long as it takes
 * @index: out, with ANY: which of @requests was collected
 * @reserved: 0
 *
 * Waits until the request, or one of several, is complete and collects it.
 * Returns how the operation ended, or why none was collected: EINPROGRESS (none
 * is complete: NOWAIT, or the time is over), EINTR (likewise, for a signal came),
 * ENOENT (there is no such request, or no number in @requests but zeros), EBUSY
 * (another thread waits for it, or it is named twice), EINVAL, E2BIG, EFAULT, EPERM,
 * ENOTCONN, ENOMEM.  No operation ends with one of these but ENOTCONN and ENOMEM,
 * and with ANY @request tells the two apart.  Of several that are complete the
 * first in @requests is taken.
 *
 * The struct is written in every case but E2BIG, EFAULT and the EINVAL of a short
 * one.  Without @timeout_ms, a call interrupted by a handler with SA_RESTART goes
 * on by itself.
 */
struct collective_wait {
	__u32 size;
	__u32 flags;
	__aligned_u64 request;
	__aligned_u64 received;
	__aligned_u64 requests;
	__u32 count;
	__u32 timeout_ms;
	__u32 index;
	__u32 reserved;
};

/**
 * struct collective_call - what a rank asked for, as far as all must agree
 * @opcode: enum collective_opcode
 * @type: enum collective_type
 * @reduction: enum collective_reduction
 * @algorithm: enum collective_algorithm, never AUTO
 * @flags: COLLECTIVE_F_*
 * @root: rank
 * @rank: whose call it is; COLLECTIVE_RANK_NONE: there is none
 * @count: elements
 * @layout: a digest of the counts; 0: none
 */
struct collective_call {
	__u8  opcode;
	__u8  type;
	__u8  reduction;
	__u8  algorithm;
	__u32 flags;
	__u32 root;
	__u32 rank;
	__aligned_u64 count;
	__aligned_u64 layout;
};

/**
 * struct collective_absent - a rank that did not submit an operation
 * @rank: which; COLLECTIVE_RANK_NONE: there is none
 * @ms: how long ago it submitted @instance
 * @instance: the collective without a key that it submitted last; ~0: it has submitted
 *	none
 */
struct collective_absent {
	__u32 rank;
	__u32 ms;
	__aligned_u64 instance;
};

#define COLLECTIVE_ABSENT_MAX	16	/* of whom STATUS tells more than the number */

/**
 * struct collective_status - ioctl(COLLECTIVE_IOC_STATUS)
 * @size: sizeof(struct collective_status)
 * @flags: 0
 * @state: out: enum collective_state
 * @rank: out
 * @nranks: out
 * @lanes: out
 * @inflight: out: requests not complete
 * @reserved: 0
 * @submitted: out: operations submitted so far
 * @completed: out: operations completed so far, with success or not
 * @group: out: why the group failed, if it did.  This is found out for 25 ms after the
 *	failure, or 100 ms while only a link is known to be at fault; STATUS waits for it
 * @last: out: why the latest failed operation of this member failed; whom a deadline
 *	waited for may be known only when an absent rank has said so
 * @calls: out: of the latest mismatch: what its two ranks called
 * @absent_instance: out: the collective without a key that the next ones are of, whose
 *	deadline has passed: the latest one of which absent ranks are known; ~0: there
 *	is none.  They are known some milliseconds after the operation has failed
 * @nabsent: out: ranks that had not submitted it when they heard of it
 * @last_ms: out: how long ago the operation of @last failed
 * @absent_ranks: out: who they are: bit rank % 64 of number rank / 64
 * @absent: out: more of COLLECTIVE_ABSENT_MAX of them, in no order
 */
struct collective_status {
	__u32 size;
	__u32 flags;
	__u32 state;
	__u32 rank;
	__u32 nranks;
	__u32 lanes;
	__u32 inflight;
	__u32 reserved;
	__aligned_u64 submitted;
	__aligned_u64 completed;
	struct collective_reason group;
	struct collective_reason last;
	struct collective_call calls[2];
	__aligned_u64 absent_instance;
	__u32 nabsent;
	__u32 last_ms;
	__aligned_u64 absent_ranks[COLLECTIVE_RANKS_MAX / 64];
	struct collective_absent absent[COLLECTIVE_ABSENT_MAX];
};

#define COLLECTIVE_CANCEL_USER_DATA	(1U << 0)	/* by that of an SQE */

/**
 * struct collective_cancel - ioctl(COLLECTIVE_IOC_CANCEL): fail an operation
 * @size: sizeof(struct collective_cancel)
 * @flags: COLLECTIVE_CANCEL_*
 * @request: its number; with USER_DATA the user_data of the SQE that submitted it (the
 *	oldest of them)
 *
 * The operation fails on every rank: with ECANCELED here, with ECONNRESET on the others,
 * where STATUS says that this rank has cancelled it.  The group lives on.  This returns
 * at once; the operation is over when WAIT or its completion says so, which may still
 * be with success.  One that waits for its turn behind another of its key is cancelled
 * at its turn.  Errors: EINVAL, E2BIG, EFAULT, ENOENT (it is over, or never was), EALREADY (it
 * fails already), ENOTCONN, EPERM.
 */
struct collective_cancel {
	__u32 size;
	__u32 flags;
	__aligned_u64 request;
};

/**
 * DOC: io_uring
 *
 * An IORING_OP_URING_CMD on the file has in @cmd_op COLLECTIVE_IOC_SUBMIT and in its
 * command area (80 bytes: IORING_SETUP_SQE128) a struct collective_op, or
 * COLLECTIVE_IOC_CANCEL and a struct collective_cancel.  The result of the completion
 * is 0 or a negative errno, the same as the ioctl's; with VARLEN, which needs
 * IORING_SETUP_CQE32 (else EINVAL), big_cqe[0] is the number of elements that came.
 *
 * Operations without a key are named by the order in which they are issued: that of the
 * SQEs, unless these are linked, drained or IOSQE_ASYNC.  So that it is that order,
 * memory which is neither registered with the file nor with the ring is pinned at once,
 * by whoever submits, which is the ring's own thread with IORING_SETUP_SQPOLL.  With
 * IORING_URING_CMD_FIXED both buffers lie in the ring's buffer of that index, and
 * @send_buffer and @recv_buffer are 0.  Linux 6.12 reads the SQE of a command that is linked
 * to another one, or drained, when its turn comes: its place must not be used again before.
 *
 * io_uring's own cancellation (IORING_OP_ASYNC_CANCEL) does not reach such a command.
 * CANCEL does; so does the end of the ring, and what waits behind another operation of
 * its key then takes that with it.  WAIT knows nothing of it (EBUSY).
 */

/**
 * struct collective_leave - ioctl(COLLECTIVE_IOC_LEAVE): leave in good order
 * @size: sizeof(struct collective_leave)
 * @flags: 0
 *
 * Requests still in flight fail with ECANCELED here and abort the group there;
 * WAIT then still tells when each is over, as does the end of close().  Otherwise
 * the file can then only be closed.  Errors: EINVAL, E2BIG, EFAULT, ENOTCONN, EPERM,
 * EINTR.
 */
struct collective_leave {
	__u32 size;
	__u32 flags;
};

#define COLLECTIVE_IOC_MAGIC		0xdc

#define COLLECTIVE_IOC_QUERY		_IO(COLLECTIVE_IOC_MAGIC, 0x00)
#define COLLECTIVE_IOC_JOIN		_IO(COLLECTIVE_IOC_MAGIC, 0x01)
#define COLLECTIVE_IOC_CONNECT		_IO(COLLECTIVE_IOC_MAGIC, 0x02)
#define COLLECTIVE_IOC_REGISTER		_IO(COLLECTIVE_IOC_MAGIC, 0x03)
#define COLLECTIVE_IOC_UNREGISTER	_IO(COLLECTIVE_IOC_MAGIC, 0x04)
#define COLLECTIVE_IOC_SUBMIT		_IO(COLLECTIVE_IOC_MAGIC, 0x05)
#define COLLECTIVE_IOC_WAIT		_IO(COLLECTIVE_IOC_MAGIC, 0x06)
#define COLLECTIVE_IOC_CANCEL		_IO(COLLECTIVE_IOC_MAGIC, 0x07)
#define COLLECTIVE_IOC_STATUS		_IO(COLLECTIVE_IOC_MAGIC, 0x08)
#define COLLECTIVE_IOC_LEAVE		_IO(COLLECTIVE_IOC_MAGIC, 0x09)

#endif /* _UAPI_LINUX_COLLECTIVE_H */
