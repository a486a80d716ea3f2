"""LLVM IR text -> object code for a processor.

In: module texts (kernels, math, driver, runtime) and a Processor, which is data, never the host by
accident. Out: ELF bytes. Only LLVM runs here, not Numba. Threads may compile side by side: every
module has a context of its own.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

from llvmlite import binding as llvm
from llvmlite.binding import ffi
from llvmlite.binding.newpassmanagers import NewPassManager

from flowc.codegen.forks import llvm_steps
from flowc.codegen.llvm.loop_metadata import UNROLLING
from flowc.codegen.llvm.processor import Processor
from flowc.errors import InternalError


def compile_module(
    texts: Sequence[str], processor: Processor, *, speed: int = 3, loops: bool = True
) -> bytes:
    """One object from the first text with the others linked into it.

    Raises `InternalError` when LLVM rejects a text.
    """
    is_kept = not any(_USED in text for text in texts)
    with _own_machine(processor, speed, is_kept) as machine:
        return _object_of(optimized_module(texts, machine, speed=speed, loops=loops), machine)


# A machine remembers the addresses of what this list of any module names, and whatever lies there
# in a later one is told to the linker as used: equal texts would give different objects.
_USED = "llvm.used"
_free_machines: dict[tuple[Processor, bool], list[llvm.TargetMachine]] = {}


@contextmanager
def _own_machine(processor: Processor, speed: int, is_kept: bool) -> Iterator[llvm.TargetMachine]:
    """A target machine that no other thread has meanwhile. Those that are kept serve one module
    after another: a new one reads the list of features for its first function (2 ms)."""
    free = _free_machines.setdefault((processor, speed > 0), [])
    try:
        machine = free.pop()
    except IndexError:
        machine = processor.target_machine(speed)
    try:
        yield machine
    finally:
        if is_kept:
            free.append(machine)


def module_text(
    texts: Sequence[str],
    processor: Processor,
    form: Literal["llvm", "asm"],
    *,
    speed: int = 3,
    loops: bool = True,
) -> str:
    """LLVM IR (`form` "llvm") or assembly of the optimised module, for people to read."""
    machine = processor.target_machine(speed)
    module = optimized_module(texts, machine, speed=speed, loops=loops)
    return str(module) if form == "llvm" else machine.emit_assembly(module)


def optimized_module(
    texts: Sequence[str], machine: llvm.TargetMachine, *, speed: int = 3, loops: bool = True
) -> llvm.ModuleRef:
    """The first text with the others linked into it, optimised. `loops`: LLVM makes vectors of
    them and unrolls them; else they are written in vectors, and the passes are `_FOR_VECTORS`."""
    # Its own context, which goes with it: one of the process would keep every constant and type.
    context = llvm.create_context()
    module = _parse(texts[0], context)
    for text in texts[1:]:
        module.link_in(_parse(text, context))
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    options = llvm.create_pipeline_tuning_options(speed_level=speed)
    options.loop_vectorization = loops
    options.slp_vectorization = loops
    options.loop_interleaving = loops
    options.loop_unrolling = loops
    builder = llvm.create_pass_builder(machine, options)
    passes = builder.getModulePassManager() if loops else _passes_for_vectors(texts)
    try:
        _long_step("LLVMPY_RunNewModulePassManager", passes, module, builder)
    finally:
        NewPassManager._dispose(passes)  # llvmlite's own way to it is hidden by another base class
    return module


# What code that is written in vectors leaves to LLVM: variables in registers, a test at the end of
# each loop (else sums are copied in every iteration), no address computed twice. LLVM's own list
# runs some of these eight times, takes three times as long, and finds nothing else in the loops
# that count.
_FOR_VECTORS = (
    "always_inliner",
    "sroa",
    "simplify_cfg",
    "instruction_combine",
    "loop_rotate",
    "new_gvn",
    "loop_unroll",
    "instruction_combine",
    "simplify_cfg",
)


def _passes_for_vectors(texts: Sequence[str]) -> Any:
    passes = llvm.create_new_module_pass_manager()
    asked = any(UNROLLING in text for text in texts)
    for name in _FOR_VECTORS:
        if name != "loop_unroll" or asked:
            getattr(passes, f"add_{name}_pass")()
    return passes


def _object_of(module: llvm.ModuleRef, machine: llvm.TargetMachine) -> bytes:
    """What `machine.emit_object` gives, without its lock."""
    with ffi.OutputString() as fault:
        buffer = _long_step("LLVMPY_TargetMachineEmitToMemory", machine, module, 1, fault)
        if not buffer:
            raise InternalError(f"LLVM emits no code: {fault}")
    try:
        start = ffi.lib.LLVMPY_GetBufferStart(buffer)
        return ctypes.string_at(start, ffi.lib.LLVMPY_GetBufferSize(buffer))
    finally:
        ffi.lib.LLVMPY_DisposeMemoryBuffer(buffer)


def _long_step(name: str, *operands: Any) -> Any:
    """Calls a function of llvmlite's library while other threads call it, too. Of itself it has one
    lock for all of LLVM, which needs none where contexts differ."""
    with llvm_steps.step():
        return getattr(ffi.lib, name)._cfn(*operands)


def _parse(text: str, context: llvm.ContextRef) -> llvm.ModuleRef:
    try:
        module = llvm.parse_assembly(text, context)
        module.verify()
    except RuntimeError as error:
        raise InternalError(f"LLVM rejects a module: {error}\n{text[:4000]}") from error
    return module
