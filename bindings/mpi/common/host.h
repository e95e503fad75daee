/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The host of this process. */
#ifndef CM_HOST_H
#define CM_HOST_H

/**
 * cm_host_digest - digest of this host, below 2^62
 *
 * The same for processes of one kernel that see the same name of the host, as those have among
 * which MPI uses shared memory.  If the kernel cannot be told, it differs by process.
 */
long long cm_host_digest(void);

#endif /* CM_HOST_H */
