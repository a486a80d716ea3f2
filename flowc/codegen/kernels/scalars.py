"""Scalar expressions and loads as parts of a loop nest: the ScalarBuilder of kernels.

In: calls of the primitives by lowerings. Out: statements of a nest. Invariant: one value is named
for one distinct primitive in a block; a `Let` never changes, so it may be moved.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.codegen.kernels.builder import (
    LOCAL,
    NestBuilder,
    both,
    compare,
    either,
    int_number,
    negation,
)
from flowc.codegen.kernels.kernel import Fault
from flowc.codegen.kernels.nest import (
    Apply,
    Expression,
    Literal,
    Name,
    Scalar,
    is_half,
    memory_dtype,
)
from flowc.dtypes import DType
from flowc.errors import InternalError
from flowc.ir.dims import Dim, is_nonnegative, symbol
from flowc.ir.scalar import PRIMITIVES

Condition = tuple[Dim, Dim, Dim]  # (value, low, high): whether low <= value < high

TRUE, FALSE = Literal("True", dtypes.bool_), Literal("False", dtypes.bool_)


class KernelScalars:
    """The ScalarBuilder that builds nests. `loader(operand, index)` gives elements of the
    current node's inputs; cluster.py sets it for the node that is being lowered. `conditions` are
    the ranges that are asked for. `guard`: under which condition what is computed will be used, and
    may fail the run; `asks_for_guard`: whether something asked for it, so that what was computed is
    of no use elsewhere. `tells_places`: a fault says where the wrong index stands."""

    def __init__(self, nest: NestBuilder) -> None:
        self.nest = nest
        self.operand_types: tuple[DType, ...] = ()
        self.conditions: list[Condition] = []
        self.guard: Name | None = None
        self.asks_for_guard = False
        self.tells_places = True
        self.loader: Callable[[int, tuple[Dim, ...]], Scalar] | None = None
        self.guarded_loader: Callable[[Name, int, tuple[Dim, ...], Scalar], Scalar] | None = None

    def __getattr__(self, name: str) -> Callable[..., Scalar]:
        if name not in PRIMITIVES:
            raise AttributeError(name)
        primitive = PRIMITIVES[name]

        def call(*operands: Any) -> Scalar:
            assert len(operands) == primitive.operands, f"{name}: {len(operands)} operands"
            return self._primitive(name, self._typed(operands), primitive.result)

        return call

    def _primitive(self, name: str, scalars: tuple[Scalar, ...], result: str) -> Scalar:
        return self.nest.remember((name, scalars), lambda: self._emit(name, scalars, result))

    def _typed(self, operands: tuple[Any, ...]) -> tuple[Scalar, ...]:
        dtype = next((x.dtype for x in operands if isinstance(x, Scalar)), None)
        if dtype is None:
            raise InternalError(f"no operand of {operands} has a dtype")
        typed = tuple(x if isinstance(x, Scalar) else self.const(x, dtype) for x in operands)
        if any(x.dtype is not dtype for x in typed):
            raise InternalError(f"operands have different dtypes: {typed}")
        return typed

    def _emit(self, name: str, x: tuple[Scalar, ...], result: str) -> Scalar:
        dtype = x[0].dtype
        if result == "bool":
            return self.nest.let(Apply(name, x, dtypes.bool_))
        if dtype.is_complex and name in ("mul", "div"):
            return self._complex_product(*x) if name == "mul" else self._complex_division(*x)
        return self._rounded(Apply(name, x, dtype.real_dtype if result == "real" else dtype))

    def _rounded(self, value: Apply) -> Name:
        """Names a value; f16 and bf16 are rounded to their precision."""
        found = self.nest.let(value)
        if is_half(value.dtype):
            found = self.nest.let(Apply("from_memory", (self._in_memory(found),), value.dtype))
        return found

    def _in_memory(self, x: Scalar) -> Apply:
        return Apply("to_memory", (x,), memory_dtype(x.dtype))

    def _complex_product(self, x: Scalar, y: Scalar) -> Scalar:
        """By parts: Numba's own product is Python that needs typing of the math module."""
        a, b, c, d = self.real(x), self.imag(x), self.real(y), self.imag(y)
        real = self.sub(self.mul(a, c), self.mul(b, d))
        return self.complex(real, self.add(self.mul(a, d), self.mul(b, c)))

    def _complex_division(self, x: Scalar, y: Scalar) -> Scalar:
        """By the conjugate, as Eigen divides complex numbers."""
        a, b, c, d = self.real(x), self.imag(x), self.real(y), self.imag(y)
        norm = self.add(self.mul(c, c), self.mul(d, d))
        real = self.div(self.add(self.mul(a, c), self.mul(b, d)), norm)
        imag = self.div(self.sub(self.mul(b, c), self.mul(a, d)), norm)
        return self.complex(real, imag)

    # -- conditions, of which some are known

    def logical_and(self, x: Any, y: Any) -> Scalar:
        a, b = self._typed((x, y))
        for one, other in ((a, b), (b, a)):
            if one in (TRUE, FALSE):
                return other if one == TRUE else one
        return self._primitive("logical_and", (a, b), "bool")

    def logical_or(self, x: Any, y: Any) -> Scalar:
        a, b = self._typed((x, y))
        for one, other in ((a, b), (b, a)):
            if one in (TRUE, FALSE):
                return one if one == TRUE else other
        return self._primitive("logical_or", (a, b), "bool")

    def in_range(self, value: Dim, low: Dim, high: Dim) -> Scalar:
        above, below = is_nonnegative(value - low), is_nonnegative(high - 1 - value)
        if above and below:
            return TRUE
        if is_nonnegative(low - 1 - value) or is_nonnegative(value - high):
            return FALSE
        self.conditions.append((value, low, high))
        nest = self.nest
        tests: list[Expression] = []
        if not above:
            tests.append(compare("ge", nest.index(value), nest.index(low)))
        if not below:
            tests.append(compare("lt", nest.index(value), nest.index(high)))
        test = both(*tests) if len(tests) == 2 else tests[0]
        return nest.remember(("in_range", value, low, high), lambda: nest.let(test))

    # -- what is not in the table

    def const(self, value: Any, dtype: DType) -> Scalar:
        if isinstance(value, Scalar):
            return value
        if dtype is dtypes.bool_:
            return TRUE if value else FALSE
        if dtype.is_complex:
            z = complex(value)
            return Literal(f"{z.real!r} {z.imag!r}", dtype)
        if dtype.is_floating:
            return Literal(repr(float(np.asarray(value).astype(dtype.numpy))), dtype)
        if dtype is dtypes.string and value not in (0, b""):
            raise InternalError(f"the text {value!r} inside a kernel")
        return Literal(str(int(value or 0)), dtype)

    def cast(self, x: Scalar, dtype: DType) -> Scalar:
        if x.dtype is dtype:
            return x
        return self.nest.remember(("cast", x, dtype), lambda: self._cast(x, dtype))

    def _cast(self, x: Scalar, dtype: DType) -> Scalar:
        if x.dtype.is_complex and not dtype.is_complex:
            return self.cast(self.real(x), dtype)
        if dtype.is_complex and not x.dtype.is_complex:
            part = self.cast(x, dtype.real_dtype)
            return self.complex(part, self.const(0, dtype.real_dtype))
        if dtype is dtypes.bool_:
            return self.ne(x, self.const(0, x.dtype))
        if x.dtype is dtypes.bool_:
            one, zero = self.const(1, dtype), self.const(0, dtype)
            return self.nest.let(Apply("select", (x, one, zero), dtype))
        return self._rounded(Apply("cast", (x,), dtype))

    def bitcast(self, x: Scalar, dtype: DType) -> Scalar:
        if x.dtype.size != dtype.size or dtype.is_complex or x.dtype.is_complex:
            raise InternalError(f"cannot take the bits of {x.dtype} as {dtype}")
        if x.dtype is dtypes.bool_ or dtype is dtypes.bool_:
            return self.cast(x, dtype)
        bits = self._in_memory(x) if is_half(x.dtype) else x
        if is_half(dtype):
            carried = self.nest.let(Apply("bitcast", (bits,), memory_dtype(dtype)))
            return self.nest.let(Apply("from_memory", (carried,), dtype))
        return self.nest.let(Apply("bitcast", (bits,), dtype))

    def select(self, condition: Scalar, x: Any, y: Any) -> Scalar:
        a, b = self._typed((x, y))
        if condition in (TRUE, FALSE):
            return a if condition == TRUE else b
        value = Apply("select", (condition, a, b), a.dtype)
        return self.nest.remember(value, lambda: self.nest.let(value))

    def complex(self, real: Any, imag: Any) -> Scalar:
        re, im = self._typed((real, imag))
        dtype = dtypes.c64 if re.dtype is dtypes.f32 else dtypes.c128
        return self.nest.let(Apply("complex", (re, im), dtype))

    # -- views

    def guard_asked_for(self) -> Name | None:
        if self.guard is not None:
            self.asks_for_guard = True
        return self.guard

    def load(self, operand: int, index: tuple[Dim, ...]) -> Scalar:
        assert self.loader is not None
        return self.loader(operand, index)

    def load_if(
        self, condition: Scalar, operand: int, index: tuple[Dim, ...], otherwise: Any
    ) -> Scalar:
        assert self.guarded_loader is not None
        other = self.const(otherwise, self.operand_types[operand])
        if isinstance(condition, Literal):
            return self.load(operand, index) if condition == TRUE else other
        return self.guarded_loader(condition, operand, index, other)

    def index_value(self, value: Dim, dtype: DType) -> Scalar:
        return self.nest.let(Apply("cast", (self.nest.index(value),), dtype))

    def as_index(self, x: Scalar, extent: Dim) -> Dim:
        name = self.nest.remember(("as_index", x), lambda: self._int(x).name)
        return symbol(LOCAL + name, extent)

    def _int(self, x: Scalar) -> Name:
        return self.nest.let(Apply("cast", (x,), dtypes.i64), "j")

    def checked_index(
        self, x: Scalar, extent: Dim, message: str, place: tuple[Dim, ...] = ()
    ) -> Dim:
        key = ("checked", x, extent, message, place, self.guard_asked_for())
        name = self.nest.remember(key, lambda: self._checked(x, extent, message, place))
        return symbol(LOCAL + name, extent)

    def _checked(self, x: Scalar, extent: Dim, message: str, place: tuple[Dim, ...]) -> str:
        """A name that is a safe index: 0 stands in for one out of range, which fails the run."""
        nest = self.nest
        raw = self._int(x)
        limit = nest.index(extent)
        bad = nest.let(either(compare("lt", raw, int_number(0)), compare("ge", raw, limit)))
        text, told = _fault_text(message, extent, place if self.tells_places else ())
        fault = self._fault(text)
        with nest.when(bad if self.guard is None else both(self.guard, bad)):
            nest.store("status", int_number(1), raw)
            for word, number in enumerate(told, 2):
                nest.store("status", int_number(word), nest.index(number))
            nest.store("status", int_number(0), fault)
        name = nest.let(Apply("select", (bad, int_number(0), raw), dtypes.i64), "j").name
        if not is_nonnegative(extent - 1):
            nest.right_where[LOCAL + name] = nest.let(negation(bad))
        return name

    def check(self, condition: Scalar, message: str) -> None:
        fault = self._fault(message)
        fails = negation(condition)
        guard = self.guard_asked_for()
        with self.nest.when(fails if guard is None else both(guard, fails)):
            self.nest.store("status", int_number(0), fault)

    def _fault(self, message: str) -> Any:
        """The number of a fault, from 1."""
        fault, faults = Fault(message, self.nest.node), self.nest.faults
        if fault not in faults:
            faults.append(fault)
        return int_number(faults.index(fault) + 1)


def _fault_text(message: str, extent: Dim, place: tuple[Dim, ...]) -> tuple[str, list[Dim]]:
    """The text of a fault, in which {a} is the value, and what {b} and {c} are: an extent that only
    the run knows, then the place, as far as there is room for it."""
    is_written = bool(place) and isinstance(extent, int)
    told: list[Dim] = [] if is_written or "{extent}" not in message else [extent]
    where = ".."
    if place and len(told) + len(place) <= 2:
        where = ",".join(["{b}", "{c}"][len(told) :][: len(place)])
        told += place
    limit = str(extent) if is_written else "{b}"
    text = message.replace("{value}", "{a}").replace("{extent}", limit).replace("{place}", where)
    return text, told
