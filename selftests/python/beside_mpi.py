# SPDX-License-Identifier: GPL-2.0-only
"""Groups beside mpi4py, started by mpirun: by the launcher's means, and by a communicator of MPI."""

import numpy as np
from mpi4py import MPI

import libcollective

world = MPI.COMM_WORLD
with libcollective.init() as comm:
    assert (comm.rank, comm.size) == (world.rank, world.size)
    assert comm.allreduce(1) == world.allreduce(1)

# The ranks of MPI in reverse order.
turned = world.Split(0, -world.rank)
with libcollective.init(turned.rank, turned.size, exchange=turned.allgather) as comm:
    ours, theirs = comm.allgather(np.array([world.rank])), world.allgather(world.rank)
    assert ours.ravel().tolist() == theirs[::-1]
    requests = [comm.iallreduce(np.full(1000, i)) for i in range(10)]
    assert world.allreduce(2) == 2 * world.size
    for i, total in enumerate(libcollective.wait_all(requests)):
        assert (total == i * comm.size).all()
if world.rank == 0:
    print("right")
