/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A device with only what the start of a group needs: JOIN binds a socket as the module does,
 * CONNECT checks that every peer accepts connections at its address.
 */
#ifndef DEVICE_STUB_H
#define DEVICE_STUB_H

/* Result of coll_device_open(), negative errno; 0: success. */
extern int stub_open_error;

/* True if JOIN opens no socket: ports are numbers only, and CONNECT connects to no rank. */
extern _Bool stub_without_sockets;

#endif /* DEVICE_STUB_H */
