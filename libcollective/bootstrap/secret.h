/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The secret that all ranks of a group share, and its proofs in bootstrap and shrink messages.
 * The kernel authenticates each of its connections by itself.
 *
 * The key is in a page of its own.  Core dumps leave the page out (MADV_DONTDUMP), and a child
 * made by fork() sees zeros (MADV_WIPEONFORK).  A communicator has a reference, and so has each
 * communicator made from it; the last reference wipes the page.
 */
#ifndef COLL_SECRET_H
#define COLL_SECRET_H

#include <stddef.h>

#include "comm/config.h"

#define COLL_NONCE_SIZE		32
#define COLL_PROOF_SIZE		32

/**
 * struct coll_secret - reference-counted secret
 * @refs: number of references; atomic
 * @key: COLLECTIVE_SECRET_SIZE bytes in a page of their own; not written after
 *	coll_secret_fill() or coll_secret_make()
 */
struct coll_secret {
	unsigned int refs;
	uint8_t *key;
};

/* Sender of a proof.  It is part of the proof, so that no proof can be sent back as another. */
enum coll_proof_side {
	COLL_SIDE_ROOT = 1,
	COLL_SIDE_CLIENT,
	COLL_SIDE_SHRINK,	/* messages of coll_shrink(), which contain both ranks */
	COLL_SIDE_CARD,		/* cards of an exchange, of any rank */
};

/**
 * coll_secret_fill - read the secret, if there is one
 * @settings: @secured and @secret are set; the caller gets the reference
 * @config: its @secret is used first, then COLL_SECRET, COLL_SECRET_FD, COLL_SECRET_FILE
 * @detail: text of a failure
 *
 * A descriptor that is not a file is read to its end, until @settings->deadline.
 *
 * Return: 0; -EINVAL: empty, or not 32 bytes or 64 hexadecimal digits; -EACCES: others can read
 * the file; -ENOMEM; -ETIMEDOUT; or the errno of reading it.
 */
int coll_secret_fill(struct coll_settings *settings, const struct coll_config *config,
		     struct coll_detail *detail);

/* Make a random secret.  Return: 0, -ENOMEM or -EAGAIN. */
int coll_secret_make(struct coll_settings *settings, struct coll_detail *detail);

/* Take @key as the secret.  Return: 0 or -ENOMEM. */
int coll_secret_take(struct coll_settings *settings, const uint8_t key[COLLECTIVE_SECRET_SIZE],
		     struct coll_detail *detail);

/* Get and put a reference; NULL is ignored. */
void coll_secret_get(struct coll_secret *secret);
void coll_secret_put(struct coll_secret *secret);

/* Fill @nonce with random bytes, or with zeros without a secret.  Return: 0 or -EAGAIN. */
int coll_secret_nonce(const struct coll_settings *settings, uint8_t nonce[COLL_NONCE_SIZE]);

/* Compute a proof: HMAC-SHA256 of @side, @size bytes of message and the receiver's @nonce. */
void coll_secret_prove(const struct coll_settings *settings, enum coll_proof_side side,
		       const uint8_t *hello, size_t size,
		       const uint8_t nonce[COLL_NONCE_SIZE],
		       uint8_t proof[COLL_PROOF_SIZE]);

#endif /* COLL_SECRET_H */
