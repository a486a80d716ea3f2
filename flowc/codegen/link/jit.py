"""Relocatable objects, linked and loaded by LLVM.

In: objects. Out: the addresses of their functions and the object that keeps them alive. Imports
llvmlite but not Numba.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from llvmlite import binding as llvm

from flowc.codegen.forks import loading
from flowc.codegen.link.address_space import side_by_side

SPARE = 1 << 18  # bytes for the pages that the sections of an object do not fill


def open_functions(
    objects: Sequence[bytes], names: Sequence[str]
) -> tuple[llvm.ExecutionEngine, list[int]]:
    """Objects that need no other: what owns their memory, and the addresses of their functions."""
    with loading:
        engine = engine_of(objects)
    return engine, [engine.get_function_address(name) for name in names]


def offer(functions: Mapping[str, int]) -> None:
    """Has what is loaded from now on find functions by name."""
    for name, address in functions.items():
        llvm.add_symbol(name, address)


class LoadedObjects:
    """Objects in memory, which go with this."""

    def __init__(self, objects: Sequence[bytes]) -> None:
        self._engine = engine_of(objects)

    def address_of(self, name: str) -> int:
        """Where a function is."""
        return self._engine.get_function_address(name)

    def keep_for_good(self) -> None:
        """Has the memory stay until the process has ended, after Python has."""
        self._engine.detach()


def engine_of(objects: Sequence[bytes]) -> llvm.ExecutionEngine:
    """Relocatable objects, linked and ready to run: the owner of their memory."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    with side_by_side(2 * sum(len(data) + SPARE for data in objects)):
        for data in objects:
            engine.add_object_file(llvm.ObjectFileRef.from_data(data))
        engine.finalize_object()
    return engine
