# SPDX-License-Identifier: GPL-2.0-only
"""What torch.distributed and the backend add to the C call; see selftests/python/overhead.py.

The time is that of the call of a program, so it includes torch's own.
"""

import os
from datetime import timedelta

import torch
import torch.distributed as dist

from overhead import check
from tap import free_port, main, test

#: us
TARGET = 25


@test
def backend():
    torch.set_num_threads(1)
    os.environ.update(RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1",
                      MASTER_PORT=str(free_port()))
    dist.init_process_group("collective", timeout=timedelta(seconds=60))
    comm = dist.distributed_c10d._get_default_group()._get_backend(torch.device("cpu"))._group.comm
    assert comm.name == "stub", "the library is not the stand-in"
    tensor, output = torch.ones(2), torch.ones(2)
    check("barrier", dist.barrier)
    check("all_reduce", lambda: dist.all_reduce(tensor), TARGET)
    check("all_reduce, async_op and wait()",
          lambda: dist.all_reduce(tensor, async_op=True).wait(), TARGET)
    # Each of these waits for another thread, which takes long on a busy host.
    check("all_reduce, async_op and a future",
          lambda: dist.all_reduce(tensor, async_op=True).get_future().wait(), batches=10)
    check("broadcast", lambda: dist.broadcast(tensor, 0))
    check("all_gather_into_tensor", lambda: dist.all_gather_into_tensor(output, tensor))
    check("reduce_scatter_tensor", lambda: dist.reduce_scatter_tensor(output, tensor))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
