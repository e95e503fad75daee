// SPDX-License-Identifier: LGPL-2.1-or-later
/* What a process tells all others of its job. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "common/host.h"
#include "common/profile.h"
#include "common/settings.h"

/* Before the numbers; another format has another one. */
#define FORMAT	"profile1:%llx:%llx:%llx"

static struct cm_profile own;

static void make_own(void)
{
	own = (struct cm_profile){
		.digest = cm_settings_digest(),
		.host = cm_host_digest(),
		.cpus = sysconf(_SC_NPROCESSORS_ONLN),
	};
}

const struct cm_profile *cm_profile_own(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, make_own);
	return &own;
}

void cm_profile_write(char text[CM_PROFILE_SIZE])
{
	const struct cm_profile *profile = cm_profile_own();

	snprintf(text, CM_PROFILE_SIZE, FORMAT, profile->digest, profile->host, profile->cpus);
}

bool cm_profile_read(const char *text, struct cm_profile *profile)
{
	unsigned long long digest, host, cpus;
	int end = 0;

	if (sscanf(text, FORMAT "%n", &digest, &host, &cpus, &end) != 3 || text[end])
		return false;
	*profile = (struct cm_profile){ .digest = digest, .host = host, .cpus = cpus };
	return true;
}
