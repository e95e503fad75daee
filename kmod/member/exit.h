/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_EXIT_H
#define COLL_EXIT_H

#include <linux/list.h>
#include <linux/types.h>

#include "core/wire/answer.h"
#include "exec/cpu.h"

struct coll_exit_watch;
struct coll_member;
struct cred;
struct mem_cgroup;
struct pid;

/**
 * struct coll_owner - the process that joined
 * @mm: its memory; only compared after JOIN [c]
 * @cred: its credentials; connections are made with them [c]
 * @memcg: its memory cgroup; kernel memory is charged to it [c]
 * @pid: its id in the initial PID namespace, for people [c]
 * @own_pid: its id in its own PID namespace, likewise [c]
 * @tgid: the process [c]
 * @cpus: it and the thread that joined, for their CPUs [c]
 * @node: name of its host when it joined, likewise [c]
 * @exit_watch: of the process [m]
 * @exit_node: in @exit_watch, with the other members of the process
 * @mm_released: true if @mm has ended [a]
 */
struct coll_owner {
	struct mm_struct *mm;
	const struct cred *cred;
	struct mem_cgroup *memcg;
	pid_t pid;
	pid_t own_pid;
	struct pid *tgid;
	struct coll_cpu_owner cpus;
	char node[COLL_NODE_MAX + 1];
	struct coll_exit_watch *exit_watch;
	struct list_head exit_node;
	bool mm_released;
};

int coll_exit_watch_begin(struct coll_member *member);
void coll_exit_trace(struct coll_member *member);
void coll_exit_watch_end(struct coll_member *member);
void coll_exit_report(struct coll_member *member);
bool coll_exit_of(const struct coll_member *member);
void coll_exit_setup(void);
void coll_exit_cleanup(void);

#endif /* COLL_EXIT_H */
