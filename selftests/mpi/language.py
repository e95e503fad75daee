# SPDX-License-Identifier: GPL-2.0-only
# Collectives out of Python: of objects, which are packed, and of memory.
import array

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
for number in range(50):
    mine = array.array("d", [rank + number] * 100)
    total = array.array("d", [0] * 100)
    comm.Allreduce(mine, total, MPI.SUM)
    assert total[99] == size * (size - 1) / 2 + size * number
    assert comm.allgather({"rank": rank, "text": "x" * rank}) == [
        {"rank": r, "text": "x" * r} for r in range(size)]
    assert comm.bcast([number, None] if rank == size - 1 else 0, root=size - 1) == [number, None]
    assert comm.alltoall([(rank, r) for r in range(size)]) == [(r, rank) for r in range(size)]
    assert comm.allreduce(rank) == size * (size - 1) // 2
    comm.Barrier()
child = comm.Split(rank % 2, -rank)
for number in range(20):
    value = array.array("i", [rank])
    child.Bcast(value, root=0)
    assert value[0] == (size - 1 if (size - 1) % 2 == rank % 2 else size - 2)
child.Free()
if rank == 0:
    print("Python is right")
