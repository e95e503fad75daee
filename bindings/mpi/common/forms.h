/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Parameters of MPI's functions, which the forms of each have in common, and the same names as
 * arguments.
 *
 * COUNT is the type of a count, COUNTS and DISPLS are those of arrays of counts and displacements.
 */
#ifndef CM_FORMS_H
#define CM_FORMS_H

#include <mpi.h>

/* Types of counts: of most functions, and of those whose name ends in _c. */
#define CM_TYPES_INT		int, const int *, const int *
#define CM_TYPES_LARGE	MPI_Count, const MPI_Count *, const MPI_Aint *
/* Types that take both. */
#define CM_TYPES_ANY		size_t, const void *, const void *

/* Parameters of the function NAME, of types as above; a comma follows each. */
#define CM_PARAMS(NAME, ...)	CM_##NAME##_PARAMS(__VA_ARGS__)

#define CM_SEND_PARAMS(COUNT)			const void *send, COUNT send_count, \
						MPI_Datatype send_type
#define CM_SENDS_PARAMS(COUNTS, DISPLS)		const void *send, COUNTS send_counts, \
						DISPLS send_displs, MPI_Datatype send_type
#define CM_RECV_PARAMS(COUNT)			void *recv, COUNT recv_count, \
						MPI_Datatype recv_type
#define CM_RECVS_PARAMS(COUNTS, DISPLS)		void *recv, COUNTS recv_counts, \
						DISPLS recv_displs, MPI_Datatype recv_type
#define CM_VECTOR_PARAMS(COUNT)			const void *send, void *recv, COUNT count, \
						MPI_Datatype type, MPI_Op op
#define CM_BLOCKS_PARAMS(COUNTS)		const void *send, void *recv, COUNTS counts, \
						MPI_Datatype type, MPI_Op op

#define CM_ALLGATHER_PARAMS(C, CS, DS)		CM_SEND_PARAMS(C), CM_RECV_PARAMS(C),
#define CM_ALLGATHERV_PARAMS(C, CS, DS)		CM_SEND_PARAMS(C), CM_RECVS_PARAMS(CS, DS),
#define CM_ALLREDUCE_PARAMS(C, CS, DS)		CM_VECTOR_PARAMS(C),
#define CM_ALLTOALL_PARAMS(C, CS, DS)		CM_SEND_PARAMS(C), CM_RECV_PARAMS(C),
#define CM_ALLTOALLV_PARAMS(C, CS, DS)		CM_SENDS_PARAMS(CS, DS), CM_RECVS_PARAMS(CS, DS),
#define CM_BARRIER_PARAMS(C, CS, DS)
#define CM_BCAST_PARAMS(C, CS, DS)		CM_RECV_PARAMS(C), int root,
#define CM_EXSCAN_PARAMS(C, CS, DS)		CM_VECTOR_PARAMS(C),
#define CM_GATHER_PARAMS(C, CS, DS)		CM_SEND_PARAMS(C), CM_RECV_PARAMS(C), int root,
#define CM_GATHERV_PARAMS(C, CS, DS)		CM_SEND_PARAMS(C), CM_RECVS_PARAMS(CS, DS), \
						int root,
#define CM_REDUCE_PARAMS(C, CS, DS)		CM_VECTOR_PARAMS(C), int root,
#define CM_REDUCE_SCATTER_PARAMS(C, CS, DS)	CM_BLOCKS_PARAMS(CS),
#define CM_REDUCE_SCATTER_BLOCK_PARAMS(C, CS, DS)	CM_VECTOR_PARAMS(C),
#define CM_SCAN_PARAMS(C, CS, DS)		CM_VECTOR_PARAMS(C),
#define CM_SCATTER_PARAMS(C, CS, DS)		CM_SEND_PARAMS(C), CM_RECV_PARAMS(C), int root,
#define CM_SCATTERV_PARAMS(C, CS, DS)		CM_SENDS_PARAMS(CS, DS), CM_RECV_PARAMS(C), \
						int root,

/* Arguments of the function NAME; a comma follows each. */
#define CM_ARGS(NAME)	CM_##NAME##_ARGS

#define CM_SEND_ARGS	send, send_count, send_type
#define CM_SENDS_ARGS	send, send_counts, send_displs, send_type
#define CM_RECV_ARGS	recv, recv_count, recv_type
#define CM_RECVS_ARGS	recv, recv_counts, recv_displs, recv_type
#define CM_VECTOR_ARGS	send, recv, count, type, op
#define CM_BLOCKS_ARGS	send, recv, counts, type, op

#define CM_ALLGATHER_ARGS		CM_SEND_ARGS, CM_RECV_ARGS,
#define CM_ALLGATHERV_ARGS		CM_SEND_ARGS, CM_RECVS_ARGS,
#define CM_ALLREDUCE_ARGS		CM_VECTOR_ARGS,
#define CM_ALLTOALL_ARGS		CM_SEND_ARGS, CM_RECV_ARGS,
#define CM_ALLTOALLV_ARGS		CM_SENDS_ARGS, CM_RECVS_ARGS,
#define CM_BARRIER_ARGS
#define CM_BCAST_ARGS			CM_RECV_ARGS, root,
#define CM_EXSCAN_ARGS			CM_VECTOR_ARGS,
#define CM_GATHER_ARGS			CM_SEND_ARGS, CM_RECV_ARGS, root,
#define CM_GATHERV_ARGS			CM_SEND_ARGS, CM_RECVS_ARGS, root,
#define CM_REDUCE_ARGS			CM_VECTOR_ARGS, root,
#define CM_REDUCE_SCATTER_ARGS		CM_BLOCKS_ARGS,
#define CM_REDUCE_SCATTER_BLOCK_ARGS	CM_VECTOR_ARGS,
#define CM_SCAN_ARGS			CM_VECTOR_ARGS,
#define CM_SCATTER_ARGS			CM_SEND_ARGS, CM_RECV_ARGS, root,
#define CM_SCATTERV_ARGS		CM_SENDS_ARGS, CM_RECV_ARGS, root,

#endif /* CM_FORMS_H */
