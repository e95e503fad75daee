// SPDX-License-Identifier: LGPL-2.1-or-later
#include <stdio.h>

#include "error/detail.h"

int coll_fail(struct coll_detail *detail, int err, const char *format, ...)
{
	va_list args;

	if (!detail->text || !detail->size || detail->text[0])
		return err;
	va_start(args, format);
	vsnprintf(detail->text, detail->size, format, args);
	va_end(args);
	return err;
}
