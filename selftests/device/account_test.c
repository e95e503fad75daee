// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel memory that calls and peers make the module allocate counts against a limit of the user,
 * is charged to the memory cgroup of the process that joined, and is freed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/two_ranks.h"
#include "lib/raw_peer.h"

#define LIMIT		"/sys/module/collective/parameters/user_memory_mib"
#define OTHER_USER	65534
#define MIB		(1024 * 1024)

/* A rank with the maximum number of peers and lanes; a MiB is enough for some of them. */
#define LARGE_RANKS	COLLECTIVE_RANKS_MAX
#define LARGE_RANK	(LARGE_RANKS - 1)
#define LARGE_LANES	COLLECTIVE_LANES_MAX
#define LARGE_MOST	32

FIXTURE(account) {
	char before[32];
	int limit;
};

/* Keep the file of the limit open: processes that cannot open it change the limit, too. */
FIXTURE_SETUP(account)
{
	ASSERT_EQ(0, file_get(LIMIT, self->before, sizeof(self->before)));
	self->limit = open(LIMIT, O_WRONLY | O_CLOEXEC);
	ASSERT_LE(0, self->limit);
}

FIXTURE_TEARDOWN(account)
{
	EXPECT_LT(0, pwrite(self->limit, self->before, strlen(self->before), 0));
	close(self->limit);
}

static int limit_set(int limit, unsigned int mib)
{
	char text[16];
	int n = snprintf(text, sizeof(text), "%u", mib);

	return pwrite(limit, text, n, 0) == n ? 0 : -errno;
}

/* Run @fn in a child process of a user that the limit applies to. */
static int as_other_user(int (*fn)(int limit), int limit)
{
	const struct rlimit any = { RLIM_INFINITY, RLIM_INFINITY };
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(setrlimit(RLIMIT_MEMLOCK, &any) ||
		      setresgid(OTHER_USER, OTHER_USER, OTHER_USER) ||
		      setresuid(OTHER_USER, OTHER_USER, OTHER_USER) || fn(limit));
	return pid > 0 && waitpid(pid, &status, 0) == pid ? status : -1;
}

struct large {
	char name[33];
	__u64 id;
	struct sockaddr_storage addr;
	int fd;
};

static int join_lanes(int fd, const char *name, __u64 id, unsigned int rank,
		      unsigned int nranks, unsigned int transport, struct sockaddr_storage *addr)
{
	struct collective_join join = {
		.id = id,
		.rank = rank,
		.nranks = nranks,
		.transport = transport,
		.lanes = LARGE_LANES,
	};

	return member_join_as(fd, &join, name, addr);
}

static int large_join(struct large *large)
{
	group_unique(large->name, sizeof(large->name), &large->id);
	large->fd = member_open();
	/* Its peers are sockets. */
	return join_lanes(large->fd, large->name, large->id, LARGE_RANK, LARGE_RANKS,
			  COLLECTIVE_TRANSPORT_TCP, &large->addr);
}

/* Connect as other ranks until a connection is not accepted. Return: the number accepted. */
static unsigned int large_call(const struct large *large, int *fds, unsigned int n)
{
	struct raw_peer_config call = {
		.addr = &large->addr,
		.name = large->name,
		.id = large->id,
		.to = LARGE_RANK,
		.nranks = LARGE_RANKS,
		.lanes = LARGE_LANES,
		.inflight = 512,
		.wait_ms = 3000,
	};
	__u8 hello[512];

	/* Links at distances that are powers of two exist since JOIN. */
	for (call.from = 0; call.from < n; call.from++) {
		raw_peer_hello(&call, 0, 0, hello);
		fds[call.from] = raw_peer_dial(&call, hello);
		if (fds[call.from] < 0)
			break;
	}
	return call.from;
}

static void close_all(const int *fds, unsigned int n)
{
	while (n--)
		close(fds[n]);
}

/* What JOIN charges and a member's value does not have, because it outlives the member; at most. */
#define RECORDER	4096

/* Join until a JOIN is refused.  Return: the number of those that were not; 0: another error. */
static unsigned int large_join_all(struct large *large)
{
	unsigned int n;
	int err;

	for (n = 0; n < LARGE_MOST; n++) {
		err = large_join(&large[n]);
		if (err)
			return err == -EDQUOT ? n : 0;
	}
	return n;
}

static int join_is_limited(int limit)
{
	unsigned int i, n, fit = 0;
	struct large large[LARGE_MOST];
	struct sockaddr_storage addr;
	long long bytes;

	CHECK_EQ(0, limit_set(limit, 1));
	for (i = 0; i < 20; i++) {
		n = large_join_all(large);
		CHECK(n && n < LARGE_MOST && (!fit || n == fit));
		fit = n;
		bytes = member_value(large[0].name, LARGE_RANK, "memory_bytes");
		CHECK(n * bytes <= MIB && (n + 1) * (bytes + RECORDER) > MIB);
		/* End by LEAVE or by close(), in turn. */
		while (n--) {
			if (i % 2)
				CHECK_EQ(0, member_leave(large[n].fd));
			close(large[n].fd);
		}
		/* The file of the one that was refused can be used again. */
		CHECK_EQ(0, member_join(large[fit].fd, large[fit].name, large[fit].id, 0, 1,
					&addr));
		close(large[fit].fd);
	}
	return 0;
}

TEST_F(account, join)
{
	EXPECT_EQ(0, as_other_user(join_is_limited, self->limit));
}

static int privileged_joins(int limit)
{
	struct large large[LARGE_MOST];
	unsigned int i;

	CHECK_EQ(0, limit_set(limit, 1));
	CHECK_EQ(LARGE_MOST, large_join_all(large));
	CHECK(LARGE_MOST * member_value(large[0].name, LARGE_RANK, "memory_bytes") > MIB);
	for (i = 0; i < LARGE_MOST; i++)
		close(large[i].fd);
	return 0;
}

TEST_F(account, privileged)
{
	EXPECT_EQ(0, privileged_joins(self->limit));
}

/* Bytes of a block. */
#define SCRATCH_BLOCK	(4U * MIB)

/* Two ranks start an operation that takes half a MiB of scratch memory in each lane. */
static int scratch_submit(const int *fd, __u8 *const *memory, __u64 *request)
{
	struct collective_op op = {
		.opcode = COLLECTIVE_ALLTOALL,
		.type = COLLECTIVE_UINT8,
		.count = SCRATCH_BLOCK,
	};
	int i, err = 0;

	for (i = 0; !err && i < 2; i++) {
		op.send = (uintptr_t)memory[i];
		op.recv = (uintptr_t)memory[i];
		err = member_start(fd[i], &op, &request[i]);
	}
	return err;
}

static int scratch_is_limited(int limit)
{
	struct sockaddr_storage addr[2];
	unsigned int i, mib, needed;
	__u64 id, request[2];
	__u8 *memory[2];
	char name[33];
	int fd[2];

	CHECK_EQ(0, limit_set(limit, 256));
	group_unique(name, sizeof(name), &id);
	for (i = 0; i < 2; i++) {
		fd[i] = member_open();
		CHECK_EQ(0, join_lanes(fd[i], name, id, i, 2, transport_choice(NULL),
				       &addr[i]));
		memory[i] = mmap(NULL, 2 * SCRATCH_BLOCK, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		CHECK(memory[i] != MAP_FAILED);
	}
	CHECK_EQ(0, two_ranks_connect(fd, addr));
	needed = member_value(name, 0, "memory_bytes");
	CHECK_EQ(0, scratch_submit(fd, memory, request));
	needed = member_value(name, 0, "memory_bytes") - needed;
	CHECK(needed >= LARGE_LANES * MIB / 2);
	for (i = 0; i < 2; i++)
		CHECK_EQ(0, member_wait(fd[i], request[i], 0));

	/* Slightly more than is in use: the operation is refused, a small one is not. */
	mib = (member_value(name, 0, "memory_bytes") + member_value(name, 1, "memory_bytes")) /
	      MIB + 2;
	CHECK_EQ(0, limit_set(limit, mib));
	for (i = 0; i < 10; i++) {
		CHECK_EQ(-EDQUOT, scratch_submit(fd, memory, request));
		CHECK_EQ(0, member_start(fd[0], &(struct collective_op) {
			.opcode = COLLECTIVE_BARRIER }, &request[0]));
		CHECK_EQ(0, member_barrier(fd[1]));
		CHECK_EQ(0, member_wait(fd[0], request[0], 0));
	}
	/* Enough for one operation at a time: each frees its scratch memory. */
	CHECK_EQ(0, limit_set(limit, mib + 2 * needed / MIB + 2));
	for (i = 0; i < 30; i++) {
		CHECK_EQ(0, scratch_submit(fd, memory, request));
		CHECK_EQ(0, member_wait(fd[0], request[0], 0));
		CHECK_EQ(0, member_wait(fd[1], request[1], 0));
	}
	close(fd[0]);
	close(fd[1]);
	return 0;
}

TEST_F(account, scratch)
{
	EXPECT_EQ(0, as_other_user(scratch_is_limited, self->limit));
}

static bool refused_once(const struct large *large)
{
	const __u64 end = now_ms() + 10000;

	while (member_value(large->name, LARGE_RANK, "refused_connections") != 1 && now_ms() < end)
		sleep_ms(5);
	return member_value(large->name, LARGE_RANK, "refused_connections") == 1;
}

/* More than there is memory for. */
#define LARGE_CALLS	256

/* Peers are accepted while there is memory, and as many after it was freed. */
static int links_are_limited(int limit)
{
	unsigned int n, last = 0, i;
	struct large large;
	int fds[LARGE_CALLS];

	CHECK_EQ(0, limit_set(limit, 1));
	for (i = 0; i < 3; i++) {
		CHECK_EQ(0, large_join(&large));
		n = large_call(&large, fds, LARGE_CALLS);
		CHECK(n >= 3 && n < LARGE_CALLS);
		CHECK(member_value(large.name, LARGE_RANK, "memory_bytes") <= MIB);
		/*
		 * A connection is refused if there is no memory for its link, which is counted
		 * after it is sent.  Without memory for the connection it waits to be accepted.
		 */
		CHECK(fds[n] == -EAGAIN || refused_once(&large));
		CHECK(!last || n == last);
		last = n;
		close(large.fd);
		close_all(fds, n);
	}
	return 0;
}

TEST_F(account, links)
{
	EXPECT_EQ(0, as_other_user(links_are_limited, self->limit));
}

/* Groups of two ranks; the ring of each lane of a writer grows to so many bytes. */
#define RING_GROUPS	4
#define RING_BYTES	65536
#define RING_MESSAGE	2048

/* Rank 0 sends so many small messages that its rings grow in every lane. */
static int rings_grow(const int *fd, const char *name)
{
	long long before = member_value(name, 0, "memory_bytes");
	static __u8 bytes[2][RING_MESSAGE];
	struct collective_op op = {
		.type = COLLECTIVE_UINT8,
		.count = RING_MESSAGE,
	};
	__u64 request;
	unsigned int i;

	for (i = 0; i < 4 * LARGE_LANES; i++) {
		op.opcode = COLLECTIVE_SEND;
		op.root = 1;
		op.send = (uintptr_t)bytes[0];
		op.recv = 0;
		CHECK_EQ(0, member_start(fd[0], &op, &request));
		op.opcode = COLLECTIVE_RECV;
		op.root = 0;
		op.send = 0;
		op.recv = (uintptr_t)bytes[1];
		CHECK_EQ(0, member_submit(fd[1], &op));
		CHECK_EQ(0, member_wait(fd[0], request, 0));
	}
	CHECK(member_value(name, 0, "memory_bytes") - before >= LARGE_LANES * RING_BYTES);
	return 0;
}

/* The peer of a rank that has ended keeps the rings of that rank: they stay charged. */
static int rings_are_limited(int limit)
{
	struct sockaddr_storage addr[2];
	long long kept = 0, joined;
	int reader[RING_GROUPS];
	unsigned int i, rank;
	char name[33];
	int fd[2];
	__u64 id;

	CHECK_EQ(0, limit_set(limit, 256));
	for (i = 0; i < RING_GROUPS; i++) {
		group_unique(name, sizeof(name), &id);
		for (rank = 0; rank < 2; rank++) {
			fd[rank] = member_open();
			CHECK_EQ(0, join_lanes(fd[rank], name, id, rank, 2,
					       COLLECTIVE_TRANSPORT_LOCAL, &addr[rank]));
		}
		joined = member_value(name, 0, "memory_bytes");
		CHECK_EQ(0, two_ranks_connect(fd, addr));
		CHECK_EQ(0, rings_grow(fd, name));
		CHECK_EQ(0, member_leave(fd[0]));
		close(fd[0]);
		kept += member_value(name, 1, "memory_bytes");
		reader[i] = fd[1];
	}
	/* The readers' memory and one more rank would fit, but for the rings. */
	CHECK(RING_GROUPS * LARGE_LANES * RING_BYTES > MIB);
	CHECK_EQ(0, limit_set(limit, (kept + joined + MIB - 1) / MIB));
	group_unique(name, sizeof(name), &id);
	fd[0] = member_open();
	CHECK_EQ(-EDQUOT, join_lanes(fd[0], name, id, 0, 2, COLLECTIVE_TRANSPORT_LOCAL, addr));
	for (i = 0; i < RING_GROUPS; i++)
		close(reader[i]);
	CHECK_EQ(0, join_lanes(fd[0], name, id, 0, 2, COLLECTIVE_TRANSPORT_LOCAL, addr));
	close(fd[0]);
	return 0;
}

TEST_F(account, rings)
{
	EXPECT_EQ(0, as_other_user(rings_are_limited, self->limit));
}

/*
 * Memory cgroups
 */

#define CGROUP_ROOT	"/tmp/account_test.cgroup"
#define CGROUP		CGROUP_ROOT "/member"

static long long cgroup_kib(void)
{
	char text[32];

	return file_get(CGROUP "/memory.current", text, sizeof(text)) ? -1 : atoll(text) / 1024;
}

static bool cgroup_make(void)
{
	mkdir(CGROUP_ROOT, 0700);
	if (mount("cgroup2", CGROUP_ROOT, "cgroup2", 0, NULL))
		return false;
	file_set(CGROUP_ROOT "/cgroup.subtree_control", "+memory");
	mkdir(CGROUP, 0700);
	return cgroup_kib() >= 0;
}

static void cgroup_unmake(void)
{
	rmdir(CGROUP);
	umount(CGROUP_ROOT);
	rmdir(CGROUP_ROOT);
}

/* Wait: the kernel uncharges memory with the last references to the network, and in batches. */
static bool cgroup_below(long long kib)
{
	const __u64 end = now_ms() + 10000;

	while (cgroup_kib() >= kib && now_ms() < end)
		sleep_ms(20);
	return cgroup_kib() < kib;
}

/* Memory of a CPU that is charged to a cgroup in advance; KiB. */
#define CGROUP_STOCK	256

/* Least memory of such a rank, and of a link of it; KiB. */
#define LARGE_KIB	128
#define LARGE_LINK	8

struct cgroup_shared {
	struct group_shared flags;
	struct large large;
};

static int cgroup_member(struct cgroup_shared *shared)
{
	CHECK_EQ(0, file_set(CGROUP "/cgroup.procs", "0"));
	CHECK_EQ(0, large_join(&shared->large));
	flag_set(&shared->flags, 0, 1);
	CHECK(flag_wait(&shared->flags, 1, 1, 60000));
	close(shared->large.fd);
	flag_set(&shared->flags, 0, 2);
	CHECK(flag_wait(&shared->flags, 1, 2, 60000));
	return 0;
}

TEST_F(account, cgroup)
{
	struct cgroup_shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
					    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	long long before, joined, called;
	int fds[200], status;
	unsigned int n;
	pid_t pid;

	ASSERT_NE(MAP_FAILED, shared);
	if (!cgroup_make()) {
		cgroup_unmake();
		SKIP(return, "no memory controller in cgroup v2");
	}
	before = cgroup_kib();
	pid = fork();
	if (!pid)
		_exit(cgroup_member(shared));
	ASSERT_TRUE(flag_wait(&shared->flags, 0, 1, 60000));
	joined = cgroup_kib();
	EXPECT_LE(LARGE_KIB, joined - before);
	/* From another cgroup: work items allocate the links. */
	n = large_call(&shared->large, fds, ARRAY_SIZE(fds));
	EXPECT_EQ(ARRAY_SIZE(fds), n);
	called = cgroup_kib();
	/* Links at distances that are powers of two exist since JOIN. */
	EXPECT_LE(LARGE_LINK * ((int)n - 10) - get_nprocs() * CGROUP_STOCK, called - joined);
	flag_set(&shared->flags, 1, 1);
	EXPECT_TRUE(flag_wait(&shared->flags, 0, 2, 60000));
	EXPECT_TRUE(cgroup_below(before + 2048));
	TH_LOG("KiB: %lld, joined %lld, called %lld, closed %lld", before, joined, called,
	       cgroup_kib());
	close_all(fds, n);
	flag_set(&shared->flags, 1, 2);
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	cgroup_unmake();
	munmap(shared, sizeof(*shared));
}

TEST_HARNESS_MAIN
