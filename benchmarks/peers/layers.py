"""Single layers: products, convolutions, pooling, softmax, folds, and what moves data.

In: TensorFlow. Out: `Case`s, one op (or a few) each, in sizes that networks have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import tensorflow as tf
from case import Case, normal, weight

Function = Callable[..., Any]


def layers() -> Iterator[Case]:
    return chain(_products(), _convolutions(), _depthwise(), _pooling(), _rows(), _moves())


def _case(name: str, kind: str, function: Function, *dims: tuple[int, ...]) -> Case:
    return Case(name, kind, tuple(normal(*d) for d in dims), lambda: function)


# Rows, inner size, columns.
WITH_WEIGHTS = (
    *((n, n, n) for n in (64, 128, 256, 512, 1024, 2048)),
    *((1, k, n) for k, n in ((1024, 1024), (4096, 4096), (768, 50257), (256, 1000))),
    *((m, 1024, 4096) for m in (4, 16, 64)),
    *((m, 768, 3072) for m in (32, 128, 512)),
    *((m, 3072, 768) for m in (32, 128, 512)),
    *((196, 256, 1024), (3136, 64, 256), (49, 2048, 512), (100, 300, 17), (8192, 16, 16)),
    *((7, 5, 3), (1000, 1000, 1), (32, 784, 10)),
)
# Batch, rows, inner size, columns: both operands are inputs.
WITHOUT_WEIGHTS = ((12, 128, 64, 128), (12, 128, 128, 64), (12, 1, 64, 128), (64, 32, 32, 32))


def _products() -> Iterator[Case]:
    for m, k, n in WITH_WEIGHTS:
        product = lambda x, k=k, n=n: tf.matmul(x, weight(k, n))
        yield _case(f"matmul-{m}x{k}x{n}", "products", product, (m, k))
    for batch, m, k, n in WITHOUT_WEIGHTS:
        name = f"matmul-{batch}x{m}x{k}x{n}"
        yield _case(name, "products", tf.matmul, (batch, m, k), (batch, k, n))


# Size of the map, channels, outputs, window, stride.
SQUARE = (
    *((224, 3, 64, 7, 2), (224, 3, 32, 3, 2), (299, 3, 32, 3, 2), (224, 3, 64, 3, 1)),
    *((128, 1, 16, 5, 1), (64, 1, 32, 3, 1), (192, 3, 24, 3, 2), (224, 3, 96, 4, 4)),
    *((56, 64, 64, 1, 1), (56, 64, 64, 3, 1), (56, 64, 256, 1, 1), (56, 256, 64, 1, 1)),
    *((56, 256, 128, 1, 2), (28, 128, 128, 3, 1), (28, 128, 512, 1, 1), (28, 512, 128, 1, 1)),
    *((28, 512, 256, 1, 2), (14, 256, 256, 3, 1), (14, 256, 1024, 1, 1), (14, 1024, 256, 1, 1)),
    *((14, 1024, 512, 1, 2), (7, 512, 512, 3, 1), (7, 512, 2048, 1, 1), (7, 2048, 512, 1, 1)),
    *((56, 128, 128, 3, 2), (28, 256, 256, 3, 2), (14, 512, 512, 3, 2), (112, 64, 128, 3, 1)),
    *((112, 32, 16, 1, 1), (112, 16, 96, 1, 1), (56, 96, 24, 1, 1), (56, 24, 144, 1, 1)),
    *((28, 32, 192, 1, 1), (14, 64, 384, 1, 1), (14, 384, 96, 1, 1), (7, 160, 960, 1, 1)),
    *((7, 320, 1280, 1, 1), (1, 1280, 1000, 1, 1), (28, 128, 32, 3, 1), (14, 256, 32, 3, 1)),
    *((35, 48, 64, 5, 1), (17, 192, 320, 3, 2), (256, 16, 16, 3, 1), (128, 8, 8, 3, 1)),
    *((16, 8, 8, 3, 1), (64, 32, 3, 9, 1), (32, 20, 50, 5, 1), (8, 512, 512, 3, 1)),
)
# Dims of the input, of the weights, and what else conv2d is told.
OTHER: tuple[tuple[str, tuple[int, ...], tuple[int, ...], dict[str, Any]], ...] = (
    ("1x7", (1, 17, 17, 128), (1, 7, 128, 128), {}),
    ("7x1", (1, 17, 17, 128), (7, 1, 128, 192), {}),
    ("dilated2", (1, 28, 28, 128), (3, 3, 128, 128), {"dilations": 2}),
    ("dilated12", (1, 33, 33, 256), (3, 3, 256, 64), {"dilations": 12}),
    ("grouped32", (1, 28, 28, 256), (3, 3, 8, 256), {}),
    ("grouped4", (1, 56, 56, 64), (3, 3, 16, 64), {}),
    ("batch8-3x3", (8, 28, 28, 128), (3, 3, 128, 128), {}),
    ("batch32-1x1", (32, 14, 14, 256), (1, 1, 256, 256), {}),
    ("long-thin", (1, 1, 43844, 1), (1, 256, 1, 8), {"strides": (1, 1, 64, 1)}),
    ("sequence-9", (1, 1, 1000, 64), (1, 9, 64, 64), {}),
    ("sequence-3-strided", (1, 1, 4096, 32), (1, 3, 32, 64), {"strides": (1, 1, 2, 1)}),
    ("valid-11x11", (1, 227, 227, 3), (11, 11, 3, 96), {"strides": 4, "padding": "VALID"}),
)
TRANSPOSED = ((16, 64, 32, 4, 2), (32, 128, 64, 2, 2), (64, 32, 16, 3, 2), (28, 16, 1, 4, 2))


def _convolutions() -> Iterator[Case]:
    for size, c, out, window, stride in SQUARE:
        told = {"strides": stride, "padding": "SAME"}
        make = partial(_convolved, (window, window, c, out), told)
        name = f"conv-{size}x{size}x{c}-{out}-{window}x{window}s{stride}"
        yield _case(name, "convolutions", make, (1, size, size, c))
    for name, given, kernel, told in OTHER:
        make = partial(_convolved, kernel, {"strides": 1, "padding": "SAME", **told})
        yield _case(f"conv-{name}", "convolutions", make, given)
    for size, c, out, window, stride in TRANSPOSED:
        dims = (1, size * stride, size * stride, out)
        make = lambda x, window=window, c=c, out=out, dims=dims, stride=stride: (
            tf.nn.conv2d_transpose(x, weight(window, window, out, c), dims, stride, "SAME")
        )
        name = f"transposed-{size}x{size}x{c}-{out}-{window}x{window}s{stride}"
        yield _case(name, "convolutions", make, (1, size, size, c))


def _convolved(kernel: tuple[int, ...], told: dict[str, Any], x: Any) -> Any:
    """With a bias and ReLU, as networks have them."""
    return tf.nn.relu(tf.nn.conv2d(x, weight(*kernel), **told) + weight(kernel[-1]))


# Size of the map, channels, window, stride.
DEPTHWISE = (
    *((112, 32, 3, 1), (112, 96, 3, 2), (56, 144, 3, 1), (56, 128, 3, 2), (28, 192, 3, 1)),
    *((14, 512, 3, 1), (7, 960, 3, 1), (28, 120, 5, 1), (14, 672, 5, 2), (56, 72, 5, 2)),
    *((256, 8, 3, 1), (128, 16, 3, 1), (64, 24, 5, 1), (56, 96, 7, 1), (14, 384, 7, 1)),
)


def _depthwise() -> Iterator[Case]:
    for size, c, window, stride in DEPTHWISE:
        function = lambda x, c=c, window=window, stride=stride: tf.nn.relu6(
            tf.nn.depthwise_conv2d(x, weight(window, window, c, 1), [1, stride, stride, 1], "SAME")
            + weight(c)
        )
        name = f"depthwise-{size}x{size}x{c}-{window}x{window}s{stride}"
        yield _case(name, "depthwise", function, (1, size, size, c))


def _pooling() -> Iterator[Case]:
    for how, pool in (("max", tf.nn.max_pool2d), ("avg", tf.nn.avg_pool2d)):
        for size, c, window, stride in ((112, 64, 3, 2), (56, 64, 2, 2), (35, 192, 3, 1)):
            function = lambda x, pool=pool, window=window, stride=stride: pool(
                x, window, stride, "SAME"
            )
            name = f"{how}-pool-{size}x{size}x{c}-{window}x{window}s{stride}"
            yield _case(name, "pooling", function, (1, size, size, c))
    mean = lambda x: tf.reduce_mean(x, [1, 2])
    yield _case("global-pool-7x7x2048", "pooling", mean, (1, 7, 7, 2048))
    resize = lambda x: tf.image.resize(x, [112, 112])
    yield _case("resize-bilinear-56", "pooling", resize, (1, 56, 56, 64))


def _layer_norm(x: Any) -> Any:
    mean, variance = tf.nn.moments(x, [-1], keepdims=True)
    scaled = (x - mean) * tf.math.rsqrt(variance + 1e-6)
    return scaled * weight(x.shape[-1]) + weight(x.shape[-1], seed=1)


FOLDS = (("sum", tf.reduce_sum), ("max", tf.reduce_max), ("mean", tf.reduce_mean))


def _rows() -> Iterator[Case]:
    for dims in ((1, 1000), (128, 768), (1024, 1024), (1536, 128)):
        size = "x".join(map(str, dims))
        yield _case(f"softmax-{size}", "rows", tf.nn.softmax, dims)
        yield _case(f"layer-norm-{size}", "rows", _layer_norm, dims)
    for how, fold in FOLDS:
        for axes in ((0,), (1,), (2,), (0, 2), (0, 1, 2)):
            function = lambda x, fold=fold, axes=axes: fold(x, axes)
            name = f"reduce-{how}-axis{''.join(map(str, axes))}"
            yield _case(name, "rows", function, (64, 128, 96))
    yield _case("argmax-1024x1000", "rows", lambda x: tf.argmax(x, 1), (1024, 1000))
    yield _case("cumsum-256x1024", "rows", lambda x: tf.cumsum(x, 1), (256, 1024))


def _moves() -> Iterator[Case]:
    turns = (
        ((1024, 1024), (1, 0)),
        ((1, 56, 56, 64), (0, 3, 1, 2)),
        ((1, 64, 56, 56), (0, 2, 3, 1)),
    )
    for dims, order in (*turns, ((128, 12, 64), (1, 0, 2)), ((12, 128, 64), (1, 2, 0))):
        function = lambda x, order=order: tf.transpose(x, order)
        name = f"transpose-{'x'.join(map(str, dims))}-{''.join(map(str, order))}"
        yield _case(name, "moves", function, dims)
    for rows, width, picked in ((10000, 64, 1000), (4096, 768, 128), (1000, 8, 5000)):
        places = np.random.default_rng(rows).integers(0, rows, picked, np.int32)
        name = f"gather-{rows}x{width}-{picked}"
        arrays = (normal(rows, width), places)
        yield Case(name, "moves", arrays, lambda: lambda x, i: tf.gather(x, i))
    four = [(1, 56, 56, 64)] * 4
    for axis in (1, 3):
        function = lambda *parts, axis=axis: tf.concat(parts, axis)
        yield _case(f"concat-4x56x56x64-axis{axis}", "moves", function, *four)
    pad = lambda x: tf.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]])
    yield _case("pad-56x56x64", "moves", pad, (1, 56, 56, 64))
    cut = lambda x: tf.strided_slice(x, [0, 0, 0, 0], [1, 56, 56, 64], [1, 2, 2, 1])
    yield _case("slice-every-second", "moves", cut, (1, 56, 56, 64))
