"""Sorting along one axis, extremes under their old names, and flat places as coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np

from flowc import dtypes
from flowc.api.arrays.filling import range as range_of
from flowc.api.arrays.selection import top_k
from flowc.api.arrays.shaping import concat, rank, shape, stack, transpose
from flowc.api.framework.basics import cast
from flowc.api.framework.checks import Assert
from flowc.api.framework.scopes import name_scope, with_dependencies
from flowc.api.math import elementwise
from flowc.api.math.reductions import argmax, argmin, cumprod, reduce_all, reduce_prod
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.creation import output
from flowc.graph.shape_inference import constant_elements


def sort(
    values: Any, axis: Any = -1, direction: str = "ASCENDING", name: str | None = None
) -> Tensor:
    """The elements in order along `axis`. Raises `ValueError` for another `direction` than
    `"ASCENDING"` and `"DESCENDING"`, or an `axis` that is not known when the graph is built."""
    with name_scope(name, "sort"):
        return _sorted(values, axis, direction)[0]


def argsort(
    values: Any,
    axis: Any = -1,
    direction: str = "ASCENDING",
    stable: bool = False,
    name: str | None = None,
) -> Tensor:
    """At which place along `axis` each element of the sorted tensor stands now, as int32; equal
    elements stay in their order. Raises `ValueError` for an axis out of range and another
    `direction`."""
    with name_scope(name, "argsort"):
        return _sorted(values, axis, direction)[1]


def _sorted(values: Any, axis: Any, direction: str) -> tuple[Tensor, Tensor]:
    """The sorted tensor, and the places of its elements."""
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(
            f"Argument `direction` should be one of ASCENDING or DESCENDING. Received: {direction}"
        )
    found = constant_elements(as_tensor(axis, name="axis"))
    if found is None:
        raise ValueError("Argument `axis` must be a constant scalar.")
    if found.ndim:
        raise ValueError(f"Argument `axis` must be a constant scalar. Received: {axis}.")
    tensor = as_tensor(values, name="values")
    at, dims = int(found), tensor.shape.ndims
    if dims is not None and not -dims <= at < dims:
        raise ValueError(f"Argument `axis` must be in the range [{-dims}, {dims}). Received: {at}")
    ascending = direction == "ASCENDING"
    keys = _opposite(tensor) if ascending else tensor
    order: Any = None
    if dims is not None and at not in (-1, dims - 1):
        order = np.arange(dims)
        order[[at, -1]] = order[[-1, at]]
    elif dims is None and at != -1:
        count = rank(tensor)
        last, place = count - 1, at + count if at < 0 else at
        before, between = range_of(place), range_of(place + 1, last)
        order = concat([before, [last], between, [place]], 0)
    if order is not None:
        keys = transpose(keys, order)
    best, places = top_k(keys, shape(keys)[-1])
    if order is not None:
        best, places = transpose(best, order), transpose(places, order)
    return (_opposite(best) if ascending else best), places


def _opposite(tensor: Tensor) -> Tensor:
    """Numbers whose order is the opposite one, without overflow; its own inverse."""
    dtype = tensor.dtype
    if dtype is None or not dtype.is_integer:
        return elementwise.negative(tensor)
    limits = np.iinfo(dtype.numpy)
    return as_tensor(limits.max, dtype) - tensor if limits.min == 0 else -1 - tensor


def arg_max(
    input: Any, dimension: Any, output_type: Any = dtypes.i64, name: str | None = None
) -> Tensor:
    """Where the largest element along `dimension` is. int64 or `output_type`, without that
    dimension. Raises `TypeError` for dtypes without an order, `ValueError` for a dimension out of
    range."""
    return argmax(input, dimension, name or "ArgMax", output_type=output_type)


def arg_min(
    input: Any, dimension: Any, output_type: Any = dtypes.i64, name: str | None = None
) -> Tensor:
    """Where the smallest element along `dimension` is. int64 or `output_type`, without that
    dimension. Raises `TypeError` for dtypes without an order, `ValueError` for a dimension out of
    range."""
    return argmin(input, dimension, name or "ArgMin", output_type=output_type)


def unravel_index(indices: Any, dims: Any, name: str | None = None) -> Tensor:
    """Coordinates [len(dims), ...] in a tensor of sizes `dims` of places in its flat form.

    Runs fail with `InvalidArgumentError` for an index that is outside. Raises `TypeError` for
    indices other than int32 and int64, `ValueError` for `dims` that are no vector."""
    with name_scope(name, "UnravelIndex", [indices, dims]) as scope:
        places = as_tensor(indices, name="indices")
        dtype = places.base_dtype
        if dtype is not None and dtype not in (dtypes.i32, dtypes.i64):
            raise TypeError(
                f"Value passed to parameter 'indices' has DataType {dtype.name} not in "
                "list of allowed values: int32, int64"
            )
        sizes = as_tensor(dims, places.dtype, "dims")
        inside = reduce_all(elementwise.less(places, reduce_prod(sizes)))
        check = Assert(inside, ["index is out of bound as with dims"])
        places = with_dependencies([check], places)
        count = sizes.shape.with_rank(1).as_list()[0]
        if count is None:
            raise ValueError("unravel_index needs a known number of dims")
        strides = cumprod(sizes, exclusive=True, reverse=True)
        rows = [elementwise.floormod(elementwise.floordiv(places, strides[k]), sizes[k])
                for k in range(count)]  # fmt: skip
        return output("Identity", cast(stack(rows), places.dtype), name=scope)
