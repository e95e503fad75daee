// SPDX-License-Identifier: LGPL-2.1-or-later
/* The addresses of this host, for a reader. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "bootstrap/address.h"
#include "bootstrap/own_address.h"
#include "collective.h"
#include "comm/cancellation.h"

static int list_addresses(char *text, size_t size)
{
	char address[COLL_ADDRESS_TEXT];
	struct own_address *all;
	unsigned int n, i;
	size_t length = 0;
	int err;

	err = own_address_list(&all, &n);
	if (err)
		return err;
	*text = '\0';
	for (i = 0; i < n; i++) {
		if (own_address_is_usual(&all[i]))
			continue;
		coll_address_format_host(&all[i].place.addr, address);
		length += snprintf(length < size ? text + length : NULL,
				   length < size ? size - length : 0, "%s %s %s\n", address,
				   all[i].interface, all[i].left_out ?: "told");
	}
	free(all);
	return length > INT_MAX ? -EOVERFLOW : (int)length;
}

int coll_addresses(char *text, size_t size)
{
	int state, length;

	if (!text || !size)
		return -EINVAL;
	state = coll_cancellation_off();
	length = list_addresses(text, size);
	coll_cancellation_restore(state);
	return length;
}
