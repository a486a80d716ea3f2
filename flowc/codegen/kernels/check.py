"""What holds of every loop nest, checked on the record.

In: a LoopNest. Out: nothing, or an `InternalError` that says what is wrong and where. Names are
defined once in sight, and before they are used; only variables are assigned; buffers are declared;
operands of an op have the dtypes that it takes, and its result the one that the op says.
"""

from __future__ import annotations

from collections.abc import Sequence

from flowc import dtypes
from flowc.codegen.kernels.nest import (
    FOLD,
    Address,
    Apply,
    Assign,
    Carve,
    Declare,
    Expression,
    For,
    IndexSum,
    Let,
    Literal,
    Load,
    LoopNest,
    Name,
    Statement,
    Store,
    blocks_of,
    expressions_of,
    held_dtype,
    parts_of,
    result_dtype,
)
from flowc.dtypes import DType
from flowc.errors import InternalError
from flowc.ir.scalar import PRIMITIVES


def check_nest(nest: LoopNest) -> None:
    """Raises `InternalError` where the record is not one that can be rendered."""
    _Check(dict(nest.buffers)).block(nest.body, _Sight((*nest.ints, *nest.ranges)))


class _Sight:
    """The names that a place in the nest sees; `variables` are those that may be assigned."""

    def __init__(self, ints: Sequence[str], outer: _Sight | None = None) -> None:
        self.names: dict[str, DType] = dict(outer.names) if outer is not None else {}
        self.variables: set[str] = set(outer.variables) if outer is not None else set()
        self.names |= dict.fromkeys(ints, dtypes.i64)


class _Check:
    def __init__(self, buffers: dict[str, DType | str]) -> None:
        self.buffers = buffers

    def block(self, body: Sequence[Statement], sight: _Sight) -> None:
        for statement in body:
            for value in expressions_of(statement):
                for part in parts_of(value):
                    self.expression(part, sight)
            self.statement(statement, sight)
            names = (statement.name,) if isinstance(statement, For) else ()
            if names and names[0] in sight.names:
                _refuse(f"{names[0]} is defined twice")
            for inner in blocks_of(statement):
                self.block(inner, _Sight(names, sight))

    def statement(self, statement: Statement, sight: _Sight) -> None:
        match statement:
            case Let(name, value) | Declare(name, value):
                if name in sight.names:
                    _refuse(f"{name} is defined twice")
                sight.names[name] = value.dtype
                if isinstance(statement, Declare):
                    sight.variables.add(name)
            case Assign(name, value):
                if name not in sight.variables:
                    _refuse(f"{name} is assigned, but no variable")
                self.held_alike(value.dtype, sight.names[name], name)
            case Store(buffer, _, value):
                self.held_alike(value.dtype, self.buffer(buffer), buffer)
            case Carve(name, dtype, _):
                if "scratch" not in self.buffers:
                    _refuse(f"{name} is in scratch memory, of which there is none")
                self.buffers[name] = dtype
            case _:
                pass

    def expression(self, x: Expression, sight: _Sight) -> None:
        match x:
            case Name(name, dtype):
                if name not in sight.names:
                    _refuse(f"{name} is not defined")
                self.held_alike(dtype, sight.names[name], name)
            case IndexSum(terms):
                for name in (name for _, names in terms for name in names):
                    if sight.names.get(name) is not dtypes.i64:
                        _refuse(f"{name} is no int in sight")
            case Load(buffer, _, dtype):
                if self.buffer(buffer) is not dtype:
                    _refuse(f"{buffer} has no elements of {dtype}")
            case Address(buffer):
                self.buffer(buffer)
            case Apply(op, operands, dtype):
                self.applied(op, [o.dtype for o in operands], dtype)
            case Literal():
                pass

    def applied(self, op: str, operands: Sequence[DType], dtype: DType) -> None:
        expected = result_dtype(op, operands)
        if expected is not None:
            self.held_alike(dtype, expected, op)
        if op in PRIMITIVES or op.startswith(FOLD):
            for operand in operands:
                self.held_alike(operand, operands[0], op)

    def buffer(self, name: str) -> DType | str:
        if name not in self.buffers:
            _refuse(f"there is no buffer {name}")
        return self.buffers[name]

    def held_alike(self, found: DType, expected: DType | str, what: str) -> None:
        if isinstance(expected, str) or held_dtype(found) is not held_dtype(expected):
            _refuse(f"{what} is {expected}, not {found}")


def _refuse(what: str) -> None:
    raise InternalError(f"a loop nest is malformed: {what}")
