/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libcollective - collective operations between processes, done by the kernel
 *
 *	struct coll_comm *comm;
 *	int err = coll_init(&comm, NULL);	rank and size from the launcher
 *
 *	if (!err)
 *		err = coll_allreduce(comm, COLL_IN_PLACE, gradients, n,
 *				     COLL_FLOAT32, COLL_SUM);
 *	if (err)
 *		fprintf(stderr, "%s: %s\n", coll_strerror(err),
 *			comm ? coll_error_detail(comm) : "");
 *	coll_finalize(comm);
 *
 * Functions that return int return 0 or a negative errno, the same numbers as
 * the kernel's (see the errors section of linux/collective.h), unless they say
 * otherwise.  The library starts no thread but for one that looks up a name for
 * coll_init(); communicators have nothing in common but the table of request handles.
 *
 * Threads: several threads may use one communicator at once.  The kernel gives
 * their operations an order, and the order must be the same on every rank, so
 * in practice one thread submits at a time; threads that are to go on independently
 * take a communicator each (coll_dup()).  coll_finalize() must be the last
 * call on a communicator.  After fork() a child must not use its parent's
 * communicators: every function that takes one, or a request of one, returns EPERM,
 * whatever the parent's other threads were doing.  exec() and exit() close them.
 * No function is a cancellation point of pthread_cancel(): a thread that is cancelled
 * meanwhile ends after it has returned.
 */
#ifndef COLLECTIVE_H
#define COLLECTIVE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define COLL_VERSION_MAJOR	0
#define COLL_VERSION_MINOR	1
#define COLL_VERSION		(COLL_VERSION_MAJOR << 16 | COLL_VERSION_MINOR)

/**
 * coll_version - the version of the library that runs
 *
 * Return: as COLL_VERSION, which is the version that the program was compiled with.  A
 * program may use a function or a field that came with a version if this is at least that.
 */
unsigned int coll_version(void);

/** struct coll_comm - a member of a group: this process's rank in it */
struct coll_comm;

/** enum coll_type - element types, in host byte order */
enum coll_type {
	COLL_INT8,
	COLL_UINT8,
	COLL_INT16,
	COLL_UINT16,
	COLL_INT32,
	COLL_UINT32,
	COLL_INT64,
	COLL_UINT64,
	COLL_FLOAT16,		/* IEEE binary16 */
	COLL_BFLOAT16,
	COLL_FLOAT32,
	COLL_FLOAT64,
};

/**
 * enum coll_op - how two elements become one
 *
 * Integers wrap.  COLL_AVG is the result of COLL_SUM, divided by coll_size() and rounded to
 * the type (integers: toward zero), for every type and number of ranks: the average of
 * integers whose sum wraps is that of the wrapped sum, and that of floats whose sum overflows
 * the type (beyond 65,504 in COLL_FLOAT16) is infinite.  COLL_CONFIG_WIDE keeps the sum of
 * floats of 16 bits as a COLL_FLOAT32, and so does COLLECTIVE_F_WIDE of coll_submit().
 * COLL_MIN and COLL_MAX propagate NaN; COLL_BAND, COLL_BOR and COLL_BXOR take integers only.
 */
enum coll_op {
	COLL_SUM,
	COLL_PROD,
	COLL_MIN,
	COLL_MAX,
	COLL_AVG,
	COLL_BAND,
	COLL_BOR,
	COLL_BXOR,
	COLL_LAND,
	COLL_LOR,
	COLL_LXOR,
};

/** enum coll_collective - the collectives, for those who look them up */
enum coll_collective {
	COLL_BARRIER,
	COLL_ALLREDUCE,
	COLL_REDUCE,
	COLL_BROADCAST,
	COLL_ALLGATHER,
	COLL_REDUCE_SCATTER,
	COLL_GATHER,
	COLL_SCATTER,
	COLL_ALLTOALL,
	COLL_SCAN,
	COLL_EXSCAN,
	COLL_SEND,
	COLL_RECV,
};

/*
 * As @send: the input is in @recv, where the result replaces it.  In an
 * allgather it is the rank's own block of @recv, which is not written.
 */
#define COLL_IN_PLACE	((void *)1)

/* coll_split(), @color: this rank is of none of the new groups */
#define COLL_UNDEFINED	(-1)

/* struct coll_config, @flags */
#define COLL_CONFIG_INSECURE	(1U << 0)	/* no secret, any address */
#define COLL_CONFIG_REPRODUCIBLE (1U << 1)	/* sums in the order of ranks */
#define COLL_CONFIG_WIDE	(1U << 2)	/* sums of 16-bit floats in 32 bits */

/* coll_register(), @flags */
#define COLL_REGISTER_READ_ONLY	(1U << 0)	/* to send from only */

/* A buffer of this many bytes holds every detail text, its NUL included. */
#define COLL_DETAIL_SIZE	512

/**
 * struct coll_config - what coll_init() should do
 * @size: sizeof(struct coll_config)
 * @detail: NULL, or where coll_init() writes a text (always ended by a NUL)
 *	that says what went wrong and which rank is at fault; empty on success
 * @detail_size: bytes at @detail; COLL_DETAIL_SIZE is enough
 * @flags: COLL_CONFIG_*
 * @rank: 0 .. @nranks - 1; looked at only when @nranks is not 0
 * @nranks: ranks of the group; 0: rank and size from the environment
 * @rendezvous: where rank 0 listens while the group forms, "host:port" or
 *	"[address]:port"; the same on every rank; not needed for one rank
 * @name: the group's name in the kernel, at most 32 of [A-Za-z0-9._-]; ranks
 *	that give one must give the same
 * @local_addr: the address (or interface) this rank's data should use; by
 *	default the one that leads to rank 0
 * @lanes: connections in parallel to each peer, 1 to 8; ranks that give a
 *	number must give the same
 * @init_timeout_ms: milliseconds that coll_init() may take (default 60,000);
 *	the shortest of the ranks' holds
 * @timeout_ms: deadline of one operation in milliseconds (default: the
 *	kernel's, 300 s); ~0U: none
 * @heartbeat_ms: how often a silent peer is probed (default: the kernel's)
 * @algorithm: "ring", "tree" or "direct", or such of one collective, as in
 *	"allreduce:ring,broadcast:tree": how they are done where the kernel has that
 *	and nothing else is asked for (default: by collective, size and ranks); the
 *	same on every rank, or calls do not match
 * @secret: 32 random bytes, the same on every rank, which all connections are
 *	authenticated with; needed for addresses other than loopback, unless
 *	COLL_CONFIG_INSECURE allows them without
 *
 * With COLL_CONFIG_REPRODUCIBLE, on every rank or on none (EBADMSG), every
 * reduction of the communicator takes the elements in the order of ranks,
 * ((x_0 op x_1) op x_2) and so on, so that floating point results depend neither
 * on the lanes nor on the sizes of messages.  Each of the n ranks then sends
 * the vector of a coll_allreduce() twice instead of 2 (n - 1) / n times, and what is
 * small takes n steps.
 *
 * With COLL_CONFIG_WIDE, on every rank or on none (EBADMSG), sums and averages of
 * COLL_FLOAT16 and COLL_BFLOAT16 are kept and passed on as COLL_FLOAT32 and rounded once,
 * which sends up to twice as much.  The kernel does not offer that of scans: coll_scan()
 * and coll_exscan() of such sums are EOPNOTSUPP then.  Other types and reductions are as
 * without.  The two flags go together, and both hold for every form of a reduction:
 * blocking, not blocking, persistent, as an SQE, of blocks of any lengths, views and axes.
 *
 * A field that is 0 or NULL takes its value from the environment, and then its
 * default: see libcollective(7).  The struct may grow at its end; @size tells which
 * one the caller was compiled with.  A shorter one, of at least 56 bytes (up to @name), is
 * as if the rest were 0; of a longer one the rest must be 0 (E2BIG).
 */
struct coll_config {
	size_t size;
	char *detail;
	size_t detail_size;
	unsigned int flags;
	int rank;
	int nranks;
	int lanes;
	const char *rendezvous;
	const char *name;
	const char *local_addr;
	unsigned int init_timeout_ms;
	unsigned int timeout_ms;
	unsigned int heartbeat_ms;
	unsigned int reserved;
	const char *algorithm;
	const void *secret;
};

/**
 * coll_init - join a group and wait until all its ranks are there
 * @comm: set to the new communicator, or to NULL on failure
 * @config: what to do, or NULL: everything from the environment
 *
 * Every rank of the group must call it.  Without configuration and without a
 * launcher's environment the group is this process alone; half of either is EINVAL.
 *
 * Errors: EINVAL (configuration or environment, a rank that contradicts rank
 * 0), ENOENT (no device: module not loaded), EACCES (no permission for the
 * device; the wrong secret or none; an address other than loopback without a secret
 * or COLL_INSECURE; a secret file that others can read), EBUSY (the
 * rank is taken), EEXIST, EADDRINUSE, EADDRNOTAVAIL (no such address; the
 * rendezvous is another host's, or cannot be resolved), ETIMEDOUT (the text says
 * which ranks are missing), ECONNRESET (a rank went away), EPROTO (something
 * else answers at the rendezvous), EOPNOTSUPP (the kernel speaks another
 * version), EDQUOT (the module's user_memory_mib), ENOMEM, EMFILE and ENFILE (the
 * text says how many files it takes).
 */
int coll_init(struct coll_comm **comm, const struct coll_config *config);

/**
 * coll_finalize - leave the group and free the communicator
 * @comm: communicator, or NULL (nothing happens)
 *
 * Also frees what coll_mem_alloc() gave and was not freed, and cancels operations
 * under way (struct coll_request).  Returns the error of leaving; the communicator is
 * gone in any case.
 */
int coll_finalize(struct coll_comm *comm);

/**
 * coll_split - make groups of the ranks that give the same colour
 * @comm: communicator; all its ranks call it, in their common order of calls
 * @color: 0 or more; or COLL_UNDEFINED
 * @key: the new ranks are in the order of keys and, of equal ones, of old ranks
 * @newcomm: set to the communicator of this rank's colour; to NULL with
 *	COLL_UNDEFINED, and on failure
 *
 * A new communicator is in all respects one of its own (another file, other
 * connections, two file descriptors of the process): operations on it may run at the
 * same time as any on @comm, and the two may be finalized in any order.  Time limits,
 * lanes, the flags of reductions and the local address are the same; registered memory
 * is not passed on.  Its name is the beginning of that of @comm, a point and 16
 * hexadecimal digits.
 *
 * When a rank fails, all of its colour do, and the groups of other colours are
 * made.  coll_error_detail(comm) tells why.  Errors: EINVAL (@color), EMFILE,
 * ENOMEM, EADDRINUSE and so on of any rank of the same colour; ECONNRESET,
 * ETIMEDOUT (@init_timeout_ms of struct coll_config), and those of
 * coll_allgather().
 */
int coll_split(struct coll_comm *comm, int color, int key,
	       struct coll_comm **newcomm);

/**
 * coll_dup - make another group of the same ranks
 * @comm: communicator; all its ranks call it, in their common order of calls
 * @newcomm: set to the new communicator, or to NULL on failure
 *
 * As coll_split() with one colour and one key.  What each of several threads does
 * on a communicator of its own needs no common order.
 */
int coll_dup(struct coll_comm *comm, struct coll_comm **newcomm);

/**
 * coll_shrink - make a group of the ranks that are left of one that has failed
 * @comm: communicator; all its ranks that live call it
 * @newcomm: set to the new communicator, or to NULL on failure
 *
 * The ranks keep their order.  All that return 0 have the same group, whichever ranks die,
 * are stopped, come late or call again; a rank that dies too late to be left out makes the
 * new group fail, and that may be shrunk in turn.  Ranks have half of @init_timeout_ms of
 * struct coll_config to come, from when the others have called.  Then a majority goes on
 * without them: more than half of the ranks that are not known to have died before, or
 * half with the lowest of these.  coll_error_detail(*newcomm) names the ranks that were left
 * out, and they get ETIMEDOUT.  Ranks that are too few for a group get ETIMEDOUT, too, and
 * may call again.  A group that has not failed may be shrunk, too; if ranks are left out,
 * the others have left it.
 *
 * The new communicator is one of its own, as that of coll_split(), and @comm is to be
 * finalized; it can be shrunk once.  After an error the ranks may call again.
 * coll_error_detail(comm) tells why.  Errors: EINVAL (@comm has been shrunk), EMFILE,
 * ENOMEM, EADDRINUSE and so on of any rank; ETIMEDOUT, ECONNRESET, EPERM.
 */
int coll_shrink(struct coll_comm *comm, struct coll_comm **newcomm);

/**
 * coll_comm_failed - has the group failed?
 * @comm: communicator
 *
 * A group fails when a rank dies, or leaves while it is needed, or a connection breaks, and
 * for good: then coll_shrink() or coll_init() makes another one.  An operation may also fail
 * alone: EBADMSG, ETIMEDOUT and ECANCELED of one leave the group as it is.
 *
 * Return: 0: it has not; else the error that every operation ends with: ECONNRESET, EPROTO,
 * ETIMEDOUT, EACCES or ENOMEM, of which coll_error_detail() tells the reason; or EPERM, in a
 * child of the process.  May take 0.1 s when it has just failed.
 */
int coll_comm_failed(struct coll_comm *comm);

/* coll_shrink_flags(), @flags */
#define COLL_SHRINK_MINORITY	(1U << 0)	/* also a group of few ranks */

/**
 * coll_shrink_flags - coll_shrink() with other rules
 * @comm: as coll_shrink()
 * @flags: COLL_SHRINK_*
 * @left: as @newcomm of coll_shrink()
 *
 * With COLL_SHRINK_MINORITY a rank that leads goes on after half of the time with whichever
 * ranks have come.  Then two parts of a group that do not hear of each other can get a group
 * each: it is for programs that know, from elsewhere, that the other part is gone.  Errors
 * are those of coll_shrink(), and EINVAL for an unknown flag.
 */
int coll_shrink_flags(struct coll_comm *comm, unsigned int flags, struct coll_comm **left);

/** coll_rank - this process's rank: 0 .. coll_size() - 1 */
int coll_rank(const struct coll_comm *comm);

/** coll_size - how many ranks the group has */
int coll_size(const struct coll_comm *comm);

/** coll_name - the group's name; valid as long as @comm */
const char *coll_name(const struct coll_comm *comm);

/**
 * coll_allreduce - combine every rank's elements; every rank gets the result
 * @comm: communicator
 * @send: @count elements of this rank, not written; or COLL_IN_PLACE
 * @recv: room for @count elements; must not overlap @send, but may equal it
 * @count: elements (not bytes), the same on every rank; may be 0
 * @type: their type, the same on every rank
 * @op: recv[i] = send_0[i] op send_1[i] op ..., bitwise equal on every rank
 *
 * With COLL_CONFIG_REPRODUCIBLE the operations are done in this order; without,
 * in one that depends on the lanes and @count.
 *
 * Blocks without using the CPU; goes on after signal handlers.  Both addresses
 * must be aligned to the element's size.
 *
 * Errors: EINVAL, EFAULT, EOVERFLOW, EBADMSG (ranks called differently),
 * ECONNRESET, ECANCELED, ETIMEDOUT, EPROTO, ENOTCONN, EPERM, ENOMEM,
 * EDQUOT, EAGAIN (see struct coll_request).  coll_error_detail() tells which rank is at
 * fault, and of EBADMSG what two ranks called: no collective returns 0 on any rank unless all
 * ranks have called the same.  The contents of @recv are undefined after an error.
 */
int coll_allreduce(struct coll_comm *comm, const void *send, void *recv,
		   size_t count, enum coll_type type, enum coll_op op);

/**
 * coll_broadcast - every rank gets the root's elements
 * @comm: communicator
 * @buffer: @count elements: of the root the input, which is not written and may
 *	be read-only memory; of the others room for the result
 * @count: elements (not bytes), the same on every rank; may be 0
 * @type: their type, the same on every rank
 * @root: 0 .. coll_size() - 1, the same on every rank
 *
 * Blocks as coll_allreduce() does, with the same alignment and errors; EINVAL is
 * also a @root outside the group.  The root may return before the others have
 * their elements, but not before they have called.
 */
int coll_broadcast(struct coll_comm *comm, void *buffer, size_t count,
		   enum coll_type type, int root);

/** A message without a tag: received in the order in which it was sent. */
#define COLL_TAG_NONE	(-1LL)

/**
 * coll_send - send elements to one rank
 * @comm: communicator
 * @buffer: @count elements
 * @count: elements (not bytes), as the receiver expects; may be 0
 * @type: their type, likewise
 * @to: rank, not our own
 * @tag: COLL_TAG_NONE, or 0 .. 2^40 - 1: it is received by that tag
 *
 * Blocks as coll_allreduce() does: up to 32 KiB until the message has left, else
 * until it has been received.  Those of one tag go one after the other, in the order
 * in which they are sent; so do their receivers.  Errors likewise.  When the ends
 * differ, only this message fails (EBADMSG), and who sent a small one may not be told.
 */
int coll_send(struct coll_comm *comm, const void *buffer, size_t count,
	      enum coll_type type, int to, long long tag);

/**
 * coll_recv - receive elements from one rank
 * @comm: communicator
 * @buffer: room for @count elements
 * @count: elements (not bytes), as the sender sends
 * @type: their type, likewise
 * @from: rank, not our own
 * @tag: as the sender's
 *
 * Errors: as coll_send().
 */
int coll_recv(struct coll_comm *comm, void *buffer, size_t count,
	      enum coll_type type, int from, long long tag);

/**
 * coll_allgather - every rank gets every rank's elements
 * @comm: communicator
 * @send: @count elements of this rank, not written; or COLL_IN_PLACE
 * @recv: room for coll_size() blocks of @count elements: block r is rank r's
 *	input; must not overlap @send, unless that is this rank's own block, which
 *	means COLL_IN_PLACE
 * @count: elements (not bytes) of one block, the same on every rank; may be 0
 * @type: their type, the same on every rank
 *
 * In place, recv[rank * count] and what follows is the input.
 *
 * Blocks as coll_allreduce() does, with the same alignment and errors; EOVERFLOW
 * is about the size of all blocks together.
 */
int coll_allgather(struct coll_comm *comm, const void *send, void *recv,
		   size_t count, enum coll_type type);

/**
 * coll_scan - every rank gets the combination of its own and all lower ranks'
 * @comm: communicator
 * @send: @count elements of this rank, not written; or COLL_IN_PLACE
 * @recv: room for @count elements; must not overlap @send, but may equal it
 * @count: elements (not bytes), the same on every rank; may be 0
 * @type: their type, the same on every rank
 * @op: on rank r, recv[i] = send_0[i] op send_1[i] op ... op send_r[i], the operands in
 *	this order, taken from the left where coll_init() was asked to be
 *	reproducible; not COLL_AVG (EINVAL)
 *
 * Inclusive: rank 0 gets its own input.  Blocks as coll_allreduce() does, with
 * the same alignment and errors.  A low rank may return before the higher ones have
 * their result, but not before they have called.
 */
int coll_scan(struct coll_comm *comm, const void *send, void *recv,
	      size_t count, enum coll_type type, enum coll_op op);

/**
 * coll_exscan - every rank gets the combination of all lower ranks' elements
 * @comm: communicator
 * @send: @count elements of this rank, not written; or COLL_IN_PLACE
 * @recv: room for @count elements; must not overlap @send, but may equal it; that
 *	of rank 0 is left as it is
 * @count: elements (not bytes), the same on every rank; may be 0
 * @type: their type, the same on every rank
 * @op: as in coll_scan()
 *
 * Exclusive: rank 1 gets the input of rank 0.  All else is as in coll_scan().
 */
int coll_exscan(struct coll_comm *comm, const void *send, void *recv,
		size_t count, enum coll_type type, enum coll_op op);

/**
 * coll_reduce - combine every rank's elements; one rank gets the result
 * @comm: communicator
 * @send: @count elements of this rank, not written; at the root also
 *	COLL_IN_PLACE
 * @recv: at the root, room for @count elements; ignored elsewhere
 * @count: elements, the same on every rank
 * @type: their type, the same on every rank
 * @op: as of coll_allreduce()
 * @root: the rank that gets the result, the same on every rank
 *
 * Errors: as coll_allreduce().
 */
int coll_reduce(struct coll_comm *comm, const void *send, void *recv,
		size_t count, enum coll_type type, enum coll_op op, int root);

/**
 * coll_reduce_scatter - combine every rank's elements; each gets its block of it
 * @comm: communicator
 * @send: coll_size() blocks of @count elements, not written; or COLL_IN_PLACE:
 *	they are at @recv, the result is put at the beginning, and what follows it
 *	there is undefined
 * @recv: room for @count elements
 * @count: elements of a block, the same on every rank
 * @type: their type, the same on every rank
 * @op: recv[i] on rank r = send_0[r * count + i] op send_1[r * count + i] ...
 *
 * Errors: as coll_reduce().
 */
int coll_reduce_scatter(struct coll_comm *comm, const void *send, void *recv,
			size_t count, enum coll_type type, enum coll_op op);

/**
 * coll_gather - one rank gets every rank's elements
 * @comm: communicator
 * @send: @count elements of this rank, not written; at the root also
 *	COLL_IN_PLACE, or its own block of @recv
 * @recv: at the root, room for coll_size() blocks of @count elements, in the
 *	order of ranks; ignored elsewhere
 * @count: elements of a block, the same on every rank
 * @type: their type, the same on every rank
 * @root: the rank that gets them, the same on every rank
 *
 * Errors: as coll_allreduce().
 */
int coll_gather(struct coll_comm *comm, const void *send, void *recv,
		size_t count, enum coll_type type, int root);

/**
 * coll_scatter - every rank gets its block of one rank's elements
 * @comm: communicator
 * @send: at the root, coll_size() blocks of @count elements, in the order of
 *	ranks, not written; ignored elsewhere
 * @recv: room for @count elements; at the root also COLL_IN_PLACE, or its own
 *	block of @send: that stays where it is
 * @count: elements of a block, the same on every rank
 * @type: their type, the same on every rank
 * @root: the rank that has them, the same on every rank
 *
 * Errors: as coll_allreduce().
 */
int coll_scatter(struct coll_comm *comm, const void *send, void *recv,
		 size_t count, enum coll_type type, int root);

/**
 * coll_recv_varlen - receive elements of which only the sender knows how many
 * @comm: communicator
 * @buffer: room for *@count elements
 * @count: in: the room that there is; out, with success or EMSGSIZE: elements that
 *	came.  Of coll_irecv_varlen(): written when a wait or test says that it is done
 * @type: their type, as the sender's
 * @from: rank, not our own
 * @tag: as the sender's, who calls coll_send()
 *
 * Errors: as coll_recv(), and EMSGSIZE: more came than there was room for.  What
 * fits is stored, the rest is dropped, and the group goes on; the sender succeeds.
 */
int coll_recv_varlen(struct coll_comm *comm, void *buffer, size_t *count,
		     enum coll_type type, int from, long long tag);

/**
 * coll_broadcast_varlen - every rank gets the root's elements, however many
 * @comm: communicator
 * @buffer: as of coll_broadcast()
 * @count: in: at the root, elements; elsewhere, the room that there is; out, with
 *	success or EMSGSIZE: the root's elements; likewise
 * @type: their type, the same on every rank
 * @root: the same on every rank
 *
 * The root sends all of it to each rank in turn: coll_broadcast() of a count and then
 * of the elements is faster where there are many.
 *
 * Errors: as coll_broadcast(), and EMSGSIZE as of coll_recv_varlen(), on this rank only.
 */
int coll_broadcast_varlen(struct coll_comm *comm, void *buffer, size_t *count,
			  enum coll_type type, int root);

/**
 * coll_scatter_varlen - every rank gets its block, however long
 * @comm: communicator
 * @send: at the root, a block of each rank, not written; ignored elsewhere
 * @send_counts: at the root, elements of each of them; ignored elsewhere
 * @send_displs: at the root, where they begin, in elements, or NULL: one follows the
 *	other; ignored elsewhere
 * @recv: room for our block; at the root also COLL_IN_PLACE
 * @count: in: the room that there is, at the root that of its block whatever it says;
 *	out, with success or EMSGSIZE: elements of our block; likewise
 * @type: their type, the same on every rank
 * @root: the same on every rank
 *
 * Errors: as coll_scatterv(), and EMSGSIZE as of coll_recv_varlen(), on this rank only.
 */
int coll_scatter_varlen(struct coll_comm *comm, const void *send,
			const size_t *send_counts, const size_t *send_displs,
			void *recv, size_t *count, enum coll_type type, int root);

/**
 * coll_alltoall - every rank sends a block to every rank
 * @comm: communicator
 * @send: coll_size() blocks of @count elements, block r for rank r, not written;
 *	or COLL_IN_PLACE
 * @recv: room for as many, block r from rank r; must not overlap @send.  In place,
 *	block r is sent to rank r and replaced by what that one sends
 * @count: elements of a block, the same on every rank
 * @type: their type, the same on every rank
 *
 * Errors: as coll_allreduce().
 */
int coll_alltoall(struct coll_comm *comm, const void *send, void *recv,
		  size_t count, enum coll_type type);

/**
 * coll_barrier - return when every rank has called it
 * @comm: communicator
 *
 * Errors: EBADMSG, ECONNRESET, ETIMEDOUT, EPROTO, ENOTCONN, EPERM, ENOMEM.
 */
int coll_barrier(struct coll_comm *comm);

struct collective_op;

/**
 * coll_submit - run an operation that is described as the kernel knows it
 * @comm: communicator
 * @op: the operation, see <linux/collective.h>: with a key, an algorithm, a deadline or
 *	flags of its own, for which the functions above have no argument
 *
 * Addresses of elements are the caller's to align, and buffers are pinned for the
 * operation unless @op names registered ones.  The communicator's flags
 * (COLL_CONFIG_REPRODUCIBLE, COLL_CONFIG_WIDE) do not reach it: @op has its own.
 *
 * Errors: those of the ioctl COLLECTIVE_IOC_SUBMIT.
 */
int coll_submit(struct coll_comm *comm, const struct collective_op *op);

/**
 * struct coll_adjoint - the collective that carries the gradient of another
 * @collective: which
 * @op: of one that reduces; COLL_SUM of the others
 * @divide: not 0: divide the gradient by coll_size() first, or what comes of it
 * @reserved: set to 0; fields to come are taken from it
 */
struct coll_adjoint {
	enum coll_collective collective;
	enum coll_op op;
	int divide;
	unsigned int reserved[5];
};

/**
 * coll_adjoint - look up the collective that carries the gradient of another
 * @collective: the one that was called
 * @op: its reduction; of one that does not reduce any valid one
 * @adjoint: filled in
 *
 * As a map from all ranks' inputs to all ranks' results, the one is the
 * transpose of the other: allgather and reduce_scatter, broadcast and reduce,
 * gather and scatter, send and recv; barrier, allreduce and alltoall are their own.
 * Call it with the same root or peer and the same @count.  Where there was COLL_AVG
 * and the adjoint does not reduce, @divide says so.
 *
 * Needs no communicator and no kernel.  Errors: EINVAL (no such collective or
 * reduction); EOPNOTSUPP: there is none, for COLL_MAX and the like are not linear,
 * and scans would have to run from the last rank to the first, which a
 * communicator made by coll_split() with the keys -coll_rank() does.
 */
int coll_adjoint(enum coll_collective collective, enum coll_op op,
		 struct coll_adjoint *adjoint);

/**
 * struct coll_request - an operation under way
 *
 * What coll_iNAME() begins: the operation of coll_NAME(), with the same arguments,
 * that goes on by itself while the caller does something else.  It returns when the
 * operation has its place in the order of operations, which is that of the calls,
 * blocking or not, and the same on every rank.  The kernel goes on with it, and its
 * deadline passes, whether or not anybody waits.
 *
 * Until a wait or test has said that it is done, its buffers belong to the operation:
 * what is received must not be looked at, and nothing of them be written, freed or
 * unregistered.  The wait or test that says so, with success or not, ends its handle.  A
 * handle that has ended may still be given to any of these functions, which return ENOENT;
 * it is never used again, so that coll_cancel() needs no agreement with the thread that
 * waits.  One thread at a time may wait for a request (EBUSY); different threads may for
 * different ones.  coll_finalize() cancels those that are under way and ends their handles;
 * no buffer may be used before it returns.
 *
 * Errors of coll_iNAME(), when nothing has begun and the handle is NULL: those of
 * malformed calls and missing memory as of coll_NAME(), what the group has failed
 * with, and EAGAIN (of coll_NAME(), too): as many operations as the kernel allows (512)
 * are under way or were not waited for, or many have failed and this rank is too far ahead
 * of another one: try again when it has submitted them.  Of messages, and of operations
 * with a key, ENOSPC: 65,536 of them have failed in this group.  All others are told at the
 * end.
 */
struct coll_request;

int coll_iallreduce(struct coll_comm *comm, const void *send, void *recv,
		    size_t count, enum coll_type type, enum coll_op op,
		    struct coll_request **request);
int coll_isend(struct coll_comm *comm, const void *buffer, size_t count,
	       enum coll_type type, int to, long long tag, struct coll_request **request);
int coll_irecv(struct coll_comm *comm, void *buffer, size_t count,
	       enum coll_type type, int from, long long tag, struct coll_request **request);
int coll_ibroadcast(struct coll_comm *comm, void *buffer, size_t count,
		    enum coll_type type, int root, struct coll_request **request);
int coll_iallgather(struct coll_comm *comm, const void *send, void *recv,
		    size_t count, enum coll_type type,
		    struct coll_request **request);
int coll_iscan(struct coll_comm *comm, const void *send, void *recv,
	       size_t count, enum coll_type type, enum coll_op op,
	       struct coll_request **request);
int coll_iexscan(struct coll_comm *comm, const void *send, void *recv,
		 size_t count, enum coll_type type, enum coll_op op,
		 struct coll_request **request);
int coll_ireduce(struct coll_comm *comm, const void *send, void *recv,
		 size_t count, enum coll_type type, enum coll_op op, int root,
		 struct coll_request **request);
int coll_ireduce_scatter(struct coll_comm *comm, const void *send, void *recv,
			 size_t count, enum coll_type type, enum coll_op op,
			 struct coll_request **request);
int coll_igather(struct coll_comm *comm, const void *send, void *recv,
		 size_t count, enum coll_type type, int root,
		 struct coll_request **request);
int coll_iscatter(struct coll_comm *comm, const void *send, void *recv,
		  size_t count, enum coll_type type, int root,
		  struct coll_request **request);
int coll_irecv_varlen(struct coll_comm *comm, void *buffer, size_t *count,
		      enum coll_type type, int from, long long tag,
		      struct coll_request **request);
int coll_ibroadcast_varlen(struct coll_comm *comm, void *buffer, size_t *count,
			   enum coll_type type, int root, struct coll_request **request);
int coll_iscatter_varlen(struct coll_comm *comm, const void *send,
			 const size_t *send_counts, const size_t *send_displs,
			 void *recv, size_t *count, enum coll_type type, int root,
			 struct coll_request **request);
int coll_ialltoall(struct coll_comm *comm, const void *send, void *recv,
		   size_t count, enum coll_type type,
		   struct coll_request **request);
int coll_ibarrier(struct coll_comm *comm, struct coll_request **request);
int coll_isubmit(struct coll_comm *comm, const struct collective_op *op,
		 struct coll_request **request);

/**
 * coll_allgatherv - every rank gets every rank's elements, which may be of any number
 * @comm: communicator
 * @send: @send_count elements of this rank, not written; or COLL_IN_PLACE, or this
 *	rank's own block of @recv: they are there
 * @send_count: as many as @recv_counts has for this rank
 * @recv: room for all of them
 * @recv_counts: by rank, elements of its block; the same on every rank
 * @recv_displs: by rank, where in @recv its block begins, in elements; NULL: one
 *	block follows the other.  No element may be in two blocks (EINVAL)
 * @type: their type, the same on every rank
 *
 * What is between the blocks is not written, but must be memory that could be: see
 * coll_allgatherv(3).  The arrays may be reused when the call returns, also that of the
 * form that does not wait.
 *
 * Errors: as coll_allgather(); EBADMSG also when counts differ.
 */
int coll_allgatherv(struct coll_comm *comm, const void *send, size_t send_count,
		    void *recv, const size_t *recv_counts,
		    const size_t *recv_displs, enum coll_type type);
int coll_iallgatherv(struct coll_comm *comm, const void *send,
		     size_t send_count, void *recv, const size_t *recv_counts,
		     const size_t *recv_displs, enum coll_type type,
		     struct coll_request **request);

/**
 * coll_gatherv - one rank gets every rank's elements, which may be of any number
 *
 * As coll_allgatherv(), but only the @root looks at @recv, @recv_counts and
 * @recv_displs.  If a rank sends another number than the root expects, more or less, then
 * the operation fails with EBADMSG on every rank when all have called it.
 * coll_error_detail() of the two says how they differ, if no other ranks do.
 */
int coll_gatherv(struct coll_comm *comm, const void *send, size_t send_count,
		 void *recv, const size_t *recv_counts,
		 const size_t *recv_displs, enum coll_type type, int root);
int coll_igatherv(struct coll_comm *comm, const void *send, size_t send_count,
		  void *recv, const size_t *recv_counts,
		  const size_t *recv_displs, enum coll_type type, int root,
		  struct coll_request **request);

/**
 * coll_scatterv - every rank gets its block, of any length, of one rank's elements
 *
 * Only the @root looks at @send, @send_counts and @send_displs (in elements; NULL: one
 * block follows the other).  @recv_count is the count that the root has for this rank.
 * At the root @recv may be COLL_IN_PLACE, or its own block of @send: that stays where
 * it is.  Errors: as coll_gatherv().
 */
int coll_scatterv(struct coll_comm *comm, const void *send,
		  const size_t *send_counts, const size_t *send_displs,
		  void *recv, size_t recv_count, enum coll_type type, int root);
int coll_iscatterv(struct coll_comm *comm, const void *send,
		   const size_t *send_counts, const size_t *send_displs,
		   void *recv, size_t recv_count, enum coll_type type, int root,
		   struct coll_request **request);

/**
 * coll_alltoallv - every rank sends a block of any length to every rank
 *
 * @send_counts and @send_displs say which elements of @send go to each rank,
 * @recv_counts and @recv_displs where in @recv the elements of each go; displacements
 * are in elements, NULL: one block follows the other.  With COLL_IN_PLACE for @send, the
 * block of @recv for a rank is sent to it and replaced by one as long that it sends;
 * @send_counts and @send_displs are not looked at.
 * Errors: as coll_gatherv().
 */
int coll_alltoallv(struct coll_comm *comm, const void *send,
		   const size_t *send_counts, const size_t *send_displs,
		   void *recv, const size_t *recv_counts,
		   const size_t *recv_displs, enum coll_type type);
int coll_ialltoallv(struct coll_comm *comm, const void *send,
		    const size_t *send_counts, const size_t *send_displs,
		    void *recv, const size_t *recv_counts,
		    const size_t *recv_displs, enum coll_type type,
		    struct coll_request **request);

/**
 * coll_reduce_scatterv - as coll_reduce_scatter(), of blocks of any lengths
 *
 * @recv_counts has the elements of each rank's block, the same on every rank;
 * @send_displs says where in @send these blocks are (NULL: one follows the other).
 * With COLL_IN_PLACE they are in @recv, and the result is put at its beginning.
 */
int coll_reduce_scatterv(struct coll_comm *comm, const void *send,
			 const size_t *send_displs, void *recv,
			 const size_t *recv_counts, enum coll_type type,
			 enum coll_op op);
int coll_ireduce_scatterv(struct coll_comm *comm, const void *send,
			  const size_t *send_displs, void *recv,
			  const size_t *recv_counts, enum coll_type type,
			  enum coll_op op, struct coll_request **request);

/**
 * struct coll_view - where the blocks of a buffer are, in elements
 * @rows: pieces of equal length that a block consists of; 0 or 1: one
 * @stride: from the beginning of a row to that of the next
 * @distance: from the beginning of a block to that of the next; 0 of a buffer that has
 *	one block
 * @size: sizeof(struct coll_view); or 0: that of version 0.1, which ends here
 *
 * A view of NULL: one block follows the other.  The struct may grow at its end; what a
 * caller's does not have yet is as if it were 0, and what the library does not know must be 0
 * (E2BIG).  A @size below that of version 0.1 is EINVAL.
 */
struct coll_view {
	size_t rows;
	size_t stride;
	size_t distance;
	size_t size;
};

/**
 * coll_allgather_view - as coll_allgather(), with blocks that lie apart
 *
 * @send_view is that of the one block at @send, @recv_view that of the blocks of all
 * ranks at @recv, of which no two may share an element (EINVAL).  COLL_IN_PLACE: this
 * rank's block is where @recv_view has it.  Ranks need not use the same views.
 */
int coll_allgather_view(struct coll_comm *comm, const void *send,
			const struct coll_view *send_view, void *recv,
			const struct coll_view *recv_view, size_t count,
			enum coll_type type);
int coll_iallgather_view(struct coll_comm *comm, const void *send,
			 const struct coll_view *send_view, void *recv,
			 const struct coll_view *recv_view, size_t count,
			 enum coll_type type, struct coll_request **request);

/** coll_reduce_scatter_view - likewise; COLL_IN_PLACE is EOPNOTSUPP */
int coll_reduce_scatter_view(struct coll_comm *comm, const void *send,
			     const struct coll_view *send_view, void *recv,
			     const struct coll_view *recv_view, size_t count,
			     enum coll_type type, enum coll_op op);
int coll_ireduce_scatter_view(struct coll_comm *comm, const void *send,
			      const struct coll_view *send_view, void *recv,
			      const struct coll_view *recv_view, size_t count,
			      enum coll_type type, enum coll_op op,
			      struct coll_request **request);

/**
 * coll_alltoall_view - likewise; COLL_IN_PLACE: what goes to a rank is in @recv, where
 * @recv_view has what comes from it, and @send_view is not looked at
 */
int coll_alltoall_view(struct coll_comm *comm, const void *send,
		       const struct coll_view *send_view, void *recv,
		       const struct coll_view *recv_view, size_t count,
		       enum coll_type type);
int coll_ialltoall_view(struct coll_comm *comm, const void *send,
			const struct coll_view *send_view, void *recv,
			const struct coll_view *recv_view, size_t count,
			enum coll_type type, struct coll_request **request);

/* Most axes of an array that coll_alltoall_axis() takes. */
#define COLL_DIMS_MAX	32

/**
 * coll_allgather_axis - join the ranks' arrays along an axis
 * @comm: communicator
 * @send: this rank's array, row-major (the last index runs fastest); or COLL_IN_PLACE:
 *	it is in its place in @recv
 * @recv: the array of all, coll_size() times as long along @axis, in the order of ranks
 * @shape: lengths of this rank's array, the same on every rank
 * @ndims: how many
 * @axis: 0 .. @ndims - 1
 * @type: of its elements
 *
 * A 2x3 of each of 2 ranks along axis 1 gives a 2x6.  Errors: as coll_allgather().
 */
int coll_allgather_axis(struct coll_comm *comm, const void *send, void *recv,
			const size_t *shape, int ndims, int axis,
			enum coll_type type);
int coll_iallgather_axis(struct coll_comm *comm, const void *send, void *recv,
			 const size_t *shape, int ndims, int axis,
			 enum coll_type type, struct coll_request **request);

/**
 * coll_reduce_scatter_axis - combine the ranks' arrays; each gets its part along an axis
 *
 * The reverse of coll_allgather_axis(): @shape is that of the part at @recv; the array
 * at @send is coll_size() times as long along @axis.  COLL_IN_PLACE is EOPNOTSUPP.
 */
int coll_reduce_scatter_axis(struct coll_comm *comm, const void *send,
			     void *recv, const size_t *shape, int ndims,
			     int axis, enum coll_type type, enum coll_op op);
int coll_ireduce_scatter_axis(struct coll_comm *comm, const void *send,
			      void *recv, const size_t *shape, int ndims,
			      int axis, enum coll_type type, enum coll_op op,
			      struct coll_request **request);

/**
 * coll_alltoall_axis - split every rank's array along an axis, join the parts along
 * another
 *
 * @shape is that of the array at @send; its length along @split is a multiple of
 * coll_size() (else EINVAL).  Part r goes to rank r, which joins the parts of all ranks,
 * in their order, along @concat.  COLL_IN_PLACE needs the two to be the same (EINVAL).
 */
int coll_alltoall_axis(struct coll_comm *comm, const void *send, void *recv,
		       const size_t *shape, int ndims, int split, int concat,
		       enum coll_type type);
int coll_ialltoall_axis(struct coll_comm *comm, const void *send, void *recv,
			const size_t *shape, int ndims, int split, int concat,
			enum coll_type type, struct coll_request **request);

/**
 * coll_wait - wait until an operation is done
 * @request: its handle, which ends; or NULL (nothing happens)
 *
 * Sleeps as coll_allreduce() does.  Returns how the operation ended: the errors of
 * the blocking call.  EBUSY (another thread waits for it) and EPERM (this is a child of the
 * process) leave the handle as it is; ENOENT: it has ended before.
 */
int coll_wait(struct coll_request *request);

/**
 * coll_start - begin a persistent operation
 * @request: what coll_NAME_init() has made
 *
 * coll_NAME_init() has the arguments of coll_NAME() and begins nothing: it checks them
 * and registers what of the buffers is not, so that they stay pinned; what the caller takes
 * back with coll_unregister() later is registered anew when it is started.  coll_start()
 * begins the operation, as coll_iNAME() does: it is the order of coll_start(), not of
 * coll_NAME_init(), that has to be the same on every rank.  When a wait or test has said
 * that it is done it may be begun again; the handle stays until coll_request_free().
 *
 * Errors: those of coll_iNAME(); EBUSY: it is under way; EINVAL: it is not persistent;
 * ENOENT: it was freed.  Of coll_NAME_init() also those of coll_register().
 */
int coll_start(struct coll_request *request);

/**
 * coll_request_free - free the handle of a persistent operation
 * @request: one that is not under way (EBUSY), or NULL
 *
 * Errors: EBUSY, EINVAL (it is not persistent: a wait frees it), ENOENT (it was freed),
 * EPERM.
 */
int coll_request_free(struct coll_request *request);

int coll_allreduce_init(struct coll_comm *comm, const void *send, void *recv,
			size_t count, enum coll_type type, enum coll_op op,
			struct coll_request **request);
int coll_reduce_init(struct coll_comm *comm, const void *send, void *recv,
		     size_t count, enum coll_type type, enum coll_op op,
		     int root, struct coll_request **request);
int coll_broadcast_init(struct coll_comm *comm, void *buffer, size_t count,
			enum coll_type type, int root,
			struct coll_request **request);
int coll_allgather_init(struct coll_comm *comm, const void *send, void *recv,
			size_t count, enum coll_type type,
			struct coll_request **request);
int coll_reduce_scatter_init(struct coll_comm *comm, const void *send,
			     void *recv, size_t count, enum coll_type type,
			     enum coll_op op, struct coll_request **request);
int coll_gather_init(struct coll_comm *comm, const void *send, void *recv,
		     size_t count, enum coll_type type, int root,
		     struct coll_request **request);
int coll_scatter_init(struct coll_comm *comm, const void *send, void *recv,
		      size_t count, enum coll_type type, int root,
		      struct coll_request **request);
int coll_alltoall_init(struct coll_comm *comm, const void *send, void *recv,
		       size_t count, enum coll_type type,
		       struct coll_request **request);
int coll_barrier_init(struct coll_comm *comm, struct coll_request **request);
int coll_scan_init(struct coll_comm *comm, const void *send, void *recv,
		   size_t count, enum coll_type type, enum coll_op op,
		   struct coll_request **request);
int coll_exscan_init(struct coll_comm *comm, const void *send, void *recv,
		     size_t count, enum coll_type type, enum coll_op op,
		     struct coll_request **request);
int coll_send_init(struct coll_comm *comm, const void *buffer, size_t count,
		   enum coll_type type, int to, long long tag,
		   struct coll_request **request);
int coll_recv_init(struct coll_comm *comm, void *buffer, size_t count,
		   enum coll_type type, int from, long long tag,
		   struct coll_request **request);
int coll_submit_init(struct coll_comm *comm, const struct collective_op *op,
		     struct coll_request **request);

/**
 * coll_cancel - fail an operation that is under way, on every rank
 * @request: its handle; still to be waited for
 *
 * It ends with ECANCELED on every rank, and coll_error_detail() names this one there; or,
 * when it was too late, with success.  The communicator lives on.  May be called while
 * another thread waits for it, and at any time after: then it is ENOENT.  Errors: ENOENT (it
 * is over, or not begun), EALREADY (it fails already), EPERM.
 */
int coll_cancel(struct coll_request *request);

/**
 * coll_req_fd - what to poll() for the end of operations
 * @request: the handle of one under way
 *
 * Return: a file descriptor, the same for all of a communicator and not the caller's
 * to close or read; or -EINVAL (NULL), -ENOENT (it has ended), -EPERM (this is a child of the
 * process).  What poll() says of it:
 *
 *	POLLIN	an operation is over that no thread has waited for: coll_test() says which
 *	POLLERR	the group has failed (coll_comm_failed()).  All operations end, each with
 *		POLLIN beside it, and POLLERR stays: when none is left to wait for, the
 *		descriptor is to be taken out of the set
 *	POLLOUT	the group is up, which is no news: it is not to be asked for
 *	POLLHUP	the group was left
 */
int coll_req_fd(const struct coll_request *request);

/**
 * coll_test - is an operation done?
 * @request: its handle, which ends if so; or NULL, which is done
 * @done: set to 1 or 0; of a handle that has ended before, 1
 *
 * Does not wait.  Returns 0 while it is under way, and as coll_wait() otherwise.
 */
int coll_test(struct coll_request *request, int *done);

/**
 * coll_wait_any - wait until one of several operations is done
 * @requests: their handles, of one communicator, of which those that are NULL are
 *	skipped; that of the one that is done ends and is set to NULL.  A persistent
 *	one stays, and is skipped until coll_start()
 * @count: how many
 * @index: set to which one is done; -1: none
 * @timeout_ms: how long to wait; 0: only look; -1: as long as it takes
 *
 * Sleeps, in the kernel, for all of them at once.  Returns how that operation ended;
 * and with @index -1, 0 when all handles are skipped, EINPROGRESS when the time is over,
 * EINVAL (different communicators, or more than can be under way), EBUSY (another thread
 * waits for one of them), ENOENT (one has ended before), EPERM, ENOMEM.
 */
int coll_wait_any(struct coll_request **requests, int count, int *index,
		  int timeout_ms);

/**
 * coll_wait_all - wait until several operations are done
 * @requests: their handles, which end and are set to NULL, but persistent ones; those that are
 *	NULL, or persistent and not started, are skipped
 * @count: how many
 *
 * Returns 0 when all ended well, and otherwise how the first in @requests ended that
 * did not, when all are done.
 */
int coll_wait_all(struct coll_request **requests, int count);

/** coll_type_size - bytes of an element; 0 for an unknown type */
size_t coll_type_size(enum coll_type type);

/**
 * coll_mem_alloc - memory that operations use fastest
 * @comm: communicator
 * @size: bytes, not 0
 *
 * Aligned to huge pages (from 2 MiB; to pages below that), zeroed, present, and
 * registered with the kernel where RLIMIT_MEMLOCK allows; where it does not,
 * the memory works all the same, at the price of pinning it in each operation.
 * coll_mem_registered() tells which.  After fork() it is the parent's: the child may find
 * a copy of it, or nothing mapped there.
 *
 * Return: the address, or NULL with errno ENOMEM, EINVAL or EPERM.
 */
void *coll_mem_alloc(struct coll_comm *comm, size_t size);

/** coll_mem_free - free what coll_mem_alloc() gave; NULL is ignored */
void coll_mem_free(struct coll_comm *comm, void *addr);

/**
 * coll_mem_registered - is all of this memory registered with the kernel?
 * @comm: communicator
 * @addr: where it begins
 * @size: bytes
 *
 * Return: 1 or 0.
 */
int coll_mem_registered(struct coll_comm *comm, const void *addr, size_t size);

/**
 * coll_register - pin the caller's own memory for many operations
 * @comm: communicator
 * @addr: where it begins
 * @size: bytes, not 0
 * @flags: COLL_REGISTER_*
 *
 * Operations whose buffers lie inside find it by themselves.  The memory is not written but
 * by operations, and not at all with COLL_REGISTER_READ_ONLY.  It must stay mapped until
 * coll_unregister().  Errors: EINVAL, EFAULT, EOVERFLOW, EDQUOT (RLIMIT_MEMLOCK), EMFILE,
 * EEXIST (@addr is registered), ENOMEM, EPERM; coll_error_detail() tells more.
 */
int coll_register(struct coll_comm *comm, const void *addr, size_t size,
		  unsigned int flags);

/**
 * coll_unregister - undo coll_register()
 * @comm: communicator
 * @addr: the address that was registered
 *
 * No operation on this memory may be running.  Persistent operations on it may be begun
 * again afterwards: each then has its own registration.  Errors: ENOENT, EPERM.
 */
int coll_unregister(struct coll_comm *comm, const void *addr);

/**
 * coll_strerror - an error number of this library in words
 * @err: negative or positive errno, or 0
 *
 * Return: a constant text.  Safe in any thread.
 */
const char *coll_strerror(int err);

/**
 * coll_error_detail - why the latest call that failed did
 * @comm: communicator
 *
 * For example "rank 2 died (operation 17)", or, of a call that has not become an
 * operation, "send refused: there is no rank 4: the ranks are 0 to 3".  When another call
 * fails the text is about that; of a group that has failed it says why, again and again.
 * EFAULT is said to be of memory that is not mapped, may not be read or written, or is of a
 * kind that cannot be pinned, and at which address.  After a deadline it names all ranks
 * that had not submitted the operation, and waits for their answers, 50 ms at most.
 * When coll_init() fails there is no communicator: the same kind of text is then in
 * the configuration's @detail.
 *
 * Return: a text of @comm, empty when nothing failed; overwritten by the next
 * call for @comm in any thread, gone after coll_finalize().
 */
const char *coll_error_detail(struct coll_comm *comm);

/**
 * coll_error_detail_r - the text of coll_error_detail(), for several threads
 * @comm: communicator
 * @detail: where it is written, cut if it is too long, and always ended by a NUL
 * @size: bytes there; COLL_DETAIL_SIZE is enough
 *
 * Errors: EINVAL (@detail is NULL or @size 0).
 */
int coll_error_detail_r(struct coll_comm *comm, char *detail, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* COLLECTIVE_H */
