// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Datatypes of MPICH.
 *
 * MPI does not tell whether the elements of a type are in memory as they are when packed.  So the
 * constructors of derived types are followed; the answer is an attribute of the type.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include <mpi.h>

#include "common/datatype.h"
#include "mpich.h"

/* Blocks of a type that are followed; a type of more is packed. */
#define BLOCKS_MAX	64

size_t cm_type_size(MPI_Datatype type)
{
	MPI_Count size = 0;

	PMPI_Type_size_x(type, &size);
	return size;
}

ptrdiff_t cm_type_extent(MPI_Datatype type)
{
	MPI_Count lb = 0, extent = 0;

	PMPI_Type_get_extent_x(type, &lb, &extent);
	return extent;
}

bool type_valid(MPI_Datatype type)
{
	int size;

	/* Of the functions that ask for a type, this one has a communicator. */
	return PMPI_Pack_size(0, type, communicator_own(), &size) == MPI_SUCCESS;
}

static bool is_predefined(MPI_Datatype type)
{
	MPI_Count integers, addresses, large, types;
	int combiner;

	PMPI_Type_get_envelope_c(type, &integers, &addresses, &large, &types, &combiner);
	return combiner == MPI_COMBINER_NAMED;
}

/* ---- order of a type's bytes ---- */

/**
 * struct run - bytes that follow each other, in the order of the type
 * @any: there is a byte
 * @end: behind the last byte
 * @blocks: number of blocks so far
 */
struct run {
	bool any;
	MPI_Count end;
	int blocks;
};

static bool follow(struct run *run, MPI_Datatype type, MPI_Count at, MPI_Count count);

/* Add @bytes at @at.  Return: false if they do not follow. */
static bool add_bytes(struct run *run, MPI_Count at, MPI_Count bytes)
{
	if (!bytes)
		return true;
	if ((run->any && run->end != at) || ++run->blocks > BLOCKS_MAX)
		return false;
	run->any = true;
	run->end = at + bytes;
	return true;
}

/**
 * struct contents - arguments of the constructor of a type
 * @combiner: the constructor
 * @count: number of @types
 * @large: number of arguments that are large counts
 * @integers: array of integers
 * @addresses: array of addresses
 * @large_counts: array of large counts
 * @types: array of types, with references
 */
struct contents {
	int combiner;
	MPI_Count count;
	MPI_Count large;
	int *integers;
	MPI_Aint *addresses;
	MPI_Count *large_counts;
	MPI_Datatype *types;
};

static bool contents_get(struct contents *contents, MPI_Datatype type)
{
	MPI_Count integers, addresses, types;

	*contents = (struct contents){ 0 };
	PMPI_Type_get_envelope_c(type, &integers, &addresses, &contents->large, &types,
				 &contents->combiner);
	contents->integers = calloc(integers + 1, sizeof(*contents->integers));
	contents->addresses = calloc(addresses + 1, sizeof(*contents->addresses));
	contents->large_counts = calloc(contents->large + 1, sizeof(*contents->large_counts));
	contents->types = calloc(types + 1, sizeof(*contents->types));
	if (!contents->integers || !contents->addresses || !contents->large_counts ||
	    !contents->types ||
	    PMPI_Type_get_contents_c(type, integers, addresses, contents->large, types,
				     contents->integers, contents->addresses,
				     contents->large_counts, contents->types) != MPI_SUCCESS)
		return false;
	contents->count = types;
	return types;
}

static void contents_put(struct contents *contents)
{
	MPI_Count i;

	for (i = 0; i < contents->count; i++)
		if (!is_predefined(contents->types[i]))
			PMPI_Type_free(&contents->types[i]);
	free(contents->integers);
	free(contents->addresses);
	free(contents->large_counts);
	free(contents->types);
}

/* @count blocks of @length elements of a type, with equal distances in bytes. */
static bool follow_vector(struct run *run, MPI_Datatype type, MPI_Count at, int count, int length,
			  MPI_Count distance)
{
	int i;

	if (distance == (MPI_Count)length * cm_type_extent(type))
		return follow(run, type, at, (MPI_Count)count * length);
	for (i = 0; i < count; i++)
		if (!follow(run, type, at + i * distance, length))
			return false;
	return true;
}

/* One element of a type of @size bytes, by its constructor. */
static bool follow_contents(struct run *run, const struct contents *contents, MPI_Count size)
{
	const int *integers = contents->integers;
	const MPI_Aint *addresses = contents->addresses;
	const MPI_Datatype *types = contents->types;
	const MPI_Count extent = cm_type_extent(types[0]);
	int i;

	if (contents->combiner == MPI_COMBINER_CONTIGUOUS)
		return follow(run, types[0], 0, size / cm_type_size(types[0]));
	if (contents->large)
		return false;
	switch (contents->combiner) {
	case MPI_COMBINER_DUP:
	case MPI_COMBINER_RESIZED:
		return follow(run, types[0], 0, 1);
	case MPI_COMBINER_VECTOR:
		return follow_vector(run, types[0], 0, integers[0], integers[1],
				     integers[2] * extent);
	case MPI_COMBINER_HVECTOR:
		return follow_vector(run, types[0], 0, integers[0], integers[1], addresses[0]);
	case MPI_COMBINER_INDEXED:
		for (i = 1; i <= integers[0]; i++)
			if (!follow(run, types[0], integers[integers[0] + i] * extent,
				    integers[i]))
				return false;
		return true;
	case MPI_COMBINER_HINDEXED:
		for (i = 0; i < integers[0]; i++)
			if (!follow(run, types[0], addresses[i], integers[1 + i]))
				return false;
		return true;
	case MPI_COMBINER_INDEXED_BLOCK:
		for (i = 0; i < integers[0]; i++)
			if (!follow(run, types[0], integers[2 + i] * extent, integers[1]))
				return false;
		return true;
	case MPI_COMBINER_STRUCT:
		for (i = 0; i < integers[0]; i++)
			if (!follow(run, types[i], addresses[i], integers[1 + i]))
				return false;
		return true;
	default:
		return false;
	}
}

/* Add @count elements of a type.  Return: false if a byte does not follow the one before. */
static bool follow(struct run *run, MPI_Datatype type, MPI_Count at, MPI_Count count)
{
	const MPI_Count size = cm_type_size(type), extent = cm_type_extent(type);
	struct run element = { .blocks = run->blocks };
	MPI_Count lb, true_extent;
	struct contents contents;
	bool dense;

	if (!count || !size)
		return true;
	PMPI_Type_get_true_extent_x(type, &lb, &true_extent);
	if (true_extent != size || (count > 1 && extent != size))
		return false;
	if (!is_predefined(type)) {
		dense = contents_get(&contents, type) && follow_contents(&element, &contents, size);
		contents_put(&contents);
		run->blocks = element.blocks;
		if (!dense)
			return false;
	}
	return add_bytes(run, at + lb, count * size);
}

static int keyval = MPI_KEYVAL_INVALID;

static void make_keyval(void)
{
	PMPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &keyval, NULL);
}

/* Is one element of a derived type dense? */
static bool derived_dense(MPI_Datatype type)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct run run = { 0 };
	void *attribute;
	bool dense;
	int found;

	pthread_once(&once, make_keyval);
	PMPI_Type_get_attr(type, keyval, &attribute, &found);
	if (found)
		return attribute;
	dense = follow(&run, type, 0, 1);
	PMPI_Type_set_attr(type, keyval, (void *)(uintptr_t)dense);
	return dense;
}

bool cm_type_dense(MPI_Datatype type, size_t count, ptrdiff_t *offset)
{
	const MPI_Count size = cm_type_size(type);
	MPI_Count lb, true_extent;

	PMPI_Type_get_true_extent_x(type, &lb, &true_extent);
	*offset = lb;
	if (!size || !count)
		return true;
	if (true_extent != size || (count > 1 && cm_type_extent(type) != size))
		return false;
	return is_predefined(type) || derived_dense(type);
}

/* ---- packing ---- */

/**
 * struct elements - elements of a buffer
 * @addr: its address
 * @count: number of elements
 * @type: their type
 * @made: @type was made for them
 */
struct elements {
	void *addr;
	MPI_Count count;
	MPI_Datatype type;
	bool made;
};

/*
 * MPICH neither packs nor unpacks at MPI_BOTTOM: describe the same elements from their first byte
 * on.
 */
static int elements_get(struct elements *elements, void *addr, size_t count, MPI_Datatype type)
{
	MPI_Count lb, extent, displacement;

	*elements = (struct elements){ addr, count, type, false };
	if (addr != MPI_BOTTOM)
		return 0;
	PMPI_Type_get_true_extent_x(type, &lb, &extent);
	displacement = -lb;
	if (PMPI_Type_create_hindexed_c(1, &elements->count, &displacement, type,
					&elements->type) != MPI_SUCCESS)
		return -ENOMEM;
	PMPI_Type_commit(&elements->type);
	elements->addr = (char *)addr + lb;
	elements->count = 1;
	elements->made = true;
	return 0;
}

static void elements_put(struct elements *elements)
{
	if (elements->made)
		PMPI_Type_free(&elements->type);
}

static int pack(struct elements *elements, void *packed, MPI_Count bytes)
{
	MPI_Count at = 0;

	return PMPI_Pack_c(elements->addr, elements->count, elements->type, packed, bytes, &at,
			   communicator_own()) == MPI_SUCCESS ? 0 : -EINVAL;
}

static int unpack(struct elements *elements, void *packed, MPI_Count bytes)
{
	MPI_Count at = 0;

	return PMPI_Unpack_c(packed, bytes, &at, elements->addr, elements->count, elements->type,
			     communicator_own()) == MPI_SUCCESS ? 0 : -EINVAL;
}

static int convert(void *addr, size_t count, MPI_Datatype type, void *packed,
		   int (*way)(struct elements *elements, void *packed, MPI_Count bytes))
{
	const MPI_Count bytes = count * cm_type_size(type);
	struct elements elements;
	int err;

	if (!bytes)
		return 0;
	err = elements_get(&elements, addr, count, type);
	if (err)
		return err;
	err = way(&elements, packed, bytes);
	elements_put(&elements);
	return err;
}

int cm_type_pack(const void *from, size_t count, MPI_Datatype type, void *to)
{
	return convert((void *)from, count, type, to, pack);
}

int cm_type_unpack(const void *from, void *to, size_t count, MPI_Datatype type)
{
	return convert(to, count, type, (void *)from, unpack);
}

/* A type of one element keeps that, and has none of its attributes. */
MPI_Datatype cm_type_get(MPI_Datatype type)
{
	MPI_Datatype kept;

	if (is_predefined(type))
		return type;
	PMPI_Type_contiguous(1, type, &kept);
	PMPI_Type_commit(&kept);
	return kept;
}

void cm_type_put(MPI_Datatype type)
{
	if (!is_predefined(type))
		PMPI_Type_free(&type);
}
