"""`tf.data.Iterator`: the elements of a dataset, one each time that a Session runs.

In: datasets, or only the structure of their elements. Out: operations that begin, and tensors of
the next element.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flowc import dtypes
from flowc.api.data.structure import held_types, specs_from, value_from
from flowc.api.framework import nest
from flowc.api.framework.raw_ops import call
from flowc.api.random.random_ops import get_seed
from flowc.graph import Operation, Tensor, get_default_graph
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.creation import create
from flowc.graph.building.function_graph import factory_of

ITERATORS = "iterators"  # the collection of a graph's handles
MANY_CALLS = 32
WARNING = (
    "An unusually high number of `Iterator.get_next()` calls was detected. This often indicates "
    "that `Iterator.get_next()` is being called inside a training loop, which will cause gradual "
    "slowdown and eventual resource exhaustion. If this is the case, restructure your code to call "
    "`next_element = iterator.get_next()` once outside the loop, and use `next_element` as the "
    "input to some computation that is invoked inside the loop."
)


class Iterator:
    """Goes through datasets of elements of one structure.

    `initializer`: the operation that begins, for an iterator of one dataset. A run of `get_next()`
    raises `OutOfRangeError` at the end, `FailedPreconditionError` where nothing initialized it.
    """

    def __init__(
        self, iterator_resource: Tensor, initializer: Operation | None, structure: Any
    ) -> None:
        self._iterator_resource = iterator_resource
        self._initializer = initializer
        self._structure = structure
        self._calls = 0
        get_default_graph().add_to_collection(ITERATORS, iterator_resource)
        self._string_handle = call(
            "IteratorToStringHandle", iterator_resource, name="IteratorToStringHandle"
        )

    @staticmethod
    def from_structure(
        output_types: Any,
        output_shapes: Any = None,
        shared_name: str | None = None,
        output_classes: Any = None,
    ) -> Iterator:
        """An iterator that `make_initializer` lets begin with any dataset of this structure. Raises
        `TypeError` and `ValueError` for types and shapes that are of different structures."""
        structure = specs_from(output_types, output_shapes, output_classes)
        return Iterator(_new_handle(structure, shared_name), None, structure)

    @staticmethod
    def from_string_handle(
        string_handle: Any,
        output_types: Any,
        output_shapes: Any = None,
        output_classes: Any = None,
    ) -> Iterator:
        """The iterator that a handle (a string tensor, which a run may feed) names. Raises as
        `from_structure`."""
        structure = specs_from(output_types, output_shapes, output_classes)
        handle = as_tensor(string_handle, dtypes.string)
        resource = call("IteratorFromStringHandleV2", handle, **held_types(structure))
        return Iterator(resource, None, structure)

    @property
    def initializer(self) -> Operation:
        """Raises `ValueError` for an iterator that does not have one of its own."""
        if self._initializer is None:
            raise ValueError(
                "The iterator does not have an initializer. This means it was likely created using "
                "`tf.data.Dataset.make_one_shot_iterator()`. For an initializable iterator, use "
                "`tf.data.Dataset.make_initializable_iterator()` instead."
            )
        return self._initializer

    def make_initializer(self, dataset: Any, name: str | None = None) -> Operation:
        """The operation that lets the iterator begin with a dataset. Raises `TypeError` and
        `ValueError` for a dataset of other elements."""
        from flowc.api.framework.scopes import name_scope

        with name_scope(name, "make_initializer") as scope:
            self._check(dataset.element_spec)
            with get_default_graph().colocate_with(self._iterator_resource):
                inputs = [dataset._variant_tensor, self._iterator_resource]
                return create("MakeIterator", inputs, {}, scope)

    def _check(self, given: Any) -> None:
        nest.assert_same_structure(self._structure, given)
        for ours, theirs in zip(nest.flatten(self._structure), nest.flatten(given)):
            if type(ours) is not type(theirs) or ours.dtype is not theirs.dtype:
                raise TypeError(
                    f"Expected output types {ours.dtype!r} but got dataset with output types "
                    f"{theirs.dtype!r}."
                )
            if not ours.shape.is_compatible_with(theirs.shape):
                raise TypeError(
                    f"Expected output shapes compatible with {ours.shape} but got dataset with "
                    f"output shapes {theirs.shape}."
                )

    def get_next(self, name: str | None = None) -> Any:
        """The next element, in the structure of the dataset's. A run raises `OutOfRangeError` at
        the end, `FailedPreconditionError` before the beginning."""
        self._calls += 1
        if self._calls > MANY_CALLS:
            import warnings

            warnings.warn(WARNING, stacklevel=2)
        with get_default_graph().colocate_with(self._iterator_resource):
            tensors = next_tensors(self._iterator_resource, self._structure, name)
        return value_from(self._structure, tensors)

    def string_handle(self, name: str | None = None) -> Tensor:
        """A string tensor that names the iterator for `from_string_handle`."""
        if name is None:
            return self._string_handle
        return call("IteratorToStringHandle", self._iterator_resource, name=name)

    @property
    def output_types(self) -> Any:
        """The dtypes of an element's components, in its structure."""
        return nest.map_structure(lambda spec: spec.dtype, self._structure)

    @property
    def output_shapes(self) -> Any:
        """The static shapes of an element's components, in its structure."""
        return nest.map_structure(lambda spec: spec.shape, self._structure)

    @property
    def output_classes(self) -> Any:
        """The classes of an element's components, in its structure."""
        return nest.map_structure(lambda spec: spec.value_class, self._structure)

    @property
    def element_spec(self) -> Any:
        """What elements are made of."""
        return self._structure


def next_tensors(resource: Tensor, structure: Any, name: str | None) -> Sequence[Tensor]:
    held = held_types(structure)
    found = create("IteratorGetNext", [resource], held, name).outputs
    for tensor, shape in zip(found, held["output_shapes"]):
        tensor.set_shape(shape)
    return found


def _new_handle(structure: Any, shared_name: str | None) -> Tensor:
    return call("IteratorV2", container="", shared_name=shared_name or "", **held_types(structure))


def make_initializable_iterator(dataset: Any, shared_name: str | None = None) -> Iterator:
    """An iterator over a dataset, whose `initializer` a run has to run first, and may run again.
    Raises `AttributeError` for what is no dataset."""
    structure = dataset.element_spec
    with get_default_graph().colocate_with(dataset._variant_tensor):
        resource = _new_handle(structure, shared_name)
        initializer = create("MakeIterator", [dataset._variant_tensor, resource])
        return Iterator(resource, initializer, structure)


def make_one_shot_iterator(dataset: Any) -> Iterator:
    """An iterator that goes through a dataset once and begins by itself. Raises `ValueError` for a
    dataset that needs a feed or a variable."""
    structure = dataset.element_spec
    get_seed(None)  # TensorFlow takes one here: seeds of later ops count on from it
    with get_default_graph().colocate_with(dataset._variant_tensor):
        resource = call(
            "OneShotIterator",
            dataset_factory=factory_of(dataset._variant_tensor),
            container="",
            shared_name="",
            **held_types(structure),
        )
        return Iterator(resource, None, structure)


def get_output_types(dataset_or_iterator: Any) -> Any:
    """The dtypes of a dataset's or iterator's elements, in their structure. Raises `AttributeError`
    for anything else."""
    return nest.map_structure(lambda spec: spec.dtype, dataset_or_iterator.element_spec)


def get_output_shapes(dataset_or_iterator: Any) -> Any:
    """The static shapes of a dataset's or iterator's elements, in their structure. Raises
    `AttributeError` for anything else."""
    return nest.map_structure(lambda spec: spec.shape, dataset_or_iterator.element_spec)


def get_output_classes(dataset_or_iterator: Any) -> Any:
    """The classes of a dataset's or iterator's elements, in their structure. Raises
    `AttributeError` for anything else."""
    return nest.map_structure(lambda spec: spec.value_class, dataset_or_iterator.element_spec)
