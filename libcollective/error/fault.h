/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef COLL_FAULT_H
#define COLL_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * coll_fault_format - say why the kernel cannot use memory (EFAULT)
 * @at: where it begins
 * @size: bytes
 * @write: it is written, else only read
 * @text: where to say it: what is wrong, and from where on; empty: nothing is wrong with it
 *	that could be seen
 * @room: bytes there
 *
 * Looks at the mappings as they are now.  Memory that is mapped and may be used as asked for is
 * said to be of a kind that cannot be pinned only where that can be told: a file that is
 * written through its mapping, and a device's.
 */
void coll_fault_format(uintptr_t at, size_t size, bool write, char *text, size_t room);

#endif /* COLL_FAULT_H */
