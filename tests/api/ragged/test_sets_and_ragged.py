"""`tf.sets`, `tf.ragged` and names under a second roof: what is expected was seen in TensorFlow
2.21."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flowc as tf


def value(fetches: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        return session.run(fetches, feeds)


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default():
        yield


def listed(sparse: Any) -> list[Any]:
    found = value(sparse)
    return [found.indices.tolist(), found.values.tolist(), found.dense_shape.tolist()]


def test_sets_of_dense_and_sparse_tensors() -> None:
    a, b = [[1, 2, 2], [3, 4, 5]], [[2, 9], [4, 4]]
    sparse = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [1, 2, 4], [2, 3])
    places = [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
    assert listed(tf.sets.union(a, b)) == [places, [1, 2, 9, 3, 4, 5], [2, 3]]
    assert listed(tf.sets.intersection(a, b)) == [[[0, 0], [1, 0]], [2, 4], [2, 1]]
    assert listed(tf.sets.difference(a, b)) == [[[0, 0], [1, 0], [1, 1]], [1, 3, 5], [2, 2]]
    assert listed(tf.sets.difference(sparse, b)) == [[[0, 0]], [1], [2, 1]]
    assert listed(tf.sets.difference(sparse, b, aminusb=False)) == [[[0, 0]], [9], [2, 1]]
    assert value(tf.sets.size(tf.sets.set_union(sparse, b))).tolist() == [3, 1]
    with pytest.raises(TypeError, match="Expected SparseTensor"):
        tf.sets.size([[1]])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Types don't match"):
        tf.sets.union([[1]], [["a"]])


def test_ragged_constants() -> None:
    made = tf.ragged.constant([[[1], [2, 3]], []], name="c")
    found = value(made)
    assert str(found) == "<tf.RaggedTensorValue [[[1], [2, 3]], []]>"
    assert (made.ragged_rank, made.flat_values.dtype) == (2, tf.int32)
    rows = tf.ragged.constant([[[1, 2]], [[3, 4], [5, 6]]], ragged_rank=1)
    assert rows.values.shape.as_list() == [3, 2]
    assert value(tf.ragged.constant([1, 2])).tolist() == [1, 2]
    assert value(tf.ragged.constant(5)) == 5
    with pytest.raises(ValueError, match="same nesting depth"):
        tf.ragged.constant([[1, [2]]])
    with pytest.raises(ValueError, match="greater than scalar value nesting"):
        tf.ragged.constant([[[]], [1]])
    with pytest.raises(ValueError, match="requires scalar value depth"):
        tf.ragged.constant([[1]], ragged_rank=3)


def test_ragged_placeholders_and_their_partitions() -> None:
    rows = tf.ragged.placeholder(tf.float32, 2, [2])
    fed = tf.ragged.constant_value([[[[1, 2]]], [[], [[3, 4]]]], dtype="float32", ragged_rank=2)
    dense = value(rows.to_tensor(), {rows: fed})
    assert dense.tolist() == [[[[1, 2]], [[0, 0]]], [[[0, 0]], [[3, 4]]]]
    with pytest.raises(TypeError, match=r"a RaggedTensor takes a RaggedTensorValue"):
        value(rows.to_tensor(), {rows: 3})
    ids = tf.ragged.row_splits_to_segment_ids([0, 3, 3, 5])
    splits = tf.ragged.segment_ids_to_row_splits([0, 0, 2], num_segments=5, out_type=tf.int32)
    assert [v.tolist() for v in value([ids, splits])] == [[0, 0, 0, 2, 2], [0, 2, 2, 3, 3, 3]]
    scaled = tf.ragged.map_flat_values(tf.multiply, tf.ragged.constant([[1, 2], [3]]), 10)
    assert value(scaled).to_list() == [[10, 20], [30]]
    with pytest.raises(ValueError, match="outer-dimension size"):
        tf.ragged.map_flat_values(tf.reduce_sum, tf.ragged.constant([[1, 2], [3]]))


def test_names_under_a_second_roof(tmp_path: Path) -> None:
    x = tf.constant([1.5, 300])
    assert value(tf.dtypes.cast(x, tf.int32)).tolist() == [1, 300]
    assert value(tf.dtypes.saturate_cast(x, tf.uint8)).tolist() == [1, 255]
    eye = value(tf.sparse.to_dense(tf.sparse.eye(2, 3)))
    assert eye.tolist() == [[1, 0, 0], [0, 1, 0]]
    assert (tf.saved_model.SERVING, tf.saved_model.PREDICT_INPUTS) == ("serve", "inputs")
    (tmp_path / "f").write_text("a")
    assert tf.io.gfile.listdir(str(tmp_path)) == ["f"]
    assert tf.io.gfile.exists(tf.io.gfile.join(str(tmp_path), "f"))


def test_patches_of_volumes() -> None:
    volume = tf.constant(np.arange(27, dtype=np.float32).reshape(1, 3, 3, 3, 1))
    found = tf.extract_volume_patches(volume, [1, 2, 2, 2, 1], [1, 1, 1, 1, 1], "VALID")
    patches = value(found)
    assert patches.shape == (1, 2, 2, 2, 8)
    assert patches[0, 0, 0, 0].tolist() == [0, 1, 3, 4, 9, 10, 12, 13]


def test_what_is_fetched_and_fed_in_parts() -> None:
    sparse = tf.sparse_placeholder(tf.float32, [3, 3])
    with pytest.raises(ValueError, match="a value of 2 parts: a SparseTensor takes"):
        value(sparse.values, {sparse: ([[0, 1]], [2.0])})
    assert value(defaultdict(list, a=tf.constant(1)))["a"] == 1
    with pytest.raises(TypeError, match="Argument `feed_list` must be a list or tuple"):
        tf.Session().make_callable(sparse.values, feed_list=sparse)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="graph_def must be of type GraphDef"):
        tf.train.export_meta_graph(graph_def=3)
