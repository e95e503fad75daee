/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Versions of the ranks' libraries.  All ranks of a group need the same one, because a library also
 * calls operations by itself, as in coll_split(): those of two versions may be out of step.  So
 * coll_init() refuses the others.
 */
#ifndef COLL_BOOTSTRAP_VERSION_H
#define COLL_BOOTSTRAP_VERSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BOOTSTRAP_VERSION_TEXT	200

/**
 * struct bootstrap_version - version that a message or a card has
 * @format: version of its format
 * @library: bootstrap_library_version() of its sender; 0: an older one, which does not tell
 */
struct bootstrap_version {
	unsigned int format;
	uint32_t library;
};

/* As coll_version(), but no program can put a function of its own in its place. */
uint32_t bootstrap_library_version(void);

/* Is @version that of this library, whose format is @format? */
bool bootstrap_version_is_own(const struct bootstrap_version *version, unsigned int format);

/**
 * bootstrap_version_differs - write what to do about two versions
 * @text: receives the text
 * @other: the rank that has @version, such as "rank 1 (10.0.0.1:4711)"
 * @version: its version, which is not that of this library
 * @own: this rank
 */
void bootstrap_version_differs(char text[BOOTSTRAP_VERSION_TEXT], const char *other,
			       const struct bootstrap_version *version, const char *own);

#endif /* COLL_BOOTSTRAP_VERSION_H */
