// SPDX-License-Identifier: GPL-2.0-only
/*
 * A model of how the writer of a pipe waits for space: every interleaving of two processors with
 * store buffers.
 *
 * No processor of the tests and no sanitizer shows what a missing smp_mb() permits.  Here each
 * barrier is left out once, and the model must find the lost wake-up.  Stores leave a buffer in any
 * order, except of the same variable and as the release of @tail demands.
 */
#include "core/env.h"
#include "tap.h"

#define NEED	2U	/* records that the reader releases in turn; the writer needs all */
#define DEPTH	4U

enum variable { TAIL, WAITS, VARIABLES };

struct store {
	u8 variable, value;
};

struct cpu {
	u8 pc;
	u8 stored;
	u8 seen;
	struct store store[DEPTH];
};

struct state {
	u8 memory[VARIABLES];
	u8 event;
	struct cpu writer, reader;
};

/* What is left out */
enum { RESERVE = 1, RELEASE = 2, EVENT = 4 };

enum { W_SET, W_BARRIER, W_LOOK, W_SLEEP, W_DONE };
enum { R_TAIL, R_BARRIER, R_LOOK, R_CLEAR, R_EVENT, R_DONE };

static u32 missing, lost, states;

static void search(struct state s);

static u8 load(const struct state *s, const struct cpu *cpu, u8 variable)
{
	u8 i, value = s->memory[variable];

	for (i = 0; i < cpu->stored; i++)
		if (cpu->store[i].variable == variable)
			value = cpu->store[i].value;
	return value;
}

static void store(struct cpu *cpu, u8 variable, u8 value)
{
	cpu->store[cpu->stored++] = (struct store){ variable, value };
}

/* Let each store leave the buffer that may be the next one. */
static void drain(const struct state *s, bool writer)
{
	const struct cpu *cpu = writer ? &s->writer : &s->reader;
	u8 i, j;

	for (i = 0; i < cpu->stored; i++) {
		struct state next = *s;
		struct cpu *c = writer ? &next.writer : &next.reader;

		for (j = 0; j < i; j++)
			if (cpu->store[j].variable == cpu->store[i].variable ||
			    cpu->store[i].variable == TAIL)
				break;
		if (j < i)
			continue;
		next.memory[cpu->store[i].variable] = cpu->store[i].value;
		for (j = i; j + 1 < c->stored; j++)
			c->store[j] = c->store[j + 1];
		c->stored--;
		search(next);
	}
}

/* pipe_reserve(), again after each event.  A full buffer or a barrier waits for the stores. */
static void step_writer(struct state s)
{
	struct cpu *cpu = &s.writer;

	switch (cpu->pc) {
	case W_SET:
		if (cpu->stored == DEPTH)
			return;
		store(cpu, WAITS, 1);
		cpu->pc = W_BARRIER;
		break;
	case W_BARRIER:
		if (cpu->stored && !(missing & RESERVE))
			return;
		cpu->pc = W_LOOK;
		break;
	case W_LOOK:
		cpu->pc = load(&s, cpu, TAIL) == NEED ? W_DONE : W_SLEEP;
		break;
	case W_SLEEP:
		if (!s.event)
			return;
		s.event = 0;
		cpu->pc = W_SET;
		break;
	default:
		return;
	}
	search(s);
}

/* pipe_release() of each record, and the event that it asks for. */
static void step_reader(struct state s)
{
	struct cpu *cpu = &s.reader;

	switch (cpu->pc) {
	case R_TAIL:
		if (cpu->stored == DEPTH)
			return;
		store(cpu, TAIL, load(&s, cpu, TAIL) + 1);
		cpu->pc = R_BARRIER;
		break;
	case R_BARRIER:
		if (cpu->stored && !(missing & RELEASE))
			return;
		cpu->pc = R_LOOK;
		break;
	case R_LOOK:
		cpu->seen = load(&s, cpu, WAITS);
		cpu->pc = cpu->seen ? R_CLEAR : load(&s, cpu, TAIL) == NEED ? R_DONE : R_TAIL;
		break;
	case R_CLEAR:
		if (cpu->stored == DEPTH)
			return;
		store(cpu, WAITS, 0);
		cpu->pc = R_EVENT;
		break;
	case R_EVENT:
		/* An event is delivered after the stores before it. */
		if (cpu->stored && !(missing & EVENT))
			return;
		s.event = 1;
		cpu->pc = load(&s, cpu, TAIL) == NEED ? R_DONE : R_TAIL;
		break;
	default:
		return;
	}
	search(s);
}

static void search(struct state s)
{
	states++;
	if (s.reader.pc == R_DONE && !s.reader.stored && !s.writer.stored &&
	    s.writer.pc == W_SLEEP && !s.event) {
		lost++;
		return;
	}
	drain(&s, true);
	drain(&s, false);
	step_writer(s);
	step_reader(s);
}

static void run(u32 without, bool loses, const char *name)
{
	missing = without;
	lost = 0;
	states = 0;
	search((struct state){ 0 });
	tap_ok(!lost == !loses, "%s: %s (%u states, %u)", name,
	       loses ? "a wake-up is lost" : "no wake-up is lost", states, lost);
}

int main(void)
{
	tap_plan(4);
	run(0, false, "with all barriers");
	run(RESERVE, true, "without that of pipe_reserve()");
	run(RELEASE, true, "without that of pipe_release()");
	run(EVENT, true, "with an event that overtakes the store to @writer_waits");
	return tap_exit();
}
