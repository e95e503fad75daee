// SPDX-License-Identifier: GPL-2.0-only
/* Which address a rank chooses when it knows those of all ranks. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bootstrap/address.h"
#include "bootstrap/place.h"
#include "session.h"
#include "tap.h"

#define RANKS	3

/**
 * struct scene - cards, and the addresses that the ranks choose
 * @name: name of the test
 * @hosts: host of each rank, a letter
 * @addresses: addresses of each rank with their prefixes, separated by blanks; one that begins with
 *	"=" was asked for
 * @chosen: address of each rank; NULL: not checked; "": it fails
 */
struct scene {
	const char *name;
	const char *hosts;
	const char *addresses[RANKS];
	const char *chosen[RANKS];
};

static const struct scene scenes[] = {
	{ "one host uses loopback", "aaa",
	  { "10.1.0.1/24", "10.1.0.1/24", "10.1.0.1/24" },
	  { "127.0.0.1", "127.0.0.1", "127.0.0.1" } },
	{ "a network that all share", "abc",
	  { "10.1.0.1/24", "10.1.0.2/24", "10.1.0.3/24" },
	  { "10.1.0.1", "10.1.0.2", "10.1.0.3" } },
	{ "the first that all share", "abc",
	  { "192.168.5.1/24 10.1.0.1/24 10.2.0.1/24", "10.2.0.2/24 10.1.0.2/24",
	    "10.1.0.3/24 192.168.5.3/24 10.2.0.3/24" },
	  { "10.1.0.1", "10.1.0.2", "10.1.0.3" } },
	{ "two ranks of one host have one address", "aab",
	  { "10.1.0.1/24", "10.1.0.1/24", "10.1.0.3/24" },
	  { "10.1.0.1", "10.1.0.1", "10.1.0.3" } },
	{ "bridges of containers do not count", "abc",
	  { "172.17.0.1/16 10.1.0.1/24", "172.17.0.1/16 10.1.0.2/24",
	    "172.17.0.1/16 10.1.0.3/24" },
	  { "10.1.0.1", "10.1.0.2", "10.1.0.3" } },
	{ "nor does one that only two have", "abc",
	  { "172.17.0.1/16 10.1.0.1/24", "172.17.0.1/16 10.1.0.2/24",
	    "172.17.0.9/16 10.1.0.3/24" },
	  { "10.1.0.1", "10.1.0.2", "10.1.0.3" } },
	{ "prefixes of other lengths are other networks", "abc",
	  { "10.1.0.1/24 10.3.0.1/20", "10.1.0.2/16 10.3.1.2/20", "10.1.0.3/24 10.3.15.3/20" },
	  { "10.3.0.1", "10.3.1.2", "10.3.15.3" } },
	{ "IPv6", "abc",
	  { "fd00::1/64", "fd00::2/64", "fd00::3/64" },
	  { "fd00::1", "fd00::2", "fd00::3" } },
	{ "an address that was asked for decides the network", "abc",
	  { "10.1.0.1/24 10.2.0.1/24", "=10.2.0.2/24", "10.1.0.3/24 10.2.0.3/24" },
	  { "10.2.0.1", "10.2.0.2", "10.2.0.3" } },
	{ "and is used whatever the others have", "abc",
	  { "=10.1.0.1/24", "=10.2.0.2/24", "=127.0.0.1/8" },
	  { "10.1.0.1", "10.2.0.2", "127.0.0.1" } },
	{ "without a common network the route decides", "abb",
	  { "10.77.0.3/32", "10.8.0.2/24", "10.8.0.2/24" },
	  { NULL, "10.77.0.3", "10.77.0.3" } },
	{ "no way at all", "abc",
	  { "", "", "" }, { "", "", "" } },
};

static void read_place(const char *text, struct bootstrap_card *card)
{
	struct bootstrap_place *place = &card->addrs[card->naddrs++];
	struct coll_detail none = { NULL, 0 };
	char address[64];

	if (*text == '=') {
		card->flags |= BOOTSTRAP_CARD_FIXED;
		text++;
	}
	sscanf(text, "%63[^/]/%u", address, &place->prefix);
	coll_address_local(&place->addr, address, AF_UNSPEC, &none);
}

static void play(const struct scene *scene)
{
	char words[200], text[COLL_ADDRESS_TEXT], why[COLL_DETAIL_SIZE] = "", *one, *rest;
	struct coll_detail detail = { why, sizeof(why) };
	struct bootstrap_card *cards = calloc(RANKS, sizeof(*cards));
	struct coll_settings settings = { .nranks = RANKS };
	struct sockaddr_storage addr, wanted;
	bool right = true;
	int i, err;

	for (i = 0; i < RANKS; i++) {
		cards[i].host[0] = scene->hosts[i];
		snprintf(words, sizeof(words), "%s", scene->addresses[i]);
		for (one = strtok_r(words, " ", &rest); one; one = strtok_r(NULL, " ", &rest))
			read_place(one, &cards[i]);
	}
	for (i = 0; i < RANKS; i++) {
		settings.rank = i;
		why[0] = '\0';
		memset(&addr, 0, sizeof(addr));
		err = bootstrap_choose_place(&addr, cards, &settings, &detail);
		if (!scene->chosen[i])
			continue;
		if (!*scene->chosen[i]) {
			right &= err == -ENETUNREACH && strstr(why, "COLL_LOCAL_ADDR");
			continue;
		}
		coll_address_local(&wanted, scene->chosen[i], AF_UNSPEC, &detail);
		if (err || !coll_address_same_host(&addr, &wanted)) {
			right = false;
			coll_address_format(&addr, text);
			tap_note("rank %d: %d, %s instead of %s: %s", i, err, text,
				 scene->chosen[i], why);
		}
	}
	tap_ok(right, "%s", scene->name);
	free(cards);
}

int main(void)
{
	size_t i;

	if (!session_network()) {
		printf("1..0 # SKIP no network namespace\n");
		return 4;
	}
	tap_plan(sizeof(scenes) / sizeof(*scenes));
	for (i = 0; i < sizeof(scenes) / sizeof(*scenes); i++)
		play(&scenes[i]);
	return tap_exit();
}
