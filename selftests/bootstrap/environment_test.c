// SPDX-License-Identifier: GPL-2.0-only
/* What a process becomes by its environment: a rank, a group of one, or an error. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bootstrap/secret.h"
#include "comm/config.h"
#include "error/names.h"
#include "exchange/exchange.h"
#include "tap.h"

#define STEP	"SLURM_JOB_ID=7 SLURM_STEP_ID=1 SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=1 "
#define SECRET	"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

/**
 * struct scene - an environment and its result
 * @set: NAME=VALUE, separated by blanks
 * @config: configuration in addition
 * @transport: transport that it chooses; NULL: auto
 * @rank: rank that the process becomes
 * @nranks: number of ranks; 0: coll_init() fails
 * @root: host of the rendezvous; NULL: not checked
 * @says: words that the error text must have, separated by blanks
 */
struct scene {
	const char *set;
	struct coll_config config;
	const char *transport;
	int rank;
	int nranks;
	const char *root;
	const char *says;
};

static const struct scene scenes[] = {
	{ "", .nranks = 1 },
	{ "COLL_RANK=1 COLL_SIZE=2 COLL_RENDEZVOUS=h:1", .rank = 1, .nranks = 2 },
	{ "RANK=1 WORLD_SIZE=3 MASTER_ADDR=h", .rank = 1, .nranks = 3 },
	{ "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=3 MASTER_ADDR=h", .rank = 1, .nranks = 3 },
	{ "MV2_COMM_WORLD_RANK=1 MV2_COMM_WORLD_SIZE=3 MASTER_ADDR=h", .rank = 1, .nranks = 3 },
	{ "PMI_RANK=1 PMI_SIZE=3 MASTER_ADDR=h", .rank = 1, .nranks = 3 },
	{ "SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=3 MASTER_ADDR=h", .rank = 1, .nranks = 3 },
	{ "RANK=1 SLURM_PROCID=2 SLURM_STEP_NUM_TASKS=3 MASTER_ADDR=h", .rank = 2, .nranks = 3 },
	{ "RANK= WORLD_SIZE= SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1", .rank = 0, .nranks = 1 },
	/* A batch script, and a shell in an allocation. */
	{ "SLURM_JOB_ID=7 SLURM_PROCID=0 SLURM_NTASKS=3", .nranks = 1 },
	{ "SLURM_JOB_ID=7 SLURM_NTASKS=3 MASTER_ADDR=h MASTER_PORT=5", .nranks = 1 },
	{ "SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=1 SLURM_NTASKS=3 SLURM_PROCID=0",
	  .nranks = 1 },
	{ STEP "SLURM_NTASKS=4 SLURM_STEP_NUM_NODES=1 SLURM_STEP_NODELIST=n[3-4]",
	  .rank = 1, .nranks = 2, .root = "127.0.0.1" },
	{ STEP "SLURM_STEP_NUM_NODES=2 SLURM_STEP_NODELIST=n[03-4,7]-x[1] COLL_SECRET="
	  SECRET,
	  .rank = 1, .nranks = 2, .root = "n03-x1" },
	{ STEP "SLURM_STEP_NUM_NODES=2 SLURM_STEP_NODELIST=n3,n4 COLL_INSECURE=1",
	  .rank = 1, .nranks = 2, .root = "n3" },
	/* torchrun on one host, and on several. */
	{ "RANK=1 WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 MASTER_ADDR=h", .rank = 1, .nranks = 2,
	  .root = "127.0.0.1" },
	{ "RANK=1 WORLD_SIZE=4 LOCAL_WORLD_SIZE=2 MASTER_ADDR=h COLL_SECRET=" SECRET, .rank = 1,
	  .nranks = 4, .root = "h" },
	{ "RANK=1 WORLD_SIZE=4 LOCAL_WORLD_SIZE=2 MASTER_ADDR=127.0.0.1", .rank = 1, .nranks = 4,
	  .root = "127.0.0.1" },
	{ "RANK=1 WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 MASTER_ADDR=h COLL_RENDEZVOUS=i:1", .rank = 1,
	  .nranks = 2, .root = "i" },
	{ "COLL_RANK=auto COLL_SIZE=2 COLL_RENDEZVOUS=h:1", .rank = COLL_RANK_AUTO, .nranks = 2,
	  .root = "h" },
	{ "COLL_RANK=auto COLL_SIZE=1", .rank = 0, .nranks = 1 },
	{ "COLL_BOOTSTRAP=pmi", .nranks = 1 },
	{ "COLL_BOOTSTRAP=", .nranks = 1 },
	{ "PMIX_RANK=1 RANK=1 WORLD_SIZE=3 MASTER_ADDR=h", .rank = 1, .nranks = 3 },
	{ "COLL_RANK=0 COLL_SIZE=1 SLURM_NTASKS=4 MASTER_ADDR=h", .nranks = 1 },
	{ "SLURM_NTASKS=4 RANK=2", { .rank = 1, .nranks = 2, .rendezvous = "h:1" },
	  .rank = 1, .nranks = 2 },
	{ "MV2_USE_CUDA=1 SLURM_JOB_ID=7 OMPI_MCA_btl=tcp", .nranks = 1 },
	{ "COLL_TRANSPORT=", .nranks = 1 },
	{ "COLL_TRANSPORT=auto", .nranks = 1 },
	{ "COLL_TRANSPORT=local", .transport = "local", .nranks = 1 },
	{ "COLL_TRANSPORT=tcp", .transport = "tcp", .nranks = 1 },
	{ "COLL_TRANSPORT=local", { .transport = "tcp" }, .transport = "tcp", .nranks = 1 },

	{ "COLL_RANK=1", .says = "COLL_RANK=1 COLL_SIZE" },
	{ "COLL_SIZE=1", .says = "COLL_SIZE=1 COLL_RANK neither" },
	{ "COLL_RANK=1 COLL_SIZE= RANK=1 WORLD_SIZE=2", .says = "COLL_SIZE empty" },
	{ "COLL_RANK= COLL_SIZE=", .says = "COLL_RANK COLL_SIZE empty" },
	{ "COLL_RANK=", .says = "COLL_RANK empty COLL_SIZE" },
	{ "RANK=1", .says = "RANK=1 WORLD_SIZE" },
	{ "WORLD_SIZE=2", .says = "WORLD_SIZE=2 RANK" },
	{ "RANK=1 WORLD_SIZE=", .says = "WORLD_SIZE empty" },
	{ "OMPI_COMM_WORLD_RANK=1", .says = "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE" },
	{ "OMPI_COMM_WORLD_SIZE=2", .says = "OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK" },
	{ "MV2_COMM_WORLD_RANK=1", .says = "MV2_COMM_WORLD_RANK=1 MV2_COMM_WORLD_SIZE" },
	{ "MV2_COMM_WORLD_SIZE=2", .says = "MV2_COMM_WORLD_RANK" },
	{ "MV2_COMM_WORLD_LOCAL_RANK=0", .says = "MV2_COMM_WORLD_LOCAL_RANK COLL_RANK COLL_SIZE" },
	{ "PMI_RANK=1", .says = "PMI_RANK=1 PMI_SIZE" },
	{ "PMI_SIZE=2", .says = "PMI_SIZE=2 PMI_RANK" },
	{ "SLURM_PROCID=1", .says = "SLURM_PROCID=1 SLURM_STEP_NUM_TASKS" },
	{ "SLURM_STEP_NUM_TASKS=2", .says = "SLURM_STEP_NUM_TASKS=2 SLURM_PROCID" },
	{ "SLURM_JOB_ID=7 COLL_RENDEZVOUS=h:1", .says = "COLL_RENDEZVOUS COLL_RANK COLL_SIZE" },
	{ STEP "SLURM_STEP_NUM_NODES=2 SLURM_STEP_NODELIST=n[3-4]",
	  .says = "2 hosts secret --mpi=pmi2 --mpi=pmix libpmi0 COLL_SECRET_FILE" },
	{ STEP "SLURM_STEP_NUM_NODES=2 SLURM_STEP_NODELIST=n[x",
	  .says = "SLURM_STEP_NODELIST=n[x" },
	{ "RANK=1 WORLD_SIZE=4 LOCAL_WORLD_SIZE=2 MASTER_ADDR=h",
	  .says = "torchrun 2 of 4 COLL_SECRET COLL_SECRET_FILE COLL_INSECURE=1" },
	{ "COLL_RANK=auto COLL_SIZE=2", .says = "COLL_RENDEZVOUS" },
	{ "COLL_RANK=auto COLL_SIZE=2 COLL_RENDEZVOUS=h:1 COLL_BOOTSTRAP=pmi",
	  .says = "auto rendezvous COLL_BOOTSTRAP=pmi" },
	{ "COLL_RANK=auto", .says = "COLL_RANK=auto COLL_SIZE" },
	{ "RANK=auto WORLD_SIZE=2 MASTER_ADDR=h", .says = "RANK=auto number" },
	{ "COLL_RANK=0 COLL_SIZE=2 COLL_BOOTSTRAP=pmi3", .says = "pmi3 auto, tcp, pmi, pmi2 pmix" },
	{ "COLL_RANK=0 COLL_SIZE=2",
	  .says = "tcp: COLL_RENDEZVOUS=host:port MASTER_ADDR mpi: pmix: PMIX_NAMESPACE PMI_FD" },
	{ "PMI_RANK=0 PMI_SIZE=2 PMI_FD=x", .says = "PMI_FD=x number MASTER_ADDR" },
	{ "PMI_RANK=0 PMI_SIZE=2 PMI_FD=0", .says = "PMI_FD=0 socket" },
	{ "PMI_RANK=0 PMI_SIZE=2 PMI_PORT=h:1", .says = "PMI_PORT" },
	{ "COLL_RANK=1 COLL_SIZE=2 PMI_RANK=0 PMI_SIZE=2 PMI_FD=0", .says = "PMI rank 1 of 2" },
	{ "PMI_RANK=0 PMI_SIZE=2 COLL_BOOTSTRAP=pmi",
	  .says = "COLL_BOOTSTRAP=pmi pmi: PMI_FD SLURM_STEP_ID" },
	{ "PMI_RANK=0 PMI_SIZE=2 COLL_BOOTSTRAP=tcp", .says = "tcp: COLL_RENDEZVOUS" },
	{ "PMI_RANK=0 PMI_SIZE=2 COLL_BOOTSTRAP=pmix MASTER_ADDR=h",
	  .says = "COLL_BOOTSTRAP=pmix PMIX_NAMESPACE" },
	{ "PMIX_RANK=1", .says = "PMIX_RANK COLL_RANK COLL_SIZE" },
	{ "PMIX_RANK=", .says = "PMIX_RANK COLL_RANK COLL_SIZE" },
	{ "PALS_RANKID=1", .says = "PALS_RANKID COLL_RANK COLL_SIZE" },
	{ "MV2_COMM_WORLD_LOCAL_SIZE=2", .says = "MV2_COMM_WORLD_LOCAL_SIZE COLL_RANK COLL_SIZE" },
	{ "LOCAL_RANK=0", .says = "LOCAL_RANK COLL_RANK COLL_SIZE" },
	{ "COLL_RENDEZVOUS=h:1", .says = "COLL_RENDEZVOUS COLL_RANK COLL_SIZE" },
	{ "MASTER_ADDR=h", .says = "MASTER_ADDR COLL_RANK COLL_SIZE" },
	{ "MASTER_PORT=1", .says = "MASTER_PORT COLL_RANK COLL_SIZE" },
	{ "", { .rendezvous = "h:1" }, .says = "h:1 COLL_RANK COLL_SIZE" },
	{ "", { .rank = 1 }, .says = "rank 1" },
	{ "RANK=1 WORLD_SIZE=2", .says = "COLL_RENDEZVOUS" },
	{ "RANK=1 WORLD_SIZE=2 MASTER_ADDR=", .says = "MASTER_ADDR empty" },
	{ "RANK=1 WORLD_SIZE=2 MASTER_ADDR=h MASTER_PORT=", .says = "MASTER_PORT empty" },
	{ "RANK=1 WORLD_SIZE=2 MASTER_ADDR=h COLL_RENDEZVOUS=", .says = "COLL_RENDEZVOUS empty" },
	{ "RANK=x WORLD_SIZE=2 MASTER_ADDR=h", .says = "RANK=x" },
	{ "RANK=2 WORLD_SIZE=2 MASTER_ADDR=h", .says = "rank 2" },
	{ "COLL_SECRET=", .says = "COLL_SECRET empty" },
	{ "COLL_SECRET_FILE=", .says = "COLL_SECRET_FILE empty" },
	{ "COLL_SECRET_FD=", .says = "COLL_SECRET_FD empty" },
	{ "COLL_SECRET= COLL_SECRET_FILE=/etc/shadow", .says = "COLL_SECRET empty" },
	{ "COLL_SECRET_FD=x", .says = "COLL_SECRET_FD=x" },
	{ "COLL_SECRET_FD=999", .says = "COLL_SECRET_FD=999 Bad" },
	{ "COLL_TRANSPORT=TCP", .says = "TCP auto, local, rdma tcp" },
	{ "COLL_TRANSPORT=loc", .says = "loc auto, local, rdma tcp" },
	{ "COLL_TRANSPORT=tcp", { .transport = "" }, .says = "auto, local, rdma tcp" },
	{ "COLL_SECRET=" SECRET, .nranks = 1 },
};

static void environment(const char *set)
{
	static char words[400];
	char *one, *rest = NULL;

	clearenv();
	snprintf(words, sizeof(words), "%s", set);
	for (one = strtok_r(words, " ", &rest); one; one = strtok_r(NULL, " ", &rest))
		putenv(one);
}

static bool says_all(const char *text, const char *says)
{
	char words[400], *one, *rest = NULL;

	snprintf(words, sizeof(words), "%s", says);
	for (one = strtok_r(words, " ", &rest); one; one = strtok_r(NULL, " ", &rest))
		if (!strstr(text, one))
			return false;
	return true;
}

static void play(const struct scene *scene)
{
	char text[COLL_DETAIL_SIZE] = "";
	struct coll_detail detail = { text, sizeof(text) };
	struct coll_settings settings;
	struct exchange exchange;
	bool right;
	int err;

	environment(scene->set);
	err = coll_config_read(&settings, &scene->config, &detail);
	if (!err) {
		err = exchange_select(&exchange, &settings, &scene->config, &detail);
		coll_secret_put(settings.secret);
	}
	if (scene->nranks)
		right = !err && settings.rank == scene->rank &&
			settings.nranks == scene->nranks &&
			(!scene->root || !strcmp(settings.root_host, scene->root)) &&
			!strcmp(coll_names_transports[settings.transport],
				scene->transport ?: "auto");
	else
		right = err < 0 && says_all(text, scene->says);
	if (!tap_ok(right, "%s%s", *scene->set ? scene->set : "nothing",
		    scene->config.rendezvous ? ", configured" : ""))
		tap_note("%d, rank %d of %d, root %s: %s", err, settings.rank, settings.nranks,
			 settings.root_host, text);
}

int main(void)
{
	size_t i;

	tap_plan(sizeof(scenes) / sizeof(*scenes));
	for (i = 0; i < sizeof(scenes) / sizeof(*scenes); i++)
		play(&scenes[i]);
	return tap_exit();
}
