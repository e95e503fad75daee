// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which addresses a group uses if its hosts have several.  Hosts are network namespaces with cables
 * to one in the middle, where some of them end.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bootstrap/address.h"
#include "comm/comm.h"
#include "tap.h"

#define RANKS	3
#define ROOM	1024

/* Commands of the middle; H stands for a command in the host, P for its pid, N for its number. */
#define CABLE(name)	"ip link add " name "N up type veth peer name " name " netns P && " \
			"H ip link set dev " name " up && "
#define PLUG(name)	" && ip link set " name "N master sw" name

/**
 * struct scene - hosts, and what the ranks do
 * @name: name of the test
 * @middle: command in the middle, before the hosts have cables
 * @hosts: commands for each host
 * @address: address that each host uses, with its number as N; NULL: not all ranks connect
 * @calls: number of exchanges
 * @says: part of the text of each failure
 * @last: address of the last host, if it is another
 * @err: errno of all ranks; 0: not all have to fail
 * @interrupted: rank 1 is interrupted in the first wait
 * @transport: as in struct coll_config, of rank 1
 * @ports: as in struct coll_config, of rank 1, which finds the first two that it tries in use
 * @notes: part of what each rank has to say of addresses; NULL: nothing but its own
 */
struct scene {
	const char *name;
	const char *middle;
	const char *hosts[RANKS];
	const char *address;
	int calls;
	const char *says;
	const char *last;
	int err;
	bool interrupted;
	const char *transport;
	const char *ports;
	const char *notes;
};

#define TWO_NETWORKS	"ip link add swa up type bridge && ip link add swb up type bridge"
#define TWO_CABLES	CABLE("a") CABLE("b") "H ip addr add 10.1.0.N/24 dev a && " \
			"H ip addr add 10.2.0.N/24 dev b" PLUG("b")
#define TWO_OF_IPV6	CABLE("a") CABLE("b") "H ip addr add fd01::N/64 dev a nodad && " \
			"H ip addr add fd02::N/64 dev b nodad" PLUG("b")
#define ROUTED		CABLE("a") CABLE("b") "H ip addr add 10.1N.0.2/24 dev a && " \
			"H ip addr add 10.2N.0.2/24 dev b && ip addr add 10.2N.0.1/24 dev bN && " \
			"H ip route add 10.0.0.0/12 dev a && " \
			"H ip route add 10.16.0.0/12 via 10.2N.0.1"
#define CONTAINERS	CABLE("b") "H ip addr add 10.2.0.N/24 dev b" PLUG("b") " && " \
			"H ip link add docker up type veth peer name c && " \
			"H ip link set dev c up && H ip addr add 172.17.0.1/16 dev docker"
#define OUTSIDE		CABLE("b") "H ip addr add 10.60.0.N/24 dev b" PLUG("b") " && " \
			"H ip route add default via 10.60.0.9"

/* The second network leads anywhere; packets between addresses of the first one are dropped. */
#define DROPPED		CABLE("a") CABLE("b") "H ip addr add 10.1N.0.2/24 dev a && " \
			"H ip addr add 10.2N.0.2/24 dev b && ip addr add 10.1N.0.1/24 dev aN && " \
			"ip addr add 10.2N.0.1/24 dev bN && H ip route add 10.0.0.0/8 via 10.2N.0.1"

/*
 * A network with a router, and a host that is in it by a cable to nowhere, and behind it.  Those in
 * the network have addresses that they do not tell, and connect from them.
 */
#define NEAR		CABLE("a") "H ip addr add 10.1.0.N/24 dev a && " \
			"H ip addr add 10.1.0.20N/32 dev a && " \
			"H ip route add 10.0.0.0/8 via 10.1.0.9 src 10.1.0.20N" PLUG("a")
#define BEHIND		CABLE("a") CABLE("b") "H ip addr add 10.1.0.N/24 dev a noprefixroute && " \
			"H ip addr add 10.2.0.N/24 dev b && ip addr add 10.2.0.9/24 dev bN && " \
			"H ip route add 10.0.0.0/8 via 10.2.0.9"

static const struct scene scenes[] = {
	{ "of two networks the first", TWO_NETWORKS,
	  { TWO_CABLES PLUG("a"), TWO_CABLES PLUG("a"), TWO_CABLES PLUG("a") },
	  "10.1.0.N", .calls = 4 },
	{ "a network in which a host is alone", TWO_NETWORKS,
	  { TWO_CABLES PLUG("a"), TWO_CABLES PLUG("a"), TWO_CABLES }, "10.2.0.N", .calls = 5 },
	{ "IPv6 likewise", TWO_NETWORKS,
	  { TWO_OF_IPV6, TWO_OF_IPV6, TWO_OF_IPV6 }, "fd02::N", .calls = 5 },
	{ "routed addresses, of which one leads nowhere", "true",
	  { ROUTED, ROUTED, ROUTED }, "10.2N.0.2", .calls = 6 },
	{ "addresses that are reached, but not from one another",
	  "nft 'add table ip t; add chain ip t f { type filter hook forward priority 0; }; "
	  "add rule ip t f ip saddr 10.8.0.0/13 ip daddr 10.8.0.0/13 reject'",
	  { DROPPED, DROPPED, DROPPED }, "10.2N.0.2", .calls = 5, .notes = "did not reach" },
	{ "a host that has another address moves to it, the others stay",
	  "ip link add swa up type bridge && ip addr add 10.1.0.9/24 dev swa",
	  { NEAR, NEAR, BEHIND }, "10.1.0.N", .calls = 6, .last = "10.2.0.N" },
	{ "no network is tried twice", TWO_NETWORKS,
	  { TWO_CABLES PLUG("a"), TWO_CABLES PLUG("a"), CABLE("a") CABLE("b")
	    "H ip addr add 10.1.0.N/24 dev a && H ip addr add 10.2.0.N/24 dev b" },
	  .calls = 5, .says = "did not reach" },
	{ "a rank that is interrupted ends all", TWO_NETWORKS,
	  { TWO_CABLES, TWO_CABLES, TWO_CABLES }, .calls = 3,
	  .says = "rank 1 was interrupted", .err = -ECANCELED, .interrupted = true },
	{ "ports that are in use", TWO_NETWORKS,
	  { TWO_CABLES PLUG("a"), TWO_CABLES PLUG("a"), TWO_CABLES },
	  "10.2.0.N", .calls = 5, .ports = "21000-21001" },
	{ "a host without a port", TWO_NETWORKS,
	  { TWO_CABLES PLUG("a"), TWO_CABLES PLUG("a"), TWO_CABLES PLUG("a") },
	  "10.1.0.N", .calls = 3, .ports = "21000-21000",
	  .notes = "no address was tried, since rank 1 found no port" },
	{ "nothing is tried if a rank is to use RDMA", TWO_NETWORKS,
	  { TWO_CABLES PLUG("a"), TWO_CABLES PLUG("a"), TWO_CABLES PLUG("a") },
	  "10.1.0.N", .calls = 2, .transport = "rdma" },
	{ "nothing is tried where bridges of containers are all that is left", TWO_NETWORKS,
	  { CONTAINERS, CONTAINERS, CONTAINERS }, "10.2.0.N", .calls = 2 },
	{ "address translation is said",
	  TWO_NETWORKS " && ip addr add 10.60.0.9/24 dev swb && "
	  "nft 'add table ip t; add chain ip t n { type nat hook postrouting priority 100; }; "
	  "add rule ip t n ip saddr 10.50.0.0/24 masquerade; "
	  "add chain ip t f { type filter hook forward priority 0; }; "
	  "add rule ip t f ip daddr 10.50.0.0/24 ct state new reject with icmp host-unreachable'",
	  { CABLE("b") "H ip addr add 10.50.0.2/24 dev b && ip addr add 10.50.0.1/24 dev bN && "
	    "H ip route add default via 10.50.0.1", OUTSIDE, OUTSIDE }, .calls = 4,
	  .says = "rank 0 came from 10.60.0.9 and gives 10.50.0.2 as its address: "
		  "address translation?" },
};

/**
 * struct meeting - memory of all ranks
 * @barrier: all ranks
 * @blobs: what each rank gives
 * @err: result of coll_init(), by rank
 * @calls: number of calls of the callback, by rank
 * @detail: text of the failure, by rank
 * @peers: addresses of the ranks, by rank
 * @places: what the rank knows of addresses, by rank
 */
static struct meeting {
	pthread_barrier_t barrier;
	unsigned char blobs[RANKS][ROOM];
	int err[RANKS];
	int calls[RANKS];
	char detail[RANKS][COLL_DETAIL_SIZE];
	struct sockaddr_storage peers[RANKS][RANKS];
	char places[RANKS][COLL_PLACES_SIZE];
} *meeting;

static int allgather(void *context, const void *mine, size_t size, void *all)
{
	const int rank = *(int *)context;
	int i;

	meeting->calls[rank]++;
	memcpy(meeting->blobs[rank], mine, size);
	pthread_barrier_wait(&meeting->barrier);
	for (i = 0; i < RANKS; i++)
		memcpy((char *)all + i * size, meeting->blobs[i], size);
	pthread_barrier_wait(&meeting->barrier);
	return 0;
}

/* Number of calls of listen() for which another socket has begun to listen since bind(). */
static int busy;

/* The linker's --wrap. */
int __real_listen(int fd, int backlog);
int __wrap_listen(int fd, int backlog);

int __wrap_listen(int fd, int backlog)
{
	if (!busy)
		return __real_listen(fd, backlog);
	busy--;
	errno = EADDRINUSE;
	return -1;
}

static int interrupt(void *context)
{
	(void)context;
	return 1;
}

static void be_rank(const struct scene *scene, int rank)
{
	struct coll_config config = {
		.size = sizeof(config),
		.rank = rank,
		.nranks = RANKS,
		.init_timeout_ms = 20000,
		.detail = meeting->detail[rank],
		.detail_size = sizeof(meeting->detail[rank]),
		.exchange = allgather,
		.exchange_context = &rank,
		.ports = rank == 1 ? scene->ports : NULL,
		.transport = rank == 1 ? scene->transport : NULL,
		.interrupt = scene->interrupted && rank == 1 ? interrupt : NULL,
	};
	struct coll_comm *comm;

	if (config.ports)
		busy = 2;
	meeting->err[rank] = coll_init(&comm, &config);
	if (!meeting->err[rank]) {
		memcpy(meeting->peers[rank], comm->peers, sizeof(meeting->peers[rank]));
		strcpy(meeting->places[rank], comm->settings.places);
	}
	/* Listeners stay open until every rank has connected. */
	pthread_barrier_wait(&meeting->barrier);
	coll_comm_free(comm);
}

/* Start a process with a network namespace of its own; it waits until its input ends. */
static pid_t start(const struct scene *scene, int rank, int *input)
{
	int go[2], ready[2];
	char byte;
	pid_t pid;

	if (pipe(go) || pipe(ready))
		exit(1);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(40);
		close(go[1]);
		if (unshare(CLONE_NEWNET) || system("ip link set lo up"))
			_exit(1);
		close(ready[1]);
		close(ready[0]);
		if (read(go[0], &byte, 1) == 1)
			be_rank(scene, rank);
		_exit(0);
	}
	close(go[0]);
	close(ready[1]);
	(void)!read(ready[0], &byte, 1);
	close(ready[0]);
	*input = go[1];
	return pid;
}

/* Run a command, with H, P and N replaced. */
static bool run_for(const char *command, pid_t pid, int rank)
{
	char text[2000], *to = text;

	for (; *command; command++)
		if (*command == 'H')
			to += sprintf(to, "nsenter -t %d -n", pid);
		else if (*command == 'P')
			to += sprintf(to, "%d", pid);
		else if (*command == 'N')
			to += sprintf(to, "%d", rank + 1);
		else
			*to++ = *command;
	*to = '\0';
	if (!system(text))
		return true;
	tap_note("%s", text);
	return false;
}

/* Have all ranks the wanted addresses of all? */
static bool is_group(const struct scene *scene)
{
	char wanted[COLL_ADDRESS_TEXT], text[COLL_ADDRESS_TEXT];
	int i, j;

	for (i = 0; i < RANKS; i++) {
		if (scene->notes ? !strstr(meeting->places[i], scene->notes) :
		    strncmp(meeting->places[i], "this host told ", 15))
			return false;
		for (j = 0; j < RANKS; j++) {
			strcpy(wanted, scene->last && j == RANKS - 1 ? scene->last :
			       scene->address);
			*strchr(wanted, 'N') = '1' + j;
			coll_address_format_host(&meeting->peers[i][j], text);
			if (meeting->err[i] || strcmp(text, wanted))
				return false;
		}
	}
	return true;
}

/* Does a rank fail, and every one that fails say why? */
static bool is_failure(const struct scene *scene)
{
	int i, failed = 0;

	for (i = 0; i < RANKS; i++) {
		if (meeting->err[i] && !strstr(meeting->detail[i], scene->says))
			return false;
		if (scene->err && meeting->err[i] != scene->err)
			return false;
		failed += !!meeting->err[i];
	}
	return failed;
}

static bool is_right(const struct scene *scene)
{
	int i;

	for (i = 0; i < RANKS; i++)
		if (meeting->calls[i] != scene->calls)
			return false;
	return scene->address ? is_group(scene) : is_failure(scene);
}

static void note(void)
{
	char text[COLL_ADDRESS_TEXT];
	int i;

	for (i = 0; i < RANKS; i++) {
		coll_address_format_host(&meeting->peers[0][i], text);
		tap_note("rank %d: %d after %d calls, %s: %s%s", i, meeting->err[i],
			 meeting->calls[i], text, meeting->detail[i], meeting->places[i]);
	}
}

/* Ports of a bridge forward when the kernel has noticed their carrier. */
static bool is_forwarding(void)
{
	int tries;

	for (tries = 0; tries < 60; tries++, usleep(50000))
		if (system("bridge link | grep -qv 'state forwarding'"))
			return true;
	return false;
}

static void play(const struct scene *scene)
{
	pthread_barrierattr_t attr;
	bool set_up = true;
	int inputs[RANKS], i;
	pid_t pids[RANKS];

	memset(meeting, 0, sizeof(*meeting));
	pthread_barrierattr_init(&attr);
	pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&meeting->barrier, &attr, RANKS);
	fflush(NULL);
	if (unshare(CLONE_NEWNET) || system("echo 1 >/proc/sys/net/ipv4/ip_forward"))
		set_up = false;
	for (i = 0; i < RANKS; i++)
		pids[i] = start(scene, i, &inputs[i]);
	set_up = set_up && run_for(scene->middle, 0, 0);
	for (i = 0; i < RANKS; i++)
		set_up = set_up && run_for(scene->hosts[i], pids[i], i);
	set_up = set_up && is_forwarding();
	for (i = 0; i < RANKS; i++) {
		if (set_up)
			(void)!write(inputs[i], "", 1);
	}
	for (i = 0; i < RANKS; i++) {
		close(inputs[i]);
		if (!set_up)
			kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	if (!set_up)
		tap_skip("no such network can be made", "%s", scene->name);
	else if (!tap_ok(is_right(scene), "%s", scene->name))
		note();
}

int main(void)
{
	size_t i;

	meeting = mmap(NULL, sizeof(*meeting), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (meeting == MAP_FAILED)
		return 1;
	if (unshare(CLONE_NEWNET)) {
		printf("1..0 # SKIP no network namespace\n");
		return 4;
	}
	tap_plan(sizeof(scenes) / sizeof(*scenes));
	for (i = 0; i < sizeof(scenes) / sizeof(*scenes); i++)
		play(&scenes[i]);
	return tap_exit();
}
