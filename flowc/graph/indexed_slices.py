"""`IndexedSlices`: rows of a tensor, such as the gradient of a gather.

In: values, the rows' indices, the sizes of the whole tensor. Out: objects that loops and
conditionals carry, sessions fetch and feed, and optimizers apply row by row. Invariant: a row that
is named twice stands for the sum of its values.
"""

from __future__ import annotations

import math
import warnings
from collections import namedtuple
from collections.abc import Sequence
from typing import Any

from flowc.dtypes import DType
from flowc.graph.building.creation import output
from flowc.graph.graph import Graph
from flowc.graph.operation import Operation
from flowc.graph.shape import TensorShape
from flowc.graph.shape_inference import constant_elements
from flowc.graph.tensor import Tensor

IndexedSlicesValue = namedtuple(
    "IndexedSlicesValue", ("values", "indices", "dense_shape"), defaults=(None,)
)
IndexedSlicesValue.__doc__ = (
    "The arrays of an `IndexedSlices`, as a run gives and takes them. Raises nothing."
)
MANY_ELEMENTS = 100_000_000  # from here on, making the whole tensor is worth a warning


class ValuesAtIndices:
    """`values[n]`, each for a place `indices[n]` of a tensor of sizes `dense_shape`."""

    def __init__(self, indices: Any, values: Any, dense_shape: Any) -> None:
        self._indices = indices
        self._values = values
        self._dense_shape = dense_shape

    @property
    def indices(self) -> Tensor:
        return self._indices

    @property
    def values(self) -> Tensor:
        return self._values

    @property
    def dense_shape(self) -> Any:
        return self._dense_shape

    @property
    def dtype(self) -> DType | None:
        return self._values.dtype

    @property
    def op(self) -> Operation:
        return self._values.op

    @property
    def graph(self) -> Graph:
        return self._values.graph


class IndexedSlices(ValuesAtIndices):
    """Rows of a tensor: `values[n, ...]` are the rows at `indices[n]` of a tensor of sizes
    `dense_shape`, which need not be known. Of any dtype; `indices`: a vector of int32 or int64.
    Raises nothing by itself."""

    value_type = IndexedSlicesValue

    def __init__(self, values: Tensor, indices: Tensor, dense_shape: Tensor | None = None) -> None:
        super().__init__(indices, values, dense_shape)

    @property
    def name(self) -> str:
        return self.values.name

    @property
    def device(self) -> str:
        return self.values.device

    @property
    def _control_input(self) -> Operation:
        return self.op

    @property
    def shape(self) -> TensorShape:
        known = None if self.dense_shape is None else constant_elements(self.dense_shape)
        return TensorShape(None if known is None else known.tolist())

    def consumers(self) -> list[Operation]:
        """The operations that read the values."""
        return self.values.consumers()

    def with_rows(self, values: Tensor) -> IndexedSlices:
        """Other values in the same rows."""
        return IndexedSlices(values, self.indices, self.dense_shape)

    def __neg__(self) -> IndexedSlices:
        return self.with_rows(-self.values)

    def components(self) -> Sequence[Tensor]:
        kept = (self.values, self.indices)
        return kept if self.dense_shape is None else (*kept, self.dense_shape)

    def with_components(self, components: Sequence[Tensor]) -> IndexedSlices:
        return IndexedSlices(*components)

    def component_invariants(self, shape: TensorShape | None) -> list[TensorShape]:
        """The shapes that the components keep in a loop; `shape`: that of the values."""
        if shape is None:
            return [t.shape for t in self.components()]
        found = [shape, shape[:1]]
        if self.dense_shape is not None:
            found.append(TensorShape([shape.ndims]))
        return found

    def dense(self) -> Tensor:
        """The whole tensor, with the rows of equal indices summed. Raises `ValueError` where its
        sizes are not known."""
        if self.dense_shape is None:
            raise ValueError(
                f"Tensor conversion requested for IndexedSlices without dense_shape: {self}"
            )
        return output("UnsortedSegmentSum", self.values, self.indices, self.dense_shape[0])

    def _as_tensor(self) -> Tensor:
        """The whole tensor, with a warning where it may be large."""
        if self.dense_shape is not None:
            sizes = constant_elements(self.dense_shape)
            count = None if sizes is None else math.prod(sizes.tolist())
            if count is None and self.dense_shape.op.type != "VariableShape":
                warnings.warn(
                    f"Converting sparse {self} to a dense Tensor of unknown shape. This may "
                    "consume a large amount of memory.",
                    stacklevel=2,
                )
            elif count is not None and count >= MANY_ELEMENTS:
                warnings.warn(
                    f"Converting sparse IndexedSlices to a dense Tensor with {count} elements. "
                    "This may consume a large amount of memory.",
                    stacklevel=2,
                )
        return self.dense()

    def __repr__(self) -> str:
        sizes = "" if self.dense_shape is None else f", dense_shape={self.dense_shape}"
        return f"IndexedSlices(indices={self.indices}, values={self.values}{sizes})"
