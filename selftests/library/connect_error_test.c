// SPDX-License-Identifier: GPL-2.0-only
/*
 * The error of coll_init() names the address and port of the peer that could not be reached, for
 * every way in which the network, or another program at the address, does not let it be reached.
 *
 * Two ranks have a network each, with no way between them, and exchange addresses by a socket pair.
 * Rank 0 calls rank 1.  What it finds at the address of rank 1 is in its own network.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "lib/any_kernel.h"
#include "lib/lib_group.h"
#include "lib/machine.h"
#include "lib/tcp_only.h"

#define NAME	"connect-error"
#define PORT	21000

/* Offsets in the cards that ranks exchange (libcollective/bootstrap/card.h), and in a HELLO. */
#define CARD_ID		24
#define HELLO_SIZE	192
#define HELLO_VERSION	4
#define HELLO_STAGE	6
#define HELLO_ERROR	12

/* What listens at the address of rank 1. */
enum impostor {
	NOTHING,
	OTHER_VERSION,
	NO_RANK,
	OTHER_GROUP,
	OTHER_SECRET,
};

/**
 * struct outcome - how coll_init() of a rank ended
 * @err: its errno
 * @detail: its text
 * @links: what `collectivectl link` said meanwhile
 */
struct outcome {
	int err;
	char detail[COLL_DETAIL_SIZE];
	char links[1024];
};

/**
 * struct pair - two ranks that fail
 * @family: AF_INET or AF_INET6
 * @pid: their processes
 * @outcome: by rank
 */
struct pair {
	int family;
	pid_t pid[2];
	struct outcome outcome[2];
};

FIXTURE(connect_error) {
	struct pair *pair;
};

/**
 * struct way - what keeps rank 0 from rank 1
 * @network: commands of rank 0, in which $PEER is the address of rank 1
 * @impostor: what listens there
 * @limit_ms: time limit of coll_init()
 * @err: errno of rank 0
 * @says: part of its text
 */
struct way {
	const char *network;
	enum impostor impostor;
	unsigned int limit_ms;
	int err;
	const char *says;
};

FIXTURE_VARIANT(connect_error) {
	struct way way;
};

/* No neighbour is asked for it on this device, so it is an address at once. */
#define OWN_ADDRESS	"ip addr add $PEER dev lo"
#define CABLE	"ip link add eth0 type veth peer name eth1; ip link set eth0 up; ip link set eth1 up; "

FIXTURE_VARIANT_ADD(connect_error, refused) {
	.way = {
		.network = OWN_ADDRESS, .limit_ms = 2000, .err = -ECONNRESET,
		.says = "the connection between rank 1 and rank 0 could not be made",
	},
};

FIXTURE_VARIANT_ADD(connect_error, no_route) {
	.way = {
		.network = "true", .limit_ms = 2000, .err = -ENETUNREACH,
		.says = "Network is unreachable",
	},
};

FIXTURE_VARIANT_ADD(connect_error, unreachable) {
	.way = {
		.network = "ip route add unreachable $PEER", .limit_ms = 2000, .err = -EHOSTUNREACH,
		.says = "No route to host",
	},
};

FIXTURE_VARIANT_ADD(connect_error, prohibited) {
	.way = {
		.network = "ip route add prohibit $PEER", .limit_ms = 2000, .err = -EACCES,
		.says = "Permission denied",
	},
};

/* Neither ARP nor neighbour discovery is answered. */
FIXTURE_VARIANT_ADD(connect_error, no_host) {
	.way = {
		.network = CABLE "ip route add $PEER dev eth0",
		.limit_ms = 8000, .err = -ECONNRESET,
		.says = "the connection between rank 1 and rank 0 could not be made",
	},
};

FIXTURE_VARIANT_ADD(connect_error, dropped) {
	.way = {
		.network = "ip route add $PEER dev dummy0", .limit_ms = 2000, .err = -ETIMEDOUT,
		.says = "the deadline of rank 0 passed while it waited for rank 1",
	},
};

FIXTURE_VARIANT_ADD(connect_error, other_version) {
	.way = {
		.network = OWN_ADDRESS, .impostor = OTHER_VERSION, .limit_ms = 2000,
		.err = -EPROTONOSUPPORT, .says = "modules of different wire versions",
	},
};

FIXTURE_VARIANT_ADD(connect_error, no_rank) {
	.way = {
		.network = OWN_ADDRESS, .impostor = NO_RANK, .limit_ms = 2000, .err = -EPROTO,
		.says = "rank 1 broke the protocol, as seen by rank 0",
	},
};

FIXTURE_VARIANT_ADD(connect_error, other_group) {
	.way = {
		.network = OWN_ADDRESS, .impostor = OTHER_GROUP, .limit_ms = 2000, .err = -EACCES,
		.says = "at the address of rank 1 has refused rank 0",
	},
};

FIXTURE_VARIANT_ADD(connect_error, other_secret) {
	.way = {
		.network = OWN_ADDRESS, .impostor = OTHER_SECRET, .limit_ms = 2000, .err = -EACCES,
		.says = "at the address of rank 1 has refused rank 0",
	},
};

FIXTURE_SETUP(connect_error)
{
	self->pair = mmap(NULL, 2 * sizeof(*self->pair), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->pair);
	self->pair[0].family = AF_INET;
	self->pair[1].family = AF_INET6;
}

FIXTURE_TEARDOWN(connect_error)
{
	munmap(self->pair, 2 * sizeof(*self->pair));
}

/**
 * struct caller - a rank, before it is one
 * @rank: its number
 * @family: AF_INET or AF_INET6
 * @socket: its end of the socket pair
 * @impostor: what is to listen at the address of rank 1, in the network of this rank
 * @fd: file of the device, of an impostor that is a rank
 */
struct caller {
	int rank;
	int family;
	int socket;
	enum impostor impostor;
	int fd;
};

/* The address of a rank. */
static const char *address(int family, int rank)
{
	static const char *const v4[] = { "10.67.0.1", "10.67.0.2" };
	static const char *const v6[] = { "fd67::1", "fd67::2" };

	return family == AF_INET6 ? v6[rank] : v4[rank];
}

static void peer_address(int family, struct sockaddr_storage *addr)
{
	memset(addr, 0, sizeof(*addr));
	addr->ss_family = family;
	/* The port has the same offset in struct sockaddr_in6. */
	((struct sockaddr_in *)addr)->sin_port = htons(PORT);
	if (family == AF_INET6)
		inet_pton(family, address(family, 1), &((struct sockaddr_in6 *)addr)->sin6_addr);
	else
		inet_pton(family, address(family, 1), &((struct sockaddr_in *)addr)->sin_addr);
}

/* Make the network of a rank.  Return: 0 or not. */
static int network_make(const struct caller *caller, const char *extra)
{
	char command[1024];

	snprintf(command, sizeof(command),
		 "set -e; PEER=%s; ip link set lo up; ip link add dummy0 type dummy; "
		 "ip link set dummy0 up; ip addr add %s/%d dev dummy0%s; %s",
		 address(caller->family, 1), address(caller->family, caller->rank),
		 caller->family == AF_INET6 ? 128 : 32,
		 caller->family == AF_INET6 ? " nodad" : "", extra);
	return system(command);
}

/* A user has one group of a name, with one secret. */
#define OTHER_USER	65534

/* A rank of another group, or one with another secret, at the address of rank 1. */
static int impostor_join(struct caller *caller, const void *card)
{
	struct collective_join join = {
		.size = sizeof(join),
		.rank = 1,
		.nranks = 2,
		.transport = COLLECTIVE_TRANSPORT_TCP,
		.addr_len = sizeof(struct sockaddr_storage),
		.secret = "another secret than that of the",
	};
	struct sockaddr_storage addr;
	int err;

	strcpy((char *)join.name, caller->impostor == OTHER_GROUP ? "other" : NAME);
	memcpy(&join.id, (const char *)card + CARD_ID, sizeof(join.id));
	peer_address(caller->family, &addr);
	memcpy(join.addr, &addr, sizeof(addr));
	caller->fd = member_open();
	CHECK_EQ(0, seteuid(OTHER_USER));
	err = member_ioctl(caller->fd, COLLECTIVE_IOC_JOIN, &join);
	CHECK_EQ(0, seteuid(0));
	return err;
}

/* Answer callers, as a module of another version does, or as another kind of server. */
static void impostor_serve(const struct caller *caller, int listener)
{
	static const char text[] = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";
	unsigned char hello[HELLO_SIZE];

	for (;;) {
		int fd = accept(listener, NULL, NULL);

		if (recv(fd, hello, sizeof(hello), MSG_WAITALL) != sizeof(hello))
			continue;
		if (caller->impostor == NO_RANK)
			memcpy(hello, text, sizeof(text));
		else
			hello[HELLO_VERSION]++;
		hello[HELLO_STAGE] = 1;
		hello[HELLO_ERROR] = EPROTONOSUPPORT;
		send(fd, hello, sizeof(hello), MSG_NOSIGNAL);
		close(fd);
	}
}

static int impostor_listen(const struct caller *caller)
{
	int fd = socket(caller->family, SOCK_STREAM, 0);
	struct sockaddr_storage addr;

	peer_address(caller->family, &addr);
	if (bind(fd, (struct sockaddr *)&addr, caller->family == AF_INET6 ?
		 sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in)) || listen(fd, 8))
		return -errno;
	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		impostor_serve(caller, fd);
	}
	close(fd);
	return 0;
}

/* From the first card on: its id is the group's. */
static int impostor_begin(struct caller *caller, const void *card)
{
	enum impostor impostor = caller->impostor;
	int err = 0;

	if (impostor == OTHER_GROUP || impostor == OTHER_SECRET)
		err = impostor_join(caller, card);
	else if (impostor != NOTHING)
		err = impostor_listen(caller);
	caller->impostor = NOTHING;
	return err;
}

static int exchange(void *context, const void *mine, size_t size, void *all)
{
	struct caller *caller = context;
	char *to = (char *)all + !caller->rank * size;

	memcpy((char *)all + caller->rank * size, mine, size);
	if (send(caller->socket, mine, size, MSG_NOSIGNAL) != (ssize_t)size ||
	    recv(caller->socket, to, size, MSG_WAITALL) != (ssize_t)size)
		return -ECONNABORTED;
	return impostor_begin(caller, all);
}

/* Return: true if the text has where a rank listens. */
static bool names_place(const char *text, int family, int rank)
{
	char place[64];

	snprintf(place, sizeof(place), family == AF_INET6 ? "[%s]:%d" : "%s:%d",
		 address(family, rank), PORT);
	return strstr(text, place);
}

/* What `collectivectl link` says while the rank connects. */
static void links_watch(int family, struct outcome *outcome)
{
	FILE *pipe;

	fflush(stdout);
	if (fork())
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (!names_place(outcome->links, family, 1)) {
		pipe = popen("collectivectl link 2>&1", "r");
		outcome->links[fread(outcome->links, 1, sizeof(outcome->links) - 1, pipe)] = '\0';
		pclose(pipe);
		sleep_ms(100);
	}
	_exit(0);
}

static int rank_main(struct caller *caller, const char *network, unsigned int limit_ms,
		     struct outcome *outcome)
{
	struct coll_config config = {
		.size = sizeof(config),
		.detail = outcome->detail,
		.detail_size = sizeof(outcome->detail),
		.rank = caller->rank,
		.nranks = 2,
		.name = NAME,
		.local_addr = address(caller->family, caller->rank),
		.init_timeout_ms = limit_ms,
		.transport = "tcp",
		.exchange = exchange,
		.exchange_context = caller,
		.ports = "21000-21000",
	};
	struct coll_comm *comm;

	CHECK_EQ(0, unshare(CLONE_NEWNET));
	CHECK_EQ(0, network_make(caller, network));
	if (!caller->rank)
		links_watch(caller->family, outcome);
	outcome->err = coll_init(&comm, &config);
	return 0;
}

/* Begin both ranks.  Return: 0 or 1. */
static int pair_begin(struct pair *pair, const struct way *way)
{
	int sockets[2], rank;
	pid_t pid;

	CHECK_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
	for (rank = 0; rank < 2; rank++) {
		struct caller caller = {
			.rank = rank,
			.family = pair->family,
			.socket = sockets[rank],
			.impostor = rank ? NOTHING : way->impostor,
			.fd = -1,
		};

		/* The child has the memory of @pair, too. */
		pid = fork();
		if (pid) {
			pair->pid[rank] = pid;
			continue;
		}
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(sockets[!rank]);
		_exit(rank_main(&caller, rank ? "true" : way->network, enough_ms(way->limit_ms),
				&pair->outcome[rank]));
	}
	close(sockets[0]);
	close(sockets[1]);
	return 0;
}

/* Return: the number of ranks that could not begin. */
static int pair_end(const struct pair *pair)
{
	int rank, status, failed = 0;

	for (rank = 0; rank < 2; rank++)
		failed += waitpid(pair->pid[rank], &status, 0) != pair->pid[rank] || status;
	return failed;
}

static void check_pair(struct __test_metadata *_metadata, const struct pair *pair,
		       const struct way *way)
{
	const struct outcome *outcome = pair->outcome;
	int rank;

	EXPECT_EQ(way->err, outcome[0].err);
	EXPECT_NE(NULL, strstr(outcome[0].detail, way->says));
	/* No rank has called it. */
	EXPECT_EQ(-ETIMEDOUT, outcome[1].err);
	for (rank = 0; rank < 2; rank++) {
		EXPECT_TRUE(names_place(outcome[rank].detail, pair->family, 0));
		EXPECT_TRUE(names_place(outcome[rank].detail, pair->family, 1));
		printf("# rank %d: %d, %s\n", rank, outcome[rank].err, outcome[rank].detail);
	}
	/* The address that is being tried is shown before a connection stands. */
	if (way->err == -ETIMEDOUT && !system("collectivectl --version >/dev/null 2>&1"))
		EXPECT_TRUE(names_place(outcome[0].links, pair->family, 1))
			TH_LOG("%s", outcome[0].links);
}

TEST_F_TIMEOUT(connect_error, names_addresses, 120)
{
	int i;

	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, pair_begin(&self->pair[i], &variant->way));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, pair_end(&self->pair[i]));
	for (i = 0; i < 2; i++)
		check_pair(_metadata, &self->pair[i], &variant->way);
}

TEST_HARNESS_MAIN
