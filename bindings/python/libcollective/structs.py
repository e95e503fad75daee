# SPDX-License-Identifier: LGPL-2.1-or-later
"""Structs and numbers of collective.h and linux/collective.h."""

from __future__ import annotations

import enum
from ctypes import (CFUNCTYPE, Structure, c_char_p, c_int, c_size_t, c_uint, c_uint8, c_uint32,
                    c_uint64, c_void_p)

EXCHANGE = CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t, c_void_p)
INTERRUPT = CFUNCTYPE(c_int, c_void_p)


class Config(Structure):
    """struct coll_config"""

    _fields_ = [
        ("size", c_size_t), ("detail", c_void_p), ("detail_size", c_size_t), ("flags", c_uint),
        ("rank", c_int), ("nranks", c_int), ("lanes", c_int), ("rendezvous", c_char_p),
        ("name", c_char_p), ("local_addr", c_char_p), ("init_timeout_ms", c_uint),
        ("timeout_ms", c_uint), ("heartbeat_ms", c_uint), ("reserved", c_uint),
        ("algorithm", c_char_p), ("secret", c_char_p), ("transport", c_char_p),
        ("exchange", EXCHANGE), ("exchange_context", c_void_p), ("bootstrap", c_char_p),
        ("key", c_char_p), ("ports", c_char_p), ("interrupt", INTERRUPT),
        ("interrupt_context", c_void_p),
    ]


class Operation(Structure):
    """struct collective_op"""

    _fields_ = [
        ("opcode", c_uint8), ("type", c_uint8), ("reduction", c_uint8), ("algorithm", c_uint8),
        ("flags", c_uint32), ("root", c_uint32), ("timeout_ms", c_uint32), ("key", c_uint64),
        ("count", c_uint64), ("send", c_uint64), ("recv", c_uint64), ("layout", c_uint64),
        ("send_buffer", c_uint32), ("recv_buffer", c_uint32), ("reserved", c_uint64 * 2),
    ]


class View(Structure):
    """struct collective_view"""

    _fields_ = [("rows", c_uint64), ("stride", c_uint64), ("distance", c_uint64)]


class Layout(Structure):
    """struct collective_layout"""

    _fields_ = [
        ("size", c_uint32), ("flags", c_uint32), ("send_counts", c_uint64),
        ("send_displs", c_uint64), ("recv_counts", c_uint64), ("recv_displs", c_uint64),
        ("send", View), ("recv", View),
    ]


#: enum collective_opcode
OPCODES = {name: opcode for opcode, name in enumerate((
    "barrier", "allreduce", "reduce", "broadcast", "allgather", "reduce_scatter", "gather",
    "scatter", "alltoall", "scan", "exscan", "send", "recv"))}


class Type(enum.IntEnum):
    """enum coll_type: the types of elements"""

    INT8 = 0
    UINT8 = 1
    INT16 = 2
    UINT16 = 3
    INT32 = 4
    UINT32 = 5
    INT64 = 6
    UINT64 = 7
    FLOAT16 = 8
    BFLOAT16 = 9
    FLOAT32 = 10
    FLOAT64 = 11


class Op(enum.IntEnum):
    """How a reduction combines two elements.

    Integers wrap.  AVG is the sum divided by the number of ranks.  MIN and MAX propagate NaN.
    BAND, BOR and BXOR take integers and bool.  LAND, LOR and LXOR give 0 or 1.
    """

    SUM = 0
    PROD = 1
    MIN = 2
    MAX = 3
    AVG = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    LAND = 8
    LOR = 9
    LXOR = 10


FLAG_KEYED = 1 << 0
FLAG_REPRODUCIBLE = 1 << 1
FLAG_WIDE = 1 << 2
FLAG_VECTOR = 1 << 4
FLAG_NOSYNC = 1 << 5

CONFIG_INSECURE = 1 << 0
CONFIG_REPRODUCIBLE = 1 << 1
CONFIG_WIDE = 1 << 2
CONFIG_PRIVATE = 1 << 3
CONFIG_CHECK_DATAGRAMS = 1 << 4
CONFIG_NOSYNC = 1 << 5

TAG_NONE = -1
UNDEFINED = -1
NO_DEADLINE = 0xffffffff
