"""Graphs of f32 as graphs of f64 (`benchmarks/peers/widen.py`): they run in TensorFlow, results
keep their names, and differ from those of f32 by its rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.oracle


def results(graph: Any, image: np.ndarray, *fetches: str) -> list[np.ndarray]:
    import tensorflow as tf

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        tf.import_graph_def(graph, name="")
        return session.run(list(fetches), {"x:0": image})


def network() -> Any:
    """A convolution with batch norm, and boxes out of an image: ops that take or give f32 alone
    read one another and f64, and are read as f64."""
    import tensorflow as tf

    tf1 = tf.compat.v1
    random = np.random.default_rng(0)
    scale, offset, mean = (random.uniform(-1, 1, 4).astype(np.float32) for _ in range(3))
    weights = random.uniform(-1, 1, (3, 3, 3, 4)).astype(np.float32)
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [1, 8, 8, 3], name="x")
        y = tf.nn.conv2d(x, weights, strides=1, padding="SAME")
        variance = mean * mean + 1
        y, *_ = tf1.nn.fused_batch_norm(y, scale, offset, mean, variance, is_training=False)
        large = tf1.image.resize_bilinear(y, [16, 16])  # f32, of f32 or f64
        boxes = tf.sigmoid(tf.reduce_mean(large, [1, 2]))  # f64
        crops = tf.image.crop_and_resize(large, boxes, [0], [4, 4])  # f32, of f32 boxes
        again = tf1.image.resize_bilinear(crops, [5, 5])
        tf.identity_n([again * 2.0, tf.cast(tf.argmax(y, -1), tf.float32)], name="found")
        return graph.as_graph_def()


def test_a_graph_in_f64_gives_what_f32_rounds() -> None:
    from benchmarks.peers.widen import widened

    narrow = network()
    wide = widened(narrow)
    assert [n.name for n in narrow.node if n.name not in {w.name for w in wide.node}] == []
    image = np.random.default_rng(1).uniform(-1, 1, (1, 8, 8, 3))
    found = results(wide, image, "found:0", "found:1", "FusedBatchNormV3:0")
    expected = results(narrow, image.astype(np.float32), "found:0", "found:1", "FusedBatchNormV3:0")
    for x, y in zip(found, expected, strict=True):
        assert (x.dtype, y.dtype) == (np.float64, np.float32)
        np.testing.assert_allclose(x, y, atol=1e-5)
    assert np.any(found[2] != expected[2])
    assert not np.array_equal(found[2], found[2].astype(np.float32))


def test_graphs_with_functions_are_refused() -> None:
    from benchmarks.peers.widen import NotWidened, widened

    graph = network()
    graph.library.function.add().signature.name = "f"
    with pytest.raises(NotWidened, match="functions"):
        widened(graph)
