// SPDX-License-Identifier: LGPL-2.1-or-later
/* Communicators: allocation, CONNECT, and the functions that query them. */
#include <errno.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "board/mapping.h"
#include "bootstrap/address.h"
#include "bootstrap/rejoin_port.h"
#include "bootstrap/secret.h"
#include "comm/cancellation.h"
#include "comm/comm.h"
#include "comm/deadline.h"
#include "comm/device.h"
#include "comm/process.h"
#include "error/detail.h"
#include "error/failure_text.h"
#include "shrink/shrink.h"

/* A child's name ends with a point and these many digits, a digest of its id. */
#define NUMBER_LENGTH	16
#define STEM_MAX	(COLLECTIVE_NAME_MAX - NUMBER_LENGTH - 1)

bool coll_comm_is_foreign(const struct coll_comm *comm)
{
	return comm->process != coll_process_number();
}

int coll_comm_lock(struct coll_comm *comm)
{
	if (coll_comm_is_foreign(comm))
		return -EPERM;
	pthread_mutex_lock(&comm->lock);
	return 0;
}

void coll_comm_unlock(struct coll_comm *comm)
{
	pthread_mutex_unlock(&comm->lock);
}

struct coll_comm *coll_comm_new(const struct coll_settings *settings)
{
	struct coll_comm *comm = calloc(1, sizeof(*comm));

	if (!comm)
		return NULL;
	comm->exchange = calloc(settings->nranks, COLL_RECORD_SIZE);
	if (!comm->exchange) {
		free(comm);
		return NULL;
	}
	comm->fd = -1;
	comm->process = coll_process_number();
	comm->rank = settings->rank;
	comm->nranks = settings->nranks;
	comm->settings = *settings;
	coll_secret_get(comm->settings.secret);
	pthread_mutex_init(&comm->lock, NULL);
	pthread_mutex_init(&comm->split_lock, NULL);
	return comm;
}

/*
 * Number in a child's name, which every user sees.  The ids of the child and its parent, which
 * admit to groups without a secret, do not follow from it.
 */
static __u64 name_number(__u64 id)
{
	struct sha256_ctx ctx;
	__u64 number;

	sha256_init(&ctx);
	sha256_update(&ctx, sizeof(id), (const uint8_t *)&id);
	sha256_digest(&ctx, sizeof(number), (uint8_t *)&number);
	return number;
}

struct coll_comm *coll_comm_child(const struct coll_comm *parent, struct coll_settings *settings)
{
	size_t stem = parent->name_stem ?: strnlen(parent->settings.name, STEM_MAX);
	struct coll_comm *child;

	snprintf(settings->name, sizeof(settings->name), "%.*s.%016llx", (int)stem,
		 parent->settings.name, (unsigned long long)name_number(settings->id));
	settings->rejoin_fd = -1;
	/* It names ranks by their numbers in the parent. */
	settings->places[0] = '\0';
	child = coll_comm_new(settings);
	if (!child)
		return NULL;
	child->name_stem = stem;
	child->addr = parent->addr;
	return child;
}

void coll_comm_free(struct coll_comm *comm)
{
	if (!comm)
		return;
	coll_mapping_free(comm->mapping, !coll_comm_is_foreign(comm));
	if (comm->fd >= 0)
		close(comm->fd);
	coll_rejoin_port_close(&comm->settings);
	coll_shrink_free(comm->shrink);
	coll_request_free_all(comm);
	coll_mem_free_all(comm);
	if (!coll_comm_is_foreign(comm)) {
		pthread_mutex_destroy(&comm->split_lock);
		pthread_mutex_destroy(&comm->lock);
	}
	free(comm->exchange);
	coll_secret_put(comm->settings.secret);
	free(comm->peers);
	free(comm);
}

/* Format the address of a rank that a reason names; nothing if it names none. */
static void format_place(const struct coll_comm *comm, unsigned int rank, char *text, size_t size)
{
	const size_t used = strlen(text);
	char address[COLL_ADDRESS_TEXT];

	if (rank >= (unsigned int)comm->nranks)
		return;
	coll_address_format(&comm->peers[rank], address);
	snprintf(text + used, size - used, "; rank %u listens at %s", rank, address);
}

/*
 * Why CONNECT has failed.  An error of this host's network, such as ENETUNREACH, is not that of the
 * reason, for which all ranks have the same errno.
 */
static void format_why(const struct collective_reason *reason, int err, char *text, size_t size)
{
	if (reason->kind != COLLECTIVE_REASON_RESET)
		coll_failure_format(reason, text, size);
	else if (reason->error == (__u32)-err)
		snprintf(text, size,
			 "the connection between rank %u and rank %u could not be made, or was reset",
			 reason->rank_a, reason->rank_b);
	else
		snprintf(text, size, "rank %u cannot be called: %s", reason->rank_b,
			 coll_errno_text(-err));
}

/* Without a mapping, as in a kernel that has none, the kernel executes all operations. */
static void map_board(struct coll_comm *comm)
{
	if (!comm->settings.private)
		comm->mapping = coll_mapping_new(comm->fd, comm->rank, comm->nranks,
						 comm->settings.algorithm);
}

bool coll_comm_knows_nosync(struct coll_comm *comm)
{
	enum coll_feature nosync = __atomic_load_n(&comm->nosync, __ATOMIC_RELAXED);

	if (nosync == COLL_FEATURE_UNASKED) {
		nosync = coll_device_has(comm->fd, COLLECTIVE_FEATURE_NOSYNC) ?
			 COLL_FEATURE_KNOWN : COLL_FEATURE_MISSING;
		/* Other threads find the same. */
		__atomic_store_n(&comm->nosync, nosync, __ATOMIC_RELAXED);
	}
	return nosync == COLL_FEATURE_KNOWN;
}

int coll_comm_connect(struct coll_comm *comm,
		      const struct sockaddr_storage *peers,
		      struct coll_detail *detail)
{
	const struct coll_settings *settings = &comm->settings;
	char why[COLL_DETAIL_SIZE / 2] = "", where[2 * COLL_ADDRESS_TEXT + 64] = "";
	const size_t size = comm->nranks * sizeof(*peers);
	struct collective_status status;
	int err;

	if (!comm->peers) {
		comm->peers = malloc(size);
		if (!comm->peers)
			return coll_fail(detail, -ENOMEM, "no memory");
		memcpy(comm->peers, peers, size);
	}
	err = coll_device_connect(comm->fd, peers, comm->nranks,
				  coll_deadline_left(settings->deadline));
	if (!err) {
		map_board(comm);
		if (settings->nosync)
			coll_comm_knows_nosync(comm);
	}
	if (!err || err == -EINPROGRESS)
		return err;
	if (!coll_device_status(comm->fd, &status)) {
		format_why(&status.group, err, why, sizeof(why));
		format_place(comm, status.group.rank_a, where, sizeof(where));
		format_place(comm, status.group.rank_b, where, sizeof(where));
	}
	return coll_fail(detail, err,
			 "group %s: rank %d cannot connect to its peers: %s%s%s%s",
			 settings->name, settings->rank, *why ? why : coll_strerror(err), where,
			 settings->places[0] ? "; " : "", settings->places);
}

void coll_comm_set_failure(struct coll_comm *comm, const char *text)
{
	struct collective_status status = { 0 };

	if (*text)
		coll_device_status(comm->fd, &status);
	if (coll_comm_lock(comm))
		return;
	strcpy(comm->failure, text);
	comm->failure_instance = status.last.instance;
	comm->failure_kind = status.group.kind;
	coll_comm_unlock(comm);
}

int coll_rank(const struct coll_comm *comm)
{
	return comm ? comm->rank : -EINVAL;
}

int coll_size(const struct coll_comm *comm)
{
	return comm ? comm->nranks : -EINVAL;
}

size_t coll_small_bytes(const struct coll_comm *comm)
{
	return comm && comm->mapping ? COLL_MAPPING_BYTES : 0;
}

const char *coll_name(const struct coll_comm *comm)
{
	return comm ? comm->settings.name : NULL;
}

int coll_comm_failed(struct coll_comm *comm)
{
	struct collective_status status;
	int err;

	if (!comm)
		return -EINVAL;
	if (coll_comm_is_foreign(comm))
		return -EPERM;
	err = coll_device_status(comm->fd, &status);
	if (err || status.group.kind == COLLECTIVE_REASON_NONE)
		return err;
	return status.group.error ? -(int)status.group.error : -ECONNRESET;
}

int coll_finalize(struct coll_comm *comm)
{
	int state, err;

	if (!comm)
		return 0;
	state = coll_cancellation_off();
	if (coll_comm_is_foreign(comm))
		err = -EPERM;
	else
		err = comm->has_left ? 0 : coll_device_leave(comm->fd);
	coll_comm_free(comm);
	coll_cancellation_restore(state);
	return err;
}
