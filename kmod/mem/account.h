/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_ACCOUNT_H
#define COLL_ACCOUNT_H

#include <linux/atomic.h>
#include <linux/types.h>

struct coll_account;

/**
 * struct coll_charges - what a member's kernel memory is charged to
 * @account: of the user that joined; NULL: no group has been joined
 * @exempt: the user's limit does not hold: CAP_SYS_RESOURCE at JOIN [c]
 * @bytes: charged through this member and not returned yet [a]
 *
 * A charge belongs to the object whose memory it is for.  The object stores how much it
 * was charged, takes the charge before the memory is allocated, and returns it once, where
 * that memory is freed:
 *
 *	member		tables by rank and request, lanes	end of the member
 *	recorder	itself			end of the group (coll_charge_detach())
 *	link		itself, outgoing queue, mail	coll_link_free()
 *	connection	itself, stream, stage		coll_conn_free()
 *	endpoint	socket, file, send buffers	close(), or when the socket has
 *						lingered (coll_charge_detach())
 *	request		itself			coll_request_release()
 *	request		scratch			coll_request_free()
 *	layout		itself			coll_block_layout_free()
 *	buffer		itself, list of pages	coll_buffer_put()
 *	memo		itself			memo_free()
 *
 * The pages of buffers and of mappings are the user's own and count against
 * RLIMIT_MEMLOCK.  Payload that is queued in sockets is bounded by net.ipv4.tcp_mem,
 * tcp_rmem and tcp_wmem, as that of any socket.
 */
struct coll_charges {
	struct coll_account *account;
	bool exempt;
	atomic64_t bytes;
};

/* What is allocated elsewhere, rounded up: a directory in sysfs with its files. */
#define COLL_CHARGE_SYSFS	(16 * 1024U)
/* A TCP socket, its inode and its file. */
#define COLL_CHARGE_SOCKET	(8 * 1024U)

int coll_charges_begin(struct coll_charges *charges);
void coll_charges_end(struct coll_charges *charges);
int coll_charge(struct coll_charges *charges, u64 bytes);
void coll_uncharge(struct coll_charges *charges, u64 bytes);
struct coll_account *coll_charge_detach(struct coll_charges *charges, u64 bytes);
void coll_account_return(struct coll_account *account, u64 bytes);

#endif /* COLL_ACCOUNT_H */
