"""`tf.data.Dataset`: what its elements are and how they are made, in the graph.

In: tensors, files, functions, other datasets. Out: nodes that TensorFlow's own API makes, under its
names. Nothing is read before an iterator begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.api.data import iterators
from flowc.api.data.dataset_node import AUTOTUNE, made, number
from flowc.api.data.mapped import MappedDataset
from flowc.api.data.structure import (
    ComponentSpec,
    DatasetSpec,
    RaggedTensorSpec,
    SparseTensorSpec,
    held_tensors,
    held_types,
    normalized,
    relaxed,
    spec_of,
    value_from,
)
from flowc.api.framework import nest
from flowc.api.framework.composites import SparseTensor
from flowc.api.framework.raw_ops import call
from flowc.api.random.random_ops import get_seed
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.creation import create
from flowc.graph.shape_inference import constant_elements

INFINITE_CARDINALITY = -1
UNKNOWN_CARDINALITY = -2
LARGEST = np.iinfo(np.int64).max


def _nested(structure: Any) -> Iterator[Any]:
    """A structure and those inside it, without its leaves."""
    inner = nest.children(structure)
    if inner is not None:
        yield structure
        for item in inner:
            yield from _nested(item)


class Dataset(MappedDataset):
    """A sequence of elements, each a tensor, a sparse tensor or a dataset, or a structure of these.

    Datasets are made by its static methods, and from others by its methods, as in TensorFlow. The
    methods raise `TypeError` and `ValueError` for arguments that do not fit the elements, a run
    what computing an element raises.
    """

    # -- sources

    @staticmethod
    def from_tensors(tensors: Any, name: str | None = None) -> Dataset:
        """One element."""
        value = normalized(tensors)
        structure = spec_of(value)
        return _of_components("TensorDataset", structure, held_tensors(structure, value))

    @staticmethod
    def from_tensor_slices(tensors: Any, name: str | None = None) -> Dataset:
        """An element for each row of tensors. Raises `ValueError` for scalars and for tensors that
        differ in their number of rows."""
        value = normalized(tensors)
        leaves = nest.flatten(value)
        if not leaves:
            raise ValueError("Invalid `tensors`. Empty tensors.")
        for leaf in leaves:
            if leaf.get_shape().ndims == 0:
                raise ValueError("Unbatching a tensor is only supported for rank >= 1")
        rows = leaves[0].get_shape().with_rank_at_least(1)[0]
        for leaf in leaves[1:]:
            size = leaf.get_shape().with_rank_at_least(1)[0]
            rows.assert_is_compatible_with(size)
        specs = spec_of(value)
        held = [s.hold_rows(v) for s, v in zip(nest.flatten(specs), leaves)]
        structure = nest.map_structure(lambda spec: spec.unbatched(), specs)
        return _of_components("TensorSliceDataset", structure, held)

    @staticmethod
    def from_sparse_tensor_slices(sparse_tensor: SparseTensor) -> Dataset:
        """An element for each row of a sparse tensor: its indices, values and sizes."""
        parts = sparse_tensor.indices, sparse_tensor.values, sparse_tensor.dense_shape
        rank = sparse_tensor.dense_shape.shape[0].value
        inner = None if rank is None else rank - 1
        structure = (
            ComponentSpec([None, inner], dtypes.i64),
            ComponentSpec([None], sparse_tensor.dtype),
            ComponentSpec([inner], dtypes.i64),
        )
        return Dataset(call("SparseTensorSliceDataset", *parts), structure)

    @staticmethod
    def range(*args: Any, output_type: Any = dtypes.i64, name: str | None = None) -> Dataset:
        """`range(stop)`, `range(start, stop)`, `range(start, stop, step)`: numbers."""
        if not 1 <= len(args) <= 3:
            raise ValueError(
                "Invalid `args`. The length of `args` should be between 1 and 3 but was "
                f"{len(args)}."
            )
        start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
        numbers = number(start, "start"), number(stop, "stop"), number(step, "step")
        found = made("RangeDataset", ComponentSpec([], dtypes.i64), *numbers)
        wanted = dtypes.as_dtype(output_type)
        if wanted is dtypes.i64:
            return found
        return found.map(lambda k: call("Cast", k, DstT=wanted))

    @staticmethod
    def zip(*args: Any, datasets: Any = None, name: str | None = None) -> Dataset:
        """Elements of several datasets side by side, in their structure. Raises `TypeError` for
        what is no dataset."""
        given = datasets if datasets is not None else args[0] if len(args) == 1 else args
        for part in _nested(given):
            if isinstance(part, list):
                raise TypeError(
                    "Invalid input to `zip`. Inputs are expected to be (nested) structures of "
                    "`tf.data.Dataset` objects. Python `list` is not supported and you should use "
                    "`tuple` instead."
                )
        parts = nest.flatten(given)
        for part in parts:
            if not isinstance(part, Dataset):
                raise TypeError(
                    "Invalid input to `zip`. Inputs are expected to be (nested) structures of "
                    f"`tf.data.Dataset` objects but encountered object of type {type(part)}."
                )
        structure = nest.map_structure(lambda part: part.element_spec, given)
        inputs = [part._variant_tensor for part in parts]
        return made("ZipDataset", structure, inputs, N=len(inputs))

    @staticmethod
    def from_generator(
        generator: Callable[..., Any],
        output_types: Any = None,
        output_shapes: Any = None,
        args: Any = None,
        output_signature: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """What a Python generator yields; `generator(*args)` is called each time that somebody
        begins. Raises `TypeError` where it is not callable or no types are given."""
        from flowc.api.data.generators import generated

        return generated(generator, output_types, output_shapes, args, output_signature)

    @staticmethod
    def list_files(
        file_pattern: Any, shuffle: bool | None = None, seed: Any = None, name: str | None = None
    ) -> Dataset:
        """The names of the files that patterns match, shuffled unless `shuffle` says otherwise. A
        run raises `InvalidArgumentError` where there are none."""
        from flowc.api.data.readers import listed_files

        return listed_files(file_pattern, shuffle is None or shuffle, seed)

    @staticmethod
    def random(
        seed: Any = None, rerandomize_each_iteration: Any = None, name: str | None = None
    ) -> Dataset:
        """Random numbers of 32 bits without end."""
        return made("RandomDataset", ComponentSpec([], dtypes.i64), *_seeds(seed))

    # -- elements of others

    def take(self, count: Any, name: str | None = None) -> Dataset:
        """The first `count` elements; all, where that is -1."""
        return self._same("TakeDataset", number(count, "count"))

    def skip(self, count: Any, name: str | None = None) -> Dataset:
        """What comes after the first `count` elements; nothing, where that is -1."""
        return self._same("SkipDataset", number(count, "count"))

    def repeat(self, count: Any = None, name: str | None = None) -> Dataset:
        """The elements `count` times; without end, where that is None or -1."""
        return self._same("RepeatDataset", number(-1 if count is None else count, "count"))

    def shard(self, num_shards: Any, index: Any, name: str | None = None) -> Dataset:
        """Every `num_shards`-th element from `index` on. A run raises `InvalidArgumentError` for an
        index that is not below the number of shards."""
        return self._same("ShardDataset", number(num_shards, "num_shards"), number(index, "index"))

    def concatenate(self, dataset: Dataset, name: str | None = None) -> Dataset:
        """These elements, then those of another dataset. Raises `TypeError` where these are of
        other types or in another structure."""
        try:
            structure = relaxed(self._structure, dataset.element_spec)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"Incompatible dataset elements:\n  {self._structure} vs.   {dataset.element_spec}"
            ) from error
        return made("ConcatenateDataset", structure, self._variant_tensor, dataset._variant_tensor)

    def prefetch(
        self, buffer_size: Any = None, name: str | None = None, slack_period: int | None = None
    ) -> Dataset:
        """The elements, `buffer_size` of which are made before they are asked for."""
        size = number(AUTOTUNE if buffer_size is None else buffer_size, "buffer_size")
        return self._same(
            "PrefetchDataset", size, slack_period=slack_period or 0, legacy_autotune=False
        )

    def cache(self, filename: Any = "", name: str | None = None) -> Dataset:
        """Keeps the elements, once somebody has gone to the end: in memory, or in files."""
        return self._same("CacheDataset", as_tensor(filename, dtypes.string, "filename"))

    def shuffle(
        self,
        buffer_size: Any,
        seed: Any = None,
        reshuffle_each_iteration: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """The elements in another order: each is drawn from the `buffer_size` that come next. Equal
        seeds give TensorFlow's order; each epoch has another one, unless `reshuffle_each_iteration`
        is False."""
        size = number(buffer_size, "buffer_size")
        again = reshuffle_each_iteration is None or reshuffle_each_iteration
        return self._same("ShuffleDataset", size, *_seeds(seed), reshuffle_each_iteration=again)

    def enumerate(self, start: Any = 0, name: str | None = None) -> Dataset:
        """Pairs of a number, from `start` on, and an element."""
        return Dataset.zip((Dataset.range(start, LARGEST), self))

    # -- batches

    def batch(
        self,
        batch_size: Any,
        drop_remainder: bool = False,
        num_parallel_calls: Any = None,
        deterministic: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """`batch_size` elements as one, whose arrays have a dimension more. The last one may be
        smaller, unless `drop_remainder` leaves it out."""
        size = number(batch_size, "batch_size")
        drops = as_tensor(drop_remainder, dtypes.bool_, "drop_remainder")
        structure = batched(self._structure, size, drops)
        return made("BatchDatasetV2", structure, self._variant_tensor, size, drops)

    def padded_batch(
        self,
        batch_size: Any,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Batches of elements of different shapes, padded to `padded_shapes`, in which None means
        the largest of a batch. Raises `ValueError` for shapes and values of other structures."""
        from flowc.api.data.padding import padded

        return padded(self, batch_size, padded_shapes, padding_values, drop_remainder)

    def unbatch(self, name: str | None = None) -> Dataset:
        """An element for each row of an element. Raises `ValueError` where components are scalars
        or known to have other numbers of rows."""
        specs = nest.flatten(self._structure)
        rows = [spec.shape[0].value for spec in specs if spec.shape.ndims]
        known = [n for n in rows if n is not None]
        for n in known[1:]:
            if n != known[0]:
                raise ValueError(
                    "`unbatch()` is only supported for datasets of elements whose components have "
                    f"a matching leading dimension. Encountered both {known[0]} and {n}."
                )
        structure = nest.map_structure(lambda spec: spec.unbatched(), self._structure)
        source = self
        if any(isinstance(spec, SparseTensorSpec | RaggedTensorSpec) for spec in specs):

            def held_rows(*parts: Any) -> Any:
                value = parts if isinstance(self._structure, tuple) else parts[0]
                return tuple(s.hold_rows(v) for s, v in zip(specs, nest.flatten(value)))

            source = self.map(held_rows)
        return made("UnbatchDataset", structure, source._variant_tensor)

    def window(
        self,
        size: Any,
        shift: Any = None,
        stride: Any = 1,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Datasets of `size` elements, each `stride` after the other; a window begins `shift` after
        the one before (`size`, if None)."""
        structure = nest.map_structure(DatasetSpec, self._structure)
        return made(
            "WindowDataset",
            structure,
            self._variant_tensor,
            number(size, "size"),
            number(size if shift is None else shift, "shift"),
            number(stride, "stride"),
            as_tensor(drop_remainder, dtypes.bool_, "drop_remainder"),
        )

    # -- elements in groups, and single ones

    def apply(self, transformation_func: Callable[[Dataset], Any]) -> Any:
        """What a function makes of the dataset. Raises `TypeError` where the result is no
        dataset."""
        found = transformation_func(self)
        if not isinstance(found, Dataset):
            raise TypeError(
                f"`transformation_func` must return a `tf.data.Dataset` object. Got {type(found)}."
            )
        return found

    def group_by_window(
        self,
        key_func: Callable[..., Any],
        reduce_func: Callable[..., Any],
        window_size: Any = None,
        window_size_func: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> Dataset:
        """The elements of the datasets that `reduce_func(key, window)` makes of elements with one
        key (int64). Raises `ValueError` unless one of window size and its function is given."""
        from flowc.api.data.grouping import grouped_by_window

        return grouped_by_window(self, key_func, reduce_func, window_size, window_size_func)

    def bucket_by_sequence_length(self, *args: Any, **settings: Any) -> Dataset:
        """Padded batches of elements of like lengths, as
        `tf.data.experimental.bucket_by_sequence_length`, whose arguments it takes."""
        from flowc.api.data.grouping import bucket_by_sequence_length

        return bucket_by_sequence_length(*args, **settings)(self)

    def unique(self, name: str | None = None) -> Dataset:
        """Each element only once. Raises `TypeError` for elements of several components."""
        if not isinstance(self._structure, ComponentSpec):
            raise TypeError("`tf.data.Dataset.unique()` only supports elements of one component.")
        return self._same("UniqueDataset")

    def ignore_errors(self, log_warning: bool = False, name: str | None = None) -> Dataset:
        """The elements that can be made."""
        return self._same("IgnoreErrorsDataset", log_warning=log_warning)

    def cardinality(self, name: str | None = None) -> Tensor:
        """How many elements there are; `INFINITE_CARDINALITY`, or `UNKNOWN_CARDINALITY`."""
        return call("DatasetCardinality", self._variant_tensor)

    def get_single_element(self, name: str | None = None) -> Any:
        """The element of a dataset of one. A run raises `InvalidArgumentError` for none or
        several."""
        held = held_types(self._structure)
        op = create("DatasetToSingleElement", [self._variant_tensor], held)
        return value_from(self._structure, op.outputs)

    @staticmethod
    def sample_from_datasets(
        datasets: Sequence[Dataset],
        weights: Any = None,
        seed: Any = None,
        stop_on_empty_dataset: bool = False,
        rerandomize_each_iteration: Any = None,
    ) -> Dataset:
        """As `tf.data.experimental.sample_from_datasets`."""
        from flowc.api.data.mixing import sample_from_datasets

        return sample_from_datasets(datasets, weights, seed, stop_on_empty_dataset)

    @staticmethod
    def choose_from_datasets(
        datasets: Sequence[Dataset], choice_dataset: Dataset, stop_on_empty_dataset: bool = True
    ) -> Dataset:
        """As `tf.data.experimental.choose_from_datasets`."""
        from flowc.api.data.mixing import choose_from_datasets

        return choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset)

    # -- iterators and options

    def make_one_shot_iterator(self) -> iterators.Iterator:
        """As `tf.data.make_one_shot_iterator`."""
        return iterators.make_one_shot_iterator(self)

    def make_initializable_iterator(self, shared_name: str | None = None) -> iterators.Iterator:
        """As `tf.data.make_initializable_iterator`."""
        return iterators.make_initializable_iterator(self, shared_name)

    def options(self) -> Any:
        """The options that were given."""
        from flowc.api.data.options import DatasetOptions

        return self._options or DatasetOptions()

    def with_options(self, options: Any, name: str | None = None) -> Dataset:
        """The same dataset; options change how TensorFlow computes it, not what. Raises `TypeError`
        for what are no `tf.data.Options`."""
        from flowc.api.data.options import DatasetOptions

        if not isinstance(options, DatasetOptions):
            raise TypeError(f"with_options takes tf.data.Options, found {options!r}")
        found = self._same("OptionsDataset", serialized_options=b"")
        found._options = options
        return found


DatasetSpec.value_class = Dataset


def _of_components(op_type: str, structure: Any, tensors: Sequence[Tensor]) -> Dataset:
    held = held_types(structure)
    shapes = held["output_shapes"]
    return Dataset(call(op_type, list(tensors), output_shapes=shapes), structure)


def _seeds(seed: Any) -> tuple[Tensor, Tensor]:
    first, second = get_seed(seed)
    first, second = first or 0, second or 0
    if seed is not None and first == second == 0:
        second = (1 << 31) - 1
    return number(first, "seed"), number(second, "seed2")


def batched(structure: Any, size: Tensor, drops: Tensor) -> Any:
    """The structure of batches: of a known size where none is smaller."""
    known_drop, known_size = constant_elements(drops), constant_elements(size)
    rows = None
    if known_drop is not None and bool(known_drop) and known_size is not None:
        rows = int(known_size)
    return nest.map_structure(lambda spec: spec.batched(rows), structure)
