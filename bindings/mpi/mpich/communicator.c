// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Communicators, known by an attribute of MPI's communicator.
 *
 * MPI_Init() begins this library's life, or the first collective where a binding has called it by
 * another name.  MPI_Finalize() ends it: that deletes the attributes of MPI_COMM_SELF before
 * anything else, the first one last.  So the program's own attributes are deleted before, on every
 * rank, and what is called by that may still be taken.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/progress.h"
#include "common/settings.h"
#include "mpich.h"

/**
 * enum life - of this library
 * @NOT_STARTED: MPI is not initialized, or not by a function that is replaced
 * @RUNNING: communicators may have groups
 * @ENDED: within MPI_Finalize(), or this library cannot work: all is left to MPICH
 */
enum life {
	NOT_STARTED,
	RUNNING,
	ENDED,
};

static atomic_int life;
static int keyval = MPI_KEYVAL_INVALID;
static int self_keyval = MPI_KEYVAL_INVALID;
static int added_class;
static MPI_Comm own = MPI_COMM_NULL;
static MPI_Request never = MPI_REQUEST_NULL;

/*
 * @lock protects the lists and what begins and ends @life.  @spare has those whose handle is that
 *	of a
 * successor which is no longer needed: MPICH frees none where it frees a request.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct communicator *communicators;
static struct communicator *spare;

/* Attribute of communicators whose collectives are left to MPICH. */
static struct communicator left;

/* ---- MPICH ---- */

struct mpich_functions mpich;

static void load(void)
{
	static const char * const names[] = { "libmpich.so.12", "libmpi.so.12" };
	void *library = NULL;
	unsigned int i;

	for (i = 0; i < 2 && !library; i++)
		library = dlopen(names[i], RTLD_NOLOAD | RTLD_GLOBAL | RTLD_LAZY);
#define LOAD(name)	mpich.name = dlsym(library ?: RTLD_NEXT, "PMPI_" #name);
	REPLACED_TWICE(LOAD)
}

void library_load(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, load);
}

/* ---- progress ---- */

static int no_query(void *state, MPI_Status *status)
{
	(void)state;
	PMPI_Status_set_elements(status, MPI_BYTE, 0);
	PMPI_Status_set_cancelled(status, 0);
	return MPI_SUCCESS;
}

static int no_free(void *state)
{
	(void)state;
	return MPI_SUCCESS;
}

static int no_cancel(void *state, int complete)
{
	(void)state;
	(void)complete;
	return MPI_SUCCESS;
}

/* A test of a request that completes only in the end makes MPICH look for all others. */
void poll_mpi(void)
{
	MPI_Request request = never;
	int done;

	mpich.Test(&request, &done, MPI_STATUS_IGNORE);
}

/* ---- the ranks ---- */

static int peers_min(void *context, long long *values, int count)
{
	struct communicator *communicator = context;

	return PMPI_Allreduce(MPI_IN_PLACE, values, count, MPI_LONG_LONG, MPI_MIN,
			      communicator->handle);
}

static int peers_gather(void *context, const void *mine, size_t size, void *all)
{
	struct communicator *communicator = context;

	return PMPI_Allgather(mine, size, MPI_BYTE, all, size, MPI_BYTE, communicator->handle);
}

/* Number of processes of the program on this host, or more, if the launcher does not tell. */
static int local_processes(void)
{
	const char *text = getenv("MPI_LOCALNRANKS");
	int count = text ? atoi(text) : 0;

	if (count <= 0)
		PMPI_Comm_size(MPI_COMM_WORLD, &count);
	return count;
}

static const struct cm_profile *peers_profile(void *context, int rank)
{
	struct communicator *communicator = context;
	MPI_Group all, world;
	int known;

	PMPI_Comm_group(communicator->handle, &all);
	PMPI_Comm_group(MPI_COMM_WORLD, &world);
	PMPI_Group_translate_ranks(all, 1, &rank, world, &known);
	PMPI_Group_free(&world);
	PMPI_Group_free(&all);
	return known == MPI_UNDEFINED ? NULL : profile_of(known);
}

static struct cm_peers peers_of(struct communicator *communicator)
{
	return (struct cm_peers){
		.context = communicator,
		.profile = peers_profile,
		.min = peers_min,
		.gather = peers_gather,
	};
}

bool communicator_blocking(struct communicator *communicator, const struct cm_call *call)
{
	struct cm_peers peers = peers_of(communicator);
	struct cm_starter starter;
	bool up;

	if (communicator->group.state >= CM_GROUP_UP)
		return cm_group_blocking(&communicator->group, &peers, call);
	peers.local = local_processes();
	/* The ranks meet by MPICH's own functions. */
	cm_starter_begin(&starter);
	up = cm_group_blocking(&communicator->group, &peers, call);
	cm_starter_end(&starter);
	return up;
}

/* MPICH finds strings only of codes whose class was added, too. */
int cm_error_class(int class)
{
	return added_class ?: class;
}

int communicator_error(struct communicator *communicator, int code)
{
	PMPI_Comm_call_errhandler(communicator->handle, code);
	return code;
}

MPI_Comm communicator_own(void)
{
	return own;
}

/* ---- life ---- */

static void communicator_unlink(struct communicator *communicator)
{
	*communicator->link = communicator->next;
	if (communicator->next)
		communicator->next->link = communicator->link;
}

void communicator_put(struct communicator *communicator)
{
	if (--communicator->references)
		return;
	cm_group_destroy(&communicator->group);
	if (communicator->handle == MPI_COMM_NULL) {
		free(communicator);
		return;
	}
	pthread_mutex_lock(&lock);
	communicator->next = spare;
	spare = communicator;
	pthread_mutex_unlock(&lock);
}

/* Return: the handle of a spare communicator, or MPI_COMM_NULL. */
static MPI_Comm take_spare(void)
{
	MPI_Comm handle = MPI_COMM_NULL;
	struct communicator *first;

	pthread_mutex_lock(&lock);
	first = spare;
	if (first)
		spare = first->next;
	pthread_mutex_unlock(&lock);
	if (first)
		handle = first->handle;
	free(first);
	return handle;
}

/*
 * Requests of a communicator that the program frees may still fail.  Return: a communicator of this
 * process with the same error handler; MPI_COMM_NULL if no request is left.
 */
static MPI_Comm make_successor(const struct communicator *communicator)
{
	MPI_Errhandler errhandler;
	MPI_Comm successor;

	if (communicator->references == 1 || own == MPI_COMM_NULL)
		return MPI_COMM_NULL;
	successor = take_spare();
	if (successor == MPI_COMM_NULL &&
	    mpich.Comm_split(own, 0, 0, &successor) != MPI_SUCCESS)
		return MPI_COMM_NULL;
	PMPI_Comm_get_errhandler(communicator->handle, &errhandler);
	PMPI_Comm_set_errhandler(successor, errhandler);
	PMPI_Errhandler_free(&errhandler);
	return successor;
}

/* MPI frees a communicator, or its attribute is deleted. */
static int deleted(MPI_Comm handle, int key, void *attribute, void *extra)
{
	struct communicator *communicator = attribute;

	(void)handle;
	(void)key;
	(void)extra;
	if (communicator == &left)
		return MPI_SUCCESS;
	pthread_mutex_lock(&lock);
	communicator_unlink(communicator);
	pthread_mutex_unlock(&lock);
	communicator->handle = make_successor(communicator);
	communicator_put(communicator);
	return MPI_SUCCESS;
}

/* MPI_Finalize() has begun. */
static int finalize(MPI_Comm self, int key, void *attribute, void *extra)
{
	struct communicator *communicator;
	char prefix[64];
	MPI_Comm handle;
	int rank;

	(void)self;
	(void)key;
	(void)attribute;
	(void)extra;
	life = ENDED;
	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	pthread_mutex_lock(&lock);
	for (communicator = communicators; communicator; communicator = communicator->next)
		cm_group_leave(&communicator->group);
	pthread_mutex_unlock(&lock);
	cm_progress_end();
	PMPI_Grequest_complete(never);
	mpich.Wait(&never, MPI_STATUS_IGNORE);
	for (handle = take_spare(); handle != MPI_COMM_NULL; handle = take_spare())
		PMPI_Comm_free(&handle);
	PMPI_Comm_free(&own);
	if (environment_stats()) {
		snprintf(prefix, sizeof(prefix), "collective: rank %d", rank);
		cm_counters_print(prefix);
	}
	return MPI_SUCCESS;
}

static void read_environment(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, environment_read);
}

static bool begin(void)
{
	int provided;

	read_environment();
	if (PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, deleted, &keyval, NULL) ||
	    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, finalize, &self_keyval, NULL) ||
	    PMPI_Comm_set_attr(MPI_COMM_SELF, self_keyval, NULL) ||
	    mpich.Comm_split(MPI_COMM_SELF, 0, 0, &own) ||
	    PMPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN) ||
	    PMPI_Grequest_start(no_query, no_free, no_cancel, NULL, &never))
		return false;
	PMPI_Add_error_class(&added_class);
	PMPI_Add_error_string(added_class, "collective: an operation failed");
	PMPI_Query_thread(&provided);
	cm_progress_init(poll_mpi, provided >= MPI_THREAD_SERIALIZED);
	return true;
}

/* Return: true if communicators may have groups. */
static bool started(void)
{
	int initialized;

	library_load();
	if (life != NOT_STARTED)
		return life == RUNNING;
	/* MPI-4's sessions have no MPI_COMM_SELF, and no end that is known. */
	PMPI_Initialized(&initialized);
	if (!initialized)
		return false;
	pthread_mutex_lock(&lock);
	if (life == NOT_STARTED)
		life = begin() ? RUNNING : ENDED;
	pthread_mutex_unlock(&lock);
	return life == RUNNING;
}

/*
 * A session that is initialized before MPI is may have exchanged the addresses already, so that a
 * profile would be told to some ranks only.
 */
static pthread_mutex_t initialization = PTHREAD_MUTEX_INITIALIZER;
static bool has_session;

static void initialize_begin(void)
{
	library_load();
	read_environment();
	pthread_mutex_lock(&initialization);
	if (!has_session)
		profile_tell();
}

static int initialize_end(int err)
{
	if (err == MPI_SUCCESS) {
		profile_learn();
		started();
	}
	pthread_mutex_unlock(&initialization);
	return err;
}

EXPORT int MPI_Init(int *argc, char ***argv)
{
	initialize_begin();
	return initialize_end(mpich.Init(argc, argv));
}

EXPORT int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
	initialize_begin();
	return initialize_end(mpich.Init_thread(argc, argv, required, provided));
}

EXPORT int MPI_Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session *session)
{
	int err;

	library_load();
	pthread_mutex_lock(&initialization);
	has_session = true;
	err = mpich.Session_init(info, errhandler, session);
	pthread_mutex_unlock(&initialization);
	return err;
}

REPLACE_TWICE(Init)
REPLACE_TWICE(Init_thread)
REPLACE_TWICE(Session_init)

/*
 * Were all ranks started together?  Others, which MPI_Comm_spawn() has started or which connect,
 * need not have this library.  All ranks come to the same answer.
 */
static bool started_together(MPI_Comm handle)
{
	MPI_Group all, world, others;
	int count;

	PMPI_Comm_group(handle, &all);
	PMPI_Comm_group(MPI_COMM_WORLD, &world);
	PMPI_Group_difference(all, world, &others);
	PMPI_Group_size(others, &count);
	if (others != MPI_GROUP_EMPTY)
		PMPI_Group_free(&others);
	PMPI_Group_free(&world);
	PMPI_Group_free(&all);
	return !count;
}

static struct communicator *communicator_new(MPI_Comm handle)
{
	struct communicator *communicator;
	int inter, rank, size;

	PMPI_Comm_test_inter(handle, &inter);
	PMPI_Comm_size(handle, &size);
	if (inter || size < 2)
		return &left;
	communicator = calloc(1, sizeof(*communicator));
	/* The other ranks count this call. */
	if (!communicator)
		PMPI_Abort(handle, MPI_ERR_NO_MEM);
	PMPI_Comm_rank(handle, &rank);
	communicator->references = 1;
	communicator->handle = handle;
	cm_group_init(&communicator->group, rank, size);
	if (!started_together(handle)) {
		cm_say(1, "a communicator has processes that may be without this library");
		communicator->group.state = CM_GROUP_NEVER;
	}
	pthread_mutex_lock(&lock);
	communicator->next = communicators;
	communicator->link = &communicators;
	if (communicators)
		communicators->link = &communicator->next;
	communicators = communicator;
	pthread_mutex_unlock(&lock);
	return communicator;
}

struct communicator *communicator_find(MPI_Comm handle)
{
	struct communicator *communicator;
	int found;

	if (!started() || handle == MPI_COMM_NULL ||
	    PMPI_Comm_get_attr(handle, keyval, &communicator, &found) != MPI_SUCCESS)
		return NULL;
	if (!found) {
		communicator = communicator_new(handle);
		/* The next call would begin to count again. */
		if (PMPI_Comm_set_attr(handle, keyval, communicator) != MPI_SUCCESS)
			PMPI_Abort(handle, MPI_ERR_NO_MEM);
	}
	return communicator == &left ? NULL : communicator;
}
