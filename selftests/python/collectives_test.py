# SPDX-License-Identifier: GPL-2.0-only
"""Every collective, in its forms, against what NumPy computes of the same random arrays."""

import numpy as np

import libcollective
from libcollective import Op
from tap import group, main, test

TYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16",
         "float32", "float64")
MOVED = (*TYPES, "bool", "complex64", "complex128", "datetime64[s]", "S5",
         [("a", "i4"), ("b", "f8")])
SHAPES = ((), (1,), (7,), (3, 5), (2, 3, 4), (0,), (4, 0, 2), (4000,), (33, 100))
REDUCE = {Op.SUM: np.add, Op.PROD: np.multiply, Op.MIN: np.minimum, Op.MAX: np.maximum,
          Op.BAND: np.bitwise_and, Op.BOR: np.bitwise_or, Op.BXOR: np.bitwise_xor,
          Op.LAND: np.logical_and, Op.LOR: np.logical_or, Op.LXOR: np.logical_xor}
FORMS = ("", "i", "_init")


def values(shape, dtype, rank, seed=0):
    """The array of a rank: small numbers, so that sums and products of floats are exact."""
    random = np.random.default_rng([seed, rank])
    numbers = random.integers(0, 4, shape)
    if np.dtype(dtype).names:
        array = np.zeros(shape, dtype)
        array["a"], array["b"] = numbers, numbers
        return array
    return np.asarray(numbers.astype(dtype))


def everyone(comm, shape, dtype, seed=0):
    return [values(shape, dtype, rank, seed) for rank in range(comm.size)]


def run(comm, form, name, *arguments, **named):
    """Call a collective in one of its forms.  Return: its result."""
    if form == "_init":
        with getattr(comm, f"{name}_init")(*arguments, **named) as request:
            request.start().wait()
            return request.start().wait()
    if form == "i":
        return getattr(comm, f"i{name}")(*arguments, **named).wait()
    return getattr(comm, name)(*arguments, **named)


def same(result, expected, what):
    result = np.asarray(result)
    assert result.shape == expected.shape, f"{what}: shape {result.shape}, not {expected.shape}"
    assert result.dtype == expected.dtype, f"{what}: {result.dtype}, not {expected.dtype}"
    assert np.array_equal(result, expected), f"{what}: {result} is not {expected}"


def combine(op, inputs):
    result = inputs[0]
    for other in inputs[1:]:
        result = REDUCE[op](result, other)
    return np.asarray(result).astype(inputs[0].dtype)


def ops_of(dtype):
    bitwise = (Op.BAND, Op.BOR, Op.BXOR)
    return [op for op in REDUCE if op not in bitwise or np.dtype(dtype).kind in "iu"]


def reductions(_rank, _flags):
    with libcollective.init() as comm:
        for dtype in TYPES:
            for op in ops_of(dtype):
                inputs = everyone(comm, (3, 5), dtype)
                what = f"{op.name} of {dtype}"
                same(comm.allreduce(inputs[comm.rank], op=op), combine(op, inputs), what)
        for shape in SHAPES:
            for form in FORMS:
                reduce_all(comm, form, shape, f"{form} {shape}")


def reduce_all(comm, form, shape, what):
    inputs = everyone(comm, shape, "int32")
    mine, total = inputs[comm.rank], combine(Op.SUM, inputs)
    same(run(comm, form, "allreduce", mine), total, f"allreduce {what}")
    out = mine.copy()
    assert run(comm, "" if form == "_init" else form, "allreduce", out, out=out) is out
    same(out, total, f"allreduce in place {what}")
    for root in (0, comm.size - 1):
        result = run(comm, form, "reduce", mine, root=root, op="max")
        if comm.rank == root:
            same(result, combine(Op.MAX, inputs), f"reduce {what}")
        else:
            assert result is None
    same(run(comm, form, "scan", mine), combine(Op.SUM, inputs[:comm.rank + 1]), f"scan {what}")
    result = run(comm, form, "exscan", mine)
    if comm.rank:
        same(result, combine(Op.SUM, inputs[:comm.rank]), f"exscan {what}")
    else:
        assert result is None
    blocks = everyone(comm, (comm.size, *shape), "int32", 1)
    same(run(comm, form, "reduce_scatter", blocks[comm.rank]),
         combine(Op.SUM, blocks)[comm.rank], f"reduce_scatter {what}")


def moves(_rank, _flags):
    with libcollective.init() as comm:
        for dtype in MOVED:
            move_all(comm, "", (3, 5), dtype, f"{dtype}")
        for shape in SHAPES:
            for form in FORMS:
                move_all(comm, form, shape, "float64", f"{form} {shape}")


def move_all(comm, form, shape, dtype, what):
    inputs = everyone(comm, shape, dtype)
    mine = inputs[comm.rank]
    for root in (0, comm.size - 1):
        array = mine.copy()
        assert run(comm, form, "broadcast", array, root=root) is array
        same(array, inputs[root], f"broadcast {what}")
        result = run(comm, form, "gather", mine, root=root)
        if comm.rank == root:
            same(result, np.stack(inputs), f"gather {what}")
        else:
            assert result is None
        out = np.empty_like(mine)
        run(comm, form, "scatter", np.stack(inputs) if comm.rank == root else None, root=root,
            out=out)
        same(out, mine, f"scatter {what}")
    same(run(comm, form, "allgather", mine), np.stack(inputs), f"allgather {what}")
    whole = np.zeros((comm.size, *shape), dtype)
    whole[comm.rank] = mine
    same(run(comm, form, "allgather", out=whole), np.stack(inputs), f"in place {what}")
    blocks = everyone(comm, (comm.size, *shape), dtype, 1)
    same(run(comm, form, "alltoall", blocks[comm.rank]),
         np.stack([block[comm.rank] for block in blocks]), f"alltoall {what}")


def axes(_rank, _flags):
    with libcollective.init() as comm:
        n = comm.size
        for dtype in ("int16", "float64", "complex64"):
            for shape in ((4,), (2, 3), (3, 1, 5), (2, 3, 4, 2)):
                for axis in range(-len(shape), len(shape)):
                    for form in ("", "i"):
                        along_axis(comm, form, shape, axis, dtype)
        same(comm.alltoall(np.zeros((n, 0, 3)), split_axis=0, concat_axis=2),
             np.zeros((1, 0, 3 * n)), "empty alltoall")


def along_axis(comm, form, shape, axis, dtype):
    what = f"{form} {shape} {axis} {dtype}"
    n, inputs = comm.size, everyone(comm, shape, dtype)
    same(run(comm, form, "allgather", inputs[comm.rank], axis=axis),
         np.concatenate(inputs, axis=axis), f"allgather {what}")
    whole = list(shape)
    whole[axis] *= n
    inputs = everyone(comm, whole, dtype, 1)
    parts = np.split(combine(Op.SUM, inputs), n, axis=axis)
    same(run(comm, form, "reduce_scatter", inputs[comm.rank], axis=axis), parts[comm.rank],
         f"reduce_scatter {what}")
    for concat in range(len(shape)):
        parts = [np.split(array, n, axis=axis)[comm.rank] for array in inputs]
        same(run(comm, form, "alltoall", inputs[comm.rank], split_axis=axis, concat_axis=concat),
             np.concatenate(parts, axis=concat), f"alltoall {what} {concat}")


def vectors(_rank, _flags):
    with libcollective.init() as comm:
        n, rank = comm.size, comm.rank
        for dtype in ("int32", "float64", "complex128"):
            for form in ("", "i"):
                counts = [3 * r % 5 for r in range(n)]
                inputs = [values((count,), dtype, r) for r, count in enumerate(counts)]
                same(run(comm, form, "allgatherv", inputs[rank], counts),
                     np.concatenate(inputs), "allgatherv")
                result = run(comm, form, "gatherv", inputs[rank], counts, root=n - 1)
                if rank == n - 1:
                    same(result, np.concatenate(inputs), "gatherv")
                out = np.empty(counts[rank], dtype)
                run(comm, form, "scatterv", np.concatenate(inputs), counts, root=0, out=out)
                same(out, inputs[rank], "scatterv")
                all_to_all(comm, form, dtype)
                whole = everyone(comm, (sum(counts),), dtype, 2)
                begin = sum(counts[:rank])
                same(run(comm, form, "reduce_scatterv", whole[rank], counts),
                     combine(Op.SUM, whole)[begin:begin + counts[rank]], "reduce_scatterv")


def all_to_all(comm, form, dtype):
    n, rank = comm.size, comm.rank
    block = [[values((r + 2 * to,), dtype, r, to) for to in range(n)] for r in range(n)]
    same(run(comm, form, "alltoallv", np.concatenate(block[rank]),
             [len(part) for part in block[rank]], [len(block[r][rank]) for r in range(n)]),
         np.concatenate([block[r][rank] for r in range(n)]), "alltoallv")


def messages(_rank, _flags):
    with libcollective.init() as comm:
        to, source = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        for length in (0, 1, 1000, 100000):
            for tag in (None, 7):
                out = np.empty(length)
                request = comm.isend(np.full(length, float(comm.rank)), to, tag)
                assert comm.recv(out, source, tag) is out
                request.wait()
                same(out, np.full(length, float(source)), "message")
                out = np.empty(length)
                request = comm.irecv(out, comm.rank, tag)
                comm.send(np.full(length, float(comm.rank)), comm.rank, tag)
                request.wait()
                same(out, np.full(length, float(comm.rank)), "message to this rank itself")
        send = comm.send_init(np.arange(5), to)
        out = np.empty(5, int)
        recv = comm.recv_init(out, source)
        for _ in range(3):
            libcollective.wait_all([send.start(), recv.start()])
            same(out, np.arange(5), "persistent message")
        send.free()
        recv.free()


def averages(_rank, _flags):
    with libcollective.init(reproducible=True) as comm:
        same(comm.allreduce(np.full(3, comm.rank * 2.0), op="avg"),
             np.full(3, comm.size - 1.0), "average")
        total = comm.allreduce(np.array([1 + 2j, 3j]) * (comm.rank + 1))
        same(total, np.array([1 + 2j, 3j]) * sum(range(1, comm.size + 1)), "complex sum")
        truth = np.array([comm.rank == 0, True, False])
        same(comm.allreduce(truth, op="land"), np.array([comm.size == 1, True, False]), "land")
        same(comm.allreduce(truth, op=Op.LOR), np.array([True, True, False]), "lor")
        assert comm.allreduce(2) == 2 * comm.size
        assert comm.allreduce(0.5) == comm.size / 2


def in_group(function, *sizes):
    def run_groups():
        for size in sizes:
            group(size, function)
    run_groups.__name__ = function.__name__
    return test(run_groups)


for function in (reductions, moves, axes):
    in_group(function, 1, 2, 3)
for function in (vectors, messages, averages):
    in_group(function, 2, 4)

if __name__ == "__main__":
    main()
