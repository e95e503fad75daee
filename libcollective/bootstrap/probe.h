/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where several addresses of the hosts remain, find by connecting which the others reach.
 *
 * The first rank of each host listens at a port on all addresses, and connects to some other hosts.
 * All ranks know from the cards which address of each host is tried, and learn by the exchange
 * which was reached, so all choose the same ones.  A round tries one address of each host:
 *
 *	the address in a network that all hosts share, for each such network;
 *	then the first address of a family on every host, IPv4 before IPv6, and for a host that was
 *	not reached its next one, unless these are the addresses of a network.
 *
 * The kernel connects from the address that a rank joins with, and so do the hosts in a network.
 * The addresses of a family may change yet: a host connects from any of its own, and if every host
 * was reached, once more from the address that is tried.  The first round in which every host was
 * reached from such addresses decides.  If none does, nothing is decided.
 *
 * Each of two hosts has to reach the other, although the kernel connects only from the lower rank
 * to the higher one: groups that are made of this one have other orders of ranks, and the datagrams
 * of coll_shrink() pass both ways.
 */
#ifndef COLL_PROBE_H
#define COLL_PROBE_H

#include "bootstrap/card.h"
#include "comm/config.h"

#define PROBE_ROUNDS_MAX	6	/* without the one that repeats */
#define PROBE_NETWORKS_MAX	4
#define PROBE_PEERS_MAX		16	/* to which a host connects; each has a bit in a card */

/**
 * struct probe_host - a host of the group
 * @rank: its first rank
 * @unique: bit i: address i of that rank's card is no other host's
 * @port: at which the rank listens; 0: nowhere
 * @reached: bit i: the rank has reached its peer i in this round
 * @at: number of the address that is tried, in the card
 * @found: true if all hosts of which it is a peer have reached it in this round
 * @found_in: bit i: so they have in network i
 */
struct probe_host {
	int rank;
	unsigned int unique;
	uint16_t port;
	uint64_t reached;
	unsigned int at;
	bool found;
	unsigned int found_in;
};

/**
 * struct probe - what is tried
 * @cards: cards of round 1, by rank
 * @settings: settings of this rank
 * @hosts: the hosts, in the order of their first ranks
 * @nhosts: number of @hosts
 * @own: host of this rank
 * @networks: networks that all hosts share, as places of rank 0
 * @nnetworks: number of @networks
 * @round: number of rounds so far, without the one that repeats
 * @family: family that is tried after the networks; AF_UNSPEC: none yet
 * @bound: true if hosts connect from the addresses that are tried in this round
 * @all: true if every host was reached in it
 * @stranger: rank that came from an address that its host did not tell
 * @origin: that address; family 0: none did
 */
struct probe {
	const struct bootstrap_card *cards;
	struct coll_settings *settings;
	struct probe_host *hosts;
	unsigned int nhosts;
	unsigned int own;
	const struct bootstrap_place *networks[PROBE_NETWORKS_MAX];
	unsigned int nnetworks;
	unsigned int round;
	int family;
	bool bound;
	bool all;
	int stranger;
	struct sockaddr_storage origin;
};

/*
 * Find the hosts and the networks; @hosts has space for all ranks.  Return: false: there is no
 * choice, or a rank asks for an address or for RDMA.
 */
bool probe_begin(struct probe *probe, const struct bootstrap_card *cards,
		 struct coll_settings *settings, struct probe_host *hosts);

/* Choose the address of each host for the next round.  Return: false: there is none left. */
bool probe_next(struct probe *probe);

/*
 * Has this round decided?  If a host was not reached in it, the rank's text of addresses says so.
 */
bool probe_decide(struct probe *probe);

/* Does this rank listen and connect for its host? */
bool probe_leads(const struct probe *probe);

/* The address of a host in this round. */
const struct bootstrap_place *probe_place(const struct probe *probe, unsigned int host);

/* Number of the hosts to which each host connects, and which those are. */
unsigned int probe_peers(const struct probe *probe);
unsigned int probe_peer(const struct probe *probe, unsigned int host, unsigned int i);

/* Listen at a port of the range.  Return: a socket, or a negative errno. */
int probe_listen(const struct probe *probe, uint16_t *port);

/* Connect to the peers.  Return: as @reached; a peer counts as reached if this cannot be known. */
uint64_t probe_connect(const struct probe *probe);

/*
 * Take the connections of others.  If one comes from an address that is in no network of its host's
 * card, there is address translation: @stranger and @origin are set.
 */
void probe_accept(struct probe *probe, int listener);

#endif /* COLL_PROBE_H */
