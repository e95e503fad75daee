// SPDX-License-Identifier: GPL-2.0-only
/* Where the secret comes from, and where it is afterwards. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <collective.h>

#include "bootstrap/secret.h"
#include "comm/comm.h"
#include "memory.h"
#include "tap.h"

#define DIGITS	"a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebf"

/* What HMAC changes the bytes of a key by: the result tells the key. */
#define HMAC_INNER	0x36
#define HMAC_OUTER	0x5c

static const uint8_t first = 0xa0;

static int start(struct coll_comm **comm, char *text)
{
	struct coll_config config = {
		.size = sizeof(config),
		.init_timeout_ms = 300,
		.detail = text,
		.detail_size = COLL_DETAIL_SIZE,
	};

	return coll_init(comm, &config);
}

/* Each byte of the key changed by @mask. */
static bool is_masked_key(const uint8_t *at, uint8_t mask)
{
	unsigned int i;

	for (i = 0; i < COLLECTIVE_SECRET_SIZE; i++)
		if (at[i] != ((first + i) ^ mask))
			return false;
	return true;
}

static bool is_key(const uint8_t *at)
{
	return is_masked_key(at, 0);
}

/* One end of a pipe or pair that holds @size bytes, its other end closed unless @open. */
static int channel(bool pair, const void *data, size_t size, bool open)
{
	int ends[2];

	if (pair ? socketpair(AF_UNIX, SOCK_STREAM, 0, ends) : pipe(ends))
		exit(1);
	if (write(ends[1], data, size) != (ssize_t)size)
		exit(1);
	if (!open)
		close(ends[1]);
	return ends[0];
}

static int file(const void *data, size_t size)
{
	int fd = memfd_create("secret", 0);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		exit(1);
	return fd;
}

static void fd_is(int fd, int err, const char *name)
{
	char text[COLL_DETAIL_SIZE] = "", number[12];
	struct coll_comm *comm;
	bool right;
	int got;

	snprintf(number, sizeof(number), "%d", fd);
	setenv("COLL_SECRET_FD", number, 1);
	got = start(&comm, text);
	right = got == err;
	if (!got)
		right &= is_key(comm->settings.secret->key) && fcntl(fd, F_GETFD) == FD_CLOEXEC;
	if (!tap_ok(right, "%s", name))
		tap_note("%d %s", got, text);
	if (!got)
		coll_finalize(comm);
	unsetenv("COLL_SECRET_FD");
}

static void test_fd(void)
{
	uint8_t bytes[COLLECTIVE_SECRET_SIZE];
	unsigned int i;
	int fd;

	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = first + i;
	fd = file(DIGITS "\n", 65);
	fd_is(fd, 0, "digits in a file without a name");
	fd_is(fd, 0, "and once more");
	fd_is(file(bytes, 32), 0, "bytes");
	fd_is(channel(false, DIGITS, 64, false), 0, "a pipe");
	fd_is(channel(true, bytes, 32, false), 0, "a socket");
	fd_is(channel(false, DIGITS, 40, false), -EINVAL, "too short");
	fd_is(file(DIGITS "0", 65), -EINVAL, "too long");
	fd_is(file("", 0), -EINVAL, "empty");
	fd_is(channel(false, DIGITS, 64, true), -ETIMEDOUT, "a pipe that stays open");
	fd_is(open("/dev/zero", O_RDONLY), -EINVAL, "neither file nor pipe");
}

#ifdef __SANITIZE_ADDRESS__
static void test_memory(void)
{
	tap_skip("shadow memory", "where copies are");
}
#else
struct found {
	unsigned int pages;
	unsigned int stray;
	char flags[512];
};

static bool has_key(int memory, unsigned long from, unsigned long to)
{
	uint8_t *bytes = mmap(NULL, to - from, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool found = false;
	ssize_t got;
	size_t i;

	got = pread(memory, bytes, to - from, from);
	for (i = 0; !found && got >= COLLECTIVE_SECRET_SIZE &&
	     i <= (size_t)got - COLLECTIVE_SECRET_SIZE; i++)
		found = is_key(bytes + i) || is_masked_key(bytes + i, HMAC_INNER) ||
			is_masked_key(bytes + i, HMAC_OUTER);
	munmap(bytes, to - from);
	return found;
}

/* Every mapping of this process that holds the key, in bytes. */
static void search(struct found *found)
{
	int memory = open("/proc/self/mem", O_RDONLY);
	FILE *maps = fopen("/proc/self/smaps", "r");
	unsigned long from = 0, to = 0;
	bool here = false;
	char line[512], mode[5];

	memset(found, 0, sizeof(*found));
	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %4s", &from, &to, mode) == 3) {
			here = mode[0] == 'r' && mode[1] == 'w' && to - from < 64UL << 20 &&
			       has_key(memory, from, to);
		} else if (here && !strncmp(line, "VmFlags:", 8)) {
			found->pages++;
			found->stray += !strstr(line, " dd");
			snprintf(found->flags, sizeof(found->flags), "%s", line);
			here = false;
		}
	}
	fclose(maps);
	close(memory);
}

/* Far down the stack, where search() does not overwrite what is left there. */
static __attribute__((noinline)) void prove_deep(const struct coll_settings *settings)
{
	uint8_t hello[64] = { 0 }, nonce[COLL_NONCE_SIZE] = { 0 }, proof[COLL_PROOF_SIZE];
	uint8_t room[64 << 10];

	coll_secret_prove(settings, COLL_SIDE_CLIENT, hello, sizeof(hello), nonce, proof);
	/* Keeps @room where it is. */
	explicit_bzero(room, sizeof(room));
}

/* @err: of what made it */
static void in_one_place(int err, const char *name)
{
	struct found found;

	search(&found);
	if (!tap_ok(!err && found.pages == 1 && !found.stray, "%s", name))
		tap_note("%u places, %u dumped: %s", found.pages, found.stray, found.flags);
}

static void not_in_a_child(const char *name)
{
	struct found found;
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		search(&found);
		_exit(found.pages);
	}
	waitpid(pid, &status, 0);
	tap_ok(!status, "%s", name);
}

/* The key of a process without memory is in a page that is set aside. */
static void test_spare(void)
{
	struct coll_settings settings = { .rank = 0 };
	struct coll_detail none = { NULL, 0 };
	uint8_t key[COLLECTIVE_SECRET_SIZE];
	struct found found;
	unsigned int i;
	int err;

	for (i = 0; i < sizeof(key); i++)
		key[i] = first + i;
	memory_calls = 0;
	err = coll_secret_take(&settings, key, &none);
	memory_calls = -1;
	explicit_bzero(key, sizeof(key));
	in_one_place(err, "without memory it is in one place, and in no core dump");
	not_in_a_child("nor in a child");
	coll_secret_put(settings.secret);
	search(&found);
	tap_ok(!found.pages, "and nowhere at the end");
}

static void test_memory(void)
{
	char text[COLL_DETAIL_SIZE] = "", number[12];
	struct coll_comm *comm;
	struct found found;

	snprintf(number, sizeof(number), "%d", file(DIGITS, 64));
	setenv("COLL_SECRET_FD", number, 1);
	tap_ok(!start(&comm, text), "a group of one with a secret");
	in_one_place(0, "it is in one place, and in no core dump");
	prove_deep(&comm->settings);
	in_one_place(0, "nor does a proof leave a copy");
	not_in_a_child("it is not in a child");
	coll_finalize(comm);
	search(&found);
	tap_ok(!found.pages, "and nowhere at the end");
	test_spare();

	setenv("COLL_RANK", "3", 1);
	setenv("COLL_SIZE", "2", 1);
	tap_ok(start(&comm, text) == -EINVAL, "a coll_init() that fails");
	search(&found);
	tap_ok(!found.pages, "leaves no copy");
	setenv("COLL_RANK", "1", 1);
	setenv("COLL_RENDEZVOUS", "127.0.0.1:9", 1);
	tap_ok(start(&comm, text) == -ETIMEDOUT, "nor does one that no rank joins");
	search(&found);
	tap_ok(!found.pages, "leave a copy");
	unsetenv("COLL_RANK");
	unsetenv("COLL_SIZE");
	unsetenv("COLL_RENDEZVOUS");
}
#endif

int main(void)
{
	clearenv();
	signal(SIGPIPE, SIG_IGN);
	tap_plan(0);
	/* First, since the other has copies of its own. */
	test_memory();
	test_fd();
	return tap_exit();
}
