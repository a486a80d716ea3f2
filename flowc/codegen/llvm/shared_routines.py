"""Routines that kernels share: each is an object of its own, which every kernel that calls it is
linked with.

In: what a routine is called, and how it is emitted. Out: its LLVM IR as a module, where nobody has
its object, and the declarations in the modules of its callers. Invariant: a routine's name says all
that its code depends on, so its symbol is a hash of the name; two objects that define the same
symbol are equal.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

from llvmlite import ir

from flowc.dataclass import dataclass
from flowc.ir.cached_property import cached_property
from flowc_runtime.native.writer import VOID, declare


@dataclass(frozen=True)
class EmittedText:
    """A module that defines a routine, and the shared routines that it calls."""

    text: str
    calls: tuple[SharedRoutine, ...]


@dataclass(frozen=True, eq=False)
class SharedRoutine:
    """`emit`: what defines `symbol`, which takes longer than all else that is known of a routine
    whose object is in a library or a cache; `as_written`: as of a Kernel."""

    symbol: str
    emit: Callable[[], EmittedText]
    as_written: bool = True

    @cached_property
    def emitted(self) -> EmittedText:
        return self.emit()

    @property
    def text(self) -> str:
        return self.emitted.text

    @property
    def calls(self) -> tuple[SharedRoutine, ...]:
        return self.emitted.calls


class KernelModule(ir.Module):
    """A module whose calls of shared routines go out of it. `shared`: those, by symbol."""

    def __init__(self, name: str = "") -> None:
        super().__init__(name)
        self.shared: dict[str, SharedRoutine] = {}

    def declared(self, routine: SharedRoutine, arguments: Sequence[ir.Type]) -> ir.Function:
        """The routine, to be called from here."""
        self.shared[routine.symbol] = routine
        return declare(self, routine.symbol, ir.FunctionType(VOID, arguments))


def shared_routine(name: str, emit: Callable[[KernelModule, str], None]) -> SharedRoutine:
    """The routine of a name; `emit` defines the function of a symbol in a module."""
    symbol = f"r_{hashlib.sha256(name.encode()).hexdigest()[:24]}"

    def emitted() -> EmittedText:
        module = KernelModule()
        emit(module, symbol)
        return EmittedText(str(module), tuple(module.shared.values()))

    return SharedRoutine(symbol, emitted)


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
