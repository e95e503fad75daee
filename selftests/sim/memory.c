// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory in pieces, as the pages of a user buffer are: a piece is one page or a few.  Each piece
 * is an allocation of its own, so that the sanitizer notices an access beyond its end.
 */
#include "sim.h"

static void *memory_at(const struct coll_mem *mem, u64 off, size_t *len)
{
	const struct sim_mem *memory = container_of(mem, struct sim_mem, mem);
	size_t page, in;

	if (memory->window)
		off %= mem->length;
	if (off >= mem->length)
		abort();
	page = off / memory->page;
	in = off % memory->page;
	*len = memory->run[page] - in;
	return memory->at[page] + in;
}

/**
 * memory_new() - allocate memory with random pieces and page size
 * @rng: source of random numbers
 * @length: bytes
 *
 * Return: the memory, for memory_free(); its contents are undefined.
 */
struct sim_mem *memory_new(struct rng *rng, u64 length)
{
	static const size_t pages[] = { 8, 64, 256, 4096 };
	struct sim_mem *memory = calloc(1, sizeof(*memory));
	u32 contiguity = rng_between(rng, 1, 4);
	u32 run = 0;
	size_t i;

	memory->page = pages[rng_below(rng, ARRAY_SIZE(pages))];
	if (length > 2048 * memory->page)
		memory->page = 4096;
	memory->npages = length / memory->page + 1;
	memory->mem.at = memory_at;
	memory->mem.length = length;
	memory->at = calloc(memory->npages, sizeof(*memory->at));
	memory->run = calloc(memory->npages, sizeof(*memory->run));
	memory->heap = calloc(memory->npages, sizeof(*memory->heap));
	memory->refs = calloc(length + 1, 1);

	for (i = 0; i < memory->npages; i++) {
		u64 rest = length - i * memory->page;

		if (!run) {
			run = 1;
			while (!rng_once_in(rng, contiguity) && run < 64)
				run++;
			memory->run[i] = min_t(u64, run * memory->page, rest);
			memory->heap[i] = malloc(memory->run[i]);
			memory->at[i] = memory->heap[i];
		} else {
			memory->at[i] = memory->at[i - 1] + memory->page;
			memory->run[i] = memory->run[i - 1] - memory->page;
			if (memory->run[i - 1] < memory->page)
				memory->run[i] = 0;
		}
		run--;
	}
	return memory;
}

void memory_free(struct sim_mem *memory)
{
	size_t i;

	if (!memory)
		return;
	for (i = 0; i < memory->npages; i++)
		free(memory->heap[i]);
	free(memory->at);
	free(memory->run);
	free(memory->heap);
	free(memory->refs);
	free(memory);
}

void memory_read(const struct sim_mem *memory, u64 off, void *buf, u64 len)
{
	while (len) {
		size_t n;
		const void *at = memory->mem.at(&memory->mem, off, &n);

		n = min_t(u64, n, len);
		memcpy(buf, at, n);
		buf = (u8 *)buf + n;
		off += n;
		len -= n;
	}
}

void memory_write(struct sim_mem *memory, u64 off, const void *buf, u64 len)
{
	while (len) {
		size_t n;
		void *at = memory->mem.at(&memory->mem, off, &n);

		n = min_t(u64, n, len);
		memcpy(at, buf, n);
		buf = (const u8 *)buf + n;
		off += n;
		len -= n;
	}
}

void memory_fill(struct sim_mem *memory, u8 byte, u64 from, u64 to)
{
	while (from < to) {
		size_t n;
		void *at = memory->mem.at(&memory->mem, from, &n);

		n = min_t(u64, n, to - from);
		memset(at, byte, n);
		from += n;
	}
}

/* Return: true if a byte from @from up to and without @to is not @byte. */
bool memory_differs(const struct sim_mem *memory, u8 byte, u64 from, u64 to)
{
	while (from < to) {
		size_t n;
		const u8 *at = memory->mem.at(&memory->mem, from, &n);

		n = min_t(u64, n, to - from);
		if (at[0] != byte || memcmp(at, at + 1, n - 1))
			return true;
		from += n;
	}
	return false;
}

/* The references to a byte. */
static u8 *byte_refs(const struct sim_mem *memory, u64 off)
{
	return &memory->refs[memory->window ? off % memory->mem.length : off];
}

/* Count a reference in flight to these bytes. */
void memory_ref_add(struct sim_mem *memory, u64 off, u64 len)
{
	u64 i;

	memory->referenced_bytes += len;
	for (i = off; i < off + len; i++)
		*byte_refs(memory, i) = (*byte_refs(memory, i) + 1) | REF_ONCE;
}

/* Count the end of a reference to these bytes: they were consumed, or the connection was reset. */
void memory_ref_remove(struct sim_mem *memory, u64 off, u64 len)
{
	u64 i;

	memory->referenced_bytes -= len;
	for (i = off; i < off + len; i++)
		--*byte_refs(memory, i);
}

/* Return: true if a reference to one of these bytes is in flight or, with @ever, ever was. */
bool memory_has_ref(const struct sim_mem *memory, u64 off, u64 len, bool ever)
{
	u8 mask = ever ? 0xff : (u8)~REF_ONCE;
	u64 i;

	for (i = off; i < off + len; i++)
		if (*byte_refs(memory, i) & mask)
			return true;
	return false;
}
