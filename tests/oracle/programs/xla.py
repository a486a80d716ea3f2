"""XLA's ops: TensorFlow runs them in functions that XLA compiles, and only there."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import tensorflow as tf

from programs.values import integers, numbers

xla: Any = import_module("tensorflow.compiler.tf2xla.ops.gen_xla_ops")
m = lambda *shape: tf.constant(numbers(*shape))
n = lambda *shape, **range_: tf.constant(integers(*shape, **range_))
FLOAT, WHOLE = tf.float32, tf.int32


def _compiled(function: Callable[[], Any]) -> Any:
    return tf.function(function, jit_compile=True)()


def _of_scalars(function: Callable[..., Any], *kinds: Any) -> Any:
    """A function of the graph, which XLA's ops take as an attr."""
    return tf.function(function).get_concrete_function(*(tf.TensorSpec([], k) for k in kinds))


def _reduce(function: Callable[..., Any], value: Any, start: Any, *axes: int) -> Any:
    reducer = _of_scalars(function, value.dtype, value.dtype)
    return xla.xla_reduce(value, tf.cast(start, value.dtype), axes, reducer)


def _window(
    function: Callable[..., Any], value: Any, start: Any, window: Any, strides: Any,
    spread: Any, apart: Any, padding: Any,
) -> Any:  # fmt: skip
    computation = _of_scalars(function, value.dtype, value.dtype)
    begin = tf.constant(start, value.dtype)
    return xla.xla_reduce_window(value, begin, window, strides, spread, apart, padding, computation)


def _larger(a: Any, i: Any, c: Any, j: Any) -> Any:
    """Of two values with their places, the larger one."""
    return tf.where(a >= c, a, c), tf.where(a >= c, i, j)


def _argmax() -> Any:
    reducer = _of_scalars(_larger, FLOAT, WHOLE, FLOAT, WHOLE)
    places = tf.constant(np.arange(15, dtype=np.int32).reshape(3, 5))
    first = [tf.constant(-np.inf, FLOAT), tf.constant(-1)]
    return xla.xla_variadic_reduce_v2([m(3, 5), places], first, [1], reducer)


def _sums_of_two() -> Any:
    reducer = _of_scalars(lambda a, i, c, j: (a + c, i * j), FLOAT, FLOAT, FLOAT, FLOAT)
    first = [tf.constant(0.0), tf.constant(1.0)]
    return xla.xla_variadic_reduce([m(2, 3, 4), m(2, 3, 4)], first, [0, 2], reducer)


def _pooled_gradient(select: Any, scatter: Any, padding: Any, strides: Any, count: Any) -> Any:
    return xla.xla_select_and_scatter(
        m(5, 6), [2, 3], strides, padding, m(*count), tf.constant(0.5),
        _of_scalars(select, FLOAT, FLOAT), _of_scalars(scatter, FLOAT, FLOAT),
    )  # fmt: skip


def _scatter(function: Any, indices: Any, updates: Any, numbers: str, held: Any = None) -> Any:
    held = m(5, 3) if held is None else held
    kind = held.dtype
    return xla.xla_scatter(
        held, indices, tf.cast(updates, kind), _of_scalars(function, kind, kind), numbers, False
    )


_ROWS = "\n\x01\x01\x12\x01\x00\x1a\x01\x00 \x01"  # whole rows by their numbers
_BOXES = "\n\x02\x01\x02\x1a\x02\x00\x01 \x01"  # rectangles by their corners
_ONE_A_ROW = "\x12\x01\x01\x1a\x01\x01 \x01*\x01\x002\x01\x00"


def _sort(comparator: Any, *arrays: Any, axis: int = -1) -> Any:
    kinds = [a.dtype for a in arrays for _ in range(2)]
    return xla.xla_variadic_sort(
        list(arrays), axis, _of_scalars(comparator, *kinds), is_stable=True
    )


def _by_both(a: Any, b: Any, i: Any, j: Any) -> Any:
    """By small whole numbers, then by others the other way round."""
    return tf.logical_or(a < b, tf.logical_and(tf.equal(a, b), i > j))


def _while() -> Any:
    cond = tf.function(lambda i, x: i < 5).get_concrete_function(
        tf.TensorSpec([], WHOLE), tf.TensorSpec([3], FLOAT)
    )
    body = tf.function(lambda i, x: (i + 1, x * 1.5)).get_concrete_function(
        tf.TensorSpec([], WHOLE), tf.TensorSpec([3], FLOAT)
    )
    return xla.xla_while([tf.constant(0), m(3)], cond, body)


_PROGRAMS: dict[str, Callable[[], Any]] = {
    "sum": lambda: _reduce(lambda a, c: a + c, m(3, 4, 5), 10, 0, 2),
    "largest": lambda: _reduce(tf.maximum, m(3, 4), -9, 1),
    "product of integers": lambda: _reduce(tf.multiply, n(3, 4), 1, 0),
    "any": lambda: _reduce(tf.logical_or, m(3, 4) > 0.5, False, 1),
    "all": lambda: _reduce(tf.logical_and, m(3, 4) > -5.0, True, 0, 1),
    "exclusive or": lambda: _reduce(tf.bitwise.bitwise_xor, n(3, 7), 0, 1),
    "norm": lambda: _reduce(lambda a, c: tf.sqrt(a * a + c * c), m(3, 7), 0, 1),
    "nothing": lambda: _reduce(lambda a, c: a + c, m(3, 0), 2, 1),
    "nothing to fold": lambda: _reduce(lambda a, c: a + c, m(3, 2), 2),
    "argmax": _argmax,
    "two sums": _sums_of_two,
    "window sum": lambda: _window(
        tf.add, m(4, 5), 0.0, [2, 3], [1, 2], [1, 1], [1, 1], [[0, 1], [1, 1]]
    ),
    "window that begins elsewhere": lambda: _window(
        tf.add, m(6), 10.0, [3], [1], [1], [1], [[2, 1]]
    ),
    "window maximum": lambda: _window(
        tf.maximum, m(7, 5), -np.inf, [3, 2], [2, 1], [1, 1], [2, 3], [[1, 2], [0, 0]]
    ),
    "window of a spread image": lambda: _window(tf.add, m(5), 0.0, [2], [1], [2], [3], [[1, 1]]),
    "window larger than the image": lambda: _window(
        tf.add, m(3), 1.0, [5], [1], [1], [1], [[0, 0]]
    ),
    "running sums": lambda: _window(tf.add, n(9), 0, [9], [1], [1], [1], [[8, 0]]),
    "running products of floats": lambda: _window(
        lambda a, c: a * c + a - a, m(6), 1.0, [6], [1], [1], [1], [[5, 0]]
    ),
    "select and scatter": lambda: _pooled_gradient(
        tf.greater_equal, tf.add, [[0, 0], [0, 0]], [2, 3], (2, 2)
    ),
    "select and scatter overlapping": lambda: _pooled_gradient(
        tf.greater_equal, tf.add, [[1, 0], [1, 1]], [1, 1], (5, 6)
    ),
    "select and scatter the largest": lambda: _pooled_gradient(
        tf.less_equal, tf.maximum, [[0, 1], [0, 0]], [1, 2], (5, 2)
    ),
    "select and scatter by a function": lambda: _pooled_gradient(
        tf.greater, lambda a, c: a + 2.0 * c, [[0, 0], [0, 0]], [2, 3], (2, 2)
    ),
    "scatter rows": lambda: _scatter(tf.add, [[1], [4], [1]], m(3, 3), _ROWS),
    "scatter rows over others": lambda: _scatter(lambda a, c: c, [[0], [3]], m(2, 3), _ROWS),
    "scatter outside": lambda: _scatter(tf.maximum, [[1], [7], [-1]], m(3, 3), _ROWS),
    "scatter boxes": lambda: _scatter(tf.add, [[1, 0], [4, 0], [3, 1]], m(3, 2, 2), _BOXES),
    "scatter products": lambda: _scatter(tf.multiply, [[1], [1]], m(2, 3), _ROWS),
    "scatter by a function": lambda: _scatter(
        lambda a, c: a - 3.0 * c, [[1], [1], [9]], m(3, 3), _ROWS
    ),
    "scatter one a row": lambda: _scatter(tf.add, n(5, 1, high=3), m(5), _ONE_A_ROW),
    "scatter of bools": lambda: _scatter(
        tf.logical_or, [[1], [2]], [[True] * 3, [False] * 3], _ROWS, tf.zeros([5, 3], tf.bool)
    ),
    "scatter of integers": lambda: _scatter(tf.minimum, [[1], [2]], n(2, 3), _ROWS, n(5, 3)),
    "sort by the first": lambda: _sort(lambda a, b, i, j: a < b, m(3, 7), n(3, 7)),
    "sort by the second downwards": lambda: _sort(
        lambda a, b, i, j: i > j, m(3, 7), n(3, 7, high=4), axis=0
    ),
    "sort by both": lambda: _sort(_by_both, n(4, 9, high=3), n(4, 9, high=5)),
    "sort by both along the first": lambda: _sort(
        _by_both, n(6, 2, high=3), n(6, 2, high=5), axis=0
    ),
    "sort by size": lambda: _sort(lambda a, b: tf.abs(a) > tf.abs(b), m(33)),
    "sort one": lambda: _sort(lambda a, b: tf.abs(a) > tf.abs(b), m(3, 1)),
    "sort none": lambda: _sort(lambda a, b: tf.abs(a) > tf.abs(b), m(3, 0)),
    "while": _while,
    "rows by number": lambda: xla.xla_gather(m(5, 3), [[1], [9], [-1]], [1, 3], _ROWS, False),
    "padded": lambda: xla.xla_pad(m(3, 2), tf.constant(7.0), [1, -1], [0, 2], [2, 1]),
    "updated": lambda: xla.xla_dynamic_update_slice(m(4, 5), m(2, 2), [3, -1]),
    "less precise": lambda: xla.xla_reduce_precision(m(4, 5), 4, 2),
    "barrier": lambda: xla.xla_optimization_barrier([m(2), n(3)]),
    "sorted keys": lambda: xla.xla_sort(tf.constant([3.0, np.nan, -np.inf, -0.0, 0.0])),
    "keys and values": lambda: xla.xla_key_value_sort(m(3, 4), n(3, 4)),
}
EXPRESSIONS: dict[str, Callable[[], Any]] = {
    f"xla {name}": lambda program=program: _compiled(program) for name, program in _PROGRAMS.items()
}
