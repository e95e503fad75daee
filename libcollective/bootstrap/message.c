// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "bootstrap/address.h"
#include "bootstrap/bytes.h"
#include "bootstrap/message.h"
#include "bootstrap/rejoin_port.h"

static const uint8_t magic[4] = { 'C', 'O', 'L', 'R' };

/* Places in the body of a HELLO. */
#define HELLO_RANK_AT	0
#define HELLO_JOB_AT	88

void bootstrap_write_version(uint8_t *to, unsigned int version)
{
	to[4] = version;
	put32(to + 12, version < BOOTSTRAP_VERSION_TELLS_LIBRARY ? 0 : bootstrap_library_version());
}

size_t bootstrap_write_head(uint8_t *to, enum bootstrap_kind kind, size_t length)
{
	memset(to, 0, BOOTSTRAP_HEAD_SIZE);
	memcpy(to, magic, sizeof(magic));
	bootstrap_write_version(to, BOOTSTRAP_VERSION);
	to[5] = kind;
	put32(to + 8, length);
	return BOOTSTRAP_HEAD_SIZE + length;
}

static void put_name(uint8_t *to, const char *name)
{
	memset(to, 0, BOOTSTRAP_NAME_SIZE);
	memcpy(to, name, strlen(name));
}

static int get_name(const uint8_t *from, char name[COLLECTIVE_NAME_MAX + 1])
{
	memcpy(name, from, COLLECTIVE_NAME_MAX);
	name[COLLECTIVE_NAME_MAX] = '\0';
	return !name[0] || coll_config_name_valid(name) ? 0 : -EPROTO;
}

static int get_key(const uint8_t *from, char key[COLL_KEY_SIZE])
{
	memcpy(key, from, COLL_KEY_SIZE);
	return !key[COLL_KEY_SIZE - 1] && coll_config_key_valid(key) ? 0 : -EPROTO;
}

void bootstrap_write_entry(uint8_t *to, const struct sockaddr_storage *addr)
{
	const struct sockaddr_in6 *in6 = (const void *)addr;
	const struct sockaddr_in *in4 = (const void *)addr;

	memset(to, 0, BOOTSTRAP_ENTRY_SIZE);
	put16(to + 4, coll_rejoin_port_get(addr));
	put16(to + 6, coll_address_offers_rdma(addr));
	if (addr->ss_family == AF_INET6) {
		to[0] = 6;
		put16(to + 2, ntohs(in6->sin6_port));
		memcpy(to + 8, &in6->sin6_addr, 16);
	} else {
		to[0] = 4;
		put16(to + 2, ntohs(in4->sin_port));
		memcpy(to + 8, &in4->sin_addr, 4);
	}
}

size_t bootstrap_write_hello(uint8_t *to, const struct bootstrap_hello *hello)
{
	uint8_t *body = to + BOOTSTRAP_HEAD_SIZE;

	put32(body + HELLO_RANK_AT, hello->rank);
	put32(body + 4, hello->nranks);
	put32(body + 8, hello->lanes);
	put32(body + 12, hello->left_ms);
	put_name(body + 16, hello->name);
	memcpy(body + 16 + BOOTSTRAP_NAME_SIZE, hello->nonce, COLL_NONCE_SIZE);
	put64(body + HELLO_JOB_AT, hello->job);
	put64(body + 96, hello->process);
	put32(body + 104, hello->attempt);
	put32(body + 108, hello->returns);
	put64(body + 112, hello->id);
	put32(body + 120, hello->before);
	put32(body + 124, hello->restart);
	memset(body + 128, 0, COLL_KEY_SIZE);
	memcpy(body + 128, hello->key, strlen(hello->key));
	return bootstrap_write_head(to, BOOTSTRAP_HELLO, BOOTSTRAP_HELLO_SIZE);
}

size_t bootstrap_write_wait(uint8_t *to, const struct bootstrap_wait *wait)
{
	uint8_t *body = to + BOOTSTRAP_HEAD_SIZE;

	put64(body, wait->id);
	put32(body + 8, wait->pause_ms);
	put32(body + 12, wait->rank);
	return bootstrap_write_head(to, BOOTSTRAP_WAIT, BOOTSTRAP_WAIT_SIZE);
}

size_t bootstrap_write_welcome(uint8_t *to, const struct bootstrap_welcome *welcome)
{
	uint8_t *body = to + BOOTSTRAP_HEAD_SIZE;

	put64(body, welcome->id);
	put32(body + 8, welcome->lanes);
	put32(body + 12, 0);
	put_name(body + 16, welcome->name);
	bootstrap_write_entry(body + 16 + BOOTSTRAP_NAME_SIZE, &welcome->addr);
	return bootstrap_write_head(to, BOOTSTRAP_WELCOME, BOOTSTRAP_WELCOME_SIZE);
}

size_t bootstrap_write_address(uint8_t *to, const struct sockaddr_storage *addr)
{
	bootstrap_write_entry(to + BOOTSTRAP_HEAD_SIZE, addr);
	return bootstrap_write_head(to, BOOTSTRAP_ADDRESS, BOOTSTRAP_ENTRY_SIZE);
}

size_t bootstrap_write_table(uint8_t *to, const struct sockaddr_storage *addrs,
			     unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		bootstrap_write_entry(to + BOOTSTRAP_HEAD_SIZE + i * BOOTSTRAP_ENTRY_SIZE,
				      &addrs[i]);
	return bootstrap_write_head(to, BOOTSTRAP_TABLE, (size_t)n * BOOTSTRAP_ENTRY_SIZE);
}

size_t bootstrap_write_fail(uint8_t *to, int err, const char *text)
{
	size_t length = strnlen(text, BOOTSTRAP_FAIL_MAX - 4);

	put32(to + BOOTSTRAP_HEAD_SIZE, -err);
	memcpy(to + BOOTSTRAP_HEAD_SIZE + 4, text, length);
	return bootstrap_write_head(to, BOOTSTRAP_FAIL, 4 + length);
}

size_t bootstrap_write_challenge(uint8_t *to, const uint8_t *nonce, const uint8_t *proof)
{
	memcpy(to + BOOTSTRAP_HEAD_SIZE, nonce, COLL_NONCE_SIZE);
	memcpy(to + BOOTSTRAP_HEAD_SIZE + COLL_NONCE_SIZE, proof, COLL_PROOF_SIZE);
	return bootstrap_write_head(to, BOOTSTRAP_CHALLENGE, BOOTSTRAP_CHALLENGE_SIZE);
}

size_t bootstrap_write_proof(uint8_t *to, const uint8_t *proof)
{
	memcpy(to + BOOTSTRAP_HEAD_SIZE, proof, COLL_PROOF_SIZE);
	return bootstrap_write_head(to, BOOTSTRAP_PROOF, COLL_PROOF_SIZE);
}

int bootstrap_read_head(const uint8_t *from, size_t max, struct bootstrap_head *head)
{
	*head = (struct bootstrap_head) {
		.kind = from[5],
		.length = get32(from + 8),
		.version = { .format = from[4], .library = get32(from + 12) },
	};
	if (memcmp(from, magic, sizeof(magic)) || !head->kind || get16(from + 6) ||
	    head->length > max)
		return -EPROTO;
	return 0;
}

int bootstrap_read_hello_rank(const uint8_t *from, size_t length, uint32_t *rank, uint64_t *job)
{
	if (length < HELLO_JOB_AT + sizeof(*job))
		return -EPROTO;
	*rank = get32(from + HELLO_RANK_AT);
	*job = get64(from + HELLO_JOB_AT);
	return 0;
}

int bootstrap_read_hello(const uint8_t *from, size_t length,
			 struct bootstrap_hello *hello)
{
	if (length != BOOTSTRAP_HELLO_SIZE)
		return -EPROTO;
	hello->rank = get32(from + HELLO_RANK_AT);
	hello->nranks = get32(from + 4);
	hello->lanes = get32(from + 8);
	hello->left_ms = get32(from + 12);
	memcpy(hello->nonce, from + 16 + BOOTSTRAP_NAME_SIZE, COLL_NONCE_SIZE);
	hello->job = get64(from + HELLO_JOB_AT);
	hello->process = get64(from + 96);
	hello->attempt = get32(from + 104);
	hello->returns = get32(from + 108);
	hello->id = get64(from + 112);
	hello->before = get32(from + 120);
	hello->restart = get32(from + 124);
	if (get32(from + 108) > 1 || hello->nranks > COLLECTIVE_RANKS_MAX ||
	    (hello->rank >= hello->nranks && hello->rank != BOOTSTRAP_RANK_ANY) ||
	    hello->lanes > COLLECTIVE_LANES_MAX || get_key(from + 128, hello->key))
		return -EPROTO;
	return get_name(from + 16, hello->name);
}

int bootstrap_read_wait(const uint8_t *from, size_t length, struct bootstrap_wait *wait)
{
	if (length != BOOTSTRAP_WAIT_SIZE)
		return -EPROTO;
	wait->id = get64(from);
	wait->pause_ms = get32(from + 8);
	wait->rank = get32(from + 12);
	return wait->rank && wait->rank < COLLECTIVE_RANKS_MAX ? 0 : -EPROTO;
}

int bootstrap_read_welcome(const uint8_t *from, size_t length,
			   struct bootstrap_welcome *welcome)
{
	if (length != BOOTSTRAP_WELCOME_SIZE)
		return -EPROTO;
	welcome->id = get64(from);
	welcome->lanes = get32(from + 8);
	if (welcome->lanes > COLLECTIVE_LANES_MAX)
		return -EPROTO;
	if (get_name(from + 16, welcome->name) ||
	    bootstrap_read_entry(from + 16 + BOOTSTRAP_NAME_SIZE, &welcome->addr))
		return -EPROTO;
	return welcome->name[0] ? 0 : -EPROTO;
}

int bootstrap_read_entry(const uint8_t *from, struct sockaddr_storage *addr)
{
	struct sockaddr_in6 *in6 = (void *)addr;
	struct sockaddr_in *in4 = (void *)addr;

	memset(addr, 0, sizeof(*addr));
	if (!get16(from + 2))
		return -EPROTO;
	switch (from[0]) {
	case 4:
		in4->sin_family = AF_INET;
		in4->sin_port = htons(get16(from + 2));
		memcpy(&in4->sin_addr, from + 8, 4);
		break;
	case 6:
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(get16(from + 2));
		memcpy(&in6->sin6_addr, from + 8, 16);
		break;
	default:
		return -EPROTO;
	}
	coll_rejoin_port_set(addr, get16(from + 4));
	if (get16(from + 6) & 1)
		coll_address_offer_rdma(addr);
	return coll_address_is_any(addr) ? -EPROTO : 0;
}

int bootstrap_read_fail(const uint8_t *from, size_t length, char *text,
			size_t size)
{
	uint32_t err;
	size_t i;

	if (length < 4 || length > BOOTSTRAP_FAIL_MAX)
		return -EPROTO;
	err = get32(from);
	for (i = 0; i < length - 4 && i < size - 1; i++)
		text[i] = from[4 + i] < ' ' || from[4 + i] > '~' ? '?' :
			  from[4 + i];
	text[i] = '\0';
	return err && err < 4096 ? -(int)err : -EPROTO;
}
