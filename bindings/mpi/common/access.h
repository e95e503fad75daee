/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Memory that this process may access. */
#ifndef CM_ACCESS_H
#define CM_ACCESS_H

#include <stdbool.h>
#include <stddef.h>

/**
 * cm_access_check - may this process access memory?
 * @addr: address of the first byte
 * @bytes: number of bytes
 * @write: it is written, too; no other thread writes it meanwhile
 *
 * Return: 0; -EFAULT: access would be a signal; or another negative errno: not known.
 */
int cm_access_check(char *addr, size_t bytes, bool write);

#endif /* CM_ACCESS_H */
