// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pipes of the local transport, each end in its thread; built with ThreadSanitizer, too.
 *
 * The bytes of a stream depend on their position only, so the reader verifies each of them.  The
 * writer overwrites its memory as soon as the pipe permits that.  Waiting is by relaxed accesses
 * and futexes, from which ThreadSanitizer takes no order: all order must come from the pipe.  An
 * event is delivered only if a function asked for it, so a lost one exceeds the deadline.
 *
 * With ThreadSanitizer, the test then weakens one access of pipe.c after the other, and the same
 * rounds must fail.  Exceptions: smp_mb() (see pipe_model_test.c), and the order of
 * coll_reference_begin(), which needs to be atomic only: it is split instead.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "pipe_env.h"
#include "transport/local/pipe.c"
#include "pipe_fixture.h"
#include "tap.h"

#define ROUNDS		300U
#define ROUNDS_WEAKENED	6000U	/* at most: most weaker accesses are noticed in the first ones */
#define RECORDS		250U	/* of a round */
#define SLOTS		6U
#define REST_BYTES	256U
#define DEADLINE	5	/* seconds that an event may take */
#define EXIT_UNUSED	3	/* the weakened access was never done */

struct slot {
	struct memory memory;
	u64 position;	/* see struct coll_out */
	bool busy;	/* the reader may read it */
};

/**
 * struct run - a round
 * @seed: all that is random depends on it, but for the timing
 * @writable: event for the writer
 * @readable: event for the reader
 * @reads: event for the writer: a piece of a revoked reference was read
 * @sent: bytes accepted by the pipe; of the writer
 * @payload: payload bytes of them; of the writer
 * @error: with which the stream ends
 * @leave_after: record after which the reader leaves; 0: never
 * @wrong: a check has failed
 */
struct run {
	struct coll_pipe pipe;
	u64 seed;
	u32 writable, readable, reads;
	struct slot slots[SLOTS];
	u8 rest[REST_BYTES];
	u64 sent, payload, received;
	int error;
	u32 leave_after;
	const char *wrong;
};

/* Splitmix64.  Return: 0 to @n - 1. */
static u32 below(u64 *state, u32 n)
{
	u64 x = *state += 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return (x ^ x >> 31) % n;
}

static void fail(struct run *run, const char *why)
{
	WRITE_ONCE(run->wrong, why);
}

static void deliver(u32 *event)
{
	WRITE_ONCE(*event, 1);
	syscall(SYS_futex, event, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void await(struct run *run, u32 *event, const char *name)
{
	struct timespec time = { .tv_sec = DEADLINE };

	while (!__atomic_exchange_n(event, 0, __ATOMIC_RELAXED)) {
		if (!syscall(SYS_futex, event, FUTEX_WAIT_PRIVATE, 0, &time, NULL, 0) ||
		    errno != ETIMEDOUT)
			continue;
		printf("# seed %llu: no event: %s\n", (unsigned long long)run->seed, name);
		printf("# head %u tail %u ended %u gone %u\n", READ_ONCE(run->pipe.head),
		       READ_ONCE(run->pipe.tail), READ_ONCE(run->pipe.ended),
		       READ_ONCE(run->pipe.reader_gone));
		fflush(stdout);
		_exit(1);
	}
}

/*
 * The writer
 */

static void scribble(struct slot *slot)
{
	slot->busy = false;
	memset(slot->memory.bytes, SCRIBBLE, MEM_BYTES);
}

static void scribble_consumed(struct run *run)
{
	/* As local_consumed(): pairs with coll_pipe_consume(). */
	u64 consumed = smp_load_acquire(&run->pipe.consumed);
	u32 i;

	for (i = 0; i < SLOTS; i++)
		if (run->slots[i].busy && run->slots[i].position <= consumed)
			scribble(&run->slots[i]);
}

/* Wait as local_close() does, or without sleeping, or so late that the reader has gone on. */
static void wait_read(struct run *run, u64 *rng)
{
	u32 way = below(rng, 3), tries = way ? 0 : 200;

	while (tries && coll_pipe_readable(&run->pipe))
		tries -= !sched_yield();
	while (coll_pipe_is_read(&run->pipe))
		if (way == 1)
			await(run, &run->reads, "read");
}

static void revoke_one(struct run *run, struct slot *slot, u64 *rng)
{
	if (!slot->busy)
		return;
	WRITE_ONCE(run->reads, 0);
	if (!coll_pipe_revoke(&run->pipe, slot))
		wait_read(run, rng);
	scribble(slot);
}

/* Return: a slot that the reader does not read; NULL: the reader is gone. */
static struct slot *get_slot(struct run *run, u64 *rng)
{
	u32 i, first = below(rng, SLOTS);

	for (;;) {
		for (i = 0; i < SLOTS; i++) {
			struct slot *slot = &run->slots[(first + i) % SLOTS];

			if (!slot->busy)
				return slot;
		}
		scribble_consumed(run);
		for (i = 0; i < SLOTS && run->slots[i].busy; i++)
			;
		if (i < SLOTS)
			continue;
		if (READ_ONCE(run->pipe.reader_gone))
			return NULL;
		await(run, &run->writable, "writable, for consumed memory");
	}
}

/* Put a header and payload.  Return: false if the reader is gone. */
static bool put_all(struct run *run, u64 *rng, struct slot *slot, u32 head, u32 payload, bool copy)
{
	u8 header[64];
	u32 off = below(rng, MEM_BYTES - payload + 1), done = 0;

	fill(header, run->seed, run->sent, head);
	fill(slot->memory.bytes + off, run->seed, run->sent + head, payload);
	slot->position = run->payload + payload;
	while (done < head + payload) {
		struct coll_out out = { .mem = &slot->memory.mem, .copy = copy, .off = off,
					.position = slot->position, .owner = slot };
		int n;

		if (done < head) {
			out.ptr = header + done;
			out.len = head - done;
			out.more = payload;
		} else {
			out.off += done - head;
			out.len = payload - (done - head);
		}
		n = coll_pipe_put(&run->pipe, &out);
		if (run->pipe.head - READ_ONCE(run->pipe.tail) > run->pipe.size)
			fail(run, "over-full");
		if (n == -EAGAIN) {
			await(run, &run->writable, "writable, for space");
			continue;
		}
		if (n < 0)
			return false;
		slot->busy |= !copy && payload;
		deliver(&run->readable);
		done += n;
		run->sent += n;
	}
	run->payload += payload;
	if (!slot->busy)
		scribble(slot);
	return true;
}

static void end(struct run *run, u64 *rng)
{
	u32 i, at = below(rng, 1U << 20), len = below(rng, REST_BYTES + 1);

	if (below(rng, 2) && !READ_ONCE(run->pipe.reader_gone)) {
		for (i = 0; i < len; i++)
			run->rest[(at + i) % REST_BYTES] = pattern(run->seed, run->sent + i);
		coll_pipe_set_rest(&run->pipe, run->rest, REST_BYTES, at, len);
		run->sent += len;
	}
	WRITE_ONCE(run->reads, 0);
	coll_pipe_end(&run->pipe, run->error);
	deliver(&run->readable);
	/* As local_close() does. */
	if (!coll_pipe_revoke(&run->pipe, NULL))
		wait_read(run, rng);
	for (i = 0; i < SLOTS; i++)
		scribble(&run->slots[i]);
}

static void *writer(void *arg)
{
	struct run *run = arg;
	u64 rng = run->seed ^ 0x1234567;
	u32 i, records = below(&rng, RECORDS) + 1;

	for (i = 0; i < records; i++) {
		u32 head = below(&rng, 3) ? below(&rng, 57) : 0;
		u32 payload = below(&rng, 4) ? 1 + below(&rng, below(&rng, 4) ? 100 : 1000) : 0;
		struct slot *slot = get_slot(run, &rng);

		if (run->pipe.size < 64 * 1024 && !below(&rng, 64))
			pipe_grow(&run->pipe, 4 * run->pipe.size);
		if (!slot || !put_all(run, &rng, slot, head, payload, !below(&rng, 4)))
			break;
		if (!below(&rng, 6))
			revoke_one(run, slot, &rng);
		while (!below(&rng, 3))
			revoke_one(run, &run->slots[below(&rng, SLOTS)], &rng);
		if (!below(&rng, 8))
			scribble_consumed(run);
	}
	end(run, &rng);
	return NULL;
}

/*
 * The reader
 */

/* Read a piece of a reference, or learn that it is revoked.  Return: number of bytes. */
static u32 read_piece(struct run *run, u64 *rng, struct coll_reference *reference)
{
	u32 done = run->pipe.record_done, len = reference->record.len - done, most;
	size_t piece;
	const u8 *ptr;

	if (!coll_reference_begin(reference))
		return len;
	ptr = reference->mem->at(reference->mem, reference->off + done, &piece);
	most = min_t(size_t, len, piece);
	len = below(rng, 2) ? most : 1 + below(rng, most);
	if (!verify(ptr, run->seed, run->received, len))
		fail(run, "a byte of a reference");
	if (!coll_reference_end(reference))
		deliver(&run->reads);
	return len;
}

static u32 read_bytes(struct run *run, u64 *rng)
{
	const u8 *ptr;
	u32 len;

	ptr = coll_pipe_bytes(&run->pipe, &len);
	len = below(rng, 2) ? len : 1 + below(rng, len);
	if (!verify(ptr, run->seed, run->received, len))
		fail(run, "a byte in the ring");
	return len;
}

static void read_rest(struct run *run)
{
	const u8 *ptr;
	u32 len;

	while (ptr = coll_pipe_rest(&run->pipe, &len), len) {
		if (!verify(ptr, run->seed, run->received, len))
			fail(run, "a byte behind the ring");
		coll_pipe_consume_rest(&run->pipe, len);
		run->received += len;
	}
}

/* Return: false if there is no record. */
static bool read_record(struct run *run, u64 *rng)
{
	__auto_type record = coll_pipe_next(&run->pipe);
	u32 n;

	if (!record)
		return false;
	if (record->kind == COLL_PIPE_REFERENCE)
		n = read_piece(run, rng, coll_pipe_reference(record));
	else
		n = read_bytes(run, rng);
	run->received += n;
	if (coll_pipe_consume(&run->pipe, n))
		deliver(&run->writable);
	return true;
}

static void *reader(void *arg)
{
	struct run *run = arg;
	u64 rng = run->seed ^ 0x7654321;
	u32 pieces = 0;
	int error;

	for (;;) {
		/* Before the records are looked at: then all of them are seen. */
		bool ended = coll_pipe_ended(&run->pipe, &error);

		while (read_record(run, &rng))
			if (++pieces == run->leave_after)
				goto leave;
		if (ended)
			break;
		await(run, &run->readable, "readable");
	}
	read_rest(run);
	if (error != run->error)
		fail(run, "the error at the end");
	return NULL;
leave:
	WRITE_ONCE(run->pipe.reader_gone, 1);
	deliver(&run->writable);
	return NULL;
}

static const char *run_round(u64 seed)
{
	struct run *run = aligned_alloc(64, round_up(sizeof(*run), 64));
	pthread_t threads[2];
	const char *wrong;
	u64 rng = seed;
	u32 i;

	memset(run, 0, sizeof(*run));
	pipe_open(&run->pipe, 512U << below(&rng, 3), below(&rng, 2) * -1024U);
	run->seed = seed;
	run->error = below(&rng, 2) ? -ECONNRESET : 0;
	run->leave_after = below(&rng, 4) ? 0 : 1 + below(&rng, 2 * RECORDS);
	for (i = 0; i < SLOTS; i++)
		memory_init(&run->slots[i].memory);
	pthread_create(&threads[0], NULL, writer, run);
	pthread_create(&threads[1], NULL, reader, run);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	if (!run->pipe.reader_gone && run->received != run->sent)
		fail(run, "the number of bytes");
	wrong = run->wrong;
	pipe_free(&run->pipe);
	free(run);
	return wrong;
}

/* Return: what is wrong in a round; NULL: nothing. */
static const char *run_rounds(u32 rounds)
{
	const char *wrong = NULL;
	u32 seed;

	for (seed = 1; seed <= rounds && !wrong; seed++)
		wrong = run_round(seed);
	if (wrong)
		printf("# seed %u: %s\n", seed - 1, wrong);
	return wrong;
}

#ifdef COLL_TSAN
#define WEAKEN(f, w)	{ .function = (f), .what = (w) }
#define SPLIT(f, w)	{ .function = (f), .what = (w), .split = true }

/* The accesses that order the two ends. */
static const struct pipe_env_weak weak[] = {
	WEAKEN("pipe_publish", "&pipe->head"),
	WEAKEN("coll_pipe_next", "&pipe->head"),
	WEAKEN("pipe_advance", "&pipe->tail"),
	WEAKEN("pipe_space", "&pipe->tail"),
	WEAKEN("coll_pipe_revoke", "&pipe->tail"),
	WEAKEN("coll_pipe_is_read", "&pipe->tail"),
	WEAKEN("coll_pipe_consume", "&pipe->consumed"),
	WEAKEN("scribble_consumed", "&run->pipe.consumed"),
	WEAKEN("coll_pipe_end", "&pipe->ended"),
	WEAKEN("coll_pipe_ended", "&pipe->ended"),
	WEAKEN("reference_revoke", "&reference->state"),
	SPLIT("reference_revoke", "&reference->state"),
	SPLIT("coll_reference_begin", "&reference->state"),
	WEAKEN("coll_reference_end", "&reference->state"),
	WEAKEN("reference_state", "&reference->state"),
};

/* In a process of its own: the first report of ThreadSanitizer ends it. */
static int run_weakened(u32 index)
{
	char text[16];
	int status;
	pid_t pid = fork();

	if (!pid) {
		snprintf(text, sizeof(text), "%u", index);
		setenv("TSAN_OPTIONS", "halt_on_error=1:exitcode=66:log_path=/dev/null", 1);
		execl("/proc/self/exe", "pipe_threads_test", text, NULL);
		_exit(EXIT_UNUSED);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Whether two threads meet at an access is up to the scheduler: a busy machine takes longer. */
#define WEAKENED_RUNS	20

static bool is_noticed(int code)
{
	return code == 66 || code == 1;
}

static void test_weakened(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(weak); i++) {
		int code = 0, n;

		for (n = 0; n < WEAKENED_RUNS && !is_noticed(code); n++)
			code = run_weakened(i);
		tap_ok(is_noticed(code), "%s of %s in %s() is noticed (exit code %d)",
		       weak[i].split ? "splitting" : "weakening", weak[i].what, weak[i].function,
		       code);
	}
}

/* Return: the exit code of a process of run_weakened(). */
static int weakened_main(u32 index)
{
	bool wrong;

	if (!freopen("/dev/null", "w", stdout))
		return EXIT_UNUSED;
	pipe_env_weak = weak[index];
	wrong = run_rounds(ROUNDS_WEAKENED);
	return wrong ? 1 : pipe_env_weak.used ? 0 : EXIT_UNUSED;
}
#else
static void test_weakened(void)
{
}

static int weakened_main(u32 index)
{
	return index;
}
#endif

int main(int argc, char **argv)
{
	if (argc > 1)
		return weakened_main(atoi(argv[1]));
	tap_plan(0);
	tap_ok(!run_rounds(ROUNDS), "%u rounds with two threads", ROUNDS);
	test_weakened();
	return tap_exit();
}
