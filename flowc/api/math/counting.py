"""How often integers occur, and numbers of ranges: `bincount` and histograms."""

from __future__ import annotations

from typing import Any

from flowc import dtypes
from flowc.api.arrays.shaping import reshape, size
from flowc.api.framework.basics import cast
from flowc.api.framework.scopes import name_scope
from flowc.api.math import elementwise
from flowc.api.math.reductions import reduce_max
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.creation import output


def bincount(
    arr: Any,
    weights: Any = None,
    minlength: Any = None,
    maxlength: Any = None,
    dtype: Any = dtypes.i32,
) -> Tensor:
    """How often each integer from 0 on occurs in `arr`; with `weights` of its shape, their sums.

    `minlength`, `maxlength`: the least and the greatest length of the result. `dtype`: that of
    counts; sums have that of the weights. `arr`: int32; the result is a vector. Numbers of other
    dtypes are cast. Raises `TypeError` for strings, `ValueError` for weights of another shape; a
    run raises `InvalidArgumentError` for negative numbers."""
    with name_scope(None, "bincount", [arr, weights]):
        values = cast(as_tensor(arr, name="arr"), dtypes.i32)
        some = cast(size(values) > 0, dtypes.i32)
        bins = some * (reduce_max(values) + 1)
        if minlength is not None:
            bins = elementwise.maximum(as_tensor(minlength, dtypes.i32, "minlength"), bins)
        if maxlength is not None:
            bins = elementwise.minimum(as_tensor(maxlength, dtypes.i32, "maxlength"), bins)
        if weights is None:
            chosen = as_tensor([], dtypes.as_dtype(dtype))
        else:
            chosen = reshape(as_tensor(weights, name="weights"), [-1])
        return output("DenseBincount", reshape(values, [-1]), bins, chosen)


def histogram_fixed_width_bins(
    values: Any, value_range: Any, nbins: Any = 100, dtype: Any = dtypes.i32,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """The number of the bin, of `nbins` equal ones in `value_range`, in which each value lies; the
    first and the last bin take what lies outside. int32 or `dtype`, in the shape of `values`.
    Raises `TypeError` for other dtypes, `ValueError` where `value_range` is no vector."""
    with name_scope(name, "histogram_fixed_width_bins", [values, value_range, nbins]):
        tensor = as_tensor(values, name="values")
        limits = as_tensor(value_range, name="value_range")
        count = as_tensor(nbins, dtypes.i32, "nbins")
        width = elementwise.truediv(tensor - limits[0], limits[1] - limits[0])
        place = elementwise.floor(cast(count, width.dtype) * width)
        bounded = elementwise.clip_by_value(place, 0, cast(count - 1, place.dtype))
        return cast(bounded, dtypes.as_dtype(dtype))


def histogram_fixed_width(
    values: Any, value_range: Any, nbins: Any = 100, dtype: Any = dtypes.i32,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """How many values lie in each of `nbins` equal bins of `value_range`; the first and the last
    bin count what lies outside. `values`: real numbers of any shape, `value_range`: two of their
    dtype; the result: int32[nbins] or of `dtype`. Raises `TypeError` for other dtypes, `ValueError`
    for shapes that do not fit."""
    with name_scope(name, "histogram_fixed_width", [values, value_range, nbins]) as scope:
        kind = dtypes.as_dtype(dtype)
        return output("HistogramFixedWidth", values, value_range, nbins, name=scope, dtype=kind)
