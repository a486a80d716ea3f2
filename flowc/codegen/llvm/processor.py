"""A CPU as LLVM knows it: what a module of text is compiled for.

In: triple, name and features. Out: a target machine. Data, never the host by accident.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from llvmlite import binding as llvm


@dataclass(frozen=True, slots=True)
class Processor:
    """What fixes every instruction that LLVM may emit."""

    triple: str
    cpu: str
    features: str

    def target_machine(self) -> llvm.TargetMachine:
        """A fresh one, for position-independent code."""
        _initialize()
        target = llvm.Target.from_triple(self.triple)
        return target.create_target_machine(
            cpu=self.cpu, features=self.features, opt=3, reloc="pic", codemodel="small"
        )


@cache
def _initialize() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    # Cores from Skylake to Cascade Lake decode a loop anew in every iteration where its branch
    # crosses 32 bytes: a tile then takes 1.1 times as long. A few bytes of padding prevent it.
    llvm.set_option("flowc", "-x86-branches-within-32B-boundaries")
