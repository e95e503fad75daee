// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The listeners of rank 0.
 *
 * The root listens on every address of the rendezvous name that belongs to its host.  Other
 * hosts may know the host by another address if the name has none of its addresses, or only
 * loopback. Then, if a secret authenticates the ranks, the root listens on all addresses.  Its
 * address for data is one to which clients connected; if there are several, it waits for all
 * clients before it JOINs (root.c).
 *
 * An address that is tentative, or that may be assigned in a moment (coll_address_wait()), is
 * waited for before the root listens elsewhere or fails.
 */
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bootstrap/bootstrap.h"
#include "bootstrap/resolve.h"
#include "bootstrap/root.h"
#include "comm/deadline.h"
#include "comm/interrupt.h"

#define PAUSE_MIN_MS	10
#define PAUSE_MAX_MS	250

/**
 * struct name_addrs - classification of the addresses of a name
 * @first: first address of this host
 * @foreign: first address of another host
 * @own: number of addresses of this host
 * @outside: number of these that are not loopback
 * @any: number of these that are wildcards (0.0.0.0, ::)
 * @awaited: IPv6 address that could not be bound and may be of this host: a tentative one, else the
 *	first; its family is AF_UNSPEC if there is none
 */
struct name_addrs {
	struct sockaddr_storage first;
	struct sockaddr_storage foreign;
	unsigned int own;
	unsigned int outside;
	unsigned int any;
	struct sockaddr_storage awaited;
};

static int listen_failed(struct bootstrap_root *root, const struct sockaddr_storage *addr, int err)
{
	char text[COLL_ADDRESS_TEXT];

	coll_address_format(addr, text);
	return coll_fail(&root->failure, err, "rank 0 cannot listen at rendezvous %s: %s%s", text,
			 coll_errno_text(-err), err == -EMFILE ? " (see ulimit -n)" : "");
}

/* Listen at @addr.  -EADDRNOTAVAIL: it is not an address of this host. */
static int open_one(struct bootstrap_root *root, const struct sockaddr_storage *addr)
{
	const int on = 1;
	int fd, err;

	fd = socket(addr->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return errno == EAFNOSUPPORT ? -EADDRNOTAVAIL : -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    (addr->ss_family == AF_INET6 &&
	     setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on))) ||
	    bind(fd, (const struct sockaddr *)addr, coll_address_length(addr)) ||
	    listen(fd, COLLECTIVE_RANKS_MAX)) {
		err = -errno;
		close(fd);
		return err;
	}
	root->listeners[root->nlisteners++] = fd;
	return 0;
}

static void close_all(struct bootstrap_root *root)
{
	while (root->nlisteners)
		close(root->listeners[--root->nlisteners]);
	root->listening_on[0] = '\0';
}

/* Listen at the addresses of the name that are of this host and allowed. */
static int open_own(struct bootstrap_root *root, const struct addrinfo *where,
		    struct name_addrs *name_addrs)
{
	struct coll_detail none = { NULL, 0 };
	struct sockaddr_storage addr;
	char text[COLL_ADDRESS_TEXT];
	size_t at = 0;
	int err;

	memset(name_addrs, 0, sizeof(*name_addrs));
	for (; where && root->nlisteners < BOOTSTRAP_LISTENERS_MAX; where = where->ai_next) {
		memset(&addr, 0, sizeof(addr));
		memcpy(&addr, where->ai_addr, where->ai_addrlen);
		if (!coll_address_length(&addr))
			continue;
		if (bootstrap_check_address(root->settings, &addr, &none)) {
			name_addrs->foreign = addr;
			continue;
		}
		err = open_one(root, &addr);
		if (err == -EADDRNOTAVAIL) {
			name_addrs->foreign = addr;
			if (addr.ss_family == AF_INET6 &&
			    (!name_addrs->awaited.ss_family || coll_address_is_tentative(&addr)))
				name_addrs->awaited = addr;
			continue;
		}
		if (err)
			return listen_failed(root, &addr, err);
		if (!name_addrs->own++)
			name_addrs->first = addr;
		name_addrs->outside += !coll_address_is_loopback(&addr);
		name_addrs->any += coll_address_is_any(&addr);
		coll_address_format(&addr, text);
		at += snprintf(root->listening_on + at, sizeof(root->listening_on) - at, "%s%s",
			       at ? ", " : "", text);
		at = at < sizeof(root->listening_on) ? at : sizeof(root->listening_on) - 1;
	}
	return 0;
}

/* Listen on all addresses, since other hosts may know this one by any of them. */
static int open_everywhere(struct bootstrap_root *root, const struct sockaddr_storage *instead)
{
	struct sockaddr_storage any[2] = {
		{ .ss_family = AF_INET },
		{ .ss_family = AF_INET6 },
	};
	char text[COLL_ADDRESS_TEXT];
	int i, err;

	close_all(root);
	for (i = 0; i < 2; i++) {
		coll_address_set_port(&any[i], root->settings->root_port);
		err = open_one(root, &any[i]);
		/* IPv6 may be disabled. */
		if (err && (err != -EADDRNOTAVAIL || (i && !root->nlisteners)))
			return listen_failed(root, &any[i], err);
	}
	root->on_all_addresses = true;
	coll_address_format(instead, text);
	snprintf(root->listening_on, sizeof(root->listening_on),
		 "port %d of all addresses (here %.60s is %s)", root->settings->root_port,
		 root->settings->root_host, text);
	return 0;
}

/*
 * Is an address of the name missing that will be this host's?  One that is not tentative counts
 * only if the root would fail without it.  A process that is to be handed a rank asks rank 0
 * meanwhile, and returns.
 */
static bool is_awaited(const struct bootstrap_root *root, const struct name_addrs *name_addrs,
		       uint64_t since)
{
	const struct sockaddr_storage *addr = &name_addrs->awaited;

	if (root->settings->auto_rank || !addr->ss_family)
		return false;
	return ((!name_addrs->own && !root->settings->secured) ||
		coll_address_is_tentative(addr)) &&
	       coll_address_wait(addr, since, root->deadline);
}

static int open_at(struct bootstrap_root *root, const struct addrinfo *where)
{
	const uint64_t begin = coll_deadline_now();
	const bool open = bootstrap_is_open(root->settings);
	const bool numeric = coll_address_is_numeric(root->settings->root_host);
	struct name_addrs name_addrs;
	char text[COLL_ADDRESS_TEXT];
	int err;

	for (;;) {
		err = open_own(root, where, &name_addrs);
		if (err)
			return err;
		if (!is_awaited(root, &name_addrs, begin))
			break;
		close_all(root);
	}
	root->bound = name_addrs.first;
	/* 0.0.0.0 and :: stand for all addresses of both families. */
	if (name_addrs.any)
		return open_everywhere(root, &name_addrs.first);
	if (name_addrs.own && (name_addrs.outside || numeric || !open))
		return 0;
	if (name_addrs.own)
		return open_everywhere(root, &name_addrs.first);
	/* A process of the rendezvous's own host becomes rank 0. */
	if (root->settings->auto_rank)
		return -EADDRNOTAVAIL;
	if (!open)
		return bootstrap_check_address(root->settings, &name_addrs.foreign,
					       &root->failure) ?:
		       listen_failed(root, &name_addrs.foreign, -EADDRNOTAVAIL);
	if (root->settings->secured)
		return open_everywhere(root, &name_addrs.foreign);
	coll_address_format(&name_addrs.foreign, text);
	return coll_fail(&root->failure, -EADDRNOTAVAIL,
			 "rank 0 cannot listen at rendezvous %s: %s is no address of its host",
			 root->settings->root_host, text);
}

/* A name that cannot be resolved is tried again until the deadline. */
int bootstrap_root_listen(struct bootstrap_root *root)
{
	const struct coll_settings *settings = root->settings;
	unsigned int pause = PAUSE_MIN_MS, left;
	char text[COLL_RESOLVE_TEXT] = "";
	struct addrinfo *where;
	int err;

	for (;;) {
		err = coll_resolve(settings->root_host, settings->root_port, root->deadline,
				   &where, text);
		if (!err)
			break;
		left = coll_deadline_left(root->deadline);
		if (err != -EAGAIN || !left)
			return coll_fail(&root->failure, err == -EAGAIN ? -EADDRNOTAVAIL : err,
					 "rank 0 cannot listen at rendezvous %s: %s",
					 settings->root_host, text);
		/* Only a signal ends the pause early. */
		coll_interrupt_pause(pause < left ? pause : left);
		pause = 2 * pause < PAUSE_MAX_MS ? 2 * pause : PAUSE_MAX_MS;
	}
	err = open_at(root, where);
	freeaddrinfo(where);
	/*
	 * Closing one listener leaves a file by which the ranks are told that files are
	 * missing.
	 */
	if ((err == -EMFILE || err == -ENFILE) && root->nlisteners > 1)
		close(root->listeners[--root->nlisteners]);
	else if (err)
		close_all(root);
	return err;
}
