"""`RaggedTensorValue`: a ragged tensor's arrays, as a run gives and takes them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np


class RaggedTensorValue:
    """The arrays of a `RaggedTensor`, as a run gives and takes them: `values`, an array or another
    `RaggedTensorValue`, and `row_splits`, where each row begins and the last one ends. Raises
    `TypeError` for row splits of another dtype."""

    def __init__(self, values: Any, row_splits: Any) -> None:
        self.values = values
        self.row_splits = np.asarray(row_splits)
        if self.row_splits.ndim != 1 or self.row_splits.dtype not in (np.int32, np.int64):
            raise TypeError("row_splits must be a 1D int32 or int64 numpy array")

    @property
    def flat_values(self) -> Any:
        """The values of the innermost rows."""
        return getattr(self.values, "flat_values", self.values)

    @property
    def nested_row_splits(self) -> tuple[Any, ...]:
        """The splits of all levels, the outermost first."""
        return (self.row_splits, *getattr(self.values, "nested_row_splits", ()))

    @property
    def ragged_rank(self) -> int:
        return len(self.nested_row_splits)

    @property
    def dtype(self) -> Any:
        return self.flat_values.dtype

    @property
    def shape(self) -> tuple[int | None, ...]:
        return (len(self.row_splits) - 1, None, *self.values.shape[1:])

    def to_list(self) -> list[Any]:
        """The rows as nested lists."""
        inner = self.values
        rows = inner.to_list() if isinstance(inner, RaggedTensorValue) else inner.tolist()
        ends = self.row_splits.tolist()
        return [rows[start:end] for start, end in itertools.pairwise(ends)]

    def __str__(self) -> str:
        return f"<tf.RaggedTensorValue {self.to_list()}>"

    def __repr__(self) -> str:
        return f"tf.RaggedTensorValue(values={self.values!r}, row_splits={self.row_splits!r})"
