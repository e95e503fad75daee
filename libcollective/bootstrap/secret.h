/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The secret that all ranks of a group share, and how they prove in the rendezvous
 * that they do.  The kernel has its own proof of every connection.
 *
 * The key has a page of its own, which is in no core dump (MADV_DONTDUMP) and which a
 * child made by fork() sees as zeros (MADV_WIPEONFORK).  A communicator holds a
 * reference, and so does each one that is made from it; the last one wipes the page.
 */
#ifndef COLL_SECRET_H
#define COLL_SECRET_H

#include <stddef.h>

#include "comm/config.h"

#define COLL_NONCE_SIZE		32
#define COLL_PROOF_SIZE		32

/**
 * struct coll_secret - a secret and its holders
 * @refs: references; atomic
 * @key: COLLECTIVE_SECRET_SIZE bytes, alone in their page; never written again once
 *	coll_secret_fill() has returned
 */
struct coll_secret {
	unsigned int refs;
	uint8_t *key;
};

/* Whose proof: one cannot be handed back as the other. */
enum coll_proof_side {
	COLL_SIDE_ROOT = 1,
	COLL_SIDE_CLIENT,
	COLL_SIDE_SHRINK,	/* of a message of coll_shrink(), which says from whom to whom */
};

/**
 * coll_secret_fill - the secret, if there is one
 * @settings: its @secured and @secret are filled in; the caller has a reference then
 * @config: its @secret comes first, then COLL_SECRET, COLL_SECRET_FD, COLL_SECRET_FILE
 * @detail: texts
 *
 * A descriptor that is not a file is read until its end, by @settings->deadline.
 *
 * Return: 0; -EINVAL: empty, or not 32 bytes or 64 hexadecimal digits; -EACCES: others
 * can read the file; -ENOMEM; -ETIMEDOUT; or why it cannot be read.
 */
int coll_secret_fill(struct coll_settings *settings, const struct coll_config *config,
		     struct coll_detail *detail);

/* A random one, for a group of one; 0, -ENOMEM or -EAGAIN. */
int coll_secret_make(struct coll_settings *settings, struct coll_detail *detail);

/* One more, and one fewer, that holds it; NULL is ignored. */
void coll_secret_get(struct coll_secret *secret);
void coll_secret_put(struct coll_secret *secret);

/* Random bytes, or zeros without a secret; 0 or -EAGAIN. */
int coll_secret_nonce(const struct coll_settings *settings, uint8_t nonce[COLL_NONCE_SIZE]);

/* HMAC-SHA256 of the side, the body of a HELLO and the host's nonce. */
void coll_secret_prove(const struct coll_settings *settings, enum coll_proof_side side,
		       const uint8_t *hello, size_t size,
		       const uint8_t nonce[COLL_NONCE_SIZE],
		       uint8_t proof[COLL_PROOF_SIZE]);

#endif /* COLL_SECRET_H */
