"""TensorLists: elements that were never set, elements of several ranks, lists that are full."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

tf1, raw, f32 = tf.compat.v1, tf.raw_ops, tf.float32

unknown = lambda value: tf1.placeholder_with_default(value, None)
NO_SHAPE = -1


def reserved(rows: int, shape: Any = NO_SHAPE) -> Any:
    return raw.TensorListReserve(
        element_shape=tf.constant(shape, tf.int32), num_elements=rows, element_dtype=f32
    )


def with_item(held: Any, index: int, item: Any) -> Any:
    return raw.TensorListSetItem(input_handle=held, index=index, item=item)


def partly_set(*lengths: int, shape: Any = NO_SHAPE) -> Any:
    """A list of four elements, of which the first ones are set."""
    held = reserved(4, shape)
    for i, length in enumerate(lengths):
        held = with_item(held, i, np.full((length, 2), 1 + i, np.float32))
    return held


def joined(held: Any, leading: Any, shape: Any = NO_SHAPE) -> Any:
    return raw.TensorListConcatV2(
        input_handle=held,
        element_shape=tf.constant(shape, tf.int32),
        leading_dims=tf.cast(leading, tf.int64),
        element_dtype=f32,
    )


def empty(limit: int = -1, shape: Any = ()) -> Any:
    return raw.EmptyTensorList(
        element_shape=tf.constant(shape, tf.int32), max_num_elements=limit, element_dtype=f32
    )


def pushed(held: Any, *items: Any) -> Any:
    for item in items:
        held = raw.TensorListPushBack(input_handle=held, tensor=item)
    return held


def stacked(held: Any, shape: Any = NO_SHAPE) -> Any:
    return raw.TensorListStack(
        input_handle=held, element_shape=tf.constant(shape, tf.int32), element_dtype=f32
    )


def _counted(times: int, limit: int) -> Any:
    body = lambda i, held: (i + 1, pushed(held, tf.cast(i, f32)))
    return tf.while_loop(lambda i, _: i < times, body, [0, empty(limit)])[1]


def _split_gradient() -> Any:
    """That of a tensor of whose pieces some are read only."""
    x = tf.constant(np.arange(12, dtype=np.float32).reshape(6, 2))
    pieces = raw.TensorListSplit(
        tensor=x, element_shape=[-1, 2], lengths=tf.constant([1, 3, 2], tf.int64)
    )
    item = raw.TensorListGetItem(
        input_handle=pieces, index=1, element_shape=[-1, 2], element_dtype=f32
    )
    return tf1.gradients(tf.reduce_sum(item * item), x)


EXPRESSIONS = {
    "join of unset as the others": lambda: joined(partly_set(2, 2), []),
    "join of unset by leading dims": lambda: joined(partly_set(2, 2), [9, 9, 1, 3]),
    "join of unset by some leading dims": lambda: joined(partly_set(2, 2), [9, 9, 1]),
    "join of unset of unlike": lambda: joined(partly_set(2, 4), [9, 9, 1, 3]),
    "join of unset of unlike without length": lambda: joined(partly_set(2, 4), [9, 9, 1]),
    "join of unset of a stated length": lambda: joined(partly_set(2, 2), [9, 9, 1], [2, 2]),
    "join of unlike of a stated length": lambda: joined(partly_set(2, 4), [9, 9, 1, 1], [2, 2]),
    "join of unset of a whole shape": lambda: joined(
        partly_set(3, shape=[3, 2]), unknown(np.array([1, 1, 1], np.int64))
    ),
    "join of nothing set": lambda: joined(reserved(3), [1, 2, 3], [-1, 2]),
    "join of nothing set and no shape": lambda: joined(reserved(3), [1, 2, 3]),
    "join of scalars": lambda: joined(with_item(reserved(1), 0, 1.0), [1]),
    "join of no elements": lambda: joined(reserved(0), [], [-1, 2]),
    "join of no elements of a whole shape": lambda: joined(reserved(0, [3, 2]), [], [3, 2]),
    "join of no elements of no shape": lambda: joined(reserved(0), []),
    "push to a full list": lambda: stacked(pushed(empty(1), 1.0, 2.0)),
    "push to a full list in a loop": lambda: stacked(_counted(5, 3)),
    "push to a list that is just full": lambda: stacked(_counted(3, 3)),
    "zeros like a list": lambda: stacked(tf.zeros_like(pushed(empty(2), 1.0, 2.0))),
    "gradient of pieces that nobody reads": _split_gradient,
}
