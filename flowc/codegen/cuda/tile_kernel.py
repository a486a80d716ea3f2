"""A kernel that works in tiles, as a kernel of the device.

In: LLVM IR of `kernel`, and the function of one element that it calls. Out: a `TileKernel`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from flowc.codegen.cuda.device_writer import ENTRY
from flowc.codegen.cuda.finish import ElementFunction
from flowc.codegen.cuda.kernel import DeviceKernel
from flowc.codegen.math import math_module_text

BLOCKS = 2  # that a multiprocessor shall hold at least: one waits where the other multiplies


@dataclass(frozen=True, eq=False)
class TileKernel(DeviceKernel):
    """`source` is LLVM IR, which calls `function` where there is one, and `functions`."""

    function: ElementFunction | None = None

    def module_texts(self) -> list[str]:
        head = re.compile(rf'^define void @"{ENTRY}"\((.*)\) nounwind$', re.MULTILINE)
        limits = f'"nvvm.maxntid"="{self.block}" "nvvm.minctasm"="{BLOCKS}"'
        entry = rf"define void @{self.key}(\1) nounwind {limits}"
        texts = [head.sub(entry, self.source, count=1)]
        if self.functions:
            texts.append(math_module_text(self.functions))
        return texts + (self.function.texts() if self.function is not None else [])
