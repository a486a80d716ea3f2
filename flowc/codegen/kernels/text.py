"""The text form of a loop nest, which reads back to an equal one.

    def kernel(x0: f32, y0: f32, /, n0, *, begin, end):
        for p in range(begin, end):
            a0: variable[f32] = f32(0.0)
            for i in range(n0):
                t1: f32 = x0[p*n0 + i]
                a0 = fold_add(a0, t1)
            y0[p] = a0

It has the syntax of Python. Buffers stand before `/`, the range that is wanted behind `*`. A value
says its dtype, a variable that it is one, `kept0: buffer[f32] = scratch[n1]` where in scratch
memory a buffer starts. Ops are calls; a number with a dtype is a literal, one without is an int64;
a name in a dtype, `f16(t3)`, is the value as that dtype, where both are held alike. `at(x0, i)` is
where an element stands.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from flowc import dtypes
from flowc.codegen.kernels.nest import (
    BYTES,
    Address,
    Apply,
    Assign,
    Break,
    Carve,
    Declare,
    Expression,
    For,
    If,
    Index,
    IndexSum,
    Invoke,
    Let,
    Literal,
    Load,
    LoopNest,
    Name,
    Scalar,
    Statement,
    Store,
    While,
    result_dtype,
)
from flowc.dtypes import DType

Names = dict[str, DType]  # what the names in sight are

_DTYPES = {d.short: d for d in dtypes.ALL}


def nest_text(nest: LoopNest) -> str:
    """The text of a nest."""
    buffers = [f"{name}: {dtype}" for name, dtype in nest.buffers]
    given = [*buffers, "/", *nest.ints, "*", *nest.ranges]
    lines = [f"def kernel({', '.join(given)}):"]
    names = dict.fromkeys((*nest.ints, *nest.ranges), dtypes.i64)
    _Printer(lines).block(nest.body, 1, names)
    return "\n".join([*lines, ""])


class _Printer:
    def __init__(self, lines: list[str]) -> None:
        self.lines = lines

    def block(self, body: Sequence[Statement], depth: int, names: Names) -> None:
        if not body:
            self.lines.append("    " * depth + "pass")
        for statement in body:
            self.lines.append("    " * depth + _head(statement, names))
            match statement:
                case For(name=name, body=inside):
                    self.block(inside, depth + 1, names | {name: dtypes.i64})
                case While(body=inside):
                    self.block(inside, depth + 1, dict(names))
                case If(body=inside, otherwise=otherwise):
                    self.block(inside, depth + 1, dict(names))
                    if otherwise:
                        self.lines.append("    " * depth + "else:")
                        self.block(otherwise, depth + 1, dict(names))
                case Let(name=name, value=value) | Declare(name=name, value=value):
                    names[name] = value.dtype
                case _:
                    pass


def _head(statement: Statement, names: Names) -> str:
    """A statement without the blocks in it."""
    match statement:
        case Let(name, value):
            return f"{name}: {value.dtype} = {_text(value, names)}"
        case Declare(name, value):
            return f"{name}: variable[{value.dtype}] = {_text(value, names)}"
        case Assign(name, value):
            return f"{name} = {_text(value, names)}"
        case Carve(name, dtype, offset):
            return f"{name}: buffer[{dtype}] = scratch[{_text(offset, names)}]"
        case Store(buffer, index, value):
            return f"{buffer}[{_text(index, names)}] = {_text(value, names)}"
        case For(name, start, stop, step, _):
            bounds = [_text(start, names), _text(stop, names), *([str(step)] if step != 1 else [])]
            return f"for {name} in range({', '.join(bounds[bounds[0] == '0' and step == 1 :])}):"
        case While():
            return "while True:"
        case If(condition=condition):
            return f"if {_text(condition, names)}:"
        case Break():
            return "break"
        case Invoke(function, operands):
            return f"{function}({', '.join(_text(x, names) for x in operands)})"


def _text(x: Expression, names: Names) -> str:
    match x:
        case Name(name, dtype):
            return name if names.get(name) is dtype else f"{dtype}({name})"
        case Literal(text, dtype):
            return text if dtype is dtypes.bool_ else f"{dtype}({text.replace(' ', ', ')})"
        case IndexSum():
            return sum_text(x)
        case Load(buffer, index, _, condition, otherwise):
            text = f"{buffer}[{_text(index, names)}]"
            if condition is None or otherwise is None:
                return text
            return f"{text} if {_text(condition, names)} else {_text(otherwise, names)}"
        case Apply(op, operands, _):
            return f"{op}({', '.join(_text(o, names) for o in operands)})"
        case Address(buffer, index):
            return f"at({buffer})" if index is None else f"at({buffer}, {_text(index, names)})"


def sum_text(x: IndexSum) -> str:
    """A sum as an expression of Python, its terms in their order."""
    parts: list[str] = []
    for factor, names in x.terms:
        text = "*".join(names)
        if not names:
            text = str(factor)
        elif factor == -1:
            text = f"-{text}"
        elif factor != 1:
            text = f"{text}*{factor}"
        parts.append(text)
    return " + ".join(parts).replace("+ -", "- ") or "0"


def parse_nest(text: str) -> LoopNest:
    """Reads what `nest_text` printed. Raises `ValueError` with the line that has another form."""
    (function,) = ast.parse(text).body
    if not isinstance(function, ast.FunctionDef):
        raise ValueError("no kernel")
    given = function.args
    buffers = tuple((a.arg, _buffer_dtype(a.annotation)) for a in given.posonlyargs)
    ints, ranges = (tuple(a.arg for a in side) for side in (given.args, given.kwonlyargs))
    parser = _NestParser({name: t for name, t in buffers if isinstance(t, DType)})
    names = dict.fromkeys((*ints, *ranges), dtypes.i64)
    return LoopNest(buffers, ints, ranges, parser.block(function.body, names))


def _buffer_dtype(annotation: ast.expr | None) -> DType | str:
    assert isinstance(annotation, ast.Name)
    return BYTES if annotation.id == BYTES else _DTYPES[annotation.id]


class _NestParser:
    def __init__(self, buffers: dict[str, DType]) -> None:
        self.buffers = buffers

    def block(self, body: Sequence[ast.stmt], names: Names) -> tuple[Statement, ...]:
        return tuple(self.statement(s, names) for s in body if not isinstance(s, ast.Pass))

    def statement(self, s: ast.stmt, names: Names) -> Statement:
        match s:
            case ast.AnnAssign(ast.Name(name), ast.Name(dtype), ast.expr() as value):
                names[name] = _DTYPES[dtype]
                return Let(name, self.value(value, names, names[name]))
            case ast.AnnAssign(
                ast.Name(name), ast.Subscript(ast.Name(kind), ast.Name(short)), ast.expr() as value
            ):
                dtype = _DTYPES[short]
                if kind == "buffer" and isinstance(value, ast.Subscript):
                    self.buffers[name] = dtype
                    return Carve(name, dtype, self.index(value.slice, names))
                names[name] = dtype
                return Declare(name, self.value(value, names, dtype))
            case ast.Assign([ast.Name(name)], value):
                return Assign(name, self.value(value, names, names[name]))
            case ast.Assign([ast.Subscript(ast.Name(buffer), index)], value):
                stored = self.value(value, names)
                assert isinstance(stored, (Name, Literal, IndexSum))
                return Store(buffer, self.index(index, names), stored)
            case ast.For(ast.Name(name), ast.Call(args=bounds), body):
                start: Index = IndexSum() if len(bounds) == 1 else self.index(bounds[0], names)
                stop = self.index(bounds[min(1, len(bounds) - 1)], names)
                step = int(ast.unparse(bounds[2])) if len(bounds) == 3 else 1
                return For(name, start, stop, step, self.block(body, names | {name: dtypes.i64}))
            case ast.While(body=body):
                return While(self.block(body, dict(names)))
            case ast.If(condition, body, otherwise):
                test = self.value(condition, names)
                return If(test, self.block(body, dict(names)), self.block(otherwise, dict(names)))
            case ast.Break():
                return Break()
            case ast.Expr(ast.Call(ast.Name(function), operands)):
                return Invoke(function, tuple(self.value(x, names) for x in operands))
            case _:
                raise ValueError(f"not a statement of a nest: {ast.unparse(s)}")

    def index(self, x: ast.expr, names: Names) -> Index:
        if isinstance(x, ast.Name):
            return Name(x.id, names[x.id])
        return IndexSum(tuple(t for t in _terms(x) if t != (0, ())))

    def scalar(self, x: ast.expr, names: Names) -> Scalar:
        found = self.value(x, names)
        assert isinstance(found, (Name, Literal))
        return found

    def value(self, x: ast.expr, names: Names, said: DType | None = None) -> Expression:
        match x:
            case ast.Constant(bool(truth)):
                return Literal(str(truth), dtypes.bool_)
            case ast.Subscript(ast.Name(buffer), index):
                return Load(buffer, self.index(index, names), self.buffers[buffer])
            case ast.IfExp(test, ast.Subscript(ast.Name(buffer), index), other):
                condition = self.scalar(test, names)
                assert isinstance(condition, Name)
                place, dtype = self.index(index, names), self.buffers[buffer]
                return Load(buffer, place, dtype, condition, self.scalar(other, names))
            case ast.Call(ast.Name("at"), [ast.Name(buffer), *index]):
                return Address(buffer, self.index(index[0], names) if index else None)
            case ast.Call(ast.Name(name), operands) if name in _DTYPES:
                dtype = _DTYPES[name]
                if isinstance(operands[0], ast.Name) and operands[0].id in names:
                    return Name(operands[0].id, dtype)
                return Literal(" ".join(map(ast.unparse, operands)), dtype)
            case ast.Call(ast.Name(op), operands):
                found = tuple(self.value(o, names) for o in operands)
                dtype = result_dtype(op, [o.dtype for o in found]) or said
                if dtype is None:
                    raise ValueError(f"the dtype of {ast.unparse(x)} is not said")
                return Apply(op, found, dtype)
            case _:
                return self.index(x, names)


def _terms(x: ast.expr) -> list[tuple[int, tuple[str, ...]]]:
    """The terms of a sum, in their order."""
    match x:
        case ast.BinOp(left, ast.Add() | ast.Sub() as op, right):
            sign = 1 if isinstance(op, ast.Add) else -1
            return [*_terms(left), *((sign * factor, names) for factor, names in _terms(right))]
        case ast.BinOp(left, ast.Mult(), right):
            ((a, before),), ((b, after),) = _terms(left), _terms(right)
            return [(a * b, before + after)]
        case ast.UnaryOp(ast.USub(), operand):
            return [(-factor, names) for factor, names in _terms(operand)]
        case ast.Constant(int(number)):
            return [(number, ())]
        case ast.Name(name):
            return [(1, (name,))]
        case _:
            raise ValueError(f"not an index: {ast.unparse(x)}")
