"""Dense and sparse tensors as the values of rows.

In: tensors. Out: values, and how many of them each row has.
"""

from __future__ import annotations

from typing import Any

from flowc.api.arrays.filling import fill
from flowc.api.arrays.filling import range as range_of
from flowc.api.arrays.selection import gather, gather_nd, where, where_v2
from flowc.api.arrays.shaping import expand_dims, shape
from flowc.api.framework.basics import cast
from flowc.api.framework.checks import Assert
from flowc.api.framework.scopes import with_dependencies
from flowc.api.math import elementwise
from flowc.api.math.reductions import reduce_all, reduce_any, reduce_max
from flowc.dtypes import DType
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor


def rows_of_tensor(
    given: Tensor, lengths: Any, padding: Any, ragged_rank: int, dtype: DType
) -> tuple[Tensor, Tensor]:
    """The values of a tensor's rows, up to their lengths or without the padding at their ends, and
    how many each has. Raises `ValueError` for lengths with padding and for other ranks."""
    if lengths is not None and padding is not None:
        raise ValueError("Specify argument `lengths` or `padding`, but not both.")
    if ragged_rank != 1:
        raise ValueError(f"ragged_rank must be 1, found {ragged_rank}")
    if given.shape.ndims is None or given.shape.ndims < 2:
        raise ValueError(f"expected a tensor of rank 2 or more, found shape {given.shape}")
    sizes = shape(given, out_type=dtype)
    columns = range_of(sizes[1])
    if padding is not None:
        kept = elementwise.not_equal(given, as_tensor(padding, given.dtype))
        kept = reduce_any(kept, list(range(2, given.shape.ndims)))
        lengths = reduce_max(where_v2(kept, columns + 1, cast(0, dtype)), 1)
    if lengths is None:
        lengths = fill(sizes[:1], sizes[1])
    ends = elementwise.minimum(cast(as_tensor(lengths), dtype), sizes[1])
    places = where(elementwise.less(expand_dims(columns, 0), expand_dims(ends, 1)))
    return gather_nd(given, places), ends


def at_the_left(values: Tensor, rows: Tensor, columns: Tensor, starts: Tensor) -> Tensor:
    """The values of a sparse matrix, once a run has found each row to begin at column 0 and to have
    no gap."""
    places = range_of(shape(rows, out_type=rows.dtype)[0]) - gather(starts, rows)
    fits = reduce_all(elementwise.equal(columns, places))
    return with_dependencies([Assert(fits, ["SparseTensor is not right-ragged", columns])], values)
