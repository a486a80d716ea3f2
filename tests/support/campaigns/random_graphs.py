"""Random typed graphs for differential tests: elementwise ops, folds, views and products.

In: a seed. Out: a Computation and inputs. Floats are small binary fractions and every value carries
a bound, so that most results are exact in f32 whatever the order of operations; only exact values
reach ops that jump (comparisons, floor, casts to whole numbers).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation, Value
from flowc.ir.dims import Dim, Symbol, evaluate, symbol
from flowc.ir.types import TensorType

SIZES = (1, 2, 3, 5, 8, 17)
ELEMENTS = 3000  # of one value
EXACT_BITS = 24
DTYPES = (dtypes.f32, dtypes.f32, dtypes.f32, dtypes.i32, dtypes.bool_)


@dataclass(frozen=True, slots=True)
class Known:
    """A value: a multiple of 2**-`bits`, at most `bound`; not `exact` where it was rounded."""

    value: Value
    bound: float = 1
    bits: int = 0
    exact: bool = True

    @property
    def type(self) -> TensorType:
        return self.value.type


class RandomGraph:
    """Grows a graph node by node. `n` is the one symbolic size, if the graph has one; what `n` may
    be is in `open_sizes`, the largest first."""

    sizes: tuple[int, ...] = SIZES
    open_sizes: tuple[int, ...] = (7, 3, 1, 0)
    elements = ELEMENTS

    def __init__(self, seed: int) -> None:
        self.random = np.random.Generator(np.random.PCG64(seed))
        self.b = Builder()
        self.known: list[Known] = []
        self.symbolic = self.chance(0.35)

    def chance(self, p: float) -> bool:
        return bool(self.random.random() < p)

    def number(self, low: int, high: int) -> int:
        """low <= number < high"""
        return int(self.random.integers(low, high))

    # -- values

    def parameter(self, dims: tuple[Dim, ...], dtype: DType) -> Known:
        value = self.b.parameter(f"x{len(self.b.parameters)}", TensorType(dtype, dims))
        return self.keep(value, 2.0 if dtype is dtypes.f32 else 8, 3 if dtype is dtypes.f32 else 0)

    def keep(self, value: Value, bound: float = 1, bits: int = 0, exact: bool = True) -> Known:
        exact = exact and (value.type.dtype is not dtypes.f32 or bound * 2.0**bits < 2**EXACT_BITS)
        self.known.append(Known(value, bound, bits, exact))
        return self.known[-1]

    def some(self, dtype: DType | None = None, exact: bool = False) -> Known | None:
        """A value made before, rather a late one."""
        found = [
            k
            for k in self.known
            if (dtype is None or k.type.dtype is dtype) and (k.exact or not exact)
        ]
        if not found:
            return None
        return found[-1 - int(self.random.random() ** 2 * len(found))]

    def dims(self) -> tuple[Dim, ...]:
        rank = self.number(0, 4)
        found: list[Dim] = [self.size() for _ in range(rank)]
        if self.symbolic and rank and self.chance(0.7):
            found[0] = symbol("n")
        return tuple(found)

    def size(self) -> int:
        return self.sizes[self.number(0, len(self.sizes))]

    def partner(self, k: Known) -> Known:
        """An operand that broadcasts with another."""
        found = [
            x
            for x in self.known
            if x.type.dtype is k.type.dtype and self._broadcasts(x.value.dims, k.value.dims)
        ]
        if found and self.chance(0.8):
            return found[self.number(0, len(found))]
        kept = k.value.dims[self.number(0, k.type.rank + 1) :]
        dims = tuple(1 if self.chance(0.3) else d for d in kept)
        return self.parameter(dims, k.type.dtype)

    def _broadcasts(self, x: tuple[Dim, ...], y: tuple[Dim, ...]) -> bool:
        pairs = list(zip(reversed(x), reversed(y)))
        count = sum(a != b for a, b in pairs)
        return all(a == b or 1 in (a, b) for a, b in pairs) and count <= 2

    def count(self, dims: Sequence[Dim]) -> int:
        return int(np.prod([evaluate(d, {Symbol("n"): self.open_sizes[0]}) for d in dims]))

    def fits(self, dims: tuple[Dim, ...]) -> bool:
        return self.count(dims) <= self.elements

    # -- growing

    def grow(self, nodes: int) -> None:
        for _ in range(self.number(1, 3)):
            self.parameter(self.dims(), DTYPES[self.number(0, len(DTYPES))])
        steps = self.steps()
        while len(self.b.nodes) < nodes:
            steps[self.number(0, len(steps))]()

    def steps(self) -> list[Callable[[], None]]:
        return [
            self.float_unary, self.float_binary, self.float_binary, self.int_binary, self.compare,
            self.logical, self.choose, self.fold, self.fold, self.convert, self.transpose,
            self.cut, self.pad, self.concat, self.reshape, self.reverse, self.gather, self.repeat,
            self.product, self.normalize,
        ]  # fmt: skip

    def float_unary(self) -> None:
        name = ("neg", "abs", "relu", "floor", "sign", "square", "tanh", "sigmoid")[
            self.number(0, 8)
        ]
        k = self.some(dtypes.f32, exact=name in ("floor", "sign"))
        if k is None:
            return
        out = getattr(self.b, name)(k.value)
        if name == "square":
            self.keep(out, k.bound**2, 2 * k.bits, k.exact)
        elif name in ("tanh", "sigmoid"):
            self.keep(out, 1, 0, exact=False)
        else:
            self.keep(out, max(1, k.bound), k.bits, k.exact)

    def float_binary(self) -> None:
        name = ("add", "sub", "mul", "maximum", "minimum")[self.number(0, 5)]
        k = self.some(dtypes.f32)
        if k is None:
            return
        x = self.partner(k)
        if name == "mul" and (k.bound * x.bound > 1e4 or not self._product_fits(k, x)):
            name = "add"
        out = getattr(self.b, name)(k.value, x.value)
        bits = k.bits + x.bits if name == "mul" else max(k.bits, x.bits)
        bound = {"mul": k.bound * x.bound, "add": k.bound + x.bound, "sub": k.bound + x.bound}
        self.keep(out, bound.get(name, max(k.bound, x.bound)), bits, k.exact and x.exact)

    def _product_fits(self, k: Known, x: Known) -> bool:
        return not (k.exact and x.exact) or k.bound * x.bound * 2.0 ** (k.bits + x.bits) < 2**22

    def int_binary(self) -> None:
        name = ("add", "sub", "mul", "maximum", "bitwise_and", "bitwise_xor", "floor_div")[
            self.number(0, 7)
        ]
        k = self.some(dtypes.i32)
        if k is None:
            return
        if name == "floor_div":
            out = self.b.floor_div(k.value, np.int32(self.number(1, 5)))
        else:
            out = getattr(self.b, name)(k.value, self.partner(k).value)
        self.keep(out, 2.0**31)

    def compare(self) -> None:
        k = self.some((dtypes.f32, dtypes.i32)[self.number(0, 2)], exact=True)
        if k is None:
            return
        x = self.partner(k)
        if x.exact:
            name = ("greater", "less_equal", "equal", "not_equal")[self.number(0, 4)]
            self.keep(getattr(self.b, name)(k.value, x.value))

    def logical(self) -> None:
        k = self.some(dtypes.bool_)
        if k is None:
            return
        name = ("logical_and", "logical_or")[self.number(0, 2)]
        self.keep(getattr(self.b, name)(k.value, self.b.logical_not(self.partner(k).value)))

    def choose(self) -> None:
        k = self.some()
        if k is None or k.type.dtype is dtypes.bool_:
            return
        found = [
            c
            for c in self.known
            if c.type.dtype is dtypes.bool_ and self._broadcasts(c.value.dims, k.value.dims)
        ]
        condition = found[-1] if found else self.parameter(k.value.dims, dtypes.bool_)
        x = self.partner(k)
        if not self._broadcasts(condition.value.dims, x.value.dims):
            return
        out = self.b.select_v2(condition.value, k.value, x.value)
        self.keep(out, max(k.bound, x.bound), max(k.bits, x.bits), k.exact and x.exact)

    def fold(self) -> None:
        k = self.some()
        if k is None or k.type.rank == 0:
            return
        rank = k.type.rank
        axes = sorted({self.number(0, rank) for _ in range(self.number(1, rank + 1))})
        keep_dims = self.chance(0.5)
        count = self.count([k.value.dims[a] for a in axes])
        if k.type.dtype is dtypes.bool_:
            name = ("all", "any")[self.number(0, 2)]
            self.keep(getattr(self.b, name)(k.value, tuple(axes), keep_dims=keep_dims))
            return
        name = ("sum", "max", "min", "mean")[self.number(0, 4)]
        if name == "mean" and k.type.dtype is not dtypes.f32:
            name = "sum"
        if name in ("sum", "mean") and k.bound * count > 1e5:
            name = "max"
        out = getattr(self.b, name)(k.value, tuple(axes), keep_dims=keep_dims)
        bound = k.bound * count if name == "sum" else k.bound
        self.keep(out, bound, k.bits, k.exact and name != "mean")

    def convert(self) -> None:
        k = self.some(exact=True)
        if k is None:
            return
        if k.type.dtype is dtypes.i32:
            if k.bound < 2**20:
                self.keep(self.b.cast(k.value, DstT=dtypes.f32), k.bound)
        elif k.type.dtype is dtypes.bool_:
            kind = (dtypes.f32, dtypes.i32)[self.number(0, 2)]
            self.keep(self.b.cast(k.value, DstT=kind))
        else:
            self.keep(self.b.cast(k.value, DstT=dtypes.i32), k.bound)

    def moved(self, k: Known, value: Value) -> None:
        if self.fits(value.dims):
            self.keep(value, k.bound, k.bits, k.exact)

    def transpose(self) -> None:
        k = self.some()
        if k is not None and k.type.rank > 1:
            order = tuple(int(i) for i in self.random.permutation(k.type.rank))
            self.moved(k, self.b.transpose(k.value, order))

    def cut(self) -> None:
        """A slice, or every other element, forwards or backwards."""
        k = self.some()
        if k is None or k.type.rank == 0:
            return
        begin, end, stride = [], [], []
        for d in k.value.dims:
            size = d if isinstance(d, int) else 2
            first = self.number(0, size)
            back = self.chance(0.25)
            stride.append(-1 if back else self.number(1, 3))
            begin.append(size - 1 if back else first)
            end.append(-size - 1 if back else (size if isinstance(d, int) else 1000))
        out = self.b.strided_slice(k.value, tuple(begin), tuple(end), tuple(stride))
        self.moved(k, out)

    def pad(self) -> None:
        k = self.some()
        if k is None or k.type.rank == 0 or k.type.dtype is dtypes.bool_:
            return
        paddings = self.random.integers(0, 3, (k.type.rank, 2)).astype(np.int32)
        self.moved(k, self.b.pad_v2(k.value, paddings, 1))

    def concat(self) -> None:
        k = self.some()
        if k is None or k.type.rank == 0:
            return
        axis = self.number(0, k.type.rank)
        found = [
            x
            for x in self.known
            if x.type.dtype is k.type.dtype
            and x.type.rank == k.type.rank
            and all(a == b or d == axis for d, (a, b) in enumerate(zip(x.value.dims, k.value.dims)))
        ]
        x = found[self.number(0, len(found))]
        out = self.b.concat(k.value, x.value, np.int32(axis))
        if self.fits(out.dims):
            self.keep(out, max(k.bound, x.bound), max(k.bits, x.bits), k.exact and x.exact)

    def reshape(self) -> None:
        k = self.some()
        if k is None:
            return
        way = self.number(0, 3)
        if way == 0 or k.type.rank < 2:
            self.moved(k, self.b.reshape(k.value, (-1,)))
        elif way == 1:
            at = self.number(0, k.type.rank - 1)
            d = k.value.dims
            self.moved(k, self.b.reshape(k.value, (*d[:at], d[at] * d[at + 1], *d[at + 2 :])))
        else:
            self.moved(k, self.b.expand_dims(k.value, np.int32(self.number(0, k.type.rank + 1))))

    def reverse(self) -> None:
        k = self.some()
        if k is not None and k.type.rank > 0:
            self.moved(k, self.b.reverse(k.value, (self.number(0, k.type.rank),)))

    def gather(self) -> None:
        k = self.some()
        if k is None or k.type.rank == 0:
            return
        axis = self.number(0, k.type.rank)
        size = k.value.dims[axis]
        if not isinstance(size, int) or size == 0:
            return
        rows = self.random.integers(0, size, self.number(1, 6)).astype(np.int32)
        indices = self.b.const(rows)
        if self.chance(0.5):
            # Computed by the run: all zero, but nobody knows.
            hidden = self.parameter((len(rows),), dtypes.i32)
            indices = self.b.bitwise_and(hidden.value, np.int32(0))
        self.moved(k, self.b.gather(k.value, indices, np.int32(axis)))

    def repeat(self) -> None:
        k = self.some()
        if k is not None and k.type.rank > 0:
            counts = tuple(self.number(1, 3) for _ in range(k.type.rank))
            self.moved(k, self.b.tile(k.value, counts))

    def product(self) -> None:
        k = self.some(dtypes.f32)
        if k is None or k.type.rank < 2 or not isinstance(k.value.dims[-1], int):
            return
        inner = k.value.dims[-1]
        columns = self.size()
        if k.bound * 2 * inner > 1e4 or not self.fits((*k.value.dims[:-1], columns)):
            return
        x = self.parameter((inner, columns), dtypes.f32)
        exact = k.exact and x.exact
        out = self.b.batch_mat_mul(k.value, x.value)
        self.keep(out, k.bound * x.bound * inner, k.bits + x.bits, exact)

    def normalize(self) -> None:
        k = self.some(dtypes.f32)
        if k is not None and k.type.rank > 0 and k.bound < 1e3:
            self.keep(self.b.softmax(k.value), 1, 0, exact=False)

    # -- the whole

    def build(self) -> Computation:
        """The graph with up to four results, the last value among them."""
        made = [k.value for k in self.known if k.value.node.op.name != "parameter"]
        results = dict.fromkeys(made[-1:])
        for _ in range(self.number(0, 4)):
            results[made[self.number(0, len(made))]] = None
        return self.b.build(list(results))


def random_graph(
    seed: int, kind: type[RandomGraph] = RandomGraph
) -> tuple[Computation, frozenset[Value]]:
    """A graph of 5 to 30 nodes, and those of its values that rounding leaves alone."""
    graph = kind(seed)
    graph.grow(graph.number(6, 31))
    while all(k.value.node.op.name == "parameter" for k in graph.known):
        graph.grow(len(graph.b.nodes) + 1)
    return graph.build(), frozenset(k.value for k in graph.known if k.exact)


def inputs_of(c: Computation, seed: int, n: int) -> list[np.ndarray]:
    """Small binary fractions and small whole numbers, with the symbolic size `n`."""
    random = np.random.Generator(np.random.PCG64(seed))
    found: list[np.ndarray] = []
    for parameter in c.parameters:
        dims = [evaluate(d, {Symbol("n"): n}) for d in parameter.output.dims]
        kind = parameter.output.type.dtype
        low, high, scale = {"float": (-16, 17, 1 / 8), "bool": (0, 2, 1)}.get(kind.kind, (-8, 9, 1))
        found.append(np.asarray(random.integers(low, high, dims) * scale).astype(kind.numpy))
    return found
