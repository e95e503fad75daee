/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_CALLERS_H
#define COLL_CALLERS_H

#include <linux/socket.h>
#include <linux/types.h>

struct coll_conn;
struct coll_endpoint_info;
struct coll_net;

u32 coll_callers_max(const struct coll_net *net);
void coll_callers_accept(struct coll_net *net);
const struct sockaddr_storage *coll_caller_addr(struct coll_conn *conn,
						struct coll_endpoint_info *info);
bool coll_caller_may_reply(struct coll_conn *conn);
bool coll_caller_has_time(const struct coll_conn *conn, u64 now);
void coll_caller_give_place(struct coll_conn *conn);

#endif /* COLL_CALLERS_H */
