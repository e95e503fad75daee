// SPDX-License-Identifier: LGPL-2.1-or-later
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <nettle/hmac.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "secret.h"

#define DIGITS	(2 * COLLECTIVE_SECRET_SIZE)

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* 64 digits and nothing behind them but the end of a line. */
static int parse(uint8_t *secret, const char *text, size_t length)
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

/* A file that only its owner, who is us or root, can read. */
static int read_file(uint8_t *secret, const char *path, struct coll_detail *detail)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	char text[DIGITS + 3];
	struct stat stat;
	ssize_t length;
	int err;

	if (fd < 0 || fstat(fd, &stat)) {
		err = -errno;
		if (fd >= 0)
			close(fd);
		return coll_fail(detail, err, "COLL_SECRET_FILE=%s: %s", path,
				 strerrordesc_np(-err));
	}
	if (!S_ISREG(stat.st_mode) || stat.st_mode & 077 ||
	    (stat.st_uid != geteuid() && stat.st_uid)) {
		close(fd);
		return coll_fail(detail, -EACCES,
				 "COLL_SECRET_FILE=%s: it has to be a file that only its owner can read (chmod 600)",
				 path);
	}
	length = read(fd, text, sizeof(text));
	close(fd);
	if (length == COLLECTIVE_SECRET_SIZE)
		memcpy(secret, text, length);
	else if (length < 0 || parse(secret, text, length))
		length = -1;
	explicit_bzero(text, sizeof(text));
	if (length < 0)
		return coll_fail(detail, -EINVAL,
				 "COLL_SECRET_FILE=%s: it has to hold 32 bytes, or 64 hexadecimal digits",
				 path);
	return 0;
}

int coll_secret_fill(struct coll_setup *setup, const struct coll_config *config,
		     struct coll_detail *detail)
{
	static const uint8_t none[COLLECTIVE_SECRET_SIZE];
	const char *text = secure_getenv("COLL_SECRET");
	const char *path = secure_getenv("COLL_SECRET_FILE");
	int err = 0;

	if (config->secret)
		memcpy(setup->secret, config->secret, sizeof(setup->secret));
	else if (text && *text)
		err = parse(setup->secret, text, strlen(text)) ?
		      coll_fail(detail, -EINVAL, "COLL_SECRET is not 64 hexadecimal digits") : 0;
	else if (path && *path)
		err = read_file(setup->secret, path, detail);
	else
		return 0;
	if (!err && !memcmp(setup->secret, none, sizeof(none)))
		err = coll_fail(detail, -EINVAL, "a secret of zeros is none");
	setup->secured = !err;
	return err;
}

int coll_secret_nonce(const struct coll_setup *setup, uint8_t nonce[COLL_NONCE_SIZE])
{
	memset(nonce, 0, COLL_NONCE_SIZE);
	if (setup->secured && getrandom(nonce, COLL_NONCE_SIZE, 0) != COLL_NONCE_SIZE)
		return -EAGAIN;
	return 0;
}

void coll_secret_prove(const struct coll_setup *setup, enum coll_side side,
		       const uint8_t *hello, size_t size,
		       const uint8_t nonce[COLL_NONCE_SIZE],
		       uint8_t proof[COLL_PROOF_SIZE])
{
	const uint8_t label = side;
	struct hmac_sha256_ctx ctx;

	hmac_sha256_set_key(&ctx, sizeof(setup->secret), setup->secret);
	hmac_sha256_update(&ctx, sizeof(label), &label);
	hmac_sha256_update(&ctx, size, hello);
	hmac_sha256_update(&ctx, COLL_NONCE_SIZE, nonce);
	hmac_sha256_digest(&ctx, COLL_PROOF_SIZE, proof);
	explicit_bzero(&ctx, sizeof(ctx));
}
