"""Random Computations of nested loops and branches, for comparing the driver with the references.

In: a seed. Out: a Computation of three parameters: a vector of any size, a list, a number.
Everything that takes over memory occurs: values handed on, exchanged, doubled, updated once or read
again after it, returned by one branch or both, lists that grow, sizes that branches differ in.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
from tensor_types import tensor_type

from flowc.ir.builder import Builder
from flowc.ir.computation import Computation, Value
from flowc.ir.dims import Symbol, expression, fresh_symbol, symbol
from flowc.ir.op import op_named
from flowc.ir.types import TensorType

ROWS, WIDTH = 4, 5
VECTOR = tensor_type("f32", (symbol("len"),))
ROW = tensor_type("f32", (WIDTH,))
LIST = tensor_type("f32", (ROWS, WIDTH))
NUMBER = tensor_type("i32", ())
TYPES = (VECTOR, ROW, LIST, NUMBER)
MESSAGE = "index {value} is not in [0, {extent})"


class _Region:
    """One body under construction. `values`: what it may use, by how often it was made."""

    def __init__(self, rng: random.Random, b: Builder, depth: int) -> None:
        self.rng = rng
        self.b = b
        self.depth = depth
        self.values: list[Value] = []

    def of_type(self, type_: TensorType) -> Value:
        found = [v for v in self.values if v.type == type_]
        if found and self.rng.random() < 0.9:
            # Recent values more often: chains of updates.
            return found[-1] if self.rng.random() < 0.6 else self.rng.choice(found)
        return self.constant(type_)

    def constant(self, type_: TensorType) -> Value:
        b, rng = self.b, self.rng
        if type_ == NUMBER:
            made = b.const(np.int32(rng.randrange(ROWS)))
        elif type_ == VECTOR:
            dims = b.sizes((symbol("len"),))
            made = b.fill(dims, b.const(np.float32(rng.random())))
        else:
            made = b.const(np.full(type_.static_dims, rng.random(), np.float32))
        self.values.append(made)
        return made

    def grow(self, count: int) -> None:
        for _ in range(count):
            kind = self.rng.choice(["row", "vector", "number", "set", "set", "list", "loop", "if"])
            if kind in ("loop", "if") and self.depth == 0:
                kind = "set"
            getattr(self, f"make_{kind}")()

    def make_row(self) -> None:
        b, x = self.b, self.of_type(ROW)
        if self.rng.random() < 0.5:
            self.values.append(b.tanh(b.add(x, self.of_type(ROW))))
        else:
            self.values.append(b.gather(self.of_type(LIST), self.index(), np.int32(0)))

    def make_vector(self) -> None:
        self.values.append(self.b.tanh(self.b.add(self.of_type(VECTOR), self.of_type(VECTOR))))

    def make_number(self) -> None:
        b = self.b
        total = b.add(self.of_type(NUMBER), self.of_type(NUMBER))
        self.values.append(b.floor_mod(total, b.const(np.int32(ROWS))))

    def index(self) -> Value:
        return self.b.floor_mod(self.of_type(NUMBER), self.b.const(np.int32(ROWS)))

    def make_set(self) -> None:
        items = (self.of_type(LIST), self.index(), self.of_type(ROW))
        self.values.append(self.b.list_set(*items, message=MESSAGE))

    def make_list(self) -> None:
        self.values.append(self.b.tanh(self.of_type(LIST)))

    # -- bodies

    def body(self, types: Sequence[TensorType], depth: int) -> tuple[_Region, list[Value]]:
        inner = _Region(self.rng, Builder(), depth)
        inner.values = [inner.b.parameter(f"p{i}", t) for i, t in enumerate(types)]
        return inner, list(inner.values)

    def make_loop(self) -> None:
        """A loop of at most three iterations, which may carry a list that grows."""
        rng = self.rng
        carried = [self.of_type(rng.choice(TYPES)) for _ in range(rng.randrange(2, 6))]
        captured = [self.of_type(rng.choice(TYPES)) for _ in range(rng.randrange(3))]
        grows = rng.random() < 0.4
        types = [v.type for v in carried]
        inputs = [self.b.const(np.int32(0)), *carried]
        varying: tuple[Symbol, ...] = ()
        if grows:
            inputs.append(self.of_type(LIST))
            varying = (fresh_symbol("k"),)
            types.append(tensor_type("f32", (expression(*varying), WIDTH)))
        own = [NUMBER, *types]
        inputs += captured
        every = [*own, *(v.type for v in captured)]
        inputs.append(self.of_type(NUMBER))
        every.append(NUMBER)
        test, parameters = self.body(every, 0)
        tested = test.b.less(parameters[0], parameters[-1])
        inner, parameters = self.body(every, self.depth - 1)
        growing = parameters[len(carried) + 1] if grows else None
        inner.values = [v for v in inner.values if v is not growing]
        inner.grow(rng.randrange(2, 8))
        results = [inner.b.add(parameters[0], inner.b.const(np.int32(1)))]
        results += [inner.of_type(v.type) for v in carried]
        if growing is not None:
            results.append(inner.b.list_append(growing, inner.of_type(ROW)))
        attrs = {
            "condition": test.b.build([tested]),
            "body": inner.b.build(results),
            "carried": len(own),
            "varying": varying,
            "Tout": tuple(t.dtype for t in own),
        }
        node = self.b.emit(op_named("while"), inputs, attrs)
        self.values += node.outputs[1 : len(carried) + 1]
        if grows:
            total = self.b.sum(node.outputs[-1], np.array([0], np.int32))
            self.values.append(self.b.tanh(total))

    def make_if(self) -> None:
        """A branch, one of whose results may have a size of its own in each."""
        rng = self.rng
        condition = self.b.less(self.of_type(NUMBER), self.b.const(np.int32(rng.randrange(ROWS))))
        operands = [self.of_type(rng.choice(TYPES)) for _ in range(rng.randrange(1, 4))]
        wanted = [rng.choice([v.type for v in operands]) for _ in range(rng.randrange(1, 4))]
        differs = rng.random() < 0.3
        bodies: list[Computation] = []
        for _ in range(2):
            inner, _parameters = self.body([v.type for v in operands], self.depth - 1)
            inner.grow(rng.randrange(6))
            results = [inner.of_type(t) for t in wanted]
            if differs:
                row = inner.b.reshape(inner.of_type(LIST), (ROWS * WIDTH,))
                twice = inner.b.concat(inner.of_type(VECTOR), row, np.int32(0))
                results.append(twice if rng.random() < 0.5 else inner.of_type(VECTOR))
            bodies.append(inner.b.build(results))
        types = [*wanted, VECTOR] if differs else wanted
        attrs = {"then": bodies[0], "otherwise": bodies[1], "Tout": tuple(t.dtype for t in types)}
        node = self.b.emit(op_named("if"), [condition, *operands], attrs)
        self.values += node.outputs[: len(wanted)]
        if differs:
            total = self.b.sum(node.outputs[-1], np.array([0], np.int32))
            self.values.append(self.b.broadcast_to(self.b.tanh(total), (WIDTH,)))


def random_control_flow(seed: int) -> Computation:
    rng = random.Random(seed)
    top = _Region(rng, Builder(), 3)
    top.values = [top.b.parameter("x", VECTOR), top.b.parameter("l", LIST)]
    top.values.append(top.b.parameter("m", NUMBER))
    top.make_row()
    top.grow(rng.randrange(3, 7))
    top.make_loop()
    results = [rng.choice(top.values) for _ in range(2)]
    results += [next(v for v in reversed(top.values) if v.type == t) for t in TYPES]
    return top.b.build(results)


def inputs_of(seed: int, n: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n).astype(np.float32)
    return [x, rng.normal(size=(ROWS, WIDTH)).astype(np.float32), np.array(n % ROWS, np.int32)]
