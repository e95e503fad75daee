// SPDX-License-Identifier: GPL-2.0-only
#include "faults/random_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/group.h"
#include "faults/malformed.h"

const char * const random_call_names[RANDOM_CALLS] = {
	"QUERY", "JOIN", "CONNECT", "REGISTER", "UNREGISTER", "SUBMIT", "WAIT", "CANCEL",
	"STATUS", "LEAVE", "no ioctl", "SQE SUBMIT", "SQE CANCEL", "no SQE", "close", "ring",
};

/*
 * Results
 */

/* The errnos that an operation may return; see uapi/linux/collective.h. */
static const __u8 operation_errors[] = {
	EINVAL, E2BIG, EFAULT, EOVERFLOW, EBADMSG, EMSGSIZE, ECONNRESET, ETIMEDOUT, ECANCELED,
	EPROTO, EACCES, ENOTCONN, EPERM, ENOMEM, EDQUOT, ENOENT, EAGAIN, ENOSPC, EOPNOTSUPP, 0
};

/* The errnos of a call that begins connections, and of an operation that needs one. */
static const __u8 connect_errors[] = {
	ENETUNREACH, EHOSTUNREACH, EAFNOSUPPORT, ECONNREFUSED, ENOBUFS, ENFILE, EADDRINUSE,
	EADDRNOTAVAIL, 0
};

/* The errnos that any ioctl returns for its struct. */
static const __u8 struct_errors[] = { EINVAL, E2BIG, EFAULT, 0 };

static const struct answers {
	bool is_operation;
	bool connects;
	__u8 errors[24];
} answers[RANDOM_CALLS] = {
	[1] = { .errors = { EISCONN, EBUSY, EEXIST, EOPNOTSUPP, ENOMEM, EDQUOT, ENFILE, EPERM,
		EINTR, EADDRINUSE, EADDRNOTAVAIL, EACCES, EAFNOSUPPORT, ENODEV } },
	[2] = { .connects = true, .errors = { ENOTCONN, EISCONN, EPERM, ETIMEDOUT, ECONNRESET,
		EACCES, EPROTO, EBUSY, EINTR, ENOMEM, EDQUOT, EINPROGRESS, ECANCELED,
		EOPNOTSUPP } },
	[3] = { .errors = { EOVERFLOW, EDQUOT, ENOMEM, EMFILE, EPERM, ENOTCONN, EINTR } },
	[4] = { .errors = { ENOENT, EPERM, EINTR } },
	[5] = { .is_operation = true, .errors = { EINTR, EBUSY } },
	[6] = { .is_operation = true, .errors = { EINTR, EBUSY, EINPROGRESS } },
	[7] = { .errors = { ENOENT, EALREADY, ENOTCONN, EPERM } },
	[9] = { .errors = { ENOTCONN, EPERM, EINTR } },
	[RANDOM_NO_IOCTL] = { .errors = { ENOTTY } },
	[RANDOM_SQE_SUBMIT] = { .is_operation = true },
	[RANDOM_SQE_CANCEL] = { .errors = { EINVAL, ENOENT, EALREADY, ENOTCONN, EPERM } },
	[RANDOM_SQE_NONE] = { .errors = { ENOTTY } },
};

static bool listed(const __u8 *errors, int error)
{
	while (*errors && *errors != error)
		errors++;
	return *errors;
}

static bool answer_known(enum random_call call, int error)
{
	return listed(answers[call].errors, error) ||
	       (call < RANDOM_IOCTLS && listed(struct_errors, error)) ||
	       (answers[call].is_operation && listed(operation_errors, error)) ||
	       ((answers[call].is_operation || answers[call].connects) &&
		listed(connect_errors, error));
}

void random_call_begin(struct random_thread *t, enum random_call call)
{
	t->watch->call = call;
	__atomic_store_n(&t->watch->since, now_ms(), __ATOMIC_SEQ_CST);
}

/* The call has returned @res, 0 or a negative errno. */
void random_call_end(struct random_thread *t, enum random_call call, int res)
{
	struct random_shared *shared = t->process->shared;
	__u32 n;

	__atomic_store_n(&t->watch->since, 0, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&shared->done[call], 1, __ATOMIC_RELAXED);
	if (res >= 0)
		__atomic_add_fetch(&shared->good[call], 1, __ATOMIC_RELAXED);
	/*
	 * Another thread may have closed the file, and its number may be that of another file
	 * now.
	 */
	if (res >= 0 || res == -EBADF || res == -ENOTTY || answer_known(call, -res))
		return;
	n = __atomic_fetch_add(&shared->nunexpected, 1, __ATOMIC_SEQ_CST);
	if (n < RANDOM_UNEXPECTED)
		shared->unexpected[n] = (struct random_unexpected){ call, -res };
}

/*
 * Memory
 */

/*
 * Far below the addresses that the kernel chooses for mappings. Otherwise the ring of another
 * thread could be mapped into a hole of the arena, and would be lost when the hole is filled.
 */
#define MEMORY_BASE	(1ULL << 40)
#define MEMORY_STEP	(1ULL << 20)

static void *map(unsigned int nr, size_t size, int prot)
{
	void *p = mmap((void *)(MEMORY_BASE + nr * MEMORY_STEP), size, prot,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (p == MAP_FAILED)
		_exit(3);
	return p;
}

static void memory_begin(struct random_memory *memory)
{
	memory->edge = map(0, 4096, PROT_READ | PROT_WRITE) + 4096;
	memory->arena = map(1, RANDOM_ARENA, PROT_READ | PROT_WRITE);
	memory->read_only = map(2, 65536, PROT_READ);
	memory->no_access = map(3, 65536, PROT_NONE);
	memory->valid = map(4, 4096, PROT_READ | PROT_WRITE);
}

/* Map other memory in its place: anonymous memory, or memory of the device. */
static void memory_replace(struct random_thread *t, void *arena)
{
	int fd = rng_once_in(&t->rng, 2) ? random_file(t) : -1;

	/* Most other files cannot be mapped. */
	if (fd >= 0 && mmap(arena, RANDOM_ARENA, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED)
		return;
	mmap(arena, RANDOM_ARENA, PROT_READ | PROT_WRITE,
	     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

/* Change the mapping while other threads use it. The contents do not matter. */
static void memory_disturb(struct random_thread *t)
{
	__u8 *arena = t->process->memory.arena;
	size_t at = rng_below(&t->rng, RANDOM_ARENA / 4096) * 4096;
	size_t len = min_t(size_t, (1 + rng_below(&t->rng, 8)) * 4096, RANDOM_ARENA - at);

	switch (rng_below(&t->rng, 4)) {
	case 0:
		munmap(arena + at, len);
		break;
	case 1:
		madvise(arena + at, len, MADV_DONTNEED);
		return;
	case 2:
		mprotect(arena + at, len, PROT_READ);
		break;
	default:
		break;
	}
	if (rng_once_in(&t->rng, 2))
		usleep(rng_below(&t->rng, 500));
	memory_replace(t, arena);
}

/*
 * Files
 */

int random_file(struct random_thread *t)
{
	unsigned int n = rng_below(&t->rng, 4) ? t->process->nranks : RANDOM_FILES;

	return __atomic_load_n(&t->process->file[rng_below(&t->rng, n)], __ATOMIC_RELAXED);
}

static bool is_device(int fd)
{
	struct collective_status status = { .size = sizeof(status) };

	return !ioctl(fd, COLLECTIVE_IOC_STATUS, &status);
}

/* Do not touch the memory: the number may be that of another file by now. */
static void file_map(struct random_thread *t, int fd)
{
	size_t len = (1 + rng_below(&t->rng, 1200)) * 4096;
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		       rng_below(&t->rng, 4) ? MAP_SHARED : MAP_PRIVATE, fd,
		       rng_below(&t->rng, 4) ? 0 : 4096);

	if (p != MAP_FAILED)
		munmap(p, len);
}

static int file_new(struct rng *rng)
{
	int ends[2];

	switch (rng_below(rng, 12)) {
	case 0:
		return open("/dev/null", O_RDWR | O_CLOEXEC);
	case 1:
		return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	case 2:
		if (pipe2(ends, O_CLOEXEC))
			return -1;
		close(ends[1]);
		return ends[0];
	case 3:
		return -1;
	}
	return open("/dev/collective",
		    O_RDWR | O_CLOEXEC | (rng_once_in(rng, 2) ? O_NONBLOCK : 0));
}

/* Replace a file while other threads use it. */
static void file_replace(struct random_thread *t)
{
	unsigned int n = rng_below(&t->rng, RANDOM_FILES);
	int fd = file_new(&t->rng);

	/* Replace files of the group rarely, so that operations can succeed. */
	if (n < t->process->nranks && !rng_once_in(&t->rng, 8))
		n = t->process->nranks;
	fd = __atomic_exchange_n(&t->process->file[n], fd, __ATOMIC_SEQ_CST);
	random_call_begin(t, RANDOM_CLOSE);
	close(fd);
	random_call_end(t, RANDOM_CLOSE, 0);
}

static void call_ioctl(struct random_thread *t)
{
	static const __u8 often[] = { 2, 5, 5, 5, 5, 5, 6, 6, 6, 7, 7, 3, 3, 4, 8 };
	union argument arg;
	struct rng *rng = &t->rng;
	unsigned int nr = rng_once_in(rng, 4) ? rng_below(rng, RANDOM_IOCTLS) :
						often[rng_below(rng, sizeof(often))];
	int fd = random_file(t), res;
	void *place;

	/* LEAVE ends the group: call it rarely. */
	if (nr == 9 && !rng_once_in(rng, 8))
		return;
	random_fill(t, nr, &arg);
	if (rng_once_in(rng, 3))
		random_corrupt(t, &arg);
	random_limit_time(nr, &arg);
	place = random_address(t, &arg);
	if (!is_device(fd))
		nr = RANDOM_NO_IOCTL;
	random_call_begin(t, nr);
	res = ioctl(fd, _IO(COLLECTIVE_IOC_MAGIC, nr == RANDOM_NO_IOCTL ? 0 : nr), place);
	res = res < 0 ? -errno : res;
	/* The number was another file's before the call, or has become another file's since. */
	if (nr == RANDOM_NO_IOCTL || !is_device(fd))
		res = res < 0 ? -EBADF : res;
	random_call_end(t, nr, res);
}

static void call_no_ioctl(struct random_thread *t)
{
	union argument arg = { .size = 8 };
	unsigned int cmd = boundary_number(&t->rng);
	int fd = random_file(t), res;

	if (rng_once_in(&t->rng, 2))
		cmd = _IOC(rng_below(&t->rng, 4), COLLECTIVE_IOC_MAGIC, rng_below(&t->rng, 16),
			   rng_below(&t->rng, 256));
	if ((cmd & ~0xffU) == _IO(COLLECTIVE_IOC_MAGIC, 0) || !is_device(fd))
		return;
	/* Avoid ioctls that every file has. */
	if (_IOC_TYPE(cmd) != COLLECTIVE_IOC_MAGIC)
		cmd = _IOC(_IOC_DIR(cmd), 0xdd, _IOC_NR(cmd), _IOC_SIZE(cmd));
	random_call_begin(t, RANDOM_NO_IOCTL);
	res = ioctl(fd, cmd, &arg) < 0 ? -errno : 0;
	random_call_end(t, RANDOM_NO_IOCTL, is_device(fd) ? res : -EBADF);
}

/*
 * All members submit the same operation, sometimes but for the count, and wait for most of the
 * requests.
 */
static void call_all(struct random_thread *t)
{
	__u64 request[RANDOM_RANKS] = { 0 };
	struct collective_op op;
	unsigned int rank;

	valid_op(t, &op);
	for (rank = 0; rank < t->process->nranks; rank++) {
		int fd = t->process->file[rank];

		if (!is_device(fd))
			continue;
		if (rng_once_in(&t->rng, 24))
			op.count = rng_below(&t->rng, op.count + 1);
		random_call_begin(t, 5);
		random_call_end(t, 5, member_start(fd, &op, &request[rank]));
	}
	for (rank = 0; rank < t->process->nranks; rank++) {
		if (!request[rank] || rng_once_in(&t->rng, 4))
			continue;
		random_call_begin(t, 6);
		random_call_end(t, 6, member_wait(t->process->file[rank], request[rank], 0));
	}
}

static void call_other(struct random_thread *t)
{
	int fd = random_file(t);
	struct pollfd poller = { .fd = fd, .events = rng_next(&t->rng) };
	char byte[64];

	switch (rng_below(&t->rng, 6)) {
	case 0:
		poll(&poller, 1, 1);
		break;
	case 1:
		if (is_device(fd))
			read(fd, byte, sizeof(byte));
		break;
	case 2:
		write(fd, byte, 0);
		break;
	case 3:
		fcntl(fd, F_SETFL, rng_once_in(&t->rng, 2) ? O_NONBLOCK : 0);
		break;
	case 4:
		file_map(t, fd);
		break;
	default:
		memory_disturb(t);
	}
}

/* A child process has the files, but may not use them. */
static void call_forked(struct random_thread *t)
{
	unsigned int n;
	pid_t pid;

	pid = fork();
	if (!pid) {
		for (n = 0; n < 20; n++)
			call_ioctl(t);
		_exit(0);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

static void *thread_run(void *arg)
{
	struct random_thread *t = arg;

	while (now_ms() < t->process->end) {
		switch (rng_below(&t->rng, 64)) {
		case 0:
			file_replace(t);
			break;
		case 1 ... 4:
			call_other(t);
			break;
		case 5 ... 8:
			call_no_ioctl(t);
			break;
		case 9 ... 20:
			call_all(t);
			break;
		case 21:
			if (rng_once_in(&t->rng, 16))
				call_forked(t);
			break;
		default:
			call_ioctl(t);
		}
	}
	return NULL;
}

/*
 * A process
 */

/* Make a valid group, as far as possible. */
static void random_group(struct random_process *process, struct rng *rng)
{
	struct random_shared *shared = process->shared;
	unsigned int rank, lanes = 1 + rng_below(rng, 2);

	group_unique(shared->name[process->worker], sizeof(shared->name[0]),
		     &shared->id[process->worker]);
	for (rank = 0; rank < process->nranks; rank++) {
		struct collective_join join = {
			.size = sizeof(join),
			.id = shared->id[process->worker],
			.rank = rank,
			.nranks = process->nranks,
			.transport = transport_choice(NULL),
			.lanes = lanes,
			.timeout_ms = RANDOM_TIMEOUT_MS,
			.heartbeat_ms = RANDOM_HEARTBEAT_MS,
			.addr_len = sizeof(struct sockaddr_in),
		};

		memcpy(join.name, shared->name[process->worker], sizeof(join.name));
		loopback(&process->addr[rank], AF_INET);
		memcpy(join.addr, &process->addr[rank], sizeof(process->addr[rank]));
		process->file[rank] = member_open();
		if (member_ioctl(process->file[rank], COLLECTIVE_IOC_JOIN, &join))
			return;
		memcpy(&process->addr[rank], join.addr, sizeof(process->addr[rank]));
	}
	memcpy(process->memory.valid->peers, process->addr, sizeof(process->addr));
	/* Sometimes CONNECT is left to the threads. */
	for (rank = 0; rank < process->nranks && rng_below(rng, 8); rank++) {
		fcntl(process->file[rank], F_SETFL, O_NONBLOCK);
		member_connect(process->file[rank], process->addr, process->nranks, 5000);
	}
	for (rank = 0; rank < process->nranks; rank++) {
		struct pollfd poller = { .fd = process->file[rank], .events = POLLOUT };

		poll(&poller, 1, 500);
		fcntl(process->file[rank], F_SETFL, 0);
		if (links_check(shared->name[process->worker], rank, links_local()))
			_exit(6);
	}
}

/* Addresses at which no rank listens; some cannot be connected to. */
static void valid_addresses(struct random_valid *valid, struct rng *rng)
{
	static const __u32 hosts[] = {
		0x7f000001, 0x7f123456, 0, 0xffffffff, 0xe0000001, 0xc0000201, 0xf0000001,
	};
	unsigned int i;

	for (i = 0; i < RANDOM_RANKS; i++) {
		struct sockaddr_in *in = (struct sockaddr_in *)&valid->unreachable[i];

		loopback(&valid->unreachable[i], rng_once_in(rng, 4) ? AF_INET6 : AF_INET);
		in->sin_port = rng_next(rng);
		if (in->sin_family == AF_INET)
			in->sin_addr.s_addr = htonl(hosts[rng_below(rng, ARRAY_SIZE(hosts))]);
	}
}

static void random_valid_fill(struct random_valid *valid, struct rng *rng)
{
	const __u64 at = (uintptr_t)valid->counts;
	unsigned int i;

	valid_addresses(valid, rng);
	for (i = 0; i < ARRAY_SIZE(valid->counts); i++)
		valid->counts[i] = 1 + rng_below(rng, 32);
	valid->layout.size = sizeof(valid->layout);
	if (rng_once_in(rng, 2))
		valid->layout.recv_counts = at;
	if (rng_once_in(rng, 2))
		valid->layout.send_counts = at + RANDOM_RANKS * 8;
	if (rng_once_in(rng, 4))
		valid->layout.recv_displs = at + 2 * RANDOM_RANKS * 8;
	if (rng_once_in(rng, 4)) {
		valid->layout.recv.rows = 1 + rng_below(rng, 4);
		valid->layout.recv.stride = rng_below(rng, 256);
		valid->layout.recv.distance = rng_below(rng, 64);
	}
}

static void on_alarm(int signal)
{
}

/* Some processes get signals, some have a small RLIMIT_MEMLOCK. */
static void random_limits(struct rng *rng)
{
	struct sigaction action = { .sa_handler = on_alarm };
	struct itimerval timer = { .it_value.tv_usec = 3000, .it_interval.tv_usec = 3000 };
	struct rlimit limit = { 1 << 20, 1 << 20 };

	if (rng_once_in(rng, 3)) {
		action.sa_flags = rng_once_in(rng, 2) ? SA_RESTART : 0;
		sigaction(SIGALRM, &action, NULL);
		setitimer(ITIMER_REAL, &timer, NULL);
	}
	if (rng_once_in(rng, 3)) {
		setrlimit(RLIMIT_MEMLOCK, &limit);
		if (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
			_exit(5);
	}
}

void random_process_run(struct random_shared *shared, unsigned int worker, __u64 seed,
			unsigned int ms)
{
	struct random_process process = { .shared = shared, .worker = worker, .seed = seed };
	struct random_thread thread[RANDOM_THREADS] = {};
	struct rng rng = { seed };
	unsigned int i;

	signal(SIGPIPE, SIG_IGN);
	random_limits(&rng);
	memory_begin(&process.memory);
	random_valid_fill(process.memory.valid, &rng);
	for (i = 0; i < RANDOM_FILES; i++)
		process.file[i] = -1;
	process.nranks = 1 + rng_below(&rng, RANDOM_RANKS);
	random_group(&process, &rng);
	for (i = process.nranks; i < RANDOM_FILES; i++)
		process.file[i] = file_new(&rng);
	process.end = now_ms() + ms;
	for (i = 0; i < RANDOM_THREADS; i++) {
		thread[i] = (struct random_thread){
			.process = &process,
			.rng = { rng_next(&rng) },
			.watch = &shared->watch[worker][i],
		};
		if (pthread_create(&thread[i].thread, NULL, i ? thread_run : random_uring,
				   &thread[i]))
			_exit(6);
	}
	for (i = 0; i < RANDOM_THREADS; i++)
		pthread_join(thread[i].thread, NULL);
	for (i = 0; i < RANDOM_FILES && rng_once_in(&rng, 2); i++) {
		random_call_begin(&thread[0], RANDOM_CLOSE);
		close(process.file[i]);
		random_call_end(&thread[0], RANDOM_CLOSE, 0);
	}
}
