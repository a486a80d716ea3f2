"""LLVM IR text -> object code for a target.

In: module texts (kernels, math, driver, runtime). Out: ELF bytes. Only LLVM runs here, not Numba.
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import binding as llvm

from flowc.codegen.target import Target
from flowc.errors import InternalError


def compile_module(texts: Sequence[str], target: Target, *, speed: int = 3) -> bytes:
    """One object from the first text with the others linked into it.

    Raises `InternalError` when LLVM rejects a text.
    """
    machine = target.machine()
    return machine.emit_object(_optimized(texts, target, machine, speed))


def optimized_module(texts: Sequence[str], target: Target, *, speed: int = 3) -> llvm.ModuleRef:
    """The linked and optimised module (for `--emit llvm` and `--emit asm`)."""
    return _optimized(texts, target, target.machine(), speed)


def _optimized(
    texts: Sequence[str], target: Target, machine: llvm.TargetMachine, speed: int
) -> llvm.ModuleRef:
    module = _parse(texts[0])
    for text in texts[1:]:
        module.link_in(_parse(text))
    module.triple = target.triple
    module.data_layout = str(machine.target_data)
    options = llvm.create_pipeline_tuning_options(speed_level=speed)
    options.loop_vectorization = True
    options.slp_vectorization = True
    options.loop_interleaving = True
    options.loop_unrolling = True
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return module


def _parse(text: str) -> llvm.ModuleRef:
    try:
        module = llvm.parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise InternalError(f"LLVM rejects a module: {error}\n{text[:4000]}") from error
    return module
