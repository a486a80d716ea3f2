"""`tf.linspace`: numbers at equal distances."""

from __future__ import annotations

from typing import Any

from flowc import dtypes
from flowc.api.arrays.filling import range as range_of
from flowc.api.arrays.shaping import (
    broadcast_to,
    concat,
    expand_dims,
    reshape,
    shape,
    slice_,
    stack,
)
from flowc.api.arrays.static_values import broadcast_dynamic_shape
from flowc.api.framework.basics import cast
from flowc.api.framework.scopes import name_scope
from flowc.api.math import elementwise
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.creation import output
from flowc.graph.building.operators import quotient_dtype
from flowc.graph.shape_inference import constant_elements


def linspace(start: Any, stop: Any, num: Any, name: str | None = None, axis: int = 0) -> Tensor:
    """`num` numbers from `start` to `stop`, both included, at equal distances, along a new `axis`
    of what these two broadcast to. Of one dtype; integers become floats as `truediv` has it. Raises
    `TypeError` for others, `ValueError` for a negative `num` and for an axis out of range."""
    with name_scope(name, "LinSpace", [start, stop, num]) as scope:
        ends = [as_tensor(start, name="start")]
        wide = quotient_dtype(ends[0].base_dtype)
        ends.append(as_tensor(stop, ends[0].base_dtype, "stop"))
        if wide is not None:
            ends = [cast(end, wide) for end in ends]
        count = as_tensor(num, name="num")
        known = constant_elements(count)
        is_vector = all(end.shape.ndims in (None, 0) for end in ends) and axis in (0, -1)
        is_real = ends[0].base_dtype is None or not ends[0].base_dtype.is_complex
        if is_vector and is_real and (known is None or known > 0):
            return output("LinSpace", *ends, count, name=scope)
        if known is not None and known < 0:
            raise ValueError(f"Number of samples, {known}, must be non-negative.")
        return _lines(ends[0], ends[1], cast(count, dtypes.i32), axis)


def _lines(start: Tensor, stop: Tensor, count: Tensor, axis: int) -> Tensor:
    """`count` points between tensors of known rank, along a new axis."""
    sizes = broadcast_dynamic_shape(shape(start), shape(stop))
    ends = [broadcast_to(end, sizes) for end in (start, stop)]
    rank = ends[0].shape.ndims
    if rank is None:
        raise ValueError("linspace along an axis needs tensors of known rank")
    if not -rank - 1 <= axis <= rank:
        raise ValueError(f"axis {axis} is not in [{-rank - 1}, {rank}]")
    place = axis % (rank + 1)
    first, last = (expand_dims(end, place) for end in ends)
    steps = elementwise.maximum(count - 1, 1)
    along = [-1 if k == place else 1 for k in range(rank + 1)]
    inner = reshape(cast(range_of(1, steps), start.base_dtype), along)
    points = first + (last - first) / cast(steps, start.base_dtype) * inner
    whole = concat([first, points, last], place)
    size = stack([count if k == place else -1 for k in range(rank + 1)])
    return slice_(whole, [0] * (rank + 1), size)
