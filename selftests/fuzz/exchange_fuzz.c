// SPDX-License-Identifier: GPL-2.0-only
/*
 * Any bytes as what a launcher gives: lines of PMI-1, values of its store, cards of other
 * ranks, and lists of hosts; and as messages of a rendezvous.  Nothing is read or written
 * beyond its buffer, and what is accepted is within the bounds that the headers state.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bootstrap/card.h"
#include "bootstrap/message.h"
#include "exchange/hostlist.h"
#include "exchange/kvs.h"
#include "exchange/pmi1_line.h"
#include "require.h"

#include <linux/types.h>

int LLVMFuzzerTestOneInput(const __u8 *bytes, size_t size);

#define RANKS	3
#define GIVEN	70

/*
 * Copy to memory of exactly this size, with NUL, so that the sanitizer notices a read beyond
 * it.
 */
static char *string_of(const __u8 *bytes, size_t size)
{
	char *text = malloc(size + 1);

	memcpy(text, bytes, size);
	text[size] = '\0';
	return text;
}

static void check_line(const __u8 *bytes, size_t size)
{
	static const char * const keys[] = { "cmd", "rc", "value", "vallen_max", "k", "" };
	char *line = string_of(bytes, size), *value;
	size_t i, room;
	int length, number;

	for (i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		for (room = 1; room < 64; room *= 3) {
			value = malloc(room);
			length = pmi1_line_get(line, keys[i], value, room);
			if (length >= 0) {
				require((size_t)length < room && strlen(value) == (size_t)length);
				require(!strchr(value, ' '));
			} else {
				require(length == -EPROTO);
			}
			free(value);
		}
		number = pmi1_line_number(line, keys[i], 1024);
		require(number == -EPROTO || (number >= 0 && number <= 1024));
	}
	require(!pmi1_line_is(line, "put_result") || !pmi1_line_is(line, "get_result"));
	require(pmi1_line_result(line) == 0 || pmi1_line_result(line) == -EPROTO);
	free(line);
}

static int put(struct kvs *kvs, const char *key, const char *value)
{
	require(strlen(key) < KVS_KEY_SIZE && strlen(value) < kvs->value_max);
	return 0;
}

static int fence(struct kvs *kvs)
{
	(void)kvs;
	return 0;
}

/* The first byte is the length of the next value. */
static int get(struct kvs *kvs, int rank, const char *key, char *value, size_t size)
{
	const __u8 **at = kvs->state;
	const size_t left = at[1] - at[0];
	size_t length = left ? *at[0] : 0;

	(void)key;
	require(rank >= 0 && rank < RANKS && rank != kvs->rank);
	if (left)
		at[0]++;
	if (length > (size_t)(at[1] - at[0]))
		length = at[1] - at[0];
	if (length >= size)
		return -EPROTO;
	memcpy(value, at[0], length);
	value[length] = '\0';
	at[0] += length;
	return 0;
}

static void check_values(const __u8 *bytes, size_t size)
{
	const __u8 *state[2] = { bytes + !!size, bytes + size };
	struct coll_detail detail = { NULL, 0 };
	struct kvs kvs = {
		.rank = 1,
		.nranks = RANKS,
		.value_max = size ? bytes[0] : 0,
		.detail = &detail,
		.state = state,
		.put = put,
		.fence = fence,
		.get = get,
	};
	__u8 mine[GIVEN], *all = calloc(RANKS, GIVEN);
	int err;

	memset(mine, 7, sizeof(mine));
	err = kvs_gather(&kvs, 0, mine, sizeof(mine), all);
	require(!err || err == -EPROTO);
	require(err || !memcmp(all + GIVEN, mine, GIVEN));
	free(all);
}

/* The fuzzer's bytes begin in the middle of a card, where the fields are, and go on from there. */
static void check_card(const __u8 *bytes, size_t size)
{
	__u8 *from = calloc(1, BOOTSTRAP_CARD_SIZE), again[BOOTSTRAP_CARD_SIZE];
	const size_t most = BOOTSTRAP_CARD_SIZE - 5 - sizeof(__u32);
	struct bootstrap_card card = { 0 }, same;
	unsigned int round, i;

	/* With the versions at both ends. */
	bootstrap_write_card(from, &card);
	memcpy(from + 5, bytes, size < most ? size : most);
	for (round = 1; round <= 4; round++) {
		if (bootstrap_read_card(from, round, &card))
			continue;
		require(card.round == round && card.err <= 0 && card.err > -4096);
		require(card.naddrs <= BOOTSTRAP_CARD_ADDRS_MAX);
		require(card.lanes <= COLLECTIVE_LANES_MAX);
		require(!card.name[0] || coll_config_name_valid(card.name));
		require(strlen(card.text) <= BOOTSTRAP_CARD_TEXT);
		for (i = 0; i < card.naddrs; i++)
			require(card.addrs[i].prefix <= 128);
		bootstrap_write_card(again, &card);
		require(!bootstrap_read_card(again, round, &same));
		require(same.rank == card.rank && same.nranks == card.nranks &&
			same.number == card.number && same.naddrs == card.naddrs);
	}
	free(from);
}

/* A message of a rendezvous: a kind, and a body. */
static void check_message(const __u8 *bytes, size_t size)
{
	__u8 *body = malloc(size ? size : 1), again[BOOTSTRAP_MESSAGE_MAX];
	struct bootstrap_welcome welcome;
	struct bootstrap_hello hello;
	struct bootstrap_head head;
	struct bootstrap_wait wait;
	char text[100];
	size_t length;
	uint32_t rank;
	uint64_t job;

	memcpy(body, bytes, size);
	if (!bootstrap_read_hello(body, size, &hello)) {
		require(hello.rank < hello.nranks || hello.rank == BOOTSTRAP_RANK_ANY);
		require(hello.nranks <= COLLECTIVE_RANKS_MAX);
		require(strlen(hello.key) < COLL_KEY_SIZE);
		length = bootstrap_write_hello(again, &hello);
		require(length == BOOTSTRAP_HEAD_SIZE + size);
		require(!bootstrap_read_head(again, BOOTSTRAP_FAIL_MAX, &head) &&
			head.kind == BOOTSTRAP_HELLO && head.length == size);
		require(bootstrap_version_is_own(&head.version, BOOTSTRAP_VERSION));
	}
	if (!bootstrap_read_wait(body, size, &wait))
		require(wait.rank && wait.rank < COLLECTIVE_RANKS_MAX);
	if (!bootstrap_read_welcome(body, size, &welcome))
		require(coll_config_name_valid(welcome.name));
	require(bootstrap_read_fail(body, size, text, sizeof(text)) < 0);
	if (size >= BOOTSTRAP_HEAD_SIZE)
		require(bootstrap_read_head(body, BOOTSTRAP_FAIL_MAX, &head) ||
			head.length <= BOOTSTRAP_FAIL_MAX);
	if (!bootstrap_read_hello_rank(body, size, &rank, &job))
		require(size >= sizeof(rank) + sizeof(job));
	free(body);
}

static void check_hosts(const __u8 *bytes, size_t size)
{
	char *list = string_of(bytes, size), *host;
	size_t room;

	for (room = 1; room < 300; room *= 4) {
		host = malloc(room);
		if (!hostlist_first(list, host, room))
			require(*host && strlen(host) < room && !strpbrk(host, ",[]"));
		free(host);
	}
	free(list);
}

int LLVMFuzzerTestOneInput(const __u8 *bytes, size_t size)
{
	check_line(bytes, size);
	check_values(bytes, size);
	check_card(bytes, size);
	check_hosts(bytes, size);
	check_message(bytes, size);
	return 0;
}
