"""The transforms of Winograd convolutions: which points they use, their matrices, and vector IR.

In: a `Winograd`, which says how many outputs a tile gives along each axis, of which window. Out:
weights transformed, and instructions that transform tiles of the input and of the products.

F(m, r) gives m outputs of a window of r from m + r - 1 products in place of m r: outputs, inputs
and weights are values of polynomials at m + r - 2 points and at infinity, and a convolution is a
product of values. In two dimensions, the products of the axes multiply. The points are 0 and pairs
+a, -a near 1 whose powers and products are floats exactly, so that what rounds is sums, and weights
once. With a stride of s, the outputs are the sum of s convolutions, each of every s-th element of
the input with every s-th of the window.

Invariant: what an element becomes depends on its own tile only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache, reduce
from itertools import islice
from typing import Any

import numpy as np
from llvmlite import ir

from flowc.codegen.llvm.vector_ir import Value, multiply_add
from flowc.dataclass import dataclass

# The positive points of pairs, by how many values a polynomial has.
POINTS: dict[int, tuple[Fraction, ...]] = {
    1: (),
    3: (),
    4: (Fraction(1),),
    5: (Fraction(3, 2),),
    6: (Fraction(3, 4), Fraction(3, 2)),
    8: (Fraction(1, 2), Fraction(1), Fraction(3, 2)),
    10: (Fraction(3, 8), Fraction(3, 4), Fraction(5, 4), Fraction(2)),
}

# Of an odd number, the point that is not one of a pair.
SINGLE = {3: (Fraction(1),), 5: (Fraction(1, 2),)}

Array = np.ndarray[Any, Any]
Polynomial = tuple[Fraction, ...]  # its coefficients, that of 1 first


def _times(p: Sequence[Fraction], q: Sequence[Fraction]) -> Polynomial:
    found = [Fraction(0)] * (len(p) + len(q) - 1)
    for i, x in enumerate(p):
        for j, y in enumerate(q):
            found[i + j] += x * y
    return tuple(found)


def _value(p: Polynomial, x: Fraction) -> Fraction:
    return sum((c * x**i for i, c in enumerate(p)), Fraction(0))


@dataclass(frozen=True, slots=True)
class WinogradAxis:
    """F(outputs, window) along one axis; outputs of a window of one are products."""

    outputs: int
    window: int
    stride: int = 1

    @property
    def side(self) -> int:
        """Elements of a tile of the input, and products."""
        return self.stride * (self.outputs - 1) + self.window

    @property
    def phases(self) -> tuple[WinogradAxis, ...]:
        """The convolutions whose sum it is: of the elements from the first, from the second, ..."""
        taps = (len(range(s, self.window, self.stride)) for s in range(self.stride))
        return tuple(WinogradAxis(self.outputs, window) for window in taps)

    @property
    def points(self) -> tuple[Fraction, ...]:
        """Where polynomials are evaluated, beside infinity, which is the last position."""
        zero = (Fraction(0),) if self.side > 1 else ()
        return (*zero, *self._single, *(x for a in POINTS[self.side] for x in (a, -a)))

    @property
    def _single(self) -> tuple[Fraction, ...]:
        return SINGLE.get(self.side, ())

    def _without(self, *left_out: Fraction | None) -> Polynomial:
        """The product of x - a over all points but some."""
        found: Polynomial = (Fraction(1),)
        for a in self.points:
            if a not in left_out:
                found = _times(found, (-a, Fraction(1)))
        return found

    @property
    def input_rows(self) -> tuple[Polynomial, ...]:
        """What each position is of the elements of a tile along an axis."""
        return tuple(self._without(a) for a in (*self.points, None))

    @property
    def weight_matrix(self) -> Array:
        """[side, window]: what each position is of the weights along an axis."""
        return _weight_matrix(self)

    def emit_input(self, b: ir.IRBuilder, d: Sequence[Value]) -> list[Value]:
        """The values at all positions of a tile's elements along the axis."""
        if self.stride > 1:
            steps = enumerate(self.phases)
            return [x for s, phase in steps for x in phase.emit_input(b, d[s :: self.stride])]
        if self.window == 1:
            return list(d)
        *before, infinity = self.input_rows
        alone = 1 + len(self._single)
        found: list[Value] = [_sum(b, row, d) for row in before[:alone]]
        for a in POINTS[self.side]:
            # Without a, x + a is left of the two: both points share the sums with x and without.
            others = self._without(a, -a)
            shared = _sum(b, _times(others, (Fraction(0), Fraction(1))), d), _sum(b, others, d)
            found += [_plus(b, *shared, factor) for factor in (a, -a)]
        return [*found, _sum(b, infinity, d)]

    def emit_weights(self, b: ir.IRBuilder, taps: Sequence[Value]) -> list[Value]:
        """The values at all positions of a window's weights along the axis."""
        found: list[Value] = []
        for row in self.weight_matrix:
            total: Value | None = None
            for factor, tap in zip(row, taps):
                if factor:
                    total = _plus(b, total, tap, Fraction(float(factor)))
            found.append(total)
        return found

    def emit_output(self, b: ir.IRBuilder, products: Sequence[Value]) -> list[Value]:
        """The outputs along the axis, of the products at all positions."""
        if self.stride > 1:
            rest = iter(products)
            of_phases = [p.emit_output(b, list(islice(rest, p.side))) for p in self.phases]
            return [reduce(b.fadd, parts) for parts in zip(*of_phases)]
        if self.window == 1:
            return list(products)
        first, *pairs = products
        single = pairs.pop(0) if self._single else None
        sums = [(b.fadd(p, q), b.fsub(p, q)) for p, q in zip(pairs[::2], pairs[1::2])]
        found: list[Value] = []
        for i in range(self.outputs):
            total = {0: first, self.outputs - 1: products[-1]}.get(i)
            if single is not None:
                total = _plus(b, total, single, self._single[0] ** i)
            for a, parts in zip(POINTS[self.side], sums):
                total = _plus(b, total, parts[i % 2], a**i)
            found.append(total)
        return found


@cache
def _weight_matrix(axis: WinogradAxis) -> Array:
    """[side, window]: the weights' polynomial evaluated at the points of the axis (Toom-Cook), and
    at infinity, which is its last coefficient. With a stride, that of each phase by itself."""
    if axis.stride > 1:
        found = np.zeros((axis.side, axis.window), np.float64)
        row = 0
        for first, phase in enumerate(axis.phases):
            found[row : row + phase.side, first :: axis.stride] = phase.weight_matrix
            row += phase.side
    elif axis.window == 1:
        found = np.ones((axis.side, 1), np.float64)
    else:
        powers = range(axis.window)
        rows = [[a**k / _value(axis._without(a), a) for k in powers] for a in axis.points]
        found = np.array([*rows, [0] * (axis.window - 1) + [1]], np.float64)
    found.flags.writeable = False  # as all convolutions share it
    return found


@cache
def _weight_matrix_of_both(h: WinogradAxis, w: WinogradAxis) -> Array:
    """[h.side * w.side, h.window * w.window]: the same for both axes at once."""
    found = np.kron(h.weight_matrix, w.weight_matrix)
    found.flags.writeable = False
    return found


@dataclass(frozen=True, slots=True)
class Winograd:
    """Tiles of `h.outputs` x `w.outputs`."""

    h: WinogradAxis
    w: WinogradAxis

    @property
    def positions(self) -> int:
        """Products of a tile for a pair of channels."""
        return self.h.side * self.w.side

    @property
    def outputs(self) -> tuple[int, int]:
        return self.h.outputs, self.w.outputs

    @property
    def name(self) -> str:
        h, w = self.h, self.w
        strided = f"_by_{h.stride}x{w.stride}" if max(h.stride, w.stride) > 1 else ""
        return f"{h.outputs}x{w.outputs}_of_{h.window}x{w.window}{strided}"

    def transformed_weights(self, weights: Array) -> Array:
        """[*window, channels, n] -> [positions, channels, n] in f64."""
        taps = math.prod(weights.shape[:2])
        matrix = _weight_matrix_of_both(self.h, self.w)
        found = matrix @ weights.astype(np.float64).reshape(taps, -1)
        return found.reshape(self.positions, *weights.shape[2:])

    def emit_input(self, b: ir.IRBuilder, columns: Sequence[Sequence[Value]]) -> list[Value]:
        """The values at all positions of a tile, whose elements are given by column."""
        done = [self.h.emit_input(b, column) for column in columns]
        return [value for row in zip(*done) for value in self.w.emit_input(b, row)]

    def emit_weights(self, b: ir.IRBuilder, columns: Sequence[Sequence[Value]]) -> list[Value]:
        """The weights at all positions, of a window's, which are given by column."""
        done = [self.h.emit_weights(b, column) for column in columns]
        return [value for row in zip(*done) for value in self.w.emit_weights(b, row)]

    def emit_output(self, b: ir.IRBuilder, columns: Sequence[Sequence[Value]]) -> list[Value]:
        """The outputs of a tile, of its products, which are given by column of positions."""
        done = [self.h.emit_output(b, column) for column in columns]
        return [value for row in zip(*done) for value in self.w.emit_output(b, row)]


def _constant(like: Value, x: Fraction) -> ir.Constant:
    return ir.Constant(like.type, [float(x)] * like.type.count)


def _plus(b: ir.IRBuilder, total: Value | None, x: Value, factor: Fraction) -> Value:
    """total + factor * x, of a total that there may not be yet."""
    if total is None:
        return x if factor == 1 else b.fmul(x, _constant(x, factor))
    if factor == 1:
        return b.fadd(total, x)
    if factor == -1:
        return b.fsub(total, x)
    return multiply_add(b, x, _constant(x, factor), total)


def _sum(b: ir.IRBuilder, coefficients: Sequence[Fraction], d: Sequence[Value]) -> Value:
    """The sum of coefficient * element, of which the last that counts has the coefficient 1."""
    terms = [(c, x) for c, x in zip(coefficients, d) if c]
    total = terms.pop()[1]
    for c, x in terms:
        total = _plus(b, total, x, c)
    return total
