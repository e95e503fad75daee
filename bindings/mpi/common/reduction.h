/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Predefined types and operators of MPI as those of the kernel. */
#ifndef CM_REDUCTION_H
#define CM_REDUCTION_H

#include <stdbool.h>
#include <stddef.h>

#include <mpi.h>

/**
 * struct cm_reduction - a reduction of the kernel
 * @type: enum collective_type
 * @reduction: enum collective_reduction
 * @size: size of an element of @type in bytes
 * @per_item: number of these elements in one of MPI's
 */
struct cm_reduction {
	unsigned char type;
	unsigned char reduction;
	unsigned int size;
	unsigned int per_item;
};

/**
 * cm_reduction_find - find the kernel's reduction
 * @type: type of MPI
 * @op: operator of MPI
 * @reduction: filled in if there is one
 *
 * Return: true if the kernel has it.  The same on every rank, because MPI wants the same type
 * and operator there.
 */
bool cm_reduction_find(MPI_Datatype type, MPI_Op op, struct cm_reduction *reduction);

#endif /* CM_REDUCTION_H */
