/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Stands in for a header of Open MPI that its development package does not have, but that others
 * of its headers include.  They use the macro in functions that nothing here calls.
 */
#ifndef OMPI_FORTRAN_BASE_FINT_2_INT_H
#define OMPI_FORTRAN_BASE_FINT_2_INT_H

#define OMPI_INT_2_FINT(number)	(number)

#endif /* OMPI_FORTRAN_BASE_FINT_2_INT_H */
