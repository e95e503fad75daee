// SPDX-License-Identifier: GPL-2.0-only
/*
 * The environment of the ranks.
 *
 * The secret is not in the environment, because all descendants of a rank inherit that, and
 * logs and crash reports contain it.  Ranks inherit a descriptor instead, COLL_SECRET_FD.  If a
 * program between closes unknown descriptors, COLL_SECRET_FILE names the same file through
 * /proc of this process.  The same user may open it as long as this process lives.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "environment.h"
#include "launch.h"

#define SECRET_SIZE	32
#define SECRET_TEXT_MAX	80

/* Above the descriptors that programs expect to be free. */
#define SECRET_FD_MIN	100

static int set(const char *name, const char *value)
{
	if (!setenv(name, value, 1))
		return 0;
	perror(name);
	return -1;
}

static int set_number(const char *name, int value)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", value);
	return set(name, text);
}

/* An address of IPv6 is tentative for one to three seconds after it was assigned. */
#define TENTATIVE_TRIES		80
#define TENTATIVE_PAUSE_US	50000

/* Returns a port of @addr that is free now, or -1. */
static int free_port(const struct sockaddr_storage *addr)
{
	struct sockaddr_storage own = *addr;
	socklen_t length = sizeof(own);
	char port[8];
	int fd, number = -1;

	fd = socket(addr->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	length = addr->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) :
		 sizeof(struct sockaddr_in);
	if (!bind(fd, (struct sockaddr *)&own, length) &&
	    !getsockname(fd, (struct sockaddr *)&own, &length) &&
	    !getnameinfo((struct sockaddr *)&own, length, NULL, 0, port, sizeof(port),
			 NI_NUMERICSERV))
		number = atoi(port);
	close(fd);
	return number;
}

static bool parse(const char *text, struct sockaddr_storage *addr)
{
	struct sockaddr_in6 *in6 = (void *)addr;
	struct sockaddr_in *in4 = (void *)addr;

	memset(addr, 0, sizeof(*addr));
	if (inet_pton(AF_INET, text, &in4->sin_addr) == 1)
		addr->ss_family = AF_INET;
	else if (inet_pton(AF_INET6, text, &in6->sin6_addr) == 1)
		addr->ss_family = AF_INET6;
	return addr->ss_family;
}

/*
 * Finds an address of an interface, for hosts without a loopback address.  *@may_come is set if one
 * of IPv6 cannot be used, which may be tentative for a moment.
 */
static bool interface_address(struct sockaddr_storage *addr, bool *may_come)
{
	const struct ifaddrs *at;
	struct ifaddrs *all;
	bool found = false;

	*may_come = false;
	if (getifaddrs(&all))
		return false;
	for (at = all; at && !found; at = at->ifa_next) {
		int of = at->ifa_addr ? at->ifa_addr->sa_family : AF_UNSPEC;

		if (of != AF_INET && of != AF_INET6)
			continue;
		memset(addr, 0, sizeof(*addr));
		memcpy(addr, at->ifa_addr, of == AF_INET ? sizeof(struct sockaddr_in) :
		       sizeof(struct sockaddr_in6));
		found = free_port(addr) >= 0;
		*may_come |= !found && of == AF_INET6;
	}
	freeifaddrs(all);
	return found;
}

/* The default address of rank 0: only this host reaches it, if there is a loopback address. */
static bool choose_address(struct sockaddr_storage *addr)
{
	static const char * const loopback[] = { "127.0.0.1", "::1" };
	bool may_come = true;
	unsigned int i;

	for (i = 0; i < 2; i++)
		if (parse(loopback[i], addr) && free_port(addr) >= 0)
			return true;
	for (i = 0; i < TENTATIVE_TRIES && may_come; i++) {
		if (i)
			usleep(TENTATIVE_PAUSE_US);
		if (interface_address(addr, &may_come))
			return true;
	}
	return false;
}

/* Makes a file without a name that only this user may open.  Return: its descriptor, or -1. */
static int make_file(const char *text, size_t length)
{
	int fd = memfd_create("collective-secret", 0), high;

	if (fd < 0)
		return -1;
	if (write(fd, text, length) != (ssize_t)length || fchmod(fd, 0400)) {
		close(fd);
		return -1;
	}
	high = fcntl(fd, F_DUPFD, SECRET_FD_MIN);
	if (high < 0)
		return fd;
	close(fd);
	return high;
}

static int publish(const char *text, size_t length)
{
	int fd = make_file(text, length);
	char path[64];

	if (fd < 0) {
		perror("secret");
		return -1;
	}
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), fd);
	return set_number("COLL_SECRET_FD", fd) || set("COLL_SECRET_FILE", path) ? -1 : 0;
}

/* With a secret no other process can join the group or pose as one of its ranks. */
static int make_secret(void)
{
	unsigned char random[SECRET_SIZE];
	char text[2 * SECRET_SIZE + 1];
	size_t i;
	int err;

	if (getrandom(random, sizeof(random), 0) != sizeof(random)) {
		perror("no random numbers");
		return -1;
	}
	for (i = 0; i < sizeof(random); i++)
		sprintf(text + 2 * i, "%02x", random[i]);
	err = publish(text, 2 * SECRET_SIZE);
	explicit_bzero(random, sizeof(random));
	explicit_bzero(text, sizeof(text));
	return err;
}

/* Copies the secret from a pipe to a file, because only one rank could read a pipe. */
static int take_fd(const char *number)
{
	char text[SECRET_TEXT_MAX];
	size_t have = 0;
	ssize_t got = 1;
	struct stat stat;
	char *end;
	long fd = strtol(number, &end, 10);
	int err;

	/* A regular file needs no copy.  The ranks report an invalid descriptor. */
	if (!isdigit((unsigned char)*number) || *end || fd > 1 << 20 || fstat(fd, &stat) ||
	    S_ISREG(stat.st_mode))
		return 0;
	while (got > 0 && have < sizeof(text)) {
		got = read(fd, text + have, sizeof(text) - have);
		if (got < 0 && errno == EINTR)
			got = 1;
		else if (got > 0)
			have += got;
	}
	if (got < 0) {
		fprintf(stderr, "COLL_SECRET_FD=%s: %s\n", number, strerror(errno));
		return -1;
	}
	err = publish(text, have);
	explicit_bzero(text, sizeof(text));
	return err;
}

static int set_secret(void)
{
	char *text = getenv("COLL_SECRET"), *number = getenv("COLL_SECRET_FD");
	int err;

	/* An empty secret is an error, which the ranks report. */
	if (text && *text) {
		err = publish(text, strlen(text));
		explicit_bzero(text, strlen(text));
		return err || unsetenv("COLL_SECRET") ? -1 : 0;
	}
	if (text)
		return 0;
	if (number)
		return take_fd(number);
	return getenv("COLL_SECRET_FILE") ? 0 : make_secret();
}

/* Sets the variables of a rendezvous at a known place. */
static int set_rendezvous(const char *rendezvous)
{
	const char *colon = strrchr(rendezvous, ':');
	size_t length = colon ? colon - rendezvous : 0;
	char host[256];

	if (!length || length >= sizeof(host)) {
		fprintf(stderr, "%s is not host:port\n", rendezvous);
		return -1;
	}
	/* MASTER_ADDR has no brackets. */
	if (rendezvous[0] == '[' && length > 2)
		snprintf(host, sizeof(host), "%.*s", (int)length - 2, rendezvous + 1);
	else
		snprintf(host, sizeof(host), "%.*s", (int)length, rendezvous);
	return set("COLL_RENDEZVOUS", rendezvous) || set("MASTER_ADDR", host) ||
	       set_number("MASTER_PORT", atoi(colon + 1) + 1) ? -1 : 0;
}

/* Chooses a place of this host for the rendezvous, and sets its variables. */
static int choose_rendezvous(const struct launch *launch)
{
	char address[INET6_ADDRSTRLEN], rendezvous[128];
	struct sockaddr_storage addr;
	int port = launch->port, master = port + 1;

	if (launch->address ? !parse(launch->address, &addr) : !choose_address(&addr)) {
		fprintf(stderr, "no address here, not even 127.0.0.1: ip link set lo up\n");
		return -1;
	}
	if (!port) {
		port = free_port(&addr);
		master = free_port(&addr);
	}
	if (port < 0 || master < 0) {
		perror("no free port");
		return -1;
	}
	if (addr.ss_family == AF_INET6)
		inet_ntop(AF_INET6, &((struct sockaddr_in6 *)&addr)->sin6_addr, address,
			  sizeof(address));
	else
		inet_ntop(AF_INET, &((struct sockaddr_in *)&addr)->sin_addr, address,
			  sizeof(address));
	snprintf(rendezvous, sizeof(rendezvous),
		 addr.ss_family == AF_INET6 ? "[%s]:%d" : "%s:%d", address, port);
	return set("COLL_RENDEZVOUS", rendezvous) || set("MASTER_ADDR", address) ||
	       set_number("MASTER_PORT", master) ? -1 : 0;
}

int environment_set(const struct launch *launch)
{
	const int total = launch->total ? launch->total : launch->n;

	return (launch->rendezvous ? set_rendezvous(launch->rendezvous) :
		choose_rendezvous(launch)) ||
	       set_number("COLL_SIZE", total) || set_number("WORLD_SIZE", total) ||
	       set_number("LOCAL_WORLD_SIZE", launch->n) || set_secret() ? -1 : 0;
}

int environment_set_rank(const struct launch *launch, int local)
{
	const int rank = launch->first + local;

	return set_number("COLL_RANK", rank) || set_number("RANK", rank) ||
	       set_number("LOCAL_RANK", local) ? -1 : 0;
}
