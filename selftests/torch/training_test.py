# SPDX-License-Identifier: GPL-2.0-only
"""Training: the same numbers as in one process."""

import copy

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from ranks import check, on_all_sizes
from tap import main

STEPS = 6


def make_model():
    torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.Linear(20, 64), torch.nn.Tanh(),
                               torch.nn.Linear(64, 64), torch.nn.Tanh(), torch.nn.Linear(64, 3))


def inputs_of(step, size):
    """Inputs of all ranks, one after the other."""
    torch.manual_seed(100 + step)
    return torch.randn(8 * size, 20), torch.randn(8 * size, 3)


def train(model, size, part=slice(None)):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(STEPS):
        given, right = inputs_of(step, size)
        loss = torch.nn.functional.mse_loss(model(given[part]), right[part])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


def compare(model, alone):
    for found, expected in zip(model.parameters(), alone.parameters()):
        torch.testing.assert_close(found.detach(), expected.detach(), rtol=1e-4, atol=1e-5)


def own_part(rank):
    return slice(8 * rank, 8 * (rank + 1))


@on_all_sizes
def data_parallel(rank, size):
    alone = train(make_model(), size)
    for settings in ({}, {"bucket_cap_mb": 0.001}, {"gradient_as_bucket_view": True},
                     {"static_graph": True}):
        model = DistributedDataParallel(make_model(), **settings)
        compare(train(model, size, own_part(rank)), alone)


@on_all_sizes
def data_parallel_with_hooks(rank, size):
    """Hooks that run callbacks, and one whose callbacks wait for other operations."""
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
    alone = train(make_model(), size)
    model = DistributedDataParallel(make_model())
    model.register_comm_hook(None, default_hooks.allreduce_hook)
    compare(train(model, size, own_part(rank)), alone)
    model = DistributedDataParallel(make_model())
    model.register_comm_hook(None, default_hooks.fp16_compress_hook)
    train(model, size, own_part(rank))
    model = DistributedDataParallel(make_model())
    state = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=1, start_powerSGD_iter=2)
    model.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
    train(model, size, own_part(rank))
    same_on_all_ranks(model, size)


def same_on_all_ranks(model, size):
    for parameter in model.parameters():
        everyone = [torch.empty_like(parameter) for _ in range(size)]
        dist.all_gather(everyone, parameter.detach())
        for other in everyone:
            check(other, everyone[0])


@on_all_sizes
def data_parallel_with_batch_norm(rank, size):
    torch.manual_seed(3)
    model = DistributedDataParallel(torch.nn.Sequential(
        torch.nn.Linear(20, 16), torch.nn.BatchNorm1d(16), torch.nn.Linear(16, 3)))
    train(model, size, own_part(rank))
    same_on_all_ranks(model, size)


@on_all_sizes
def fully_sharded(rank, size):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    alone = train(make_model(), size)
    model = copy.deepcopy(make_model())
    mesh = init_device_mesh("cpu", (size,))
    for layer in model:
        if isinstance(layer, torch.nn.Linear):
            fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    train(model, size, own_part(rank))
    for found, expected in zip(model.parameters(), alone.parameters()):
        torch.testing.assert_close(found.full_tensor().detach(), expected.detach(),
                                   rtol=1e-4, atol=1e-5)


if __name__ == "__main__":
    main()
