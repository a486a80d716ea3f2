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
    Break,
    Carve,
    Declare,
    Expression,
    For,
    If,
    IndexSum,
    Invoke,
    Let,
    Literal,
    Load,
    LoopNest,
    Name,
    Statement,
    Store,
    While,
    blocks_of,
    expressions_of,
    result_dtype,
)
from flowc.dtypes import DType
from flowc.errors import InternalError
from flowc.ir.scalar import PRIMITIVES, compute_dtype


def check_nest(nest: LoopNest) -> None:
    """Raises `InternalError` where the record is not one that can be rendered."""
    names = dict.fromkeys((*nest.ints, *nest.ranges), dtypes.i64)
    _Check(dict(nest.buffers), names).block(nest.body)


class _Check:
    """`names`: those in sight; `variables`: those of them that may be assigned."""

    def __init__(self, buffers: dict[str, DType | str], names: dict[str, DType]) -> None:
        self.buffers = buffers
        self.names = names
        self.variables: set[str] = set()

    def block(self, body: Sequence[Statement], variable: str | None = None) -> None:
        """A block; `variable` is that of the loop around it."""
        before = len(self.names)
        if variable is not None:
            self.define(variable, dtypes.i64)
        for statement in body:
            for value in expressions_of(statement):
                self.expression(value)
            match statement:
                case Let(name, value):
                    self.define(name, value.dtype)
                case Declare(name, value):
                    self.define(name, value.dtype)
                    self.variables.add(name)
                case Assign(name, value):
                    if name not in self.variables:
                        _refuse(f"{name} is assigned, but no variable")
                    self.held_alike(value.dtype, self.names[name], name)
                case Store(buffer, _, value):
                    self.held_alike(value.dtype, self.buffer(buffer), buffer)
                case Carve(name, dtype, _):
                    if "scratch" not in self.buffers:
                        _refuse(f"{name} is in scratch memory, of which there is none")
                    self.buffers[name] = dtype
                case For(name=name, body=inner):
                    self.block(inner, name)
                case While() | If() | Break() | Invoke():
                    for inner in blocks_of(statement):
                        self.block(inner)
        while len(self.names) > before:
            self.variables.discard(self.names.popitem()[0])

    def define(self, name: str, dtype: DType) -> None:
        if name in self.names:
            _refuse(f"{name} is defined twice")
        self.names[name] = dtype

    def expression(self, x: Expression) -> None:
        match x:
            case Name(name, dtype):
                if name not in self.names:
                    _refuse(f"{name} is not defined")
                self.held_alike(dtype, self.names[name], name)
            case Literal():
                pass
            case IndexSum(terms):
                for name in (name for _, names in terms for name in names):
                    if self.names.get(name) is not dtypes.i64:
                        _refuse(f"{name} is no int in sight")
            case Apply(op, operands, dtype):
                for operand in operands:
                    self.expression(operand)
                self.applied(op, [o.dtype for o in operands], dtype)
            case Load(buffer, index, dtype, condition, otherwise):
                if self.buffer(buffer) is not dtype:
                    _refuse(f"{buffer} has no elements of {dtype}")
                self.expression(index)
                if condition is not None and otherwise is not None:
                    self.expression(condition)
                    self.expression(otherwise)
            case Address(buffer, index):
                self.buffer(buffer)
                if index is not None:
                    self.expression(index)

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
        if found is expected:
            return
        if isinstance(expected, str) or compute_dtype(found) is not compute_dtype(expected):
            _refuse(f"{what} is {expected}, not {found}")


def _refuse(what: str) -> None:
    raise InternalError(f"a loop nest is malformed: {what}")
