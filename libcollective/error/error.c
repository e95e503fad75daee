// SPDX-License-Identifier: LGPL-2.1-or-later
/* Texts of failures: coll_strerror() and coll_error_detail(). */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "comm/cancellation.h"
#include "comm/comm.h"
#include "comm/device.h"
#include "error/failure_text.h"

static const struct {
	int err;
	const char *text;
} errors[] = {
	{ 0, "Success" },
	{ EINVAL, "Malformed call or configuration" },
	{ E2BIG, "The kernel module is older than the program: unknown parameters" },
	{ EFAULT, "Memory that is not mapped, may not be written, or cannot be pinned" },
	{ EOVERFLOW, "Count times the size of the type does not fit the address space" },
	{ EBADMSG, "The ranks' calls do not match" },
	{ EMSGSIZE, "The message is longer than the buffer" },
	{ ECONNRESET, "The group has failed: a peer died, or left while it was needed" },
	{ ETIMEDOUT, "The deadline passed" },
	{ ECANCELED, "A rank cancelled the operation, or this one left the group" },
	{ EPROTO, "A peer broke the protocol" },
	{ EACCES, "Permission denied by the device (see \"collectivectl check\") or by the peers" },
	{ EBUSY, "In use: a rank by another process, or a request that is under way" },
	{ EEXIST, "The group's name is in use with another id, size or lane count" },
	{ EISCONN, "Joined or connected already" },
	{ ENOTCONN, "The group is not connected" },
	{ EPERM, "The calling process is not the one that joined" },
	{ ENOMEM, "Out of memory" },
	{ EDQUOT, "Beyond RLIMIT_MEMLOCK (see ulimit -l), or user_memory_mib or user_queue_pairs" },
	{ EMFILE, "Too many registered buffers or open files" },
	{ ENOENT, "No such device, registered buffer or request; or the request has ended" },
	{ EAGAIN, "Too many requests in flight, or too far ahead of another rank" },
	{ ENOSPC, "Too many messages and keyed operations of the group have failed" },
	{ EINPROGRESS, "Not complete yet: it goes on" },
	{ EALREADY, "The operation is failing already, or the group has failed" },
	{ EOPNOTSUPP, "Not offered by this kernel, library or transport" },
	{ ENOTTY, "Not a collective device, or a call it does not know" },
	{ EINTR, "Interrupted by a signal" },
	{ EADDRINUSE, "Address in use" },
	{ EADDRNOTAVAIL, "No such local address, or no free local port" },
	{ ECONNABORTED, "An earlier group of the process failed in the launcher's exchange" },
	{ ENODEV, "No such device" },
	{ EPROTONOSUPPORT, "Another version of the module or the library, or an iWARP device" },
	{ ENXIO, "No such device: is the kernel module loaded?" },
};

const char *coll_strerror(int err)
{
	size_t i;

	/* Negated as unsigned, because INT_MIN has no negative. */
	if (err < 0)
		err = (int)-(unsigned int)err;
	for (i = 0; i < sizeof(errors) / sizeof(*errors); i++)
		if (errors[i].err == err)
			return errors[i].text;
	return coll_errno_text(err);
}

/* Append the number, or the key and ranks, of an operation. */
static void instance_format(__u64 instance, char *text, size_t size)
{
	const char *how = instance & COLLECTIVE_INSTANCE_KEYED ? "with key " : "";
	unsigned long long number = instance & ~COLLECTIVE_INSTANCE_KEYED;

	if (instance & COLLECTIVE_INSTANCE_MESSAGE)
		snprintf(text, size, " (message %s%llu from rank %u to rank %u)", how,
			 number & COLLECTIVE_KEY_MAX,
			 (unsigned int)COLLECTIVE_INSTANCE_FROM(instance),
			 (unsigned int)COLLECTIVE_INSTANCE_TO(instance));
	else
		snprintf(text, size, " (operation %s%llu)", how, number);
}

void coll_failure_format(const struct collective_reason *reason, char *text,
			 size_t size)
{
	unsigned int a = reason->rank_a, b = reason->rank_b;
	bool pair = b != COLLECTIVE_RANK_NONE;
	char first[32] = "a rank", second[32] = "its peer";
	int length = 0;

	if (a != COLLECTIVE_RANK_NONE)
		snprintf(first, sizeof(first), "rank %u", a);
	if (pair)
		snprintf(second, sizeof(second), "rank %u", b);

	switch (reason->kind) {
	case COLLECTIVE_REASON_NONE:
		text[0] = '\0';
		return;
	case COLLECTIVE_REASON_DEATH:
		length = snprintf(text, size, "%s died", first);
		break;
	case COLLECTIVE_REASON_LEFT:
		length = snprintf(text, size,
				  "%s left the group while it was needed",
				  first);
		break;
	case COLLECTIVE_REASON_MISMATCH:
		length = reason->rank_a == COLLECTIVE_RANK_NONE ?
			 snprintf(text, size,
				  "two ranks have different counts for one another") :
			 snprintf(text, size, "%s and %s made different calls", first, second);
		break;
	case COLLECTIVE_REASON_PROTOCOL:
		if (reason->error == EPROTONOSUPPORT)
			length = snprintf(text, size,
					  "the hosts of %s and %s have modules of different wire versions, which their kernel logs tell",
					  first, second);
		else if (reason->error == EOPNOTSUPP)
			length = snprintf(text, size,
					  "no link between %s and %s: they have chosen different transports, a local one is asked for and not possible, or their byte orders differ",
					  first, second);
		else if (reason->error == EACCES && pair)
			length = snprintf(text, size,
					  "what listens at the address of %s has refused %s: it is of another group, or has another secret",
					  first, second);
		else
			length = snprintf(text, size, pair ?
					  "%s broke the protocol, as seen by %s" :
					  "%s broke the protocol", first, second);
		break;
	case COLLECTIVE_REASON_RESET:
		length = snprintf(text, size,
				  "the connection between %s and %s was reset",
				  first, second);
		break;
	case COLLECTIVE_REASON_SILENCE:
		length = snprintf(text, size,
				  "nothing was heard between %s and %s: a host or the network is down",
				  first, second);
		break;
	case COLLECTIVE_REASON_DEADLINE:
		length = snprintf(text, size, pair ?
				  "the deadline of %s passed while it waited for %s" :
				  "the deadline of %s passed", first, second);
		break;
	case COLLECTIVE_REASON_CANCELLED:
		length = snprintf(text, size, reason->instance != ~0ULL ? "%s cancelled" :
				  a == b ? "%s aborted the group" :
				  "the group was aborted by a command on the host of %s", first);
		break;
	case COLLECTIVE_REASON_RESOURCES:
		length = snprintf(text, size, "%s ran out of memory", first);
		break;
	default:
		length = snprintf(text, size, "reason %u of %s: %s",
				  reason->kind, first,
				  coll_strerror(reason->error));
	}
	if (length > 0 && (size_t)length < size && reason->instance != ~0ULL)
		instance_format(reason->instance, text + length, size - length);
}

/* The ranks report absence within this time in ms after a deadline. */
#define ABSENT_MS	50

/* Maximum number of absent ranks that are described one by one; more do not fit the text. */
#define ABSENT_TOLD	5

/* Is the reason the deadline of an operation for which the ranks report absence? */
static bool tells_absent(const struct collective_reason *reason)
{
	return reason->kind == COLLECTIVE_REASON_DEADLINE &&
	       !(reason->instance & (COLLECTIVE_INSTANCE_KEYED | COLLECTIVE_INSTANCE_MESSAGE));
}

static void __attribute__((format(printf, 3, 4)))
append(char *text, size_t size, const char *format, ...)
{
	size_t length = strlen(text);
	va_list args;

	va_start(args, format);
	vsnprintf(text + length, size - length, format, args);
	va_end(args);
}

/* Append a few absent ranks, each with its last operation. */
static void absents_in_detail(const struct collective_status *status, char *text, size_t size)
{
	unsigned int i;

	for (i = 0; i < status->nabsent; i++) {
		const struct collective_absent *absent = &status->absent[i];

		append(text, size, "%s rank %u", i ? "," : "", absent->rank);
		if (absent->instance == ~0ULL)
			append(text, size, " (no operation yet)");
		else
			append(text, size, " (last: operation %llu, %u.%03u s ago)",
			       (unsigned long long)absent->instance, absent->ms / 1000,
			       absent->ms % 1000);
	}
}

static bool absent_rank(const struct collective_status *status, unsigned int rank)
{
	return rank < COLLECTIVE_RANKS_MAX &&
	       status->absent_ranks[rank / 64] >> rank % 64 & 1;
}

/* Append many absent ranks as ranges: "2-5, 9". */
static void absents_as_ranges(const struct collective_status *status, char *text, size_t size)
{
	const char *before = " ranks ";
	unsigned int rank, last;

	for (rank = 0; rank < COLLECTIVE_RANKS_MAX; rank = last + 1) {
		last = rank;
		if (!absent_rank(status, rank))
			continue;
		while (absent_rank(status, last + 1))
			last++;
		append(text, size, "%s%u", before, rank);
		if (last > rank)
			append(text, size, "-%u", last);
		before = ", ";
	}
}

/* Append the ranks that have not submitted the operation; an older kernel reports none. */
static void append_absents(const struct collective_status *status, char *text, size_t size)
{
	if (!status->nabsent)
		return;
	append(text, size, "; not submitted by");
	if (status->nabsent <= ABSENT_TOLD)
		absents_in_detail(status, text, size);
	else
		absents_as_ranges(status, text, size);
}

/*
 * Format a reason, with the two calls if it is a mismatch of the last operation of this member.
 */
static void detail_format(const struct collective_status *status,
			  const struct collective_reason *reason, char *text,
			  size_t size)
{
	char calls[COLL_DETAIL_SIZE / 2];
	size_t length;

	coll_failure_format(reason, text, size);
	if (tells_absent(reason) && status->absent_instance == reason->instance)
		append_absents(status, text, size);
	if (reason->kind != COLLECTIVE_REASON_MISMATCH ||
	    !coll_calls_format(status->calls, calls, sizeof(calls)))
		return;
	length = strlen(text);
	snprintf(text + length, size - length, ": %s", calls);
}

/* Append what the program has said, if this rank has aborted the group. */
static void append_why_aborted(const struct coll_comm *comm,
			       const struct collective_reason *reason, char *text, size_t size)
{
	const __u32 rank = comm->rank;

	if (comm->why_aborted[0] && reason->kind == COLLECTIVE_REASON_CANCELLED &&
	    reason->rank_a == rank && reason->rank_b == rank)
		append(text, size, ": %s", comm->why_aborted);
}

/* A child can neither take the lock nor ask the device. */
#define FOREIGN	"the calling process is not the one that joined the group"

static void detail_write(struct coll_comm *comm, char *text, size_t size)
{
	struct collective_status status;
	char detail[COLL_DETAIL_SIZE];
	int err = coll_device_status(comm->fd, &status);
	bool last;

	if (!err && tells_absent(&status.last) && status.last_ms < ABSENT_MS) {
		usleep((ABSENT_MS - status.last_ms) * 1000);
		err = coll_device_status(comm->fd, &status);
	}
	/*
	 * For the same failure, the reason of the operation also has its number.  With a number,
	 * however, a group that was aborted would look like an operation that a rank cancelled.
	 */
	last = !status.group.kind || (status.last.kind == status.group.kind &&
				      status.group.kind != COLLECTIVE_REASON_CANCELLED);

	pthread_mutex_lock(&comm->lock);
	if (!err && comm->failure[0] && comm->failure_kind == status.group.kind &&
	    comm->failure_instance == status.last.instance)
		strcpy(detail, comm->failure);
	else if (err)
		snprintf(detail, sizeof(detail), "the device cannot be queried: %s",
			 coll_errno_text(-err));
	else
		detail_format(&status, last ? &status.last : &status.group, detail,
			      sizeof(detail));
	if (!err && !last)
		append_why_aborted(comm, &status.group, detail, sizeof(detail));
	snprintf(text, size, "%s", detail);
	pthread_mutex_unlock(&comm->lock);
}

const char *coll_error_detail(struct coll_comm *comm)
{
	int state;

	if (!comm)
		return "";
	if (coll_comm_is_foreign(comm))
		return FOREIGN;
	state = coll_cancellation_off();
	detail_write(comm, comm->detail, sizeof(comm->detail));
	coll_cancellation_restore(state);
	return comm->detail;
}

int coll_error_detail_r(struct coll_comm *comm, char *detail, size_t size)
{
	int state;

	if (!comm || !detail || !size)
		return -EINVAL;
	if (coll_comm_is_foreign(comm)) {
		snprintf(detail, size, "%s", FOREIGN);
		return 0;
	}
	state = coll_cancellation_off();
	detail_write(comm, detail, size);
	coll_cancellation_restore(state);
	return 0;
}
