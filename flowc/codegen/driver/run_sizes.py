"""The sizes of a run: given their values where steps find them, checked once they are known.

In: the frame of a run, nodes that read and write sizes. Out: LLVM IR in the frame's function.
Invariant: sizes of the outermost region are in the caller's table; those of bodies are local to the
driver.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from llvmlite import ir

from flowc.codegen.compiled import ErrorRow
from flowc.codegen.driver.frame import STATUS_INVALID, RunFrame
from flowc.codegen.driver.size_checks import PendingChecks, dims_named, lower_bound
from flowc.errors import BROADCAST_HINT, NegativeSizeError
from flowc.ir.computation import Node
from flowc.ir.dims import Dim, Symbol, symbols_of
from flowc.ir.types import MOST_BYTES
from flowc.plan.plan import Plan, Region
from flowc_runtime.native.writer import I64, i64


class RunSizes:
    """`table`: the sizes that the caller gets, in its order."""

    def __init__(self, frame: RunFrame, plan: Plan, table: Sequence[Symbol]) -> None:
        self.frame = frame
        self.computation = plan.computation
        self.places = {size: i for i, size in enumerate(table)}
        self.pending = PendingChecks(plan.computation)
        self.where: Node | None = None  # the loop or branch whose steps are emitted

    @contextmanager
    def of_region(self, node: Node, region: Region) -> Iterator[None]:
        """Inside, what must hold in a region of a loop or branch is checked."""
        outer = self.pending, self.where
        self.pending, self.where = PendingChecks(region.computation), node
        yield
        self.pending, self.where = outer

    def bind(self, size: Symbol, value: ir.Value) -> None:
        """Gives a size that the run found its value."""
        self.frame.bind(size, value)
        if self.where is None:
            self.frame.b.store(value, self.frame.element(self.frame.sizes, self.places[size]))

    def check(self) -> None:
        """What must hold of sizes, as soon as they are known."""
        frame, known = self.frame, self.frame.env.keys()
        for x, y, node in self.pending.equal(known):
            self._check_equal(x, y, node or (self.where.name if self.where else ""))
        for dim, node in self.pending.signed(known):
            frame.at_least_zero(dim, node)
        for dim, what, node in self.pending.large(known):
            frame.limit(dim, MOST_BYTES, what, node)

    def _check_equal(self, x: Dim, y: Dim, node: str) -> None:
        b = self.frame.b
        a, c = self.frame.dim(x), self.frame.dim(y)
        wrong = b.icmp_signed("!=", a, c)
        named = dims_named(self.computation, symbols_of(x, y))
        least = lower_bound(x, y)
        if least is not None:
            row = ErrorRow(f"{x} must be at least {least}, found {{a}}{named}", node)
            self.frame.leave_if(wrong, STATUS_INVALID, row, [a])
            return
        message = f"sizes {x} and {y} must be equal, found {{a}} and {{b}}"
        one = b.or_(*(b.icmp_signed("==", v, i64(1)) for v in (a, c)))
        rows = [
            ErrorRow(text, node) for text in (message + named + BROADCAST_HINT, message + named)
        ]
        row = b.select(one, *map(self.frame.error_number, rows))
        self.frame.leave_if(wrong, STATUS_INVALID, row, [a, c])

    def read(self, node: Node, pointer: ir.Value) -> None:
        """Binds the sizes that a node reads as the elements of its input, which is at `pointer`."""
        b = self.frame.b
        (value,) = node.inputs
        dtype = value.type.dtype
        element = ir.IntType(8 * dtype.size)
        base = b.bitcast(pointer, element.as_pointer())
        for i, (size, _) in enumerate(node.sizes):
            raw = b.load(self.frame.element(base, i))
            wide = raw
            if dtype.size < 8:
                wide = b.sext(raw, I64) if dtype.kind == "int" else b.zext(raw, I64)
            found = wide
            if node.attrs["below"]:
                wide = b.add(wide, i64(node.attrs["below"]))
            message = f"a size must not be negative, found {{a}} at position {i}"
            row = ErrorRow(message, node.name, NegativeSizeError.__name__)
            bad = b.icmp_signed("<", wide, i64(0))
            self.frame.leave_if(bad, STATUS_INVALID, row, [found])
            self.bind(size, wide)
        self.check()

    def write(self, node: Node, pointer: ir.Value) -> None:
        """Stores sizes as the elements of a node's output, which is at `pointer`."""
        b = self.frame.b
        element = ir.IntType(8 * node.attrs["dtype"].size)
        base = b.bitcast(pointer, element.as_pointer())
        for i, dim in enumerate(node.attrs["dims"]):
            value = self.frame.dim(dim)
            narrow = b.trunc(value, element) if element.width < 64 else value
            if element.width < 64 and not isinstance(dim, int):
                message = f"the size {dim} does not fit {node.attrs['dtype']}, found {{a}}"
                wrong = b.icmp_signed("!=", b.sext(narrow, I64), value)
                self.frame.leave_if(wrong, STATUS_INVALID, ErrorRow(message, node.name), [value])
            b.store(narrow, self.frame.element(base, i))
