/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The board of a group (uapi/linux/collective.h, DOC: board), mapped to this process, which
 * executes small blocking operations there without a system call.
 *
 * The protocol is that of the module (kmod/core/board/).  The board resolves no trouble: the kernel
 * goes on with an operation that is not complete soon.  No other file of the library sees the core,
 * and these files see no communicator.
 */
#ifndef COLL_MAPPING_H
#define COLL_MAPPING_H

#include <linux/collective.h>
#include <stddef.h>

/* Most bytes that a rank publishes, and so most elements. */
#define COLL_MAPPING_BYTES	4096

struct coll_mapping;

/** enum coll_mapping_result - what became of an operation */
enum coll_mapping_result {
	COLL_MAPPING_SUBMIT,	/* nothing: SUBMIT is for it */
	COLL_MAPPING_RESUME,	/* it has a number, by which the kernel goes on with it */
	COLL_MAPPING_DONE,	/* it is complete */
	COLL_MAPPING_WAKE,	/* likewise, and WAKE has to be called */
};

/**
 * coll_mapping_new - map the board of a group
 * @fd: descriptor of the device; the group is up
 * @rank: rank of this process
 * @nranks: number of ranks of the group
 * @algorithm: algorithms that AUTO stands for in the group, by enum collective_opcode
 *
 * Return: the mapping; NULL: there is none, and SUBMIT is for all operations.
 */
struct coll_mapping *coll_mapping_new(int fd, __u32 rank, __u32 nranks, const __u8 *algorithm);

/**
 * coll_mapping_free - free a mapping
 * @mapping: the mapping, or NULL
 * @mapped: false in a child of the process, where nothing is mapped
 */
void coll_mapping_free(struct coll_mapping *mapping, int mapped);

/**
 * coll_mapping_run - execute an operation on the board
 * @mapping: the mapping
 * @op: operation that the caller waits for, without a layout; not checked
 * @instance: set to its number with COLL_MAPPING_RESUME
 *
 * Several threads may call it: one of them executes its operation, the others get
 * COLL_MAPPING_SUBMIT meanwhile.
 *
 * Return: enum coll_mapping_result.
 */
enum coll_mapping_result coll_mapping_run(struct coll_mapping *mapping,
					  const struct collective_op *op, __u64 *instance);

/**
 * coll_mapping_stage_size - bytes that coll_mapping_stage() needs
 * @mapping: the mapping
 * @op: operation of coll_mapping_run(), which has returned COLL_MAPPING_RESUME
 *
 * Return: bytes; 0: the operation has no memory.
 */
size_t coll_mapping_stage_size(const struct coll_mapping *mapping, const struct collective_op *op);

/**
 * coll_mapping_stage - have an operation that is handed over work on other memory
 * @mapping: the mapping
 * @op: operation of coll_mapping_run(), which has returned COLL_MAPPING_RESUME; its addresses
 *	change
 * @memory: coll_mapping_stage_size() bytes; gets the input
 *
 * The program's memory may be such that the kernel cannot use it, though the process can.
 *
 * Return: bytes of the result, which is at @memory after success.
 */
size_t coll_mapping_stage(const struct coll_mapping *mapping, struct collective_op *op,
			  void *memory);

/**
 * coll_mapping_go_on - go on with an operation that the kernel could not take over
 * @mapping: the mapping
 * @op: as for coll_mapping_run(), which has returned COLL_MAPPING_RESUME
 * @instance: number of the operation
 *
 * Return: COLL_MAPPING_DONE, COLL_MAPPING_WAKE, or COLL_MAPPING_RESUME again.
 */
enum coll_mapping_result coll_mapping_go_on(struct coll_mapping *mapping,
					    const struct collective_op *op, __u64 instance);

#endif /* COLL_MAPPING_H */
