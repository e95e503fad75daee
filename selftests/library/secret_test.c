// SPDX-License-Identifier: GPL-2.0-only
/* The secret of a group as users configure it, and the rendezvous that it protects. */
#include <collective.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/lib_group.h"

#define RIGHT	"00112233445566778899AABBCCDDEEFF00112233445566778899aabbccddeeff"
#define WRONG	"00112233445566778899aabbccddeeff00112233445566778899aabbccddeefe"
#define NRANKS	3

/* The result of coll_init() of a rank, in shared memory. */
struct outcome {
	int err;
	char detail[COLL_DETAIL_SIZE];
};

static int rank_run(int rank, const char *rendezvous, unsigned int timeout_ms,
		    struct outcome *outcome)
{
	struct coll_config config = {
		.size = sizeof(config),
		.rank = rank,
		.nranks = NRANKS,
		.rendezvous = rendezvous,
		.init_timeout_ms = timeout_ms,
		.detail = outcome->detail,
		.detail_size = sizeof(outcome->detail),
	};
	struct coll_comm *comm;
	int mine = 1 << rank, sum;

	outcome->err = coll_init(&comm, &config);
	if (outcome->err)
		return 0;
	CHECK_EQ(0, coll_allreduce(comm, &mine, &sum, 1, COLL_INT32, COLL_SUM));
	CHECK_EQ((1 << NRANKS) - 1, sum);
	CHECK_EQ(0, coll_finalize(comm));
	return 0;
}

/* Run three ranks with the given secrets. Return: the number that ended unexpectedly. */
static int ranks_run(const char * const secrets[NRANKS], unsigned int timeout_ms,
		     struct outcome *outcomes)
{
	char rendezvous[32];
	pid_t pid[NRANKS];
	int i, status, failed = 0;

	snprintf(rendezvous, sizeof(rendezvous), "127.0.0.1:%d", free_port());
	for (i = 0; i < NRANKS; i++) {
		pid[i] = fork();
		if (pid[i])
			continue;
		if (secrets[i])
			setenv("COLL_SECRET", secrets[i], 1);
		_exit(rank_run(i, rendezvous, timeout_ms, &outcomes[i]));
	}
	for (i = 0; i < NRANKS; i++)
		failed += waitpid(pid[i], &status, 0) < 0 || status;
	return failed;
}

FIXTURE(secret) {
	struct outcome *outcomes;
	char path[64];
};

FIXTURE_SETUP(secret)
{
	self->outcomes = mmap(NULL, NRANKS * sizeof(*self->outcomes), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->outcomes);
	unsetenv("COLL_SECRET");
	unsetenv("COLL_SECRET_FILE");
	snprintf(self->path, sizeof(self->path), "/tmp/secret.%d", getpid());
}

FIXTURE_TEARDOWN(secret)
{
	unlink(self->path);
}

TEST_F(secret, same)
{
	const char * const secrets[] = { RIGHT, RIGHT, RIGHT };
	int i;

	EXPECT_EQ(0, ranks_run(secrets, 20000, self->outcomes));
	for (i = 0; i < NRANKS; i++)
		EXPECT_EQ(0, self->outcomes[i].err)
			TH_LOG("rank %d: %s", i, self->outcomes[i].detail);
}

/* A rank with a wrong secret fails at once; the others time out and name the missing rank. */
static void excluded(struct __test_metadata *_metadata, struct outcome *outcomes,
		     const char *secret)
{
	const char * const secrets[] = { RIGHT, RIGHT, secret };

	EXPECT_EQ(0, ranks_run(secrets, 2500, outcomes));
	EXPECT_EQ(-EACCES, outcomes[2].err);
	EXPECT_NE(NULL, strstr(outcomes[2].detail, "secret"));
	EXPECT_EQ(-ETIMEDOUT, outcomes[0].err);
	EXPECT_EQ(-ETIMEDOUT, outcomes[1].err);
	EXPECT_NE(NULL, strstr(outcomes[1].detail, "rank 2 never arrived"))
		TH_LOG("%s", outcomes[1].detail);
}

TEST_F(secret, wrong)
{
	excluded(_metadata, self->outcomes, WRONG);
}

TEST_F(secret, none)
{
	excluded(_metadata, self->outcomes, NULL);
	EXPECT_NE(NULL, strstr(self->outcomes[1].detail, "refused"));
}

/* Rank 0 has the wrong secret: no rank sends it anything. */
TEST_F(secret, wrong_host)
{
	const char * const secrets[] = { WRONG, RIGHT, RIGHT };
	int i;

	EXPECT_EQ(0, ranks_run(secrets, 2500, self->outcomes));
	EXPECT_EQ(-ETIMEDOUT, self->outcomes[0].err);
	for (i = 1; i < NRANKS; i++)
		EXPECT_EQ(-EACCES, self->outcomes[i].err)
			TH_LOG("rank %d: %s", i, self->outcomes[i].detail);
}

TEST_F(secret, host_without)
{
	const char * const secrets[] = { NULL, RIGHT, RIGHT };
	int i;

	EXPECT_EQ(0, ranks_run(secrets, 2500, self->outcomes));
	EXPECT_EQ(-ETIMEDOUT, self->outcomes[0].err);
	for (i = 1; i < NRANKS; i++)
		EXPECT_EQ(-EACCES, self->outcomes[i].err);
}

static int alone(struct outcome *outcome)
{
	struct coll_config config = {
		.size = sizeof(config),
		.nranks = 1,
		.detail = outcome->detail,
		.detail_size = sizeof(outcome->detail),
	};
	struct coll_comm *comm;
	int err = coll_init(&comm, &config);

	if (!err)
		coll_finalize(comm);
	return err;
}

TEST_F(secret, malformed)
{
	static const char * const bad[] = {
		"12", "sesame", (RIGHT "0"), ("x" WRONG),
		"g0112233445566778899aabbccddeeff00112233445566778899aabbccddeeff",
		"0000000000000000000000000000000000000000000000000000000000000000",
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		setenv("COLL_SECRET", bad[i], 1);
		EXPECT_EQ(-EINVAL, alone(self->outcomes));
		/* The secret must not be in the text, which may end up in logs. */
		EXPECT_EQ(NULL, strstr(self->outcomes->detail, bad[i]))
			TH_LOG("%s: %s", bad[i], self->outcomes->detail);
	}
	setenv("COLL_SECRET", RIGHT, 1);
	EXPECT_EQ(0, alone(self->outcomes));
}

static void file_make(const char *path, const void *data, size_t size, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (write(fd, data, size) == (ssize_t)size)
		fchmod(fd, mode);
	close(fd);
}

TEST_F(secret, file)
{
	setenv("COLL_SECRET_FILE", self->path, 1);
	EXPECT_EQ(-ENOENT, alone(self->outcomes));
	file_make(self->path, RIGHT "\n", 65, 0600);
	EXPECT_EQ(0, alone(self->outcomes));
	file_make(self->path, RIGHT, 64, 0400);
	EXPECT_EQ(0, alone(self->outcomes));
	file_make(self->path, "01234567890123456789012345678901", 32, 0600);
	EXPECT_EQ(0, alone(self->outcomes));
	file_make(self->path, RIGHT, 64, 0640);
	EXPECT_EQ(-EACCES, alone(self->outcomes));
	file_make(self->path, RIGHT, 64, 0604);
	EXPECT_EQ(-EACCES, alone(self->outcomes));
	file_make(self->path, RIGHT, 40, 0600);
	EXPECT_EQ(-EINVAL, alone(self->outcomes));
	file_make(self->path, "", 0, 0600);
	EXPECT_EQ(-EINVAL, alone(self->outcomes));
	setenv("COLL_SECRET_FILE", "/tmp", 1);
	EXPECT_EQ(-EACCES, alone(self->outcomes));
	setenv("COLL_SECRET_FILE", "/dev/zero", 1);
	EXPECT_EQ(-EACCES, alone(self->outcomes));
}

TEST_HARNESS_MAIN
