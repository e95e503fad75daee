// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pinned memory, and when the user may touch it again.
 *
 * Pages that were handed to the network without a copy stay in use longer than
 * anything on this side can tell.  "Sent" only means queued.  "Acknowledged"
 * only means that the peer's host has the packet: when that host is this one,
 * the packet in the peer's socket buffer *is* our page.  There is a callback
 * that tells when the stack has dropped a page (the one of MSG_ZEROCOPY), but it
 * forces a copy on local delivery, and the page's reference count tells nothing,
 * for others hold references too.  So the protocol tells:
 *
 *  - An operation that succeeds has been told CONSUMED up to the last byte that
 *    it sent: the peer has copied or reduced all of it.
 *  - An operation that fails in a process that lives on waits for the same, or
 *    for the peer's word that it will complete nothing of it with success
 *    (ABORTED, or the end of its control connection), or for the fence: a peer
 *    that cannot be reached cannot succeed after its lease, which ends earlier.
 *  - While an operation runs, a span is overwritten only where its schedule says
 *    why that is safe (core/schedule/schedule.h).
 *
 * Unpinning, on the other hand, never waits.  Packets still queued hold page
 * references of their own: the page is not reused while they exist, though they
 * may carry later contents of that same page, as with sendfile().
 *
 * Pages count against the user's RLIMIT_MEMLOCK, unless CAP_IPC_LOCK, and show
 * in the process's VmPin.
 */
#include <linux/capability.h>
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "mem/account.h"
#include "mem/pin.h"
#include "mem/pin.h"

/* Pin so many pages in one go that a signal is noticed in good time. */
#define COLL_PIN_BATCH		(64 * 1024)

static void *buffer_at(const struct coll_mem *mem, u64 off, size_t *len)
{
	const struct coll_buffer *buffer = container_of(mem, struct coll_buffer, mem);
	u64 at = buffer->shift + off;
	unsigned long i = at >> PAGE_SHIFT;
	u32 in_page = offset_in_page(at);
	void *ptr = page_address(buffer->pages[i]);
	size_t n = PAGE_SIZE;

	/* Neighbours in memory too, as in a huge page? */
	while (++i < buffer->npages && n < 64 * 1024 &&
	       page_address(buffer->pages[i]) == ptr + n)
		n += PAGE_SIZE;

	*len = min_t(u64, n - in_page, mem->length - off);
	return ptr + in_page;
}

/**
 * coll_memlock_charge() - count pages against the calling user's RLIMIT_MEMLOCK
 * @npages: how many
 * @user: out: for coll_memlock_uncharge()
 *
 * Return: 0 or -EDQUOT.
 */
int coll_memlock_charge(unsigned long npages, struct user_struct **user)
{
	struct user_struct *payer = capable(CAP_IPC_LOCK) ? NULL : current_user();
	int err = coll_memlock_more(npages, payer);

	*user = payer && !err ? get_uid(payer) : NULL;
	return err;
}

/**
 * coll_memlock_more() - count pages against who has been charged before
 * @npages: how many
 * @user: who, or NULL: nobody's
 *
 * Return: 0 or -EDQUOT, by the calling process's limit.
 */
int coll_memlock_more(unsigned long npages, struct user_struct *user)
{
	unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;

	if (!user || atomic_long_add_return(npages, &user->locked_vm) <= limit)
		return 0;
	atomic_long_sub(npages, &user->locked_vm);
	return -EDQUOT;
}

/**
 * coll_memlock_uncharge() - undo coll_memlock_charge()
 * @npages: as many
 * @user: who was charged, or NULL
 */
void coll_memlock_uncharge(unsigned long npages, struct user_struct *user)
{
	if (!user)
		return;
	atomic_long_sub(npages, &user->locked_vm);
	free_uid(user);
}

static int buffer_account(struct coll_buffer *buffer)
{
	int err = coll_memlock_charge(buffer->npages, &buffer->user);

	if (err)
		return err;
	mmgrab(current->mm);
	buffer->mm = current->mm;
	atomic64_add(buffer->npages, &buffer->mm->pinned_vm);
	atomic64_add(buffer->npages << PAGE_SHIFT, buffer->pinned);
	return 0;
}

static void buffer_unaccount(struct coll_buffer *buffer)
{
	atomic64_sub(buffer->npages << PAGE_SHIFT, buffer->pinned);
	atomic64_sub(buffer->npages, &buffer->mm->pinned_vm);
	mmdrop(buffer->mm);
	coll_memlock_uncharge(buffer->npages, buffer->user);
}

static void buffer_free(struct coll_buffer *buffer)
{
	coll_uncharge(buffer->charges, buffer->charged);
	kvfree(buffer->pages);
	kfree(buffer);
}

/* Without its pages; @addr + @length is an address. */
static struct coll_buffer *buffer_new(struct coll_charges *charges, atomic64_t *pinned, u64 addr,
				      u64 length,
				      bool writable)
{
	unsigned long npages = (PAGE_ALIGN(addr + length) - (addr & PAGE_MASK)) >> PAGE_SHIFT;
	u64 bytes = sizeof(struct coll_buffer) + npages * sizeof(struct page *);
	struct coll_buffer *buffer;
	int err;

	/* Memory is not filled with the list of more pages than there are. */
	if (npages > totalram_pages())
		return ERR_PTR(-ENOMEM);
	err = coll_charge(charges, bytes);
	if (err)
		return ERR_PTR(err);
	buffer = kzalloc(sizeof(*buffer), GFP_KERNEL_ACCOUNT);
	if (!buffer) {
		coll_uncharge(charges, bytes);
		return ERR_PTR(-ENOMEM);
	}
	buffer->charges = charges;
	buffer->pinned = pinned;
	buffer->charged = bytes;
	buffer->mem.at = buffer_at;
	buffer->mem.length = length;
	refcount_set(&buffer->refs, 1);
	buffer->addr = addr;
	buffer->writable = writable;
	buffer->shift = offset_in_page(addr);
	buffer->npages = npages;
	return buffer;
}

/**
 * coll_buffer_pin() - pin some of the calling process's memory
 * @charges: its memory is charged to; outlives it
 * @pinned: counts pinned bytes; outlives it
 * @addr: where it begins
 * @length: bytes, not 0
 * @writable: results will be stored in it
 *
 * Context: process; may sleep.
 * Return: the buffer, or -EFAULT, -EOVERFLOW, -EDQUOT, -ENOMEM, -EINTR.
 */
struct coll_buffer *coll_buffer_pin(struct coll_charges *charges, atomic64_t *pinned, u64 addr,
				    u64 length,
				    bool writable)
{
	unsigned int flags = FOLL_LONGTERM | (writable ? FOLL_WRITE : 0);
	struct coll_buffer *buffer;
	unsigned long done = 0;
	u64 end;
	int err;

	if (check_add_overflow(addr, length, &end) || end > TASK_SIZE_MAX)
		return ERR_PTR(addr > TASK_SIZE_MAX || !length ? -EFAULT : -EOVERFLOW);

	buffer = buffer_new(charges, pinned, addr, length, writable);
	if (IS_ERR(buffer))
		return buffer;
	err = buffer_account(buffer);
	if (err)
		goto free;
	buffer->pages = kvmalloc_array(buffer->npages, sizeof(*buffer->pages),
				       GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!buffer->pages) {
		err = -ENOMEM;
		goto unaccount;
	}

	while (done < buffer->npages) {
		int n = min_t(unsigned long, buffer->npages - done, COLL_PIN_BATCH);

		n = pin_user_pages_fast((addr & PAGE_MASK) + (done << PAGE_SHIFT), n,
					flags, buffer->pages + done);
		if (n <= 0) {
			err = n < 0 && n != -EIO ? n : -EFAULT;
			goto unpin;
		}
		done += n;
		if (fatal_signal_pending(current)) {
			err = -EINTR;
			goto unpin;
		}
		cond_resched();
	}
	return buffer;

unpin:
	unpin_user_pages(buffer->pages, done);
unaccount:
	buffer_unaccount(buffer);
free:
	buffer_free(buffer);
	return ERR_PTR(err);
}

/* The pages of what an iterator goes through; of memory that has no holes. */
static int buffer_collect(struct coll_buffer *buffer, struct iov_iter *iter)
{
	unsigned long i = 0;

	while (iov_iter_count(iter)) {
		struct page *pages[16], **list = pages;
		size_t off;
		ssize_t n = iov_iter_extract_pages(iter, &list, iov_iter_count(iter),
						   ARRAY_SIZE(pages), 0, &off);
		int k;

		if (n <= 0 || off != (i ? 0 : buffer->shift))
			return -EINVAL;
		for (k = 0; k < DIV_ROUND_UP(off + n, PAGE_SIZE); k++) {
			/* A kernel's own buffer may have pages that cannot be lent. */
			if (i == buffer->npages || !sendpage_ok(pages[k]))
				return -EINVAL;
			buffer->pages[i++] = pages[k];
		}
		if (iov_iter_count(iter) && !PAGE_ALIGNED(off + n))
			return -EINVAL;
	}
	return i == buffer->npages ? 0 : -EINVAL;
}

/**
 * coll_buffer_lend() - make a buffer of memory that is pinned already
 * @charges: its memory is charged to; outlives it
 * @pinned: counts pinned bytes; outlives it
 * @iter: goes through it; it stays pinned until the buffer is put
 * @addr: where the user has it
 * @length: bytes, not 0
 * @writable: results may be stored in it
 *
 * Context: process; may sleep.
 * Return: the buffer, or -EINVAL (not the pages of @addr), -EDQUOT, -ENOMEM.
 */
struct coll_buffer *coll_buffer_lend(struct coll_charges *charges, atomic64_t *pinned,
				     struct iov_iter *iter,
				     u64 addr, u64 length, bool writable)
{
	struct coll_buffer *buffer = buffer_new(charges, pinned, addr, length, writable);
	int err;

	if (IS_ERR(buffer))
		return buffer;
	buffer->lent = true;
	buffer->pages = kvmalloc_array(buffer->npages, sizeof(*buffer->pages),
				       GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	err = buffer->pages ? buffer_collect(buffer, iter) : -ENOMEM;
	if (err) {
		coll_buffer_put(buffer);
		return ERR_PTR(err);
	}
	return buffer;
}

/**
 * coll_buffer_put() - drop a reference; the last one unpins
 * @buffer: the buffer, or NULL
 *
 * Context: may sleep.
 */
void coll_buffer_put(struct coll_buffer *buffer)
{
	if (!buffer || !refcount_dec_and_test(&buffer->refs))
		return;
	if (!buffer->lent) {
		unpin_user_pages_dirty_lock(buffer->pages, buffer->npages, buffer->writable);
		buffer_unaccount(buffer);
	}
	buffer_free(buffer);
}
