# SPDX-License-Identifier: GPL-2.0-only
"""Communicators beside threads, children, event loops and the garbage collector."""

import asyncio
import errno
import gc
import multiprocessing
import os
import signal
import sys
import threading
import time
import warnings

import numpy as np

import libcollective
from tap import group, main, raises, test


def closing(rank, _flags):
    comm = libcollective.init()
    request = comm.ibarrier() if rank == 0 else None
    with comm:
        assert repr(comm) == f"<Communicator {comm.name}, rank {rank} of 2>"
    comm.close()
    with raises(libcollective.Error, "is closed"):
        comm.barrier()
    if request:
        with raises(libcollective.Error, "was closed"):
            request.wait()
        assert request.done


def closing_in_call(_rank, _flags):
    """close() ends what another thread waits for."""
    comm = libcollective.init()
    errors = []

    def wait():
        try:
            comm.recv(np.zeros(3), 1 - comm.rank)
        except libcollective.GroupError as error:
            errors.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    time.sleep(0.2)
    comm.close()
    thread.join()
    assert len(errors) == 1


def closing_in_handler(rank, flags):
    """close() in a signal's handler ends the call that the signal has interrupted."""
    comm = libcollective.init()
    comm.barrier()
    if rank == 0:
        handled = []

        def handle(_number, _frame):
            comm.close()
            handled.append(comm._is_closed)

        request = comm.ibarrier()
        signal.signal(signal.SIGALRM, handle)
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with raises(libcollective.Error, "rank 0"):
            comm.barrier()
        # Not in the handler, but by the end of the call.
        assert handled == [False] and comm._is_closed
        with raises(libcollective.Error, "was closed"):
            request.wait()
        flags.set(0)
    else:
        flags.await_set(0)
        with raises(libcollective.GroupError, "rank 0"):
            comm.barrier()
        comm.close()


def running_ahead(rank, flags):
    """With nosync a small broadcast ends at the root before other ranks have called it."""
    with libcollective.init(nosync=True) as comm:
        comm.barrier()
        numbers = np.full(4, 7.0) if rank == 0 else np.zeros(4)
        if rank:
            flags.await_set(0)
        comm.broadcast(numbers)
        flags.set(0)
        assert (numbers == 7).all()
        comm.barrier()


def forgotten(_rank, _flags):
    """A communicator that is not closed is, with a warning; requests are dropped."""
    comm = libcollective.init()
    results = [comm.iallreduce(np.full(10, i)) for i in range(5)]
    del results
    for _ in range(600):
        comm.iallreduce(1)
    assert comm.allreduce(1) == 2
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for request in list(comm._requests):
            request.wait()
        del request, comm
        gc.collect()
    assert any("was not closed" in str(warning.message) for warning in caught)


def threads(_rank, _flags):
    """Threads with a communicator each, at the same time."""
    with libcollective.init() as comm:
        comms = [comm.dup() for _ in range(3)]
        totals = []

        def work(mine):
            for i in range(100):
                totals.append((mine.allreduce(i), i))
            mine.close()

        workers = [threading.Thread(target=work, args=[mine]) for mine in comms]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert len(totals) == 300
        assert all(total == comm.size * i for total, i in totals)


def in_child(function):
    pid = os.fork()
    if not pid:
        status = 1
        try:
            function()
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def children(rank, _flags):
    """A child cannot use the communicator, gives it back, and can make one of its own."""
    comm = libcollective.init()
    request = comm.iallreduce(1)
    files = len(os.listdir("/proc/self/fd"))

    def child():
        assert len(os.listdir("/proc/self/fd")) < files
        for call in (comm.barrier, request.wait, request.cancel, comm.abort, comm.dup):
            with raises(libcollective.Error, f"belongs to process {os.getppid()}") as caught:
                call()
            assert caught.error.errno == errno.EPERM
        comm.close()
        with libcollective.init(0, 1) as own:
            assert own.allreduce(7) == 7

    assert in_child(child) == 0
    assert request.wait() == comm.size
    assert comm.allreduce(1) == comm.size
    # The child lives on when the parent has left: the group ends all the same.
    pid = os.fork()
    if not pid:
        time.sleep(3)
        os._exit(0)
    comm.close()
    with libcollective.init() as again:
        again.barrier()


def start_methods(_rank, _flags):
    with libcollective.init() as comm:
        for method in ("fork", "spawn", "forkserver"):
            context = multiprocessing.get_context(method)
            process = context.Process(target=own_group)
            process.start()
            process.join(50)
            assert process.exitcode == 0, f"{method}: {process.exitcode}"
        comm.barrier()


def own_group():
    with libcollective.init(0, 1) as comm:
        assert comm.allreduce(2) == 2


def awaiting(rank, flags):
    async def work(comm):
        loop = asyncio.get_running_loop()
        ticks = 0

        async def tick():
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0.01)

        ticking = asyncio.create_task(tick())
        for i in range(20):
            requests = [comm.iallreduce(i + k) for k in range(5)]
            # One of them is left alone: the others do not wait for it.
            totals = await asyncio.gather(*requests[1:])
            assert totals == [comm.size * (i + k) for k in range(1, 5)]
        late = comm.ibarrier() if rank == 0 else None
        if late:
            waiting = asyncio.ensure_future(asyncio.wait_for(wait(late), 0.3))
            with raises(asyncio.TimeoutError):
                await waiting
            flags.set(0)
            await late
        else:
            while not flags.memory[0]:
                await asyncio.sleep(0.01)
            await comm.ibarrier()
        assert ticks > 10, f"the loop stood still: {ticks}"
        flags.meet(rank, comm.size, first=1)
        if rank == 0:
            loop.call_later(0.2, comm.abort)
        with raises(libcollective.GroupError, "rank 0"):
            await comm.irecv(np.zeros(3), 1 - rank)
        ticking.cancel()

    async def wait(request):
        return await request

    with libcollective.init() as comm:
        asyncio.run(work(comm))


def at_exit(rank, _flags):
    """A process that ends leaves in good order: its last operation stands."""
    program = ("import libcollective\n"
               "comm = libcollective.init()\n"
               "assert comm.allreduce(1) == 2\n")
    if rank == 1:
        program += "import time; time.sleep(0.5); assert not comm.failed\n"
    status = os.spawnv(os.P_WAIT, sys.executable, [sys.executable, "-c", program])
    assert status == 0


def user_exchange(rank, _flags):
    """The group forms by a function of the program."""
    import socket
    port = int(os.environ["COLL_RENDEZVOUS"].split(":")[1])
    del os.environ["COLL_RENDEZVOUS"]

    def connect():
        if rank == 0:
            with socket.create_server(("127.0.0.1", port)) as server:
                return server.accept()[0]
        while True:
            try:
                return socket.create_connection(("127.0.0.1", port))
            except ConnectionRefusedError:
                time.sleep(0.01)

    with connect() as peer:
        def exchange(mine):
            peer.sendall(mine)
            theirs = b""
            while len(theirs) < len(mine):
                theirs += peer.recv(len(mine) - len(theirs))
            return [mine, theirs] if rank == 0 else [theirs, mine]

        with libcollective.init(exchange=exchange) as comm:
            assert comm.allreduce(1) == 2

    def broken(_mine):
        raise LookupError("no such store")

    with raises(LookupError, "no such store"):
        libcollective.init(exchange=broken)
    for parts in (1, 3):
        with raises(ValueError, f"returned {parts} parts, and the group has 2 ranks"):
            libcollective.init(exchange=lambda mine, parts=parts: [mine] * parts)


for function in (closing, closing_in_call, closing_in_handler, running_ahead, forgotten, threads,
                 children, start_methods, awaiting, at_exit, user_exchange):
    def run(function=function):
        group(2, function)
    run.__name__ = function.__name__
    test(run)

if __name__ == "__main__":
    main()
