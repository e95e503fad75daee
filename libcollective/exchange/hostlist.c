// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <string.h>

#include "exchange/hostlist.h"

/* Append @length characters.  Return: 0 or -EINVAL. */
static int append(char *host, size_t size, const char *from, size_t length)
{
	const size_t at = strlen(host);

	if (length >= size - at)
		return -EINVAL;
	memcpy(host + at, from, length);
	host[at + length] = '\0';
	return 0;
}

int hostlist_first(const char *list, char *host, size_t size)
{
	const char *close;
	size_t length;

	host[0] = '\0';
	for (;;) {
		length = strcspn(list, ",[]");
		if (append(host, size, list, length))
			return -EINVAL;
		list += length;
		if (*list != '[')
			break;
		/* The first number of the brackets, up to its comma or dash. */
		close = strchr(++list, ']');
		length = strspn(list, "0123456789");
		if (!close || !length || !strchr(",-]", list[length]) ||
		    append(host, size, list, length))
			return -EINVAL;
		list = close + 1;
	}
	return *host && *list != ']' ? 0 : -EINVAL;
}
