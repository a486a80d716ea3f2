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
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from flowc.errors import ResourceExhaustedError, UnavailableError, UnknownError
from flowc_runtime.dlpack import CUDA, Exchanged, new_capsule, taken
from flowc_runtime.dlpack import is_on_gpu as says_gpu

_OUT_OF_MEMORY = 2
_STREAM = 2  # the default stream of a thread


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
        self._must(getattr(self.library, name)(*arguments, ctypes.c_void_p(_STREAM)))

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
        _driver().call("cuMemAllocAsync", ctypes.byref(place), ctypes.c_size_t(max(size, 1)))
        _driver().call("cuStreamSynchronize")
        self.address, self.bytes = place.value, size
        weakref.finalize(self, _free, self.address)

    def upload(self, array: np.ndarray) -> None:
        """Takes the bytes of an array."""
        source = np.ascontiguousarray(array)
        if self.bytes:
            where, size = ctypes.c_uint64(self.address), ctypes.c_size_t(self.bytes)
            _driver().call("cuMemcpyHtoDAsync_v2", where, ctypes.c_void_p(source.ctypes.data), size)
            _driver().call("cuStreamSynchronize")

    def download(self, array: np.ndarray) -> None:
        """Gives its bytes to an array, which is contiguous."""
        download_from(self.address, array)


def download_from(address: int, array: np.ndarray) -> None:
    """Fills an array, which is contiguous, with what lies at an address of the GPU."""
    if array.nbytes:
        target, where = ctypes.c_void_p(array.ctypes.data), ctypes.c_uint64(address)
        _driver().call("cuMemcpyDtoHAsync_v2", target, where, ctypes.c_size_t(array.nbytes))
        _driver().call("cuStreamSynchronize")


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
        sizes = (self.shape[i + 1 :] for i in range(len(self.shape)))
        return tuple(math.prod(inner) * self.dtype.itemsize for inner in sizes)

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


def is_on_gpu(value: Any) -> bool:
    """Whether a value is an array of a library on a GPU."""
    return hasattr(value, "__cuda_array_interface__") or says_gpu(value)


def found_on_gpu(value: Any) -> DeviceArray:
    """The array that an object with `__cuda_array_interface__` (version 2 or later) or DLPack has
    on a GPU, as tensors of PyTorch and arrays of CuPy, Numba and JAX do; what the object's stream
    was asked before is done first. Raises `TypeError` where its elements do not lie side by side,
    `UnavailableError` without a driver."""
    if isinstance(value, DeviceArray):
        return value
    interface: Mapping[str, Any] | None = getattr(value, "__cuda_array_interface__", None)
    if interface is None:
        there = taken(value)
        return DeviceArray(there.address, there.shape, there.dtype, there.owner)
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
