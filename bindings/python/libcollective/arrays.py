# SPDX-License-Identifier: LGPL-2.1-or-later
"""Memory of arrays: NumPy, the buffer protocol, DLPack; and the types of their elements."""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import Any, NamedTuple, Sequence

import numpy as np

from .structs import Op, Type

_TYPES = {
    "int8": Type.INT8, "uint8": Type.UINT8, "int16": Type.INT16, "uint16": Type.UINT16,
    "int32": Type.INT32, "uint32": Type.UINT32, "int64": Type.INT64, "uint64": Type.UINT64,
    "float16": Type.FLOAT16, "bfloat16": Type.BFLOAT16, "float32": Type.FLOAT32,
    "float64": Type.FLOAT64,
}

_INTEGERS = range(Type.INT8, Type.FLOAT16)
_BITWISE = (Op.BAND, Op.BOR, Op.BXOR)

#: Reductions that make sense of truth values, which are stored as 0 and 1.
_OF_BOOL = (Op.MIN, Op.MAX, *_BITWISE, Op.LAND, Op.LOR, Op.LXOR)

#: Reductions that treat the two parts of a complex number alike.
_OF_COMPLEX = {"complex64": Type.FLOAT32, "complex128": Type.FLOAT64}


class Element(NamedTuple):
    """How an element is handed to the library.

    type: type of the library
    parts: number of its elements that make one of the array
    """

    type: Type
    parts: int


class Memory(NamedTuple):
    """An array whose memory an operation uses.

    array: as NumPy sees the memory
    origin: what the caller gave, or the same
    name: name of the type, of which NumPy may have none (bfloat16)
    is_copy: True if the memory is a copy of the caller's values
    """

    array: np.ndarray
    origin: Any
    name: str
    is_copy: bool = False

    @property
    def address(self) -> int:
        return self.array.ctypes.data


# ---- DLPack: the part of its structs that is needed ------------------------------------------

class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


_DEVICE_CPU = 1
_CODES = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool"}

_capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi))


def _dlpack_type(tensor: _DLTensor) -> tuple[str, np.dtype]:
    kind = _CODES.get(tensor.code)
    if kind is None or tensor.lanes != 1:
        raise TypeError(f"DLPack's type {tensor.code} of {tensor.bits} bits is not supported")
    name = "bool" if kind == "bool" else f"{kind}{tensor.bits}"
    return name, np.dtype("uint16" if name == "bfloat16" else name)


def _from_dlpack(owner: Any) -> Memory:
    device = owner.__dlpack_device__()[0]
    if device != _DEVICE_CPU:
        raise TypeError(f"the array is on a device (DLPack's kind {int(device)}): copy it to the "
                        "CPU first")
    capsule = owner.__dlpack__()
    tensor = _DLTensor.from_address(_capsule_pointer(capsule, b"dltensor"))
    name, dtype = _dlpack_type(tensor)
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    strides = None
    if tensor.strides:
        strides = tuple(tensor.strides[i] * dtype.itemsize for i in range(tensor.ndim))
    array = _view(tensor, dtype, shape, strides, capsule)
    return Memory(array, owner, name)


def _view(tensor: _DLTensor, dtype: np.dtype, shape: tuple, strides: tuple | None,
          capsule: Any) -> np.ndarray:
    if 0 in shape:
        return np.empty(shape, dtype)
    length = dtype.itemsize
    for extent, step in zip(shape, strides or ()):
        length += (extent - 1) * step
    if strides is None:
        length *= int(np.prod(shape, dtype=np.int64))
    buffer: Any = (ctypes.c_char * length).from_address(tensor.data + tensor.byte_offset)
    # The array has the buffer as its base, and the buffer the capsule, which frees the tensor.
    buffer.capsule = capsule
    return np.ndarray(shape, dtype, buffer, strides=strides)


@lru_cache(maxsize=64)
def _name_of(dtype: np.dtype) -> str:
    """The name of a type, which NumPy makes anew each time."""
    return dtype.name


# ---- what the caller gives -------------------------------------------------------------------

def _of_ndarray(array: np.ndarray, origin: Any) -> Memory:
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError("a masked array has two memories: pass its data, or a filled copy")
    return Memory(array, origin, _name_of(array.dtype))


def _find(owner: Any) -> Memory | None:
    """The memory of an object; None: it has none."""
    if isinstance(owner, np.ndarray):
        return _of_ndarray(owner, owner)
    if isinstance(owner, np.generic):
        return None
    if hasattr(owner, "__dlpack__"):
        return _from_dlpack(owner)
    try:
        view = memoryview(owner)
    except TypeError:
        return None
    return _of_ndarray(np.asarray(view), owner)


def _is_usable(array: np.ndarray) -> bool:
    return array.dtype.isnative and array.flags.c_contiguous and array.flags.aligned


def source(owner: Any) -> Memory:
    """The memory of an input, copied if it is not contiguous or has the other byte order."""
    memory = _find(owner) or _of_ndarray(np.asarray(owner), owner)._replace(is_copy=True)
    array = memory.array
    if array.dtype.hasobject:
        raise TypeError(f"{type(owner).__name__} has objects as elements, which stay in their "
                        "process: pass an array of numbers")
    if _is_usable(array):
        return memory
    array = np.array(array, dtype=array.dtype.newbyteorder("="), order="C", copy=True)
    return memory._replace(array=array, is_copy=True)


def target(owner: Any, what: str = "out") -> Memory:
    """The memory of a result, which the operation writes.

    Raises TypeError if it cannot be written as it is.
    """
    memory = _find(owner)
    if memory is None:
        raise TypeError(f"{what} has no memory that can be written: {type(owner).__name__} is "
                        "no array")
    array = memory.array
    if array.dtype.hasobject:
        raise TypeError(f"{what} has objects as elements: pass an array of numbers")
    if not array.flags.writeable:
        raise TypeError(f"{what} is read-only")
    if not array.dtype.isnative:
        raise TypeError(f"{what} has the byte order of other hosts ({array.dtype.str}): pass an "
                        "array in native byte order")
    if not array.flags.c_contiguous:
        raise TypeError(f"{what} is not C-contiguous: pass an array that is, and copy from it")
    if not array.flags.aligned:
        raise TypeError(f"{what} is not aligned to its elements")
    return memory


def result(out: Any, shape: Sequence[int], like: Memory) -> Memory:
    """The memory of a result: that of @out if it fits, or else a new array."""
    if out is None:
        array = np.empty(tuple(shape), like.array.dtype)
        return Memory(array, array, like.name)
    memory = target(out)
    if memory.array.shape != tuple(shape):
        raise ValueError(f"out has the shape {memory.array.shape}, and the result "
                         f"{tuple(shape)}")
    if memory.name != like.name:
        raise TypeError(f"out has elements of type {memory.name}, and the result of "
                        f"{like.name}")
    return memory


def is_number(owner: Any) -> bool:
    """Is this a number without memory of its own, as of Python?"""
    return isinstance(owner, (bool, int, float, complex, np.generic))


# ---- elements --------------------------------------------------------------------------------

def moved(memory: Memory) -> Element:
    """The elements of an array that is only moved: any type without objects."""
    if memory.name in _TYPES:
        return Element(_TYPES[memory.name], 1)
    return Element(Type.UINT8, memory.array.dtype.itemsize)


def reduced(memory: Memory, op: Op) -> Element:
    """The elements of an array that is reduced.

    Raises TypeError for a type that has no such reduction.
    """
    name = memory.name
    if name == "bool" and op in _OF_BOOL:
        return Element(Type.UINT8, 1)
    if name in _OF_COMPLEX and op in (Op.SUM, Op.AVG):
        return Element(_OF_COMPLEX[name], 2)
    if name == "bool":
        raise TypeError(f"bool has no {op.name}: use LAND, LOR or LXOR, or convert it to an "
                        "integer type")
    if name not in _TYPES:
        raise TypeError(f"there is no {op.name} of {name}: the types are {', '.join(_TYPES)} "
                        "and bool")
    if op in _BITWISE and _TYPES[name] not in _INTEGERS:
        raise TypeError(f"{op.name} takes integers, not {name}")
    return Element(_TYPES[name], 1)


def op_of(op: Op | str | int) -> Op:
    """The reduction that an argument names.

    Raises ValueError if there is none.
    """
    if isinstance(op, Op):
        return op
    try:
        return Op[op.upper()] if isinstance(op, str) else Op(op)
    except (KeyError, ValueError):
        names = ", ".join(known.name.lower() for known in Op)
        raise ValueError(f"there is no reduction {op!r}: they are {names}") from None


def axis_of(axis: int, ndim: int, what: str = "axis") -> int:
    """An axis as a number from 0, as NumPy counts: negative ones from the last."""
    if not -ndim <= axis < ndim:
        raise ValueError(f"{what} {axis} is out of bounds for an array of {ndim} dimensions")
    return axis % ndim
