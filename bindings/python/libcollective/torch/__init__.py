# SPDX-License-Identifier: LGPL-2.1-or-later
"""The backend "collective" of torch.distributed, for tensors on the CPU.

    import torch.distributed as dist

    dist.init_process_group("collective")                   # or "cpu:collective,cuda:nccl"
    dist.all_reduce(tensor)

"import torch" finds it by its entry point, and calls register().  It needs torch 2.14 or later.
"""

from .registration import register

__all__ = ["register"]
