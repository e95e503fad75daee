# SPDX-License-Identifier: GPL-2.0-only
"""Each collective of torch.distributed, with 2, 3 and 4 ranks, compared with the right values."""

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import AllgatherOptions
from torch.distributed import ReduceOp

from ranks import all_vectors, both, check, on_all_sizes, vector
from tap import main, raises

NUMBERS = (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64, torch.float16,
           torch.bfloat16, torch.float32, torch.float64)
#: Types that are only moved.
MOVED = (*NUMBERS, torch.bool, torch.uint16, torch.uint32, torch.uint64, torch.complex64,
         torch.complex128, torch.float8_e4m3fn, torch.float8_e5m2)
#: Elements of small operations, which take another way, and of others.
COUNTS = 0, 1, 7, 5000


def moved(rank, count, dtype):
    return vector(rank, count, torch.float32).to(dtype)


@on_all_sizes
def broadcast(rank, size):
    for dtype in MOVED:
        for count in COUNTS:
            for root in range(size):
                def call(wait, is_async):
                    tensor = moved(rank, count, dtype)
                    wait(dist.broadcast(tensor, root, async_op=is_async))
                    check(tensor, moved(root, count, dtype))
                both(call)


@on_all_sizes
def all_reduce(rank, size):
    reductions = {
        ReduceOp.SUM: lambda all: torch.stack(all).to(torch.float64).sum(0),
        ReduceOp.PRODUCT: lambda all: torch.stack(all).to(torch.float64).prod(0),
        ReduceOp.MIN: lambda all: torch.stack(all).to(torch.float64).amin(0),
        ReduceOp.MAX: lambda all: torch.stack(all).to(torch.float64).amax(0),
    }
    for dtype in NUMBERS:
        for op, expected in reductions.items():
            for count in COUNTS:
                def call(wait, is_async):
                    tensor = vector(rank, count, dtype)
                    wait(dist.all_reduce(tensor, op, async_op=is_async))
                    # Products of int8 wrap.
                    right = expected(all_vectors(size, count, dtype))
                    check(tensor, right.to(torch.int64).to(dtype)
                          if not dtype.is_floating_point else right.to(dtype))
                both(call)


@on_all_sizes
def all_reduce_of_bits(rank, size):
    for dtype in (torch.int8, torch.uint8, torch.int32, torch.int64):
        for op, combine in ((ReduceOp.BAND, torch.bitwise_and), (ReduceOp.BOR, torch.bitwise_or),
                            (ReduceOp.BXOR, torch.bitwise_xor)):
            right = vector(0, 7, dtype)
            for other in range(1, size):
                right = combine(right, vector(other, 7, dtype))
            tensor = vector(rank, 7, dtype)
            dist.all_reduce(tensor, op)
            check(tensor, right)


@on_all_sizes
def all_reduce_of_bool(rank, size):
    stacked = torch.stack(all_vectors(size, 7, torch.bool))
    for op, right in ((ReduceOp.SUM, stacked.any(0)), (ReduceOp.MAX, stacked.any(0)),
                      (ReduceOp.BOR, stacked.any(0)), (ReduceOp.PRODUCT, stacked.all(0)),
                      (ReduceOp.MIN, stacked.all(0)), (ReduceOp.BAND, stacked.all(0)),
                      (ReduceOp.BXOR, stacked.sum(0) % 2 == 1)):
        tensor = vector(rank, 7, torch.bool)
        dist.all_reduce(tensor, op)
        check(tensor, right)


@on_all_sizes
def all_reduce_average(rank, size):
    for dtype in (torch.float32, torch.float64):
        tensor = vector(rank, 7, dtype)
        dist.all_reduce(tensor, ReduceOp.AVG)
        check(tensor, torch.stack(all_vectors(size, 7, dtype)).sum(0) / size)


@on_all_sizes
def all_reduce_of_complex(rank, size):
    for dtype in (torch.complex64, torch.complex128):
        tensor = torch.complex(vector(rank), vector(rank + 1)).to(dtype)
        right = sum(torch.complex(vector(r), vector(r + 1)) for r in range(size)).to(dtype)
        dist.all_reduce(tensor)
        check(tensor, right)


@on_all_sizes
def tensors_that_are_copied(rank, size):
    """Not contiguous, conjugated, leaves that need gradients, tensors of inference."""
    tensor = torch.zeros(4, 6)
    tensor[:, ::2] = rank + 1
    for is_async in (False, True):
        view = tensor.clone()[:, ::2]
        work = dist.all_reduce(view, async_op=is_async)
        if is_async:
            work.wait()
        check(view.contiguous(), torch.full((4, 3), size * (size + 1) / 2))
    leaf = torch.ones(3, 5, requires_grad=True)
    dist.broadcast(leaf.t(), 0)
    dist.all_reduce(leaf)
    check(leaf.detach(), torch.full((3, 5), float(size)))
    with torch.inference_mode():
        inferred = torch.ones(4, 4)
    dist.all_reduce(inferred.t(), async_op=True).wait()
    check(inferred, torch.full((4, 4), float(size)))
    conjugated = torch.complex(vector(rank), vector(rank)).conj()
    output = torch.empty(size * 7, dtype=torch.complex64)
    backend = dist.distributed_c10d._get_default_group()._get_backend(torch.device("cpu"))
    work = backend.all_gather_single(output, conjugated, AllgatherOptions())
    work.wait()
    check(output, torch.cat([torch.complex(vector(other), -vector(other))
                             for other in range(size)]))
    last = torch.ones(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
    dist.all_reduce(last)
    check(last.contiguous(), torch.full((2, 3, 4, 5), float(size)))


@on_all_sizes
def copies_beside_another_default_device(rank, size):
    """As in a program whose default device is a GPU."""
    given = [vector(other + rank) for other in range(size)]
    outputs = [torch.empty(7) for _ in range(size)]
    view = torch.ones(4, 6)[:, ::2]
    with torch.device("meta"):
        dist.all_gather(outputs, given[0])
        dist.all_reduce(view)
    for other, output in enumerate(outputs):
        check(output, vector(other))
    check(view.contiguous(), torch.full((4, 3), float(size)))
    with torch.device("meta"):
        dist.all_to_all(outputs, given)
    for other, output in enumerate(outputs):
        check(output, vector(rank + other))


@on_all_sizes
def reduce(rank, size):
    for root in range(size):
        def call(wait, is_async):
            tensor = vector(rank)
            wait(dist.reduce(tensor, root, async_op=is_async))
            check(tensor, sum(all_vectors(size)) if rank == root else vector(rank))
        both(call)


@on_all_sizes
def all_gather(rank, size):
    for dtype in MOVED:
        for count in COUNTS:
            def call(wait, is_async):
                outputs = [torch.empty(count, dtype=dtype) for _ in range(size)]
                wait(dist.all_gather(outputs, moved(rank, count, dtype), async_op=is_async))
                for other, output in enumerate(outputs):
                    check(output, moved(other, count, dtype))
            both(call)


@on_all_sizes
def all_gather_into_parts_of_one(rank, size):
    whole = torch.zeros(size, 7)
    outputs = list(whole.unbind())
    dist.all_gather(outputs, vector(rank))
    check(whole, torch.stack(all_vectors(size)))
    outputs[rank].copy_(vector(rank + 1))
    dist.all_gather(outputs, outputs[rank])
    check(whole, torch.stack([vector(other + 1) for other in range(size)]))


@on_all_sizes
def all_gather_of_different_lengths(rank, size):
    outputs = [torch.empty(other + 1) for other in range(size)]
    dist.all_gather(outputs, vector(rank, rank + 1))
    for other, output in enumerate(outputs):
        check(output, vector(other, other + 1))


@on_all_sizes
def all_gather_into_tensor(rank, size):
    def call(wait, is_async):
        for shape in ((size * 7,), (size, 7)):
            output = torch.empty(shape)
            wait(dist.all_gather_into_tensor(output, vector(rank), async_op=is_async))
            check(output.view(size, 7), torch.stack(all_vectors(size)))
        output = torch.empty(size * 7)
        own = output[rank * 7:(rank + 1) * 7].copy_(vector(rank))
        wait(dist.all_gather_into_tensor(output, own, async_op=is_async))
        check(output.view(size, 7), torch.stack(all_vectors(size)))
    both(call)


@on_all_sizes
def all_gather_coalesced(rank, size):
    outputs = [[torch.empty(7), torch.empty(3)] for _ in range(size)]
    dist.all_gather_coalesced(outputs, [vector(rank), vector(rank, 3)])
    for other, (first, second) in enumerate(outputs):
        check(first, vector(other))
        check(second, vector(other, 3))


@on_all_sizes
def gather(rank, size):
    for root in range(size):
        def call(wait, is_async):
            outputs = [torch.empty(7) for _ in range(size)] if rank == root else None
            wait(dist.gather(vector(rank), outputs, root, async_op=is_async))
            for other, output in enumerate(outputs or ()):
                check(output, vector(other))
        both(call)


@on_all_sizes
def scatter(rank, size):
    for root in range(size):
        def call(wait, is_async):
            output = torch.empty(7)
            inputs = [vector(other + root) for other in range(size)] if rank == root else None
            wait(dist.scatter(output, inputs, root, async_op=is_async))
            check(output, vector(rank + root))
        both(call)
        whole = torch.stack([vector(other) for other in range(size)])
        parts = list(whole.unbind())
        output = parts[rank]
        dist.scatter(output, parts if rank == root else None, root)
        check(output, vector(rank))


@on_all_sizes
def reduce_scatter(rank, size):
    def call(wait, is_async):
        output = torch.empty(7)
        inputs = [vector(rank + block) for block in range(size)]
        wait(dist.reduce_scatter(output, inputs, async_op=is_async))
        check(output, sum(vector(other + rank) for other in range(size)))
        output = torch.empty(rank + 1)
        inputs = [vector(rank, block + 1) for block in range(size)]
        wait(dist.reduce_scatter(output, inputs, async_op=is_async))
        check(output, sum(vector(other, rank + 1) for other in range(size)))
    both(call)


@on_all_sizes
def reduce_scatter_tensor(rank, size):
    def call(wait, is_async):
        output = torch.empty(7)
        given = torch.cat([vector(rank + block) for block in range(size)])
        wait(dist.reduce_scatter_tensor(output, given, async_op=is_async))
        right = sum(vector(other + rank) for other in range(size))
        check(output, right)
        own = given[rank * 7:(rank + 1) * 7]
        wait(dist.reduce_scatter_tensor(own, given, async_op=is_async))
        check(own, right)
    both(call)


@on_all_sizes
def all_to_all(rank, size):
    def call(wait, is_async):
        # Rank a sends a + b + 1 elements to rank b.
        inputs = [vector(rank, rank + other + 1) for other in range(size)]
        outputs = [torch.empty(rank + other + 1) for other in range(size)]
        wait(dist.all_to_all(outputs, inputs, async_op=is_async))
        for other, output in enumerate(outputs):
            check(output, vector(other, rank + other + 1))
    both(call)


@on_all_sizes
def all_to_all_single(rank, size):
    def call(wait, is_async):
        given = torch.stack([vector(rank + other) for other in range(size)])
        output = torch.empty(size, 7)
        wait(dist.all_to_all_single(output, given, async_op=is_async))
        check(output, torch.stack([vector(other + rank) for other in range(size)]))
        splits = [(rank + other) % 3 for other in range(size)]
        given = torch.cat([torch.full((split, 2), float(rank)) for split in splits])
        output = torch.empty(sum(splits), 2)
        wait(dist.all_to_all_single(output, given, splits, splits, async_op=is_async))
        check(output, torch.cat([torch.full((split, 2), float(other))
                                 for other, split in enumerate(splits)]))
    both(call)


@on_all_sizes
def messages(rank, size):
    after, before = (rank + 1) % size, (rank - 1) % size
    for count in (0, 1, 7, 50000):
        for tag in (0, 5):
            received = torch.empty(count)
            work = dist.isend(vector(rank, count), after, tag=tag)
            assert dist.recv(received, before, tag=tag) == before
            work.wait()
            check(received, vector(before, count))
    if rank < 2:
        # By their tags, in another order.
        if rank == 0:
            works = [dist.isend(vector(tag), 1, tag=tag) for tag in (1, 2, 3)]
        else:
            tensors = {tag: torch.empty(7) for tag in (3, 1, 2)}
            works = [dist.irecv(tensor, 0, tag=tag) for tag, tensor in tensors.items()]
        for work in works:
            work.wait()
        if rank == 1:
            for tag, tensor in tensors.items():
                check(tensor, vector(tag))


@on_all_sizes
def batches_of_messages(rank, size):
    received = torch.empty(7)
    operations = [dist.P2POp(dist.isend, vector(rank), (rank + 1) % size),
                  dist.P2POp(dist.irecv, received, (rank - 1) % size)]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    check(received, vector((rank - 1) % size))


@on_all_sizes
def coalesced(rank, size):
    from torch.distributed.distributed_c10d import _coalescing_manager
    for device in (None, torch.device("cpu")):
        for is_async in (False, True):
            tensors = [vector(rank, count) for count in (3, 7, 3000)]
            with _coalescing_manager(device=device, async_ops=is_async) as manager:
                for tensor in tensors:
                    dist.all_reduce(tensor)
            if is_async:
                manager.wait()
            for tensor, count in zip(tensors, (3, 7, 3000)):
                check(tensor, sum(all_vectors(size, count)))
    outputs = [torch.empty(size * count) for count in (3, 7)]
    with _coalescing_manager():
        for output, count in zip(outputs, (3, 7)):
            dist.all_gather_into_tensor(output, vector(rank, count))
    for output, count in zip(outputs, (3, 7)):
        check(output, torch.cat(all_vectors(size, count)))
    outputs = [torch.empty(count) for count in (3, 7)]
    with _coalescing_manager():
        for output, count in zip(outputs, (3, 7)):
            dist.reduce_scatter_tensor(output, vector(rank, count * size))
    for output, count in zip(outputs, (3, 7)):
        check(output, sum(all_vectors(size, count * size))[rank * count:(rank + 1) * count])


@on_all_sizes
def barriers(rank, size):
    def call(wait, is_async):
        wait(dist.barrier(async_op=is_async))
    both(call)
    dist.monitored_barrier()


@on_all_sizes
def objects(rank, size):
    everyone = [None] * size
    dist.all_gather_object(everyone, {"rank": rank})
    assert everyone == [{"rank": other} for other in range(size)]
    given = ["a", 5, None] if rank == 0 else [None] * 3
    dist.broadcast_object_list(given, 0)
    assert given == ["a", 5, None]


@on_all_sizes
def what_there_is_not(rank, size):
    tensor = torch.ones(3)
    with raises(RuntimeError, "no recv from any rank: name the source"):
        dist.recv(tensor)
    with raises(TypeError, "no SUM of 8-bit floats (torch.float8_e4m3fn)"):
        dist.all_reduce(tensor.to(torch.float8_e4m3fn))
    with raises(TypeError, "the tensor is sparse"):
        dist.all_reduce(torch.eye(3).to_sparse())
    with raises(ValueError, "there is no reduction PREMUL_SUM"):
        dist.all_reduce(tensor, dist._make_nccl_premul_sum(2.0))
    with raises(TypeError, "BXOR takes integers and bool, not torch.float32"):
        dist.all_reduce(tensor, ReduceOp.BXOR)
    with raises(TypeError, "there is no AVG of torch.bool"):
        dist.all_reduce(torch.ones(3, dtype=torch.bool), ReduceOp.AVG)
    # By torch itself; its older versions left that to the backend.
    with raises(NotImplementedError, "QuantizedCPU"):
        dist.broadcast(torch.quantize_per_tensor(tensor, 0.1, 0, torch.quint8), 0)
    with raises(TypeError, "elements of the result share memory"):
        dist.all_reduce(torch.ones(1).expand(3))
    with raises(ValueError, "the input has no axis"):
        dist.all_to_all_single(torch.tensor(1.0), torch.tensor(1.0))
    with raises(ValueError, "tag -1 is negative"):
        dist.isend(tensor, (rank + 1) % size, tag=-1)
    # Nothing has begun: the group goes on.
    dist.all_reduce(tensor)
    check(tensor, torch.full((3,), float(size)))


if __name__ == "__main__":
    main()
