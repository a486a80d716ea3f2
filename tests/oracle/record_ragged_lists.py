#!/usr/bin/env python3
"""Records graphs with lists whose elements differ in size, and what TensorFlow makes of them.

    V/bin/python tests/oracle/record_ragged_lists.py    # V has tensorflow-cpu==2.21.0

Out: tests/data/lists/ragged.npz, as `record_list_graphs.py` writes it. `calls` are graphs of a few
raw ops; `programs` are loops in which sizes vary, with gradients, each with frames (v1) and with
functions (v2).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import list_graphs as lists
import tensorflow as tf
from list_graphs import (
    Array,
    Stack,
    concat,
    empty,
    f32,
    gather,
    item,
    length,
    pop,
    popped,
    push,
    put,
    raw,
    reserve,
    resize,
    split,
    stack,
)
from record_list_graphs import FOLDER, of_both_versions, recorded, summed_gradient, write

Build = Callable[[Any], Sequence[Any]]
OPEN = tf.TensorShape([None, 3])  # of a loop variable that grows
SCALAR = tf.TensorShape([])


def two(x: Any) -> Any:
    return Array(2).write(0, x[:1]).write(1, x[:2])


def rows(*values: Any) -> Any:
    return push(empty(-1), *values)


def held(x: Any, size: int = 3, dims: Any = -1) -> Any:
    return put(put(reserve(size, dims), 0, x[:1]), 1, x[:2])


def sums(x: Any) -> list[Any]:
    partly = tf.add_n([held(x, 2), put(reserve(2, -1), 1, x[1:3])])
    whole = tf.add_n([rows(x[:1], x[:2]), rows(x[1:2], x[1:3])])
    return [item(partly, 0, -1), item(partly, 1, -1), item(whole, 1, -1)]


def joined_lists(x: Any) -> list[Any]:
    a, b = rows(x[:1], x[:2]), rows(x[:3])
    both = raw.TensorListConcatLists(input_a=a, input_b=b, element_dtype=f32)
    return [item(both, 1, -1), item(both, 2, -1), length(both)]


def reset(x: Any) -> list[Any]:
    changed = put(put(rows(x[:1], x[:2]), 0, x[:3]), 1, x[3:])
    return [item(changed, 0, -1), item(changed, 1, -1)]


def resized(x: Any) -> list[Any]:
    longer = resize(rows(x[:1], x[:2]), 3)
    return [item(longer, 1, -1), length(longer), length(resize(longer, 1))]


CALLS: dict[str, Build] = {
    "array/stack": lambda x: [two(x).gather([0, 1])],
    "array/stack_third": lambda x: [
        Array(3).write(0, x[:1]).write(1, x[:1]).write(2, x[:2, :2]).gather([0, 1, 2])
    ],
    "array/gather": lambda x: [
        Array(3).write(0, x[:1]).write(1, x[:2]).write(2, x[3:]).gather([2, 1])
    ],
    "array/concat": lambda x: [*two(x).concat()],
    "array/concat_unlike": lambda x: [*Array(2).write(0, x[:1]).write(1, x[:2, :2]).concat()],
    "array/concat_unwritten": lambda x: [*Array(3).write(0, x[:1]).write(1, x[:2]).concat()],
    "array/write_again": lambda x: [two(x).write(1, x[:1]).flow],
    "array/read_twice": lambda x: lists.twice_read(two(x)),
    "array/write_past": lambda x: [two(x).write(2, x[:3]).flow],
    "array/grows": lambda x: [
        *Array(0, dynamic_size=True).write(1, x[:2]).write(0, x[:3]).concat()
    ],
    "array/gradient": lambda x: [two(x).gradient().write(1, x[3:]).write(1, x[:2]).read(1)],
    "array/gradient_unwritten": lambda x: [two(x).gradient().read(1)],
    "array/gradient_unlike": lambda x: [
        two(x).gradient().write(0, x[:1]).write(0, x[:2]).read(0)
    ],
    "array/split": lambda x: [Array(3).split(x, [1, 0, 4]).read(2)],
    "array/split_rest": lambda x: [Array(2).split(x, [1, 3]).read(0)],
    "list/stack": lambda x: [stack(rows(x[:1], x[:2]), -1)],
    "list/gather": lambda x: [gather(rows(x[:1], x[:2], x[2:4]), [2, 1], -1)],
    "list/gather_unlike": lambda x: [gather(rows(x[:1], x[:2]), [0, 1], -1)],
    "list/pop": lambda x: [
        pop(pop(rows(x[:1], x[:2]), -1)[0], -1)[1], length(pop(rows(x[:1], x[:2]), -1)[0])
    ],
    "list/pop_unset": lambda x: [pop(held(x), -1)[1]],
    "list/get_past": lambda x: [item(rows(x[:1], x[:2]), 2, -1)],
    "list/get_unset_stated": lambda x: [item(held(x), 2, [4, 3])],
    "list/concat": lambda x: concat(rows(x[:1], x[:2]), -1),
    "list/concat_unlike": lambda x: concat(rows(x[:1], x[:2, :2]), -1),
    "list/split": lambda x: [item(split(x, [1, 4]), 1, -1), *concat(split(x, [3, 2]), -1)],
    "list/split_rest": lambda x: [item(split(x, [1, 3]), 1, -1)],
    "list/add_n": sums,
    "list/zeros_like": lambda x: [item(tf.zeros_like(rows(x[:1], x[:2])), 1, -1)],
    "list/concat_lists": joined_lists,
    "list/set_again": reset,
    "list/resize": resized,
    "stack/pop": lambda x: popped(Stack().push(x[:1]).push(x[:2]).push(x[2:]), 3),
}  # fmt: skip


# -- programs


def repeated(count: int, body: Callable[[Any, Any], Any], start: Any, shape: Any = OPEN) -> Any:
    """What a loop of some iterations makes of a value."""
    found = tf.while_loop(
        lambda i, _: i < count, lambda i, k: (i + 1, body(i, k)), [0, start],
        shape_invariants=[SCALAR, shape],
    )  # fmt: skip
    return found[1]


def growing(x: Any) -> list[Any]:
    k = repeated(4, lambda i, k: tf.concat([k, tf.tanh(k[-1:] * x[i])], 0), x[:1])
    return [k, summed_gradient(k * k, x)]


def shrinking(x: Any) -> list[Any]:
    k = repeated(3, lambda _, k: tf.tanh(k[1:] * k[:-1]), x)
    return [k, summed_gradient(k * k, x)]


def growing_at_times(x: Any) -> list[Any]:
    def body(i: Any, k: Any) -> Any:
        more = tf.reduce_sum(x[i]) > 0
        return tf.cond(more, lambda: tf.concat([k, tf.sin(k) * x[i]], 0), lambda: k * 0.5)

    k = repeated(5, body, x[:1])
    return [k, summed_gradient(k * k, x)]


def growing_in_branch(x: Any) -> list[Any]:
    def loop() -> Any:
        return repeated(3, lambda i, k: tf.concat([k, tf.tanh(k * x[i])], 0), x[:1])

    k = tf.cond(tf.reduce_sum(x) > -100.0, loop, lambda: x * 2.0)
    j = tf.cond(tf.reduce_sum(x) > 100.0, loop, lambda: x * x)
    return [k, j, summed_gradient([k * k, j * j], x)]


def longer_each_time(x: Any) -> list[Any]:
    """Only what is kept for the gradient differs in size."""
    s = repeated(4, lambda i, s: s + tf.reduce_sum(tf.tanh(x[: i + 1] * s), 0), x[0], None)
    return [s, summed_gradient(s, x)]


def inner_counts(x: Any) -> list[Any]:
    def outer(i: Any, s: Any) -> Any:
        _, t = tf.while_loop(
            lambda j, _: j <= i, lambda j, t: (j + 1, t * tf.cos(s + x[j])), [0, s]
        )
        return t + s

    s = repeated(4, outer, tf.ones([3]), None)
    return [s, summed_gradient(s, x)]


def growing_inside(x: Any) -> list[Any]:
    def outer(i: Any, s: Any) -> Any:
        _, k = tf.while_loop(
            lambda j, _: j <= i,
            lambda j, k: (j + 1, tf.concat([k, tf.tanh(k[-1:] * s)], 0)),
            [0, x[i : i + 1]], shape_invariants=[SCALAR, OPEN],
        )  # fmt: skip
        return tf.tanh(s + tf.reduce_sum(k * k, 0))

    s = repeated(4, outer, tf.ones([3]), None)
    return [s, summed_gradient(s, x)]


def growing_in_both(x: Any) -> list[Any]:
    def outer(i: Any, s: Any) -> Any:
        return repeated(2, lambda _, k: tf.concat([k, tf.sin(k[-1:])], 0), s) * x[i]

    s = repeated(3, outer, x[:1])
    return [s, summed_gradient(s, x)]


def written(x: Any, count: int, make: Callable[[Any], Any], **attrs: Any) -> Any:
    array = tf.TensorArray(f32, count, infer_shape=False, **attrs)
    body = lambda i, ys: (i + 1, ys.write(i, make(i)))
    return tf.while_loop(lambda i, _: i < count, body, [0, array])[1]


def joined(x: Any) -> list[Any]:
    y = written(x, 4, lambda i: x[: i + 1]).concat()
    return [y, summed_gradient(y**3, x)]


def stacked(x: Any) -> list[Any]:
    return [written(x, 4, lambda i: x[: i + 1]).stack()]


def gathered(x: Any) -> list[Any]:
    ys = written(x, 4, lambda i: x[: i % 2 + 1], clear_after_read=False)
    return [ys.gather([1, 3]), ys.gather([2, 0])]


def reads(x: Any) -> list[Any]:
    ys = tf.TensorArray(f32, 3, infer_shape=False, clear_after_read=False)
    ys = ys.write(0, x[:2]).write(1, x[2:]).write(2, x)
    read = [ys.read(1) * 2.0, ys.read(2)[1:] ** 2]
    return [ys.read(2), ys.read(0), ys.concat(), summed_gradient(read, x)]


def pieces(x: Any) -> list[Any]:
    ys = tf.TensorArray(f32, 3, infer_shape=False, clear_after_read=False).split(x, [1, 3, 1])
    return [ys.read(1), ys.read(2), ys.concat(), summed_gradient(ys.concat() ** 2, x)]


def pieces_of_run(x: Any) -> list[Any]:
    lengths = tf.stack([tf.shape(x)[0] - 3, 1, 2])
    ys = tf.TensorArray(f32, 3, infer_shape=False, clear_after_read=False).split(x, lengths)

    def body(i: Any, s: Any) -> Any:
        return s + tf.reshape(tf.reduce_sum(ys.read(i)), []) * tf.cast(i + 1, f32)

    s = repeated(3, body, tf.constant(0.0), None)
    return [s, ys.concat(), summed_gradient(s, x)]


def mapped(x: Any) -> list[Any]:
    y = tf.map_fn(lambda i: tf.reduce_sum(tf.tanh(x[: i + 1])), tf.range(tf.shape(x)[0]), dtype=f32)
    return [y, summed_gradient(y, x)]


PROGRAMS: dict[str, Build] = {
    f.__name__: f
    for f in (
        growing, shrinking, growing_at_times, growing_in_branch, longer_each_time, inner_counts,
        growing_inside, growing_in_both, joined, stacked, gathered, reads, pieces, pieces_of_run,
        mapped,
    )
}  # fmt: skip


def main() -> None:
    calls = {name: recorded(build) for name, build in CALLS.items()}
    write(calls | of_both_versions(PROGRAMS), FOLDER / "ragged.npz")


if __name__ == "__main__":
    main()
