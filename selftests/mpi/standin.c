// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stands in for libcollective and the kernel where there is no module: a library to preload.
 *
 * An operation is a file of each rank, with its arguments and its input; it is complete when the
 * files of all ranks are there.  What the kernel refuses is refused here, too: addresses that are
 * not aligned, buffers that overlap, calls that do not match, more memory than may be locked,
 * buffers that cannot be accessed or pinned.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>
#include <linux/collective.h>

#include "collective.h"

#define RANKS_MAX	16
#define PATH_SIZE	200
#define BUFFERS_MAX	8

/* Registered memory; a number is an index, from 1. */
struct buffer {
	const char *addr;
	size_t size;
	bool writable;
};

struct coll_comm {
	char folder[64];
	int rank;
	int size;
	unsigned long long submitted;
	struct buffer buffers[BUFFERS_MAX];
};

/* The arguments of an operation that other ranks need, at the beginning of its file. */
struct header {
	struct collective_op op;
	int rank;
	__u64 counts[RANKS_MAX];	/* elements of each block of the input */
};

/**
 * struct coll_request - operation under way
 * @name: of its files
 * @pinned: bytes of both buffers, unless they are registered
 * @layout: arrays of its layout, as far as they are given
 */
struct coll_request {
	struct coll_comm *comm;
	struct collective_op op;
	char name[48];
	size_t pinned;
	bool given[4];
	__u64 layout[4][RANKS_MAX];
};

enum { SEND_COUNTS, SEND_DISPLS, RECV_COUNTS, RECV_DISPLS };

/* Why the latest operation failed. */
static char detail[256];
/* Bytes of all operations under way. */
static size_t pinned;

static int fail(int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(detail, sizeof(detail), format, args);
	va_end(args);
	return err;
}

static int refuse(int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "standin: ");
	vfprintf(stderr, format, args);
	fprintf(stderr, "\n");
	va_end(args);
	return err;
}

/* The device is there. */
int access(const char *path, int mode)
{
	return strcmp(path, "/dev/collective") ? euidaccess(path, mode) : 0;
}

/* Open MPI's, where it is built with support of GPUs. */
extern bool opal_cuda_support __attribute__((weak));

/*
 * Ranks may have different versions of the library, and Open MPI its support of GPUs.  The
 * component asks for the version when Open MPI has read its own parameters.
 */
unsigned int coll_version(void)
{
	const char *version = getenv("STANDIN_VERSION");

	if (&opal_cuda_support && getenv("STANDIN_GPUS"))
		opal_cuda_support = true;
	return version ? strtoul(version, NULL, 0) : COLL_VERSION;
}

int coll_init(struct coll_comm **comm, const struct coll_config *config)
{
	struct coll_comm *new = calloc(1, sizeof(*new));
	char mine[sizeof(new->folder)] = "";
	char *all = calloc(config->nranks, sizeof(mine));

	new->rank = config->rank;
	new->size = config->nranks;
	snprintf(mine, sizeof(mine), "%s/XXXXXX", getenv("STANDIN") ?: "/dev/shm");
	if (!new->rank && !mkdtemp(mine))
		return refuse(-errno, "%s", mine);
	if (new->size > RANKS_MAX ||
	    config->exchange(config->exchange_context, mine, sizeof(mine), all))
		return refuse(-EIO, "no exchange");
	memcpy(new->folder, all, sizeof(mine));
	free(all);
	*comm = new;
	return 0;
}

int coll_finalize(struct coll_comm *comm)
{
	char path[PATH_SIZE];
	FILE *file;
	int i;

	if (!comm)
		return 0;
	for (i = 0; i < BUFFERS_MAX; i++)
		pinned -= comm->buffers[i].size;
	snprintf(path, sizeof(path), "%s/left.%d", comm->folder, comm->rank);
	file = fopen(path, "w");
	if (file)
		fclose(file);
	free(comm);
	return 0;
}

/* Small calls are executed like all others here; whether they are taken is what is tested. */
size_t coll_small_bytes(const struct coll_comm *comm)
{
	(void)comm;
	return getenv("COLL_PRIVATE") ? 0 : 48;
}

const char *coll_name(const struct coll_comm *comm)
{
	return comm->folder;
}

const char *coll_strerror(int err)
{
	return err == -EMSGSIZE ? "The message is longer than the buffer" : strerror(-err);
}

int coll_error_detail_r(struct coll_comm *comm, char *text, size_t size)
{
	(void)comm;
	/* It stays until the next failure, as that of the library does. */
	snprintf(text, size, "%s", detail);
	return 0;
}

/* ---- submission ---- */

static void file_name(const struct coll_request *request, int rank, char *path)
{
	snprintf(path, PATH_SIZE, "%s/%s.%d", request->comm->folder, request->name, rank);
}

/* A key may be used again; then the files have the next number. */
static void name_request(struct coll_request *request)
{
	struct coll_comm *comm = request->comm;
	const bool keyed = request->op.flags & COLLECTIVE_F_KEYED;
	const unsigned long long number = keyed ? request->op.key : comm->submitted++;
	char path[PATH_SIZE];
	struct stat stat_of;
	int use = 0;

	do {
		snprintf(request->name, sizeof(request->name), "%c%llu.%d", keyed ? 'k' : 'n',
			 number, use++);
		file_name(request, comm->rank, path);
	} while (!stat(path, &stat_of));
}

static int read_layout(struct coll_request *request)
{
	const struct collective_layout *layout = (void *)(uintptr_t)request->op.layout;
	__u64 arrays[4];
	int i;

	if (!layout)
		return request->op.flags & COLLECTIVE_F_VECTOR ? refuse(-EINVAL, "no layout") : 0;
	if (layout->size != sizeof(*layout) || !(request->op.flags & COLLECTIVE_F_VECTOR))
		return refuse(-EINVAL, "bad layout");
	arrays[SEND_COUNTS] = layout->send_counts;
	arrays[SEND_DISPLS] = layout->send_displs;
	arrays[RECV_COUNTS] = layout->recv_counts;
	arrays[RECV_DISPLS] = layout->recv_displs;
	for (i = 0; i < 4; i++) {
		request->given[i] = arrays[i];
		if (arrays[i])
			memcpy(request->layout[i], (void *)(uintptr_t)arrays[i],
			       request->comm->size * sizeof(__u64));
	}
	return 0;
}

/* Elements of a block, and where it begins; @counts: SEND_COUNTS or RECV_COUNTS. */
static size_t block(const struct coll_request *request, int counts, int rank, size_t *at)
{
	int i;

	*at = 0;
	if (!request->given[counts]) {
		*at = rank * request->op.count;
		return request->op.count;
	}
	for (i = 0; i < rank; i++)
		*at += request->layout[counts][i];
	if (request->given[counts + 1])
		*at = request->layout[counts + 1][rank];
	return request->layout[counts][rank];
}

static bool is_root(const struct coll_request *request)
{
	return (int)request->op.root == request->comm->rank;
}

/* Number of blocks of the input of this rank. */
static int input_blocks(const struct coll_request *request)
{
	switch (request->op.opcode) {
	case COLLECTIVE_BARRIER:
		return 0;
	case COLLECTIVE_BROADCAST:
		return is_root(request);
	case COLLECTIVE_SCATTER:
		return is_root(request) ? request->comm->size : 0;
	case COLLECTIVE_ALLTOALL:
	case COLLECTIVE_REDUCE_SCATTER:
		return request->comm->size;
	default:
		return 1;
	}
}

/* The counts of the result are also those of the input of a reduce_scatter here. */
static int input_counts(const struct coll_request *request)
{
	return request->op.opcode == COLLECTIVE_REDUCE_SCATTER ? RECV_COUNTS : SEND_COUNTS;
}

static int write_input(struct coll_request *request)
{
	const struct collective_op *op = &request->op;
	const size_t size = coll_type_size((enum coll_type)op->type);
	const char *send = (char *)(uintptr_t)op->send;
	const int blocks = input_blocks(request), me = request->comm->rank;
	const int counts = input_counts(request);
	struct header header = { .op = *op, .rank = me };
	char path[PATH_SIZE], temporary[PATH_SIZE + 8];
	size_t at = 0;
	FILE *file;
	int i;

	/* In place, the input is this rank's block of the result. */
	if (op->send == op->recv && (op->opcode == COLLECTIVE_ALLGATHER ||
				     (op->opcode == COLLECTIVE_GATHER && is_root(request)))) {
		block(request, RECV_COUNTS, me, &at);
		send += at * size;
	}
	for (i = 0; i < blocks; i++)
		header.counts[i] = blocks > 1 ? block(request, counts, i, &at) : op->count;
	file_name(request, me, path);
	snprintf(temporary, sizeof(temporary), "%s.new", path);
	file = fopen(temporary, "w");
	if (!file)
		return refuse(-errno, "%s", temporary);
	fwrite(&header, sizeof(header), 1, file);
	for (i = 0; i < blocks; i++) {
		at = 0;
		if (blocks > 1)
			block(request, counts, i, &at);
		fwrite(send + at * size, size, header.counts[i], file);
	}
	fclose(file);
	rename(temporary, path);
	return 0;
}

/* Bytes of both buffers; those of a layout, and of registered buffers, are not limited here. */
static size_t pinned_of(const struct coll_comm *comm, const struct collective_op *op)
{
	const bool blocks = op->opcode == COLLECTIVE_ALLGATHER ||
			    op->opcode == COLLECTIVE_ALLTOALL ||
			    op->opcode == COLLECTIVE_GATHER || op->opcode == COLLECTIVE_SCATTER;

	/* As in the kernel, an input without a number is pinned also where it is in place. */
	if (op->layout || (op->send_buffer && op->recv_buffer))
		return 0;
	return 2 * op->count * coll_type_size((enum coll_type)op->type) * (blocks ? comm->size : 1);
}

/* The limit is that of a user, whose processes all ranks are; with CAP_IPC_LOCK there is none. */
static size_t lockable(const struct coll_comm *comm)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };
	struct rlimit limit;

	syscall(SYS_capget, &header, data);
	if (data[0].effective & 1U << CAP_IPC_LOCK)
		return SIZE_MAX;
	getrlimit(RLIMIT_MEMLOCK, &limit);
	return limit.rlim_cur / comm->size;
}

/*
 * Can the first byte be pinned?  Mappings of files in the folder MAPPED cannot; the kernel refuses
 * an input only in those of a device.
 */
static bool can_pin(unsigned long long addr, const char *access)
{
	const char *folder = getenv("MAPPED");
	unsigned long long from, to;
	bool found = false;
	char line[512];
	FILE *file;

	if (!folder)
		return true;
	file = fopen("/proc/self/maps", "r");
	while (!found && fgets(line, sizeof(line), file))
		found = sscanf(line, "%llx-%llx", &from, &to) == 2 && addr >= from && addr < to;
	fclose(file);
	return found && strstr(line, access) && !strstr(line, folder);
}

int coll_register(struct coll_comm *comm, const void *addr, size_t size, unsigned int flags)
{
	const bool writable = !(flags & COLL_REGISTER_READ_ONLY);
	int i = 0;

	if (!can_pin((uintptr_t)addr, writable ? " rw" : " r"))
		return fail(-EFAULT, "a buffer cannot be pinned");
	if (pinned + size > lockable(comm))
		return -EDQUOT;
	while (i < BUFFERS_MAX && comm->buffers[i].size)
		if (comm->buffers[i++].addr == addr)
			return refuse(-EEXIST, "%p is registered", addr);
	if (i == BUFFERS_MAX)
		return refuse(-EMFILE, "too many buffers");
	comm->buffers[i] = (struct buffer){ .addr = addr, .size = size, .writable = writable };
	pinned += size;
	return 0;
}

int coll_unregister(struct coll_comm *comm, const void *addr)
{
	struct buffer *buffer;

	for (buffer = comm->buffers; buffer < comm->buffers + BUFFERS_MAX; buffer++)
		if (buffer->size && buffer->addr == addr) {
			pinned -= buffer->size;
			*buffer = (struct buffer){ 0 };
			return 0;
		}
	return refuse(-ENOENT, "%p is not registered", addr);
}

static bool contains(const struct buffer *buffer, const char *addr, size_t size, bool write)
{
	return buffer->size >= size && addr >= buffer->addr &&
	       addr + size <= buffer->addr + buffer->size && (buffer->writable || !write);
}

unsigned int coll_mem_number(struct coll_comm *comm, const void *addr, size_t size, int write)
{
	int i;

	for (i = 0; i < BUFFERS_MAX; i++)
		if (comm->buffers[i].size && contains(&comm->buffers[i], addr, size, write))
			return i + 1;
	return 0;
}

/* Number of elements of the result of this rank. */
static size_t result_elements(const struct coll_request *request)
{
	const struct collective_op *op = &request->op;
	const bool root = is_root(request);
	size_t all = 0, at;
	int i;

	for (i = 0; i < request->comm->size; i++)
		all += block(request, RECV_COUNTS, i, &at);
	switch (op->opcode) {
	case COLLECTIVE_BROADCAST:
		return root ? 0 : op->count;
	case COLLECTIVE_SCATTER:
		return root && op->send == op->recv ? 0 : op->count;
	case COLLECTIVE_REDUCE:
		return root ? op->count : 0;
	case COLLECTIVE_GATHER:
		return root ? all : 0;
	case COLLECTIVE_ALLGATHER:
	case COLLECTIVE_ALLTOALL:
		return all;
	default:
		return op->count;
	}
}

/* Number of elements of the input of this rank. */
static size_t input_elements(const struct coll_request *request)
{
	const int blocks = input_blocks(request);
	size_t all = 0, at;
	int i;

	for (i = 0; blocks > 1 && i < blocks; i++)
		all += block(request, input_counts(request), i, &at);
	return blocks == 1 ? request->op.count : all;
}

/*
 * An operation has its buffers, or pins them.  What it needs of a registered one is not all that it
 * touches where there are blocks with gaps between them.
 */
static int take_buffer(const struct coll_request *request, unsigned int number,
		       unsigned long long addr, size_t elements, bool write)
{
	const size_t size = elements * coll_type_size((enum coll_type)request->op.type);

	if (!elements)
		return 0;
	if (!number)
		return can_pin(addr, write ? " rw" : " r") ? 0 :
		       fail(-EFAULT, "a buffer cannot be pinned");
	if (number > BUFFERS_MAX || !request->comm->buffers[number - 1].size)
		return refuse(-ENOENT, "there is no buffer %u", number);
	return contains(&request->comm->buffers[number - 1], (char *)(uintptr_t)addr, size, write) ?
	       0 : refuse(-EINVAL, "%#llx is not in buffer %u", addr, number);
}

static int take_buffers(const struct coll_request *request)
{
	const struct collective_op *op = &request->op;

	const size_t result = result_elements(request);
	const size_t input = result && op->send == op->recv ? 0 : input_elements(request);

	return take_buffer(request, op->recv_buffer, op->recv, result, true) ?:
	       take_buffer(request, op->send_buffer, op->send, input, false);
}

/* The bindings try a group out; its files would tell nothing that they do not find later. */
int coll_allreduce(struct coll_comm *comm, const void *send, void *recv, size_t count,
		   enum coll_type type, enum coll_op op)
{
	(void)comm;
	(void)type;
	(void)op;
	memcpy(recv, send, count * sizeof(int));
	return 0;
}

int coll_isubmit(struct coll_comm *comm, const struct collective_op *op,
		 struct coll_request **request)
{
	const size_t size = coll_type_size((enum coll_type)op->type);
	struct coll_request *new = calloc(1, sizeof(*new));
	int err;

	new->comm = comm;
	new->op = *op;
	new->pinned = pinned_of(comm, op);
	if (new->pinned && pinned + new->pinned > lockable(comm)) {
		free(new);
		return -EDQUOT;
	}
	if (op->opcode == COLLECTIVE_BARRIER ? op->send || op->recv || op->count :
	    op->send % size || op->recv % size)
		return refuse(-EINVAL, "addresses of opcode %d", op->opcode);
	err = read_layout(new);
	if (err)
		return err;
	err = take_buffers(new);
	if (err) {
		free(new);
		return err;
	}
	name_request(new);
	pinned += new->pinned;
	*request = new;
	return write_input(new);
}

/* ---- completion ---- */

#define ARITHMETIC(type)							\
	do {									\
		type *a = (type *)left;						\
		const type *b = (const type *)right;				\
		size_t i;							\
										\
		for (i = 0; i < count; i++)					\
			a[i] = reduction == COLLECTIVE_SUM ? a[i] + b[i] :	\
			       reduction == COLLECTIVE_PROD ? a[i] * b[i] :	\
			       reduction == COLLECTIVE_MIN ?			\
			       (a[i] < b[i] ? a[i] : b[i]) :			\
			       reduction == COLLECTIVE_MAX ?			\
			       (a[i] > b[i] ? a[i] : b[i]) :			\
			       reduction == COLLECTIVE_LAND ? a[i] && b[i] :	\
			       reduction == COLLECTIVE_LOR ? a[i] || b[i] :	\
			       !a[i] != !b[i];					\
	} while (0)

static void combine(int type, int reduction, char *left, const char *right, size_t count)
{
	const size_t bytes = count * coll_type_size((enum coll_type)type);
	size_t i;

	if (reduction >= COLLECTIVE_BAND && reduction <= COLLECTIVE_BXOR) {
		for (i = 0; i < bytes; i++)
			left[i] = reduction == COLLECTIVE_BAND ? left[i] & right[i] :
				  reduction == COLLECTIVE_BOR ? left[i] | right[i] :
				  left[i] ^ right[i];
		return;
	}
	switch (type) {
	case COLLECTIVE_INT8:
		ARITHMETIC(int8_t);
		break;
	case COLLECTIVE_UINT8:
		ARITHMETIC(uint8_t);
		break;
	case COLLECTIVE_INT16:
		ARITHMETIC(int16_t);
		break;
	case COLLECTIVE_UINT16:
		ARITHMETIC(uint16_t);
		break;
	case COLLECTIVE_INT32:
		ARITHMETIC(int32_t);
		break;
	case COLLECTIVE_UINT32:
		ARITHMETIC(uint32_t);
		break;
	case COLLECTIVE_INT64:
		ARITHMETIC(int64_t);
		break;
	case COLLECTIVE_UINT64:
		ARITHMETIC(uint64_t);
		break;
	case COLLECTIVE_FLOAT32:
		ARITHMETIC(float);
		break;
	default:
		ARITHMETIC(double);
	}
}

/* The file of a rank in memory, or NULL: it is not there yet. */
static struct header *read_file(const struct coll_request *request, int rank)
{
	char path[PATH_SIZE];
	struct stat stat_of;
	char *data;
	FILE *file;

	file_name(request, rank, path);
	file = fopen(path, "r");
	if (!file)
		return NULL;
	fstat(fileno(file), &stat_of);
	data = malloc(stat_of.st_size);
	if (fread(data, 1, stat_of.st_size, file) != (size_t)stat_of.st_size)
		abort();
	fclose(file);
	return (struct header *)data;
}

static char *data_of(struct header *header)
{
	return (char *)(header + 1);
}

static bool calls_match(const struct collective_op *a, const struct collective_op *b)
{
	return a->opcode == b->opcode && a->type == b->type && a->reduction == b->reduction &&
	       a->flags == b->flags && a->root == b->root &&
	       (a->count == b->count || a->flags & COLLECTIVE_F_VECTOR);
}

/* Copy the block for this rank out of the input of rank @from, to where block @to belongs. */
static int take_block(const struct coll_request *request, struct header *from, int which, int to,
		      int counts)
{
	const size_t size = coll_type_size((enum coll_type)request->op.type);
	size_t at, skip = 0, count = request->op.count;
	int i;

	if (counts >= 0)
		count = block(request, counts, to, &at);
	else
		at = 0;
	for (i = 0; i < which; i++)
		skip += from->counts[i];
	if (from->counts[which] != count)
		return fail(-EBADMSG, "rank %d has a block of %llu for one of %zu", from->rank,
			    from->counts[which], count);
	memcpy((char *)(uintptr_t)request->op.recv + at * size, data_of(from) + skip * size,
	       count * size);
	return 0;
}

/* Combine the inputs of the ranks 0 to @ranks - 1, from element @skip on. */
static void take_reduced(const struct coll_request *request, struct header **files, int ranks,
			 size_t skip)
{
	const struct collective_op *op = &request->op;
	const size_t size = coll_type_size((enum coll_type)op->type);
	char *result;
	int i;

	if (!ranks)
		return;
	result = malloc(op->count * size + 1);
	memcpy(result, data_of(files[0]) + skip * size, op->count * size);
	for (i = 1; i < ranks; i++)
		combine(op->type, op->reduction, result, data_of(files[i]) + skip * size,
			op->count);
	memcpy((void *)(uintptr_t)op->recv, result, op->count * size);
	free(result);
}

static int take_result(const struct coll_request *request, struct header **files)
{
	const struct collective_op *op = &request->op;
	const int n = request->comm->size, me = request->comm->rank;
	const bool root = is_root(request);
	size_t skip = 0;
	int i, err = 0;

	switch (op->opcode) {
	case COLLECTIVE_BROADCAST:
		return root ? 0 : take_block(request, files[op->root], 0, 0, -1);
	case COLLECTIVE_SCATTER:
		return root && op->send == op->recv ? 0 :
		       take_block(request, files[op->root], me, 0, -1);
	case COLLECTIVE_GATHER:
	case COLLECTIVE_ALLGATHER:
		for (i = 0; !err && i < n && (root || op->opcode == COLLECTIVE_ALLGATHER); i++)
			err = take_block(request, files[i], 0, i, RECV_COUNTS);
		return err;
	case COLLECTIVE_ALLTOALL:
		for (i = 0; !err && i < n; i++)
			err = take_block(request, files[i], me, i, RECV_COUNTS);
		return err;
	case COLLECTIVE_REDUCE:
		take_reduced(request, files, root ? n : 0, 0);
		return 0;
	case COLLECTIVE_ALLREDUCE:
		take_reduced(request, files, n, 0);
		return 0;
	case COLLECTIVE_SCAN:
		take_reduced(request, files, me + 1, 0);
		return 0;
	case COLLECTIVE_EXSCAN:
		take_reduced(request, files, me, 0);
		return 0;
	case COLLECTIVE_REDUCE_SCATTER:
		for (i = 0; i < me; i++)
			skip += files[0]->counts[i];
		take_reduced(request, files, n, skip);
		return 0;
	default:
		return 0;
	}
}

/* Has a rank left the group without this operation? */
static bool has_left(const struct coll_request *request, int rank)
{
	char path[PATH_SIZE];

	snprintf(path, sizeof(path), "%s/left.%d", request->comm->folder, rank);
	if (euidaccess(path, F_OK))
		return false;
	/* It may have submitted the operation before. */
	file_name(request, rank, path);
	return euidaccess(path, F_OK);
}

/*
 * The rank that stands alone among the calls, or the last one that differs from rank 0; -1: all
 * match.
 */
static int culprit(struct header **files, int n)
{
	int last = -1, differ = 0, i;

	for (i = 1; i < n; i++)
		if (!calls_match(&files[i]->op, &files[0]->op)) {
			differ++;
			last = i;
		}
	return n > 2 && differ == n - 1 ? 0 : last;
}

/* Return: false: files are missing. */
static bool complete(struct coll_request *request, int *err)
{
	struct header *files[RANKS_MAX];
	const int n = request->comm->size;
	int have = 0, i, other;
	bool done;

	*err = 0;
	while (have < n && (files[have] = read_file(request, have)))
		have++;
	done = have == n;
	other = done ? culprit(files, n) : -1;
	if (other >= 0)
		*err = fail(-EBADMSG, "rank %d has made another call", other);
	else if (done)
		*err = take_result(request, files);
	else if (has_left(request, have))
		*err = fail(-ECONNRESET, "rank %d has left", have);
	for (i = 0; i < have; i++)
		free(files[i]);
	done = done || *err;
	if (done) {
		pinned -= request->pinned;
		free(request);
	}
	return done;
}

int coll_wait_any(struct coll_request **requests, int count, int *index, int timeout_ms)
{
	int err;

	(void)count;
	*index = 0;
	while (!complete(requests[0], &err)) {
		if (timeout_ms-- <= 0) {
			*index = -1;
			return -EINPROGRESS;
		}
		usleep(1000);
	}
	requests[0] = NULL;
	return err;
}

int coll_submit_wait(struct coll_comm *comm, const struct collective_op *op, int timeout_ms,
		     struct coll_request **request)
{
	int index;

	return coll_isubmit(comm, op, request) ?: coll_wait_any(request, 1, &index, timeout_ms);
}

/* poll() ignores this one. */
int coll_req_fd(const struct coll_request *request)
{
	(void)request;
	return -1;
}

int coll_test(struct coll_request *request, int *done)
{
	int err;

	*done = complete(request, &err);
	return err;
}
