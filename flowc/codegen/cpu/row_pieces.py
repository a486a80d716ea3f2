"""Nests that write a row in pieces, as those of concatenations, as calls of a function a kind of
piece.

In: the nest of a kernel. Out: kernels of pieces, each with a loop over the range of its own, and
what each is called with. Those that differ in buffers and sizes alone are one kernel, which nests
with other numbers of pieces share. Invariant: pieces read nothing that a piece writes, so that all
rows of one may be done before the next.
"""

from __future__ import annotations

from dataclasses import replace

from flowc import dtypes
from flowc.codegen.cpu.numba_source import NumbaSource
from flowc.codegen.kernels.kernel import Kernel
from flowc.codegen.kernels.nest import (
    Address,
    Apply,
    Assign,
    Carve,
    Declare,
    Expression,
    For,
    IndexSum,
    Invoke,
    Let,
    Load,
    LoopNest,
    Name,
    Statement,
    Store,
    expressions_of,
    parts_of,
    statements_within,
)
from flowc.codegen.kernels.rewriting import NestRewriter
from flowc.dataclass import dataclass

LEAST_PIECES = 3


@dataclass(frozen=True, slots=True)
class RowPiece:
    """A call of `kernel` with some of the buffers and ints of a nest, by their numbers."""

    kernel: Kernel
    buffers: tuple[int, ...]
    ints: tuple[int, ...]


def pieces_of(nest: LoopNest) -> tuple[RowPiece, ...]:
    """The pieces of a row, if half of them are like another; none where the nest has other parts,
    or calls functions of the math library, which no other kernel would find there."""
    match nest.body:
        case (For(start=Name(begin), stop=Name(end), step=1, body=inside) as rows,) if (
            begin,
            end,
        ) == nest.ranges:
            pass
        case _:
            return ()
    first = next((i for i, s in enumerate(inside) if not _is_index(s)), len(inside))
    loops = inside[first:]
    if len(loops) < LEAST_PIECES or not all(isinstance(s, For) for s in loops):
        return ()
    if not _are_independent(nest):
        return ()
    places = {name: i for i, (name, _) in enumerate(nest.buffers)}
    places |= {name: i for i, name in enumerate(nest.ints)}
    kernels: dict[LoopNest, Kernel] = {}
    found: list[RowPiece] = []
    for loop in loops:
        names = _Names(nest)
        made = names.nest(replace(rows, body=(*inside[:first], loop)))
        if made not in kernels:
            kernels[made] = NumbaSource(made).kernel
        buffers, ints = (tuple(places[x] for x in used) for used in (names.buffers, names.ints))
        found.append(RowPiece(kernels[made], buffers, ints))
    if 2 * len(kernels) > len(found) + 1 or any(kernel.functions for kernel in kernels.values()):
        return ()
    return tuple(found)


def _is_index(statement: Statement) -> bool:
    """Whether a statement names an index, which each piece may compute for itself."""
    return isinstance(statement, Let) and all(
        isinstance(x, (Name, IndexSum, Apply)) and x.dtype is dtypes.i64
        for x in parts_of(statement.value)
    )


def _are_independent(nest: LoopNest) -> bool:
    """Whether no buffer is both read and written, and no address of one is given away."""
    read: set[str] = set()
    written: set[str] = set()
    for statement in statements_within(nest.body):
        if isinstance(statement, Carve) or (isinstance(statement, Invoke) and statement.operands):
            return False
        if isinstance(statement, Store):
            written.add(statement.buffer)
        for part in (x for e in expressions_of(statement) for x in parts_of(e)):
            if isinstance(part, Address):
                return False
            if isinstance(part, Load):
                read.add(part.buffer)
    return not read & written


class _Names(NestRewriter):
    """Names everything in the order of the text. `buffers`, `ints`: the new names of those that
    there are, in this order."""

    def __init__(self, of: LoopNest) -> None:
        self.of = of
        self.buffers: dict[str, str] = {}
        self.ints: dict[str, str] = {}
        self.values = {name: name for name in of.ranges}

    def nest(self, statement: Statement) -> LoopNest:
        """What a statement is alone."""
        body, kinds = (self.statement(statement),), dict(self.of.buffers)
        buffers = tuple((new, kinds[name]) for name, new in self.buffers.items())
        return LoopNest(buffers, tuple(self.ints.values()), self.of.ranges, body)

    def statement(self, s: Statement) -> Statement:
        match s:
            case Let(name) | Declare(name) | Assign(name):
                found = super().statement(s)
                assert isinstance(found, Let | Declare | Assign)
                return replace(found, name=self._name(name))
            case Store(buffer):
                found = super().statement(s)
                assert isinstance(found, Store)
                return replace(found, buffer=self._buffer(buffer))
            case For(name, start, stop):
                start, stop = self.expression(start), self.expression(stop)
                assert isinstance(start, Name | IndexSum) and isinstance(stop, Name | IndexSum)
                return For(self._name(name), start, stop, s.step, self.block(s.body))
            case _:
                return super().statement(s)

    def expression(self, x: Expression) -> Expression:
        match x:
            case Name(name):
                return replace(x, name=self._name(name))
            case IndexSum(terms):
                return IndexSum(tuple((k, tuple(map(self._name, names))) for k, names in terms))
            case Load(buffer):
                found = super().expression(x)
                assert isinstance(found, Load)
                return replace(found, buffer=self._buffer(buffer))
            case _:
                return super().expression(x)

    def _buffer(self, name: str) -> str:
        return self.buffers.setdefault(name, f"x{len(self.buffers)}")

    def _name(self, name: str) -> str:
        if name in self.of.ints:
            return self.ints.setdefault(name, f"n{len(self.ints)}")
        return self.values.setdefault(name, f"t{len(self.values)}")
