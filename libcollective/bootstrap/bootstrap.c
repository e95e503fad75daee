// SPDX-License-Identifier: LGPL-2.1-or-later
/* Entry of the bootstrap, and the parts that root and clients have in common. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "bootstrap/address.h"
#include "bootstrap/bootstrap.h"
#include "bootstrap/gather.h"
#include "bootstrap/key.h"
#include "bootstrap/rejoin_port.h"
#include "bootstrap/secret.h"
#include "bootstrap/version.h"
#include "collective.h"
#include "comm/deadline.h"

/* A host that is down is detected after twice this time, in s. */
#define KEEPALIVE_S		10

uint32_t bootstrap_library_version(void)
{
	return COLL_VERSION;
}

bool bootstrap_is_open(const struct coll_settings *settings)
{
	return settings->insecure || settings->secured;
}

int bootstrap_check_address(const struct coll_settings *settings,
			    const struct sockaddr_storage *addr,
			    struct coll_detail *detail)
{
	char text[COLL_ADDRESS_TEXT];

	if (bootstrap_is_open(settings) || coll_address_is_loopback(addr))
		return 0;
	coll_address_format(addr, text);
	return coll_fail(detail, -EACCES,
			 "address %s can be reached by others and no secret authenticates the ranks: set COLL_SECRET, use a loopback address, or COLL_INSECURE=1 in a network that you trust",
			 text);
}

/* Errors are ignored: without keepalive a dead host is detected at the deadline. */
void bootstrap_enable_keepalive(int fd)
{
	const int on = 1, first = KEEPALIVE_S, next = 2, count = KEEPALIVE_S / 2;

	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &first, sizeof(first));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &next, sizeof(next));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
}

/*
 * A name such as "program-0123abcd", which no other group has.  Every user sees it, so it says
 * nothing of the group's id, which admits to a group without a secret.
 */
static void choose_name(char name[COLLECTIVE_NAME_MAX + 1], __u32 number)
{
	char *at;

	snprintf(name, COLLECTIVE_NAME_MAX + 1, "%.20s-%08x", program_invocation_short_name,
		 number);
	for (at = name; *at; at++)
		if (!coll_config_name_has(*at))
			*at = '-';
}

int bootstrap_choose_id(struct coll_settings *settings,
			struct coll_detail *detail)
{
	struct {
		__u64 id;
		__u32 name;
	} __attribute__((packed)) random;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return coll_fail(detail, -EAGAIN, "no random numbers");
	settings->id = random.id;
	if (!settings->name[0])
		choose_name(settings->name, random.name);
	return 0;
}

/* Choose the address of a group of one, to which no rank connects. */
static int choose_local_address(struct coll_settings *settings, struct sockaddr_storage *addr,
				struct coll_detail *detail)
{
	int err;

	if (settings->local_addr[0])
		return coll_address_local(addr, settings->local_addr, AF_UNSPEC, detail) ?:
		       bootstrap_check_address(settings, addr, detail);
	err = coll_address_any_local(addr, settings->deadline);
	if (err)
		return coll_fail(detail, err,
				 "this host has no address to listen on, not even 127.0.0.1: ip link set lo up");
	/* A random secret keeps other processes out of an address that is not loopback. */
	if (!coll_address_is_loopback(addr) && !bootstrap_is_open(settings))
		return coll_secret_make(settings, detail);
	return 0;
}

/* A group of one needs no rendezvous. */
static int run_single(int fd, struct coll_settings *settings,
		      struct sockaddr_storage *addr, struct coll_detail *detail)
{
	return bootstrap_choose_id(settings, detail) ?:
	       choose_local_address(settings, addr, detail) ?:
	       coll_rejoin_port_join(fd, settings, addr, detail);
}

/* May this process become rank 0?  One whose key had another rank waits, but not until the end. */
static bool may_listen(const struct coll_settings *settings)
{
	return coll_key_rank(settings, settings->key) <= 0 ||
	       coll_deadline_left(settings->deadline) < settings->init_timeout_ms / 2;
}

/*
 * Ranks are handed out: listen, or find the process that does, until either succeeds.  A
 * process that listens on another host, or comes later, is found by trying again.
 */
static int run_any(int fd, struct coll_settings *settings, struct sockaddr_storage *peers,
		   struct coll_detail *detail)
{
	int err;

	for (;;) {
		err = may_listen(settings) ? bootstrap_run_root(fd, settings, peers, detail) :
		      -EALREADY;
		if (err != -EALREADY)
			return err;
		err = bootstrap_run_client(fd, settings, peers, detail);
		if (err != -EAGAIN)
			break;
	}
	if (!err && settings->key[0])
		coll_key_remember(settings, settings->key, settings->rank);
	return err;
}

int bootstrap_run(int fd, struct coll_settings *settings, const struct exchange *exchange,
		  struct sockaddr_storage *peers, struct coll_detail *detail)
{
	if (settings->nranks == 1)
		return fd < 0 ? fd : run_single(fd, settings, peers, detail);
	if (exchange && exchange->ops)
		return bootstrap_run_gather(fd, settings, exchange, peers, detail);
	if (getrandom(&settings->process, sizeof(settings->process), 0) !=
	    sizeof(settings->process))
		return coll_fail(detail, -EAGAIN, "no random numbers");
	if (settings->auto_rank)
		return run_any(fd, settings, peers, detail);
	if (settings->rank)
		return bootstrap_run_client(fd, settings, peers, detail);
	return bootstrap_run_root(fd, settings, peers, detail);
}
