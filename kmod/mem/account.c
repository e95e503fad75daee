// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel memory of a user's groups, and its limit.
 *
 * Peers and the user's own calls decide how much is allocated: links are made when a peer
 * calls, and their size grows with ranks and lanes.  All of it is charged to the memory
 * cgroup of the process that joined (GFP_KERNEL_ACCOUNT; runners charge it through
 * set_active_memcg()), where there is one, and counted in the account of the user here.
 *
 * An account is that of a real user ID, as RLIMIT_MEMLOCK's is.  It exists while a member,
 * a recorder or a socket that lingers refers to it.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/ratelimit.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>
#include <linux/xarray.h>

#include "mem/account.h"

/* Of the machine's memory, the part that one user may have unless the parameter says more. */
#define ACCOUNT_DEFAULT_PART	8

static ulong user_memory_mib;
module_param(user_memory_mib, ulong, 0644);
MODULE_PARM_DESC(user_memory_mib, "Limit in MiB for the kernel memory of all groups of one user, without pinned pages. Beyond it calls fail with EDQUOT, unless the process had CAP_SYS_RESOURCE when it joined. 0 (default): an eighth of the machine's memory");

/**
 * struct coll_account - the kernel memory of one user's groups
 * @uid: the user
 * @refs: what refers to it, protected by accounts_mutex
 * @bytes: charged and not returned [a]
 */
struct coll_account {
	kuid_t uid;
	unsigned long refs;
	atomic64_t bytes;
};

static DEFINE_MUTEX(accounts_mutex);
static DEFINE_XARRAY(accounts);		/* by user ID, protected by accounts_mutex */

static u64 account_limit(void)
{
	u64 mib = READ_ONCE(user_memory_mib);

	if (!mib)
		return ((u64)totalram_pages() << PAGE_SHIFT) / ACCOUNT_DEFAULT_PART;
	return mib > S64_MAX >> 20 ? S64_MAX : mib << 20;
}

/* The account of a user, made if there is none; accounts_mutex is held. */
static struct coll_account *account_find(kuid_t uid)
{
	struct coll_account *account = xa_load(&accounts, __kuid_val(uid));

	if (account)
		return account;
	account = kzalloc(sizeof(*account), GFP_KERNEL_ACCOUNT);
	if (!account)
		return NULL;
	account->uid = uid;
	if (xa_err(xa_store(&accounts, __kuid_val(uid), account, GFP_KERNEL_ACCOUNT))) {
		kfree(account);
		return NULL;
	}
	return account;
}

static void account_put(struct coll_account *account)
{
	mutex_lock(&accounts_mutex);
	if (!--account->refs) {
		WARN_ON_ONCE(atomic64_read(&account->bytes));
		xa_erase(&accounts, __kuid_val(account->uid));
		kfree(account);
	}
	mutex_unlock(&accounts_mutex);
}

/**
 * coll_charges_begin() - charge to the user of the calling process from now on
 * @charges: zero
 *
 * Context: the process that joins; may sleep.
 * Return: 0 or -ENOMEM.
 */
int coll_charges_begin(struct coll_charges *charges)
{
	struct coll_account *account;

	mutex_lock(&accounts_mutex);
	account = account_find(current_uid());
	if (account)
		account->refs++;
	mutex_unlock(&accounts_mutex);
	if (!account)
		return -ENOMEM;
	charges->account = account;
	charges->exempt = ns_capable_noaudit(&init_user_ns, CAP_SYS_RESOURCE);
	return 0;
}

/**
 * coll_charges_end() - undo coll_charges_begin(), if it was called
 * @charges: everything that was charged has been returned
 *
 * Context: may sleep.
 */
void coll_charges_end(struct coll_charges *charges)
{
	if (!charges->account)
		return;
	WARN_ON_ONCE(atomic64_read(&charges->bytes));
	account_put(charges->account);
	charges->account = NULL;
}

static void charge_refused(const struct coll_account *account, u64 limit)
{
	pr_notice_ratelimited("collective: user %u has reached the limit of kernel memory for groups, %llu MiB (parameter user_memory_mib)\n",
			      from_kuid(&init_user_ns, account->uid), limit >> 20);
}

/**
 * coll_charge() - charge memory before it is allocated
 * @charges: of the member that it is for
 * @bytes: how much
 *
 * Context: any but interrupts.
 * Return: 0, or -EDQUOT: the user's limit is reached, and nothing is charged.
 */
int coll_charge(struct coll_charges *charges, u64 bytes)
{
	u64 limit = charges->exempt ? S64_MAX : account_limit();
	struct coll_account *account = charges->account;
	s64 charged = atomic64_read(&account->bytes);

	/* A charge that is refused makes no other fail meanwhile. */
	do {
		if (charged > limit || bytes > limit - charged) {
			charge_refused(account, limit);
			return -EDQUOT;
		}
	} while (!atomic64_try_cmpxchg(&account->bytes, &charged, charged + bytes));
	atomic64_add(bytes, &charges->bytes);
	return 0;
}

/**
 * coll_uncharge() - return a charge
 * @charges: that were charged
 * @bytes: how much
 *
 * Context: any but interrupts.
 */
void coll_uncharge(struct coll_charges *charges, u64 bytes)
{
	atomic64_sub(bytes, &charges->bytes);
	atomic64_sub(bytes, &charges->account->bytes);
}

/**
 * coll_charge_detach() - a charge outlives the member that it was made through
 * @charges: that were charged
 * @bytes: how much
 *
 * Context: may sleep.
 * Return: the account, for coll_account_return() with as much.
 */
struct coll_account *coll_charge_detach(struct coll_charges *charges, u64 bytes)
{
	struct coll_account *account = charges->account;

	mutex_lock(&accounts_mutex);
	account->refs++;
	mutex_unlock(&accounts_mutex);
	atomic64_sub(bytes, &charges->bytes);
	return account;
}

/**
 * coll_account_return() - return a charge that was detached
 * @account: from coll_charge_detach()
 * @bytes: as much
 *
 * Context: may sleep.
 */
void coll_account_return(struct coll_account *account, u64 bytes)
{
	atomic64_sub(bytes, &account->bytes);
	account_put(account);
}
