/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What kmod/transport/rdma/ takes from the kernel, for user space and one thread.  The device is in
 * rdma_device.h, and the kernel's headers are empty files (Makefile).
 */
#ifndef COLL_RDMA_ENV_H
#define COLL_RDMA_ENV_H

#include "env.h"
#include "charges_env.h"

#include <stdlib.h>
#include <sys/socket.h>

/* Charges */

struct coll_account;

static struct coll_account *coll_charge_detach(struct coll_charges *charges, u64 bytes)
{
	coll_uncharge(charges, bytes);
	return NULL;
}

static void coll_account_return(struct coll_account *account, u64 bytes)
{
	(void)account;
	(void)bytes;
}

/* Memory */

#define PAGE_SIZE		4096UL
#define GFP_KERNEL_ACCOUNT	0

struct page;

struct page_frag {
	struct page *page;
};

#define offset_in_page(p)	((unsigned long)(p) & (PAGE_SIZE - 1))
#define is_vmalloc_addr(p)	((void)(p), false)
#define vmalloc_to_page(p)	virt_to_page(p)
#define virt_to_page(p)		((struct page *)((unsigned long)(p) & ~(PAGE_SIZE - 1)))
#define free_page(p)		free((void *)(p))
#define kvfree(p)		free((void *)(p))
#define kfree(p)		free((void *)(p))

static void *kvmalloc_array(size_t n, size_t size, int gfp)
{
	(void)gfp;
	return calloc(n, size);
}

static unsigned long __get_free_page(int gfp)
{
	(void)gfp;
	return (unsigned long)aligned_alloc(PAGE_SIZE, PAGE_SIZE);
}

/* Locks and work */

struct mutex {
	bool held;
};

typedef struct spinlock {
	bool held;
} spinlock_t;

static void mutex_lock(struct mutex *mutex)
{
	assert(!mutex->held);
	mutex->held = true;
}

static void mutex_unlock(struct mutex *mutex)
{
	assert(mutex->held);
	mutex->held = false;
}

static unsigned long spin_lock(spinlock_t *lock)
{
	assert(!lock->held);
	lock->held = true;
	return 0;
}

static void spin_unlock_irqrestore(spinlock_t *lock, unsigned long flags)
{
	(void)flags;
	assert(lock->held);
	lock->held = false;
}

#define spin_lock_irqsave(lock, flags)	((flags) = spin_lock(lock))

struct completion {
	bool done;
};

#define completion_done(c)	((c)->done)

#undef smp_load_acquire
/* One thread needs no barriers. */
#define smp_load_acquire(p)	(*(p))
#define cond_resched()		do { } while (0)

struct workqueue_struct;

struct work_struct {
	bool queued;
};

struct delayed_work {
	struct work_struct work;
};

#define to_delayed_work(w)	container_of(w, struct delayed_work, work)

static bool mod_delayed_work(struct workqueue_struct *queue, struct delayed_work *work,
			     unsigned long delay)
{
	(void)queue;
	work->work.queued |= !delay;
	return true;
}

/* The test runs the work whenever it wants. */
static void queue_delayed_work(struct workqueue_struct *queue, struct delayed_work *work,
			       unsigned long delay)
{
	mod_delayed_work(queue, work, delay);
}

#define cancel_delayed_work(w)		((w)->work.queued = false)
#define cancel_delayed_work_sync(w)	cancel_delayed_work(w)

static unsigned long jiffies;

#define HZ			1000
#define time_after(a, b)	((long)((b) - (a)) < 0)
#define time_before(a, b)	time_after(b, a)
#define time_after_eq(a, b)	((long)((a) - (b)) >= 0)

#define THIS_MODULE		NULL
#define __module_get(m)		((void)(m))
#define module_put(m)		((void)(m))

#define IS_ERR_OR_NULL(p)	(!(p))

/* linux/scatterlist.h */

struct scatterlist {
	u8 *at;
	u32 len;
};

static void sg_init_table(struct scatterlist *sg, u32 n)
{
	memset(sg, 0, n * sizeof(*sg));
}

static void sg_mark_end(struct scatterlist *sg)
{
	(void)sg;
}

static void sg_set_page(struct scatterlist *sg, struct page *page, u32 len, u32 off)
{
	sg->at = (u8 *)page + off;
	sg->len = len;
}

/* rdma/ib_verbs.h */

enum { DMA_TO_DEVICE, DMA_FROM_DEVICE };

enum ib_wr_opcode { IB_WR_SEND, IB_WR_SEND_WITH_INV, IB_WR_RDMA_READ, IB_WR_REG_MR };

#define IB_SEND_SIGNALED	1
#define IB_ACCESS_REMOTE_READ	1
#define IB_MR_TYPE_MEM_REG	0
#define IB_CQ_NEXT_COMP		1
#define IB_CQ_REPORT_MISSED_EVENTS	2
#define IB_WC_SUCCESS		0
#define IB_WC_WITH_INVALIDATE	1

struct ib_device;

struct ib_pd {
	u32 local_dma_lkey;
};

struct ib_sge {
	u64 addr;
	u32 length;
	u32 lkey;
};

struct ib_send_wr {
	u64 wr_id;
	struct ib_sge *sg_list;
	int num_sge;
	enum ib_wr_opcode opcode;
	int send_flags;
	struct {
		u32 invalidate_rkey;
	} ex;
};

struct ib_rdma_wr {
	struct ib_send_wr wr;
	u64 remote_addr;
	u32 rkey;
};

struct ib_mr {
	u32 rkey;
	u64 iova;
	u32 length;
	const struct scatterlist *sg;
	bool valid;
};

struct ib_reg_wr {
	struct ib_send_wr wr;
	struct ib_mr *mr;
	u32 key;
	int access;
};

struct ib_recv_wr {
	u64 wr_id;
	struct ib_sge *sg_list;
	int num_sge;
};

struct ib_wc {
	u64 wr_id;
	int status;
	u32 byte_len;
	int wc_flags;
	struct {
		u32 invalidate_rkey;
	} ex;
};

struct ib_qp;
struct ib_cq;

/* rdma/rdma_cm.h */

struct rdma_cm_id {
	struct ib_device *device;
	struct ib_qp *qp;
};

/* The device has the addresses of the CPU; what is mapped is counted. */

static int device_mapped;

static u64 ib_dma_map_page(struct ib_device *device, struct page *page, unsigned long off,
			   size_t len, int direction)
{
	(void)device;
	(void)len;
	(void)direction;
	device_mapped++;
	return (u64)page + off;
}

static void ib_dma_unmap_page(struct ib_device *device, u64 addr, size_t len, int direction)
{
	(void)device;
	(void)addr;
	(void)len;
	(void)direction;
	device_mapped--;
}

static bool ib_dma_mapping_error(struct ib_device *device, u64 addr)
{
	(void)device;
	return !addr;
}

static int ib_dma_map_sg(struct ib_device *device, struct scatterlist *sg, int n, int direction)
{
	(void)device;
	(void)sg;
	(void)direction;
	device_mapped += n;
	return n;
}

static void ib_dma_unmap_sg(struct ib_device *device, struct scatterlist *sg, int n, int direction)
{
	(void)device;
	(void)sg;
	(void)direction;
	device_mapped -= n;
}

static void ib_dma_sync_single_for_device(struct ib_device *device, u64 addr, size_t len,
					  int direction)
{
	(void)device;
	(void)addr;
	(void)len;
	(void)direction;
}

#define ib_dma_sync_single_for_cpu	ib_dma_sync_single_for_device

#endif /* COLL_RDMA_ENV_H */
