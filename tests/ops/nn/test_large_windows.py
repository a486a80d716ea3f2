"""Gradients of convolutions in groups with respect to large windows: one convolution, where small
windows are a product for each of their elements."""

from __future__ import annotations

import numpy as np
import pytest

import flowc as tf
from flowc.ops.nn.convolution_filter_gradients import MOST_TAPS


@pytest.mark.parametrize(
    ("window", "image", "outputs"),
    [((9, 9, 3, 2), (2, 12, 14, 3), 6), ((9, 9, 2, 4), (2, 12, 14, 4), 4)],
    ids=["depthwise", "two groups"],
)
def test_weights_of_a_large_window(
    window: tuple[int, ...], image: tuple[int, ...], outputs: int
) -> None:
    assert window[0] * window[1] > MOST_TAPS
    random = np.random.default_rng(3)
    x, dy = random.normal(size=image), random.normal(size=(*image[:3], outputs))
    with tf.Graph().as_default(), tf.Session() as session:
        given = tf.placeholder(tf.float32, image)
        if window[-1] * window[-2] == outputs:
            made = tf.nn.depthwise_conv2d(given, tf.ones(window), [1, 1, 1, 1], "SAME")
        else:
            made = tf.nn.conv2d(given, tf.ones(window), strides=[1, 1, 1, 1], padding="SAME")
        weights = made.op.inputs[1]
        found = session.run(tf.gradients(made, weights, tf.constant(dy, tf.float32))[0], {given: x})
    groups = image[-1] // (1 if window[-1] * window[-2] == outputs else window[-2])
    padded = np.pad(x, [(0, 0), (4, 4), (4, 4), (0, 0)])
    expected = np.zeros((9, 9, image[-1] // groups, outputs))
    for i, j in np.ndindex(9, 9):
        part = padded[:, i : i + image[1], j : j + image[2]].reshape(
            -1, groups, image[-1] // groups
        )
        of_groups = dy.reshape(-1, groups, outputs // groups)
        product = np.einsum("ngc,ngo->cgo", part, of_groups)
        expected[i, j] = product.reshape(image[-1] // groups, outputs)
    np.testing.assert_allclose(found, expected.reshape(window), rtol=1e-3, atol=1e-3)
