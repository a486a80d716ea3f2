"""Scalar bodies as text, and back.

    add(mul(x0, x1), 1.0)                      elements of a map's inputs are x0, x1...
    v0 = exp(x0); div(v0, add(v0, 1.0))        what is read twice, or is long, has a name
    x0[i1, i0]                                 a view: an element at an index; i0, i1 is its own
    p0 = checked_index(x1[i0], n, 'row'); x0[p0, i1]
    check(in_range(i0, 0, 4), 'message'); x0[i0]

Numbers have the dtype of the operand beside them, or say their own: `1.0:f64`. Statements, and
operands in them, stand in the order of the instructions, so that what is read back is equal.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from flowc import dtypes
from flowc.dtypes import DType
from flowc.ir.dims import Dim, Symbol, substitute, symbol
from flowc.ir.scalar import PRIMITIVES
from flowc.ir.scalar_body import (
    LOCAL,
    PLACES,
    BodyLiteral,
    Instruction,
    Operand,
    Recorder,
    Result,
    ScalarBody,
    index_name,
    place_name,
)
from flowc.ir.text.dim_parsing import parse_dim
from flowc.ir.text.literals import eval_literal, parted, split_outside
from flowc.ir.types import Dims

LINE = 60  # characters of an expression, beyond which its parts have names
_CALL = re.compile(r"([a-z_][a-z_0-9]*)\((.*)\)")
_LOAD = re.compile(r"x(\d+)\[(.*)\]")
_ASSIGNMENT = re.compile(r"([vp]\d+) = (.*)")


def body_text(body: ScalarBody) -> str:
    return _BodyPrinter(body).run()


class _BodyPrinter:
    def __init__(self, body: ScalarBody) -> None:
        self.body = body
        self.first = len(body.inputs) if body.rank is None else 0
        self.uses = Counter(
            x.number
            for x in (*(o for i in body.instructions for o in i.operands), body.result)
            if isinstance(x, Result)
        )
        self.names = {n: f"x{n}" for n in range(self.first)}
        self.places: dict[Symbol, Dim] = {}
        self.pending: list[tuple[int, str]] = []  # expressions of one use, in order
        self.statements: list[str] = []

    def run(self) -> str:
        for number, i in enumerate(self.body.instructions, self.first):
            text = self.taken(i)
            if i.dtype is not None and self.uses[number] == 1 and len(text) <= LINE:
                self.pending.append((number, text))
                continue
            self.flush()
            if i.name in PLACES:
                name = f"p{len(self.places)}"
                self.places[Symbol(place_name(number))] = symbol(name)
                text = f"{name} = {text}"
            elif i.dtype is not None:
                text = self.named(number, text)
            self.statements.append(text)
        result = self.inlined([self.body.result], None)
        self.flush()
        return "; ".join([*self.statements, *(result or [self.shown(self.body.result, None)])])

    def named(self, number: int, text: str) -> str:
        self.names[number] = f"v{sum(n[0] == 'v' for n in self.names.values())}"
        return f"{self.names[number]} = {text}"

    def flush(self) -> None:
        """Statements for what waits to be read: it comes before all that follows."""
        for number, text in self.pending:
            self.statements.append(self.named(number, text))
        self.pending.clear()

    def taken(self, i: Instruction) -> str:
        """An instruction's text, with those operands in it that may stand there."""
        known = next((x.dtype for x in _alike(i) if isinstance(x, Result)), None)
        operands = self.inlined(i.operands, known)
        if operands is None:
            self.flush()
            operands = [self.shown(x, known) for x in i.operands]
        dims = [self.dim(d) for d in i.dims]
        match i.name:
            case "load":
                return f"x{i.source}[{', '.join(dims)}]"
            case "load_if":
                return f"load_if({operands[0]}, x{i.source}[{', '.join(dims)}], {operands[1]})"
            case "index_value" | "cast" | "bitcast":
                return f"{i.name}({', '.join([*operands, *dims])}, {i.dtype})"
            case name:
                said = [repr(i.message)] if i.message else []
                return f"{name}({', '.join([*operands, *dims, *said])})"

    def inlined(self, operands: Sequence[Operand], known: DType | None) -> list[str] | None:
        """The operands' texts where what is pending among them is what was computed last, in this
        order; else None."""
        waiting = [number for number, _ in self.pending]
        wanted = [x.number for x in operands if isinstance(x, Result) and x.number in waiting]
        if waiting[len(waiting) - len(wanted) :] != wanted:
            return None
        texts = dict(self.pending)
        if sum(len(texts[n]) for n in wanted) > LINE:
            return None
        self.pending = self.pending[: len(self.pending) - len(wanted)]
        return [
            texts[x.number] if isinstance(x, Result) and x.number in texts else self.shown(x, known)
            for x in operands
        ]

    def shown(self, x: Operand, known: DType | None) -> str:
        if isinstance(x, Result):
            return self.names[x.number]
        text = repr(x.value)
        return text if x.dtype is known or x.dtype is dtypes.bool_ else f"{text}:{x.dtype}"

    def dim(self, d: Dim) -> str:
        return str(substitute(d, self.places)).replace(LOCAL, "")


def _alike(i: Instruction) -> Sequence[Operand]:
    """The operands of one dtype, which numbers among them need not say."""
    if i.name in PRIMITIVES or i.name == "complex":
        return i.operands
    if i.name == "select":
        return i.operands[1:]
    return (Result(0, i.dtype),) if i.name == "load_if" and i.dtype is not None else ()


def parse_body(text: str, inputs: Sequence[DType], dims: Dims | None) -> ScalarBody:
    """Reads what `body_text` wrote. `dims`: those of the output of a view; None for a map. Raises
    `ValueError`."""
    return _BodyParser(inputs, dims).run(text)


class _BodyParser:
    def __init__(self, inputs: Sequence[DType], dims: Dims | None) -> None:
        self.k = Recorder(inputs, None if dims is None else len(dims))
        self.values: dict[str, Any] = {}
        if dims is None:
            self.values = {f"x{x.number}": x for x in self.k.elements}
        self.indices = {f"i{d}": symbol(index_name(d), n) for d, n in enumerate(dims or ())}

    def run(self, text: str) -> ScalarBody:
        *statements, result = split_outside(text, ";")
        for statement in statements:
            match = _ASSIGNMENT.fullmatch(statement)
            if match is None:
                self.expression(statement)
            elif match[1][0] == "p":
                self.indices[match[1]] = self.expression(match[2])
            else:
                self.values[match[1]] = self.expression(match[2])
        found = self.expression(result)
        if not isinstance(found, (BodyLiteral, Result)):
            raise ValueError(f"{result!r} is no scalar")
        return self.k.body(found)

    def expression(self, text: str) -> Any:
        if text in self.values:
            return self.values[text]
        load = _LOAD.fullmatch(text)
        if load is not None:
            return self.k.load(self.source(load[1]), self.dims(load[2]))
        call = _CALL.fullmatch(text)
        if call is not None:
            return self.call(call[1], split_outside(call[2]))
        literal, dtype = parted(text)
        value = eval_literal(literal)
        if dtype is not None:
            return self.k.const(value, dtype)
        return self.k.const(value, dtypes.bool_) if isinstance(value, bool) else value

    def call(self, name: str, parts: Sequence[str]) -> Any:
        k = self.k
        match name, parts:
            case "load_if", [condition, place, otherwise]:
                load = _LOAD.fullmatch(place)
                if load is None:
                    raise ValueError(f"expected an element of an input, found {place!r}")
                holds, other = self.expression(condition), self.expression(otherwise)
                return k.load_if(holds, self.source(load[1]), self.dims(load[2]), other)
            case "in_range", [value, low, high]:
                return k.in_range(self.dim(value), self.dim(low), self.dim(high))
            case "index_value", [value, dtype]:
                return k.index_value(self.dim(value), dtypes.as_dtype(dtype))
            case "as_index", [value, extent]:
                return k.as_index(self.expression(value), self.dim(extent))
            case "checked_index", [value, extent, *place, message]:
                x, dims = self.expression(value), tuple(map(self.dim, place))
                return k.checked_index(x, self.dim(extent), eval_literal(message), dims)
            case "check", [condition, message]:
                return k.check(self.expression(condition), eval_literal(message))
            case "cast" | "bitcast", [value, dtype]:
                return getattr(k, name)(self.expression(value), dtypes.as_dtype(dtype))
            case _:
                if name not in PRIMITIVES and name not in ("select", "complex"):
                    raise ValueError(f"no scalar primitive is named {name!r}")
                return getattr(k, name)(*map(self.expression, parts))

    def source(self, number: str) -> int:
        if int(number) >= len(self.k.inputs):
            raise ValueError(f"x{number} is not among the {len(self.k.inputs)} inputs")
        return int(number)

    def dims(self, text: str) -> tuple[Dim, ...]:
        return tuple(self.dim(part) for part in split_outside(text))

    def dim(self, text: str) -> Dim:
        return parse_dim(text, self.indices)
