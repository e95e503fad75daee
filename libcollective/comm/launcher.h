/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rank and number of ranks, from the configuration or from what the launcher set. */
#ifndef COLL_LAUNCHER_H
#define COLL_LAUNCHER_H

#include "comm/config.h"

/* Value of a variable; NULL if it is not set. */
const char *coll_env_raw(const char *name);

/* Value of a variable; NULL if it is not set, or empty. */
const char *coll_env_text(const char *name);

/*
 * Read a number of at most @max into @value, which is left alone if the variable is not set or
 * empty.  Return: 0 or -EINVAL.
 */
int coll_env_number(const char *name, unsigned long max, unsigned long *value,
		    struct coll_detail *detail);

/**
 * coll_launcher_find - find rank and number of ranks of this process
 * @settings: @rank, @nranks, @launcher, @launcher_name and @job are set
 * @config: configuration of the caller
 * @detail: text of a failure
 *
 * Return: 0 or -EINVAL.
 */
int coll_launcher_find(struct coll_settings *settings, const struct coll_config *config,
		       struct coll_detail *detail);

#endif /* COLL_LAUNCHER_H */
