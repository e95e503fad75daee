// SPDX-License-Identifier: GPL-2.0-only
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All messages that any world has sent; a world refers to them by index. */
#define MESSAGES_MAX	(1U << 20)
#define HASH_SIZE	(1U << 21)

static struct coll_agree_message *messages;
static uint32_t nmessages, *buckets;

/* The world that executes an event, and the message that it delivers. */
static struct world *now;
static struct coll_agree_message queue[QUEUE_MAX];
static unsigned int nqueue;

static uint64_t mix(uint64_t x)
{
	const unsigned __int128 product = (unsigned __int128)x * 0x9e3779b97f4a7c15ULL;

	return product ^ product >> 64;
}

static uint64_t hash_bytes(uint64_t hash, const void *data, size_t size)
{
	const unsigned char *byte = data;
	uint64_t word;

	for (; size >= 8; byte += 8, size -= 8) {
		memcpy(&word, byte, 8);
		hash = mix(hash ^ word) + 0x94d049bb133111ebULL;
	}
	word = 0;
	memcpy(&word, byte, size);
	return mix(hash ^ word ^ (uint64_t)size << 56);
}

static uint32_t intern(const struct coll_agree_message *message)
{
	uint32_t at = hash_bytes(1, message, sizeof(*message)) % HASH_SIZE;

	if (!messages) {
		messages = calloc(MESSAGES_MAX, sizeof(*messages));
		buckets = calloc(HASH_SIZE, sizeof(*buckets));
		if (!messages || !buckets)
			abort();
	}
	for (; buckets[at]; at = (at + 1) % HASH_SIZE)
		if (!memcmp(&messages[buckets[at]], message, sizeof(*message)))
			return buckets[at];
	if (++nmessages == MESSAGES_MAX)
		abort();
	messages[nmessages] = *message;
	buckets[at] = nmessages;
	return nmessages;
}

static struct node *node_of(void *env)
{
	return &now->node[(uintptr_t)env];
}

static bool direct(enum coll_agree_kind kind)
{
	switch (kind) {
	case COLL_AGREE_PREPARE:
	case COLL_AGREE_PROMISE:
	case COLL_AGREE_ACCEPT:
	case COLL_AGREE_ACCEPTED:
	case COLL_AGREE_DECIDED:
		return false;
	default:
		return now->bounds->direct;
	}
}

static void op_send(void *env, const struct coll_agree_message *said)
{
	struct coll_agree_message message;
	uint32_t number;
	unsigned int i;

	(void)env;
	if (said->kind == COLL_AGREE_PREPARE && now->bounds->reach[said->from] &&
	    !(now->bounds->reach[said->from] >> said->to & 1))
		return;
	/* The padding between fields must be zero, because messages are compared as bytes. */
	memset(&message, 0, sizeof(message));
	message.kind = said->kind;
	message.from = said->from;
	message.to = said->to;
	message.ballot = said->ballot;
	message.accepted = said->accepted;
	message.value = said->value;
	message.lost = said->lost;
	message.left = said->left;
	message.error = said->error;
	if (mutation == MUTATION_FORGET && said->kind == COLL_AGREE_PROMISE)
		message.accepted = 0;
	if (direct(message.kind)) {
		if (nqueue == QUEUE_MAX)
			abort();
		queue[nqueue++] = message;
		return;
	}
	number = intern(&message);
	for (i = now->nsent; i && now->sent[i - 1] >= number; i--)
		if (now->sent[i - 1] == number)
			return;
	if (now->nsent == SENT_MAX)
		abort();
	memmove(&now->sent[i + 1], &now->sent[i], (now->nsent - i) * sizeof(now->sent[0]));
	memmove(&now->seen[i + 1], &now->seen[i], (now->nsent - i) * sizeof(now->seen[0]));
	now->sent[i] = number;
	now->seen[i] = false;
	now->nsent++;
}

static int op_join(void *env, const struct coll_value *value)
{
	(void)env;
	(void)value;
	return 0;
}

static void op_connect(void *env)
{
	node_of(env)->connecting = true;
}

static void op_abandon(void *env)
{
	node_of(env)->connecting = false;
}

static int op_leave(void *env)
{
	if (mutation != MUTATION_STAY)
		node_of(env)->over = true;
	return 0;
}

/* A ballot forms at most one group. */
static uint64_t op_number(void *env)
{
	return node_of(env)->agree.ballot;
}

static const struct coll_agree_ops ops = {
	.send = op_send,
	.join = op_join,
	.connect = op_connect,
	.abandon = op_abandon,
	.leave = op_leave,
	.number = op_number,
};

static void node_call(struct node *node)
{
	node->calling = true;
	node->calls++;
	coll_agree_begin(&node->agree, false);
}

void world_begin(struct world *world, const struct bounds *bounds)
{
	unsigned int i, j;

	memset(world, 0, sizeof(*world));
	world->bounds = bounds;
	now = world;
	for (i = 0; i < bounds->nranks; i++) {
		struct node *node = &world->node[i];

		coll_agree_init(&node->agree, &ops, (void *)(uintptr_t)i, i, bounds->nranks);
		node->alive = !(bounds->gone >> i & 1);
		node->blamed = !node->alive;
		node->over = !bounds->healthy || !node->alive;
		/* What is of a group that has failed was said by ballots before. */
		node->agree.left = !bounds->healthy;
	}
	for (i = 0; i < bounds->nranks; i++) {
		if (!world->node[i].alive)
			continue;
		node_call(&world->node[i]);
		for (j = 0; j < bounds->nranks; j++)
			if (!world->node[j].alive)
				coll_agree_lost(&world->node[i].agree, j);
	}
}

unsigned int world_events(struct world *world, struct event *events)
{
	const unsigned int n = world->bounds->nranks;
	unsigned int i, j, k = 0;

	for (i = 0; i < world->nsent; i++) {
		const struct node *node = &world->node[messages[world->sent[i]].to];

		if (node->alive && node->calling)
			events[k++] = (struct event){ EVENT_DELIVER, world->sent[i], 0 };
	}
	for (i = 0; i < n; i++) {
		const struct node *node = &world->node[i];

		if (!node->alive)
			continue;
		if (!node->over && world->deaths < world->bounds->deaths &&
		    (!world->bounds->mortal || world->bounds->mortal >> i & 1))
			events[k++] = (struct event){ EVENT_DIE, i, 0 };
		if (!node->calling) {
			if (!node->returned && node->calls < world->bounds->calls)
				events[k++] = (struct event){ EVENT_CALL, i, 0 };
			continue;
		}
		if ((node->agree.step == COLL_STEP_IDLE || world->bounds->direct) &&
		    (!world->bounds->proposers || world->bounds->proposers >> i & 1) &&
		    world->ballots < world->bounds->ballots) {
			if (!world->bounds->quorum_only)
				events[k++] = (struct event){ EVENT_PROPOSE, i, 0 };
			if (world->bounds->direct)
				events[k++] = (struct event){ EVENT_PROPOSE, i, 1 };
		}
		if (node->agree.step == COLL_STEP_ACCEPT && world->bounds->direct &&
		    coll_ranks_none(&node->agree.slow))
			events[k++] = (struct event){ EVENT_SLOW, i, n };
		if (node->agree.step == COLL_STEP_ANNOUNCE)
			events[k++] = (struct event){ EVENT_STOP_TELLING, i, 0 };
		if (node->calls < world->bounds->calls)
			events[k++] = (struct event){ EVENT_END, i, 0 };
		for (j = 0; j < n; j++) {
			if (j == i)
				continue;
			if (world->bounds->refusals && !coll_ranks_has(&node->agree.slow, j))
				events[k++] = (struct event){ EVENT_REFUSED, i, j };
			if (world->node[j].blamed && !node->agree.sealed &&
			    !coll_ranks_has(&node->agree.lost, j))
				events[k++] = (struct event){ EVENT_LOST, i, j };
			if (node->agree.step != COLL_STEP_IDLE && !world->bounds->direct &&
			    !coll_ranks_has(&node->agree.slow, j))
				events[k++] = (struct event){ EVENT_SLOW, i, j };
		}
	}
	return k;
}

/*
 * True if all ranks that have returned, even if they have ended since, and all that know of a
 * decision have the same group.
 */
static bool same(const struct world *world)
{
	uint64_t id = 0, is;
	unsigned int i;

	for (i = 0; i < world->bounds->nranks; i++) {
		const struct node *node = &world->node[i];

		is = node->returned;
		if (!is && node->agree.decided)
			is = node->agree.value.id;
		if (!is)
			continue;
		if (id && is != id)
			return false;
		id = is;
	}
	return true;
}

static void node_settle(struct node *node)
{
	while (node->connecting && node->calling) {
		node->connecting = false;
		coll_agree_connected(&node->agree, 0);
		if (mutation == MUTATION_UNSEALED)
			node->agree.sealed = false;
	}
	if (!node->calling || !node->agree.finished)
		return;
	node->calling = false;
	if (!node->agree.result) {
		node->returned = node->agree.value.id;
		memset(&node->agree, 0, sizeof(node->agree));
	} else {
		coll_agree_end(&node->agree);
	}
}

static void deliver_direct(struct world *world)
{
	unsigned int i;

	for (i = 0; i < nqueue; i++) {
		const struct coll_agree_message message = queue[i];
		struct node *node = &world->node[message.to];

		if (!node->alive || !node->calling)
			continue;
		coll_agree_receive(&node->agree, &message);
		node_settle(node);
	}
	nqueue = 0;
}

static void node_die(struct world *world, unsigned int rank)
{
	struct node *node = &world->node[rank];

	node->blamed = !node->over;
	node->alive = false;
	node->calling = false;
	node->connecting = false;
	/* The state no longer matters: clear it, so that equal worlds compare equal. */
	memset(&node->agree, 0, sizeof(node->agree));
	world->deaths++;
}

static unsigned int find_sent(const struct world *world, uint32_t number)
{
	unsigned int i = 0;

	while (world->sent[i] != number)
		i++;
	return i;
}

static void remove_sent(struct world *world, unsigned int i)
{
	world->nsent--;
	memmove(&world->sent[i], &world->sent[i + 1],
		(world->nsent - i) * sizeof(world->sent[0]));
	memmove(&world->seen[i], &world->seen[i + 1],
		(world->nsent - i) * sizeof(world->seen[0]));
}

/* True if the message changes nothing, now or later. */
static bool idle(const struct world *world, const struct coll_agree_message *message)
{
	const struct node *node = &world->node[message->to];

	if (!node->alive || node->returned)
		return true;
	switch (message->kind) {
	case COLL_AGREE_PREPARE:
	case COLL_AGREE_ACCEPT:
		return mutation != MUTATION_PROMISE && mutation != MUTATION_ACCEPT &&
		       message->ballot < node->agree.promised;
	case COLL_AGREE_PROMISE:
	case COLL_AGREE_ACCEPTED:
		return message->ballot != node->agree.ballot ||
		       node->agree.step == COLL_STEP_IDLE;
	default:
		return false;
	}
}

static void remove_idle(struct world *world)
{
	unsigned int i;

	for (i = world->nsent; i--;)
		if (idle(world, &messages[world->sent[i]]))
			remove_sent(world, i);
}

bool world_seen(const struct world *world, const struct event *event)
{
	return world->seen[find_sent(world, event->a)];
}

unsigned int world_way(const struct event *event)
{
	return messages[event->a].from * RANKS_MAX + messages[event->a].to;
}

void world_apply(struct world *world, const struct event *event)
{
	struct node *node = &world->node[event->a % RANKS_MAX];
	uint64_t ballot;

	now = world;
	if (event->kind == EVENT_DELIVER)
		node = &world->node[messages[event->a].to];
	ballot = node->agree.ballot;
	switch (event->kind) {
	case EVENT_DELIVER:
		world->seen[find_sent(world, event->a)] = true;
		if (world->bounds->direct)
			remove_sent(world, find_sent(world, event->a));
		coll_agree_receive(&node->agree, &messages[event->a]);
		break;
	case EVENT_PROPOSE:
		if (world->bounds->direct)
			node->agree.slow = coll_ranks_first(event->b ? node->agree.nranks : 0);
		coll_agree_propose(&node->agree);
		break;
	case EVENT_SLOW:
		if (event->b == world->bounds->nranks)
			node->agree.slow = coll_ranks_first(event->b);
		coll_agree_slow(&node->agree, event->b % world->bounds->nranks);
		break;
	case EVENT_STOP_TELLING:
		coll_agree_stop_announcing(&node->agree);
		break;
	case EVENT_DIE:
		node_die(world, event->a);
		break;
	case EVENT_REFUSED:
		if (mutation == MUTATION_REFUSED)
			coll_agree_lost(&node->agree, event->b);
		coll_agree_slow(&node->agree, event->b);
		break;
	case EVENT_LOST:
		coll_agree_lost(&node->agree, event->b);
		break;
	case EVENT_END:
		node->calling = false;
		coll_agree_end(&node->agree);
		break;
	case EVENT_CALL:
		node_call(node);
		break;
	default:
		break;
	}
	node_settle(node);
	deliver_direct(world);
	if (node->alive && node->agree.ballot != ballot)
		world->ballots++;
	if (world->bounds->direct)
		remove_idle(world);
	world->wrong = world->wrong || !same(world);
}

uint64_t world_hash(const struct world *world)
{
	uint64_t hash = hash_bytes(2, world->sent, world->nsent * sizeof(world->sent[0]));

	hash = hash_bytes(hash ^ world->deaths << 8 ^ world->ballots, world->node,
			  world->bounds->nranks * sizeof(world->node[0]));
	return hash ?: 1;
}

void world_say(const struct event *event)
{
	static const char * const kinds[EVENT_KINDS] = {
		"", "proposes", "gives up waiting for", "stops telling", "dies",
		"is refused by", "learns the loss of", "ends its call", "calls again",
	};
	static const char * const names[COLL_AGREE_KINDS] = {
		"", "HELLO", "ALIVE", "PREPARE", "PROMISE", "OUTDATED", "BEGIN", "PLACE",
		"PLACES", "CONNECTING", "READY", "UNABLE", "ACCEPT", "ACCEPTED", "DECIDED",
		"NOTED", "DONE", "GIVE_UP", "CHECK",
	};
	const struct coll_agree_message *message = &messages[event->a];

	if (event->kind != EVENT_DELIVER) {
		printf("#   rank %u %s %u\n", event->a, kinds[event->kind], event->b);
		return;
	}
	printf("#   %u -> %u %s ballot %llu.%u accepted %llu.%u value %llx of %llx\n",
	       message->from, message->to, names[message->kind],
	       (unsigned long long)message->ballot >> 32, coll_ballot_rank(message->ballot),
	       (unsigned long long)message->accepted >> 32, coll_ballot_rank(message->accepted),
	       (unsigned long long)message->value.id,
	       (unsigned long long)message->value.members.word[0]);
}
