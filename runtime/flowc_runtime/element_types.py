"""flowc's dtype names as NumPy dtypes, and what may be fed where.

In: arrays, scalars, lists, DLPack objects. Out: a dense array of the wanted dtype. Invariant:
values are converted within a kind or to a wider kind (int to float, never float to int), as NumPy's
"same_kind" rule has it; integers keep their values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_NUMPY = {
    "f16": np.float16, "f32": np.float32, "f64": np.float64, "i8": np.int8, "i16": np.int16,
    "i32": np.int32, "i64": np.int64, "u8": np.uint8, "u16": np.uint16, "u32": np.uint32,
    "u64": np.uint64, "bool": np.bool_, "c64": np.complex64, "c128": np.complex128,
    "qi8": np.int8, "qu8": np.uint8, "qi16": np.int16, "qu16": np.uint16, "qi32": np.int32,
}  # fmt: skip

_WIDTH_OF_KIND = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}


def numpy_dtype(name: str) -> np.dtype[Any]:
    """The NumPy dtype. bf16 is `ml_dtypes.bfloat16` where that is installed, else raw uint16.

    Raises `KeyError` for a name that no compiled model has.
    """
    if name != "bf16":
        return np.dtype(_NUMPY[name])
    try:
        import ml_dtypes
    except ImportError:
        return np.dtype(np.uint16)
    return np.dtype(ml_dtypes.bfloat16)


def as_dense(value: Any, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """The value as a C-contiguous, aligned array of the dtype; itself when it is one.

    Raises `TypeError` when its elements cannot become that dtype, or integers do not fit it.
    """
    if isinstance(value, np.ndarray):
        array: np.ndarray[Any, Any] = value
    elif hasattr(value, "__dlpack__") and not isinstance(value, np.generic):
        array = np.from_dlpack(value)
    else:
        return _from_python(value, dtype)
    if array.dtype != dtype and not _is_convertible(array.dtype, dtype):
        raise TypeError(f"elements of type {array.dtype} cannot become {dtype}")
    check_range(array, dtype)
    return np.require(array, dtype, ("C", "A"))


def check_range(array: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> None:
    """Raises `TypeError` for integers that an integer dtype does not hold."""
    if array.dtype.kind not in "iu" or dtype.kind not in "iu" or not array.size:
        return
    if np.can_cast(array.dtype, dtype):
        return
    limits = np.iinfo(dtype)
    for found in (int(array.min()), int(array.max())):
        if not limits.min <= found <= limits.max:
            raise TypeError(f"{found} does not fit {dtype}: {limits.min} to {limits.max}")


def _is_convertible(source: np.dtype[Any], wanted: np.dtype[Any]) -> bool:
    if wanted.kind == "V":  # bfloat16
        return source.kind in "buif"
    if source.kind == "V":
        return wanted.kind in "fc" and source.name == "bfloat16"
    return np.can_cast(source, wanted, "same_kind")


def _from_python(value: Any, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Numbers and nested lists of them: a Python int has no width until it is stored."""
    found = np.asarray(value)
    kind = "f" if dtype.kind == "V" else dtype.kind
    fits = found.size == 0 or (
        found.dtype.kind in _WIDTH_OF_KIND
        and kind in _WIDTH_OF_KIND
        and _WIDTH_OF_KIND[found.dtype.kind] <= _WIDTH_OF_KIND[kind]
    )
    if not fits:
        raise TypeError(f"elements of type {found.dtype} cannot become {dtype}")
    try:
        return np.require(np.asarray(value, dtype), requirements=("C", "A"))
    except OverflowError as error:
        raise TypeError(str(error)) from error
