"""What machine code is made for, and what this process runs on.

In: LLVM, or a note of what it said of the same processor. Out: a Processor. Only what makes code
imports llvmlite: a program from the cache runs without it.
"""

from __future__ import annotations

from dataclasses import asdict
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc.dataclass import dataclass
from flowc.files.cache_folder import cache_folder, toolchain
from flowc.files.json_store import Notes

if TYPE_CHECKING:
    from llvmlite import binding as llvm

NOTES = "processors"  # the folder of notes of what LLVM said of processors
# Of the lines that Linux has for each core, those that tell cores of different kinds apart.
_TELLING = ("vendor_id", "cpu family", "model", "model name", "stepping", "flags")
_TELLING += ("CPU implementer", "CPU architecture", "CPU variant", "CPU part", "Features")
_FIRST_CORE = 1 << 13  # bytes that have its lines; those of many cores take milliseconds


@dataclass(frozen=True, slots=True)
class Processor:
    """What fixes every instruction that LLVM may emit."""

    triple: str
    cpu: str
    features: str

    def target_machine(self, speed: int = 3) -> llvm.TargetMachine:
        """A fresh one, for position-independent code. At speed 0 instructions are selected one by
        one, in linear time; above it by blocks, whose longest take time quadratic in their size."""
        from llvmlite import binding as llvm

        _initialize()
        target = llvm.Target.from_triple(self.triple)
        return target.create_target_machine(
            cpu=self.cpu,
            features=self.features,
            opt=3 if speed else 0,
            reloc="pic",
            codemodel="small",
        )


@cache
def _initialize() -> None:
    from llvmlite import binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    # Cores from Skylake to Cascade Lake decode a loop anew in every iteration where its branch
    # crosses 32 bytes: a tile then takes 1.1 times as long. A few bytes of padding prevent it.
    llvm.set_option("flowc", "-x86-branches-within-32B-boundaries")


@cache
def host_processor() -> Processor:
    """The processor of this process, with all its features."""
    folder, seen = cache_folder(), _seen_of_host()
    if folder is None or not seen:
        return _host_by_llvm()
    notes, subject = Notes(folder / NOTES), f"{seen}\n{toolchain()}"
    known = notes.read(subject)
    if known.keys() == {"triple", "cpu", "features"}:
        return Processor(**known)
    found = _host_by_llvm()
    notes.add(subject, asdict(found))
    return found


def _host_by_llvm() -> Processor:
    from llvmlite import binding as llvm

    features = llvm.get_host_cpu_features().flatten()
    return Processor(llvm.get_default_triple(), llvm.get_host_cpu_name(), features)


def _seen_of_host() -> str:
    """What Linux says of the first core, and what NumPy found this process able to do, which is
    less where features are hidden from it; empty where nothing is said."""
    try:
        with open("/proc/cpuinfo", "rb", buffering=0) as file:
            text = file.read(_FIRST_CORE).decode(errors="replace")
    except OSError:
        return ""
    lines = [line for line in text.partition("\n\n")[0].splitlines() if _name_of(line) in _TELLING]
    core: Any = getattr(np, "_core", None)
    found = getattr(getattr(core, "_multiarray_umath", None), "__cpu_features__", {})
    return "\n".join([*lines, *sorted(name for name in found if found[name])]) if lines else ""


def _name_of(line: str) -> str:
    return line.partition(":")[0].strip()
