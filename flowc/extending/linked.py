"""Kernels of archives in the libraries that flowc makes.

In: a loaded archive and a node. Out: the lowering that calls the kernel by a symbol, the functions
of objects by theirs, and, for a compiled program, what its symbols are called in which archives.
Invariant: a symbol's name includes a hash of the archive's bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from flowc.codegen.compiled import CompiledProgram
from flowc.dataclass import dataclass
from flowc.errors import FailedPreconditionError
from flowc.extending.c_kernels import COps
from flowc.extending.kernels import settings_of
from flowc.files.cache_folder import digest
from flowc.ir.computation import Node
from flowc.ir.lowering import SYMBOL, Host, Native, ObjectFunctions, plain_attr
from flowc.ir.op import defined_ops


@dataclass(frozen=True, slots=True)
class LinkedKernel:
    """The lowering of a node whose kernel an archive has. `symbol`: its name there; `handles`: the
    inputs that are handles; `persistent`: the last of them is that of what the node keeps."""

    library: COps
    op_type: str
    symbol: str
    handles: tuple[int, ...]
    persistent: bool

    @property
    def wanted(self) -> str:
        return wanted_symbol(self.library, self.symbol)

    @property
    def symbols(self) -> Mapping[str, str]:
        """The symbols that programs refer to, and their names in the archive."""
        return {self.wanted: self.symbol}

    def __call__(self, node: Node) -> Native:
        inputs = node.inputs[:-1] if self.persistent else node.inputs
        handles = (*self.handles, len(inputs)) if self.persistent else self.handles
        names = settings_of(node.op.signature)
        return Native(
            f"{SYMBOL}{self.wanted}",
            tuple(d for v in (*inputs, *node.outputs) for d in v.dims),
            errors=(f"{self.op_type} ({self.library.path.name}): {{text}}",),
            constants={name: plain_attr(node.attrs[name]) for name in names},
            moves=True,
            handles=handles,
            persistent=self.persistent,
        )


@dataclass(frozen=True, slots=True)
class LinkedFunctions(ObjectFunctions):
    """The functions of a resource that an archive has. `symbols`: those that programs want, and
    their names in the archive."""

    library: COps
    symbols: Mapping[str, str]


def linked_functions(library: COps, own: Mapping[str, str]) -> LinkedFunctions:
    """The functions of a resource from their names in the archive, by what they do."""
    wanted = {what: wanted_symbol(library, name) if name else "" for what, name in own.items()}
    symbols = {wanted[what]: name for what, name in own.items() if name}
    return LinkedFunctions(**wanted, library=library, symbols=symbols)


def wanted_symbol(library: COps, symbol: str) -> str:
    """What programs call a symbol of an archive: no other archive has it."""
    return f"flowc_op_{digest(f'{library.digest} {symbol}'.encode())[:24]}"


def linked_symbols(program: CompiledProgram) -> Mapping[str, tuple[str, Path]]:
    """For the symbols that a program wants, their names in archives, and these. Raises
    `FailedPreconditionError` for an archive that is no longer the one that was loaded."""
    if not program.symbols:
        return {}
    found: dict[str, tuple[str, Path]] = {}
    for known in _all_linked():
        used = known.symbols.keys() & set(program.symbols)
        path = known.library.path
        if used and digest(path.read_bytes()) != known.library.digest:
            raise FailedPreconditionError(f"{path}: the archive has changed since it was loaded")
        found |= {symbol: (known.symbols[symbol], path) for symbol in used}
    return found


def _all_linked() -> Iterator[LinkedKernel | LinkedFunctions]:
    for op in defined_ops():
        lowering = op.lowering
        linked = lowering.object if isinstance(lowering, Host) else lowering
        if isinstance(linked, LinkedKernel | LinkedFunctions):
            yield linked
