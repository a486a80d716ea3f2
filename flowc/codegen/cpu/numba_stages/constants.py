"""Expressions of a kernel that are numbers when it is compiled.

In: expressions as syntax trees, and the globals that they name. Out: numbers, or `UNKNOWN`.
"""

from __future__ import annotations

import ast
import operator
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, TypeGuard

import numpy as np

BINARY: Mapping[type, Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
COMPARISONS: Mapping[type, Callable[..., Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}
UNARY: Mapping[type, Callable[..., Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
}
_NUMBER = bool | int | float | np.integer | np.bool_
UNKNOWN: Any = object()


def literal(x: ast.expr) -> Any:
    """What Python itself makes one constant of."""
    match x:
        case ast.Constant(value=value):
            return value
        case ast.UnaryOp(op=op, operand=operand) if not isinstance(op, ast.Not):
            return _applied(UNARY[type(op)], literal(operand))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in BINARY:
            # The right one first: of a sum of many terms it is the short one.
            last = literal(right)
            return UNKNOWN if last is UNKNOWN else _applied(BINARY[type(op)], literal(left), last)
        case _:
            return UNKNOWN


class KnownNumbers:
    """What is known of the globals that a function names, and of its variables. Of one that names
    no numbers nothing is known of variables."""

    def __init__(self, function: Any, definition: ast.FunctionDef) -> None:
        code = function.__code__
        self._names: Mapping[str, Any] = function.__globals__
        self._variables = frozenset(code.co_varnames)
        self._times: Counter[str] = Counter()  # that each variable is assigned
        if any(isinstance(self._names.get(name), _NUMBER) for name in code.co_names):
            self._times.update(a.arg for a in definition.args.args)
            self._times.update(x.id for x in ast.walk(definition) if _is_stored(x))
        self._known: dict[str, Any] = {}

    def assign(self, name: str, value: ast.expr) -> None:
        """A variable is given a value: if it never has another one, it is known."""
        if self._times[name] == 1:
            self._known[name] = self.number(value)

    def number(self, x: ast.expr) -> Any:
        """What an expression of constants is, also of those that the source names."""
        match x:
            case ast.Constant(value=value):
                return value if isinstance(value, _NUMBER) else UNKNOWN
            case ast.Name(id=name):
                value = self._known.get(name) if name in self._variables else self._names.get(name)
                return value if isinstance(value, _NUMBER) else UNKNOWN
            case ast.UnaryOp(op=op, operand=operand):
                return _applied(UNARY[type(op)], self.number(operand))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in BINARY:
                return _applied(BINARY[type(op)], self.number(left), self.number(right))
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARISONS:
                return _applied(COMPARISONS[type(op)], self.number(left), self.number(right))
            case _:
                return UNKNOWN


def _is_stored(x: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)


def _applied(function: Callable[..., Any], *operands: Any) -> Any:
    if any(x is UNKNOWN for x in operands):
        return UNKNOWN
    try:
        return function(*operands)
    except (ArithmeticError, TypeError, ValueError):
        return UNKNOWN
