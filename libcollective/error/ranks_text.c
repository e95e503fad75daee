// SPDX-License-Identifier: LGPL-2.1-or-later
#include <stdio.h>
#include <string.h>

#include "error/ranks_text.h"

/* Room for one more range, and for the end of a list that is too long. */
#define RANGE_LENGTH	20
#define MORE		", ..."

static int count(int nranks, bool (*has)(const void *arg, int rank), const void *arg)
{
	int rank, n = 0;

	for (rank = 0; rank < nranks; rank++)
		n += has(arg, rank);
	return n;
}

int coll_ranks_text(char *text, size_t size, int nranks, bool (*has)(const void *arg, int rank),
		    const void *arg)
{
	const int n = count(nranks, has, arg);
	int rank, first = -1;
	size_t at;

	text[0] = '\0';
	if (!n)
		return 0;
	at = snprintf(text, size, "rank%s ", n > 1 ? "s" : "");
	for (rank = 0; rank <= nranks; rank++) {
		const bool in = rank < nranks && has(arg, rank);

		if (in && first < 0)
			first = rank;
		if (in || first < 0)
			continue;
		if (at + RANGE_LENGTH + sizeof(MORE) > size) {
			strcpy(text + at, MORE);
			break;
		}
		at += snprintf(text + at, size - at, first == rank - 1 ? "%s%d" : "%s%d-%d",
			       text[at - 1] == ' ' ? "" : ", ", first, rank - 1);
		first = -1;
	}
	return n;
}
