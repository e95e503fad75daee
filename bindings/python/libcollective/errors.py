# SPDX-License-Identifier: LGPL-2.1-or-later
"""Exceptions, which name the rank, the process and the operation where the library knows them."""

from __future__ import annotations

import ctypes
import errno
import re
from typing import Mapping

from . import library

#: Errors of one operation, after which the group goes on.
_OF_OPERATION = (errno.EBADMSG, errno.ETIMEDOUT, errno.ECANCELED)

#: The rank at fault, in texts that name one: neither one of two ranks that differ, nor the one that
#: has found the failure.
_AT_FAULT = re.compile(r"""
    \brank\ (\d+)(?:\ \([^)]*\))?\ (?:died | left\ the\ group | broke\ the\ protocol | cancelled |
        aborted\ the\ group | ran\ out\ of\ memory | was\ interrupted | went\ away |
        never\ arrived | arrived\ (?:and\ went\ away | but\ never\ joined)) |
    \bwaited\ for\ rank\ (\d+) |
    \Arank\ (\d+):\ (?!.*\brank)""", re.VERBOSE)

_RANK = re.compile(r"\brank (\d+)")
_NUMBER = re.compile(r"\(operation (\d+)\)")


class Error(OSError):
    """A call failed; by itself: it was refused, and nothing has begun.

    errno: number of the error, as coll_strerror(3) explains it
    rank: rank at fault, or None: none, several, or not known
    host: name of the host of that rank if it is this one, else None
    pid: ID of its process if that is on this host, else None
    operation: number of the operation, as each rank counts the collectives from 0, or None
    collective: name of the call that failed, or None
    detail: text of the library, without the name of this package
    """

    def __init__(self, number: int, message: str, *, rank: int | None = None,
                 host: str | None = None, pid: int | None = None,
                 operation: int | None = None, collective: str | None = None,
                 detail: str = "") -> None:
        super().__init__(number, message)
        self.rank = rank
        self.host = host
        self.pid = pid
        self.operation = operation
        self.collective = collective
        self.detail = detail

    def __str__(self) -> str:
        return self.strerror or ""


class OperationError(Error):
    """One operation failed on all ranks: calls differ, a deadline, a cancellation.

    The group can be used.  The results of the operation are undefined.
    """


class GroupError(Error):
    """The group failed: a rank died, left or aborted it, or a connection broke.

    All operations fail from now on.  Communicator.shrink() makes a group of the survivors.
    """


class Process:
    """Where a rank of this host is: known as long as the communicator is open.

    pid: ID of the process
    host: name of this host
    """

    __slots__ = ("host", "pid")

    def __init__(self, pid: int, host: str) -> None:
        self.pid = pid
        self.host = host


def _kind(number: int, group_failed: bool) -> type:
    if group_failed:
        return GroupError
    return OperationError if number in _OF_OPERATION else Error


def text_of(number: int) -> str:
    """What an errno means."""
    return library.get().coll_strerror(number).decode()


def _at_fault(detail: str) -> tuple[int | None, int]:
    """The rank at fault, and where in the text its number ends."""
    absent = detail.find("; not submitted by ")
    if absent > 0 and detail.startswith("the deadline of "):
        # The rank that was waited for may itself wait for the absent one.
        found = list(_RANK.finditer(detail, absent))
        return (int(found[0].group(1)), found[0].end()) if len(found) == 1 else (None, 0)
    match = _AT_FAULT.search(detail)
    if match is None:
        return None, 0
    return next((int(number), match.end(group)) for group, number in enumerate(match.groups(), 1)
                if number)


def refused(number: int, detail: str) -> Error:
    """Make the exception of a call of this rank alone, which has done nothing: Error itself."""
    return Error(number, f"collective: {detail}", rank=_at_fault(detail)[0], detail=detail)


def describe(number: int, detail: str, *, collective: str | None = None,
             group_failed: bool = False, failed: dict[int, str] | None = None,
             processes: Mapping[int, Process] | None = None) -> Error:
    """Make the exception of a failure.

    number: positive errno
    detail: text of the library, or empty
    collective: name of the call
    failed: names of the operations that have failed, by number; a call that is refused because of
        an earlier failure is told that operation
    processes: of ranks of this host
    """
    rank, at = _at_fault(detail)
    numbered = _NUMBER.search(detail)
    operation = int(numbered.group(1)) if numbered else None
    process = processes.get(rank) if processes and rank is not None else None

    text = detail or text_of(number)
    if process:
        text = f"{text[:at]} (pid {process.pid} on {process.host}){text[at:]}"
    if collective and operation is not None:
        name = collective if failed is None else failed.setdefault(operation, collective)
        text = text.replace(f"(operation {operation})", f"({name} {operation})", 1)
    elif collective and not text.startswith(collective):
        text = f"{text} ({collective})"
    return _kind(number, group_failed)(
        number, f"collective: {text}", rank=rank, host=process.host if process else None,
        pid=process.pid if process else None, operation=operation, collective=collective,
        detail=detail)


def of_call(handle: int, err: int, *, collective: str | None, failed: dict[int, str],
            processes: Mapping[int, Process]) -> Error:
    """Make the exception of a call that returned a negative errno."""
    functions = library.get()
    text = ctypes.create_string_buffer(library.DETAIL_SIZE)
    group_failed = bool(functions.coll_comm_failed(handle))
    functions.coll_error_detail_r(handle, text, len(text))
    return describe(-err, text.value.decode("utf-8", "replace"), collective=collective,
                    group_failed=group_failed, failed=failed, processes=processes)
