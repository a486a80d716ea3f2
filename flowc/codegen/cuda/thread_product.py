"""Products by the multiply-adds of single threads: all dtypes, exact.

In: a ProductSource whose tile is a ProductTile. Out: the part of a TiledProduct that multiplies.
Invariant: every element of the result, or of a part of its inner dimension, is one chain of
multiply-adds in the order of that dimension, whichever tile computes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from flowc.codegen.cuda.product import TiledProduct
from flowc.codegen.cuda.tile import ProductTile
from flowc.codegen.llvm.vector_ir import Index
from flowc.ir.scalar import compute_dtype

PAD = 4  # elements by which rows of a tile in shared memory are longer: they start in other banks


class ThreadProduct(TiledProduct):
    """Tiles stand in shared memory by the steps of the inner dimension."""

    def _begin(self) -> int:
        w, t = self.w, self.source.tile
        assert isinstance(t, ProductTile)
        self.t, self.parts = t, t.row_parts
        self.size = compute_dtype(self.source.dtype).size
        self.left_step, self.right_step = t.rows + PAD, t.columns + PAD
        self.left_bytes = t.depth * self.left_step * self.size
        across = t.columns // t.thread_columns
        self.thread_row = w.wide(self.thread // across)
        self.thread_column = w.wide(self.thread % across)
        self.totals = [
            [w.variable(self.zero) for _ in range(t.thread_columns)] for _ in range(t.thread_rows)
        ]
        return self.left_bytes + t.depth * self.right_step * self.size

    def _keep(self, read: Sequence[Sequence[Any]], offset: Index) -> None:
        w, before = self.w, 0
        for side, step in enumerate((self.left_step, self.right_step)):
            base = w.at(self.memory, offset + before, ir.IntType(8))
            share = self.source.share(side)
            for (across, inner), vector in zip(share.places(w), read[side], strict=True):
                elements = [w.as_computed(x, self.source.dtype) for x in w.lanes(vector)]
                apart = 1 if share.along else step
                for i, element in enumerate(elements):
                    place = w.wide(inner * step + across) + i * apart
                    w.b.store(element, w.at(base, place, self.kind))
            before = self.left_bytes

    def _multiply(self, offset: Index) -> None:
        w, t = self.w, self.t
        left = w.at(self.memory, offset, ir.IntType(8))
        right = w.at(left, w.number(self.left_bytes), ir.IntType(8))
        left = w.at(left, self.thread_row * t.row_lanes, self.kind)
        right = w.at(right, self.thread_column * t.column_lanes, self.kind)
        for inner in range(t.depth):
            first = inner * self.left_step, inner * self.right_step
            rows = self._elements(left, first[0], t.rows, t.row_parts, t.row_lanes)
            columns = self._elements(right, first[1], t.columns, t.column_parts, t.column_lanes)
            for i, x in enumerate(rows):
                for j, y in enumerate(columns):
                    total = self.totals[i][j]
                    total.set(w.multiply_add(x, y, total.get()))

    def _elements(self, base: Any, first: int, size: int, parts: int, lanes: int) -> list[Any]:
        """A thread's rows or columns of one step: `parts` of as many neighbours as a vector has."""
        w, found = self.w, list[Any]()
        for part in range(parts):
            pointer = w.at(base, w.number(first + part * (size // parts)), self.kind)
            kind = self.kind if lanes == 1 else ir.VectorType(self.kind, lanes)
            found += w.lanes(w.read(pointer, kind, lanes * self.size))
        return found

    def _stage(self, part: int) -> None:
        w, t = self.w, self.t
        for i in range(t.row_lanes):
            row = self.thread_row * t.row_lanes + i
            for j in range(t.thread_columns):
                apart = (j // t.column_lanes) * (t.columns // t.column_parts)
                column = self.thread_column * t.column_lanes + apart
                place = row * t.columns + column + j % t.column_lanes
                value = self.totals[part * t.row_lanes + i][j].get()
                w.b.store(value, w.at(self.memory, place, self.kind))

    def _row(self, part: Index, staged: Index) -> Index:
        return part * (self.t.rows // self.parts) + staged
