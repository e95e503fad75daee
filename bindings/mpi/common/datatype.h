/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Datatypes of an MPI library; each library's binding implements these functions. */
#ifndef CM_DATATYPE_H
#define CM_DATATYPE_H

#include <stdbool.h>
#include <stddef.h>

#include <mpi.h>

/** cm_type_size - number of bytes of the packed signature of one element */
size_t cm_type_size(MPI_Datatype type);

/** cm_type_extent - distance between two elements in bytes */
ptrdiff_t cm_type_extent(MPI_Datatype type);

/**
 * cm_type_dense - are elements in memory as they are when packed?
 * @type: type of the elements
 * @count: number of elements that follow each other
 * @offset: if so, set to the distance of the first byte from the address of the buffer
 */
bool cm_type_dense(MPI_Datatype type, size_t count, ptrdiff_t *offset);

/**
 * cm_type_pack - copy the bytes of elements one after the other
 * @from: address of the elements
 * @count: number of elements
 * @type: type of the elements
 * @to: room for their packed bytes
 *
 * Return: 0 or a negative errno.
 */
int cm_type_pack(const void *from, size_t count, MPI_Datatype type, void *to);

/** cm_type_unpack - the reverse of cm_type_pack() */
int cm_type_unpack(const void *from, void *to, size_t count, MPI_Datatype type);

/**
 * cm_type_get - keep a type, though the program frees it
 * @type: type of the program
 *
 * Return: the same or an equal type, until cm_type_put().
 */
MPI_Datatype cm_type_get(MPI_Datatype type);

/** cm_type_put - undo cm_type_get() */
void cm_type_put(MPI_Datatype type);

#endif /* CM_DATATYPE_H */
