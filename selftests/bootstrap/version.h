/* SPDX-License-Identifier: GPL-2.0-only */
/* Replaces bootstrap_library_version() in the tests, so that a rank can have another one. */
#ifndef VERSION_H
#define VERSION_H

#include <stdint.h>

/* The linker's --wrap: the first is the function, the second is called in its place. */
uint32_t __real_bootstrap_library_version(void);
uint32_t __wrap_bootstrap_library_version(void);

/* What it returns; 0: the library's own. */
extern uint32_t version_library;

/* Another version, and the texts of that and of the library's. */
#define VERSION_OTHER		(9 << 16 | 9)
#define VERSION_OTHER_TEXT	"9.9"
#define VERSION_QUOTE(number)	#number
#define VERSION_TEXT_OF(major, minor)	VERSION_QUOTE(major) "." VERSION_QUOTE(minor)
#define VERSION_OWN_TEXT	VERSION_TEXT_OF(COLL_VERSION_MAJOR, COLL_VERSION_MINOR)

#endif /* VERSION_H */
