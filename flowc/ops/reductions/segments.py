"""Sums, means, products and extrema of rows that share a segment.

In: data and an integer segment for each row. Out: one row a segment. Invariant: rows are folded in
order; a segment without rows holds what TensorFlow puts there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.errors import InvalidArgumentError
from flowc.ir.computation import Node, Value
from flowc.ir.dims import Dim, Expr, product
from flowc.ir.inference import Inference, NeedsContent
from flowc.ir.lowering import Decompose, Lowering, Native
from flowc.ir.op import Op, define
from flowc.ir.types import Dims
from flowc.ops.gradients import Forward, GradientBuilder, conjugate
from flowc.ops.kernels.segments import (
    globals_of_fold,
    segment_kernel,
    unsorted_segment_kernel,
)
from flowc.ops.math.elementwise import widened
from flowc.ops.reductions.folds import highest, lowest
from flowc.ops.reductions.segment_counts import counted_segments

_REAL = "{f32, f64, i32, u8, i16, i8, i64, bf16, u16, f16, u32, u64}"
_NUMBER = "{f32, f64, i32, u8, i16, i8, c64, i64, bf16, u16, c128, f16, u32, u64}"
_FLOAT = "{f32, f64, bf16, f16}"


# -- segments in order


def last_segment(c: Inference, ids: np.ndarray) -> int:
    """The last of ids that are known, of none -1: how many segments there are hangs on it alone."""
    if ids.size and int(ids[-1]) < 0:
        raise c.fail("segment ids must be >= 0")
    return int(ids[-1]) if ids.size else -1


def rows_of_unknown_number(dims: Dims) -> tuple[int | None, ...]:
    return (None, *(d if isinstance(d, int) else None for d in dims[1:]))


def _infer_segment(c: Inference) -> Dims:
    data = c.dims(0)
    if c.rank(1) != 1 or not data:
        raise c.fail("segment_ids should be a vector, and data at least one.")
    if isinstance(data[0], int) and isinstance(c.dims(1)[0], int) and data[0] != c.dims(1)[0]:
        raise c.fail("segment_ids should be the same size as dimension 0 of input.")
    c.equal(data[0], c.dims(1)[0])
    ids = c.content(1)
    if ids is None or any(isinstance(x, Expr) for x in ids.flat):
        raise NeedsContent(
            f"{c.op.tf_name} needs constant segment_ids: its output's size is their last one",
            node=c.node_name,
            hint=f"use Unsorted{c.op.tf_name}, which says how many segments there are",
            shapes=[rows_of_unknown_number(data)],
        )
    return (last_segment(c, ids) + 1, *data[1:])


def _lower_segment(fold: str) -> Callable[[Node], Lowering]:
    def lower(node: Node) -> Lowering:
        dims = node.inputs[0].dims
        if fold == "mean" and node.output.type.dtype.is_complex:
            return Decompose(_complex_mean)
        return Native(
            segment_kernel,
            arguments=(dims[0], product(dims[1:]), node.output.dims[0]),
            errors=(
                "Segment id {a} out of range [0, {b}), possibly because 'segment_ids' input is "
                "not sorted.",
                "segment ids are not increasing",
            ),
            constants=globals_of_fold(fold, int(fold == "prod")),
        )

    return lower


def _complex_mean(b: Any, node: Node) -> Value:
    data, ids = node.inputs
    kinds = {"T": data.type.dtype, "Tout": data.type.dtype.real_dtype}
    real, imag = (b.segment_mean(part(data, **kinds), ids) for part in (b.real, b.imag))
    return b.complex(real, imag, Tout=data.type.dtype)


def _segment(fold: str) -> Callable[..., np.ndarray]:
    def reference(data: np.ndarray, segment_ids: np.ndarray) -> np.ndarray:
        ids = segment_ids.astype(np.int64)
        if ids.size and ids[-1] < 0:
            raise InvalidArgumentError("segment ids must be >= 0")
        if (np.diff(ids) < 0).any():
            raise InvalidArgumentError("segment ids are not increasing")
        if ids.size and ids[0] < 0:
            raise InvalidArgumentError(
                f"Segment id {ids[0]} out of range [0, {ids[-1] + 1}), possibly because "
                "'segment_ids' input is not sorted."
            )
        count = int(ids[-1]) + 1 if ids.size else 0
        result = np.full((count, *data.shape[1:]), int(fold == "prod"), data.dtype)
        for segment in np.unique(ids):
            result[segment] = _fold_rows(fold, data[ids == segment])
        return result

    return reference


def _fold_rows(fold: str, rows: np.ndarray, start: Any = None) -> np.ndarray:
    dtype = rows.dtype
    wide = widened(rows)
    total = wide[0] if start is None else np.full(rows.shape[1:], start, wide.dtype)
    with np.errstate(all="ignore"):
        for row in wide[1:] if start is None else wide:
            if fold in ("sum", "mean"):
                total = total + row
            elif fold == "prod":
                total = total * row
            elif fold == "min":
                total = np.where(total < row, total, row)
            else:
                total = np.where(total > row, total, row)
        if fold == "mean":
            total = total / len(rows)
    return np.asarray(total).astype(dtype)


# -- segments in any order


def _infer_unsorted(c: Inference) -> Dims:
    data, ids = c.dims(0), c.dims(1)
    fault = f"data.shape = {list(data)} does not start with segment_ids.shape = {list(ids)}"
    c.match_dims(data[: len(ids)], ids, fault)
    segments = c.need_size(2, "Input num_segments == {size} must not be negative.")
    return (segments, *data[len(ids) :])


def _start(fold: str, dtype: np.dtype[Any]) -> Any:
    """What a segment holds before its first row."""
    if fold in ("sum", "prod"):
        return int(fold == "prod")
    farthest = highest if fold == "min" else lowest
    return dtype.type(farthest(dtypes.as_dtype(dtype)))


def _lower_unsorted(fold: str) -> Callable[[Node], Lowering]:
    def lower(node: Node) -> Lowering:
        data, ids = node.inputs[0].dims, node.inputs[1].dims
        if fold in ("min", "max") and node.output.type.dtype in (dtypes.f16, dtypes.bf16):
            return Decompose(lambda b, node: _narrow_extremum(b, node, fold))
        start = _start(fold, node.output.type.dtype.numpy)
        segments = node.output.dims[0]
        columns = ids[1] if len(ids) == 2 else 0
        return Native(
            unsorted_segment_kernel,
            arguments=(product(ids), product(data[len(ids) :]), segments, columns),
            errors=(_out_of_range(len(ids), segments),),
            constants=globals_of_fold(fold, start),
        )

    return lower


def _out_of_range(rank: int, segments: Dim) -> str:
    """The message for an id out of range. `rank`: that of the ids. {a} is the row, {b} the id, {c}
    the column where ids are a matrix, else the number of segments."""
    place = {0: "", 1: "[{a}]", 2: "[{a},{c}]"}.get(rank, "[..]")
    limit = segments if isinstance(segments, int) else "num_segments" if rank == 2 else "{c}"
    return f"segment_ids{place} = {{b}} is out of range [0, {limit})"


def _narrow_extremum(b: Any, node: Node, fold: str) -> Value:
    """A maximum (minimum) of narrow numbers, folded as f32. Empty segments hold the least
    (greatest) number of the narrow dtype, and no segment holds less (more)."""
    data, *rest = node.inputs
    dtype = data.type.dtype
    wide = b.emit(node.op, [b.cast(data, DstT=dtypes.f32), *rest], node.attrs).output
    start = b.const(np.float32(_start(fold, dtype.numpy)))
    bounded = b.maximum(wide, start) if fold == "max" else b.minimum(wide, start)
    return b.cast(bounded, DstT=dtype)


def _unsorted(fold: str) -> Callable[..., np.ndarray]:
    def reference(
        data: np.ndarray, segment_ids: np.ndarray, num_segments: np.ndarray
    ) -> np.ndarray:
        ids = segment_ids.reshape(-1).astype(np.int64)
        count = int(num_segments)
        wrong = np.argwhere(segment_ids >= count)
        if len(wrong):
            place = f"[{','.join(map(str, wrong[0]))}]" if segment_ids.ndim else ""
            found = segment_ids[tuple(wrong[0])]
            raise InvalidArgumentError(f"segment_ids{place} = {found} is out of range [0, {count})")
        rest = data.shape[segment_ids.ndim :]
        rows = data.reshape((ids.size, *rest))
        start = _start(fold, data.dtype)
        result = np.full((count, *rest), start, data.dtype)
        for segment in np.unique(ids[ids >= 0]):
            result[segment] = _fold_rows(fold, rows[ids == segment], start)
        return result

    return reference


def _sum_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    return b.gather(dy, node.inputs[1], np.int32(0))


def _mean_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    data, ids = node.inputs
    ones = b.expand_dims(b.ones_like(ids), np.int32(-1))
    counts = b.cast(b.segment_sum(ones, ids), DstT=dy.dtype)
    for _ in range(b.rank_of(data) - 2):
        counts = b.expand_dims(counts, np.int32(-1))
    if b.rank_of(data) == 1:
        counts = b.reshape(counts, (-1,))
    return b.gather(b.real_div(dy, counts), ids, np.int32(0))


def _rows_of(b: GradientBuilder, node: Forward, values: Any) -> Any:
    """For each row of the data, that of its segment; zeros for rows in none."""
    data, ids = node.inputs[:2]
    if len(node.inputs) == 2:  # sorted: every row is in a segment
        return b.gather(values, ids, np.int32(0))
    rows = b.gather(values, b.maximum(ids, 0), np.int32(0))
    kept = b.greater_equal(ids, 0)
    for _ in range(b.rank_of(data) - b.rank_of(ids)):
        kept = b.expand_dims(kept, np.int32(-1))
    return b.select_v2(kept, rows, b.const(0, rows.dtype))


def _unsorted_sum_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    return _rows_of(b, node, dy)


def _again(b: GradientBuilder, node: Forward, fold: str, data: Any) -> Any:
    """Another fold of other data by the same segments."""
    prefix = "unsorted_" if len(node.inputs) == 3 else ""
    return getattr(b, f"{prefix}segment_{fold}")(data, *node.inputs[1:])


def _extremum_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    """Shared among the elements that equal the extremum of their segment."""
    hits = b.cast(b.equal(node.inputs[0], _rows_of(b, node, node.output)), DstT=dy.dtype)
    share = b.div_no_nan(dy, _again(b, node, "sum", hits))
    return b.mul(hits, _rows_of(b, node, share))


def _product_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    """The product of the other elements: the quotient, or what is left without the only zero."""
    data = node.inputs[0]
    is_zero = b.equal(data, 0)
    zeros = _again(b, node, "sum", b.cast(is_zero, DstT=dtypes.i32))
    dy = b.select_v2(b.greater(zeros, 1), b.zeros_like(dy), dy)
    others = b.select_v2(is_zero, b.ones_like(data), data)
    without = _rows_of(b, node, _again(b, node, "prod", others))
    quotient = b.real_div(_rows_of(b, node, node.output), others)
    return b.mul(_rows_of(b, node, dy), conjugate(b, b.select_v2(is_zero, without, quotient)))


_GRADIENTS = {
    "max": _extremum_gradient, "mean": _mean_gradient, "min": _extremum_gradient,
    "prod": _product_gradient, "sum": _sum_gradient,
}  # fmt: skip


def _define_segment(tf_name: str, fold: str, allowed: str) -> Op:
    return define(
        f"segment_{fold}",
        f"{tf_name}(data: T, segment_ids: Tindices; T: {allowed}, Tindices: {{i32, i64}})"
        " -> output: T",
        infer=_infer_segment,
        reference=_segment(fold),
        lowering=_lower_segment(fold),
        on_data=counted_segments(fold),
        gradient=_GRADIENTS[fold],
        examples=(
            "T[5,2]~small i32[5]=[0,0,2,2,3]",
            "f32[3] Tindices[3]=[1,1,1]",
            "f32[0,2] i32[0]",
        ),
    )


def _define_unsorted(tf_name: str, fold: str, allowed: str) -> Op:
    indices = "i16, i32, i64" if fold == "sum" else "i32, i64"
    return define(
        f"unsorted_segment_{fold}",
        f"{tf_name}(data: T, segment_ids: Tindices, num_segments: Tnumsegments; T: {allowed},"
        f" Tindices: {{{indices}}}, Tnumsegments: {{i32, i64}} = i32) -> output: T",
        infer=_infer_unsorted,
        reference=_unsorted(fold),
        lowering=_lower_unsorted(fold),
        gradient=_unsorted_sum_gradient if fold == "sum" else _GRADIENTS[fold],
        examples=(
            "T[5,2]~small i32[5]=[3,0,2,0,3] i32[]=4",
            "f32[2,2,3] Tindices[2,2]=[0,1,-1,0] i64[]=2",
            "f32[0,2] i32[0] i32[]=2",
        ),
    )


segment_sum = _define_segment("SegmentSum", "sum", _NUMBER)
segment_prod = _define_segment("SegmentProd", "prod", _NUMBER)
segment_min = _define_segment("SegmentMin", "min", _REAL)
segment_max = _define_segment("SegmentMax", "max", _REAL)
segment_mean = _define_segment("SegmentMean", "mean", _NUMBER)
unsorted_segment_sum = _define_unsorted("UnsortedSegmentSum", "sum", _NUMBER)
unsorted_segment_prod = _define_unsorted("UnsortedSegmentProd", "prod", _NUMBER)
unsorted_segment_min = _define_unsorted("UnsortedSegmentMin", "min", _REAL)
unsorted_segment_max = _define_unsorted("UnsortedSegmentMax", "max", _REAL)
