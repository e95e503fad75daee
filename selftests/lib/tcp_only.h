/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For a test whose peers or clients are sockets, or that counts sockets, ports or packets: all
 * ranks of the program use TCP, whatever COLL_TRANSPORT says.
 */
#ifndef COLL_TCP_ONLY_H
#define COLL_TCP_ONLY_H

#include <stdlib.h>

#include "lib/any_transport.h"

static void __attribute__((constructor)) tcp_only(void)
{
	setenv("COLL_TRANSPORT", "tcp", 1);
}

#endif /* COLL_TCP_ONLY_H */
