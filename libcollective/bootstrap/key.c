// SPDX-License-Identifier: LGPL-2.1-or-later
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "bootstrap/key.h"

/**
 * struct known - rank that a key had
 * @next: next one
 * @host: host of the rendezvous
 * @port: port of the rendezvous
 * @nranks: number of ranks of the group
 * @rank: the rank
 * @key: the key
 */
struct known {
	struct known *next;
	char host[COLL_HOSTNAME_SIZE];
	int port;
	int nranks;
	int rank;
	char key[COLL_KEY_SIZE];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct known *all;

static bool is_place(const struct known *known, const struct coll_settings *settings)
{
	return known->port == settings->root_port && known->nranks == settings->nranks &&
	       !strcmp(known->host, settings->root_host);
}

static struct known *find(const struct coll_settings *settings, const char *key)
{
	struct known *at;

	for (at = all; at; at = at->next)
		if (is_place(at, settings) && !strcmp(at->key, key))
			return at;
	return NULL;
}

void coll_key_remember(const struct coll_settings *settings, const char *key, int rank)
{
	struct known *at;

	pthread_mutex_lock(&lock);
	/* Another key had the rank before. */
	for (at = all; at; at = at->next)
		if (is_place(at, settings) && at->rank == rank)
			at->rank = -1;
	at = find(settings, key);
	if (!at) {
		at = calloc(1, sizeof(*at));
		if (at) {
			strcpy(at->host, settings->root_host);
			at->port = settings->root_port;
			at->nranks = settings->nranks;
			strcpy(at->key, key);
			at->next = all;
			all = at;
		}
	}
	if (at)
		at->rank = rank;
	pthread_mutex_unlock(&lock);
}

int coll_key_rank(const struct coll_settings *settings, const char *key)
{
	const struct known *at;
	int rank = -1;

	pthread_mutex_lock(&lock);
	at = *key ? find(settings, key) : NULL;
	if (at)
		rank = at->rank;
	pthread_mutex_unlock(&lock);
	return rank;
}

bool coll_key_find(const struct coll_settings *settings, int rank, char key[COLL_KEY_SIZE])
{
	const struct known *at;
	bool found = false;

	pthread_mutex_lock(&lock);
	for (at = all; at && !found; at = at->next) {
		found = is_place(at, settings) && at->rank == rank;
		if (found)
			strcpy(key, at->key);
	}
	pthread_mutex_unlock(&lock);
	return found;
}

/* For leak checkers. */
__attribute__((destructor))
static void forget_all(void)
{
	struct known *at;

	while ((at = all)) {
		all = at->next;
		free(at);
	}
}
