"""How the elements of a row join their running totals, and where NaN is looked for.

In: folds and the variables of their totals. Out: statements of a nest. Where elements meet in the
same order in every row, of zeros of both signs the largest and the smallest may be either; and NaN
is looked for apart: a total that becomes NaN with an element takes three instructions for each
vector, and as many for each step that joins its lanes. Such a total is of numbers alone, undefined
where an element is none; beside it stands whether all are numbers, or how many are not. Invariant:
what is behind `settle` reads a total, nothing else does.
"""

from __future__ import annotations

from collections.abc import Mapping

from flowc import dtypes
from flowc.codegen.kernels.builder import INLINE_SIZES, compare
from flowc.codegen.kernels.nest import FOLD, Apply, Literal, Name, Scalar
from flowc.codegen.kernels.reducing import EXTREMES, Reducing
from flowc.codegen.kernels.scalars import TRUE
from flowc.dtypes import DType
from flowc.ir.computation import Node
from flowc.ir.dims import Dim


class RowFolds:
    """`run`: how many elements the loop has in which they join."""

    def __init__(self, r: Reducing, totals: Mapping[Node, Name], run: Dim) -> None:
        self._r, self.totals = r, totals
        self._masks = r.choices.nan_masks
        self._in_one_order = _is_in_one_order(run)
        self._seen: dict[Node, Name] = {}
        for n, total in totals.items():
            if self._is_watched(n, total.dtype):
                # A row has fewer than 2**32 elements of f32.
                count = dtypes.i64 if total.dtype is dtypes.f64 else dtypes.i32
                first = TRUE if self._masks else Literal("0", count)
                self._seen[n] = r.c.nest.declare(f"watch_{total.name}", first)

    def _is_watched(self, n: Node, kind: DType) -> bool:
        return self._in_one_order and self._r.looks_for_nan(n, kind)

    def join(self, n: Node, total: Name, x: Scalar) -> None:
        """The total, or that of a part, with an element, or the total of a part."""
        how = self._r.lowerings[n].combine
        if how in EXTREMES and self._in_one_order:
            how += "_number" if n in self._seen else "_either"
        self._r.c.nest.assign(total.name, Apply(f"{FOLD}{how}", (total, x), x.dtype))

    def look(self, n: Node, x: Scalar) -> None:
        """Looks at an element that joins."""
        seen, nest = self._seen.get(n), self._r.c.nest
        if seen is None:
            return
        found = nest.let(compare("eq" if self._masks else "ne", x, x))
        if not self._masks:
            found = nest.let(Apply("cast", (found,), seen.dtype))
        how = "and" if self._masks else "add"
        nest.assign(seen.name, Apply(f"{FOLD}{how}", (seen, found), seen.dtype))

    def settle(self) -> None:
        """Totals become NaN where an element was."""
        nest = self._r.c.nest
        for n, seen in self._seen.items():
            total, none = self.totals[n], Literal("0", seen.dtype)
            only_numbers = seen if self._masks else nest.let(compare("eq", seen, none))
            chosen = only_numbers, total, Literal("nan", total.dtype)
            nest.assign(total.name, Apply("select", chosen, total.dtype))


def _is_in_one_order(run: Dim) -> bool:
    """A loop of a length that LLVM does not know stays one: elements meet in the same order in
    every row. A short one is written out, and rows become vectors, as many as are computed at once.
    """
    return not (isinstance(run, int) and run < INLINE_SIZES)
