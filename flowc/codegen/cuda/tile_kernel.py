"""A kernel that works in tiles, as a kernel of the device.

In: LLVM IR of `kernel`, and the function of one element that it calls. Out: a `TileKernel`.
"""

from __future__ import annotations

from flowc.codegen.cuda.device_writer import ENTRY
from flowc.codegen.cuda.finish import ElementFunction
from flowc.codegen.cuda.kernel import DeviceKernel
from flowc.codegen.math import math_module_text
from flowc.dataclass import dataclass


@dataclass(frozen=True, eq=False)
class TileKernel(DeviceKernel):
    """`source` is LLVM IR, which calls `function` where there is one, and `functions`."""

    function: ElementFunction | None = None

    def module_texts(self) -> list[str]:
        name = f'define void @"{ENTRY}"(', f"define void @{self.key}("
        texts = [self.source.replace(*name, 1)]
        if self.functions:
            texts.append(math_module_text(self.functions))
        return texts + (self.function.texts() if self.function is not None else [])
