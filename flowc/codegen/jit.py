"""A compiled program in memory, ready to run.

In: a CompiledProgram. Out: the address of its run function and the object that keeps it alive.
Imports llvmlite but not Numba: what comes from the cache starts without it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from llvmlite import binding as llvm

_RUN = ctypes.CFUNCTYPE(
    ctypes.c_int32,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_int64,
    ctypes.c_void_p,
)
_DIMS = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
_RELEASE = ctypes.CFUNCTYPE(None)


@dataclass(slots=True)
class LoadedCode:
    """Native functions of a program; `engine` owns their memory."""

    engine: llvm.ExecutionEngine
    run: object
    output_dims: object
    output_bounds: object
    releases: Sequence[Callable[[], None]]

    def __del__(self) -> None:
        """Ends the pool's threads, which wait inside this code, and frees the kept arenas."""
        for release in self.releases:
            release()


def load_objects(objects: Sequence[bytes]) -> LoadedCode:
    """Links relocatable objects in memory."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    for data in objects:
        engine.add_object_file(llvm.ObjectFileRef.from_data(data))
    engine.finalize_object()
    return LoadedCode(
        engine,
        _RUN(engine.get_function_address("flowc_program_run")),
        _DIMS(engine.get_function_address("flowc_program_output_dims")),
        _DIMS(engine.get_function_address("flowc_program_output_bounds")),
        [
            _RELEASE(engine.get_function_address(name))
            for name in ("flowc_pool_stop", "flowc_arena_clear")
        ],
    )
