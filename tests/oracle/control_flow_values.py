"""Random values of graphs: what is in sight, and expressions over it.

In: random numbers. Out: tensors of five kinds. Invariants: values stay bounded, and comparisons of
floats do not compare what is equal but for rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

Kind = str  # f: f32[], v: f32[n], m: f32[n,4], i: i32[], b: bool[], g: f32[?]
COLUMNS = 4
KINDS: tuple[Kind, ...] = ("f", "v", "m", "i", "b")
DTYPES = {"f": tf.float32, "v": tf.float32, "m": tf.float32, "i": tf.int32, "b": tf.bool}


@dataclass
class Env:
    """The values in sight, by kind, oldest first. `effect`: what the next effect waits for."""

    values: dict[Kind, list[Any]]
    effect: Any = None

    def inner(self, effect: Any) -> Env:
        return Env({kind: list(found) for kind, found in self.values.items()}, effect)

    def add(self, kind: Kind, value: Any) -> Any:
        self.values[kind].append(value)
        return value


class RandomValues:
    """Draws numbers, choices and values. `budget`: statements that are left."""

    def __init__(self, seed: int, is_v2: bool) -> None:
        self.random = np.random.RandomState(seed)
        self.is_v2 = is_v2
        self.budget = int(self.random.randint(4, 15))  # statements
        self.rows: int | None = [None, None, 3, 5][self.random.randint(4)]
        self.with_gradients = self.chance(0.2)
        self.with_variables = not self.with_gradients and self.chance(0.45)
        self.predicates: list[tuple[int, Any]] = []
        self.variables: list[tuple[Kind, Any]] = []
        self.features: set[str] = set()
        self.depth = 0

    def chance(self, probability: float) -> bool:
        return bool(self.random.rand() < probability)

    def pick(self, choices: Any) -> Any:
        return choices[self.random.randint(len(choices))]

    def some(self, env: Env, kind: Kind) -> Any:
        """A value in sight; new ones are likelier."""
        found = env.values[kind]
        if self.chance(0.5):
            return found[-1 - self.random.randint(min(3, len(found)))]
        return self.pick(found)

    def number(self) -> Any:
        return tf.constant(np.float32(np.round(self.random.uniform(-1, 1), 2)))

    # -- expressions

    def expression(self, env: Env, kind: Kind) -> Any:
        return getattr(self, f"make_{kind}")(env)

    def bounded(self, x: Any) -> Any:
        return [tf.tanh, tf.sin, lambda y: 0.5 * y, lambda y: tf.clip_by_value(y, -1.0, 1.0)][
            self.random.randint(4)
        ](x)

    def elementwise(self, env: Env, kind: Kind) -> Any:
        x, y = self.some(env, kind), self.some(env, kind)
        match self.random.randint(8):
            case 0:
                return x * y
            case 1:
                return tf.maximum(x, y)
            case 2:
                return 0.5 * (x - y)
            case 3:
                return tf.where(self.some(env, "b"), x, y)
            case 4:
                return x * self.some(env, "f")
            case 5:
                return tf.sigmoid(x) - 0.5
            case 6:
                return tf.sqrt(tf.abs(x) + 0.01)
            case _:
                return self.bounded(x + y * self.number())

    def make_f(self, env: Env) -> Any:
        match self.random.randint(6):
            case 0:
                return tf.reduce_mean(self.some(env, "v"))
            case 1:
                return tf.reduce_max(self.some(env, "m"))
            case 2:
                return tf.cast(self.some(env, "i"), tf.float32) * 0.1
            case 3:
                return self.some(env, "v")[0]
            case _:
                return self.elementwise(env, "f")

    def make_v(self, env: Env) -> Any:
        match self.random.randint(9):
            case 0:
                return tf.reduce_mean(self.some(env, "m"), axis=1)
            case 1:
                return tf.gather(self.some(env, "m"), self.some(env, "i") % COLUMNS, axis=1)
            case 2:
                return tf.reverse(self.some(env, "v"), [0])
            case 3:
                return tf.tanh(tf.cumsum(self.some(env, "v")))
            case 4:
                x = self.some(env, "v")
                return tf.concat([x[1:], x[:1]], 0)
            case 5:
                return tf.linalg.matvec(self.some(env, "m"), self.weights([COLUMNS]))
            case _:
                return self.elementwise(env, "v")

    def make_m(self, env: Env) -> Any:
        match self.random.randint(9):
            case 0:
                return tf.tanh(tf.matmul(self.some(env, "m"), self.weights([COLUMNS, COLUMNS])))
            case 1:
                return self.some(env, "v")[:, None] * self.some(env, "m")
            case 2:
                return tf.nn.softmax(self.some(env, "m"))
            case 3:
                return tf.tile(self.some(env, "v")[:, None], [1, COLUMNS])
            case 4:
                return tf.reverse(self.some(env, "m"), [self.random.randint(2)])
            case _:
                return self.elementwise(env, "m")

    def make_i(self, env: Env) -> Any:
        x, y = self.some(env, "i"), self.some(env, "i")
        match self.random.randint(6):
            case 0:
                return (x + y) % 7
            case 1:
                return tf.where(self.some(env, "b"), x, y)
            case 2:
                return (x * 3 + 1) % 11
            case 3:
                return tf.cast(tf.floor(self.some(env, "f") * 3.0 + 0.12345), tf.int32) % 5
            case 4:
                return tf.shape(self.some(env, "v"))[0] % 6
            case _:
                return tf.minimum(x, y + 2)

    def make_b(self, env: Env) -> Any:
        match self.random.randint(6):
            case 0:
                return self.some(env, "f") > self.some(env, "f") + 0.0137
            case 1:
                return tf.equal(self.some(env, "i") % 2, self.random.randint(2))
            case 2:
                return tf.logical_not(self.some(env, "b"))
            case 3:
                return tf.math.logical_xor(self.some(env, "b"), self.some(env, "b"))
            case 4:
                return tf.reduce_any(self.some(env, "v") > 0.7137)
            case _:
                return self.some(env, "i") < self.some(env, "i")

    def weights(self, shape: list[int]) -> Any:
        return tf.constant(self.random.uniform(-0.6, 0.6, shape).astype(np.float32).round(2))

    # -- values in sight

    def count_inside(self) -> int:
        return int(min(self.random.randint(1, 4), max(self.budget, 1)))

    def kinds(self, least: int, most: int, of: Any = KINDS) -> list[Kind]:
        return [self.pick(of) for _ in range(self.random.randint(least, most + 1))]

    def waiting(self, env: Env, value: Any) -> Any:
        """The value, after the last effect."""
        if env.effect is None:
            return value
        with tf.control_dependencies([env.effect]):
            return tf.identity(value)

    def take(self, env: Env, kinds: list[Kind], found: Any) -> None:
        found = list(found) if isinstance(found, (list, tuple)) else [found]
        for kind, value in zip(kinds, found):
            env.add(kind, value)
        if self.with_variables:
            env.effect = found[0]

    def shape_of(self, kind: Kind) -> tf.TensorShape:
        return tf.TensorShape({"v": [self.rows], "m": [self.rows, COLUMNS]}.get(kind, []))
