// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Profiles of the processes of this job, by PMIx: what is put before MPI_Init() exchanges the
 * addresses of all processes is known of each after that.
 *
 * A process without this component puts nothing.  Asking for that waits until its MPI_Init() has
 * come to that exchange, and answers that there is nothing.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "compat.h"

#include "common/settings.h"
#include "module.h"

#define KEY	"collective.profile"

/**
 * struct known - what is known of a process
 * @is_asked: it was asked for
 * @is_told: it has told @profile
 * @profile: its profile
 */
struct known {
	bool is_asked;
	bool is_told;
	struct cm_profile profile;
};

/*
 * @lock protects @known, by rank in MPI_COMM_WORLD.  Unless @is_told, the others do not know this
 * process, which behaves as if it knew none of them.
 */
static struct {
	pthread_mutex_t lock;
	bool is_told;
	struct known *known;
	unsigned int count;
} profiles = { .lock = PTHREAD_MUTEX_INITIALIZER };

/*
 * The kernel cannot read memory of a GPU, and a communicator that is revoked would not end an
 * operation in the kernel.
 */
const char *collective_profile_withheld(void)
{
	if (mpi_has_gpus())
		return "Open MPI's support of GPUs is on";
	return mpi_has_ulfm() ? "Open MPI's fault tolerance (ULFM) is on" : NULL;
}

void collective_profile_tell(void)
{
	char text[CM_PROFILE_SIZE] = "";
	const char *why;
	int err;

	cm_profile_write(text);
	why = collective_profile_withheld();
	if (why)
		cm_say(1, "all calls are left to MPI: %s", why);
	if (why || !pmix_ready())
		return;
	profiles.count = ompi_process_info.num_procs;
	profiles.known = calloc(profiles.count ?: 1, sizeof(*profiles.known));
	if (!profiles.known)
		return;
	OPAL_MODEX_SEND_STRING(err, PMIX_SCOPE_ALL, KEY, text, sizeof(text));
	profiles.is_told = !err;
}

static void ask(const opal_process_name_t *name, struct known *known)
{
	/* The versions of Open MPI have different types of pointers. */
	void *text = NULL;
	size_t size = 0;
	int err;

	known->is_asked = true;
	OPAL_MODEX_RECV_STRING(err, KEY, name, &text, &size);
	known->is_told = !err && text && size == CM_PROFILE_SIZE &&
			 memchr(text, 0, size) && cm_profile_read(text, &known->profile);
	free(text);
}

const struct cm_profile *collective_profile_of(struct ompi_communicator_t *communicator, int rank)
{
	const opal_process_name_t name =
		ompi_group_get_proc_name(communicator->c_local_group, rank);
	struct known *known;

	/* Those of other jobs may be started by another launcher. */
	if (!profiles.is_told || name.jobid != OMPI_PROC_MY_NAME->jobid ||
	    name.vpid >= profiles.count)
		return NULL;
	known = &profiles.known[name.vpid];
	pthread_mutex_lock(&profiles.lock);
	if (!known->is_asked)
		ask(&name, known);
	pthread_mutex_unlock(&profiles.lock);
	return known->is_told ? &known->profile : NULL;
}

void collective_profile_end(void)
{
	profiles.is_told = false;
	free(profiles.known);
	profiles.known = NULL;
}
