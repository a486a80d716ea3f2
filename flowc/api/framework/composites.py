"""`SparseTensor`: a value that is made of several tensors.

In: their tensors. Out: objects that loops and conditionals carry and sessions fetch and feed.
Invariant: `with_components(components())` is the same value.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from flowc import dtypes
from flowc.api.framework.basics import (
    cast,
    convert_to_tensor,
    placeholder,
    placeholder_with_default,
)
from flowc.api.framework.scopes import name_scope
from flowc.graph import Operation, Tensor, TensorShape
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.creation import output
from flowc.graph.building.operators import OwnProduct, quotient_dtype
from flowc.graph.default import evaluate
from flowc.graph.indexed_slices import ValuesAtIndices
from flowc.graph.shape_inference import elements_as_sizes

SparseTensorValue = namedtuple("SparseTensorValue", ("indices", "values", "dense_shape"))
SparseTensorValue.__doc__ = (
    "The arrays of a `SparseTensor`: int64[n, rank], [n] and int64[rank], as a run gives and takes "
    "them. Raises nothing."
)


class SparseTensor(ValuesAtIndices, OwnProduct):
    """A tensor of which only some elements are kept: `values[n]` at `indices[n, rank]`, in a tensor
    of sizes `dense_shape[rank]`. Raises `ValueError` for shapes that contradict each other."""

    value_type = SparseTensorValue

    def __init__(
        self, indices: Any, values: Any, dense_shape: Any = None, shape: Any = None
    ) -> None:
        sizes = shape if dense_shape is None else dense_shape
        with name_scope(None, "SparseTensor", [indices, values, sizes]):
            super().__init__(
                as_tensor(indices, dtypes.i64, "indices"),
                as_tensor(values, name="values"),
                as_tensor(sizes, dtypes.i64, "dense_shape"),
            )
        pairs, rank = self._indices.shape.with_rank(2), self._dense_shape.shape.with_rank(1)
        pairs[0].assert_is_compatible_with(self._values.shape.with_rank(1)[0])
        pairs[1].assert_is_compatible_with(rank[0])
        self._static = TensorShape(elements_as_sizes(self._dense_shape))

    @classmethod
    def from_value(cls, sparse_tensor_value: Any) -> SparseTensor:
        """The tensor of a value that a run gave. Raises `TypeError` for anything else."""
        if not isinstance(sparse_tensor_value, SparseTensor | SparseTensorValue):
            raise TypeError(
                f"Argument sparse_tensor_value={sparse_tensor_value} is neither a SparseTensor nor "
                "SparseTensorValue."
            )
        return cls(
            sparse_tensor_value.indices, sparse_tensor_value.values, sparse_tensor_value.dense_shape
        )

    @property
    def shape(self) -> TensorShape:
        """The static shape of the whole tensor."""
        return self._static

    def get_shape(self) -> TensorShape:
        return self.shape

    def set_shape(self, shape: Any) -> None:
        """Adds to the static shape what `shape` says. Raises `ValueError` where they differ."""
        self._static = self._static.merge_with(TensorShape(shape))

    def consumers(self) -> list[Operation]:
        """The operations that read one of the tensors."""
        return list(dict.fromkeys(op for part in self.components() for op in part.consumers()))

    def components(self) -> Sequence[Tensor]:
        return self._indices, self._values, self._dense_shape

    def with_components(self, components: Sequence[Tensor]) -> SparseTensor:
        return SparseTensor(*components)

    def with_values(self, values: Tensor) -> SparseTensor:
        """The same places with other values."""
        return SparseTensor(self._indices, values, self._dense_shape)

    def component_invariants(self, shape: TensorShape | None) -> list[TensorShape]:
        """The shapes that the components keep in a loop; `shape`: [rank]. Raises `ValueError`."""
        if shape is None:
            shape = TensorShape(self._dense_shape.shape)
        if shape.ndims not in (None, 1):
            raise ValueError(
                f"Expected a shape with 1 dimension. Obtained: {shape} which has {shape.ndims} "
                "dimensions."
            )
        rank = shape.with_rank(1)[0].value
        return [TensorShape([None, rank]), TensorShape([None]), TensorShape([rank])]

    def __mul__(self, other: Any) -> SparseTensor:
        """Times a dense tensor of its dtype, which broadcasts to it."""
        with name_scope(None, "mul", [self.values, other]) as scope:
            return self._with_dense("SparseDenseCwiseMul", self.values, other, scope)

    def __truediv__(self, other: Any) -> SparseTensor:
        """Divided by a dense tensor of its dtype, which broadcasts to it; integers as floats."""
        with name_scope(None, "truediv", [self.values, other]) as scope:
            values = self.values
            other = as_tensor(other, values.dtype, "y")
            wide = quotient_dtype(values.base_dtype)
            if wide is not None:
                values, other = cast(values, wide), cast(other, wide)
            return self._with_dense("SparseDenseCwiseDiv", values, other, scope)

    def _with_dense(self, op_type: str, values: Tensor, other: Any, name: str) -> SparseTensor:
        parts = (self._indices, values, self._dense_shape)
        other = as_tensor(other, values.dtype, "y")
        return self.with_values(output(op_type, *parts, other, name=name))

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """The value, run in `session` or the default one. Raises as `Tensor.eval`."""
        return evaluate(self, feed_dict, session)

    def __repr__(self) -> str:
        parts = ", ".join(f"{n}={getattr(self, n)}" for n in ("indices", "values", "dense_shape"))
        return f"SparseTensor({parts})"


def convert_to_tensor_or_sparse_tensor(
    value: Any, dtype: Any = None, name: str | None = None
) -> Tensor | SparseTensor:
    """`value` as a `SparseTensor` where it is one or a `SparseTensorValue`, and otherwise as a
    tensor. Raises `RuntimeError` for a sparse one of another dtype than `dtype`, and as
    `convert_to_tensor` does."""
    if isinstance(value, SparseTensorValue):
        value = SparseTensor(*value)
    if not isinstance(value, SparseTensor):
        return convert_to_tensor(value, dtype, name)
    if dtype is not None and value.dtype is not dtypes.as_dtype(dtype):
        wanted, found = dtypes.as_dtype(dtype).name, dtypes.name_of(value.dtype)
        raise RuntimeError(f"Sparse dtype mismatch. Requested: {wanted}, Actual: {found}")
    return value


def sparse_placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> SparseTensor:
    """A sparse tensor that every run must feed, with a `SparseTensorValue`. `dtype`: of the values,
    `shape`: sizes of the dense tensor, None or -1 where they are not known, or a vector of them.
    Raises `TypeError` for what is no dtype."""
    parts = ("shape_default", "shape", "values", "indices")
    part = {n: None if name is None else f"{name}/{n}" for n in parts}
    if shape is None:
        sizes = placeholder(dtypes.i64, [None], part["shape"])
        static = TensorShape(None)
    else:
        given = shape
        if not isinstance(shape, Tensor):
            given = [-1 if d is None else d for d in TensorShape(shape).as_list()]
        default = as_tensor(given, dtypes.i64, part["shape_default"])
        static = TensorShape(elements_as_sizes(default))
        sizes = placeholder_with_default(default, default.shape, part["shape"])
    values = placeholder(dtype, [None], part["values"])
    indices = placeholder(dtypes.i64, [None, static.ndims], part["indices"])
    found = SparseTensor(indices, values, sizes)
    found.set_shape(static)
    return found


def over_flat_values(function: Callable[..., Any]) -> Callable[..., Any]:
    """An elementwise function of its first argument that takes ragged ones, too: its result stands
    in their rows."""

    @wraps(function)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        if args and hasattr(args[0], "with_flat_values"):
            return args[0].with_flat_values(function(args[0].flat_values, *args[1:], **kwargs))
        return function(*args, **kwargs)

    return mapped
