"""`map_fn` where rows, or what the function makes of them, differ in length.

In: the leaves of structures, `RaggedTensor`s among them, and what each result is. Out: rows by
their number, and arrays that results are written to, which are joined once all are there.
Invariant: a row of a `RaggedTensor` is what `rows[i]` is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flowc import dtypes
from flowc.api.arrays.shaping import shape
from flowc.api.control_flow.tensor_array import TensorArray
from flowc.api.ragged.ragged_tensor import RaggedTensor
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor


class RaggedSource:
    """The rows of a `RaggedTensor`, read as those of an array."""

    def __init__(self, rows: RaggedTensor) -> None:
        self._rows = rows

    def unstack(self, rows: RaggedTensor) -> RaggedSource:
        return self

    def read(self, i: Tensor) -> Any:
        return self._rows[i]


class RaggedResult:
    """Rows of one dtype and depth that come one by one: their values, and how many there are on
    each level, the outermost first."""

    def __init__(self, dtype: Any, inner_rank: int, count: Any) -> None:
        """`inner_rank`: the ragged rank of a row, 0 for a tensor."""
        kinds = [dtypes.as_dtype(dtype), *[dtypes.i64] * (inner_rank + 1)]
        self._rank = inner_rank
        self.arrays = [
            TensorArray(kind, size=count, dynamic_size=False, infer_shape=False) for kind in kinds
        ]

    def written(self, arrays: Sequence[TensorArray], i: Tensor, value: Any) -> list[TensorArray]:
        """The arrays with a row. Raises `ValueError` for one of another depth."""
        found = value.ragged_rank if isinstance(value, RaggedTensor) else 0
        if found != self._rank:
            raise ValueError(
                f"Expected `fn` to return a value of ragged rank {self._rank}, found {found}: "
                f"{value}"
            )
        if isinstance(value, RaggedTensor):
            levels = [value.nrows(dtypes.i64), *value.nested_row_lengths()]
            flat = value.flat_values
        else:
            flat = as_tensor(value)
            levels = [shape(flat, out_type=dtypes.i64)[0]]
        return [a.write(i, v) for a, v in zip(arrays, [flat, *levels], strict=True)]

    def joined(self, arrays: Sequence[TensorArray]) -> RaggedTensor:
        """All rows, once they are written."""
        values, outer, *inner = arrays
        lengths = [outer.stack(), *(a.concat() for a in inner)]
        return RaggedTensor.from_nested_row_lengths(values.concat(), lengths, validate=False)
