"""Maps and ragged tensors that variants hold, in loops, branches, functions, lists and datasets."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf
import tensorflow.python.ops.map_ops  # registers the gradients of maps

tf1, raw = tf.compat.v1, tf.raw_ops

unknown = lambda value: tf1.placeholder_with_default(value, None)
empty = raw.EmptyTensorMap
size = lambda held: raw.TensorMapSize(input_handle=held)
SPLITS = np.array([0, 2, 2, 6], np.int64)


def insert(held: Any, key: Any, value: Any) -> Any:
    return raw.TensorMapInsert(input_handle=held, key=key, value=value)


def found(held: Any, key: Any, dtype: Any = tf.float32) -> Any:
    return raw.TensorMapLookup(input_handle=held, key=key, value_dtype=dtype)


def erased(held: Any, key: Any) -> Any:
    return raw.TensorMapErase(input_handle=held, key=key, value_dtype=tf.float32)


def stacked(held: Any, dtype: Any = tf.float32) -> Any:
    return raw.TensorMapStackKeys(input_handle=held, key_dtype=dtype)


def encoded(splits: Any, values: Any, batched: bool = True) -> Any:
    return raw.RaggedTensorToVariant(
        rt_nested_splits=splits, rt_dense_values=values, batched_input=batched
    )


def decoded(held: Any, inner: int, outer: int, dtype: Any = tf.float64) -> Any:
    parts = raw.RaggedTensorFromVariant(
        encoded_ragged=held,
        input_ragged_rank=inner,
        output_ragged_rank=outer,
        Tvalues=dtype,
        Tsplits=tf.int64,
    )
    return [*parts.output_nested_splits, parts.output_dense_values]


def _split(splits: list[int]) -> Any:
    """Rows of three numbers."""
    given = unknown(np.array(splits, np.int64))
    return decoded(encoded([given], unknown(np.arange(3.0))), 0, 1)


def _slope(function: Any, value: Any) -> Any:
    given = tf.constant(value)
    return tf1.gradients(tf.reduce_sum(function(given) * 3.0), given)


def _branch(x: Any) -> Any:
    held = insert(insert(empty(), 1.0, x * x), 2.0, x)
    taken = tf.cond(unknown(True), lambda: held, lambda: insert(held, 1.0, x * x * x))
    return found(taken, 1.0)


def _counted(limit: int) -> Any:
    loop = lambda i, held: (i + 1, insert(held, i % 3, i * i))
    return tf.while_loop(lambda i, _: i < limit, loop, [0, empty()])[1]


def _listed(held: Any) -> Any:
    shape = tf.constant([], tf.int32)
    kept = raw.EmptyTensorList(element_shape=shape, max_num_elements=-1, element_dtype=tf.variant)
    kept = raw.TensorListPushBack(input_handle=kept, tensor=held)
    return raw.TensorListGetItem(
        input_handle=kept, index=0, element_shape=shape, element_dtype=tf.variant
    )


def _rows(values: Any = None) -> Any:
    values = np.arange(6.0) if values is None else values
    return tf.RaggedTensor.from_row_splits(values, SPLITS)


def _next(dataset: Any) -> Any:
    return tf.nest.flatten(
        tf1.data.make_one_shot_iterator(dataset).get_next(), expand_composites=True
    )


_grown = lambda i: tf.RaggedTensor.from_row_splits(tf.range(2 * i), tf.stack([0, i, 2 * i]))
_one = lambda: insert(empty(), unknown(np.float32(1)), 2.0)

EXPRESSIONS = {
    "map in a loop": lambda: [size(_counted(5)), found(_counted(5), 1, tf.int32)],
    "map in a branch": lambda: _branch(tf.constant(3.0)),
    "map in a list": lambda: size(_listed(insert(_one(), 5.0, 1.0))),
    "map in a map": lambda: size(found(insert(empty(), "m", _one()), "m", tf.variant)),
    "map through a function": lambda: found(
        tf.function(lambda held, x: insert(held, 3.0, x * x))(_one(), tf.constant(4.0)), 3.0
    ),
    "gradient of a map in a branch": lambda: _slope(_branch, 3.0),
    "gradient of a map through a function": lambda: _slope(
        lambda x: found(tf.function(lambda held, y: insert(held, 3.0, y * y))(_one(), x), 3.0), 4.0
    ),
    "sum of maps": lambda: found(tf.add_n([_one(), _one()]), 1.0),
    "map without a key": lambda: found(_one(), 2.0),
    "map without a key of several": lambda: found(_one(), [[1, 2], [3, 4]]),
    "map without what is erased": lambda: size(erased(_one(), 2.0)),
    "map that is empty": lambda: stacked(empty()),
    "map with keys of another dtype": lambda: stacked(_one(), tf.float64),
    "map with keys of two shapes": lambda: stacked(insert(_one(), [1.0, 2.0], 1.0)),
    "list that is no map": lambda: size(
        raw.TensorListFromTensor(tensor=[1.0, 2.0], element_shape=tf.constant([], tf.int32))
    ),
    "ragged that is no map": lambda: size(encoded([SPLITS], np.arange(6.0), False)),
    "several that are no map": lambda: size(encoded([SPLITS], np.arange(6.0))),
    "ragged splits that rise too late": lambda: _split([1, 3]),
    "ragged splits that fall": lambda: _split([0, 2, 1, 3]),
    "ragged splits that end early": lambda: _split([0, 2]),
    "ragged splits of nothing": lambda: _split([]),
    "ragged of another dtype": lambda: decoded(encoded([SPLITS], np.arange(6.0)), 0, 1, tf.int32),
    "ragged of another rank": lambda: decoded(encoded([SPLITS], np.arange(6.0)), 1, 2),
    "ragged of values that differ": lambda: decoded(
        tf.stack([encoded([], np.zeros((1, n)), False) for n in (2, 3)]), 0, 1
    ),
    "ragged that is a map": lambda: decoded(tf.stack([_one()]), 0, 1),
    "map_fn of ragged": lambda: tf.nest.flatten(
        tf.map_fn(lambda row: row * 2 + 1, _rows()), expand_composites=True
    ),
    "map_fn of ragged to numbers": lambda: tf.map_fn(
        tf.reduce_sum, _rows(), fn_output_signature=tf.float64
    ),
    "gradient of map_fn of ragged": lambda: _slope(
        lambda x: tf.map_fn(
            lambda row: tf.reduce_sum(row**2), _rows(x), fn_output_signature=tf.float64
        ),
        np.arange(6.0),
    ),
    "dataset of ragged": lambda: _next(
        tf.data.Dataset.range(4).map(lambda i: _grown(tf.cast(i, tf.int64))).skip(1)
    ),
    "dataset of ragged batches": lambda: _next(
        tf.data.Dataset.range(4).map(lambda i: _grown(tf.cast(i, tf.int64))).batch(4)
    ),
}
