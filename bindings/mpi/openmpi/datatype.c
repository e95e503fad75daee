// SPDX-License-Identifier: LGPL-2.1-or-later
/* Datatypes of Open MPI. */
#include <errno.h>
#include <limits.h>

#include "compat.h"

#include "common/datatype.h"

size_t cm_type_size(MPI_Datatype type)
{
	return type->super.size;
}

ptrdiff_t cm_type_extent(MPI_Datatype type)
{
	return type->super.ub - type->super.lb;
}

bool cm_type_dense(MPI_Datatype type, size_t count, ptrdiff_t *offset)
{
	*offset = type->super.true_lb;
	return ompi_datatype_is_contiguous_memory_layout(type, count < 2 ? count : 2);
}

/* Run a convertor over all its data. */
static int convert(opal_convertor_t *convertor, char *packed, size_t bytes, bool pack)
{
	struct iovec piece;
	unsigned int pieces;
	size_t done, at = 0;
	int finished = !bytes;

	while (!finished) {
		piece.iov_base = packed + at;
		/* The convertor counts some things in 32 bits. */
		piece.iov_len = bytes - at < 1U << 30 ? bytes - at : 1U << 30;
		pieces = 1;
		done = piece.iov_len;
		finished = pack ? opal_convertor_pack(convertor, &piece, &pieces, &done) :
				  opal_convertor_unpack(convertor, &piece, &pieces, &done);
		if (finished < 0 || (!finished && !done))
			return -EINVAL;
		at += done;
	}
	return at == bytes ? 0 : -EINVAL;
}

int cm_type_pack(const void *from, size_t count, MPI_Datatype type, void *to)
{
	opal_convertor_t convertor;
	int err;

	OBJ_CONSTRUCT(&convertor, opal_convertor_t);
	err = opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor, &type->super,
						       count, from, 0, &convertor) ?
	      -EINVAL : convert(&convertor, to, count * type->super.size, true);
	OBJ_DESTRUCT(&convertor);
	return err;
}

int cm_type_unpack(const void *from, void *to, size_t count, MPI_Datatype type)
{
	opal_convertor_t convertor;
	int err;

	OBJ_CONSTRUCT(&convertor, opal_convertor_t);
	err = opal_convertor_copy_and_prepare_for_recv(ompi_mpi_local_convertor, &type->super,
						       count, to, 0, &convertor) ?
	      -EINVAL : convert(&convertor, (char *)from, count * type->super.size, false);
	OBJ_DESTRUCT(&convertor);
	return err;
}

MPI_Datatype cm_type_get(MPI_Datatype type)
{
	if (!ompi_datatype_is_predefined(type))
		OBJ_RETAIN(type);
	return type;
}

void cm_type_put(MPI_Datatype type)
{
	if (!ompi_datatype_is_predefined(type))
		OBJ_RELEASE(type);
}
