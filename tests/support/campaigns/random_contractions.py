"""Random products and convolutions of sizes that register tiles, Winograd's algorithm, planes and
depthwise groups are made for, which the small examples of records never reach.

In: a seed. Out: a Computation of one contraction, what follows it and often a transpose or reshape
on either side, and arrays for its parameters. Weights are constants or parameters; the numbers of
rows and images, and the sizes of these, are known or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation, Value
from flowc.ir.dims import symbol
from flowc.ir.types import TensorType

SIZES = (1, 2, 3, 7, 8, 13, 16, 17, 24, 31, 32, 33, 40, 48, 63, 64, 65, 96, 130)
DEPTHS = (*SIZES, 128, 256, 300, 385, 600)
CHANNELS = (1, 2, 3, 4, 8, 16, 17, 24, 32, 48, 64, 80)
PIXELS = (1, 2, 3, 5, 7, 8, 14, 15, 17, 28)
WINDOWS = ((1, 1), (2, 2), (3, 3), (5, 5), (1, 7), (3, 1), (4, 4), (7, 7), (2, 3))


class RandomContraction:
    def __init__(self, seed: int) -> None:
        self.random = np.random.Generator(np.random.PCG64(seed))
        self.b = Builder()
        self.arrays: list[np.ndarray] = []
        self.dtype = self.one_of((dtypes.f32,) * 8 + (dtypes.f64,))

    def chance(self, p: float) -> bool:
        return bool(self.random.random() < p)

    def one_of(self, found: Sequence[Any]) -> Any:
        return found[int(self.random.integers(len(found)))]

    def numbers(self, shape: Sequence[int]) -> np.ndarray:
        return self.random.uniform(-1, 1, tuple(shape)).astype(self.dtype.numpy)

    def fed(self, shape: Sequence[int], may_be_open: int = 0) -> Value:
        """A parameter, of whose first `may_be_open` sizes some are known to the run alone."""
        self.arrays.append(self.numbers(shape))
        is_open = [i < may_be_open and self.chance(0.3) for i in range(len(shape))]
        dims = [symbol(f"n{i}") if is_open[i] else d for i, d in enumerate(shape)]
        return self.b.parameter(f"x{len(self.arrays)}", TensorType(self.dtype, tuple(dims)))

    def weights(self, shape: Sequence[int]) -> Value:
        return self.b.const(self.numbers(shape)) if self.chance(0.6) else self.fed(shape)

    # -- contractions

    def product(self) -> Value:
        m, n, k = self.one_of(SIZES), self.one_of(SIZES), self.one_of(DEPTHS)
        across, down = self.chance(0.25), self.chance(0.3)
        left = self.fed((k, m) if across else (m, k), 1)
        right = self.weights((n, k) if down else (k, n))
        return self.b.mat_mul(left, right, transpose_a=across, transpose_b=down)

    def joined(self) -> Value:
        """A product of matrices that stand side by side."""
        m, n = self.one_of(SIZES), self.one_of(SIZES)
        widths = [self.one_of(SIZES) for _ in range(2)]
        pieces = [self.fed((m, width)) for width in widths]
        return self.b.mat_mul(self.b.concat(*pieces, np.int32(1)), self.weights((sum(widths), n)))

    def batch_product(self) -> Value:
        m, n, k = (self.one_of(SIZES[:15]) for _ in range(3))
        batch = self.one_of(((1,), (3,), (2, 3)))
        across, down = self.chance(0.25), self.chance(0.3)
        left = self.fed((*batch, *((k, m) if across else (m, k))))
        shared = self.chance(0.3)
        right = self.weights((*(() if shared else batch), *((n, k) if down else (k, n))))
        return self.b.batch_mat_mul(left, right, adj_x=across, adj_y=down)

    def geometry(self, rank: int, window: Sequence[int]) -> dict[str, Any]:
        strides, dilations = [1] * (rank + 2), [1] * (rank + 2)
        if self.chance(0.3):
            strides[1:-1] = [2] * rank
        elif self.chance(0.2) and max(window) > 1:
            dilations[1:-1] = [2] * rank
        padding = "SAME" if self.chance(0.7) else "VALID"
        return {"strides": strides, "dilations": dilations, "padding": padding}

    def image(self, rank: int, window: Sequence[int], channels: int) -> list[int]:
        sizes = [max(self.one_of(PIXELS), 2 * w) for w in window]
        return [self.one_of((1, 1, 2, 3)), *sizes[:rank], channels]

    def convolution(self) -> Value:
        window, groups = self.one_of(WINDOWS), self.one_of((1, 1, 1, 1, 2, 4))
        inputs, outputs = groups * self.one_of(CHANNELS), groups * self.one_of(CHANNELS)
        x = self.fed(self.image(2, window, inputs), 3)
        w = self.weights((*window, inputs // groups, outputs))
        return self.b.conv2d(x, w, **self.geometry(2, window))

    def volume(self) -> Value:
        window = (self.one_of((1, 2, 3)), *self.one_of(WINDOWS[:4]))
        inputs, outputs = self.one_of(CHANNELS), self.one_of(CHANNELS)
        _, *sizes, _ = self.image(3, window, inputs)
        x = self.fed((1, *(min(size, 9) for size in sizes), inputs), 4)
        w = self.weights((*window, inputs, outputs))
        return self.b.conv3d(x, w, **self.geometry(3, window))

    def depthwise(self) -> Value:
        window, channels = self.one_of(WINDOWS), self.one_of(CHANNELS)
        x = self.fed(self.image(2, window, channels), 3)
        w = self.weights((*window, channels, self.one_of((1, 1, 2))))
        attrs = self.geometry(2, window)
        return self.b.depthwise_conv2d(x, w, **attrs)

    def transposed(self) -> Value:
        """Which upsamples: the gradient of a convolution with stride 2."""
        window = self.one_of(WINDOWS[1:4])
        inputs, outputs = self.one_of(CHANNELS), self.one_of(CHANNELS)
        batch, high, wide, _ = self.image(2, (1, 1), inputs)
        x = self.fed((batch, high, wide, inputs))
        sizes = np.array([batch, 2 * high, 2 * wide, outputs], np.int32)
        attrs = {"strides": [1, 2, 2, 1], "padding": "SAME"}
        w = self.weights((*window, outputs, inputs))
        return self.b.conv2d_backprop_input(sizes, w, x, **attrs)

    # -- what follows

    def finished(self, y: Value) -> list[Value]:
        """What is done with each element, and the result under another shape or order."""
        rank, last = y.type.rank, y.dims[-1]
        if self.chance(0.5) and isinstance(last, int):
            y = self.b.add(y, self.b.const(self.numbers((last,))))
        if self.chance(0.5):
            y = self.b.relu(y)
        found = [y]
        if self.chance(0.25):
            order = tuple(int(i) for i in self.random.permutation(rank))
            found = [self.b.transpose(y, order)]
        elif self.chance(0.3) and isinstance(last, int):
            flat = self.b.reshape(y, (-1, last))
            found = [self.b.mul(self.b.sigmoid(flat), flat)]
        elif self.chance(0.2):
            found += [self.b.sum(y, (rank - 1,), keep_dims=False)]
        return found


KINDS = {
    RandomContraction.product: 4,
    RandomContraction.joined: 1,
    RandomContraction.batch_product: 2,
    RandomContraction.convolution: 5,
    RandomContraction.volume: 2,
    RandomContraction.depthwise: 2,
    RandomContraction.transposed: 1,
}


def random_contraction(seed: int) -> tuple[Computation, list[np.ndarray]]:
    made = RandomContraction(seed)
    y = made.one_of([kind for kind, weight in KINDS.items() for _ in range(weight)])(made)
    return made.b.build(made.finished(y)), made.arrays
