"""Memory of a GPU that outlives a run, and copies between it and arrays.

In: sizes and arrays. Out: addresses that programs are given. Invariant: what a buffer holds is
settled when a call returns; its memory is freed with the object. Asks `libcuda` through ctypes, on
the context that programs use too, the primary one.
"""

from __future__ import annotations

import ctypes
import math
import os
import weakref
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import accumulate
from typing import Any

import numpy as np

from flowc.errors import ResourceExhaustedError, UnavailableError, UnknownError
from flowc_runtime.dlpack import CUDA, LEGACY_STREAM, Exchanged, new_capsule, taken
from flowc_runtime.dlpack import is_on_gpu as says_gpu

_OUT_OF_MEMORY = 2
SMALL_RESULT = 16 << 10  # bytes of results that share memory, and keep each other's
_ALIGNMENT = 256  # as the driver's own
_STREAM = ctypes.c_void_p(2)  # the default stream of a thread


class _Driver:
    """The driver with the context of the first GPU."""

    def __init__(self) -> None:
        try:
            self.library: Any = ctypes.CDLL("libcuda.so.1")
        except OSError:
            raise UnavailableError("no CUDA driver: libcuda.so.1 is not there") from None
        self.device, self.context = ctypes.c_int(), ctypes.c_void_p()
        self.process = os.getpid()
        self._must(self.library.cuInit(0))
        self._must(self.library.cuDeviceGet(ctypes.byref(self.device), 0))
        retain = self.library.cuDevicePrimaryCtxRetain
        self._must(retain(ctypes.byref(self.context), self.device))

    def ask(self, name: str, *arguments: Any) -> None:
        self._must(getattr(self.library, name)(*arguments))

    def call(self, name: str, *arguments: Any) -> None:
        self._must(self.library.cuCtxSetCurrent(self.context))
        self._must(getattr(self.library, name)(*arguments, _STREAM))

    def finish(self) -> None:
        """Waits for what this thread has asked for."""
        self._must(self.library.cuStreamSynchronize(_STREAM))

    def _must(self, code: int) -> None:
        if code == _OUT_OF_MEMORY:
            raise ResourceExhaustedError("no memory on the GPU for variables and results")
        if code:
            raise UnknownError(f"the CUDA driver reports error {code}")


@cache
def _driver() -> _Driver:
    return _Driver()


def memory_of_gpu() -> int:
    """The bytes that the first GPU has."""
    size = ctypes.c_size_t()
    driver = _driver()
    driver.ask("cuDeviceTotalMem_v2", ctypes.byref(size), driver.device)
    return size.value


class DeviceBuffer:
    """A piece of a GPU's memory of `size` bytes. Raises `ResourceExhaustedError` where it has
    fewer."""

    __slots__ = ("__weakref__", "address", "bytes")

    def __init__(self, size: int) -> None:
        place = ctypes.c_uint64()
        driver = _driver()
        driver.call("cuMemAllocAsync", ctypes.byref(place), ctypes.c_size_t(max(size, 1)))
        driver.finish()
        self.address, self.bytes = place.value, size
        weakref.finalize(self, _free, self.address)

    def upload(self, array: np.ndarray) -> None:
        """Takes the bytes of an array."""
        source = np.ascontiguousarray(array)
        if self.bytes:
            where, size = ctypes.c_uint64(self.address), ctypes.c_size_t(self.bytes)
            _driver().call("cuMemcpyHtoDAsync_v2", where, ctypes.c_void_p(source.ctypes.data), size)
            _driver().finish()

    def download(self, array: np.ndarray) -> None:
        """Gives its bytes to an array, which is contiguous."""
        download_from(self.address, array)


def download_from(address: int, array: np.ndarray) -> None:
    """Fills an array, which is contiguous, with what lies at an address of the GPU."""
    if array.nbytes:
        target, where = ctypes.c_void_p(array.ctypes.data), ctypes.c_uint64(address)
        _driver().call("cuMemcpyDtoHAsync_v2", target, where, ctypes.c_size_t(array.nbytes))
        _driver().finish()


def finish_stream(stream: int) -> None:
    """Waits until a stream has done what it was asked: 1 and 2 are the default ones."""
    _driver().ask("cuCtxSetCurrent", _driver().context)
    _driver().ask("cuStreamSynchronize", ctypes.c_void_p(stream))


def _free(address: int) -> None:
    driver = _driver()
    if driver.process == os.getpid():
        driver.call("cuMemFreeAsync", ctypes.c_uint64(address))


class DeviceArray:
    """An array in the memory of the first GPU, elements side by side, that nothing changes: what a
    run gives where it is asked to leave results there (`Session.make_callable`), and may be fed.

    Libraries for GPUs take it by `__cuda_array_interface__` or DLPack without a copy; NumPy and
    `numpy()` get one on the host. `owner`: lives as long as the memory does.
    """

    __slots__ = ("address", "dtype", "owner", "shape")

    def __init__(
        self, address: int, shape: tuple[int, ...], dtype: np.dtype[Any], owner: Any
    ) -> None:
        self.address, self.shape, self.dtype, self.owner = address, shape, dtype, owner

    @classmethod
    def new(cls, shape: tuple[int, ...], dtype: np.dtype[Any]) -> DeviceArray:
        """Memory for an array. Raises `ResourceExhaustedError` where there is too little."""
        memory = DeviceBuffer(math.prod(shape) * dtype.itemsize)
        return cls(memory.address, shape, dtype, memory)

    @classmethod
    def of(cls, array: np.ndarray) -> DeviceArray:
        """A copy of an array of the host."""
        found = cls.new(array.shape, array.dtype)
        found.owner.upload(array)
        return found

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def strides(self) -> tuple[int, ...]:
        found, step = list[int](), self.dtype.itemsize
        for size in reversed(self.shape):
            found.append(step)
            step *= size
        return tuple(reversed(found))

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def numpy(self) -> np.ndarray:
        """A copy on the host."""
        found = np.empty(self.shape, self.dtype)
        download_from(self.address, found)
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("an array on a GPU is an array of NumPy only as a copy")
        return self.numpy() if dtype is None else self.numpy().astype(dtype, copy=False)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        where = {"data": (self.address, False), "strides": None, "stream": None, "version": 3}
        return {"shape": self.shape, "typestr": self.dtype.str, **where}

    def __dlpack__(self, *, stream: Any = None, **_: Any) -> Any:
        """The array as a DLPack capsule. Its run has ended, so that no stream has to wait."""
        return new_capsule(Exchanged(self.address, self.shape, self.dtype, self.owner))

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA, 0

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array of rank 0")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<DeviceArray of shape {self.shape} and dtype {self.dtype}>"


def new_results(forms: Sequence[tuple[tuple[int, ...], np.dtype[Any]]]) -> list[DeviceArray]:
    """Memory for results of one run, by their shapes and dtypes: small ones share a piece, since
    to ask for memory and to give it back takes as long as a small kernel. Raises
    `ResourceExhaustedError` where there is too little."""
    sizes = [math.prod(shape) * dtype.itemsize for shape, dtype in forms]
    small = [-(-size // _ALIGNMENT) * _ALIGNMENT for size in sizes if size <= SMALL_RESULT]
    shared = DeviceBuffer(sum(small)) if len(small) > 1 else None
    found, free = list[DeviceArray](), iter(accumulate(small, initial=0))
    for (shape, dtype), size in zip(forms, sizes):
        if shared is not None and size <= SMALL_RESULT:
            found.append(DeviceArray(shared.address + next(free), shape, dtype, shared))
        else:
            found.append(DeviceArray.new(shape, dtype))
    return found


def is_on_gpu(value: Any) -> bool:
    """Whether a value is an array of a library on a GPU."""
    if isinstance(value, (np.ndarray, DeviceArray)):
        return isinstance(value, DeviceArray)
    return hasattr(value, "__cuda_array_interface__") or says_gpu(value)


def found_on_gpu(value: Any) -> DeviceArray:
    """The array that an object with `__cuda_array_interface__` (version 2 or later) or DLPack has
    on a GPU, as tensors of PyTorch and arrays of CuPy, Numba and JAX do; what the object's stream
    was asked before is done first. Raises `TypeError` where its elements do not lie side by side,
    `UnavailableError` without a driver."""
    if isinstance(value, DeviceArray):
        return value
    if says_gpu(value):
        # First: by DLPack a library does what its own stream was asked before, where an interface
        # without a stream (version 2, as PyTorch's) leaves that to its reader.
        there = taken(value)
        finish_stream(LEGACY_STREAM)
        return DeviceArray(there.address, there.shape, there.dtype, there.owner)
    interface: Mapping[str, Any] = value.__cuda_array_interface__
    shape, dtype = tuple(interface["shape"]), np.dtype(interface["typestr"])
    strides = interface.get("strides")
    found = DeviceArray(interface["data"][0], shape, dtype, value)
    if strides is not None and found.size and tuple(strides) != found.strides:
        raise TypeError(
            f"an array on a GPU of strides {tuple(strides)} is fed, where elements must lie side by"
            f" side, as with strides {found.strides}"
        )
    if interface.get("stream") is not None:
        finish_stream(interface["stream"])
    return found
