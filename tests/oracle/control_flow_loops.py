"""Random loops: over counters, TensorArrays, and rows, with what `block` puts into them.

In: random numbers and the values in sight. Out: tensors behind the loops. Invariant: loops end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf
from control_flow_values import COLUMNS, DTYPES, Env, Kind, RandomValues


class RandomLoops(RandomValues):
    def block(self, env: Env, count: int) -> None:
        """Statements, which add to the values in sight."""
        raise NotImplementedError

    def trips(self, env: Env) -> Any:
        if self.chance(0.4):
            return tf.constant(self.random.randint(0, 5))
        return tf.math.floormod(self.some(env, "i"), 5)

    def loop(self, env: Env) -> None:
        """Variables of several kinds; the count of trips depends on data in most."""
        self.features.add("while")
        kinds = self.kinds(1, 4)
        limit = self.trips(env)
        start = [self.some(env, k) for k in kinds]
        start[0] = self.waiting(env, start[0])
        stop = self.pick([None, None, *(j for j, k in enumerate(kinds) if k in "fvb")])
        plan = [self.pick(["new", "new", "new", "same", "swap"]) for _ in kinds]

        def condition(i: Any, *now: Any) -> Any:
            goes_on = i < limit
            if stop is None:
                return goes_on
            x = now[stop]
            if kinds[stop] == "b":
                return tf.logical_and(goes_on, tf.logical_not(x))
            return tf.logical_and(goes_on, tf.reduce_mean(x) < 0.6137)

        def body(i: Any, *now: Any) -> Any:
            self.depth += 1
            inner = env.inner(i if self.with_variables else None)
            inner.add("i", i)
            for kind, value in zip(kinds, now):
                inner.add(kind, value)
            self.block(inner, self.count_inside())
            after = []
            for j, kind in enumerate(kinds):
                places = [at for at, k in enumerate(kinds) if k == kind]
                alike = [now[at] for at in places]
                match plan[j]:
                    case "same":
                        found = now[j]
                    case "swap":
                        self.features.add("swap")
                        found = alike[(places.index(j) + 1) % len(alike)]
                    case _:
                        found = self.expression(inner, kind)
                        found = self.bounded(found) if kind in "fvm" else found
                after.append(found)
            self.depth -= 1
            return [self.waiting(inner, i + 1), *after]

        shapes = [tf.TensorShape([]), *(self.shape_of(k) for k in kinds)]
        found = tf.while_loop(
            condition,
            body,
            [self.waiting(env, tf.constant(0)), *start],
            shape_invariants=shapes,
            parallel_iterations=self.pick([1, 10]),
        )
        env.add("i", found[0])
        self.take(env, kinds, found[1:])
        if self.with_variables:
            env.effect = found[0]

    def array_loop(self, env: Env) -> None:
        """A loop that writes a TensorArray, may read what it wrote and another array."""
        self.features.add("TensorArray")
        kind = self.pick("fvmi")
        size = self.trips(env) + 1
        start = self.waiting(env, self.some(env, kind))
        given = None
        if self.chance(0.5):
            given = tf.TensorArray(tf.float32, size=0, dynamic_size=True, clear_after_read=False)
            given = given.unstack(self.some(env, "v"))
        shape = self.shape_of(kind) if self.chance(0.7) else None
        made = tf.TensorArray(
            DTYPES[kind], size=size, element_shape=shape, clear_after_read=False,
            dynamic_size=self.chance(0.2),
        )  # fmt: skip
        reads_back = self.chance(0.4)

        def body(i: Any, state: Any, made: Any) -> Any:
            self.depth += 1
            inner = env.inner(i if self.with_variables else None)
            inner.add("i", i)
            inner.add(kind, state)
            if given is not None:
                inner.add("f", given.read(i % given.size()))
            self.block(inner, self.count_inside() - 1)
            value = self.expression(inner, kind)
            made = made.write(i, value)
            if reads_back:
                back = made.read(tf.maximum(i - 1, 0))
                back.set_shape(self.shape_of(kind))
                inner.add(kind, back)
            state = self.expression(inner, kind)
            state = self.bounded(state) if kind in "fvm" else state
            self.depth -= 1
            return self.waiting(inner, i + 1), state, made

        shapes = [tf.TensorShape([]), self.shape_of(kind), tf.TensorShape(None)]
        if self.is_v2:
            shapes = None
        i, state, made = tf.while_loop(
            lambda i, *_: i < size,
            body,
            [self.waiting(env, tf.constant(0)), start, made],
            shape_invariants=shapes,
        )
        env.add("i", i)
        env.add(kind, state)
        if self.with_variables:
            env.effect = i
        self.use_array(env, kind, made, size)

    def use_array(self, env: Env, kind: Kind, made: Any, size: Any) -> None:
        match self.random.randint(4 if kind in "vm" else 3):
            case 0:
                row = made.read(self.some(env, "i") % size)
                row.set_shape(self.shape_of(kind))
                env.add(kind, row)
            case 1:
                all_ = made.gather([self.some(env, "i") % size, size - 1])
                env.add(kind, self.summed(all_, kind))
            case 2:
                env.add(kind, self.summed(made.stack(), kind))
            case _:
                joined = made.concat()
                env.add("f", tf.tanh(tf.reduce_sum(joined)))
                env.add("i", tf.shape(joined)[0] % 13)

    def summed(self, rows: Any, kind: Kind) -> Any:
        found = tf.reduce_sum(rows, 0) % 7 if kind == "i" else tf.tanh(tf.reduce_sum(rows, 0))
        found.set_shape(self.shape_of(kind))
        return found

    def growing_loop(self, env: Env) -> None:
        """A vector that is longer after each iteration."""
        self.features.add("growing")
        limit = self.trips(env)
        start = self.waiting(env, self.some(env, "v"))

        def body(i: Any, kept: Any) -> Any:
            self.depth += 1
            inner = env.inner(i if self.with_variables else None)
            inner.add("i", i)
            inner.add("f", tf.reduce_mean(kept))
            self.block(inner, self.count_inside() - 1)
            more = self.some(inner, "v") if self.chance(0.6) else kept * 0.5
            self.depth -= 1
            return self.waiting(inner, i + 1), tf.concat([kept, more], 0)

        i, kept = tf.while_loop(
            lambda i, _: i < limit,
            body,
            [self.waiting(env, tf.constant(0)), start],
            shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])],
        )
        env.add("i", tf.shape(kept)[0] % 17)
        env.add("f", tf.tanh(tf.reduce_sum(kept)))
        env.add("v", kept[-tf.shape(self.some(env, "v"))[0] :])
        env.values["v"][-1].set_shape(self.shape_of("v"))
        if self.with_variables:
            env.effect = i

    def mapped(self, env: Env) -> None:
        self.features.add("map_fn")
        source = self.waiting(env, self.some(env, "v"))
        result = self.map_over(env, source, lambda row, inner: inner.add("f", row))
        env.add("v", result)

    def map_over(self, env: Env, source: Any, bind: Callable[[Any, Env], Any]) -> Any:
        def function(row: Any) -> Any:
            self.depth += 1
            inner = env.inner(None)
            bind(row, inner)
            before, self.with_variables = self.with_variables, False
            self.block(inner, self.count_inside() - 1)
            self.with_variables = before
            self.depth -= 1
            return self.expression(inner, "f")

        found = tf.map_fn(function, source)
        found.set_shape(self.shape_of("v"))
        return found

    def scanned(self, env: Env) -> None:
        self.features.add("scan")

        def function(state: Any, row: Any) -> Any:
            self.depth += 1
            inner = env.inner(None)
            inner.add("f", row)
            inner.add("f", state)
            before, self.with_variables = self.with_variables, False
            self.block(inner, self.count_inside() - 1)
            self.with_variables = before
            self.depth -= 1
            return tf.tanh(self.expression(inner, "f") + state)

        fold = self.pick([tf.scan, tf.foldl, tf.foldr])
        source = self.waiting(env, self.some(env, "v"))
        found = fold(function, source, self.some(env, "f"), back_prop=True)
        if fold is tf.scan:
            found.set_shape(self.shape_of("v"))
        env.add("v" if fold is tf.scan else "f", found)

    def listed(self, env: Env) -> None:
        """unstack, then reads in another order."""
        self.features.add("unstack")
        rows = self.waiting(env, self.some(env, "m"))
        array = tf.TensorArray(tf.float32, size=tf.shape(rows)[0], clear_after_read=False)
        array = array.unstack(rows)
        row = array.read(self.some(env, "i") % array.size())
        row.set_shape([COLUMNS])
        env.add("m", self.some(env, "m") * row)
