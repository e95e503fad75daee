/* SPDX-License-Identifier: GPL-2.0-only */
/* The machines that the module is for.  On others the build stops here. */
#ifndef COLL_MACHINE_H
#define COLL_MACHINE_H

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "collective needs a little-endian machine: elements travel in the byte order of the memory"
#endif

#if __SIZEOF_POINTER__ != 8
#error "collective needs a 64-bit machine"
#endif

#endif /* COLL_MACHINE_H */
