// SPDX-License-Identifier: LGPL-2.1-or-later
/* Where rank 0 listens: see rendezvous.h. */
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bootstrap/bootstrap.h"
#include "bootstrap/resolve.h"
#include "bootstrap/root.h"
#include "comm/deadline.h"

#define PAUSE_MIN_MS	10
#define PAUSE_MAX_MS	250

/**
 * struct verdict - what became of the addresses of a name
 * @first: the first that is of this host
 * @foreign: the first that is not
 * @own: addresses of this host
 * @outside: of these, that are not loopback
 * @any: of these, that stand for all addresses
 */
struct verdict {
	struct sockaddr_storage first;
	struct sockaddr_storage foreign;
	unsigned int own;
	unsigned int outside;
	unsigned int any;
};

static int failed(struct coll_host *host, const struct sockaddr_storage *addr, int err)
{
	char text[COLL_ADDRESS_TEXT];

	coll_address_format(addr, text);
	return coll_fail(&host->why, err, "rank 0 cannot listen at rendezvous %s: %s%s", text,
			 strerrordesc_np(-err), err == -EMFILE ? " (see ulimit -n)" : "");
}

/* Listen at @addr; -EADDRNOTAVAIL: it is not of this host. */
static int open_one(struct coll_host *host, const struct sockaddr_storage *addr)
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
	host->listeners[host->nlisteners++] = fd;
	return 0;
}

static void close_all(struct coll_host *host)
{
	while (host->nlisteners)
		close(host->listeners[--host->nlisteners]);
}

/* On the addresses of the name that are of this host, as far as they are allowed. */
static int open_own(struct coll_host *host, const struct addrinfo *where,
		    struct verdict *verdict)
{
	struct coll_detail none = { NULL, 0 };
	struct sockaddr_storage addr;
	char text[COLL_ADDRESS_TEXT];
	size_t at = 0;
	int err;

	memset(verdict, 0, sizeof(*verdict));
	for (; where && host->nlisteners < COLL_LISTENERS_MAX; where = where->ai_next) {
		memset(&addr, 0, sizeof(addr));
		memcpy(&addr, where->ai_addr, where->ai_addrlen);
		if (!coll_address_length(&addr))
			continue;
		if (coll_rendezvous_allowed(host->setup, &addr, &none)) {
			verdict->foreign = addr;
			continue;
		}
		err = open_one(host, &addr);
		if (err == -EADDRNOTAVAIL) {
			verdict->foreign = addr;
			continue;
		}
		if (err)
			return failed(host, &addr, err);
		if (!verdict->own++)
			verdict->first = addr;
		verdict->outside += !coll_address_is_loopback(&addr);
		verdict->any += coll_address_is_any(&addr);
		coll_address_format(&addr, text);
		at += snprintf(host->where + at, sizeof(host->where) - at, "%s%s",
			       at ? ", " : "", text);
		at = at < sizeof(host->where) ? at : sizeof(host->where) - 1;
	}
	return 0;
}

/* On all addresses, since others may know this host by any of them. */
static int open_everywhere(struct coll_host *host, const struct sockaddr_storage *instead)
{
	struct sockaddr_storage any[2] = {
		{ .ss_family = AF_INET },
		{ .ss_family = AF_INET6 },
	};
	char text[COLL_ADDRESS_TEXT];
	int i, err;

	close_all(host);
	for (i = 0; i < 2; i++) {
		coll_address_set_port(&any[i], host->setup->port);
		err = open_one(host, &any[i]);
		/* IPv6 may be switched off. */
		if (err && (err != -EADDRNOTAVAIL || (i && !host->nlisteners)))
			return failed(host, &any[i], err);
	}
	host->everywhere = true;
	coll_address_format(instead, text);
	snprintf(host->where, sizeof(host->where),
		 "port %d of all addresses (here %.60s is %s)", host->setup->port,
		 host->setup->host, text);
	return 0;
}

static int open_at(struct coll_host *host, const struct addrinfo *where)
{
	const bool open = coll_rendezvous_open(host->setup);
	const bool numeric = coll_address_is_numeric(host->setup->host);
	struct verdict verdict;
	char text[COLL_ADDRESS_TEXT];
	int err;

	err = open_own(host, where, &verdict);
	if (err)
		return err;
	host->bound = verdict.first;
	/* 0.0.0.0 and :: stand for the addresses of both families. */
	if (verdict.any)
		return open_everywhere(host, &verdict.first);
	if (verdict.own && (verdict.outside || numeric || !open))
		return 0;
	if (verdict.own)
		return open_everywhere(host, &verdict.first);
	if (!open)
		return coll_rendezvous_allowed(host->setup, &verdict.foreign, &host->why) ?:
		       failed(host, &verdict.foreign, -EADDRNOTAVAIL);
	if (host->setup->secured)
		return open_everywhere(host, &verdict.foreign);
	coll_address_format(&verdict.foreign, text);
	return coll_fail(&host->why, -EADDRNOTAVAIL,
			 "rank 0 cannot listen at rendezvous %s: %s is no address of its host",
			 host->setup->host, text);
}

/* The name may be known a moment later. */
int coll_host_listen(struct coll_host *host)
{
	const struct coll_setup *setup = host->setup;
	unsigned int pause = PAUSE_MIN_MS, left;
	char text[COLL_RESOLVE_TEXT] = "";
	struct addrinfo *where;
	int err;

	for (;;) {
		err = coll_resolve(setup->host, setup->port, host->deadline, &where, text);
		if (!err)
			break;
		left = coll_deadline_left(host->deadline);
		if (err != -EAGAIN || !left)
			return coll_fail(&host->why, err == -EAGAIN ? -EADDRNOTAVAIL : err,
					 "rank 0 cannot listen at rendezvous %s: %s",
					 setup->host, text);
		/* Only a signal ends it early. */
		(void)poll(NULL, 0, pause < left ? pause : left);
		pause = 2 * pause < PAUSE_MAX_MS ? 2 * pause : PAUSE_MAX_MS;
	}
	err = open_at(host, where);
	freeaddrinfo(where);
	/* With one of the files back the ranks can hear that files are what is missing. */
	if ((err == -EMFILE || err == -ENFILE) && host->nlisteners > 1)
		close(host->listeners[--host->nlisteners]);
	else if (err)
		close_all(host);
	return err;
}
