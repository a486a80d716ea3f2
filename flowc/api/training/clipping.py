"""Clipping of gradients by their norms.

In: tensors or `IndexedSlices` (whose values count). Out: the same, scaled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.api.arrays.filling import ones_like
from flowc.api.arrays.filling import range as range_of
from flowc.api.arrays.selection import where
from flowc.api.arrays.shaping import rank, size, stack
from flowc.api.framework.basics import cast, constant, identity
from flowc.api.framework.scopes import name_scope
from flowc.api.math.elementwise import maximum, minimum, rsqrt, sqrt
from flowc.api.math.reductions import reduce_sum
from flowc.api.nn.losses import l2_loss
from flowc.graph import Tensor, get_default_graph
from flowc.graph.building.conversion import as_tensor
from flowc.graph.indexed_slices import IndexedSlices


def clip_by_norm(t: Any, clip_norm: Any, axes: Any = None, name: str | None = None) -> Any:
    """`t` (a tensor of floats, or `IndexedSlices`) scaled down where its L2 norm (along `axes`, if
    given) is more than `clip_norm`. Raises `TypeError` for other dtypes, `ValueError` for an axis
    out of range."""
    with name_scope(name, "clip_by_norm") as scope:
        values = as_tensor(_values(t), name="t")
        limit: Any
        if isinstance(clip_norm, int | float | np.number):
            limit = max(clip_norm, 0)
        else:
            limit = cast(maximum(clip_norm, 0), values.dtype)
        squares = reduce_sum(values * values, axes, keepdims=True)
        positive = squares > 0
        # Where all is zero, the gradient of the root would be infinite.
        root = sqrt(where(positive, squares, ones_like(squares)))
        norm = where(positive, root, squares)
        clipped = identity(values * limit / maximum(norm, limit), name=scope)
    return _of_values(t, clipped)


def clip_by_average_norm(t: Any, clip_norm: Any, name: str | None = None) -> Tensor:
    """`t`, of float32, scaled down where its L2 norm divided by its number of elements is more than
    `clip_norm`. Raises `TypeError` for other dtypes."""
    with name_scope(name, "clip_by_average_norm") as scope:
        values = as_tensor(t, name="t")
        count = cast(size(values), dtypes.f32)
        inverse = rsqrt(reduce_sum(values * values, range_of(rank(values))))
        scaled = values * clip_norm
        return identity(scaled * minimum(inverse * count, constant(1.0) / clip_norm), name=scope)


def global_norm(t_list: Sequence[Any], name: str | None = None) -> Tensor:
    """The L2 norm, a scalar, of all elements of all tensors (`IndexedSlices` too), which are of one
    floating dtype; None in the list counts as no element. Raises `TypeError` for what is no
    list."""
    given = _as_list(t_list)
    with name_scope(name, "global_norm"):
        halves = []
        for value in _named_values(given):
            if value is not None:
                with get_default_graph().colocate_with(value):
                    halves.append(l2_loss(value))
        half = reduce_sum(stack(halves))
        return sqrt(half * constant(2.0, half.dtype), name="global_norm")


def clip_by_global_norm(
    t_list: Sequence[Any], clip_norm: Any, use_norm: Any = None, name: str | None = None
) -> tuple[list[Any], Tensor]:
    """(the tensors, scaled by one number so that their norm is at most `clip_norm`; their norm as
    it was). `use_norm`: that norm, where it is known. An infinite norm makes all of them NaN.
    Raises `TypeError` for what is no list."""
    given = _as_list(t_list)
    norm = global_norm(given, name) if use_norm is None else use_norm
    graph = get_default_graph()
    with name_scope(name, "clip_by_global_norm") as scope:
        finite = clip_norm * minimum(1.0 / norm, constant(1.0, norm.dtype) / clip_norm)
        scale = finite + (norm - norm)  # NaN where the norm is not finite
        clipped: list[Any] = []
        for number, (item, value) in enumerate(zip(given, _named_values(given))):
            if value is None:
                clipped.append(None)
                continue
            with graph.colocate_with(value):
                scaled = value * cast(scale, value.dtype)
                clipped.append(_of_values(item, identity(scaled, name=f"{scope}_{number}")))
    return clipped, norm


def _as_list(t_list: Any) -> list[Any]:
    if not isinstance(t_list, Sequence) or isinstance(t_list, str):
        raise TypeError(f"`t_list` should be a sequence of tensors. Received {type(t_list)}.")
    return list(t_list)


def _named_values(given: Sequence[Any]) -> list[Tensor | None]:
    return [
        None if item is None else as_tensor(_values(item), name=f"t_{number}")
        for number, item in enumerate(given)
    ]


def _values(t: Any) -> Any:
    return t.values if isinstance(t, IndexedSlices) else t


def _of_values(t: Any, values: Tensor) -> Any:
    if isinstance(t, IndexedSlices):
        return IndexedSlices(values, t.indices, t.dense_shape)
    return values
