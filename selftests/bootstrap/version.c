// SPDX-License-Identifier: GPL-2.0-only
#include "version.h"

uint32_t version_library;

uint32_t __wrap_bootstrap_library_version(void)
{
	return version_library ? version_library : __real_bootstrap_library_version();
}
