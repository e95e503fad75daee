/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Parameters of Open MPI's functions, which the three forms of each have in common, and the same
 * names as arguments.
 */
#ifndef OMPI_FORMS_H
#define OMPI_FORMS_H

#define SEND_PARAMS	const void *send, int send_count, struct ompi_datatype_t *send_type
#define SEND_ARGS	send, send_count, send_type
#define SENDS_PARAMS	const void *send, const int *send_counts, const int *send_displs, \
			struct ompi_datatype_t *send_type
#define SENDS_ARGS	send, send_counts, send_displs, send_type
#define RECV_PARAMS	void *recv, int recv_count, struct ompi_datatype_t *recv_type
#define RECV_ARGS	recv, recv_count, recv_type
#define RECVS_PARAMS	void *recv, const int *recv_counts, const int *recv_displs, \
			struct ompi_datatype_t *recv_type
#define RECVS_ARGS	recv, recv_counts, recv_displs, recv_type
#define VECTOR_PARAMS	const void *send, void *recv, int count, struct ompi_datatype_t *type, \
			struct ompi_op_t *op
#define VECTOR_ARGS	send, recv, count, type, op
#define BLOCKS_PARAMS	const void *send, void *recv, const int *counts, \
			struct ompi_datatype_t *type, struct ompi_op_t *op
#define BLOCKS_ARGS	send, recv, counts, type, op

#define ALLGATHER_PARAMS		SEND_PARAMS, RECV_PARAMS,
#define ALLGATHER_ARGS			SEND_ARGS, RECV_ARGS,
#define ALLGATHERV_PARAMS		SEND_PARAMS, RECVS_PARAMS,
#define ALLGATHERV_ARGS			SEND_ARGS, RECVS_ARGS,
#define ALLREDUCE_PARAMS		VECTOR_PARAMS,
#define ALLREDUCE_ARGS			VECTOR_ARGS,
#define ALLTOALL_PARAMS			SEND_PARAMS, RECV_PARAMS,
#define ALLTOALL_ARGS			SEND_ARGS, RECV_ARGS,
#define ALLTOALLV_PARAMS		SENDS_PARAMS, RECVS_PARAMS,
#define ALLTOALLV_ARGS			SENDS_ARGS, RECVS_ARGS,
#define BARRIER_PARAMS
#define BARRIER_ARGS
#define BCAST_PARAMS			RECV_PARAMS, int root,
#define BCAST_ARGS			RECV_ARGS, root,
#define EXSCAN_PARAMS			VECTOR_PARAMS,
#define EXSCAN_ARGS			VECTOR_ARGS,
#define GATHER_PARAMS			SEND_PARAMS, RECV_PARAMS, int root,
#define GATHER_ARGS			SEND_ARGS, RECV_ARGS, root,
#define GATHERV_PARAMS			SEND_PARAMS, RECVS_PARAMS, int root,
#define GATHERV_ARGS			SEND_ARGS, RECVS_ARGS, root,
#define REDUCE_PARAMS			VECTOR_PARAMS, int root,
#define REDUCE_ARGS			VECTOR_ARGS, root,
#define REDUCE_SCATTER_PARAMS		BLOCKS_PARAMS,
#define REDUCE_SCATTER_ARGS		BLOCKS_ARGS,
#define REDUCE_SCATTER_BLOCK_PARAMS	VECTOR_PARAMS,
#define REDUCE_SCATTER_BLOCK_ARGS	VECTOR_ARGS,
#define SCAN_PARAMS			VECTOR_PARAMS,
#define SCAN_ARGS			VECTOR_ARGS,
#define SCATTER_PARAMS			SEND_PARAMS, RECV_PARAMS, int root,
#define SCATTER_ARGS			SEND_ARGS, RECV_ARGS, root,
#define SCATTERV_PARAMS			SENDS_PARAMS, RECV_PARAMS, int root,
#define SCATTERV_ARGS			SENDS_ARGS, RECV_ARGS, root,

#endif /* OMPI_FORMS_H */
