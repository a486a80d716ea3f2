"""The structs of `flowc/op.h` for ctypes.

In: attrs and arrays. Out: structs, with what keeps their memory. Invariant: fields and order are
those of the header; `ABI` is the number of the layout.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_double, c_int32, c_int64, c_uint32, c_void_p
from typing import Any

from flowc.dtypes import DType, as_dtype

ABI = 1
MESSAGE_SIZE = 512
MOST_DIMS = 64
PERSISTENT = 2  # `is_stateful` of an op whose nodes keep memory


class OpTensor(ctypes.Structure):
    _fields_ = [
        ("data", c_void_p),
        ("dims", POINTER(c_int64)),
        ("rank", c_int32),
        ("dtype", c_int32),
    ]


class OpAttr(ctypes.Structure):
    _fields_ = [
        ("name", c_char_p),
        ("kind", c_int32),
        ("count", c_int32),
        ("i", c_int64),
        ("f", c_double),
        ("s", c_char_p),
        ("ints", POINTER(c_int64)),
        ("floats", POINTER(c_double)),
    ]


class OpCall(ctypes.Structure):
    pass


Allocate = CFUNCTYPE(c_void_p, POINTER(OpCall), c_int32, c_int32, POINTER(c_int64))
OpCall._fields_ = [
    ("size", c_uint32),
    ("input_count", c_int32),
    ("output_count", c_int32),
    ("attr_count", c_int32),
    ("inputs", POINTER(OpTensor)),
    ("outputs", POINTER(OpTensor)),
    ("attrs", POINTER(OpAttr)),
    ("message", c_void_p),
    ("message_size", c_int32),
    ("status", c_int32),
    ("host", c_void_p),
    ("allocate", Allocate),
    ("scratch", c_void_p),
    ("persistent", c_void_p),
]


def free_scratch(call: OpCall) -> None:
    """Frees what a kernel has taken for the time of its call: blocks that begin with the address of
    the one before."""
    free = ctypes.CDLL(None).free
    free.argtypes, free.restype = [c_void_p], None
    block = call.scratch
    while block:
        before = c_void_p.from_address(block).value
        free(block)
        block = before


class OpShape(ctypes.Structure):
    _fields_ = [("rank", c_int32), ("dims", POINTER(c_int64))]


class OpShapes(ctypes.Structure):
    _fields_ = [
        ("size", c_uint32),
        ("input_count", c_int32),
        ("output_count", c_int32),
        ("attr_count", c_int32),
        ("inputs", POINTER(OpShape)),
        ("outputs", POINTER(OpShape)),
        ("attrs", POINTER(OpAttr)),
        ("message", c_void_p),
        ("message_size", c_int32),
        ("status", c_int32),
    ]


ShapeCall = CFUNCTYPE(None, POINTER(OpShapes))
ComputeCall = CFUNCTYPE(None, POINTER(OpCall))


class OpDefinition(ctypes.Structure):
    _fields_ = [
        ("abi", c_uint32),
        ("size", c_uint32),
        ("signature", c_char_p),
        ("shape", c_void_p),
        ("is_stateful", c_int32),
    ]


class KernelDefinition(ctypes.Structure):
    _fields_ = [
        ("abi", c_uint32),
        ("size", c_uint32),
        ("op", c_char_p),
        ("types", c_char_p),
        ("compute", c_void_p),
        ("device", c_char_p),
    ]


class ResourceDefinition(ctypes.Structure):
    _fields_ = [
        ("abi", c_uint32),
        ("size", c_uint32),
        ("name", c_char_p),
        ("attrs", c_char_p),
        ("create", CFUNCTYPE(c_void_p, POINTER(OpAttr), c_int32)),
        ("destroy", CFUNCTYPE(None, c_void_p)),
        ("save", CFUNCTYPE(c_int64, c_void_p, c_char_p, c_int64)),
        ("restore", CFUNCTYPE(None, c_void_p, c_char_p, c_int64)),
    ]


class OpLibrary(ctypes.Structure):
    _fields_ = [
        ("abi", c_uint32),
        ("size", c_uint32),
        ("ops", c_void_p),
        ("ops_end", c_void_p),
        ("kernels", c_void_p),
        ("kernels_end", c_void_p),
        ("resources", c_void_p),
        ("resources_end", c_void_p),
    ]


class SymbolInfo(ctypes.Structure):
    """What `dladdr` says of an address."""

    _fields_ = [
        ("file", c_char_p),
        ("base", c_void_p),
        ("symbol", c_char_p),
        ("symbol_address", c_void_p),
    ]


def attr_array(attrs: Mapping[str, Any]) -> Any:
    """Attrs as an array of structs, which keeps what it points to."""
    return (OpAttr * len(attrs))(*[_attr(name, value) for name, value in attrs.items()])


def _attr(name: str, value: Any) -> OpAttr:
    found = OpAttr(name=name.encode())
    if isinstance(value, tuple | list):
        whole = not any(isinstance(v, float) for v in value)
        found.kind, found.count = ord("I" if whole else "F"), len(value)
        if whole:
            found.ints = (c_int64 * len(value))(*map(number_of, value))
        else:
            found.floats = (c_double * len(value))(*value)
    elif isinstance(value, float):
        found.kind, found.f = ord("f"), value
    elif isinstance(value, str | bytes):
        found.kind, found.s = ord("s"), value.encode() if isinstance(value, str) else value
    else:
        found.kind, found.i = ord("i"), number_of(value)
    return found


def number_of(value: Any) -> int:
    """An int, a bool, or the number of a dtype."""
    return value.enum if isinstance(value, DType) else int(value)


def dims_array(dims: Sequence[int]) -> Any:
    """Sizes as C has them; room for one where there is none."""
    return (c_int64 * max(len(dims), 1))(*dims)


def dtype_number(dtype: Any) -> int:
    return as_dtype(dtype).enum
