"""A call of each op of datasets and iterators, for `session_examples.py`.

In: nothing. Out: `DATASETS`, TensorFlow's op name -> a function that builds the call, and returns
what to fetch with the values that it should have. Most are the first element of a dataset.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import flowc as tf
from flowc.api.data.functions import traced

r: Any = tf.raw_ops
N = {"output_types": [tf.int64], "output_shapes": [[]]}
ROW = {"output_types": [tf.int64], "output_shapes": [[None]]}
VARIANT = {"output_types": [tf.variant], "output_shapes": [[]]}
DATASETS: dict[str, Callable[[], list[tuple[Any, Any]]]] = {}


def numbers(stop: int = 5) -> Any:
    return r.RangeDataset(start=0, stop=stop, step=1, **N)


def function(body: Callable[..., Any], given: Any = None) -> Any:
    spec = tf.TensorSpec([], tf.int64) if given is None else given
    return traced(body, spec, "example").reference


def first(dataset: Any, expected: Any, **says: Any) -> list[tuple[Any, Any]]:
    one = r.TakeDataset(input_dataset=dataset, count=1, **(says or N))
    found = r.DatasetToSingleElement(dataset=one, **(says or N))
    given = found if isinstance(found, list) else [found]
    wanted = expected if isinstance(expected, tuple) else (expected,)
    return list(zip(given, wanted, strict=True))


def _unary(op: str, expected: Any, says: Any = N, **given: Any) -> list[tuple[Any, Any]]:
    return first(getattr(r, op)(input_dataset=numbers(), **says, **given), expected, **says)


EVEN = lambda x: tf.equal(x % 2, 0)
TWICE = lambda x: x * 2
INNER = lambda x: tf.data.Dataset.range(x + 1)
SEEDS = {"seed": 3, "seed2": 5}
CALLS = {"other_arguments": [], "Targuments": []}
TURNS = {"cycle_length": 2, "block_length": 1}
AHEAD = {"buffer_output_elements": 1, "prefetch_input_elements": 1}

for _op, _expected, _given in (
    ("SkipDataset", 2, {"count": 2}),
    ("RepeatDataset", 0, {"count": 2}),
    ("ShardDataset", 1, {"num_shards": 2, "index": 1}),
    ("CacheDataset", 0, {"filename": ""}),
    ("AssertCardinalityDataset", 0, {"cardinality": 5}),
    ("IgnoreErrorsDataset", 0, {}),
    ("SleepDataset", 0, {"sleep_microseconds": 1}),
    ("OptionsDataset", 0, {"serialized_options": b""}),
    ("ModelDataset", 0, {}),
    ("OptimizeDataset", 0, {"optimizations": ["x"]}),
    (
        "OptimizeDatasetV2",
        0,
        {
            "optimizations_enabled": ["x"],
            "optimizations_disabled": ["y"],
            "optimizations_default": ["z"],
        },
    ),
    ("RewriteDataset", 0, {"rewrite_name": "x"}),
    ("AssertNextDataset", 0, {"transformations": ["x"]}),
    ("NonSerializableDataset", 0, {}),
    ("MaxIntraOpParallelismDataset", 0, {"max_intra_op_parallelism": 1}),
    ("PrivateThreadPoolDataset", 0, {"num_threads": 1}),
    ("LatencyStatsDataset", 0, {"tag": "x"}),
    ("BytesProducedStatsDataset", 0, {"tag": "x"}),
    ("PrefetchDataset", 0, {"buffer_size": 1}),
    ("ShuffleDataset", None, {"buffer_size": 3, **SEEDS}),
    ("ShuffleAndRepeatDataset", None, {"buffer_size": 3, "count": 2, **SEEDS}),
    ("UniqueDataset", 0, {}),
    ("ExperimentalUniqueDataset", 0, {}),
):
    DATASETS[_op] = partial(_unary, _op, _expected, **_given)
for _op, _expected, _given in (
    ("BatchDataset", [0, 1], {}),
    ("BatchDatasetV2", [0, 1], {"drop_remainder": False}),
    ("ParallelBatchDataset", [0, 1], {"drop_remainder": False, "num_parallel_calls": 2}),
):
    DATASETS[_op] = partial(_unary, _op, _expected, ROW, batch_size=2, **_given)


def _of_function(op: str, body: Any, expected: Any, **given: Any) -> list[tuple[Any, Any]]:
    name = "predicate" if body is EVEN else "f"
    made = getattr(r, op)(input_dataset=numbers(), **{name: function(body)}, **CALLS, **N, **given)
    return first(made, expected)


for _op, _body, _given in (
    ("MapDataset", TWICE, {}),
    ("ExperimentalMapDataset", TWICE, {}),
    ("ParallelMapDataset", TWICE, {"num_parallel_calls": 2}),
    ("ParallelMapDatasetV2", TWICE, {"num_parallel_calls": 2}),
    ("FilterDataset", EVEN, {}),
    ("TakeWhileDataset", EVEN, {}),
    ("ExperimentalTakeWhileDataset", EVEN, {}),
    ("FlatMapDataset", INNER, {}),
    ("InterleaveDataset", INNER, TURNS),
    ("ParallelInterleaveDatasetV2", INNER, {"num_parallel_calls": 2, **TURNS}),
    ("ParallelInterleaveDatasetV3", INNER, {"num_parallel_calls": 2, **TURNS}),
    ("ParallelInterleaveDatasetV4", INNER, {"num_parallel_calls": 2, **TURNS, **AHEAD}),
    ("LegacyParallelInterleaveDatasetV2", INNER, {**TURNS, **AHEAD}),
    ("ParallelInterleaveDataset", INNER, {"sloppy": False, **TURNS, **AHEAD}),
    ("ExperimentalParallelInterleaveDataset", INNER, {"sloppy": False, **TURNS, **AHEAD}),
):
    DATASETS[_op] = partial(_of_function, _op, _body, 0, **_given)


def _map_and_batch(op: str) -> list[tuple[Any, Any]]:
    made = getattr(r, op)(
        input_dataset=numbers(),
        f=function(TWICE),
        batch_size=2,
        num_parallel_calls=1,
        drop_remainder=False,
        **CALLS,
        **ROW,
    )
    return first(made, [0, 2], **ROW)


def _scan(op: str) -> list[tuple[Any, Any]]:
    number = tf.TensorSpec([], tf.int64)
    body = function(lambda s, x: (s + 1, s), (number, number))
    made = getattr(r, op)(
        input_dataset=numbers(), initial_state=[np.int64(7)], f=body, **CALLS, **N
    )
    return first(made, 7)


for _op in ("MapAndBatchDataset", "ExperimentalMapAndBatchDataset"):
    DATASETS[_op] = partial(_map_and_batch, _op)
for _op in ("ScanDataset", "ExperimentalScanDataset"):
    DATASETS[_op] = partial(_scan, _op)


def _pairs() -> Any:
    odd = r.MapDataset(
        input_dataset=numbers(),
        f=function(lambda x: (x, tf.equal(x % 2, 1))),
        **CALLS,
        output_types=[tf.int64, tf.bool],
        output_shapes=[[], []],
    )
    return first(r.FilterByLastComponentDataset(input_dataset=odd, **N), 1)


def _rows() -> Any:
    return r.BatchDatasetV2(input_dataset=numbers(), batch_size=2, drop_remainder=False, **ROW)


def _padded(op: str) -> list[tuple[Any, Any]]:
    given = {"drop_remainder": False} if op.endswith("V2") else {}
    made = getattr(r, op)(
        input_dataset=_rows(),
        batch_size=3,
        padded_shapes=[np.array([3], np.int64)],
        padding_values=[np.int64(-1)],
        output_shapes=[[None, 3]],
        **given,
    )
    wanted = [[0, 1, -1], [2, 3, -1], [4, -1, -1]]
    return first(made, wanted, output_types=[tf.int64], output_shapes=[[None, 3]])


DATASETS["FilterByLastComponentDataset"] = _pairs
DATASETS["PaddedBatchDataset"] = partial(_padded, "PaddedBatchDataset")
DATASETS["PaddedBatchDatasetV2"] = partial(_padded, "PaddedBatchDatasetV2")
for _op in ("UnbatchDataset", "ExperimentalUnbatchDataset"):
    DATASETS[_op] = lambda op=_op: first(getattr(r, op)(input_dataset=_rows(), **N), 0)


def _joined() -> list[tuple[Any, Any]]:
    pair = {"output_types": [tf.int64] * 2, "output_shapes": [[]] * 2}
    both = r.ConcatenateDataset(input_dataset=numbers(0), another_dataset=numbers(), **N)
    made = r.ZipDataset(input_datasets=[both, numbers()], **pair)
    return [*first(made, (0, 0), **pair), (r.DatasetCardinality(input_dataset=made), 5)]


DATASETS["ConcatenateDataset"] = DATASETS["ZipDataset"] = DATASETS["DatasetCardinality"] = _joined


def _sources() -> list[tuple[Any, Any]]:
    tensors = r.TensorDataset(components=[np.int64(4)], output_shapes=[[]])
    slices = r.TensorSliceDataset(components=[np.arange(3)], output_shapes=[[]])
    words = {"output_types": [tf.int64], "output_shapes": [[]]}
    random = r.RandomDataset(seed=5, seed2=1, **words)
    old = r.ExperimentalRandomDataset(seed=5, seed2=1, **words)
    return [*first(tensors, 4), *first(slices, 0), *first(random, None), *first(old, None)]


for _op in ("TensorDataset", "TensorSliceDataset", "RandomDataset", "ExperimentalRandomDataset"):
    DATASETS[_op] = _sources
DATASETS["RangeDataset"] = lambda: first(numbers(), 0)


def _seeded(op: str) -> list[tuple[Any, Any]]:
    given = {"count": 2} if "Repeat" in op else {}
    handle = r.DummySeedGenerator()
    made = getattr(r, op)(
        input_dataset=numbers(), buffer_size=2, seed_generator=handle, **SEEDS, **given, **N
    )
    return first(made, None)


for _op in ("ShuffleDatasetV3", "ShuffleAndRepeatDatasetV2"):
    DATASETS[_op] = partial(_seeded, _op)
DATASETS["DummySeedGenerator"] = partial(_seeded, "ShuffleDatasetV3")


def _cached() -> list[tuple[Any, Any]]:
    handle = r.DummyMemoryCache()
    made = r.CacheDatasetV2(input_dataset=numbers(), filename="", cache=handle, **N)
    wrapped = r.UnwrapDatasetVariant(input_handle=r.WrapDatasetVariant(input_handle=made))
    return first(wrapped, 0)


for _op in ("CacheDatasetV2", "DummyMemoryCache", "WrapDatasetVariant", "UnwrapDatasetVariant"):
    DATASETS[_op] = _cached


def _directed(op: str) -> list[tuple[Any, Any]]:
    made = getattr(r, op)(
        selector_input_dataset=numbers(), data_input_datasets=[numbers(3), numbers(2)], **N
    )
    return first(made, 0)


for _op in ("DirectedInterleaveDataset", "ExperimentalDirectedInterleaveDataset"):
    DATASETS[_op] = partial(_directed, _op)


def _sparse() -> list[tuple[Any, Any]]:
    given = tf.SparseTensor([[0, 1], [1, 0]], [5, 6], [2, 3])
    parts = {
        "output_types": [tf.int64, tf.int32, tf.int64],
        "output_shapes": [[None, 1], [None], [1]],
    }
    rows = r.SparseTensorSliceDataset(
        indices=given.indices, values=given.values, dense_shape=given.dense_shape
    )
    held = {"sparse_indices": given.indices, "sparse_values": given.values}
    held["sparse_shape"] = given.dense_shape
    whole = r.SerializeSparse(**held, out_type=tf.variant)
    many = r.SerializeManySparse(**held, out_type=tf.variant)
    back = r.DeserializeSparse(serialized_sparse=whole, dtype=tf.int32)
    joined = r.DeserializeSparse(serialized_sparse=many, dtype=tf.int32)
    found = first(rows, ([[1]], [5], [3]), **parts)
    text = r.SerializeManySparse(**held)
    read = r.DeserializeManySparse(serialized_sparse=text, dtype=tf.int32)
    return [
        *found,
        (back[1], [5, 6]),
        (joined[0], [[0, 1], [1, 0]]),
        (read[0], [[0, 1], [1, 0]]),
        (read[1], [5, 6]),
    ]


for _op in ("SparseTensorSliceDataset", "SerializeSparse", "SerializeManySparse"):
    DATASETS[_op] = _sparse
DATASETS["DeserializeSparse"] = DATASETS["DeserializeManySparse"] = _sparse


def _dense_to_sparse() -> list[tuple[Any, Any]]:
    says = {"output_types": [tf.variant], "output_shapes": [[3]]}
    made = r.DenseToSparseBatchDataset(
        input_dataset=_rows(), batch_size=3, row_shape=np.array([4], np.int64), **says
    )
    (held,) = r.DatasetToSingleElement(dataset=made, **says)
    return [(r.DeserializeSparse(serialized_sparse=held, dtype=tf.int64)[1], range(5))]


DATASETS["DenseToSparseBatchDataset"] = _dense_to_sparse


def _windows() -> list[tuple[Any, Any]]:
    made = r.WindowDataset(
        input_dataset=numbers(), size=2, shift=2, stride=1, drop_remainder=False, **VARIANT
    )
    (window,) = r.DatasetToSingleElement(
        dataset=r.TakeDataset(input_dataset=made, count=1, **VARIANT), **VARIANT
    )
    return first(window, 0)


DATASETS["WindowDataset"] = _windows


def _groups(op: str) -> list[tuple[Any, Any]]:
    number = tf.TensorSpec([], tf.int64)
    names = ("key_func", "reduce_func", "window_size_func")
    made = getattr(r, op)(
        input_dataset=numbers(),
        key_func=function(lambda x: x % 2),
        reduce_func=function(lambda k, w: w, (number, tf.data.DatasetSpec(number))),
        window_size_func=function(lambda k: k + 2),
        **{f"{n}_other_arguments": [] for n in names},
        **{f"T{n}_other_arguments": [] for n in names},
        **N,
    )
    return first(made, 0)


def _reducer() -> list[tuple[Any, Any]]:
    number = tf.TensorSpec([], tf.int64)
    names = ("key_func", "init_func", "reduce_func", "finalize_func")
    made = r.GroupByReducerDataset(
        input_dataset=numbers(),
        key_func=function(lambda x: x % 2),
        init_func=function(lambda k: k * 0),
        reduce_func=function(lambda s, x: s + x, (number, number)),
        finalize_func=function(lambda s: s),
        **{f"{n}_other_arguments": [] for n in names},
        **{f"T{n}_other_arguments": [] for n in names},
        **N,
    )
    return first(made, 6)


for _op in ("GroupByWindowDataset", "ExperimentalGroupByWindowDataset"):
    DATASETS[_op] = partial(_groups, _op)
DATASETS["GroupByReducerDataset"] = _reducer


def _generator() -> list[tuple[Any, Any]]:
    number = tf.TensorSpec([], tf.int64)
    made = r.GeneratorDataset(
        init_func_other_args=[],
        next_func_other_args=[],
        finalize_func_other_args=[],
        init_func=function(lambda: tf.constant(3, tf.int64), ()),
        next_func=function(lambda x: x * 2, number),
        finalize_func=function(lambda x: x, number),
        **N,
    )
    return first(made, 6)


DATASETS["GeneratorDataset"] = _generator


def _reduced() -> Any:
    return tf.data.Dataset.range(5).reduce(np.int64(0), lambda a, x: a + x)


DATASETS["ReduceDataset"] = lambda: [(_reduced(), 10)]
DATASETS["TakeDataset"] = DATASETS["DatasetToSingleElement"] = _sources
