"""Arrays in the memory of a GPU, exchanged with other libraries by DLPack.

In: an address with shape and dtype, or an object with `__dlpack__`. Out: a capsule "dltensor", or
what one holds. Invariants: the consumer of a capsule calls its deleter once, and until then the
owner of the memory lives; a capsule that nobody took does so itself. Source: DLPack 0.8,
`dlpack.h`; the protocol of the Python array API.
"""

from __future__ import annotations

import ctypes
import weakref
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from flowc_runtime.element_types import numpy_dtype

CUDA = 2  # kDLCUDA
LEGACY_STREAM = 1  # the default stream that a process shares, which every library knows
_NAME, _TAKEN = b"dltensor", b"used_dltensor"
_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}  # by NumPy's kinds
_BFLOAT = 4


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int),
        ("device_number", ctypes.c_int),
        ("rank", ctypes.c_int),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_uint64),
        ("context", ctypes.c_void_p),  # from here on of DLManagedTensor
        ("deleter", ctypes.c_void_p),
    )


_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_python = ctypes.pythonapi
_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", _python)
)
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_IsValid", _python)
)
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", _python)
)
_rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_SetName", _python)
)
_given: dict[int, tuple[Any, ...]] = {}  # by number, what lives until a deleter is called
_numbers = count(1)


@_DELETER
def _delete(address: int) -> None:
    _given.pop(_Tensor.from_address(address).context, None)


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def _capsule_ends(capsule: int) -> None:
    if _is_valid(capsule, _NAME):
        _delete(_pointer(capsule, _NAME))


@dataclass(frozen=True, slots=True)
class Exchanged:
    """Memory of GPU 0, elements side by side. `owner`: lives as long as the memory does."""

    address: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    owner: Any


def new_capsule(array: Exchanged) -> Any:
    """A capsule for another library. Raises `BufferError` for a dtype that DLPack does not have."""
    rank, dtype = len(array.shape), array.dtype
    code = _BFLOAT if dtype.name == "bfloat16" else _CODES.get(dtype.kind)
    if code is None:
        raise BufferError(f"DLPack has no elements of dtype {dtype}")
    shape = (ctypes.c_int64 * max(rank, 1))(*array.shape)
    number = next(_numbers)
    tensor = _Tensor(array.address, CUDA, 0, rank, code, 8 * dtype.itemsize, 1)
    tensor.shape, tensor.context = shape, number
    tensor.deleter = ctypes.cast(_delete, ctypes.c_void_p).value
    _given[number] = tensor, shape, array.owner
    return _new(ctypes.addressof(tensor), _NAME, ctypes.cast(_capsule_ends, ctypes.c_void_p))


def is_on_gpu(value: Any) -> bool:
    """Whether an object says by DLPack that its elements are on a GPU of CUDA."""
    device = getattr(value, "__dlpack_device__", None)
    return device is not None and device()[0] == CUDA


def taken(value: Any) -> Exchanged:
    """What an object that is on a GPU gives; its elements are there once the legacy default stream
    has done what it was asked. Raises `TypeError` where
    they do not lie side by side, are of a dtype that NumPy does not have, or on another GPU."""
    capsule = value.__dlpack__(stream=LEGACY_STREAM)
    place = _pointer(id(capsule), _NAME)
    _rename(id(capsule), _TAKEN)
    tensor = _Tensor.from_address(place)
    owner = _Owner(place)
    shape = tuple(tensor.shape[: tensor.rank])
    kind = next((k for k, code in _CODES.items() if code == tensor.code), None)
    is_bfloat = tensor.code == _BFLOAT and tensor.bits == 16
    if (kind is None and not is_bfloat) or tensor.lanes != 1:
        raise TypeError(f"an array on a GPU of DLPack's type {tensor.code} is fed")
    if tensor.device_number:
        raise TypeError(f"an array on GPU {tensor.device_number} is fed, where GPU 0 computes")
    if tensor.strides and not _is_dense(shape, tensor.strides[: tensor.rank]):
        strides = tuple(tensor.strides[: tensor.rank])
        raise TypeError(f"an array on a GPU of strides {strides} is fed: must lie side by side")
    dtype = numpy_dtype("bf16") if is_bfloat else np.dtype(f"{kind}{tensor.bits // 8}")
    return Exchanged((tensor.data or 0) + tensor.offset, shape, dtype, owner)


class _Owner:
    """Calls the deleter of what was taken when nobody holds it."""

    def __init__(self, place: int) -> None:
        deleter = _Tensor.from_address(place).deleter
        if deleter:
            weakref.finalize(self, _DELETER(deleter), place)


def _is_dense(shape: tuple[int, ...], strides: list[int]) -> bool:
    expected = 1
    for size, stride in zip(reversed(shape), reversed(strides)):
        if size != 1 and stride != expected:
            return 0 in shape
        expected *= size
    return True
