"""Random differentiable programs with loops, branches and arrays, built by flowc or TensorFlow.

In: a library (`flowc` or `tensorflow.compat.v1`), a seed. Out: what is fed, a scalar of f64 made of
it, and the scalar's gradients. All is smooth but where branches meet, and numbers stay small, so
that differences over a small step tell the slope. With TensorFlow's second control flow switched
on, loops and branches are functions, and `has_functions` adds calls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

SIZE, ROWS = 3, 4
INPUTS = 3
STEP = 1e-5


@dataclass(frozen=True)
class Built:
    fed: list[Any]
    loss: Any
    gradients: list[Any]
    rows: list[bool]  # which gradients are rows of a tensor


class GradientProgram:
    """Vectors of `SIZE` elements. `depth`: how many loops and branches stand round."""

    def __init__(self, tf: Any, seed: int, has_functions: bool = False) -> None:
        self.tf = tf
        self.nested = (self.loop, self.branch, self.array, self.rows)
        if has_functions:
            self.nested += (self.call, self.case)
        self.random = np.random.default_rng(seed)
        self.nodes = 0

    def build(self) -> Built:
        """In the default graph."""
        tf = self.tf
        fed = [tf.placeholder(tf.float64, [SIZE], name=f"x{i}") for i in range(INPUTS)]
        loss = self.loss_of(fed)
        return differentiated(tf, loss, fed)

    def loss_of(self, fed: list[Any]) -> Any:
        tf = self.tf
        known = [*fed, tf.constant([0.5, -0.25, 0.75], tf.float64)]
        for kind in (None, self.pick(*self.nested), None):
            known.append(kind(known, 0) if kind is not None else self.value(known, 0))
        weights = tf.constant([1.0, 0.5, -0.75], tf.float64)
        return tf.identity(tf.reduce_sum((known[-1] + known[-2]) * weights), name="loss")

    def pick(self, *choices: Any) -> Any:
        return choices[int(self.random.integers(0, len(choices)))]

    def one(self, known: list[Any]) -> Any:
        """Recent values more often: what was made is used."""
        back = min(int(self.random.geometric(0.35)), len(known))
        return known[-back]

    def value(self, known: list[Any], depth: int) -> Any:
        """A new vector, made of known ones."""
        self.nodes += 1
        plain = (self.curve, self.product, self.mixed, self.moved)
        deep = depth >= 3 or self.nodes > 8
        return self.pick(*plain, *(() if deep else self.nested))(known, depth)

    def chain(self, known: list[Any], depth: int) -> Any:
        """What a loop or a branch gives."""
        known = list(known)
        for _ in range(int(self.random.integers(1, 3))):
            known.append(self.value(known, depth))
        return self.tf.tanh(known[-1] + 0.25 * self.one(known))

    # -- plain nodes

    def curve(self, known: list[Any], depth: int) -> Any:
        tf = self.tf
        return self.pick(tf.tanh, tf.sin, tf.sigmoid, lambda x: tf.exp(-tf.square(x)))(
            self.one(known)
        )

    def product(self, known: list[Any], depth: int) -> Any:
        tf, a, b = self.tf, self.one(known), self.one(known)
        return self.pick(
            lambda: a * tf.cos(b),
            lambda: a / (1.5 + tf.square(b)),
            lambda: tf.reduce_sum(a * b) * tf.tanh(b),
            lambda: tf.maximum(a, b) - 0.5 * a,
        )()

    def mixed(self, known: list[Any], depth: int) -> Any:
        tf = self.tf
        matrix = tf.stack([self.one(known), tf.sin(self.one(known)), self.one(known)])
        vector = tf.expand_dims(self.one(known), 1)
        transposed = bool(self.random.integers(0, 2))
        return tf.tanh(tf.squeeze(tf.matmul(matrix, vector, transpose_a=transposed), [1]))

    def moved(self, known: list[Any], depth: int) -> Any:
        tf, a, b = self.tf, self.one(known), self.one(known)
        return self.pick(
            lambda: tf.gather(tf.concat([a, b], 0), [1, 4, 1]),
            lambda: tf.concat([a[1:], b[:1]], 0),
            lambda: tf.reverse(a, [0]) + tf.scatter_nd([[2], [0]], b[:2], [SIZE]),
            lambda: tf.split(tf.concat([a, tf.stop_gradient(b)], 0), 2)[0] * b,
            lambda: tf.where(a > b, tf.sin(a), b * b),
        )()

    # -- loops, branches and arrays

    def loop(self, known: list[Any], depth: int) -> Any:
        tf = self.tf
        trips = int(self.random.integers(0, 4))
        until = self.random.integers(0, 3) == 0
        pair = self.random.integers(0, 2) == 0
        start = [self.one(known) + 0.0] + ([self.one(known) * 1.0] if pair else [])

        def condition(i: Any, x: Any, *_: Any) -> Any:
            more = i < trips
            return tf.logical_and(more, tf.reduce_sum(x) < 2.0) if until else more

        def body(i: Any, *xs: Any) -> Any:
            inside = [*known, *xs]
            return (i + 1, *(self.chain(inside, depth + 1) for _ in xs))

        most = self.pick(None, None, 2)
        _, *found = tf.while_loop(
            condition, body, (tf.constant(0), *start), parallel_iterations=self.pick(1, 10),
            maximum_iterations=most,
        )  # fmt: skip
        return found[0] + 0.5 * found[-1]

    def branch(self, known: list[Any], depth: int) -> Any:
        tf = self.tf
        asked = tf.reduce_sum(self.one(known)) < self.pick(-0.5, 0.1, 1.0)
        return tf.cond(
            asked,
            lambda: self.chain(known, depth + 1),
            lambda: self.one(known) * 1.0 if self.random.integers(0, 3) == 0 else
            self.chain(known, depth + 1),
        )  # fmt: skip

    def array(self, known: list[Any], depth: int) -> Any:
        """Reads one array in a loop and writes another."""
        tf = self.tf
        given = tf.stack([self.one(known) + 0.0 for _ in range(ROWS)])
        read = tf.TensorArray(tf.float64, ROWS, clear_after_read=False, element_shape=[SIZE])
        read = read.unstack(given)
        written = tf.TensorArray(tf.float64, ROWS, element_shape=[SIZE])
        backwards = bool(self.random.integers(0, 2))

        def body(i: Any, x: Any, out: Any) -> Any:
            at = ROWS - 1 - i if backwards else i
            x = self.chain([*known, x, read.read(at)], depth + 1)
            return i + 1, x, out.write(at, x * 0.5)

        _, last, written = tf.while_loop(
            lambda i, *_: i < ROWS, body, (tf.constant(0), self.one(known) + 0.0, written)
        )
        every = self.pick(lambda: written.stack(), lambda: written.gather([2, 0, 3]))()
        return tf.reduce_sum(every, 0) + last

    def rows(self, known: list[Any], depth: int) -> Any:
        tf = self.tf
        given = tf.stack([self.one(known) for _ in range(2)])
        if self.random.integers(0, 2):
            found = tf.map_fn(lambda x: self.chain([*known, x], depth + 1), given)
        else:
            found = tf.scan(
                lambda a, x: self.chain([*known, a, x], depth + 1), given, self.one(known) * 1.0
            )
        return tf.reduce_sum(found, 0)

    # -- what only TensorFlow builds

    def call(self, known: list[Any], depth: int) -> Any:
        """Of a function that takes a few values and reads others of the caller."""
        given = [self.one(known) for _ in range(2)]
        return self.tf.function(lambda *xs: self.chain([*known, *xs], depth + 1))(*given)

    def case(self, known: list[Any], depth: int) -> Any:
        tf = self.tf
        asked = tf.cast(tf.reduce_sum(self.one(known)) * 2.0, tf.int32)
        ways = [lambda: self.chain(known, depth + 1) for _ in range(3)]
        return tf.switch_case(asked, ways)


def differentiated(tf: Any, loss: Any, fed: list[Any]) -> Built:
    found = tf.gradients(loss, fed, unconnected_gradients="zero")
    rows = [isinstance(g, tf.IndexedSlices) for g in found]
    return Built(fed, loss, [tf.convert_to_tensor(g) for g in found], rows)


def points(seed: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """(what is fed, a direction)"""
    random = np.random.default_rng([seed, 1])
    draw = lambda: [random.uniform(-1, 1, SIZE) for _ in range(INPUTS)]
    return draw(), draw()


Results = list[np.ndarray]  # the loss, then its gradients


def fault(run: Callable[[list[np.ndarray]], Results], seed: int) -> str | None:
    """What is wrong with a program's gradients, by differences along a direction."""
    at, along = points(seed)

    def moved(step: float) -> Results:
        return run([a + step * d for a, d in zip(at, along)])

    slope = sum(float(np.sum(g * d)) for g, d in zip(moved(0.0)[1:], along))
    difference = 0.0
    for step in (STEP, STEP / 7):  # a branch may turn within one step
        difference = float(moved(step)[0] - moved(-step)[0]) / (2 * step)
        if abs(slope - difference) <= 1e-5 * max(1, abs(difference)):
            return None
    return f"seed {seed}: the slope is {slope}, by differences {difference}"


def flat(results: Results) -> np.ndarray:
    return np.concatenate([np.reshape(r, -1) for r in results])


def in_session(session: Any, built: Built) -> Callable[[list[np.ndarray]], Results]:
    fetches = [built.loss, *built.gradients]
    return lambda arrays: session.run(fetches, dict(zip(built.fed, arrays)))
