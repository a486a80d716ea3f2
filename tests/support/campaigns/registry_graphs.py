"""Random graphs of the ops of the registry: examples of records, wired to one another.

In: a seed. Out: a Computation, arrays for its parameters, and how far its values may be trusted.
Each node is an example of some op in some dtype, whose inputs are values made before (cast, cut or
repeated to the example's dims) where any number will do. What is fed has NaN, infinities, zeros of
both signs, subnormal, huge and tiny numbers. The graph is evaluated by the references as it grows,
so that what an op does not take never reaches it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
from calls.op_examples import Case, cases_of
from op_cases import TESTED, is_constant
from op_tolerances import COMPILED, COMPILED_EXTREMES_APART, ORDINARY_NUMBERS_ALONE
from tensor_types import tensor_type

from flowc import dtypes
from flowc.dtypes import DType
from flowc.errors import FlowcError
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.lowering import Elementwise, Reduction, View
from flowc.ir.op import Op, call_reference

WEIGHTS: dict[DType, int] = {
    dtypes.f32: 12, dtypes.i32: 4, dtypes.f64: 3, dtypes.bool_: 3, dtypes.f16: 2, dtypes.bf16: 2,
    dtypes.i64: 2, dtypes.u8: 2, dtypes.i8: 1, dtypes.i16: 1, dtypes.u16: 1, dtypes.u32: 1,
    dtypes.u64: 1, dtypes.c64: 1, dtypes.c128: 1,
}  # fmt: skip
ELEMENTS = 600  # of one value
EXACT, NEAR, FAR = range(3)  # to the bit; of sums in any order; computed from such
# Beside what COMPILED has: the order of their sums, or of what else they join, is not fixed.
JOINING = frozenset(COMPILED)


@dataclass
class RegistryGraph:
    """`arrays`: what the references make of each value; `trust`: EXACT, NEAR or FAR."""

    seed: int
    b: Builder = field(default_factory=Builder)
    arrays: dict[Value, np.ndarray] = field(default_factory=dict)
    trust: dict[Value, int] = field(default_factory=dict)
    made: list[Value] = field(default_factory=list)  # by ops of examples

    def __post_init__(self) -> None:
        self.random = np.random.Generator(np.random.PCG64(self.seed))

    def chance(self, p: float) -> bool:
        return bool(self.random.random() < p)

    def one_of(self, found: Sequence[Any]) -> Any:
        return found[int(self.random.integers(len(found)))]

    # -- growing

    def grow(self, nodes: int) -> None:
        while len({v.node for v in self.made}) < nodes:
            family = _families()[self.one_of(("Elementwise", *_families()))]
            self.place(_case(self.one_of(family), self.random))

    def place(self, case: Case) -> None:
        """The node of an example, unless its reference does not take the values."""
        constant = is_constant(case)
        sizes = [a.size for a in case.inputs]
        if sum(sizes) > ELEMENTS or all(constant) or (0 in sizes and self.chance(0.9)):
            return
        inputs = [
            self.b.const(a, case.dtypes[i]) if constant[i] else self.operand(case, i)
            for i, a in enumerate(case.inputs)
        ]
        try:
            node = self.b.emit(case.op, inputs, case.attrs, origin=(case.op.name,))
            self.evaluate(node)
        except (FlowcError, ValueError, IndexError, ZeroDivisionError, OverflowError):
            return
        self.made += node.outputs

    def operand(self, case: Case, i: int) -> Value:
        """A value made before, or a new parameter."""
        x, array = case.operands[i], case.inputs[i]
        if x.domain != "finite" or x.given or case.op.name in ORDINARY_NUMBERS_ALONE:
            return self.parameter(array)
        calm = not takes_everything(case.op)
        known = [
            v
            for v in self.made
            if v.type.is_static
            and 0 not in v.dims
            and _casts(v.type.dtype, case.dtypes[i])
            and (not calm or is_calm(self.arrays[v]))
        ]
        if known and array.size and self.chance(0.8):
            found = self.fitted(known[-1 - int(self.random.random() ** 2 * len(known))], array)
            if not calm or is_calm(self.arrays[found]):
                return found
        return self.parameter(array if calm else self.wild(array))

    def parameter(self, array: np.ndarray) -> Value:
        kind = tensor_type(dtypes.as_dtype(array.dtype), array.shape)
        value = self.b.parameter(f"x{len(self.b.parameters)}", kind)
        self.arrays[value], self.trust[value] = array, EXACT
        return value

    def wild(self, array: np.ndarray) -> np.ndarray:
        """An array with every kind of number in some of its places."""
        kind = dtypes.as_dtype(array.dtype)
        found = array.copy().reshape(-1)
        for at in np.flatnonzero(self.random.random(found.size) < self.one_of([0, 0.1, 0.5])):
            if kind.is_floating:
                found[at] = self.one_of(_extremes(kind))
            elif kind.is_integer:
                limits = np.iinfo(array.dtype)
                found[at] = self.one_of([limits.min, limits.max, limits.max // 3])
        return found.reshape(array.shape)

    def fitted(self, value: Value, wanted: np.ndarray) -> Value:
        """A value with the dtype and the dims of an array: cast, cut or repeated, and reshaped."""
        b, kind = self.b, dtypes.as_dtype(wanted.dtype)
        if value.type.dtype is not kind:
            value = self.evaluate(b.cast(value, DstT=kind).node)
        if value.type.static_dims == wanted.shape:
            return value
        count = int(np.prod(value.type.static_dims))
        if count != wanted.size:
            value = self.evaluate(b.reshape(value, (count,)).node)
            if count < wanted.size:
                times = -(-wanted.size // count)
                value = self.evaluate(b.tile(value, np.array([times], np.int32)).node)
            first = int(self.random.integers(value.type.static_dims[0] - wanted.size + 1))
            value = b.slice(value, np.array([first], np.int32), np.array([wanted.size], np.int32))
            value = self.evaluate(value.node)
        return self.evaluate(b.reshape(value, wanted.shape).node)

    def evaluate(self, node: Node) -> Value:
        """Notes what a node's reference gives, which must have the types that it infers."""
        known = [v.constant if v.constant is not None else self.arrays[v] for v in node.inputs]
        found = node_reference(node, known)
        worst = max((self.trust.get(v, EXACT) for v in node.inputs), default=EXACT)
        if worst != EXACT:
            worst = FAR
        elif joins(node):
            worst = NEAR
        for value, array in zip(node.outputs, found, strict=True):
            self.arrays[value], self.trust[value] = array, worst
        return node.outputs[0]

    # -- the whole

    def every(self) -> Computation:
        """The graph with all of its values as results."""
        return self.b.build([v for n in self.nodes() for v in n.outputs])

    def nodes(self) -> Iterator[Node]:
        """What computes."""
        return (n for n in self.b.nodes if n.outputs and n.outputs[0] in self.trust and n.inputs)

    def few(self) -> tuple[Computation, list[Value]]:
        """The graph with a few late results that do not hang on the order of sums."""
        found = [v for v in self.made if self.trust[v] != FAR]
        chosen = dict.fromkeys(found[-2:])
        for _ in range(3):
            chosen[self.one_of(found)] = None
        return self.b.build(list(chosen)), list(chosen)


def node_reference(node: Node, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    assert node.op.reference is not None
    kinds = [v.type.dtype for v in node.inputs]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        found = call_reference(node.op, node.op.reference, arrays, node.attrs, kinds)
    return [np.asarray(x) for x in found]


def joins(node: Node) -> bool:
    """Whether a node joins numbers in an order that is not fixed."""
    return node.op.name in JOINING or (
        isinstance(node.lowering, Reduction) and node.lowering.combine in ("add", "mul")
    )


def takes_everything(op: Op) -> bool:
    """Whether NaN, infinities and huge numbers have one meaning for an op."""
    if op.name in COMPILED_EXTREMES_APART or op.name in JOINING:
        return False
    return isinstance(op.lowering, (Elementwise, View)) or "moves" in op.traits


def is_calm(array: np.ndarray) -> bool:
    """Whether sums and products of the numbers are ordinary numbers."""
    kind = dtypes.as_dtype(array.dtype)
    if not (kind.is_floating or kind.is_complex):
        return not kind.is_integer or bool(np.all(np.abs(array.astype(float)) < 100))
    magnitude = np.abs(array.astype(complex))
    limit = 8 if kind.size == 2 else 1e3
    return bool(np.all((magnitude == 0) | ((magnitude > 1e-2) & (magnitude < limit))))


def _casts(source: DType, target: DType) -> bool:
    """Casts whose result is defined for every number, and means the same in NumPy."""
    if source is target:
        return True
    if target is dtypes.bool_ or source.is_complex or target.is_complex:
        return False
    return target.is_floating or not source.is_floating


def _extremes(kind: DType) -> list[Any]:
    limits: Any = ml_dtypes.finfo(kind.numpy)
    tiny, most = float(limits.smallest_normal), float(limits.max)
    found = [np.nan, np.inf, -np.inf, -0.0, 0.0, tiny, -tiny / 4, most, -most, np.sqrt(most)]
    return [np.array(x).astype(kind.numpy) for x in (*found, -np.sqrt(tiny), 1.5, -3.0, 1e4)]


@cache
def _families() -> dict[str, list[Op]]:
    """The ops by kind of lowering, so that each kind is met as often as others."""
    found: dict[str, list[Op]] = {}
    for op in TESTED:
        kind = "functions" if isinstance(op.lowering, Callable) else type(op.lowering).__name__
        found.setdefault(kind, []).append(op)
    return {n: ops for n, ops in found.items() if len(ops) > 1}


@cache
def _cases(op: Op) -> list[Case]:
    return list(cases_of(op))


def _case(op: Op, random: np.random.Generator) -> Case:
    found = _cases(op)
    weights = np.array(
        [float(np.prod([WEIGHTS.get(d, 1) for d in c.bound.values()])) for c in found]
    )
    return found[int(random.choice(len(found), p=weights / weights.sum()))]


def registry_graph(seed: int) -> RegistryGraph:
    """A graph of about eight nodes of examples, and what fits them to one another."""
    graph = RegistryGraph(seed)
    graph.grow(8)
    return graph
