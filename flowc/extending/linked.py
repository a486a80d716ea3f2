"""Kernels of archives in the libraries that flowc makes.

In: a loaded archive and a node. Out: the lowering that calls the kernel by a symbol, and, for a
compiled program, what its symbols are called in which archives. Invariant: a symbol is another one
for other bytes of the archive.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flowc.codegen.compiled import CompiledProgram
from flowc.dtypes import DType
from flowc.errors import FailedPreconditionError
from flowc.extending.c_kernels import COps
from flowc.extending.kernels import settings_of
from flowc.files.cache_folder import digest
from flowc.ir.computation import Node
from flowc.ir.lowering import SYMBOL, Native
from flowc.ir.op import all_ops


@dataclass(frozen=True, slots=True)
class LinkedKernel:
    """The lowering of a node whose kernel an archive has. `symbol`: its name there."""

    library: COps
    op_type: str
    symbol: str

    @property
    def wanted(self) -> str:
        """The symbol that programs want: no other archive has it."""
        return f"flowc_op_{digest(f'{self.library.digest} {self.symbol}'.encode())[:24]}"

    def __call__(self, node: Node) -> Native:
        values = (*node.inputs, *node.outputs)
        names = settings_of(node.op.signature)
        return Native(
            f"{SYMBOL}{self.wanted}",
            tuple(d for v in values for d in v.dims),
            errors=(f"{self.op_type} ({self.library.path.name}): {{text}}",),
            constants={name: _plain(node.attrs[name]) for name in names},
            moves=True,
        )


def _plain(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return tuple(map(_plain, value))
    return value.enum if isinstance(value, DType) else value


def linked_symbols(program: CompiledProgram) -> Mapping[str, tuple[str, Path]]:
    """For the symbols that a program wants, their names in archives, and these. Raises
    `FailedPreconditionError` for an archive that is no longer the one that was loaded."""
    if not program.symbols:
        return {}
    known = [op.lowering for op in all_ops() if isinstance(op.lowering, LinkedKernel)]
    used = [k for k in known if k.wanted in program.symbols]
    for kernel in used:
        path = kernel.library.path
        if digest(path.read_bytes()) != kernel.library.digest:
            raise FailedPreconditionError(f"{path}: the archive has changed since it was loaded")
    return {k.wanted: (k.symbol, k.library.path) for k in used}
