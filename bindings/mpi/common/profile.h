/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a process tells all others of its job before any of them changes what it says to another.
 *
 * The launcher carries it, not a message of MPI: a process without this component, or with another
 * one, tells nothing or something else, and takes part in nothing.
 */
#ifndef CM_PROFILE_H
#define CM_PROFILE_H

#include <stdbool.h>

/* Size of the text of a profile, which has neither spaces nor '='. */
#define CM_PROFILE_SIZE	80

/**
 * struct cm_profile - profile of a process
 * @digest: digest of the versions and of the settings that must be the same
 * @host: digest of its host
 * @cpus: number of CPUs of the host
 */
struct cm_profile {
	long long digest;
	long long host;
	long long cpus;
};

/** cm_profile_own - profile of this process; the settings are read */
const struct cm_profile *cm_profile_own(void);

/** cm_profile_write - write the profile of this process as a text */
void cm_profile_write(char text[CM_PROFILE_SIZE]);

/**
 * cm_profile_read - read the profile of another process
 * @text: its text
 * @profile: filled in
 *
 * Return: false if it is none.
 */
bool cm_profile_read(const char *text, struct cm_profile *profile);

#endif /* CM_PROFILE_H */
