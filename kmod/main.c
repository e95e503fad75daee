// SPDX-License-Identifier: GPL-2.0-only
#include <linux/module.h>
#include <linux/random.h>

#include "dev/dev.h"
#include "exec/closing.h"
#include "core/engine/instance.h"
#include "exec/fpu.h"
#include "exec/runner.h"
#include "fail/failed_ops.h"
#include "mem/folio.h"
#include "member/exit.h"
#include "net/conn.h"
#include "net/link.h"
#include "netlink/family.h"
#include "trace/recorder.h"

static int __init collective_init(void)
{
	int err;

	err = coll_runner_setup();
	if (err)
		return err;
	err = coll_closing_setup();
	if (err)
		goto runner;
	err = coll_folios_setup();
	if (err)
		goto closing;
	err = coll_failed_ops_setup();
	if (err)
		goto folios;
	err = coll_conn_setup();
	if (err)
		goto failed_ops;
	err = coll_link_setup();
	if (err)
		goto conn;
	coll_instance_hash_factor = get_random_u64() | 1;
	err = coll_fpu_setup();
	if (err)
		goto link;
	coll_recorder_setup();
	coll_exit_setup();
	err = coll_netlink_setup();
	if (err)
		goto exit;
	err = coll_dev_setup();
	if (err)
		goto netlink;
	pr_info("collective: ready, reductions by %s\n", coll_fpu_reductions()->name);
	return 0;

netlink:
	coll_netlink_cleanup();
exit:
	coll_exit_cleanup();
	coll_recorder_cleanup();
	coll_fpu_cleanup();
link:
	coll_link_cleanup();
conn:
	coll_conn_cleanup();
failed_ops:
	coll_failed_ops_cleanup();
folios:
	coll_folios_cleanup();
closing:
	coll_closing_cleanup();
runner:
	coll_runner_cleanup();
	return err;
}

static void __exit collective_exit(void)
{
	/* Members that a work item closes are still in groups. */
	coll_closing_wait();
	coll_dev_cleanup();
	coll_netlink_cleanup();
	coll_exit_cleanup();
	coll_recorder_cleanup();
	coll_fpu_cleanup();
	/* No member is left after this. */
	coll_closing_cleanup();
	coll_link_cleanup();
	coll_conn_cleanup();
	coll_failed_ops_cleanup();
	coll_folios_cleanup();
	coll_runner_cleanup();
}

module_init(collective_init);
module_exit(collective_exit);

MODULE_AUTHOR("The collective authors");
MODULE_DESCRIPTION("Collective operations without copies: same host, TCP, RDMA");
MODULE_LICENSE("GPL");
MODULE_VERSION(COLL_VERSION);
