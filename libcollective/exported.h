/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Included in front of every source of the library (Makefile).  Objects are compiled with
 * -fvisibility=hidden; what the public headers declare is visible all the same.
 */
#ifndef COLL_EXPORTED_H
#define COLL_EXPORTED_H

#pragma GCC visibility push(default)
#include "collective.h"
#include "collective_uring.h"
#pragma GCC visibility pop

#endif /* COLL_EXPORTED_H */
