# SPDX-License-Identifier: LGPL-2.1-or-later
"""The library libcollective.so.0: finding it, its version, and the types of its functions."""

from __future__ import annotations

import ctypes
import threading
from ctypes import POINTER, c_char_p, c_int, c_longlong, c_size_t, c_uint, c_void_p
from typing import Any

from .structs import Config, Operation

NAME = "libcollective.so.0"

#: Least version of the library, as (major, minor).  Another major is another interface.
LEAST = (0, 2)

#: Value of a buffer's address: its data is in the other buffer.
IN_PLACE = 1

#: Size of a buffer for every text of a failure, in bytes.
DETAIL_SIZE = 512

_sizes = POINTER(c_size_t)

#: C types of the arguments of collectives, by name.
_ARGUMENTS = {
    "send": c_void_p, "recv": c_void_p, "count": c_size_t, "type": c_int, "op": c_int,
    "root": c_int, "tag": c_longlong, "shape": _sizes, "ndims": c_int, "axis": c_int,
    "split": c_int, "concat": c_int, "send_count": c_size_t, "recv_count": c_size_t,
    "send_counts": _sizes, "send_displs": _sizes, "recv_counts": _sizes, "recv_displs": _sizes,
}

#: Arguments of each collective, between the communicator and the request.
ARGUMENTS = {
    "barrier": (),
    "allreduce": ("send", "recv", "count", "type", "op"),
    "reduce": ("send", "recv", "count", "type", "op", "root"),
    "broadcast": ("recv", "count", "type", "root"),
    "allgather": ("send", "recv", "count", "type"),
    "reduce_scatter": ("send", "recv", "count", "type", "op"),
    "gather": ("send", "recv", "count", "type", "root"),
    "scatter": ("send", "recv", "count", "type", "root"),
    "alltoall": ("send", "recv", "count", "type"),
    "scan": ("send", "recv", "count", "type", "op"),
    "exscan": ("send", "recv", "count", "type", "op"),
    "send": ("send", "count", "type", "root", "tag"),
    "recv": ("recv", "count", "type", "root", "tag"),
    "allgather_axis": ("send", "recv", "shape", "ndims", "axis", "type"),
    "reduce_scatter_axis": ("send", "recv", "shape", "ndims", "axis", "type", "op"),
    "alltoall_axis": ("send", "recv", "shape", "ndims", "split", "concat", "type"),
    "allgatherv": ("send", "send_count", "recv", "recv_counts", "recv_displs", "type"),
    "gatherv": ("send", "send_count", "recv", "recv_counts", "recv_displs", "type", "root"),
    "scatterv": ("send", "send_counts", "send_displs", "recv", "recv_count", "type", "root"),
    "alltoallv": ("send", "send_counts", "send_displs", "recv", "recv_counts", "recv_displs",
                  "type"),
    "reduce_scatterv": ("send", "send_displs", "recv", "recv_counts", "type", "op"),
}

#: Collectives that have a persistent form.
PERSISTENT = ("barrier", "allreduce", "reduce", "broadcast", "allgather", "reduce_scatter",
              "gather", "scatter", "alltoall", "scan", "exscan", "send", "recv")

#: Collectives with a block of its own length for each rank, and their names in the kernel.
VECTORS = {"allgatherv": "allgather", "gatherv": "gather", "scatterv": "scatter",
           "alltoallv": "alltoall", "reduce_scatterv": "reduce_scatter"}

#: Collectives that may complete on a rank when its own part is done.
NOSYNC = ("broadcast", "reduce", "gather", "scatter", "scan", "exscan")

_FUNCTIONS: dict[str, tuple[Any, tuple]] = {
    "coll_version": (c_uint, ()),
    "coll_init": (c_int, (POINTER(c_void_p), POINTER(Config))),
    "coll_finalize": (c_int, (c_void_p,)),
    "coll_split": (c_int, (c_void_p, c_int, c_int, POINTER(c_void_p))),
    "coll_dup": (c_int, (c_void_p, POINTER(c_void_p))),
    "coll_shrink_flags": (c_int, (c_void_p, c_uint, POINTER(c_void_p))),
    "coll_abort": (c_int, (c_void_p, c_char_p)),
    "coll_comm_failed": (c_int, (c_void_p,)),
    "coll_rank": (c_int, (c_void_p,)),
    "coll_size": (c_int, (c_void_p,)),
    "coll_name": (c_char_p, (c_void_p,)),
    "coll_submit_wait": (c_int, (c_void_p, POINTER(Operation), c_int, POINTER(c_void_p))),
    "coll_isubmit": (c_int, (c_void_p, POINTER(Operation), POINTER(c_void_p))),
    "coll_wait_any": (c_int, (POINTER(c_void_p), c_int, POINTER(c_int), c_int)),
    "coll_start": (c_int, (c_void_p,)),
    "coll_cancel": (c_int, (c_void_p,)),
    "coll_request_free": (c_int, (c_void_p,)),
    "coll_req_fd": (c_int, (c_void_p,)),
    "coll_register": (c_int, (c_void_p, c_void_p, c_size_t, c_uint)),
    "coll_unregister": (c_int, (c_void_p, c_void_p)),
    "coll_mem_number": (c_uint, (c_void_p, c_void_p, c_size_t, c_int)),
    "coll_strerror": (c_char_p, (c_int,)),
    "coll_error_detail_r": (c_int, (c_void_p, c_char_p, c_size_t)),
}

_lock = threading.Lock()
_loaded: ctypes.CDLL | None = None


class LibraryError(ImportError):
    """The library is not there, or has a version that this package cannot use."""


def _open(name: str) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(name)
    except OSError as error:
        raise LibraryError(
            f"collective: the library cannot be loaded ({error}): install it (Debian: "
            "libcollective0), or name its folder in LD_LIBRARY_PATH", name=name) from error


def _check_version(library: ctypes.CDLL, name: str) -> None:
    number = library.coll_version()
    version = number >> 16, number & 0xffff
    if version[0] != LEAST[0] or version < LEAST:
        raise LibraryError(
            f"collective: {name} has version {version[0]}.{version[1]}, and this package needs "
            f"{LEAST[0]}.{LEAST[1]} or a later {LEAST[0]}.x: install libcollective0 and "
            "python3-libcollective of the same version", name=name)


def _declare(library: ctypes.CDLL) -> None:
    def declare(function: str, result: type, arguments: tuple) -> None:
        # A function that is fetched as an attribute is kept, with its types.
        kept = getattr(library, function)
        kept.argtypes = arguments
        kept.restype = result

    for function, (result, arguments) in _FUNCTIONS.items():
        declare(function, result, arguments)
    for collective, names in ARGUMENTS.items():
        arguments = (c_void_p, *(_ARGUMENTS[name] for name in names), POINTER(c_void_p))
        declare(f"coll_i{collective}", c_int, arguments)
        if collective in PERSISTENT:
            declare(f"coll_{collective}_init", c_int, arguments)


def load(name: str = NAME) -> ctypes.CDLL:
    """Load a library and check it.

    Raises LibraryError, which says what to do.
    """
    library = _open(name)
    try:
        library.coll_version.restype = c_uint
        _check_version(library, name)
        _declare(library)
    except AttributeError as error:
        raise LibraryError(
            f"collective: {name} is older than this package ({error}): install libcollective0 "
            "and python3-libcollective of the same version", name=name) from error
    return library


def storing(name: str, results: list[int]) -> Any:
    """A function of the library that appends its result to a list, and returns nothing.

    The result is there before Python runs the handler of a signal, so also if that raises.
    """
    # A function object of its own, which costs less than looking the name up again.
    kept = getattr(get(), name)
    function = type(kept).from_buffer_copy(kept)
    function.argtypes = kept.argtypes
    function.restype = results.append
    return function


def get() -> ctypes.CDLL:
    """The library, which the first call loads."""
    global _loaded
    # Without the lock, which another thread may have held at a fork.
    if _loaded is not None:
        return _loaded
    with _lock:
        if _loaded is None:
            _loaded = load()
        return _loaded
