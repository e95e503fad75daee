/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A job of one host, as collective-run tells it to the agent there: a head, and then items,
 * each with its length.  The connection stays open, and a byte now and then says that the other
 * end lives.
 */
#ifndef JOB_H
#define JOB_H

#include <stdbool.h>
#include <stddef.h>

#define JOB_BYTES_MAX	(8 << 20)	/* of all items */
#define JOB_BEAT_MS	5000		/* interval of these bytes */
#define JOB_SILENCE_MS	20000		/* after which the agent takes the connection for lost */

/**
 * struct job - a job of one host
 * @first: first rank of the host
 * @n: number of ranks of the host
 * @total: number of ranks of the group
 * @grace_s: as in struct launch
 * @label: as in struct launch
 * @unbound: as in struct launch
 * @rendezvous: as in struct launch
 * @secret: secret of the group, in digits
 * @folder: folder in which the ranks start
 * @environment: variables of the ranks, NAME=VALUE, ending with NULL
 * @argv: program and arguments, ending with NULL
 */
struct job {
	int first;
	int n;
	int total;
	int grace_s;
	bool label;
	bool unbound;
	const char *rendezvous;
	const char *secret;
	const char *folder;
	char **environment;
	char **argv;
};

/* Write a job to a descriptor.  Return: 0, or -1 with errno. */
int job_write(int fd, const struct job *job);

/*
 * Read a job; its memory is never freed.  Return: 0, or -1 after a message.
 */
int job_read(int fd, struct job *job);

#endif /* JOB_H */
