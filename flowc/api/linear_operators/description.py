"""What is known of a linear operator before anything is computed: dtype, name, promises, sizes.

In: what the program promises, and a subclass's `_shape` and `_shape_tensor`. Out: properties, and
tensors of the sizes that the graph does not know. Invariant: promises do not contradict each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from flowc import dtypes
from flowc.api.arrays.shaping import size
from flowc.api.framework.scopes import name_scope
from flowc.api.linear_operators import batches
from flowc.api.linear_operators.hints import NAMES, Hints
from flowc.dtypes import DType
from flowc.graph import Dimension, Tensor, TensorShape
from flowc.graph.building.conversion import as_tensor


class MatrixDescription:
    """The part of `LinearOperator` that says what its matrices are. Raises `ValueError` for
    promises that contradict each other."""

    def __init__(
        self,
        dtype: Any,
        graph_parents: Sequence[Any] | None = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        if is_positive_definite:
            if is_non_singular is False:
                raise ValueError("A positive definite matrix is always non-singular.")
            is_non_singular = True
        for holds, what in ((is_non_singular, "non-singular"), (is_self_adjoint, "self-adjoint")):
            if holds and is_square is False:
                raise ValueError(f"A {what} matrix is always square.")
        for i, parent in enumerate(graph_parents or ()):
            if not isinstance(parent, Tensor) and not hasattr(parent, "_as_tensor"):
                raise ValueError(f"Graph parent item {i} is not a Tensor; {parent}.")
        self._graph_parents = list(graph_parents or ())
        self._dtype = dtypes.as_dtype(dtype)
        self._is_non_singular = is_non_singular
        self._is_self_adjoint = is_self_adjoint
        self._is_positive_definite = is_positive_definite
        self._is_square = True if is_non_singular or is_self_adjoint else is_square
        self._parameters = dict(parameters or {})
        self._name = name or type(self).__name__

    @contextmanager
    def _name_scope(self, name: str) -> Iterator[str]:
        with name_scope(f"{self.name}/{name}") as scope:
            yield scope

    # -- what it is

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments it was made with."""
        return dict(self._parameters)

    @property
    def dtype(self) -> DType:
        """Of the tensors that it takes and gives."""
        return self._dtype

    @property
    def name(self) -> str:
        """The scope of its operations."""
        return self._name

    @property
    def graph_parents(self) -> list[Any]:
        """The tensors that it was said to depend on."""
        return self._graph_parents

    @property
    def is_non_singular(self) -> bool | None:
        """Whether it has an inverse; None where that is not known."""
        return self._is_non_singular

    @property
    def is_self_adjoint(self) -> bool | None:
        """Whether it is its adjoint; None where that is not known."""
        return self._is_self_adjoint

    @property
    def is_positive_definite(self) -> bool | None:
        """Whether the real part of x^H A x is positive; None where that is not known."""
        return self._is_positive_definite

    @property
    def is_square(self) -> bool | None:
        """Whether it has as many rows as columns; None where that is not known. Raises `ValueError`
        where the program said that it has not."""
        sizes = self.domain_dimension.value, self.range_dimension.value
        found = None if None in sizes else sizes[0] == sizes[1]
        if self._is_square is False and found:
            raise ValueError("User set is_square hint to False, but the operator was square.")
        return found if self._is_square is None else self._is_square

    @property
    def hints(self) -> Hints:
        """All that is known of it."""
        return Hints(**{name: getattr(self, name) for name in NAMES})

    # -- sizes

    @property
    def shape(self) -> TensorShape:
        """[batch..., m, n], as far as it is known."""
        return TensorShape(self._shape())

    def shape_tensor(self, name: str = "shape_tensor") -> Tensor:
        """[batch..., m, n], an int32 vector."""
        with self._name_scope(name):
            return self._sizes()

    def _sizes(self) -> Tensor:
        known = self.shape
        return (
            batches.sizes_of(known, "shape") if known.is_fully_defined() else self._shape_tensor()
        )

    @property
    def batch_shape(self) -> TensorShape:
        """[batch...], as far as it is known."""
        return self.shape[:-2]

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        """[batch...], an int32 vector."""
        with self._name_scope(name):
            return self._batch_sizes()

    def _batch_sizes(self) -> Tensor:
        known = self.batch_shape
        return (
            batches.sizes_of(known, "batch_shape")
            if known.is_fully_defined()
            else self._sizes()[:-2]
        )

    @property
    def tensor_rank(self) -> int | None:
        """How many dimensions its dense form has, as far as it is known."""
        return self.shape.ndims

    def tensor_rank_tensor(self, name: str = "tensor_rank_tensor") -> Tensor:
        """How many dimensions its dense form has, an int32 scalar."""
        with self._name_scope(name):
            known = self.tensor_rank
            return size(self._sizes()) if known is None else as_tensor(known, dtypes.i32)

    @property
    def domain_dimension(self) -> Dimension:
        """n, as far as it is known."""
        return Dimension(None) if self.shape.ndims is None else self.shape[-1]

    @property
    def range_dimension(self) -> Dimension:
        """m, as far as it is known."""
        return Dimension(None) if self.shape.ndims is None else self.shape[-2]

    def domain_dimension_tensor(self, name: str = "domain_dimension_tensor") -> Tensor:
        """n, an int32 scalar."""
        with self._name_scope(name):
            return self._size(-1)

    def range_dimension_tensor(self, name: str = "range_dimension_tensor") -> Tensor:
        """m, an int32 scalar."""
        with self._name_scope(name):
            return self._size(-2)

    def _size(self, axis: int) -> Tensor:
        known = None if self.shape.ndims is None else self.shape[axis].value
        return self._sizes()[axis] if known is None else as_tensor(known, dtypes.i32)

    # -- what a subclass gives

    def _shape(self) -> Any:
        raise NotImplementedError("_shape is not implemented.")

    def _shape_tensor(self) -> Tensor:
        raise NotImplementedError("_shape_tensor is not implemented.")
