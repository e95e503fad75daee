# SPDX-License-Identifier: GPL-2.0-only
"""Measures the backend beside Gloo, in turns, and prints tables.

    bench.py [verbs] [training]     default: both

Both backends have a group of the same processes.  A round has a batch of calls of each, one after
the other, and each round begins with the other one.  The time of a batch is that of its slowest
rank.  The tables have the medians over the rounds, and the median of the ratios of each round.

In the environment, lists are separated by blanks:
    RANKS     numbers of ranks, default "2 4"
    SIZES     bytes of a vector, or of the blocks of all ranks, default from 8 to 16777216
    VERBS     names as in the table, default all
    ROUNDS    default 15, of the training 7
    SYSTEMS   the two backends; the same one twice shows how much the method itself differs
    DATA      the digits, default build/data/digits.csv (examples/fetch-digits)
"""

import mmap
import os
import platform
import statistics
import struct
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist

import digits
import tap
from ranks import set_environment


def name_twice(backends):
    """The backends by their names in the table, where one may stand beside itself."""
    first, second = backends
    return {first: first, f"{second} 2" if first == second else second: second}


RANKS = [int(number) for number in os.environ.get("RANKS", "2 4").split()]
SIZES = [int(size) for size in os.environ.get(
    "SIZES", "8 64 1024 8192 65536 262144 1048576 4194304 16777216").split()]
ROUNDS = int(os.environ.get("ROUNDS", "15"))
TRAINING_ROUNDS = int(os.environ.get("ROUNDS", "7"))
DATA = os.environ.get("DATA", "build/data/digits.csv")

#: Names in the table, and backends.
BACKENDS = name_twice(os.environ.get("SYSTEMS", "collective gloo").split())
SYSTEMS = tuple(BACKENDS)

#: A batch takes about so long, s, but has no more calls than this.
BATCH_SECONDS = 0.003
BATCH_MOST = 64

#: Longest time of the groups of one size, s.
LIMIT = 2400

#: Bytes of the memory that ranks share.
SHARED = 4096

BYTES_OF_AN_ELEMENT = 4


# ---- verbs ------------------------------------------------------------------------------------

def values(rank, count):
    """Small numbers, whose sums are exact."""
    return ((torch.arange(count) + rank) % 7).float()


def blocks(size, count):
    return [torch.empty(count) for _ in range(size)]


def all_reduce(rank, size, count):
    tensor = values(rank, count)
    return lambda group: dist.all_reduce(tensor, group=group), [tensor]


def all_reduce_async(rank, size, count):
    tensor = values(rank, count)
    return lambda group: dist.all_reduce(tensor, group=group, async_op=True).wait(), [tensor]


def reduce(rank, size, count):
    tensor = values(rank, count)
    # Elsewhere the tensor has no defined values.
    return lambda group: dist.reduce(tensor, 0, group=group), [tensor] if rank == 0 else []


def broadcast(rank, size, count):
    tensor = values(rank, count)
    return lambda group: dist.broadcast(tensor, 0, group=group), [tensor]


def all_gather(rank, size, count):
    given, outputs = values(rank, count), blocks(size, count)
    return lambda group: dist.all_gather(outputs, given, group=group), outputs


def all_gather_into_tensor(rank, size, count):
    given, output = values(rank, count), torch.empty(size * count)
    return lambda group: dist.all_gather_into_tensor(output, given, group=group), [output]


def gather(rank, size, count):
    given, outputs = values(rank, count), blocks(size, count) if rank == 0 else None
    return lambda group: dist.gather(given, outputs, 0, group=group), outputs or []


def scatter(rank, size, count):
    output = torch.empty(count)
    given = [values(other, count) for other in range(size)] if rank == 0 else None
    return lambda group: dist.scatter(output, given, 0, group=group), [output]


def reduce_scatter(rank, size, count):
    output, given = torch.empty(count), [values(rank + other, count) for other in range(size)]
    return lambda group: dist.reduce_scatter(output, given, group=group), [output]


def reduce_scatter_tensor(rank, size, count):
    output, given = torch.empty(count), values(rank, size * count)
    return lambda group: dist.reduce_scatter_tensor(output, given, group=group), [output]


def all_to_all(rank, size, count):
    outputs, given = blocks(size, count), [values(rank + other, count) for other in range(size)]
    return lambda group: dist.all_to_all(outputs, given, group=group), outputs


def all_to_all_single(rank, size, count):
    output, given = torch.empty(size * count), values(rank, size * count)
    return lambda group: dist.all_to_all_single(output, given, group=group), [output]


def send_recv(rank, size, count):
    """From each even rank to the next one, and back."""
    tensor = values(rank, count)
    peer = rank ^ 1

    def call(group):
        for turn in (0, 1):
            if peer < size:
                (dist.send if rank % 2 == turn else dist.recv)(tensor, peer, group=group)
    return call, [tensor]


def isend_irecv(rank, size, count):
    """Around the ring."""
    given, output = values(rank, count), torch.empty(count)

    def call(group):
        for work in [dist.isend(given, (rank + 1) % size, group=group),
                     dist.irecv(output, (rank - 1) % size, group=group)]:
            work.wait()
    return call, [output]


def barrier(rank, size, count):
    return lambda group: dist.barrier(group), []


def monitored_barrier(rank, size, count):
    return lambda group: dist.monitored_barrier(group), []


#: Those whose size is that of the blocks of all ranks.
OF_BLOCKS = (all_gather, all_gather_into_tensor, gather, scatter, reduce_scatter,
             reduce_scatter_tensor, all_to_all, all_to_all_single)
WITHOUT_SIZE = barrier, monitored_barrier
ALL_VERBS = (all_reduce, all_reduce_async, reduce, broadcast, *OF_BLOCKS, send_recv, isend_irecv,
             *WITHOUT_SIZE)


# ---- measuring --------------------------------------------------------------------------------

class Ranks:
    """What the ranks of a group tell each other, in memory that they share."""

    def __init__(self, rank, size, memory):
        self.rank = rank
        self.size = size
        self.numbers = memoryview(memory).cast("d")

    def all(self, number):
        """The numbers of all ranks."""
        self.numbers[self.rank] = number
        dist.barrier()
        found = list(self.numbers[:self.size])
        dist.barrier()
        return found


def time_batch(ranks, call, group, batch):
    """Time of a call in s, of the slowest rank."""
    dist.barrier()
    begin = time.perf_counter()
    for _ in range(batch):
        call(group)
    return max(ranks.all((time.perf_counter() - begin) / batch))


def try_once(ranks, call, group):
    """Call it once.  Return: false if the backend has no such call."""
    has_failed = 0
    try:
        call(group)
    except (RuntimeError, NotImplementedError, ValueError):
        has_failed = 1
    return not any(ranks.all(has_failed))


def prepare(ranks, verb, count, groups):
    """Return: the systems that have the verb, the call, and the number of ranks that differ.

    Both use the same tensors: a process of User-Mode Linux has a limited number of mappings.
    """
    there, results = [], []
    for system in SYSTEMS:
        call, tensors = verb(ranks.rank, ranks.size, count)
        if try_once(ranks, call, groups[system]):
            there.append(system)
            results.append([tensor.clone() for tensor in tensors])
    wrong = len(there) == len(SYSTEMS) and any(
        not torch.equal(one, other) for one, other in zip(*results))
    for tensor in tensors:
        # Sums would grow.
        tensor.zero_()
    return there, call, sum(ranks.all(wrong))


def measure(ranks, verb, count, groups):
    """Return: times of each system by round, and the number of ranks with wrong results."""
    there, call, wrong = prepare(ranks, verb, count, groups)
    batches = {system: max(1, min(BATCH_MOST, int(BATCH_SECONDS / min(
        time_batch(ranks, call, groups[system], 1) for _ in range(3)))))
        for system in there}
    times = {system: [] for system in there}
    for turn in range(ROUNDS):
        for system in there[::-1] if turn % 2 else there:
            times[system].append(time_batch(ranks, call, groups[system], batches[system]))
    return times, wrong


def name_of_size(size):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size // unit} {name}"
    return f"{size} B"


def row(verb, size, times, wrong):
    medians = [f"{statistics.median(times[system]) * 1e6:,.1f}" if system in times else "-"
               for system in SYSTEMS]
    ratio = middle = "-"
    if len(times) == len(SYSTEMS):
        ratios = [second / first for first, second in zip(*(times[name] for name in SYSTEMS))]
        low, ratio, high = statistics.quantiles(ratios, n=4)
        ratio, middle = f"{ratio:.2f}", f"{low:.2f}-{high:.2f}"
    print(f"{verb.__name__:22} {size:>8} {medians[0]:>10} {medians[1]:>10} {ratio:>7} {middle:>14}"
          f"{f'  WRONG on {wrong:.0f} ranks' if wrong else ''}", flush=True)


RULE = "====================== ======== ========== ========== ======= =============="


def measure_verbs(rank, size, memory):
    dist.init_process_group("gloo", timeout=timedelta(seconds=60))
    groups = {system: dist.new_group(backend=backend) for system, backend in BACKENDS.items()}
    ranks = Ranks(rank, size, memory)
    wanted = os.environ.get("VERBS", "").split()
    if rank == 0:
        print(f"\n{size} ranks, us\n\n{RULE}\n{'verb':22} {'size':>8} {SYSTEMS[0]:>10} {SYSTEMS[1]:>10}"
              f" {'ratio':>7} {'middle half':>14}\n{RULE}", flush=True)
    for verb in ALL_VERBS:
        if wanted and verb.__name__ not in wanted:
            continue
        for bytes_of_all in [0] if verb in WITHOUT_SIZE else SIZES:
            count = bytes_of_all // BYTES_OF_AN_ELEMENT // (size if verb in OF_BLOCKS else 1)
            if not count and bytes_of_all:
                continue
            times, wrong = measure(ranks, verb, count, groups)
            if rank == 0:
                row(verb, name_of_size(bytes_of_all) if bytes_of_all else "", times, wrong)
    if rank == 0:
        print(RULE, flush=True)
    dist.destroy_process_group()


# ---- training ---------------------------------------------------------------------------------

def cpu_seconds():
    """CPU time of the whole machine: none accounts for the work of the kernel otherwise."""
    with open("/proc/stat", encoding="ascii") as stat:
        fields = [int(field) for field in stat.readline().split()[1:]]
    # Without idle and iowait.
    return (sum(fields[:3]) + sum(fields[5:8])) / os.sysconf("SC_CLK_TCK")


def train(rank, size, memory, kind, system, images_and_digits):
    """Leave there: time of a step, CPU time of a step, share that is right, of rank 0."""
    dist.init_process_group(BACKENDS[system], timeout=timedelta(seconds=60))
    dist.barrier()
    before = cpu_seconds()
    times, right = digits.train(kind, *images_and_digits, rank, size)
    dist.barrier()
    if rank == 0:
        # The first epoch has what is made once.
        steady = times[len(times) // digits.EPOCHS:]
        struct.pack_into("3d", memory, 0, statistics.median(steady),
                         (cpu_seconds() - before) / len(times), right)
    dist.destroy_process_group()


def train_once(size, *what):
    memory = mmap.mmap(-1, SHARED)
    in_processes(size, train, memory, *what)
    return struct.unpack_from("3d", memory)


def measure_training(size):
    """Three ways in turns: without collectives, and by each backend."""
    images_and_digits = digits.load(DATA)
    rule = "==== ========== ======== ============== ======== ======"
    print(f"\ntraining, {size} ranks, ms a step\n\n{rule}\n{'kind':4} {'backend':10} {'step':>8} "
          f"{'in collectives':>14} {'CPU':>8} {'right':>6}\n{rule}", flush=True)
    ways = [("alone", SYSTEMS[1]), *((kind, system) for kind in ("ddp", "fsdp") for system in SYSTEMS)]
    found = {way: [] for way in ways}
    for turn in range(TRAINING_ROUNDS):
        for way in ways[::-1] if turn % 2 else ways:
            found[way].append(train_once(size, *way, images_and_digits))
    medians = {way: [statistics.median(column) for column in zip(*rounds)]
               for way, rounds in found.items()}
    alone = medians[ways[0]][0]
    for (kind, system), (step, cpu, right) in medians.items():
        name, waits = ("-", "-") if kind == "alone" else (system, f"{(step - alone) * 1e3:.2f}")
        print(f"{kind[:5]:4} {name:10} {step * 1e3:8.2f} {waits:>14} {cpu * 1e3:8.2f} {right:6.1%}",
              flush=True)
    print(rule, flush=True)


# ---- processes --------------------------------------------------------------------------------

def in_processes(size, function, memory, *arguments):
    """Run function(rank, size, memory, ...) in each rank."""
    def run(rank, _flags):
        set_environment(rank, size)
        function(rank, size, memory, *arguments)
    statuses = tap.finish(tap.start(size, run))
    if any(statuses):
        sys.exit(f"bench: {function.__name__} with {size} ranks: statuses {statuses}")


def main():
    tap.LIMIT = LIMIT
    parts = sys.argv[1:] or ["verbs", "training"]
    print(f"# torch {torch.__version__}, Python {platform.python_version()}, "
          f"Linux {platform.release()}, {os.cpu_count()} CPUs")
    print("# medians of rounds in alternating order; ratio: time of the second over that of the first; "
          "middle half: of the ratios of the rounds")
    if os.environ.get("VM_KERNEL") == "uml":
        print("# bias: threads of one process never run in parallel in User-Mode Linux, which is "
              "against Gloo: it has a thread beside the caller")
    for size in RANKS:
        if "verbs" in parts:
            in_processes(size, measure_verbs, mmap.mmap(-1, SHARED))
    for size in RANKS:
        if "training" in parts:
            measure_training(size)


if __name__ == "__main__":
    main()
