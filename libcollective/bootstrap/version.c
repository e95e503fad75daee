// SPDX-License-Identifier: LGPL-2.1-or-later
#include <stdio.h>

#include "bootstrap/version.h"

bool bootstrap_version_is_own(const struct bootstrap_version *version, unsigned int format)
{
	return version->format == format && version->library == bootstrap_library_version();
}

#define NUMBER_TEXT	16

static void format_number(uint32_t library, char text[NUMBER_TEXT])
{
	snprintf(text, NUMBER_TEXT, "%u.%u", library >> 16, library & 0xffff);
}

void bootstrap_version_differs(char text[BOOTSTRAP_VERSION_TEXT], const char *other,
			       const struct bootstrap_version *version, const char *own)
{
	const uint32_t library = bootstrap_library_version();
	char theirs[NUMBER_TEXT + 20], ours[NUMBER_TEXT];

	format_number(library, ours);
	if (!version->library)
		snprintf(theirs, sizeof(theirs), "one before 0.2");
	else if (version->library == library)
		snprintf(theirs, sizeof(theirs), "another build of %s", ours);
	else
		format_number(version->library, theirs);
	snprintf(text, BOOTSTRAP_VERSION_TEXT,
		 "%s has version %s of the library and %s has %s: all ranks need the same", own,
		 ours, other, theirs);
}
