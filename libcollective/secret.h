/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The secret that all ranks of a group share, and how they prove in the rendezvous
 * that they do.  The kernel has its own proof of every connection.
 */
#ifndef COLL_SECRET_H
#define COLL_SECRET_H

#include <stddef.h>

#include "setup.h"

#define COLL_NONCE_SIZE		32
#define COLL_PROOF_SIZE		32

/* Whose proof: one cannot be handed back as the other. */
enum coll_side {
	COLL_SIDE_HOST = 1,
	COLL_SIDE_GUEST,
	COLL_SIDE_SHRINK,	/* of a message of coll_shrink(), which says from whom to whom */
};

/**
 * coll_secret_fill - the secret, if there is one
 * @setup: its @secured and @secret are filled in
 * @config: its @secret comes first, then COLL_SECRET, then COLL_SECRET_FILE
 * @detail: texts
 *
 * Return: 0; -EINVAL: not 32 bytes or 64 hexadecimal digits; -EACCES: others can
 * read the file; or why it cannot be read.
 */
int coll_secret_fill(struct coll_setup *setup, const struct coll_config *config,
		     struct coll_detail *detail);

/* Random bytes, or zeros without a secret; 0 or -EAGAIN. */
int coll_secret_nonce(const struct coll_setup *setup, uint8_t nonce[COLL_NONCE_SIZE]);

/* HMAC-SHA256 of the side, the body of a HELLO and the host's nonce. */
void coll_secret_prove(const struct coll_setup *setup, enum coll_side side,
		       const uint8_t *hello, size_t size,
		       const uint8_t nonce[COLL_NONCE_SIZE],
		       uint8_t proof[COLL_PROOF_SIZE]);

#endif /* COLL_SECRET_H */
