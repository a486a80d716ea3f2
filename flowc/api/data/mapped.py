"""What functions of elements make datasets of: `map`, `filter`, `interleave`, `scan`, `reduce`.

In: a dataset and Python functions, which are traced once. Out: datasets, and tensors of `reduce`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from flowc import dtypes
from flowc.api.data.dataset_node import AUTOTUNE, DatasetNode, made, number
from flowc.api.data.functions import TracedFunction, traced
from flowc.api.data.structure import (
    ComponentSpec,
    DatasetSpec,
    held_tensors,
    held_types,
    normalized,
    relaxed,
    spec_of,
    value_from,
)
from flowc.api.framework import nest
from flowc.graph.building.creation import create

if TYPE_CHECKING:
    from flowc.api.data.dataset import Dataset


def captures(function: TracedFunction) -> dict[str, Any]:
    """What a node takes of a function."""
    return {"f": function.reference, "Targuments": [t.base_dtype for t in function.captured]}


class MappedDataset(DatasetNode):
    """The methods of a dataset that take functions of elements."""

    def _traced(self, function: Callable[..., Any], label: str) -> TracedFunction:
        return traced(function, self._structure, f"Dataset_{label}")

    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: Any = None,
        deterministic: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """What a function makes of each element, in order. `num_parallel_calls`: how many calls run
        side by side."""
        function = self._traced(map_func, "map")
        inputs = self._variant_tensor, function.captured
        if num_parallel_calls is None:
            return made("MapDataset", function.structure, *inputs, **captures(function))
        calls = number(num_parallel_calls, "num_parallel_calls")
        order = "default" if deterministic is None else str(bool(deterministic)).lower()
        return made(
            "ParallelMapDatasetV2",
            function.structure,
            *inputs,
            calls,
            deterministic=order,
            **captures(function),
        )

    map_with_legacy_function = map

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements for which a function gives true. Raises `ValueError` where it gives anything
        but a scalar bool."""
        return self._filtered("FilterDataset", predicate, "filter")

    filter_with_legacy_function = filter

    def take_while(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements before the first for which a function gives false. Raises as `filter`."""
        return self._filtered("TakeWhileDataset", predicate, "take_while")

    def _filtered(self, op_type: str, predicate: Callable[..., Any], label: str) -> Dataset:
        function = self._traced(predicate, label)
        found = function.structure
        is_bool = isinstance(found, ComponentSpec) and found.dtype is dtypes.bool_
        if not is_bool or not found.shape.is_compatible_with([]):
            raise ValueError(
                "Invalid `predicate`. `predicate` must return a `tf.bool` scalar tensor, but its "
                f"return type is {found}."
            )
        given = captures(function)
        return self._same(op_type, function.captured, predicate=given.pop("f"), **given)

    def _inner(self, function: TracedFunction) -> Any:
        """The structure of the elements of the datasets that a function returns."""
        if not isinstance(function.structure, DatasetSpec):
            raise TypeError(
                "The `map_func` argument must return a `Dataset` object. Got "
                f"{type(function.structure)!r}."
            )
        return function.structure.element_spec

    def flat_map(self, map_func: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements of the datasets that a function makes of elements. Raises `TypeError` where
        it makes anything else."""
        function = self._traced(map_func, "flat_map")
        inputs = self._variant_tensor, function.captured
        return made("FlatMapDataset", self._inner(function), *inputs, **captures(function))

    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: Any = None,
        block_length: Any = None,
        num_parallel_calls: Any = None,
        deterministic: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """`block_length` elements of each of `cycle_length` datasets in turn, which a function
        makes of elements. Raises as `flat_map`."""
        function = self._traced(map_func, "interleave")
        structure = self._inner(function)
        cycle = cycle_length
        if cycle is None:
            is_tuned = num_parallel_calls in (None, AUTOTUNE)
            cycle = AUTOTUNE if is_tuned else num_parallel_calls
        inputs = self._variant_tensor, function.captured
        block = 1 if block_length is None else block_length
        turns = number(cycle, "cycle_length"), number(block, "block_length")
        if num_parallel_calls is None:
            return made("InterleaveDataset", structure, *inputs, *turns, **captures(function))
        order = "default" if deterministic is None else str(bool(deterministic)).lower()
        return made(
            "ParallelInterleaveDatasetV4",
            structure,
            *inputs,
            *turns,
            number(AUTOTUNE, "buffer_output_elements"),
            number(AUTOTUNE, "prefetch_input_elements"),
            number(num_parallel_calls, "num_parallel_calls"),
            deterministic=order,
            **captures(function),
        )

    def scan(
        self, initial_state: Any, scan_func: Callable[..., Any], name: str | None = None
    ) -> Dataset:
        """What a function of a state and an element gives beside the next state."""
        state = normalized(initial_state)
        function, states = self._with_state(scan_func, state, "scan", _second_of_two)
        held = held_tensors(states, state)
        given = {"Tstate": [t.base_dtype for t in held], **captures(function)}
        inputs = self._variant_tensor, held, function.captured
        return made("ScanDataset", function.structure[1], *inputs, **given)

    def reduce(
        self, initial_state: Any, reduce_func: Callable[..., Any], name: str | None = None
    ) -> Any:
        """The last state of a function of a state and an element, as tensors. Raises `TypeError`
        where it gives a state of other types."""
        state = normalized(initial_state)
        function, states = self._with_state(reduce_func, state, "reduce", lambda found: found)
        held = held_tensors(states, state)
        given = {"Tstate": [t.base_dtype for t in held], **captures(function), **held_types(states)}
        inputs = [self._variant_tensor, held, function.captured]
        return value_from(states, create("ReduceDataset", inputs, given).outputs)

    def _with_state(
        self,
        function: Callable[..., Any],
        state: Any,
        label: str,
        state_of: Callable[[Any], Any],
    ) -> tuple[TracedFunction, Any]:
        """The function, and the structure of its state, whose shapes are what all states share."""
        structure = spec_of(state)
        while True:
            found = traced(function, (structure, self._structure), f"Dataset_{label}")
            after = state_of(found.structure)
            nest.assert_same_structure(structure, after)
            for ours, theirs in zip(nest.flatten(structure), nest.flatten(after)):
                if ours.dtype is not theirs.dtype:
                    raise TypeError(
                        "The element types for the new state must match the initial state. "
                        f"Expected {ours.dtype!r}; got {theirs.dtype!r}."
                    )
            joined = relaxed(structure, after)
            if joined == structure:
                return found, structure
            structure = joined


def _second_of_two(found: Any) -> Any:
    if not isinstance(found, tuple) or len(found) != 2:
        raise TypeError(
            "The scan function must return a pair comprising the new state and the output value."
        )
    return found[0]
