"""The GPU that is there: what its driver says of it.

In: nothing. Out: its architecture. Asks `libcuda` through ctypes; programs find their GPU
themselves (`flowc_runtime.native.cuda`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable

from flowc.errors import UnavailableError

_MAJOR, _MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_*
HOST_CODE = -1  # what a driver without a GPU runs


def present_architecture(known: Iterable[int]) -> int:
    """The newest architecture that flowc knows and the first GPU runs. Raises `UnavailableError`
    where there is no driver or no GPU."""
    found = _architecture()
    if found == 0:
        return HOST_CODE
    fitting = [a for a in known if a // 10 == found // 10 and a <= found]
    older = [a for a in known if a <= found]
    if not older:
        text = f"a GPU of architecture sm_{found}: flowc has code from sm_{min(known)} on"
        raise UnavailableError(text)
    return max(fitting or older)


def _architecture() -> int:
    hint = "compile for a GPU by its name (cuda:sm_90), or for a CPU (native)"
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        raise UnavailableError("no CUDA driver: libcuda.so.1 is not there", hint=hint) from None
    code = driver.cuInit(0)
    count, device, major, minor = (ctypes.c_int() for _ in range(4))
    code = code or driver.cuDeviceGetCount(ctypes.byref(count))
    if code or not count.value:
        text = f"the CUDA driver finds no GPU (it reports {code})"
        raise UnavailableError(text, hint=hint)
    driver.cuDeviceGet(ctypes.byref(device), 0)
    driver.cuDeviceGetAttribute(ctypes.byref(major), _MAJOR, device)
    driver.cuDeviceGetAttribute(ctypes.byref(minor), _MINOR, device)
    return 10 * major.value + minor.value
