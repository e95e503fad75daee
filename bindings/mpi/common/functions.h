/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Functions of MPI that can be taken over, their forms, and why a call is left to MPI. */
#ifndef CM_FUNCTIONS_H
#define CM_FUNCTIONS_H

/* Each function that has counts: name of the constant, name in MPI, the same with a capital. */
#define CM_COUNTED_FUNCTIONS(X)						\
	X(ALLGATHER, allgather, Allgather)				\
	X(ALLGATHERV, allgatherv, Allgatherv)				\
	X(ALLREDUCE, allreduce, Allreduce)				\
	X(ALLTOALL, alltoall, Alltoall)					\
	X(ALLTOALLV, alltoallv, Alltoallv)				\
	X(BCAST, bcast, Bcast)						\
	X(EXSCAN, exscan, Exscan)					\
	X(GATHER, gather, Gather)					\
	X(GATHERV, gatherv, Gatherv)					\
	X(REDUCE, reduce, Reduce)					\
	X(REDUCE_SCATTER, reduce_scatter, Reduce_scatter)		\
	X(REDUCE_SCATTER_BLOCK, reduce_scatter_block, Reduce_scatter_block) \
	X(SCAN, scan, Scan)						\
	X(SCATTER, scatter, Scatter)					\
	X(SCATTERV, scatterv, Scatterv)

/* Each function. */
#define CM_FUNCTIONS(X)			\
	X(BARRIER, barrier, Barrier)	\
	CM_COUNTED_FUNCTIONS(X)

#define CM_FUNCTION_CONSTANT(NAME, name, Name) CM_##NAME,

/** enum cm_function - functions of MPI */
enum cm_function {
	CM_FUNCTIONS(CM_FUNCTION_CONSTANT)
	CM_FUNCTION_COUNT
};

/** enum cm_form - forms of a function */
enum cm_form {
	CM_BLOCKING,
	CM_NONBLOCKING,
	CM_PERSISTENT,
	CM_FORM_COUNT
};

/**
 * enum cm_reason - what became of a call; all ranks come to the same
 * @CM_TAKEN: an operation of the kernel
 * @CM_EARLY: left to MPI: the communicator has no group yet
 * @CM_NO_GROUP: left to MPI: the communicator cannot have a group
 * @CM_REDUCTION: left to MPI: the kernel does not have the type or the operator
 * @CM_SMALL: left to MPI: fewer bytes than the lower limit
 * @CM_LARGE: left to MPI: more bytes than the upper limit
 * @CM_LOCKED_MEMORY: left to MPI: it does not fit the region of the group, and the ranks could not
 *	all pin its memory, or cannot agree on that in a call of this form
 * @CM_MANY: left to MPI: more persistent calls of the communicator than can be started at a time
 * @CM_BITS: left to MPI: with reproducible, the reduction is persistent or an earlier one of the
 *	same form was left, and the bits of this one might differ
 * @CM_OF_MPI: left to MPI: MPI itself makes such calls, at places that differ by rank
 * @CM_UNSUPPORTED: left to MPI: the binding has no such form
 */
enum cm_reason {
	CM_TAKEN,
	CM_EARLY,
	CM_NO_GROUP,
	CM_REDUCTION,
	CM_SMALL,
	CM_LARGE,
	CM_LOCKED_MEMORY,
	CM_MANY,
	CM_BITS,
	CM_OF_MPI,
	CM_UNSUPPORTED,
	CM_REASON_COUNT
};

/** cm_function_name - name of a function in MPI, in lower case */
const char *cm_function_name(enum cm_function function);

/**
 * cm_count - count a call
 * @function: its function
 * @form: its form
 * @reason: what became of it
 */
void cm_count(enum cm_function function, enum cm_form form, enum cm_reason reason);

/**
 * cm_counters_print - print how many calls were taken, and why the others were not
 * @prefix: beginning of each line
 *
 * One line on stderr for each function and form that was called.
 */
void cm_counters_print(const char *prefix);

#endif /* CM_FUNCTIONS_H */
