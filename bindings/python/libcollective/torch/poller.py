# SPDX-License-Identifier: LGPL-2.1-or-later
"""The thread that completes the operations of all groups that no thread waits for.

One thread waits for the descriptors of the groups that have operations under way, outside the
interpreter.  Completing a future may run callbacks of the program, and one of them may wait for
another operation.  So before it completes futures the thread passes the wait on to a second one.
"""

from __future__ import annotations

import os
import select
import threading
import time
import traceback
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .group import Group
    from .work import Work

#: Pause after a descriptor has told of something that is not collected here, s.
OTHERS_PAUSE = 0.001

#: How often a queue is tried that no operation under way moves on, s.
RETRY_SECONDS = 0.005

#: How often what is under way is collected that was not waited for so far, s.
LEFT_SECONDS = 0.05

#: Most threads that wait for their turn: one may not have woken up when another comes back.
MOST_SPARES = 2

#: Each event is told once, until the descriptor is looked at again.
_ONCE = select.EPOLLIN | select.EPOLLONESHOT


class Poller:
    """The wait, and the threads that take turns in it.

    lock: guards what follows; no other lock is taken inside
    groups: groups that have had operations under way, by descriptor
    retries: groups whose queues are to be tried after a while
    left: groups that are to collect after another while
    left_until: its end
    spares: number of threads that wait for their turn
    turn: lock of the thread that waits for the descriptors
    waiting: identifier of that thread
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._turn = threading.Lock()
        self._groups: dict[int, Group] = {}
        self._retries: set[Group] = set()
        self._left: set[Group] = set()
        self._left_until = 0.0
        self._spares = 0
        self._waiting = 0
        self._runs = False
        self._epoll = select.epoll()
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._epoll.register(self._wake, select.EPOLLIN)

    def look_at(self, group: Group) -> None:
        """Look at the descriptor of a group until it has told once."""
        with self._lock:
            if self._groups.get(group.descriptor) is group:
                self._epoll.modify(group.descriptor, _ONCE)
            else:
                self._epoll.register(group.descriptor, _ONCE)
                self._groups[group.descriptor] = group
            self._run()

    def forget(self, group: Group) -> None:
        with self._lock:
            self._retries.discard(group)
            if self._groups.pop(group.descriptor, None) is not None:
                self._epoll.unregister(group.descriptor)

    def retry(self, group: Group) -> None:
        """Try the queue of a group after a while."""
        with self._lock:
            self._retries.add(group)
            self._tell()

    def leave(self, group: Group) -> None:
        """Let a group collect after a longer while: what it has will be waited for, or not."""
        with self._lock:
            is_first = not self._left
            self._left.add(group)
            if is_first:
                self._left_until = time.monotonic() + LEFT_SECONDS
                self._tell()

    def _tell(self) -> None:
        self._run()
        # The thread that waits sees it by itself: telling it would end its next pause.
        if self._waiting != threading.get_ident():
            os.eventfd_write(self._wake, 1)

    def close(self) -> None:
        """In a child of the process: give back the descriptors."""
        self._epoll.close()
        os.close(self._wake)

    def _run(self) -> None:
        if not self._runs:
            self._start_thread()
            self._runs = True

    def _start_thread(self) -> None:
        self._spares += 1
        try:
            threading.Thread(target=self._take_turns, name="libcollective-torch",
                             daemon=True).start()
        except BaseException:
            self._spares -= 1
            raise

    def _take_turns(self) -> None:
        try:
            self._take_turn()
            while True:
                works: list[Work] = []
                while not works:
                    works = [work for work in self._wait() if work.has_future]
                passed = self._pass_turn()
                for work in works:
                    _tell(work)
                if passed:
                    if not self._is_needed():
                        return
                    self._take_turn()
        except BaseException as error:
            self._break_down(error)

    def _take_turn(self) -> None:
        """Wait until no other thread waits for the descriptors."""
        self._turn.acquire()
        with self._lock:
            self._spares -= 1
            self._waiting = threading.get_ident()

    def _pass_turn(self) -> bool:
        """Let another thread wait.  Return: false if there can be none."""
        with self._lock:
            if not self._spares:
                try:
                    self._start_thread()
                except RuntimeError:
                    # The process ends, or has as many threads as it may have.
                    return False
            self._waiting = 0
        self._turn.release()
        return True

    def _is_needed(self) -> bool:
        """Is this thread, which has passed its turn, to take another one?"""
        with self._lock:
            if self._spares >= MOST_SPARES:
                return False
            self._spares += 1
            return True

    def _wait(self) -> list[Work]:
        """Wait for events, and collect what has ended.  Return: works that have ended."""
        events = self._epoll.poll(self._limit())
        with self._lock:
            told = {self._groups[descriptor] for descriptor, _ in events
                    if descriptor in self._groups}
            retries, self._retries = self._retries, set()
            if self._left and time.monotonic() >= self._left_until:
                retries |= self._left
                self._left = set()
        if any(descriptor == self._wake for descriptor, _ in events):
            _drain(self._wake)
        collected = [_collect(group) for group in told | retries]
        if told and not any(ended for ended, _ in collected):
            time.sleep(OTHERS_PAUSE)
        return [work for _, works in collected for work in works]

    def _limit(self) -> float | None:
        """How long the next wait may be, s; None: for ever."""
        with self._lock:
            if self._retries:
                return RETRY_SECONDS
            return max(0.0, self._left_until - time.monotonic()) if self._left else None

    def _break_down(self, error: BaseException) -> None:
        """A thread ends by an error: fail what it would complete; the next start makes another."""
        traceback.print_exc()
        with self._lock:
            groups = set(self._groups.values()) | self._retries | self._left
            self._retries, self._left = set(), set()
            self._runs = False
            self._turn = threading.Lock()
            self._spares = 0
        for group in groups:
            group.break_down(RuntimeError(repr(error)))


def _tell(work: Work) -> None:
    try:
        work.tell()
    except Exception:
        traceback.print_exc()


def _drain(descriptor: int) -> None:
    try:
        os.eventfd_read(descriptor)
    except BlockingIOError:
        pass


def _collect(group: Group) -> tuple[bool, list[Work]]:
    try:
        return group.collect()
    except Exception as error:
        traceback.print_exc()
        group.break_down(error)
        return False, []


#: A collection of garbage in a thread that holds it may close a group.
_lock = threading.RLock()
_poller: Poller | None = None


def _get() -> Poller:
    global _poller
    with _lock:
        if _poller is None:
            _poller = Poller()
        return _poller


def look_at(group: Group) -> None:
    """Look at the descriptor of a group until it has told once, and let the group collect."""
    _get().look_at(group)


def forget(group: Group) -> None:
    """Look no more at the descriptor of a group, which it will close."""
    _get().forget(group)


def leave(group: Group) -> None:
    """Let a group collect after a longer while."""
    _get().leave(group)


def retry(group: Group) -> None:
    """Let a group collect, and go on with its queue, after a while."""
    _get().retry(group)


def reset() -> None:
    """In a child of the process, which has none of its threads: begin anew."""
    global _lock, _poller
    _lock = threading.RLock()
    poller, _poller = _poller, None
    if poller is not None:
        poller.close()
