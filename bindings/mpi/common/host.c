// SPDX-License-Identifier: LGPL-2.1-or-later
/* The host of this process. */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/digest.h"
#include "common/host.h"

long long cm_host_digest(void)
{
	unsigned long long digest = CM_DIGEST_INIT;
	struct utsname names;
	char boot[64] = "";
	FILE *file;

	if (!uname(&names))
		digest = cm_digest(digest, names.nodename, strlen(names.nodename));
	/* A host that does not tell is taken for no other's. */
	file = fopen("/proc/sys/kernel/random/boot_id", "re");
	if ((!file || !fgets(boot, sizeof(boot), file)) && getentropy(boot, sizeof(boot)))
		snprintf(boot, sizeof(boot), "process %d", (int)getpid());
	if (file)
		fclose(file);
	digest = cm_digest(digest, boot, sizeof(boot));
	return cm_digest_value(digest);
}
