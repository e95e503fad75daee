# SPDX-License-Identifier: LGPL-2.1-or-later
"""What torch gets for an operation that goes on."""

from __future__ import annotations

import math
import threading
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import torch
from torch._C._distributed_c10d import Work as BaseWork

from ..call import Call
from .tensors import Copies

if TYPE_CHECKING:
    from ..request import Request
    from .group import Group

#: No limit, as torch says it.
NO_TIMEOUT = timedelta(0)

#: Longest wait for the gate of a work, s.
GATE_SECONDS = 1.0

#: How often a work is looked at if the process can have no thread for that, s.
ALONE_SECONDS = 0.001


class Operation(Call):
    """A call that belongs to a work.

    work: it
    """

    __slots__ = ("work",)

    work: Work


class Work(BaseWork):
    """One or more calls of a group that end together, with a future if there is a wish for one.

    The group keeps it until it has ended, so it may be dropped.  The calls keep their tensors.
    The thread that waits for it ends it, and the poller if it has several calls or a future.

    group: the group
    request: that of its only call, while the kernel has it; None: there are several
    has_one_call: True if a thread can wait for it by itself
    name: name of the collective
    left: number of calls that have not ended
    copies: results that are stored when all calls have ended
    result: tensors that the future gets
    """

    def __init__(self, group: Group, name: str, left: int, copies: Copies,
                 result: list[torch.Tensor]) -> None:
        super().__init__()
        self.name = name
        self.request: Request | None = None
        self.has_one_call = left == 1
        self._group = group
        self._left = left
        self._copies = copies
        self._tensors = result
        self._error: RuntimeError | None = None
        self._ended = False
        self._is_ending = False
        self._start: torch.futures.Future | None = None
        self._future: torch.futures.Future | None = None
        # A collection of garbage in a thread that holds it may end this work, too.
        self._lock = threading.RLock()
        # Free when all calls have ended: waiting for it costs less than for an event.
        self._gate = threading.Lock()
        self._gate.acquire()

    def __repr__(self) -> str:
        state = "under way" if not self._ended else "failed" if self._error else "complete"
        return f"<Work {self.name}, {state}>"

    # ---- by the group --------------------------------------------------------------------------

    def end_call(self, error: RuntimeError | None) -> bool:
        """One of the calls has ended.  Return: was it the last?"""
        with self._lock:
            if self._left:
                self._left -= 1
                self._error = self._error or error
        return self.settle()

    def settle(self) -> bool:
        """End it if all its calls have ended.  Return: has this thread ended it?

        A handler of a signal may end this: then it is called again.
        """
        return not self._left and self._end()

    def fail(self, error: RuntimeError) -> bool:
        """End it with an error, whatever its calls do.  Return: had it not ended?"""
        with self._lock:
            if self._ended:
                return False
            self._error = self._error or error
            self._left = 0
        return self._end()

    def _end(self) -> bool:
        is_mine = False
        try:
            with self._lock:
                # One thread stores: the program may write the tensors when it has.
                if self._ended or self._is_ending:
                    return False
                self._is_ending = is_mine = True
            self._store()
            self._ended = True
        finally:
            if is_mine:
                self._is_ending = False
        # Its call has this work, so that a collection of garbage would have to free the tensors.
        self.request = None
        self._gate.release()
        return True

    def _store(self) -> None:
        if self._error is not None:
            return
        try:
            self._copies.store()
        except Exception as error:
            self._error = RuntimeError(f"collective: the result of {self.name} could not be "
                                       f"stored: {error}")
            self._error.__cause__ = error

    def disown(self) -> None:
        """In a child of the process: it never ends there, so it fails, with its future."""
        self._lock = threading.RLock()
        if not self._ended:
            self._error = RuntimeError(f"collective: the {self.name} belongs to the process of "
                                       "which this one is a child")
            self._ended = True
            self.request = None
            self._gate.release()

    @property
    def has_ended(self) -> bool:
        """Are its results there, or its error?"""
        return self._ended

    @property
    def has_future(self) -> bool:
        """Has tell() anything to do?"""
        return self._start is not None

    def tell(self) -> None:
        """Complete the future of a work that has ended, which runs what waits for it."""
        with self._lock:
            start, self._start = self._start, None
        if start is not None:
            start.set_result(None)

    def _outcome(self, _future: Any) -> list[torch.Tensor]:
        if self._error is not None:
            raise self._error
        return self._tensors

    # ---- by torch ------------------------------------------------------------------------------

    def wait(self, timeout: timedelta = NO_TIMEOUT) -> bool:
        """Wait until the operation is complete.

        timeout: limit of the wait, after which the operation goes on; 0: none

        Ctrl-C ends the wait, and the operation goes on.

        Returns True.  Raises RuntimeError: the operation has failed, or the limit has passed.
        """
        seconds = timeout.total_seconds()
        if not self._await(seconds if seconds > 0 else math.inf):
            raise RuntimeError(f"collective: {self.name} has not ended within {seconds:g} s: it "
                               "goes on")
        if self._error is not None:
            raise self._error.with_traceback(None)
        return True

    def _await(self, seconds: float) -> bool:
        """Wait until it has ended.  Return: false if the time is over."""
        end = time.monotonic() + seconds
        while not self._ended:
            left = end - time.monotonic()
            if left <= 0:
                return False
            request = self.request
            # Callbacks of its future are not for this thread.
            if not request or self.has_future or not self._group.wait_for(request, end):
                self._await_gate(left)
        return True

    def _await_gate(self, left: float) -> None:
        """Wait until the poller has ended it, for a while."""
        if not self._group.look():
            self._group.collect_here()
            time.sleep(ALONE_SECONDS)
        # A handler of a signal may leave the gate locked behind it, so it is tried again.
        elif self._gate.acquire(timeout=min(left, GATE_SECONDS)):
            self._gate.release()

    def get_future(self) -> torch.futures.Future:
        """The future of the tensors, which the poller completes.

        Raises RuntimeError if the process can have no thread for that.
        """
        if not self._ended and not self._group.look():
            raise RuntimeError(f"collective: {self.name}: there can be no thread that completes the "
                               "future: the process has as many as it may have")
        with self._lock:
            if self._future is None:
                # A future of torch has no method that stores an error: only what a callback raises.
                self._start = torch.futures.Future()
                self._future = self._start.then(self._outcome)
            future, ended = self._future, self._ended
        if ended:
            self.tell()
        return future

    def synchronize(self) -> None:
        """wait()"""
        self.wait()

    def is_completed(self) -> bool:
        """Has the operation ended?"""
        if not self._ended and not self._group.look():
            self._group.collect_here()
        return self._ended

    def is_success(self) -> bool:
        """Has the operation ended without an error?"""
        return self._ended and self._error is None

    def exception(self) -> RuntimeError | None:
        """The error of the operation, or None."""
        return self._error

    def result(self) -> list[torch.Tensor]:
        """The tensors of an operation that has ended."""
        return self._tensors


class Joint(BaseWork):
    """Several works that are waited for together.

    works: they
    """

    def __init__(self, works: list[Work]) -> None:
        super().__init__()
        self._works = works

    def wait(self, timeout: timedelta = NO_TIMEOUT) -> bool:
        """Wait until all have ended.  Raises the error of the first that failed."""
        first: RuntimeError | None = None
        for work in self._works:
            try:
                work.wait(timeout)
            except RuntimeError as error:
                first = first or error
        if first is not None:
            raise first
        return True

    def get_future(self) -> torch.futures.Future:
        """The future of the tensors of all."""
        futures = [work.get_future() for work in self._works]
        return torch.futures.collect_all(futures).then(_tensors_of_all)

    def synchronize(self) -> None:
        """wait()"""
        self.wait()

    def is_completed(self) -> bool:
        """Have all ended?"""
        return all(work.is_completed() for work in self._works)


def _tensors_of_all(futures: torch.futures.Future) -> list[torch.Tensor]:
    return [tensor for future in futures.value() for tensor in future.value()]
