# SPDX-License-Identifier: LGPL-2.1-or-later
"""The persistent collectives."""

from __future__ import annotations

from typing import Any

from .call import Call
from .calls import Calls
from .request import PersistentRequest
from .structs import Op


class Persistent(Calls):
    """The persistent form: each call prepares an operation that is started any number of times.

    The arguments are those of the blocking form.  The arrays stay pinned until the request is
    freed.  An array that has to be copied, because it is not contiguous or of the other byte
    order, would keep its first values: it raises TypeError.

    Errors: those of the blocking form, and EDQUOT: beyond RLIMIT_MEMLOCK (ulimit -l).
    """

    def _prepare(self, call: Call) -> PersistentRequest:
        raise NotImplementedError

    def barrier_init(self) -> PersistentRequest:
        """Prepare barrier()."""
        return self._prepare(self._barrier())

    def allreduce_init(self, array: Any, out: Any = None,
                       op: Op | str = Op.SUM) -> PersistentRequest:
        """Prepare allreduce()."""
        return self._prepare(self._allreduce(array, out, op))

    def reduce_init(self, array: Any, root: int = 0, out: Any = None,
                    op: Op | str = Op.SUM) -> PersistentRequest:
        """Prepare reduce()."""
        return self._prepare(self._reduce(array, root, out, op))

    def broadcast_init(self, array: Any, root: int = 0) -> PersistentRequest:
        """Prepare broadcast()."""
        return self._prepare(self._broadcast(array, root))

    def allgather_init(self, array: Any = None, out: Any = None) -> PersistentRequest:
        """Prepare allgather()."""
        return self._prepare(self._allgather(array, None, out))

    def gather_init(self, array: Any, root: int = 0, out: Any = None) -> PersistentRequest:
        """Prepare gather()."""
        return self._prepare(self._gather(array, root, out))

    def scatter_init(self, array: Any = None, root: int = 0,
                     out: Any = None) -> PersistentRequest:
        """Prepare scatter()."""
        return self._prepare(self._scatter(array, root, out))

    def reduce_scatter_init(self, array: Any, out: Any = None,
                            op: Op | str = Op.SUM) -> PersistentRequest:
        """Prepare reduce_scatter()."""
        return self._prepare(self._reduce_scatter(array, None, out, op))

    def alltoall_init(self, array: Any, out: Any = None) -> PersistentRequest:
        """Prepare alltoall()."""
        return self._prepare(self._alltoall(array, None, None, out))

    def scan_init(self, array: Any, out: Any = None, op: Op | str = Op.SUM) -> PersistentRequest:
        """Prepare scan()."""
        return self._prepare(self._scan("scan", array, out, op))

    def exscan_init(self, array: Any, out: Any = None,
                    op: Op | str = Op.SUM) -> PersistentRequest:
        """Prepare exscan()."""
        return self._prepare(self._scan("exscan", array, out, op))

    def send_init(self, array: Any, dest: int, tag: int | None = None) -> PersistentRequest:
        """Prepare send()."""
        return self._prepare(self._send(array, dest, tag))

    def recv_init(self, out: Any, source: int, tag: int | None = None) -> PersistentRequest:
        """Prepare recv()."""
        return self._prepare(self._recv(out, source, tag))
