// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pinned memory, and when the user may touch it again (Documentation/design/memory.rst).
 *
 * Pages that are sent without a copy stay in use longer than this host alone can tell.  So an
 * operation succeeds only after the peers have sent CONSUMED for every byte that was sent to them.
 * One that fails while its process lives waits for the same, or until the peer can report no
 * success for it: after the peer's ABORT, the end of its control connection, or the fence.
 *
 * Unpinning never waits.  Queued packets hold page references of their own.  Pages count against
 * the user's RLIMIT_MEMLOCK, with the rest of their folios (mem/folio.c), unless the process has
 * CAP_IPC_LOCK.  The pages show in its VmPin.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>

#include "mem/account.h"
#include "mem/folio.h"
#include "mem/pin.h"

/* Pages that are pinned between two looks for a fatal signal. */
#define COLL_PIN_BATCH		(64 * 1024)

static void *buffer_at(const struct coll_mem *mem, u64 off, size_t *len)
{
	const struct coll_buffer *buffer = container_of(mem, struct coll_buffer, mem);
	u64 at = buffer->shift + off;
	unsigned long i = at >> PAGE_SHIFT;
	u32 in_page = offset_in_page(at);
	void *ptr = page_address(buffer->pages[i]);
	size_t n = PAGE_SIZE;

	/* Include the next pages while they are neighbours in memory, as in a huge page. */
	while (++i < buffer->npages && n < 64 * 1024 &&
	       page_address(buffer->pages[i]) == ptr + n)
		n += PAGE_SIZE;

	*len = min_t(u64, n - in_page, mem->length - off);
	return ptr + in_page;
}

/**
 * coll_memlock_charge() - count pages against the calling user's RLIMIT_MEMLOCK
 * @npages: number of pages
 * @user: out: the user, for coll_memlock_uncharge(); NULL: not counted, CAP_IPC_LOCK
 *
 * Context: process.
 * Return: 0 or -EDQUOT.
 */
int coll_memlock_charge(unsigned long npages, struct user_struct **user)
{
	/* Each operation asks; a security module would log each refusal. */
	bool exempt = ns_capable_noaudit(&init_user_ns, CAP_IPC_LOCK);
	struct user_struct *payer = exempt ? NULL : current_user();
	int err = coll_memlock_more(npages, payer);

	*user = payer && !err ? get_uid(payer) : NULL;
	return err;
}

/**
 * coll_memlock_more() - count more pages against a user that has been charged before
 * @npages: number of pages
 * @user: the user; NULL: pages are not counted
 *
 * Context: process; its limit applies.
 * Return: 0 or -EDQUOT.
 */
int coll_memlock_more(unsigned long npages, struct user_struct *user)
{
	unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
	long locked;

	if (!user)
		return 0;
	locked = atomic_long_read(&user->locked_vm);
	/* Not added before it is checked: a refused charge must not make another one fail. */
	do {
		if (locked > limit || npages > limit - locked)
			return -EDQUOT;
	} while (!atomic_long_try_cmpxchg(&user->locked_vm, &locked, locked + npages));
	return 0;
}

/**
 * coll_memlock_uncharge() - undo coll_memlock_charge()
 * @npages: number of pages, all that were charged
 * @user: the user that was charged, or NULL
 *
 * Context: any but interrupts.
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

/* Make a buffer without its pages; @addr + @length does not overflow. */
static struct coll_buffer *buffer_new(struct coll_charges *charges, atomic64_t *pinned, u64 addr,
				      u64 length, bool writable)
{
	unsigned long npages = (PAGE_ALIGN(addr + length) - (addr & PAGE_MASK)) >> PAGE_SHIFT;
	u64 bytes = sizeof(struct coll_buffer) + npages * sizeof(struct page *);
	struct coll_buffer *buffer;
	int err;

	/* Do not allocate a list of more pages than the machine has. */
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
 * coll_buffer_pin() - pin memory of the calling process
 * @charges: charges of the member; outlive the buffer
 * @pinned: pinned bytes of the member; outlives the buffer
 * @addr: address of the first byte
 * @length: length in bytes, not 0
 * @writable: true if results will be stored in it
 *
 * Context: process; may sleep.
 * Return: the buffer, for coll_buffer_put(); or -EFAULT (not memory of the process, or not
 * writable), -EOVERFLOW (@addr + @length), -EDQUOT, -ENOMEM, -EINTR (fatal signal).
 */
struct coll_buffer *coll_buffer_pin(struct coll_charges *charges, atomic64_t *pinned, u64 addr,
				    u64 length, bool writable)
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
	if (buffer->user)
		err = coll_folios_charge(buffer->pages, done, buffer->user, &buffer->shared);
	if (err)
		goto unpin;
	return buffer;

unpin:
	unpin_user_pages(buffer->pages, done);
unaccount:
	buffer_unaccount(buffer);
free:
	buffer_free(buffer);
	return ERR_PTR(err);
}

/* Collect the pages of an iterator over memory without gaps.  Return: 0 or -EINVAL. */
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
			/* A kernel buffer may have pages that must be copied. */
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
 * coll_buffer_import() - make a buffer of memory that io_uring has pinned
 * @charges: charges of the member; outlive the buffer
 * @pinned: pinned bytes of the member; not changed
 * @iter: iterator over the memory, which stays pinned while the buffer exists
 * @addr: address of the first byte in the process
 * @length: length in bytes, not 0
 * @writable: true if results may be stored in it
 *
 * Context: process; may sleep.
 * Return: the buffer, for coll_buffer_put(); or -EINVAL (not the pages of @addr), -EDQUOT,
 * -ENOMEM.
 */
struct coll_buffer *coll_buffer_import(struct coll_charges *charges, atomic64_t *pinned,
				       struct iov_iter *iter, u64 addr, u64 length, bool writable)
{
	struct coll_buffer *buffer = buffer_new(charges, pinned, addr, length, writable);
	int err;

	if (IS_ERR(buffer))
		return buffer;
	buffer->imported = true;
	buffer->pages = kvmalloc_array(buffer->npages, sizeof(*buffer->pages),
				       GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	err = buffer->pages ? buffer_collect(buffer, iter) : -ENOMEM;
	if (err) {
		coll_buffer_put(buffer);
		return ERR_PTR(err);
	}
	return buffer;
}

static void buffer_unpin(struct coll_buffer *buffer)
{
	unsigned long rest = 0;

	if (buffer->shared)
		rest = coll_folios_uncharge(buffer->pages, buffer->npages, buffer->user);
	unpin_user_pages_dirty_lock(buffer->pages, buffer->npages, buffer->writable);
	if (rest)
		atomic_long_sub(rest, &buffer->user->locked_vm);
	buffer_unaccount(buffer);
}

/**
 * coll_buffer_put() - drop a reference; the last one unpins and frees
 * @buffer: the buffer, or NULL
 *
 * Context: may sleep.
 */
void coll_buffer_put(struct coll_buffer *buffer)
{
	if (!buffer || !refcount_dec_and_test(&buffer->refs))
		return;
	if (!buffer->imported)
		buffer_unpin(buffer);
	buffer_free(buffer);
}
