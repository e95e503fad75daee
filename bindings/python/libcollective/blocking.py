# SPDX-License-Identifier: LGPL-2.1-or-later
"""The blocking collectives."""

from __future__ import annotations

from typing import Any, Sequence

from .call import Call
from .calls import Calls
from .structs import Op


class Blocking(Calls):
    """The blocking form: each call returns when its result is complete.

    Ctrl-C ends a call within 0.1 s: the operation is cancelled on every rank, and the group can be
    used.

    Errors: TypeError and ValueError for arrays that cannot be used, before anything has begun;
    OperationError, GroupError and Error: see there.
    """

    def _run(self, call: Call) -> Any:
        raise NotImplementedError

    def barrier(self) -> None:
        """Wait until every rank has called it."""
        self._run(self._barrier())

    def allreduce(self, array: Any, out: Any = None, op: Op | str = Op.SUM) -> Any:
        """Combine the arrays of all ranks, element by element; every rank gets the result.

        array: input, of the same shape and type on every rank; or a number
        out: array for the result, of the same shape and type; may be @array (in place)

        Returns out, or a new array; a number for a number.  The bits are the same on every rank.
        """
        return self._run(self._allreduce(array, out, op))

    def reduce(self, array: Any, root: int = 0, out: Any = None, op: Op | str = Op.SUM) -> Any:
        """Combine the arrays of all ranks, element by element; the root gets the result.

        array: input, of the same shape and type on every rank; or a number
        root: rank of the root
        out: at the root, array for the result, of the same shape and type; may be @array

        Returns out, or a new array, at the root, and None elsewhere.
        """
        return self._run(self._reduce(array, root, out, op))

    def broadcast(self, array: Any, root: int = 0) -> Any:
        """Copy the array of the root to every rank.

        array: at the root the input, elsewhere the array for the result; of the same number of
            elements and type on every rank
        root: rank of the root

        Returns array.
        """
        return self._run(self._broadcast(array, root))

    def allgather(self, array: Any = None, axis: int | None = None, out: Any = None) -> Any:
        """Collect the arrays of all ranks on every rank.

        array: input, of the same shape and type on every rank; None: it is in its place in out
        axis: None: the result is as of numpy.stack(), with a new first axis of length size;
            else the axis of @array along which they follow each other, as of numpy.concatenate()
        out: array for the result

        Returns out, or a new array, in the order of ranks.
        """
        return self._run(self._allgather(array, axis, out))

    def gather(self, array: Any, root: int = 0, out: Any = None) -> Any:
        """Collect the arrays of all ranks at the root.

        array: input, of the same shape and type on every rank
        root: rank of the root
        out: at the root, array of the shape (size, *array.shape)

        Returns out, or a new array, at the root, and None elsewhere.
        """
        return self._run(self._gather(array, root, out))

    def scatter(self, array: Any = None, root: int = 0, out: Any = None) -> Any:
        """Distribute the blocks of the root, one to each rank.

        array: at the root, array whose first axis has a block for each rank; ignored elsewhere
        root: rank of the root
        out: array for the block, of the shape array.shape[1:]; needed on ranks that are not the
            root

        Returns out, or a new array.
        """
        return self._run(self._scatter(array, root, out))

    def reduce_scatter(self, array: Any, axis: int | None = None, out: Any = None,
                       op: Op | str = Op.SUM) -> Any:
        """Combine the arrays of all ranks; each rank gets a part of the result.

        array: input, of the same shape and type on every rank
        axis: None: the first axis has a block for each rank, and the result has the shape
            array.shape[1:]; else the axis of which each rank gets an equal part, in the order of
            ranks
        out: array for the result

        Returns out, or a new array.
        """
        return self._run(self._reduce_scatter(array, axis, out, op))

    def alltoall(self, array: Any, split_axis: int | None = None, concat_axis: int | None = None,
                 out: Any = None) -> Any:
        """Send a block to every rank, and receive one from every rank.

        array: input, of the same shape and type on every rank
        split_axis, concat_axis: None: the first axis of @array has a block for each rank, and
            that of the result one from each rank; else the array is split into equal parts along
            the one axis, and the parts from all ranks follow each other along the other
        out: array for the result; without axes it may be @array (in place)

        Returns out, or a new array.
        """
        return self._run(self._alltoall(array, split_axis, concat_axis, out))

    def scan(self, array: Any, out: Any = None, op: Op | str = Op.SUM) -> Any:
        """Combine the array of this rank with those of all lower ranks.

        array: input, of the same shape and type on every rank; or a number
        out: array for the result, of the same shape and type; may be @array
        op: not AVG

        Returns out, or a new array.
        """
        return self._run(self._scan("scan", array, out, op))

    def exscan(self, array: Any, out: Any = None, op: Op | str = Op.SUM) -> Any:
        """Combine the arrays of all lower ranks.

        array: input, of the same shape and type on every rank; or a number
        out: array for the result, of the same shape and type; may be @array; not written on rank 0
        op: not AVG

        Returns out, or a new array; on rank 0, None instead of a new array.
        """
        return self._run(self._scan("exscan", array, out, op))

    def allgatherv(self, array: Any, counts: Sequence[int], out: Any = None) -> Any:
        """Collect arrays of different lengths on every rank.

        array: input, of counts[rank] elements
        counts: number of elements of each rank, the same on every rank
        out: array of one axis for the result, of sum(counts) elements

        Returns out, or a new array, in the order of ranks.
        """
        return self._run(self._allgatherv(array, counts, out))

    def gatherv(self, array: Any, counts: Sequence[int] | None = None, root: int = 0,
                out: Any = None) -> Any:
        """Collect arrays of different lengths at the root.

        array: input
        counts: at the root, number of elements of each rank; ignored elsewhere
        root: rank of the root
        out: at the root, array of one axis for the result, of sum(counts) elements

        Returns out, or a new array, at the root, and None elsewhere.
        """
        return self._run(self._gatherv(array, counts, root, out))

    def scatterv(self, array: Any = None, counts: Sequence[int] | None = None, root: int = 0,
                 out: Any = None) -> Any:
        """Distribute blocks of different lengths from the root.

        array: at the root, array of sum(counts) elements; ignored elsewhere
        counts: at the root, number of elements of each block; ignored elsewhere
        root: rank of the root
        out: array for the block; needed on ranks that are not the root

        Returns out, or a new array of one axis.
        """
        return self._run(self._scatterv(array, counts, root, out))

    def alltoallv(self, array: Any, send_counts: Sequence[int], recv_counts: Sequence[int],
                  out: Any = None) -> Any:
        """Send a block of any length to every rank, and receive one from every rank.

        array: blocks for the ranks, in their order, of sum(send_counts) elements
        send_counts: number of elements for each rank
        recv_counts: number of elements from each rank, as that rank's send_counts say for this one
        out: array of one axis for the result, of sum(recv_counts) elements

        Returns out, or a new array.
        """
        return self._run(self._alltoallv(array, send_counts, recv_counts, out))

    def reduce_scatterv(self, array: Any, counts: Sequence[int], out: Any = None,
                        op: Op | str = Op.SUM) -> Any:
        """Combine the arrays of all ranks; each rank gets a block of a length of its own.

        array: input, of sum(counts) elements
        counts: number of elements of each rank's block, the same on every rank
        out: array of one axis for the result, of counts[rank] elements

        Returns out, or a new array.
        """
        return self._run(self._reduce_scatterv(array, counts, out, op))

    def send(self, array: Any, dest: int, tag: int | None = None) -> None:
        """Send an array to one rank.

        array: of as many elements, and of the same type, as the receiver's
        dest: receiving rank; this one: another thread, or irecv() before, receives the message
        tag: number by which the message is received, 0 to 2^40 - 1; None: by its order

        Returns when the message has left; if it has more than 32 KiB, or is one to this rank
        itself, when it has been received.
        """
        self._run(self._send(array, dest, tag))

    def recv(self, out: Any, source: int, tag: int | None = None) -> Any:
        """Receive an array from one rank.

        out: array of as many elements, and of the same type, as the sender's
        source: sending rank; this one: another thread, or isend() before, sends the message
        tag: as the sender's

        Returns out.
        """
        return self._run(self._recv(out, source, tag))
