/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What survivors say to one another, a datagram each.  All numbers are little-endian.
 *
 *	 0 magic "COLS"  4 version u8  5 kind u8 (enum coll_agree_kind)  6 0 u16
 *	 8 the old group's id u64  16 its ranks u32
 *	20 from rank u32  24 to rank u32  28 time left, ms u32
 *	32 call of the sender u64  40 call of the receiver, as heard u64
 *	48 ballot u64  56 another ballot u64
 *	64 id of a group u64  72 errno u32  76 length of the body u32
 *	80 body
 *	   proof, 32 bytes; zero without a secret
 *
 *	PREPARE		dead ranks, lost ranks
 *	PROMISE, DECIDED
 *			members, dead ranks, lost ranks
 *	BEGIN, ACCEPT, DONE
 *			members
 *	PLACE		entry (message.h)
 *	PLACES		0 new rank of the first u32  4 0 u32  8 entries, up to 32
 *	UNABLE, GIVE_UP	text, up to 480 bytes, no NUL
 *	others		nothing
 *
 * A set of ranks is a bit a rank, in words u64.  The proof is of all before it (secret.h).
 * No datagram is so long that it would be sent in fragments.
 */
#ifndef COLL_SHRINK_MESSAGE_H
#define COLL_SHRINK_MESSAGE_H

#include "bootstrap/message.h"
#include "shrink/agree.h"

#define COLL_SHRINK_MAGIC	0x434f4c53U	/* "COLS", the first byte the highest */
#define COLL_SHRINK_HEAD_SIZE	80
#define COLL_SHRINK_PLACES_MAX	32
#define COLL_SHRINK_TEXT_MAX	480
#define COLL_SHRINK_BODY_MAX	(8 + COLL_SHRINK_PLACES_MAX * BOOTSTRAP_ENTRY_SIZE)
#define COLL_SHRINK_MESSAGE_MAX	(COLL_SHRINK_HEAD_SIZE + COLL_SHRINK_BODY_MAX + COLL_PROOF_SIZE)

/**
 * coll_shrink_write - make a datagram of a message
 * @to: room for COLL_SHRINK_MESSAGE_MAX bytes
 * @settings: of the old group
 * @message: the message
 * @body: of PLACE, PLACES, UNABLE, GIVE_UP, which is written as it is
 * @length: bytes of it, at most COLL_SHRINK_BODY_MAX
 *
 * Return: its bytes.
 */
size_t coll_shrink_write(uint8_t *to, const struct coll_settings *settings,
			 const struct coll_agree_message *message, const uint8_t *body,
			 size_t length);

/**
 * coll_shrink_read - check a datagram and take it apart
 * @from: its bytes
 * @size: how many
 * @settings: of the old group
 * @message: filled in
 * @body: set to the body of PLACE, PLACES, UNABLE, GIVE_UP
 * @length: and its bytes
 *
 * Return: 0, or -EPROTO: it is malformed, of another group, not for this rank, or does not
 * prove that it comes from @message->from.
 */
int coll_shrink_read(const uint8_t *from, size_t size, const struct coll_settings *settings,
		     struct coll_agree_message *message, const uint8_t **body, size_t *length);

#endif /* COLL_SHRINK_MESSAGE_H */
