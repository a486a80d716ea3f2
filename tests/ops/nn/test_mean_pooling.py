"""Averages of windows, by sums of rows and of their neighbours in these, or tap by tap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flowc as tf
from flowc.ops.kernels.pooling import is_sooner_by_lines
from flowc.ops.nn.pooling_window import pooling_window

Array = np.ndarray[Any, Any]


def means(x: Array, size: int, stride: int, padding: str) -> Array:
    """[batch, height, width, channels]: of the elements inside the image, in f64."""
    pads, counts = [], []
    for n in x.shape[1:3]:
        count = -(-n // stride) if padding == "SAME" else (n - size) // stride + 1
        beyond = max(0, (count - 1) * stride + size - n) if padding == "SAME" else 0
        pads.append(beyond // 2)
        counts.append(count)
    y = np.empty((x.shape[0], *counts, x.shape[-1]))
    for i, j in np.ndindex(*counts):
        top, left = i * stride - pads[0], j * stride - pads[1]
        part = x[:, max(0, top) : top + size, max(0, left) : left + size]
        y[:, i, j] = part.astype("f8").mean((1, 2))
    return y


def pooled(x: Array, size: int, stride: int, padding: str, threads: int = 1) -> Array:
    with tf.Graph().as_default():
        given = tf.placeholder(tf.as_dtype(x.dtype), x.shape)
        window, steps = [1, size, size, 1], [1, stride, stride, 1]
        made = tf.nn.avg_pool(given, window, steps, padding)
        config = tf.ConfigProto(intra_op_parallelism_threads=threads)
        with tf.Session(config=config) as session:
            return session.run(made, {given: x})


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize(
    ("shape", "size", "stride"),
    [
        ((1, 11, 13, 1), 7, 3),
        ((2, 9, 8, 3), 2, 1),
        ((1, 7, 7, 40), 7, 1),
        ((1, 12, 10, 24), 7, 1),
        ((1, 9, 17, 33), 5, 2),
        ((2, 6, 5, 12), 5, 4),
        ((1, 8, 9, 5), 2, 5),
        ((3, 4, 5, 65), 4, 1),
        ((1, 3, 4, 2), 3, 7),
    ],
)
def test_means_of_windows(shape: tuple[int, ...], size: int, stride: int, padding: str) -> None:
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    expected = means(x, size, stride, padding)
    for threads in (1, 2):
        found = pooled(x, size, stride, padding, threads)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_rows_are_the_same_on_any_thread() -> None:
    x = np.random.default_rng(0).standard_normal((1, 64, 96, 8)).astype(np.float32)
    one, two = (pooled(x, 5, 1, "SAME", threads) for threads in (1, 2))
    assert one.tobytes() == two.tobytes()


@pytest.mark.parametrize("channels", [3, 40])
def test_what_is_odd_stays_in_its_windows(channels: int) -> None:
    x = np.ones((1, 9, 9, channels), np.float32)
    x[0, 4, 4, 1], x[0, 0, 8, 0] = np.nan, np.inf
    found = pooled(x, 3, 1, "SAME")
    seen = np.isnan(found[0, :, :, 1])
    assert seen.sum() == 9 and seen[3:6, 3:6].all()
    assert np.isinf(found[0, :2, 7:, 0]).all() and np.isinf(found).sum() == 4
    assert (found[0, :, :, 2] == 1).all()


def test_zeros_have_no_sign() -> None:
    """A sum of nothing but -0.0 begins with 0, as in TensorFlow."""
    for shape in ((1, 5, 5, 1), (1, 5, 5, 64)):
        found = pooled(np.full(shape, -0.0, np.float32), 2, 1, "SAME")
        assert not np.signbit(found).any()


@pytest.mark.parametrize(
    ("shape", "size", "stride", "by_lines"),
    [
        ((1, 112, 112, 1), 7, 3, True),
        ((1, 56, 56, 48), 5, 2, True),
        ((1, 35, 35, 128), 3, 1, True),
        ((1, 14, 14, 512), 3, 2, False),
        ((1, 56, 56, 144), 3, 3, False),
        ((1, 7, 7, 1024), 7, 1, False),
    ],
)
def test_lines_are_for_what_takes_less_memory_by_them(
    shape: tuple[int, ...], size: int, stride: int, by_lines: bool
) -> None:
    attrs = {
        "ksize": (1, size, size, 1), "strides": (1, stride, stride, 1), "padding": "VALID",
    }  # fmt: skip
    assert is_sooner_by_lines(shape, pooling_window(shape, attrs)) == by_lines
