/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A device that does nothing but what the beginning of a group needs: JOIN binds a socket as
 * the module does, CONNECT finds out whether every peer can be reached where it says.
 */
#ifndef DEVICE_STUB_H
#define DEVICE_STUB_H

/* What coll_device_open() fails with; 0: it does not. */
extern int stub_open_error;

/* JOIN opens no socket: ports are numbers only, and CONNECT connects to nothing. */
extern _Bool stub_without_sockets;

#endif /* DEVICE_STUB_H */
