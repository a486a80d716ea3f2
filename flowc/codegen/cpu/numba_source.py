"""A loop nest as Python source for Numba: one line a statement.

In: a LoopNest. Out: the source of `kernel`, the math functions and the intrinsics that it calls.
Invariant: the source is a pure function of the nest; what the ops mean is said once, in `_FORMS`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flowc import dtypes
from flowc.codegen.kernels.kernel import Kernel
from flowc.codegen.kernels.nest import (
    ACROSS,
    COLUMNS,
    FILL_BLOCK,
    MOVE,
    MOVE_BLOCK,
    TURN,
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
    is_half,
    memory_dtype,
)
from flowc.codegen.kernels.text import sum_text
from flowc.codegen.llvm.kernel_functions import KernelFunction
from flowc.dtypes import DType
from flowc.errors import InternalError
from flowc.ir.scalar import PRIMITIVES, compute_dtype

_INFIX = {
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
    "logical_and": "&", "logical_or": "|", "fold_and": "&", "fold_or": "|",
}  # fmt: skip
_ARITHMETIC = {
    "add": "+", "sub": "-", "mul": "*",
    "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^",
}  # fmt: skip

# What an op is in Python: {0}, {1}, {2} are its operands, {k} the type that holds the first, {r}
# that of the result. By kind: `f` float, `c` complex, `i` signed, `u` unsigned, `*` any other; i64
# by itself where it wraps: Numba has LLVM assume that sums of its own integers, i64, never do.
# Primitives that are not here are functions of the math library.
_LARGER, _SMALLER = "{0} if {0} > {1} else {1}", "{0} if {0} < {1} else {1}"
_FORMS: Mapping[str, Mapping[str, str]] = {
    **{op: {"*": f"{{0}} {sign} {{1}}"} for op, sign in _INFIX.items()},
    **{
        op: {
            "f": f"{{0}} {sign} {{1}}",
            "c": f"{{0}} {sign} {{1}}",
            "i64": f"i64(u64({{0}}) {sign} u64({{1}}))",
            "*": f"{{k}}({{0}} {sign} {{1}})",
        }
        for op, sign in _ARITHMETIC.items()
    },
    "div": {"f": "{0} / {1}"},
    "logical_not": {"*": "{0} == False"},
    "bitwise_not": {"*": "{k}(~{0})"},
    "neg": {"f": "-{0}", "c": "-{0}", "i64": "i64(-u64({0}))", "*": "{k}({k}(0) - {0})"},
    "abs": {
        "f": "abs_{k}({0})",
        "i": "{k}(-{0}) if {0} < {k}(0) else {0}",
        "u": "{0}",
    },
    "sign": {
        "f": "{0} if ({0} == {k}(0)) | ({0} != {0}) else ({k}(1) if {0} > {k}(0) else {k}(-1))",
        "i": "{k}(-1) if {0} < {k}(0) else ({k}(1) if {0} > {k}(0) else {k}(0))",
        "u": "{k}(1) if {0} > {k}(0) else {k}(0)",
    },
    "max": {"f": "{0} if ({0} > {1}) | ({0} != {0}) else {1}", "*": _LARGER},
    "min": {"f": "{0} if ({0} < {1}) | ({0} != {0}) else {1}", "*": _SMALLER},
    "max_select": {"*": _LARGER},
    "min_select": {"*": _SMALLER},
    "fma": {"f": "fma_{k}({0}, {1}, {2})"},
    "is_nan": {"*": "{0} != {0}"},
    "is_inf": {"*": "abs_{k}({0}) == {k}(inf)"},
    "is_finite": {"*": "abs_{k}({0}) < {k}(inf)"},
    "real": {"c": "{0}.real"},
    "imag": {"c": "{0}.imag"},
    **{
        op: {
            "f": f"{op}({{0}}, {{1}})",
            "c": f"{{0}} {sign} {{1}}",
            "i64": f"i64(u64({{0}}) {sign} u64({{1}}))",
            "*": f"{{k}}({{0}} {sign} {{1}})",
        }
        for op, sign in (("fold_add", "+"), ("fold_mul", "*"))
    },
    "fold_max": {"f": "fold_max({0}, {1})", "*": _LARGER},
    "fold_min": {"f": "fold_min({0}, {1})", "*": _SMALLER},
    "fold_max_either": {"f": "fold_max_either({0}, {1})", "*": _LARGER},
    "fold_min_either": {"f": "fold_min_either({0}, {1})", "*": _SMALLER},
    "fold_max_number": {"f": "fold_max_number({0}, {1})"},
    "fold_min_number": {"f": "fold_min_number({0}, {1})"},
    "select": {"*": "{1} if {0} else {2}"},
    "complex": {"*": "{r}(complex({0}, {1}))"},
    "cast": {"*": "{r}({0})"},
    "bitcast": {"*": "bits_{r}({0})"},
    "idiv": {"*": "idiv({0}, {1})"},
    "floored": {"*": "{0} - 1 if {0}*{1} > {2} else {0}"},
    "rest": {"*": "{0} - {1}*{2}"},
    "past": {"*": "({0} if {0} > {1} else {1}) - {1}"},
    "upto": {"*": "({0} if {0} < {1} else {1}) - {2}"},
    "larger": {"*": _LARGER},
    "smaller": {"*": _SMALLER},
    "index_if": {"*": "({0}) if {1} else 0"},
    "poll": {"*": "poll({0})"},
}
_SELECTS = {"max": "max_select", "min": "min_select"}
_KINDS = {"float": "f", "complex": "c", "int": "i", "uint": "u", "bool": "b"}
# Primitives whose function in the math library has another name.
_FUNCTIONS = {
    "truncdiv": "truncatediv",
    "truncmod": "truncatemod",
    "shift_left": "left_shift",
    "shift_right": "right_shift",
    "popcount": "population_count",
}


class NumbaSource:
    """`text`: the source. `functions`: of the math library. `invoked`: intrinsics, by name."""

    def __init__(self, nest: LoopNest) -> None:
        self.nest = nest
        self.functions: dict[str, None] = {}
        self.invoked: dict[str, None] = {}
        self.buffers: dict[str, DType | str] = dict(nest.buffers)
        parameters = [*self.buffers, *nest.ints, *nest.ranges]
        self.lines = [f"def kernel({', '.join(parameters)}):"]
        self._block(nest.body, 1)
        self.text = "\n".join([*self.lines, ""])

    @property
    def kernel(self) -> Kernel:
        nest = self.nest
        return Kernel(
            self.text,
            tuple(kind for _, kind in nest.buffers),
            len(nest.ints),
            tuple(self.functions),
            globals={name: _intrinsic(name) for name in self.invoked},
            ranges=len(nest.ranges) // 2,
            nest=nest,
        )

    def _block(self, body: Sequence[Statement], depth: int) -> None:
        indent, lines = "    " * depth, self.lines
        if not body:
            lines.append(f"{indent}pass")
        for statement in body:
            match statement:
                case Let(name, value) | Declare(name, value) | Assign(name, value):
                    lines.append(f"{indent}{name} = {self._value(value)}")
                case Store(buffer, index, value):
                    place = f"{buffer}[{self._value(index)}]"
                    lines.append(f"{indent}{place} = {self._stored(buffer, value)}")
                case For(name, start, stop, step, inside):
                    lines.append(f"{indent}for {name} in range({self._range(start, stop, step)}):")
                    self._block(inside, depth + 1)
                case If(condition, inside, otherwise):
                    lines.append(f"{indent}if {self._value(condition)}:")
                    self._block(inside, depth + 1)
                    if otherwise:
                        lines.append(f"{indent}else:")
                        self._block(otherwise, depth + 1)
                case While(inside):
                    lines.append(f"{indent}while True:")
                    self._block(inside, depth + 1)
                case Break():
                    lines.append(f"{indent}break")
                case Carve(name, dtype, offset):
                    self.buffers[name] = dtype
                    kind, at = memory_dtype(dtype), self._value(offset)
                    lines.append(f"{indent}{name} = as_{kind}_pointer(offset(scratch, {at}))")
                case Invoke(function, operands):
                    self.invoked[function] = None
                    passed = ", ".join(map(self._value, operands))
                    lines.append(f"{indent}{function}({passed})")

    def _range(self, start: Expression, stop: Expression, step: int) -> str:
        first, last = self._value(start), self._value(stop)
        if step != 1:
            return f"{first}, {last}, {step}"
        return last if start == IndexSum() else f"{first}, {last}"

    def _value(self, x: Expression) -> str:
        match x:
            case Name(name):
                return name
            case IndexSum():
                return sum_text(x)
            case Apply():
                return self._applied(x)
            case Literal():
                return _literal(x)
            case Load(buffer, index, dtype, condition, otherwise):
                text = self._converted(f"{buffer}[{self._value(index)}]", dtype)
                if condition is None or otherwise is None:
                    return text
                return f"{text} if {self._value(condition)} else {self._value(otherwise)}"
            case Address(buffer, index):
                return buffer if index is None else f"offset({buffer}, {self._value(index)})"

    def _applied(self, x: Apply) -> str:
        first = x.operands[0].dtype
        if x.op == "from_memory":
            return self._converted(self._value(x.operands[0]), x.dtype)
        if x.op == "to_memory":
            return self._in_memory(self._value(x.operands[0]), first)
        if x.op in _SELECTS and any(map(_is_number, x.operands)):
            return self._applied(_with_number_first(x))
        texts = [self._value(o) for o in x.operands]
        if x.op.startswith(ACROSS):
            return self._across(x.op, first, *texts)
        kind = compute_dtype(first)
        form = _form(x.op, first, x.dtype)
        if form is None:
            name = (
                f"{kind}_to_{x.dtype}" if x.op == "cast" else f"{_FUNCTIONS.get(x.op, x.op)}_{kind}"
            )
            return self._called(name, *texts)
        if x.op in _INFIX or x.op == "logical_not":
            # Operands of `&` that are comparisons.
            texts = [
                f"({text})" if isinstance(o, Apply) else text for o, text in zip(x.operands, texts)
            ]
        return form.format(*texts, k=kind, r=compute_dtype(x.dtype))

    def _across(self, op: str, dtype: DType, value: str, lanes: str) -> str:
        if dtype is dtypes.bool_:
            return f"{self._across(op, dtypes.u8, f'u8({value})', lanes)} != 0"
        name = f"{op}_{dtype}"
        self.invoked[name] = None
        return f"{name}({value}, {lanes})"

    def _stored(self, buffer: str, value: Expression) -> str:
        dtype = self.buffers[buffer]
        text = self._value(value)
        return text if isinstance(dtype, str) else self._in_memory(text, dtype)

    def _in_memory(self, text: str, dtype: DType) -> str:
        if dtype is dtypes.bool_:
            return f"u8({text})"
        return self._called(f"f32_to_{dtype}", text) if is_half(dtype) else text

    def _converted(self, text: str, dtype: DType) -> str:
        """Memory's form of an element as a scalar is held."""
        if dtype is dtypes.bool_:
            return f"{text} != 0"
        return self._called(f"{dtype}_to_f32", text) if is_half(dtype) else text

    def _called(self, function: str, *texts: str) -> str:
        self.functions[function] = None
        return f"{function}({', '.join(texts)})"


def _is_number(x: Expression) -> bool:
    return isinstance(x, Literal) and x.dtype.is_floating and x.text != "nan"


def _with_number_first(x: Apply) -> Apply:
    """The larger or smaller of a number and an element as one comparison, whose operands stand as
    in one instruction: where the element is NaN, it is the result."""
    number, element = sorted(x.operands, key=_is_number, reverse=True)
    return Apply(_SELECTS[x.op], (number, element), x.dtype)


def _form(op: str, dtype: DType, result: DType) -> str | None:
    """The form of an op on a dtype; None where it is a function of the math library."""
    if op == "cast" and dtype.is_floating and result.is_integer:
        return None
    kind = _KINDS[compute_dtype(dtype).kind]
    if op in PRIMITIVES and kind not in PRIMITIVES[op].kinds:
        raise InternalError(f"{op} does not take {dtype}")
    forms = _FORMS.get(op, {})
    form = forms.get(f"{compute_dtype(dtype)}") or forms.get(kind) or forms.get("*")
    if form is None and (op not in PRIMITIVES or kind not in "fiu"):
        raise InternalError(f"{op} has no form for {dtype}: write it with other ops")
    return form


def _literal(x: Literal) -> str:
    if x.dtype is dtypes.bool_:
        return x.text
    if x.dtype.is_complex:
        part = x.dtype.real_dtype
        return f"{x.dtype}(complex({', '.join(f'{part}({p})' for p in x.text.split())}))"
    return f"{compute_dtype(x.dtype)}({x.text})"


def _intrinsic(name: str) -> KernelFunction:
    """What a nest invokes: of a module that is imported when one does."""
    if name.startswith(ACROSS):
        from flowc.codegen.llvm.lanes import across

        return across(name)
    if name == "barrier":
        from flowc.codegen.llvm.lanes import barrier

        return barrier()
    if name in ("interleave", "interleave_two", "interleave_one", "keep_rolled"):
        from flowc.codegen.cpu.vector_interleave import MARKS

        return MARKS[name]
    if name in (MOVE_BLOCK, FILL_BLOCK):
        from flowc.codegen.cpu.block_routines import fill_block, move_block

        return move_block() if name == MOVE_BLOCK else fill_block()
    if name.startswith((TURN, MOVE, COLUMNS)):
        from flowc.codegen.cpu.register_transpose import move_columns, move_tile, turn_tile

        kind, _, count = name.rpartition("_")
        moves = {TURN: turn_tile, MOVE: move_tile, COLUMNS: move_columns}
        return moves[f"{kind}_"](int(count))
    raise InternalError(f"no intrinsic is named {name}")
