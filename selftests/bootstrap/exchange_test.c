// SPDX-License-Identifier: GPL-2.0-only
/* Groups that form by an allgather of the caller's: through memory that the ranks share. */
#include <errno.h>
#include <locale.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bootstrap/card.h"
#include "bootstrap/secret.h"
#include "comm/comm.h"
#include "comm/deadline.h"
#include "device_stub.h"
#include "exchange/session.h"
#include "memory.h"
#include "network.h"
#include "tap.h"
#include "version.h"

#define RANKS	4
#define ROOM	1024

enum { SECRET_NONE, SECRET_A, SECRET_B };

/**
 * struct rank - a rank's configuration and result
 * @lanes, @heartbeat_ms, @name, @local_addr, @timeout_ms, @nranks: as in struct coll_config
 * @secret: SECRET_*
 * @insecure: true: with COLL_CONFIG_INSECURE
 * @open_error: error of opening the device
 * @callback_error: what the callback returns instead of its result
 * @garbage: true: the callback's result for this rank is not what the rank gave
 * @format: version that its card tells; 0: its own
 * @library: version of the library
 * @memory: number of allocations that succeed in coll_init(), + 1; 0: all
 * @err: result of coll_init()
 * @calls: number of calls of the callback
 * @detail: text of the failure
 * @made: name of the group
 * @key: secret of the group, zeros: none
 * @peers: addresses of the ranks
 */
struct rank {
	int lanes;
	unsigned int heartbeat_ms;
	const char *name;
	const char *local_addr;
	int nranks;
	int secret;
	bool insecure;
	int open_error;
	int callback_error;
	bool garbage;
	unsigned char format;
	unsigned int library;
	int memory;

	int err;
	int calls;
	char detail[COLL_DETAIL_SIZE];
	char made[64];
	unsigned char key[32];
	struct sockaddr_storage peers[RANKS];
};

/**
 * struct meeting - memory of all ranks
 * @barrier: all ranks
 * @blobs: what each rank gives
 * @shift: each rank's blob is put in the place of this many ranks further
 * @ranks: the ranks
 */
struct meeting {
	pthread_barrier_t barrier;
	unsigned char blobs[RANKS][ROOM];
	int shift;
	struct rank ranks[RANKS];
};

static struct meeting *meeting;

static int allgather(void *context, const void *mine, size_t size, void *all)
{
	struct rank *own = context;
	const int rank = own - meeting->ranks;
	int i;

	own->calls++;
	if (size >= ROOM)
		return -E2BIG;
	memcpy(meeting->blobs[(rank + meeting->shift) % RANKS], mine, size);
	if (own->garbage)
		memset(meeting->blobs[rank], 0xa5, 20);
	if (own->format)
		meeting->blobs[rank][4] = own->format;
	pthread_barrier_wait(&meeting->barrier);
	for (i = 0; i < RANKS; i++)
		memcpy((char *)all + i * size, meeting->blobs[i], size);
	pthread_barrier_wait(&meeting->barrier);
	return own->callback_error;
}

static void be_rank(int rank)
{
	struct rank *own = &meeting->ranks[rank];
	unsigned char secret[32];
	struct coll_config config = {
		.size = sizeof(config),
		.rank = rank,
		.nranks = own->nranks ? own->nranks : RANKS,
		.lanes = own->lanes,
		.heartbeat_ms = own->heartbeat_ms,
		.name = own->name,
		.local_addr = own->local_addr,
		.flags = own->insecure ? COLL_CONFIG_INSECURE : 0,
		.secret = own->secret ? secret : NULL,
		.init_timeout_ms = 20000,
		.detail = own->detail,
		.detail_size = sizeof(own->detail),
		.exchange = allgather,
		.exchange_context = own,
	};
	struct coll_comm *comm;

	memset(secret, own->secret, sizeof(secret));
	stub_open_error = own->open_error;
	version_library = own->library;
	memory_calls = own->memory - 1;
	own->err = coll_init(&comm, &config);
	memory_calls = -1;
	if (!own->err) {
		strcpy(own->made, coll_name(comm));
		if (comm->settings.secured)
			memcpy(own->key, comm->settings.secret->key, 32);
		memcpy(own->peers, comm->peers, sizeof(own->peers));
	}
	/* Listeners stay open until every rank has connected. */
	pthread_barrier_wait(&meeting->barrier);
	coll_comm_free(comm);
}

static void begin(void)
{
	memset(&meeting->ranks, 0, sizeof(meeting->ranks));
	meeting->shift = 0;
}

static void run(void)
{
	pthread_barrierattr_t attr;
	pid_t pids[RANKS];
	int i;

	pthread_barrierattr_init(&attr);
	pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&meeting->barrier, &attr, RANKS);
	fflush(NULL);
	for (i = 0; i < RANKS; i++) {
		meeting->ranks[i].err = 1;
		pids[i] = fork();
		if (pids[i])
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(30);
		be_rank(i);
		_exit(0);
	}
	for (i = 0; i < RANKS; i++)
		waitpid(pids[i], NULL, 0);
}

static void note(void)
{
	int i;

	for (i = 0; i < RANKS; i++)
		tap_note("rank %d: %d after %d calls: %s", i, meeting->ranks[i].err,
			 meeting->ranks[i].calls, meeting->ranks[i].detail);
}

static bool is_secured(const struct rank *rank)
{
	static const unsigned char none[32];

	return memcmp(rank->key, none, sizeof(none));
}

/* Is every rank in one group, by two calls of the callback? */
static bool is_group(void)
{
	const struct rank *first = &meeting->ranks[0];
	int i;

	for (i = 0; i < RANKS; i++) {
		const struct rank *at = &meeting->ranks[i];

		if (at->err || at->calls != 2 || strcmp(at->made, first->made) ||
		    memcmp(at->key, first->key, sizeof(at->key)) ||
		    memcmp(at->peers, first->peers, sizeof(at->peers)))
			return false;
	}
	return true;
}

static void expect_group(bool secured, const char *what)
{
	run();
	if (!tap_ok(is_group() && is_secured(&meeting->ranks[0]) == secured, "%s", what))
		note();
}

/* Has every rank failed with @err after @calls calls and a text that has @says? */
static bool all_failed(int err, int calls, const char *says)
{
	bool right = true;
	int i;

	for (i = 0; i < RANKS; i++)
		right &= meeting->ranks[i].err == err && meeting->ranks[i].calls == calls &&
			 strstr(meeting->ranks[i].detail, says);
	return right;
}

static void expect_failure(int err, int calls, const char *says, const char *what)
{
	run();
	if (!tap_ok(all_failed(err, calls, says), "%s", what))
		note();
}

static void test_groups(void)
{
	int i;

	begin();
	expect_group(true, "a group forms, and rank 0 makes its secret");
	begin();
	for (i = 0; i < RANKS; i++)
		meeting->ranks[i].secret = SECRET_A;
	expect_group(true, "a secret that all ranks have is kept");
	tap_ok(meeting->ranks[1].key[0] == SECRET_A, "and is the group's");
	begin();
	meeting->ranks[0].insecure = true;
	expect_group(false, "rank 0 may do without a secret");
	begin();
	meeting->ranks[2].name = "four";
	meeting->ranks[0].name = "four";
	meeting->ranks[3].lanes = 3;
	expect_group(true, "a rank may set what others leave open");
	tap_ok(!strcmp(meeting->ranks[1].made, "four"), "the name is that of rank 0");
	begin();
	meeting->ranks[1].local_addr = "127.0.0.0/8";
	expect_group(true, "a rank may ask for a network");
}

static void test_told_failures(void)
{
	begin();
	meeting->ranks[2].lanes = 99;
	expect_failure(-EINVAL, 1, "99 lanes", "an invalid configuration is told to all ranks");
	tap_ok(strstr(meeting->ranks[0].detail, "rank 2: ") &&
	       !strstr(meeting->ranks[2].detail, "rank 2: "), "with the rank whose it is");
	begin();
	meeting->ranks[0].lanes = 99;
	expect_failure(-EINVAL, 1, "99 lanes", "also one of rank 0");
	begin();
	meeting->ranks[1].heartbeat_ms = 60001;
	expect_failure(-EINVAL, 1, "a heartbeat of 60001 ms: there must be 100 to 60000",
		       "so is one beyond a limit");
	begin();
	meeting->ranks[1].heartbeat_ms = 99;
	expect_failure(-EINVAL, 1, "a heartbeat of 99 ms: there must be 100 to 60000",
		       "and one below");
	begin();
	meeting->ranks[1].open_error = -ENOENT;
	expect_failure(-ENOENT, 1, "the device: No such file",
		       "the lack of a device is told to all ranks");
	begin();
	meeting->ranks[3].local_addr = "203.0.113.7";
	expect_failure(-EADDRNOTAVAIL, 2, "rank 3 cannot join", "so is a failure to join");
	begin();
	meeting->ranks[3].local_addr = "10.250.0.0/16";
	expect_failure(-EADDRNOTAVAIL, 1, "10.250.0.0/16",
		       "so is a network that the host is not in");
}

static void test_contradictions(void)
{
	begin();
	meeting->ranks[1].secret = SECRET_A;
	expect_failure(-EACCES, 1, ") has a secret, and rank 0 (at ",
		       "a secret that one rank has alone");
	tap_ok(!strncmp(meeting->ranks[0].detail, "rank 1 (at ", 11), "and its address");
	begin();
	meeting->ranks[0].secret = SECRET_A;
	expect_failure(-EACCES, 1, ") has a secret, and rank 1 (at ",
		       "a secret that only rank 0 has");
	begin();
	meeting->ranks[0].secret = SECRET_A;
	meeting->ranks[1].secret = SECRET_A;
	meeting->ranks[2].secret = SECRET_B;
	meeting->ranks[3].secret = SECRET_A;
	expect_failure(-EACCES, 2, "another secret than rank ", "two secrets");
	begin();
	meeting->ranks[1].lanes = 2;
	meeting->ranks[2].lanes = 3;
	expect_failure(-EINVAL, 1, "rank 2 wants 3 lanes, rank 1 has 2", "two numbers of lanes");
	begin();
	meeting->ranks[0].name = "a";
	meeting->ranks[2].name = "b";
	expect_failure(-EINVAL, 1, "rank 2 wants group b, rank 0 has a", "two names");
	begin();
	meeting->shift = 1;
	expect_failure(-EINVAL, 1, "its order is not that of ranks", "another order of ranks");
	begin();
	meeting->ranks[1].garbage = true;
	expect_failure(-EPROTO, 1, "rank 1 is no card", "bytes that no rank gave");
}

/* A card of an older version, as its first bytes tell; or of a newer one. */
static void test_versions(void)
{
	begin();
	meeting->ranks[2].library = VERSION_OTHER;
	run();
	if (!tap_ok(all_failed(-EPROTONOSUPPORT, 1, "all ranks need the same") &&
		    strstr(meeting->ranks[0].detail,
			   "rank 0 has version " VERSION_OWN_TEXT
			   " of the library and rank 2 has " VERSION_OTHER_TEXT) &&
		    strstr(meeting->ranks[2].detail,
			   "rank 2 has version " VERSION_OTHER_TEXT
			   " of the library and rank 0 has " VERSION_OWN_TEXT),
		    "two versions of the library"))
		note();
	begin();
	meeting->ranks[3].format = BOOTSTRAP_CARD_VERSION - 1;
	expect_failure(-EPROTONOSUPPORT, 1, "rank 3 has one before 0.2", "an older library");
}

/* Ranks of three hosts; two of them have another secret, or one has none. */
static void test_secrets_of_hosts(void)
{
	static const char * const hosts[RANKS] = {
		"10.77.0.1", "10.77.0.1", "10.77.0.2", "10.77.0.3",
	};
	static const char one[] = "ranks 2-3 (at 10.77.0.2, 10.77.0.3) have another secret than ";
	static const char other[] = "ranks 0-1 (at 10.77.0.1) have another secret than ";
	int i;

	begin();
	for (i = 0; i < RANKS; i++) {
		meeting->ranks[i].local_addr = hosts[i];
		meeting->ranks[i].secret = i < 2 ? SECRET_A : SECRET_B;
	}
	run();
	if (!tap_ok(all_failed(-EACCES, 2, ": give all ranks the same") &&
		    strstr(meeting->ranks[1].detail, one) &&
		    strstr(meeting->ranks[1].detail, " than rank 1 (at 10.77.0.1): ") &&
		    strstr(meeting->ranks[3].detail, other) &&
		    strstr(meeting->ranks[3].detail, " than rank 3 (at 10.77.0.3): "),
		    "two secrets, with all ranks and their hosts"))
		note();
	begin();
	for (i = 0; i < RANKS; i++) {
		meeting->ranks[i].local_addr = hosts[i];
		meeting->ranks[i].secret = i < 3 ? SECRET_A : SECRET_NONE;
	}
	expect_failure(-EACCES, 1,
		       "rank 0 (at 10.77.0.1) has a secret, and rank 3 (at 10.77.0.3) has none",
		       "a host without the secret");
}

static void test_callback_errors(void)
{
	int i;

	begin();
	for (i = 0; i < RANKS; i++)
		meeting->ranks[i].callback_error = -EIO;
	expect_failure(-EIO, 1, "exchange failed: Input/output error", "an error of the callback");
	begin();
	for (i = 0; i < RANKS; i++)
		meeting->ranks[i].callback_error = 7;
	expect_failure(-EINVAL, 1, "neither 0 nor a negative errno", "a result that is no errno");
	begin();
	for (i = 0; i < RANKS; i++)
		meeting->ranks[i].callback_error = -123456;
	expect_failure(-EINVAL, 1, "neither 0 nor a negative errno", "a negative one likewise");
}

/* A rank has no memory from some allocation on: all ranks hear of it, or it needs no more. */
static void test_memory(void)
{
	int memory, i, failed = 0, worked = 0;

	for (memory = 1; memory < 12; memory++) {
		begin();
		meeting->ranks[2].memory = memory;
		run();
		for (i = 0; i < RANKS && meeting->ranks[i].err == -ENOMEM; i++)
			;
		failed += i == RANKS;
		for (i = 0; i < RANKS && !meeting->ranks[i].err; i++)
			;
		worked += i == RANKS;
		if (failed + worked == memory)
			continue;
		note();
		break;
	}
	tap_ok(failed > 3 && worked && failed + worked == memory - 1,
	       "all ranks hear of one that has no memory");
}

static struct session session = SESSION_INITIALIZER;

static void *use_session(void *arg)
{
	pthread_barrier_t *begun = arg;
	struct coll_detail none = { 0 };

	if (session_begin(&session, "it", coll_deadline_in(1000), &none))
		return NULL;
	pthread_barrier_wait(begun);
	/* The other thread has tried once. */
	pthread_barrier_wait(begun);
	usleep(100000);
	session_end(&session, 0, &none);
	return NULL;
}

/* A launcher's interface is for one thread at a time, and the others wait until their deadline. */
static void test_session(void)
{
	char text[COLL_DETAIL_SIZE] = "";
	struct coll_detail detail = { text, sizeof(text) };
	uint64_t start, ms;
	pthread_barrier_t begun;
	pthread_t thread;
	int early, late;

	pthread_barrier_init(&begun, NULL, 2);
	pthread_create(&thread, NULL, use_session, &begun);
	pthread_barrier_wait(&begun);
	start = coll_deadline_now();
	early = session_begin(&session, "it", coll_deadline_in(100), &detail);
	ms = coll_deadline_now() - start;
	tap_ok(early == -ETIMEDOUT && ms >= 100 && ms < 10000 &&
	       strstr(text, "another thread was using it"), "a session that another thread uses");
	pthread_barrier_wait(&begun);
	start = coll_deadline_now();
	late = session_begin(&session, "it", coll_deadline_in(20000), &detail);
	ms = coll_deadline_now() - start;
	tap_ok(!late && ms < 10000, "is had when that has ended");
	if (!late)
		session_end(&session, 0, &detail);
	pthread_join(thread, NULL);
	pthread_barrier_destroy(&begun);
}

/* Texts do not depend on the language; every number has one. */
static void test_errno_texts(void)
{
	bool same = true;
	int err;

	setlocale(LC_ALL, "");
	for (err = 0; err < 200; err++)
		same &= !strerrordesc_np(err) ||
			!strcmp(coll_errno_text(err), strerrordesc_np(err));
	setlocale(LC_ALL, "C");
	tap_ok(same, "texts of errors");
	tap_ok(*coll_errno_text(-1) && *coll_strerror(100000) && *coll_strerror(-__INT_MAX__ - 1),
	       "and of numbers that are none");
}

int main(void)
{
	meeting = mmap(NULL, sizeof(*meeting), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (meeting == MAP_FAILED)
		return 1;
	tap_plan(0);
	test_groups();
	test_told_failures();
	test_contradictions();
	test_versions();
	test_callback_errors();
	test_memory();
	test_session();
	test_errno_texts();
	if (network_enter())
		test_secrets_of_hosts();
	else
		tap_skip("no network namespace", "secrets of hosts");
	return tap_exit();
}
