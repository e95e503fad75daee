// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two ranks, each with its own network, and between them a firewall.  It forgets connections that
 * have had no packet for a while, in either direction, and drops their later packets without a
 * word.
 *
 *	forgotten_ranks idle|rest|all|kept 4|6 HEARTBEAT_MS
 *		idle: the data connections are forgotten in a pause.  The next operation fails in
 *		time, names the link, and before that `collectivectl why` names the connection.
 *		rest: the same, and the group rests before the operation is called.
 *		all: all connections are forgotten while the group rests.
 *		kept: the firewall remembers connections for longer than COLL_KEEPALIVE_S.  Nothing
 *		is forgotten, however long the pause.
 *
 * The firewall is this process, which carries the packets between two TUN devices.
 */
#include <collective.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BYTES		65536
#define LANES		2
#define FLOWS		256
/* COLL_KEEPALIVE_S and COLL_REST_MS of the module, and what a busy machine may add. */
#define KEEPALIVE_S	30
#define REST_MS		60000
#define REST_MARGIN_MS	8000
/* The firewall remembers a connection for so long: with and without the module's probes. */
#define KEPT_MS		(1500 * KEEPALIVE_S)
#define FORGOTTEN_MS	(500 * KEEPALIVE_S)
#define PORT		7100
/* Commands for the device of a rank. */
#define TUN_SETUP	"ip link set lo up && ip link set tun0 up && "	\
			"ip addr add 10.66.0.%d/24 dev tun0 && "	\
			"ip addr add fd66::%d/64 dev tun0 nodad"

/**
 * struct flow - a connection that the firewall has in mind
 * @key: addresses and ports, those of rank 0's side first
 * @last: time of its last packet, ms; 0: the place is free
 */
struct flow {
	unsigned char key[36];
	long long last;
};

/**
 * struct firewall - what the firewall and the ranks share
 * @forget_ms: time without packets after which it forgets a connection; 0: never
 * @packets: number of packets of TCP that came
 * @dropped: of these, those that were dropped
 * @phase: where the ranks are
 */
struct firewall {
	unsigned int forget_ms;
	unsigned int packets;
	unsigned int dropped;
	unsigned int phase;
};

static struct firewall *firewall;
static struct flow flows[FLOWS];
static const char *mode;
static bool v6;
static int beat;

static bool is_mode(const char *name)
{
	return !strcmp(mode, name);
}

static long long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

static void sleep_ms(unsigned int ms)
{
	usleep(1000 * ms);
}

/* ---- the firewall ---- */

/* Return: a TUN device of this network, with the addresses of a rank; or -1. */
static int tun_open(int rank)
{
	struct ifreq request = { .ifr_flags = IFF_TUN | IFF_NO_PI, .ifr_name = "tun0" };
	int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	char command[256];

	if (fd < 0 || ioctl(fd, TUNSETIFF, &request))
		return -1;
	snprintf(command, sizeof(command), TUN_SETUP, rank + 1, rank + 1);
	return system(command) ? -1 : fd;
}

/* Where a packet of TCP has its addresses and its header.  Return: false if it is none. */
static bool packet_parse(const unsigned char *packet, int length, const unsigned char **addr,
			 int *addr_length, const unsigned char **tcp)
{
	if (length >= 40 && packet[0] >> 4 == 4 && packet[9] == IPPROTO_TCP) {
		*addr = packet + 12;
		*addr_length = 4;
		*tcp = packet + 4 * (packet[0] & 15);
	} else if (length >= 60 && packet[0] >> 4 == 6 && packet[6] == IPPROTO_TCP) {
		*addr = packet + 8;
		*addr_length = 16;
		*tcp = packet + 40;
	} else {
		return false;
	}
	return true;
}

/* The key of a packet that comes from the side of a rank. */
static void flow_key(unsigned char *key, int from, const unsigned char *addr, int addr_length,
		     const unsigned char *tcp)
{
	const int sender = from ? 18 : 0, receiver = 18 - sender;

	memset(key, 0, 36);
	memcpy(key + sender, addr, addr_length);
	memcpy(key + sender + 16, tcp, 2);
	memcpy(key + receiver, addr + addr_length, addr_length);
	memcpy(key + receiver + 16, tcp + 2, 2);
}

static void flows_forget(void)
{
	const long long oldest = now_ms() - firewall->forget_ms;
	int i;

	for (i = 0; firewall->forget_ms && i < FLOWS; i++)
		if (flows[i].last < oldest)
			flows[i].last = 0;
}

/* Return: the flow of a key; a free place if there is none and @opens; or NULL. */
static struct flow *flow_find(const unsigned char *key, bool opens)
{
	struct flow *unused = NULL;
	int i;

	for (i = 0; i < FLOWS; i++) {
		if (!flows[i].last)
			unused = &flows[i];
		else if (!memcmp(flows[i].key, key, sizeof(flows[i].key)))
			return &flows[i];
	}
	if (!opens || !unused)
		return NULL;
	memcpy(unused->key, key, sizeof(unused->key));
	return unused;
}

/* Does the firewall let a packet pass?  Only a SYN opens a connection. */
static bool packet_passes(const unsigned char *packet, int length, int from)
{
	const unsigned char *addr, *tcp;
	unsigned char key[36];
	struct flow *flow;
	int addr_length;

	if (!packet_parse(packet, length, &addr, &addr_length, &tcp))
		return true;
	firewall->packets++;
	flow_key(key, from, addr, addr_length, tcp);
	flow = flow_find(key, (tcp[13] & 0x12) == 0x02);
	if (flow)
		flow->last = now_ms();
	else
		firewall->dropped++;
	return flow;
}

static void carry(int from, const int *tun)
{
	static unsigned char packet[65536];
	int length = read(tun[from], packet, sizeof(packet));

	if (length > 0 && packet_passes(packet, length, from) &&
	    write(tun[!from], packet, length) < 0)
		/* As a network that is busy does. */
		return;
}

/* Carry packets until both ranks have ended.  Return: how many of them failed. */
static int firewall_run(const int *tun)
{
	struct pollfd fds[2] = {
		{ .fd = tun[0], .events = POLLIN },
		{ .fd = tun[1], .events = POLLIN },
	};
	int ranks = 2, failed = 0, status, i;

	while (ranks) {
		poll(fds, 2, 50);
		flows_forget();
		for (i = 0; i < 2; i++)
			if (fds[i].revents)
				carry(i, tun);
		while (ranks && waitpid(-1, &status, WNOHANG) > 0) {
			ranks--;
			failed += status != 0;
		}
	}
	return failed;
}

/* ---- the ranks ---- */

static struct coll_comm *init_comm(int rank)
{
	char detail[COLL_DETAIL_SIZE] = "", rendezvous[32], local[32];
	struct coll_config config = {
		.size = sizeof(config),
		.detail = detail,
		.detail_size = sizeof(detail),
		.flags = COLL_CONFIG_INSECURE,
		.rank = rank,
		.nranks = 2,
		.lanes = LANES,
		.rendezvous = rendezvous,
		.local_addr = local,
		.heartbeat_ms = beat,
		.transport = "tcp",
	};
	struct coll_comm *comm;

	snprintf(rendezvous, sizeof(rendezvous), v6 ? "[fd66::1]:%d" : "10.66.0.1:%d", PORT);
	snprintf(local, sizeof(local), v6 ? "fd66::%d" : "10.66.0.%d", rank + 1);
	if (!coll_init(&comm, &config))
		return comm;
	printf("rank %d: coll_init: %s\n", rank, detail);
	return NULL;
}

static int allreduce(struct coll_comm *comm)
{
	static float sent[BYTES / sizeof(float)], received[BYTES / sizeof(float)];

	return coll_allreduce(comm, sent, received, BYTES / sizeof(float), COLL_FLOAT32, COLL_SUM);
}

/* Both ranks have come to a point; no packet is sent for it. */
static void meet(unsigned int point)
{
	__atomic_add_fetch(&firewall->phase, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&firewall->phase, __ATOMIC_SEQ_CST) < 2 * point)
		sleep_ms(1);
}

static void firewall_set(int rank, unsigned int ms)
{
	if (!rank)
		__atomic_store_n(&firewall->forget_ms, ms, __ATOMIC_SEQ_CST);
}

/*
 * Return: the number of connections with a timer of probes that ends in time: 02 in /proc/net/tcp,
 * and hundredths of a second.  Another timer hides it while bytes are not acknowledged.
 */
static int timers_count(void)
{
	FILE *file = fopen(v6 ? "/proc/net/tcp6" : "/proc/net/tcp", "re");
	unsigned int state, timer, when;
	char line[256];
	int n = 0;

	while (file && fgets(line, sizeof(line), file))
		n += sscanf(line, " %*u: %*[0-9A-F]:%*x %*[0-9A-F]:%*x %x %*x:%*x %x:%x", &state,
			    &timer, &when) == 3 &&
		     state == 1 && timer == 2 && when <= 100 * KEEPALIVE_S;
	if (file)
		fclose(file);
	return n;
}

/* Rank 0 has made all connections, and probes them.  Return: true if it does. */
static bool has_timers(int rank)
{
	int tries, n = 0;

	for (tries = 0; !rank && tries < 50 && n < 1 + LANES; tries++) {
		sleep_ms(100);
		n = timers_count();
	}
	if (!rank)
		printf("rank 0: %d connections have a timer of probes\n", n);
	return rank || n == 1 + LANES;
}

/* Return: true if no heartbeat comes any more. */
static bool rests(int rank)
{
	const unsigned int before = firewall->packets;
	unsigned int n;

	sleep_ms(5 * beat);
	n = firewall->packets - before;
	/* Probes may come, and their answers. */
	printf("rank %d: %u packets in five heartbeats\n", rank, n);
	return n <= 4 * (1 + LANES);
}

/* Ask until the answer names the connection.  The process ends with 0 if it has. */
static pid_t why_ask(int rank)
{
	const char *hint = is_mode("all") ? "its host or the network is down" :
					    "has a firewall forgotten the connection";
	char pattern[256], command[512];
	pid_t pid;

	snprintf(pattern, sizeof(pattern),
		 "rank %d at .* has sent again .* times without an answer to rank %d at %s:.*%s",
		 rank, !rank, v6 ? "[[]fd66::[12][]]" : "10[.]66[.]0[.][12]", hint);
	snprintf(command, sizeof(command),
		 "for i in $(seq %d); do said=$(collectivectl why 2>&1); "
		 "echo \"$said\" | grep '%s' && exit; sleep 0.2; done; "
		 "echo \"$said\"; exit 1", 12 * beat / 200, pattern);
	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(system(command) != 0);
	return pid;
}

static bool why_told(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && !status;
}

/* The next operation fails in time, and is explained meanwhile.  Return: 0 if so. */
static int fails(struct coll_comm *comm)
{
	const int rank = coll_rank(comm);
	const long long begin = now_ms();
	pid_t why = why_ask(rank);
	int err = allreduce(comm);
	const long long told = now_ms() - begin;
	const char *detail = coll_error_detail(comm);

	printf("rank %d: %d after %lld ms: %s\n", rank, err, told, detail);
	if (!why_told(why)) {
		printf("rank %d: collectivectl why did not name the connection\n", rank);
		return 1;
	}
	return err != -ECONNRESET || told > 12 * beat || !strstr(detail, "nothing was heard") ||
	       !strstr(detail, "between rank 0 and rank 1") || !firewall->dropped;
}

/* The next operation succeeds at once, and nothing was dropped before.  Return: 0 if so. */
static int succeeds(struct coll_comm *comm)
{
	const long long begin = now_ms();
	int err = allreduce(comm);

	printf("rank %d: %d after %lld ms, %u packets dropped\n", coll_rank(comm), err,
	       now_ms() - begin, firewall->dropped);
	return err || now_ms() - begin > 7 * beat || firewall->dropped;
}

/* The pause, in which the firewall forgets what it is to forget.  Return: 0 or 1. */
static int pause_calls(struct coll_comm *comm)
{
	const int rank = coll_rank(comm);

	if (is_mode("idle") || is_mode("rest")) {
		/* The control connection has a packet every heartbeat. */
		firewall_set(rank, 6 * beat);
		sleep_ms(10 * beat);
		firewall_set(rank, 0);
	}
	if (is_mode("idle"))
		return 0;
	sleep_ms(REST_MS + REST_MARGIN_MS);
	if (!rests(rank))
		return 1;
	if (is_mode("all")) {
		firewall_set(rank, FORGOTTEN_MS);
		sleep_ms(FORGOTTEN_MS + beat);
	} else if (is_mode("kept")) {
		sleep_ms(KEPT_MS + 4 * beat);
	}
	return 0;
}

static int rank_main(int rank)
{
	struct coll_comm *comm = init_comm(rank);
	int failed;

	if (!comm)
		return 1;
	/* Use all connections before. */
	if (allreduce(comm) || !has_timers(rank))
		return 1;
	meet(1);
	if (is_mode("kept"))
		firewall_set(rank, KEPT_MS);
	failed = pause_calls(comm);
	meet(2);
	if (coll_comm_failed(comm)) {
		printf("rank %d: failed in the pause: %s\n", rank, coll_error_detail(comm));
		return 1;
	}
	failed |= is_mode("kept") ? succeeds(comm) : fails(comm);
	coll_finalize(comm);
	return failed;
}

/* Return: the TUN device of a rank in a network of its own, in which the rank runs; or -1. */
static int rank_start(int rank)
{
	int tun = unshare(CLONE_NEWNET) ? -1 : tun_open(rank);

	if (tun < 0) {
		perror("network with a TUN device");
		return -1;
	}
	fflush(stdout);
	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		exit(rank_main(rank));
	}
	return tun;
}

int main(int argc, char **argv)
{
	int tun[2];

	if (argc != 4 || chdir("/tmp"))
		return 2;
	mode = argv[1];
	v6 = argv[2][0] == '6';
	beat = atoi(argv[3]);
	setlinebuf(stdout);
	firewall = mmap(NULL, sizeof(*firewall), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (firewall == MAP_FAILED)
		return 1;
	/* Without ranks: is there what the test needs? */
	if (is_mode("check"))
		return unshare(CLONE_NEWNET) || tun_open(0) < 0;
	tun[0] = rank_start(0);
	tun[1] = tun[0] < 0 ? -1 : rank_start(1);
	return tun[1] < 0 ? 1 : firewall_run(tun) != 0;
}
