# SPDX-License-Identifier: LGPL-2.1-or-later
"""The communicator of a backend: operations that wait, those under way, and their queue.

The kernel takes 512 operations at once.  What comes then waits here in its order, and the poller
submits it when others have ended.
"""

from __future__ import annotations

import atexit
import errno
import math
import os
import threading
import time
import weakref
from collections import deque
from typing import Callable, Sequence

import torch

from .. import errors
from ..communicator import Communicator
from ..request import Request, slice_until
from . import poller
from .tensors import Copies
from .work import Operation, Work

#: Operations that the kernel takes at once.
MOST_UNDER_WAY = 512


def failure(error: errors.Error) -> RuntimeError:
    """The error as programs of torch expect it.  Its cause has rank, process and operation.

    Such programs look for the word "timeout" in the text of a deadline that has passed.
    """
    text = str(error)
    if isinstance(error, errors.OperationError) and error.errno == errno.ETIMEDOUT:
        text = text.replace("collective: ", "collective: timeout: ", 1)
    raised = RuntimeError(text)
    raised.__cause__ = error
    return raised


class Group:
    """A communicator, and the works that have not ended.

    lock: guards what follows; taken before those of the poller, the works and the communicator
    works: those that have not ended
    queue: calls that have not been submitted; the first one may be on its way to the kernel
    begun: the latest that has been on its way there
    descriptor: copy of the communicator's, for the poller; -1: none yet, or closed
    needs_poller: True if the poller has to end what is under way, or is likely to have to
    looked_at: True while the poller looks at the descriptor
    left: True while the poller is to collect after a while
    """

    def __init__(self, comm: Communicator) -> None:
        self.comm = comm
        self.descriptor = -1
        self._lock = threading.RLock()
        self._works: set[Work] = set()
        self._queue: deque[Operation] = deque()
        self._begun: Operation | None = None
        self._needs_poller = False
        self._looked_at = False
        self._left = False
        self._closed = False
        _all.add(self)

    # ---- by the backend ------------------------------------------------------------------------

    def run(self, call: Operation, copies: Copies) -> None:
        """Run a call in this thread, and wait for it.  Raises RuntimeError if it fails."""
        if not self._queue:
            try:
                self.comm._run(call)
                copies.store()
                return
            except errors.Error as error:
                if error.errno != errno.EAGAIN:
                    raise failure(error) from error
        self.start([call], copies, []).wait()

    def start(self, calls: Sequence[Operation], copies: Copies,
              result: list[torch.Tensor]) -> Work:
        """Start calls, which end together."""
        work = Work(self, calls[0].name if calls else "nothing", len(calls) or 1, copies, result)
        if not calls:
            work.end_call(None)
            return work
        for call in calls:
            call.work = work
        with self._lock:
            if self._closed:
                raise RuntimeError(f"collective: the process group is destroyed ({calls[0].name})")
            self._works.add(work)
            self._needs_poller |= len(calls) > 1
            self._queue.extend(calls)
            ended = self._submit_queue()
            self._see_to_queue()
            self._works.difference_update(ended)
        for other in ended:
            other.tell()
        return work

    def wait_for(self, request: Request, end: float) -> bool:
        """Wait in this thread for the only call of a work, and end the work.

        end: time at which the wait ends

        Return: false: another thread has to end the work.
        """
        deadline = None if end == math.inf else end
        try:
            while not request._ask(slice_until(deadline)):
                if deadline is not None and time.monotonic() >= deadline:
                    return True
        except errors.Error:
            # The communicator is closed: close() ends the works.
            return False
        # Another thread may be ending it.
        return self._end_waited(request) and request._call.work.has_ended

    def _end_waited(self, request: Request) -> bool:
        """End the work of a call that has ended.  Return: false: close() ends it."""
        with self._lock:
            if self._closed:
                return False
            ended = [request._call.work] if _end_call(request) else []
            if self._queue:
                ended += self._submit_queue()
                self._see_to_queue()
            self._works.difference_update(ended)
        for work in ended:
            work.tell()
        return True

    def look(self) -> bool:
        """Have the poller end what is under way at once.  Return: false: there can be no thread."""
        with self._lock:
            self._needs_poller = True
            under_way = self.comm._first_request()
            return under_way is None or self._see_to(under_way)

    def collect_here(self) -> None:
        """Do in this thread what the poller does."""
        for work in self.collect()[1]:
            work.tell()

    def abort(self, why: str) -> None:
        """Fail the group on all ranks."""
        try:
            self.comm.abort(why)
        except errors.Error as error:
            # It is closed.
            if error.errno != errno.EBADF:
                raise failure(error) from error

    @property
    def failed_with(self) -> int:
        """The errno of every operation, if the group has failed; 0: it has not, or is closed."""
        try:
            return self.comm.failure
        except errors.Error:
            return 0

    def close(self) -> None:
        """Leave the group.  What is under way fails.  Does nothing if it is closed."""
        with self._lock:
            self._closed = True
            works = list(self._works)
            self._queue.clear()
            self._drop_descriptor()
        # Until this returns, operations use the memory that the communicator's requests keep.  An
        # interrupt may end it: then the next close() goes on.
        self.comm.close()
        _end(works, "collective: the process group was destroyed")
        with self._lock:
            self._works.difference_update(works)

    def _drop_descriptor(self) -> None:
        if self.descriptor >= 0:
            poller.forget(self)
            os.close(self.descriptor)
            self.descriptor = -1

    # ---- with the lock -------------------------------------------------------------------------

    def _submit_queue(self) -> list[Work]:
        """Submit what the kernel takes.  Return: works that have ended by that, with an error.

        A call leaves the queue when it has its place in the kernel's order, so that a call without
        a queue before it cannot overtake it.
        """
        ended = []
        self._settle_begun()
        while self._queue:
            call = self._begun = self._queue[0]
            try:
                request = self.comm._submit(call)
            except errors.Error as error:
                if error.errno == errno.EAGAIN:
                    break
                self._queue.popleft()
                if call.work.end_call(failure(error)):
                    ended.append(call.work)
            else:
                self._queue.popleft()
                if call.work.has_one_call:
                    call.work.request = request
                self._see_to(request)
        self._begun = None
        return ended

    def _settle_begun(self) -> None:
        """A signal's handler has ended the last _submit_queue(): does the kernel have its call?"""
        call, self._begun = self._begun, None
        if call is None:
            return
        for request in list(self.comm._requests):
            if request._call is not call:
                continue
            if not request._handle:
                self.comm._forget(request)
            elif self._queue and self._queue[0] is call:
                self._queue.popleft()

    def _see_to_queue(self) -> None:
        """If nothing under way moves the queue on, have it tried again after a while."""
        if self._queue and (not self._looked_at or len(self.comm._requests) < MOST_UNDER_WAY):
            # Other ranks have to submit what this one has.
            self._ask(poller.retry)

    def _see_to(self, request: Request) -> bool:
        """Have the poller collect: when an operation ends, if that is needed, or after a while.

        Return: false: there can be no thread.
        """
        if self._looked_at:
            return True
        if self._needs_poller or self._queue:
            return self._look_at(request)
        if not self._left:
            self._left = self._ask(poller.leave)
        return self._left

    def _look_at(self, request: Request) -> bool:
        try:
            if self.descriptor < 0:
                self.descriptor = os.dup(request.fileno())
            self._looked_at = self._ask(poller.look_at)
            return self._looked_at
        except OSError:
            # The process has no descriptor left.
            return self._ask(poller.retry)

    def _ask(self, function: Callable[[Group], None]) -> bool:
        """Ask the poller.  Return: false: the process has as many threads as it may have.

        Then the threads that wait end what they wait for, and the next call tries again.
        """
        try:
            function(self)
            return True
        except RuntimeError:
            return False

    # ---- by the poller -------------------------------------------------------------------------

    def collect(self) -> tuple[bool, list[Work]]:
        """Collect what has ended, and go on with the queue.

        Return: has anything ended, and works that have, whose futures are to be told.
        """
        with self._lock:
            self._looked_at = self._left = False
            if self._closed:
                return False, []
            self._settle_begun()
            requests = self.comm._take_ended() or self._taken()
            works = [request._call.work for request in requests if _end_call(request)]
            if not requests:
                works += [work for work in self._works if work.settle()]
            works += self._submit_queue()
            self._works.difference_update(works)
            under_way = self.comm._first_request()
            if under_way is not None:
                self._see_to(under_way)
            else:
                # The next works are likely to be as these were.
                self._needs_poller = any(work.has_future for work in works)
            self._see_to_queue()
            return bool(requests), works

    def _taken(self) -> list[Request]:
        """Requests that have ended for a thread whose wait a signal's handler has ended then."""
        requests = [work.request for work in self._works]
        return [request for request in requests if request and request._ended]

    def break_down(self, error: Exception) -> None:
        """The poller cannot go on with the group: nothing is to wait for ever."""
        with self._lock:
            self._looked_at = self._left = False
            works = list(self._works)
            self._works.clear()
            self._queue.clear()
        text = f"the thread that completes operations failed: {error!r}"
        try:
            # This rank has skipped calls that others make: they are not to wait for them.
            self.comm.abort(text)
        except errors.Error:
            # It is closed.
            pass
        _end(works, f"collective: {text}")

    # ---- in a child of the process -------------------------------------------------------------

    def _disown(self) -> None:
        self._lock = threading.RLock()
        works = list(self._works)
        self._works.clear()
        self._queue.clear()
        self._closed = True
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
        for work in works:
            work.disown()
            try:
                work.tell()
            except RuntimeError:
                # The outcome of a callback is in its own future.
                pass


def _end_call(request: Request) -> bool:
    error = failure(request._error) if request._error is not None else None
    return request._call.work.end_call(error)


def _end(works: list[Work], text: str) -> None:
    for work in works:
        if work.fail(RuntimeError(f"{text} ({work.name})")):
            work.tell()


#: Every group of this process that is not freed.
_all: weakref.WeakSet[Group] = weakref.WeakSet()


def _at_exit() -> None:
    for group in list(_all):
        group.close()


def _in_child() -> None:
    poller.reset()
    for group in list(_all):
        group._disown()
    _all.clear()


# Before the package closes its communicators: what was registered last comes first.
atexit.register(_at_exit)
os.register_at_fork(after_in_child=_in_child)
