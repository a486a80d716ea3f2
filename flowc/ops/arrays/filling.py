"""Ops that make tensors out of a few numbers: fill, zeros_like, range, lin_space, one_hot.

In: scalars and shapes. Out: a tensor. Invariant: an element depends on its index and the scalars.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc.dtypes import DType, f64, i64, string
from flowc.errors import InvalidArgumentError
from flowc.ir.builder import types_suffice
from flowc.ir.computation import Node, Value
from flowc.ir.dims import Dim, Expr, as_dim, ceildiv, is_nonnegative, maximum
from flowc.ir.extraction import Bound, Extractor, SparseMatrix
from flowc.ir.inference import Inference, NeedsContent
from flowc.ir.lowering import Decompose, Lowering, View
from flowc.ir.op import Attrs, define
from flowc.ir.types import Dims, TensorType
from flowc.ops.gradients import Forward, GradientBuilder, no_gradient
from flowc.ops.lists.host_variants import zeros_of_variant
from flowc.ops.lists.list_sums import zeros_like_list
from flowc.ops.sparse.matrices import zeros_like_matrix

# -- fill


def _infer_fill(c: Inference) -> Dims:
    c.need_rank(0, 1, f"dims must represent a vector, got {c.inputs[0]}")
    c.need_rank(1, 0, f"value must represent a scalar, got {c.inputs[1]}")
    return c.need_sizes(0, "Dimension {size} must be >= 0")


def _fill(dims: np.ndarray, value: np.ndarray) -> np.ndarray:
    return np.full(tuple(int(d) for d in dims), value[()], value.dtype)


def _fill_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    return None, b.sum(dy, b.axes_of(dy))


def _filled(number: int) -> Decompose:
    def build(b: Any, node: Node) -> Value:
        dtype = node.output.type.dtype
        element = b"" if dtype is string else number
        return b.broadcast_to(b.const(np.asarray(element, dtype.numpy), dtype), node.output.dims)

    return Decompose(build)


def _static_dims(x: TensorType | np.ndarray) -> tuple[int, ...]:
    return x.static_dims if isinstance(x, TensorType) else x.shape


@types_suffice
def _zeros_content(x: TensorType | np.ndarray) -> np.ndarray:
    is_text = isinstance(x, TensorType) and x.dtype is string
    return np.full(_static_dims(x), b"" if is_text else 0, dtype=object)


@types_suffice
def _ones_content(x: TensorType | np.ndarray) -> np.ndarray:
    return np.full(_static_dims(x), 1, dtype=object)


def _infer_empty(c: Inference) -> Dims:
    return c.need_sizes(0)


# -- range


def _infer_range(c: Inference) -> Dims:
    for i, name in enumerate(("start", "limit", "delta")):
        if c.builds:  # kernels take what older files have: one number in a tensor of any rank
            c.need_rank(i, 0, "")
        if c.inputs[i].size != 1:
            raise c.fail(f"{name} must be a scalar, not {c.inputs[i]}")
    start, limit, delta = (c.need(i, shapes=[(None,)]).reshape(-1)[0] for i in range(3))
    if not any(isinstance(x, Expr) for x in (start, limit, delta)):
        try:
            return (range_size(start, limit, delta),)
        except InvalidArgumentError as error:
            raise c.fail(error.message) from error
    if isinstance(delta, Expr):
        raise NeedsContent("Range needs a step that is known when it is compiled", node=c.node_name)
    start, limit, step = as_dim(start), as_dim(limit), int(delta)
    if step == 0:
        raise c.fail("Requires delta != 0: 0")
    room = limit - start if step > 0 else start - limit
    sign = "<=" if step > 0 else ">="
    fault = f"Requires start {sign} limit when delta {'>' if step > 0 else '<'} 0: {start}/{limit}"
    c.at_least(room, 0, fault)
    return (ceildiv(maximum(room, 0), abs(step)),)


MOST_STEPS = float(1 << 63)


def range_size(start: Any, limit: Any, delta: Any) -> int:
    """How many elements `range` has. Raises `InvalidArgumentError` with TensorFlow's wording."""
    if delta == 0:
        raise InvalidArgumentError(f"Requires delta != 0: {delta}")
    if delta > 0 and start > limit:
        raise InvalidArgumentError(f"Requires start <= limit when delta > 0: {start}/{limit}")
    if delta < 0 and start < limit:
        raise InvalidArgumentError(f"Requires start >= limit when delta < 0: {start}/{limit}")
    if isinstance(start, np.generic) and start.dtype.kind not in "iu":
        with np.errstate(all="ignore"):
            steps = abs(float(((limit - start) / delta).astype(start.dtype)))
        if not steps < MOST_STEPS:
            raise InvalidArgumentError(f"Requires ((limit - start) / delta) < 2^63: {steps}")
        return math.ceil(steps)
    room = abs(int(limit) - int(start))
    return -(-room // abs(int(delta)))


def _range(start: np.ndarray, limit: np.ndarray, delta: np.ndarray) -> np.ndarray:
    first, last, step = (x.reshape(-1)[0] for x in (start, limit, delta))
    size = range_size(first, last, step)
    if start.dtype.kind in "iuO":
        found = [int(first) + i * int(step) for i in range(size)]
        return np.array(found, start.dtype)
    return first + np.arange(size).astype(start.dtype) * step


def _lower_range(node: Node) -> Lowering:
    dtype = node.output.type.dtype

    def read(k: Any, index: tuple[Dim, ...]) -> Any:
        place = k.index_value(index[0], dtype)
        zero = [(0,) * v.type.rank for v in node.inputs]
        return k.add(k.load(0, zero[0]), k.mul(place, k.load(2, zero[2])))

    return View(read)


def _ends_are_sizes(b: Any, inputs: Sequence[Value]) -> bool:
    """Whether a range of a known step has ends that are known, or that a run reads as sizes: an
    upper end may be one, as a negative one lies below every lower end that is none."""
    start, limit, delta = (b.content(v) for v in inputs)
    if delta is None or not isinstance(delta.reshape(-1)[0], int | np.integer):
        return False
    lower = start if delta.reshape(-1)[0] > 0 else limit
    if lower is None:
        return False
    return (start is not None and limit is not None) or is_nonnegative(as_dim(lower.reshape(-1)[0]))


def _range_of_data(x: Extractor, inputs: Sequence[Value], attrs: Any) -> tuple[Value, ...]:
    """Where only the run knows the step, numbers that are no integers, or a lower end that may be
    negative: how many elements there are is computed first."""
    b, (start, limit, delta) = x.b, inputs
    dtype = start.type.dtype
    if any(v.type.size != 1 for v in inputs) or (dtype.is_integer and _ends_are_sizes(b, inputs)):
        return (b.range(*inputs),)
    start, limit, delta = (b.reshape(v, ()) for v in inputs)
    zero = b.const(np.zeros((), dtype.numpy), dtype)
    up, down = b.greater(delta, zero), b.less(delta, zero)
    backward = b.logical_or(
        b.logical_and(up, b.greater(start, limit)), b.logical_and(down, b.less(start, limit))
    )
    for fault, message in (
        (b.equal(delta, zero), "Requires delta != 0"),
        (backward, "Requires start <= limit when delta > 0, start >= limit when delta < 0"),
    ):
        b.check(b.logical_not(fault), message=message)
        x.effect(b.nodes[-1])
    if dtype.is_integer:
        first, last, step = (b.cast(v, DstT=i64) for v in (start, limit, delta))
        room, none = b.sub(last, first), b.const(np.int64(0))
        fits = b.logical_and(
            b.logical_or(b.logical_not(up), b.greater_equal(room, none)),
            b.logical_or(b.logical_not(down), b.less_equal(room, none)),
        )
        fits = b.logical_and(fits, b.not_equal(room, np.int64(-(1 << 63))))
        b.check(fits, message="Requires ((limit - start) / delta) < 2^63")
        x.effect(b.nodes[-1])
        step = b.select_v2(b.equal(step, none), b.const(np.int64(1)), step)
        whole = b.truncate_div(room, step)
        rest = b.not_equal(b.mul(whole, step), room)
        count = b.add(whole, b.cast(rest, DstT=i64))
    else:
        steps = b.ceil(b.abs(b.real_div(b.sub(limit, start), delta)))
        most = b.cast(b.const(MOST_STEPS, f64), DstT=dtype)
        b.check(b.less(steps, most), message="Requires ((limit - start) / delta) < 2^63")
        x.effect(b.nodes[-1])
        count = b.cast(steps, DstT=i64)
    places = b.range(b.const(np.int64(0)), count, b.const(np.int64(1)))
    return (b.add(start, b.mul(b.cast(places, DstT=dtype), delta)),)


# -- lin_space


def _infer_lin_space(c: Inference) -> Dims:
    for i, name in enumerate(("start", "stop")):
        c.need_rank(i, 0, f"{name} must be a scalar, not {c.inputs[i]}")
    num = c.need_size(2)
    if isinstance(num, int) and num <= 0:
        raise c.fail(f"Requires num > 0: {num}")
    return (num,)


def _lin_space(start: np.ndarray, stop: np.ndarray, num: np.ndarray) -> np.ndarray:
    count, dtype = int(num), start.dtype
    first, last = start.reshape(-1)[0], stop.reshape(-1)[0]
    if count == 1:
        return np.array([first], dtype)
    step = ((last - first) / dtype.type(count - 1)).astype(dtype)
    places = np.arange(count).astype(dtype)
    result = (first + (step * places).astype(dtype)).astype(dtype)
    result[-1] = last
    return result


def _lower_lin_space(node: Node) -> Lowering:
    dtype = node.output.type.dtype
    (count,) = node.output.dims

    def read(k: Any, index: tuple[Dim, ...]) -> Any:
        first, last = k.load(0, ()), k.load(1, ())
        if count == 1:
            return first
        place = k.cast(k.index_value(index[0], i64), dtype)
        gaps = k.cast(k.index_value(maximum(count - 1, 1), i64), dtype)
        step = k.div(k.sub(last, first), gaps)
        value = k.add(first, k.mul(step, place))
        is_last = k.in_range(index[0], maximum(count - 1, 1), count)
        return k.select(is_last, last, value)

    return View(read)


# -- one_hot


def _infer_one_hot(c: Inference) -> Dims:
    c.need_rank(1, 0, f"depth must be a scalar, but got: {c.inputs[1]}")
    depth = c.need_size(1, "depth must be non-negative, got: {size}")
    for i, name in ((2, "on_value"), (3, "off_value")):
        c.need_rank(i, 0, f"{name} must be a scalar, but got: {c.inputs[i]}")
    dims = c.dims(0)
    axis = c.attrs["axis"]
    if not -1 <= axis <= len(dims):
        raise c.fail(
            f"Expected axis to be -1 or between [0, {len(dims) + 1}).  But received: {axis}"
        )
    at = len(dims) if axis == -1 else axis
    return (*dims[:at], depth, *dims[at:])


def _one_hot(
    indices: np.ndarray,
    depth: np.ndarray,
    on_value: np.ndarray,
    off_value: np.ndarray,
    *,
    axis: int,
) -> np.ndarray:
    at = indices.ndim if axis == -1 else axis
    shape = [1] * (indices.ndim + 1)
    shape[at] = int(depth)
    places = np.arange(int(depth)).reshape(shape)
    return np.where(np.expand_dims(indices, at) == places, on_value, off_value)


def _lower_one_hot(node: Node) -> Lowering:
    rank = node.output.type.rank
    at = rank - 1 if node.attrs["axis"] == -1 else node.attrs["axis"]
    wide: DType = node.inputs[0].type.dtype

    def read(k: Any, index: tuple[Dim, ...]) -> Any:
        found = k.cast(k.load(0, (*index[:at], *index[at + 1 :])), i64 if wide.size < 8 else wide)
        here = k.eq(found, k.index_value(index[at], found.dtype))
        return k.select(here, k.load(2, ()), k.load(3, ()))

    return View(read)


fill = define(
    "fill",
    "Fill(dims: index_type, value: T; T: type, index_type: {i32, i64} = i32) -> output: T",
    infer=_infer_fill,
    reference=_fill,
    lowering=Decompose(lambda b, node: b.broadcast_to(node.inputs[1], node.output.dims)),
    gradient=_fill_gradient,
    examples=("i32[2]=[2,3] T[]", "i64[1]=[0] f32[]", "i32[0] f32[]"),
    content=True,
)


def _zeros_of_held(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    """ZerosLike of a variant: a list, or a sparse matrix."""
    of_matrix = isinstance(inputs[0], SparseMatrix)
    return (zeros_like_matrix if of_matrix else zeros_like_list)(x, inputs, attrs)


zeros_like = define(
    "zeros_like",
    "ZerosLike(x: T; T: type) -> y: T",
    infer=lambda c: c.dims(0),
    reference=lambda x: np.full_like(x, b"") if x.dtype == object else np.zeros_like(x),
    lowering=_filled(0),
    gradient=no_gradient,
    examples=("T[2,3]", "f32[0]", "f32[]"),
    content=_zeros_content,
    on_lists=_zeros_of_held,
    on_variants=zeros_of_variant,
)

ones_like = define(
    "ones_like",
    "OnesLike(x: T; T: {bf16, f16, f32, f64, i8, u8, i16, u16, i32, u32, i64, u64, c64, c128,"
    " bool}) -> y: T",
    infer=lambda c: c.dims(0),
    reference=lambda x: np.ones_like(x),
    lowering=_filled(1),
    gradient=no_gradient,
    examples=("T[2,3]", "f32[0]", "f32[]"),
    content=_ones_content,
)

# Its elements are whatever memory holds; flowc always gives zeros, as `init` asks for.
empty = define(
    "empty",
    "Empty(shape: i32; dtype: type, init: bool = False) -> output: dtype",
    infer=_infer_empty,
    reference=lambda shape, *, dtype: np.zeros(tuple(int(d) for d in shape), dtype.numpy),
    lowering=_filled(0),
    examples=("i32[2]=[2,3]; dtype=f32, init=True",),
)

range_ = define(
    "range",
    "Range(start: Tidx, limit: Tidx, delta: Tidx;"
    " Tidx: {bf16, f16, f32, f64, i8, i16, i32, i64, u16, u32, u64} = i32) -> output: Tidx",
    infer=_infer_range,
    reference=_range,
    lowering=_lower_range,
    gradient=no_gradient,
    examples=(
        "Tidx[]=2 Tidx[]=11 Tidx[]=3",
        "i32[]=7 i32[]=-3 i32[]=-2",
        "f32[]=0 f32[]=1 f32[]=0.1",
        "i32[]=3 i32[]=3 i32[]=1",
    ),
    content=True,
    on_data=_range_of_data,
)

lin_space = define(
    "lin_space",
    "LinSpace(start: T, stop: T, num: Tidx; T: {bf16, f16, f32, f64}, Tidx: {i32, i64} = i32)"
    " -> output: T",
    infer=_infer_lin_space,
    reference=_lin_space,
    lowering=_lower_lin_space,
    examples=("T[]=-1 T[]=3.5 i32[]=7", "f32[]=2 f32[]=9 i64[]=1", "f32[]=4 f32[]=0 i32[]=2"),
)

one_hot = define(
    "one_hot",
    "OneHot(indices: TI, depth: i32, on_value: T, off_value: T; axis: int = -1, T: type,"
    " TI: {u8, i8, i32, i64} = i64) -> output: T",
    infer=_infer_one_hot,
    reference=_one_hot,
    lowering=_lower_one_hot,
    gradient=no_gradient,
    examples=(
        "i32[4]~index5 i32[]=5 T[] T[]",
        "TI[2,3]~index5 i32[]=3 f32[] f32[]; axis=1",
        "i64[3]=[-1,2,9] i32[]=3 f32[] f32[]; axis=0",
        "i32[] i32[]=4 f32[] f32[]",
    ),
)
