# SPDX-License-Identifier: GPL-2.0-only
"""Process groups: made, split, mixed with another backend, started by torchrun, and their end."""

import gc
import os
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import AllreduceOptions, Backend, ErrorType

import tap
from ranks import all_vectors, check, group, in_group, on_all_sizes, set_environment, vector
from tap import main, raises, test

CPU = torch.device("cpu")


@test
def found_by_import():
    assert "collective" in dist.Backend.backend_list
    assert dist.Backend.backend_capability["collective"] == ["cpu"]
    from libcollective.torch import register
    register()


@on_all_sizes
def new_groups(rank, size):
    evens = dist.new_group(list(range(0, size, 2)))
    pairs = [dist.new_group([first, first + 1]) for first in range(size - 1)]
    everyone = dist.new_group(timeout=timedelta(seconds=20))
    if rank % 2 == 0:
        tensor = vector(rank)
        dist.all_reduce(tensor, group=evens)
        check(tensor, sum(vector(other) for other in range(0, size, 2)))
    for first, pair in enumerate(pairs):
        if rank in (first, first + 1):
            tensor = vector(rank)
            dist.broadcast(tensor, first + 1, group=pair)
            check(tensor, vector(first + 1))
    tensor = vector(rank)
    dist.all_reduce(tensor, group=everyone)
    check(tensor, sum(all_vectors(size)))
    dist.destroy_process_group(everyone)
    dist.barrier()


@on_all_sizes
def split_groups(rank, size):
    world = dist.distributed_c10d._get_default_group()
    backend = world._get_backend(CPU)
    assert backend.supports_splitting and backend.name() == "collective"
    ranks = [other for other in range(size) if other % 2 == rank % 2]
    part = world.split_group(ranks, timeout=timedelta(seconds=20), group_name=f"part{rank % 2}",
                             group_desc="part")
    assert part.rank() == ranks.index(rank) and part.size() == len(ranks)
    tensor = vector(rank)
    part.allreduce([tensor], AllreduceOptions()).wait()
    check(tensor, sum(vector(other) for other in ranks))
    part.shutdown()
    # Again: the store is that of the first.
    part = world.split_group(ranks, timeout=timedelta(seconds=20), group_name=f"part{rank % 2}",
                             group_desc="part")
    part.allreduce([tensor], AllreduceOptions()).wait()
    check(tensor, sum(vector(other) for other in ranks) * len(ranks))
    part.shutdown()
    with raises(ValueError, f"rank {rank} is not in the new group"):
        backend.split(dist.HashStore(), [other for other in range(size) if other != rank], None)
    # Rank 0 has the store, in which the others may still form their part.
    dist.barrier()


class Second(Backend):
    """Another backend, for tensors that there are none of here."""

    def getBackendName(self):
        return "second"


dist.Backend.register_backend("second", lambda store, rank, size, timeout: Second(rank, size),
                              devices=["cuda"],
                              _backend_type=dist.ProcessGroup.BackendType.NCCL)


@test
def beside_another_backend():
    def run(rank, _flags):
        world = dist.distributed_c10d._get_default_group()
        assert world._get_backend(CPU).name() == "collective"
        assert world._get_backend(torch.device("cuda")).name() == "second"
        tensor = vector(rank)
        dist.all_reduce(tensor)
        check(tensor, sum(all_vectors(2)))
    group(2, run, backend="cpu:collective,cuda:second")


@test
def by_torchrun():
    program = Path(__file__).parent / "train.py"
    # Its Store needs libuv, which Debian's torch has not: a file instead.
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=3",
             "--local-addr=127.0.0.1", "--rdzv-backend=c10d", "--rdzv-conf=store_type=file",
             f"--rdzv-endpoint={folder}/rendezvous", str(program)],
            env={**os.environ, "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"},
            capture_output=True, text=True, timeout=200, check=False)
    assert not done.returncode, done.stdout + done.stderr
    assert "3 ranks: the loss fell" in done.stdout, done.stdout + done.stderr


@test
def more_than_the_kernel_takes():
    """1,500 operations are started before one is waited for, and messages before they are sent."""
    def run(rank, _flags):
        tensors = [torch.full((3,), float(number + rank)) for number in range(1500)]
        works = [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
        last = torch.ones(2)
        dist.all_reduce(last)
        check(last, torch.full((2,), 2.0))
        for number, work in enumerate(works):
            work.wait()
            check(tensors[number], torch.full((3,), 2.0 * number + 1))
        received = [torch.empty(2) for _ in range(700)]
        if rank == 0:
            works = [dist.irecv(tensor, 1) for tensor in received]
            for number, work in enumerate(works):
                work.wait()
                check(received[number], torch.full((2,), float(number)))
        else:
            time.sleep(0.2)
            for number in range(700):
                dist.send(torch.full((2,), float(number)), 0)
        dist.barrier()
    group(2, run)


@test
def works_that_are_dropped():
    """The tensors live until the operation has ended."""
    def run(rank, flags):
        if rank == 0:
            kept = torch.ones(100000)
            seen = weakref.ref(kept)
            dist.all_reduce(kept, async_op=True)
            del kept
            gc.collect()
            assert seen() is not None
            flags.set(0)
        else:
            flags.await_set(0)
            dist.all_reduce(torch.ones(100000))
        dist.barrier()
        if rank == 0:
            end = time.monotonic() + 10
            while seen() is not None and time.monotonic() < end:
                time.sleep(0.01)
            assert seen() is None
    group(2, run)


@test
def futures():
    """Callbacks run, and may wait for other operations."""
    def run(rank, _flags):
        told = []

        def again(future):
            told.append(threading.current_thread().name)
            tensor = future.value()[0]
            inner = dist.all_reduce(tensor.clone(), async_op=True)
            return inner.get_future().wait()[0]

        for _ in range(20):
            tensor = torch.full((3,), float(rank))
            chained = dist.all_reduce(tensor, async_op=True).get_future().then(again)
            check(chained.wait(), torch.full((3,), 2.0))
        assert set(told) <= {"libcollective-torch", "MainThread"}, told
        work = dist.all_reduce(torch.ones(3), async_op=True)
        work.wait()
        check(work.get_future().value()[0], torch.full((3,), 2.0))
    group(2, run)


@test
def functional_collectives():
    """Traced by torch.compile, without a compiler of C."""
    import torch.distributed._functional_collectives as functional

    def run(rank, _flags):
        def step(tensor):
            total = functional.all_reduce(tensor, "sum", [0, 1])
            parts = functional.all_gather_tensor(total + rank, 0, [0, 1])
            return functional.reduce_scatter_tensor(parts, "sum", 0, [0, 1])

        expected = 2 * (sum(all_vectors(2)) + rank)
        check(torch.compile(step, backend="aot_eager", fullgraph=True)(vector(rank)), expected)
        result = step(vector(rank))
        check(result + 0, expected)
    group(2, run)


@test
def deadlines():
    """Of one operation, of a barrier, and those that set_timeout() gives."""
    def run(rank, flags):
        backend = dist.distributed_c10d._get_default_group()._get_backend(CPU)
        if rank == 2:
            flags.await_set(0)
            flags.await_set(1)
            return
        with raises(RuntimeError, "not submitted by rank 2") as caught:
            dist.monitored_barrier(timeout=timedelta(milliseconds=300))
        assert caught.error.__cause__.rank == 2
        opts = AllreduceOptions()
        opts.timeout = timedelta(milliseconds=300)
        with raises(RuntimeError, "timeout: the deadline"):
            backend.allreduce([torch.ones(3)], opts).wait()
        backend.set_timeout(timedelta(milliseconds=300))
        with raises(RuntimeError, "timeout: the deadline"):
            dist.all_reduce(torch.ones(3))
        work = backend.barrier(dist.BarrierOptions()) if hasattr(dist, "BarrierOptions") else None
        if work is not None:
            with raises(RuntimeError, "has not ended within 0.05 s: it goes on"):
                work.wait(timedelta(milliseconds=50))
        flags.set(rank)
    group(3, run)


@test
def threads_with_groups_of_their_own():
    def run(rank, _flags):
        groups = [dist.new_group() for _ in range(3)]
        wrong = []

        def work(number):
            try:
                for i in range(50):
                    tensor = torch.full((5,), float(number + i))
                    dist.all_reduce(tensor, group=groups[number], async_op=i % 2 == 0)
                    dist.barrier(group=groups[number])
                    check(tensor, torch.full((5,), 2.0 * (number + i)))
            except Exception as error:
                wrong.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong, wrong
    group(2, run)


@test
def abort_from_a_thread():
    def run(rank, flags):
        if rank == 1:
            flags.await_set(0)
            world = dist.distributed_c10d._get_default_group()
            assert world._get_backend(CPU).get_error() == ErrorType.SUCCESS
            world._get_backend(CPU).abort()
            with raises(RuntimeError, "rank 1"):
                dist.all_reduce(torch.ones(3))
            assert world._get_backend(CPU).get_error() == ErrorType.COMM_ERROR
            return
        threading.Timer(0.2, lambda: flags.set(0)).start()
        with raises(RuntimeError, "rank 1"):
            dist.all_reduce(torch.ones(3))
        work = dist.all_reduce(torch.ones(3), async_op=True)
        with raises(RuntimeError, "aborted the group"):
            work.wait()
    group(2, run)


@test
def destroyed_with_operations_under_way():
    def run(rank, flags):
        if rank == 1:
            flags.await_set(0)
            return
        works = [dist.all_reduce(torch.ones(1000), async_op=True) for _ in range(600)]
        future = works[0].get_future()
        dist.destroy_process_group()
        for work in works:
            with raises(RuntimeError, "the process group was destroyed"):
                work.wait()
        with raises(RuntimeError, "the process group was destroyed"):
            future.wait()
        flags.set(0)
    statuses = tap.finish(tap.start(2, in_group(run, 2, destroys=False)))
    assert not any(statuses), statuses


@test
def end_of_the_process():
    """Without destroy_process_group(), also with operations under way."""
    program = """
import sys, torch, torch.distributed as dist
dist.init_process_group("collective")
dist.all_reduce(torch.ones(3))
dist.all_reduce(torch.ones(3), async_op=True).wait()
if dist.get_rank() == 0 and "under-way" in sys.argv:
    work = dist.all_reduce(torch.ones(3), async_op=True)
    future = work.get_future()
"""
    for arguments in ([], ["under-way"]):
        port = tap.free_port()
        processes = [subprocess.Popen(
            [sys.executable, "-c", program, *arguments], stderr=subprocess.PIPE, text=True,
            env={**os.environ, "RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1",
                 "MASTER_PORT": str(port)}) for rank in range(2)]
        for process in processes:
            _, text = process.communicate(timeout=60)
            assert process.returncode == 0, text
            assert "Traceback" not in text and "Fatal" not in text, text


@test
def groups_with_a_name_in_the_environment():
    """COLL_NAME is a part of the names of all groups, which differ."""
    def run(_rank, _flags):
        groups = [dist.new_group() for _ in range(2)]
        backends = [group._get_backend(CPU) for group in groups]
        names = {backend._group.comm.name for backend in backends}
        assert len(names) == 2 and all(name.startswith("named-") for name in names), names
        for group_of_all in groups:
            dist.barrier(group_of_all)
    os.environ["COLL_NAME"] = "named"
    try:
        group(2, run)
    finally:
        del os.environ["COLL_NAME"]


@test
def fork_of_a_rank():
    """The child has no part in the group, does not wait, and the parent goes on."""
    def run(rank, _flags):
        tensor = torch.ones(3)
        work = dist.all_reduce(torch.ones(3), async_op=True) if rank == 0 else None
        future = work.get_future() if rank == 0 else None
        pid = os.fork()
        if not pid:
            status = 1
            try:
                if work is not None:
                    try:
                        work.wait()
                    except RuntimeError as error:
                        assert "belongs to the process" in str(error)
                    with raises(RuntimeError, "belongs to the process"):
                        future.wait()
                with raises(RuntimeError):
                    dist.all_reduce(tensor)
                status = 0
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        if rank == 1:
            dist.all_reduce(torch.ones(3))
        else:
            work.wait()
        dist.all_reduce(tensor, async_op=True).wait()
        check(tensor, torch.full((3,), 2.0))
    group(2, run)


@test
def groups_by_one_store():
    """torch gives the next group the name of the first, and so its keys."""
    with tempfile.TemporaryDirectory() as folder:
        def run(rank, _flags):
            set_environment(rank, 2)
            store = dist.FileStore(f"{folder}/store", 2)
            for turn in range(5):
                # One of the ranks comes later.
                time.sleep(0.1 * (turn % 2 == rank))
                dist.init_process_group("collective", store=store, rank=rank, world_size=2,
                                        timeout=timedelta(seconds=20))
                tensor = vector(rank + turn)
                dist.all_reduce(tensor)
                check(tensor, vector(turn) + vector(turn + 1))
                dist.destroy_process_group()
        statuses = tap.finish(tap.start(2, run))
        assert not any(statuses), statuses


@test
def ranks_that_do_not_come():
    with tempfile.TemporaryDirectory() as folder:
        def run(rank, _flags):
            set_environment(rank, 3)
            begin = time.monotonic()
            with raises(RuntimeError, "collective: rank 2 did not come within 2 s"):
                dist.init_process_group(
                    "collective", store=dist.FileStore(f"{folder}/store", 3), rank=rank,
                    world_size=3, timeout=timedelta(seconds=2))
            assert time.monotonic() - begin < 10
        statuses = tap.finish(tap.start(2, run))
        assert not any(statuses), statuses


if __name__ == "__main__":
    main()
