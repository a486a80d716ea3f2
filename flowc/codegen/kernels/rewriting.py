"""Loop nests with other expressions in the same statements.

In: a block of a nest. Out: the same block with each expression replaced by what `expression` gives
for it. A rewriter overrides that; what it leaves is gone through here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from flowc.codegen.kernels.nest import (
    Address,
    Apply,
    Assign,
    Carve,
    Declare,
    Expression,
    For,
    If,
    Invoke,
    Let,
    Load,
    Statement,
    Store,
    While,
)


class NestRewriter:
    """Leaves everything as it is."""

    def block(self, body: Sequence[Statement]) -> tuple[Statement, ...]:
        return tuple(map(self.statement, body))

    def statement(self, s: Statement) -> Statement:
        match s:
            case Let() | Declare() | Assign():
                return replace(s, value=self.expression(s.value))
            case Carve():
                return replace(s, offset=self.expression(s.offset))
            case Store():
                index = self.expression(s.index)
                return replace(s, index=index, value=self.expression(s.value))
            case For():
                start, stop = self.expression(s.start), self.expression(s.stop)
                return replace(s, start=start, stop=stop, body=self.block(s.body))
            case While():
                return replace(s, body=self.block(s.body))
            case If():
                condition, body = self.expression(s.condition), self.block(s.body)
                otherwise = self.block(s.otherwise)
                return replace(s, condition=condition, body=body, otherwise=otherwise)
            case Invoke():
                return replace(s, operands=tuple(map(self.expression, s.operands)))
            case _:
                return s

    def expression(self, x: Expression) -> Expression:
        match x:
            case Load(condition=condition, otherwise=otherwise):
                index = self.expression(x.index)
                condition = None if condition is None else self.expression(condition)
                otherwise = None if otherwise is None else self.expression(otherwise)
                return replace(x, index=index, condition=condition, otherwise=otherwise)
            case Address() if x.index is not None:
                return replace(x, index=self.expression(x.index))
            case Apply():
                return replace(x, operands=tuple(map(self.expression, x.operands)))
            case _:
                return x
