"""Calls whose graphs must have TensorFlow's very nodes: programs look nodes up by their names, and
seeds of random ops follow from how many there are.

In: TensorFlow's module, or flowc. Out: `nodes_of`, the nodes that one of `NODE_PROGRAMS` makes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _pair(tf: Any, *sizes: int | None) -> tuple[Any, Any]:
    first, second = (tf.placeholder(tf.float32, sizes or (4, 3)) for _ in range(2))
    return first, second


def _classes(tf: Any) -> tuple[Any, Any]:
    return tf.placeholder(tf.int32, [4]), tf.placeholder(tf.float32, [4, 3])


def _lengths(tf: Any) -> Any:
    return tf.placeholder(tf.int32, [4])


NODE_PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "absolute": lambda tf: tf.losses.absolute_difference(*_pair(tf)),
    "cosine": lambda tf: tf.losses.cosine_distance(*_pair(tf), axis=1),
    "hinge": lambda tf: tf.losses.hinge_loss(*_pair(tf)),
    "huber": lambda tf: tf.losses.huber_loss(*_pair(tf)),
    "log": lambda tf: tf.losses.log_loss(*_pair(tf)),
    "pairwise": lambda tf: tf.losses.mean_pairwise_squared_error(*_pair(tf)),
    "sigmoid": lambda tf: tf.losses.sigmoid_cross_entropy(*_pair(tf)),
    "sparse_softmax": lambda tf: tf.losses.sparse_softmax_cross_entropy(*_classes(tf)),
    "squared": lambda tf: tf.losses.mean_squared_error(*_pair(tf, None, 3)),
    "squared_mean": lambda tf: tf.losses.mean_squared_error(
        *_pair(tf), reduction=tf.losses.Reduction.MEAN
    ),
    "squared_none": lambda tf: tf.losses.mean_squared_error(
        *_pair(tf), reduction=tf.losses.Reduction.NONE
    ),
    "squared_over_batch": lambda tf: tf.losses.mean_squared_error(
        *_pair(tf), reduction=tf.losses.Reduction.SUM_OVER_BATCH_SIZE
    ),
    "squared_weighted": lambda tf: tf.losses.mean_squared_error(
        *_pair(tf), weights=tf.placeholder(tf.float32, [4, 1])
    ),
    "sparse_cross_entropy": lambda tf: tf.nn.sparse_softmax_cross_entropy_with_logits(
        **dict(zip(("labels", "logits"), _classes(tf)))
    ),
    "mask": lambda tf: tf.sequence_mask(_lengths(tf)),
    "mask_of_numbers": lambda tf: tf.sequence_mask(_lengths(tf), 5, tf.float32),
}


def nodes_of(tf: Any, name: str) -> list[str]:
    """Each node of a program as a line: its name, op and inputs."""
    with tf.Graph().as_default() as graph:
        NODE_PROGRAMS[name](tf)
        nodes = graph.as_graph_def().node
        return [" ".join((node.name, node.op, *node.input)) for node in nodes]
