"""Routines that kernels share: each is an object of its own, which every kernel that calls it is
linked with.

In: what a routine is called, and how it is emitted. Out: its LLVM IR as a module, under a name that
is a hash of it; and the declarations in the modules of its callers. Invariant: a routine's name
says all that its code depends on, so it is emitted once a process; two objects that define the
same name are equal.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

from llvmlite import ir

from flowc.dataclass import dataclass
from flowc_runtime.native.writer import VOID, declare


@dataclass(frozen=True, slots=True)
class SharedRoutine:
    """`text`: a module that defines `symbol`; `calls`: the shared routines that it calls;
    `in_vectors`: its loops are written in vectors, and LLVM looks for none."""

    symbol: str
    text: str
    calls: tuple[SharedRoutine, ...]
    in_vectors: bool = True


class KernelModule(ir.Module):
    """A module whose calls of shared routines go out of it. `shared`: those, by symbol."""

    def __init__(self, name: str = "") -> None:
        super().__init__(name)
        self.shared: dict[str, SharedRoutine] = {}

    def declared(self, routine: SharedRoutine, arguments: Sequence[ir.Type]) -> ir.Function:
        """The routine, to be called from here."""
        self.shared[routine.symbol] = routine
        return declare(self, routine.symbol, ir.FunctionType(VOID, arguments))


def shared_routine(emit: Callable[[KernelModule, str], None]) -> SharedRoutine:
    """A routine with its text; `emit` defines the function of a name in a module."""
    module = KernelModule()
    emit(module, "flowc.routine")
    text = str(module)
    symbol = f"r_{hashlib.sha256(text.encode()).hexdigest()[:24]}"
    text = text.replace('@"flowc.routine"', f"@{symbol}")
    return SharedRoutine(symbol, text, tuple(module.shared.values()))


def with_called(routines: Sequence[SharedRoutine]) -> dict[str, SharedRoutine]:
    """The routines and all that they call, by symbol."""
    found: dict[str, SharedRoutine] = {}
    left = list(reversed(routines))
    while left:
        routine = left.pop()
        if routine.symbol not in found:
            found[routine.symbol] = routine
            left += reversed(routine.calls)
    return found
