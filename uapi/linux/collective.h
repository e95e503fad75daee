/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * Collective operations between processes, through /dev/collective.
 *
 * One open file is one member (one rank) of at most one group.  Its usual life:
 *
 *	fd = open("/dev/collective", O_RDWR | O_CLOEXEC);
 *	ioctl(fd, COLLECTIVE_IOC_JOIN, &join);       returns the bound address
 *	    ... give every rank the addresses of all ranks, by any means ...
 *	ioctl(fd, COLLECTIVE_IOC_CONNECT, &connect); returns when the group is up
 *	ioctl(fd, COLLECTIVE_IOC_SUBMIT, &submit);   one operation, blocking
 *	ioctl(fd, COLLECTIVE_IOC_LEAVE, &leave);     or close(fd)
 *
 * Every struct begins with its own size in bytes.  A size below that of the first published
 * version is EINVAL.  A size above the kernel's is accepted if the additional bytes are zero,
 * and is E2BIG otherwise.  Reserved fields must be zero.
 *
 * Operations accept any memory of the process.  A shared mmap() of the device from offset 0
 * provides zeroed memory in the largest contiguous pieces that are available, up to the size
 * of huge pages.  Operations on such memory are faster once it is registered.  The mapping
 *
 * - survives the close of the file,
 * - is not inherited by children, cannot grow, and is in no core dump by default,
 * - counts against RLIMIT_MEMLOCK until all of it is unmapped, rounded up to an even number of
 *   pages, in addition to registered memory.
 *
 * A page that is dropped (MADV_DONTNEED) and touched again counts as two more pages; beyond
 * the limit the access is a SIGBUS.  Errors of mmap(): EINVAL (private, an offset, or the file
 * is not open for writing), EACCES (likewise, with PROT_WRITE), EDQUOT, ENOMEM, ENFILE, EINTR.
 */
#ifndef _UAPI_LINUX_COLLECTIVE_H
#define _UAPI_LINUX_COLLECTIVE_H

#include <linux/types.h>
#include <linux/ioctl.h>

#define COLLECTIVE_ABI_VERSION		1

#define COLLECTIVE_NAME_MAX		32	/* characters of a group's name */
#define COLLECTIVE_ADDR_SIZE		128	/* as struct sockaddr_storage */

/*
 * Offset in an address, behind struct sockaddr_in6 and two bytes that programs may use, of a __u32:
 * what the rank offers beside TCP to ranks that have chosen AUTO.  Programs that pass on addresses
 * without it have links by TCP.
 */
#define COLLECTIVE_ADDR_OFFERS		32
#define COLLECTIVE_OFFERS_RDMA		0x616d6472U	/* any other value: nothing */

#define COLLECTIVE_SECRET_SIZE		32
#define COLLECTIVE_LANES_MAX		8
#define COLLECTIVE_RANKS_MAX		1024
#define COLLECTIVE_HEARTBEAT_MIN_MS	100
#define COLLECTIVE_HEARTBEAT_MAX_MS	60000
#define COLLECTIVE_EAGER_LIMIT		32768	/* bytes; larger operations are not copied */
#define COLLECTIVE_OPCODES_MAX		32	/* also of later versions */
#define COLLECTIVE_KEY_MAX		((1ULL << 40) - 1)
#define COLLECTIVE_RANK_NONE		0xffffffffU

/**
 * enum collective_opcode - the collectives
 *
 * @opcodes of QUERY has the ones that this kernel offers.  The others fail with EOPNOTSUPP.
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
	COLLECTIVE_SEND,	/* matched by order, or by key, between its two ends */
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
 * enum collective_reduction - the operator that combines two elements
 *
 * Integer SUM, PROD and AVG wrap modulo 2^bits.
 *
 * AVG is the result of SUM divided by the number of ranks, rounded to the type (integers:
 * toward zero), for every type, algorithm and number of ranks.  If the sum of integers wraps,
 * AVG is that of the wrapped sum.  If the sum of floats overflows, AVG is infinite.  With WIDE
 * the sum of 16-bit floats is a FLOAT32, and overflows where a FLOAT32 does.
 *
 * MIN and MAX propagate NaN and order -0 below +0.  A NaN result is always the canonical quiet
 * NaN.  The bitwise operators take integers only (EINVAL otherwise).  The logical operators
 * read any nonzero element, NaN included, as true and write 0 or 1 in the element's type.
 *
 * Where there is one operand only (one rank, rank 0 of a SCAN, rank 1 of an EXSCAN), it is the
 * result.
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

/**
 * enum collective_transport - which transport carries a link
 *
 * JOIN names one as the rank's choice for all its links.  A link joins two ranks, and the lower
 * one makes it: it decides by its own choice, and by whether it finds the other rank.  A rank
 * finds another one that is a member of the same group, in the same kernel and network namespace,
 * has chosen LOCAL or AUTO, and listens on the address that CONNECT names.
 *
 * - TCP: every link uses TCP.
 * - RDMA: every link uses RDMA, also between ranks of one kernel.  JOIN loads collective_rdma.ko,
 *   listens by RDMA on the port that it listens on by TCP, and fails with EOPNOTSUPP if there is no
 *   such module, with ENODEV if no RDMA device has the address, or with EPROTONOSUPPORT if that is
 *   an iWARP device.  A rank that has chosen RDMA refuses other links: the group fails with
 *   EOPNOTSUPP.  A rank that has chosen TCP or LOCAL, or AUTO and offers no RDMA, does not answer a
 *   call by RDMA: the group fails with ECONNRESET.
 * - LOCAL: every link copies from memory to memory.  If one cannot, because a rank is not found or
 *   has chosen TCP or RDMA, CONNECT, or the operation that needs the link, fails with EOPNOTSUPP,
 *   and the group with it, on all ranks with the same errno.  STATUS names both ranks
 *   (COLLECTIVE_REASON_PROTOCOL).
 * - AUTO: LOCAL where the other rank is found.  Elsewhere RDMA if both ranks offer it, as their
 *   addresses say (COLLECTIVE_ADDR_OFFERS), and if their devices connect within 5 s, or within
 *   half of the time of CONNECT if that is less.  TCP otherwise.  A rank that has chosen AUTO
 *   offers RDMA if collective_rdma.ko is loaded when it joins and an RDMA device, no iWARP one,
 *   has its address.
 *
 * If two ranks in one kernel have chosen different ones and none of the two AUTO, the CONNECT of
 * each, or its operation that needs the link, fails as that of LOCAL.
 */
enum collective_transport {
	COLLECTIVE_TRANSPORT_TCP,
	COLLECTIVE_TRANSPORT_RDMA,
	COLLECTIVE_TRANSPORT_LOCAL,
	COLLECTIVE_TRANSPORT_AUTO,
	/* private: */
	COLLECTIVE_TRANSPORT_COUNT
};

/**
 * enum collective_algorithm - the algorithm of a collective
 *
 * Small is up to COLLECTIVE_EAGER_LIMIT bytes, of an ALLGATHER in all.  AUTO selects:
 *
 * - Operations without a key of 2 to 64 ranks that are all members of the group in one kernel and
 *   have chosen LOCAL or AUTO: DIRECT, if a rank gives at most 4 KiB to the others (of SCATTER,
 *   ALLTOALL and REDUCE_SCATTER: to all of them) and takes at most 64 KiB of them, the blocks have
 *   the same length and every rank knows it.  Each rank stores its input in memory that all of them
 *   read.  Operands are reduced in the order of ranks: the bits are those of REPRODUCIBLE.
 * - BARRIER: TREE.
 * - ALLREDUCE, REDUCE, BROADCAST, SCAN, EXSCAN and ALLGATHER: TREE if small, else RING.
 * - ALLREDUCE, REDUCE and REDUCE_SCATTER that are not small, among 2 to 64 ranks that are all
 *   members of the group in one kernel and have chosen LOCAL or AUTO: DIRECT.  Each rank reads
 *   the others' memory, each input once.  The bits are those of the usual algorithm.
 * - All others: DIRECT.
 *
 * AUTO depends only on the call, on the arguments of CONNECT and on which ranks are members in
 * this kernel when CONNECT is called, so every rank selects the same.
 *
 * An algorithm that a collective does not have is EOPNOTSUPP.  TREE is for small operations only,
 * except for BARRIER and BROADCAST.  DIRECT of ALLREDUCE is not for small ones, and BARRIER,
 * BROADCAST, SCAN, EXSCAN and ALLGATHER have no DIRECT, but for what the first line says.
 */
enum collective_algorithm {
	COLLECTIVE_ALGORITHM_AUTO,
	COLLECTIVE_ALGORITHM_RING,	/* along the ring of ranks: fewest bytes */
	COLLECTIVE_ALGORITHM_TREE,	/* trees and doubling: fewest steps */
	COLLECTIVE_ALGORITHM_DIRECT,	/* each pair of ranks by itself */
	/* private: */
	COLLECTIVE_ALGORITHM_COUNT
};

/** enum collective_state - state of a member; it only moves down this list */
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

/** enum collective_reason_kind - cause of a failure, strongest first */
enum collective_reason_kind {
	COLLECTIVE_REASON_NONE,
	COLLECTIVE_REASON_DEATH,	/* rank_a's process died */
	COLLECTIVE_REASON_LEFT,		/* rank_a left while it was needed */
	COLLECTIVE_REASON_MISMATCH,	/* rank_a and rank_b made different calls */
	COLLECTIVE_REASON_PROTOCOL,	/* rank_b found rank_a breaking the protocol */
	COLLECTIVE_REASON_RESET,	/* the link rank_a - rank_b was reset */
	COLLECTIVE_REASON_SILENCE,	/* nothing heard on the link rank_a - rank_b */
	COLLECTIVE_REASON_DEADLINE,	/* rank_a's deadline passed, waiting for rank_b */
	COLLECTIVE_REASON_CANCELLED,	/* rank_a cancelled the operation, or aborted the group */
	COLLECTIVE_REASON_RESOURCES,	/* rank_a ran out of memory */
	/* private: */
	COLLECTIVE_REASON_COUNT
};

/**
 * DOC: errors
 *
 * The ioctls, the completions of io_uring and the library return the same numbers::
 *
 *   EINVAL	malformed call: a short struct, an unknown flag or enumerator, a rank outside
 *		the group, a misaligned pointer
 *   E2BIG	a struct with nonzero bytes that this kernel does not know
 *   EFAULT	memory that is not mapped or not writable.  The call has no place in the order,
 *		unless a small one waits and its memory is unmapped meanwhile
 *   EOVERFLOW	count times the size of the type exceeds the address space
 *   EBADMSG	the calls of the ranks do not match
 *   EMSGSIZE	the message has more elements than the buffer (VARLEN); on this rank only
 *   ECONNRESET	the group has failed: a peer died, or left while it was needed, or a link
 *		broke; every later operation fails, too
 *   ETIMEDOUT	the deadline has passed
 *   ECANCELED	a rank cancelled the operation (CANCEL, or by netlink), the group remains usable,
 *		and STATUS names the rank; or this rank has called LEAVE; or the group was
 *		aborted (ABORT, or by netlink), and every later operation fails, too
 *   EPROTO	a peer broke the protocol
 *   EACCES	the handshake was rejected; or the group on this host has another secret
 *   EBUSY	another process has this rank of this group; another thread waits for this
 *		request
 *   EEXIST	a group of this name and user exists with another id, size or number of lanes
 *   EISCONN	this file has joined (or connected) before
 *   ENOTCONN	the group is not up, or this file has not joined
 *   EPERM	the calling process is not the one that joined
 *   ENOMEM	no memory
 *   EDQUOT	the pinned pages would exceed RLIMIT_MEMLOCK; or the kernel memory of all groups
 *		of the user (real user ID) would exceed the module parameter
 *		user_memory_mib, which the kernel log then says.  Processes that had
 *		CAP_SYS_RESOURCE when they joined are counted, but not limited.  The same
 *		holds for queue pairs of an RDMA device and user_queue_pairs of
 *		collective_rdma
 *   EMFILE	too many registered buffers
 *   ENOENT	no such registered buffer, or no such request
 *   EAGAIN	too many requests are in flight or not collected; or, after failures, this rank
 *		is too many collectives without a key ahead of another rank (twice
 *		inflight_max): try again when the other rank has submitted them
 *   ENOSPC	65,536 messages and operations with a key have failed in this group.  It
 *		accepts no more of them: use a new group
 *   EINPROGRESS	CONNECT on a non-blocking file: poll for POLLOUT; WAIT: not complete
 *   EOPNOTSUPP	not offered by this kernel or transport
 *   ENODEV	JOIN with RDMA: no RDMA device of this network namespace has the address
 *   EPROTONOSUPPORT  the module of a peer speaks another version of the wire protocol; JOIN with
 *		RDMA: the device that has the address is an iWARP one
 *   ENOTTY	no such ioctl
 *   EINTR	a signal arrived first, in any call.  If SUBMIT has started a request, its
 *		number is in request; the same call again waits for it
 */

/*
 * Instances that are not numbered in the order of all collectives: those with a key, and
 * messages between two ranks.  The low bits (of a message those of COLLECTIVE_KEY_MAX) are the
 * key, or the number of earlier messages in the same direction.
 */
#define COLLECTIVE_INSTANCE_KEYED	(1ULL << 63)
#define COLLECTIVE_INSTANCE_MESSAGE	(1ULL << 62)
#define COLLECTIVE_INSTANCE_FROM(name)	((name) >> 50 & (COLLECTIVE_RANKS_MAX - 1))
#define COLLECTIVE_INSTANCE_TO(name)	((name) >> 40 & (COLLECTIVE_RANKS_MAX - 1))

/**
 * struct collective_reason - cause of a failure and the ranks concerned
 * @kind: enum collective_reason_kind
 * @error: errno that operations fail with, positive
 * @rank_a: rank at fault, or one end of the link; or COLLECTIVE_RANK_NONE
 * @rank_b: other end of the link, or the rank that saw the fault; @rank_a of a group that its
 *	process aborted (a command on its host: none); or COLLECTIVE_RANK_NONE
 * @instance: operation: a collective without a key as counted from 0 by each member, else
 *	COLLECTIVE_INSTANCE_*; ~0: the whole group, or none
 */
struct collective_reason {
	__u32 kind;
	__u32 error;
	__u32 rank_a;
	__u32 rank_b;
	__aligned_u64 instance;
};

#define COLLECTIVE_FEATURE_BOARD	(1ULL << 0)	/* struct collective_board */
#define COLLECTIVE_FEATURE_NOSYNC	(1ULL << 1)	/* COLLECTIVE_F_NOSYNC */

/**
 * struct collective_query - ioctl(COLLECTIVE_IOC_QUERY): get the kernel's features and limits
 * @size: sizeof(struct collective_query)
 * @flags: 0
 * @abi_version: COLLECTIVE_ABI_VERSION of the kernel
 * @lanes_max: maximum of lanes of a group
 * @ranks_max: maximum of ranks of a group
 * @inflight_max: maximum of requests that a member can have in flight
 * @eager_limit: bytes; larger operations are sent without a copy
 * @transports: values of @transport that JOIN accepts: bit (1 << enum collective_transport).  That
 *	of RDMA is set while collective_rdma.ko is loaded; JOIN tries to load it
 * @opcodes: bit (1 << enum collective_opcode)
 * @types: bit (1 << enum collective_type)
 * @reductions: bit (1 << enum collective_reduction)
 * @features: COLLECTIVE_FEATURE_*: what mmap() and flags of SUBMIT offer
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

#define COLLECTIVE_JOIN_PRIVATE		(1U << 0)	/* no process may map the group's board */

/**
 * struct collective_join - ioctl(COLLECTIVE_IOC_JOIN): become a rank of a group
 * @size: sizeof(struct collective_join)
 * @flags: COLLECTIVE_JOIN_*
 * @name: name of the group, 1 to 32 of [A-Za-z0-9._-], not "." or "..", NUL-padded
 * @id: number of the group, the same on every rank and another one for every new group of
 *	the same name: frames and connections of an earlier group are rejected.  Without a
 *	secret it admits to the group, so it must be random
 * @rank: 0 .. @nranks - 1
 * @nranks: 1 .. COLLECTIVE_RANKS_MAX
 * @transport: enum collective_transport; ranks may choose differently
 * @lanes: 1 .. COLLECTIVE_LANES_MAX, the same on every rank; 0: the default
 * @timeout_ms: deadline of an operation that names none; 0: the default (300 s); ~0: none
 * @heartbeat_ms: time between two probes of a link, COLLECTIVE_HEARTBEAT_MIN_MS ..
 *	COLLECTIVE_HEARTBEAT_MAX_MS; 0: the default (1 s).  The network may be down for six of
 *	them (RDMA: five); the group fails if a peer has been silent for seven to eight
 * @secret: secret of the group, the same random bytes on every rank.  Both ends of every
 *	connection prove that they know it (HMAC-SHA256, Documentation/wire.rst); a peer
 *	without this proof is rejected with EACCES.  All zero: every peer that names the
 *	group is accepted
 * @reserved: 0
 * @addr_len: in: bytes of @addr; out: bytes of the bound address
 * @addr: in: local address to listen on (AF_INET or AF_INET6; port 0: any port); out: the
 *	bound address, and behind it what the rank offers (COLLECTIVE_ADDR_OFFERS)
 * @algorithm: meaning of AUTO in this group, by enum collective_opcode: enum
 *	collective_algorithm.  A call for which that algorithm does not exist uses the
 *	usual AUTO.  Must be the same on every rank: otherwise operations fail with EBADMSG
 *
 * Errors: EINVAL, E2BIG, EFAULT, EISCONN (joined before), EBUSY (another process has the
 * rank), EEXIST (another group of this name and user), EACCES (its secret is another one),
 * EOPNOTSUPP (transport), ENOMEM, EDQUOT (kernel memory, which grows with ranks and lanes),
 * ENFILE, EPERM, EINTR, and the errors of binding the address (EADDRINUSE, EADDRNOTAVAIL,
 * EACCES, EAFNOSUPPORT, ENODEV, EPROTONOSUPPORT).
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
 * struct collective_connect - ioctl(COLLECTIVE_IOC_CONNECT): connect to the other ranks
 * @size: sizeof(struct collective_connect)
 * @flags: 0
 * @peers: pointer to @npeers addresses of COLLECTIVE_ADDR_SIZE bytes each (struct
 *	sockaddr_storage), in the order of ranks, this rank's included; the same on every
 *	rank.  What JOIN has said at COLLECTIVE_ADDR_OFFERS is passed on, or 0
 * @npeers: number of ranks of the group
 * @timeout_ms: time limit; 0: the default (60 s); ~0: none
 *
 * Returns 0 when the group is up.  On a non-blocking file it returns EINPROGRESS.  poll() then
 * reports POLLOUT when the group is up and POLLERR when it has failed; calling CONNECT again
 * returns the error.  Errors: EINVAL, E2BIG, EFAULT, ENOTCONN (not joined), EISCONN, EPERM,
 * ETIMEDOUT, ECONNRESET, EACCES, EPROTO, EBUSY, EINTR, ECANCELED (LEAVE was called), EOPNOTSUPP
 * (the host of a rank has the other byte order, or a link cannot be local and one of its ranks
 * has chosen LOCAL), and the errors of connecting to an address (ENETUNREACH, EHOSTUNREACH,
 * EAFNOSUPPORT, ECONNREFUSED), with which the group has failed.
 *
 * ENOMEM, EDQUOT, ENOBUFS, ENFILE, EADDRINUSE and EADDRNOTAVAIL (no local port is free) leave
 * the group as it is, unless STATUS has a reason.  The same call again continues with the
 * remaining peers, within the time limit of the first call.
 */
struct collective_connect {
	__u32 size;
	__u32 flags;
	__aligned_u64 peers;
	__u32 npeers;
	__u32 timeout_ms;
};

#define COLLECTIVE_REGISTER_READ_ONLY	(1U << 0)	/* for sending only */

/**
 * struct collective_register - ioctl(COLLECTIVE_IOC_REGISTER): pin a buffer
 * @size: sizeof(struct collective_register)
 * @flags: COLLECTIVE_REGISTER_*
 * @addr: address of the buffer
 * @length: bytes, not 0
 * @buffer: out: number of the buffer, from 1, for struct collective_op
 * @reserved: 0
 *
 * Operations use the pages that are mapped at this time, until UNREGISTER, also if other pages
 * are mapped there later.  Errors: EINVAL, E2BIG, EFAULT, EOVERFLOW, EDQUOT, ENOMEM, EMFILE,
 * EPERM, ENOTCONN (not joined), EINTR.
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
 * struct collective_unregister - ioctl(COLLECTIVE_IOC_UNREGISTER): release a buffer
 * @size: sizeof(struct collective_unregister)
 * @buffer: number of the buffer
 *
 * Operations in flight keep the pages until they complete.  Errors: EINVAL, E2BIG, EFAULT,
 * ENOENT, EPERM, EINTR.
 */
struct collective_unregister {
	__u32 size;
	__u32 buffer;
};

/**
 * struct collective_op - one operation, the same for ioctl and io_uring
 * @opcode: enum collective_opcode
 * @type: enum collective_type
 * @reduction: enum collective_reduction
 * @algorithm: enum collective_algorithm
 * @flags: COLLECTIVE_F_*
 * @root: root rank, of BROADCAST, REDUCE, GATHER and SCATTER; the other end, of SEND and RECV,
 *	which may be this rank; else 0
 * @timeout_ms: deadline; 0: the group's; ~0: none
 * @key: with COLLECTIVE_F_KEYED the key, up to COLLECTIVE_KEY_MAX; else 0
 * @count: elements: of the whole vector (ALLREDUCE, REDUCE, BROADCAST, SCAN, EXSCAN, SEND,
 *	RECV), or of one rank's block (the others); with VECTOR of this rank's own block (0
 *	for ALLTOALL)
 * @send: address of this rank's input; of a BROADCAST the root's only
 * @recv: address of the result; equal to @send: in place.  An ALLGATHER in place finds this
 *	rank's block at its place in the result.  The root of a BROADCAST in place is not
 *	written.  An ALLTOALL in place sends block r to rank r and replaces it by the block
 *	of rank r; with a layout, the layouts of both sides must be the same.  Other ranks
 *	need not be in place
 * @layout: address of a struct collective_layout, of ALLGATHER, REDUCE_SCATTER, GATHER, SCATTER
 *	and ALLTOALL (else EINVAL); 0: blocks are contiguous, in the order of ranks
 * @send_buffer: registered buffer that contains @send; 0: none
 * @recv_buffer: registered buffer that contains @recv; 0: none
 * @reserved: 0
 *
 * Both addresses must be aligned to the size of the type.  @send and @recv may be equal but
 * must not overlap otherwise (EINVAL).  The input is never written.
 *
 * An operation works on the pages that were mapped when it was submitted.  If memory is
 * unmapped, dropped (MADV_DONTNEED), truncated or punched out of its file meanwhile, the
 * operation reads the old contents, and a result stored there is lost.  Memory that is moved
 * (mremap) keeps its pages and thus the operation.  After fork() the pages are the parent's.
 *
 * A SEND to this rank itself completes with the RECV that it is matched with, whatever its size:
 * it waits for that RECV, for as long as its deadline allows.  If either of them fails, so does the
 * other one.  Rank 1023 cannot use the key 2^40 - 1 for it (EINVAL).
 *
 * On rank r, SCAN reduces the input of the ranks 0 .. r, and EXSCAN that of 0 .. r - 1, with
 * operands in this order.  EXSCAN ignores @recv of rank 0.  Neither takes AVG (EINVAL).
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
 * KEYED	@key identifies the operation, not the order of calls: ranks may submit
 *		operations with keys in any order, as many at once as may be in flight.  A
 *		key identifies one operation at a time: an operation with a key in use
 *		starts when the earlier one is complete.  After a failure the key must not
 *		be used again: it fails in the same way until more than a thousand others
 *		have failed.  The earlier use of the key then fails, too, on ranks that had
 *		not completed it.
 *		The key of SEND and RECV is a tag: it identifies a message between these two
 *		ranks only
 * REPRODUCIBLE	a reduction takes the elements in the order of ranks, ((x0 op x1) op x2) and
 *		so on: the result depends neither on the algorithm, nor on the number of
 *		lanes, nor on the sizes of messages.  Every rank then sends the vector twice
 *		in an ALLREDUCE instead of 2 (n - 1) / n times, and all n blocks in a
 *		REDUCE_SCATTER instead of n - 1; small operations take n steps.  No effect on
 *		types and operators that do not round
 * WIDE		sums and averages of FLOAT16 and BFLOAT16 are kept and sent as FLOAT32 and
 *		rounded once, in ALLREDUCE, REDUCE and REDUCE_SCATTER (SCAN and EXSCAN:
 *		EOPNOTSUPP); ranks send up to twice as much.  No effect on other types and
 *		reductions
 * VARLEN	BROADCAST and SCATTER, on all ranks; RECV: @count of a receiver is the
 *		capacity of its buffer, and @received of the completion is the number of
 *		elements of the message (at a root: of its own block).  If the message is
 *		longer, its beginning is stored, the rest is dropped, and the operation
 *		fails with EMSGSIZE on this rank only.  Counts of ranks are not compared.
 *		The root sends to each rank in turn, on one lane, so it sends a broadcast
 *		n - 1 times; larger payload waits until each rank asks for it.  Algorithms:
 *		AUTO, DIRECT
 * VECTOR	counts differ by rank (allgatherv and so on): see struct collective_layout
 * NOSYNC	a collective need not synchronize: it may complete on a rank when that rank's own
 *		part is done, before others have called it.  The root of a BROADCAST or SCATTER,
 *		and the other ranks of a REDUCE or GATHER, then run ahead, and a rank of a SCAN or
 *		EXSCAN waits for those before it only.  Ranks may differ in this flag.  The calls
 *		are compared all the same.  If they differ, the operation fails with EBADMSG on
 *		the ranks that are in it.  On those that have completed it, the next collective
 *		without a key that completes fails with EBADMSG, on that rank only, and STATUS has
 *		the number of the earlier one, and both calls.  In groups with a board the flag
 *		has this effect on small operations: broadcasts of at most 48 bytes up to 16 ahead
 *		of the slowest rank, others 2.  In other groups it has it on all sizes, as far as
 *		a rank sends without being asked for the payload, and up to 32 operations that not
 *		all ranks are known to have called; but not on calls with a key, and not on
 *		gathers and scatters whose counts differ.  All else waits for all ranks
 */
#define COLLECTIVE_F_KEYED		(1U << 0)
#define COLLECTIVE_F_REPRODUCIBLE	(1U << 1)
#define COLLECTIVE_F_WIDE		(1U << 2)
#define COLLECTIVE_F_VARLEN		(1U << 3)
#define COLLECTIVE_F_VECTOR		(1U << 4)
#define COLLECTIVE_F_NOSYNC		(1U << 5)
#define COLLECTIVE_F_ALL		0x3fU

/**
 * struct collective_view - positions of the blocks of a buffer, in elements
 * @rows: number of pieces of equal length in a block, a divisor of its elements; 0 or 1: the
 *	block is contiguous
 * @stride: from the beginning of a row to that of the next; not less than a row
 * @distance: from the beginning of a block to that of the next; 0 if the buffer has one block
 *
 * Example, an allgather of an [outer, n, inner] array along the axis in the middle:
 * @rows = outer, @stride = ranks * n * inner, @distance = n * inner.
 */
struct collective_view {
	__aligned_u64 rows;
	__aligned_u64 stride;
	__aligned_u64 distance;
};

/**
 * struct collective_layout - positions of the blocks that belong to the ranks
 * @size: sizeof(struct collective_layout)
 * @flags: 0
 * @send_counts: with VECTOR: address of a __u64 for each rank, the elements of its block in
 *	@send; 0: @send has one block, of the operation's count
 * @send_displs: likewise, the beginning of the block, in elements; 0: contiguous blocks
 * @recv_counts: the same for @recv
 * @recv_displs: the same for @recv; no two blocks may share an element (EINVAL)
 * @send: view of @send, without VECTOR; all zero: contiguous blocks
 * @recv: view of @recv, in which no two rows may share an element (EINVAL)
 *
 * With VECTOR these counts are required; all others are 0:
 *
 * - ALLGATHER: @recv_counts on every rank;
 * - REDUCE_SCATTER: @recv_counts on every rank, also for the blocks of @send, which
 *   @send_displs places;
 * - GATHER: @recv_counts at the root; SCATTER: @send_counts at the root;
 * - ALLTOALL: both on every rank.
 *
 * The counts of ALLGATHER and REDUCE_SCATTER must be the same on every rank (EBADMSG).  A count
 * that only two ranks know must be the same on both.  If a rank sends more or less than the
 * other one expects, or nothing, the operation fails on every rank once all have submitted it
 * (EBADMSG).  On these two ranks STATUS has the counts in @calls, of rank_a, the sender, and
 * of rank_b, if no other counts differ; on other ranks both may be COLLECTIVE_RANK_NONE.
 *
 * A small operation with VECTOR may be sent at once only if all ranks know all its counts.  A
 * block without elements may have any position.
 *
 * The layout of a buffer that the operation does not use on this rank is ignored.  Ranks need
 * not have their blocks at the same positions.
 *
 * All memory from the first element to the last is pinned, gaps between blocks included.  It
 * must be mapped (EFAULT) and, in a result, writable, counts against RLIMIT_MEMLOCK, and lies
 * in the registered buffer, if there is one.  Gaps are neither read nor written.  From first
 * to last element, @send and @recv must not overlap.
 *
 * In place (@send equal to @recv, see struct collective_op) the view of the other buffer
 * determines the position of this rank's block, and the view of this rank's own buffer is
 * zero.  REDUCE_SCATTER is in place when @recv, with its view, is this rank's own block of
 * @send.  ALLTOALL is in place when its views, or its counts and displacements, are the same
 * for @send and @recv (else EINVAL).
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
#define COLLECTIVE_SUBMIT_BOARD		(1U << 1)	/* DOC: mapped board */

/**
 * struct collective_submit - ioctl(COLLECTIVE_IOC_SUBMIT): submit an operation
 * @size: sizeof(struct collective_submit)
 * @flags: COLLECTIVE_SUBMIT_*
 * @op: operation
 * @request: in: 0, or after EINTR or EINPROGRESS the request to wait for (@op is ignored); out,
 *	with NOWAIT, EINTR or EINPROGRESS: the request in flight
 * @received: in, with BOARD: number of the operation; out, with VARLEN: elements of the message,
 *	also if they are too many (EMSGSIZE); else 0
 * @wait_ms: time limit of the wait; 0: none; with NOWAIT 0.  When it has passed, the operation
 *	goes on and EINPROGRESS is returned
 * @until: in: 0, or what EINTR has left here, to wait for the same request until the same time; any
 *	other value is as 0; out: with EINTR, what tells the kernel when @wait_ms is over; else 0
 *
 * Without NOWAIT, returns 0 when the result is complete and both buffers may be used again.
 * EINTR means that a handler has run: with @wait_ms, as of poll(), even one with SA_RESTART.
 * Whatever else interrupts the thread (a stop, the freezer, a debugger, work of an io_uring), the
 * wait goes on to its limit, and the operation is submitted once.
 * The thread that waits does the work of the operation itself, so a program that has something
 * else to do later waits for a moment first (@wait_ms), and for the rest by WAIT.
 * Errors: EINVAL, E2BIG, EFAULT, EOVERFLOW, EBADMSG, EMSGSIZE (VARLEN), ECONNRESET, ETIMEDOUT,
 * ECANCELED, EPROTO, ENOTCONN, EPERM, ENOMEM, EDQUOT, ENOENT, EAGAIN, ENOSPC, EOPNOTSUPP, EINTR,
 * EINPROGRESS (@wait_ms), and EBUSY where @request is given.  An operation that needs a new
 * connection to a rank may also fail with the errors of connecting: see CONNECT.  It then has no
 * place in the order of operations and may be submitted again.
 *
 * With NOWAIT, returns 0 when the operation has its place in the order of operations.  It
 * progresses, whether or not a thread waits, until it is complete or its deadline has passed.
 * Its buffers belong to the kernel until WAIT has collected the request.
 *
 * Each member numbers its requests from 1 and never reuses a number.  A request is collected
 * once, by the call that returns its result.  Until then it counts against @inflight_max of
 * QUERY (EAGAIN) and keeps its pages pinned.  LEAVE and the end of the file collect all
 * remaining requests.
 */
struct collective_submit {
	__u32 size;
	__u32 flags;
	struct collective_op op;
	__aligned_u64 request;
	__aligned_u64 received;
	__u32 wait_ms;
	__u32 until;
};

#define COLLECTIVE_WAIT_NOWAIT		(1U << 0)	/* do not sleep */
#define COLLECTIVE_WAIT_ANY		(1U << 1)	/* one of several */

/**
 * struct collective_wait - ioctl(COLLECTIVE_IOC_WAIT): collect a request
 * @size: sizeof(struct collective_wait)
 * @flags: COLLECTIVE_WAIT_*
 * @request: in: number of the request; with ANY only out: the number of the collected request,
 *	or 0 if none was collected
 * @received: out, with VARLEN: elements of the message, also if they are too many (EMSGSIZE);
 *	else 0
 * @requests: with ANY: address of @count numbers (__u64), of which zeros are skipped; else 0
 * @count: with ANY: 1 .. @inflight_max of QUERY; else 0
 * @timeout_ms: time limit of the wait; 0: none
 * @index: out, with ANY: index in @requests of the collected request
 * @until: in: 0, or what EINTR has left here, to wait for the same request until the same time; any
 *	other value is as 0; out: with EINTR, what tells the kernel when @timeout_ms is over; else 0
 *
 * Waits until the request, or one of several, is complete and collects it.  Returns the result
 * of the operation, or why none was collected: EINPROGRESS (none is complete: NOWAIT, or the
 * time is over), EINTR (none is complete, and a handler has run), ENOENT (there is no such
 * request, or all numbers in @requests are zero), EBUSY (another thread waits for the request,
 * or it is named twice), EINVAL, E2BIG, EFAULT, EPERM, ENOTCONN, ENOMEM.  Of these, only
 * ENOTCONN and ENOMEM can also be the result of an operation; with ANY, @request distinguishes
 * the two cases.  If several requests are complete, the first in @requests is collected.
 *
 * The struct is written in every case except E2BIG, EFAULT and the EINVAL of a short struct.
 * Without @timeout_ms, a call that a handler with SA_RESTART interrupts is restarted.  Whatever
 * interrupts the thread without running a handler, the wait goes on to its limit.
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
	__u32 until;
};

/**
 * struct collective_call - the arguments of a call that must match on all ranks
 * @opcode: enum collective_opcode
 * @type: enum collective_type
 * @reduction: enum collective_reduction
 * @algorithm: enum collective_algorithm, never AUTO
 * @flags: COLLECTIVE_F_*
 * @root: root rank
 * @rank: rank that made the call; COLLECTIVE_RANK_NONE: there is no call
 * @count: elements
 * @layout: digest of the counts; 0: none
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
 * @rank: rank; COLLECTIVE_RANK_NONE: none
 * @ms: age of its submission of @instance, ms
 * @instance: the collective without a key that it submitted last; ~0: it has submitted none
 */
struct collective_absent {
	__u32 rank;
	__u32 ms;
	__aligned_u64 instance;
};

#define COLLECTIVE_ABSENT_MAX	16	/* ranks that STATUS has details of */

/**
 * struct collective_status - ioctl(COLLECTIVE_IOC_STATUS): get a member's state and failures
 * @size: sizeof(struct collective_status)
 * @flags: 0
 * @state: out: enum collective_state
 * @rank: out: rank of this member
 * @nranks: out: number of ranks of the group
 * @lanes: out: number of lanes of the group
 * @inflight: out: number of requests that are not complete
 * @reserved: 0
 * @submitted: out: number of operations submitted
 * @completed: out: number of operations completed, with any result
 * @group: out: reason why the group failed, if it has.  Reasons are collected for 25 ms after
 *	the failure, or for 100 ms while only a link is known to be at fault; STATUS waits
 *	until then.  A process that is about to end, and was a reason, is told that
 * @last: out: reason of this member's latest failed operation; the rank that a deadline waited
 *	for may become known later, when an absent rank has reported itself
 * @calls: out: the calls of the two ranks of the latest mismatch
 * @absent_instance: out: latest collective without a key that failed by a deadline and of which
 *	absent ranks are known; ~0: none.  They are known some milliseconds after the failure
 * @nabsent: out: number of ranks that had not submitted @absent_instance when they heard of its
 *	failure
 * @last_ms: out: age of the failure of @last, ms
 * @absent_ranks: out: set of these ranks: bit rank % 64 of element rank / 64
 * @absent: out: details of up to COLLECTIVE_ABSENT_MAX of these ranks, unordered
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

#define COLLECTIVE_CANCEL_USER_DATA	(1U << 0)	/* @request is the user_data of an SQE */

/**
 * struct collective_cancel - ioctl(COLLECTIVE_IOC_CANCEL): fail an operation
 * @size: sizeof(struct collective_cancel)
 * @flags: COLLECTIVE_CANCEL_*
 * @request: number of the request; with USER_DATA the user_data of the SQE that submitted it
 *	(of several, the oldest)
 *
 * The operation fails with ECANCELED on every rank, where STATUS names this rank as the one
 * that cancelled.  The group remains usable.  CANCEL returns at once.  The operation ends when
 * WAIT or its completion reports it, possibly still with success.  An operation that waits for
 * an earlier one of the same key is cancelled when it starts.  Errors: EINVAL, E2BIG, EFAULT,
 * ENOENT (it is over, or never existed), EALREADY (it is already failing), ENOTCONN, EPERM.
 */
struct collective_cancel {
	__u32 size;
	__u32 flags;
	__aligned_u64 request;
};

/**
 * DOC: io_uring
 *
 * An IORING_OP_URING_CMD on the file has in @cmd_op COLLECTIVE_IOC_SUBMIT and in its command
 * area (80 bytes: IORING_SETUP_SQE128) a struct collective_op, or COLLECTIVE_IOC_CANCEL and a
 * struct collective_cancel.  The result of the completion is 0 or a negative errno, the same
 * as that of the ioctl.  With VARLEN, which needs IORING_SETUP_CQE32 (else EINVAL), big_cqe[0]
 * is the number of elements of the message.
 *
 * Operations without a key are identified by the order in which they are issued.  That is the
 * order of the SQEs, unless these are linked, drained or IOSQE_ASYNC.  To keep this order,
 * memory that is registered neither with the file nor with the ring is pinned at issue, by the
 * submitting thread (with IORING_SETUP_SQPOLL the ring's own thread).
 *
 * With IORING_URING_CMD_FIXED both buffers lie in the ring's buffer of that index, and
 * @send_buffer and @recv_buffer are 0.
 *
 * Linux 6.12 reads the SQE of a linked or drained command when the command starts.  Until then
 * the slot of the SQE must not be reused.
 *
 * io_uring's own cancellation (IORING_OP_ASYNC_CANCEL) does not reach such a command.  CANCEL
 * does.  The end of the ring also cancels its commands, and each operation for which such a
 * command waits because it has the same key.  WAIT does not accept requests of SQEs (EBUSY).
 */

/**
 * DOC: mapped board
 *
 * A group whose operations may be DIRECT although they are small (see enum collective_algorithm)
 * has a board: memory in which each rank stores its small inputs, and reads those of the others.  A
 * process may map it, and execute operations there without a system call.  The format of the board
 * belongs to libcollective and the kernel: COLLECTIVE_BOARD_VERSION names it, and a program that
 * does not know it uses SUBMIT, which does the same.  Ranks whose processes have mapped the board
 * and ranks whose processes have not are in one group.
 *
 * Two shared mappings of the device, once the group is up, from these offsets:
 *
 * - COLLECTIVE_MMAP_BOARD, read-only: struct collective_board, and the part of each rank.
 * - COLLECTIVE_MMAP_BOARD_OWN: the part of this rank.  From this mmap() on the process takes part
 *   in the order of the operations: the kernel finds there how many the process has executed.
 *
 * Both may be shorter than what there is.  They outlive the file and the group, are not inherited
 * by children, cannot grow and are in no core dump.  Errors of mmap(): EINVAL (private, longer than
 * what there is, or @offset), EACCES (writable at COLLECTIVE_MMAP_BOARD, executable, or a rank has
 * joined with COLLECTIVE_JOIN_PRIVATE), ENOTCONN, EPERM (not the process that joined), EOPNOTSUPP
 * (the group has no board), EDQUOT, ENOMEM, ENFILE.
 *
 * SUBMIT with COLLECTIVE_SUBMIT_BOARD hands over an operation that the process has begun, and
 * whose number is in @received: the kernel goes on with it.  With EBUSY, for want of memory, and
 * EINTR without a request, it does not: the process is still at the operation, and looks for the
 * other ranks itself, or tries again, until the time of the operation is over.  With any other
 * error of the operation, such as EFAULT, this rank has given it up: it has its place in the order
 * if the process had published it, and else none.  EINVAL: the process is at no such operation.
 * WAKE wakes the ranks that sleep until something is stored on the board.
 *
 * A process that stores what it must not can spoil results of its group, or have its operations
 * wait until their deadlines; the kernel and other processes are safe, as from one that calls with
 * wrong data, or not at all.
 */
#define COLLECTIVE_MMAP_BOARD		(1ULL << 40)
#define COLLECTIVE_MMAP_BOARD_OWN	(1ULL << 41)

#define COLLECTIVE_BOARD_VERSION	1

/**
 * struct collective_board - what the mapping at COLLECTIVE_MMAP_BOARD begins with
 * @version: COLLECTIVE_BOARD_VERSION
 * @nranks: ranks of the group
 * @first: from the beginning of the mapping to the part of rank 0; bytes
 * @part: from there to the part of the next rank; bytes
 * @payload: from the beginning of a part to its two places of 4096 bytes each for longer payload
 * @sleepers: ranks that sleep until something is stored, bit by rank
 */
struct collective_board {
	__u32 version;
	__u32 nranks;
	__u32 first;
	__u32 part;
	__u32 payload;
	__u32 reserved[27];
	__aligned_u64 sleepers;
};

/**
 * struct collective_wake - ioctl(COLLECTIVE_IOC_WAKE): wake ranks that sleep
 * @size: sizeof(struct collective_wake)
 * @flags: 0
 *
 * Also wakes threads of this process that wait until it is at no operation of the board.
 * Errors: EINVAL, E2BIG, EFAULT, ENOTCONN, EPERM, EOPNOTSUPP (the group has no board).
 */
struct collective_wake {
	__u32 size;
	__u32 flags;
};

/**
 * struct collective_leave - ioctl(COLLECTIVE_IOC_LEAVE): leave the group in order
 * @size: sizeof(struct collective_leave)
 * @flags: 0
 *
 * Requests still in flight fail with ECANCELED on this rank and abort the group on the others.
 * WAIT then still reports the end of each request, and close() waits for it.  Otherwise the
 * file can only be closed afterwards.  A request that is complete is not in flight, whether or not
 * it was collected.  A thread that waits for it, or an io_uring, still gets its result.
 *
 * If this rank has completed operations that others have not called yet (COLLECTIVE_F_NOSYNC),
 * LEAVE waits until they have, at most for the time that JOIN gives an operation.  After that it
 * fails the group.  EINTR: a handler has run meanwhile, and the rank has not left.
 *
 * A CONNECT in progress returns ECANCELED.  LEAVE waits for calls of other threads that are about
 * to return.  One that looks at memory may take long, if another program provides that memory
 * (userfaultfd, FUSE).  EINTR: a handler has run meanwhile; the other ranks know that this one has
 * left, no further call begins, and LEAVE again or close() frees the rank.
 * Errors: EINVAL, E2BIG, EFAULT, ENOTCONN, EPERM, EINTR.
 */
struct collective_leave {
	__u32 size;
	__u32 flags;
};

/**
 * struct collective_abort - ioctl(COLLECTIVE_IOC_ABORT): fail the group
 * @size: sizeof(struct collective_abort)
 * @flags: 0
 *
 * The group fails with ECANCELED on every rank, for good, as by a death.  STATUS has the reason
 * CANCELLED there, with this rank as @rank_a and as @rank_b, unless a stronger reason is known.
 * Operations under way end, those of SQEs and of the board included, some 25 ms later; a CONNECT
 * in progress returns the error.  ABORT returns at once and takes no lock that another call holds
 * while it waits.  LEAVE may follow at once.
 *
 * Errors: EINVAL, E2BIG, EFAULT, EALREADY (the group has failed), ENOTCONN (not joined, or left),
 * EPERM; ENOTTY from a kernel that does not have it.
 */
struct collective_abort {
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
#define COLLECTIVE_IOC_WAKE		_IO(COLLECTIVE_IOC_MAGIC, 0x0a)
#define COLLECTIVE_IOC_ABORT		_IO(COLLECTIVE_IOC_MAGIC, 0x0b)

#endif /* _UAPI_LINUX_COLLECTIVE_H */
