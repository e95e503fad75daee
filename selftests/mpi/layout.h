/* SPDX-License-Identifier: GPL-2.0-only */
/* Buffers of random types and places, and what must be in them. */
#ifndef MPI_TEST_LAYOUT_H
#define MPI_TEST_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include <mpi.h>

/* Every derived type has a number of basic elements that divides this. */
#define ITEMS	12

/* Print and end the program, on all ranks. */
void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/** random_next - next number below @limit of a sequence */
unsigned int random_next(uint64_t *sequence, unsigned int limit);

/** struct layout - a type that has several basic elements */
struct layout {
	MPI_Datatype type;
	int items;		/* basic elements of an element */
	MPI_Aint extent;
	MPI_Aint lb;		/* of the first byte */
	MPI_Aint end;		/* behind the last byte */
};

/** layout_make - make a type of basic elements; @derived: 0: the basic type itself */
void layout_make(struct layout *layout, MPI_Datatype basic, int derived, uint64_t *sequence);
void layout_free(struct layout *layout);

/**
 * struct area - memory of a buffer, and the same memory as it has to be in the end
 * @layout: type of its elements
 * @blocks: number of blocks
 * @counts: elements of each block
 * @displs: place of each block, in extents
 * @memory: the memory
 * @mapped: it is a shared mapping of a file
 * @expected: the same memory in the end
 * @size: its size in bytes
 * @base: the address that MPI gets
 */
struct area {
	struct layout layout;
	int blocks;
	int *counts;
	int *displs;
	char *memory;
	int mapped;
	char *expected;
	size_t size;
	char *base;
};

/**
 * memory_map - memory in a shared mapping of a file
 * @size: size in bytes
 *
 * The file is in the folder MAPPED of the environment, where the kernel may be unable to pin it.
 *
 * Return: the memory, for munmap(); NULL: there is no such folder.
 */
char *memory_map(size_t size);

/**
 * area_make - make a buffer; with memory_map(), where that can be done, now and then
 * @area: filled in
 * @basic: basic type
 * @derived: 0: elements are basic
 * @blocks: number of blocks
 * @items: basic elements of each block
 * @scattered: blocks may be anywhere
 * @sequence: choices of this rank
 */
void area_make(struct area *area, MPI_Datatype basic, int derived, int blocks, const int *items,
	       int scattered, uint64_t *sequence);
void area_free(struct area *area);

/** area_set - put packed bytes into a block of the memory, before the call */
void area_set(struct area *area, int block, const void *packed);

/** area_expect - a block must have these packed bytes in the end */
void area_expect(struct area *area, int block, const void *packed);

/** area_begin - what is in the memory now is expected to stay, unless area_expect() says else */
void area_begin(struct area *area);

/** area_check - is the memory as expected? */
int area_check(const struct area *area);

#endif /* MPI_TEST_LAYOUT_H */
