/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* As libcollective/exported.h: what the public header declares is visible. */
#ifndef COLL_ADMIN_EXPORTED_H
#define COLL_ADMIN_EXPORTED_H

#pragma GCC visibility push(default)
#include "collective_admin.h"
#pragma GCC visibility pop

#endif /* COLL_ADMIN_EXPORTED_H */
