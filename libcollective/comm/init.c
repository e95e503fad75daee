// SPDX-License-Identifier: LGPL-2.1-or-later
/* coll_init(): import the configuration, bootstrap and connect. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bootstrap/bootstrap.h"
#include "bootstrap/secret.h"
#include "comm/cancellation.h"
#include "comm/comm.h"
#include "comm/device.h"
#include "comm/interrupt.h"
#include "shrink/check.h"

/*
 * Size of the shortest struct coll_config that is accepted: up to @name.  A number, since
 * sizeof changes when the struct grows.
 */
#define CONFIG_SIZE_MIN	56

/* As of the kernel's structs: a larger size was never set. */
#define CONFIG_SIZE_MAX	4096

/*
 * A struct of at least this size has @detail and @detail_size, even if it is too short
 * otherwise.
 */
#define CONFIG_SIZE_DETAIL	24

_Static_assert(offsetof(struct coll_config, detail_size) + sizeof(size_t) == CONFIG_SIZE_DETAIL &&
	       CONFIG_SIZE_DETAIL <= CONFIG_SIZE_MIN, "every caller's struct has them");
_Static_assert(offsetof(struct coll_config, local_addr) == CONFIG_SIZE_MIN,
	       "what was published does not move");

#define CONFIG_FLAGS	(COLL_CONFIG_INSECURE | COLL_CONFIG_REPRODUCIBLE | COLL_CONFIG_WIDE | \
			 COLL_CONFIG_PRIVATE | COLL_CONFIG_CHECK_DATAGRAMS | \
			 COLL_CONFIG_NOSYNC)

/* Buffer for the text of a failure, also if the rest of the struct is invalid. */
static struct coll_detail detail_of(const struct coll_config *config)
{
	struct coll_detail detail = { 0 };

	if (config && config->size >= CONFIG_SIZE_DETAIL && config->detail && config->detail_size) {
		detail.text = config->detail;
		detail.size = config->detail_size;
		detail.text[0] = '\0';
	}
	return detail;
}

/* Copy a struct of any version to the one of this library; fields that it does not have are 0. */
static int import(struct coll_config *to, const struct coll_config *from,
		  struct coll_detail *detail)
{
	const size_t size = sizeof(*to);
	size_t i;

	memset(to, 0, size);
	if (!from)
		return 0;
	if (from->size < CONFIG_SIZE_MIN)
		return coll_fail(detail, -EINVAL,
				 "size of struct coll_config is %zu, but must be at least %d",
				 from->size, CONFIG_SIZE_MIN);
	if (from->size > CONFIG_SIZE_MAX)
		return coll_fail(detail, -E2BIG,
				 "size of struct coll_config is %zu: it has to be set to sizeof(struct coll_config)",
				 from->size);
	for (i = size; i < from->size; i++)
		if (((const char *)from)[i])
			return coll_fail(detail, -E2BIG,
					 "byte %zu of struct coll_config is set, of which version %d.%d of the library knows %zu",
					 i, COLL_VERSION_MAJOR, COLL_VERSION_MINOR, size);
	memcpy(to, from, from->size < size ? from->size : size);
	if (to->flags & ~CONFIG_FLAGS)
		return coll_fail(detail, -EINVAL, "flags %#x are not known to version %d.%d",
				 to->flags & ~CONFIG_FLAGS, COLL_VERSION_MAJOR,
				 COLL_VERSION_MINOR);
	return to->reserved ? coll_fail(detail, -EINVAL, "a reserved field is not 0") : 0;
}

/*
 * Open the device.  If there is none, the other ranks must be told, which takes two files: the
 * device is opened only if two more can be had.  Return: 0 or a negative errno.
 */
static int open_device(struct coll_comm *comm, struct coll_detail *detail)
{
	int spare[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, spare)) {
		if (errno == EMFILE || errno == ENFILE)
			return coll_fail(detail, -errno, "the device: %s (see ulimit -n)",
					 coll_errno_text(errno));
		/* Without AF_UNIX sockets no files can be reserved. */
		spare[0] = -1;
	}
	comm->fd = coll_device_open(comm->nranks, detail);
	if (spare[0] >= 0) {
		close(spare[0]);
		close(spare[1]);
	}
	return comm->fd < 0 ? comm->fd : 0;
}

/*
 * Tell the other ranks of a failure that precedes the communicator, if they can be reached.
 * Return: @err.
 */
static int report(struct coll_settings *settings, const struct exchange *exchange, int err,
		  struct coll_detail *detail)
{
	coll_fail(detail, err, "%s", coll_strerror(err));
	/* Without a device no rank gets as far as the addresses. */
	if (exchange->ops || err == -ENOMEM)
		(void)bootstrap_run(err, settings, exchange, NULL, detail);
	return err;
}

/* Exchange addresses with the other ranks, JOIN and CONNECT. */
static int connect_group(struct coll_comm *comm, const struct exchange *exchange,
			 struct coll_detail *detail)
{
	int err;

	comm->peers = calloc(comm->nranks, sizeof(*comm->peers));
	if (!comm->peers)
		return report(&comm->settings, exchange, -ENOMEM, detail);
	err = open_device(comm, detail);
	err = bootstrap_run(err ? err : comm->fd, &comm->settings, exchange, comm->peers, detail);
	if (err)
		return err;
	comm->rank = comm->settings.rank;
	comm->addr = comm->peers[comm->rank];
	err = coll_comm_connect(comm, comm->peers, detail);
	if (!err && comm->settings.check_datagrams)
		err = coll_shrink_check(comm, detail);
	return err;
}

/* A rank with a faulty configuration takes part, so that the others learn of it. */
static int report_configuration(struct coll_settings *settings, const struct coll_config *config,
				int err, struct coll_detail *detail)
{
	struct coll_detail none = { NULL, 0 };
	struct exchange exchange;

	if (!settings->nranks || exchange_select(&exchange, settings, config, &none))
		return err;
	return report(settings, &exchange, err, detail);
}

static int init_comm(struct coll_comm **comm, const struct coll_config *config,
		     struct coll_detail *detail)
{
	struct coll_settings settings;
	struct exchange exchange;
	struct coll_comm *made;
	int err = coll_config_read(&settings, config, detail);

	if (err)
		return report_configuration(&settings, config, err, detail);
	err = exchange_select(&exchange, &settings, config, detail);
	if (err) {
		coll_secret_put(settings.secret);
		return err;
	}
	made = coll_comm_new(&settings);
	if (!made)
		report(&settings, &exchange, -ENOMEM, detail);
	coll_secret_put(settings.secret);
	if (!made)
		return -ENOMEM;
	err = connect_group(made, &exchange, detail);
	if (err)
		coll_comm_free(made);
	else
		*comm = made;
	return err;
}

/* As init_comm(), until the caller wants the end. */
static int init_interruptible(struct coll_comm **comm, const struct coll_config *config,
			      struct coll_detail *detail)
{
	struct coll_interrupt interrupt;
	char why[COLL_DETAIL_SIZE];
	struct coll_config known;
	int err = import(&known, config, detail);

	if (err)
		return err;
	coll_interrupt_begin(&interrupt, known.interrupt, known.interrupt_context);
	err = init_comm(comm, &known, detail);
	if (!coll_interrupt_end(&interrupt) || !err)
		return err;
	snprintf(why, sizeof(why), "%s", *detail->text ? detail->text : coll_strerror(err));
	detail->text[0] = '\0';
	return coll_fail(detail, -ECANCELED, "interrupted: %s", why);
}

int coll_init(struct coll_comm **comm, const struct coll_config *config)
{
	struct coll_detail detail = detail_of(config);
	const int state = coll_cancellation_off();
	char text[COLL_DETAIL_SIZE] = "";
	struct coll_detail mine = { text, sizeof(text) };
	int err;

	if (!comm) {
		coll_cancellation_restore(state);
		return coll_fail(&detail, -EINVAL, "there is no place for the communicator");
	}
	*comm = NULL;
	err = init_interruptible(comm, config, &mine);
	coll_cancellation_restore(state);
	/* For failures without a text of their own. */
	return err ? coll_fail(&detail, err, "%s", *text ? text : coll_strerror(err)) : 0;
}

unsigned int coll_version(void)
{
	return COLL_VERSION;
}
