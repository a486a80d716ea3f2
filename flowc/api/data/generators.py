"""Datasets of what Python generators yield.

In: a function that returns an iterable. Out: a dataset that calls it for each iteration. Invariant:
a generator that is not read to its end is closed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.api.data.dataset import Dataset
from flowc.api.data.dataset_node import made
from flowc.api.data.functions import traced
from flowc.api.data.structure import ComponentSpec, specs_from
from flowc.api.framework import nest
from flowc.api.framework.python_functions import py_func
from flowc.graph import Tensor


class _Generators:
    """The generators that are being read, by the numbers that graphs know them by."""

    def __init__(self, begin: Callable[..., Any], structure: Any) -> None:
        self._begin = begin
        self._structure = structure
        self._specs = nest.flatten(structure)
        self._lock = threading.Lock()
        self._open: dict[int, Iterator[Any]] = {}
        self._count = 0

    def start(self, *args: Any) -> Any:
        found = iter(self._begin(*args))
        with self._lock:
            self._count += 1
            self._open[self._count] = found
            return np.int64(self._count)

    def following(self, number: Any) -> list[Any]:
        """The next element's components. Raises `StopIteration`, and `TypeError` and `ValueError`
        for what is not of the types and shapes that were promised."""
        value = next(self._open[int(number)])
        try:
            leaves = _leaves(self._structure, value)
        except (TypeError, ValueError) as error:
            raise _structure_mismatch(self._structure, value) from error
        return [_array(spec, leaf, value) for spec, leaf in zip(self._specs, leaves)]

    def finish(self, number: Any) -> Any:
        with self._lock:
            found = self._open.pop(int(number), None)
        close = getattr(found, "close", None)
        if close is not None:
            close()
        return np.int64(0)


def _structure_mismatch(structure: Any, value: Any) -> TypeError:
    return TypeError(
        "`generator` yielded an element that did not match the expected structure. The expected "
        f"structure was {structure}, but the yielded element was {value}."
    )


def _leaves(structure: Any, value: Any) -> list[Any]:
    """The components of an element, in which lists may stand for tuples."""
    inner = nest.children(structure)
    if inner is None:
        return [value]
    if isinstance(structure, dict):
        if set(structure) != set(value):
            raise ValueError(f"keys {sorted(value)} are not {sorted(structure)}")
        return [leaf for k in sorted(structure) for leaf in _leaves(structure[k], value[k])]
    if not isinstance(value, tuple | list) or len(value) != len(inner):
        raise ValueError(f"{value} is no tuple of {len(inner)}")
    return [leaf for part, item in zip(inner, value) for leaf in _leaves(part, item)]


def _array(spec: ComponentSpec, leaf: Any, value: Any) -> Any:
    try:
        if spec.dtype is dtypes.string:
            found: Any = np.asarray(leaf, object)
        else:
            found = np.asarray(leaf)
            if found.dtype != spec.dtype.numpy:
                if found.dtype.kind in "SUO":
                    raise TypeError(f"{leaf!r} is no number")
                found = found.astype(spec.dtype.numpy)
    except (TypeError, ValueError) as error:
        raise _structure_mismatch(spec, value) from error
    if not spec.shape.is_compatible_with(found.shape):
        raise TypeError(
            f"`generator` yielded an element of shape {found.shape} where an element of shape "
            f"{spec.shape} was expected."
        )
    return found


def generated(
    generator: Callable[..., Any], types: Any, shapes: Any, args: Any, signature: Any
) -> Dataset:
    """`Dataset.from_generator`."""
    if not callable(generator):
        raise TypeError("`generator` must be a Python callable.")
    if signature is None and types is None:
        raise TypeError(
            "Either `output_signature` or `output_types` must be specified for `from_generator()`."
        )
    structure = signature if signature is not None else specs_from(types, shapes)
    running = _Generators(generator, structure)
    dtypes_of = [spec.dtype for spec in nest.flatten(structure)]

    def start(*inputs: Tensor) -> Any:
        return py_func(running.start, list(inputs) if args else [], dtypes.i64)

    def following(number: Tensor) -> Any:
        found = py_func(running.following, [number], dtypes_of)
        assert isinstance(found, list)
        for tensor, spec in zip(found, nest.flatten(structure)):
            tensor.set_shape(spec.shape)
        return nest.pack_sequence_as(structure, found)

    def finish(number: Tensor) -> Any:
        return py_func(running.finish, [number], dtypes.i64)

    number = ComponentSpec([], dtypes.i64)

    def generators(*inputs: Any) -> Dataset:
        first = traced(start, inputs_spec, "from_generator_init")
        more = traced(following, number, "from_generator_next")
        last = traced(finish, number, "from_generator_finalize")
        return made(
            "GeneratorDataset",
            structure,
            list(inputs),
            [],
            [],
            init_func=first.reference,
            next_func=more.reference,
            finalize_func=last.reference,
        )

    dataset = Dataset.from_tensors(tuple(args) if args else 0)
    inputs_spec = dataset.element_spec
    return dataset.flat_map(generators)
