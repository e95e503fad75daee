// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Predefined types and operators of MPI as those of the kernel.
 *
 * A type is known by its kind and its size, which is asked of MPI: the sizes of Fortran's types
 * depend on how MPI was built.  The table is filled on first use.
 */
#include <pthread.h>
#include <stdint.h>

#include <linux/collective.h>

#include "common/datatype.h"
#include "common/reduction.h"

/* Kinds of types, by the operators that MPI allows for them. */
enum kind {
	SIGNED,
	UNSIGNED,
	FLOATING,
	COMPLEX,	/* a sum is that of the parts */
	LOGICAL,
	BYTES,
	KIND_COUNT
};

#define BIT(n)		(1U << (n))
#define BITWISE		(BIT(COLLECTIVE_BAND) | BIT(COLLECTIVE_BOR) | BIT(COLLECTIVE_BXOR))
#define TRUTH		(BIT(COLLECTIVE_LAND) | BIT(COLLECTIVE_LOR) | BIT(COLLECTIVE_LXOR))
#define ARITHMETIC	(BIT(COLLECTIVE_SUM) | BIT(COLLECTIVE_PROD) | BIT(COLLECTIVE_MIN) | \
			 BIT(COLLECTIVE_MAX))

static const unsigned int kind_reductions[KIND_COUNT] = {
	[SIGNED]	= ARITHMETIC | BITWISE | TRUTH,
	[UNSIGNED]	= ARITHMETIC | BITWISE | TRUTH,
	[FLOATING]	= ARITHMETIC,
	[COMPLEX]	= BIT(COLLECTIVE_SUM),
	[LOGICAL]	= TRUTH,
	[BYTES]		= BITWISE,
};

#define NO_TYPE	0xff

/* Types of integers by the binary logarithm of their size. */
static const unsigned char signed_types[] = {
	COLLECTIVE_INT8, COLLECTIVE_INT16, COLLECTIVE_INT32, COLLECTIVE_INT64,
};

static const unsigned char unsigned_types[] = {
	COLLECTIVE_UINT8, COLLECTIVE_UINT16, COLLECTIVE_UINT32, COLLECTIVE_UINT64,
};

/**
 * struct known_type - type that can be reduced
 * @handle: MPI's type
 * @kind: its kind
 * @type: enum collective_type; NO_TYPE: none
 * @size: size of an element of @type
 * @per_item: number of these elements in one of MPI's
 */
struct known_type {
	MPI_Datatype handle;
	unsigned char kind;
	unsigned char type;
	unsigned char size;
	unsigned char per_item;
};

/* A power of two, several times the number of types. */
#define SLOTS	256

static struct known_type known[SLOTS];
static pthread_once_t known_once = PTHREAD_ONCE_INIT;

static unsigned int slot_of(MPI_Datatype handle)
{
	uintptr_t n = (uintptr_t)handle;

	return ((n >> 6) ^ (n >> 14) ^ n) % SLOTS;
}

static struct known_type *lookup(MPI_Datatype handle)
{
	unsigned int slot = slot_of(handle);

	while (known[slot].per_item && known[slot].handle != handle)
		slot = (slot + 1) % SLOTS;
	return &known[slot];
}

static unsigned char type_of(enum kind kind, size_t size)
{
	unsigned int log = size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : size == 8 ? 3 : 4;

	if (kind == FLOATING || kind == COMPLEX)
		return log == 2 ? COLLECTIVE_FLOAT32 : log == 3 ? COLLECTIVE_FLOAT64 : NO_TYPE;
	if (log == 4)
		return NO_TYPE;
	return kind == SIGNED ? signed_types[log] : unsigned_types[log];
}

static void add(MPI_Datatype handle, enum kind kind)
{
	struct known_type *known_type;
	unsigned int per_item = kind == COMPLEX ? 2 : 1;
	size_t size;

	if (handle == MPI_DATATYPE_NULL)
		return;
	size = cm_type_size(handle);
	known_type = lookup(handle);
	*known_type = (struct known_type){
		.handle = handle,
		.kind = kind,
		.type = type_of(kind, size / per_item),
		.size = size / per_item,
		.per_item = per_item,
	};
}

static void add_c_types(void)
{
	add(MPI_SIGNED_CHAR, SIGNED);
	add(MPI_SHORT, SIGNED);
	add(MPI_INT, SIGNED);
	add(MPI_LONG, SIGNED);
	add(MPI_LONG_LONG, SIGNED);
	add(MPI_INT8_T, SIGNED);
	add(MPI_INT16_T, SIGNED);
	add(MPI_INT32_T, SIGNED);
	add(MPI_INT64_T, SIGNED);
	add(MPI_AINT, SIGNED);
	add(MPI_OFFSET, SIGNED);
	add(MPI_COUNT, SIGNED);
	add(MPI_UNSIGNED_CHAR, UNSIGNED);
	add(MPI_UNSIGNED_SHORT, UNSIGNED);
	add(MPI_UNSIGNED, UNSIGNED);
	add(MPI_UNSIGNED_LONG, UNSIGNED);
	add(MPI_UNSIGNED_LONG_LONG, UNSIGNED);
	add(MPI_UINT8_T, UNSIGNED);
	add(MPI_UINT16_T, UNSIGNED);
	add(MPI_UINT32_T, UNSIGNED);
	add(MPI_UINT64_T, UNSIGNED);
	add(MPI_FLOAT, FLOATING);
	add(MPI_DOUBLE, FLOATING);
	add(MPI_C_FLOAT_COMPLEX, COMPLEX);
	add(MPI_C_DOUBLE_COMPLEX, COMPLEX);
	add(MPI_CXX_FLOAT_COMPLEX, COMPLEX);
	add(MPI_CXX_DOUBLE_COMPLEX, COMPLEX);
	add(MPI_C_BOOL, LOGICAL);
	add(MPI_CXX_BOOL, LOGICAL);
	add(MPI_BYTE, BYTES);
}

static void add_fortran_types(void)
{
	add(MPI_INTEGER, SIGNED);
	add(MPI_INTEGER1, SIGNED);
	add(MPI_INTEGER2, SIGNED);
	add(MPI_INTEGER4, SIGNED);
	add(MPI_INTEGER8, SIGNED);
	add(MPI_REAL, FLOATING);
	add(MPI_REAL4, FLOATING);
	add(MPI_REAL8, FLOATING);
	add(MPI_DOUBLE_PRECISION, FLOATING);
	add(MPI_COMPLEX, COMPLEX);
	add(MPI_COMPLEX8, COMPLEX);
	add(MPI_COMPLEX16, COMPLEX);
	add(MPI_DOUBLE_COMPLEX, COMPLEX);
	add(MPI_LOGICAL, LOGICAL);
}

static void add_all(void)
{
	add_c_types();
	add_fortran_types();
}

static int reduction_of(MPI_Op op)
{
	return op == MPI_SUM ? COLLECTIVE_SUM :
	       op == MPI_PROD ? COLLECTIVE_PROD :
	       op == MPI_MIN ? COLLECTIVE_MIN :
	       op == MPI_MAX ? COLLECTIVE_MAX :
	       op == MPI_BAND ? COLLECTIVE_BAND :
	       op == MPI_BOR ? COLLECTIVE_BOR :
	       op == MPI_BXOR ? COLLECTIVE_BXOR :
	       op == MPI_LAND ? COLLECTIVE_LAND :
	       op == MPI_LOR ? COLLECTIVE_LOR :
	       op == MPI_LXOR ? COLLECTIVE_LXOR : -1;
}

bool cm_reduction_find(MPI_Datatype type, MPI_Op op, struct cm_reduction *reduction)
{
	const struct known_type *known_type;
	int found = reduction_of(op);

	pthread_once(&known_once, add_all);
	known_type = lookup(type);
	if (found < 0 || !known_type->per_item || known_type->type == NO_TYPE ||
	    !(kind_reductions[known_type->kind] & BIT(found)))
		return false;
	*reduction = (struct cm_reduction){
		.type = known_type->type,
		.reduction = found,
		.size = known_type->size,
		.per_item = known_type->per_item,
	};
	return true;
}
