/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The ioctls of /dev/collective, one function each.  Nothing else in the
 * library knows a request number, a struct size or an EINTR.
 */
#ifndef COLL_DEVICE_H
#define COLL_DEVICE_H

#include <sys/socket.h>

#include <linux/collective.h>

#include "error/detail.h"

struct coll_settings;

/** coll_device_open - open and check the device; a descriptor or -errno */
int coll_device_open(int nranks, struct coll_detail *detail);

/**
 * coll_device_join - become a rank
 * @fd: device
 * @settings: rank, size, name, number, lanes and times
 * @addr: in: local address, its port ignored; out: the bound address
 * @detail: texts
 */
int coll_device_join(int fd, const struct coll_settings *settings,
		     struct sockaddr_storage *addr, struct coll_detail *detail);

/** coll_device_connect - meet @npeers ranks, within @timeout_ms */
int coll_device_connect(int fd, const struct sockaddr_storage *peers,
			unsigned int npeers, unsigned int timeout_ms);

/** coll_device_submit - do it; @received is set to what came, of what tells its length */
int coll_device_submit(int fd, const struct collective_op *op, __u64 *received);
int coll_device_start(int fd, const struct collective_op *op, __u64 *request);
int coll_device_cancel(int fd, __u64 request);

/**
 * coll_device_wait - collect one of several requests
 * @fd: device
 * @requests: their numbers
 * @count: how many
 * @timeout_ms: -1: as long as it takes; 0: only look
 * @which: set to the number of the one that was collected, or 0
 * @received: of that one, as coll_device_submit() does
 *
 * Return: how it ended; -EINPROGRESS or another errno when none was collected.
 */
int coll_device_wait(int fd, const __u64 *requests, unsigned int count,
		     int timeout_ms, __u64 *which, __u64 *received);

int coll_device_register(int fd, const void *addr, size_t size,
			 unsigned int flags, __u32 *buffer);
int coll_device_unregister(int fd, __u32 buffer);
int coll_device_status(int fd, struct collective_status *status);
int coll_device_leave(int fd);

#endif /* COLL_DEVICE_H */
