# SPDX-License-Identifier: GPL-2.0-only
"""Arrays of all kinds, and those that cannot be used: each says why, and nothing has begun."""

import array
import errno

import numpy as np

import libcollective
from libcollective import Op
from tap import group, main, raises, test


def kinds(_rank, _flags):
    with libcollective.init() as comm:
        n = comm.size
        expected = np.arange(6.0).reshape(2, 3) * n
        base = np.arange(6.0).reshape(2, 3)
        inputs = {
            "Fortran order": np.asfortranarray(base),
            "other byte order": base.astype(">f8"),
            "every second": np.repeat(base, 2, axis=1)[:, ::2],
            "backwards": base[::-1, ::-1].copy()[::-1, ::-1],
            "not aligned": np.frombuffer(b"x" + base.tobytes(), "<f8", offset=1).reshape(2, 3),
            "list": base.tolist(),
        }
        for name, given in inputs.items():
            assert np.array_equal(comm.allreduce(given), expected), name
        frozen = base.copy()
        frozen.flags.writeable = False
        assert np.array_equal(comm.allreduce(frozen), expected)
        assert np.array_equal(comm.broadcast(frozen if comm.rank == 0 else base.copy()), base)
        buffers(comm)


def buffers(comm):
    n = comm.size
    numbers = array.array("d", [1, 2, 3])
    assert comm.allreduce(numbers, out=numbers) is numbers
    assert numbers.tolist() == [n, 2 * n, 3 * n]
    text = bytearray(b"hello" if comm.rank == 0 else b"_____")
    comm.broadcast(text)
    assert text == b"hello"
    gathered = comm.allgather(memoryview(bytes([comm.rank] * 2)))
    assert gathered.tolist() == [[rank] * 2 for rank in range(n)]
    borrowed = Exported(np.arange(4, dtype="int16"))
    comm.allreduce(borrowed, out=borrowed)
    assert borrowed.array.tolist() == [0, n, 2 * n, 3 * n]
    half = comm.allreduce(np.float16(1.5))
    assert half == 1.5 * n and half.dtype == np.float16


class Exported:
    """An array that has DLPack and nothing else."""

    def __init__(self, numbers, device=1):
        self.array = numbers
        self.device = device

    def __dlpack__(self, **_options):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.device, 0


def refused(_rank, _flags):
    with libcollective.init() as comm:
        a = np.zeros(4)
        frozen = np.zeros(4)
        frozen.flags.writeable = False
        for out, part in ((frozen, "read-only"), (np.zeros(8)[::2], "not C-contiguous"),
                          (np.zeros(4, ">f8"), "byte order"), (b"12345678" * 4, "read-only"),
                          (np.zeros(4, "f4"), "type float32"), ([0.0] * 4, "no array"),
                          (3.0, "no array"), (np.zeros(4, object), "objects"),
                          (np.frombuffer(bytearray(33), "<f8", offset=1), "not aligned")):
            with raises(TypeError, part):
                comm.allreduce(a, out=out)
        with raises(ValueError, "shape (3,), and the result (4,)"):
            comm.allreduce(a, out=np.zeros(3))
        with raises(TypeError, "objects"):
            comm.allgather(np.array([None, "x"]))
        with raises(TypeError, "bool has no SUM"):
            comm.allreduce(np.zeros(2, bool))
        with raises(TypeError, "no PROD of complex128"):
            comm.allreduce(np.zeros(2, complex), op="prod")
        with raises(TypeError, "no SUM of datetime64"):
            comm.allreduce(np.zeros(2, "M8[s]"))
        with raises(TypeError, "BXOR takes integers"):
            comm.allreduce(a, op=Op.BXOR)
        with raises(TypeError, "masked"):
            comm.allreduce(np.ma.masked_array(a, a == 0))
        with raises(TypeError, "on a device"):
            comm.allreduce(Exported(a, device=2))
        with raises(ValueError, "no reduction 'plus'"):
            comm.allreduce(a, op="plus")
        numbers(comm, a)
        # Nothing has begun on any rank: the next operation is the first.
        comm.barrier()


def numbers(comm, a):
    n = comm.size
    for call in (lambda: comm.broadcast(a, root=n), lambda: comm.gather(a, root=-1)):
        with raises(ValueError, "is no rank"):
            call()
    with raises(ValueError, "the tag"):
        comm.send(a, 1 - comm.rank, tag=-5)
    with raises(ValueError, "axis 1 is out of bounds"):
        comm.allgather(a, axis=1)
    with raises(ValueError, "no multiple"):
        comm.reduce_scatter(np.zeros((n + 1, 2)), axis=0)
    with raises(ValueError, "a block for each rank"):
        comm.alltoall(np.zeros(n + 1))
    with raises(TypeError, "both"):
        comm.alltoall(np.zeros((n, n)), split_axis=0)
    with raises(ValueError, "counts has 1 numbers"):
        comm.allgatherv(a, [4])
    with raises(ValueError, "negative"):
        comm.allgatherv(a, [-1] * n)
    with raises(ValueError, "the counts say"):
        comm.allgatherv(a, [3] * n)
    with raises(ValueError, "no average"):
        comm.scan(a, op="avg")
    with raises(TypeError, "can be used where it is"):
        comm.allreduce_init(np.zeros(8)[::2])
    if comm.rank:
        with raises(TypeError, "needs out"):
            comm.scatter(root=0)


def differing(rank, _flags):
    """Calls that differ fail on both ranks, which are told both, and the group goes on."""
    with libcollective.init() as comm:
        with raises(libcollective.OperationError, "made different calls (allreduce 0)") as caught:
            comm.allreduce(np.zeros(3 + rank))
        assert caught.error.errno == errno.EBADMSG
        assert caught.error.operation == 0 and caught.error.collective == "allreduce"
        assert not comm.failed
        assert comm.allreduce(1) == comm.size


def registered(_rank, _flags):
    with libcollective.init() as comm:
        a = np.full(100000, 1.0)
        comm.register(a)
        for _ in range(3):
            a[:] = 1
            comm.allreduce(a, out=a)
            assert (a == comm.size).all()
        comm.unregister(a)
        with raises(libcollective.Error):
            comm.unregister(a)
        with raises(TypeError, "not C-contiguous"):
            comm.register(a[::2])


for function in (kinds, refused, differing, registered):
    def run(function=function):
        group(2, function)
    run.__name__ = function.__name__
    test(run)

if __name__ == "__main__":
    main()
