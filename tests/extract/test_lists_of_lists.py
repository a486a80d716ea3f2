"""Lists that a loop puts into a list before anything tells what their elements are like, as the
accumulators for gradients do that TensorFlow adds to a loop that maps. Expected values: what
TensorFlow 2.21 gives.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flowc as tf
from flowc.errors import UnsupportedError

raw = tf.raw_ops


def accumulated(writes: bool) -> tuple[Any, Any]:
    """(what the loop made of a list, the list of what it was before each iteration)."""
    x = tf.placeholder(tf.float32, [None], name="x")
    n = tf.placeholder(tf.int32, [], name="n")
    unset = raw.TensorListReserve(element_shape=-1, num_elements=n, element_dtype=tf.float32)
    empty = raw.EmptyTensorList(
        element_shape=np.zeros(0, np.int32), max_num_elements=n, element_dtype=tf.variant
    )

    def body(i: Any, mapped: Any, kept: Any) -> tuple[Any, Any, Any]:
        kept = raw.TensorListPushBack(input_handle=kept, tensor=mapped)
        if writes:
            item = x * tf.cast(i + 1, tf.float32)
            mapped = raw.TensorListSetItem(input_handle=mapped, index=i, item=item)
        return i + 1, mapped, kept

    _, mapped, kept = tf.while_loop(lambda i, *_: i < n, body, [tf.constant(0), unset, empty])
    return mapped, kept


def taken(kept: Any) -> tuple[Any, Any]:
    rest, last = raw.TensorListPopBack(
        input_handle=kept, element_shape=np.zeros(0, np.int32), element_dtype=tf.variant
    )
    return rest, last


def item(held: Any, index: int) -> Any:
    return raw.TensorListGetItem(
        input_handle=held, index=index, element_shape=-1, element_dtype=tf.float32
    )


def test_a_list_is_put_into_a_list_before_its_elements_have_a_shape() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        mapped, kept = accumulated(writes=True)
        rest, last = taken(kept)
        _, before = taken(rest)
        whole = raw.TensorListStack(input_handle=mapped, element_shape=-1, element_dtype=tf.float32)
        counts = [raw.TensorListLength(input_handle=held) for held in (kept, last)]
        found = session.run(
            [whole, item(last, 1), item(before, 0), *counts], {"x:0": [1.0, 2.0], "n:0": 4}
        )
    whole, second, first, count, rows = found
    assert whole.tolist() == [[1, 2], [2, 4], [3, 6], [4, 8]]
    assert (second.tolist(), first.tolist(), int(count), int(rows)) == ([2, 4], [1, 2], 4, 4)


def test_lists_without_elements_have_no_length_behind_a_loop() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        _, kept = accumulated(writes=False)
        count = raw.TensorListLength(input_handle=kept)
        with pytest.raises(UnsupportedError, match="changes the length of list 'list_2'"):
            session.run(count, {"x:0": [1.0, 2.0], "n:0": 4})
