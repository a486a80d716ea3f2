"""Groups of elements with one key.

In: functions of elements and keys. Out: functions from dataset to dataset, for `Dataset.apply`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.api.arrays.selection import where
from flowc.api.control_flow.conditionals import cond
from flowc.api.data.dataset import Dataset
from flowc.api.data.dataset_node import made
from flowc.api.data.functions import TracedFunction, traced
from flowc.api.data.structure import ComponentSpec, DatasetSpec
from flowc.api.framework import nest
from flowc.api.framework.raw_ops import call
from flowc.graph.building.conversion import as_tensor

KEY = ComponentSpec([], dtypes.i64)
Transformation = Callable[[Dataset], Dataset]


def _key(dataset: Dataset, key_func: Callable[..., Any], label: str) -> TracedFunction:
    """Raises `ValueError` where the function gives no scalar int64."""
    found = traced(key_func, dataset.element_spec, f"Dataset_{label}_key")
    spec = found.structure
    if not (isinstance(spec, ComponentSpec) and spec.dtype is dtypes.i64 and spec.shape.ndims == 0):
        raise ValueError(
            f"Invalid `key_func`. `key_func` must return a single `tf.int64` scalar tensor, but its"
            f" return type is {spec}."
        )
    return found


def _attrs(**functions: TracedFunction) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, function in functions.items():
        found[name] = function.reference
        found[f"T{name}_other_arguments"] = [t.base_dtype for t in function.captured]
    return found


def grouped_by_window(
    dataset: Dataset,
    key_func: Callable[..., Any],
    reduce_func: Callable[..., Any],
    window_size: Any,
    window_size_func: Callable[..., Any] | None,
) -> Dataset:
    """`Dataset.group_by_window`."""
    if (window_size is None) == (window_size_func is None):
        raise ValueError(
            "Either the `window_size` argument or the `window_size_func` argument must be "
            "specified."
        )
    size_func = window_size_func or (lambda _: as_tensor(window_size, dtypes.i64))
    key = _key(dataset, key_func, "group_by_window")
    window = DatasetSpec(dataset.element_spec)
    reduced = traced(reduce_func, (KEY, window), "Dataset_group_by_window_reduce")
    if not isinstance(reduced.structure, DatasetSpec):
        raise TypeError(
            "Invalid `reduce_func`. `reduce_func` must return a single `tf.data.Dataset` object "
            f"but its return type is {reduced.structure}."
        )
    size = traced(size_func, KEY, "Dataset_group_by_window_size")
    if size.structure.dtype is not dtypes.i64:
        raise ValueError(
            "Invalid `window_size_func`. `window_size_func` must return a single `tf.int64` scalar "
            f"tensor but its return type is {size.structure}."
        )
    return made(
        "GroupByWindowDataset",
        reduced.structure.element_spec,
        dataset._variant_tensor,
        key.captured,
        reduced.captured,
        size.captured,
        **_attrs(key_func=key, reduce_func=reduced, window_size_func=size),
    )


def group_by_window(
    key_func: Callable[..., Any],
    reduce_func: Callable[..., Any],
    window_size: Any = None,
    window_size_func: Callable[..., Any] | None = None,
) -> Transformation:
    """`Dataset.group_by_window` as a function for `Dataset.apply`. Raises what
    `Dataset.group_by_window` does, when it is applied."""
    return lambda dataset: grouped_by_window(
        dataset, key_func, reduce_func, window_size, window_size_func
    )


class Reducer:
    """Three functions: `init_func(key)` gives a state, `reduce_func(state, element)` the next one,
    `finalize_func(state)` what comes of the last one. Raises nothing by itself."""

    def __init__(
        self,
        init_func: Callable[..., Any],
        reduce_func: Callable[..., Any],
        finalize_func: Callable[..., Any],
    ) -> None:
        self.init_func = init_func
        self.reduce_func = reduce_func
        self.finalize_func = finalize_func


def group_by_reducer(key_func: Callable[..., Any], reducer: Reducer) -> Transformation:
    """An element for each key (int64), in the order of the keys: what a `Reducer` makes of the
    elements with that key. Raises `ValueError` where `key_func` gives no int64 scalar, and what the
    functions do, when it is applied."""

    def apply(dataset: Dataset) -> Dataset:
        key = _key(dataset, key_func, "group_by_reducer")
        first = traced(reducer.init_func, KEY, "Dataset_group_by_reducer_init")
        state = first.structure
        following = traced(
            reducer.reduce_func, (state, dataset.element_spec), "Dataset_group_by_reducer_reduce"
        )
        last = traced(reducer.finalize_func, state, "Dataset_group_by_reducer_finalize")
        return made(
            "GroupByReducerDataset",
            last.structure,
            dataset._variant_tensor,
            key.captured,
            first.captured,
            following.captured,
            last.captured,
            **_attrs(key_func=key, init_func=first, reduce_func=following, finalize_func=last),
        )

    return apply


def bucket_by_sequence_length(
    element_length_func: Callable[..., Any],
    bucket_boundaries: Sequence[int],
    bucket_batch_sizes: Sequence[int],
    padded_shapes: Any = None,
    padding_values: Any = None,
    pad_to_bucket_boundary: bool = False,
    no_padding: bool = False,
    drop_remainder: bool = False,
) -> Transformation:
    """Batches of elements of like lengths, padded to the longest, or to the end of their bucket.
    Raises `ValueError` unless there is one batch size more than boundaries."""
    if len(bucket_batch_sizes) != len(bucket_boundaries) + 1:
        raise ValueError(
            f"`len(bucket_batch_sizes)` must equal `len(bucket_boundaries) + 1` but `len("
            f"bucket_batch_sizes)={len(bucket_batch_sizes)}` and `len(bucket_boundaries)="
            f"{len(bucket_boundaries)}`."
        )
    lowest = np.array([np.iinfo(np.int32).min, *bucket_boundaries], np.int32)
    highest = np.array([*bucket_boundaries, np.iinfo(np.int32).max], np.int32)
    sizes = np.array(bucket_batch_sizes, np.int64)

    def bucket(*element: Any) -> Any:
        length = element_length_func(*element)
        inside = call(
            "LogicalAnd", call("LessEqual", lowest, length), call("Less", length, highest)
        )
        places = where(inside)
        return call("Min", places, np.array([0, 1], np.int32))

    def size_of(key: Any) -> Any:
        return call("GatherV2", sizes, key, np.int32(0))

    def shapes(key: Any, given: Any) -> Any:
        """Unknown sizes as the bucket's boundary."""
        if not pad_to_bucket_boundary:
            return given
        ends = np.array([*(b - 1 for b in bucket_boundaries), -1], np.int64)
        end = call("GatherV2", ends, key, np.int32(0))
        check = call("NotEqual", key, np.int64(len(bucket_boundaries)))
        end = cond(check, lambda: end, lambda: _too_long(end))
        return nest.map_structure(lambda spec: _filled(spec, end), given)

    def batches(key: Any, window: Dataset) -> Dataset:
        size = size_of(key)
        if no_padding:
            return window.batch(size, drop_remainder)
        given = padded_shapes
        if given is None:
            given = nest.map_structure(lambda spec: spec.shape, window.element_spec)
        return window.padded_batch(size, shapes(key, given), padding_values, drop_remainder)

    return group_by_window(bucket, batches, window_size_func=size_of)


def _too_long(value: Any) -> Any:
    from flowc.api.framework.checks import Assert
    from flowc.api.framework.scopes import control_dependencies

    message = (
        "When pad_to_bucket_boundary=True, elements must have length < max(bucket_boundaries)."
    )
    with control_dependencies([Assert(as_tensor(False), [message])]):
        return call("Identity", value)


def _filled(shape: Any, end: Any) -> Any:
    sizes = shape.as_list() if hasattr(shape, "as_list") else list(shape)
    parts = [end if s is None else as_tensor(np.int64(s)) for s in sizes]
    return call("Pack", parts, axis=0) if parts else as_tensor(np.zeros(0, np.int64))
