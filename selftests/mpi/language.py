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


def values(code, value, count):
    return array.array(code, [value] * count)


# Every type of an array, each operator, in place and not, blocking and not.
for code in "bBhHiIlLqQfd":
    for op, result in ((MPI.SUM, size * (size - 1) // 2), (MPI.MAX, size - 1), (MPI.MIN, 0)):
        for count in (0, 1, 1000):
            mine, total = values(code, rank, count), values(code, 99, count)
            comm.Allreduce(mine, total, op)
            assert total == values(code, result, count), (code, total)
            comm.Iallreduce(MPI.IN_PLACE, mine, op).Wait()
            assert mine == total
            mine = values(code, rank, count)
            comm.Reduce(MPI.IN_PLACE if rank == 0 else mine, mine if rank == 0 else None, op)
            assert rank or mine == total
        blocks = values(code, rank, size * 3)
        block = values(code, 99, 3)
        comm.Reduce_scatter_block(blocks, block, op)
        assert block == values(code, result, 3)
        comm.Reduce_scatter(MPI.IN_PLACE, blocks, [3] * size, op)
        assert blocks[:3] == block
    scanned = values(code, 1, 5)
    comm.Scan(MPI.IN_PLACE, scanned)
    assert scanned == values(code, rank + 1, 5)
    # The input has a name until the request is complete.
    mine = values(code, 1, 5)
    comm.Iexscan(mine, scanned).Wait()
    assert rank == 0 or scanned == values(code, rank, 5)
    all_of = values(code, rank, size)
    comm.Allgather(MPI.IN_PLACE, all_of)
    assert list(all_of) == list(range(size))
    counts = [r % 2 + 1 for r in range(size)]
    vector = values(code, 99, sum(counts))
    mine = values(code, rank, counts[rank])
    comm.Iallgatherv(mine, [vector, counts]).Wait()
    assert list(vector) == [r for r in range(size) for _ in range(counts[r])]

# Operators of the program, in Python, and of pairs.
op = MPI.Op.Create(lambda a, b, kind: None, commute=True)
op.Free()
assert comm.allreduce((rank, rank), op=MPI.MAXLOC) == (size - 1, size - 1)
assert comm.allreduce([rank], op=lambda a, b: a + b) == list(range(size))
assert comm.scan(1) == rank + 1

# Communicators of communicators, requests of all kinds in one list.
group = comm.Get_group().Incl(list(range(size))[::-1])
reverse = comm.Create_group(group, 4)
dup, request = reverse.Idup()
request.Wait()
for number in range(10):
    mine, place = values("i", rank, 1), values("i", reverse.rank, 1)
    total, got = values("i", -1, 1), values("i", -1, 1)
    requests = [dup.Iallreduce(place, total), comm.Isend(mine, (rank + 1) % size), dup.Ibarrier()]
    comm.Recv(got, (rank - 1) % size)
    MPI.Request.Waitall(requests)
    assert got[0] == (rank - 1) % size and total[0] == size * (size - 1) // 2
group.Free()
dup.Disconnect()
reverse.Free()

# Errors are exceptions, and the communicator goes on.
comm.Set_errhandler(MPI.ERRORS_RETURN)
for wrong in (lambda: comm.Bcast([bytearray(1), 1, MPI.DATATYPE_NULL]),
              lambda: comm.Bcast(bytearray(1), root=size),
              lambda: comm.Allreduce(bytearray(1), bytearray(1), MPI.OP_NULL)):
    try:
        wrong()
    except MPI.Exception:
        pass
    else:
        raise AssertionError("a call that is wrong has succeeded")
assert comm.allreduce(1) == size
child = comm.Split(rank % 2, -rank)
for number in range(20):
    value = array.array("i", [rank])
    child.Bcast(value, root=0)
    assert value[0] == (size - 1 if (size - 1) % 2 == rank % 2 else size - 2)
child.Free()
if rank == 0:
    print("Python is right")
