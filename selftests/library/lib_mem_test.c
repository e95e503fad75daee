// SPDX-License-Identifier: GPL-2.0-only
/*
 * The library's memory: coll_mem_alloc(), the lookup of registered memory, and the memlock limit.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "kselftest_harness.h"
#include "lib/memlock.h"
#include "lib/lib_group.h"
#include "lib/values.h"

#define HUGE	((size_t)2 << 20)
#define PAGE	((size_t)4096)

/* A group of one rank, which copies. */
FIXTURE(lib_mem) {
	struct coll_comm *comm;
};

FIXTURE_SETUP(lib_mem)
{
	ASSERT_EQ(0, coll_init(&self->comm, NULL));
}

FIXTURE_TEARDOWN(lib_mem)
{
	EXPECT_EQ(0, coll_finalize(self->comm));
	EXPECT_EQ(0, process_value(0, "VmPin:"));
}

static size_t pinned(void)
{
	return process_value(0, "VmPin:") * 1024;
}

static bool mapped(void *addr)
{
	return !msync((void *)((uintptr_t)addr & ~(PAGE - 1)), 1, MS_ASYNC);
}

TEST_F(lib_mem, alloc)
{
	static const size_t sizes[] = { 1, 100, PAGE, PAGE + 1, HUGE - 1, HUGE, 2 * HUGE + 3 };
	size_t i, whole;
	__u8 *p;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		whole = (sizes[i] + PAGE - 1) & ~(PAGE - 1);
		p = coll_mem_alloc(self->comm, sizes[i]);
		ASSERT_NE(NULL, p);
		EXPECT_EQ(0, (uintptr_t)p % (whole >= HUGE ? HUGE : PAGE));
		EXPECT_TRUE(all_are(p, 0, whole));
		EXPECT_EQ(whole, pinned());
		EXPECT_EQ(1, coll_mem_registered(self->comm, p, sizes[i]));
		EXPECT_EQ(1, coll_mem_registered(self->comm, p + sizes[i] - 1, 1));
		EXPECT_EQ(0, coll_mem_registered(self->comm, p, sizes[i] + 1));
		EXPECT_EQ(0, coll_mem_registered(self->comm, p - 1, 1));
		EXPECT_EQ(0, coll_mem_registered(self->comm, p + 1, SIZE_MAX));
		coll_mem_free(self->comm, p);
		EXPECT_EQ(0, pinned());
		EXPECT_FALSE(mapped(p));
		EXPECT_EQ(0, coll_mem_registered(self->comm, p, 1));
	}
}

TEST_F(lib_mem, refused)
{
	__u8 *p = coll_mem_alloc(self->comm, PAGE), *own = memory(PAGE);

	ASSERT_NE(NULL, p);
	errno = 0;
	EXPECT_EQ(NULL, coll_mem_alloc(self->comm, 0));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(NULL, coll_mem_alloc(self->comm, SIZE_MAX));
	EXPECT_EQ(ENOMEM, errno);
	EXPECT_EQ(NULL, coll_mem_alloc(self->comm, SIZE_MAX / 2));
	EXPECT_EQ(ENOMEM, errno);
	/* An address that coll_mem_alloc() did not return. */
	coll_mem_free(self->comm, NULL);
	coll_mem_free(self->comm, p + 1);
	coll_mem_free(self->comm, own);
	EXPECT_TRUE(mapped(own));

	EXPECT_EQ(-EINVAL, coll_register(self->comm, own, PAGE, 2));
	EXPECT_EQ(-EINVAL, coll_register(self->comm, own, 0, 0));
	EXPECT_EQ(-EFAULT, coll_register(self->comm, NULL, PAGE, 0));
	EXPECT_EQ(-ENOENT, coll_unregister(self->comm, own));
	EXPECT_EQ(0, coll_register(self->comm, own, PAGE, 0));
	EXPECT_EQ(-EEXIST, coll_register(self->comm, own, 1, 0));
	EXPECT_EQ(2 * PAGE, pinned());
	EXPECT_EQ(-ENOENT, coll_unregister(self->comm, own + 1));
	EXPECT_EQ(0, coll_unregister(self->comm, own));
	EXPECT_EQ(-ENOENT, coll_unregister(self->comm, own));
	/* Memory of coll_mem_alloc() cannot be unregistered with coll_unregister(). */
	EXPECT_EQ(-ENOENT, coll_unregister(self->comm, p));
	EXPECT_TRUE(mapped(p));
}

/* The pages of a registration are used, even if others are mapped there now. */
TEST_F(lib_mem, found)
{
	__u8 *send = memory(4 * PAGE), *recv = memory(4 * PAGE);

	memset(send, 1, 4 * PAGE);
	ASSERT_EQ(0, coll_register(self->comm, send, 4 * PAGE, COLL_REGISTER_READ_ONLY));
	ASSERT_EQ(send, mmap(send, 4 * PAGE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	memset(send, 2, 4 * PAGE);
	EXPECT_EQ(0, coll_allreduce(self->comm, send + PAGE, recv, 3 * PAGE, COLL_UINT8,
				    COLL_SUM));
	EXPECT_TRUE(all_are(recv, 1, 3 * PAGE));
	EXPECT_EQ(0, coll_unregister(self->comm, send));
	EXPECT_EQ(0, coll_allreduce(self->comm, send + PAGE, recv, 3 * PAGE, COLL_UINT8,
				    COLL_SUM));
	EXPECT_TRUE(all_are(recv, 2, 3 * PAGE));
}

/* A read-only registration is not used for a result. */
TEST_F(lib_mem, read_only)
{
	__u8 *p = memory(2 * PAGE), *q = memory(2 * PAGE);

	memset(p, 3, PAGE);
	ASSERT_EQ(0, mprotect(p, PAGE, PROT_READ));
	EXPECT_EQ(-EFAULT, coll_register(self->comm, p, PAGE, 0));
	ASSERT_EQ(0, coll_register(self->comm, p, PAGE, COLL_REGISTER_READ_ONLY));
	ASSERT_EQ(0, coll_register(self->comm, q, PAGE, COLL_REGISTER_READ_ONLY));
	EXPECT_EQ(0, coll_allreduce(self->comm, p, q, PAGE, COLL_UINT8, COLL_SUM));
	EXPECT_TRUE(all_are(q, 3, PAGE));
	EXPECT_EQ(-EFAULT, coll_allreduce(self->comm, q, p, PAGE, COLL_UINT8, COLL_SUM));
}

/* An operation that names the buffer by its number pins nothing. */
TEST_F(lib_mem, number)
{
	struct collective_op op = {
		.opcode = COLLECTIVE_ALLREDUCE,
		.type = COLLECTIVE_UINT8,
		.count = PAGE,
	};
	__u8 *p = memory(2 * PAGE), *q = memory(PAGE);

	ASSERT_EQ(0, coll_register(self->comm, p, 2 * PAGE, 0));
	ASSERT_EQ(0, coll_register(self->comm, q, PAGE, COLL_REGISTER_READ_ONLY));
	EXPECT_EQ(0, coll_mem_number(self->comm, p, 2 * PAGE + 1, 0));
	EXPECT_EQ(0, coll_mem_number(self->comm, q, PAGE, 1));
	EXPECT_NE(0, coll_mem_number(self->comm, q, PAGE, 0));
	ASSERT_TRUE(memlock_limit(0) && drop_ipc_lock());
	memset(p, 5, PAGE);
	op.send = (uintptr_t)p;
	op.recv = (uintptr_t)(p + PAGE);
	EXPECT_EQ(-EDQUOT, coll_submit(self->comm, &op));
	op.send_buffer = coll_mem_number(self->comm, p, PAGE, 0);
	op.recv_buffer = coll_mem_number(self->comm, p + PAGE, PAGE, 1);
	EXPECT_EQ(0, coll_submit(self->comm, &op));
	EXPECT_TRUE(all_are(p + PAGE, 5, PAGE));
}

/* Each communicator has its own memory; its end does not affect the memory of another. */
TEST_F(lib_mem, other)
{
	struct coll_comm *other;
	__u8 *p, *q;

	ASSERT_EQ(0, coll_dup(self->comm, &other));
	p = coll_mem_alloc(self->comm, PAGE);
	q = coll_mem_alloc(other, PAGE);
	ASSERT_TRUE(p && q);
	EXPECT_EQ(0, coll_mem_registered(other, p, PAGE));
	EXPECT_EQ(0, coll_register(other, p, PAGE, 0));
	EXPECT_EQ(1, coll_mem_registered(other, p, PAGE));
	p[0] = 7;
	EXPECT_EQ(0, coll_allreduce(other, p, q, PAGE, COLL_UINT8, COLL_SUM));
	EXPECT_EQ(7, q[0]);
	EXPECT_EQ(3 * PAGE, pinned());
	EXPECT_EQ(0, coll_finalize(other));
	EXPECT_EQ(PAGE, pinned());
	EXPECT_FALSE(mapped(q));
	EXPECT_EQ(7, p[0]);
	EXPECT_EQ(1, coll_mem_registered(self->comm, p, PAGE));
}

/* True if the device is mapped at an address. */
static bool of_device(const void *addr)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512], begin[32];
	bool found = false;

	snprintf(begin, sizeof(begin), "%lx-", (unsigned long)addr);
	while (maps && !found && fgets(line, sizeof(line), maps))
		found = !strncmp(line, begin, strlen(begin)) && strstr(line, "[collective]");
	if (maps)
		fclose(maps);
	return found;
}

/* Without huge pages, and without a limit. */
TEST_F(lib_mem, pieces)
{
	const bool huge = !access("/sys/kernel/mm/transparent_hugepage/enabled", F_OK);
	__u8 *p = coll_mem_alloc(self->comm, HUGE), *q, *r;

	ASSERT_NE(NULL, p);
	EXPECT_EQ(!huge, of_device(p));
	EXPECT_EQ(HUGE, pinned());
	q = coll_mem_alloc(self->comm, PAGE);
	EXPECT_FALSE(of_device(q));
	ASSERT_TRUE(memlock_limit(8 * HUGE) && drop_ipc_lock());
	r = coll_mem_alloc(self->comm, HUGE);
	ASSERT_NE(NULL, r);
	EXPECT_FALSE(of_device(r));
	memset(p, 5, HUGE);
	EXPECT_EQ(0, coll_allreduce(self->comm, p, r, HUGE, COLL_UINT8, COLL_SUM));
	EXPECT_TRUE(all_are(r, 5, HUGE));
	coll_mem_free(self->comm, p);
	EXPECT_FALSE(mapped(p));
}

/* Memory of a child process at these addresses is not the communicator's. */
TEST_F(lib_mem, child)
{
	__u8 *p = coll_mem_alloc(self->comm, HUGE), *q = coll_mem_alloc(self->comm, HUGE);
	int status = -1;
	pid_t pid;

	ASSERT_TRUE(p && q);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		__u8 *mine = mmap(p, HUGE, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

		coll_mem_free(self->comm, p);
		if (mine != p || !mapped(mine))
			_exit(1);
		coll_finalize(self->comm);
		_exit(!mapped(mine));
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	memset(p, 1, HUGE);
	EXPECT_EQ(0, coll_allreduce(self->comm, p, q, HUGE, COLL_UINT8, COLL_SUM));
	EXPECT_TRUE(all_are(q, 1, HUGE));
}

/* The limit allows parts of memory that is large enough for huge pages. */
TEST_F(lib_mem, parts_within_limit)
{
	__u8 *p;

	ASSERT_TRUE(memlock_limit(65536) && drop_ipc_lock());
	p = coll_mem_alloc(self->comm, 2 * HUGE);
	ASSERT_NE(NULL, p);
	EXPECT_EQ(0, coll_mem_registered(self->comm, p, 1));
	memset(p, 3, 2 * HUGE);
	EXPECT_EQ(0, coll_allreduce(self->comm, p, p + HUGE, PAGE, COLL_UINT8, COLL_SUM));
	EXPECT_TRUE(all_are(p + HUGE, 3, PAGE));
	coll_mem_free(self->comm, p);
}

/* Without privileges, and a limit of 64 KiB. */
TEST_F(lib_mem, limit)
{
	const size_t large = 1 << 20;
	__u8 *p, *small;

	ASSERT_TRUE(memlock_limit(65536) && drop_ipc_lock());
	p = coll_mem_alloc(self->comm, large);
	ASSERT_NE(NULL, p);
	EXPECT_EQ(0, coll_mem_registered(self->comm, p, 1));
	EXPECT_EQ(-EDQUOT, coll_register(self->comm, p, large, 0));
	EXPECT_NE(NULL, strstr(coll_error_detail(self->comm),
			       "register refused: 1048576 bytes are to be pinned, of 65536 "));
	EXPECT_EQ(0, pinned());
	/* Parts of it do not exceed the limit. */
	p[100] = 9;
	EXPECT_EQ(0, coll_allreduce(self->comm, p, p + 2 * PAGE, PAGE, COLL_UINT8, COLL_SUM));
	EXPECT_EQ(9, p[2 * PAGE + 100]);
	EXPECT_EQ(-EDQUOT, coll_allreduce(self->comm, COLL_IN_PLACE, p, large, COLL_UINT8,
					  COLL_SUM));
	EXPECT_NE(NULL, strstr(coll_error_detail(self->comm),
			       "allreduce refused: 1048576 bytes are to be pinned, of 65536 "));
	EXPECT_NE(NULL, strstr(coll_strerror(EDQUOT), "RLIMIT_MEMLOCK"));
	small = coll_mem_alloc(self->comm, 65536);
	EXPECT_EQ(1, coll_mem_registered(self->comm, small, 65536));
	coll_mem_free(self->comm, small);
	coll_mem_free(self->comm, p);
	EXPECT_FALSE(mapped(p));
}

struct threads {
	struct coll_comm *comm;
	int failed;
};

static void *thread_main(void *arg)
{
	struct threads *t = arg;
	__u8 *p[8] = { NULL };
	__u32 i;

	for (i = 0; i < 400; i++) {
		const size_t size = 1 + hash(i, (uintptr_t)p >> 12, 0) % (16 * PAGE);
		__u8 **at = &p[i % 8];

		coll_mem_free(t->comm, *at);
		*at = coll_mem_alloc(t->comm, size);
		if (!*at || !coll_mem_registered(t->comm, *at, size))
			__atomic_store_n(&t->failed, 1, __ATOMIC_RELAXED);
	}
	for (i = 0; i < 7; i++)
		coll_mem_free(t->comm, p[i]);
	return NULL;
}

/* The fixture frees what the threads leave. */
TEST_F(lib_mem, threads)
{
	struct threads t = { .comm = self->comm };
	pthread_t thread[4];
	int i;

	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, thread_main, &t));
	for (i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	EXPECT_EQ(0, t.failed);
}

TEST_HARNESS_MAIN
