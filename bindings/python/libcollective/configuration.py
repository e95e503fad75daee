# SPDX-License-Identifier: LGPL-2.1-or-later
"""struct coll_config, from the arguments of init()."""

from __future__ import annotations

import ctypes
import errno
import os
from typing import Any, Callable, Sequence

from . import interrupt, structs
from .library import DETAIL_SIZE

#: Collects the bytes of all ranks, in the order of ranks.
Exchange = Callable[[bytes], Sequence[bytes]]


class Configuration:
    """The struct, and what it points to.

    flags: flags of the operations of the group, of struct collective_op
    """

    def __init__(self, exchange: Exchange | None, flags: int, fields: dict[str, Any]) -> None:
        self.detail = ctypes.create_string_buffer(DETAIL_SIZE)
        self.error: BaseException | None = None
        self.flags = _of_operations(flags)
        self._exchange = exchange
        self._size = fields.get("nranks") or _launched_size()
        self.struct = structs.Config(
            size=ctypes.sizeof(structs.Config), detail=ctypes.addressof(self.detail),
            detail_size=DETAIL_SIZE, flags=flags, interrupt=interrupt.is_to_end)
        if exchange:
            self.struct.exchange = structs.EXCHANGE(self._exchanged)
        for name, value in fields.items():
            if value is not None:
                setattr(self.struct, name, value.encode() if isinstance(value, str) else value)

    def forget_exchange(self) -> None:
        """The library calls it no more: what it uses need not wait for a collection of garbage."""
        self._exchange = None
        self.struct.exchange = structs.EXCHANGE()

    def text(self) -> str:
        return self.detail.value.decode("utf-8", "replace")

    def _exchanged(self, _context: Any, mine: int, size: int, everyone: int) -> int:
        assert self._exchange is not None
        try:
            parts = [bytes(part) for part in self._exchange(ctypes.string_at(mine, size))]
            # The library has memory for exactly these.
            check_parts(parts, self._size, size)
            ctypes.memmove(everyone, b"".join(parts), size * len(parts))
            return 0
        except BaseException as error:
            # No exception may leave a function that the library calls: it is raised afterwards.
            self.error = error
            return -errno.ECANCELED


def check_parts(parts: Sequence[bytes], ranks: int | None, size: int) -> None:
    """Check what an exchange has returned.

    ranks: number of ranks; None: unknown
    size: length of each part

    Raises ValueError.
    """
    if ranks is None:
        raise ValueError("the number of ranks is unknown: give init() the size beside an exchange")
    if len(parts) != ranks:
        raise ValueError(f"the exchange has returned {len(parts)} parts, and the group has {ranks} "
                         "ranks")
    for rank, part in enumerate(parts):
        if len(part) != size:
            raise ValueError(f"the exchange has returned {len(part)} bytes for rank {rank}, in "
                             f"place of {size}")


#: Variables of launchers with rank and number of ranks, in the order in which the library looks
#: for both.
_LAUNCHERS = (
    ("COLL_RANK", "COLL_SIZE"), ("RANK", "WORLD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"), ("PMI_RANK", "PMI_SIZE"),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
)


def _launched_size() -> int | None:
    """The number of ranks that the library takes from the environment; None: it refuses it."""
    # The environment of C, which libraries such as MPI change without os.environ.
    get = ctypes.CDLL(None).getenv
    get.restype = ctypes.c_char_p
    for rank, size in _LAUNCHERS:
        text = get(size.encode())
        if get(rank.encode()) and text:
            return int(text) if text.isdigit() else None
    return 1


def _is_set(variable: str) -> bool:
    return os.environ.get(variable, "") not in ("", "0")


def _of_operations(flags: int) -> int:
    """Flags of operations: coll_submit_wait() does not apply those of the group itself."""
    reproducible = flags & structs.CONFIG_REPRODUCIBLE or _is_set("COLL_REPRODUCIBLE")
    wide = flags & structs.CONFIG_WIDE or _is_set("COLL_WIDE")
    nosync = flags & structs.CONFIG_NOSYNC or _is_set("COLL_NOSYNC")
    return ((structs.FLAG_REPRODUCIBLE if reproducible else 0) |
            (structs.FLAG_WIDE if wide else 0) | (structs.FLAG_NOSYNC if nosync else 0))


def milliseconds(seconds: float | None, what: str) -> int | None:
    """A time limit in ms; None: the default."""
    if seconds is None:
        return None
    if seconds == float("inf"):
        return structs.NO_DEADLINE
    if not 0.001 <= seconds < structs.NO_DEADLINE / 1000:
        raise ValueError(f"{what} is {seconds} s: it is at least 0.001 s, or infinite")
    return int(seconds * 1000)
