// SPDX-License-Identifier: GPL-2.0-only
/* Which address a rank chooses when it knows those of all ranks. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bootstrap/address.h"
#include "bootstrap/place.h"
#include "network.h"
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

static void *list_cancelled(void *arg)
{
	char list[2048];

	pthread_cancel(pthread_self());
	*(int *)arg = coll_addresses(list, sizeof(list));
	return NULL;
}

/* A thread that is cancelled ends after the call, which leaves nothing open. */
static void test_cancelled(void)
{
	pthread_t thread;
	int length = 0;

	pthread_create(&thread, NULL, list_cancelled, &length);
	pthread_join(thread, NULL);
	tap_ok(length > 0, "to a thread that is cancelled as well");
}

/* The addresses of the card of a host with service addresses, containers and a controller. */
static void test_list(void)
{
	static const char * const commands[] = {
		"ip addr flush dev lo",
		"ip link add eth9 up type veth peer name far && ip link set far up",
		"ip link add cut up type veth peer name down",
		"ip link add svc up type veth peer name svc2 && ip link set svc2 up",
		"for i in $(seq 9); do ip addr add 172.$((16 + i)).0.1/16 dev svc; done",
		"for i in $(seq 20); do ip addr add 10.250.0.$i/32 dev svc; done",
		"ip addr add 169.254.3.1/16 dev svc",
		"ip addr add 10.8.0.1/24 dev cut",
		"ip addr add 10.1.0.5/24 dev eth9 && ip addr add fd99::5/64 dev eth9 nodad",
	};
	char text[COLL_ADDRESS_TEXT], all[400] = "", list[2048] = "", why[COLL_DETAIL_SIZE] = "";
	struct coll_detail detail = { why, sizeof(why) };
	struct coll_settings settings = { .nranks = RANKS };
	struct bootstrap_card card = { .round = 1 };
	unsigned int i;

	for (i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		if (system(commands[i])) {
			tap_skip(commands[i], "the addresses of a host");
			return;
		}
	if (bootstrap_list_places(&card, &settings, &detail))
		tap_note("%s", why);
	for (i = 0; i < card.naddrs; i++) {
		coll_address_format_host(&card.addrs[i].addr, text);
		sprintf(all + strlen(all), "%s ", text);
	}
	if (!tap_ok(card.naddrs == 11 &&
		    !strncmp(all, "10.1.0.5 ", 9) && strstr(all, "fd99::5") &&
		    !strstr(all, "169.254") && !strstr(all, "10.250") && !strstr(all, "10.8.0.1"),
		    "controllers, services and interfaces without a carrier are left out"))
		tap_note("%s", all);
	if (!tap_ok(strstr(settings.places, "this host told 10.1.0.5, 172.17.0.1,") &&
		    strstr(settings.places, "left out 10.8.0.1 (no carrier)") &&
		    settings.places[strlen(settings.places) - 1] == '.',
		    "and what was told is said"))
		tap_note("%s", settings.places);
	if (!tap_ok(coll_addresses(list, sizeof(list)) == (int)strlen(list) &&
		    !strncmp(list, "10.1.0.5 eth9 told\n", 19) &&
		    strstr(list, "\n10.8.0.1 cut no carrier\n") &&
		    strstr(list, "\n10.250.0.20 svc host route\n") &&
		    coll_addresses(text, 8) == (int)strlen(list) && !strcmp(text, "10.1.0."),
		    "also to a program that asks"))
		tap_note("%s", list);
	test_cancelled();
	(void)!system("ip addr flush eth9; "
		      "ip addr flush svc; ip addr add 10.250.0.1/32 dev svc; "
		      "ip addr add 169.254.3.1/16 dev svc");
	memset(&card, 0, sizeof(card));
	bootstrap_list_places(&card, &settings, &detail);
	if (!tap_ok(card.naddrs == 1 && strstr(settings.places, "told 10.250.0.1; left out ") &&
		    strstr(settings.places, "169.254.3.1 (link-local)") &&
		    strstr(settings.places, "10.8.0.1 (no carrier)"),
		    "a host route counts if there is nothing else"))
		tap_note("%s", settings.places);
}

int main(void)
{
	size_t i;

	if (!network_enter()) {
		printf("1..0 # SKIP no network namespace\n");
		return 4;
	}
	tap_plan(sizeof(scenes) / sizeof(*scenes) + 5);
	for (i = 0; i < sizeof(scenes) / sizeof(*scenes); i++)
		play(&scenes[i]);
	test_list();
	return tap_exit();
}
