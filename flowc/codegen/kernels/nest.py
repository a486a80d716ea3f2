"""A loop nest: what one kernel computes, as a record.

In: `builder.py` makes it from a cluster. Out: visitors check it (`check.py`), cost it (`cost.py`),
print it (`text.py`) and render it for a target. Invariants: a `Let` names a value once and for all,
a name is defined before it is used and known to the end of its block only, and nothing in the
record says which machine runs it. Indices, sizes and loop variables are int64 scalars.

f16 and bf16 scalars are computed in f32: an `Apply` that gives one is followed by `to_memory` and
`from_memory`, which round it. Buffers hold bools as bytes and f16 and bf16 as they are; `Load` and
`Store` convert.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from flowc import dtypes
from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.errors import InternalError
from flowc.ir.scalar import PRIMITIVES

BYTES = "bytes"  # the element type of raw scratch memory
# Start the names of what transposes tiles, before the number of their rows: to a buffer, and in
# place of loads and stores; before that of their columns, of which no other is read.
TURN, MOVE, COLUMNS = "turn_tile_", "move_tile_", "move_columns_"
# What transposes blocks of any size, and what fills some with one number.
MOVE_BLOCK, FILL_BLOCK = "move_block", "fill_block"
FOLD = "fold_"  # starts the names of the ops that join a running total
ACROSS = "across_"  # starts the names of the ops that join the totals of lanes


@dataclass(frozen=True, slots=True)
class Name:
    """A value, a variable, or an int parameter, by its name."""

    name: str
    dtype: DType


@dataclass(frozen=True, slots=True)
class Literal:
    """A number: its text is Python's, so that NaN equals itself and -0.0 is not 0.0. A complex one
    has two, with a space between them."""

    text: str
    dtype: DType


@dataclass(frozen=True, slots=True)
class IndexSum:
    """An int64: a sum of products, each of a number and of int64 names."""

    terms: tuple[tuple[int, tuple[str, ...]], ...] = ()

    @property
    def dtype(self) -> DType:
        return dtypes.i64


@dataclass(frozen=True, slots=True)
class Load:
    """An element of a buffer; where there is a `condition`, `otherwise` stands in for it, and
    memory is not touched."""

    buffer: str
    index: IndexSum | Name
    dtype: DType
    condition: Name | None = None
    otherwise: Name | Literal | None = None


@dataclass(frozen=True, slots=True)
class Apply:
    """A scalar primitive (`flowc.ir.scalar.PRIMITIVES`) or one of `NEST_OPS`, on its operands."""

    op: str
    operands: tuple[Expression, ...]
    dtype: DType


@dataclass(frozen=True, slots=True)
class Address:
    """Where a buffer, or its element at `index`, stands: an operand of calls."""

    buffer: str
    index: IndexSum | Name | None = None

    @property
    def dtype(self) -> DType:
        return dtypes.i64


Scalar = Name | Literal
Index = IndexSum | Name
Expression = Name | Literal | IndexSum | Load | Apply | Address


@dataclass(frozen=True, slots=True)
class Let:
    """Names a value, which never changes."""

    name: str
    value: Expression


@dataclass(frozen=True, slots=True)
class Declare:
    """Names a variable with its first value."""

    name: str
    value: Expression


@dataclass(frozen=True, slots=True)
class Assign:
    """Gives a variable another value."""

    name: str
    value: Expression


@dataclass(frozen=True, slots=True)
class Carve:
    """Names a part of the worker's scratch memory, from a byte on, as a buffer."""

    name: str
    dtype: DType
    offset: Index


@dataclass(frozen=True, slots=True)
class Store:
    buffer: str
    index: Index
    value: Scalar | IndexSum


@dataclass(frozen=True, slots=True)
class For:
    """`name` from `start` to below `stop`."""

    name: str
    start: Index
    stop: Index
    step: int
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class While:
    """For ever, until a `Break`."""

    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class If:
    condition: Expression
    body: tuple[Statement, ...]
    otherwise: tuple[Statement, ...] = ()


@dataclass(frozen=True, slots=True)
class Break:
    """Leaves the innermost loop."""


@dataclass(frozen=True, slots=True)
class Invoke:
    """A function that gives no value, for what it does: `turn_tile_16`, `interleave`."""

    function: str
    operands: tuple[Expression, ...] = ()


Statement = Let | Declare | Assign | Carve | Store | For | While | If | Break | Invoke


@dataclass(frozen=True, slots=True)
class LoopNest:
    """A kernel: `buffers` by name with their dtypes, int parameters (`ints`), a body. `ranges` are
    int parameters too: begin and end of the part of the work that is wanted, of an epilogue begin
    and end of rows and of columns. Where several threads (lanes) share a row, the number of the
    lane and of all lanes follow."""

    buffers: tuple[tuple[str, DType | str], ...]
    ints: tuple[str, ...]
    ranges: tuple[str, ...]
    body: tuple[Statement, ...]


# What nests apply beside the primitives: how many operands, and the result's dtype where the
# operands do not decide it. Ints: `idiv` truncates; `floored(q, b, a)` is a//b for q = idiv(a, b);
# `rest(a, q, b)` is a - q*b; `past(a, b)` is max(a, b) - b; `upto(a, b, c)` is min(a, b) - c;
# `index_if(a, c)` is a where c holds, else 0. `fold_*` join a total, in any order of the elements.
# `fold_*_either`: of zeros of both signs it may be either, which takes half the instructions.
# `fold_*_number`: so, and what it gives for NaN is undefined.
# `across_*(x, n)` join the totals of n lanes, in one order; each lane gets the result.
# `to_memory` and `from_memory` convert between an element in a register and in a buffer.
NEST_OPS: Mapping[str, tuple[int, DType | str]] = {
    "idiv": (2, dtypes.i64),
    "floored": (3, dtypes.i64),
    "rest": (3, dtypes.i64),
    "past": (2, dtypes.i64),
    "upto": (3, dtypes.i64),
    "larger": (2, dtypes.i64),
    "smaller": (2, dtypes.i64),
    "index_if": (2, dtypes.i64),
    "poll": (1, dtypes.i64),
    "select": (3, "second"),
    "complex": (2, "complex"),
    "to_memory": (1, "memory"),
    "from_memory": (1, "said"),
    "cast": (1, "said"),
    "bitcast": (1, "said"),
    "fold_add": (2, "first"),
    "fold_mul": (2, "first"),
    "fold_max": (2, "first"),
    "fold_min": (2, "first"),
    "fold_max_either": (2, "first"),
    "fold_min_either": (2, "first"),
    "fold_max_number": (2, "first"),
    "fold_min_number": (2, "first"),
    "fold_and": (2, "first"),
    "fold_or": (2, "first"),
    **{f"{ACROSS}{how}": (2, "first") for how in ("add", "mul", "max", "min", "and", "or")},
}


def result_dtype(op: str, operands: Sequence[DType]) -> DType | None:
    """The dtype of what an op gives; None where the record says it beside the op. Raises
    `InternalError` for an unknown op and for another number of operands."""
    primitive = PRIMITIVES.get(op)
    count, rule = (
        (primitive.operands, primitive.result) if primitive else NEST_OPS.get(op, (-1, ""))
    )
    if count != len(operands):
        raise InternalError(f"no op {op} takes {len(operands)} operands")
    match rule:
        case DType():
            return rule
        case "same" | "first":
            return operands[0]
        case "second":
            return operands[1]
        case "bool":
            return dtypes.bool_
        case "real":
            return operands[0].real_dtype
        case "complex":
            return dtypes.c64 if operands[0] is dtypes.f32 else dtypes.c128
        case "memory":
            return memory_dtype(operands[0])
        case _:
            return None


def is_half(dtype: DType) -> bool:
    """Whether scalars of a dtype are computed in f32 and rounded."""
    return dtype is dtypes.f16 or dtype is dtypes.bf16


def memory_dtype(dtype: DType) -> DType:
    """What a buffer's elements are to a machine that knows neither bool nor f16."""
    return dtypes.u8 if dtype is dtypes.bool_ else dtypes.i16 if is_half(dtype) else dtype


def blocks_of(statement: Statement) -> tuple[tuple[Statement, ...], ...]:
    """The blocks inside a statement."""
    match statement:
        case For(body=body) | While(body=body):
            return (body,)
        case If(body=body, otherwise=otherwise):
            return (body, otherwise)
        case Let() | Declare() | Assign() | Carve() | Store() | Break() | Invoke():
            return ()


def statements_within(body: Sequence[Statement]) -> Iterator[Statement]:
    """Every statement of a block and of the blocks in it, in the order of the text."""
    stack = list(reversed(body))
    while stack:
        statement = stack.pop()
        yield statement
        for block in reversed(blocks_of(statement)):
            stack.extend(reversed(block))


def names_made_within(body: Sequence[Statement]) -> set[str]:
    """The names that statements of a block and of the blocks in it give to values."""
    return {s.name for s in statements_within(body) if isinstance(s, Let | Declare)}


def expressions_of(statement: Statement) -> tuple[Expression, ...]:
    """What a statement itself evaluates, without what is inside."""
    match statement:
        case Let(value=value) | Declare(value=value) | Assign(value=value):
            return (value,)
        case Carve(offset=offset):
            return (offset,)
        case Store(index=index, value=value):
            return (index, value)
        case For(start=start, stop=stop):
            return (start, stop)
        case If(condition=condition):
            return (condition,)
        case Invoke(operands=operands):
            return operands
        case While() | Break():
            return ()


def parts_of(expression: Expression) -> Iterator[Expression]:
    """An expression and all expressions in it."""
    stack = [expression]
    while stack:
        found = stack.pop()
        yield found
        match found:
            case Apply(operands=operands):
                stack += reversed(operands)
            case Load(index=index, condition=condition, otherwise=otherwise):
                stack += [x for x in (otherwise, condition, index) if x is not None]
            case Address(index=index):
                stack += [] if index is None else [index]
            case Name() | Literal() | IndexSum():
                pass
