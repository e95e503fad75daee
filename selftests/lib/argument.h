/* SPDX-License-Identifier: GPL-2.0-only */
/* A union of the structs of all ioctls, with spare bytes behind them. */
#ifndef COLL_ARGUMENT_H
#define COLL_ARGUMENT_H

#include <linux/collective.h>
#include <linux/types.h>

union argument {
	__u32 size;
	__u8 bytes[8192];
	__u32 word[2048];
	struct collective_query query;
	struct collective_join join;
	struct collective_connect connect;
	struct collective_register reg;
	struct collective_unregister unreg;
	struct collective_submit submit;
	struct collective_wait wait;
	struct collective_cancel cancel;
	struct collective_status status;
	struct collective_leave leave;
	struct collective_abort abort;
};

#endif /* COLL_ARGUMENT_H */
