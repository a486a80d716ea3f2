"""Single kernels of a GPU, run on this processor with arrays for their buffers.

In: a kernel of the device, arrays and ints. Out: what the grid writes.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np

from flowc.codegen.cuda.kernel import DeviceKernel
from flowc.codegen.cuda.simt import simt_object
from flowc.codegen.link.jit import engine_of
from flowc.codegen.targets import target_named

_ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_int64] * 5)
_IMAGE, _FUNCTION = 24, 8  # bytes: where the constant names its image, and that the function


class HostGrid:
    """A kernel of the device, compiled for this processor."""

    def __init__(self, kernel: DeviceKernel) -> None:
        self.kernel = kernel
        processor = target_named("native").processor
        self.engine = engine_of([simt_object(kernel, processor)])
        constant = self.engine.get_global_value_address(kernel.key)
        image = ctypes.c_int64.from_address(constant + _IMAGE).value
        self.entry = _ENTRY(ctypes.c_int64.from_address(image + _FUNCTION).value)

    def run(self, arrays: Sequence[np.ndarray], ints: Sequence[int], blocks: int) -> None:
        """The whole grid. `arrays`: one a buffer, which the kernel may write."""
        assert len(arrays) == len(self.kernel.buffers) and len(ints) == self.kernel.ints
        numbers = [*(a.ctypes.data for a in arrays), *ints, 0, blocks]
        values = [ctypes.c_int64(n) for n in numbers]
        table = (ctypes.c_void_p * len(values))(*(ctypes.addressof(v) for v in values))
        self.entry(table, blocks, 1, 1, self.kernel.block, 0)
