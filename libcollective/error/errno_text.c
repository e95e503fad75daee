// SPDX-License-Identifier: LGPL-2.1-or-later
#include <locale.h>
#include <string.h>

#include "error/detail.h"

/* strerrordesc_np() does the same in glibc 2.32 and newer, and there only. */
const char *coll_errno_text(int err)
{
	/* This locale is static: nothing is allocated, nothing has to be freed. */
	return strerror_l(err, newlocale(LC_ALL_MASK, "C", (locale_t)0));
}
