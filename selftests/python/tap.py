# SPDX-License-Identifier: GPL-2.0-only
"""Tests that print TAP, and groups of processes for them.

Each rank is a child of the test, with the variables of a launcher and a function to run.
"""

import mmap
import os
import signal
import socket
import sys
import time
import traceback

#: Longest time of a group, s.
LIMIT = 60

_tests = []


def test(function):
    """Mark a function without arguments as a test; it raises if it fails."""
    _tests.append(function)
    return function


def main():
    """Run all tests, and end the process."""
    print("TAP version 13")
    print(f"1..{len(_tests)}", flush=True)
    failed = 0
    for number, function in enumerate(_tests, 1):
        name = function.__name__
        begin = time.monotonic()
        try:
            function()
            print(f"ok {number} {name}")
        except Exception:
            failed += 1
            print("# " + traceback.format_exc().replace("\n", "\n# "))
            print(f"not ok {number} {name}")
        print(f"# {time.monotonic() - begin:.2f} s", flush=True)
    sys.exit(failed > 0)


class raises:
    """A block that must raise an exception, whose text has a part."""

    def __init__(self, kind, part=""):
        self.kind = kind
        self.part = part
        self.error = None

    def __enter__(self):
        return self

    def __exit__(self, kind, error, _trace):
        assert kind is not None, f"no {self.kind.__name__}: {self.part}"
        if not issubclass(kind, self.kind):
            return False
        assert self.part in str(error), f"{error!s} does not say: {self.part}"
        self.error = error
        return True


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Flags:
    """Bytes that all ranks share."""

    def __init__(self):
        self.memory = mmap.mmap(-1, 4096)

    def set(self, flag, value=1):
        self.memory[flag] = value

    def await_set(self, flag, value=1):
        end = time.monotonic() + LIMIT / 2
        while self.memory[flag] != value:
            assert time.monotonic() < end, f"flag {flag} was not set"
            time.sleep(0.002)

    def meet(self, rank, size, first=0):
        """Returns when all ranks have called this with the same first flag."""
        self.set(first + rank)
        for other in range(size):
            self.await_set(first + other)


def _child(function, rank, size, port, flags):
    os.environ.update(COLL_RANK=str(rank), COLL_SIZE=str(size),
                      COLL_RENDEZVOUS=f"127.0.0.1:{port}")
    signal.signal(signal.SIGINT, signal.default_int_handler)
    status = 1
    try:
        function(rank, flags)
        status = 0
    except BaseException:
        text = f"rank {rank}: {traceback.format_exc()}"
        print("# " + text.replace("\n", "\n# "), flush=True)
    finally:
        sys.stdout.flush()
        os._exit(status)


def start(size, function, flags=None):
    """Start the ranks of a group.  Return: their process IDs, by rank."""
    port, flags = free_port(), flags or Flags()
    sys.stdout.flush()
    pids = []
    for rank in range(size):
        pid = os.fork()
        if not pid:
            _child(function, rank, size, port, flags)
        pids.append(pid)
    return pids


def finish(pids):
    """Wait for ranks.  Return: their statuses, negative after a signal."""
    end = time.monotonic() + LIMIT
    statuses = []
    for pid in pids:
        done, status = os.waitpid(pid, os.WNOHANG)
        while not done and time.monotonic() < end:
            time.sleep(0.005)
            done, status = os.waitpid(pid, os.WNOHANG)
        if not done:
            os.kill(pid, signal.SIGKILL)
            done, status = os.waitpid(pid, 0)
        statuses.append(os.waitstatus_to_exitcode(status))
    return statuses


def group(size, function):
    """Run function(rank, flags) in each of the ranks, which all have to succeed."""
    statuses = finish(start(size, function))
    assert not any(statuses), f"statuses of the ranks: {statuses}"
