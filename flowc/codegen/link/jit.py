"""A compiled program in memory, ready to run.

In: a CompiledProgram. Out: the addresses of its functions and the object that keeps them alive.
Imports llvmlite but not Numba: what comes from the cache starts without it.

The pool and the arena are loaded once a process and never freed: threads wait inside their code.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from llvmlite import binding as llvm

from flowc.codegen.forks import loading
from flowc.codegen.link.address_space import side_by_side

RUNTIME_FUNCTIONS = (
    "flowc_parallel_for",
    "flowc_run_begin",
    "flowc_run_end",
    "flowc_arena_acquire",
    "flowc_arena_release",
    "flowc_interpreter_release",
    "flowc_interpreter_poll",
    "flowc_interpreter_call",
    "flowc_interpreter_acquire",
)

# The run releases the interpreter itself, and may leave an exception behind.
_RUN = ctypes.PYFUNCTYPE(
    ctypes.c_int32,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_int64,
    ctypes.c_void_p,
    ctypes.c_void_p,
)
_DIMS = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


@dataclass(slots=True, weakref_slot=True, eq=False)
class LoadedCode:
    """Native functions of a program; `engine` owns their memory."""

    engine: llvm.ExecutionEngine
    run: Callable[..., int]
    output_dims: Callable[..., None]
    output_bounds: Callable[..., None]


SPARE = 1 << 18  # bytes for the pages that the sections of an object do not fill

_runtime: list[llvm.ExecutionEngine] = []


def load_objects(
    objects: Sequence[bytes], runtime: bytes, *, has_device: bool = False
) -> LoadedCode:
    """Links relocatable objects in memory; `runtime` holds the pool and the arena. `has_device`:
    among the objects are kernels of a GPU, which is freed of them when the code is no more used."""
    with loading:
        if not _runtime:
            _runtime.append(_load_runtime(runtime))
        engine = engine_of(objects)
    loaded = LoadedCode(
        engine,
        _RUN(engine.get_function_address("flowc_program_run")),
        _DIMS(engine.get_function_address("flowc_program_output_dims")),
        _DIMS(engine.get_function_address("flowc_program_output_bounds")),
    )
    if has_device:
        close = ctypes.CFUNCTYPE(None)(engine.get_function_address("flowc_cuda_close"))
        weakref.finalize(loaded, lambda engine: close(), engine)
    return loaded


def open_functions(
    objects: Sequence[bytes], names: Sequence[str]
) -> tuple[llvm.ExecutionEngine, list[int]]:
    """Objects that need no other: what owns their memory, and the addresses of their functions."""
    with loading:
        engine = engine_of(objects)
    return engine, [engine.get_function_address(name) for name in names]


def _load_runtime(data: bytes) -> llvm.ExecutionEngine:
    engine = engine_of([data])
    for name in RUNTIME_FUNCTIONS:
        llvm.add_symbol(name, engine.get_function_address(name))
    engine.detach()  # threads of the pool may be inside until the process ends
    return engine


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
