/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The ioctls of /dev/collective, one function each.  No other file of the library knows ioctl
 * numbers, sizes of their structs, or EINTR.
 */
#ifndef COLL_DEVICE_H
#define COLL_DEVICE_H

#include <stdbool.h>
#include <sys/socket.h>

#include <linux/collective.h>

#include "error/detail.h"

struct coll_settings;

/** coll_device_open - open the device and check its version; a descriptor or -errno */
int coll_device_open(int nranks, struct coll_detail *detail);

/**
 * coll_device_join - JOIN: become a rank of the group
 * @fd: descriptor of the device
 * @settings: rank, size, name, id, lanes, timeouts, secret, and whether the board is private
 * @addr: in: local address, its port is ignored; out: address to which the kernel is bound
 * @detail: text of a failure
 *
 * Return: 0 or a negative errno.
 */
int coll_device_join(int fd, const struct coll_settings *settings,
		     struct sockaddr_storage *addr, struct coll_detail *detail);

/** coll_device_connect - CONNECT to @npeers ranks, within @timeout_ms */
int coll_device_connect(int fd, const struct sockaddr_storage *peers,
			unsigned int npeers, unsigned int timeout_ms);

/**
 * coll_device_submit - SUBMIT an operation, and wait for its result
 * @fd: descriptor of the device
 * @op: the operation
 * @timeout_ms: time limit of the wait in ms; -1: none; 0: do not wait
 * @request: set to the number of the request if the operation goes on, else to 0
 * @received: set to the number of elements, with F_VARLEN
 *
 * Return: result of the operation, or why it was refused; -EINPROGRESS: it goes on.  A signal may
 * end a wait with a limit early.
 */
int coll_device_submit(int fd, const struct collective_op *op, int timeout_ms, __u64 *request,
		       __u64 *received);

/**
 * coll_device_resume - have the kernel go on with an operation on the board, and wait for it
 * @fd: descriptor of the device
 * @op: the operation
 * @instance: its number
 * @timeout_ms: time limit of the wait in ms; -1: none
 * @request: set as by coll_device_submit()
 *
 * Return: as coll_device_submit().  -EBUSY: the process is still at the operation.  With any other
 * error of a call that cannot begin this rank has given it up.
 */
int coll_device_resume(int fd, const struct collective_op *op, __u64 instance, int timeout_ms,
		       __u64 *request);

/** coll_device_has - has the kernel a feature, COLLECTIVE_FEATURE_*? */
bool coll_device_has(int fd, __u64 feature);

/** coll_device_wake - WAKE the ranks that sleep until something is stored on the board */
void coll_device_wake(int fd);

/** coll_device_abort - ABORT: fail the group */
int coll_device_abort(int fd);

int coll_device_cancel(int fd, __u64 request);

/**
 * coll_device_wait - WAIT: collect the result of one of several requests
 * @fd: descriptor of the device
 * @requests: numbers of the requests
 * @count: number of @requests
 * @timeout_ms: time limit in ms; -1: none; 0: do not wait
 * @which: set to the number of the collected request, or 0
 * @received: set as by coll_device_submit()
 *
 * Return: its result; or -EINPROGRESS or another negative errno if none was collected.  A wait with
 * a limit ends early if a function of the caller's wants it (comm/interrupt.h).
 */
int coll_device_wait(int fd, const __u64 *requests, unsigned int count,
		     int timeout_ms, __u64 *which, __u64 *received);

int coll_device_register(int fd, const void *addr, size_t size,
			 unsigned int flags, __u32 *buffer);
int coll_device_unregister(int fd, __u32 buffer);
int coll_device_status(int fd, struct collective_status *status);
int coll_device_leave(int fd);

#endif /* COLL_DEVICE_H */
