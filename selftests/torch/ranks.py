# SPDX-License-Identifier: GPL-2.0-only
"""Groups of torch.distributed for tests: each rank is a child of the test, in a process group."""

import os
from datetime import timedelta

import torch
import torch.distributed as dist

import tap

SIZES = 2, 3, 4


def set_environment(rank, size):
    """That of torchrun, in place of that of the other tests."""
    port = os.environ.pop("COLL_RENDEZVOUS").rsplit(":", 1)[1]
    del os.environ["COLL_RANK"], os.environ["COLL_SIZE"]
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(size), LOCAL_RANK=str(rank),
                      MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
    torch.set_num_threads(1)


def in_group(function, size, backend="collective", seconds=30, destroys=True):
    """What a rank does: function(rank, flags) in a process group."""
    def run(rank, flags):
        set_environment(rank, size)
        dist.init_process_group(backend, timeout=timedelta(seconds=seconds))
        function(rank, flags)
        if destroys:
            dist.destroy_process_group()
    return run


def group(size, function, **settings):
    """Run function(rank, flags) in each rank of a process group; all have to succeed."""
    tap.group(size, in_group(function, size, **settings))


def on_all_sizes(function):
    """A test of function(rank, size), in groups of several sizes."""
    def test():
        for size in SIZES:
            group(size, lambda rank, _flags: function(rank, size))
    test.__name__ = function.__name__
    return tap.test(test)


def both(call):
    """Make a call without and with async_op.  @call: makes it with the argument, and checks"""
    for is_async in (False, True):
        call(lambda work: work.wait() if is_async else None, is_async)


def vector(rank, count=7, dtype=torch.float32):
    """Values of a rank, small enough that sums of all types are exact."""
    values = (torch.arange(count) + rank) % 5 + 1
    return values % 2 == 0 if dtype == torch.bool else values.to(dtype)


def all_vectors(size, count=7, dtype=torch.float32):
    return [vector(rank, count, dtype) for rank in range(size)]


def check(result, expected):
    assert result.dtype == expected.dtype and result.shape == expected.shape, \
        f"{result.dtype} {tuple(result.shape)}, not {expected.dtype} {tuple(expected.shape)}"
    # Types without comparison are compared by their bytes.
    assert torch.equal(result.contiguous().view(torch.uint8) if result.dim() else result,
                       expected.contiguous().view(torch.uint8) if result.dim() else expected), \
        f"{result}, not {expected}"
