"""Random graphs of nested loops, conditionals, TensorArrays and variables, built with TensorFlow.

In: a seed. Out: a `Program`: a graph, what runs one after another are fed with, and what they
fetch. The seed decides between the control flow of TensorFlow 1 (Switch, Merge, frames) and 2
(While, If, functions), and between reference and resource variables. Invariants: values stay
bounded, loops end, effects have one order (each waits for the one before it), and comparisons of
floats do not compare what is equal but for rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
Kind = str  # f: f32[], v: f32[n], m: f32[n,4], i: i32[], b: bool[], g: f32[?]
COLUMNS = 4
KINDS: tuple[Kind, ...] = ("f", "v", "m", "i", "b")
DTYPES = {"f": tf.float32, "v": tf.float32, "m": tf.float32, "i": tf.int32, "b": tf.bool}
MOST_DEPTH = 4


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


@dataclass
class Program:
    """`feeds`: one dict of arrays by tensor name for each run; `initializer`: its name, or None;
    `dynamic`: whether the number of rows is left open."""

    seed: int
    graph: Any
    feeds: list[dict[str, np.ndarray]]
    fetches: list[str]
    initializer: str | None
    dynamic: bool
    features: set[str] = field(default_factory=set)


class Generator:
    """Builds one program in the default graph."""

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

    # -- statements

    def block(self, env: Env, count: int) -> None:
        for _ in range(count):
            self.statement(env)

    def statement(self, env: Env) -> None:
        self.budget -= 1
        choices: list[tuple[float, Callable[[Env], None]]] = [(3.0, self.simple)]
        if self.depth < MOST_DEPTH and self.budget > 0:
            choices += [
                (2.0, self.conditional),
                (2.5, self.loop),
                (0.5, self.case),
                (1.0, self.array_loop),
                (0.4, self.growing_loop),
                (0.4, self.mapped),
                (0.4, self.scanned),
                (0.5, self.listed),
            ]
        if self.with_variables:
            choices += [(2.0, self.assign), (1.0, self.read)]
        weights = np.array([w for w, _ in choices])
        at = self.random.choice(len(choices), p=weights / weights.sum())
        choices[at][1](env)

    def simple(self, env: Env) -> None:
        kind = self.pick(KINDS)
        env.add(kind, self.expression(env, kind))

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

    def predicate(self, env: Env) -> Any:
        """A bool in sight; often one that an earlier conditional has used."""
        seen = [p for _, p in self.predicates if any(p is b for b in env.values["b"])]
        if seen and self.chance(0.4) and env.effect is None:
            self.features.add("shared predicate")
            return self.pick(seen)
        found = self.waiting(env, self.some(env, "b"))
        self.predicates.append((self.depth, found))
        if env.effect is None:
            env.add("b", found)
        return found

    def branch(self, env: Env, kinds: list[Kind], first: Any) -> Callable[[], list[Any]]:
        """A function that computes one value of each kind."""

        def compute() -> list[Any]:
            self.depth += 1
            inner = env.inner(first)
            if self.chance(0.85):
                self.block(inner, self.count_inside())
            found = [
                self.expression(inner, k) if self.chance(0.6) else self.some(inner, k)
                for k in kinds
            ]
            self.depth -= 1
            return [self.waiting(inner, tf.identity(x)) for x in found]

        return compute

    def conditional(self, env: Env) -> None:
        self.features.add("cond")
        kinds = self.kinds(1, 3)
        predicate = self.predicate(env)
        effect = predicate if self.with_variables else None
        found = tf.cond(predicate, self.branch(env, kinds, effect), self.branch(env, kinds, effect))
        self.take(env, kinds, found)

    def case(self, env: Env) -> None:
        self.features.add("case")
        kinds = self.kinds(1, 2)
        pairs = []
        for _ in range(self.random.randint(1, 4)):
            predicate = self.waiting(env, self.some(env, "b"))
            effect = predicate if self.with_variables else None
            pairs.append((predicate, self.branch(env, kinds, effect)))
        last = pairs[-1][0] if self.with_variables else None
        found = v1.case(pairs, default=self.branch(env, kinds, last))
        self.take(env, kinds, found)

    def take(self, env: Env, kinds: list[Kind], found: Any) -> None:
        found = list(found) if isinstance(found, (list, tuple)) else [found]
        for kind, value in zip(kinds, found):
            env.add(kind, value)
        if self.with_variables:
            env.effect = found[0]

    def shape_of(self, kind: Kind) -> tf.TensorShape:
        return tf.TensorShape({"v": [self.rows], "m": [self.rows, COLUMNS]}.get(kind, []))

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

    # -- variables

    def create_variables(self) -> None:
        for number in range(self.random.randint(1, 4)):
            kind = self.pick("fiw")
            start: Any = np.float32(0.25)
            if kind == "i":
                start = np.int32(2)
            elif kind == "w":
                start = self.random.uniform(-1, 1, COLUMNS).astype(np.float32).round(2)
            use_resource = self.is_v2 or self.random.randint(2) == 0
            self.features.add("resource variable" if use_resource else "reference variable")
            made = v1.get_variable(
                f"variable{number}", initializer=tf.constant(start), use_resource=use_resource
            )
            self.variables.append((kind, made))

    def assign(self, env: Env) -> None:
        if not self.variables:
            return
        self.features.add("assign")
        kind, variable = self.pick(self.variables)
        if kind == "w":
            value = self.some(env, "m")[0] * 0.5
        else:
            value = self.some(env, kind)
        value = self.waiting(env, value)
        if kind == "i":
            value = value % 5
        else:
            value = tf.tanh(value)
        with tf.control_dependencies([] if env.effect is None else [env.effect]):
            if self.chance(0.5):
                made = v1.assign(variable, value)
            else:
                made = v1.assign_add(variable, value)
        env.effect = made if isinstance(made, tf.Operation) else made.op
        if self.chance(0.5):
            self.read(env)

    def read(self, env: Env) -> None:
        if not self.variables:
            return
        kind, variable = self.pick(self.variables)
        with tf.control_dependencies([] if env.effect is None else [env.effect]):
            value = variable.read_value()
            # A copy: what a reference reads is its memory, which later assignments change.
            value = value % 1000 if kind == "i" else tf.minimum(value, 1e6)
        env.effect = value.op
        if kind == "i":
            env.add("i", value % 9)
        elif kind == "f":
            env.add("f", tf.tanh(value))
        else:
            env.add("m", self.some(env, "m") * tf.tanh(value))

    # -- the program

    def run(self) -> tuple[dict[str, Any], list[Any]]:
        """Placeholders by name, and fetches."""
        inputs = {
            "x": v1.placeholder(tf.float32, [self.rows], "x"),
            "y": v1.placeholder(tf.float32, [self.rows, COLUMNS], "y"),
            "s": v1.placeholder(tf.float32, [], "s"),
            "n": v1.placeholder(tf.int32, [], "n"),
            "p": v1.placeholder(tf.bool, [], "p"),
        }
        env = Env({kind: [inputs[name]] for kind, name in zip("vmfib", "xysnp")})
        env.add("f", self.number())
        env.add("i", tf.constant(3))
        env.add("b", inputs["n"] > 2)
        if self.with_variables:
            self.create_variables()
        first = {kind: len(found) for kind, found in env.values.items()}
        while self.budget > 0:
            self.statement(env)
        fetches = []
        for kind, found in env.values.items():
            made = found[first[kind] :]
            fetches += made[-2:] if made else []
        if self.with_gradients:
            fetches += self.gradients(inputs, fetches)
        if self.with_variables and env.effect is not None:
            with tf.control_dependencies([env.effect]):
                fetches += [v.read_value() for _, v in self.variables]
        if not fetches:
            fetches = [env.add("v", self.expression(env, "v"))]
        return inputs, [tf.identity(t, f"fetch{i}") for i, t in enumerate(fetches)]

    def gradients(self, inputs: dict[str, Any], fetches: list[Any]) -> list[Any]:
        wanted = [t for t in fetches if t.dtype == tf.float32]
        if not wanted:
            return []
        self.features.add("gradients")
        total = tf.add_n([tf.reduce_sum(t) for t in wanted])
        found = tf.gradients(total, [inputs[n] for n in "xys"])
        return [
            tf.clip_by_value(tf.convert_to_tensor(g), -1e3, 1e3) for g in found if g is not None
        ]


def feeds_of(seed: int, rows: int | None, runs: int) -> list[dict[str, np.ndarray]]:
    random = np.random.RandomState(seed + 12345)
    found = []
    for _ in range(runs):
        n = rows if rows is not None else int(random.randint(1, 6))
        found.append(
            {
                "x:0": random.uniform(-1, 1, n).astype(np.float32),
                "y:0": random.uniform(-1, 1, (n, COLUMNS)).astype(np.float32),
                "s:0": np.float32(random.uniform(-1, 1)),
                "n:0": np.int32(random.randint(0, 6)),
                "p:0": np.bool_(random.rand() < 0.5),
            }
        )
    return found


def program(seed: int) -> Program:
    """The program of a seed: half of them are of each kind."""
    is_v2 = seed % 2 == 1
    (v1.enable_control_flow_v2 if is_v2 else v1.disable_control_flow_v2)()
    with tf.Graph().as_default() as graph:
        v1.set_random_seed(1)
        generator = Generator(seed, is_v2)
        inputs, fetches = generator.run()
        initializer = None
        if generator.variables:
            initializer = v1.global_variables_initializer().name
    feeds = feeds_of(seed, generator.rows, 3 if generator.variables else 2)
    generator.features.add("v2" if is_v2 else "v1")
    names = [t.name for t in fetches]
    used = {t.name for t in inputs.values()}
    assert used == set(feeds[0])
    is_dynamic = generator.rows is None
    return Program(seed, graph, feeds, names, initializer, is_dynamic, generator.features)


def results(p: Program) -> list[Any]:
    """What TensorFlow gives for each run: a list of arrays, or the name of an error's class."""
    config = v1.ConfigProto(inter_op_parallelism_threads=1, intra_op_parallelism_threads=1)
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.optimizer_options.opt_level = -1
    found: list[Any] = []
    with v1.Session(graph=p.graph, config=config) as session:
        if p.initializer is not None:
            session.run(p.initializer)
        for feeds in p.feeds:
            try:
                found.append([np.asarray(v) for v in session.run(p.fetches, feeds)])
            except tf.errors.OpError as error:
                found.append(type(error).__name__)
    return found
