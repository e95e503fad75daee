// SPDX-License-Identifier: LGPL-2.1-or-later
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <nettle/hmac.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bootstrap/secret.h"
#include "comm/deadline.h"
#include "comm/interrupt.h"

#define DIGITS		(2 * COLLECTIVE_SECRET_SIZE)
/* The digits, a line end, and one byte more, which reveals longer input. */
#define TEXT_MAX	(DIGITS + 3)

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Parse 64 hexadecimal digits, optionally followed by a line end. */
static int parse_digits(uint8_t *secret, const char *text, size_t length)
{
	size_t i;

	while (length > DIGITS && (text[length - 1] == '\n' || text[length - 1] == '\r'))
		length--;
	if (length != DIGITS)
		return -EINVAL;
	for (i = 0; i < DIGITS; i++)
		if (digit(text[i]) < 0)
			return -EINVAL;
	for (i = 0; i < COLLECTIVE_SECRET_SIZE; i++)
		secret[i] = digit(text[2 * i]) << 4 | digit(text[2 * i + 1]);
	return 0;
}

/* Parse 32 bytes, or 64 hexadecimal digits. */
static int parse_key(uint8_t *key, const char *text, ssize_t length)
{
	if (length == COLLECTIVE_SECRET_SIZE) {
		memcpy(key, text, length);
		return 0;
	}
	return length < 0 ? -EINVAL : parse_digits(key, text, length);
}

/* Read a file, which must be readable only by its owner: the user of this process or root. */
static int read_file(uint8_t *key, const char *path, struct coll_detail *detail)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	char text[TEXT_MAX];
	struct stat stat;
	int err;

	if (fd < 0 || fstat(fd, &stat)) {
		err = -errno;
		if (fd >= 0)
			close(fd);
		return coll_fail(detail, err, "COLL_SECRET_FILE=%s: %s", path,
				 coll_errno_text(-err));
	}
	if (!S_ISREG(stat.st_mode) || stat.st_mode & 077 ||
	    (stat.st_uid != geteuid() && stat.st_uid)) {
		close(fd);
		return coll_fail(detail, -EACCES,
				 "COLL_SECRET_FILE=%s: it has to be a file that only its owner can read (chmod 600)",
				 path);
	}
	err = parse_key(key, text, read(fd, text, sizeof(text)));
	close(fd);
	explicit_bzero(text, sizeof(text));
	if (err)
		return coll_fail(detail, err,
				 "COLL_SECRET_FILE=%s: it has to hold 32 bytes, or 64 hexadecimal digits",
				 path);
	return 0;
}

/*
 * Read a descriptor: a file from its beginning, whatever its offset, which other processes may
 * share; a pipe or socket to its end.  Return: number of bytes, or a negative errno.
 */
static ssize_t read_all(int fd, char *text, size_t size, uint64_t deadline)
{
	struct pollfd one = { .fd = fd, .events = POLLIN };
	struct stat stat;
	size_t have = 0;
	ssize_t got;
	int n;

	if (fstat(fd, &stat))
		return -errno;
	if (S_ISREG(stat.st_mode)) {
		got = pread(fd, text, size, 0);
		return got < 0 ? -errno : got;
	}
	if (!S_ISFIFO(stat.st_mode) && !S_ISSOCK(stat.st_mode))
		return -EINVAL;
	while (have < size) {
		n = coll_interrupt_poll(&one, 1, coll_deadline_left(deadline));
		if (!n)
			return -ETIMEDOUT;
		got = n < 0 ? -1 : read(fd, text + have, size - have);
		if (!got)
			break;
		if (got > 0)
			have += got;
		else if (errno != EINTR && errno != EAGAIN)
			return -errno;
	}
	return have;
}

/* Read a descriptor that the parent process opened, and set close-on-exec. */
static int read_fd(uint8_t *key, const char *number, uint64_t deadline,
		   struct coll_detail *detail)
{
	char text[TEXT_MAX], *end;
	unsigned long fd;
	ssize_t length;
	int err;

	errno = 0;
	fd = strtoul(number, &end, 10);
	if (!isdigit((unsigned char)*number) || *end || errno || fd > INT_MAX)
		return coll_fail(detail, -EINVAL,
				 "COLL_SECRET_FD=%s is not the number of a descriptor", number);
	length = read_all(fd, text, sizeof(text), deadline);
	if (length < 0) {
		explicit_bzero(text, sizeof(text));
		return coll_fail(detail, length, "COLL_SECRET_FD=%s: %s", number,
				 length == -EINVAL ? "neither a file nor a pipe" :
				 length == -ETIMEDOUT ? "its writer has not closed it" :
				 coll_errno_text(-length));
	}
	err = parse_key(key, text, length);
	explicit_bzero(text, sizeof(text));
	if (err)
		return coll_fail(detail, err,
				 "COLL_SECRET_FD=%s: it has to hold 32 bytes, or 64 hexadecimal digits",
				 number);
	if (fcntl(fd, F_SETFD, FD_CLOEXEC))
		return coll_fail(detail, -errno, "COLL_SECRET_FD=%s: %s", number,
				 coll_errno_text(errno));
	return 0;
}

/*
 * A program in between may have closed the descriptor.  The parent then sets COLL_SECRET_FILE
 * as well.
 */
static int read_fd_or_file(uint8_t *key, const char *number, uint64_t deadline,
			   struct coll_detail *detail)
{
	const char *path = secure_getenv("COLL_SECRET_FILE");
	struct coll_detail none = { NULL, 0 };
	int err = read_fd(key, number, deadline, path ? &none : detail);

	return err && path ? read_file(key, path, detail) : err;
}

/* Both are optional: an older kernel has neither. */
static void protect(uint8_t *key, size_t page)
{
	(void)madvise(key, page, MADV_DONTDUMP);
	(void)madvise(key, page, MADV_WIPEONFORK);
}

/* Pages are not larger on any common architecture. */
#define SPARE_PAGE_MAX	(64UL << 10)

/*
 * The secret of a process that has no memory, which needs one to be heard by the other ranks.
 * @room has a whole page; unused, it takes no space.
 */
static struct {
	struct coll_secret secret;
	bool is_used;
	uint8_t room[2 * SPARE_PAGE_MAX];
} spare;

static struct coll_secret *take_spare(size_t page)
{
	const uintptr_t room = (uintptr_t)spare.room;

	if (page > SPARE_PAGE_MAX || __atomic_exchange_n(&spare.is_used, true, __ATOMIC_ACQUIRE))
		return NULL;
	spare.secret = (struct coll_secret){
		.refs = 1,
		.key = spare.room + (-room & (page - 1)),
	};
	protect(spare.secret.key, page);
	return &spare.secret;
}

static struct coll_secret *secret_new(void)
{
	struct coll_secret *secret = malloc(sizeof(*secret));
	const size_t page = sysconf(_SC_PAGESIZE);

	if (!secret)
		return take_spare(page);
	secret->refs = 1;
	secret->key = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			   0);
	if (secret->key == MAP_FAILED) {
		free(secret);
		return take_spare(page);
	}
	protect(secret->key, page);
	return secret;
}

void coll_secret_get(struct coll_secret *secret)
{
	if (secret)
		__atomic_add_fetch(&secret->refs, 1, __ATOMIC_RELAXED);
}

void coll_secret_put(struct coll_secret *secret)
{
	/* ACQ_REL: the last put happens after all uses of the page by other holders. */
	if (!secret || __atomic_sub_fetch(&secret->refs, 1, __ATOMIC_ACQ_REL))
		return;
	explicit_bzero(secret->key, COLLECTIVE_SECRET_SIZE);
	if (secret == &spare.secret) {
		__atomic_store_n(&spare.is_used, false, __ATOMIC_RELEASE);
		return;
	}
	munmap(secret->key, sysconf(_SC_PAGESIZE));
	free(secret);
}

static bool is_zero(const uint8_t *key)
{
	static const uint8_t none[COLLECTIVE_SECRET_SIZE];

	return !memcmp(key, none, sizeof(none));
}

/*
 * Read the first source that is set.  An empty one is an error, not absence.  -ENODATA: none is
 * set.
 */
static int find_key(uint8_t *key, const struct coll_settings *settings,
		    const struct coll_config *config,
		    struct coll_detail *detail)
{
	static const char * const names[] = { "COLL_SECRET", "COLL_SECRET_FD",
					      "COLL_SECRET_FILE" };
	const char *value = NULL;
	unsigned int i;

	if (config->secret) {
		memcpy(key, config->secret, COLLECTIVE_SECRET_SIZE);
		return 0;
	}
	for (i = 0; !value && i < sizeof(names) / sizeof(*names); i++)
		value = secure_getenv(names[i]);
	if (!value)
		return -ENODATA;
	if (!*value)
		return coll_fail(detail, -EINVAL,
				 "%s is empty: unset it, or give the group a secret",
				 names[i - 1]);
	if (i == 3)
		return read_file(key, value, detail);
	if (i == 2)
		return read_fd_or_file(key, value, settings->deadline, detail);
	return parse_digits(key, value, strlen(value)) ?
	       coll_fail(detail, -EINVAL, "COLL_SECRET is not 64 hexadecimal digits") : 0;
}

int coll_secret_fill(struct coll_settings *settings, const struct coll_config *config,
		     struct coll_detail *detail)
{
	struct coll_secret *secret = secret_new();
	int err;

	if (!secret)
		return coll_fail(detail, -ENOMEM, "no memory");
	err = find_key(secret->key, settings, config, detail);
	if (!err && is_zero(secret->key))
		err = coll_fail(detail, -EINVAL, "a secret must not be all zeros");
	if (err) {
		coll_secret_put(secret);
		return err == -ENODATA ? 0 : err;
	}
	settings->secret = secret;
	settings->secured = true;
	return 0;
}

int coll_secret_make(struct coll_settings *settings, struct coll_detail *detail)
{
	struct coll_secret *secret = secret_new();

	if (!secret)
		return coll_fail(detail, -ENOMEM, "no memory");
	if (getrandom(secret->key, COLLECTIVE_SECRET_SIZE, 0) != COLLECTIVE_SECRET_SIZE) {
		coll_secret_put(secret);
		return coll_fail(detail, -EAGAIN, "no random numbers");
	}
	settings->secret = secret;
	settings->secured = true;
	return 0;
}

int coll_secret_take(struct coll_settings *settings, const uint8_t key[COLLECTIVE_SECRET_SIZE],
		     struct coll_detail *detail)
{
	struct coll_secret *secret = secret_new();

	if (!secret)
		return coll_fail(detail, -ENOMEM, "no memory");
	memcpy(secret->key, key, COLLECTIVE_SECRET_SIZE);
	settings->secret = secret;
	settings->secured = true;
	return 0;
}

int coll_secret_nonce(const struct coll_settings *settings, uint8_t nonce[COLL_NONCE_SIZE])
{
	memset(nonce, 0, COLL_NONCE_SIZE);
	if (settings->secured && getrandom(nonce, COLL_NONCE_SIZE, 0) != COLL_NONCE_SIZE)
		return -EAGAIN;
	return 0;
}

void coll_secret_prove(const struct coll_settings *settings, enum coll_proof_side side,
		       const uint8_t *hello, size_t size,
		       const uint8_t nonce[COLL_NONCE_SIZE],
		       uint8_t proof[COLL_PROOF_SIZE])
{
	const uint8_t label = side;
	struct hmac_sha256_ctx ctx;

	hmac_sha256_set_key(&ctx, COLLECTIVE_SECRET_SIZE, settings->secret->key);
	hmac_sha256_update(&ctx, sizeof(label), &label);
	hmac_sha256_update(&ctx, size, hello);
	hmac_sha256_update(&ctx, COLL_NONCE_SIZE, nonce);
	hmac_sha256_digest(&ctx, COLL_PROOF_SIZE, proof);
	explicit_bzero(&ctx, sizeof(ctx));
}
