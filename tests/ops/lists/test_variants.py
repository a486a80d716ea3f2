"""Maps and ragged tensors in variants: through loops, and what TensorFlow refuses, refused as it
does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from calls.variant_calls import ONE, ROW, SPLITS, TWO, VALUES, VARIANT_CALLS

import flowc as tf
from flowc.errors import InternalError

r: Any = tf.raw_ops


def _refused(text: str, *fetches: Any) -> None:
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match=text):
        session.run(fetches)


def test_a_map_that_a_loop_fills() -> None:
    def fill(i: Any, held: Any) -> Any:
        return i + 1, r.TensorMapInsert(input_handle=held, key=i % 3, value=i * i)

    _, held = tf.while_loop(lambda i, _: i < 5, fill, [tf.constant(0), r.EmptyTensorMap()])
    last = r.TensorMapLookup(input_handle=held, key=1, value_dtype=tf.int32)
    with tf.Session() as session:
        assert session.run([r.TensorMapSize(input_handle=held), last]) == [3, 16]


def test_maps_are_refused_as_tensorflow_does() -> None:
    held = r.TensorMapInsert(input_handle=r.EmptyTensorMap(), key=ONE, value=ROW)
    of = {"input_handle": held}
    key = np.array([[1, 2], [3, 4]], np.int32)
    stack = r.TensorMapStackKeys
    _refused(
        r'lookup non-existent key. Could not find key "\[1 2\]\[3 4\]"',
        r.TensorMapLookup(**of, key=key, value_dtype=tf.float32),
    )
    _refused(
        'erase non-existent item. Could not find key "2"',
        r.TensorMapErase(**of, key=TWO, value_dtype=tf.float32),
    )
    _refused("on empty map", stack(input_handle=r.EmptyTensorMap(), key_dtype=tf.float32))
    _refused("Key does not match requested dtype", stack(**of, key_dtype=tf.int32))
    both = r.TensorMapInsert(**of, key=ROW, value=ROW)
    _refused("Keys must all have the same shape", stack(input_handle=both, key_dtype=tf.float32))
    _refused("must be a scalar. Saw: \\[2\\]", r.TensorMapSize(input_handle=tf.stack([held, held])))
    rows = tf.constant(VALUES)
    kept = r.TensorListFromTensor(tensor=rows, element_shape=np.array([2], np.int32))
    _refused("is not a map. Saw: 'Variant<type: .*TensorList", r.TensorMapSize(input_handle=kept))
    _refused("the value is of dtype float", r.TensorMapLookup(**of, key=ONE, value_dtype=tf.int32))


def test_ragged_tensors_are_refused_as_tensorflow_does() -> None:
    def decoded(held: Any, dtype: Any = tf.float32, inner: int = 0) -> Any:
        return r.RaggedTensorFromVariant(
            encoded_ragged=held,
            input_ragged_rank=inner,
            output_ragged_rank=1 + inner,
            Tvalues=dtype,
            Tsplits=tf.int64,
        )[1]

    def encoded(splits: Any, values: Any = VALUES) -> Any:
        return r.RaggedTensorToVariant(
            rt_nested_splits=splits, rt_dense_values=values, batched_input=True
        )

    for splits, text in (
        ([1, 3], "first element of ragged splits  must be 0 but is 1"),
        ([0, 2, 1, 3], r"ragged_splits\[2\]=1 is smaller than row_splits\[1\]=2"),
        ([0, 2], r"the number of ragged values\(3\) but is 2"),
    ):
        _refused(text, decoded(encoded([np.array(splits, np.int64)])))
    _refused("dtype: int32, found: float", decoded(encoded([SPLITS]), tf.int32))
    _refused("ragged_rank=0.  Expected ragged_rank=1", decoded(encoded([SPLITS]), inner=1))
    whole = [
        r.RaggedTensorToVariant(rt_nested_splits=[], rt_dense_values=v, batched_input=False)
        for v in (VALUES, VALUES[:, :1])
    ]
    _refused(r"compatible shapes.  Shape at index 0: \[2\]", decoded(tf.stack(whole)))
    _refused("doesn't hold a RaggedTensorVariant", decoded(tf.stack([r.EmptyTensorMap()])))


def test_sums_of_what_has_none() -> None:
    mixed = [
        r.EmptyTensorMap(),
        r.RaggedTensorToVariant(rt_nested_splits=[], rt_dense_values=VALUES, batched_input=False),
    ]
    _refused("there is no sum", r.TensorMapSize(input_handle=r.AddN(inputs=mixed)))
    _refused("AddN of non-scalar", r.TensorMapSize(input_handle=r.AddN(inputs=[tf.stack(mixed)])))
    _refused("ZerosLike non-scalar", r.TensorMapSize(input_handle=r.ZerosLike(x=tf.stack(mixed))))


def test_shapes_known_before_a_run() -> None:
    (call, *_) = VARIANT_CALLS["RaggedTensorToVariant"]
    splits, values = call(r)
    assert splits.shape.as_list() == [None] and values.shape.ndims is None


def test_a_step_that_gives_no_array_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from flowc.ops.lists import tensor_maps

    monkeypatch.setattr(tensor_maps, "_added", lambda one, other: one[()] + other[()])
    held = [r.TensorMapInsert(input_handle=r.EmptyTensorMap(), key=ONE, value=ONE)] * 2
    found = r.TensorMapLookup(input_handle=r.AddN(inputs=held), key=ONE, value_dtype=tf.float32)
    with tf.Session() as session, pytest.raises(InternalError, match="no array"):
        session.run(found)


def test_the_sum_over_no_axes_is_differentiated_where_only_a_run_knows_the_rank() -> None:
    x = tf.constant(3.0)
    held = r.TensorMapInsert(input_handle=r.EmptyTensorMap(), key=ONE, value=x * x)
    found = r.TensorMapLookup(input_handle=held, key=ONE, value_dtype=tf.float32)
    with tf.Session() as session:
        assert session.run(tf.gradients(tf.reduce_sum(found), x)) == [6.0]


def test_tensor_arrays_hold_what_only_python_knows() -> None:
    """As `map_fn` over rows of a ragged tensor makes them without control flow of version 2."""
    with tf.Graph().as_default(), tf.Session() as session:
        splits, values = np.array([0, 3, 3, 5], np.int64), np.array([b"a", b"b", b"c", b"d", b"e"])
        rows = r.RaggedTensorToVariant(
            rt_nested_splits=[splits], rt_dense_values=values, batched_input=True
        )
        made = r.TensorArrayV3(size=3, dtype=tf.variant)
        flow = r.TensorArrayScatterV3(
            handle=made.handle, indices=np.arange(3, dtype=np.int32), value=rows, flow_in=made.flow
        )
        found: list[Any] = []
        for k in range(3):
            row = r.TensorArrayReadV3(
                handle=made.handle, index=np.int32(k), flow_in=flow, dtype=tf.variant
            )
            taken = r.RaggedTensorFromVariant(
                encoded_ragged=row, input_ragged_rank=0, output_ragged_rank=0, Tvalues=tf.string,
                Tsplits=tf.int64,
            )  # fmt: skip
            found.append(taken.output_dense_values)
        assert [row.tolist() for row in session.run(found)] == [
            [b"a", b"b", b"c"],
            [],
            [b"d", b"e"],
        ]
