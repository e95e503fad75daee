# SPDX-License-Identifier: LGPL-2.1-or-later
"""Communicators: joining a group, running operations in it, and leaving it."""

from __future__ import annotations

import asyncio
import errno
import operator
import os
import sys
import threading
import warnings
import weakref
from ctypes import byref, c_int, c_void_p
from types import FrameType
from typing import Any, Callable

from . import arrays, errors, interrupt, library, lifetime, places, structs
from .arrays import Memory
from .awaiting import Watch
from .blocking import Blocking
from .call import Call
from .configuration import Configuration, Exchange, milliseconds
from .nonblocking import Nonblocking
from .persistent import Persistent
from .request import PersistentRequest, Request

#: From so many requests on that no thread has waited for, a start looks which have ended.
MANY_REQUESTS = 256

#: After Ctrl-C in a blocking call, how often its end is looked for before that is left to the
#: communicator; each takes interrupt.SLICE_MS.
END_SLICES = 100

#: How long an operation waits for the end of a split() that Ctrl-C has ended, s.  The library
#: takes little more than a second.
GIVEN_UP_SECONDS = 10

#: Largest colour.
INT_MAX = (1 << 31) - 1

#: How long close() waits for the calls of other threads to end, s.  After that the memory that the
#: library has of the communicator is not freed.
CLOSE_SECONDS = 10


class Communicator(Blocking, Nonblocking, Persistent):
    """The membership of this process, as one rank, in a group.

    init(), split(), dup() and shrink() make one.  All ranks call the same collectives in the same
    order.  Threads that must not wait for one another use a communicator each (dup()).

    With "with", the block ends with close().
    """

    def __init__(self, pointer: c_void_p, flags: int) -> None:
        """Not for users: init() makes a communicator."""
        functions = library.get()
        handle = pointer.value
        self._handle = handle
        self._flags = flags
        self._pid = os.getpid()
        self._is_disowned = False
        # Entered by a signal's handler, too, in the thread that has it.
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._calls: dict[int, list[FrameType]] = {}
        self._given_up: list = []
        self._registered: list[Memory] = []
        self._requests: set[Request] = set()
        self._lingering: list[Call] = []
        self._failed: dict[int, str] = {}
        self._watches: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()
        self._is_closing = False
        self._is_closed = False
        # Iterated over, calls the function once, in whichever thread and however often.  No
        # handler of a signal runs between the iterator's step and the call.
        self._finalize = map(functions.coll_finalize, iter((handle,)))
        self._pointer = handle or 0
        self.rank: int = functions.coll_rank(handle)
        self.size: int = functions.coll_size(handle)
        self.name: str = functions.coll_name(handle).decode()
        self._processes = places.of_group(self.name, self.rank)
        lifetime.add(self)

    def __repr__(self) -> str:
        state = "" if self._handle is not None else ", closed"
        return f"<Communicator {self.name}, rank {self.rank} of {self.size}{state}>"

    # ---- calls of the library: close() waits for them ------------------------------------------

    def _enter(self) -> int:
        """Begin calls of the library in the function that calls this; _leave() there ends them.

        Return: the handle, which is valid until then.
        """
        frame = sys._getframe(1)
        with self._lock:
            # First, so that a signal's handler that closes it from now on leaves the handle valid.
            # A thread has more than one if such a handler makes a call within a call.
            thread = threading.get_ident()
            self._calls[thread] = [*self._own_calls(), frame]
            if self._handle is not None:
                return self._pointer
        self._end_call(frame)
        if self._is_disowned:
            raise errors.Error(
                errno.EPERM, "collective: the communicator belongs to process "
                f"{self._pid}, of which this one is a child: make one here")
        raise errors.refused(errno.EBADF, "the communicator is closed")

    def _leave(self) -> None:
        self._end_call(sys._getframe(1))

    def _end_call(self, frame: FrameType) -> None:
        with self._lock:
            calls = self._calls.get(threading.get_ident(), ())
            self._set_own_calls([call for call in calls if call is not frame])
        # Without a wait.
        if self._is_closing and not self._is_closed:
            self._end(0)

    def _own_calls(self) -> list[FrameType]:
        """The calls that this thread is in, by their functions.

        A function that a signal has ended before _leave() does not run any more.
        """
        known = self._calls.get(threading.get_ident())
        return _running(known) if known else []

    def _set_own_calls(self, calls: list[FrameType]) -> None:
        if calls:
            self._calls[threading.get_ident()] = calls
        else:
            self._calls.pop(threading.get_ident(), None)
            if self._is_closing:
                self._changed.notify_all()

    def _await_given_up(self) -> None:
        """Wait for a split() that Ctrl-C has ended here: what follows may not come between its
        exchanges, which are those of other ranks, too."""
        if self._given_up:
            interrupt.await_ended(self._given_up, GIVEN_UP_SECONDS)

    def _error(self, handle: int, code: int, call: Call | None = None) -> errors.Error:
        name = call.name.replace("_axis", "") if call else None
        return errors.of_call(handle, code, collective=name, failed=self._failed,
                              processes=self._processes)

    def _check(self, handle: int, code: int) -> None:
        if code:
            raise self._error(handle, code)

    # ---- the three forms -----------------------------------------------------------------------

    def _run(self, call: Call) -> Any:
        self._await_given_up()
        handle = self._enter()
        slot = c_void_p()
        try:
            try:
                code = self._begin(handle, call, slot)
                while code == -errno.EINPROGRESS:
                    code = self._await(slot, interrupt.slice_ms())
            except BaseException:
                self._give_up(call, slot)
                raise
            if code:
                raise self._error(handle, code, call)
            return call.outcome
        finally:
            self._leave()

    def _begin(self, handle: int, call: Call, slot: c_void_p) -> int:
        """Begin a blocking call, and end it if it is short."""
        functions = library.get()
        if not call.is_simple and not call.timeout_ms:
            code = getattr(functions, f"coll_i{call.name}")(handle, *call.arguments(), byref(slot))
            return code or -errno.EINPROGRESS
        operation = call.describe(self._flags)
        if self._registered:
            self._find_registered(handle, call, operation)
        return functions.coll_submit_wait(handle, byref(operation), interrupt.slice_ms(),
                                          byref(slot))

    @staticmethod
    def _find_registered(handle: int, call: Call, operation: structs.Operation) -> None:
        find = library.get().coll_mem_number
        for memory in call.memories:
            address, length = memory.address, memory.array.nbytes
            if length and operation.send == address:
                operation.send_buffer = find(handle, address, length, 0)
            if length and operation.recv == address:
                operation.recv_buffer = find(handle, address, length, 1)

    @staticmethod
    def _await(slot: c_void_p, timeout_ms: int) -> int:
        index = c_int()
        return library.get().coll_wait_any(byref(slot), 1, byref(index), timeout_ms)

    def _give_up(self, call: Call, slot: c_void_p) -> None:
        """Cancel a blocking call, and wait until it does not use its memory any more."""
        cancelled = False
        for _ in range(END_SLICES):
            try:
                if not slot:
                    return
                if not cancelled:
                    library.get().coll_cancel(slot)
                    cancelled = True
                self._await(slot, interrupt.SLICE_MS)
            except BaseException:
                continue
        self._lingering.append(call)

    def _start(self, call: Call) -> Request:
        if len(self._requests) >= MANY_REQUESTS:
            self._collect()
        return self._submit(call)

    def _submit(self, call: Call) -> Request:
        self._await_given_up()
        handle = self._enter()
        try:
            request = Request(self, call)
            # First, so that it is kept even if a signal interrupts this.
            self._remember(request)
            if call.timeout_ms:
                code = library.get().coll_isubmit(handle, byref(call.describe(self._flags)),
                                                  byref(request._handle))
            else:
                code = getattr(library.get(), f"coll_i{call.name}")(
                    handle, *call.arguments(), byref(request._handle))
            if code:
                self._forget(request)
                raise self._error(handle, code, call)
            return request
        finally:
            self._leave()

    def _prepare(self, call: Call) -> PersistentRequest:
        if any(memory.is_copy for memory in call.memories):
            raise TypeError(f"{call.name}_init() needs an array that can be used where it is: "
                            "C-contiguous, aligned and in native byte order")
        handle = self._enter()
        try:
            request = PersistentRequest(self, call)
            code = getattr(library.get(), f"coll_{call.name}_init")(
                handle, *call.arguments(), byref(request._handle))
            self._check(handle, code)
            return request
        finally:
            self._leave()

    def _remember(self, request: Request) -> None:
        with self._lock:
            self._requests.add(request)

    def _forget(self, request: Request) -> None:
        with self._lock:
            self._requests.discard(request)

    def _first_request(self) -> Request | None:
        """Any request that has not ended."""
        with self._lock:
            return next(iter(self._requests), None)

    def _collect(self) -> None:
        """Collect the requests that have ended and that no thread has waited for."""
        with self._lock:
            requests = list(self._requests)
        for request in requests:
            request.done

    def _take_ended(self) -> list[Request]:
        """Collect the requests that have ended, without a wait, and return them.

        In a thread that runs no handlers of signals: one that raised here would lose an outcome.
        """
        handle = self._enter()
        try:
            with self._lock:
                requests = [request for request in self._requests if request._handle]
            handles = (c_void_p * len(requests))(*(request._handle.value for request in requests))
            index = c_int()
            ended: list[Request] = []
            # Each turn takes one.
            while len(ended) < len(requests):
                index.value = -1
                code = library.get().coll_wait_any(handles, len(requests), byref(index), 0)
                if index.value < 0:
                    # Another thread waits for one of them: the others each by itself.
                    if code in (-errno.EBUSY, -errno.ENOENT):
                        ended += [request for request in requests
                                  if request not in ended and request.done]
                    break
                requests[index.value]._conclude(handle, code)
                ended.append(requests[index.value])
            return ended
        finally:
            self._leave()

    def _watch(self, loop: asyncio.AbstractEventLoop, request: Request) -> Watch:
        # Until there is a copy, the communicator is not closed.
        self._enter()
        try:
            descriptor = request.fileno()
            with self._lock:
                watch = self._watches.get(loop)
                if watch is None:
                    watch = self._watches[loop] = Watch(os.dup(descriptor))
                return watch
        finally:
            self._leave()

    # ---- groups --------------------------------------------------------------------------------

    def _new_group(self, make: Callable[[int, Any], int]) -> Communicator | None:
        """Make a group of ranks of this one.  @make: function of the library."""
        def call() -> Communicator | None:
            handle = self._enter()
            try:
                new = c_void_p()
                self._check(handle, make(handle, byref(new)))
                return Communicator(new, self._flags) if new else None
            finally:
                self._leave()

        self._await_given_up()
        return interrupt.call(call, _undo, self._given_up)

    def split(self, color: int | None, key: int = 0) -> Communicator | None:
        """Make one group for each colour that the ranks give.

        color: 0 to 2^31 - 1; None: this rank joins none of the new groups
        key: order of the new ranks, an integer of 32 bits; with equal keys they keep their order

        All ranks call it, in their common order.  Ctrl-C ends it on all ranks of the colour.

        Returns the new communicator, which is independent of this one and is closed by itself; or
        None.  Raises Error, OperationError or GroupError, and ValueError for numbers beyond these.
        """
        number = structs.UNDEFINED
        if color is not None:
            number = operator.index(color)
            if not 0 <= number <= INT_MAX:
                raise ValueError(f"the colour {color} is not 0 to 2^31 - 1, or None")
        key = operator.index(key)
        if not -INT_MAX - 1 <= key <= INT_MAX:
            raise ValueError(f"the key {key} is not between -2^31 and 2^31 - 1")
        return self._new_group(lambda handle, new: library.get().coll_split(
            handle, number, key, new))

    def dup(self) -> Communicator:
        """Make another group of the same ranks, for another thread for example.

        All ranks call it, in their common order.  Returns and raises as split().
        """
        new = self._new_group(lambda handle, new: library.get().coll_dup(handle, new))
        assert new is not None
        return new

    def shrink(self, minority: bool = False) -> Communicator:
        """Make a group of the surviving ranks of this group, which has failed.

        minority: go on also without a majority of the ranks; for programs that know from elsewhere
            that the other part is gone

        All surviving ranks call it.  They keep their order.  This communicator is still to be
        closed.

        Returns the new communicator.  Raises Error: with ETIMEDOUT, the ranks are too few.
        """
        new = self._new_group(lambda handle, new: library.get().coll_shrink_flags(
            handle, int(minority), new))
        assert new is not None
        return new

    @property
    def failed(self) -> bool:
        """True if the group has failed: shrink() or init() makes another one."""
        return self.failure != 0

    @property
    def failure(self) -> int:
        """The errno with which every operation ends if the group has failed; 0: it has not."""
        handle = self._enter()
        try:
            return -library.get().coll_comm_failed(handle)
        finally:
            self._leave()

    def abort(self, why: str = "") -> None:
        """Fail the group on all ranks, from any thread.

        why: text for the errors of this rank

        All operations, under way or later, end with GroupError on every rank, where the text names
        this rank.  Does not wait.  Does nothing if the group has failed already.
        """
        handle = self._enter()
        try:
            code = library.get().coll_abort(handle, why.encode())
            if code != -errno.EALREADY:
                self._check(handle, code)
        finally:
            self._leave()

    # ---- memory --------------------------------------------------------------------------------

    def register(self, array: Any, read_only: bool = False) -> None:
        """Pin the memory of an array, which makes operations on it faster, until unregister().

        array: C-contiguous; it is kept alive until unregister() or close()
        read_only: operations only read it

        Errors: Error: with EDQUOT, beyond RLIMIT_MEMLOCK (ulimit -l).
        """
        memory = arrays.source(array) if read_only else arrays.target(array, "the array")
        if memory.is_copy:
            raise TypeError("the array is not C-contiguous, aligned and in native byte order")
        handle = self._enter()
        try:
            # First, so that it is kept even if a signal interrupts this.
            self._registered.append(memory)
            code = library.get().coll_register(handle, memory.address, memory.array.nbytes,
                                               int(read_only))
            if code:
                self._drop_registered(memory.address)
            self._check(handle, code)
        finally:
            self._leave()

    def unregister(self, array: Any) -> None:
        """Undo register(); no operation on the array may be under way."""
        memory = arrays.source(array)
        handle = self._enter()
        try:
            self._check(handle, library.get().coll_unregister(handle, memory.address))
            self._drop_registered(memory.address)
        finally:
            self._leave()

    def _drop_registered(self, address: int) -> None:
        """Keep no longer what was registered last at an address."""
        with self._lock:
            for i in reversed(range(len(self._registered))):
                if self._registered[i].address == address:
                    del self._registered[i]
                    return

    # ---- the end -------------------------------------------------------------------------------

    def close(self) -> None:
        """Leave the group and free the communicator; does nothing if it is closed.

        Ends operations under way: their requests fail.  If another thread is in a call, the group
        is aborted first, so that the call ends.  In a signal's handler, within a call of its
        thread, it aborts the group, and the call leaves it when it ends.  Does not wait for other
        ranks.  One that Ctrl-C has interrupted may be repeated.
        """
        if self._is_closed:
            return
        with self._lock:
            self._is_closing = True
            self._handle = None
        try:
            self._end(CLOSE_SECONDS)
        finally:
            # Again if a signal has interrupted it, but without a wait.
            if not self._is_closed:
                self._end(0)

    def _end(self, seconds: float) -> None:
        """Finish close() if no thread is in a call; may be repeated at any point.

        seconds: how long calls of other threads may take to end
        """
        with self._lock:
            if not self._end_calls(seconds):
                return
            any(self._finalize)
            # The memory that operations have used is dropped after their end.
            self._lingering.clear()
            self._registered.clear()
            requests = list(self._requests)
            watches = list(self._watches.items())
        for request in requests:
            request._end(errors.refused(errno.ECANCELED, "the communicator was closed"))
            self._forget(request)
        for loop, watch in watches:
            _end_watch(loop, watch)
        lifetime.remove(self)
        self._is_closed = True

    def _end_calls(self, seconds: float) -> bool:
        """End the calls that threads are in.  Return: false if one has not ended."""
        own = self._own_calls()
        self._set_own_calls(own)
        if not self._calls:
            return True
        library.get().coll_abort(self._pointer, b"the communicator is closed")
        # The call that this thread is in goes on when the signal's handler returns.
        if own:
            return False
        has_ended = self._changed.wait_for(lambda: not self._calls, seconds)
        if seconds and not has_ended:
            # The end of the process does not wait again.
            lifetime.remove(self)
        return has_ended

    def _disown(self) -> None:
        """In a child of the process: give back what the child has of the communicator."""
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._calls.clear()
        self._given_up.clear()
        self._is_disowned = True
        self._handle = None
        any(self._finalize)
        for watch in self._watches.values():
            watch.release()
        self._watches.clear()

    def __enter__(self) -> Communicator:
        return self

    def __exit__(self, *_exception: Any) -> None:
        self.close()

    def __del__(self) -> None:
        # Without a handle if __init__() has failed.
        if getattr(self, "_handle", None) is not None:
            warnings.warn(f"{self!r} was not closed", ResourceWarning, source=self)
        if not getattr(self, "_is_closed", True):
            self.close()


def _running(frames: list[FrameType]) -> list[FrameType]:
    """Those of the functions that this thread is in."""
    running = []
    at: FrameType | None = sys._getframe(1)
    while at is not None:
        if any(at is frame for frame in frames):
            running.append(at)
        at = at.f_back
    return running


def _end_watch(loop: asyncio.AbstractEventLoop, watch: Watch) -> None:
    try:
        loop.call_soon_threadsafe(watch.close)
    except RuntimeError:
        # The loop is closed, and looks no more.
        watch.release()


def _undo(comm: Communicator | None) -> None:
    if comm is not None:
        comm.close()


def init(rank: int | None = None, size: int | None = None, *, rendezvous: str | None = None,
         name: str | None = None, local_addr: str | None = None, transport: str | None = None,
         lanes: int | None = None, algorithm: str | None = None, bootstrap: str | None = None,
         key: str | None = None, ports: str | None = None, secret: bytes | None = None,
         exchange: Exchange | None = None, timeout: float | None = None,
         init_timeout: float | None = None, heartbeat: float | None = None,
         insecure: bool = False, reproducible: bool = False, wide: bool = False,
         private: bool = False, check_datagrams: bool = False,
         nosync: bool = False) -> Communicator:
    """Join a group and wait until all its ranks have joined.

    Without arguments everything is taken from the environment: from collective-run, torchrun,
    mpirun, srun, or the variables of libcollective(7).  Without these the group is this process.

    rank, size: rank of this process, -1: any that is free; and number of ranks
    rendezvous: "host:port" at which rank 0 listens while the group forms
    name: name of the group, at most 32 of [A-Za-z0-9._-]
    local_addr: address, interface or network for the data of this rank
    transport: "auto", "local", "rdma" or "tcp"
    lanes: number of parallel connections to each rank, 1 to 8
    algorithm: "ring", "tree", "direct", or a list as in "allreduce:ring,broadcast:tree"
    bootstrap: "auto", "tcp", "mpi", "pmi", "pmi2" or "pmix"
    key: with rank -1, name of this process
    ports: "FIRST-LAST": ports at which this rank listens
    secret: 32 random bytes, the same on every rank
    exchange: function by which the group forms instead of a rendezvous: it gets bytes, and returns
        those of all ranks in their order, as allgather of mpi4py does; ValueError: it has returned
        other than one part of the same length for each rank
    timeout: deadline of each operation, s (default 300); infinite: none
    init_timeout: time limit of this call, s (default 60)
    heartbeat: interval at which a silent peer is probed, s (default 1)
    insecure: any address without a secret
    reproducible: reductions take the ranks in their order
    wide: sums of 16-bit floats are kept in 32 bits
    private: no memory that processes share
    check_datagrams: find out whether the datagrams of shrink() pass
    nosync: small broadcasts, reductions to a root, gathers, scatters and scans end when this rank's
        part is done, also before others have called them

    Ctrl-C ends the call within 0.1 s.

    Returns the communicator.  Raises LibraryError (the library is not there, or of another
    version), Error: with ENOENT, the module is not loaded; its text says what to do.
    """
    functions = library.get()
    flags = (insecure * structs.CONFIG_INSECURE | reproducible * structs.CONFIG_REPRODUCIBLE |
             wide * structs.CONFIG_WIDE | private * structs.CONFIG_PRIVATE |
             check_datagrams * structs.CONFIG_CHECK_DATAGRAMS | nosync * structs.CONFIG_NOSYNC)
    if secret is not None and len(secret) != 32:
        raise ValueError(f"the secret has {len(secret)} bytes, not 32")
    configuration = Configuration(exchange, flags, {
        "rank": rank, "nranks": size, "rendezvous": rendezvous, "name": name,
        "local_addr": local_addr, "transport": transport, "lanes": lanes,
        "algorithm": algorithm, "bootstrap": bootstrap, "key": key, "ports": ports,
        "secret": secret, "timeout_ms": milliseconds(timeout, "timeout"),
        "init_timeout_ms": milliseconds(init_timeout, "init_timeout"),
        "heartbeat_ms": milliseconds(heartbeat, "heartbeat"),
    })

    def call() -> Communicator:
        handle = c_void_p()
        try:
            code = functions.coll_init(byref(handle), byref(configuration.struct))
        finally:
            configuration.forget_exchange()
        if configuration.error is not None:
            raise configuration.error
        if code:
            raise errors.refused(-code, _init_text(code, configuration.text()))
        return Communicator(handle, configuration.flags)

    return interrupt.call(call, _undo)


def _init_text(code: int, text: str) -> str:
    text = text or errors.text_of(-code)
    if -code == errno.ENOENT and "collectivectl check" not in text:
        text += ": \"collectivectl check\" says what is missing"
    return text


def library_version() -> tuple[int, int]:
    """Version of the library that is used, as (major, minor).  Raises LibraryError."""
    number = library.get().coll_version()
    return number >> 16, number & 0xffff
