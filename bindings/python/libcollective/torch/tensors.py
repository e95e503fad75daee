# SPDX-License-Identifier: LGPL-2.1-or-later
"""Memory of tensors, the types of their elements, and the reductions of torch."""

from __future__ import annotations

from typing import NamedTuple, Sequence

import torch
from torch.distributed import ReduceOp

from ..arrays import Element
from ..structs import Op, Type

_TYPES = {
    torch.int8: Type.INT8, torch.uint8: Type.UINT8, torch.int16: Type.INT16,
    torch.uint16: Type.UINT16, torch.int32: Type.INT32, torch.uint32: Type.UINT32,
    torch.int64: Type.INT64, torch.uint64: Type.UINT64, torch.float16: Type.FLOAT16,
    torch.bfloat16: Type.BFLOAT16, torch.float32: Type.FLOAT32, torch.float64: Type.FLOAT64,
}

#: Types whose elements are two of another one.
_COMPLEX = {torch.complex32: Type.FLOAT16, torch.complex64: Type.FLOAT32,
            torch.complex128: Type.FLOAT64}

_OPS = {
    ReduceOp.SUM: Op.SUM, ReduceOp.AVG: Op.AVG, ReduceOp.PRODUCT: Op.PROD, ReduceOp.MIN: Op.MIN,
    ReduceOp.MAX: Op.MAX, ReduceOp.BAND: Op.BAND, ReduceOp.BOR: Op.BOR, ReduceOp.BXOR: Op.BXOR,
}

#: Those of truth values, which a uint8 of 0 or 1 holds.
_LOGICAL = {Op.SUM: Op.LOR, Op.MAX: Op.LOR, Op.BOR: Op.LOR, Op.PROD: Op.LAND, Op.MIN: Op.LAND,
            Op.BAND: Op.LAND, Op.BXOR: Op.LXOR}

_INTEGERS = range(Type.INT8, Type.FLOAT16)
_BITWISE = (Op.BAND, Op.BOR, Op.BXOR)


class Memory(NamedTuple):
    """Memory that an operation uses.

    address: where it begins
    tensor: what keeps it
    """

    address: int
    tensor: torch.Tensor

    @property
    def end(self) -> int:
        return self.address + self.tensor.numel() * self.tensor.element_size()


class Copies:
    """Results that an operation has in memory of its own, for tensors that it cannot use.

    An operation that has ended with success stores them.
    """

    __slots__ = ("_pairs",)

    def __init__(self) -> None:
        self._pairs: list[tuple[torch.Tensor, torch.Tensor]] = []

    def add(self, tensor: torch.Tensor, copy: torch.Tensor) -> None:
        self._pairs.append((tensor, copy))

    def store(self) -> None:
        if not self._pairs:
            return
        # In this mode also leaves that need gradients, and tensors of inference, can be stored to.
        with torch.inference_mode():
            for tensor, copy in self._pairs:
                tensor.copy_(copy.view(tensor.shape))
        self._pairs = []


def check(tensor: torch.Tensor) -> None:
    """Raise TypeError for a tensor that the backend does not take."""
    if not tensor.is_cpu:
        raise TypeError(f"collective: the tensor is on {tensor.device}: this backend takes tensors "
                        "on the CPU; \"cpu:collective,cuda:nccl\" names a backend for each")
    if tensor.layout != torch.strided:
        raise TypeError(f"collective: the tensor is sparse ({tensor.layout}): this backend takes "
                        "dense tensors: call to_dense() first")
    if tensor.is_quantized:
        raise TypeError(f"collective: the tensor is quantised ({tensor.dtype}): its scale would "
                        "not be moved: call int_repr() or dequantize() first")


def moved(dtype: torch.dtype) -> Element:
    """The elements of a tensor that is only moved: any type."""
    known = _TYPES.get(dtype)
    return Element(Type.UINT8, dtype.itemsize) if known is None else Element(known, 1)


def reduced(dtype: torch.dtype, reduction: ReduceOp) -> tuple[Element, Op]:
    """The elements of a tensor that is reduced, and how.

    Raises TypeError or ValueError for what there is not.
    """
    named = getattr(reduction, "op", reduction)
    op = _OPS.get(named)
    if op is None:
        raise ValueError(f"collective: there is no reduction {named.name}: they are "
                         f"{', '.join(known.name for known in _OPS)}")
    if dtype in _TYPES:
        if op in _BITWISE and _TYPES[dtype] not in _INTEGERS:
            raise TypeError(f"collective: {named.name} takes integers and bool, not {dtype}")
        return Element(_TYPES[dtype], 1), op
    if dtype == torch.bool and op in _LOGICAL:
        return Element(Type.UINT8, 1), _LOGICAL[op]
    if dtype in _COMPLEX and op in (Op.SUM, Op.AVG):
        return Element(_COMPLEX[dtype], 2), op
    kind = "8-bit floats" if dtype.is_floating_point and dtype.itemsize == 1 else str(dtype)
    hint = f" ({dtype}): convert them to bfloat16" if kind != str(dtype) else ""
    raise TypeError(f"collective: there is no {named.name} of {kind}{hint}")


def _usable(tensor: torch.Tensor) -> Memory | None:
    """The memory of the tensor, if an operation can use it as it is."""
    if (not tensor.is_contiguous() or tensor.is_conj() or tensor.is_neg() or
            tensor._is_zerotensor()):
        return None
    address = tensor.data_ptr()
    return None if address % tensor.element_size() else Memory(address, tensor)


def _new(shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    """Memory of the CPU, whatever device a program has made the default."""
    return torch.empty(shape, dtype=dtype, device="cpu")


def _check_result(tensor: torch.Tensor) -> None:
    if tensor._is_zerotensor() or torch._debug_has_internal_overlap(tensor) == 1:
        raise TypeError("collective: elements of the result share memory, as after expand(): "
                        "call contiguous() first")


def _memory(tensor: torch.Tensor) -> Memory:
    return Memory(tensor.data_ptr(), tensor)


def _copy(tensor: torch.Tensor) -> torch.Tensor:
    copy = _new(tensor.shape, tensor.dtype)
    with torch.inference_mode():
        return copy.copy_(tensor)


def source(tensor: torch.Tensor) -> Memory:
    """The memory of an input, copied if it is not contiguous."""
    check(tensor)
    return _usable(tensor) or _memory(_copy(tensor))


def target(tensor: torch.Tensor, copies: Copies) -> Memory:
    """The memory of a result."""
    check(tensor)
    memory = _usable(tensor)
    if memory:
        return memory
    _check_result(tensor)
    copy = _new(tensor.shape, tensor.dtype)
    copies.add(tensor, copy)
    return _memory(copy)


def both(tensor: torch.Tensor, copies: Copies) -> Memory:
    """The memory of an input that the result replaces."""
    check(tensor)
    memory = _usable(tensor)
    if memory:
        return memory
    _check_result(tensor)
    copy = _copy(tensor)
    copies.add(tensor, copy)
    return _memory(copy)


def of_one_type(tensors: Sequence[torch.Tensor]) -> torch.dtype:
    """The type of all tensors.  Raises ValueError if they have several, or there is none."""
    if not tensors:
        raise ValueError("collective: the list of tensors is empty")
    dtype = tensors[0].dtype
    for tensor in tensors:
        check(tensor)
        if tensor.dtype != dtype:
            raise ValueError(f"collective: the tensors are of the types {dtype} and "
                             f"{tensor.dtype}: an operation has one")
    return dtype


def _follow_each_other(tensors: Sequence[torch.Tensor]) -> bool:
    """Is each tensor's memory where that of the one before ends, as after chunk()?"""
    end = 0
    for tensor in tensors:
        memory = _usable(tensor)
        if not memory:
            return False
        begin = memory.address
        if end and begin and begin != end:
            return False
        end = begin + tensor.numel() * tensor.element_size() if begin else end
    return True


def _is_one_block(tensors: Sequence[torch.Tensor]) -> bool:
    """Can the tensors be used as one block, in one piece of storage?"""
    storages = {tensor.untyped_storage().data_ptr() for tensor in tensors if tensor.numel()}
    return len(storages) == 1 and _follow_each_other(tensors)


def _first(tensors: Sequence[torch.Tensor]) -> Memory:
    tensor = next((tensor for tensor in tensors if tensor.numel()), tensors[0])
    return Memory(tensor.data_ptr(), tensor)


def _bounds(tensors: Sequence[torch.Tensor]) -> list[tuple[int, int]]:
    return [(tensor.data_ptr(), tensor.data_ptr() + tensor.numel() * tensor.element_size())
            for tensor in tensors]


def _overlap(tensors: Sequence[torch.Tensor], others: Sequence[torch.Tensor]) -> bool:
    """May the tensors share memory?  From the first byte of either list to its last."""
    bounds, other_bounds = _bounds(tensors), _bounds(others)
    return (min(begin for begin, _ in bounds) < max(end for _, end in other_bounds) and
            min(begin for begin, _ in other_bounds) < max(end for _, end in bounds))


def joined(tensors: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]) -> Memory:
    """The memory of inputs that follow each other, copied if it is the outputs', too."""
    if _is_one_block(tensors) and not _overlap(tensors, outputs):
        return _first(tensors)
    with torch.inference_mode():
        copy = _new([sum(tensor.numel() for tensor in tensors)], tensors[0].dtype)
        at = 0
        for tensor in tensors:
            copy[at:at + tensor.numel()].view(tensor.shape).copy_(tensor)
            at += tensor.numel()
    return _memory(copy)


def spread(tensors: Sequence[torch.Tensor], copies: Copies,
           given: Sequence[torch.Tensor] = ()) -> Memory:
    """The memory of results that follow each other, another one if these inputs are in it."""
    if _is_one_block(tensors) and not (given and _overlap(tensors, given)):
        return _first(tensors)
    copy = _new([sum(tensor.numel() for tensor in tensors)], tensors[0].dtype)
    at = 0
    for tensor in tensors:
        _check_result(tensor)
        copies.add(tensor, copy[at:at + tensor.numel()])
        at += tensor.numel()
    return _memory(copy)


def apart(memory: Memory, other: Memory) -> Memory:
    """The memory of an input, copied if it shares bytes with another one."""
    if memory.address < other.end and other.address < memory.end:
        return _memory(_copy(memory.tensor))
    return memory
