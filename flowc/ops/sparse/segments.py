"""Sums and means of chosen rows that share a segment, and their gradients.

In: data, the rows to take, and an integer segment for each of them, in order. Out: one row a
segment; for gradients, one row for each row of the data. Invariant: a segment without rows is 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc import dtypes
from flowc.ir.dims import Expr
from flowc.ir.inference import Inference, NeedsContent
from flowc.ir.lowering import Decompose
from flowc.ir.op import define
from flowc.ir.types import Dims
from flowc.ops.gradients import Forward, GradientBuilder
from flowc.ops.math.elementwise import widened
from flowc.ops.reductions.checked_places import check_places
from flowc.ops.reductions.segment_counts import counted_sparse_segments
from flowc.ops.reductions.segments import last_segment, rows_of_unknown_number

if TYPE_CHECKING:
    from flowc.ir.builder import Builder
    from flowc.ir.computation import Node, Value

_REAL = "{f32, f64, i32, u8, i16, i8, i64, bf16, u16, f16, u32, u64}"
_FLOAT = "{bf16, f16, f32, f64}"
_PLACES = "Tidx: {i32, i64} = i32"
_SEGMENTS = "Tsegmentids: {i32, i64} = i32"


def _check_rows(c: Inference) -> None:
    if c.rank(0) < 1:
        raise c.fail("input must be at least rank 1")
    if c.rank(1) != 1 or c.rank(2) != 1:
        raise c.fail("indices and segment_ids should be vectors.")
    c.equal(c.dims(1)[0], c.dims(2)[0])


def _infer(c: Inference) -> Dims:
    _check_rows(c)
    ids = c.content(2)
    if ids is None or any(isinstance(x, Expr) for x in ids.flat):
        raise NeedsContent(
            f"{c.op.tf_name} needs constant segment_ids: its output's size is their last one",
            node=c.node_name,
            hint=f"use {c.op.tf_name}WithNumSegments, which says how many segments there are",
            shapes=[rows_of_unknown_number(c.dims(0))],
        )
    return (last_segment(c, ids) + 1, *c.dims(0)[1:])


def _infer_counted(c: Inference) -> Dims:
    """The dims where the last input says how many rows there are."""
    _check_rows(c)
    return (c.need_size(3, "segment ids must be >= 0"), *c.dims(0)[1:])


def _scales(b: Builder, fold: str, ids: Value, count: Value, kind: Any) -> Value:
    """For each segment, what its sum is multiplied by."""
    ones = b.const(np.ones((), kind.numpy))
    rows = b.unsorted_segment_sum(b.broadcast_to(ones, ids.dims), ids, count)
    rows = b.maximum(rows, ones)
    return b.real_div(ones, b.sqrt(rows) if fold == "sqrt_n" else rows)


def _beside(b: Builder, scales: Value, rows: Value) -> Value:
    return b.reshape(scales, (*scales.dims, *(1,) * (rows.type.rank - 1)))


def _widened(b: Builder, x: Value) -> Value:
    narrow = x.type.dtype in (dtypes.f16, dtypes.bf16)
    return b.cast(x, DstT=dtypes.f32) if narrow else x


def _narrowed(b: Builder, x: Value, like: Value) -> Value:
    kind = like.type.dtype
    return x if x.type.dtype is kind else b.cast(x, DstT=kind)


def _build(fold: str) -> Callable[[Builder, Node], Value]:
    def build(b: Builder, node: Node) -> Value:
        data, indices, ids = node.inputs[:3]
        count = b.scalar_size(node.output.dims[0], dtypes.i64)
        ids = b.checked_places(ids, count, kind="segments")
        extent = b.scalar_size(data.dims[0], dtypes.i64)
        indices = b.checked_places(indices, extent, kind="rows")
        rows = _widened(b, b.gather(data, indices, np.int32(0)))
        total = b.unsorted_segment_sum(rows, ids, count)
        if fold != "sum":
            scales = _scales(b, fold, ids, count, total.type.dtype)
            total = b.mul(total, _beside(b, scales, total))
        return _narrowed(b, total, data)

    return build


def _build_grad(fold: str) -> Callable[[Builder, Node], Value]:
    def build(b: Builder, node: Node) -> Value:
        grad, indices, ids = node.inputs[:3]
        dy = _widened(b, grad)
        segments = b.scalar_size(dy.dims[0], dtypes.i64)
        ids = b.checked_places(ids, segments, kind="segments of a gradient")
        if fold != "sum":
            dy = b.mul(dy, _beside(b, _scales(b, fold, ids, segments, dy.type.dtype), dy))
        count = b.scalar_size(node.output.dims[0], dtypes.i64)
        indices = b.checked_places(indices, count, kind="rows of a gradient")
        rows = b.gather(dy, ids, np.int32(0))
        return _narrowed(b, b.unsorted_segment_sum(rows, indices, count), grad)

    return build


# -- references


def _scale_arrays(fold: str, ids: np.ndarray, count: int, kind: Any) -> np.ndarray:
    rows = np.maximum(np.bincount(ids.astype(np.int64), minlength=count), 1).astype(kind)
    return np.asarray(1, kind) / (np.sqrt(rows) if fold == "sqrt_n" else rows)


def _reference(fold: str) -> Callable[..., np.ndarray]:
    def reference(
        data: np.ndarray, indices: np.ndarray, ids: np.ndarray, number: Any = None
    ) -> np.ndarray:
        last = int(ids[-1]) + 1 if ids.size else 0
        count = last if number is None else int(number)
        check_places(ids, count, "segments")
        check_places(indices, len(data), "rows")
        total = np.zeros((count, *data.shape[1:]), widened(data[:0]).dtype)
        np.add.at(total, ids, widened(data[indices]))
        if fold != "sum":
            scales = _scale_arrays(fold, ids, count, total.dtype)
            total = total * scales.reshape(-1, *(1,) * (data.ndim - 1))
        return total.astype(data.dtype)

    return reference


def _reference_grad(fold: str) -> Callable[..., np.ndarray]:
    def reference(
        grad: np.ndarray, indices: np.ndarray, ids: np.ndarray, count: np.ndarray
    ) -> np.ndarray:
        dy = widened(grad)
        check_places(ids, len(grad), "segments of a gradient")
        check_places(indices, int(count), "rows of a gradient")
        if fold != "sum":
            scales = _scale_arrays(fold, ids, len(grad), dy.dtype)
            dy = dy * scales.reshape(-1, *(1,) * (grad.ndim - 1))
        dx = np.zeros((int(count), *grad.shape[1:]), dy.dtype)
        np.add.at(dx, indices, dy[ids])
        return dx.astype(grad.dtype)

    return reference


# -- records


def _gradient(fold: str) -> Callable[..., Any]:
    def gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
        data, indices, ids = node.inputs[:3]
        given = dy, indices, ids, b.size_of(data, 0)
        if not node.attrs["sparse_gradient"]:
            return getattr(b, f"sparse_segment_{fold}_grad")(*given)
        values, rows = getattr(b, f"sparse_segment_{fold}_grad_v2")(*given)
        return b.sum_rows(values, rows, data)

    return gradient


def _define(fold: str, tf_name: str) -> None:
    kinds = _REAL if fold == "sum" else _FLOAT
    inputs = "data: T, indices: Tidx, segment_ids: Tsegmentids"
    define(
        f"sparse_segment_{fold}",
        f"{tf_name}({inputs}; T: {kinds}, {_PLACES}, {_SEGMENTS},"
        " sparse_gradient: bool = False) -> output: T",
        infer=_infer,
        lowering=Decompose(_build(fold)),
        on_data=counted_sparse_segments(fold),
        reference=_reference(fold),
        gradient=_gradient(fold),
        examples=(
            "T[4,3]~small i32[5]=[0,3,3,1,0] i32[5]=[0,0,1,3,3]",
            "f32[2] i64[3]=[1,1,0] i64[3]=[0,0,0]",
        ),
    )
    define(
        f"sparse_segment_{fold}_with_num_segments",
        f"{tf_name}WithNumSegments({inputs}, num_segments: Tnumsegments; T: {kinds}, {_PLACES},"
        f" Tnumsegments: {{i32, i64}} = i32, {_SEGMENTS}, sparse_gradient: bool = False)"
        " -> output: T",
        infer=_infer_counted,
        lowering=Decompose(_build(fold)),
        reference=_reference(fold),
        gradient=_gradient(fold),
        examples=(
            "f32[4,3] i32[5]=[0,3,3,1,0] i32[5]=[0,0,1,3,3] i32[]=5",
            "f64[2] i64[3]=[1,1,0] i32[3]=[1,1,1] i64[]=3",
        ),
    )
    define(
        f"sparse_segment_{fold}_grad",
        f"{tf_name}Grad(grad: T, indices: Tidx, segment_ids: Tsegmentids, output_dim0: i32;"
        f" T: {_FLOAT}, {_PLACES}, {_SEGMENTS}) -> output: T",
        infer=_infer_counted,
        lowering=Decompose(_build_grad(fold)),
        reference=_reference_grad(fold),
        examples=(
            "T[4,3]~small i32[5]=[0,3,3,1,0] i32[5]=[0,0,1,3,3] i32[]=4",
            "f32[1] i64[3]=[1,1,0] i64[3]=[0,0,0] i32[]=3",
        ),
    )


def _infer_rows(c: Inference) -> list[Dims]:
    """The dims of a sparse gradient: of the rows that have one, and of their indices."""
    _check_rows(c)
    c.need_size(3)
    count = c.fresh("unique", c.dims(1)[0])
    return [(count, *c.dims(0)[1:]), (count,)]


def _build_rows(fold: str) -> Callable[[Builder, Node], list[Value]]:
    def build(b: Builder, node: Node) -> list[Value]:
        dy, indices, ids, size = node.inputs
        zero = b.const(np.zeros((), indices.type.dtype.numpy))
        inside = b.checked_places(indices, b.cast(size, DstT=dtypes.i64), kind="rows of a gradient")
        distinct, _ = b.unique(inside)
        ordered, _ = b.top_k(b.invert(distinct), b.scalar_size(distinct.dims[0]))
        rows = b.invert(ordered)
        places = b.lower_bound(b.expand_dims(rows, zero), b.expand_dims(inside, zero))
        flat = b.reshape(places, indices.dims)
        count = b.scalar_size(distinct.dims[0])
        return [getattr(b, f"sparse_segment_{fold}_grad")(dy, flat, ids, count), rows]

    return build


def _reference_rows(fold: str) -> Callable[..., list[np.ndarray]]:
    dense = _reference_grad(fold)

    def reference(
        grad: np.ndarray, indices: np.ndarray, ids: np.ndarray, count: np.ndarray
    ) -> list[np.ndarray]:
        check_places(indices, int(count), "rows of a gradient")
        rows = np.unique(indices)
        return [dense(grad, indices, ids, count)[rows], rows]

    return reference


def _define_rows(fold: str, tf_name: str) -> None:
    define(
        f"sparse_segment_{fold}_grad_v2",
        f"{tf_name}GradV2(grad: T, indices: Tidx, segment_ids: Tsegmentids,"
        f" dense_output_dim0: i32; T: {_FLOAT}, {_PLACES}, {_SEGMENTS})"
        " -> (output: T, sorted_unique_indices: Tidx)",
        infer=_infer_rows,
        lowering=Decompose(_build_rows(fold)),
        reference=_reference_rows(fold),
        examples=(
            "T[4,3]~small i32[5]=[0,3,3,1,0] i32[5]=[0,0,1,3,3] i32[]=9",
            "f32[1] i64[3]=[7,7,2] i64[3]=[0,0,0] i32[]=8",
        ),
    )


_define("sum", "SparseSegmentSum")
_define("mean", "SparseSegmentMean")
_define("sqrt_n", "SparseSegmentSqrtN")
_define_rows("sum", "SparseSegmentSum")
_define_rows("mean", "SparseSegmentMean")
_define_rows("sqrt_n", "SparseSegmentSqrtN")
