/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Cards: what a rank gives to an exchange, and reads of all others. */
#ifndef COLL_CARD_H
#define COLL_CARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include <linux/collective.h>

#include "bootstrap/secret.h"
#include "bootstrap/version.h"

/*
 * All numbers are little-endian; a number in front of a field is its offset in bytes.
 *
 *	 0 magic "COLX"  4 version u8  5 round u8  6 flags u16
 *	 8 rank u32  12 nranks u32  16 errno u32, 0: no failure  20 lanes u32
 *	24 number u64  32 number of addresses u32  36 time left, ms u32
 *	40 name, NUL-padded, 40 bytes
 *	80 round 1: secret that rank 0 made, else 0; round 2: proof; 32 bytes
 *	112 host, 16 bytes
 *	128 addresses, 24 bytes each: an entry (message.h) with the prefix length in its byte 1
 *	512 text of the failure, up to 252 bytes, NUL-padded
 *	764 library u32: bootstrap_library_version(); text before version 4
 *
 * In all versions from 4 on, size, magic, version and library are the same.
 */
#define BOOTSTRAP_CARD_VERSION		4
#define BOOTSTRAP_CARD_SIZE		768
#define BOOTSTRAP_CARD_ADDRS_MAX	16
#define BOOTSTRAP_CARD_TEXT		252
#define BOOTSTRAP_HOST_SIZE		16

/* Rounds.  Those of probes are left out unless several addresses remain (bootstrap/probe.h). */
#define BOOTSTRAP_ROUND_INTRODUCE	1	/* the ranks learn of each other */
#define BOOTSTRAP_ROUND_JOINED		2	/* every rank has joined */
#define BOOTSTRAP_ROUND_LISTEN		3	/* the first rank of each host listens */
#define BOOTSTRAP_ROUND_REACHED		4	/* it has tried to connect to others */

#define BOOTSTRAP_CARD_SECURED	(1U << 0)	/* the rank was given a secret */
#define BOOTSTRAP_CARD_MADE	(1U << 1)	/* rank 0 made the secret in this card */
#define BOOTSTRAP_CARD_FIXED	(1U << 2)	/* the only address is the one that was asked for */
#define BOOTSTRAP_CARD_RDMA	(1U << 3)	/* all links of the rank are to use RDMA */

/**
 * struct bootstrap_place - address of a host, with its network
 * @addr: the address
 * @prefix: length of the network's prefix in bits
 */
struct bootstrap_place {
	struct sockaddr_storage addr;
	unsigned int prefix;
};

/**
 * struct bootstrap_card - card of one rank
 * @version: its version, and that of the library
 * @round: BOOTSTRAP_ROUND_*
 * @flags: BOOTSTRAP_CARD_*
 * @rank: rank that wrote it
 * @nranks: number of ranks of the group, as the rank was told
 * @err: negative errno with which the rank failed; or 0
 * @lanes: number of lanes that it asks for; 0: any
 * @number: in round 1 id of the group, valid on rank 0; of probes: port, or what was reached
 * @left_ms: time until the rank's deadline in ms
 * @name: name of the group; empty: any
 * @secret: in round 1 the secret, with BOOTSTRAP_CARD_MADE; in round 2 a proof of the secret
 * @host: the same on ranks of one kernel and network namespace
 * @naddrs: number of @addrs
 * @addrs: in round 1 addresses of the host, the best first; in round 2 the rank's own
 * @text: text of @err
 */
struct bootstrap_card {
	struct bootstrap_version version;
	unsigned int round;
	unsigned int flags;
	uint32_t rank;
	uint32_t nranks;
	int err;
	uint32_t lanes;
	uint64_t number;
	uint32_t left_ms;
	char name[COLLECTIVE_NAME_MAX + 1];
	uint8_t secret[COLLECTIVE_SECRET_SIZE];
	uint8_t host[BOOTSTRAP_HOST_SIZE];
	unsigned int naddrs;
	struct bootstrap_place addrs[BOOTSTRAP_CARD_ADDRS_MAX];
	char text[BOOTSTRAP_CARD_TEXT + 1];
};

#define BOOTSTRAP_CARD_NAME	96

/* Write the name of a rank and its first address, such as "rank 2 (at 10.0.0.1)". */
void bootstrap_name_card(const struct bootstrap_card *card, int rank,
			 char text[BOOTSTRAP_CARD_NAME]);

void bootstrap_write_card(uint8_t to[BOOTSTRAP_CARD_SIZE], const struct bootstrap_card *card);

/*
 * Return: 0; -EPROTO: these bytes are no card of @round; or -EPROTONOSUPPORT: they are a card of
 * another version of the library, and only @card->version is valid.
 */
int bootstrap_read_card(const uint8_t from[BOOTSTRAP_CARD_SIZE], unsigned int round,
			struct bootstrap_card *card);

#endif /* COLL_CARD_H */
