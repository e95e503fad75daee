# SPDX-License-Identifier: LGPL-2.1-or-later
"""The nonblocking collectives."""

from __future__ import annotations

from typing import Any, Sequence

from .call import Call
from .calls import Calls
from .request import Request
from .structs import Op


class Nonblocking(Calls):
    """The nonblocking form: each call starts the operation and returns a request.

    The arguments are those of the blocking form, and the order of calls, of either form, must be
    the same on every rank.  Request.wait() returns the result.  Until then the arrays belong to
    the operation.

    Errors: those of the blocking form that are found before the operation begins; EAGAIN: 512
    operations are under way or not waited for.
    """

    def _start(self, call: Call) -> Request:
        raise NotImplementedError

    def ibarrier(self) -> Request:
        """Start barrier()."""
        return self._start(self._barrier())

    def iallreduce(self, array: Any, out: Any = None, op: Op | str = Op.SUM) -> Request:
        """Start allreduce()."""
        return self._start(self._allreduce(array, out, op))

    def ireduce(self, array: Any, root: int = 0, out: Any = None,
                op: Op | str = Op.SUM) -> Request:
        """Start reduce()."""
        return self._start(self._reduce(array, root, out, op))

    def ibroadcast(self, array: Any, root: int = 0) -> Request:
        """Start broadcast()."""
        return self._start(self._broadcast(array, root))

    def iallgather(self, array: Any = None, axis: int | None = None, out: Any = None) -> Request:
        """Start allgather()."""
        return self._start(self._allgather(array, axis, out))

    def igather(self, array: Any, root: int = 0, out: Any = None) -> Request:
        """Start gather()."""
        return self._start(self._gather(array, root, out))

    def iscatter(self, array: Any = None, root: int = 0, out: Any = None) -> Request:
        """Start scatter()."""
        return self._start(self._scatter(array, root, out))

    def ireduce_scatter(self, array: Any, axis: int | None = None, out: Any = None,
                        op: Op | str = Op.SUM) -> Request:
        """Start reduce_scatter()."""
        return self._start(self._reduce_scatter(array, axis, out, op))

    def ialltoall(self, array: Any, split_axis: int | None = None, concat_axis: int | None = None,
                  out: Any = None) -> Request:
        """Start alltoall()."""
        return self._start(self._alltoall(array, split_axis, concat_axis, out))

    def iscan(self, array: Any, out: Any = None, op: Op | str = Op.SUM) -> Request:
        """Start scan()."""
        return self._start(self._scan("scan", array, out, op))

    def iexscan(self, array: Any, out: Any = None, op: Op | str = Op.SUM) -> Request:
        """Start exscan()."""
        return self._start(self._scan("exscan", array, out, op))

    def iallgatherv(self, array: Any, counts: Sequence[int], out: Any = None) -> Request:
        """Start allgatherv()."""
        return self._start(self._allgatherv(array, counts, out))

    def igatherv(self, array: Any, counts: Sequence[int] | None = None, root: int = 0,
                 out: Any = None) -> Request:
        """Start gatherv()."""
        return self._start(self._gatherv(array, counts, root, out))

    def iscatterv(self, array: Any = None, counts: Sequence[int] | None = None, root: int = 0,
                  out: Any = None) -> Request:
        """Start scatterv()."""
        return self._start(self._scatterv(array, counts, root, out))

    def ialltoallv(self, array: Any, send_counts: Sequence[int], recv_counts: Sequence[int],
                   out: Any = None) -> Request:
        """Start alltoallv()."""
        return self._start(self._alltoallv(array, send_counts, recv_counts, out))

    def ireduce_scatterv(self, array: Any, counts: Sequence[int], out: Any = None,
                         op: Op | str = Op.SUM) -> Request:
        """Start reduce_scatterv()."""
        return self._start(self._reduce_scatterv(array, counts, out, op))

    def isend(self, array: Any, dest: int, tag: int | None = None) -> Request:
        """Start send()."""
        return self._start(self._send(array, dest, tag))

    def irecv(self, out: Any, source: int, tag: int | None = None) -> Request:
        """Start recv()."""
        return self._start(self._recv(out, source, tag))
