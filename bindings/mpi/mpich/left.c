// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Functions that are MPICH's own, and wait for other ranks.
 *
 * The other ranks may come there when collectives are complete that wait here for their turn
 * (common/queue.h).  A thread starts these meanwhile: MPICH calls no other function while it waits.
 */
#include "common/progress.h"
#include "mpich.h"

/* The body of a function, with its arguments. */
#define LEFT(Name, ...)										\
{												\
	struct cm_starter starter;								\
	int err;										\
												\
	library_load();										\
	cm_starter_begin(&starter);								\
	err = mpich.Name(__VA_ARGS__);								\
	cm_starter_end(&starter);								\
	return err;										\
}												\
												\
REPLACE_TWICE(Name)

/* ---- collectives, and a message ---- */

/* @C: end of the function's name; @N, @D: types of its counts and displacements. */
#define WITH_COUNTS(C, N, D)									\
												\
EXPORT int MPI_Alltoallw##C(const void *send, const N send_counts[], const D send_displs[],	\
			    const MPI_Datatype send_types[], void *recv,			\
			    const N recv_counts[], const D recv_displs[],			\
			    const MPI_Datatype recv_types[], MPI_Comm comm)			\
LEFT(Alltoallw##C, send, send_counts, send_displs, send_types, recv, recv_counts, recv_displs,	\
	recv_types, comm)									\
												\
EXPORT int MPI_Neighbor_allgather##C(const void *send, N send_count, MPI_Datatype send_type,	\
				     void *recv, N recv_count, MPI_Datatype recv_type,		\
				     MPI_Comm comm)						\
LEFT(Neighbor_allgather##C, send, send_count, send_type, recv, recv_count, recv_type, comm)	\
												\
EXPORT int MPI_Neighbor_allgatherv##C(const void *send, N send_count, MPI_Datatype send_type,	\
				      void *recv, const N recv_counts[],			\
				      const D recv_displs[], MPI_Datatype recv_type,		\
				      MPI_Comm comm)						\
LEFT(Neighbor_allgatherv##C, send, send_count, send_type, recv, recv_counts, recv_displs,	\
	recv_type, comm)									\
												\
EXPORT int MPI_Neighbor_alltoall##C(const void *send, N send_count, MPI_Datatype send_type,	\
				    void *recv, N recv_count, MPI_Datatype recv_type,		\
				    MPI_Comm comm)						\
LEFT(Neighbor_alltoall##C, send, send_count, send_type, recv, recv_count, recv_type, comm)	\
												\
EXPORT int MPI_Neighbor_alltoallv##C(const void *send, const N send_counts[],			\
				     const D send_displs[], MPI_Datatype send_type,		\
				     void *recv, const N recv_counts[],			\
				     const D recv_displs[], MPI_Datatype recv_type,		\
				     MPI_Comm comm)						\
LEFT(Neighbor_alltoallv##C, send, send_counts, send_displs, send_type, recv, recv_counts,	\
	recv_displs, recv_type, comm)								\
												\
EXPORT int MPI_Neighbor_alltoallw##C(const void *send, const N send_counts[],			\
				     const MPI_Aint send_displs[],				\
				     const MPI_Datatype send_types[], void *recv,		\
				     const N recv_counts[], const MPI_Aint recv_displs[],	\
				     const MPI_Datatype recv_types[], MPI_Comm comm)		\
LEFT(Neighbor_alltoallw##C, send, send_counts, send_displs, send_types, recv, recv_counts,	\
	recv_displs, recv_types, comm)								\
												\
EXPORT int MPI_Sendrecv_replace##C(void *buf, N count, MPI_Datatype type, int dest,		\
				   int send_tag, int source, int recv_tag, MPI_Comm comm,	\
				   MPI_Status *status)						\
LEFT(Sendrecv_replace##C, buf, count, type, dest, send_tag, source, recv_tag, comm, status)

WITH_COUNTS(, int, int)
WITH_COUNTS(_c, MPI_Count, MPI_Aint)

/* ---- communicators ---- */

EXPORT int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *new)
LEFT(Comm_dup, comm, new)

EXPORT int MPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *new)
LEFT(Comm_dup_with_info, comm, info, new)

EXPORT int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm *new)
LEFT(Comm_create, comm, group, new)

EXPORT int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *new)
LEFT(Comm_create_group, comm, group, tag, new)

EXPORT int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *new)
LEFT(Comm_split, comm, color, key, new)

EXPORT int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *new)
LEFT(Comm_split_type, comm, type, key, info, new)

EXPORT int MPI_Comm_disconnect(MPI_Comm *comm)
LEFT(Comm_disconnect, comm)

EXPORT int MPI_Intercomm_create(MPI_Comm comm, int leader, MPI_Comm peers, int other, int tag,
				MPI_Comm *new)
LEFT(Intercomm_create, comm, leader, peers, other, tag, new)

EXPORT int MPI_Intercomm_merge(MPI_Comm inter, int high, MPI_Comm *new)
LEFT(Intercomm_merge, inter, high, new)

EXPORT int MPI_Cart_create(MPI_Comm comm, int ndims, const int dims[], const int periods[],
			   int reorder, MPI_Comm *new)
LEFT(Cart_create, comm, ndims, dims, periods, reorder, new)

EXPORT int MPI_Graph_create(MPI_Comm comm, int nodes, const int indices[], const int edges[],
			    int reorder, MPI_Comm *new)
LEFT(Graph_create, comm, nodes, indices, edges, reorder, new)

EXPORT int MPI_Dist_graph_create(MPI_Comm comm, int n, const int nodes[], const int degrees[],
				 const int targets[], const int weights[], MPI_Info info,
				 int reorder, MPI_Comm *new)
LEFT(Dist_graph_create, comm, n, nodes, degrees, targets, weights, info, reorder, new)

EXPORT int MPI_Dist_graph_create_adjacent(MPI_Comm comm, int n, const int from[],
					  const int from_weights[], int m, const int to[],
					  const int to_weights[], MPI_Info info, int reorder,
					  MPI_Comm *new)
LEFT(Dist_graph_create_adjacent, comm, n, from, from_weights, m, to, to_weights, info, reorder, new)
