"""The gradient of local response normalisation.

In: the gradient, and the input and output of an LRN. Out: the input's gradient. Invariant: computed
in f32; the windows of a channel are those of the forward op (`normalization`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from flowc import dtypes
from flowc.ir.dims import Dim
from flowc.ir.lowering import Decompose, View
from flowc.ir.op import Inference, Op, define
from flowc.ir.types import Dims

if TYPE_CHECKING:
    from flowc.ir.builder import Builder
    from flowc.ir.computation import Node, Value


def _window_lowering(node: Node) -> View:
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
    wide = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(radius, radius)])
    count = x.shape[-1]
    total = np.zeros(x.shape, x.dtype)
    for offset in range(2 * radius + 1):
        total += wide[..., offset : offset + count]
    return total


# The sum of the channels at most `radius` away.
sum_window = define(
    Op(
        "sum_window",
        "_SumWindow(input: T; T: {f32, f64}, radius: int) -> output: T",
        infer=lambda c: c.dims(0),
        lowering=_window_lowering,
        reference=_sum_window,
        examples=("T[2,3,7]; radius=2", "T[1,3]; radius=5"),
    )
)


def _infer(c: Inference) -> Dims:
    dims = c.dims(0)
    for i in (1, 2):
        if len(dims) != 4 or c.rank(i) != 4:
            raise c.fail("inputs must be 4-dimensional")
        for mine, other in zip(dims, c.dims(i)):
            c.equal(mine, other)
    return c.dims(1)


def _build(b: Builder, node: Node) -> Value:
    attrs, dtype = node.attrs, node.output.type.dtype
    dy, x, y = (b.cast(v, DstT=dtypes.f32) if dtype is not dtypes.f32 else v for v in node.inputs)
    radius, beta = attrs["depth_radius"], attrs["beta"]
    norm = b.sum_squares_window(x, radius=radius)
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
    Op(
        "lrn_grad",
        "LRNGrad(input_grads: T, input_image: T, output_image: T; depth_radius: int = 5,"
        " bias: float = 1.0, alpha: float = 1.0, beta: float = 0.5, T: {f16, bf16, f32} = f32)"
        " -> output: T",
        infer=_infer,
        lowering=Decompose(_build),
        reference=_lrn_grad,
        examples=(
            "T[1,2,3,8] T[1,2,3,8] T[1,2,3,8]; depth_radius=2, bias=0.5, alpha=0.2, beta=0.75",
            "T[2,1,1,17] T[2,1,1,17] T[2,1,1,17]",
            "T[1,1,2,3] T[1,1,2,3] T[1,1,2,3]; beta=1.0, alpha=0.0001",
        ),
    )
)
