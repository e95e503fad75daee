/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libcollective - collective operations between processes, done by the kernel
 *
 *	struct coll_comm *comm;
 *	int err = coll_init(&comm, NULL);	rank and size from the launcher
 *	if (!err)
 *		err = coll_allreduce(comm, COLL_IN_PLACE, gradients, n, COLL_FLOAT32, COLL_SUM);
 *	if (err)
 *		fprintf(stderr, "%s: %s\n", coll_strerror(err),
 *			comm ? coll_error_detail(comm) : "");
 *	coll_finalize(comm);
 */
#ifndef COLLECTIVE_H
#define COLLECTIVE_H

#include <stddef.h>

/* Compilers with GNU extensions (gcc, clang) also take these headers as older C and C++. */
#ifndef __GNUC__
#ifdef __cplusplus
#if __cplusplus < 201103L
#error "collective.h needs C++11, or the GNU extensions"
#endif
#elif !defined(__STDC_VERSION__) || __STDC_VERSION__ < 199901L
#error "collective.h needs C99, or the GNU extensions"
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define COLL_VERSION_MAJOR	0
#define COLL_VERSION_MINOR	2
#define COLL_VERSION		(COLL_VERSION_MAJOR << 16 | COLL_VERSION_MINOR)

/**
 * coll_version - version of the library that the program runs with
 *
 * Return: major << 16 | minor, as COLL_VERSION.  COLL_VERSION itself is the version that the
 * program was compiled with.  A function or field that version V introduced may be used if
 * coll_version() >= V.
 */
unsigned int coll_version(void);

/*
 * Functions that return int return 0 or a negative errno unless they say otherwise.  A
 * communicator, or a place for a result, that is NULL is EINVAL unless a function says
 * otherwise; what returns no int then returns NULL or 0, or does nothing.  The numbers are the
 * kernel's (see the errors section of linux/collective.h).  The library starts no thread except
 * one in which coll_init() looks up a name or calls a library of the launcher.  If the deadline
 * passes, that thread ends when these answer, so dlclose() does not unmap the library.
 * Communicators share nothing but the table of request handles.
 *
 * Threads: several threads may use one communicator at once.  The kernel orders their
 * operations, and this order must be the same on every rank.  So in practice one thread
 * submits at a time; independent threads use a communicator each (coll_dup()).
 * coll_finalize() must be the last call on a communicator.
 *
 * After fork() a child must not use its parent's communicators: every function that takes a
 * communicator or a request of one returns EPERM, whatever the parent's other threads were
 * doing.  exec() and exit() close them.  No function is a cancellation point of
 * pthread_cancel(): a thread that is cancelled inside one ends after it has returned.
 */

/** struct coll_comm - communicator: this process's membership, as one rank, in a group */
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
 * enum coll_op - reductions: how two elements are combined
 *
 * Integers wrap.  COLL_AVG is the result of COLL_SUM divided by coll_size() and rounded to
 * the type (integers: toward zero), for every type and number of ranks.  If the sum of
 * integers wraps, the average is that of the wrapped sum.  If the sum of floats overflows
 * the type (beyond 65,504 in COLL_FLOAT16), the average is infinite.  COLL_CONFIG_WIDE, and
 * COLLECTIVE_F_WIDE in coll_submit(), keep the sum of 16-bit floats as a COLL_FLOAT32.
 * COLL_MIN and COLL_MAX propagate NaN.  COLL_BAND, COLL_BOR and COLL_BXOR take integers only.
 * COLL_LAND, COLL_LOR and COLL_LXOR give 0 or 1.  Where there is one operand only (one rank, rank
 * 0 of a scan, rank 1 of an exscan), it is the result.
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

/** enum coll_collective - the collectives, as arguments of functions such as coll_adjoint() */
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
 * Value of @send: the input is in @recv, and the result replaces it.  In an allgather the input
 * is the rank's own block of @recv, which is not written.
 */
#ifdef __cplusplus
#define COLL_IN_PLACE	(reinterpret_cast<void *>(1))
#else
#define COLL_IN_PLACE	((void *)1)
#endif

/* coll_split(), @color: this rank joins none of the new groups */
#define COLL_UNDEFINED	(-1)

/* struct coll_config, @flags */
#define COLL_CONFIG_INSECURE	(1U << 0)	/* any address without a secret */
#define COLL_CONFIG_REPRODUCIBLE (1U << 1)	/* sums in the order of ranks */
#define COLL_CONFIG_WIDE	(1U << 2)	/* sums of 16-bit floats in 32 bits */
#define COLL_CONFIG_PRIVATE	(1U << 3)	/* no memory that processes share */
#define COLL_CONFIG_CHECK_DATAGRAMS (1U << 4)	/* do those of coll_shrink() pass? */
#define COLL_CONFIG_NOSYNC	(1U << 5)	/* calls need not wait for all ranks */

/* struct coll_config, @rank: any that is free */
#define COLL_RANK_AUTO		(-1)

/* coll_register(), @flags */
#define COLL_REGISTER_READ_ONLY	(1U << 0)	/* operations only read it */

/* Size in bytes of a buffer that holds every detail text, NUL included. */
#define COLL_DETAIL_SIZE	512

/**
 * struct coll_config - configuration of coll_init()
 * @size: sizeof(struct coll_config)
 * @detail: buffer for a text, always NUL-terminated, that says why coll_init() failed and
 *	which rank is at fault; empty on success; NULL: no text
 * @detail_size: size of @detail in bytes; COLL_DETAIL_SIZE is enough
 * @flags: COLL_CONFIG_*
 * @rank: rank of this process, 0 .. @nranks - 1; or COLL_RANK_AUTO, see below; not used if
 *	@nranks is 0
 * @nranks: number of ranks, 1 .. 1,024; 0: rank and number of ranks are taken from the
 *	environment; if it has none, @rank and @rendezvous must not be set (EINVAL)
 * @rendezvous: address at which rank 0 listens while the group forms, "host:port" or
 *	"[address]:port"; the same on every rank; not needed for one rank, or with an exchange
 * @name: name of the group in the kernel, at most 32 of [A-Za-z0-9._-]; ranks that set
 *	it must set the same
 * @local_addr: address, interface, or network such as "10.1.0.0/16", for the data of this
 *	rank; default: an address that leads to the other ranks
 * @lanes: number of parallel connections to each peer, 1 to 8 (default: the kernel's, 1); ranks
 *	that set it must set the same
 * @init_timeout_ms: time limit of coll_init() in ms (default 60,000); the shortest of all
 *	ranks applies
 * @timeout_ms: deadline of one operation in ms (default: the kernel's, 300 s); ~0U: none
 * @heartbeat_ms: interval in ms at which a silent peer is probed, 100 to 60,000 (default: the
 *	kernel's, 1 s).  An outage of six of them (RDMA: five) fails nothing; silence of seven
 *	to eight fails the communicator
 * @reserved: must be 0
 * @algorithm: "ring", "tree" or "direct" for all collectives, or a list for single ones, as
 *	in "allreduce:ring,broadcast:tree"; used where the kernel has that algorithm and
 *	the call asks for no other (default: by collective, size and number of ranks);
 *	the same on every rank, otherwise calls do not match
 * @secret: 32 random bytes, the same on every rank, with which all connections are
 *	authenticated; needed for addresses other than loopback, unless
 *	COLL_CONFIG_INSECURE is set
 * @transport: "auto": memory to memory between ranks of one kernel and network namespace,
 *	between others RDMA where the module collective_rdma is loaded and both ranks have a
 *	device, TCP otherwise; "local": memory to memory, and nothing else; "rdma": RDMA, and
 *	nothing else; "tcp": TCP (default: "auto"); ranks may choose differently
 * @exchange: allgather of the caller's, by which the group forms instead of a rendezvous; NULL:
 *	none; all ranks set one, or none does
 * @exchange_context: first argument of @exchange
 * @bootstrap: how the group forms: "tcp" (a rendezvous), "mpi", "pmi", "pmi2" or "pmix" (an
 *	exchange of the launcher); "auto": what the launcher offers (default: "auto"); the same on
 *	every rank
 * @key: with COLL_RANK_AUTO, name of this process, at most 63 characters of printable ASCII; no
 *	two ranks have the same
 * @ports: "FIRST-LAST": ports at which this rank listens, by TCP for data and by UDP for
 *	coll_shrink(), so that a packet filter can let them pass (EADDRINUSE if all are taken).  The
 *	ranks of a host and their splits need one each.  Default: what the kernel chooses
 * @interrupt: function of the caller's that coll_init() calls while it waits, about twenty times a
 *	second and after a signal, in the same thread; if it does not return 0, coll_init() ends
 *	with ECANCELED; NULL: none.  So do coll_split(), coll_dup(), coll_shrink() and
 *	coll_shrink_flags(), of this communicator and those that are made from it
 * @interrupt_context: argument of @interrupt
 *
 * With COLL_RANK_AUTO on every rank, the process that listens at the rendezvous first becomes
 * rank 0, and each of the others gets the next rank in the order of arrival, or the rank that
 * its key had before while rank 0's process has served groups.
 *
 * @exchange(@exchange_context, mine, size, all) must copy the @size bytes at mine of every rank
 * to all, in the order of ranks, and return 0; or a negative errno, with which coll_init() then
 * fails.  @size is the same on all ranks, below 1,024.  Nothing else is needed: @rank and @nranks
 * are set, or come from the launcher.  coll_init() calls it once or twice, and up to eight
 * times more where several addresses remain; as often on every rank, also on a rank that fails:
 * only an invalid struct and an unknown rank or number of ranks end coll_init() before the
 * call.  Rank 0 makes a secret, unless the ranks have one or COLL_CONFIG_INSECURE is set there,
 * and it travels by the exchange, which has to keep it from others.  A callback that waits for a
 * rank has to end by itself.
 *
 * @exchange and @interrupt must return: a C++ exception that leaves them ends the process
 * (std::terminate()), and neither longjmp() nor pthread_exit() may leave them.
 *
 * COLL_CONFIG_REPRODUCIBLE must be set on every rank or on none (EBADMSG).  Every reduction
 * of the communicator then takes the elements in the order of ranks,
 * ((x_0 op x_1) op x_2) and so on.  So floating point results depend neither on the lanes
 * nor on the sizes of messages.  With n ranks, each then sends the vector of a
 * coll_allreduce() twice instead of 2 (n - 1) / n times, and a small one takes n steps.
 *
 * COLL_CONFIG_WIDE must be set on every rank or on none (EBADMSG).  Sums and averages of
 * COLL_FLOAT16 and COLL_BFLOAT16 are then kept and sent as COLL_FLOAT32 and rounded once,
 * which sends up to twice as many bytes.  The kernel does not offer this for scans:
 * coll_scan() and coll_exscan() of such sums return EOPNOTSUPP.  Other types and reductions
 * are not affected.  Both flags can be set together.  They apply to every form of a
 * reduction: blocking, nonblocking, persistent, SQE, v forms, views, axes and coll_submit().
 *
 * By default the ranks of one kernel exchange small blocking operations in memory that is mapped
 * to all of their processes.  A process can read the operands of the others there, store wrong
 * data, or let the others wait until their deadlines, as one can that makes wrong calls.
 * COLL_CONFIG_PRIVATE, on any rank, leaves this memory to the kernel, also in communicators that
 * are made from this one with that rank: for processes that do not trust one another.  An invalid
 * pointer then is EFAULT; without the flag it may be a SIGSEGV.
 *
 * By default the success of a call means that all ranks have called the same, so that each
 * collective waits for all ranks.  With COLL_CONFIG_NOSYNC, on any ranks, coll_broadcast(),
 * coll_reduce(), coll_gather(), coll_scatter(), coll_scan() and coll_exscan(), and their other
 * forms, complete on such a rank when its own part is done: the root of a broadcast, or a rank that
 * is not the root of a reduction, runs ahead of the others.  On one host that holds for operations
 * of at most 4 KiB a rank: broadcasts of up to 48 bytes 16 ahead of the slowest rank, others 2.
 * Between hosts it holds up to 32 operations ahead, for payload that is sent before it is asked
 * for.  If a rank calls something else later, it gets EBADMSG, and so does the next collective of
 * each rank that has completed the operation; coll_error_detail() names both calls.
 * coll_finalize() waits until the other ranks have called what this one has completed.  A program
 * whose ranks rely on the others having called does not set it; coll_barrier(), coll_allreduce(),
 * coll_allgather() and coll_alltoall(), calls with a key, and the v forms of coll_gather() and
 * coll_scatter() wait for all ranks in any case.
 *
 * COLL_CONFIG_CHECK_DATAGRAMS, on every rank, makes coll_init() find out whether datagrams of
 * coll_shrink() pass between ranks at different addresses: a rank that hears nothing of another one
 * for five seconds fails with EHOSTUNREACH.  It takes 50 ms where they pass.
 *
 * Any other field that is 0 or NULL is taken from the environment, or else has its default: see
 * libcollective(7).  The struct may grow at its end; @size tells which version the caller was
 * compiled with.  Fields behind @size count as 0; @size must be at least 56 bytes (up to
 * @name) and at most 4,096 (E2BIG).  Bytes that this library does not know must be 0 (E2BIG).
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
	const char *transport;
	int (*exchange)(void *context, const void *mine, size_t size, void *all);
	void *exchange_context;
	const char *bootstrap;
	const char *key;
	const char *ports;
	int (*interrupt)(void *context);
	void *interrupt_context;
};

/**
 * coll_init - join a group and wait until all its ranks have joined
 * @comm: set to the new communicator, or to NULL on failure
 * @config: configuration, or NULL: everything is taken from the environment
 *
 * Every rank of the group must call it.  Without a configuration and without a launcher's
 * environment the group is this process alone.  An incomplete environment is EINVAL.
 *
 * Errors: EINVAL (configuration or environment; a rank contradicts rank 0), ENOENT (no device:
 * the module is not loaded), EACCES (no permission for the device; wrong or missing secret; an
 * address other than loopback without a secret or COLL_INSECURE; a secret file that others can
 * read), EBUSY (the rank or the key is taken), EEXIST, EADDRINUSE, EADDRNOTAVAIL (no such
 * address; the rendezvous belongs to another host, or cannot be resolved), ETIMEDOUT (the text
 * lists the missing ranks), ECONNRESET (a rank went away), EPROTO (another program answers at
 * the rendezvous), EOPNOTSUPP (the kernel has another version; @transport is "local" or "rdma",
 * and a link to a rank cannot be so), ENODEV and EPROTONOSUPPORT (@transport is "rdma", and this
 * rank's address has no RDMA device, or an iWARP one), ECONNABORTED (an earlier group of this
 * process failed in the middle of the launcher's exchange), ECANCELED (@interrupt of this rank or
 * of rank 0 wanted it), EHOSTUNREACH (COLL_CONFIG_CHECK_DATAGRAMS), EDQUOT (the module's
 * user_memory_mib), E2BIG (bytes that this library does not know), ENOMEM, EMFILE and ENFILE (the
 * text says how many files are needed), and errors of system calls.
 */
int coll_init(struct coll_comm **comm, const struct coll_config *config);

/**
 * coll_finalize - leave the group and free the communicator
 * @comm: communicator, or NULL (nothing happens)
 *
 * Cancels operations under way (struct coll_request) and frees memory from coll_mem_alloc()
 * that was not freed.  A process that ends without it counts as dead, also after its last
 * operation: what other ranks have not completed by then fails.  With COLL_CONFIG_NOSYNC it waits
 * until the others have called what this rank has completed.
 *
 * Return: 0, or the error of leaving.  The communicator is freed in any case.
 */
int coll_finalize(struct coll_comm *comm);

/**
 * coll_split - make one group for each colour that the ranks give
 * @comm: communicator; all its ranks call this, in their common order of calls
 * @color: colour, 0 or more; or COLL_UNDEFINED
 * @key: order of the new ranks; ranks with equal keys keep their order in @comm
 * @newcomm: set to the communicator of this rank's colour; to NULL with COLL_UNDEFINED
 *	and on failure
 *
 * A new communicator is independent of @comm: it has its own device file, connections and two
 * file descriptors.  Operations on both may run at the same time, and either may be finalized
 * first.  Time limits, lanes, transport, flags of reductions and the local address are
 * inherited; registered memory is not.  The new name is the beginning of the name of @comm, a
 * point and 16 hexadecimal digits.
 *
 * If a rank fails, all ranks of its colour fail; the groups of other colours are made.
 * coll_error_detail(comm) tells why.  Errors: EINVAL (@color), EMFILE, ENOMEM, EADDRINUSE and
 * so on of any rank of the same colour; ECONNRESET, ETIMEDOUT (@init_timeout_ms of struct
 * coll_config), and those of coll_allgather().
 *
 * @interrupt of struct coll_config can end the call, with ECANCELED.  Then all ranks of the same
 * colour, or of @comm, get an error: ECANCELED, ECONNRESET or ETIMEDOUT, @init_timeout_ms later at
 * most.  @comm can be used as before.
 */
int coll_split(struct coll_comm *comm, int color, int key,
	       struct coll_comm **newcomm);

/**
 * coll_dup - make another group of the same ranks
 * @comm: communicator; all its ranks call this, in their common order of calls
 * @newcomm: set to the new communicator, or to NULL on failure
 *
 * Equals coll_split() with one colour and one key.  Threads that each use a communicator of
 * their own need no common order of operations.
 */
int coll_dup(struct coll_comm *comm, struct coll_comm **newcomm);

/**
 * coll_shrink - make a group of the surviving ranks of a failed group
 * @comm: communicator; all its surviving ranks call this
 * @newcomm: set to the new communicator, or to NULL on failure
 *
 * The survivors keep their order.  All ranks that return 0 are in the same group, whichever
 * ranks die, are stopped, are late or call again.  A rank that dies too late to be left out
 * makes the new group fail; that group can be shrunk in turn.
 *
 * Ranks have half of @init_timeout_ms (struct coll_config) to call, from the time when the
 * others have called.  Then a majority goes on without the missing ranks.  A majority is more
 * than half of the ranks, or half of them with the lowest.  A rank does not count if @comm has
 * failed because it died; any other that has ended or is silent counts.
 * ``coll_error_detail(*newcomm)`` names the ranks that were left out; these get ETIMEDOUT.  Ranks
 * that are too few also get ETIMEDOUT and may call again.  A group that has not failed can be
 * shrunk, too; if ranks are left out, the others have left it.
 *
 * The new communicator is independent of @comm, as with coll_split(); @comm must still be
 * finalized.  @comm can be shrunk once.  After an error the ranks may call again.
 * coll_error_detail(comm) tells why.  Errors: EINVAL (@comm has been shrunk), EMFILE,
 * ENOMEM, EADDRINUSE and so on of any rank; ETIMEDOUT, ECONNRESET, EPERM, ECANCELED (@interrupt of
 * struct coll_config).
 *
 * After ECANCELED this rank is for the others one that is silent: they wait for it as for a late
 * one, and go on without it, if they are enough.  It may call again, which ends as if its first
 * call had gone on.
 */
int coll_shrink(struct coll_comm *comm, struct coll_comm **newcomm);

/**
 * coll_comm_failed - has the group failed?
 * @comm: communicator
 *
 * A group fails when a rank dies, a rank leaves while it is needed, or a connection breaks.
 * It stays failed; coll_shrink() or coll_init() makes another one.  A single operation may
 * also fail without the group: EBADMSG, ETIMEDOUT and ECANCELED of one operation leave the
 * group as it is.
 *
 * Context: may sleep 0.1 s if the group has just failed.
 * Return: 0: it has not failed.  Otherwise the error with which every operation ends:
 * ECONNRESET, EPROTO, EPROTONOSUPPORT, ETIMEDOUT (a peer was silent), EACCES, EOPNOTSUPP, ENOMEM,
 * or ECANCELED (aborted by coll_abort() or collectivectl); coll_error_detail() tells the reason.
 * EPERM in a child of the process.
 */
int coll_comm_failed(struct coll_comm *comm);

/**
 * coll_abort - fail the group, from any thread
 * @comm: communicator
 * @why: text for coll_error_detail() of this rank, of which at least 200 characters are kept; or
 *	NULL
 *
 * Every operation of the group, under way or later, ends with ECANCELED on every rank, as after a
 * death with ECONNRESET.  coll_error_detail() says "rank 2 aborted the group" there, and on this
 * rank also @why.  If a rank has died meanwhile, all say that instead.
 *
 * - A thread in a blocking call or a wait returns ECANCELED, about 25 ms later: for so long a
 *   reason that outranks this one may come.
 * - So does one that executes a small operation without a system call: it looks for this all the
 *   time.  An operation that all ranks have called may still succeed.
 * - An SQE has a completion with ECANCELED.  coll_req_fd() reports POLLERR.
 * - coll_split() and coll_dup() of @comm fail.  A coll_shrink() of @comm goes on, and may be called
 *   afterwards; groups that were made from @comm are not concerned.
 *
 * Memory of an operation is in use until it has ended.  coll_finalize() may follow at once, when no
 * other thread is in a call for @comm.  To end coll_init() there is @interrupt of struct
 * coll_config, and to end one operation coll_cancel().
 *
 * Context: does not wait for the other ranks.  Takes a lock: not for signal handlers.
 * Errors: EALREADY (the group has failed already), ENOTCONN (this rank has left it in
 * coll_shrink()), EPERM (this is a child of the process), ENOTTY (the module is older).
 */
int coll_abort(struct coll_comm *comm, const char *why);

/* coll_shrink_flags(), @flags */
#define COLL_SHRINK_MINORITY	(1U << 0)	/* without a majority */

/**
 * coll_shrink_flags - coll_shrink() with other rules
 * @comm: as in coll_shrink()
 * @flags: COLL_SHRINK_*
 * @left: as @newcomm of coll_shrink()
 *
 * With COLL_SHRINK_MINORITY the leading rank goes on after half of the time with whichever
 * ranks have called.  Two parts of a group that cannot reach each other can then get a group
 * each.  It is for programs that know from elsewhere that the other part is gone.  Errors
 * are those of coll_shrink(), and EINVAL for an unknown flag.
 */
int coll_shrink_flags(struct coll_comm *comm, unsigned int flags, struct coll_comm **left);

/** coll_rank - rank of this process, 0 .. coll_size() - 1 */
int coll_rank(const struct coll_comm *comm);

/** coll_size - number of ranks of the group */
int coll_size(const struct coll_comm *comm);

/** coll_name - name of the group; valid as long as @comm */
const char *coll_name(const struct coll_comm *comm);

/**
 * coll_small_bytes - largest blocking operations that this process executes without a system call
 * @comm: communicator
 *
 * They are barriers, and allreduces, broadcasts and allgathers in which each rank gives at most so
 * many bytes to the others (libcollective(7)).  They are also faster than others of their size.
 *
 * Return: bytes a rank; 0: there are none.  Ranks of a group may have different ones.
 */
size_t coll_small_bytes(const struct coll_comm *comm);

/**
 * coll_allreduce - combine the elements of all ranks; every rank gets the result
 * @comm: communicator
 * @send: @count elements, the input of this rank, not written; or COLL_IN_PLACE
 * @recv: @count elements, the result; must not overlap @send, but may equal it
 * @count: number of elements (not bytes), the same on every rank; may be 0
 * @type: type of the elements, the same on every rank
 * @op: recv[i] = send_0[i] op send_1[i] op ..., bitwise equal on every rank
 *
 * With COLL_CONFIG_REPRODUCIBLE the operations are done in this order; without, in one that
 * depends on the lanes and @count.  Both addresses must be aligned to the element's size.
 *
 * Context: sleeps until the operation is complete; goes on after signal handlers.
 * Errors: EINVAL, EFAULT, EOVERFLOW, EBADMSG (ranks made different calls),
 * ECONNRESET, ECANCELED, ETIMEDOUT, EPROTO, ENOTCONN, EPERM, ENOMEM,
 * EDQUOT, EAGAIN (see struct coll_request).  coll_error_detail() tells which rank is at
 * fault and, for EBADMSG, what two ranks called.  No collective returns 0 on any rank unless
 * all ranks have made the same call.  The contents of @recv are undefined after an error.
 */
int coll_allreduce(struct coll_comm *comm, const void *send, void *recv,
		   size_t count, enum coll_type type, enum coll_op op);

/**
 * coll_broadcast - copy the elements of the root to every rank
 * @comm: communicator
 * @buffer: @count elements: at the root the input, which is not written and may be in
 *	read-only memory; elsewhere the result
 * @count: number of elements (not bytes), the same on every rank; may be 0
 * @type: type of the elements, the same on every rank
 * @root: rank of the root, 0 .. coll_size() - 1, the same on every rank
 *
 * Context, alignment and errors are those of coll_allreduce(); EINVAL is also a @root outside
 * the group.  The root may return before the other ranks have their elements, but not before
 * they have called.
 */
int coll_broadcast(struct coll_comm *comm, void *buffer, size_t count,
		   enum coll_type type, int root);

/* Messages without a tag are received in the order in which they are sent. */
#define COLL_TAG_NONE	(-1LL)

/**
 * coll_send - send elements to one rank
 * @comm: communicator
 * @buffer: @count elements
 * @count: number of elements (not bytes), equal to the receiver's; may be 0
 * @type: type of the elements, equal to the receiver's
 * @to: receiving rank, which may be this one
 * @tag: tag by which the message is received, 0 .. 2^40 - 1; or COLL_TAG_NONE
 *
 * Messages of up to 32 KiB: returns when the message has left.  Longer ones: returns when it
 * has been received.  Messages with the same tag are received in the order in which they are
 * sent.  Context and errors are those of coll_allreduce().  If the two ends differ, only this
 * message fails (EBADMSG); the sender of a small message may not be told.
 *
 * A message of any size to this rank itself returns when it has been received: another thread, or
 * a nonblocking call before, receives it, in any form.  Otherwise the call waits until its deadline
 * (ETIMEDOUT).  If one end fails, so does the other one.
 */
int coll_send(struct coll_comm *comm, const void *buffer, size_t count,
	      enum coll_type type, int to, long long tag);

/**
 * coll_recv - receive elements from one rank
 * @comm: communicator
 * @buffer: room for @count elements
 * @count: number of elements (not bytes), equal to the sender's
 * @type: type of the elements, equal to the sender's
 * @from: sending rank, which may be this one
 * @tag: as the sender's
 *
 * Errors: as coll_send().
 */
int coll_recv(struct coll_comm *comm, void *buffer, size_t count,
	      enum coll_type type, int from, long long tag);

/**
 * coll_allgather - collect the elements of all ranks on every rank
 * @comm: communicator
 * @send: @count elements, the input of this rank, not written; or COLL_IN_PLACE
 * @recv: coll_size() blocks of @count elements: block r is the input of rank r; must not
 *	overlap @send, unless @send is this rank's own block, which means COLL_IN_PLACE
 * @count: number of elements (not bytes) of one block, the same on every rank; may be 0
 * @type: type of the elements, the same on every rank
 *
 * In place, the input is the @count elements from recv[rank * count] on.
 *
 * Context, alignment and errors are those of coll_allreduce(); EOVERFLOW is about the size of
 * all blocks together.
 */
int coll_allgather(struct coll_comm *comm, const void *send, void *recv,
		   size_t count, enum coll_type type);

/**
 * coll_scan - combine the elements of each rank with those of all lower ranks
 * @comm: communicator
 * @send: @count elements, the input of this rank, not written; or COLL_IN_PLACE
 * @recv: @count elements, the result; must not overlap @send, but may equal it
 * @count: number of elements (not bytes), the same on every rank; may be 0
 * @type: type of the elements, the same on every rank
 * @op: on rank r, recv[i] = send_0[i] op send_1[i] op ... op send_r[i], the operands in
 *	this order, combined from the left with COLL_CONFIG_REPRODUCIBLE; not COLL_AVG
 *	(EINVAL)
 *
 * The scan is inclusive: rank 0 gets its own input.  Context, alignment and errors are those
 * of coll_allreduce().  A low rank may return before the higher ones have their result, but
 * not before they have called.
 */
int coll_scan(struct coll_comm *comm, const void *send, void *recv,
	      size_t count, enum coll_type type, enum coll_op op);

/**
 * coll_exscan - combine the elements of all lower ranks
 * @comm: communicator
 * @send: @count elements, the input of this rank, not written; or COLL_IN_PLACE
 * @recv: @count elements, the result; must not overlap @send, but may equal it; not
 *	written on rank 0
 * @count: number of elements (not bytes), the same on every rank; may be 0
 * @type: type of the elements, the same on every rank
 * @op: as in coll_scan()
 *
 * The scan is exclusive: rank 1 gets the input of rank 0.  Otherwise as coll_scan().
 */
int coll_exscan(struct coll_comm *comm, const void *send, void *recv,
		size_t count, enum coll_type type, enum coll_op op);

/**
 * coll_reduce - combine the elements of all ranks; the root gets the result
 * @comm: communicator
 * @send: @count elements, the input of this rank, not written; at the root also
 *	COLL_IN_PLACE
 * @recv: at the root, @count elements, the result; ignored elsewhere
 * @count: number of elements, the same on every rank
 * @type: type of the elements, the same on every rank
 * @op: as in coll_allreduce()
 * @root: rank of the root, the same on every rank
 *
 * Errors: as coll_allreduce().
 */
int coll_reduce(struct coll_comm *comm, const void *send, void *recv,
		size_t count, enum coll_type type, enum coll_op op, int root);

/**
 * coll_reduce_scatter - combine the elements of all ranks; each rank gets one block
 * @comm: communicator
 * @send: coll_size() blocks of @count elements, not written; or COLL_IN_PLACE: the blocks
 *	are at @recv, the result replaces the first, and the contents of the others are
 *	undefined afterwards
 * @recv: @count elements, the result
 * @count: number of elements of one block, the same on every rank
 * @type: type of the elements, the same on every rank
 * @op: recv[i] on rank r = send_0[r * count + i] op send_1[r * count + i] ...
 *
 * Errors: as coll_reduce().
 */
int coll_reduce_scatter(struct coll_comm *comm, const void *send, void *recv,
			size_t count, enum coll_type type, enum coll_op op);

/**
 * coll_gather - collect the elements of all ranks at the root
 * @comm: communicator
 * @send: @count elements, the input of this rank, not written; at the root also
 *	COLL_IN_PLACE, or its own block of @recv
 * @recv: at the root, coll_size() blocks of @count elements, in the order of ranks;
 *	ignored elsewhere
 * @count: number of elements of one block, the same on every rank
 * @type: type of the elements, the same on every rank
 * @root: rank of the root, the same on every rank
 *
 * Errors: as coll_allreduce().
 */
int coll_gather(struct coll_comm *comm, const void *send, void *recv,
		size_t count, enum coll_type type, int root);

/**
 * coll_scatter - distribute the blocks of the root, one to each rank
 * @comm: communicator
 * @send: at the root, coll_size() blocks of @count elements, in the order of ranks, not
 *	written; ignored elsewhere
 * @recv: @count elements, the block of this rank; at the root also COLL_IN_PLACE, or its
 *	own block of @send: the block stays where it is
 * @count: number of elements of one block, the same on every rank
 * @type: type of the elements, the same on every rank
 * @root: rank of the root, the same on every rank
 *
 * Errors: as coll_allreduce().
 */
int coll_scatter(struct coll_comm *comm, const void *send, void *recv,
		 size_t count, enum coll_type type, int root);

/**
 * coll_recv_varlen - receive a number of elements that only the sender knows
 * @comm: communicator
 * @buffer: room for *@count elements
 * @count: in: capacity of @buffer in elements; out, with success or EMSGSIZE: number of
 *	elements sent.  coll_irecv_varlen(): written when a wait or test reports completion
 * @type: type of the elements, equal to the sender's
 * @from: sending rank, which may be this one
 * @tag: as in the sender's call of coll_send()
 *
 * Errors: as coll_recv(), and EMSGSIZE: the message is longer than *@count.  The elements
 * that fit are stored and the rest is dropped.  The sender succeeds and the group goes on.
 */
int coll_recv_varlen(struct coll_comm *comm, void *buffer, size_t *count,
		     enum coll_type type, int from, long long tag);

/**
 * coll_broadcast_varlen - copy the elements of the root, of any number, to every rank
 * @comm: communicator
 * @buffer: as in coll_broadcast()
 * @count: in: at the root, number of elements; elsewhere, capacity of @buffer; out, with
 *	success or EMSGSIZE: number of the root's elements; written as in coll_recv_varlen()
 * @type: type of the elements, the same on every rank
 * @root: rank of the root, the same on every rank
 *
 * The root sends all elements to one rank after the other.  For many elements,
 * coll_broadcast() of the number and then of the elements is faster.
 *
 * Errors: as coll_broadcast(), and EMSGSIZE as of coll_recv_varlen(), on this rank only.
 */
int coll_broadcast_varlen(struct coll_comm *comm, void *buffer, size_t *count,
			  enum coll_type type, int root);

/**
 * coll_scatter_varlen - distribute blocks of lengths that only the root knows
 * @comm: communicator
 * @send: at the root, one block for each rank, not written; ignored elsewhere
 * @send_counts: at the root, number of elements of each block; ignored elsewhere
 * @send_displs: at the root, offset of each block in elements, or NULL: blocks follow each
 *	other; ignored elsewhere
 * @recv: room for the block of this rank; at the root also COLL_IN_PLACE
 * @count: in: capacity of @recv in elements, at the root taken from @send_counts; out, with
 *	success or EMSGSIZE: number of elements of the block; written as in
 *	coll_recv_varlen()
 * @type: type of the elements, the same on every rank
 * @root: rank of the root, the same on every rank
 *
 * Errors: as coll_scatterv(), and EMSGSIZE as of coll_recv_varlen(), on this rank only.
 */
int coll_scatter_varlen(struct coll_comm *comm, const void *send,
			const size_t *send_counts, const size_t *send_displs,
			void *recv, size_t *count, enum coll_type type, int root);

/**
 * coll_alltoall - send one block to every rank and receive one from every rank
 * @comm: communicator
 * @send: coll_size() blocks of @count elements, block r for rank r, not written; or
 *	COLL_IN_PLACE
 * @recv: coll_size() blocks of @count elements, block r from rank r; must not overlap
 *	@send.  In place, block r is sent to rank r and replaced by the block from rank r
 * @count: number of elements of one block, the same on every rank
 * @type: type of the elements, the same on every rank
 *
 * Errors: as coll_allreduce().
 */
int coll_alltoall(struct coll_comm *comm, const void *send, void *recv,
		  size_t count, enum coll_type type);

/**
 * coll_barrier - wait until every rank has called it
 * @comm: communicator
 *
 * Errors: EBADMSG, ECONNRESET, ETIMEDOUT, EPROTO, ENOTCONN, EPERM, ENOMEM.
 */
int coll_barrier(struct coll_comm *comm);

struct collective_op;

/**
 * coll_submit - run an operation that is described by the kernel's struct
 * @comm: communicator
 * @op: operation, see <linux/collective.h>; can have a key, an algorithm, a deadline and
 *	flags, for which the functions above have no argument
 *
 * The caller aligns the addresses of elements.  Buffers are pinned for this operation unless
 * @op names registered ones.  The flags of the communicator for reductions
 * (COLL_CONFIG_REPRODUCIBLE, COLL_CONFIG_WIDE) apply in addition to those of @op.
 * COLL_CONFIG_NOSYNC does not: COLLECTIVE_F_NOSYNC is a choice of each @op.
 *
 * Errors: those of the ioctl COLLECTIVE_IOC_SUBMIT.
 */
int coll_submit(struct coll_comm *comm, const struct collective_op *op);

/**
 * struct coll_adjoint - collective that carries the gradient of another one
 * @collective: the collective
 * @op: its reduction; COLL_SUM if it does not reduce
 * @divide: 1 if the gradient must be divided by coll_size(), before or after it; else 0
 * @reserved: set to 0; for later fields
 */
struct coll_adjoint {
	enum coll_collective collective;
	enum coll_op op;
	int divide;
	unsigned int reserved[5];
};

/**
 * coll_adjoint - look up the collective that carries the gradient of another one
 * @collective: collective of the forward pass
 * @op: its reduction; any valid one if it does not reduce
 * @adjoint: filled in
 *
 * As maps from the inputs of all ranks to the results of all ranks, the two are transposes of
 * each other: allgather and reduce_scatter, broadcast and reduce, gather and scatter, send
 * and recv.  Barrier, allreduce and alltoall are their own adjoints.  The adjoint is called
 * with the same root or peer and the same @count.  @divide is set where the forward pass
 * averages (COLL_AVG) and the adjoint does not reduce.
 *
 * Needs neither communicator nor kernel.  Errors: EINVAL (no such collective or reduction);
 * EOPNOTSUPP: there is none.  COLL_MAX and the like are not linear.  Scans would have to run
 * from the last rank to the first; a communicator made by coll_split() with the key
 * -coll_rank() does that.
 */
int coll_adjoint(enum coll_collective collective, enum coll_op op,
		 struct coll_adjoint *adjoint);

/**
 * struct coll_request - operation under way
 *
 * coll_iNAME() starts the operation of coll_NAME() with the same arguments and returns.  The
 * operation then has its place in the order of operations, which is that of the calls,
 * blocking or not, and must be the same on every rank.  The kernel executes it, and its
 * deadline runs, whether or not a thread waits for it.
 *
 * Until a wait or test reports completion, the buffers belong to the operation: the result
 * must not be read, and no buffer may be written, freed or unregistered.  The wait or test
 * that reports completion, with success or not, ends the handle.  These functions return
 * ENOENT for a handle that has ended.  A handle is never used again, so coll_cancel() needs
 * no synchronization with the thread that waits.  One thread at a time may wait for a request
 * (EBUSY); different threads may wait for different requests.  coll_finalize() cancels
 * operations under way and ends their handles; no buffer may be used before it returns.
 *
 * Errors of coll_iNAME(), which starts nothing and sets the handle to NULL: those of
 * coll_NAME() for malformed calls and missing memory, the error of a failed group, and
 * EAGAIN (also of coll_NAME()): as many operations as the kernel allows (512) are under way
 * or not waited for, or many have failed and this rank is too far ahead of another one: try
 * again when that rank has submitted them.  For messages and operations with a key, ENOSPC:
 * 65,536 of them have failed in this group.  Completion reports all other errors.
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
 * coll_submit_wait - coll_submit(), and turn to something else if it takes long
 * @comm: communicator
 * @op: operation, as of coll_submit()
 * @timeout_ms: time limit of the wait in ms; negative: none; 0: do not wait
 * @request: set to the handle if the operation goes on, for coll_wait(); otherwise to NULL
 *
 * A thread that waits here does the work of the operation itself, which takes less time than
 * coll_isubmit() and a wait.
 *
 * Return: result of the operation; EINPROGRESS: it goes on, after the time limit or earlier after
 * a signal.  Errors: as coll_submit().
 */
int coll_submit_wait(struct coll_comm *comm, const struct collective_op *op, int timeout_ms,
		     struct coll_request **request);

/**
 * coll_allgatherv - collect blocks of different lengths on every rank
 * @comm: communicator
 * @send: @send_count elements, the input of this rank, not written; or COLL_IN_PLACE, or
 *	this rank's own block of @recv: the input is there
 * @send_count: number of elements, equal to this rank's in @recv_counts
 * @recv: room for the blocks of all ranks
 * @recv_counts: number of elements of each rank's block; the same on every rank
 * @recv_displs: offset of each rank's block in @recv, in elements; NULL: blocks follow each
 *	other.  No element may be in two blocks (EINVAL)
 * @type: type of the elements, the same on every rank
 *
 * Memory between the blocks is not written, but must be writable: see coll_allgatherv(3).
 * The arrays may be reused when the call returns, also with coll_iallgatherv().
 *
 * Errors: as coll_allgather(); EBADMSG also if counts differ.
 */
int coll_allgatherv(struct coll_comm *comm, const void *send, size_t send_count,
		    void *recv, const size_t *recv_counts,
		    const size_t *recv_displs, enum coll_type type);
int coll_iallgatherv(struct coll_comm *comm, const void *send,
		     size_t send_count, void *recv, const size_t *recv_counts,
		     const size_t *recv_displs, enum coll_type type,
		     struct coll_request **request);

/**
 * coll_gatherv - collect blocks of different lengths at the root
 *
 * As coll_allgatherv(), but only the @root reads @recv_counts and @recv_displs and writes
 * @recv.  If a rank sends more or fewer elements than the root expects, the operation fails
 * with EBADMSG on every rank when all ranks have called.  coll_error_detail() of these two
 * ranks says how they differ, if no other ranks do.
 */
int coll_gatherv(struct coll_comm *comm, const void *send, size_t send_count,
		 void *recv, const size_t *recv_counts,
		 const size_t *recv_displs, enum coll_type type, int root);
int coll_igatherv(struct coll_comm *comm, const void *send, size_t send_count,
		  void *recv, const size_t *recv_counts,
		  const size_t *recv_displs, enum coll_type type, int root,
		  struct coll_request **request);

/**
 * coll_scatterv - distribute blocks of different lengths from the root
 *
 * Only the @root reads @send, @send_counts and @send_displs (in elements; NULL: blocks follow
 * each other).  @recv_count equals the root's count for this rank.  At the root @recv may be
 * COLL_IN_PLACE, or its own block of @send: the block stays where it is.
 * Errors: as coll_gatherv().
 */
int coll_scatterv(struct coll_comm *comm, const void *send,
		  const size_t *send_counts, const size_t *send_displs,
		  void *recv, size_t recv_count, enum coll_type type, int root);
int coll_iscatterv(struct coll_comm *comm, const void *send,
		   const size_t *send_counts, const size_t *send_displs,
		   void *recv, size_t recv_count, enum coll_type type, int root,
		   struct coll_request **request);

/**
 * coll_alltoallv - send a block of any length to every rank and receive one from every rank
 *
 * @send_counts and @send_displs describe the block of @send for each rank, @recv_counts and
 * @recv_displs the block of @recv from each rank.  Displacements are in elements; NULL: blocks
 * follow each other.  With COLL_IN_PLACE for @send, the block of @recv for a rank is sent to
 * it and replaced by the block from it, which has the same length; @send_counts and
 * @send_displs are ignored.
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
 * coll_reduce_scatterv - coll_reduce_scatter() with blocks of different lengths
 *
 * @recv_counts has the number of elements of each rank's block, the same on every rank.
 * @send_displs has the offsets of the blocks in @send (NULL: blocks follow each other).  With
 * COLL_IN_PLACE the blocks are in @recv, and the result replaces its beginning.
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
 * struct coll_view - layout of the blocks in a buffer; unit: elements
 * @rows: number of rows of equal length that form a block; 0 or 1: one
 * @stride: distance from the beginning of a row to that of the next
 * @distance: distance from the beginning of a block to that of the next; 0 for a buffer
 *	with one block
 * @size: sizeof(struct coll_view); 0: that of version 0.1, which ends here
 *
 * A NULL view means that blocks follow each other.  The struct may grow at its end: fields
 * behind @size count as 0, and bytes that the library does not know must be 0 (E2BIG).  A
 * @size below that of version 0.1 is EINVAL, one above 4,096 E2BIG.
 */
struct coll_view {
	size_t rows;
	size_t stride;
	size_t distance;
	size_t size;
};

/**
 * coll_allgather_view - coll_allgather() with a layout for each buffer
 *
 * @send_view describes the one block at @send, @recv_view the blocks of all ranks at @recv, of
 * which no two may share an element (EINVAL).  COLL_IN_PLACE: the block of this rank is where
 * @recv_view places it.  Ranks need not use the same views.
 */
int coll_allgather_view(struct coll_comm *comm, const void *send,
			const struct coll_view *send_view, void *recv,
			const struct coll_view *recv_view, size_t count,
			enum coll_type type);
int coll_iallgather_view(struct coll_comm *comm, const void *send,
			 const struct coll_view *send_view, void *recv,
			 const struct coll_view *recv_view, size_t count,
			 enum coll_type type, struct coll_request **request);

/**
 * coll_reduce_scatter_view - coll_reduce_scatter() with a layout for each buffer
 *
 * @send_view describes the blocks of all ranks at @send, @recv_view the one block at @recv.
 * COLL_IN_PLACE is EOPNOTSUPP.
 */
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
 * coll_alltoall_view - coll_alltoall() with a layout for each buffer
 *
 * With COLL_IN_PLACE the block for a rank is where @recv_view places the block from that
 * rank, and @send_view is ignored.
 */
int coll_alltoall_view(struct coll_comm *comm, const void *send,
		       const struct coll_view *send_view, void *recv,
		       const struct coll_view *recv_view, size_t count,
		       enum coll_type type);
int coll_ialltoall_view(struct coll_comm *comm, const void *send,
			const struct coll_view *send_view, void *recv,
			const struct coll_view *recv_view, size_t count,
			enum coll_type type, struct coll_request **request);

/* Maximum number of axes of an array in coll_alltoall_axis(). */
#define COLL_DIMS_MAX	32

/**
 * coll_allgather_axis - concatenate the arrays of all ranks along an axis
 * @comm: communicator
 * @send: array of this rank, row-major (the last index varies fastest); or COLL_IN_PLACE:
 *	it is in its place in @recv
 * @recv: concatenated array, coll_size() times as long along @axis, in the order of ranks
 * @shape: lengths of the array of one rank, the same on every rank
 * @ndims: number of lengths
 * @axis: axis along which the arrays are concatenated, 0 .. @ndims - 1
 * @type: type of the elements
 *
 * Two ranks with 2x3 arrays each get a 2x6 array along axis 1.  Errors: as coll_allgather().
 */
int coll_allgather_axis(struct coll_comm *comm, const void *send, void *recv,
			const size_t *shape, int ndims, int axis,
			enum coll_type type);
int coll_iallgather_axis(struct coll_comm *comm, const void *send, void *recv,
			 const size_t *shape, int ndims, int axis,
			 enum coll_type type, struct coll_request **request);

/**
 * coll_reduce_scatter_axis - combine the arrays of all ranks; each gets a part along an axis
 *
 * The reverse of coll_allgather_axis(): @shape is that of the part at @recv; the array at
 * @send is coll_size() times as long along @axis.  COLL_IN_PLACE is EOPNOTSUPP.
 */
int coll_reduce_scatter_axis(struct coll_comm *comm, const void *send,
			     void *recv, const size_t *shape, int ndims,
			     int axis, enum coll_type type, enum coll_op op);
int coll_ireduce_scatter_axis(struct coll_comm *comm, const void *send,
			      void *recv, const size_t *shape, int ndims,
			      int axis, enum coll_type type, enum coll_op op,
			      struct coll_request **request);

/**
 * coll_alltoall_axis - split the array of every rank along one axis and concatenate the parts
 *	along another one
 *
 * @shape is that of the array at @send; its length along @split must be a multiple of
 * coll_size() (EINVAL).  Part r goes to rank r, which concatenates the parts of all ranks, in
 * the order of ranks, along @concat.  COLL_IN_PLACE needs equal axes (EINVAL).
 */
int coll_alltoall_axis(struct coll_comm *comm, const void *send, void *recv,
		       const size_t *shape, int ndims, int split, int concat,
		       enum coll_type type);
int coll_ialltoall_axis(struct coll_comm *comm, const void *send, void *recv,
			const size_t *shape, int ndims, int split, int concat,
			enum coll_type type, struct coll_request **request);

/**
 * coll_wait - wait until an operation is complete
 * @request: handle, which ends; or NULL (nothing happens)
 *
 * Context: sleeps as coll_allreduce() does.
 * Return: the result of the operation, with the errors of the blocking call.  EBUSY (another
 * thread waits for it) and EPERM (this is a child of the process) leave the handle as it is.
 * ENOENT: the handle has ended before.
 */
int coll_wait(struct coll_request *request);

/**
 * coll_start - start a persistent operation
 * @request: handle from coll_NAME_init()
 *
 * coll_NAME_init() has the arguments of coll_NAME().  It checks them and registers the buffers
 * that are not registered yet, so that they stay pinned, but starts nothing.  A buffer that
 * coll_unregister() releases later is registered again by the next start.
 *
 * coll_start() starts the operation as coll_iNAME() does.  The order of coll_start(), not that
 * of coll_NAME_init(), must be the same on every rank.  After a wait or test has reported
 * completion the operation may be started again.  The handle stays until coll_request_free().
 *
 * Errors: those of coll_iNAME(); EBUSY: it is under way; EINVAL: it is not persistent;
 * ENOENT: it was freed.  Of coll_NAME_init() also those of coll_register().
 */
int coll_start(struct coll_request *request);

/**
 * coll_request_free - free the handle of a persistent operation
 * @request: handle of an operation that is not under way (EBUSY), or NULL
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
 * coll_cancel - cancel an operation under way, on every rank
 * @request: its handle, which must still be waited for
 *
 * The operation ends with ECANCELED on every rank, and coll_error_detail() names this rank
 * there; or with success, if it was complete before.  The group does not fail.  May be called
 * while another thread waits for the operation, and at any time after.  Errors: ENOENT (the
 * operation is complete, or not started), EALREADY (it is failing already), EPERM.
 */
int coll_cancel(struct coll_request *request);

/**
 * coll_req_fd - file descriptor for poll() that tells of completion
 * @request: handle of an operation under way
 *
 * The descriptor is the same for all requests of a communicator.  The caller must neither
 * close nor read it.  Events of poll()::
 *
 *	POLLIN	an operation is complete that no thread has waited for; coll_test()
 *		tells which
 *	POLLERR	the group has failed (coll_comm_failed()).  All operations end, each with
 *		POLLIN beside it, and POLLERR stays: remove the descriptor from the set
 *		when no operation is left to wait for
 *	POLLOUT	the group is connected, which is always so: do not ask for it
 *	POLLHUP	this rank has left the group
 *
 * Return: the descriptor, or -EINVAL (NULL), -ENOENT (the handle has ended), -EPERM (this is
 * a child of the process).
 */
int coll_req_fd(const struct coll_request *request);

/**
 * coll_test - test whether an operation is complete
 * @request: handle, which ends if the operation is complete; NULL counts as complete
 * @done: set to 1 or 0; to 1 for a handle that has ended before
 *
 * Context: does not wait.
 * Return: 0 while the operation is under way, otherwise as coll_wait().
 */
int coll_test(struct coll_request *request, int *done);

/**
 * coll_wait_any - wait until one of several operations is complete
 * @requests: handles of one communicator; NULL is skipped.  The handle of the complete
 *	operation ends and is set to NULL, wherever it is.  A persistent handle stays, and is
 *	skipped until coll_start()
 * @count: number of handles
 * @index: set to the index of the complete operation; -1: none
 * @timeout_ms: time limit in ms; 0: only test; -1: none
 *
 * Context: sleeps, in the kernel, for all of them at once.
 * Return: the result of that operation.  With @index -1: 0 if all handles are skipped,
 * EINPROGRESS after the time limit, EINVAL (different communicators, or more than can be under
 * way), EBUSY (another thread waits for one of them), ENOENT (one has ended before), EPERM,
 * ENOMEM.
 */
int coll_wait_any(struct coll_request **requests, int count, int *index,
		  int timeout_ms);

/**
 * coll_wait_all - wait until several operations are complete
 * @requests: handles, which end and are set to NULL unless they are persistent; NULL and
 *	persistent operations that are not started are skipped; one that is there more than once
 *	counts once
 * @count: number of handles
 *
 * Return, when all are complete: 0, or the error of the first in @requests that failed.  A handle
 * that cannot be waited for (EBUSY, ENOENT, EPERM: see coll_wait()) stays as it is and counts as
 * failed; all others are waited for.
 */
int coll_wait_all(struct coll_request **requests, int count);

/** coll_type_size - size of an element in bytes; 0 for an unknown type */
size_t coll_type_size(enum coll_type type);

/**
 * coll_mem_alloc - allocate the memory that operations use fastest
 * @comm: communicator
 * @size: size in bytes, not 0
 *
 * The memory is zeroed, present, and aligned to huge pages if @size is 2 MiB or more, to pages
 * otherwise.  It is registered with the kernel if RLIMIT_MEMLOCK allows.  If not, it works
 * as well, but each operation pins it; coll_mem_registered() tells.  After fork() it belongs
 * to the parent: the child has a copy of it or no mapping.
 *
 * Return: the address, or NULL with errno ENOMEM, EINVAL or EPERM.
 */
void *coll_mem_alloc(struct coll_comm *comm, size_t size);

/** coll_mem_free - free memory from coll_mem_alloc(); NULL is ignored */
void coll_mem_free(struct coll_comm *comm, void *addr);

/**
 * coll_mem_registered - is all of this memory registered with the kernel?
 * @comm: communicator
 * @addr: beginning of the memory
 * @size: size in bytes
 *
 * Return: 1 or 0.
 */
int coll_mem_registered(struct coll_comm *comm, const void *addr, size_t size);

/**
 * coll_mem_number - find the number of a registered buffer, for struct collective_op
 * @comm: communicator
 * @addr: beginning of the memory
 * @size: size in bytes
 * @write: 1 if operations are to store results there, 0 if they only read it
 *
 * The functions of the collectives find registered memory by its address; those that take a
 * struct collective_op use it if that has the number.
 *
 * Return: number of a buffer that has all of this memory, until coll_unregister() or
 * coll_mem_free(); 0: there is none.
 */
unsigned int coll_mem_number(struct coll_comm *comm, const void *addr, size_t size, int write);

/**
 * coll_register - pin the caller's own memory for many operations
 * @comm: communicator
 * @addr: beginning of the memory
 * @size: size in bytes, not 0
 * @flags: COLL_REGISTER_*
 *
 * Operations find registered memory by the addresses of their buffers.  Only operations write
 * to it, and with COLL_REGISTER_READ_ONLY not even these.  It must stay mapped until
 * coll_unregister().  Errors: EINVAL, EFAULT, EOVERFLOW, EDQUOT (RLIMIT_MEMLOCK), EMFILE,
 * EEXIST (@addr is registered), ENOMEM, EPERM; coll_error_detail() tells more.
 */
int coll_register(struct coll_comm *comm, const void *addr, size_t size,
		  unsigned int flags);

/**
 * coll_unregister - undo coll_register()
 * @comm: communicator
 * @addr: address given to coll_register()
 *
 * No operation on this memory may be under way.  Persistent operations on it may be started
 * again afterwards; each then registers the memory for itself.  Errors: ENOENT, EPERM.
 */
int coll_unregister(struct coll_comm *comm, const void *addr);

/**
 * coll_strerror - describe an error number of this library
 * @err: negative or positive errno, or 0
 *
 * Return: a constant text.  Safe in any thread.
 */
const char *coll_strerror(int err);

/**
 * coll_error_detail - describe the latest failure of a communicator
 * @comm: communicator
 *
 * Examples: "rank 2 died (operation 17)", or, for a call that did not become an operation,
 * "send refused: there is no rank 4: the ranks are 0 to 3".  The next failing call replaces
 * the text.  After the group has failed, calls that fail for that reason give it.  For EFAULT it
 * says whether the memory is not mapped, must not be read or written, or cannot be pinned,
 * and at which address.  After a deadline it names all ranks that had not submitted the
 * operation, and waits for their answers, 50 ms at most.  If coll_init() fails there is no
 * communicator: @detail of the configuration then has such a text.
 *
 * Return: a text that belongs to @comm, empty if nothing failed.  The next call for @comm in
 * any thread overwrites it; coll_finalize() frees it.
 */
const char *coll_error_detail(struct coll_comm *comm);

/**
 * coll_error_detail_r - coll_error_detail() into a buffer of the caller, for several threads
 * @comm: communicator
 * @detail: buffer for the text, which is truncated if too long and always NUL-terminated
 * @size: size of @detail in bytes; COLL_DETAIL_SIZE is enough
 *
 * Errors: EINVAL (@detail is NULL or @size 0).
 */
int coll_error_detail_r(struct coll_comm *comm, char *detail, size_t size);

/**
 * coll_addresses - list the addresses of this host that ranks tell the others, and the rest
 * @text: buffer for the list, which is truncated if too long and always NUL-terminated
 * @size: size of @text in bytes
 *
 * A line for each address has the address, its interface, and "told" or why it is left out, as in
 * "10.8.0.1 eth1 no carrier"; the best address comes first.  Link-local addresses of IPv6 have no
 * line.  A local address in the configuration of a rank takes the place of all of them.
 *
 * Errors: EINVAL (@text is NULL or @size 0), ENOMEM, EOVERFLOW (no int holds the length), or those
 * of getifaddrs().
 * Return: length of the whole list in bytes, however long @text is.
 */
int coll_addresses(char *text, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* COLLECTIVE_H */
