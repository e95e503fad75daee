# SPDX-License-Identifier: LGPL-2.1-or-later
"""Operations under way, and persistent ones."""

from __future__ import annotations

import errno
import math
import select
import time
from ctypes import byref, c_int, c_void_p
from typing import TYPE_CHECKING, Any, Generator, Iterable

from . import errors, interrupt, library
from .call import Call
from .errors import Error

if TYPE_CHECKING:
    from .communicator import Communicator

#: Pause after a descriptor has told of an operation that is not waited for here, in s.
OTHERS_PAUSE = 0.001

#: Longest time of one wait in the library, in ms: its type has no more.
LONGEST_MS = (1 << 31) - 1

#: Another thread waits for the request, or has just got its outcome (0: of a persistent one).
_NOT_HERE = (-errno.EBUSY, -errno.ENOENT, 0)

#: What a wait returns while there is no outcome.
_NOT_YET = (-errno.EINPROGRESS, *_NOT_HERE)


class _Attempt:
    """One wait for a request.

    The library stores the outcome here before Python runs the handler of a signal, so that no
    outcome is lost if the handler raises.
    """

    __slots__ = ("codes", "index", "slot", "wait_any")

    def __init__(self, handle: int | None) -> None:
        self.slot = c_void_p(handle)
        self.index = c_int(-1)
        self.codes: list[int] = []
        self.wait_any = library.storing("coll_wait_any", self.codes)

    def wait(self, timeout_ms: int) -> None:
        self.wait_any(byref(self.slot), 1, byref(self.index), timeout_ms)

    @property
    def has_outcome(self) -> bool:
        return self.index.value == 0 and bool(self.codes)


class Request:
    """An operation under way.

    Until wait() has returned, or test() has returned True, the arrays of the operation belong to
    it: no result may be read, and no array written.  The request keeps them alive, and the
    communicator keeps the request, so it may be dropped.

    "await request" waits in asyncio, as wait() does otherwise.
    """

    def __init__(self, comm: Communicator, call: Call) -> None:
        self._comm = comm
        self._call = call
        self._handle = c_void_p()
        self._attempts: list[_Attempt] = []
        self._ended = False
        self._error: Error | None = None

    def __repr__(self) -> str:
        state = "under way" if not self._ended else "failed" if self._error else "complete"
        return f"<{type(self).__name__} {self._call.name}, {state}>"

    def _ask(self, timeout_ms: int) -> bool:
        """Ask the library.  Return: has the operation ended?"""
        if self._ended:
            return True
        handle = self._comm._enter()
        try:
            if self._settle(handle):
                return True
            attempt = _Attempt(self._handle.value)
            attempts = self._attempts
            attempts.append(attempt)
            attempt.wait(timeout_ms)
            if self._settle(handle):
                return True
            attempts.remove(attempt)
            if attempt.codes[0] in _NOT_HERE and timeout_ms:
                time.sleep(OTHERS_PAUSE)
            elif attempt.codes[0] not in _NOT_YET:
                raise self._comm._error(handle, attempt.codes[0], self._call)
            return False
        finally:
            self._comm._leave()

    def _settle(self, handle: int) -> bool:
        """Take the outcome of a wait, if there is one.  May be repeated after an interrupt."""
        # Other threads add and remove theirs.
        for attempt in tuple(self._attempts):
            if attempt.has_outcome:
                self._conclude(handle, attempt.codes[0])
        return self._ended

    def _conclude(self, handle: int, code: int) -> None:
        """The operation has ended.  @code: 0 or a negative errno"""
        self._error = self._comm._error(handle, code, self._call) if code else None
        self._ended = True
        self._comm._forget(self)

    def _result(self) -> Any:
        if self._error is not None:
            raise self._error.with_traceback(None)
        return self._call.outcome

    def _end(self, error: Error) -> None:
        """The communicator is closed: the operation has ended."""
        if not self._ended:
            self._error = error
            self._ended = True

    def wait(self, timeout: float | None = None) -> Any:
        """Wait until the operation is complete.

        timeout: seconds; None or infinite: no limit

        Ctrl-C ends the wait within 0.1 s, and the operation goes on: wait again, or cancel it.
        A later call returns the same.

        Returns the result, as the blocking call does.  Raises TimeoutError after the limit, or
        Error as the blocking call.
        """
        deadline = _deadline(timeout)
        while not self._ask(slice_until(deadline)):
            if deadline is not None and time.monotonic() >= deadline:
                raise TimeoutError(f"{self._call.name} has not ended within {timeout} s: it "
                                   "goes on")
        return self._result()

    def test(self) -> bool:
        """Is the operation complete?  Raises Error if it has failed."""
        if not self._ask(0):
            return False
        self._result()
        return True

    def cancel(self) -> bool:
        """Cancel the operation on every rank; the group goes on.

        The operation must still be waited for: it ends with OperationError, or with success if it
        was complete.

        Returns False if it had ended already.
        """
        handle = self._comm._enter()
        try:
            code = 0
            if not self._ended:
                code = library.get().coll_cancel(self._handle)
            if self._ended or code in (-errno.ENOENT, -errno.EALREADY):
                return False
            if code:
                raise self._comm._error(handle, code, self._call)
            return True
        finally:
            self._comm._leave()

    @property
    def done(self) -> bool:
        """True if the operation has ended, with or without success."""
        try:
            return self.test()
        except Error:
            return self._ended

    def fileno(self) -> int:
        """The descriptor for poll(), select() and event loops; do not read or close it.

        It is the same for all requests of a communicator, and readable while an operation is
        complete that no thread has waited for.
        """
        self._comm._enter()
        try:
            descriptor = library.get().coll_req_fd(self._handle)
        finally:
            self._comm._leave()
        if descriptor < 0:
            raise ValueError("the operation has ended: it has no descriptor")
        return descriptor

    def __await__(self) -> Generator[Any, None, Any]:
        from .awaiting import wait
        return wait(self).__await__()


class PersistentRequest(Request):
    """An operation that can be started any number of times, on the same arrays.

    It is made not started.  Its arrays stay pinned until free(), or until the communicator is
    closed.
    """

    def __init__(self, comm: Communicator, call: Call) -> None:
        super().__init__(comm, call)
        self._ended = True

    def start(self) -> PersistentRequest:
        """Start the operation; the order of starts must be the same on every rank.

        Returns the request.  Raises Error: with EBUSY, it is under way.
        """
        self._comm._await_given_up()
        handle = self._comm._enter()
        try:
            if not self._handle:
                raise ValueError("the operation has been freed")
            if not self._ended and not self._settle(handle):
                raise errors.refused(errno.EBUSY, f"{self._call.name} is under way")
            code = self._begin()
            if code:
                raise self._comm._error(handle, code, self._call)
        finally:
            self._comm._leave()
        return self

    def _begin(self) -> int:
        """Start the operation, which has ended.  Return: 0 or a negative errno."""
        before = self._error
        codes: list[int] = []
        try:
            # First, so that it is under way, and kept, even if a signal interrupts this.
            self._attempts = []
            self._error = None
            self._ended = False
            self._comm._remember(self)
            library.storing("coll_start", codes)(self._handle)
        finally:
            if codes != [0]:
                self._error = before
                self._ended = True
                self._comm._forget(self)
        return codes[0]

    def free(self) -> None:
        """Free the operation, and unpin its arrays.  Raises Error: with EBUSY, it is under way."""
        handle = self._comm._enter()
        try:
            code = library.get().coll_request_free(self._handle) if self._handle else 0
            if code:
                raise self._comm._error(handle, code, self._call)
            self._handle.value = None
        finally:
            self._comm._leave()

    def __enter__(self) -> PersistentRequest:
        return self

    def __exit__(self, *_exception: Any) -> None:
        if self._comm._handle is not None and self._ended:
            self.free()


def _deadline(timeout: float | None) -> float | None:
    """The time at which a wait ends; None: without limit."""
    return None if timeout is None or timeout == math.inf else time.monotonic() + timeout


def slice_until(deadline: float | None) -> int:
    """Time limit of one call of the library in ms; -1: none."""
    longest = interrupt.slice_ms()
    if deadline is None:
        return longest
    left = min(max(0, int((deadline - time.monotonic()) * 1000) + 1), LONGEST_MS)
    return left if longest < 0 else min(longest, left)


def wait_all(requests: Iterable[Request]) -> list:
    """Wait until all operations have ended.

    Returns their results, in the same order.  Raises the error of the first that failed, when all
    have ended.
    """
    requests = list(requests)
    first: Error | None = None
    results = []
    for request in requests:
        try:
            results.append(request.wait())
        except Error as error:
            first = first or error
    if first is not None:
        raise first
    return results


def wait_any(requests: Iterable[Request], timeout: float | None = None) -> int:
    """Wait until one of several operations has ended, with or without success.

    timeout: seconds; None or infinite: no limit

    Returns its index.  Raises TimeoutError after the limit, ValueError if there are no requests.
    """
    requests = list(requests)
    if not requests:
        raise ValueError("there are no requests")
    deadline = _deadline(timeout)
    poll = select.poll()
    told = False
    while True:
        for index, request in enumerate(requests):
            if request.done:
                return index
        if deadline is not None and time.monotonic() >= deadline:
            raise TimeoutError(f"no operation has ended within {timeout} s: they go on")
        # Of another operation, or of the failure of the group.
        if told:
            time.sleep(OTHERS_PAUSE)
        for request in requests:
            if not request._ended:
                poll.register(request.fileno(), select.POLLIN)
        told = bool(poll.poll(interrupt.SLICE_MS))
