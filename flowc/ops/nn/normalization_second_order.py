"""The gradient of FusedBatchNormGrad.

In: the op, and the gradients of its outputs. Out: those of the gradient that it was given, of x and
of the scale. Invariant: in training the statistics are those of x, and part of its gradient; of the
ones that the op was given nothing is said.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dataclass import dataclass
from flowc.ir.layout import layout_of
from flowc.ops.gradients import Forward, GradientBuilder


@dataclass(frozen=True)
class _Channels:
    """Folds over all axes but that of the channels, of images in f32."""

    b: GradientBuilder
    rank: int
    at: int

    def mean(self, value: Any) -> Any:
        return self.b.mean(value, self._axes(), keep_dims=True)

    def sum(self, value: Any) -> Any:
        return self.b.sum(value, self._axes())

    def beside(self, value: Any) -> Any:
        """A number for each channel, so shaped that it broadcasts against images."""
        return self.b.reshape(value, self._dims())

    def _axes(self) -> Any:
        return np.array([i for i in range(self.rank) if i != self.at], np.int32)

    def _dims(self) -> Any:
        return np.array([-1 if i == self.at else 1 for i in range(self.rank)], np.int32)


def _in_f32(b: GradientBuilder, value: Any) -> Any:
    return value if value.dtype is dtypes.f32 else b.cast(value, DstT=dtypes.f32)


def second_order(b: GradientBuilder, node: Forward, *dys: Any) -> Any:
    rank = len(node.attrs["data_format"])
    fold = _Channels(b, rank, layout_of(node.attrs["data_format"]).channel_axis(rank))
    images = [_in_f32(b, value) for value in (*node.inputs[:2], dys[0])]
    numbers = [fold.beside(value) for value in (*node.inputs[2:5], *dys[1:3])]
    of_form = _in_training if node.attrs["is_training"] else _in_inference
    d_dy, d_x, d_scale = of_form(b, fold, node.attrs["epsilon"], images, numbers)
    dtype = node.inputs[1].dtype
    if dtype is not dtypes.f32:
        d_dy, d_x = b.cast(d_dy, DstT=dtype), b.cast(d_x, DstT=dtype)
    return d_dy, d_x, d_scale


def _in_inference(
    b: GradientBuilder, fold: _Channels, epsilon: float, images: Any, numbers: Any
) -> Any:
    """dx = dy*scale*r, d_scale = sum(dy*(x-mean)*r), d_offset = sum(dy), r = rsqrt(variance)"""
    dy, x, of_dx = images
    scale, mean, variance, of_scale, of_offset = numbers
    r = b.rsqrt(b.add(variance, epsilon))
    unit = b.mul(b.sub(x, mean), r)
    d_dy = b.add(b.mul(of_dx, b.mul(scale, r)), b.add(b.mul(of_scale, unit), of_offset))
    d_x = b.mul(dy, b.mul(of_scale, r))
    return d_dy, d_x, fold.sum(b.mul(b.mul(of_dx, dy), r))


def _in_training(
    b: GradientBuilder, fold: _Channels, epsilon: float, images: Any, numbers: Any
) -> Any:
    """With u = (x - mean(x))*r and p(v) = v - mean(v) - u*mean(v*u):
    dx = scale*r*p(dy), d_scale = sum(dy*u), d_offset = sum(dy)"""
    dy, x, of_dx = images
    scale, _, _, of_scale, of_offset = numbers
    centered = b.sub(x, fold.mean(x))
    r = b.rsqrt(b.add(fold.mean(b.square(centered)), epsilon))
    unit = b.mul(centered, r)
    factor = b.mul(scale, r)

    def projected(value: Any, along: Any) -> Any:
        return b.sub(b.sub(value, fold.mean(value)), b.mul(unit, along))

    dy_along, of_dx_along = fold.mean(b.mul(dy, unit)), fold.mean(b.mul(of_dx, unit))
    from_dx = projected(of_dx, of_dx_along)
    d_dy = b.add(b.mul(from_dx, factor), b.add(b.mul(of_scale, unit), of_offset))
    # What flows into u, then through u and through r into x.
    crossed = b.add(b.mul(of_dx, dy_along), b.mul(dy, of_dx_along))
    of_unit = b.sub(b.mul(of_scale, dy), b.mul(factor, crossed))
    through_unit = b.mul(projected(of_unit, fold.mean(b.mul(of_unit, unit))), r)
    slope = b.mul(b.mul(factor, r), fold.mean(b.mul(from_dx, dy)))
    d_x = b.sub(through_unit, b.mul(unit, slope))
    return d_dy, d_x, fold.sum(b.mul(b.mul(from_dx, dy), r))
