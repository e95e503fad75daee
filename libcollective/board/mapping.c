// SPDX-License-Identifier: LGPL-2.1-or-later
/* Mapping the board: see mapping.h. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "board/internal.h"

/* How long other ranks are waited for before the kernel goes on, as the kernel itself does. */
#define BUDGET_NS	200000ULL

/* If ranks surely share CPUs, only those are waited for that store at this moment. */
#define BUDGET_SHARED	4U

/* If they may, the budget is at first, and at least, this part of the greatest one. */
#define BUDGET_PART	64U

/* Rounds of one measurement, and measurements, of which the shortest counts. */
#define MEASURED_ROUNDS	128U
#define MEASUREMENTS	3

/* Bytes of a part. */
static size_t own_size(const struct collective_board *group)
{
	return (size_t)group->payload + COLL_BOARD_PAGES * COLL_BOARD_PUBLISHED;
}

bool coll_mapping_knows(const struct collective_board *group, u32 nranks)
{
	const size_t align = _Alignof(struct coll_board_words);

	return group->version == COLLECTIVE_BOARD_VERSION && group->nranks == nranks &&
	       group->first >= sizeof(*group) &&
	       group->payload >= sizeof(struct coll_board_words) &&
	       group->part >= own_size(group) &&
	       !(group->first % align) && !(group->part % align) && !(group->payload % align);
}

size_t coll_mapping_size(const struct collective_board *group)
{
	return group->first + (size_t)group->nranks * group->part;
}

/* Has the process each operation of a collective in a group to itself? */
static bool is_executed(u32 nranks, u8 opcode, u8 algorithm)
{
	const struct coll_plan plan = {
		.collective = opcode,
		.algorithm = algorithm,
		.nranks = nranks,
		.size = 1,
		.board = true,
	};

	return coll_board_shows_all(&plan) && coll_board_fits(&plan);
}

void coll_mapping_init(struct coll_mapping *mapping, void *group, struct coll_board_words *own,
		       u32 rank, const u8 *algorithm)
{
	struct collective_board *head = group;
	struct coll_board *board = &mapping->board;
	u32 nranks = head->nranks, i;
	void *words;

	mapping->group = group;
	mapping->own = own;
	for (i = 0; i < COLLECTIVE_OPCODE_COUNT; i++)
		if (is_executed(nranks, i, algorithm[i]))
			mapping->collectives |= BIT(i);
	for (i = 0; i < nranks; i++) {
		words = i == rank ? own : group + head->first + (size_t)i * head->part;
		mapping->part[i].words = words;
		mapping->part[i].shown = words + head->payload;
		mapping->view[i] = &mapping->part[i];
	}
	board->rank = rank;
	board->nranks = nranks;
	board->part = mapping->view;
	board->generation = READ_ONCE(own->generation);
	/* The process only reads it. */
	board->sleepers = (u64 *)&head->sleepers;
}

static u64 now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

/* Rounds of a budget. */
static u32 budget_rounds = MEASURED_ROUNDS;

/* A round takes from 2 ns to 60 ns, by the CPU. */
static void measure_rounds(void)
{
	u64 least = U64_MAX, begin, ns;
	u32 word = 0, i, round;

	for (i = 0; i < MEASUREMENTS; i++) {
		begin = now_ns();
		for (round = 0; round < MEASURED_ROUNDS && !READ_ONCE(word); round++)
			coll_mapping_relax();
		ns = now_ns() - begin;
		least = min(least, ns);
	}
	/* Below the resolution of the clock. */
	least = max_t(u64, least, MEASURED_ROUNDS);
	budget_rounds = max_t(u64, BUDGET_NS * MEASURED_ROUNDS / least, MEASURED_ROUNDS);
}

/* Number of CPUs that the process may use; @all: that there are. */
static u32 count_cpus(bool all)
{
	const long online = sysconf(_SC_NPROCESSORS_ONLN);
	cpu_set_t set;

	/* It fails if there are more CPUs than in the set: they are many. */
	if (!all && !sched_getaffinity(0, sizeof(set), &set))
		return CPU_COUNT(&set);
	return online > 0 ? online : 1;
}

/*
 * A clock is not read while an operation waits, because that is a system call in User-Mode Linux.
 * If the process may use fewer CPUs than there are ranks, each rank may be bound to one of its own,
 * or all of them to the same few.
 */
static void set_budget(struct coll_mapping *mapping, u32 nranks)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, measure_rounds);
	mapping->budget_max = budget_rounds;
	mapping->budget_min = budget_rounds;
	if (nranks > count_cpus(true)) {
		mapping->budget_max = BUDGET_SHARED;
		mapping->budget_min = BUDGET_SHARED;
	} else if (nranks > count_cpus(false)) {
		mapping->budget_min = max(budget_rounds / BUDGET_PART, BUDGET_SHARED);
	}
	mapping->budget = mapping->budget_min;
}

/* Return: memory; or NULL. */
static void *map(int fd, size_t size, int prot, off_t offset)
{
	void *at = mmap(NULL, size, prot, MAP_SHARED, fd, offset);

	return at == MAP_FAILED ? NULL : at;
}

/* Look at the beginning of the board, and map all of it. */
static void map_group(struct coll_mapping *mapping, int fd, u32 nranks, size_t page)
{
	const off_t offset = COLLECTIVE_MMAP_BOARD;
	void *head = map(fd, page, PROT_READ, offset);

	if (!head)
		return;
	if (coll_mapping_knows(head, nranks)) {
		mapping->group_size = coll_mapping_size(head);
		mapping->group = map(fd, mapping->group_size, PROT_READ, offset);
	}
	munmap(head, page);
}

struct coll_mapping *coll_mapping_new(int fd, __u32 rank, __u32 nranks, const __u8 *algorithm)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	struct coll_mapping *mapping;
	void *own = NULL;

	/* Words of 64 bits are loaded and stored at once, and offsets have more than 32. */
	if (sizeof(void *) < sizeof(u64) || nranks < 2 || nranks > COLL_BOARD_RANKS)
		return NULL;
	mapping = calloc(1, sizeof(*mapping));
	if (!mapping)
		return NULL;
	set_budget(mapping, nranks);
	map_group(mapping, fd, nranks, page);
	/* Last: from now on the kernel finds there how many operations the process has called. */
	if (mapping->group) {
		mapping->own_size = round_up(own_size(mapping->group), page);
		own = map(fd, mapping->own_size, PROT_READ | PROT_WRITE, COLLECTIVE_MMAP_BOARD_OWN);
	}
	if (!own) {
		coll_mapping_free(mapping, true);
		return NULL;
	}
	coll_mapping_init(mapping, mapping->group, own, rank, algorithm);
	return mapping;
}

void coll_mapping_free(struct coll_mapping *mapping, int mapped)
{
	if (!mapping)
		return;
	if (mapped && mapping->own)
		munmap(mapping->own, mapping->own_size);
	if (mapped && mapping->group)
		munmap(mapping->group, mapping->group_size);
	free(mapping);
}
