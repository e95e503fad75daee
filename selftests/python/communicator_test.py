# SPDX-License-Identifier: GPL-2.0-only
"""Communicators with a stand-in of the library: signals and threads at chosen moments.

What a function of the stand-in does while it is called, a signal's handler may do.
"""

import errno
import gc
import linecache
import math
import os
import signal
import sys
import threading
import time
import weakref

import numpy as np

import libcollective
from libcollective import library
from libcollective.awaiting import Watch
from libcollective.communicator import Communicator
from tap import main, raises, test


class Function:
    """A function of the stand-in: what it does may be set, and results go where restype says."""

    argtypes = ()

    def __init__(self, does):
        self.does = does
        self.restype = int

    @classmethod
    def from_buffer_copy(cls, other):
        return cls(other.does)

    def __call__(self, *arguments):
        return self.restype(self.does(*arguments))


class Library:
    """A stand-in of the library; each function of it succeeds unless it is set.

    called: names of the functions that were called
    """

    def __init__(self, **functions):
        self.called = []
        self.functions = {"coll_size": lambda *_: 2, **functions}

    def __getitem__(self, name):
        def does(*arguments):
            self.called.append(name)
            return self.functions.get(name, lambda *_: 0)(*arguments)
        return Function(does)

    def __getattr__(self, name):
        if name == "coll_name":
            return lambda handle: b"stand-in"
        if name == "coll_strerror":
            return lambda number: b"no text"
        return self[name]

    def count(self, name):
        return self.called.count(name)


def communicator(**functions):
    """Return: a communicator, and the library that it uses from now on."""
    library._loaded = made = Library(**functions)
    return Communicator(library.c_void_p(64), 0), made


def interrupt(*_):
    raise KeyboardInterrupt


@test
def close_in_a_call():
    """close() in a signal's handler: the call that it has interrupted frees the communicator."""
    kept = np.zeros(3)

    def handler(*_):
        if made.count("coll_submit_wait") == 1:
            # A call within the call.
            comm.allreduce(kept)
            comm.close()
            comm.close()
            assert made.count("coll_abort") and not made.count("coll_finalize")
            with raises(libcollective.Error, "is closed"):
                comm.barrier()
            return -errno.ECANCELED
        return 0

    comm, made = communicator(coll_submit_wait=handler)
    request = comm.iallreduce(1)
    with raises(libcollective.OperationError):
        comm.barrier()
    assert made.called[-1] == "coll_finalize" and made.count("coll_finalize") == 1
    with raises(libcollective.Error, "was closed") as caught:
        request.wait()
    assert type(caught.error) is libcollective.Error and not comm._requests
    comm.close()
    assert made.count("coll_finalize") == 1


@test
def close_after_an_interrupted_call():
    """A call that a signal has kept from saying that it ends does not keep close() from ending."""
    comm, made = communicator()

    def call():
        comm._enter()

    call()
    comm.close()
    assert made.called[-1] == "coll_finalize" and not made.count("coll_abort")


class at_line:
    """A block at whose @number-th line in the package something is done, as by a signal's handler.

    done: True if there was such a line
    """

    def __init__(self, number, does):
        self.left = number
        self.does = does
        self.done = False

    def trace(self, frame, event, _argument):
        code = frame.f_code
        # Those of earlier communicators are not part of the block.
        if "/libcollective/" not in code.co_filename or code.co_name == "__del__":
            return None
        if event == "line" and not self.done:
            # Python also tells of that line at the end of the block, where no signal is handled.
            line = linecache.getline(code.co_filename, frame.f_lineno)
            self.left -= not line.lstrip().startswith("with ")
            if not self.left:
                self.done = True
                self.does()
        return self.trace

    def __enter__(self):
        sys.settrace(self.trace)
        return self

    def __exit__(self, kind, _error, _trace):
        sys.settrace(None)
        return kind is not None and issubclass(kind, (libcollective.Error, KeyboardInterrupt))


def at_each_line(does, of_call):
    """At each line of a call, do something to the communicator; then it has to end by close()."""
    for number in range(1, 1000):
        comm, made = communicator()
        with at_line(number, lambda comm=comm: does(comm)) as at:
            of_call(comm)
        if not at.done:
            break
        comm.close()
        assert comm._is_closed, number
        assert made.count("coll_finalize") == 1, number
        assert made.called[-1] == "coll_finalize", f"{number}: {made.called}"
    assert 5 < number < 999, number


@test
def close_at_any_line_of_a_call():
    for call in (Communicator.barrier, Communicator.close, lambda comm: comm.failed,
                 lambda comm: comm.ibarrier().cancel()):
        at_each_line(Communicator.close, call)


@test
def interrupt_at_any_line_of_a_call():
    for call in (Communicator.barrier, Communicator.close, lambda comm: comm.failed):
        at_each_line(interrupt, call)


@test
def closed():
    comm, _ = communicator()
    comm.close()
    for call in (comm.barrier, comm.abort, comm.dup, comm.ibarrier, lambda: comm.failed):
        with raises(libcollective.Error, "is closed") as caught:
            call()
        assert type(caught.error) is libcollective.Error


@test
def close_beside_a_call():
    """Ctrl-C in close(), while a thread is in a call: that thread ends what close() has begun."""
    goes_on = threading.Event()
    is_in = threading.Event()
    interrupts = [interrupt]

    def wait(*_):
        is_in.set()
        goes_on.wait(10)
        return -errno.ECANCELED

    comm, made = communicator(coll_submit_wait=wait, coll_comm_failed=lambda *_: 1,
                              coll_abort=lambda *_: interrupts.pop()() if interrupts else 0)
    request = comm.iallreduce(1)
    errors = []

    def run():
        try:
            comm.barrier()
        except libcollective.Error as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    is_in.wait(10)
    with raises(KeyboardInterrupt):
        comm.close()
    assert not made.count("coll_finalize") and comm._requests == {request}
    goes_on.set()
    thread.join()
    assert made.count("coll_finalize") == 1 and not comm._requests and request.done
    assert type(errors[0]) is libcollective.GroupError


@test
def interrupted_close():
    """Ctrl-C at coll_finalize(): what follows it is done all the same, and it is not repeated."""
    comm, made = communicator(coll_finalize=interrupt)
    request = comm.iallreduce(np.zeros(3))
    assert comm._requests == {request}
    with raises(KeyboardInterrupt):
        comm.close()
    assert made.count("coll_finalize") == 1 and not comm._requests
    with raises(libcollective.Error, "was closed"):
        request.wait()
    comm.close()
    assert made.count("coll_finalize") == 1


@test
def start_of_a_persistent_operation():
    comm, made = communicator()
    request = comm.barrier_init()
    handle = request._handle
    handle.value = 128

    def started_then_interrupted(*_):
        # As ctypes stores the result before the handler runs.
        raise_later.append(True)
        return 0

    raise_later = []
    made.functions["coll_start"] = started_then_interrupted
    keep = Function.__call__

    def call(self, *arguments):
        result = keep(self, *arguments)
        if raise_later:
            raise_later.clear()
            raise KeyboardInterrupt
        return result

    Function.__call__ = call
    try:
        with raises(KeyboardInterrupt):
            request.start()
    finally:
        Function.__call__ = keep
    # It is under way, and its arrays are kept.
    assert not request._ended and comm._requests == {request}
    with raises(libcollective.Error, "under way") as caught:
        request.start()
    assert caught.error.errno == errno.EBUSY and made.count("coll_start") == 1
    assert not request._ended and comm._requests == {request}

    def complete(_slots, _n, index, _timeout):
        index._obj.value = 0
        return 0

    made.functions["coll_wait_any"] = complete
    assert request.wait() is None and not comm._requests
    for outcome, kind in ((interrupt, KeyboardInterrupt),
                          (lambda *_: -errno.ENOMEM, libcollective.Error)):
        made.functions["coll_start"] = outcome
        with raises(kind):
            request.start()
        # It has not begun: a wait returns what it did before.
        assert request.wait() is None and not comm._requests
    comm.close()


@test
def interrupt_at_any_line_of_a_start():
    """The operation is under way, and kept, if the library has started it, and only then."""
    for number in range(1, 1000):
        comm, made = communicator()
        request = comm.barrier_init()
        request._handle.value = 128
        with at_line(number, interrupt) as at:
            request.start()
        started = made.count("coll_start") == 1
        assert request._ended != started, number
        assert comm._requests == ({request} if started else set()), number
        comm.close()
        if not at.done:
            break
    assert 5 < number < 999, number


@test
def registered_memory_is_kept():
    comm, made = communicator()
    first, second = np.zeros(3), np.zeros(3)
    alive = [weakref.ref(first), weakref.ref(second)]
    comm.register(first)
    comm.register(second)
    comm.unregister(first)
    del first, second
    gc.collect()
    assert alive[0]() is None and alive[1]() is not None
    made.functions["coll_register"] = lambda *_: -errno.EDQUOT
    refused = np.zeros(3)
    alive.append(weakref.ref(refused))
    with raises(libcollective.Error):
        comm.register(refused)
    del refused
    gc.collect()
    assert alive[2]() is None
    comm.close()
    gc.collect()
    assert alive[1]() is None


@test
def colours_and_keys():
    comm, made = communicator()
    for color in (-1, -5, 1 << 31, (1 << 32) + 3):
        with raises(ValueError, f"the colour {color}"):
            comm.split(color)
    for key in (1 << 31, -(1 << 31) - 1, 1 << 32):
        with raises(ValueError, f"the key {key}"):
            comm.split(0, key)
    with raises(TypeError):
        comm.split(1.5)
    assert not made.count("coll_split")
    given = []
    made.functions["coll_split"] = lambda *arguments: given.append(arguments[1:3]) or 0
    assert comm.split(None) is None
    assert comm.split((1 << 31) - 1, -(1 << 31)) is None
    assert comm.split(np.int64(3), np.uint8(4)) is None
    assert given == [(-1, 0), ((1 << 31) - 1, -(1 << 31)), (3, 4)]
    comm.close()


@test
def operation_after_an_interrupted_dup():
    """It begins when the dup() that Ctrl-C has ended has told the other ranks."""
    def dup(*_):
        time.sleep(0.5)
        log.append("dup")
        return -errno.ECANCELED

    log = []
    comm, _ = communicator(coll_dup=dup, coll_submit_wait=lambda *_: log.append("barrier") or 0,
                           coll_ibarrier=lambda *_: log.append("ibarrier") or 0)
    for call in (comm.barrier, comm.ibarrier):
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
        with raises(KeyboardInterrupt):
            comm.dup()
        call()
    assert log == ["dup", "barrier", "dup", "ibarrier"]
    comm.close()


@test
def interrupt_of_a_start():
    """A call is given up also if the signal comes when its thread has just begun."""
    from libcollective import interrupt as module
    start, undone = module._start, []

    def start_and_raise(caller):
        start(caller)
        raise KeyboardInterrupt

    def refuse(_caller):
        raise RuntimeError("can't start new thread")

    try:
        module._start = start_and_raise
        with raises(KeyboardInterrupt):
            module.call(lambda: 5, undone.append)
        module.await_given_up()
        assert undone == [5]
        module._start = refuse
        given_up = []
        with raises(RuntimeError, "new thread"):
            module.call(lambda: 5, undone.append, given_up)
        assert not given_up and undone == [5]
    finally:
        module._start = start


@test
def infinite_timeout():
    """It is none, for wait() and wait_any()."""
    given = []
    ended = []

    def wait(_slots, _n, index, timeout_ms):
        given.append(timeout_ms)
        if not ended:
            ended.append(True)
            return -errno.EINPROGRESS
        index._obj.value = 0
        return 0

    comm, _ = communicator(coll_wait_any=wait)
    request = comm.ibarrier()
    thread = threading.Thread(target=request.wait, args=[math.inf])
    thread.start()
    thread.join()
    assert given == [-1, -1] and request.done
    assert libcollective.wait_any([request], timeout=math.inf) == 0
    request = comm.ibarrier()
    given.clear()
    thread = threading.Thread(target=request.wait, args=[1e9])
    thread.start()
    thread.join()
    assert given == [(1 << 31) - 1]
    comm.close()


@test
def descriptor_of_a_watch():
    """It is the watch's own, and closed with it."""
    reader, writer = os.pipe()
    comm, _ = communicator(coll_req_fd=lambda *_: reader)
    request = comm.ibarrier()

    class Loop:
        def call_soon_threadsafe(self, _function):
            raise RuntimeError("Event loop is closed")

    loop = Loop()
    watch = comm._watch(loop, request)
    assert comm._watch(loop, request) is watch
    own = watch.descriptor
    assert own != reader and os.path.sameopenfile(own, reader)
    os.close(reader)
    os.fstat(own)
    comm.close()
    with raises(OSError):
        os.fstat(own)
    dropped = Watch(os.dup(writer))
    own = dropped.descriptor
    del dropped
    with raises(OSError):
        os.fstat(own)
    os.close(writer)


@test
def close_in_the_list_of_all():
    """A signal's handler that makes or closes a communicator while another one is closed."""
    from libcollective import lifetime
    comm, _ = communicator()
    done = []

    def close():
        with lifetime._lock:
            comm.close()
        done.append(True)

    thread = threading.Thread(target=close, daemon=True)
    thread.start()
    thread.join(5)
    assert done
    assert comm not in lifetime.all_open()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    main()
