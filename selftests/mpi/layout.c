// SPDX-License-Identifier: GPL-2.0-only
#include "layout.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
	MPI_Abort(MPI_COMM_WORLD, 1);
	exit(1);
}

unsigned int random_next(uint64_t *sequence, unsigned int limit)
{
	*sequence = *sequence * 6364136223846793005ULL + 1442695040888963407ULL;
	return (*sequence >> 33) % limit;
}

/* Elements in reverse order, with gaps. */
static void make_reversed(MPI_Datatype *type, MPI_Datatype basic, int items)
{
	int lengths[ITEMS], displs[ITEMS], i;

	for (i = 0; i < items; i++) {
		lengths[i] = 1;
		displs[i] = 2 * (items - 1 - i) + 1;
	}
	MPI_Type_indexed(items, lengths, displs, basic, type);
}

void layout_make(struct layout *layout, MPI_Datatype basic, int derived, uint64_t *sequence)
{
	static const int divisors[] = { 1, 2, 3, 4, 6 };
	MPI_Aint lb, extent, basic_lb, basic_extent;
	MPI_Datatype inner;

	layout->items = 1;
	layout->type = basic;
	MPI_Type_get_extent(basic, &basic_lb, &basic_extent);
	if (derived) {
		layout->items = divisors[random_next(sequence, 5)];
		switch (random_next(sequence, 5)) {
		case 0:
			MPI_Type_contiguous(layout->items, basic, &layout->type);
			break;
		case 1:
			MPI_Type_vector(layout->items, 1, 2, basic, &layout->type);
			break;
		case 2:
			make_reversed(&layout->type, basic, layout->items);
			break;
		case 3:
			MPI_Type_contiguous(layout->items, basic, &inner);
			MPI_Type_create_resized(inner, 0, (layout->items + 3) * basic_extent,
						&layout->type);
			MPI_Type_free(&inner);
			break;
		case 4:
			MPI_Type_contiguous(layout->items, basic, &inner);
			MPI_Type_create_resized(inner, -2 * basic_extent,
						(layout->items + 5) * basic_extent, &layout->type);
			MPI_Type_free(&inner);
			break;
		}
		MPI_Type_commit(&layout->type);
	}
	MPI_Type_get_extent(layout->type, &lb, &layout->extent);
	MPI_Type_get_true_extent(layout->type, &layout->lb, &extent);
	layout->end = layout->lb + extent;
	/* A vector's last element has no gap, so the next one begins in the extent's last gap. */
	if (layout->extent < layout->end - layout->lb)
		die("layout: extent %ld below the true one", (long)layout->extent);
}

void layout_free(struct layout *layout)
{
	int integers, addresses, types, combiner;

	MPI_Type_get_envelope(layout->type, &integers, &addresses, &types, &combiner);
	if (combiner != MPI_COMBINER_NAMED)
		MPI_Type_free(&layout->type);
}

/* Places of the blocks: in their order, or shuffled; with gaps, of a page or more now and then. */
static void place(struct area *area, int scattered, uint64_t *sequence)
{
	int order[64], at = 0, i, other, swap;

	for (i = 0; i < area->blocks; i++)
		order[i] = i;
	if (scattered && !random_next(sequence, 3))
		for (i = area->blocks - 1; i > 0; i--) {
			other = random_next(sequence, i + 1);
			swap = order[i];
			order[i] = order[other];
			order[other] = swap;
		}
	if (scattered)
		at = random_next(sequence, 5);
	for (i = 0; i < area->blocks; i++) {
		area->displs[order[i]] = at;
		at += area->counts[order[i]];
		if (scattered && !random_next(sequence, 2))
			at += random_next(sequence, random_next(sequence, 4) ? 8 : 3000);
	}
}

char *memory_map(size_t size)
{
	const char *folder = getenv("MAPPED");
	char path[200], *memory;
	int fd;

	if (!folder)
		return NULL;
	snprintf(path, sizeof(path), "%s/XXXXXX", folder);
	fd = mkstemp(path);
	if (fd < 0 || ftruncate(fd, size))
		die("%s: %s", path, strerror(errno));
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		die("%s: mmap: %s", path, strerror(errno));
	unlink(path);
	close(fd);
	return memory;
}

void area_make(struct area *area, MPI_Datatype basic, int derived, int blocks, const int *items,
	       int scattered, uint64_t *sequence)
{
	MPI_Aint low = 0, high = 0, from, to;
	unsigned int shift = random_next(sequence, 4) ? 0 : random_next(sequence, 3000);
	int i;

	layout_make(&area->layout, basic, derived, sequence);
	area->blocks = blocks;
	area->counts = calloc(blocks, sizeof(int));
	area->displs = calloc(blocks, sizeof(int));
	for (i = 0; i < blocks; i++)
		area->counts[i] = items[i] / area->layout.items;
	place(area, scattered, sequence);
	for (i = 0; i < blocks; i++) {
		if (!area->counts[i])
			continue;
		from = area->displs[i] * area->layout.extent + area->layout.lb;
		to = (area->displs[i] + area->counts[i] - 1) * area->layout.extent +
			area->layout.end;
		low = from < low ? from : low;
		high = to > high ? to : high;
	}
	/* Alignment to 16 bytes, unless the buffer is shifted. */
	low = low & ~15L;
	area->size = high - low + shift + 64;
	area->memory = getenv("MAPPED") && random_next(sequence, 2) ? memory_map(area->size) : NULL;
	area->mapped = !!area->memory;
	if (!area->mapped)
		area->memory = malloc(area->size);
	area->expected = malloc(area->size);
	area->base = area->memory + shift - low;
	for (i = 0; i < (int)area->size; i++)
		area->memory[i] = random_next(sequence, 256);
	memcpy(area->expected, area->memory, area->size);
}

void area_free(struct area *area)
{
	layout_free(&area->layout);
	free(area->counts);
	free(area->displs);
	if (area->mapped)
		munmap(area->memory, area->size);
	else
		free(area->memory);
	free(area->expected);
}

static void put(const struct area *area, char *base, int block, const void *packed)
{
	int position = 0, size;

	MPI_Type_size(area->layout.type, &size);
	MPI_Unpack(packed, size * area->counts[block], &position,
		   base + area->displs[block] * area->layout.extent, area->counts[block],
		   area->layout.type, MPI_COMM_SELF);
}

void area_set(struct area *area, int block, const void *packed)
{
	put(area, area->base, block, packed);
}

void area_expect(struct area *area, int block, const void *packed)
{
	put(area, area->expected + (area->base - area->memory), block, packed);
}

void area_begin(struct area *area)
{
	memcpy(area->expected, area->memory, area->size);
}

int area_check(const struct area *area)
{
	size_t first = 0, last = 0, wrong = 0, i;

	if (!memcmp(area->memory, area->expected, area->size))
		return 0;
	for (i = 0; i < area->size; i++) {
		if (area->memory[i] == area->expected[i])
			continue;
		first = wrong++ ? first : i;
		last = i;
	}
	printf("bytes %td to %td of %zu from the address, %zu of them; %d, expected %d\n",
	       area->memory + first - area->base, area->memory + last - area->base, area->size,
	       wrong, area->memory[first], area->expected[first]);
	return 1;
}
