// SPDX-License-Identifier: LGPL-2.1-or-later
/* Failures of operations as error codes of MPI. */
#include <errno.h>
#include <stdio.h>

#include <mpi.h>

#include "common/group.h"

static int error_class(int err)
{
	switch (err) {
	case -ENOMEM:
	case -EDQUOT:
		return MPI_ERR_NO_MEM;
	case -EFAULT:
		return MPI_ERR_BUFFER;
	case -EMSGSIZE:
		return MPI_ERR_TRUNCATE;
	default:
		return MPI_ERR_OTHER;
	}
}

int cm_group_error(struct cm_group *group, int err)
{
	char reason[CM_TEXT_SIZE], text[MPI_MAX_ERROR_STRING];

	cm_group_text(group, reason, sizeof(reason));
	snprintf(text, sizeof(text), "collective: %.240s", reason);
	if (!group->error_code &&
	    PMPI_Add_error_code(cm_error_class(error_class(err)),
				&group->error_code) != MPI_SUCCESS) {
		group->error_code = 0;
		return error_class(err);
	}
	PMPI_Add_error_string(group->error_code, text);
	return group->error_code;
}
