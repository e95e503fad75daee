// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel memory of one user's groups, and its limit.
 *
 * Peers and the user's own calls decide how much is allocated: a link is made when a peer
 * connects, and its size grows with the number of ranks and lanes.  All of it is charged twice:
 * to the memory cgroup of the process that joined (GFP_KERNEL_ACCOUNT; a runner selects the cgroup
 * with set_active_memcg()), and to the user's account in this file.
 *
 * A thread whose cgroup is at its limit sleeps for seconds in an allocation that is charged to it.
 * So none is charged with a lock held that threads of other users take: coll_no_cgroup_begin().
 *
 * An account belongs to a real user ID, as that of RLIMIT_MEMLOCK does.  Members, recorders and
 * lingering sockets hold references to it.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/export.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/ratelimit.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>
#include <linux/xarray.h>

#include "mem/account.h"

/* The default limit of one user is the machine's memory divided by this. */
#define ACCOUNT_DEFAULT_PART	8

static ulong user_memory_mib;
module_param(user_memory_mib, ulong, 0644);
MODULE_PARM_DESC(user_memory_mib, "Limit in MiB for the kernel memory of all groups of one user, without pinned pages. Beyond it calls fail with EDQUOT, unless the process had CAP_SYS_RESOURCE when it joined. 0 (default): an eighth of the machine's memory");

/**
 * struct coll_account - account of one user
 * @uid: real user ID
 * @refs: number of references; protected by accounts_mutex
 * @bytes: bytes charged and not returned [a]
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

/*
 * Find the account of a user, or make it; accounts_mutex is held.  It is not charged: a cgroup at
 * its limit must not keep other users waiting for the mutex.
 *
 * Return: NULL if there is no memory.
 */
static struct coll_account *account_find(kuid_t uid)
{
	struct coll_account *account = xa_load(&accounts, __kuid_val(uid));

	if (account)
		return account;
	account = kzalloc(sizeof(*account), GFP_KERNEL);
	if (!account)
		return NULL;
	account->uid = uid;
	if (xa_err(xa_store(&accounts, __kuid_val(uid), account, GFP_KERNEL))) {
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
 * coll_charges_begin() - attach a member's charges to the account of the calling user
 * @charges: charges of the member, zeroed
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
 * @charges: charges of the member; all of them have been returned
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

/**
 * coll_account_user() - the user of an account, for the kernel's log
 * @account: the account
 *
 * Context: any.
 * Return: its ID in the initial user namespace.
 */
unsigned int coll_account_user(const struct coll_account *account)
{
	return from_kuid(&init_user_ns, account->uid);
}
EXPORT_SYMBOL_GPL(coll_account_user);

static void charge_refused(const struct coll_account *account, u64 limit)
{
	pr_notice_ratelimited("collective: user %u has reached the limit of kernel memory for groups, %llu MiB (parameter user_memory_mib)\n",
			      coll_account_user(account), limit >> 20);
}

/**
 * coll_charge() - charge memory before it is allocated
 * @charges: charges of the member that the memory is for
 * @bytes: number of bytes
 *
 * Context: any but interrupts.
 * Return: 0, or -EDQUOT: the limit of the user would be exceeded; nothing is charged.
 */
int coll_charge(struct coll_charges *charges, u64 bytes)
{
	u64 limit = charges->exempt ? S64_MAX : account_limit();
	struct coll_account *account = charges->account;
	s64 charged = atomic64_read(&account->bytes);

	/* Not added before it is checked: a refused charge must not make another one fail. */
	do {
		if (charged > limit || bytes > limit - charged) {
			charge_refused(account, limit);
			return -EDQUOT;
		}
	} while (!atomic64_try_cmpxchg(&account->bytes, &charged, charged + bytes));
	atomic64_add(bytes, &charges->bytes);
	return 0;
}
EXPORT_SYMBOL_GPL(coll_charge);

/**
 * coll_uncharge() - return a charge
 * @charges: charges of the member that the memory was for
 * @bytes: number of bytes that were charged
 *
 * Context: any but interrupts.
 */
void coll_uncharge(struct coll_charges *charges, u64 bytes)
{
	atomic64_sub(bytes, &charges->bytes);
	atomic64_sub(bytes, &charges->account->bytes);
}
EXPORT_SYMBOL_GPL(coll_uncharge);

/**
 * coll_charge_detach() - let a charge outlive the member
 * @charges: charges of the member
 * @bytes: number of bytes that were charged, and belong to the account alone from now on
 *
 * Context: may sleep.
 * Return: the account, for coll_account_return() with the same number of bytes.
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
EXPORT_SYMBOL_GPL(coll_charge_detach);

/**
 * coll_account_return() - return a detached charge
 * @account: result of coll_charge_detach()
 * @bytes: number of bytes that were detached
 *
 * Context: may sleep.
 */
void coll_account_return(struct coll_account *account, u64 bytes)
{
	atomic64_sub(bytes, &account->bytes);
	account_put(account);
}
EXPORT_SYMBOL_GPL(coll_account_return);

/* The root cgroup, in which the idle task stays; NULL: there are no cgroups. */
static struct mem_cgroup *root_cgroup(void)
{
	struct mem_cgroup *cgroup = NULL;

#ifdef CONFIG_MEMCG
	rcu_read_lock();
	cgroup = mem_cgroup_from_task(&init_task);
	rcu_read_unlock();
#endif
	return cgroup;
}

/**
 * coll_no_cgroup_begin() - charge what this thread allocates to no memory cgroup
 *
 * For locks that threads of other users take, of this module or of the kernel, as that of a folder:
 * a thread whose cgroup is at its limit sleeps in allocations that are charged to it, and all of
 * them would wait.  What is allocated is charged to the user's account.
 *
 * Context: process or work item.
 * Return: for coll_no_cgroup_end().
 */
struct mem_cgroup *coll_no_cgroup_begin(void)
{
	return set_active_memcg(root_cgroup());
}

/**
 * coll_no_cgroup_end() - undo coll_no_cgroup_begin()
 * @cgroup: its result
 */
void coll_no_cgroup_end(struct mem_cgroup *cgroup)
{
	set_active_memcg(cgroup);
}
