"""What answers the calls of `session_runtime.c`: functions over pointers, which ctypes wraps.

In: the structs of `session_abi.h`. Out: a code, and tensors in memory that `free` takes back.
Invariants: no exception leaves a call: it becomes a code and a message; a `flowc_session` is a
reference to a `HostedSession`, which `release` gives back.
"""

from __future__ import annotations

import atexit
import ctypes
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from ctypes import c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint64, c_void_p
from typing import Any

import numpy as np

from flowc.cc.hosted_session import HostedSession
from flowc.dtypes import DType, from_enum, string
from flowc.errors import (
    InvalidArgumentError,
    InvalidModelError,
    OpError,
    ResourceExhaustedError,
    UnimplementedError,
    UnsupportedError,
    UsageError,
)

MESSAGE_SIZE = 8192
ALIGNMENT = 64
TEXT = np.dtype([("data", np.uintp), ("size", np.uint64)])  # flowc_bytes
UNKNOWN, INVALID_ARGUMENT, INTERNAL = 2, 3, 13


class GivenOptions(ctypes.Structure):
    _fields_ = [("target", c_char_p), ("allow", c_char_p), ("threads", c_int32)]


class GivenBytes(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("size", c_uint64)]


class GivenTensor(ctypes.Structure):
    _fields_ = [
        ("dtype", c_int32),
        ("rank", c_int32),
        ("dims", c_void_p),
        ("data", c_void_p),
        ("size", c_uint64),
    ]


class RunRequest(ctypes.Structure):
    _fields_ = [
        ("input_count", c_size_t),
        ("input_names", ctypes.POINTER(c_char_p)),
        ("inputs", ctypes.POINTER(GivenTensor)),
        ("output_count", c_size_t),
        ("output_names", ctypes.POINTER(c_char_p)),
        ("target_count", c_size_t),
        ("target_names", ctypes.POINTER(c_char_p)),
        ("timeout_ms", c_int64),
    ]


def _memory_view() -> Callable[[int, int, int], memoryview]:
    view = ctypes.pythonapi.PyMemoryView_FromMemory
    return ctypes.PYFUNCTYPE(ctypes.py_object, c_void_p, ctypes.c_ssize_t, c_int)(
        ctypes.cast(view, c_void_p).value or 0
    )


def _allocate() -> Callable[[int, int], int | None]:
    function = ctypes.CDLL(None).aligned_alloc
    function.restype, function.argtypes = c_void_p, [c_size_t, c_size_t]
    return function


_view = _memory_view()
_aligned_alloc = _allocate()


# -- the calls


def _make(options: int, session: int) -> None:
    given = GivenOptions.from_address(options)
    allow = [name for name in (given.allow or b"").decode().split(",") if name]
    made = HostedSession((given.target or b"").decode(), allow, given.threads or None)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(made))
    c_void_p.from_address(session).value = id(made)


def _create(session: int, graph: int) -> None:
    _session(session).create(_bytes(graph))


def _extend(session: int, graph: int) -> None:
    _session(session).extend(_bytes(graph))


def _run(session: int, request: int, outputs: int) -> None:
    asked = RunRequest.from_address(request)
    feeds = [
        (asked.input_names[i].decode(), asked.inputs[i].dtype, _array(asked.inputs[i]))
        for i in range(asked.input_count)
    ]
    names = [asked.output_names[i].decode() for i in range(asked.output_count)]
    targets = [asked.target_names[i].decode() for i in range(asked.target_count)]
    results = _session(session).run(feeds, names, targets, asked.timeout_ms)
    for i, (number, array) in enumerate(results):
        place = outputs + i * ctypes.sizeof(GivenTensor)
        _give(GivenTensor.from_address(place), from_enum(number), array)


def _close(session: int) -> None:
    _session(session).close()


def _release(session: int) -> None:
    with suppress(Exception):
        held = _session(session)
        ctypes.pythonapi.Py_DecRef(ctypes.py_object(held))
        held.close()


def _leave() -> None:
    """What Python does when a program ends, as far as other threads let it."""
    with suppress(Exception):
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()


def _session(session: int) -> HostedSession:
    return ctypes.cast(session, ctypes.py_object).value


# -- tensors


def _bytes(given: int) -> bytes:
    found = GivenBytes.from_address(given)
    return ctypes.string_at(found.data, found.size) if found.size else b""


def _array(given: Any) -> np.ndarray:
    """A tensor's elements, where they lie."""
    dims = tuple(c_int64.from_address(given.dims + 8 * i).value for i in range(given.rank))
    try:
        dtype = from_enum(given.dtype)
    except TypeError as error:
        raise InvalidArgumentError(str(error)) from None
    if dtype.kind == "handle":
        raise UnimplementedError(f"a tensor of type {dtype.name} cannot be fed")
    count = 1
    for size in dims:
        count *= size
    numpy = TEXT if dtype is string else dtype.numpy
    if min(dims, default=0) < 0 or count * numpy.itemsize != given.size:
        raise InvalidArgumentError(
            f"a {dtype.name} tensor of shape {list(dims)} has {given.size} bytes, expected "
            f"{count * numpy.itemsize}"
        )
    if not count:
        return np.zeros(dims, dtype.numpy)
    found = np.ndarray(dims, numpy, _view(given.data, given.size, 0x100))  # to be read
    if dtype is string:
        return _texts(found)
    return found if found.flags.aligned else found.copy()


def _texts(places: np.ndarray) -> np.ndarray:
    found = np.empty(places.size, object)
    for i, (data, size) in enumerate(places.ravel().tolist()):
        found[i] = ctypes.string_at(data, size) if size else b""
    return found.reshape(places.shape)


def _give(place: GivenTensor, dtype: DType, array: np.ndarray) -> None:
    """Copies an array into a block of C's: its dims, then its elements, then texts."""
    if dtype.kind == "handle":
        raise UnimplementedError(f"a tensor of type {dtype.name} cannot be fetched")
    texts = list(_encoded(array)) if dtype is string else []
    size = array.size * TEXT.itemsize if dtype is string else array.nbytes
    head = -(-8 * array.ndim // ALIGNMENT) * ALIGNMENT or ALIGNMENT
    needed = head + size + sum(map(len, texts))
    block = _aligned_alloc(ALIGNMENT, -(-needed // ALIGNMENT) * ALIGNMENT)
    if not block:
        raise ResourceExhaustedError(f"no memory for an output of {needed} bytes")
    dims = np.array(array.shape, np.int64)
    ctypes.memmove(block, dims.ctypes.data, dims.nbytes)
    place.dtype, place.rank = dtype.enum, array.ndim
    place.dims, place.data, place.size = block, block + head, size
    if dtype is string:
        lengths = np.array([len(text) for text in texts], np.uint64)
        places = np.empty(len(texts), TEXT)
        places["size"] = lengths
        places["data"] = block + head + size + np.cumsum(lengths) - lengths
        _copy(block + head, places.tobytes() + b"".join(texts))
    else:
        elements = np.ascontiguousarray(array)
        ctypes.memmove(block + head, elements.ctypes.data, size)


def _copy(place: int, content: bytes) -> None:
    ctypes.memmove(place, content, len(content))


def _encoded(array: np.ndarray) -> Iterator[bytes]:
    for text in array.ravel().tolist():
        yield text.encode() if isinstance(text, str) else bytes(text)


# -- errors


def _code_of(error: BaseException) -> int:
    """TensorFlow's number for an error."""
    if isinstance(error, OpError):
        return error.error_code
    codes: tuple[tuple[type[BaseException], int], ...] = (
        (UnsupportedError, UnimplementedError.error_code),
        (MemoryError, ResourceExhaustedError.error_code),
        (UsageError, INVALID_ARGUMENT),
        (InvalidModelError, INVALID_ARGUMENT),
        (TypeError, INVALID_ARGUMENT),
        (ValueError, INVALID_ARGUMENT),
        (KeyError, INVALID_ARGUMENT),
        (OSError, UNKNOWN),
    )
    return next((code for kind, code in codes if isinstance(error, kind)), INTERNAL)


def _guarded(function: Callable[..., None]) -> Callable[..., int]:
    def call(*args: int) -> int:
        try:
            function(*args[:-1])
            return 0
        except BaseException as error:
            text = str(error) or type(error).__name__
            content = text.encode("utf-8", "replace")[: MESSAGE_SIZE - 1]
            _copy(args[-1], content + b"\0")
            return _code_of(error)

    return call


_CALL_2 = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p)
_CALL_3 = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p)
_CALL_4 = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_void_p)


class SessionCalls(ctypes.Structure):
    """`host_calls` of `session_runtime.c`."""

    _fields_ = [
        ("make", _CALL_3),
        ("create", _CALL_3),
        ("extend", _CALL_3),
        ("run", _CALL_4),
        ("close", _CALL_2),
        ("release", ctypes.CFUNCTYPE(None, c_void_p)),
        ("leave", ctypes.CFUNCTYPE(None)),
    ]


CALLS = SessionCalls(
    _CALL_3(_guarded(_make)),
    _CALL_3(_guarded(_create)),
    _CALL_3(_guarded(_extend)),
    _CALL_4(_guarded(_run)),
    _CALL_2(_guarded(_close)),
    ctypes.CFUNCTYPE(None, c_void_p)(_release),
    ctypes.CFUNCTYPE(None)(_leave),
)


def fill(place: int) -> None:
    """Writes the calls to where the library wants them; they live as long as this module."""
    ctypes.memmove(place, ctypes.addressof(CALLS), ctypes.sizeof(CALLS))
