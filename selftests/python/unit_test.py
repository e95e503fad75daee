# SPDX-License-Identifier: GPL-2.0-only
"""What needs no module: descriptions of arrays, texts of errors, the version of the library."""

import ctypes
import errno
import os
import pickle
import re
import signal
import threading
import time

import numpy as np

import libcollective
from libcollective import arrays, call, configuration, errors, interrupt, library, structs
from libcollective.structs import Op, Type
from tap import main, raises, test


@test
def inputs_are_used_where_they_are():
    for given in (np.arange(6).reshape(2, 3), np.zeros(()), np.zeros((0, 3)), np.ones(3, bool)):
        memory = arrays.source(given)
        assert memory.array is given and not memory.is_copy
        assert memory.address == given.ctypes.data
    text = bytearray(b"abc")
    assert arrays.source(text).array.tolist() == [97, 98, 99]
    assert arrays.target(text).origin is text


@test
def other_inputs_are_copied():
    base = np.arange(12.0).reshape(3, 4)
    for given in (base.T, base[:, ::2], base[::-1], base.astype(">f8"), np.asfortranarray(base)):
        memory = arrays.source(given)
        assert memory.is_copy and memory.array.flags.c_contiguous
        assert memory.array.dtype == np.float64
        assert np.array_equal(memory.array, given)
    assert arrays.source(3).array.shape == () and arrays.source(3).is_copy
    assert arrays.source([1.5, 2]).array.dtype == np.float64


@test
def elements():
    for name in ("int8", "uint16", "int64", "float16", "float32"):
        memory = arrays.source(np.zeros(3, name))
        assert arrays.moved(memory) == arrays.reduced(memory, Op.SUM) == (Type[name.upper()], 1)
    truth = arrays.source(np.zeros(3, bool))
    assert arrays.reduced(truth, Op.LAND) == (Type.UINT8, 1)
    assert arrays.moved(truth) == (Type.UINT8, 1)
    number = arrays.source(np.zeros(3, complex))
    assert arrays.reduced(number, Op.AVG) == (Type.FLOAT64, 2)
    assert arrays.moved(number) == (Type.UINT8, 16)
    with raises(TypeError, "no MAX of complex128"):
        arrays.reduced(number, Op.MAX)
    with raises(TypeError, "no SUM of float128"):
        arrays.reduced(arrays.source(np.zeros(3, np.longdouble)), Op.SUM)


class Bfloat16:
    """A tensor of DLPack with elements that NumPy does not have."""

    def __init__(self, numbers):
        self.numbers = numbers
        self.shape = (ctypes.c_int64 * 1)(len(numbers))
        self.tensor = arrays._DLTensor(
            data=numbers.ctypes.data, device_type=1, ndim=1, code=4, bits=16, lanes=1,
            shape=self.shape)

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype = ctypes.py_object
        new.argtypes = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p
        return new(ctypes.addressof(self.tensor), b"dltensor", None)


@test
def bfloat16():
    numbers = np.arange(5, dtype=np.uint16)
    memory = arrays.target(Bfloat16(numbers))
    assert memory.name == "bfloat16" and memory.address == numbers.ctypes.data
    assert arrays.reduced(memory, Op.SUM) == (Type.BFLOAT16, 1)
    with raises(TypeError, "of type uint16, and the result of bfloat16"):
        arrays.result(numbers, (5,), memory)


@test
def reductions_and_axes():
    assert arrays.op_of("sum") == arrays.op_of(0) == Op.SUM
    with raises(ValueError, "sum, prod, min"):
        arrays.op_of("median")
    assert arrays.axis_of(-1, 3) == 2
    with raises(ValueError, "split_axis -4"):
        arrays.axis_of(-4, 3, "split_axis")


@test
def structs_are_those_of_the_headers():
    assert ctypes.sizeof(structs.Operation) == 80
    assert ctypes.sizeof(structs.Config) == 160
    assert ctypes.sizeof(structs.Layout) == 88
    header = open("libcollective/include/collective.h", encoding="utf-8").read()
    kernel = open("uapi/linux/collective.h", encoding="utf-8").read()
    for kind, prefix in ((structs.Type, "type"), (structs.Op, "op")):
        body = re.search(rf"enum coll_{prefix} {{(.*?)}};", header, re.S).group(1)
        names = re.findall(r"^\tCOLL_(\w+)", body, re.M)
        assert names == [member.name for member in kind], names
    body = re.search(r"enum collective_opcode {(.*?)/\*.private", kernel, re.S).group(1)
    names = [name.lower() for name in re.findall(r"^\tCOLLECTIVE_(\w+),", body, re.M)]
    assert names == list(structs.OPCODES)
    for prefix, text in (("CONFIG_", header), ("FLAG_", kernel)):
        for name, value in vars(structs).items():
            if name.startswith(prefix):
                known = name.replace("FLAG_", "F_")
                assert re.search(rf"_{known}\s+\(1U << {value.bit_length() - 1}\)", text), name
    fields = re.search(r"struct coll_config {(.*?)\n};", header, re.S).group(1)
    names = re.findall(r"(\w+)(?:\)\([^)]*\))?;", fields)
    assert names == [name for name, _ in structs.Config._fields_], names


@test
def kernel_description():
    described = call.Call("reduce", op=Op.MAX, root=2, send=library.IN_PLACE, recv=64, count=5,
                          type=Type.INT32).describe(structs.FLAG_REPRODUCIBLE)
    assert (described.opcode, described.reduction, described.root) == (2, 3, 2)
    assert (described.send, described.recv, described.count, described.flags) == (64, 64, 5, 2)
    described = call.Call("send", send=64, count=1, type=0, root=1, tag=9).describe(2)
    assert (described.flags, described.key) == (structs.FLAG_KEYED, 9)
    every = structs.FLAG_REPRODUCIBLE | structs.FLAG_WIDE | structs.FLAG_NOSYNC
    for name, flags in (("reduce", every), ("scan", every), ("exscan", every),
                        ("broadcast", structs.FLAG_NOSYNC), ("gather", structs.FLAG_NOSYNC),
                        ("scatter", structs.FLAG_NOSYNC), ("allgather", 0), ("barrier", 0),
                        ("allreduce", structs.FLAG_REPRODUCIBLE | structs.FLAG_WIDE)):
        values = {"op": Op.SUM} if flags & structs.FLAG_WIDE else {}
        assert call.Call(name, **values).describe(every).flags == flags, name
    assert call.Call("barrier").describe(0).timeout_ms == 0
    with raises(ValueError, "at least 0.001 s"):
        configuration.milliseconds(0, "timeout")
    assert configuration.milliseconds(float("inf"), "timeout") == structs.NO_DEADLINE


@test
def kernel_description_of_blocks():
    """Blocks of different lengths have a layout, which the call keeps, and any call a deadline."""
    sent, received = call.sizes([1, 2], 2, "counts"), call.sizes([3, 4], 2, "counts")
    for name, opcode, values, count in (
            ("alltoallv", 8, {"send_counts": sent, "recv_counts": received}, 0),
            ("allgatherv", 4, {"send_count": 1, "recv_counts": sent}, 1),
            ("gatherv", 6, {"send_count": 2, "recv_counts": None, "root": 1}, 2),
            ("scatterv", 7, {"recv_count": 2, "send_counts": None, "root": 1}, 2),
            ("reduce_scatterv", 5, {"recv_count": 2, "recv_counts": sent, "op": Op.MAX}, 2)):
        made = call.Call(name, type=Type.INT32, send=64, recv=128, **values)
        made.timeout_ms = 250
        described = made.describe(structs.FLAG_REPRODUCIBLE)
        flags = structs.FLAG_VECTOR | (structs.FLAG_REPRODUCIBLE if "op" in values else 0)
        assert (described.opcode, described.flags, described.count, described.root) == \
            (opcode, flags, count, values.get("root", 0)), name
        assert (described.send, described.recv, described.timeout_ms) == (64, 128, 250)
        layout = structs.Layout.from_address(described.layout)
        assert layout.size == 88 and not layout.flags
        for field in ("send_counts", "recv_counts"):
            numbers = values.get(field)
            assert getattr(layout, field) == (ctypes.addressof(numbers) if numbers else 0), name
        assert not layout.send_displs and not layout.recv_displs


@test
def flags_of_operations():
    def flags(given):
        return configuration.Configuration(None, given, {}).flags

    assert flags(0) == 0
    for name in ("REPRODUCIBLE", "WIDE", "NOSYNC"):
        flag = getattr(structs, f"FLAG_{name}")
        assert flags(getattr(structs, f"CONFIG_{name}")) == flag
        for value, expected in (("1", flag), ("0", 0)):
            os.environ[f"COLL_{name}"] = value
            try:
                assert flags(0) == expected, name
            finally:
                del os.environ[f"COLL_{name}"]


@test
def texts_of_errors():
    places = {3: errors.Process(812, "node7")}
    error = errors.describe(errno.ECONNRESET, "rank 3 died (operation 1204)",
                            collective="allreduce", group_failed=True, processes=places)
    assert str(error) == "collective: rank 3 (pid 812 on node7) died (allreduce 1204)"
    assert isinstance(error, libcollective.GroupError) and isinstance(error, OSError)
    assert (error.errno, error.rank, error.pid, error.host, error.operation, error.collective) \
        == (errno.ECONNRESET, 3, 812, "node7", 1204, "allreduce")
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) and again.rank == 3 and type(again) is type(error)
    error = errors.describe(errno.EBADMSG, "rank 0 and rank 1 made different calls (operation 7)",
                            processes=places)
    assert type(error) is libcollective.OperationError and error.rank is None
    failed = {}
    for name in ("allreduce", "barrier"):
        error = errors.describe(errno.ECONNRESET, "rank 3 died (operation 5)", collective=name,
                                group_failed=True, failed=failed)
        assert str(error) == "collective: rank 3 died (allreduce 5)" and error.collective == name
    error = errors.describe(errno.EINVAL, "send refused: there is no rank 4")
    assert type(error) is libcollective.Error and error.operation is None


def exchanged(parts, ranks, **fields):
    """What an exchange that returns so many parts of 8 bytes does with memory of some ranks."""
    config = configuration.Configuration(lambda mine: [mine] * parts, 0, fields)
    mine = ctypes.create_string_buffer(b"8 bytes.", 8)
    # With as much behind it, where nothing may be written.
    everyone = ctypes.create_string_buffer(b"_" * 16 * ranks, 16 * ranks)
    code = config._exchanged(None, ctypes.addressof(mine), 8, ctypes.addressof(everyone))
    if config.error:
        assert code == -errno.ECANCELED and everyone.raw == b"_" * 16 * ranks
        raise config.error
    assert code == 0 and everyone.raw == b"8 bytes." * ranks + b"_" * 8 * ranks


@test
def exchange_with_wrong_parts():
    """What does not fit the library's memory is refused, however the number of ranks is known."""
    exchanged(2, 2, nranks=2)
    for parts in (0, 1, 3):
        with raises(ValueError, f"returned {parts} parts, and the group has 2 ranks"):
            exchanged(parts, 2, nranks=2)
    with raises(ValueError, "returned 2 parts, and the group has 1 ranks"):
        exchanged(2, 1)
    os.environ.update(RANK="0", WORLD_SIZE="7", COLL_RANK="0", COLL_SIZE="3")
    try:
        exchanged(3, 3)
        with raises(ValueError, "returned 7 parts, and the group has 3 ranks"):
            exchanged(7, 3)
        os.environ["COLL_SIZE"] = "3x"
        with raises(ValueError, "give init() the size"):
            exchanged(3, 3)
        del os.environ["COLL_RANK"], os.environ["COLL_SIZE"]
        exchanged(7, 7)
    finally:
        for name in ("RANK", "WORLD_SIZE", "COLL_RANK", "COLL_SIZE"):
            os.environ.pop(name, None)
    with raises(ValueError, "returned 7 bytes for rank 1, in place of 8"):
        configuration.check_parts([b"8 bytes.", b"7 bytes"], 2, 8)


@test
def rank_at_fault():
    """It is the one that did it, or that was absent, and never the one that complains."""
    deadline = "the deadline of rank 0 passed"
    last = "(last: operation 5, 1.003 s ago)"
    for text, rank in {
            "rank 3 left the group while it was needed (operation 4)": 3,
            "rank 3 broke the protocol, as seen by rank 1": 3,
            "rank 12 cancelled (message from rank 0 to rank 1)": 12,
            "rank 2 aborted the group: rank 5 died": 2,
            "rank 1 ran out of memory": 1,
            "rank 1 (10.0.0.1) went away while the group formed": 1,
            "rank 1 never arrived; rank 0 listened on 127.0.0.1:1": 1,
            "rank 4: no such device": 4,
            "rank 4: rank 0 was silent": None,
            "ranks 1, 2 never arrived; rank 0 listened on 127.0.0.1:1": None,
            "the connection between rank 0 and rank 1 was reset": None,
            "nothing was heard between rank 0 and rank 1: a host or the network is down": None,
            "the group was aborted by a command on the host of rank 2": None,
            "send refused: there is no rank 4: the ranks are 0 to 1": None,
            deadline + " (operation 6)": None,
            deadline + " while it waited for rank 1 (operation 6)": 1,
            f"{deadline} while it waited for rank 1; not submitted by rank 2 {last}": 2,
            f"{deadline}; not submitted by rank 2 {last}": 2,
            f"{deadline} while it waited for rank 1; not submitted by rank 2 {last}, "
            "rank 3 (no operation yet)": None,
            f"{deadline} while it waited for rank 1; not submitted by ranks 1-7, 9": None}.items():
        assert errors.describe(errno.ECONNRESET, text).rank == rank, text
    places = {rank: errors.Process(800 + rank, "node7") for rank in range(4)}
    error = errors.describe(errno.ETIMEDOUT, f"{deadline}; not submitted by rank 2 {last}",
                            processes=places)
    assert f"not submitted by rank 2 (pid 802 on node7) {last}" in str(error) and error.pid == 802


class Older:
    """A library of another version."""

    def __init__(self, major, minor):
        self.number = major << 16 | minor

    @property
    def coll_version(self):
        def function():
            return self.number
        return function


@test
def versions():
    library._check_version(Older(0, 2), library.NAME)
    library._check_version(Older(0, 9), library.NAME)
    for major, minor in ((0, 1), (1, 2)):
        with raises(libcollective.LibraryError, f"version {major}.{minor}, and this package "
                    "needs 0.2"):
            library._check_version(Older(major, minor), library.NAME)
    assert library.LEAST <= libcollective.library_version()
    assert libcollective.__version__ == open("VERSION", encoding="utf-8").read().strip()


@test
def missing_library():
    with raises(libcollective.LibraryError, "libcollective0") as caught:
        library.load("libcollective-none.so.0")
    assert "LD_LIBRARY_PATH" in str(caught.error)
    with raises(libcollective.LibraryError, "is older than this package"):
        library.load("libc.so.6")


@test
def missing_module():
    if os.path.exists("/dev/collective"):
        return
    with raises(libcollective.Error, "is the module loaded?") as caught:
        libcollective.init()
    assert "collectivectl check" in str(caught.error) and type(caught.error) is libcollective.Error
    assert caught.error.errno == errno.ENOENT


@test
def interrupted_calls():
    """A call that is given up is undone when it ends, and one in another thread is made there."""
    undone = []
    ending = threading.Event()

    def wait():
        ending.wait(10)
        return 5

    def interrupt_main():
        time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt_main).start()
    with raises(KeyboardInterrupt):
        interrupt.call(wait, undone.append)
    assert not undone
    ending.set()
    interrupt.await_given_up()
    assert undone == [5]
    assert interrupt.call(wait, undone.append) == 5 and undone == [5]
    with raises(LookupError, "no"):
        interrupt.call(lambda: {}["no"], undone.append)
    threads = []
    worker = threading.Thread(target=lambda: threads.append(
        interrupt.call(threading.current_thread, undone.append)))
    worker.start()
    worker.join()
    assert threads == [worker]


if __name__ == "__main__":
    main()
