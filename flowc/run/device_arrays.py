"""Arrays of other libraries on a GPU, as values that are fed.

In: an object with `__cuda_array_interface__` (version 2 or later), as tensors of PyTorch, arrays of
CuPy and Numba, and `DeviceBuffer`s behind one have it. Out: an array of the host with its elements.
Invariant: what the object's stream was asked before is done first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


def copy_from_gpu(value: Any) -> np.ndarray:
    """The elements. Raises `TypeError` where they do not lie side by side, `UnavailableError`
    without a driver."""
    from flowc.run.device_buffers import download_from, finish_stream

    interface: Mapping[str, Any] = value.__cuda_array_interface__
    found = np.empty(tuple(interface["shape"]), np.dtype(interface["typestr"]))
    strides = interface.get("strides")
    if strides is not None and found.size and tuple(strides) != found.strides:
        raise TypeError(
            f"an array on a GPU of strides {tuple(strides)} is fed, where elements must lie side by"
            f" side, as with strides {found.strides}"
        )
    if interface.get("stream") is not None:
        finish_stream(interface["stream"])
    download_from(interface["data"][0], found)
    return found
