# SPDX-License-Identifier: GPL-2.0-only
"""A program as users have it: a network learns the handwritten digits of the demo.

    torchrun --nproc-per-node=4 digits.py DATA [ddp|fsdp [BACKEND]]     default: ddp, collective

bench.py calls train() for each backend.
"""

import statistics
import sys
import time

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

EPOCHS = 4
BATCH = 32
WIDTH = 512


def load(file):
    """The images and digits of a file of CSV."""
    with open(file, encoding="ascii") as lines:
        rows = torch.tensor([[float(field) for field in line.split(",")] for line in lines])
    return rows[:, :-1] / 16, rows[:, -1].long()


def make_model():
    torch.manual_seed(7)
    return torch.nn.Sequential(
        torch.nn.Linear(64, WIDTH), torch.nn.ReLU(), torch.nn.Linear(WIDTH, WIDTH),
        torch.nn.ReLU(), torch.nn.Linear(WIDTH, 10))


def share(model, kind):
    """Have the ranks train a model together; "alone": each by itself, without a collective."""
    if kind == "ddp":
        return DistributedDataParallel(model)
    if kind == "fsdp":
        mesh = init_device_mesh("cpu", (dist.get_world_size(),))
        for layer in model:
            if isinstance(layer, torch.nn.Linear):
                fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
    return model


def train(kind, images, digits, rank, size):
    """Train on four fifths.

    Return: time of each step in s, and the share of the others that is recognized.
    """
    model = share(make_model(), kind)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    last = len(images) * 4 // 5
    times = []
    for _ in range(EPOCHS):
        for first in range(0, last - size * BATCH + 1, size * BATCH):
            begin = time.perf_counter()
            part = slice(first + rank * BATCH, first + (rank + 1) * BATCH)
            loss = torch.nn.functional.cross_entropy(model(images[part]), digits[part])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            times.append(time.perf_counter() - begin)
    with torch.no_grad():
        right = model(images[last:]).argmax(1) == digits[last:]
    return times, right.double().mean().item()


def main():
    file = sys.argv[1]
    kind = sys.argv[2] if len(sys.argv) > 2 else "ddp"
    backend = sys.argv[3] if len(sys.argv) > 3 else "collective"
    torch.set_num_threads(1)
    dist.init_process_group(backend)
    times, right = train(kind, *load(file), dist.get_rank(), dist.get_world_size())
    if dist.get_rank() == 0:
        print(f"{kind} by {backend}, {dist.get_world_size()} ranks: "
              f"{statistics.median(times) * 1e3:.2f} ms a step, {right:.1%} right")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
