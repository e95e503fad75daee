# SPDX-License-Identifier: GPL-2.0-only
"""The backend of torch.distributed with a stand-in of torch and one of the library.

The descriptor of the communicator is an eventfd, and the test says when operations end.
"""

import errno
import gc
import os
import sys
import threading
import time
import types
import weakref

from libcollective import errors, library
from libcollective.communicator import Communicator
from tap import main, raises, test


class Stub(types.ModuleType):
    """A module in which every name is something."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        value = type(name, (), {})
        setattr(self, name, value)
        return value


class Future:
    """A future of torch, as far as the backend uses it."""

    def __init__(self):
        self.ended = threading.Event()
        self.callbacks = []
        self.error = self.result = None

    def set_result(self, result):
        self.result = result
        self.finish()

    def finish(self):
        self.ended.set()
        for callback in self.callbacks:
            callback()

    def then(self, function):
        after = Future()

        def call():
            try:
                after.result = function(self)
            except Exception as error:
                after.error = error
            after.finish()

        self.callbacks.append(call)
        return after

    def wait(self):
        assert self.ended.wait(10)
        if self.error:
            raise self.error
        return self.result


def install(version="2.14.1+debian"):
    """Put the stand-in of torch in its place."""
    torch = Stub("torch")
    torch.__version__ = version
    torch.futures = Stub("torch.futures")
    torch.futures.Future = Future
    torch.distributed = Stub("torch.distributed")
    torch.distributed.is_available = lambda: True
    torch.distributed.Backend = Registry()
    torch.distributed.ReduceOp = Stub("ReduceOp")
    sys.modules.update({"torch": torch, "torch.futures": torch.futures,
                        "torch.distributed": torch.distributed, "torch._C": Stub("torch._C"),
                        "torch._C._distributed_c10d": Stub("torch._C._distributed_c10d")})
    return torch.distributed.Backend


class Registry:
    """torch.distributed.Backend: keeps what is registered."""

    def __init__(self):
        self._plugins = {}

    def register_backend(self, name, function, **settings):
        self._plugins[name.upper()] = function, settings


install()

from libcollective.torch import exchange, group as group_module, poller, registration
from libcollective.torch.group import Group
from libcollective.torch.tensors import Copies
from libcollective.torch.work import Operation


def _success(*_arguments):
    return 0


class Library:
    """A stand-in of the library, which has room for so many operations.

    order: names of the calls, as they were submitted
    """

    def __init__(self, room=4):
        self.room = room
        self.order = []
        self.under_way = {}
        self.ended = {}
        self.waited_for = set()
        self.failure = 0
        self.descriptor = os.eventfd(0, os.EFD_NONBLOCK)
        self.lock = threading.Lock()

    def __getattr__(self, name):
        return Function(type(self).__dict__.get(f"_{name}", _success).__get__(self))

    def _coll_rank(self, _handle):
        return 0

    def _coll_name(self, _handle):
        return b"stand-in"

    def _coll_size(self, _handle):
        return 2

    def _coll_strerror(self, _number):
        return b"no text"

    def _coll_comm_failed(self, _handle):
        return self.failure

    def _coll_isubmit(self, _comm, operation, handle):
        with self.lock:
            if len(self.under_way) + len(self.ended) >= self.room:
                return -errno.EAGAIN
            number = len(self.order) + 1
            self.order.append(operation._obj.timeout_ms)
            self.under_way[number] = 0
            handle._obj.value = number
            return 0

    def _coll_req_fd(self, _handle):
        return self.descriptor

    def _coll_wait_any(self, handles, count, index, timeout):
        handles = One(handles._obj) if hasattr(handles, "_obj") else handles
        numbers = {handles[i]: i for i in range(count)}
        end = time.monotonic() + (timeout / 1000 if timeout >= 0 else 10)
        with self.lock:
            if self.waited_for & set(numbers):
                return -errno.EBUSY
            if not set(numbers) <= {None, *self.under_way, *self.ended}:
                return -errno.ENOENT
            self.waited_for |= set(numbers)
        try:
            while True:
                with self.lock:
                    for number in set(numbers) & set(self.ended):
                        return self.take(handles, numbers[number], index)
                if time.monotonic() >= end:
                    return -errno.EINPROGRESS
                time.sleep(0.001)
        finally:
            with self.lock:
                self.waited_for -= set(numbers)

    def take(self, handles, i, index):
        code = self.ended.pop(handles[i])
        handles[i] = None
        index._obj.value = i
        if not self.ended:
            os.eventfd_read(self.descriptor)
        return code

    def end(self, code=0, latest=False):
        """The oldest operation ends, or the latest."""
        with self.lock:
            number = max(self.under_way) if latest else min(self.under_way)
            del self.under_way[number]
            self.ended[number] = code
            if len(self.ended) == 1:
                os.eventfd_write(self.descriptor, 1)


class One:
    """A handle, as an array of one."""

    def __init__(self, handle):
        self.handle = handle

    def __getitem__(self, _index):
        return self.handle.value

    def __setitem__(self, _index, value):
        self.handle.value = value


class Function:
    argtypes = ()

    def __init__(self, does):
        self.does = does
        self.restype = lambda result: result

    @classmethod
    def from_buffer_copy(cls, other):
        return cls(other.does)

    def __call__(self, *arguments):
        return self.restype(self.does(*arguments))


def make_group(room=4):
    made = library._loaded = Library(room)
    group_module.MOST_UNDER_WAY = room
    return Group(Communicator(library.c_void_p(64), 0)), made


def start(group, number=1, calls=1):
    """Start a work; the number, as its deadline, tells it from others."""
    made = [Operation("barrier") for _ in range(calls)]
    for call in made:
        call.timeout_ms = number
    return group.start(made, Copies(), [number])


def await_true(condition):
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


@test
def versions_of_torch():
    for version in ("2.14.0", "2.14.1+debian", "2.15.0a0+gitabc", "3.0"):
        registry = install(version)
        registration.register()
        create, settings = registry._plugins["COLLECTIVE"]
        assert create is registration._create and settings == {"devices": ["cpu"]}
    for version, settings in (("1.13.1", {}), ("2.6.0+debian", {"devices": ["cpu"]}),
                              ("2.13.9", {"devices": ["cpu"]})):
        registry = install(version)
        registration.register()
        refuse, given = registry._plugins["COLLECTIVE"]
        assert given == settings
        with raises(RuntimeError, f"torch 2.14 or later is needed, this is {version}"):
            refuse(None, 0, 1, None)
        # Again, as when it is also called by hand.
        registration.register()


class Store:
    """A store of torch, for threads."""

    def __init__(self):
        self.values = {}
        self.lock = threading.Lock()

    def set(self, key, value):
        self.values[key] = value

    def get(self, key):
        return self.values[key]

    def check(self, keys):
        return all(key in self.values for key in keys)

    def delete_key(self, key):
        return self.values.pop(key, None) is not None

    def add(self, key, number):
        with self.lock:
            self.values[key] = self.values.get(key, 0) + number
            return self.values[key]


def exchange_all(store, attempt, delays=(0, 0, 0)):
    """Three ranks make three exchanges; each comes after a delay, s.  Return: what each has got."""
    found = {}

    def run(rank):
        time.sleep(delays[rank])
        made = exchange.StoreExchange(store, rank, 3, 10)
        found[rank] = [made(b"%d.%d.%d" % (attempt, rank, turn)) for turn in range(3)]

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def expected(attempt):
    return {rank: [[b"%d.%d.%d" % (attempt, other, turn) for other in range(3)]
                   for turn in range(3)] for rank in range(3)}


@test
def exchange_by_a_store():
    """Also by one that earlier groups have used: whichever rank comes last."""
    store = Store()
    for attempt in range(5):
        delays = [0.02 * (rank == attempt) for rank in range(3)]
        assert exchange_all(store, attempt, delays) == expected(attempt)
        # Neither addresses nor secret stay there.
        assert not any(b"." in value for value in store.values.values() if
                       isinstance(value, bytes)), store.values


@test
def exchange_after_attempts_that_failed():
    store = Store()
    for ranks in ([0], [1, 2], [0, 2], [2], [0, 1]):
        threads = [threading.Thread(target=give_up, args=(store, rank)) for rank in ranks]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert exchange_all(store, len(ranks), (0.01, 0, 0.02)) == expected(len(ranks))


def give_up(store, rank):
    with raises(RuntimeError, "did not come within 0.05 s"):
        exchange.StoreExchange(store, rank, 3, 0.05)(b"of an attempt that fails")


@test
def exchange_without_some_ranks():
    store = Store()
    store.set("libcollective/here/1", b"a number")
    with raises(RuntimeError, "collective: ranks 2, 3 did not come within 0.05 s"):
        exchange.StoreExchange(store, 0, 4, 0.05)(b"mine")


@test
def a_queue_keeps_the_order():
    group, made = make_group()
    works = [start(group, number) for number in range(1, 21)]
    assert made.order == [1, 2, 3, 4]
    for work in works:
        assert not work.is_completed()
        made.end()
        work.wait()
        assert work.is_success() and work.result() == [work.get_future().wait()[0]]
    assert made.order == list(range(1, 21))
    group.close()


@test
def a_queue_without_operations_under_way():
    """Other ranks are behind: the queue is tried again after a while."""
    group, made = make_group(room=0)
    tries = []
    submit = made._coll_isubmit
    made.coll_isubmit = lambda *arguments: tries.append(1) or submit(*arguments)
    work = start(group)
    time.sleep(0.1)
    assert not made.order and 1 < len(tries) <= 0.1 / poller.RETRY_SECONDS + 10, len(tries)
    made.room = 1
    await_true(lambda: made.order)
    made.end()
    work.wait()
    group.close()


@test
def several_calls_end_together():
    group, made = make_group(room=8)
    work, none = start(group, calls=3), start(group, calls=0)
    assert none.is_completed()
    made.end()
    made.end(-errno.ETIMEDOUT)
    await_true(lambda: len(group.comm._requests) == 1)
    assert not work.is_completed()
    made.end()
    with raises(RuntimeError, "collective: ") as caught:
        work.wait()
    assert isinstance(caught.error.__cause__, errors.Error)
    with raises(RuntimeError, "collective: "):
        work.get_future().wait()
    assert work.exception() is not None and not work.is_success()
    group.close()


@test
def a_callback_waits():
    """A callback of a future waits for another operation, which another thread completes."""
    group, made = make_group(room=8)
    first, second, third = start(group), start(group), start(group)
    entered = threading.Event()

    def wait(_future):
        entered.set()
        return second.get_future().wait()

    chained = first.get_future().then(wait)
    made.end()
    assert entered.wait(10)
    made.end()
    chained.wait()
    made.end()
    third.wait()
    for _ in range(200):
        work = start(group)
        told = work.get_future()
        made.end()
        told.wait()
    names = [thread.name for thread in threading.enumerate()]
    assert names.count("libcollective-torch") <= 1 + poller.MOST_SPARES, names
    group.close()


@test
def futures_without_a_second_thread():
    """At the end of a process no thread can be started: one completes all."""
    pid = os.fork()
    if not pid:
        status = 1
        try:
            group, made = make_group()
            start(group)
            made.end()
            await_true(lambda: not group._works)
            threading.Thread.start = fail_to_start
            for _ in range(3):
                told = start(group).get_future()
                made.end()
                assert told.wait() == [1]
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def fail_to_start(_thread):
    raise RuntimeError("can't create new thread at interpreter shutdown")


@test
def a_start_without_a_thread():
    """The threads that wait end what they wait for, also what is in the queue."""
    pid = os.fork()
    if not pid:
        status = 1
        try:
            run_without_a_thread()
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def run_without_a_thread():
    group, made = make_group(room=2)
    begin, threading.Thread.start = threading.Thread.start, fail_to_start
    works = [start(group, number) for number in range(1, 6)]
    with raises(RuntimeError, "there can be no thread that completes the future"):
        works[0].get_future()
    several = start(group, 6, calls=2)
    for work in works:
        made.end()
        work.wait()
    made.end()
    made.end()
    several.wait()
    assert made.order == [1, 2, 3, 4, 5, 6, 6] and not group._works and not group._queue
    threading.Thread.start = begin
    told = start(group).get_future()
    made.end()
    told.wait()
    group.close()


@test
def a_thread_that_waits_ends_its_work():
    """Without the poller, which ends what others need meanwhile."""
    group, made = make_group()
    for _ in range(3):
        work = start(group)
        made.end()
        work.wait()
        assert group.descriptor == -1 and not group._works
    first, second = start(group), start(group)
    thread = threading.Thread(target=first.wait)
    thread.start()
    await_true(lambda: made.waited_for)
    told = second.get_future()
    made.end(latest=True)
    assert told.wait() == [1] and not first.is_completed()
    made.end()
    thread.join()
    assert first.is_success()
    group.close()


@test
def an_interrupted_wait_that_has_the_outcome():
    """A signal's handler raises when the library has stored the outcome: the work still ends."""
    group, made = make_group()
    work = start(group)
    made.end()
    settle = work.request._settle

    def interrupted(handle):
        if work.request._attempts:
            work.request._settle = settle
            raise Interrupted
        return settle(handle)

    work.request._settle = interrupted
    with raises(Interrupted, ""):
        work.wait()
    assert not work._ended
    await_true(lambda: not group._works)
    work.wait()
    assert work.is_success()
    group.close()


@test
def an_interrupted_end_is_repeated():
    """A signal's handler raises while the results are stored: the next wait stores them."""
    group, made = make_group()
    work = start(group)
    made.end()
    stores = []

    def store():
        stores.append(work)
        if len(stores) == 1:
            raise Interrupted

    work._copies = types.SimpleNamespace(store=store)
    with raises(Interrupted, ""):
        work.wait()
    assert not work._ended
    work.wait()
    assert work.is_success() and len(stores) == 2
    group.close()


@test
def one_thread_stores_results():
    """What the program writes after its wait is not overwritten by another thread's store."""
    group, made = make_group()
    work = start(group)
    made.end()
    stores = []

    def store():
        stores.append(work)
        # Another thread that has found the call ended.
        assert not work.end_call(None) and not work.settle() and not work._ended

    work._copies = types.SimpleNamespace(store=store)
    work.wait()
    assert len(stores) == 1
    group.close()


@test
def an_outcome_is_found_among_attempts_that_end():
    """A thread gives its attempt up while another one looks for the outcome."""
    group, made = make_group()
    work = start(group)
    request = work.request

    class GivenUp:
        @property
        def has_outcome(self):
            request._attempts.remove(self)
            return False

    class Outcome:
        has_outcome = True
        codes = [0]

    request._attempts += [GivenUp(), Outcome()]
    assert request._settle(0)
    request._attempts.clear()
    made.end()
    group.close()


@test
def a_poller_that_broke_down_forgets_what_is_left():
    """The next group that asks it is the first one, which starts a thread."""
    class Failed:
        def break_down(self, error):
            self.error = error

    broken, group = poller.Poller(), Failed()
    broken._run = lambda: None
    broken.leave(group)
    broken.retry(group)
    broken._break_down(RuntimeError("a test"))
    assert group.error and not broken._left and not broken._retries
    broken.close()


@test
def a_queue_is_not_tried_while_operations_are_under_way():
    """Also if the descriptor has told of something that is not collected here."""
    group, made = make_group(room=2)
    works = [start(group, number) for number in range(1, 4)]
    tried = []
    retry, poller.retry = poller.retry, tried.append
    try:
        assert group.collect() == (False, []) and not tried
    finally:
        poller.retry = retry
    for work in works:
        made.end()
        work.wait()
    group.close()


@test
def a_call_does_not_overtake_the_queue():
    """The last call of the queue is on its way to the kernel when a blocking one is made."""
    group, made = make_group(room=1)
    works = [start(group, number) for number in (1, 2)]
    is_on_its_way, may_go_on = threading.Event(), threading.Event()
    submit = made._coll_isubmit

    def slow(*arguments):
        is_on_its_way.set()
        assert may_go_on.wait(10)
        return submit(*arguments)

    made.coll_isubmit = slow
    made.end()
    assert is_on_its_way.wait(10)
    assert group._queue
    made.room = 9
    call = Operation("barrier")
    call.timeout_ms = 3
    thread = threading.Thread(target=group.run, args=(call, Copies()))
    thread.start()
    time.sleep(0.05)
    may_go_on.set()
    await_true(lambda: len(made.order) == 3)
    assert made.order == [1, 2, 3]
    made.end()
    made.end()
    thread.join()
    for work in works:
        work.wait()
    group.close()


@test
def a_queue_that_the_kernel_refuses_for_another_reason():
    """Nothing under way moves it on, so it is tried again."""
    group, made = make_group(room=1)
    group_module.MOST_UNDER_WAY = 9
    works = [start(group, number) for number in (1, 2)]
    assert made.order == [1]
    made.room = 9
    await_true(lambda: made.order == [1, 2])
    for work in works:
        made.end()
        work.wait()
    group.close()


class Interrupted(BaseException):
    """What the handler of a signal raises."""


@test
def an_interrupt_while_the_queue_is_submitted():
    """Before the kernel has the call, and behind it: each is submitted once, and in order."""
    for when in ("before", "behind"):
        group, made = make_group(room=1)
        works = [start(group, number) for number in (1, 2)]
        submit = made._coll_isubmit

        def interrupted(*arguments):
            del made.coll_isubmit
            if when == "behind":
                submit(*arguments)
            raise Interrupted

        with group._lock:
            made.room = 9
            made.coll_isubmit = interrupted
            with raises(Interrupted, ""):
                group._submit_queue()
        works.append(start(group, 3))
        assert made.order == [1, 2, 3], (when, made.order)
        for work in works:
            made.end()
            work.wait()
        assert not group.comm._requests
        group.close()


@test
def a_dropped_work_keeps_its_calls():
    """Until they have ended, also without a collection of garbage."""
    group, made = make_group()
    seen = weakref.ref(start(group))
    gc.collect()
    gc.disable()
    assert len(group._works) == 1 and len(group.comm._requests) == 1
    made.end()
    await_true(lambda: not group._works and not group.comm._requests and seen() is None)
    start(group)
    seen = weakref.ref(start(group))
    made.end()
    made.end()
    seen().wait()
    await_true(lambda: seen() is None)
    gc.enable()
    group.close()


@test
def an_idle_group_wakes_no_thread():
    group, made = make_group()
    work = start(group)
    made.end()
    work.wait()
    assert group._left and not group._looked_at
    await_true(lambda: not group._left)
    os.eventfd_write(made.descriptor, 1)
    calls = []
    group.collect = lambda: calls.append(1) or (False, [])
    time.sleep(0.05)
    assert not calls
    del group.collect
    group.close()


@test
def without_a_descriptor():
    """A process that may open no more files looks now and then."""
    group, made = make_group()
    dup, os.dup = os.dup, fail_to_open
    try:
        works = [start(group).get_future() for _ in range(3)]
        for told in works:
            made.end()
            told.wait()
    finally:
        os.dup = dup
    told = start(group).get_future()
    made.end()
    told.wait()
    assert group.descriptor >= 0
    group.close()


def fail_to_open(_descriptor):
    raise OSError(errno.EMFILE, "too many files")


@test
def close_ends_what_is_under_way():
    group, made = make_group(room=2)
    works = [start(group) for _ in range(5)]
    future = works[0].get_future()
    group.close()
    group.close()
    for work in works:
        with raises(RuntimeError, "the process group was destroyed (barrier)"):
            work.wait()
    with raises(RuntimeError, "the process group was destroyed"):
        future.wait()
    with raises(RuntimeError, "the process group is destroyed (barrier)"):
        start(group)
    assert group.failed_with == 0 and len(made.order) == 2


@test
def a_thread_that_fails_leaves_none_waiting():
    group, made = make_group()
    work = start(group)

    def fail():
        raise ValueError("no luck")

    group.comm._take_ended = fail
    sys.stderr, stderr = open(os.devnull, "w", encoding="utf-8"), sys.stderr
    try:
        told = work.get_future()
        made.end()
        with raises(RuntimeError, "the thread that completes operations failed: "):
            work.wait()
        with raises(RuntimeError, "the thread that completes operations failed: "):
            told.wait()
    finally:
        sys.stderr = stderr
    del group.comm._take_ended
    # Its later operations end, if only because the group was aborted, and others go on.
    again = start(group)
    made.end()
    again.wait()
    other, there = make_group()
    work = start(other)
    there.end()
    work.wait()
    group.close()
    other.close()


@test
def a_child_has_no_part():
    group, made = make_group()
    work = start(group)
    future = work.get_future()
    pid = os.fork()
    if not pid:
        status = 1
        try:
            with raises(RuntimeError, "belongs to the process of which this one is a child"):
                work.wait()
            with raises(RuntimeError, "belongs to the process of which this one is a child"):
                future.wait()
            with raises(RuntimeError, "is destroyed"):
                start(group)
            # Groups of its own have a thread of its own.
            own, there = make_group()
            mine = start(own)
            there.end()
            mine.wait()
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    made.end()
    work.wait()
    assert future.wait() == [1]
    group.close()


if __name__ == "__main__":
    main()
