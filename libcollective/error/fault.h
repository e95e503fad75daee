/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Diagnosis of EFAULT. */
#ifndef COLL_FAULT_H
#define COLL_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * coll_fault_format - explain why the kernel cannot use memory (EFAULT)
 * @at: beginning of the memory
 * @size: size in bytes
 * @write: true if the memory is written, false if it is only read
 * @text: receives the reason and the address from which on it applies; empty: none found
 * @text_size: size of @text in bytes
 *
 * Reads the present mappings of the process.  Memory of a kind that cannot be pinned is
 * recognized in two cases: files written through a mapping, and device memory.
 */
void coll_fault_format(uintptr_t at, size_t size, bool write, char *text, size_t text_size);

#endif /* COLL_FAULT_H */
