# SPDX-License-Identifier: GPL-2.0-only
"""A program as users have it, for torchrun: some steps of DistributedDataParallel."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

torch.set_num_threads(1)
dist.init_process_group("collective")
torch.manual_seed(5)
model = DistributedDataParallel(torch.nn.Sequential(
    torch.nn.Linear(10, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
torch.manual_seed(dist.get_rank())
losses = []
for _ in range(20):
    inputs = torch.randn(16, 10)
    loss = (model(inputs) - inputs.sum(1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total = loss.detach().clone()
    dist.all_reduce(total, dist.ReduceOp.AVG)
    losses.append(total.item())
if dist.get_rank() == 0 and losses[-1] < losses[0]:
    print(f"{dist.get_world_size()} ranks: the loss fell")
dist.destroy_process_group()
