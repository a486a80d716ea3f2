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
from control_flow_loops import RandomLoops
from control_flow_values import COLUMNS, KINDS, Env, Kind

v1 = tf.compat.v1
MOST_DEPTH = 4


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


class Generator(RandomLoops):
    """Builds one program in the default graph."""

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
