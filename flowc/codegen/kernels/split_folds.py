"""Folds of many elements to few, by two kernels: where one alone would leave a GPU idle.

In: a cluster whose reductions need no other reduction. Out: a launch that folds parts of the folded
elements, each for itself, and one that folds what the parts gave and computes the results. Between
them the totals stand in memory that the launches of the cluster share. Invariant: the parts follow
from the sizes alone, so that every run adds in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from flowc.codegen.kernels.builder import LOCAL, int_name, int_op
from flowc.codegen.kernels.cluster import row_major, unravel
from flowc.codegen.kernels.kernel import SCRATCH, WORKSPACE, Launch
from flowc.codegen.kernels.nest import Carve, Load, Name
from flowc.codegen.kernels.pointwise import split_flat
from flowc.codegen.kernels.reducing import Reducing, full_index
from flowc.codegen.kernels.row_stages import stages_of
from flowc.codegen.target import Target
from flowc.ir.computation import Computation, Node
from flowc.ir.dims import Dim, ceildiv, product, symbol
from flowc.ir.lowering import Reduction


def split_launches(node: Node, target: Target) -> tuple[Launch, ...]:
    """The two launches; none where one kernel does."""
    body: Computation = node.attrs["body"]
    reductions = [n for n in body.nodes if isinstance(n.lowering, Reduction)]
    if not reductions:
        return ()
    split = _Split(node, body, reductions, target)
    return (split.partial(), split.joined()) if split.is_worth_it else ()


class _Split:
    def __init__(
        self, node: Node, body: Computation, reductions: Sequence[Node], target: Target
    ) -> None:
        self.node, self.body, self.target = node, body, target
        self.reductions = reductions
        r = self._reducing()
        self.kept = [r.full[d] for d in r.kept]
        self.folded = [r.full[a] for a in r.axes]
        self.is_row = len(r.full) - 1 in r.axes
        count = product(self.folded)
        self.parts = target.choices.parts(count, product(self.kept), self.is_row)
        self.length = ceildiv(count, self.parts)
        self.kinds = [r.accumulator_dtype(n) for n in reductions]
        stages = stages_of(body, r.lowerings)
        self.is_worth_it = (
            self.parts > 1
            and not any(stages[n] for n in reductions)
            and not any(v.dims == r.full for v in body.results)
            and not any(kind.is_complex for kind in self.kinds)
        )

    def _reducing(self) -> Reducing:
        return Reducing(self.node, self.body, self.reductions, self.target)

    def partial(self) -> Launch:
        """Every step of the range folds one part for one place of the result. Neighbours are parts
        of a row, or columns."""
        r = self._reducing()
        c, nest, length = r.c, r.c.nest, self.length
        if self.is_row:
            r.lanes = r.choices.lanes(length, product(self.kept) * self.parts)
        extents = [*self.kept, self.parts] if self.is_row else [self.parts, *self.kept]
        with nest.loop("p", int_name("begin"), int_name("end")):
            split_flat(c, extents, "o")
            symbols = [symbol(f"{LOCAL}o{i}", size) for i, size in enumerate(extents)]
            part = symbols.pop(-1 if self.is_row else 0)
            kept_index = _without_ones(self.kept, symbols)
            nest.named("first", nest.index(part * length))
            stop = nest.declare("stop", nest.index(part * length + length))
            nest.assign("stop", int_op("smaller", stop, nest.size(product(self.folded))))
            self._open(r)
            first = symbol(f"{LOCAL}first") + (symbol(f"{LOCAL}lane") if r.lanes > 1 else 0)
            with nest.loop("i", nest.index(first), int_name("stop"), r.lanes):
                position = symbol(f"{LOCAL}i", product(self.folded))
                places = _without_ones(self.folded, unravel(position, tuple(self.folded)))
                index = full_index(r, kept_index, places)
                for i, n in enumerate(self.reductions):
                    x = r.prepared(n, index)
                    nest.assign(f"a{i}", r.combine(n, Name(f"a{i}", x.dtype), x))
            totals = self._totals(r)
            with r.first_lane():
                place = row_major((*self.kept, self.parts), (*symbols, part))
                for i, total in enumerate(totals):
                    nest.store(f"part{i}", nest.index(place), total)
        return self._launch(r, product(extents))

    def joined(self) -> Launch:
        """Every step of the range folds the totals of all parts for one place of the result."""
        r = self._reducing()
        c, nest = r.c, r.c.nest
        r.lanes = r.choices.lanes(self.parts, product(self.kept))
        with nest.loop("p", int_name("begin"), int_name("end")):
            if self.kept:
                split_flat(c, self.kept, "o")
            symbols = [symbol(f"{LOCAL}o{i}", size) for i, size in enumerate(self.kept)]
            kept_index = _without_ones(self.kept, symbols)
            self._open(r)
            with nest.loop("i", r.lane, nest.size(self.parts), r.lanes):
                place = symbol(f"{LOCAL}p") * self.parts + symbol(f"{LOCAL}i")
                for i, (n, kind) in enumerate(zip(self.reductions, self.kinds)):
                    x = nest.let(Load(f"part{i}", nest.index(place), kind))
                    nest.assign(f"a{i}", r.combine(n, Name(f"a{i}", kind), x))
            for n, total in zip(self.reductions, self._totals(r)):
                c.rows[n.output] = (r.row_index(n.output, kept_index), r.finished(n, total))
            with r.first_lane():
                for value in self.body.results:
                    index = r.row_index(value, kept_index)
                    c.store(value, index, c.element(value, index))
        return self._launch(r, product(self.kept))

    def _open(self, r: Reducing) -> None:
        """The memory of the parts' totals, and running totals."""
        offset: Dim = 0
        for i, (n, kind) in enumerate(zip(self.reductions, self.kinds)):
            r.c.nest.body.append(Carve(f"part{i}", kind, r.c.nest.size(offset)))
            r.c.nest.declare(f"a{i}", r.neutral(n, kind))
            offset = offset + self._bytes(kind.size)

    def _totals(self, r: Reducing) -> list[Name]:
        totals = [Name(f"a{i}", kind) for i, kind in enumerate(self.kinds)]
        for n, total in zip(self.reductions, totals):
            r.join_lanes(n, total)
        return totals

    def _bytes(self, size: int) -> Dim:
        return ceildiv(product(self.kept) * self.parts * size, 64) * 64

    def _launch(self, r: Reducing, total: Dim) -> Launch:
        """What would be scratch of each worker is memory that both launches share."""
        size: Dim = sum((self._bytes(kind.size) for kind in self.kinds), start=0)
        tail = ("begin", "end", "lane", "lanes")[: 4 if r.lanes > 1 else 2]
        made = r.c.launch(
            self.target, self.node.outputs, total, 1, size, self.node, tail, lanes=r.lanes
        )
        shared = tuple(
            WORKSPACE if isinstance(o, str) and o == SCRATCH else o for o in made.operands
        )
        return replace(made, operands=shared, scratch=0, workspace=size)


def _without_ones(sizes: Sequence[Dim], index: Sequence[Dim]) -> tuple[Dim, ...]:
    return tuple(0 if size == 1 else i for size, i in zip(sizes, index))
