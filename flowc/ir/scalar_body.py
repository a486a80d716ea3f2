"""How a lowering computes one element, as data: an immutable sequence of scalar instructions.

In: a Python function over a ScalarBuilder, called once with one that records. Out: a ScalarBody,
which is called like that function and replays the same calls, in the same order, on any other
ScalarBuilder. Invariants: operands are typed and defined before they are used; indices are symbols,
which are substituted where the body is used, so that bounds are proved there.

Two forms: of a map, `body(k, *elements)` gets the elements of the inputs; of a view,
`body(k, index)` gets the index of the element that it makes, and loads others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from flowc import dtypes
from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.errors import InternalError
from flowc.ir.cached_property import cached_property
from flowc.ir.dims import Dim, Symbol, substitute, symbol, symbols_of
from flowc.ir.scalar import PRIMITIVES
from flowc.ir.types import Dims

LOCAL = "@"  # starts the names of a body's index symbols, which no size has


@dataclass(frozen=True, slots=True)
class BodyLiteral:
    """A number in a body."""

    value: bool | int | float | complex
    dtype: DType


@dataclass(frozen=True, slots=True)
class Result:
    """The scalar of a number: the elements of a map come first, then what instructions give."""

    number: int
    dtype: DType


Operand = BodyLiteral | Result


@dataclass(frozen=True, slots=True)
class Instruction:
    """One call of a ScalarBuilder. `name` is that of a primitive or of another of its methods;
    `dtype` that of the result, None where there is none; `dims` are the sizes and indices that it
    takes, `source` the input that it loads from."""

    name: str
    operands: tuple[Operand, ...]
    dtype: DType | None
    dims: tuple[Dim, ...] = ()
    source: int = 0
    message: str = ""


@dataclass(frozen=True)
class ScalarBody:
    """`inputs`: dtypes of the elements, or of what a view may load from. `rank`: of the index of a
    view; None for a map."""

    inputs: tuple[DType, ...]
    rank: int | None
    instructions: tuple[Instruction, ...]
    result: Operand

    def __call__(self, k: Any, *given: Any) -> Any:
        """The result in the terms of `k`: for the elements `given`, or the one index."""
        values: list[Any] = []
        env: dict[Symbol, Dim] = {}
        if self.rank is None:
            values += given
        else:
            env = {Symbol(index_name(d)): i for d, i in enumerate(given[0])}

        def scalar(x: Operand) -> Any:
            return values[x.number] if isinstance(x, Result) else k.const(x.value, x.dtype)

        for i in self.instructions:
            operands = [scalar(x) for x in i.operands]
            if i.name in PRIMITIVES:
                values.append(getattr(k, i.name)(*operands))
                continue
            found = _call(k, i, operands, tuple([substitute(d, env) for d in i.dims]))
            if i.name in PLACES:
                env[Symbol(place_name(len(values)))] = found
            values.append(found)
        return scalar(self.result)

    def numbered(self) -> Iterator[tuple[Result, Instruction]]:
        """The instructions, each with what it gives (nothing reads that of those without one)."""
        first = len(self.inputs) if self.rank is None else 0
        for number, i in enumerate(self.instructions, first):
            yield Result(number, i.dtype or dtypes.bool_), i

    @property
    def dtype(self) -> DType:
        return self.result.dtype

    @cached_property
    def read(self) -> tuple[int, ...]:
        """The inputs whose elements it needs, ascending."""
        if self.rank is not None:
            return tuple(sorted({source for source, _ in self.loads()}))
        used = {x.number for x in self._operands() if isinstance(x, Result)}
        return tuple(n for n in range(len(self.inputs)) if n in used)

    def loads(self) -> Iterator[tuple[int, tuple[Dim, ...]]]:
        """What a view reads: inputs and indices."""
        return ((i.source, i.dims) for i in self.instructions if i.name in LOADS)

    @cached_property
    def key(self) -> tuple[str, tuple[Dims, ...]]:
        """Equal for bodies that say the same of the same sizes, which texts do not tell apart."""
        return repr(self), tuple(i.dims for i in self.instructions)

    @cached_property
    def sizes(self) -> frozenset[Symbol]:
        """The sizes in it."""
        found = symbols_of(*(d for i in self.instructions for d in i.dims))
        return frozenset(s for s in found if not s.name.startswith(LOCAL))

    def with_sizes(self, env: Mapping[Symbol, Dim]) -> ScalarBody:
        """The body with sizes replaced."""
        return replace(
            self,
            instructions=tuple(
                replace(i, dims=tuple(substitute(d, env) for d in i.dims)) if i.dims else i
                for i in self.instructions
            ),
        )

    def with_inputs(self, kept: Sequence[int]) -> ScalarBody:
        """The body over some of its inputs: all that it reads."""
        if len(kept) == len(self.inputs):
            return self
        inputs = tuple(self.inputs[n] for n in kept)
        if self.rank is not None:
            moved = (
                replace(i, source=kept.index(i.source)) if i.name in LOADS else i
                for i in self.instructions
            )
            return replace(self, inputs=inputs, instructions=tuple(moved))
        numbers = {n: place for place, n in enumerate(kept)}
        shift = len(kept) - len(self.inputs)

        def renumbered(x: Operand) -> Operand:
            if isinstance(x, BodyLiteral):
                return x
            return Result(numbers.get(x.number, x.number + shift), x.dtype)

        instructions = (
            replace(i, operands=tuple(map(renumbered, i.operands))) for i in self.instructions
        )
        return ScalarBody(inputs, None, tuple(instructions), renumbered(self.result))

    def _operands(self) -> Iterator[Operand]:
        for i in self.instructions:
            yield from i.operands
        yield self.result


LOADS = frozenset({"load", "load_if"})
PLACES = frozenset({"as_index", "checked_index"})


def index_name(axis: int) -> str:
    return f"{LOCAL}i{axis}"


def place_name(number: int) -> str:
    """The index symbol that the scalar of a number became."""
    return f"{LOCAL}p{number}"


def _call(k: Any, i: Instruction, operands: Sequence[Any], dims: tuple[Dim, ...]) -> Any:
    match i.name:
        case "load":
            return k.load(i.source, dims)
        case "load_if":
            return k.load_if(operands[0], i.source, dims, operands[1])
        case "in_range":
            return k.in_range(*dims)
        case "index_value":
            return k.index_value(dims[0], i.dtype)
        case "as_index":
            return k.as_index(operands[0], dims[0])
        case "checked_index":
            return k.checked_index(operands[0], dims[0], i.message, dims[1:])
        case "check":
            return k.check(operands[0], i.message)
        case "cast" | "bitcast":
            return getattr(k, i.name)(operands[0], i.dtype)
        case name:
            return getattr(k, name)(*operands)


# -- recording


class Recorder:
    """The ScalarBuilder that records what it is asked for."""

    def __init__(self, inputs: Sequence[DType], rank: int | None = None) -> None:
        self.inputs = tuple(inputs)
        self.rank = rank
        self.instructions: list[Instruction] = []

    @property
    def elements(self) -> list[Result]:
        """The elements of a map's inputs."""
        return [Result(n, t) for n, t in enumerate(self.inputs)]

    def body(self, result: Any) -> ScalarBody:
        return ScalarBody(self.inputs, self.rank, tuple(self.instructions), result)

    @property
    def next_number(self) -> int:
        """The number of what the next instruction gives."""
        return len(self.instructions) + (len(self.inputs) if self.rank is None else 0)

    def _record(self, name: str, operands: Sequence[Any], dtype: DType | None, **more: Any) -> Any:
        number = self.next_number
        self.instructions.append(Instruction(name, tuple(operands), dtype, **more))
        return None if dtype is None else Result(number, dtype)

    def __getattr__(self, primitive: str) -> Callable[..., Result]:
        if primitive not in PRIMITIVES:
            raise AttributeError(primitive)
        count, _, result, _ = PRIMITIVES[primitive]

        def call(*operands: Any) -> Result:
            if len(operands) != count:
                raise InternalError(f"{primitive} takes {count} operands, found {len(operands)}")
            typed = self.typed(operands)
            dtype = typed[0].dtype
            kinds = {"same": dtype, "bool": dtypes.bool_}
            return self._record(primitive, typed, kinds.get(result) or dtype.real_dtype)

        return call

    def typed(self, operands: Sequence[Any]) -> list[Operand]:
        """Operands of one dtype, which that of the numbers among them follows."""
        dtype = next((x.dtype for x in operands if isinstance(x, (BodyLiteral, Result))), None)
        if dtype is None:
            raise InternalError(f"no operand of {operands} has a dtype")
        found = [self.const(x, dtype) for x in operands]
        if any(x.dtype is not dtype for x in found):
            raise InternalError(f"operands have different dtypes: {[x.dtype.short for x in found]}")
        return found

    def const(self, value: Any, dtype: DType) -> Any:
        if isinstance(value, (BodyLiteral, Result)):
            return value
        return BodyLiteral(_number(value, dtype), dtype)

    def cast(self, x: Any, dtype: DType) -> Any:
        return self._record("cast", [x], dtype)

    def bitcast(self, x: Any, dtype: DType) -> Any:
        return self._record("bitcast", [x], dtype)

    def select(self, condition: Any, x: Any, y: Any) -> Any:
        typed = self.typed((x, y))
        holds = self.const(condition, dtypes.bool_)
        return self._record("select", [holds, *typed], typed[0].dtype)

    def complex(self, real: Any, imag: Any) -> Any:
        typed = self.typed((real, imag))
        dtype = dtypes.c64 if typed[0].dtype is dtypes.f32 else dtypes.c128
        return self._record("complex", typed, dtype)

    def load(self, operand: int, index: tuple[Dim, ...]) -> Any:
        return self._record("load", (), self.inputs[operand], dims=tuple(index), source=operand)

    def load_if(self, condition: Any, operand: int, index: tuple[Dim, ...], otherwise: Any) -> Any:
        dtype = self.inputs[operand]
        operands = [self.const(condition, dtypes.bool_), self.const(otherwise, dtype)]
        return self._record("load_if", operands, dtype, dims=tuple(index), source=operand)

    def in_range(self, value: Dim, low: Dim, high: Dim) -> Any:
        return self._record("in_range", (), dtypes.bool_, dims=(value, low, high))

    def index_value(self, value: Dim, dtype: DType) -> Any:
        return self._record("index_value", (), dtype, dims=(value,))

    def as_index(self, x: Any, extent: Dim) -> Dim:
        return self._place("as_index", x, (extent,), "")

    def checked_index(self, x: Any, extent: Dim, message: str, place: tuple[Dim, ...] = ()) -> Dim:
        return self._place("checked_index", x, (extent, *place), message)

    def _place(self, name: str, x: Any, dims: tuple[Dim, ...], message: str) -> Dim:
        number = self.next_number
        self._record(name, [x], None, dims=dims, message=message)
        return symbol(place_name(number), dims[0])

    def check(self, condition: Any, message: str) -> None:
        self._record("check", [self.const(condition, dtypes.bool_)], None, message=message)


def record_map(expr: Callable[..., Any], inputs: Sequence[DType]) -> ScalarBody:
    """The body of `expr(k, *elements)`."""
    k = Recorder(inputs)
    return k.body(expr(k, *k.elements))


def record_view(
    read: Callable[[Any, tuple[Dim, ...]], Any], inputs: Sequence[DType], dims: Dims
) -> ScalarBody:
    """The body of `read(k, index)` for an output of these dims."""
    k = Recorder(inputs, len(dims))
    return k.body(read(k, index_symbols(dims)))


def index_symbols(dims: Dims) -> tuple[Dim, ...]:
    """The symbols that stand for the index of an element."""
    return tuple(symbol(index_name(d), extent) for d, extent in enumerate(dims))


def _number(value: Any, dtype: DType) -> bool | int | float | complex:
    """A Python number of a dtype's kind; of strings there is only the empty one, number 0."""
    if dtype is dtypes.string:
        if value not in (0, "", b""):
            raise InternalError(f"the text {value!r} inside a kernel")
        return 0
    number: Any = value
    if isinstance(value, (np.generic, np.ndarray)):
        number = cast(Any, value).item()
    if dtype is dtypes.bool_:
        return bool(number)
    if dtype.is_complex:
        return complex(number)
    return float(number) if dtype.is_floating else int(number)


_HALVES = (dtypes.f16, dtypes.bf16)
# What rounds nothing.
_EXACT = frozenset({"neg", "abs", "sign", "max", "min", "max_select", "min_select"})


def rounds_halves(expr: Callable[..., Any], inputs: Sequence[DType]) -> bool:
    """Whether an expression rounds numbers of 16 bits before its result, or a number of its own."""
    if not any(d in _HALVES for d in inputs):
        return False
    found = record_map(expr, inputs).instructions
    rounded = [i for i in found if i.name in PRIMITIVES and i.dtype in _HALVES]
    rounded = [i for i in rounded if i.name not in _EXACT]
    operands = (x for i in rounded for x in i.operands)
    return len(rounded) > 1 or any(isinstance(x, BodyLiteral) for x in operands)
