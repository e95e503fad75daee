// SPDX-License-Identifier: GPL-2.0-only
#include "lib/group.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/record.h"

__u64 now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ULL + ts.tv_nsec / 1000000;
}

void sleep_ms(unsigned int ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000L };

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

/* One write() a line, so that lines of several ranks do not mix. */
void group_report_failure(const char *file, int line, const char *what, long long want,
			  long long got)
{
	if (want || got)
		dprintf(STDOUT_FILENO, "# %s:%d: pid %d: %s: want %lld, have %lld\n", file, line,
			getpid(), what, want, got);
	else
		dprintf(STDOUT_FILENO, "# %s:%d: pid %d: not so: %s\n", file, line, getpid(),
			what);
}

/*
 * Members
 */

int member_ioctl(int fd, unsigned long cmd, void *arg)
{
	return ioctl(fd, cmd, arg) < 0 ? -errno : 0;
}

int member_open(void)
{
	int fd = open("/dev/collective", O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* RDMA does not work with 127.0.0.1 and ::1: these are those of selftests/vm/run --rdma. */
#define RDMA_ADDR	0x0a580001	/* 10.88.0.1 */
#define RDMA_ADDR6	"\xfd\x88\0\0\0\0\0\0\0\0\0\0\0\0\0\1"	/* fd88::1 */

void own_address(struct sockaddr_storage *addr, int family, unsigned int transport)
{
	bool rdma = transport == COLLECTIVE_TRANSPORT_RDMA;

	memset(addr, 0, sizeof(*addr));
	addr->ss_family = family;
	if (family == AF_INET)
		((struct sockaddr_in *)addr)->sin_addr.s_addr =
			htonl(rdma ? RDMA_ADDR : INADDR_LOOPBACK);
	else if (rdma)
		memcpy(&((struct sockaddr_in6 *)addr)->sin6_addr, RDMA_ADDR6, 16);
	else
		((struct sockaddr_in6 *)addr)->sin6_addr = in6addr_loopback;
}

void loopback(struct sockaddr_storage *addr, int family)
{
	own_address(addr, family, transport_choice(NULL));
}

unsigned int transport_choice(const char *name)
{
	static const char * const names[COLLECTIVE_TRANSPORT_COUNT] = {
		[COLLECTIVE_TRANSPORT_TCP] = "tcp",
		[COLLECTIVE_TRANSPORT_RDMA] = "rdma",
		[COLLECTIVE_TRANSPORT_LOCAL] = "local",
		[COLLECTIVE_TRANSPORT_AUTO] = "auto",
	};
	unsigned int i = 0;

	if (!name)
		name = getenv("COLL_TRANSPORT");
	if (!name || !*name)
		return COLLECTIVE_TRANSPORT_AUTO;
	while (i < COLLECTIVE_TRANSPORT_COUNT && strcmp(name, names[i]))
		i++;
	return i;
}

static void join_fill(struct collective_join *join, const char *name, __u64 id,
		      unsigned int rank, unsigned int nranks)
{
	memset(join, 0, sizeof(*join));
	join->transport = transport_choice(NULL);
	join->size = sizeof(*join);
	memcpy(join->name, name, strlen(name));
	join->id = id;
	join->rank = rank;
	join->nranks = nranks;
}

static int join_at(int fd, struct collective_join *join, struct sockaddr_storage *addr)
{
	int err;

	join->addr_len = sizeof(*addr);
	memcpy(join->addr, addr, sizeof(*addr));
	err = member_ioctl(fd, COLLECTIVE_IOC_JOIN, join);
	if (!err)
		memcpy(addr, join->addr, sizeof(*addr));
	return err;
}

int member_join(int fd, const char *name, __u64 id, unsigned int rank, unsigned int nranks,
		struct sockaddr_storage *addr)
{
	struct collective_join join;

	join_fill(&join, name, id, rank, nranks);
	loopback(addr, AF_INET);
	return join_at(fd, &join, addr);
}

int member_join_as(int fd, struct collective_join *join, const char *name,
		   struct sockaddr_storage *addr)
{
	join->size = sizeof(*join);
	memcpy(join->name, name, strlen(name));
	own_address(addr, AF_INET, join->transport);
	return join_at(fd, join, addr);
}

int member_connect(int fd, const struct sockaddr_storage *addr, unsigned int npeers,
		   unsigned int timeout_ms)
{
	struct collective_connect connect = {
		.size = sizeof(connect),
		.peers = (uintptr_t)addr,
		.npeers = npeers,
		.timeout_ms = timeout_ms,
	};

	return member_ioctl(fd, COLLECTIVE_IOC_CONNECT, &connect);
}

int member_status(int fd, struct collective_status *status)
{
	memset(status, 0, sizeof(*status));
	status->size = sizeof(*status);
	return member_ioctl(fd, COLLECTIVE_IOC_STATUS, status);
}

int member_leave(int fd)
{
	struct collective_leave leave = { .size = sizeof(leave) };

	return member_ioctl(fd, COLLECTIVE_IOC_LEAVE, &leave);
}

int member_submit(int fd, const struct collective_op *op)
{
	struct collective_submit submit = { .size = sizeof(submit), .op = *op };
	int err;

	do {
		err = member_ioctl(fd, COLLECTIVE_IOC_SUBMIT, &submit);
	} while (err == -EINTR && submit.request);
	return err;
}

int member_start(int fd, const struct collective_op *op, __u64 *request)
{
	struct collective_submit submit = {
		.size = sizeof(submit),
		.flags = COLLECTIVE_SUBMIT_NOWAIT,
		.op = *op,
	};
	int err = member_ioctl(fd, COLLECTIVE_IOC_SUBMIT, &submit);

	*request = submit.request;
	return err;
}

int member_wait(int fd, __u64 request, unsigned int flags)
{
	struct collective_wait wait = { .size = sizeof(wait), .flags = flags, .request = request };

	return member_ioctl(fd, COLLECTIVE_IOC_WAIT, &wait);
}

/* The caller sets the flags and the timeout of @wait. */
int member_wait_any(int fd, struct collective_wait *wait, const __u64 *requests,
		    unsigned int count)
{
	wait->size = sizeof(*wait);
	wait->flags |= COLLECTIVE_WAIT_ANY;
	wait->requests = (uintptr_t)requests;
	wait->count = count;
	return member_ioctl(fd, COLLECTIVE_IOC_WAIT, wait);
}

int member_register(int fd, void *addr, size_t length, unsigned int flags, __u32 *buffer)
{
	struct collective_register reg = {
		.size = sizeof(reg),
		.flags = flags,
		.addr = (uintptr_t)addr,
		.length = length,
	};
	int err = member_ioctl(fd, COLLECTIVE_IOC_REGISTER, &reg);

	*buffer = err ? 0 : reg.buffer;
	return err;
}

int member_unregister(int fd, __u32 buffer)
{
	struct collective_unregister unreg = { .size = sizeof(unreg), .buffer = buffer };

	return member_ioctl(fd, COLLECTIVE_IOC_UNREGISTER, &unreg);
}

int member_allreduce(int fd, const void *send, void *recv, __u64 count, int type, int reduction)
{
	struct collective_op op = {
		.opcode = COLLECTIVE_ALLREDUCE,
		.type = type,
		.reduction = reduction,
		.count = count,
		.send = (uintptr_t)send,
		.recv = (uintptr_t)recv,
	};

	return member_submit(fd, &op);
}

int member_barrier(int fd)
{
	struct collective_op op = { .opcode = COLLECTIVE_BARRIER };

	return member_submit(fd, &op);
}

int members_await_up(const int *fd, unsigned int n)
{
	struct pollfd poller = { .events = POLLOUT };
	unsigned int i;

	for (i = 0; i < n; i++) {
		poller.fd = fd[i];
		if (poll(&poller, 1, 60000) != 1 || poller.revents != POLLOUT)
			return -ETIMEDOUT;
		fcntl(fd[i], F_SETFL, 0);
	}
	return 0;
}

int members_make(int *fd, struct sockaddr_storage *addr, unsigned int n, const char *name,
		 __u64 id)
{
	unsigned int i;
	int err;

	for (i = 0; i < n; i++)
		fd[i] = -1;
	for (i = 0; i < n; i++) {
		fd[i] = member_open();
		err = fd[i] < 0 ? fd[i] : member_join(fd[i], name, id, i, n, &addr[i]);
		if (err)
			return err;
		fcntl(fd[i], F_SETFL, O_NONBLOCK);
	}
	for (i = 0; i < n; i++) {
		err = member_connect(fd[i], addr, n, 60000);
		if (err && err != -EINPROGRESS)
			return err;
	}
	return members_await_up(fd, n);
}

/* The loopback device of this network namespace. */
int loopback_set(bool up)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq ifr = { .ifr_name = "lo", .ifr_flags = up ? IFF_UP : 0 };
	int err = ioctl(fd, SIOCSIFFLAGS, &ifr) ? -errno : 0;

	close(fd);
	return err;
}

/*
 * Groups
 */

void group_unique(char *name, size_t size, __u64 *id)
{
	static unsigned int serial;

	snprintf(name, size, "test.%d-%u", getpid(), serial++);
	*id = now_ms() << 20 | getpid();
}

void flag_set(struct group_shared *shared, unsigned int flag, unsigned int value)
{
	__atomic_store_n(&shared->flag[flag], value, __ATOMIC_SEQ_CST);
}

void flag_add(struct group_shared *shared, unsigned int flag)
{
	__atomic_add_fetch(&shared->flag[flag], 1, __ATOMIC_SEQ_CST);
}

bool word_wait(const unsigned int *word, unsigned int value, unsigned int timeout_ms)
{
	const __u64 end = now_ms() + timeout_ms;

	while (__atomic_load_n(word, __ATOMIC_SEQ_CST) < value) {
		if (now_ms() > end)
			return false;
		usleep(1000);
	}
	return true;
}

/* Return: true when the flag is at least @value, false on timeout. */
bool flag_wait(struct group_shared *shared, unsigned int flag, unsigned int value,
	       unsigned int timeout_ms)
{
	return word_wait(&shared->flag[flag], value, timeout_ms);
}

/* Wait until @nranks ranks, the caller among them, have called this with @flag. */
bool flag_barrier(struct group_shared *shared, unsigned int flag, unsigned int nranks)
{
	flag_add(shared, flag);
	return flag_wait(shared, flag, nranks, 20000);
}

int rank_connect(struct rank *r)
{
	return member_connect(r->fd, r->shared->addr, r->nranks, 20000);
}

static void reason_print(const char *name, const struct rank *r,
			 const struct collective_reason *reason)
{
	if (reason->kind != COLLECTIVE_REASON_NONE)
		dprintf(STDOUT_FILENO, "# rank %u: %s: kind %u error %u ranks %d %d op %lld\n",
			r->rank, name, reason->kind, reason->error, (int)reason->rank_a,
			(int)reason->rank_b, (long long)reason->instance);
}

static void call_print(const struct rank *r, const struct collective_call *call)
{
	if (call->rank != COLLECTIVE_RANK_NONE)
		dprintf(STDOUT_FILENO,
			"# rank %u: rank %u: opcode %u algorithm %u flags %x root %u count %llu\n",
			r->rank, call->rank, call->opcode, call->algorithm, call->flags,
			call->root, (unsigned long long)call->count);
}

/* What the flight recorder says of links and failures. */
static void record_print(const struct rank *r)
{
	char path[256], line[512];
	FILE *file;

	file_path(path, sizeof(path), r->group->name, r->rank);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (strstr(line, " link") || strstr(line, " abort"))
			dprintf(STDOUT_FILENO, "# rank %u: %s", r->rank, line);
	if (file)
		fclose(file);
}

static void rank_explain(const struct rank *r)
{
	struct collective_status status;

	if (member_status(r->fd, &status))
		return;
	reason_print("group", r, &status.group);
	reason_print("last operation", r, &status.last);
	record_print(r);
	if (status.last.kind == COLLECTIVE_REASON_MISMATCH) {
		call_print(r, &status.calls[0]);
		call_print(r, &status.calls[1]);
	}
}

/* Pin this rank to one of the CPUs that it may use, chosen by its number. */
static int rank_bind(const struct rank *r)
{
	cpu_set_t all, mine;
	unsigned int cpus = r->group->config.cpus, nth, cpu;

	CHECK_EQ(0, sched_getaffinity(0, sizeof(all), &all));
	if (!cpus || cpus > (unsigned int)CPU_COUNT(&all))
		cpus = CPU_COUNT(&all);
	nth = r->rank % cpus;
	for (cpu = 0; !CPU_ISSET(cpu, &all) || nth--; cpu++)
		;
	CPU_ZERO(&mine);
	CPU_SET(cpu, &mine);
	CHECK_EQ(0, sched_setaffinity(0, sizeof(mine), &mine));
	return 0;
}

static unsigned int choice_of(const struct group_config *config, unsigned int rank)
{
	return config->transport ? config->transport[rank] : transport_choice(NULL);
}

/* Ranks (bits) that have made a choice. */
static unsigned int ranks_with(const struct group_config *config, unsigned int transport)
{
	unsigned int i, ranks = 0;

	for (i = 0; i < config->nranks; i++)
		if (choice_of(config, i) == transport)
			ranks |= 1U << i;
	return ranks;
}

/*
 * Between ranks of this kernel a link is local unless one of them has chosen TCP or RDMA, and by
 * RDMA if one of them has chosen that.
 */
static int rank_check_links(const struct rank *r)
{
	const struct group_config *config = &r->group->config;
	unsigned int local = ranks_with(config, COLLECTIVE_TRANSPORT_LOCAL) |
			     ranks_with(config, COLLECTIVE_TRANSPORT_AUTO);
	unsigned int rdma = ranks_with(config, COLLECTIVE_TRANSPORT_RDMA);

	if (rdma & 1U << r->rank)
		rdma = ~0U;
	return links_check_all(r->group->name, r->rank, local & 1U << r->rank ? local : 0, rdma);
}

static int rank_main(struct rank *r, rank_fn fn)
{
	const struct group_config *config = &r->group->config;
	struct sockaddr_storage *addr = &r->shared->addr[r->rank];
	struct collective_join join;
	int err;

	if (config->bound)
		CHECK_EQ(0, rank_bind(r));
	if (config->enter)
		CHECK_EQ(0, config->enter(r->rank));
	r->fd = member_open();
	CHECK(r->fd >= 0);
	join_fill(&join, r->group->name, r->group->id, r->rank, r->nranks);
	join.lanes = config->lanes;
	join.timeout_ms = config->timeout_ms;
	join.heartbeat_ms = config->heartbeat_ms;
	memcpy(join.algorithm, config->algorithm, sizeof(join.algorithm));
	if (config->transport)
		join.transport = config->transport[r->rank];
	own_address(addr, config->family ? config->family : AF_INET,
		    ranks_with(config, COLLECTIVE_TRANSPORT_RDMA) ? COLLECTIVE_TRANSPORT_RDMA :
								    join.transport);
	CHECK_EQ(0, join_at(r->fd, &join, addr));

	__atomic_add_fetch(&r->shared->joined, 1, __ATOMIC_SEQ_CST);
	CHECK(word_wait(&r->shared->joined, r->nranks, 20000));
	if (!config->unconnected)
		CHECK_EQ(0, rank_connect(r));
	err = fn(r);
	if (!err)
		err = rank_check_links(r);
	/* A rank that exits without LEAVE would fail ranks that are still in the last operation. */
	if (!err)
		member_leave(r->fd);
	else
		rank_explain(r);
	return err;
}

int group_start(struct group *group, const struct group_config *config, rank_fn fn, void *arg)
{
	unsigned int i;

	memset(group, 0, sizeof(*group));
	group->config = *config;
	group_unique(group->name, sizeof(group->name), &group->id);
	group->shared = mmap(NULL, sizeof(*group->shared), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (group->shared == MAP_FAILED)
		return -errno;

	for (i = 0; i < config->nranks; i++) {
		struct rank r = {
			.group = group,
			.shared = group->shared,
			.rank = i,
			.nranks = config->nranks,
			.arg = arg,
		};

		group->pid[i] = fork();
		if (group->pid[i] < 0)
			return -errno;
		if (!group->pid[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			_exit(rank_main(&r, fn));
		}
	}
	return 0;
}

/* Return: the number of ranks that did not return 0, killed ranks included. */
int group_wait(struct group *group)
{
	unsigned int i;
	int failed = 0;

	for (i = 0; i < group->config.nranks; i++) {
		waitpid(group->pid[i], &group->status[i], 0);
		if (!WIFEXITED(group->status[i]) || WEXITSTATUS(group->status[i]))
			failed++;
		if (WIFSIGNALED(group->status[i]) && WTERMSIG(group->status[i]) != SIGKILL)
			dprintf(STDOUT_FILENO, "# rank %u: signal %d\n", i,
				WTERMSIG(group->status[i]));
	}
	munmap(group->shared, sizeof(*group->shared));
	group->shared = NULL;
	return failed;
}

int group_run(const struct group_config *config, rank_fn fn, void *arg)
{
	struct group group;
	int err = group_start(&group, config, fn, arg);

	return err ? err : group_wait(&group);
}

/*
 * Values of sysfs and procfs
 */

static long long number_in(const char *path, const char *key)
{
	size_t len = strlen(key);
	long long value = -1;
	char line[256];
	FILE *file = fopen(path, "re");

	if (!file)
		return -errno;
	while (fgets(line, sizeof(line), file)) {
		if (strncmp(line, key, len))
			continue;
		value = strtoll(line + len, NULL, 10);
		break;
	}
	fclose(file);
	return value;
}

/* The folder of a group of root is NAME, and of another user NAME@UID. */
void group_folder(char *path, size_t size, const char *name, uid_t owner)
{
	int length = snprintf(path, size, "/sys/class/collective/collective/groups/%s", name);

	if (owner)
		snprintf(path + length, size - length, "@%u", owner);
}

/* A group belongs to the user that made it: a process may have become another one since. */
static void member_path(char *path, size_t size, const char *name, unsigned int rank,
			const char *file)
{
	size_t length;

	group_folder(path, size, name, geteuid());
	if (access(path, F_OK))
		group_folder(path, size, name, 0);
	length = strlen(path);
	snprintf(path + length, size - length, "/%u/%s", rank, file);
}

/* Return: the value of a member's sysfs file, or a negative number. */
long long member_value(const char *name, unsigned int rank, const char *file)
{
	char path[256];

	member_path(path, sizeof(path), name, rank, file);
	return number_in(path, "");
}

/*
 * The bytes charged for a member that is connected and has no call in progress, once they have
 * stayed the same for 300 ms.  A member whose links are all local closes its listener after
 * CONNECT has returned, and its charge falls then.
 * Return: the bytes, or -ETIMEDOUT.
 */
long long member_memory(const char *name, unsigned int rank)
{
	const __u64 end = now_ms() + 20000;
	long long bytes = -1, seen;
	__u64 since = 0;

	while (now_ms() < end) {
		seen = member_value(name, rank, "memory_bytes");
		if (seen != bytes)
			since = now_ms();
		else if (now_ms() - since >= 300)
			return bytes;
		bytes = seen;
		sleep_ms(10);
	}
	return -ETIMEDOUT;
}

bool member_await(const char *name, unsigned int rank, const char *file, long long value)
{
	const __u64 end = now_ms() + 20000;

	while (member_value(name, rank, file) != value) {
		if (now_ms() > end)
			return false;
		sleep_ms(2);
	}
	return true;
}

/* Read a file of sysfs or procfs. Return: 0, -ENODATA if it is empty, or another negative errno. */
int file_get(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;
	int err;

	if (fd < 0)
		return -errno;
	n = read(fd, text, size - 1);
	err = n < 0 ? -errno : n ? 0 : -ENODATA;
	text[err ? 0 : n] = 0;
	close(fd);
	return err;
}

/* Write to a file of sysfs or procfs. Return: 0 or a negative errno. */
int file_set(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int err = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		err = -errno;
	close(fd);
	return err;
}

/* Read a member's sysfs file.  Return: 0 or a negative errno. */
int member_get(const char *name, unsigned int rank, const char *file, char *text, size_t size)
{
	char path[256];

	member_path(path, sizeof(path), name, rank, file);
	return file_get(path, text, size);
}

/* Write to a member's sysfs file, as an administrator does. Return: 0 or a negative errno. */
int member_set(const char *name, unsigned int rank, const char *file, const char *text)
{
	char path[256];

	member_path(path, sizeof(path), name, rank, file);
	return file_set(path, text);
}

/* Ranks of a list such as "0-2,5", as bits. */
static unsigned int list_bits(const char *list)
{
	unsigned int first, last, bits = 0;

	while (sscanf(list, "%u", &first) == 1) {
		if (sscanf(list, "%u-%u", &first, &last) != 2)
			last = first;
		for (; first <= last && first < 32; first++)
			bits |= 1U << first;
		list += strcspn(list, ",\n");
		list += strspn(list, ",\n");
	}
	return bits;
}

/* Ranks that a file of a member lists; 0 if a file before it could not be read. */
static unsigned int links_read(const char *name, unsigned int rank, const char *file, int *err)
{
	char text[4096];

	if (!*err)
		*err = member_get(name, rank, file, text, sizeof(text));
	return *err ? 0 : list_bits(text);
}

int links_get(const char *name, unsigned int rank, struct links *links)
{
	int err = 0;

	links->local = links_read(name, rank, "links/local", &err);
	links->tcp = links_read(name, rank, "links/tcp", &err);
	links->rdma = links_read(name, rank, "links/rdma", &err);
	return err;
}

int links_check_all(const char *name, unsigned int rank, unsigned int local, unsigned int rdma)
{
	struct links links;
	int err = links_get(name, rank, &links);

	/* The rank has left, or is not seen from here. */
	if (err == -ENOENT || err == -ENODEV)
		return 0;
	CHECK_EQ(0, err);
	CHECK_EQ(0, links.local & ~local);
	CHECK_EQ(0, links.rdma & ~rdma);
	CHECK_EQ(0, links.tcp & (local | rdma));
	return 0;
}

int links_check(const char *name, unsigned int rank, unsigned int local)
{
	char choice[16] = "";
	int err = member_get(name, rank, "transport", choice, sizeof(choice));

	if (err == -ENOENT || err == -ENODEV)
		return 0;
	CHECK_EQ(0, err);
	return links_check_all(name, rank, local, strcmp(choice, "rdma\n") ? 0 : ~local);
}

long long rank_value(const struct rank *r, const char *file)
{
	return member_value(r->group->name, r->rank, file);
}

long long group_value(const struct rank *r, const char *file)
{
	long long sum = 0;
	unsigned int i;

	for (i = 0; i < r->nranks; i++)
		sum += member_value(r->group->name, i, file);
	return sum;
}

/* Return: the value of a line of /proc/PID/status, as "VmPin:"; KiB. @pid 0 is this process. */
long long process_value(pid_t pid, const char *key)
{
	char path[64];

	if (pid)
		snprintf(path, sizeof(path), "/proc/%d/status", pid);
	else
		snprintf(path, sizeof(path), "/proc/self/status");
	return number_in(path, key);
}
