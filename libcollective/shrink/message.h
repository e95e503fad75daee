/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Messages of coll_shrink(), one datagram each, none so long that it would be fragmented.
 */
#ifndef COLL_SHRINK_MESSAGE_H
#define COLL_SHRINK_MESSAGE_H

#include "bootstrap/message.h"
#include "shrink/agree.h"

/*
 * All numbers are little-endian; a number in front of a field is its offset in bytes.
 *
 *	 0 magic "COLS"  4 version u8  5 kind u8 (enum coll_agree_kind)
 *	 6 1: leave, or has left, the old group (PREPARE, PROMISE) u8  7 0 u8
 *	 8 id of the old group u64  16 its number of ranks u32
 *	20 from rank u32  24 to rank u32  28 time left, ms u32
 *	32 call of the sender u64  40 call of the receiver, as last heard u64
 *	48 ballot u64  56 another ballot u64
 *	64 id of the new group u64  72 errno u32  76 length of the body u32
 *	80 body
 *	   proof, 32 bytes; zero without a secret
 *
 * Bodies:
 *
 *	PREPARE		lost ranks
 *	PROMISE, DECIDED
 *			members, lost ranks
 *	BEGIN, ACCEPT, DONE
 *			members
 *	PLACE		entry (bootstrap/message.h)
 *	PLACES		0 new rank of the first u32  4 0 u32  8 entries, up to 32
 *	UNABLE, GIVE_UP	text, up to 480 bytes, no NUL
 *	others		empty
 *
 * A set of ranks has one bit for each rank, in words u64.  The proof covers all bytes before it
 * (bootstrap/secret.h).
 */
#define COLL_SHRINK_MAGIC	0x434f4c53U	/* "COLS", first byte in the highest bits */
#define COLL_SHRINK_HEAD_SIZE	80
#define COLL_SHRINK_PLACES_MAX	32
#define COLL_SHRINK_TEXT_MAX	480
#define COLL_SHRINK_BODY_MAX	(8 + COLL_SHRINK_PLACES_MAX * BOOTSTRAP_ENTRY_SIZE)
#define COLL_SHRINK_MESSAGE_MAX	(COLL_SHRINK_HEAD_SIZE + COLL_SHRINK_BODY_MAX + COLL_PROOF_SIZE)

/**
 * coll_shrink_write - write the datagram of a message
 * @to: buffer of COLL_SHRINK_MESSAGE_MAX bytes
 * @settings: settings of the old group
 * @message: the message
 * @body: body of PLACE, PLACES, UNABLE or GIVE_UP, written as it is
 * @length: size of @body in bytes, at most COLL_SHRINK_BODY_MAX
 *
 * Return: size of the datagram in bytes.
 */
size_t coll_shrink_write(uint8_t *to, const struct coll_settings *settings,
			 const struct coll_agree_message *message, const uint8_t *body,
			 size_t length);

/**
 * coll_shrink_read - check and parse a datagram
 * @from: the datagram
 * @size: its size in bytes
 * @settings: settings of the old group
 * @message: filled in
 * @body: set to the body of PLACE, PLACES, UNABLE or GIVE_UP
 * @length: set to the size of @body in bytes
 *
 * Return: 0; -EPROTO: it is malformed, of another group, for another rank, or without a valid
 * proof that @message->from sent it.
 */
int coll_shrink_read(const uint8_t *from, size_t size, const struct coll_settings *settings,
		     struct coll_agree_message *message, const uint8_t **body, size_t *length);

#endif /* COLL_SHRINK_MESSAGE_H */
