# SPDX-License-Identifier: LGPL-2.1-or-later
"""The backend: what torch.distributed calls, for each of its collectives.

torch finds the methods by their names.  A method whose options say asyncOp returns a work; without
it, the method returns when the operation is complete.
"""

from __future__ import annotations

import ctypes
import errno
import os
from datetime import timedelta
from typing import Any, NoReturn, Sequence

import torch
from torch._C._distributed_c10d import Backend as BaseBackend
from torch._C._distributed_c10d import ErrorType

from .. import structs
from ..communicator import init
from ..library import IN_PLACE
from . import tensors
from .exchange import StoreExchange
from .group import Group
from .registration import NAME
from .tensors import Copies
from .work import Joint, Operation, Work

Tensor = torch.Tensor

_ERRORS = {0: ErrorType.SUCCESS, errno.ETIMEDOUT: ErrorType.TIMEOUT,
           errno.ECONNRESET: ErrorType.REMOTE_ERROR}


_NO_TIME = timedelta(0)

#: Characters of a group's name: of COLL_NAME, and of what tells groups apart; 32 together.
MOST_OF_NAME = 22
DIGITS_OF_NAME = 9


def _milliseconds(timeout: timedelta) -> int:
    """A deadline as the kernel has it; it has at least 1 ms."""
    return max(1, min(int(timeout.total_seconds() * 1000), structs.NO_DEADLINE - 1))


def _name_of(exchange: StoreExchange) -> str | None:
    """The name of a group, where COLL_NAME would give all groups of the ranks the same one."""
    name = os.environ.get("COLL_NAME")
    return f"{name[:MOST_OF_NAME]}-{exchange.agree()[:DIGITS_OF_NAME]}" if name else None


def _one(given: Sequence, what: str) -> Any:
    if len(given) != 1:
        raise ValueError(f"collective: there are {len(given)} {what}: the backend takes one, of "
                         "the CPU")
    return given[0]


class Backend(BaseBackend):
    """A group of torch.distributed, whose collectives the kernel does.

    Errors: RuntimeError, whose cause is an Error of libcollective, after the operation has begun;
    TypeError or ValueError for tensors and reductions that the backend does not take, before.
    """

    def __init__(self, group: Group, timeout: timedelta) -> None:
        """Not for users: join() makes one."""
        comm = group.comm
        super().__init__(comm.rank, comm.size)
        self._group = group
        self._timeout = timeout
        self._rank = comm.rank
        self._size = comm.size
        self._sequence = 0
        self._coalesced: list[Work] | None = None

    @classmethod
    def join(cls, store: Any, rank: int, size: int, timeout: timedelta) -> Backend:
        """Form a group by a store.

        timeout: deadline of each operation, and of this call
        """
        seconds = _milliseconds(timeout) / 1000
        try:
            exchange = StoreExchange(store, rank, size, seconds)
            comm = init(rank, size, name=_name_of(exchange), exchange=exchange, timeout=seconds,
                        init_timeout=seconds)
        except OSError as error:
            raise RuntimeError(str(error)) from error
        return cls(Group(comm), timeout)

    def __del__(self) -> None:
        # Without a group if __init__() has failed.
        if hasattr(self, "_group"):
            self._group.close()

    # ---- running calls -------------------------------------------------------------------------

    def _run(self, calls: Sequence[Operation], copies: Copies, result: list[Tensor],
             timeout: timedelta, is_async: bool) -> Work | None:
        deadline = _milliseconds(timeout if timeout > _NO_TIME else self._timeout)
        for call in calls:
            call.timeout_ms = deadline
        self._sequence += 1
        if is_async or self._coalesced is not None or len(calls) != 1:
            work = self._group.start(calls, copies, result)
            if self._coalesced is not None:
                self._coalesced.append(work)
            elif not is_async:
                work.wait()
            return work
        self._group.run(calls[0], copies)
        return None

    def _go(self, calls: Sequence[Operation], copies: Copies, result: list[Tensor],
            opts: Any) -> Work | None:
        return self._run(calls, copies, result, opts.timeout, opts.asyncOp)

    def _counts(self, blocks: Sequence[int]) -> ctypes.Array:
        return (ctypes.c_size_t * self._size)(*blocks)

    def _check_blocks(self, blocks: Sequence, what: str) -> None:
        if len(blocks) != self._size:
            raise ValueError(f"collective: there are {len(blocks)} {what}, and the group has "
                             f"{self._size} ranks")

    @staticmethod
    def _check_pairs(outputs: Sequence, given: Sequence) -> None:
        if len(outputs) != len(given):
            raise ValueError(f"collective: there are {len(outputs)} outputs for {len(given)} "
                             "inputs")

    @staticmethod
    def _check_size(name: str, has: int, wanted: int, what: str) -> None:
        if has != wanted:
            raise ValueError(f"collective: {name}: the {what} has {has} elements, not {wanted}")

    # ---- all ranks get the same ----------------------------------------------------------------

    def broadcast(self, given: list[Tensor], opts: Any) -> Work | None:
        tensor = _one(given, "tensors")
        copies = Copies()
        is_root = self._rank == opts.rootRank
        memory = tensors.source(tensor) if is_root else tensors.target(tensor, copies)
        call = Operation("broadcast", root=opts.rootRank)
        call.elements(tensor.numel(), tensors.moved(tensor.dtype)).recv(memory)
        return self._go([call], copies, [tensor], opts)

    def _allreduce(self, tensor: Tensor, reduction: Any, copies: Copies) -> Operation:
        memory = tensors.both(tensor, copies)
        element, op = tensors.reduced(tensor.dtype, reduction)
        call = Operation("allreduce", op=op)
        call.elements(tensor.numel(), element).send(memory).recv(memory)
        return call

    def allreduce(self, given: list[Tensor], opts: Any) -> Work | None:
        return self.allreduce_coalesced([_one(given, "tensors")], opts)

    def allreduce_coalesced(self, given: list[Tensor], opts: Any) -> Work | None:
        copies = Copies()
        calls = [self._allreduce(tensor, opts.reduceOp, copies) for tensor in given]
        return self._go(calls, copies, list(given), opts)

    def allreduce_sparse(self, given: list[Tensor], opts: Any) -> NoReturn:
        raise TypeError("collective: there is no allreduce of sparse tensors: call to_dense() "
                        "first")

    def barrier(self, opts: Any) -> Work | None:
        return self._go([Operation("barrier")], Copies(), [], opts)

    def monitored_barrier(self, opts: Any, wait_all_ranks: bool = False) -> None:
        """barrier(), whose error after the deadline names all ranks that have not come."""
        work = self._run([Operation("barrier")], Copies(), [], opts.timeout, False)
        if work is not None:
            work.wait()

    # ---- gathering -----------------------------------------------------------------------------

    def _gathered(self, name: str, given: Tensor, outputs: Sequence[Tensor], copies: Copies,
                  **values: Any) -> Operation:
        """A call that gathers tensors into a tensor for each rank."""
        self._check_blocks(outputs, "outputs")
        tensors.of_one_type([given, *outputs])
        element = tensors.moved(given.dtype)
        send, recv = tensors.source(given), tensors.spread(outputs, copies, [given])
        counts = [output.numel() for output in outputs]
        self._check_size(name, given.numel(), counts[self._rank], "input")
        if all(count == counts[0] for count in counts):
            call = Operation(name, **values)
            call.elements(given.numel(), element).send(send).recv(recv)
            return call
        call = Operation(f"{name}v", send_count=given.numel() * element.parts,
                         recv_counts=self._counts([count * element.parts for count in counts]),
                         type=element.type, **values)
        call.send(send).recv(recv)
        return call

    def _gathered_in_one(self, output: Tensor, given: Tensor, copies: Copies) -> Operation:
        tensors.of_one_type([given, output])
        self._check_size("allgather", output.numel(), given.numel() * self._size, "output")
        send, recv = tensors.source(given), tensors.target(output, copies)
        own = recv.address + self._rank * given.numel() * given.element_size()
        call = Operation("allgather")
        call.elements(given.numel(), tensors.moved(given.dtype))
        call.send(send if send.address == own else tensors.apart(send, recv)).recv(recv)
        if send.address == own:
            call.values["send"] = IN_PLACE
        return call

    def allgather(self, outputs: list[list[Tensor]], given: list[Tensor],
                  opts: Any) -> Work | None:
        blocks = _one(outputs, "lists of outputs")
        copies = Copies()
        call = self._gathered("allgather", _one(given, "inputs"), blocks, copies)
        return self._go([call], copies, list(blocks), opts)

    def allgather_coalesced(self, outputs: list[list[Tensor]], given: list[Tensor],
                            opts: Any) -> Work | None:
        self._check_blocks(outputs, "lists of outputs")
        copies = Copies()
        for blocks in outputs:
            self._check_pairs(blocks, given)
        calls = [self._gathered("allgather", tensor, [blocks[i] for blocks in outputs], copies)
                 for i, tensor in enumerate(given)]
        return self._go(calls, copies, [tensor for blocks in outputs for tensor in blocks], opts)

    def all_gather_single(self, output: Tensor, given: Tensor, opts: Any) -> Work | None:
        return self.all_gather_single_coalesced([output], [given], opts)

    def all_gather_single_coalesced(self, outputs: list[Tensor], given: list[Tensor],
                                    opts: Any) -> Work | None:
        copies = Copies()
        self._check_pairs(outputs, given)
        calls = [self._gathered_in_one(output, tensor, copies)
                 for output, tensor in zip(outputs, given)]
        return self._go(calls, copies, list(outputs), opts)

    def gather(self, outputs: list[list[Tensor]], given: list[Tensor], opts: Any) -> Work | None:
        tensor = _one(given, "inputs")
        copies = Copies()
        if self._rank == opts.rootRank:
            blocks = _one(outputs, "lists of outputs")
            for block in blocks:
                self._check_size("gather", block.numel(), tensor.numel(), "output")
            call = self._gathered("gather", tensor, blocks, copies, root=opts.rootRank)
            return self._go([call], copies, list(blocks), opts)
        call = Operation("gather", root=opts.rootRank)
        call.elements(tensor.numel(), tensors.moved(tensor.dtype)).send(tensors.source(tensor))
        return self._go([call], copies, [], opts)

    # ---- reducing and distributing -------------------------------------------------------------

    def reduce(self, given: list[Tensor], opts: Any) -> Work | None:
        tensor = _one(given, "tensors")
        tensors.check(tensor)
        element, op = tensors.reduced(tensor.dtype, opts.reduceOp)
        copies = Copies()
        call = Operation("reduce", op=op, root=opts.rootRank).elements(tensor.numel(), element)
        if self._rank == opts.rootRank:
            memory = tensors.both(tensor, copies)
            call.send(memory).recv(memory)
        else:
            call.send(tensors.source(tensor)).recv(None)
        return self._go([call], copies, [tensor], opts)

    def reduce_scatter(self, outputs: list[Tensor], given: list[list[Tensor]],
                       opts: Any) -> Work | None:
        output, blocks = _one(outputs, "outputs"), _one(given, "lists of inputs")
        self._check_blocks(blocks, "inputs")
        tensors.of_one_type([output, *blocks])
        element, op = tensors.reduced(output.dtype, opts.reduceOp)
        counts = [block.numel() for block in blocks]
        self._check_size("reduce_scatter", output.numel(), counts[self._rank], "output")
        copies = Copies()
        recv = tensors.target(output, copies)
        send = tensors.joined(blocks, [output])
        if all(count == counts[0] for count in counts):
            call = Operation("reduce_scatter", op=op).elements(output.numel(), element)
        else:
            numbers = self._counts([count * element.parts for count in counts])
            call = Operation("reduce_scatterv", op=op, recv_counts=numbers,
                             recv_count=numbers[self._rank], type=element.type)
        call.send(send).recv(recv)
        return self._go([call], copies, [output], opts)

    def reduce_scatter_single(self, output: Tensor, given: Tensor, opts: Any) -> Work | None:
        return self.reduce_scatter_single_coalesced([output], [given], opts)

    def _reduce_scattered(self, output: Tensor, given: Tensor, reduction: Any,
                          copies: Copies) -> Operation:
        tensors.of_one_type([given, output])
        self._check_size("reduce_scatter", given.numel(), output.numel() * self._size, "input")
        element, op = tensors.reduced(output.dtype, reduction)
        send, recv = tensors.source(given), tensors.target(output, copies)
        own = send.address + self._rank * output.numel() * output.element_size()
        call = Operation("reduce_scatter", op=op)
        call.elements(output.numel(), element)
        call.send(send if recv.address == own else tensors.apart(send, recv)).recv(recv)
        return call

    def reduce_scatter_single_coalesced(self, outputs: list[Tensor], given: list[Tensor],
                                        opts: Any) -> Work | None:
        copies = Copies()
        self._check_pairs(outputs, given)
        calls = [self._reduce_scattered(output, tensor, opts.reduceOp, copies)
                 for output, tensor in zip(outputs, given)]
        return self._go(calls, copies, list(outputs), opts)

    def scatter(self, outputs: list[Tensor], given: list[list[Tensor]],
                opts: Any) -> Work | None:
        output = _one(outputs, "outputs")
        copies = Copies()
        call = Operation("scatter", root=opts.rootRank)
        call.elements(output.numel(), tensors.moved(output.dtype))
        if self._rank == opts.rootRank:
            blocks = _one(given, "lists of inputs")
            self._check_blocks(blocks, "inputs")
            tensors.of_one_type([output, *blocks])
            for block in blocks:
                self._check_size("scatter", block.numel(), output.numel(), "input")
            call.send(tensors.joined(blocks, [output]))
        call.recv(tensors.target(output, copies))
        return self._go([call], copies, [output], opts)

    # ---- from each to each ---------------------------------------------------------------------

    def alltoall(self, outputs: list[Tensor], given: list[Tensor], opts: Any) -> Work | None:
        self._check_blocks(outputs, "outputs")
        self._check_blocks(given, "inputs")
        element = tensors.moved(tensors.of_one_type([*outputs, *given]))
        copies = Copies()
        recv = tensors.spread(outputs, copies)
        send = tensors.joined(given, outputs)
        call = self._from_each(element, [block.numel() for block in given],
                               [block.numel() for block in outputs])
        call.send(send).recv(recv)
        return self._go([call], copies, list(outputs), opts)

    def _from_each(self, element: Any, sent: Sequence[int], received: Sequence[int]) -> Operation:
        return Operation("alltoallv", type=element.type,
                         send_counts=self._counts([count * element.parts for count in sent]),
                         recv_counts=self._counts([count * element.parts for count in received]))

    def all_to_all_single(self, output: Tensor, given: Tensor, output_splits: list[int],
                          input_splits: list[int], opts: Any) -> Work | None:
        element = tensors.moved(tensors.of_one_type([given, output]))
        copies = Copies()
        recv = tensors.target(output, copies)
        send = tensors.apart(tensors.source(given), recv)
        if output_splits or input_splits:
            call = self._from_each(element, self._split(given, input_splits, "input"),
                                   self._split(output, output_splits, "output"))
        else:
            self._check_size("alltoall", output.numel(), given.numel(), "output")
            count = self._split(given, [], "input")[0]
            call = Operation("alltoall")
            call.elements(count, element)
        call.send(send).recv(recv)
        return self._go([call], copies, [output], opts)

    def _split(self, tensor: Tensor, splits: Sequence[int], what: str) -> list[int]:
        """Elements for each rank, of parts along the first axis."""
        if not tensor.dim():
            raise ValueError(f"collective: alltoall: the {what} has no axis, along which it could "
                             "be split")
        length = tensor.size(0)
        if not splits:
            if length % self._size:
                raise ValueError(f"collective: alltoall: the length {length} of the {what} is no "
                                 f"multiple of the {self._size} ranks")
            splits = [length // self._size] * self._size
        self._check_blocks(splits, f"split sizes of the {what}")
        if sum(splits) != length or min(splits) < 0:
            raise ValueError(f"collective: alltoall: the split sizes {list(splits)} of the {what} "
                             f"do not add up to its length {length}")
        row = tensor.numel() // length if length else 0
        return [split * row for split in splits]

    # ---- messages ------------------------------------------------------------------------------

    def _message(self, name: str, peer: int, tag: int) -> Operation:
        if tag < 0:
            raise ValueError(f"collective: the tag {tag} is negative")
        # Messages with torch's default are identified by their order.
        return Operation(name, root=peer, tag=tag or structs.TAG_NONE)

    def send(self, given: list[Tensor], dest: int, tag: int) -> Work | None:
        tensor = _one(given, "tensors")
        call = self._message("send", dest, tag)
        call.elements(tensor.numel(), tensors.moved(tensor.dtype)).send(tensors.source(tensor))
        return self._run([call], Copies(), [tensor], self._timeout, True)

    def recv(self, given: list[Tensor], source: int, tag: int) -> Work | None:
        tensor = _one(given, "tensors")
        copies = Copies()
        call = self._message("recv", source, tag)
        call.elements(tensor.numel(), tensors.moved(tensor.dtype))
        call.recv(tensors.target(tensor, copies))
        return self._run([call], copies, [tensor], self._timeout, True)

    def recv_anysource(self, given: list[Tensor], tag: int) -> NoReturn:
        raise RuntimeError("collective: there is no recv from any rank: name the source")

    # ---- coalescing ----------------------------------------------------------------------------

    def start_coalescing(self) -> None:
        """Let the calls until end_coalescing() end together.  They begin at once."""
        self._coalesced = []

    def end_coalescing(self) -> Joint:
        works, self._coalesced = self._coalesced or [], None
        return Joint(works)

    # ---- groups --------------------------------------------------------------------------------

    # All of them: torch 2.14 calls itself for ever where a class in Python has none of its own.
    supports_splitting = True
    supports_coalescing = False
    supports_time_estimate = False
    supports_shrinking = False
    supports_reconfigure = False
    supports_window = False

    @property
    def options(self) -> BaseBackend.Options:
        return BaseBackend.Options(NAME, self._timeout)

    def split(self, store: Any, ranks: list[int], opts: Any) -> Backend:
        """Make a group of some of the ranks, which all call this."""
        if self._rank not in ranks:
            raise ValueError(f"collective: rank {self._rank} is not in the new group of {ranks}")
        timeout = getattr(opts, "_timeout", self._timeout)
        return Backend.join(store, ranks.index(self._rank), len(ranks), timeout)

    def eager_connect_single_device(self, device: torch.device | None) -> None:
        """Nothing: a group is connected when it is made."""

    # ---- the group as a whole ------------------------------------------------------------------

    def getBackendName(self) -> str:
        return NAME

    def set_timeout(self, timeout: timedelta) -> None:
        """Set the deadline of operations that are called from now on."""
        self._timeout = timeout

    def _set_sequence_number_for_group(self) -> None:
        """Nothing: calls are counted from the beginning."""

    def _get_sequence_number_for_group(self) -> int:
        return self._sequence

    def get_error(self) -> ErrorType:
        return _ERRORS.get(self._group.failed_with, ErrorType.COMM_ERROR)

    def abort(self) -> None:
        """Fail the group on all ranks: whatever waits in it, in any thread, ends."""
        self._group.abort("abort() of the process group")

    def shutdown(self) -> None:
        """Leave the group.  Operations under way fail."""
        self._group.close()
