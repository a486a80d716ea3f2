"""What elements of a dataset are made of.

In: values that a program gives: tensors, sparse tensors, datasets, Python values, in tuples and
dicts. Out: specs in the same structure, which say how a value is held as tensors. Invariant: a list
is a tensor, never a structure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from flowc import dtypes
from flowc.api.framework import nest
from flowc.api.framework.composites import SparseTensor
from flowc.api.framework.raw_ops import call
from flowc.api.ragged.ragged_tensor import RaggedTensor
from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.graph import Tensor, TensorShape
from flowc.graph.building.conversion import as_tensor
from flowc.graph.default import get_default_graph


@dataclass(frozen=True)
class ComponentSpec:
    """A tensor of a dtype and a static shape, as an element of a dataset has it. Raises `TypeError`
    for what is no dtype or shape."""

    shape: TensorShape
    dtype: DType
    name: str | None = None

    def __init__(self, shape: Any, dtype: Any = dtypes.f32, name: str | None = None) -> None:
        object.__setattr__(self, "shape", TensorShape(shape))
        object.__setattr__(self, "dtype", dtypes.as_dtype(dtype))
        object.__setattr__(self, "name", name)

    @classmethod
    def from_tensor(cls, tensor: Tensor, name: str | None = None) -> ComponentSpec:
        """The spec of a tensor."""
        return cls(tensor.shape, tensor.dtype, name)

    value_class: ClassVar[Any] = Tensor

    @property
    def held_type(self) -> tuple[DType, TensorShape]:
        """The dtype and shape of the tensor that holds a value."""
        return self.dtype, self.shape

    def hold(self, value: Any) -> Tensor:
        return as_tensor(value, self.dtype)

    hold_rows = hold

    def value(self, tensor: Tensor) -> Any:
        tensor.set_shape(self.shape)
        return tensor

    def batched(self, size: int | None) -> ComponentSpec:
        return ComponentSpec(TensorShape([size]).concatenate(self.shape), self.dtype)

    def unbatched(self) -> ComponentSpec:
        """The spec of a row. Raises `ValueError` for scalars."""
        if self.shape.ndims == 0:
            raise ValueError("Cannot unbatch an input with scalar components.")
        return ComponentSpec(self.shape[1:], self.dtype)

    def relaxed(self, other: Any) -> Any:
        """The spec of what is either's value. Raises `TypeError` where there is none."""
        if not isinstance(other, ComponentSpec) or other.dtype is not self.dtype:
            raise TypeError(f"{self} and {other} are of different types")
        return ComponentSpec(_common(self.shape, other.shape), self.dtype)

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self.shape}, dtype={self.dtype!r}, name={self.name!r})"


def _common(one: TensorShape, other: TensorShape) -> TensorShape:
    if one.ndims is None or one.ndims != other.ndims:
        return TensorShape(None)
    sizes = zip(one.as_list(), other.as_list())
    return TensorShape([a if a == b else None for a, b in sizes])


class NoneTensorSpec(NamedTuple):
    """A component that is None in every element. It is a structure without components, so that no
    tensor holds it. Raises nothing."""


def _with_nones(value: Any) -> Any:
    """A structure with None where it had a `NoneTensorSpec`."""
    if isinstance(value, NoneTensorSpec):
        return None
    if isinstance(value, Mapping | tuple):
        inner = nest.children(value) or []
        return nest.rebuilt(value, [_with_nones(item) for item in inner])
    return value


class SparseTensorSpec(ComponentSpec):
    """A sparse tensor, which a vector of three variants holds, or one for each row of a batch.
    Raises `TypeError` for what is no dtype or shape."""

    value_class: ClassVar[Any] = SparseTensor
    batches: int | None = 0  # how often what holds it was batched, where that is known

    @property
    def held_type(self) -> tuple[DType, TensorShape]:
        if self.batches is None:
            return dtypes.variant, TensorShape(None)
        return dtypes.variant, TensorShape([None] * self.batches + [3])

    def hold(self, value: Any) -> Tensor:
        parts = value.indices, value.values, value.dense_shape
        return call("SerializeSparse", *parts, out_type=dtypes.variant)

    def hold_rows(self, value: Any) -> Tensor:
        parts = value.indices, value.values, value.dense_shape
        return call("SerializeManySparse", *parts, out_type=dtypes.variant)

    def value(self, tensor: Tensor) -> Any:
        indices, values, sizes = call("DeserializeSparse", tensor, dtype=self.dtype)
        rank = self.shape.ndims
        indices.set_shape([None, rank])
        values.set_shape([None])
        sizes.set_shape([rank])
        if self.shape.is_fully_defined():
            sizes = as_tensor(self.shape.as_list(), dtypes.i64, "dense_shape")
        found = SparseTensor(indices, values, sizes)
        found.set_shape(self.shape)
        return found

    def batched(self, size: int | None) -> ComponentSpec:
        found = SparseTensorSpec(TensorShape([size]).concatenate(self.shape), self.dtype)
        return found.batched_before(None if self.batches is None else self.batches + 1)

    def batched_before(self, times: int | None) -> SparseTensorSpec:
        """The spec, of what is held so often batched."""
        object.__setattr__(self, "batches", times)
        return self

    def unbatched(self) -> ComponentSpec:
        return SparseTensorSpec(self.shape[1:], self.dtype)

    def relaxed(self, other: Any) -> Any:
        alike = isinstance(other, SparseTensorSpec) and other.batches == self.batches
        if not alike or other.dtype is not self.dtype:
            raise TypeError(f"{self} and {other} are of different types")
        found = SparseTensorSpec(_common(self.shape, other.shape), self.dtype)
        return found.batched_before(self.batches)

    def __repr__(self) -> str:
        return f"SparseTensorSpec({self.shape}, {self.dtype!r})"


class RaggedTensorSpec(ComponentSpec):
    """Rows of different lengths, which a variant holds, or one for each row of a batch; of ragged
    rank 0, a tensor of any size. Raises `TypeError` for what is no dtype or shape, `ValueError`
    where nothing says the ragged rank."""

    value_class: ClassVar[Any] = RaggedTensor

    ragged_rank: int
    row_splits_dtype: DType
    _held: TensorShape

    def __init__(
        self,
        shape: Any = None,
        dtype: Any = dtypes.f32,
        ragged_rank: int | None = None,
        row_splits_dtype: Any = dtypes.i64,
        held: Any = (),
    ) -> None:
        super().__init__(shape, dtype)
        rank = self.shape.ndims
        if ragged_rank is None:
            if rank is None:
                raise ValueError("Must specify ragged_rank or a shape with a known rank.")
            ragged_rank = rank - 1
        if rank is not None and ragged_rank >= rank:
            raise ValueError(
                f"Argument `ragged_rank` ({ragged_rank}) must be less than rank ({rank})."
            )
        splits = dtypes.as_dtype(row_splits_dtype)
        for name, value in (("ragged_rank", ragged_rank), ("row_splits_dtype", splits)):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "_held", TensorShape(held))

    @property
    def held_type(self) -> tuple[DType, TensorShape]:
        return dtypes.variant, self._held

    def hold(self, value: Any) -> Tensor:
        return self._variants(value, is_many=False)

    def hold_rows(self, value: Any) -> Tensor:
        return self._variants(value, is_many=True)

    def _variants(self, value: Any, is_many: bool) -> Tensor:
        is_ragged = isinstance(value, RaggedTensor)
        splits = value.nested_row_splits if is_ragged else ()
        values = value.flat_values if is_ragged else as_tensor(value, self.dtype)
        given = {"Tsplits": self.row_splits_dtype, "batched_input": is_many}
        return call("RaggedTensorToVariant", list(splits), values, **given)

    def value(self, tensor: Tensor) -> Any:
        found = call(
            "RaggedTensorFromVariant",
            tensor,
            input_ragged_rank=self.ragged_rank - (self._held.ndims or 0),
            output_ragged_rank=self.ragged_rank,
            Tvalues=self.dtype,
            Tsplits=self.row_splits_dtype,
        )
        splits, values = found.output_nested_splits, found.output_dense_values
        if self.shape.ndims is not None:
            first = self.shape[:1] if not splits else TensorShape([None])
            sizes = first.concatenate(self.shape[self.ragged_rank + 1 :])
            # A function that is opened has the shapes that its nodes say, and no others.
            values = call("EnsureShape", values, shape=sizes)
        for inner in reversed(splits):
            values = RaggedTensor(values, inner)
        return values

    def _like(self, shape: TensorShape, change: int, held: TensorShape) -> RaggedTensorSpec:
        rank = self.ragged_rank + change
        return RaggedTensorSpec(shape, self.dtype, rank, self.row_splits_dtype, held)

    def batched(self, size: int | None) -> ComponentSpec:
        first = TensorShape([size])
        return self._like(first.concatenate(self.shape), 1, first.concatenate(self._held))

    def unbatched(self) -> ComponentSpec:
        if not self.ragged_rank:
            raise ValueError("Cannot unbatch an input with components of ragged rank 0.")
        return self._like(self.shape[1:], -1, TensorShape([]))

    def relaxed(self, other: Any) -> Any:
        if not isinstance(other, RaggedTensorSpec) or (
            (other.dtype, other.ragged_rank, other.row_splits_dtype, other._held.ndims)
            != (self.dtype, self.ragged_rank, self.row_splits_dtype, self._held.ndims)
        ):
            raise TypeError(f"{self} and {other} are of different types")
        return self._like(_common(self.shape, other.shape), 0, _common(self._held, other._held))

    def __repr__(self) -> str:
        rest = f"{self.dtype!r}, {self.ragged_rank}, {self.row_splits_dtype!r}"
        return f"RaggedTensorSpec({self.shape!r}, {rest})"


class DatasetSpec(ComponentSpec):
    """A dataset, whose elements have a structure. Raises nothing."""

    def __init__(self, element_spec: Any, dataset_shape: Any = ()) -> None:
        super().__init__(dataset_shape, dtypes.variant)
        object.__setattr__(self, "element_spec", element_spec)

    element_spec: Any

    def hold(self, value: Any) -> Tensor:
        return value._variant_tensor

    def value(self, tensor: Tensor) -> Any:
        return self.value_class(tensor, self.element_spec)

    def batched(self, size: int | None) -> ComponentSpec:
        return DatasetSpec(self.element_spec, TensorShape([size]).concatenate(self.shape))

    def unbatched(self) -> ComponentSpec:
        return DatasetSpec(self.element_spec, self.shape[1:])

    def relaxed(self, other: Any) -> Any:
        if not isinstance(other, DatasetSpec):
            raise TypeError(f"{self} and {other} are of different types")
        return DatasetSpec(relaxed(self.element_spec, other.element_spec))

    def __repr__(self) -> str:
        return f"DatasetSpec({self.element_spec!r}, {self.shape})"


def relaxed(one: Any, other: Any) -> Any:
    """The structure of what is an element of either. Raises `TypeError` and `ValueError` where
    there is none."""
    return nest.map_structure(lambda a, b: a.relaxed(b), one, other)


def normalized(value: Any) -> Any:
    """A value in a structure of tensors, sparse tensors and datasets; Python values become
    constants, lists of them too, and None inside of it a `NoneTensorSpec`. Raises `ValueError` for
    values that hold no tensor."""
    with get_default_graph().name_scope("normalize_element"):
        leaves = iter(range(1 << 30))
        found = _mapped(value, lambda leaf: _normal(leaf, next(leaves)))
    if not nest.flatten(found):
        raise ValueError(f"an element needs a component that is a tensor, found {value!r}")
    return found


def _normal(leaf: Any, number: int) -> Any:
    if isinstance(leaf, SparseTensor | RaggedTensor) or _is_dataset(leaf):
        return leaf
    if leaf is None:
        return NoneTensorSpec()
    return as_tensor(leaf, name=f"component_{number}")


def _mapped(structure: Any, function: Callable[[Any], Any]) -> Any:
    """A structure of tuples and dicts with other leaves, each of which may be a list."""
    if isinstance(structure, Mapping | tuple) and not hasattr(structure, "dense_shape"):
        inner = nest.children(structure) or []
        return nest.rebuilt(structure, [_mapped(item, function) for item in inner])
    return function(structure)


def _is_dataset(value: Any) -> bool:
    return hasattr(value, "_variant_tensor")


def spec_of(value: Any) -> Any:
    """The specs of a normalized value."""

    def spec(leaf: Any) -> ComponentSpec:
        if isinstance(leaf, SparseTensor):
            return SparseTensorSpec(leaf.shape, leaf.dtype)
        if isinstance(leaf, RaggedTensor):
            splits = leaf.row_splits.dtype
            return RaggedTensorSpec(leaf.shape, leaf.dtype, leaf.ragged_rank, splits)
        if _is_dataset(leaf):
            return DatasetSpec(leaf.element_spec)
        return ComponentSpec(leaf.shape, leaf.dtype)

    return nest.map_structure(spec, value)


def specs_from(output_types: Any, output_shapes: Any = None, output_classes: Any = None) -> Any:
    """Specs from types, shapes (unknown ones, where None) and classes in one structure. Raises
    `TypeError` for what is no dtype."""
    types = _mapped(output_types, dtypes.as_dtype)
    leaves = nest.flatten(types)
    shapes: list[Any] = [None] * len(leaves)
    if output_shapes is not None:
        shapes = _shapes_like(types, output_shapes)
    classes = [Tensor] * len(leaves)
    if output_classes is not None:
        classes = nest.flatten(output_classes)
    kinds = [_OF_CLASS.get(c, ComponentSpec) for c in classes]
    found = [kind(s, t) for kind, s, t in zip(kinds, shapes, leaves)]
    return nest.pack_sequence_as(types, found)


_OF_CLASS: Mapping[Any, Callable[[Any, Any], ComponentSpec]] = {
    SparseTensor: lambda shape, dtype: SparseTensorSpec(shape, dtype).batched_before(None),
    RaggedTensor: RaggedTensorSpec,
}


def _shapes_like(structure: Any, shapes: Any) -> list[Any]:
    """Shapes in a structure of leaves: a shape may be a list, a tuple or None."""
    if not isinstance(structure, Mapping | tuple):
        return [TensorShape(shapes)]
    if isinstance(structure, Mapping):
        if not isinstance(shapes, Mapping) or set(shapes) != set(structure):
            raise ValueError(f"The structure of shapes {shapes} is not that of {structure}")
        return [s for key in sorted(structure) for s in _shapes_like(structure[key], shapes[key])]
    if not isinstance(shapes, tuple | list) or len(shapes) != len(structure):
        raise ValueError(f"The structure of shapes {shapes} is not that of {structure}")
    return [s for part, inner in zip(structure, shapes) for s in _shapes_like(part, inner)]


def held_types(structure: Any) -> dict[str, Any]:
    """The attrs of a node whose elements have a structure."""
    held = [spec.held_type for spec in nest.flatten(structure)]
    return {"output_types": [t for t, _ in held], "output_shapes": [s for _, s in held]}


def held_tensors(structure: Any, value: Any) -> list[Tensor]:
    """The tensors that hold a value."""
    return [spec.hold(v) for spec, v in zip(nest.flatten(structure), nest.flatten(value))]


def value_from(structure: Any, tensors: Sequence[Tensor]) -> Any:
    """The value that tensors hold."""
    found = [spec.value(t) for spec, t in zip(nest.flatten(structure), tensors, strict=True)]
    return _with_nones(nest.pack_sequence_as(structure, found))
