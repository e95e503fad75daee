# SPDX-License-Identifier: LGPL-2.1-or-later
"""One call of a collective: its arguments, and the memory that it uses until it has ended."""

from __future__ import annotations

import ctypes
from typing import Any, Protocol, Sequence

from . import structs
from .arrays import Element, Memory
from .library import ARGUMENTS, IN_PLACE, NOSYNC, PERSISTENT, VECTORS


class Addressed(Protocol):
    """What an operation takes as memory: an array's Memory, or what another package has."""

    @property
    def address(self) -> int:
        """Where it begins."""


class Call:
    """The arguments of a collective, by the names in library.ARGUMENTS.

    name: name of the collective
    values: its arguments
    result: memory of the result; None: there is none on this rank
    is_number: True if the caller gave a number, and gets one
    memories: arrays that the operation uses
    timeout_ms: deadline of the operation, in ms; 0: that of the group
    """

    __slots__ = ("is_number", "memories", "name", "result", "timeout_ms", "values")

    def __init__(self, name: str, **values: Any) -> None:
        self.name = name
        self.values = values
        self.result: Memory | None = None
        self.is_number = False
        self.memories: list[Any] = []
        self.timeout_ms = 0

    def elements(self, count: int, element: Element) -> Call:
        """Set number and type of the elements; @count is in elements of the array."""
        self.values["count"] = count * element.parts
        self.values["type"] = element.type
        return self

    def send(self, memory: Addressed | None) -> Call:
        """Set the input; None: there is none on this rank."""
        return self._set("send", memory)

    def recv(self, memory: Addressed | None) -> Call:
        """Set the memory of the result; None: there is none on this rank."""
        return self._set("recv", memory)

    def _set(self, field: str, memory: Addressed | None) -> Call:
        self.values[field] = memory.address if memory else 0
        if memory:
            self.memories.append(memory)
        return self

    def arguments(self) -> list:
        """The arguments of the C function, between communicator and request."""
        return [self.values[name] for name in ARGUMENTS[self.name]]

    @property
    def outcome(self) -> Any:
        """What the caller gets after success."""
        if self.result is None:
            return None
        return self.result.array[()] if self.is_number else self.result.origin

    @property
    def is_simple(self) -> bool:
        """Can it be described without a layout?"""
        return self.name in PERSISTENT

    @property
    def has_description(self) -> bool:
        """Can describe() describe it?"""
        return self.is_simple or self.name in VECTORS

    def describe(self, flags: int) -> structs.Operation:
        """Describe an operation, other than along an axis, by the kernel's struct.

        flags: those of operations of the communicator, of which it gets the ones that concern it

        The struct holds no memory: the call must live until the operation has been submitted.
        """
        values = self.values
        name = VECTORS.get(self.name, self.name)
        recv = values.get("recv", 0)
        send = recv if name == "broadcast" else values.get("send", 0)
        operation = structs.Operation(
            opcode=structs.OPCODES[name], type=values.get("type", 0),
            reduction=values.get("op", 0), root=values.get("root", 0),
            timeout_ms=self.timeout_ms, count=values.get("count", 0),
            send=recv if send == IN_PLACE else send, recv=recv)
        if "op" in values:
            operation.flags |= flags & (structs.FLAG_REPRODUCIBLE | structs.FLAG_WIDE)
        if name in NOSYNC:
            operation.flags |= flags & structs.FLAG_NOSYNC
        if values.get("tag", structs.TAG_NONE) != structs.TAG_NONE:
            operation.flags |= structs.FLAG_KEYED
            operation.key = values["tag"]
        if not self.is_simple:
            operation.flags |= structs.FLAG_VECTOR
            operation.count = self._own_count()
            operation.layout = ctypes.addressof(self._layout())
        return operation

    def _own_count(self) -> int:
        """Elements of this rank's own block, as the kernel wants it."""
        field = {"allgatherv": "send_count", "gatherv": "send_count", "scatterv": "recv_count",
                 "reduce_scatterv": "recv_count"}.get(self.name)
        return self.values[field] if field else 0

    def _layout(self) -> structs.Layout:
        """Describe the blocks; the call keeps it."""
        layout = structs.Layout(size=ctypes.sizeof(structs.Layout))
        for field in ("send_counts", "send_displs", "recv_counts", "recv_displs"):
            numbers = self.values.get(field)
            if numbers is not None:
                setattr(layout, field, ctypes.addressof(numbers))
        self.values["layout"] = layout
        return layout


def sizes(numbers: Sequence[int], length: int, what: str) -> ctypes.Array:
    """An array of size_t, one for each rank.

    Raises ValueError for another length or a negative number.
    """
    numbers = [int(number) for number in numbers]
    if len(numbers) != length:
        raise ValueError(f"{what} has {len(numbers)} numbers, and the group {length} ranks")
    if any(number < 0 for number in numbers):
        raise ValueError(f"{what} has a negative number")
    return (ctypes.c_size_t * length)(*numbers)


def extents(shape: Sequence[int], element: Element) -> ctypes.Array:
    """The lengths of an array, in elements of the library."""
    lengths = [*shape, element.parts] if element.parts > 1 else list(shape)
    return (ctypes.c_size_t * len(lengths))(*lengths)
