"""Running folds along one axis: Cumsum, Cumprod, CumulativeLogsumexp.

In: a tensor and a constant axis. Out: the fold of every prefix (or suffix, when `reverse`), with
the element itself left out when `exclusive`. Invariant: elements are folded one by one in order, so
results do not depend on how work is shared out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc import dtypes
from flowc.errors import InvalidModelError
from flowc.ir.dims import minimum, product
from flowc.ir.inference import Inference, open_shape
from flowc.ir.lowering import LANES, MANY, SHORT, ByThreads, Native, on_gpu
from flowc.ir.op import define
from flowc.ir.types import Dims
from flowc.ops.gradients import Forward, GradientBuilder, conjugate
from flowc.ops.reductions.folds import accumulator_of

if TYPE_CHECKING:
    from flowc.ir.computation import Node

    # Globals that the compiler gives to kernels: those of `Native.functions` among them.
    elem: Any = None
    barrier: Any = None
    as_elem_pointer: Any = None
    exp_f32: Any = None
    exp_f64: Any = None
    log1p_f32: Any = None
    log1p_f64: Any = None


def _infer(c: Inference) -> Dims:
    axis, rank = c.need_int(1, shapes=[open_shape(c.dims(0))]), c.rank(0)
    if not -rank <= axis < rank:
        raise c.fail(f"ScanOp: Expected scan axis in the range [{-rank}, {rank}), but got {axis}")
    return c.dims(0)


# -- kernels
#
# A column is the elements that differ only in their index along the axis. Each kernel takes columns
# [begin, end), as many at a time as lie next to each other in memory, so that the innermost loop
# runs over neighbours and vectorises.

WIDEST = 16  # bytes of an element
# Set through `Native.constants`.
EXCLUSIVE = False
REVERSE = False
PRODUCT = False
NOTHING: Any = 0  # the fold of nothing
WIDE = False  # whether the elements are f64


def fold_by_lanes(x, axis, out, scratch, count, inner, begin, end, lane, lanes):
    """The same of one column by lanes: each folds a part of it, then goes on from what the parts
    before its own come to."""
    totals = as_elem_pointer(scratch)
    part = (count + lanes - 1) // lanes
    first = lane * part
    last = first + part if first + part < count else count
    for column in range(begin, end):
        start = column // inner * count * inner + column % inner
        total = elem(NOTHING)
        for step in range(first, last):
            element = x[start + (count - 1 - step if REVERSE else step) * inner]
            if step == first:
                total = element
            elif PRODUCT:
                total = total * element
            else:
                total = total + element
        totals[lane] = total
        barrier()
        before = totals[0]
        for i in range(1, lane):
            before = before * totals[i] if PRODUCT else before + totals[i]
        barrier()
        for step in range(first, last):
            at = start + (count - 1 - step if REVERSE else step) * inner
            element = x[at]
            if step == 0:
                after = element
            else:
                after = before * element if PRODUCT else before + element
            if EXCLUSIVE:
                out[at] = elem(NOTHING) if step == 0 else before
            else:
                out[at] = after
            before = after


def _by_lanes(native: Native) -> Native | None:
    """Where columns are few and long."""
    count, _ = native.arguments
    if (isinstance(count, int) and count <= SHORT) or (
        isinstance(native.parallel, int) and native.parallel >= MANY
    ):
        return None
    return replace(native, kernel=fold_by_lanes, scratch=LANES * WIDEST)


@on_gpu(ByThreads(_by_lanes, LANES))
def fold_kernel(x, axis, out, count, inner, begin, end):
    """Running folds of the columns [begin, end), each `count` long with stride `inner`."""
    column = begin
    while inner == 1 and column < end:
        # A row: what it comes to waits in a register.
        at = column * count + (count - 1 if REVERSE else 0)
        if EXCLUSIVE:
            out[at] = NOTHING
        else:
            out[at] = x[at]
        total = out[at]
        for _ in range(1, count):
            before = at
            at += -1 if REVERSE else 1
            element = x[before] if EXCLUSIVE else x[at]
            total = total * element if PRODUCT else total + element
            out[at] = total
        column += 1
    while column < end:
        start = column // inner * count * inner + column % inner
        width = inner - column % inner
        if width > end - column:
            width = end - column
        for step in range(count):
            at = start + (count - 1 - step if REVERSE else step) * inner
            before = at + inner if REVERSE else at - inner
            for j in range(width):
                if step == 0 and EXCLUSIVE:
                    out[at + j] = NOTHING
                elif step == 0:
                    out[at + j] = x[at + j]
                else:
                    element = x[before + j] if EXCLUSIVE else x[at + j]
                    if PRODUCT:
                        out[at + j] = out[before + j] * element
                    else:
                        out[at + j] = out[before + j] + element
        column += width


def _lower(product: bool) -> Callable[[Node], Native]:
    return lambda node: _scan(node, fold_kernel, {"PRODUCT": product, "NOTHING": int(product)})


def _scan(
    node: Node,
    kernel: Callable[..., None],
    constants: Mapping[str, Any],
    functions: tuple[str, ...] = (),
) -> Native:
    axis = node.inputs[1].constant
    if axis is None:
        raise InvalidModelError(
            f"{node.op.tf_name}: the axis ({node.inputs[1].type}) is computed at run time",
            node=node.name,
            hint="make the axis a constant",
        )
    dims = node.inputs[0].dims
    at = int(axis) % len(dims)
    inner = product(dims[at + 1 :])
    return Native(
        kernel,
        arguments=(dims[at], inner),
        parallel=minimum(product(dims[:at]) * inner, product(dims)),  # 0 where rows are empty
        constants={
            "EXCLUSIVE": bool(node.attrs["exclusive"]),
            "REVERSE": bool(node.attrs["reverse"]),
            **constants,
        },
        functions=functions,
    )


# -- references


def _running(
    step: Callable[[np.ndarray, np.ndarray], np.ndarray], start: Any
) -> Callable[..., np.ndarray]:
    """A reference that folds with `step(total, element)` from `start`."""

    def reference(x: np.ndarray, axis: np.ndarray, *, exclusive: bool, reverse: bool) -> np.ndarray:
        wide = x.astype(np.float32) if accumulator_of(x.dtype) == np.float32 else x
        lanes = np.moveaxis(wide, int(axis), 0)
        result = np.empty(lanes.shape, wide.dtype)
        total = np.full(lanes.shape[1:], start, wide.dtype)
        order = range(len(lanes))
        with np.errstate(all="ignore"):
            for i in reversed(order) if reverse else order:
                following = step(total, lanes[i])
                result[i] = total if exclusive else following
                total = following
            return np.ascontiguousarray(np.moveaxis(result, 0, int(axis))).astype(x.dtype)

    return reference


# -- records

_EXAMPLES = (
    "T[5] i32[]=0",
    "T[2,3,4] i32[]=1; exclusive=True",
    "T[2,3] i32[]=-1; reverse=True",
    "T[3,2] i64[]=0; exclusive=True, reverse=True, Tidx=i64",
    "T[1,17] i32[]=0",
    "T[2,0] i32[]=1",
)


def _signature(tf_name: str, types: str) -> str:
    return (
        f"{tf_name}(x: T, axis: Tidx; exclusive: bool = False, reverse: bool = False,"
        f" T: {types}, Tidx: INDEX = i32) -> out: T"
    )


def _cumsum_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    attrs = node.attrs
    other = not attrs["reverse"]
    return b.cumsum(dy, node.inputs[1], exclusive=attrs["exclusive"], reverse=other)


def _cumprod_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    x, axis = node.inputs
    exclusive, reverse = node.attrs["exclusive"], node.attrs["reverse"]
    product = b.cumprod(x, axis, exclusive=exclusive, reverse=reverse)
    total = b.cumsum(
        b.mul(conjugate(b, product), dy), axis, exclusive=exclusive, reverse=not reverse
    )
    return b.div_no_nan(total, conjugate(b, x))


def _logsumexp_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    """In logarithms, of what is positive and of what is negative."""
    x, axis = node.inputs
    exclusive, reverse = node.attrs["exclusive"], node.attrs["reverse"]
    least = b.const(np.array(-np.inf, dy.dtype.numpy), dy.dtype)

    def part(positive: Any) -> Any:
        size = b.select_v2(b.greater(positive, 0), b.log(positive), least)
        total = b.cumulative_logsumexp(
            b.sub(size, node.output), axis, exclusive=exclusive, reverse=not reverse
        )
        return b.exp(b.add(total, x))

    return b.sub(part(dy), part(b.neg(dy)))


cumsum = define(
    "cumsum",
    _signature("Cumsum", "NUMBER"),
    infer=_infer,
    lowering=_lower(product=False),
    reference=_running(np.add, 0),
    gradient=_cumsum_gradient,
    examples=_EXAMPLES,
)
cumprod = define(
    "cumprod",
    _signature("Cumprod", "NUMBER"),
    infer=_infer,
    lowering=_lower(product=True),
    reference=_running(np.multiply, 1),
    gradient=_cumprod_gradient,
    examples=_EXAMPLES,
)


# -- CumulativeLogsumexp
#
# TensorFlow's comparisons drop a NaN element: the running value then counts twice.


def logsumexp_kernel(x, axis, out, count, inner, begin, end):
    """log of the running sum of exp over the columns [begin, end), without overflow."""
    for column in range(begin, end):
        start = column // inner * count * inner + column % inner
        total = NOTHING
        for step in range(count):
            at = start + (count - 1 - step if REVERSE else step) * inner
            element = x[at]
            if EXCLUSIVE:
                out[at] = total
            large = element if total < element else total
            small = element if element < total else total
            if large == NOTHING:
                total = large
            elif WIDE:
                total = log1p_f64(exp_f64(small - large)) + large
            else:
                total = log1p_f32(exp_f32(small - large)) + large
            if not EXCLUSIVE:
                out[at] = total


def _lower_logsumexp(node: Node) -> Native:
    dtype = dtypes.f64 if node.inputs[0].type.dtype is dtypes.f64 else dtypes.f32
    constants = {"NOTHING": dtype.numpy.type(-np.inf), "WIDE": dtype is dtypes.f64}
    return _scan(node, logsumexp_kernel, constants, (f"exp_{dtype}", f"log1p_{dtype}"))


def _log_add_exp(total: np.ndarray, element: np.ndarray) -> np.ndarray:
    large = np.where(total < element, element, total)
    small = np.where(element < total, element, total)
    return np.where(large == -np.inf, large, np.log1p(np.exp(small - large)) + large)


cumulative_logsumexp = define(
    "cumulative_logsumexp",
    _signature("CumulativeLogsumexp", "FLOAT"),
    infer=_infer,
    lowering=_lower_logsumexp,
    reference=_running(_log_add_exp, -np.inf),
    gradient=_logsumexp_gradient,
    examples=_EXAMPLES,
)
