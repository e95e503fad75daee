# SPDX-License-Identifier: LGPL-2.1-or-later
"""The collectives: what each call does with its arrays."""

from __future__ import annotations

from typing import Any, Sequence

from . import arrays
from .call import Call, extents, sizes
from .library import IN_PLACE
from .structs import TAG_NONE, Op


class Calls:
    """Makes the call of each collective.  The forms differ in how they run it.

    rank: rank of this process
    size: number of ranks
    """

    rank: int
    size: int

    def _root(self, root: int, what: str = "root") -> int:
        if not 0 <= root < self.size:
            raise ValueError(f"{what} {root} is no rank: they are 0 to {self.size - 1}")
        return root

    def _blocks(self, shape: Sequence[int], what: str = "array") -> tuple:
        """The shape of one of the blocks of all ranks, along the first axis."""
        if not shape or shape[0] != self.size:
            raise ValueError(f"the {what} has the shape {tuple(shape)}: its first axis must have "
                             f"the length {self.size}, a block for each rank")
        return tuple(shape[1:])

    def _part(self, shape: Sequence[int], axis: int) -> tuple:
        """The shape of one of the equal parts along an axis."""
        if shape[axis] % self.size:
            raise ValueError(f"the length {shape[axis]} along axis {axis} is no multiple of the "
                             f"{self.size} ranks")
        part = list(shape)
        part[axis] //= self.size
        return tuple(part)

    def _barrier(self) -> Call:
        return Call("barrier")

    def _all_elements(self, name: str, array: Any, out: Any, op: Any) -> Call:
        send = arrays.source(array)
        op = arrays.op_of(op)
        element = arrays.reduced(send, op)
        recv = arrays.result(out, send.array.shape, send)
        call = Call(name, op=op).elements(send.array.size, element).send(send).recv(recv)
        call.result = recv
        call.is_number = out is None and arrays.is_number(array)
        return call

    def _allreduce(self, array: Any, out: Any, op: Any) -> Call:
        return self._all_elements("allreduce", array, out, op)

    def _scan(self, name: str, array: Any, out: Any, op: Any) -> Call:
        if arrays.op_of(op) == Op.AVG:
            raise ValueError("a scan has no average")
        call = self._all_elements(name, array, out, op)
        if name == "exscan" and self.rank == 0 and out is None:
            call.result = None
        return call

    def _reduce(self, array: Any, root: int, out: Any, op: Any) -> Call:
        send = arrays.source(array)
        op = arrays.op_of(op)
        element = arrays.reduced(send, op)
        here = self.rank == self._root(root)
        recv = arrays.result(out, send.array.shape, send) if here else None
        call = Call("reduce", op=op, root=root).elements(send.array.size, element)
        call.result = recv
        call.is_number = out is None and arrays.is_number(array)
        return call.send(send).recv(recv)

    def _broadcast(self, array: Any, root: int) -> Call:
        here = self.rank == self._root(root)
        memory = arrays.source(array) if here else arrays.target(array, "the array")
        call = Call("broadcast", root=root).elements(memory.array.size, arrays.moved(memory))
        call.result = memory._replace(origin=array)
        return call.recv(memory)

    def _allgather(self, array: Any, axis: int | None, out: Any) -> Call:
        if array is None:
            return self._allgather_in_place(axis, out)
        send = arrays.source(array)
        element = arrays.moved(send)
        shape = send.array.shape
        if axis is None:
            recv = arrays.result(out, (self.size, *shape), send)
            call = Call("allgather").elements(send.array.size, element).send(send).recv(recv)
            own = recv.array.nbytes // self.size * self.rank
            if send.address == recv.address + own:
                call.values["send"] = IN_PLACE
        else:
            axis = arrays.axis_of(axis, len(shape))
            whole = list(shape)
            whole[axis] *= self.size
            recv = arrays.result(out, whole, send)
            lengths = extents(shape, element)
            call = Call("allgather_axis", shape=lengths, ndims=len(lengths), axis=axis,
                        type=element.type).send(send).recv(recv)
        call.result = recv
        return call

    def _allgather_in_place(self, axis: int | None, out: Any) -> Call:
        recv = arrays.target(out)
        element = arrays.moved(recv)
        shape = recv.array.shape
        if axis is None:
            self._blocks(shape, "array out")
            call = Call("allgather", send=IN_PLACE)
            call.elements(recv.array.size // self.size, element)
        else:
            axis = arrays.axis_of(axis, len(shape))
            lengths = extents(self._part(shape, axis), element)
            call = Call("allgather_axis", send=IN_PLACE, shape=lengths, ndims=len(lengths),
                        axis=axis, type=element.type)
        call.result = recv
        return call.recv(recv)

    def _gather(self, array: Any, root: int, out: Any) -> Call:
        send = arrays.source(array)
        here = self.rank == self._root(root)
        recv = arrays.result(out, (self.size, *send.array.shape), send) if here else None
        call = Call("gather", root=root).elements(send.array.size, arrays.moved(send))
        call.result = recv
        return call.send(send).recv(recv)

    def _scatter(self, array: Any, root: int, out: Any) -> Call:
        here = self.rank == self._root(root)
        if here:
            send = arrays.source(array)
            recv = arrays.result(out, self._blocks(send.array.shape), send)
        elif out is None:
            raise TypeError("a rank that is not the root needs out: the array for its block")
        else:
            send, recv = None, arrays.target(out)
        call = Call("scatter", root=root).elements(recv.array.size, arrays.moved(recv))
        call.result = recv
        return call.send(send).recv(recv)

    def _reduce_scatter(self, array: Any, axis: int | None, out: Any, op: Any) -> Call:
        send = arrays.source(array)
        op = arrays.op_of(op)
        element = arrays.reduced(send, op)
        shape = send.array.shape
        if axis is None:
            recv = arrays.result(out, self._blocks(shape), send)
            call = Call("reduce_scatter", op=op).elements(recv.array.size, element)
        else:
            axis = arrays.axis_of(axis, len(shape))
            part = self._part(shape, axis)
            recv = arrays.result(out, part, send)
            lengths = extents(part, element)
            call = Call("reduce_scatter_axis", op=op, shape=lengths, ndims=len(lengths),
                        axis=axis, type=element.type)
        call.result = recv
        return call.send(send).recv(recv)

    def _alltoall(self, array: Any, split_axis: int | None, concat_axis: int | None,
                  out: Any) -> Call:
        if (split_axis is None) != (concat_axis is None):
            raise TypeError("split_axis and concat_axis are given both, or none of them")
        send = arrays.source(array)
        element = arrays.moved(send)
        shape = send.array.shape
        if split_axis is None or concat_axis is None:
            self._blocks(shape)
            recv = arrays.result(out, shape, send)
            call = Call("alltoall").elements(send.array.size // self.size, element)
        else:
            split = arrays.axis_of(split_axis, len(shape), "split_axis")
            concat = arrays.axis_of(concat_axis, len(shape), "concat_axis")
            whole = list(self._part(shape, split))
            whole[concat] *= self.size
            recv = arrays.result(out, whole, send)
            lengths = extents(shape, element)
            call = Call("alltoall_axis", shape=lengths, ndims=len(lengths), split=split,
                        concat=concat, type=element.type)
        call.result = recv
        return call.send(send).recv(recv)

    def _vectors(self, counts: Sequence[int], what: str, element: arrays.Element) -> Any:
        numbers = sizes(counts, self.size, what)
        for i in range(self.size):
            numbers[i] *= element.parts
        return numbers

    @staticmethod
    def _flat(memory: arrays.Memory, count: int, what: str) -> None:
        if memory.array.size != count:
            raise ValueError(f"{what} has {memory.array.size} elements, and the counts say "
                             f"{count}")

    def _allgatherv(self, array: Any, counts: Sequence[int], out: Any) -> Call:
        send = arrays.source(array)
        element = arrays.moved(send)
        numbers = self._vectors(counts, "counts", element)
        self._flat(send, int(counts[self.rank]), "the array")
        recv = arrays.result(out, (sum(map(int, counts)),), send)
        call = Call("allgatherv", send_count=numbers[self.rank], recv_counts=numbers,
                    recv_displs=None, type=element.type)
        call.result = recv
        return call.send(send).recv(recv)

    def _gatherv(self, array: Any, counts: Sequence[int] | None, root: int, out: Any) -> Call:
        send = arrays.source(array)
        element = arrays.moved(send)
        numbers = recv = None
        if self.rank == self._root(root):
            if counts is None:
                raise TypeError("the root needs counts: the number of elements of each rank")
            numbers = self._vectors(counts, "counts", element)
            recv = arrays.result(out, (sum(map(int, counts)),), send)
        call = Call("gatherv", send_count=send.array.size * element.parts, recv_counts=numbers,
                    recv_displs=None, type=element.type, root=root)
        call.result = recv
        return call.send(send).recv(recv)

    def _scatterv(self, array: Any, counts: Sequence[int] | None, root: int, out: Any) -> Call:
        numbers = send = None
        if self.rank == self._root(root):
            if counts is None:
                raise TypeError("the root needs counts: the number of elements of each rank")
            send = arrays.source(array)
            numbers = self._vectors(counts, "counts", arrays.moved(send))
            self._flat(send, sum(map(int, counts)), "the array")
            recv = arrays.result(out, (int(counts[self.rank]),), send)
        elif out is None:
            raise TypeError("a rank that is not the root needs out: the array for its block")
        else:
            recv = arrays.target(out)
        element = arrays.moved(recv)
        call = Call("scatterv", send_counts=numbers, send_displs=None,
                    recv_count=recv.array.size * element.parts, type=element.type, root=root)
        call.result = recv
        return call.send(send).recv(recv)

    def _alltoallv(self, array: Any, send_counts: Sequence[int], recv_counts: Sequence[int],
                   out: Any) -> Call:
        send = arrays.source(array)
        element = arrays.moved(send)
        numbers = (self._vectors(send_counts, "send_counts", element),
                   self._vectors(recv_counts, "recv_counts", element))
        self._flat(send, sum(map(int, send_counts)), "the array")
        recv = arrays.result(out, (sum(map(int, recv_counts)),), send)
        call = Call("alltoallv", send_counts=numbers[0], send_displs=None,
                    recv_counts=numbers[1], recv_displs=None, type=element.type)
        call.result = recv
        return call.send(send).recv(recv)

    def _reduce_scatterv(self, array: Any, counts: Sequence[int], out: Any, op: Any) -> Call:
        send = arrays.source(array)
        op = arrays.op_of(op)
        element = arrays.reduced(send, op)
        numbers = self._vectors(counts, "counts", element)
        self._flat(send, sum(map(int, counts)), "the array")
        recv = arrays.result(out, (int(counts[self.rank]),), send)
        call = Call("reduce_scatterv", send_displs=None, recv_counts=numbers,
                    recv_count=numbers[self.rank], type=element.type, op=op)
        call.result = recv
        return call.send(send).recv(recv)

    @staticmethod
    def _tag(tag: int | None) -> int:
        if tag is None:
            return TAG_NONE
        if not 0 <= tag < 1 << 40:
            raise ValueError(f"the tag {tag} is not between 0 and 2^40 - 1")
        return tag

    def _send(self, array: Any, dest: int, tag: int | None) -> Call:
        send = arrays.source(array)
        call = Call("send", root=self._root(dest, "dest"), tag=self._tag(tag))
        return call.elements(send.array.size, arrays.moved(send)).send(send)

    def _recv(self, out: Any, source: int, tag: int | None) -> Call:
        recv = arrays.target(out)
        call = Call("recv", root=self._root(source, "source"), tag=self._tag(tag))
        call.result = recv
        return call.elements(recv.array.size, arrays.moved(recv)).recv(recv)
