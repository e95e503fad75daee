// SPDX-License-Identifier: GPL-2.0-only
/*
 * The transport of a module of its own: collective_rdma.ko, which needs the kernel's RDMA.
 *
 * The module registers its transport when it is loaded.  A member that listens by RDMA holds a
 * reference to the module from JOIN to the end of its links, so the module is not unloaded while
 * its code may run for a member.
 */
#include <linux/jiffies.h>
#include <linux/kmod.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/string.h>

#include "transport/transport.h"

/*
 * Time after an attempt to load the module in vain before the next one.  Each attempt runs a
 * program and may print, and any user that may join can cause one.
 */
#define LOAD_PAUSE	(10 * HZ)

static DEFINE_MUTEX(rdma_mutex);	/* protects @rdma */
static const struct coll_transport *rdma;

static DEFINE_MUTEX(load_mutex);	/* held while the module is loaded; protects these */
static bool load_failed;
static unsigned long load_failed_at;	/* jiffies */

/**
 * coll_rdma_register() - offer a transport
 * @transport: of a module that is being loaded
 *
 * After an upgrade the file of that module is of another version than this one, which is still
 * loaded; the two may disagree about structs.
 *
 * Context: may sleep.
 * Return: 0, -EBUSY, or -EINVAL: the module has another version than this one.
 */
int coll_rdma_register(const struct coll_transport *transport)
{
	const struct module *module = transport->owner;
	int err = 0;

	if (!module->version || strcmp(module->version, THIS_MODULE->version)) {
		pr_err("collective: %s is of version %s, this module of %s; reload both\n",
		       module->name, module->version ?: "none", THIS_MODULE->version);
		return -EINVAL;
	}
	mutex_lock(&rdma_mutex);
	if (rdma)
		err = -EBUSY;
	else
		WRITE_ONCE(rdma, transport);
	mutex_unlock(&rdma_mutex);
	return err;
}
EXPORT_SYMBOL_GPL(coll_rdma_register);

/**
 * coll_rdma_unregister() - undo coll_rdma_register()
 * @transport: of a module that is being unloaded, so that no member uses it
 *
 * Context: may sleep.
 */
void coll_rdma_unregister(const struct coll_transport *transport)
{
	mutex_lock(&rdma_mutex);
	if (rdma == transport)
		WRITE_ONCE(rdma, NULL);
	mutex_unlock(&rdma_mutex);
}
EXPORT_SYMBOL_GPL(coll_rdma_unregister);

/**
 * coll_rdma_get_loaded() - use RDMA if its module is loaded
 *
 * Context: may sleep.
 * Return: the transport, for coll_rdma_put(); or NULL.
 */
const struct coll_transport *coll_rdma_get_loaded(void)
{
	const struct coll_transport *transport;

	mutex_lock(&rdma_mutex);
	transport = rdma;
	if (transport && !try_module_get(transport->owner))
		transport = NULL;
	mutex_unlock(&rdma_mutex);
	return transport;
}

/* Load the module, unless that has failed a moment ago; load_mutex is held. */
static const struct coll_transport *rdma_load(void)
{
	const struct coll_transport *transport = coll_rdma_get_loaded();

	/* Another thread has loaded it meanwhile. */
	if (transport || (load_failed && time_before(jiffies, load_failed_at + LOAD_PAUSE)))
		return transport;
	/* Whether it was loaded is seen next. */
	request_module("collective_rdma");
	transport = coll_rdma_get_loaded();
	load_failed = !transport;
	load_failed_at = jiffies;
	return transport;
}

/**
 * coll_rdma_get() - use RDMA
 *
 * The module is loaded if it is not, by one thread at a time.
 *
 * Context: process; may sleep.
 * Return: the transport, for coll_rdma_put(); NULL: the kernel has none.
 */
const struct coll_transport *coll_rdma_get(void)
{
	const struct coll_transport *transport = coll_rdma_get_loaded();

	if (transport || mutex_lock_killable(&load_mutex))
		return transport;
	transport = rdma_load();
	mutex_unlock(&load_mutex);
	return transport;
}

/**
 * coll_rdma_put() - undo coll_rdma_get()
 * @transport: its result
 */
void coll_rdma_put(const struct coll_transport *transport)
{
	module_put(transport->owner);
}

/**
 * coll_rdma_registered() - is RDMA offered just now?
 *
 * Context: any.
 */
bool coll_rdma_registered(void)
{
	return READ_ONCE(rdma);
}
