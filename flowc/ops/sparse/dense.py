"""Sparse tensors made dense.

In: the places of elements, one a row, and their values. Out: the dense tensor, with the default
value elsewhere. Invariant: a place outside of the tensor ends the run.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.errors import InvalidArgumentError
from flowc.ir.builder import Builder
from flowc.ir.computation import Node, Value
from flowc.ir.dims import Dim, maximum
from flowc.ir.inference import Inference, NeedsContent
from flowc.ir.lowering import Decompose, Lowering, View
from flowc.ir.op import define
from flowc.ir.text.shape_text import shown_dims
from flowc.ir.types import Dims
from flowc.ops.gradients import Forward, GradientBuilder


def _infer(c: Inference) -> Dims:
    if c.rank(0) > 2:
        shown = shown_dims(c.dims(0))
        raise c.fail(f"sparse_indices should be a scalar, vector, or matrix, got shape {shown}")
    c.need_rank(1, 1, f"output_shape must be rank 1, got shape {shown_dims(c.dims(1))}")
    count = c.dims(0)[0] if c.rank(0) else 1
    dims = c.need_sizes(1)
    wide = c.dims(0)[1] if c.rank(0) == 2 else 1
    fault = f"output_shape has incorrect number of elements: {len(dims)} should be: {wide}"
    if isinstance(wide, int) and wide != len(dims):
        raise c.fail(fault)
    c.equal(wide, len(dims), fault)
    if c.rank(2):
        found = shown_dims(c.dims(2))
        wanted = f"sparse_values has incorrect shape {found}, should be [] or [{count}]"
        c.match_dims((count,), c.dims(2), wanted)
    c.need_rank(3, 0, "default_value should be a scalar.")
    return dims


# -- rows of places, each behind the one before

_DISORDER = "indices are out of order or repeated. Many sparse ops require sorted indices."


def _check_order(places: np.ndarray) -> np.ndarray:
    rows = places.tolist()
    if any(row <= before for before, row in pairwise(rows)):
        raise InvalidArgumentError(_DISORDER)
    return places


def _lower_in_order(node: Node) -> Lowering:
    def read(k: Any, index: tuple[Dim, ...]) -> Any:
        row = index[0]
        before = maximum(row - 1, 0)
        behind, same = k.const(False, dtypes.bool_), k.const(True, dtypes.bool_)
        for axis in range(int(node.output.dims[1])):
            ours, theirs = k.load(0, (row, axis)), k.load(0, (before, axis))
            behind = k.logical_or(behind, k.logical_and(same, k.gt(ours, theirs)))
            same = k.logical_and(same, k.eq(ours, theirs))
        k.check(k.logical_or(k.in_range(row, 0, 1), behind), _DISORDER)
        return k.load(0, index)

    return View(read)


def _infer_places(c: Inference) -> Dims:
    if not isinstance(c.dims(0)[1], int):
        raise NeedsContent("how many numbers a place has must be known")
    return c.dims(0)


define(
    "places_in_order",
    "_PlacesInOrder(places: T; T: {i32, i64}) -> same: T",
    infer=_infer_places,
    reference=_check_order,
    lowering=_lower_in_order,
    examples=("T[3,2]=[0,1,1,0,2,2]", "T[1,1]=4", "T[0,2]"),
)


def _build(b: Builder, node: Node) -> Value:
    places, _, values, default = node.inputs
    dims = node.output.dims
    count = places.dims[0] if places.type.rank else 1
    places = b.reshape(places, (count, len(dims)))
    if node.attrs["validate_indices"]:
        places = b.places_in_order(places)
    values = b.broadcast_to(values, (count,))
    return b.tensor_scatter_update(b.broadcast_to(default, dims), places, values)


def _reference(
    sparse_indices: np.ndarray,
    output_shape: np.ndarray,
    sparse_values: np.ndarray,
    default_value: np.ndarray,
    *,
    validate_indices: bool,
) -> np.ndarray:
    dims = tuple(int(d) for d in output_shape)
    found = np.full(dims, default_value, sparse_values.dtype)
    places = sparse_indices.reshape(-1, len(dims))
    if validate_indices:
        _check_order(places)
    wrong: Any = np.flatnonzero(((places < 0) | (places >= np.array(dims))).any(axis=1))
    if wrong.size:
        at = places[wrong[0]].tolist()
        raise InvalidArgumentError(f"indices[{wrong[0]}] = {at} is out of bounds: {list(dims)}")
    found[tuple(places.T)] = sparse_values
    return found


def _gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    places, _, values, _ = node.inputs
    at = places if b.rank_of(places) == 2 else b.reshape(places, (-1, 1))
    taken = b.gather_nd(dy, at)
    total = b.sum(taken, b.axes_of(taken))
    elsewhere = b.sub(b.sum(dy, b.axes_of(dy)), total)
    return None, None, taken if b.rank_of(values) else total, elsewhere


sparse_to_dense = define(
    "sparse_to_dense",
    "SparseToDense(sparse_indices: Tindices, output_shape: Tindices, sparse_values: T,"
    " default_value: T; validate_indices: bool = True, T: type, Tindices: {i32, i64})"
    " -> dense: T",
    infer=_infer,
    reference=_reference,
    lowering=Decompose(_build),
    gradient=_gradient,
    examples=(
        "i64[3,2]=[0,1,1,0,2,2] i64[2]=[3,3] T[3] T[]",
        "i32[2]=[1,4] i32[1]=[6] f32[] f32[]",
        "i32[]=2 i32[1]=[4] f32[] f32[]",
        "i64[0,2] i64[2]=[2,2] f32[0] f32[]",
    ),
)
