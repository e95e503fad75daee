// SPDX-License-Identifier: GPL-2.0-only
/*
 * Input and result in every kind of memory that a program can have.  An operation works with it, or
 * is refused with a text that says why; the group goes on.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "lib/lib_group.h"

#define NRANKS	2
#define COUNT	65536
#define SIZE	(COUNT * sizeof(__u32))
/* So many that the process does not execute the operation itself, and is ended by a signal. */
#define LARGE	2048

/* What an operation may do with the memory. */
enum { READS = 1, WRITES = 2 };

/**
 * struct kind - a kind of memory
 * @name: of it
 * @make: makes SIZE bytes, which hold values_make(rank); NULL: this machine has none
 * @does: what works, READS | WRITES
 * @unread: text of the refusal if it cannot be the input
 * @unwritten: likewise the result
 */
struct kind {
	const char *name;
	__u32 *(*make)(struct lib_rank *me);
	int does;
	const char *unread;
	const char *unwritten;
};

static __u32 value(int rank, size_t i)
{
	return 7 * i + 1000 * rank;
}

static void values_put(struct lib_rank *me, __u32 *to)
{
	size_t i;

	for (i = 0; to && i < COUNT; i++)
		to[i] = value(me->rank, i);
}

static void *map(int protect, int flags, int fd)
{
	void *at = mmap(NULL, SIZE, protect, flags, fd, 0);

	return at == MAP_FAILED ? NULL : at;
}

static __u32 *filled(struct lib_rank *me, void *at)
{
	values_put(me, at);
	return at;
}

static __u32 *make_private(struct lib_rank *me)
{
	return filled(me, map(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1));
}

static __u32 *make_shared(struct lib_rank *me)
{
	return filled(me, map(PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1));
}

static __u32 *make_zero(struct lib_rank *me)
{
	return filled(me, map(PROT_READ | PROT_WRITE, MAP_PRIVATE, open("/dev/zero", O_RDWR)));
}

static __u32 *make_zero_shared(struct lib_rank *me)
{
	return filled(me, map(PROT_READ | PROT_WRITE, MAP_SHARED, open("/dev/zero", O_RDWR)));
}

static __u32 *make_huge(struct lib_rank *me)
{
	const size_t huge = 2 << 20;
	void *at = mmap(NULL, huge, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);

	return at == MAP_FAILED ? NULL : filled(me, at);
}

static __u32 *make_system_v(struct lib_rank *me)
{
	int id = shmget(IPC_PRIVATE, SIZE, 0600);
	void *at = shmat(id, NULL, 0);

	shmctl(id, IPC_RMID, NULL);
	return at == (void *)-1 ? NULL : filled(me, at);
}

static __u32 *make_device(struct lib_rank *me)
{
	int fd = open("/dev/collective", O_RDWR);
	void *at = map(PROT_READ | PROT_WRITE, MAP_SHARED, fd);

	close(fd);
	return filled(me, at);
}

static __u32 *make_alloc(struct lib_rank *me)
{
	return filled(me, coll_mem_alloc(me->comm, SIZE));
}

/* A file that holds the values; the caller maps it. */
static int make_file(struct lib_rank *me)
{
	int fd = memfd_create("kinds", MFD_ALLOW_SEALING);
	__u32 *at;

	if (fd < 0 || ftruncate(fd, SIZE))
		return -1;
	at = map(PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	values_put(me, at);
	munmap(at, SIZE);
	return fd;
}

static __u32 *make_file_shared(struct lib_rank *me)
{
	return map(PROT_READ | PROT_WRITE, MAP_SHARED, make_file(me));
}

/* Pages of the file, of which a result makes copies. */
static __u32 *make_file_private(struct lib_rank *me)
{
	return map(PROT_READ | PROT_WRITE, MAP_PRIVATE, make_file(me));
}

static __u32 *make_file_read_only(struct lib_rank *me)
{
	return map(PROT_READ, MAP_SHARED, make_file(me));
}

static __u32 *make_sealed(struct lib_rank *me)
{
	int fd = make_file(me);

	if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return NULL;
	return map(PROT_READ, MAP_SHARED, fd);
}

/* Sealed against later mappings; this one may be written. */
static __u32 *make_sealed_later(struct lib_rank *me)
{
	int fd = make_file(me);
	void *at = map(PROT_READ | PROT_WRITE, MAP_SHARED, fd);

	return fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) ? NULL : at;
}

static __u32 *make_read_only(struct lib_rank *me)
{
	__u32 *at = make_private(me);

	return mprotect(at, SIZE, PROT_READ) ? NULL : at;
}

static __u32 *make_no_access(struct lib_rank *me)
{
	__u32 *at = make_private(me);

	return mprotect(at, SIZE, PROT_NONE) ? NULL : at;
}

/* Data of the kernel's that is mapped into every process, if there is as much. */
static __u32 *make_kernel(struct lib_rank *me)
{
	unsigned long from, to;
	__u32 *found = NULL;
	char line[256];
	FILE *maps = fopen("/proc/self/maps", "re");

	while (maps && !found && fgets(line, sizeof(line), maps))
		if (strstr(line, "[vvar]") && sscanf(line, "%lx-%lx", &from, &to) == 2)
			found = (void *)from;
	if (maps)
		fclose(maps);
	return found;
}

static __u32 *make_secret(struct lib_rank *me)
{
#ifdef SYS_memfd_secret
	int fd = syscall(SYS_memfd_secret, 0);

	if (fd >= 0 && !ftruncate(fd, SIZE))
		return filled(me, map(PROT_READ | PROT_WRITE, MAP_SHARED, fd));
#endif
	return NULL;
}

/* Provides a page of zeros whenever one is touched. */
static void *serve_faults(void *arg)
{
	const void *page = map(PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	const int fd = (long)arg;
	struct uffd_msg message;

	while (read(fd, &message, sizeof(message)) == sizeof(message)) {
		struct uffdio_copy copy = {
			.dst = message.arg.pagefault.address & ~4095ULL,
			.src = (uintptr_t)page,
			.len = 4096,
		};

		usleep(200);
		ioctl(fd, UFFDIO_COPY, &copy);
	}
	return NULL;
}

/* Memory of which a thread of the process provides the pages, all zero. */
static __u32 *make_late(struct lib_rank *me)
{
	long fd = syscall(SYS_userfaultfd, O_CLOEXEC);
	struct uffdio_api api = { .api = UFFD_API };
	void *at = map(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	struct uffdio_register range = {
		.range = { (uintptr_t)at, SIZE },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	pthread_t thread;

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range) ||
	    pthread_create(&thread, NULL, serve_faults, (void *)fd))
		return NULL;
	return at;
}

static const struct kind kinds[] = {
	{ "private", make_private, READS | WRITES, NULL, NULL },
	{ "shared", make_shared, READS | WRITES, NULL, NULL },
	{ "/dev/zero", make_zero, READS | WRITES, NULL, NULL },
	{ "/dev/zero, shared", make_zero_shared, READS | WRITES, NULL, NULL },
	{ "huge pages", make_huge, READS | WRITES, NULL, NULL },
	{ "System V", make_system_v, READS | WRITES, NULL, NULL },
	{ "the device's", make_device, READS | WRITES, NULL, NULL },
	{ "coll_mem_alloc()", make_alloc, READS | WRITES, NULL, NULL },
	{ "a file in memory", make_file_shared, READS | WRITES, NULL, NULL },
	{ "a private file", make_file_private, READS | WRITES, NULL, NULL },
	{ "a file, read only", make_file_read_only, READS, NULL, "may not be written" },
	{ "a sealed file", make_sealed, READS, NULL, "may not be written" },
	{ "a file that is sealed later", make_sealed_later, READS | WRITES, NULL, NULL },
	{ "read only", make_read_only, READS, NULL, "may not be written" },
	{ "no access", make_no_access, 0, "may not be read", "may not be written" },
	{ "the kernel's", make_kernel, 0, "memory of the kernel", "may not be written" },
	{ "secret", make_secret, 0, "cannot be pinned", "cannot be pinned" },
};

static bool says(struct lib_rank *me, const char *text)
{
	return strstr(coll_error_detail(me->comm), text);
}

static int input_of(struct lib_rank *me, const struct kind *kind, const __u32 *input)
{
	__u32 *result = make_private(me);
	size_t i;

	CHECK(result);
	if (!(kind->does & READS)) {
		CHECK_EQ(-EFAULT, coll_allreduce(me->comm, input, result, LARGE, COLL_UINT32,
						 COLL_SUM));
		CHECK(says(me, kind->unread));
		return munmap(result, SIZE);
	}
	CHECK_EQ(0, coll_allreduce(me->comm, input, result, COUNT, COLL_UINT32, COLL_SUM));
	for (i = 0; i < COUNT; i++)
		CHECK_EQ(value(0, i) + value(1, i), result[i]);
	CHECK_EQ(0, coll_register(me->comm, input, SIZE, COLL_REGISTER_READ_ONLY));
	CHECK_EQ(0, coll_allreduce(me->comm, input, result, COUNT, COLL_UINT32, COLL_MAX));
	CHECK_EQ(0, coll_unregister(me->comm, input));
	for (i = 0; i < COUNT; i++)
		CHECK_EQ(value(1, i), result[i]);
	return munmap(result, SIZE);
}

static int result_of(struct lib_rank *me, const struct kind *kind, __u32 *result)
{
	__u32 *input = make_private(me);
	size_t i;

	CHECK(input);
	if (!(kind->does & WRITES)) {
		CHECK_EQ(-EFAULT, coll_allreduce(me->comm, input, result, LARGE, COLL_UINT32,
						 COLL_SUM));
		CHECK(says(me, kind->unwritten));
		CHECK_EQ(-EFAULT, coll_register(me->comm, result, 2048, 0));
		CHECK(says(me, kind->unwritten));
		return munmap(input, SIZE);
	}
	CHECK_EQ(0, coll_allreduce(me->comm, input, result, COUNT, COLL_UINT32, COLL_SUM));
	for (i = 0; i < COUNT; i++)
		CHECK_EQ(value(0, i) + value(1, i), result[i]);
	return munmap(input, SIZE);
}

static int rank_kinds(struct lib_rank *me)
{
	unsigned int i;
	__u32 *at;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		at = kinds[i].make(me);
		if (!me->rank)
			dprintf(STDOUT_FILENO, "# %s: %s\n", kinds[i].name,
				at ? "yes" : "none here");
		if (at && (input_of(me, &kinds[i], at) || result_of(me, &kinds[i], at)))
			return 1;
		CHECK_EQ(0, coll_barrier(me->comm));
	}
	return 0;
}

TEST(all)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_kinds, NULL));
}

/* A call waits while a thread of its own process provides the input, and then the result. */
static int rank_late(struct lib_rank *me)
{
	__u32 *input = make_late(me), *result = make_late(me);
	size_t i;

	if (!input || !result)
		return coll_barrier(me->comm);
	CHECK_EQ(0, coll_allreduce(me->comm, input, result, COUNT, COLL_UINT32, COLL_SUM));
	for (i = 0; i < COUNT; i++)
		CHECK_EQ(0, result[i]);
	return coll_barrier(me->comm);
}

TEST(late)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_late, NULL));
}

TEST_HARNESS_MAIN
