"""Sizes and bounds that ended the process once, or gave something else than TensorFlow gives.

In: nothing. Out: `CASES`, by what happens; run in a child process.
"""

from __future__ import annotations

import ctypes
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import flowc as tf
from flowc_runtime.addresses import data_address

r: Any = tf.raw_ops
MAX = 2**63 - 1
Built = tuple[Any, list[Any]]


def fed(build: Callable[..., Any], *values: Any, shapes: Any = None) -> Any:
    """What `build` makes of placeholders for the values."""
    with tf.Graph().as_default():
        arrays = [np.asarray(v) for v in values]
        given = [tf.placeholder(a.dtype, a.shape if shapes is None else shapes) for a in arrays]
        y = build(*given)
        with tf.Session(threads=1) as session:
            return np.asarray(session.run(y, dict(zip(given, arrays))))


def shown(build: Callable[..., Any], *values: Any, **options: Any) -> str:
    found = fed(build, *values, **options)
    return f"{found.dtype}{list(found.shape)}: {found.reshape(-1)[:8].tolist()}"


X = np.arange(3, dtype=np.float32)
fill = lambda n: tf.fill(n, np.float32(1))


def _library(sizes: tuple[int, int], shape: list[int] | None = None) -> str:
    """What a library says of an outer product of vectors of these sizes: of its dims, and when it
    is run, with memory that is far too small for what is too large."""
    with tempfile.TemporaryDirectory() as folder, tf.Graph().as_default() as graph:
        x, y = (tf.placeholder(tf.float32, [None], name=name) for name in "xy")
        z = x[:, None] * y[None, :]
        z = tf.identity(z if shape is None else tf.reshape(z, shape), name="z")
        path = Path(folder) / "outer.so"
        tf.compile(graph, feeds=[x, y], fetches=[z], out=path)
        library = ctypes.CDLL(str(path))
        library.flowc_last_error.restype = ctypes.c_char_p
        kept = [np.array([n]) for n in sizes]
        dims = (ctypes.c_void_p * 2)(*map(data_address, kept))
        found = (ctypes.c_int64 * 2)()
        told = library.flowc_output_dims_for(dims, 0, found)
        said = library.flowc_last_error().decode() if told else ""
        buffers = [np.ones(64, np.float32) for _ in range(3)]
        inputs = (ctypes.c_void_p * 2)(*map(data_address, buffers[:2]))
        outputs = (ctypes.c_void_p * 1)(data_address(buffers[2]))
        ran = library.flowc_run(inputs, dims, outputs, None)
        return f"{told}, {ran}: {said}; {library.flowc_last_error().decode() if ran else ''}"


CASES: dict[str, Callable[[], Any]] = {
    "fill a vector": partial(shown, fill, [2**62 + 4]),
    "fill a matrix": partial(shown, fill, [2**61 + 1, 2]),
    "fill with 2^64 elements": partial(shown, fill, [2**32, 2**32]),
    "range": partial(shown, tf.range, MAX),
    "tile": partial(shown, lambda n: tf.tile(tf.constant([[1.0, 2.0]]), n), [2**32, 2**32]),
    "broadcast": partial(shown, lambda n: tf.broadcast_to(tf.constant([1.0]), n), [2**32, 2**30]),
    "lin_space": partial(
        shown, lambda n: r.LinSpace(start=np.float32(0), stop=np.float32(1), num=n), MAX
    ),
    "a model alone": partial(
        shown, lambda x: fill(tf.cast(x * 0.0, tf.int64) + np.array([2**62 + 4])), X[:1]
    ),
    "reshape": partial(shown, lambda n: tf.reshape(fill(n), [-1]), [2**32, 2**32]),
    "sum": partial(shown, lambda n: tf.reduce_sum(fill(n)), [2**62, 4]),
    "constant": partial(shown, lambda: fill(tf.constant([2**40], tf.int64))),
    "sum of more than 2^31": partial(
        shown,
        lambda: tf.reduce_sum(
            tf.cast(tf.fill(tf.constant([2**31 + 5], tf.int64), np.int8(1)), tf.int64)
        ),
    ),
    "outer product of 4 TB": partial(
        shown, lambda x: x[:, None] * x[None, :], np.ones(1 << 20, np.float32), shapes=[None]
    ),
    "negative": partial(shown, lambda x: fill([tf.shape(x)[0] - 4]), X, shapes=[None]),
    "slice at 2^31 - 1": partial(
        shown, lambda x, n: tf.slice(x, n, [1]), X, np.array([2**31 - 1], np.int32)
    ),
    "slice at -2^31": partial(
        shown, lambda x, n: tf.slice(x, n, [1]), X, np.array([-(2**31)], np.int32)
    ),
    "slice at 2^61": partial(
        shown, lambda x, n: r.Slice(input=x, begin=n, size=np.array([1])), X, [2**61]
    ),
    "slice of 2^31 - 1": partial(
        shown, lambda x, n: tf.slice(x, [1], n), X, np.array([2**31 - 1], np.int32)
    ),
    "slice of more than there is": partial(
        shown, lambda x, n: tf.slice(x, n, [2]), X, np.array([2], np.int32)
    ),
    "slice": partial(shown, lambda x, n: tf.slice(x, n, [2]), X, np.array([1], np.int32)),
    "slice of nothing at the end": partial(
        shown, lambda x, n: tf.slice(x, n, [0]), X, np.array([3], np.int32)
    ),
    "reverse more than there is": partial(
        shown,
        lambda x, n: r.ReverseSequence(input=x, seq_lengths=n, seq_dim=1, batch_dim=0),
        np.ones((2, 3), np.float32),
        [2**40, 1],
    ),
    "pieces whose lengths wrap": partial(
        shown,
        lambda n: r.TensorListStack(
            input_handle=r.TensorListSplit(
                tensor=np.ones(4, np.float32), element_shape=np.array([-1], np.int32), lengths=n
            ),
            element_shape=np.array([-1], np.int32),
            element_dtype=tf.float32,
        ),
        [MAX, MAX, 2, 4],
    ),
    "a shape of i32": partial(
        shown, lambda n: tf.shape(tf.zeros(tf.stack([n, np.int64(0)]))), 2**33
    ),
    "2^40 rows of nothing": partial(
        shown,
        lambda n: tf.cumsum(tf.nn.log_softmax(tf.cumsum(fill(n), axis=1)), axis=1),
        [2**40, 0],
    ),
    "a constant shape of i32": partial(
        shown, lambda: tf.cast(r.Shape(input=fill(tf.constant([2**33, 0], tf.int64))), tf.float32)
    ),
    "a constant size of i32": partial(
        shown, lambda: tf.cast(r.Size(input=fill(tf.constant([2**33], tf.int64))), tf.float32)
    ),
    "library, 2^32 x 2^32": partial(_library, (2**32, 2**32)),
    "library, 2^64": partial(_library, (2**32, 2**32), [-1]),
    "library, 2 x 3": partial(_library, (2, 3)),
}
