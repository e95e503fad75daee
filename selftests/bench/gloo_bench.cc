// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures Gloo over TCP on loopback, in C++ like Gloo.  Starts its ranks itself:
 *
 *	gloo_bench RANKS COLLECTIVE SIZES ITERS WARMUP [in-place] [cpu]
 *
 * Its reduce_scatter has Gloo's older interface: in place, and prepared for one buffer, so each
 * operation of a batch has an object of its own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <unordered_map>

#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/reduce_scatter.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include "method.h"

static std::shared_ptr<gloo::rendezvous::Context> context;
typedef gloo::ReduceScatterHalvingDoubling<float> ReduceScatter;

/* By their buffer. */
static std::unordered_map<float *, std::unique_ptr<ReduceScatter>> reduce_scatters;

static void prepare(const struct trial *trial)
{
	static size_t size;

	if (trial->collective != REDUCE_SCATTER)
		return;
	/* Those of the line before. */
	if (size != trial->size)
		reduce_scatters.clear();
	size = trial->size;
	reduce_scatters[trial->in].reset(new ReduceScatter(
		context, std::vector<float *>{ trial->in }, trial->count * context->size,
		std::vector<int>(context->size, trial->count)));
}

static float *result(const struct trial *trial)
{
	return trial->collective == REDUCE_SCATTER ? trial->in : trial->out;
}

static void allreduce(const struct trial *trial)
{
	gloo::AllreduceOptions options(context);

	if (trial->in != trial->out)
		options.setInput(trial->in, trial->count);
	options.setOutput(trial->out, trial->count);
	options.setReduceFunction([](void *to, const void *a, const void *b, size_t n) {
		gloo::sum<float>(to, a, b, n);
	});
	gloo::allreduce(options);
}

static void broadcast(const struct trial *trial)
{
	gloo::BroadcastOptions options(context);

	options.setOutput(trial->out, trial->count);
	options.setRoot(0);
	gloo::broadcast(options);
}

static void allgather(const struct trial *trial)
{
	gloo::AllgatherOptions options(context);

	options.setInput(trial->in, trial->count);
	options.setOutput(trial->out, trial->count * context->size);
	gloo::allgather(options);
}

static void alltoall(const struct trial *trial)
{
	gloo::AlltoallOptions options(context);

	options.setInput(trial->in, trial->count * context->size);
	options.setOutput(trial->out, trial->count * context->size);
	gloo::alltoall(options);
}

static void barrier()
{
	gloo::BarrierOptions options(context);

	gloo::barrier(options);
}

static void run(const struct trial *trial)
{
	switch (trial->collective) {
	case ALLREDUCE:
		return allreduce(trial);
	case BROADCAST:
		return broadcast(trial);
	case ALLGATHER:
		return allgather(trial);
	case REDUCE_SCATTER:
		return reduce_scatters.at(trial->in)->run();
	case ALLTOALL:
		return alltoall(trial);
	case BARRIER:
		return barrier();
	}
}

static void maximum(double *values, int n)
{
	gloo::AllreduceOptions options(context);

	options.setOutput(values, n);
	options.setReduceFunction([](void *to, const void *a, const void *b, size_t count) {
		gloo::max<double>(to, a, b, count);
	});
	gloo::allreduce(options);
}

static int run_rank(int rank, int nranks, const char *folder, int argc, char **argv)
{
	gloo::transport::tcp::attr where("127.0.0.1");
	struct peer peer = {};
	int status;

	auto device = gloo::transport::tcp::CreateDevice(where);
	gloo::rendezvous::FileStore store(folder);
	context = std::make_shared<gloo::rendezvous::Context>(rank, nranks);
	context->connectFullMesh(store, device);
	peer.rank = rank;
	peer.nranks = nranks;
	peer.prepare = prepare;
	peer.run = run;
	peer.barrier = barrier;
	peer.maximum = maximum;
	peer.result = result;
	status = method_main(&peer, argc, argv);
	barrier();
	fflush(stdout);
	/* No teardown: it would race with ranks that still read the last message. */
	_exit(status);
}

int main(int argc, char **argv)
{
	char folder[] = "/tmp/gloo_bench.XXXXXX";
	int nranks = argc > 1 ? atoi(argv[1]) : 0, status = 0, ended;
	std::vector<pid_t> pids;

	if (nranks < 1 || !mkdtemp(folder)) {
		fprintf(stderr, "usage: gloo_bench RANKS COLLECTIVE SIZES ITERS WARMUP [in-place] [cpu]\n");
		return 2;
	}
	for (int rank = 0; rank < nranks; rank++) {
		pid_t pid = fork();

		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			try {
				_exit(run_rank(rank, nranks, folder, argc - 1, argv + 1));
			} catch (const std::exception &e) {
				fprintf(stderr, "gloo_bench: rank %d: %s\n", rank, e.what());
				_exit(1);
			}
		}
		pids.push_back(pid);
	}
	for (int left = nranks; left && wait(&ended) > 0; left--) {
		if (!ended || status)
			continue;
		status = WIFEXITED(ended) ? WEXITSTATUS(ended) : 1;
		for (pid_t pid : pids)
			kill(pid, SIGKILL);
	}
	if (system((std::string("rm -rf ") + folder).c_str()))
		status = status ? status : 1;
	return status;
}
