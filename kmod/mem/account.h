/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_ACCOUNT_H
#define COLL_ACCOUNT_H

#include <linux/atomic.h>
#include <linux/types.h>

struct coll_account;
struct mem_cgroup;

/**
 * struct coll_charges - kernel memory that is charged for one member
 * @account: account of the user that joined; NULL: the member has not joined
 * @exempt: true if the user's limit does not apply: CAP_SYS_RESOURCE at JOIN [c]
 * @bytes: bytes charged for this member and not returned [a]
 *
 * A charge belongs to the object that the memory is for.  The object takes the charge before the
 * memory is allocated, stores the number of bytes, and returns them once, where the memory is
 * freed:
 *
 *	object		memory				returned by
 *	member		tables by rank and request,	end of the member
 *			lanes
 *	member		table of requests		coll_table_free(), or when it grows
 *	lane		policies of its copier		coll_copier_cleanup()
 *	recorder	itself, its records		end of the group (coll_charge_detach())
 *	failed ops	slots, the latest ahead		coll_failed_ops_free()
 *	failed op	itself				coll_failed_ops_free(), or when a later
 *							one replaces it
 *	link		itself, mailboxes		coll_link_free()
 *	mailbox		grants				coll_mailbox_cleanup()
 *	transmit ring	itself				coll_tx_ring_cleanup(), or with the
 *							endpoint that took it: send_rest()
 *	connection	itself, stream, grants,		coll_conn_free()
 *			unexpected buffer
 *	connection	HELLOs				coll_conn_end_handshake(), or with it
 *	connection	memory reserved for a stream	coll_conn_free(), unless the lane takes it
 *	endpoint	socket, file, send buffers;	close(); or when the socket has lingered,
 *			half of a local connection,	when both ends of the connection have
 *			its rings			closed (coll_charge_detach())
 *	endpoint	RDMA: slots, lists of pieces	likewise, when the connection has
 *			of regions, staging memory	lingered
 *	request		itself				coll_request_free()
 *	request		scratch				coll_request_free()
 *	layout		itself				coll_block_layout_free()
 *	buffer		itself, list of pages		coll_buffer_put()
 *	unexpected call	itself				unexpected_free()
 *
 * Not charged here: the pages of buffers and mappings, which count against RLIMIT_MEMLOCK; entries
 * of folios (mem/folio.c), one for each large folio that counts against RLIMIT_MEMLOCK; and
 * payload that is queued in sockets, which net.ipv4.tcp_mem, tcp_rmem and tcp_wmem bound.
 */
struct coll_charges {
	struct coll_account *account;
	bool exempt;
	atomic64_t bytes;
};

/* Memory that other code allocates, rounded up: a directory in sysfs with its files. */
#define COLL_CHARGE_SYSFS	(16 * 1024U)
/* A TCP socket, its inode and its file. */
#define COLL_CHARGE_SOCKET	(8 * 1024U)

int coll_charges_begin(struct coll_charges *charges);
void coll_charges_end(struct coll_charges *charges);
int coll_charge(struct coll_charges *charges, u64 bytes);
void coll_uncharge(struct coll_charges *charges, u64 bytes);
struct coll_account *coll_charge_detach(struct coll_charges *charges, u64 bytes);
unsigned int coll_account_user(const struct coll_account *account);
void coll_account_return(struct coll_account *account, u64 bytes);
struct mem_cgroup *coll_no_cgroup_begin(void);
void coll_no_cgroup_end(struct mem_cgroup *cgroup);

#endif /* COLL_ACCOUNT_H */
