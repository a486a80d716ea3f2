"""What building a node says of inputs that do not fit: the words of TensorFlow's shape functions,
then those of its kernels, which a run has alone. Seen in TensorFlow 2.21.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flowc as tf


def _ones(*dims: int) -> Any:
    return np.ones(dims, np.float32)


# What is called, what building it says, what a run says where shapes are fed (None: as built).
FAULTS: dict[str, tuple[Callable[..., Any], list[Any], str, str]] = {
    "product": (
        tf.matmul,
        [_ones(2, 3), _ones(2, 3)],
        "Dimensions must be equal, but are 3 and 2",
        "Matrix size-incompatible: In[0]: [2,3], In[1]: [2,3]",
    ),
    "sum": (
        tf.add,
        [_ones(2, 3), _ones(2, 2)],
        "Dimensions must be equal, but are 3 and 2",
        "Incompatible shapes: [2,3] vs. [2,2]",
    ),
    "joined ranks": (
        lambda x, y: tf.concat([x, y], 0),
        [_ones(2, 3), _ones(2)],
        "Shape must be rank 2 but is rank 1",
        "ConcatOp : Ranks of all input tensors should match: shape[0] = [2,3] vs. shape[1] = [2]",
    ),
    "joined sizes": (
        lambda x, y: tf.concat([x, y], 0),
        [_ones(2, 3), _ones(3, 2)],
        "in both shapes must be equal, but are 3 and 2",
        "ConcatOp : Dimension 1 in both shapes must be equal: shape[0] = [2,3] vs. shape[1] = [3,2",
    ),
    "packed": (
        lambda x, y: tf.stack([x, y]),
        [_ones(2), _ones(3)],
        "Dimension 0 in both shapes must be equal, but are 2 and 3",
        "Shapes of all inputs must match: values[0].shape = [2] != values[1].shape = [3]",
    ),
    "unpacked": (
        lambda x: tf.unstack(x, num=2),
        [_ones(3, 2)],
        "Dimension must be 2 but is 3",
        "Input shape axis 0 must equal 2, got shape [3,2]",
    ),
    "split": (
        lambda x: tf.split(x, 2),
        [_ones(5)],
        "Dimension size must be evenly divisible by 2 but is 5",
        "Number of ways to split should evenly divide the split dimension",
    ),
    "reshaped": (
        lambda x: tf.reshape(x, [4]),
        [_ones(2, 3)],
        "Cannot reshape a tensor with 6 elements to shape [4] (4 elements)",
        "Input to reshape is a tensor with 6 values, but the requested shape has 4",
    ),
    "with an open size": (
        lambda x: tf.reshape(x, [4, -1]),
        [_ones(2, 3)],
        "Dimension size must be evenly divisible by 4 but is 6",
        "Input to reshape is a tensor with 6 values, but the requested shape requires a multiple",
    ),
    "transposed": (
        lambda x: tf.transpose(x, [0, 1, 2]),
        [_ones(2, 3)],
        "Dimension must be 2 but is 3",
        "transpose expects a vector of size 2",
    ),
    "image": (
        lambda x, y: tf.nn.conv2d(x, y, [1, 1, 1, 1], "SAME"),
        [_ones(1, 3, 3, 2), _ones(2, 2, 3, 1)],
        "Depth of input (2) is not a multiple of input depth of filter (3)",
        "input depth must be evenly divisible by filter depth: 2 vs 3",
    ),
    "window": (
        lambda x: tf.nn.max_pool(x, [1, 5, 5, 1], [1, 1, 1, 1], "VALID"),
        [_ones(1, 3, 3, 2)],
        "Negative dimension size caused by subtracting 5 from 3",
        "Computed output size would be negative: -1",
    ),
    "square": (
        tf.linalg.cholesky,
        [_ones(2, 3)],
        "Dimensions must be equal, but are 2 and 3",
        "Input matrix must be square",
    ),
    "axis": (
        lambda x: tf.expand_dims(x, 3),
        [_ones(2)],
        "dim 3 not in the interval [-2, 1].",
        "Tried to expand dim index 3 for tensor with 1 dimensions.",
    ),
}


WINDOWS = {  # larger than the image by less than a stride: refused where sizes are known
    "images": (lambda x: tf.nn.max_pool(x, [1, 5, 5, 1], [1, 1, 1, 1], "VALID"), _ones(1, 4, 4, 2)),
    "means": (lambda x: tf.nn.avg_pool(x, [1, 6, 6, 1], [1, 2, 2, 1], "VALID"), _ones(1, 4, 4, 2)),
    "volumes": (
        lambda x: tf.nn.avg_pool3d(x, [1, 2, 5, 2, 1], [1] * 5, "VALID"),
        _ones(1, 4, 4, 4, 2),
    ),
    "places": (
        lambda x: tf.nn.max_pool_with_argmax(x, [1, 5, 5, 1], [1, 1, 1, 1], "VALID")[0],
        _ones(1, 4, 4, 2),
    ),
}


def test_windows_larger_than_images() -> None:
    for name, (call, image) in WINDOWS.items():
        with tf.Graph().as_default(), tf.Session() as session:
            with pytest.raises(ValueError, match="Negative dimension size caused by subtracting"):
                call(tf.constant(image))
            fed = tf.placeholder(tf.float32, [None] * image.ndim)
            assert session.run(call(fed), {fed: image}).size == 0, name


SAME = {  # as many results as pixels, none of an empty image
    "images": (lambda x: tf.nn.conv2d(x, _ones(3, 3, 2, 5), [1, 2, 2, 1], "SAME"), (2, 5, 0, 5)),
    "channels": (
        lambda x: tf.nn.depthwise_conv2d(x, _ones(3, 3, 2, 1), [1, 1, 1, 1], "SAME"),
        (2, 9, 0, 2),
    ),
    "maxima": (lambda x: tf.nn.max_pool(x, [1, 3, 3, 1], [1, 1, 1, 1], "SAME"), (2, 9, 0, 2)),
    "means": (lambda x: tf.nn.avg_pool(x, [1, 3, 3, 1], [1, 2, 2, 1], "SAME"), (2, 5, 0, 2)),
}


def test_windows_over_images_without_pixels() -> None:
    image = _ones(2, 9, 0, 2)
    for name, (call, dims) in SAME.items():
        with tf.Graph().as_default(), tf.Session() as session:
            assert session.run(call(tf.constant(image))).shape == dims, name
            fed = tf.placeholder(tf.float32, [None] * 4)
            assert session.run(call(fed), {fed: image}).shape == dims, name


def test_an_axis_to_reverse_stands_in_a_list() -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match="must be rank 1 but is rank 0"):
        tf.reverse([[1, 2]], 1)


def test_faults_of_building_and_of_running() -> None:
    for name, (call, arrays, built, ran) in FAULTS.items():
        with tf.Graph().as_default(), tf.Session() as session:
            with pytest.raises(ValueError, match=re.escape(built)):
                call(*(tf.constant(a) for a in arrays))
            fed = [tf.placeholder(tf.float32) for _ in arrays]
            fetched = call(*fed)
            with pytest.raises(tf.errors.InvalidArgumentError) as caught:
                session.run(fetched, dict(zip(fed, arrays)))
            assert ran in str(caught.value), name
            assert built not in str(caught.value), name


@pytest.mark.parametrize(
    ("build", "types"),
    [
        (lambda: tf.concat([_ones(2), np.ones(2, np.int32)], 0), "[float32, int32]"),
        (lambda: tf.concat([[1.0], [1]], 0), "[float32, int32]"),
        (lambda: tf.concat([np.ones(2, np.int64), [1, 2]], 0), "[int64, int32]"),
        (lambda: tf.concat([[1.0], tf.constant([1])], 0), "[float32, int32]"),
        (
            lambda: tf.concat([tf.constant([1.0]), None], 0),
            "[float32, <NOT CONVERTIBLE TO TENSOR>]",
        ),
    ],
)
def test_lists_of_several_dtypes(build: Callable[[], Any], types: str) -> None:
    with tf.Graph().as_default(), pytest.raises(TypeError) as caught:
        build()
    wanted = "Tensors in list passed to 'values' of 'ConcatV2' Op have types"
    assert str(caught.value) == f"{wanted} {types} that don't all match."


def test_numbers_beside_a_tensor_become_what_it_is() -> None:
    with tf.Graph().as_default():
        x = tf.constant([1.0, 2.0])
        for made in (tf.concat([[1, 2], x], 0), tf.stack([x, [1, 2]], 1), tf.stack([[1, 2], x], 1)):
            assert made.dtype == tf.float32
