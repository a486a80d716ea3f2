"""`tf.data.experimental.Optional`: a value of some structure, or that there is none.

In: values, structures, iterators. Out: tensors that a run finds.
"""

from __future__ import annotations

from typing import Any

from flowc.api.data.iterators import Iterator
from flowc.api.data.structure import held_tensors, held_types, normalized, spec_of, value_from
from flowc.api.framework.raw_ops import call
from flowc.graph import Tensor
from flowc.graph.building.creation import create


class Optional:
    """What may have a value. `from_value`, `empty` and `get_next_as_optional` make them.
    Raises nothing."""

    def __init__(self, tensor: Tensor, element_spec: Any) -> None:
        self._tensor = tensor
        self._structure = element_spec

    @staticmethod
    def from_value(value: Any) -> Optional:
        """Has a value: a tensor, a sparse tensor, a dataset, or a structure of these. Raises
        `TypeError` for what is none."""
        found = normalized(value)
        structure = spec_of(found)
        return Optional(call("OptionalFromValue", held_tensors(structure, found)), structure)

    @staticmethod
    def empty(element_spec: Any) -> Optional:
        """Has no value. `element_spec`: what one would be made of."""
        return Optional(call("OptionalNone"), element_spec)

    none_from_structure = empty

    def has_value(self, name: str | None = None) -> Tensor:
        """Whether there is a value: a bool scalar."""
        return call("OptionalHasValue", self._tensor, name=name)

    def get_value(self, name: str | None = None) -> Any:
        """The value, in its structure. A run raises `InvalidArgumentError` where there is none."""
        types = held_types(self._structure)
        tensors = create("OptionalGetValue", [self._tensor], types, name).outputs
        for tensor, shape in zip(tensors, types["output_shapes"]):
            tensor.set_shape(shape)
        return value_from(self._structure, tensors)

    @property
    def element_spec(self) -> Any:
        """What a value is made of."""
        return self._structure

    value_structure = element_spec


def get_next_as_optional(iterator: Iterator) -> Optional:
    """The next element of an iterator: without a value from its end on. Raises `TypeError` for what
    is no iterator."""
    if not isinstance(iterator, Iterator):
        raise TypeError(f"`iterator` must be a `tf.data.Iterator`, got {type(iterator)}.")
    handle, structure = iterator._iterator_resource, iterator.element_spec
    tensor = call("IteratorGetNextAsOptional", handle, **held_types(structure))
    return Optional(tensor, structure)
