"""Kernels whose sizes are ints of their launches, so that one serves clusters that differ in sizes
alone: small ones, and those whose elements routines move.

In: a launch whose kernel was made for known sizes. Out: a launch of a kernel in which each number
above 1 among its indices and bounds is a separate int parameter, since numbers that are equal here
may differ for other sizes. Invariant: it computes the same elements by the same operations; a sum
of floats is one that LLVM may order. Known numbers make long loops faster, if there are any;
compiling a kernel takes 20 ms or more, which a few hundred elements never win back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from flowc.codegen.kernels.check import check_nest
from flowc.codegen.kernels.kernel import Launch
from flowc.codegen.kernels.nest import (
    FILL_BLOCK,
    MOVE_BLOCK,
    Expression,
    IndexSum,
    Invoke,
    Load,
    LoopNest,
    Name,
    Store,
    expressions_of,
    parts_of,
    statements_within,
)
from flowc.codegen.kernels.rewriting import NestRewriter
from flowc.codegen.target import Target
from flowc.dtypes import i64
from flowc.ir.computation import Node
from flowc.ir.dims import Dim
from flowc.ir.lowering import Reduction

MOST_ELEMENTS = 256  # of each result of a cluster, and of what it folds
FEW_ELEMENTS = 32  # in which LLVM need not look for vectors: twice those of the widest
MOST_NUMBERS = 64  # that are written at each launch
_ROUTINES = (MOVE_BLOCK, FILL_BLOCK)


def is_small(node: Node, most: int = MOST_ELEMENTS) -> bool:
    """Whether a cluster computes so little that it does not matter how. Without reductions it may
    read a few elements of much."""
    of_loops = node.attrs["kind"] == "loop"
    folds = not of_loops or any(isinstance(n.lowering, Reduction) for n in node.attrs["body"].nodes)
    sizes = (v.type.size for v in (*(node.inputs if folds else ()), *node.outputs))
    return all(isinstance(size, int) and size <= most for size in sizes)


def is_brief(node: Node) -> bool:
    """Whether a cluster of loops has so few elements that vectors would not pay."""
    return node.attrs["kind"] == "loop" and is_small(node, FEW_ELEMENTS)


def as_written(launch: Launch) -> Launch:
    """The launch with a kernel in whose loops LLVM looks for no vectors."""
    if launch.kernel.nest is None:
        return launch
    return replace(launch, kernel=replace(launch.kernel, as_written=True))


def moves_by_routines(launch: Launch) -> bool:
    """Whether routines do all that a kernel does with elements, for which it has no loops."""
    nest = launch.kernel.nest
    if nest is None:
        return False
    inside = list(statements_within(nest.body))
    parts = (x for s in inside for e in expressions_of(s) for x in parts_of(e))
    return not any(isinstance(s, Store) for s in inside) and not any(
        isinstance(x, Load) for x in parts
    )


def with_sizes_of_launch(launch: Launch, target: Target) -> Launch:
    """The launch with a kernel for any sizes; the same where the kernel is no nest, where a device
    runs it, or where LLVM is told of its loops what follows from their lengths."""
    nest = launch.kernel.nest
    if type(launch) is not Launch or nest is None or _tells_of_loops(nest):
        return launch
    sizes = _Sizes(dict(zip(nest.ints, launch.ints)))
    body = sizes.block(nest.body)
    if not 0 < len(sizes.values) <= MOST_NUMBERS:
        return launch
    made = replace(nest, ints=tuple(sizes.values), body=body)
    check_nest(made)
    return replace(launch, kernel=target.kernel(made), ints=tuple(sizes.values.values()))


def _tells_of_loops(nest: LoopNest) -> bool:
    return any(
        isinstance(statement, Invoke) and statement.function not in _ROUTINES
        for statement in statements_within(nest.body)
    )


class _Sizes(NestRewriter):
    """Gives each place of a number a name. `given`: the parameters that there are, some of which
    are numbers; `values`: those that there shall be, in the order of the text."""

    def __init__(self, given: Mapping[str, Dim]) -> None:
        self.given = given
        self.renamed: dict[str, str] = {}
        self.values: dict[str, Dim] = {}

    def expression(self, x: Expression) -> Expression:
        match x:
            case IndexSum(terms=((number, ()),)) if number > 1:
                return Name(self.new(number), i64)
            case Name(name):
                return replace(x, name=self.name(name))
            case IndexSum():
                return IndexSum(tuple(self.term(*term) for term in x.terms))
            case _:
                return super().expression(x)

    def term(self, number: int, names: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
        renamed = tuple(map(self.name, names))
        if abs(number) < 2:
            return number, renamed
        return (1 if number > 0 else -1), (*renamed, self.new(abs(number)))

    def name(self, name: str) -> str:
        value = self.given.get(name)
        if value is None or isinstance(value, int):
            return name if value is None else self.new(value)
        if name not in self.renamed:
            self.renamed[name] = self.new(value)
        return self.renamed[name]

    def new(self, value: Dim) -> str:
        name = f"n{len(self.values)}"
        self.values[name] = value
        return name
