"""`tf.data.experimental`: more ways to make datasets of datasets.

In: settings. Out: mostly functions from dataset to dataset, for `Dataset.apply`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.api.arrays.filling import range as range_of
from flowc.api.arrays.shaping import concat, reshape, shape
from flowc.api.data.dataset import Dataset, _seeds, batched
from flowc.api.data.dataset_node import made, number
from flowc.api.data.functions import traced
from flowc.api.data.mapped import captures
from flowc.api.data.structure import (
    ComponentSpec,
    RaggedTensorSpec,
    SparseTensorSpec,
    held_tensors,
    held_types,
    normalized,
    relaxed,
    spec_of,
)
from flowc.api.framework import nest
from flowc.api.framework.basics import cast
from flowc.api.framework.raw_ops import call
from flowc.api.math.reductions import reduce_prod
from flowc.api.ragged.ragged_tensor import RaggedTensor
from flowc.graph import Tensor, TensorShape
from flowc.graph.building.conversion import as_tensor

Transformation = Callable[[Dataset], Dataset]


def shuffle_and_repeat(buffer_size: Any, count: Any = None, seed: Any = None) -> Transformation:
    """`shuffle`, then `repeat`. A function for `Dataset.apply`. Raises what these two do, when it
    is applied."""

    def apply(dataset: Dataset) -> Dataset:
        size, times = number(buffer_size, "buffer_size"), -1 if count is None else count
        seeds = _seeds(seed)
        return dataset._same("ShuffleAndRepeatDataset", size, *seeds, number(times, "count"))

    return apply


def map_and_batch(
    map_func: Callable[..., Any],
    batch_size: Any,
    num_parallel_batches: Any = None,
    drop_remainder: bool = False,
    num_parallel_calls: Any = None,
) -> Transformation:
    """`map`, then `batch`. Raises `ValueError` where both numbers of calls are given."""
    if num_parallel_batches is not None and num_parallel_calls is not None:
        raise ValueError(
            "`map_and_batch` allows only one of `num_parallel_batches` and `num_parallel_calls` to "
            "be set, but `num_parallel_batches` was set to "
            f"{num_parallel_batches} and `num_parallel_calls` as set to {num_parallel_calls}."
        )
    calls = num_parallel_calls if num_parallel_calls is not None else 1
    if num_parallel_batches is not None:
        calls = batch_size * num_parallel_batches

    def apply(dataset: Dataset) -> Dataset:
        function = traced(map_func, dataset.element_spec, "Dataset_map_and_batch")
        size = number(batch_size, "batch_size")
        drops = as_tensor(drop_remainder, dtypes.bool_, "drop_remainder")
        return made(
            "MapAndBatchDataset",
            batched(function.structure, size, drops),
            dataset._variant_tensor,
            function.captured,
            size,
            number(calls, "num_parallel_calls"),
            drops,
            **captures(function),
        )

    return apply


map_and_batch_with_legacy_function = map_and_batch


def parallel_interleave(
    map_func: Callable[..., Any],
    cycle_length: Any,
    block_length: Any = 1,
    sloppy: bool | None = False,
    buffer_output_elements: Any = None,
    prefetch_input_elements: Any = None,
) -> Transformation:
    """Elements of `cycle_length` datasets in turn; the next dataset takes the place of one that
    ended. Raises `TypeError` where the function makes no dataset."""

    def apply(dataset: Dataset) -> Dataset:
        function = traced(map_func, dataset.element_spec, "Dataset_parallel_interleave")
        structure = dataset._inner(function)
        cycle = number(cycle_length, "cycle_length")
        block = number(block_length, "block_length")
        output = 2 * block_length if buffer_output_elements is None else buffer_output_elements
        ahead = 2 * cycle_length if prefetch_input_elements is None else prefetch_input_elements
        return made(
            "LegacyParallelInterleaveDatasetV2",
            structure,
            dataset._variant_tensor,
            function.captured,
            cycle,
            block,
            number(output, "buffer_output_elements"),
            number(ahead, "prefetch_input_elements"),
            deterministic="false" if sloppy else "true",
            **captures(function),
        )

    return apply


def copy_to_device(target_device: Any, source_device: Any = "/cpu:0") -> Transformation:
    """The dataset: its elements are in the memory of the host, and go to a device with the run that
    computes there. A function for `Dataset.apply`. Raises nothing."""
    return lambda dataset: dataset


def prefetch_to_device(device: Any, buffer_size: Any = None) -> Transformation:
    """`prefetch`, of 1 element or `buffer_size`; see `copy_to_device`. Raises `TypeError` for a
    size that is no integer, when it is applied."""
    return lambda dataset: dataset.prefetch(1 if buffer_size is None else buffer_size)


def from_list(elements: Any, name: str | None = None) -> Dataset:
    """The elements of a list, which have one structure. Raises `ValueError` for an empty list, what
    is no list, and elements of other structures; `TypeError` for elements of other dtypes."""
    if not isinstance(elements, list):
        raise ValueError("Invalid `elements`. `elements` must be a list.")
    if not elements:
        raise ValueError(
            "Invalid `elements`. `elements` should not be empty. If you want an empty dataset, use "
            "`tf.data.Dataset.range(0)`."
        )
    values = [normalized(element) for element in elements]
    found = spec_of(values[0])
    tensors: list[Tensor] = []
    for value in values:
        spec = spec_of(value)
        nest.assert_same_structure(found, spec)
        tensors += held_tensors(spec, value)
        found = relaxed(found, spec)
    types = [tensor.dtype for tensor in tensors]
    held = held_types(found)
    return Dataset(call("ListDataset", tensors, Tinput_types=types, **held), found)


def dense_to_ragged_batch(
    batch_size: Any, drop_remainder: Any = False, row_splits_dtype: Any = dtypes.i64
) -> Transformation:
    """Batches of tensors of different shapes as ragged tensors; components whose shape is known
    stay tensors. A function for `Dataset.apply`, which raises what `Dataset.batch` does."""

    def ragged_rank(spec: ComponentSpec) -> int | None:
        sizes = None if spec.shape.ndims is None else spec.shape.as_list()
        if type(spec) is not ComponentSpec or sizes is None or None not in sizes:
            return None
        return max(axis for axis, size in enumerate(sizes) if size is None)

    def ragged_spec(spec: ComponentSpec) -> ComponentSpec:
        rank = ragged_rank(spec)
        if rank is None:
            return spec
        return RaggedTensorSpec(spec.shape, spec.dtype, rank, row_splits_dtype)

    def apply(dataset: Dataset) -> Dataset:
        structure = dataset.element_spec
        specs = nest.flatten(structure)
        to = nest.map_structure(ragged_spec, structure)

        def ragged(*parts: Any) -> Any:
            value = parts if isinstance(structure, tuple) else parts[0]
            triples = zip(specs, nest.flatten(to), nest.flatten(value))
            return tuple(
                other.hold(v if other is spec else _ragged(v, other)) for spec, other, v in triples
            )

        return Dataset(dataset.map(ragged)._variant_tensor, to).batch(batch_size, drop_remainder)

    return apply


def _ragged(tensor: Tensor, spec: RaggedTensorSpec) -> Any:
    """A tensor as rows of one length."""
    sizes = shape(tensor, out_type=dtypes.i64)
    rank = spec.ragged_rank
    found: Any = reshape(
        tensor, concat([reduce_prod(sizes[: rank + 1], keepdims=True), sizes[rank + 1 :]], 0)
    )
    for axis in range(rank, 0, -1):
        splits = range_of(reduce_prod(sizes[:axis]) + 1) * sizes[axis]
        found = RaggedTensor(found, cast(splits, spec.row_splits_dtype))
    return found


def dense_to_sparse_batch(batch_size: Any, row_shape: Any) -> Transformation:
    """Batches of tensors of different shapes as sparse tensors, whose rows are of `row_shape`. A
    function for `Dataset.apply`, which raises `TypeError` for elements that are not one tensor."""

    def apply(dataset: Dataset) -> Dataset:
        spec = dataset.element_spec
        if type(spec) is not ComponentSpec:
            raise TypeError(
                "`dense_to_sparse_batch` requires an input dataset whose elements have a single "
                f"component, but the given dataset has the following component types: {spec}."
            )
        sizes = TensorShape(row_shape)
        found = SparseTensorSpec(TensorShape([None]).concatenate(sizes), spec.dtype)
        row = np.array([-1 if s is None else s for s in sizes.as_list()], np.int64)
        tensor = call(
            "DenseToSparseBatchDataset",
            dataset._variant_tensor,
            number(batch_size, "batch_size"),
            as_tensor(row, name="row_shape"),
            output_types=[dtypes.variant],
            output_shapes=[TensorShape([None, 3])],
        )
        return Dataset(tensor, found)

    return apply


def unbatch() -> Transformation:
    """`Dataset.unbatch` as a function for `Dataset.apply`. Raises what `Dataset.unbatch` does, when
    it is applied."""
    return lambda dataset: dataset.unbatch()


def enumerate_dataset(start: Any = 0) -> Transformation:
    """`Dataset.enumerate` as a function for `Dataset.apply`. Raises `TypeError` for a `start` that
    is no integer, when it is applied."""
    return lambda dataset: dataset.enumerate(start)


def unique() -> Transformation:
    """`Dataset.unique` as a function for `Dataset.apply`. Raises what `Dataset.unique` does, when
    it is applied."""
    return lambda dataset: dataset.unique()


def scan(initial_state: Any, scan_func: Callable[..., Any]) -> Transformation:
    """`Dataset.scan` as a function for `Dataset.apply`. Raises what `Dataset.scan` does, when it is
    applied."""
    return lambda dataset: dataset.scan(initial_state, scan_func)


def take_while(predicate: Callable[..., Any]) -> Transformation:
    """`Dataset.take_while` as a function for `Dataset.apply`. Raises what `Dataset.take_while`
    does, when it is applied."""
    return lambda dataset: dataset.take_while(predicate)


def ignore_errors(log_warning: bool = False) -> Transformation:
    """`Dataset.ignore_errors` as a function for `Dataset.apply`. Raises nothing."""
    return lambda dataset: dataset.ignore_errors(log_warning)


def assert_cardinality(expected_cardinality: Any) -> Transformation:
    """The dataset, which a run checks to have so many elements: it raises
    `FailedPreconditionError` where there are others."""
    return lambda dataset: dataset._same(
        "AssertCardinalityDataset", number(expected_cardinality, "expected_cardinality")
    )


def cardinality(dataset: Dataset) -> Tensor:
    """How many elements a dataset has, as `Dataset.cardinality` says. An int64 scalar, -1 for
    endless and -2 for unknown ones. Raises `AttributeError` for what is no dataset."""
    return dataset.cardinality()


def get_single_element(dataset: Dataset) -> Any:
    """`Dataset.get_single_element`. Raises `TypeError` for what is no dataset."""
    if not isinstance(dataset, Dataset):
        raise TypeError(
            f"Invalid `dataset`. Expected a `tf.data.Dataset` object but got {type(dataset)}."
        )
    return dataset.get_single_element()


def get_structure(dataset_or_iterator: Any) -> Any:
    """What elements are made of. Raises `TypeError` for what is no dataset and no iterator."""
    found = getattr(dataset_or_iterator, "element_spec", None)
    if found is None:
        raise TypeError(
            "`dataset_or_iterator` must be a `tf.data.Dataset` or `tf.data.Iterator`, got "
            f"{type(dataset_or_iterator)}."
        )
    return found


def Counter(start: Any = 0, step: Any = 1, dtype: Any = dtypes.i64) -> Dataset:
    """`start`, `start + step`, ... without end. A dataset of scalars of `dtype`. Raises `TypeError`
    for other dtypes."""
    ends = np.iinfo(np.int64)
    if isinstance(step, int):
        stop = ends.max if step >= 0 else ends.min
        found = Dataset.range(start, stop, step)
    else:
        found = Dataset.range(ends.max).map(lambda k: start + k * step)
    wanted = dtypes.as_dtype(dtype)
    return found if wanted is dtypes.i64 else found.map(lambda k: call("Cast", k, DstT=wanted))


def RandomDataset(seed: Any = None) -> Dataset:
    """Random numbers of 32 bits without end, as `Dataset.random` gives them. A dataset of int64
    scalars; `seed`: an int. Raises `TypeError` for other seeds."""
    return Dataset.random(seed)


def to_variant(dataset: Dataset) -> Tensor:
    """The tensor (of dtype variant) that stands for a dataset. Raises `AttributeError` for what is
    no dataset."""
    return dataset._variant_tensor


def from_variant(variant: Tensor, structure: Any) -> Dataset:
    """The dataset that a tensor stands for. `structure`: what its elements are made of. A variant
    scalar. A run raises `InvalidArgumentError` for what is no dataset."""
    return Dataset(variant, structure)
