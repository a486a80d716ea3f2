"""Random graphs whose values are larger than a vector, a tile and a panel, of more kinds of ops:
convolutions, pools, normalization over any axes, scans, orders and other dtypes between the rest.

In: a seed. Out: a Computation and inputs, as `random_graphs` makes them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from campaigns.random_graphs import EXACT_BITS, Known, RandomGraph

from flowc import dtypes
from flowc.dtypes import DType
from flowc.ir.computation import Value
from flowc.ir.dims import Dim

WINDOWS = ((1, 1), (2, 2), (3, 3), (1, 3), (5, 5), (3, 1), (7, 1))
# The bits of fractions that a dtype holds.
OTHERS = {dtypes.f64: EXACT_BITS, dtypes.f16: 11, dtypes.bf16: 8, dtypes.i64: EXACT_BITS}


class LargeGraph(RandomGraph):
    sizes = (1, 3, 8, 16, 24, 32, 33, 40, 47, 64, 65, 70, 96)
    open_sizes = (65, 64, 47, 33, 16, 3, 1, 0)
    elements = 40_000

    def steps(self) -> list[Callable[[], None]]:
        return [
            *super().steps(),
            self.contract, self.contract, self.convolve, self.convolve, self.depthwise, self.pool,
            self.normalize_axes, self.softmax_axes, self.cumulate, self.largest, self.leading,
            self.scatter, self.in_other_dtype, self.split_axis,
        ]  # fmt: skip

    def dims(self) -> tuple[Dim, ...]:
        found = super().dims()
        while not self.fits(found):
            found = found[:-1]
        return found

    def of_rank(self, rank: int) -> Known | None:
        """A float value of a rank, made before or by adding axes, else a new one."""
        k = self.some(dtypes.f32)
        if k is not None and rank - 1 <= k.type.rank < rank and k.bound < 100:
            at = self.number(0, k.type.rank)
            value = self.b.expand_dims(k.value, np.int32(at))
            return self.keep(value, k.bound, k.bits, k.exact)
        if k is not None and k.type.rank == rank:
            return k if k.bound < 100 else None
        channels = (1, 3, 8, 16, 24, 32, 40, 64)[self.number(0, 8)]
        dims = [self.number(1, 3), *(self.number(3, 18) for _ in range(rank - 2)), channels]
        return self.parameter(tuple(dims), dtypes.f32) if self.fits(tuple(dims)) else None

    # -- contractions

    def contract(self) -> None:
        """A product of what the run computes on both sides, if there is such, either transposed."""
        k = self.some(dtypes.f32)
        if k is None or k.type.rank < 2 or k.bound > 100:
            return
        across, down = self.chance(0.3), self.chance(0.4)
        *batch, high, wide = k.value.dims
        inner = high if across else wide
        found = [
            x
            for x in self.known
            if x.type.dtype is dtypes.f32 and x.type.rank == k.type.rank and x.bound < 100
            and list(x.value.dims[:-2]) == batch and x.value.dims[-1 if down else -2] == inner
        ]  # fmt: skip
        if found and self.chance(0.7):
            x = found[self.number(0, len(found))]
        else:
            columns = self.size()
            dims = (*batch, columns, inner) if down else (*batch, inner, columns)
            if not self.fits(dims):
                return
            x = self.parameter(dims, dtypes.f32)
        columns = x.value.dims[-2 if down else -1]
        if not self.fits((*batch, wide if across else high, columns)):
            return
        out = self.b.batch_mat_mul(k.value, x.value, adj_x=across, adj_y=down)
        bound = k.bound * x.bound * self.count([inner])
        self.keep(out, bound, k.bits + x.bits, k.exact and x.exact)

    def window(self, k: Known) -> tuple[list[int], list[int], str] | None:
        """Of a value of rank 4: a window, strides and a padding that leave something."""
        window = WINDOWS[self.number(0, len(WINDOWS))]
        stride = self.number(1, 3)
        padding = "VALID" if self.chance(0.3) else "SAME"
        for size, taps in zip(k.value.dims[1:3], window):
            if padding == "VALID" and not (isinstance(size, int) and size >= taps):
                return None
        return [*window], [1, stride, stride, 1], padding

    def convolve(self) -> None:
        k = self.of_rank(4)
        found = self.window(k) if k is not None else None
        if k is None or found is None or not isinstance(k.value.dims[-1], int):
            return
        window, strides, padding = found
        inputs, outputs = k.value.dims[-1], self.size()
        groups = 2 if inputs % 2 == 0 and outputs % 2 == 0 and self.chance(0.2) else 1
        dims = (*window, inputs // groups, outputs)
        if not self.fits(dims) or not self.fits((*k.value.dims[:3], outputs)):
            return
        x = self.weights(dims)
        out = self.b.conv2d(k.value, x.value, strides=strides, padding=padding)
        bound = k.bound * x.bound * int(np.prod(dims[:3]))
        self.follow(self.keep(out, bound, exact=False), outputs)

    def depthwise(self) -> None:
        k = self.of_rank(4)
        found = self.window(k) if k is not None else None
        if k is None or found is None or not isinstance(k.value.dims[-1], int):
            return
        window, strides, padding = found
        multiplier = self.number(1, 3)
        if not self.fits((*k.value.dims[:3], k.value.dims[-1] * multiplier)):
            return
        x = self.weights((*window, k.value.dims[-1], multiplier))
        out = self.b.depthwise_conv2d(k.value, x.value, strides=strides, padding=padding)
        bound = k.bound * x.bound * int(np.prod(window))
        self.follow(self.keep(out, bound, exact=False), k.value.dims[-1] * multiplier)

    def weights(self, dims: tuple[int, ...]) -> Known:
        """Known when the graph is compiled, or not."""
        if self.chance(0.4):
            return self.parameter(dims, dtypes.f32)
        numbers = self.random.integers(-16, 17, dims) / 8
        return Known(self.b.const(numbers.astype(np.float32)), 2.0, 3)

    def follow(self, k: Known, columns: int) -> None:
        """What models do with sums: a bias, a function of each element, the sum with another."""
        y = k.value
        if self.chance(0.5):
            y = self.b.add(y, self.weights((columns,)).value)
        if self.chance(0.5):
            y = (self.b.relu, self.b.sigmoid, self.b.tanh)[self.number(0, 3)](y)
        same = [
            x.value
            for x in self.known
            if x.type == y.type and x.bound < 1e3 and x.value is not k.value
        ]
        if same and self.chance(0.4):
            y = self.b.add(y, same[-1])
        if y is not k.value:
            self.keep(y, k.bound + 1e3, exact=False)

    def pool(self) -> None:
        k = self.of_rank(4)
        found = self.window(k) if k is not None else None
        if k is None or found is None or 0 in k.value.dims:
            return
        window, strides, padding = found
        name = ("max_pool", "avg_pool")[self.number(0, 2)]
        out = getattr(self.b, name)(
            k.value, ksize=[1, *window, 1], strides=strides, padding=padding
        )
        self.keep(out, k.bound, k.bits, k.exact and name == "max_pool")

    # -- rows

    def axes(self, k: Known) -> tuple[int, ...]:
        rank = k.type.rank
        return tuple(sorted({self.number(0, rank) for _ in range(self.number(1, rank + 1))}))

    def normalize_axes(self) -> None:
        """Less their mean, by their deviation: all that lies along some axes."""
        b, k = self.b, self.some(dtypes.f32)
        if k is None or k.type.rank == 0 or k.bound > 100:
            return
        axes = self.axes(k)
        centered = b.sub(k.value, b.mean(k.value, axes, keep_dims=True))
        variance = b.mean(b.square(centered), axes, keep_dims=True)
        scale = b.rsqrt(b.add(variance, np.float32(0.125)))
        out = b.mul(centered, scale)
        if self.chance(0.5):
            last = self.parameter(k.value.dims[-1:], dtypes.f32)
            out = b.add(b.mul(out, last.value), last.value)
        self.keep(out, 100, exact=False)

    def softmax_axes(self) -> None:
        b, k = self.b, self.some(dtypes.f32)
        if k is None or k.type.rank == 0 or k.bound > 1e3:
            return
        axes = self.axes(k)
        powers = b.exp(b.sub(k.value, b.max(k.value, axes, keep_dims=True)))
        self.keep(b.div(powers, b.sum(powers, axes, keep_dims=True)), 1, exact=False)

    def cumulate(self) -> None:
        k = self.some((dtypes.f32, dtypes.i32)[self.number(0, 2)])
        if k is None or k.type.rank == 0:
            return
        axis = self.number(0, k.type.rank)
        bound = k.bound * max(1, self.count([k.value.dims[axis]]))
        if bound < 1e5:
            flags = {"exclusive": self.chance(0.3), "reverse": self.chance(0.3)}
            out = self.b.cumsum(k.value, np.int32(axis), **flags)
            self.keep(out, bound, k.bits, k.exact)

    def largest(self) -> None:
        k = self.some((dtypes.f32, dtypes.i32)[self.number(0, 2)], exact=True)
        if k is None or k.type.rank == 0:
            return
        axis = self.number(0, k.type.rank)
        size = k.value.dims[axis]
        if isinstance(size, int) and size > 0:
            name = ("arg_max", "arg_min")[self.number(0, 2)]
            out = getattr(self.b, name)(k.value, np.int32(axis), output_type=dtypes.i32)
            self.keep(out, size)

    def leading(self) -> None:
        k = self.some(dtypes.f32, exact=True)
        if k is None or k.type.rank == 0 or not isinstance(k.value.dims[-1], int):
            return
        count = self.number(1, k.value.dims[-1] + 1)
        values, places = self.b.top_k(k.value, np.int32(count))
        self.keep(values, k.bound, k.bits)
        self.keep(places, k.value.dims[-1])

    def scatter(self) -> None:
        """Rows added up in rows of another value, some of them twice."""
        k = self.some(dtypes.f32)
        if k is None or k.type.rank == 0 or not isinstance(k.value.dims[0], int):
            return
        rows = self.random.integers(0, k.value.dims[0], (self.number(1, 6), 1)).astype(np.int32)
        updates = self.parameter((len(rows), *k.value.dims[1:]), dtypes.f32)
        out = self.b.tensor_scatter_add(k.value, self.b.const(rows), updates.value)
        bound = k.bound + updates.bound * len(rows)
        self.keep(out, bound, max(k.bits, updates.bits), k.exact)

    def split_axis(self) -> None:
        """Two parts of an axis, in the other order."""
        k = self.some()
        if k is None or k.type.rank == 0:
            return
        axis = self.number(0, k.type.rank)
        size = k.value.dims[axis]
        if isinstance(size, int) and size > 1:
            at = self.number(1, size)
            parts = [self.cut_axis(k.value, axis, 0, at), self.cut_axis(k.value, axis, at, size)]
            self.moved(k, self.b.concat(parts[1], parts[0], np.int32(axis)))

    def cut_axis(self, value: Value, axis: int, begin: int, end: int) -> Value:
        rank = value.type.rank
        begins = tuple(begin if i == axis else 0 for i in range(rank))
        sizes = tuple(end - begin if i == axis else -1 for i in range(rank))
        return self.b.slice(value, begins, sizes)

    # -- other dtypes

    def in_other_dtype(self) -> None:
        """To another dtype, whose numbers hold the values, a few ops there, and back."""
        kinds: list[DType] = list(OTHERS)
        kind = kinds[self.number(0, len(kinds))]
        k = self.some(dtypes.f32, exact=True)
        if k is None or 2 * k.bound * 2.0**k.bits > 2 ** OTHERS[kind]:
            return
        b, whole = self.b, kind is dtypes.i64
        y = b.cast(k.value, DstT=kind)
        if k.type.rank > 1 and self.chance(0.5):
            y = b.transpose(y, tuple(int(i) for i in self.random.permutation(k.type.rank)))
        if self.chance(0.5):
            y = b.maximum(y, b.neg(y))
        if k.type.rank > 0 and self.chance(0.5) and 0 not in y.dims:
            y = b.max(y, (self.number(0, k.type.rank),), keep_dims=self.chance(0.5))
        if self.chance(0.5):
            y = b.add(y, y)
        y = b.cast(y, DstT=dtypes.f32)
        self.keep(y, 2 * k.bound, 0 if whole else k.bits, k.exact)
