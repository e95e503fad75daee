# SPDX-License-Identifier: GPL-2.0-only
"""Ranks that die, abort or are interrupted: which exceptions the others get, and when."""

import errno
import os
import signal
import threading
import time

import numpy as np

import libcollective
from tap import Flags, finish, free_port, group, main, raises, start, test

#: Longest time from Ctrl-C to the exception, s: 0.1 s, and what a busy machine adds.
PROMPT = 0.5

LARGE = 1 << 20


def interrupt_later(seconds, times):
    """Send SIGINT to this process after a while, as Ctrl-C does."""
    def send():
        time.sleep(seconds)
        times.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)
    threading.Thread(target=send, daemon=True).start()


class interrupted:
    """A block that ends by Ctrl-C, soon."""

    def __enter__(self):
        self.times = []
        # When the call waits, also on a busy machine.
        interrupt_later(0.5, self.times)

    def __exit__(self, kind, error, _trace):
        assert kind is KeyboardInterrupt, f"ended by {kind}: {error}"
        delay = time.monotonic() - self.times[0]
        assert delay < PROMPT, f"Ctrl-C took {delay:.3f} s"
        return True


def killed_rank(rank, flags):
    comm = libcollective.init()
    comm.allreduce(np.ones(3))
    if rank == 1:
        flags.set(0)
        time.sleep(60)
    with raises(libcollective.GroupError, f"rank 1 (pid {comm._processes[1].pid} on "
                f"{os.uname().nodename}) died (allreduce 1)") as caught:
        comm.allreduce(np.ones(LARGE))
    error = caught.error
    assert error.rank == 1 and error.errno == errno.ECONNRESET and error.operation == 1
    assert error.host == os.uname().nodename and error.pid == comm._processes[1].pid
    assert comm.failed
    with comm.shrink() as survivors:
        assert survivors.size == comm.size - 1
        assert survivors.allreduce(1) == survivors.size
    comm.close()


@test
def death():
    flags = Flags()
    pids = start(4, killed_rank, flags)
    flags.await_set(0)
    # Until the others are in the operation.
    time.sleep(1)
    os.kill(pids[1], signal.SIGKILL)
    assert finish(pids) == [0, -signal.SIGKILL, 0, 0]


def aborting_rank(rank, flags):
    with libcollective.init() as comm:
        # An abort also ends init() of a rank that has not yet returned from it.
        flags.meet(rank, comm.size)
        if rank == 0:
            timer = threading.Timer(0.2, comm.abort, ["there is no data"])
            timer.start()
        with raises(libcollective.GroupError, "rank 0 (pid ") as caught:
            comm.recv(np.zeros(LARGE), (rank + 1) % comm.size)
        assert "aborted the group" in str(caught.error)
        assert caught.error.errno == errno.ECANCELED and caught.error.rank == 0
        assert ("there is no data" in str(caught.error)) == (rank == 0)
        comm.abort("again: ignored")
        if rank == 0:
            timer.join()
    # Small operations without a system call, until the abort ends them.
    with libcollective.init() as comm:
        flags.meet(rank, comm.size, first=comm.size)
        if rank == 1:
            threading.Timer(0.2, comm.abort).start()
        with raises(libcollective.GroupError, "aborted the group"):
            while True:
                comm.allreduce(1)


@test
def abort():
    group(3, aborting_rank)


def interrupted_wait(rank, flags):
    large = np.ones(LARGE)
    with libcollective.init() as comm:
        if rank == 0:
            # A blocking call is cancelled, on every rank.
            with interrupted():
                comm.allreduce(large, out=large)
            flags.set(0)
        else:
            flags.await_set(0)
            with raises(libcollective.OperationError, "cancelled"):
                comm.allreduce(large, out=large)
        assert not comm.failed
        request = comm.iallreduce(np.full(5, 2.0)) if rank == 0 else None
        if request:
            # The operation of a request goes on.
            with interrupted():
                request.wait()
            with interrupted():
                libcollective.wait_any([request])
            with raises(TimeoutError, "goes on"):
                request.wait(timeout=0.05)
            flags.set(1)
            assert request.wait().tolist() == [2.0 * comm.size] * 5
            assert request.wait().tolist() == [2.0 * comm.size] * 5
        else:
            flags.await_set(1)
            comm.allreduce(np.full(5, 2.0))
        assert comm.allreduce(1) == comm.size
        if rank == 0:
            with interrupted():
                comm.barrier()
            flags.set(2)
        else:
            flags.await_set(2)
            with raises(libcollective.OperationError, "rank 0"):
                comm.barrier()
        assert comm.allreduce(1) == comm.size


@test
def interrupt_of_a_wait():
    group(2, interrupted_wait)


def many_interrupts(rank, _flags):
    """Handlers that raise at any moment of a wait: no result is lost."""
    waits = False
    raised = 0

    def handle(_number, _frame):
        nonlocal waits, raised
        if waits:
            waits = False
            raised += 1
            raise KeyboardInterrupt

    with libcollective.init() as comm:
        signal.signal(signal.SIGALRM, handle)
        if rank == 0:
            signal.setitimer(signal.ITIMER_REAL, 0.004, 0.004)
        for i in range(300):
            request = comm.iallreduce(i)
            total = None
            while total is None:
                try:
                    waits = True
                    total = request.wait()
                    waits = False
                except KeyboardInterrupt:
                    pass
            assert total == comm.size * i
        signal.setitimer(signal.ITIMER_REAL, 0)
        assert raised or rank


@test
def interrupts_at_any_moment():
    group(2, many_interrupts)


def interrupted_init(_rank, flags):
    with interrupted():
        libcollective.init()
    with libcollective.init(0, 1) as comm:
        with interrupted():
            # The other ranks of this group do not come, either.
            libcollective.init(0, 2, rendezvous=f"127.0.0.1:{free_port()}")
        assert comm.allreduce(3) == 3


@test
def interrupt_of_init():
    pids = start(1, lambda rank, flags: with_size_two(interrupted_init, rank, flags))
    assert finish(pids) == [0]


def with_size_two(function, rank, flags):
    os.environ["COLL_SIZE"] = "2"
    function(rank, flags)


def interrupted_split(rank, flags):
    with libcollective.init() as comm:
        if rank == 0:
            with interrupted():
                comm.dup()
            flags.set(0)
        else:
            flags.await_set(0)
            # Until the thread that rank 0 has left behind has given up.
            time.sleep(1)
            with raises(libcollective.Error):
                comm.dup()
        with comm.dup() as other:
            assert other.allreduce(1) == other.size


def operation_after_dup(rank, flags):
    """What follows a dup() that Ctrl-C has ended, at once, does not come between its exchanges."""
    with libcollective.init() as comm:
        if rank == 0:
            with interrupted():
                comm.dup()
            flags.set(0)
        else:
            flags.await_set(0)
            try:
                comm.dup().close()
            except libcollective.OperationError:
                pass
        assert comm.allreduce(rank) == 1


@test
def operation_after_interrupt_of_dup():
    group(2, operation_after_dup)


@test
def interrupt_of_dup():
    group(2, interrupted_split)


def late_rank(rank, flags):
    with libcollective.init(timeout=1.5) as comm:
        if rank == 0:
            with raises(libcollective.OperationError, "the deadline of rank 0") as caught:
                comm.barrier()
            assert caught.error.errno == errno.ETIMEDOUT
            # The one that was absent, not the one whose deadline it was.
            assert caught.error.rank == 1
            flags.set(0)
            comm.barrier()
        else:
            flags.await_set(0)
            with raises(libcollective.OperationError):
                comm.barrier()
            comm.barrier()


@test
def deadline():
    group(2, late_rank)


@test
def no_group():
    """What init() says when the other ranks do not come."""
    begin = time.monotonic()
    with raises(libcollective.Error, "collective: ") as caught:
        libcollective.init(0, 2, rendezvous=f"127.0.0.1:{free_port()}", init_timeout=0.3)
    assert caught.error.errno == errno.ETIMEDOUT and caught.error.rank == 1
    assert type(caught.error) is libcollective.Error
    assert time.monotonic() - begin < 5


if __name__ == "__main__":
    main()
