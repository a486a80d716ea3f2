"""The objects of one model, under names that no other model in a program has.

In: a compiled program, the prefix of its functions (`digits` for `digits_run`), what it says of
itself. Out: relocatable objects. Invariant: the objects of models with different prefixes define
no name twice, the plain `flowc_run` and its like aside, which one model of a library has.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from flowc.codegen.abi.c_abi import EXPORTS, c_abi_text
from flowc.codegen.abi.c_header import exported_name
from flowc.codegen.compiled import CompiledProgram
from flowc.codegen.link import elf
from flowc.codegen.link.symbols import defined_names, renamed, with_more_names
from flowc.codegen.link.weights_file import WeightsFile
from flowc.codegen.llvm.compile import compile_module
from flowc.codegen.llvm.processor import Processor
from flowc.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class LibraryMember:
    """One model of a library. `prefix`: what its functions begin with; `about`: what it says of
    itself beside its metadata; `threads`: those that a run starts with."""

    prefix: str
    program: CompiledProgram
    about: Mapping[str, Any]
    threads: int = 0

    def abi_object(self, processor: Processor, weights: WeightsFile | None) -> bytes:
        """The object with the exported functions (`EXPORTS`), by their plain names."""
        spec = self.program.metadata.spec
        is_kept = not all(v.is_random for v in spec.variables)
        about = {
            "prefix": self.prefix,
            "needs_instance": is_kept or bool(spec.objects),
            **self.about,
        }
        text = c_abi_text(
            self.program.metadata,
            processor.triple,
            weights=weights,
            threads=self.threads,
            about=about,
        )
        return compile_module([text], processor, speed=2)

    def with_own_names(self, abi: bytes) -> bytes:
        """The object with the exported functions, by the names with the model's prefix too."""
        if self.prefix == "flowc":
            return abi
        return with_more_names(
            abi, lambda name: [exported_name(self.prefix, name)] if name in EXPORTS else []
        )


def separate_objects(
    model: LibraryMember, processor: Processor, machine: int, with_runtime: bool
) -> list[bytes]:
    """All objects of a model with embedded weights, whose names all have its prefix.
    `with_runtime`: also those of the threads' pool, of which a library has one."""
    program = model.program
    parts = [part for part in program.objects if part]
    parts.append(model.abi_object(processor, None))
    size = program.metadata.weights_bytes
    if size:
        held = io.BytesIO()
        elf.write_weights_object(program.weights, size, machine, held)
        parts.append(held.getvalue())
    if with_runtime and program.runtime:
        parts.append(program.runtime)
    own = {name for part in parts for name in defined_names(part)}

    def name_of(name: str) -> str:
        if name in EXPORTS:
            return exported_name(model.prefix, name)
        return f"{model.prefix}.{name}" if name in own else name

    return [renamed(part, name_of) for part in parts]


def named(model: LibraryMember, name: str) -> LibraryMember:
    """The model with a name of its own, where it has none."""
    program = model.program
    metadata = replace(program.metadata, name=program.metadata.name or name)
    return replace(model, program=replace(program, metadata=metadata))
