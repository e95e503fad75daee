/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Messages of the bootstrap.  Those of coll_shrink() are in shrink/message.h.
 */
#ifndef COLL_BOOTSTRAP_MESSAGE_H
#define COLL_BOOTSTRAP_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "bootstrap/secret.h"
#include "bootstrap/version.h"
#include "comm/config.h"

/*
 * All numbers are little-endian; a number in front of a field is its offset in bytes.
 *
 *	head	 0 magic "COLR"  4 version u8  5 kind u8  6 0 u16
 *		 8 length u32 of the body, which follows the head
 *		12 library u32: bootstrap_library_version(); 0 before version 5
 *	HELLO	 0 rank u32, 2^32 - 1: any  4 nranks u32  8 lanes u32  12 time left, ms u32
 *		16 name, NUL-padded, 40 bytes  56 nonce, 32 bytes, zero: no secret
 *		88 job u64, 0: unknown  96 process u64  104 attempt u32
 *		108 1: returns after WAIT from the group in 112, else 0  112 id u64
 *		120 rank that the key had before u32, 0: none  124 restart u32
 *		128 key, NUL-padded, 64 bytes
 *	CHALLENGE 0 nonce, 32 bytes  32 proof of rank 0, 32 bytes
 *	PROOF	 0 proof, 32 bytes
 *	WAIT	 0 id u64  8 pause, ms u32, 0: stay connected  12 rank u32 of the client
 *	WELCOME	 0 id u64  8 lanes u32  12 0 u32  16 name, 40 bytes
 *		56 entry of rank 0
 *	ADDRESS	 0 entry
 *	TABLE	 0 entries, in the order of ranks
 *	FAIL	 0 errno u32  4 text, up to 500 bytes, no NUL
 *	entry	 0 family u8 (4 or 6)  1 0 u8  2 port u16
 *		 4 rejoin port u16 (rejoin_port.h; 0: none)
 *		 6 offers u16, 1: RDMA (coll_address_offers_rdma(); 0 from older libraries)
 *		 8 address, 16 bytes (IPv4: the first 4)
 *
 * In all versions the head and FAIL are the same, and so are rank and job of HELLO: ranks with
 * libraries of two versions can tell each other so.  Until a version of the library is released,
 * this version also rises with the operations that the library calls by itself (version.h).
 */
#define BOOTSTRAP_VERSION	5

/* First version in which the head has the library's. */
#define BOOTSTRAP_VERSION_TELLS_LIBRARY	5

#define BOOTSTRAP_HEAD_SIZE		16
#define BOOTSTRAP_ENTRY_SIZE		24
#define BOOTSTRAP_NAME_SIZE		40
#define BOOTSTRAP_HELLO_SIZE		(16 + BOOTSTRAP_NAME_SIZE + COLL_NONCE_SIZE + 40 + \
					 COLL_KEY_SIZE)
#define BOOTSTRAP_CHALLENGE_SIZE	(COLL_NONCE_SIZE + COLL_PROOF_SIZE)
#define BOOTSTRAP_WAIT_SIZE		16
#define BOOTSTRAP_WELCOME_SIZE	(16 + BOOTSTRAP_NAME_SIZE + BOOTSTRAP_ENTRY_SIZE)
#define BOOTSTRAP_FAIL_MAX		(4 + 500)
#define BOOTSTRAP_RANK_ANY		0xffffffffU
/* Size of the largest message other than TABLE, head included. */
#define BOOTSTRAP_MESSAGE_MAX	(BOOTSTRAP_HEAD_SIZE + BOOTSTRAP_FAIL_MAX)

enum bootstrap_kind {
	BOOTSTRAP_HELLO = 1,
	BOOTSTRAP_WELCOME,
	BOOTSTRAP_ADDRESS,
	BOOTSTRAP_TABLE,
	BOOTSTRAP_FAIL,
	BOOTSTRAP_CHALLENGE,
	BOOTSTRAP_PROOF,
	BOOTSTRAP_WAIT,
};

/**
 * struct bootstrap_head - head of a message
 * @kind: its kind, enum bootstrap_kind
 * @length: size of its body in bytes
 * @version: its version, and that of the library
 */
struct bootstrap_head {
	int kind;
	size_t length;
	struct bootstrap_version version;
};

/**
 * struct bootstrap_hello - HELLO: identity of a client
 * @rank: its rank; or BOOTSTRAP_RANK_ANY: rank 0 is to choose one
 * @nranks: number of ranks of the group
 * @lanes: number of lanes that it asks for; 0: any
 * @left_ms: time until its deadline in ms
 * @name: name of the group; empty: any
 * @nonce: random bytes; zero: the client has no secret
 * @job: number of the launcher's job; 0: unknown
 * @process: random number of the process, the same in all its attempts
 * @attempt: attempt number, which increases with each HELLO of the process
 * @returns: true if the group @id told the client to WAIT, and it connects again
 * @id: id of that group
 * @before: rank that @key had before; 0: none
 * @restart: number of times that the launcher has started this rank again
 * @key: name of the process, with BOOTSTRAP_RANK_ANY; empty: none
 */
struct bootstrap_hello {
	uint32_t rank;
	uint32_t nranks;
	uint32_t lanes;
	uint32_t left_ms;
	char name[COLLECTIVE_NAME_MAX + 1];
	uint8_t nonce[COLL_NONCE_SIZE];
	uint64_t job;
	uint64_t process;
	uint32_t attempt;
	bool returns;
	uint64_t id;
	uint32_t before;
	uint32_t restart;
	char key[COLL_KEY_SIZE];
};

/**
 * struct bootstrap_welcome - WELCOME: description of the group
 * @id: its id
 * @lanes: its number of lanes
 * @name: its name
 * @addr: address of rank 0
 */
struct bootstrap_welcome {
	uint64_t id;
	uint32_t lanes;
	char name[COLLECTIVE_NAME_MAX + 1];
	struct sockaddr_storage addr;
};

/**
 * struct bootstrap_wait - WAIT: rank 0 has accepted the HELLO
 * @id: id of the group
 * @pause_ms: 0: stay connected; otherwise the root closes the connection, and the client
 *	connects again after this time in ms
 * @rank: rank of the client
 */
struct bootstrap_wait {
	uint64_t id;
	uint32_t pause_ms;
	uint32_t rank;
};

/*
 * Writers return the size of the whole message; @to has room for it.  Readers take a body of
 * @length bytes and return 0 or -EPROTO.
 */
size_t bootstrap_write_hello(uint8_t *to, const struct bootstrap_hello *hello);
size_t bootstrap_write_wait(uint8_t *to, const struct bootstrap_wait *wait);
size_t bootstrap_write_welcome(uint8_t *to, const struct bootstrap_welcome *welcome);
size_t bootstrap_write_address(uint8_t *to, const struct sockaddr_storage *addr);
size_t bootstrap_write_table(uint8_t *to, const struct sockaddr_storage *addrs,
			     unsigned int n);
size_t bootstrap_write_fail(uint8_t *to, int err, const char *text);
size_t bootstrap_write_challenge(uint8_t *to, const uint8_t *nonce, const uint8_t *proof);
size_t bootstrap_write_proof(uint8_t *to, const uint8_t *proof);

/* Write the head of a message with a body of @length bytes.  Return: the size of both. */
size_t bootstrap_write_head(uint8_t *to, enum bootstrap_kind kind, size_t length);

/* Write one entry, BOOTSTRAP_ENTRY_SIZE bytes. */
void bootstrap_write_entry(uint8_t *to, const struct sockaddr_storage *addr);

/* Write the versions into the head of a message, for a reader of another version. */
void bootstrap_write_version(uint8_t *to, unsigned int version);

/*
 * Read a head of any version.  Return: 0, or -EPROTO: it is none, or the body is larger than @max
 * bytes.
 */
int bootstrap_read_head(const uint8_t *from, size_t max, struct bootstrap_head *head);

/* Read rank and job of a HELLO of any version.  Return: 0 or -EPROTO. */
int bootstrap_read_hello_rank(const uint8_t *from, size_t length, uint32_t *rank, uint64_t *job);

int bootstrap_read_hello(const uint8_t *from, size_t length,
			 struct bootstrap_hello *hello);
int bootstrap_read_wait(const uint8_t *from, size_t length, struct bootstrap_wait *wait);
int bootstrap_read_welcome(const uint8_t *from, size_t length,
			   struct bootstrap_welcome *welcome);
int bootstrap_read_entry(const uint8_t *from, struct sockaddr_storage *addr);
/* Return: the negative errno that the message has, or -EPROTO. */
int bootstrap_read_fail(const uint8_t *from, size_t length, char *text,
			size_t size);

#endif /* COLL_BOOTSTRAP_MESSAGE_H */
