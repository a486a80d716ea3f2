"""FractionalAvgPool and FractionalMaxPool: windows whose sizes are drawn, and their gradients.

In: images, channels last, and how many times fewer rows and columns there shall be. Out: what is
pooled, and where each window begins. Invariant: places are TensorFlow's for the same seeds, drawn
from the hidden state of the node; `deterministic` nodes draw the same ones in every run.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.errors import InvalidArgumentError, UnimplementedError
from flowc.ir.builder import Builder
from flowc.ir.computation import Node, Value
from flowc.ir.extraction import Bound, Extractor
from flowc.ir.inference import Inference, NeedsContent
from flowc.ir.lowering import Decompose, Extracted, Native
from flowc.ir.op import Attrs, define
from flowc.ir.types import Dims
from flowc.ops.gradients import Forward, GradientBuilder
from flowc.ops.kernels import fractional_pooling as kernels
from flowc.ops.math.casts import cast_array
from flowc.ops.random.stateful import random_state
from flowc.ops.random.stateless import drawn_words
from flowc.ops.state.variables import STATE, value_of

_TYPES = "T: {f32, f64, i32, i64}"
_FAULT = ("windows must begin one behind the other, inside the image",)


def _pooled_dims(dims: Dims, ratios: Sequence[float], node: str | None) -> tuple[int, int]:
    """How many rows and columns there will be. Raises what TensorFlow does where there are none."""
    height, width = dims[1:3]
    if not isinstance(height, int) or not isinstance(width, int):
        raise NeedsContent("the windows of a fractional pool depend on the sizes of the image")
    if ratios[0] != 1 or ratios[3] != 1:
        raise UnimplementedError(
            "Fractional pooling is not yet supported on the batch nor channel dimension.", node=node
        )
    rows, columns = (
        math.floor(np.float32(n) / np.float32(r)) for n, r in zip((height, width), ratios[1:3])
    )
    for axis, count in ((1, rows), (2, columns)):
        if count < 1:
            raise InvalidArgumentError(
                f"Pooling ratio is higher than input dimension size for dimension {axis}. Input "
                f"dim size: {dims[axis]} pooling ratio: {ratios[axis]:g}",
                node=node,
            )
    return rows, columns


def _infer(c: Inference) -> list[Dims]:
    ratios = c.attrs["pooling_ratio"]
    c.need_rank(0, 4)
    if len(ratios) != 4:
        raise c.fail("pooling_ratio field must specify 4 dimensions")
    if min(ratios) < 1:
        raise c.fail(f"pooling_ratio cannot be smaller than 1, got: {min(ratios):g}")
    batch, *_, channels = c.dims(0)
    height, width = _pooled_dims(c.dims(0), ratios, c.node_name)
    return [(batch, height, width, channels), (height + 1,), (width + 1,)]


# -- where windows begin


def _places(b: Builder, words: Value, size: int, count: int, pseudo: bool) -> Value:
    """i64[count + 1]: where `count` windows begin that together are `size` long."""
    if pseudo:
        return _spread(b, words, size, count)
    order = b.cast(b.permutation_of_words(words, (count,)), DstT=dtypes.i64)
    longer = b.less(order, np.int64(size % count))
    lengths = b.add(b.cast(longer, DstT=dtypes.i64), np.int64(size // count))
    ends = b.cumsum(lengths, np.int32(0))
    return b.concat(np.zeros(1, np.int64), ends, np.array(0, np.int32))


def _spread(b: Builder, words: Value, size: int, count: int) -> Value:
    """Evenly spread ones, from a start that is drawn."""
    ratio, whole = size / count, size // count
    most = min((whole + 2) / ratio - 1, (size + 1 - whole) / ratio - (count - 1))
    wide = b.cast(words, DstT=dtypes.u64)
    high = b.bitwise_and(b.slice(wide, (0,), (1,)), np.uint64(0xFFFFF))
    bits = b.bitwise_or(b.left_shift(high, np.uint64(32)), b.slice(wide, (1,), (1,)))
    bits = b.bitwise_or(bits, np.uint64(1023 << 52))
    start = b.mul(b.sub(b.bitcast(bits, type=dtypes.f64), np.float64(1)), np.float64(most))
    inner = np.arange(1, count, dtype=np.float64)
    at = b.ceil(b.mul(b.add(b.const(inner), start), np.float64(ratio)))
    middle = b.sub(b.cast(at, DstT=dtypes.i64), np.int64(1))
    ends = np.zeros(1, np.int64), np.array([size], np.int64)
    return b.concat(ends[0], middle, ends[1], np.array(0, np.int32))


def _emit(mean: bool) -> Callable[..., Sequence[Bound]]:
    def emit(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
        b, value = x.b, value_of(x, inputs[0])
        if not attrs["deterministic"] and (attrs["seed"] or attrs["seed2"]):
            raise InvalidArgumentError(
                "Both seed and seed2 should be 0 if deterministic is false.", node=x.name
            )
        pseudo = attrs["pseudo_random"]
        counts = _pooled_dims(value.dims, attrs["pooling_ratio"], x.name)
        sizes = [int(n) for n in value.dims[1:3] if isinstance(n, int)]
        state = random_state(x, attrs)
        now = value_of(x, state)
        both = b.cast(now, DstT=dtypes.u64)
        # Counters that a sequence takes, of four words each.
        used = [1 if pseudo else (n + 3) // 4 for n in counts]
        words = drawn_words(b, b.slice(both, (2,), (1,)), b.slice(both, (0,), (2,)), 4 * sum(used))
        rows, columns = (
            _places(b, b.slice(words, (4 * start,), (4 * length,)), size, count, pseudo)
            for start, length, size, count in zip((0, used[0]), used, sizes, counts)
        )
        if not attrs["deterministic"]:
            x.replace(state, b.add(now, np.array([sum(used), 0, 0], np.int64)))
        pooled = b.fractional_pool(
            value, rows, columns, mean=mean, overlapping=attrs["overlapping"]
        )
        return [pooled, rows, columns]

    return emit


# -- pooling


def _infer_pool(c: Inference) -> Dims:
    batch, *_, channels = c.dims(0)
    return (batch, c.dims(1)[0] - 1, c.dims(2)[0] - 1, channels)


def _lower_pool(node: Node) -> Native:
    attrs, out = node.attrs, node.output.dims
    return Native(
        kernels.fractional_pool,
        arguments=(*node.inputs[0].dims[1:], *out[1:3]),
        parallel=out[0] * out[1],
        errors=_FAULT,
        constants={
            "MEAN": attrs["mean"],
            "OVERLAPPING": attrs["overlapping"],
            "WHOLE": node.output.type.dtype.is_integer,
        },
    )


Window = tuple[int, int, slice, slice]


def _windows(rows: Any, columns: Any, overlapping: bool, image: Any) -> list[Window]:
    """For each window its place, and the rows and columns of the image that it holds."""
    for places, size in zip((rows, columns), image.shape[1:3]):
        starts = places[:-1]
        if np.any(np.diff(places) <= 0) or np.any((starts < 0) | (starts >= size)):
            raise InvalidArgumentError(_FAULT[0])
    down, across = (
        [slice(int(a), int(b) + overlapping) for a, b in itertools.pairwise(places)]
        for places in (rows, columns)
    )
    return [(i, j, h, w) for i, h in enumerate(down) for j, w in enumerate(across)]


def _pool(x: Any, rows: Any, columns: Any, *, mean: bool, overlapping: bool) -> Any:
    out = np.zeros((len(x), len(rows) - 1, len(columns) - 1, x.shape[3]), x.dtype)
    for i, j, h, w in _windows(rows, columns, overlapping, x):
        seen = x[:, h, w]
        count = seen.shape[1] * seen.shape[2]
        total = seen.sum((1, 2), dtype=x.dtype)
        out[:, i, j] = (total / count).astype(x.dtype) if mean else seen.max((1, 2))
    return out


_SEQUENCES = "i64[4]=[0,2,3,5] i64[3]=[0,3,6]"
define(
    "fractional_pool",
    f"_FractionalPool(value: T, row_sequence: i64, col_sequence: i64; {_TYPES}, mean: bool,"
    " overlapping: bool) -> output: T",
    infer=_infer_pool,
    lowering=_lower_pool,
    reference=_pool,
    examples=tuple(
        f"T[2,5,6,3] {_SEQUENCES}; mean={mean}, overlapping={overlapping}"
        for mean in (True, False)
        for overlapping in (True, False)
    ),
)


# -- gradients


def _check_sequences(c: Inference, dims: Dims, dy: int, first: int) -> Dims:
    c.need_rank(dy, 4)
    for i in (first, first + 1):
        side = "row" if i == first else "col"
        fault = f"{side}_pooling_sequence must be a vector, received shape {list(c.dims(i))}"
        c.need_rank(i, 1, fault)
        c.equal(
            c.dims(dy)[1 + i - first],
            c.dims(i)[0] - 1,
            "a sequence must have one place more than there are windows",
        )
    for axis in (0, 3):
        c.equal(dims[axis], c.dims(dy)[axis], "out_backprop must have the batch and the channels")
    return dims


def _infer_mean_grad(c: Inference) -> Dims:
    c.need_dims(0, (4,), "original input tensor shape must be 1-dimensional and 4 elements")
    return _check_sequences(c, c.need_sizes(0), 1, 2)


def _lower_mean_grad(node: Node) -> Decompose | Native:
    """In f64: TensorFlow adds up the shares in it."""
    dtype = node.output.type.dtype
    if dtype is dtypes.f64:
        return _gradient_kernel(kernels.fractional_mean_gradient, node, 1)

    def build(b: Builder, node: Node) -> Value:
        shape, dy, *places = node.inputs
        wide = b.cast(dy, DstT=dtypes.f64)
        found = b.fractional_avg_pool_grad(shape, wide, *places, **node.attrs)
        return b.cast(found, DstT=dtype)

    return Decompose(build)


def _gradient_kernel(kernel: Callable[..., None], node: Node, dy: int) -> Native:
    dims = node.output.dims
    return Native(
        kernel,
        arguments=(*dims[1:], *node.inputs[dy].dims[1:3]),
        parallel=dims[0],
        errors=_FAULT,
        constants={"OVERLAPPING": node.attrs["overlapping"]},
    )


def _mean_grad(shape: Any, dy: Any, rows: Any, columns: Any, *, overlapping: bool) -> Any:
    dx = np.zeros(tuple(int(n) for n in shape), np.float64)
    for i, j, h, w in _windows(rows, columns, overlapping, dx):
        part = dx[:, h, w]
        part += dy[:, i : i + 1, j : j + 1].astype(np.float64) / (part.shape[1] * part.shape[2])
    return cast_array(dx, dtypes.as_dtype(dy.dtype))


def _max_grad(x: Any, _: Any, dy: Any, rows: Any, columns: Any, *, overlapping: bool) -> Any:
    dx = np.zeros_like(x)
    batch, channels = np.indices((len(x), x.shape[3]))
    for i, j, h, w in _windows(rows, columns, overlapping, x):
        part, seen = dx[:, h, w], x[:, h, w]
        at = seen.reshape(len(x), -1, x.shape[3]).argmax(1)
        part[batch, at // seen.shape[2], at % seen.shape[2], channels] += dy[:, i, j]
    return dx


def _infer_max_grad(c: Inference) -> Dims:
    c.need_rank(0, 4)
    c.match_dims(c.dims(2), c.dims(1), "orig_output and out_backprop must have the same shape")
    return _check_sequences(c, c.dims(0), 2, 3)


define(
    "fractional_avg_pool_grad",
    "FractionalAvgPoolGrad(orig_input_tensor_shape: i64, out_backprop: T, row_pooling_sequence:"
    f" i64, col_pooling_sequence: i64; overlapping: bool = False, {_TYPES}) -> output: T",
    infer=_infer_mean_grad,
    lowering=_lower_mean_grad,
    reference=_mean_grad,
    examples=tuple(
        f"i64[4]=[2,5,6,3] T[2,3,2,3] {_SEQUENCES}; overlapping={o}" for o in (False, True)
    ),
)
define(
    "fractional_max_pool_grad",
    "FractionalMaxPoolGrad(orig_input: T, orig_output: T, out_backprop: T, row_pooling_sequence:"
    f" i64, col_pooling_sequence: i64; overlapping: bool = False, {_TYPES}) -> output: T",
    infer=_infer_max_grad,
    lowering=lambda node: _gradient_kernel(kernels.fractional_max_gradient, node, 2),
    reference=_max_grad,
    examples=tuple(
        f"T[1,2,3,1]=[1,2,5,3,4,0] T[1,1,2,1]={pooled} T[1,1,2,1] i64[2]=[0,2] i64[3]=[0,2,3];"
        f" overlapping={overlapping}"
        for pooled, overlapping in (("[4,5]", False), ("[5,5]", True))
    ),
)


def _avg_gradient(b: GradientBuilder, node: Forward, dy: Any, *_: Any) -> Any:
    shape = b.shape_of(node.inputs[0])
    how = {"overlapping": node.attrs["overlapping"]}
    wide = b.cast(shape, DstT=dtypes.i64)
    return (b.fractional_avg_pool_grad(wide, dy, *node.outputs[1:], **how),)


def _max_gradient(b: GradientBuilder, node: Forward, dy: Any, *_: Any) -> Any:
    how = {"overlapping": node.attrs["overlapping"]}
    x, (y, *places) = node.inputs[0], node.outputs
    return (b.fractional_max_pool_grad(x, y, dy, *places, **how),)


for _name, _tf_name, _mean, _gradient in (
    ("fractional_avg_pool", "FractionalAvgPool", True, _avg_gradient),
    ("fractional_max_pool", "FractionalMaxPool", False, _max_gradient),
):
    define(
        _name,
        f"{_tf_name}(value: T; pooling_ratio: list(float) >= 4, pseudo_random: bool = False,"
        " overlapping: bool = False, deterministic: bool = False, seed: int = 0, seed2: int = 0,"
        f" {_TYPES}) -> (output: T, row_pooling_sequence: i64, col_pooling_sequence: i64)",
        infer=_infer,
        lowering=Extracted(_emit(_mean)),
        gradient=_gradient,
        traits=STATE | {"random"},
    )
