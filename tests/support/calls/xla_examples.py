"""A call of each of XLA's ops that takes functions, for `session_examples.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import flowc as tf
from flowc.api.data.functions import traced

r: Any = tf.raw_ops
X = np.array([[3.0, -1.0, 2.0], [0.5, 4.0, -2.0]], np.float32)
ROWS = "\n\x01\x01\x12\x01\x00\x1a\x01\x00 \x01"  # whole rows by their numbers


def function(body: Callable[..., Any], *kinds: Any, shape: Any = ()) -> Any:
    return traced(body, tuple(tf.TensorSpec(shape, k) for k in kinds), "example").reference


def _reduced() -> list[tuple[Any, Any]]:
    add = function(lambda a, c: a + c, tf.float32, tf.float32)
    norm = function(lambda a, c: tf.abs(a) + tf.abs(c), tf.float32, tf.float32)
    start = np.float32(1)
    sums = r.XlaReduce(input=X, init_value=start, dimensions_to_reduce=[1], reducer=add)
    sizes = r.XlaReduce(input=X, init_value=start, dimensions_to_reduce=[0], reducer=norm)
    return [(sums, X.sum(1) + 1), (sizes, abs(X).sum(0) + 1)]


def _reduced_together() -> list[tuple[Any, Any]]:
    both = function(lambda a, i, c, j: (a + c, i * j), *[tf.float32] * 4)
    found = r.XlaVariadicReduce(
        input=[X, X], init_value=[np.float32(0), np.float32(1)], dimensions_to_reduce=[1],
        reducer=both,
    )  # fmt: skip
    return [(found[0], X.sum(1)), (found[1], X.prod(1))]


def _largest_with_places() -> list[tuple[Any, Any]]:
    def larger(a: Any, i: Any, c: Any, j: Any) -> Any:
        return tf.maximum(a, c), tf.where(a >= c, i, j)

    reducer = function(larger, tf.float32, tf.int32, tf.float32, tf.int32)
    found = r.XlaVariadicReduceV2(
        inputs=[X, np.array([[0, 1, 2], [3, 4, 5]], np.int32)],
        init_values=[np.float32(-9), np.int32(-1)],
        dimensions_to_reduce=[1],
        reducer=reducer,
    )
    return [(found[0], X.max(1)), (found[1], [0, 4])]


def _windows() -> list[tuple[Any, Any]]:
    add = function(lambda a, c: a + c, tf.float32, tf.float32)
    ones = np.array([1, 1], np.int32)
    found = r.XlaReduceWindow(
        input=X, init_value=np.float32(10), window_dimensions=np.array([1, 2], np.int32),
        window_strides=ones, base_dilations=ones, window_dilations=ones,
        padding=np.array([[0, 0], [1, 0]], np.int32), computation=add,
    )  # fmt: skip
    return [(found, np.array([[13, 12, 11], [10.5, 14.5, 12]], np.float32))]


def _selected() -> list[tuple[Any, Any]]:
    found = r.XlaSelectAndScatter(
        operand=X, window_dimensions=np.array([2, 3], np.int32),
        window_strides=np.array([2, 3], np.int32), padding=np.zeros((2, 2), np.int32),
        source=np.array([[7]], np.float32), init_value=np.float32(0),
        select=function(lambda a, c: a >= c, tf.float32, tf.float32),
        scatter=function(lambda a, c: a + c, tf.float32, tf.float32),
    )  # fmt: skip
    return [(found, [[0, 0, 0], [0, 7, 0]])]


def _scattered() -> list[tuple[Any, Any]]:
    rows, indices = np.ones((3, 3), np.float32), np.array([[1], [5], [1]], np.int32)
    found = []
    for body in (lambda a, c: a + c, lambda a, c: c - a):
        found.append(
            r.XlaScatter(
                operand=X, scatter_indices=indices, updates=rows, dimension_numbers=ROWS,
                update_computation=function(body, tf.float32, tf.float32),
                indices_are_sorted=False,
            )
        )  # fmt: skip
    return list(zip(found, ([X[0], X[1] + 2], X), strict=True))


def _sorted() -> list[tuple[Any, Any]]:
    keys = np.array([2, 0, 1, 0, 2], np.int32)
    values = np.array([1.0, 2.0, 3.0, 4.0, 5.0], np.float32)

    def by_both(a: Any, b: Any, i: Any, j: Any) -> Any:
        return tf.logical_or(a < b, tf.logical_and(tf.equal(a, b), i > j))

    kinds = tf.int32, tf.int32, tf.float32, tf.float32
    found = [
        r.XlaVariadicSort(
            inputs=[keys, values], dimension=np.int32(0), comparator=function(body, *kinds),
            is_stable=True,
        )
        for body in (lambda a, b, i, j: a > b, by_both)
    ]  # fmt: skip
    down, both = found
    return [(down[0], [2, 2, 1, 0, 0]), (down[1], [1, 5, 3, 2, 4]),
            (both[0], [0, 0, 1, 2, 2]), (both[1], [4, 2, 3, 5, 1])]  # fmt: skip


def _branches() -> list[tuple[Any, Any]]:
    one, other = (
        function(f, tf.float32, shape=(2, 3)) for f in (lambda x: x + 1.0, lambda x: x * 2.0)
    )
    return [
        (r.XlaIf(cond=c, inputs=[X], then_branch=one, else_branch=other, Tout=[tf.float32])[0], w)
        for c, w in ((np.bool_(True), X + 1), (np.bool_(False), X * 2))
    ]


def _loop() -> list[tuple[Any, Any]]:
    found = r.XlaWhile(
        input=[np.int32(0)],
        cond=function(lambda i: i < 5, tf.int32),
        body=function(lambda i: i + 2, tf.int32),
    )
    return [(found[0], 6)]


def _launched() -> list[tuple[Any, Any]]:
    add = function(lambda a, c: a - c, tf.float32, tf.float32)
    found = r.XlaLaunch(
        constants=[np.float32(3)], args=[np.float32(1)], resources=[], Tresults=[tf.float32],
        function=add,
    )  # fmt: skip
    again = r.XlaLaunchV2(
        args=[np.float32(3), np.float32(1)], Tresults=[tf.float32], constants=[0], resources=[],
        function=add,
    )  # fmt: skip
    return [(found[0], 2), (again[0], 2)]


XLA_EXAMPLES: dict[str, Callable[[], list[tuple[Any, Any]]]] = {
    "XlaReduce": _reduced,
    "XlaVariadicReduce": _reduced_together,
    "XlaVariadicReduceV2": _largest_with_places,
    "XlaReduceWindow": _windows,
    "XlaSelectAndScatter": _selected,
    "XlaScatter": _scattered,
    "XlaVariadicSort": _sorted,
    "XlaIf": _branches,
    "XlaWhile": _loop,
    "XlaLaunch": _launched,
    "XlaLaunchV2": _launched,
}
