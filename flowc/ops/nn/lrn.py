"""Local response normalisation and its gradient.

In: images, channels last; for the gradient also what came out, and its gradient. Out: each element
over a power of the sum of squares of the channels near its own. Invariant: computed in f32.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from flowc import dtypes
from flowc.ir.dims import Dim
from flowc.ir.inference import Inference
from flowc.ir.lowering import Decompose, View
from flowc.ir.op import define
from flowc.ir.text.shape_text import shown_dims
from flowc.ir.types import Dims

if TYPE_CHECKING:
    from flowc.ir.builder import Builder
    from flowc.ir.computation import Node, Value


def _window_lowering(node: Node) -> View:
    """Reads the neighbours one by one: a window is a few channels wide."""
    kind = node.inputs[0].type
    channels = kind.dims[-1]
    radius = node.attrs["radius"]
    if isinstance(channels, int):
        radius = min(radius, max(channels - 1, 0))

    def read(k: Any, index: tuple[Dim, ...]) -> Any:
        zero = k.const(0.0, kind.dtype)
        total = None
        for offset in range(-radius, radius + 1):
            at = index[-1] + offset
            inside = k.in_range(at, 0, channels)
            element = k.load_if(inside, 0, (*index[:-1], at), zero)
            total = element if total is None else k.add(total, element)
        return total

    return View(read)


def _sum_window(x: np.ndarray, *, radius: int) -> np.ndarray:
    count = x.shape[-1]
    radius = min(radius, max(count - 1, 0))
    wide = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(radius, radius)])
    total = np.zeros(x.shape, x.dtype)
    for offset in range(2 * radius + 1):
        total += wide[..., offset : offset + count]
    return total


# The sum of the channels at most `radius` away.
sum_window = define(
    "sum_window",
    "_SumWindow(input: T; T: {f32, f64}, radius: int) -> output: T",
    infer=lambda c: c.dims(0),
    lowering=_window_lowering,
    reference=_sum_window,
    examples=("T[2,3,7]; radius=2", "T[1,3]; radius=5"),
)


def _infer_lrn(c: Inference) -> Dims:
    if c.rank(0) != 4:
        fault = f"in must be 4-dimensional, found {shown_dims(c.dims(0))}"
        raise c.fail(fault, built=f"Shape must be rank 4 but is rank {c.rank(0)}")
    _check_radius(c)
    return c.dims(0)


def _check_radius(c: Inference) -> None:
    radius = c.attrs["depth_radius"]
    if not 0 <= radius < (1 << 31) - 1:
        raise c.fail(f"depth_radius = {radius}, expected one from 0 to 2^31-2")


def _build_lrn(b: Builder, node: Node) -> Value:
    attrs = node.attrs
    dtype = node.output.type.dtype
    x = node.inputs[0]
    wide = b.cast(x, DstT=dtypes.f32) if dtype is not dtypes.f32 else x
    squares = b.sum_window(b.mul(wide, wide), radius=attrs["depth_radius"])
    norm = b.add(b.mul(squares, attrs["alpha"]), attrs["bias"])
    if attrs["beta"] == 0.5:
        y = b.mul(wide, b.rsqrt(norm))
    elif attrs["beta"] == 1.0:
        y = b.real_div(wide, norm)
    else:
        y = b.mul(wide, b.pow(norm, -attrs["beta"]))
    return b.cast(y, DstT=dtype) if dtype is not dtypes.f32 else y


def _lrn(
    input: np.ndarray, *, depth_radius: int, bias: float, alpha: float, beta: float
) -> np.ndarray:
    wide = input.astype(np.float32)
    with np.errstate(all="ignore"):
        norm = _sum_window(wide * wide, radius=depth_radius) * np.float32(alpha) + np.float32(bias)
        return (wide * np.power(norm, np.float32(-beta))).astype(input.dtype)


lrn = define(
    "lrn",
    "LRN(input: T; depth_radius: int = 5, bias: float = 1.0, alpha: float = 1.0,"
    " beta: float = 0.5, T: {f16, bf16, f32} = f32) -> output: T",
    infer=_infer_lrn,
    lowering=Decompose(_build_lrn),
    reference=_lrn,
    gradient=lambda b, node, dy: b.with_attrs_of(node, "lrn_grad", dy, node.inputs[0], node.output),
    examples=(
        "T[1,2,3,8]; depth_radius=2, bias=0.5, alpha=0.2, beta=0.75",
        "T[2,1,1,17]",
        "T[1,1,2,3]; beta=1.0, alpha=0.0001",
    ),
)


# -- the gradient


def _infer_grad(c: Inference) -> Dims:
    _check_radius(c)
    dims = c.dims(0)
    for i in (1, 2):
        if len(dims) != 4 or c.rank(i) != 4:
            raise c.fail("inputs must be 4-dimensional")
        c.match_dims(dims, c.dims(i), "inputs must have one shape")
    return c.dims(1)


def _build_grad(b: Builder, node: Node) -> Value:
    attrs, dtype = node.attrs, node.output.type.dtype
    dy, x, y = (b.cast(v, DstT=dtypes.f32) if dtype is not dtypes.f32 else v for v in node.inputs)
    radius, beta = attrs["depth_radius"], attrs["beta"]
    norm = b.sum_window(b.mul(x, x), radius=radius)
    norm = b.add(b.mul(norm, attrs["alpha"]), attrs["bias"])
    shared = b.sum_window(b.real_div(b.mul(dy, y), norm), radius=radius)
    own = b.mul(dy, b.pow(norm, -beta))
    dx = b.sub(own, b.mul(b.mul(x, 2.0 * attrs["alpha"] * beta), shared))
    return b.cast(dx, DstT=dtype) if dtype is not dtypes.f32 else dx


def _lrn_grad(
    input_grads: np.ndarray,
    input_image: np.ndarray,
    output_image: np.ndarray,
    *,
    depth_radius: int,
    bias: float,
    alpha: float,
    beta: float,
) -> np.ndarray:
    dy, x, y = (a.astype(np.float32) for a in (input_grads, input_image, output_image))
    with np.errstate(all="ignore"):
        norm = _sum_window(x * x, radius=depth_radius) * np.float32(alpha) + np.float32(bias)
        shared = _sum_window(dy * y / norm, radius=depth_radius)
        dx = dy * np.power(norm, np.float32(-beta)) - np.float32(2 * alpha * beta) * x * shared
        return dx.astype(input_image.dtype)


lrn_grad = define(
    "lrn_grad",
    "LRNGrad(input_grads: T, input_image: T, output_image: T; depth_radius: int = 5,"
    " bias: float = 1.0, alpha: float = 1.0, beta: float = 0.5, T: {f16, bf16, f32} = f32)"
    " -> output: T",
    infer=_infer_grad,
    lowering=Decompose(_build_grad),
    reference=_lrn_grad,
    examples=(
        "T[1,2,3,8] T[1,2,3,8] T[1,2,3,8]; depth_radius=2, bias=0.5, alpha=0.2, beta=0.75",
        "T[2,1,1,17] T[2,1,1,17] T[2,1,1,17]",
        "T[1,1,2,3] T[1,1,2,3] T[1,1,2,3]; beta=1.0, alpha=0.0001",
    ),
)
