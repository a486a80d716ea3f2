"""Tensors from little: constants of a shape, ranges, one-hot rows, grids."""

from __future__ import annotations

from typing import Any

import numpy as np

from flowc import dtypes
from flowc.api.arrays.shaping import broadcast_to, expand_dims, rank, reshape, shape, size, stack
from flowc.api.framework.basics import cast, constant
from flowc.api.framework.composites import over_flat_values
from flowc.api.framework.scopes import name_scope
from flowc.api.math import elementwise
from flowc.graph import Tensor, TensorShape
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.creation import output

SMALL = 1000  # elements up to which zeros and ones become constants


def fill(dims: Any, value: Any, name: str | None = None) -> Tensor:
    """A tensor of shape `dims` (a vector of integers), every element the scalar `value`. Raises
    `ValueError` for other ranks and negative sizes."""
    return output("Fill", dims, value, name=name)


def _filled(shape: Any, value: Any, dtype: Any, name: str | None, default: str) -> Tensor:
    wanted = dtypes.as_dtype(dtype)
    one: Any = {"string": "", "bool": bool(value)}.get(wanted.kind, value)
    with name_scope(name, default) as scope:
        dims = shape
        if not isinstance(shape, Tensor):
            try:
                sizes = TensorShape(shape)
                if sizes.is_fully_defined() and (sizes.num_elements() or 0) < SMALL:
                    return constant(one, wanted, shape=sizes, name=scope)
                dims = as_tensor(sizes)
            except (TypeError, ValueError):
                dims = as_tensor(shape, dtypes.i32)
        if dims.shape.ndims == 0:
            dims = reshape(dims, [-1])
        return output("Fill", dims, constant(one, wanted), name=scope)


def zeros(shape: Any, dtype: Any = dtypes.f32, name: str | None = None) -> Tensor:
    """Zeros (False, empty strings) of a shape: a list, a vector of integers or a `TensorShape`.
    Raises `TypeError` for what is no dtype, `ValueError` for negative sizes."""
    return _filled(shape, 0, dtype, name, "zeros")


def ones(shape: Any, dtype: Any = dtypes.f32, name: str | None = None) -> Tensor:
    """Ones (True) of a shape: a list, a vector of integers or a `TensorShape`. Raises as
    `zeros`, and `TypeError` for strings."""
    if dtypes.as_dtype(dtype) is dtypes.string:
        raise TypeError("Expected string, but got 1 of type 'int'.")
    return _filled(shape, 1, dtype, name, "ones")


def zeros_like(
    tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True
) -> Tensor:
    """Zeros of the same shape, in the tensor's dtype or `dtype`. Raises `TypeError` for what is no
    dtype."""
    if hasattr(tensor, "with_flat_values"):
        return tensor.with_flat_values(zeros_like(tensor.flat_values, dtype, name, optimize))
    with name_scope(name, "zeros_like", [tensor]) as scope:
        value = as_tensor(tensor, name="tensor")
        wanted = value.dtype if dtype is None else dtypes.as_dtype(dtype)
        if optimize and value.shape.is_fully_defined() and wanted is not dtypes.variant:
            return zeros(value.shape, wanted, name=scope)
        if wanted is not value.dtype:
            return zeros(shape(value), wanted, name=scope)
        return output("ZerosLike", value, name=scope)


def ones_like(
    tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True
) -> Tensor:
    """Ones of the same shape, in the tensor's dtype or `dtype`. Raises `TypeError` for what is no
    dtype."""
    if hasattr(tensor, "with_flat_values"):
        return tensor.with_flat_values(ones_like(tensor.flat_values, dtype, name, optimize))
    with name_scope(name, "ones_like", [tensor]) as scope:
        value = as_tensor(tensor, name="tensor")
        wanted = value.dtype if dtype is None else dtypes.as_dtype(dtype)
        if value.shape.is_fully_defined():
            with name_scope(None, "Shape"):
                sizes = as_tensor(value.shape)
        else:
            sizes = shape(value)
        found = ones(sizes, wanted, name=scope)
        found.set_shape(value.shape)
        return found


_RANGE_ORDER = (dtypes.i32, dtypes.i64, dtypes.f32, dtypes.f64)


def range(
    start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: str = "range"
) -> Tensor:
    """A vector of numbers from `start` (0, if only one is given) up to `limit`, which is not
    included, `delta` apart. Three scalars; the dtype is `dtype`, else the widest of theirs. Raises
    `ValueError` for a `delta` of 0 or one that leads away from the limit."""
    if limit is None:
        start, limit = 0, start
    with name_scope(name, "Range", [start, limit, delta]) as scope:
        wanted = None if dtype is None else dtypes.as_dtype(dtype)
        parts = [
            v if isinstance(v, Tensor) else as_tensor(v, wanted, n)
            for v, n in ((start, "start"), (limit, "limit"), (delta, "delta"))
        ]
        if wanted is None:
            found = [p.dtype for p in parts if p.dtype is not None]
            known = [d for d in _RANGE_ORDER if d in found]
            wanted = known[-1] if known else found[0]
        parts = [cast(p, wanted) for p in parts]
        return output("Range", *parts, name=scope)


def eye(
    num_rows: Any,
    num_columns: Any = None,
    batch_shape: Any = None,
    dtype: Any = dtypes.f32,
    name: str | None = None,
) -> Tensor:
    """Identity matrices [..., num_rows, num_columns] (square, if None) of `dtype`, as many as
    `batch_shape`, a list or a vector of integers, says. Raises `TypeError` for other dtypes,
    `ValueError` for negative sizes."""
    with name_scope(name, "eye"):
        square = num_columns is None
        columns = num_rows if square else num_columns
        batch = [] if batch_shape is None else batch_shape
        sizes: list[Any]
        if isinstance(num_rows, int) and isinstance(columns, int) and isinstance(batch, list):
            square = num_rows == columns
            sizes = [[*batch, min(num_rows, columns)], [*batch, num_rows, columns]]
        else:
            least = elementwise.minimum(num_rows, columns)
            batch = as_tensor(batch, dtypes.i32, "shape")
            parts = [[least]] if square else [[least], [num_rows, columns]]
            sizes = [output("ConcatV2", [batch, part], 0, name="concat") for part in parts]
        diagonal = ones(sizes[0], dtype)
        if square:
            zero = False if diagonal.base_dtype is dtypes.bool_ else 0
            return output("MatrixDiagV3", diagonal, 0, -1, -1, zero, name="diag")
        return output("MatrixSetDiagV3", zeros(sizes[1], dtype), diagonal, 0, name="set_diag")


@over_flat_values
def one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: int | None = None,
    dtype: Any = None,
    name: str | None = None,
) -> Tensor:
    """`on_value` (1) at each index along a new axis of size `depth`, `off_value` (0) elsewhere: of
    indices [i, j], [i, j, depth] or, with `axis` 0, [depth, i, j]. Indices outside [0, depth) give
    a row of `off_value`. float32, unless `dtype` or a value says otherwise.

    Raises `TypeError` where the dtypes of the two values differ, or the indices are no integers."""
    with name_scope(name, "one_hot", [indices, depth]) as scope:
        wanted = None if dtype is None else dtypes.as_dtype(dtype)
        values = ((on_value, "on_value"), (off_value, "off_value"))
        given = [as_tensor(v, name=n, preferred=wanted) for v, n in values if v is not None]
        if wanted is None:
            wanted = given[0].dtype if given else dtypes.f32
        for tensor in given:
            if tensor.base_dtype is not wanted:
                raise TypeError(
                    f"dtypes of on_value and off_value must match `dtype`: found {tensor.dtype!r}, "
                    f"expected {wanted!r}"
                )
        on = constant(1, wanted, name="on_value") if on_value is None else given[0]
        off = constant(0, wanted, name="off_value") if off_value is None else given[-1]
        at = -1 if axis is None else axis
        return output("OneHot", indices, depth, on, off, axis=at, name=scope)


def sequence_mask(
    lengths: Any, maxlen: Any = None, dtype: Any = dtypes.bool_, name: str | None = None
) -> Tensor:
    """Rows whose first `lengths[i]` elements are true: [..., maxlen] of lengths [...], an integer
    tensor. `maxlen`: the largest length, if None. `dtype`: that of the result. Raises `TypeError`
    for strings."""
    with name_scope(name, "SequenceMask", [lengths, maxlen]):
        rows = as_tensor(lengths)
        if maxlen is None:
            known = rows.shape.ndims
            axes = range(rank(rows)) if known is None else constant(np.arange(known), dtypes.i32)
            most = output("Max", rows, axes, keep_dims=False)
            maxlen = elementwise.maximum(constant(0, most.dtype), most)
        limit = as_tensor(maxlen)
        columns = output("Range", constant(0, limit.dtype), limit, constant(1, limit.dtype))
        matrix = output("Cast", expand_dims(rows, -1), DstT=limit.dtype)
        found = elementwise.less(columns, matrix)
        wanted = dtypes.bool_ if dtype is None else dtypes.as_dtype(dtype)
        return found if wanted is dtypes.bool_ else output("Cast", found, DstT=wanted)


def meshgrid(*args: Any, indexing: str = "xy", name: str = "meshgrid") -> list[Tensor]:
    """Coordinates of a grid: one tensor for each vector given, all of the grid's shape, of which
    `indexing` `xy` exchanges the first two axes. Raises `ValueError` for an `indexing` other than
    `xy` and `ij`, `TypeError` for vectors of several dtypes."""
    if indexing not in ("xy", "ij"):
        raise ValueError(
            f"Argument `indexing` parameter must be either 'xy' or 'ij', got '{indexing}'"
        )
    with name_scope(name, "meshgrid", args):
        count = len(args)
        tensors = [as_tensor(x) for x in args]
        for x in tensors:
            if x.dtype is not tensors[0].dtype:
                raise TypeError(
                    f"the vectors of a grid must have one dtype, found {tensors[0].dtype} and "
                    f"{x.dtype}"
                )
        vectors = [
            reshape(x, [1] * i + [-1] + [1] * (count - i - 1)) for i, x in enumerate(tensors)
        ]
        sizes = [size(x) for x in tensors]
        if indexing == "xy" and count > 1:
            vectors[0] = reshape(vectors[0], [1, -1] + [1] * (count - 2))
            vectors[1] = reshape(vectors[1], [-1, 1] + [1] * (count - 2))
            sizes[0], sizes[1] = sizes[1], sizes[0]
        full = stack(sizes)
        return [broadcast_to(v, full) for v in vectors]
