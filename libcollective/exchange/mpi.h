/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The MPI library of the process, if the program has one. */
#ifndef COLL_EXCHANGE_MPI_H
#define COLL_EXCHANGE_MPI_H

#include <stdbool.h>

/*
 * Is an MPI library loaded, initialized or not?  One that is linked statically is seen only if the
 * program exports its functions.
 */
bool mpi_is_loaded(void);

/* Has it been initialized?  Stays true after MPI_Finalize(). */
bool mpi_is_initialized(void);

#endif /* COLL_EXCHANGE_MPI_H */
