"""Products by tensor cores: f16 and bf16 summed in f32, and f32 rounded to the ten bits of mantissa
that tensor cores take (tf32).

In: a ProductSource whose tile is a TensorTile. Out: the part of a TiledProduct that multiplies. A
warp multiplies 16 rows by 8 columns at a time, `STEPS` of the inner dimension (8 in f32); which of
its threads holds which element of these is NVIDIA's layout of `mma.sync.m16n8k16` and `m16n8k8`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from flowc import dtypes
from flowc.codegen.cuda.device_writer import memory_type
from flowc.codegen.cuda.product import TiledProduct
from flowc.codegen.cuda.tile import TensorTile
from flowc.codegen.llvm.quantity import F32
from flowc.codegen.llvm.vector_ir import Index
from flowc_runtime.native.writer import I32, declare

ROWS, COLUMNS = 16, 8  # of one multiplication of a warp
PAD_BYTES = {True: 32, False: 16}  # behind a row: with `along`, a row is one step across


class TensorProduct(TiledProduct):
    """Tiles stand in shared memory as they stood in memory: by rows or by steps."""

    def _begin(self) -> int:
        w, t, dtype = self.w, self.source.tile, self.source.dtype
        assert isinstance(t, TensorTile)
        self.t, self.size = t, dtype.size
        self.parts = t.warp_rows // ROWS
        self.name = f"flowc_mma_{'tf32' if dtype is dtypes.f32 else dtype}"
        self.steps = 32 // self.size  # of the inner dimension in one multiplication
        self.element = memory_type(dtype)
        lane, warp = self.thread % 32, self.thread // 32
        self.group, self.within = w.wide(lane // 4), w.wide(lane % 4)
        across = t.columns // t.warp_columns
        self.warp_row, self.warp_column = w.wide(warp // across), w.wide(warp % across)
        self.totals = [
            [[w.variable(self.zero) for _ in range(4)] for _ in range(t.warp_columns // COLUMNS)]
            for _ in range(t.warp_rows // ROWS)
        ]
        self.row_steps = [self._row_step(side) for side in (0, 1)]
        lengths = [
            t.depth if along else size
            for along, size in zip(self.source.along, (t.rows, t.columns))
        ]
        sizes = [n * step * self.size for n, step in zip(lengths, self.row_steps)]
        self.starts = (0, sizes[0])
        return sum(sizes)

    def _row_step(self, side: int) -> int:
        """Elements from one row of a tile in shared memory to the next."""
        along = self.source.along[side]
        length = (self.t.rows, self.t.columns)[side] if along else self.t.depth
        return length + PAD_BYTES[along] // self.size

    def _place(self, side: int, across: Index, inner: Index) -> Index:
        step = self.row_steps[side]
        return inner * step + across if self.source.along[side] else across * step + inner

    def _base(self, side: int, offset: Index) -> Any:
        return self.w.at(self.memory, offset + self.starts[side], ir.IntType(8))

    def _keep(self, read: Sequence[Sequence[Any]], offset: Index) -> None:
        w = self.w
        for side, vectors in enumerate(read):
            base, share = self._base(side, offset), self.source.share(side)
            for (across, inner), vector in zip(share.places(w), vectors, strict=True):
                place = self._place(side, w.wide(across), w.wide(inner))
                pointer = w.at(base, place, self.element)
                w.b.store(self._rounded(vector), pointer, share.width * self.size)

    def _rounded(self, vector: Any) -> Any:
        """What tensor cores take of f32, which they would cut off."""
        w, b = self.w, self.w.b
        if self.size != 4:
            return vector
        function = declare(w.module, "flowc_round_tf32", ir.FunctionType(F32, [F32]))
        lanes = [b.call(function, [x]) for x in w.lanes(vector)]
        if len(lanes) == 1:
            return lanes[0]
        made = ir.Constant(vector.type, ir.Undefined)
        for i, lane in enumerate(lanes):
            made = b.insert_element(made, lane, I32(i))
        return made

    def _multiply(self, offset: Index) -> None:
        t, bases = self.t, [self._base(side, offset) for side in (0, 1)]
        first = self.warp_row * t.warp_rows, self.warp_column * t.warp_columns
        for step in range(0, t.depth, self.steps):
            columns = [
                self._fragment(1, bases[1], first[1] + j * COLUMNS, step, (0,))
                for j in range(t.warp_columns // COLUMNS)
            ]
            for i, row in enumerate(self.totals):
                left = self._fragment(0, bases[0], first[0] + i * ROWS, step, (0, 8))
                for right, totals in zip(columns, row):
                    self._add([*left, *right], totals)

    def _fragment(
        self, side: int, base: Any, first: Index, step: int, beyond: Sequence[int]
    ) -> list[Any]:
        """The registers of this thread for one `mma` instruction's operand: of the row (or column)
        that is the thread's, counted from `first`, and of those as far `beyond` it."""
        found: list[Any] = []
        pair = 4 // self.size  # elements in a register
        for half in (0, self.steps // 2):
            inner = self.within * pair + (step + half)
            for further in beyond:
                found.append(self._register(side, base, first + self.group + further, inner))
        return found

    def _register(self, side: int, base: Any, across: Index, inner: Index) -> Any:
        w, b = self.w, self.w.b
        pointer = w.at(base, self._place(side, across, inner), self.element)
        if self.size == 4 or not self.source.along[side]:
            return w.read(pointer, I32, 4)
        above = w.at(base, self._place(side, across, inner + 1), self.element)
        short = ir.IntType(16)
        low, high = (b.zext(w.read(p, short), I32) for p in (pointer, above))
        return b.or_(low, b.shl(high, ir.Constant(I32, 16)))

    def _add(self, registers: Sequence[Any], totals: Sequence[Any]) -> None:
        w, b = self.w, self.w.b
        given = [*registers, *(total.get() for total in totals)]
        result = ir.LiteralStructType([F32] * 4)
        function = declare(w.module, self.name, ir.FunctionType(result, [x.type for x in given]))
        for attribute in ("convergent", "nounwind"):
            function.attributes.add(attribute)
        found = b.call(function, given)
        for i, total in enumerate(totals):
            total.set(b.extract_value(found, i))

    def _stage(self, part: int) -> None:
        w, t = self.w, self.t
        for j, totals in enumerate(self.totals[part]):
            column = self.warp_column * t.warp_columns + self.within * 2 + j * COLUMNS
            for i, total in enumerate(totals):
                row = self.warp_row * ROWS + self.group + (i // 2) * 8
                place = row * t.columns + column + i % 2
                w.b.store(total.get(), w.at(self.memory, place, self.kind))

    def _row(self, part: Index, staged: Index) -> Index:
        return staged // ROWS * self.t.warp_rows + part * ROWS + staged % ROWS
