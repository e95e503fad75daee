# SPDX-License-Identifier: LGPL-2.1-or-later
"""Calls that wait in the library for other ranks, and end when a signal's handler raises.

Python runs handlers of signals in the main thread, between two steps of the interpreter, so not
while the main thread is in the library.  There a second thread makes the call, and the main thread
waits for it.  The library asks about twenty times a second whether to give up.  Then it tells the
other ranks, which may take a second, so the main thread does not wait for that.
"""

from __future__ import annotations

import signal
import threading
from typing import Any, Callable, TypeVar

from .structs import INTERRUPT

#: Longest time for which the main thread is in the library, in ms.
SLICE_MS = 50

#: How long the end of the process waits for calls that were given up, s.
END_SECONDS = 2

_calling = threading.local()

T = TypeVar("T")


class _Caller(threading.Thread):
    """The thread that makes a call.

    function: makes it
    undo: called with the result if the main thread does not wait for it any more
    """

    def __init__(self, function: Callable[[], Any], undo: Callable[[Any], None]) -> None:
        super().__init__(name="libcollective", daemon=True)
        self.function = function
        self.undo = undo
        self.stop = False
        self.lock = threading.Lock()
        self.ended = threading.Event()
        self.result: Any = None
        self.error: BaseException | None = None

    def run(self) -> None:
        _calling.caller = self
        try:
            self.result = self.function()
        except BaseException as error:
            self.error = error
        with self.lock:
            self.ended.set()
            if self.stop and self.error is None:
                self.undo(self.result)

    def give_up(self) -> None:
        """The main thread waits no more."""
        with self.lock:
            self.stop = True
            if self.ended.is_set() and self.error is None:
                self.undo(self.result)


#: Calls that were given up, and that still tell the other ranks so.
_given_up: list[_Caller] = []


def await_given_up() -> None:
    """Wait until other ranks know of the calls that were given up; at the end of the process."""
    for caller in _given_up:
        caller.ended.wait(END_SECONDS)


def await_ended(calls: list[_Caller], seconds: float) -> None:
    """Wait until calls that were given up have ended, and remove them, or those that do not end.

    seconds: longest time for each; Ctrl-C ends the wait, which the next call repeats
    """
    for caller in list(calls):
        caller.ended.wait(seconds)
        if caller in calls:
            calls.remove(caller)


def is_given_up() -> bool:
    """Does the main thread no longer wait for the call that this thread makes?"""
    caller = getattr(_calling, "caller", None)
    return caller is not None and caller.stop


def _is_to_end(_context: Any) -> int:
    return int(is_given_up())


#: The function that the library asks.
is_to_end = INTERRUPT(_is_to_end)


def is_interruptible() -> bool:
    """Can a signal interrupt this thread?"""
    return threading.get_ident() == threading.main_thread().ident


def slice_ms() -> int:
    """How long this thread may be in the library; -1: for ever."""
    return SLICE_MS if is_interruptible() else -1


def call(function: Callable[[], T], undo: Callable[[T], None],
         given_up: list[_Caller] | None = None) -> T:
    """Call a function of the library that waits for other ranks.

    undo: called with the result if it is there although the call was to end
    given_up: takes the call if it is given up, for await_ended()
    """
    if not is_interruptible():
        return function()
    caller = _Caller(function, undo)
    try:
        _start(caller)
        caller.ended.wait()
    except BaseException:
        # Unless there is no thread.
        if caller.ident is not None:
            _given_up[:] = [other for other in (*_given_up, caller) if not other.ended.is_set()]
            if given_up is not None:
                given_up.append(caller)
        caller.give_up()
        raise
    if caller.error is not None:
        raise caller.error
    return caller.result


def _start(caller: _Caller) -> None:
    """Start a thread, which gets no signals, and is there when a signal's handler raises."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        caller.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
