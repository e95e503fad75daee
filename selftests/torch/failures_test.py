# SPDX-License-Identifier: GPL-2.0-only
"""What programs see when ranks die or make different calls: a RuntimeError that names the rank."""

import os
import re
import signal
import time

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import ErrorType
from torch.nn.parallel import DistributedDataParallel

import tap
from ranks import check, group, in_group
from tap import main, raises, test

CPU = torch.device("cpu")


def killed(size, survive, die=lambda: None):
    """Kill the last rank, when the others are ready, and call survive(rank, pid) on those."""
    def run(rank, flags):
        dist.all_reduce(torch.ones(3))
        if rank == size - 1:
            die()
            for other in range(size - 1):
                flags.await_set(other)
            time.sleep(0.2)
            os.kill(os.getpid(), signal.SIGKILL)
        survive(rank, lambda: flags.set(rank))

    statuses = tap.finish(tap.start(size, in_group(run, size)))
    assert statuses[-1] == -signal.SIGKILL and not any(statuses[:-1]), statuses


def names_the_rank(error, rank, call, of=None):
    of = of or rf"{call} \d+"
    text = str(error)
    assert type(error) is RuntimeError, type(error)
    assert re.fullmatch(rf"collective: rank {rank} \(pid \d+ on \S+\) died \({of}\)", text), text
    cause = error.__cause__
    assert (cause.rank, cause.collective, cause.host) == (rank, call, os.uname().nodename)


@test
def death_in_a_blocking_call():
    def survive(_rank, ready):
        ready()
        begin = time.monotonic()
        with raises(RuntimeError) as caught:
            dist.all_reduce(torch.ones(100000))
        assert time.monotonic() - begin < 1.2
        names_the_rank(caught.error, 3, "allreduce")
        backend = dist.distributed_c10d._get_default_group()._get_backend(CPU)
        assert backend.get_error() == ErrorType.REMOTE_ERROR
        with raises(RuntimeError, "rank 3"):
            dist.barrier()
    killed(4, survive)


@test
def death_while_a_work_goes_on():
    def survive(_rank, ready):
        works = [dist.all_reduce(torch.ones(100000), async_op=True) for _ in range(600)]
        future = works[1].get_future()
        ready()
        begin = time.monotonic()
        with raises(RuntimeError) as caught:
            works[0].wait()
        assert time.monotonic() - begin < 1.2
        names_the_rank(caught.error, 2, "allreduce")
        for work in works:
            with raises(RuntimeError, "rank 2"):
                work.wait()
        with raises(RuntimeError, "died (allreduce"):
            future.wait()
    killed(3, survive)


@test
def death_in_a_message():
    def survive(rank, ready):
        ready()
        if rank == 0:
            with raises(RuntimeError, "rank 2") as caught:
                dist.recv(torch.empty(3), 2)
            names_the_rank(caught.error, 2, "recv",
                           r"message 0 from rank 2 to rank 0\) \(recv")
        else:
            with raises(RuntimeError, "rank 2"):
                dist.barrier()
    killed(3, survive)


@test
def death_in_a_backward_pass():
    def step(model):
        model(torch.ones(4, 1000)).sum().backward()

    def survive(_rank, ready):
        model = DistributedDataParallel(torch.nn.Linear(1000, 500))
        step(model)
        ready()
        begin = time.monotonic()
        with raises(RuntimeError, "collective: rank 2 (pid ") as caught:
            step(model)
        assert time.monotonic() - begin < 1.5
        assert re.search(r"died \((allreduce|broadcast) \d+\)", str(caught.error)), caught.error

    def die():
        model = DistributedDataParallel(torch.nn.Linear(1000, 500))
        step(model)

    killed(3, survive, die)


@test
def different_calls():
    """Both are named, and the group goes on."""
    def run(rank, _flags):
        tensor = torch.ones(3 + rank)
        with raises(RuntimeError, "collective: rank"):
            dist.all_reduce(tensor)
        work = dist.all_reduce(torch.ones(1000 + rank), async_op=True)
        with raises(RuntimeError, "allreduce"):
            work.wait()
        tensor = torch.ones(3)
        dist.all_reduce(tensor)
        check(tensor, torch.full((3,), 2.0))
    group(2, run)


if __name__ == "__main__":
    main()
