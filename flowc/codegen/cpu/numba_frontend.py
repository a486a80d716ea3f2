"""Python source of a kernel -> LLVM IR text, by Numba, before any optimisation.

In: a Kernel. Out: text that defines `void <key>(i8** buffers, i64* dims, i64 begin, i64 end,
i64 worker)`, the one kernel ABI. Nothing of the host is in the text: Numba's own optimiser and code
generator never run, so that any target can be compiled from it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import compiler_lock, errors, types

from flowc import dtypes
from flowc.codegen import math as vector_math
from flowc.codegen.cpu.numba_stages.stages import Lowered, contexts, lower
from flowc.codegen.cpu.row_pieces import pieces_of
from flowc.codegen.kernels.kernel import Kernel
from flowc.codegen.llvm.numba_functions import numba_function
from flowc.codegen.llvm.shared_routines import SharedRoutine, with_called
from flowc.codegen.llvm.vector_ir import advance
from flowc.codegen.math.complex_numbers import number_functions
from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.errors import InternalError
from flowc_runtime.native.writer import I8, I32, I64, VOID, declare

BYTE_POINTER = I8.as_pointer()

_CARRIERS: dict[str, Any] = {
    "f16": types.int16,
    "bf16": types.int16,
    "bool": types.uint8,
    "bytes": types.uint8,
    "string": types.int64,
}
_SCALARS: dict[str, Any] = {
    t.short: getattr(types, t.name)
    for t in (*dtypes.FLOATS, *dtypes.INTS, *dtypes.UINTS, dtypes.c64, dtypes.c128)
    if t.short not in _CARRIERS
}


_CARRIERS |= {t.short: _SCALARS[t.carrier.short] for t in (*dtypes.QUANTIZED, *dtypes.NARROW)}


def numba_type(dtype: DType | str) -> Any:
    """The Numba type of one element in memory."""
    name = f"{dtype}"
    return _CARRIERS.get(name) or _SCALARS[name]


_TEXT, _INT, _F64 = types.CPointer(types.uint8), types.int64, types.float64


def _llvm_call(b: ir.IRBuilder, name: str, *values: Any, flags: tuple[str, ...] = ()) -> Any:
    """Calls `llvm.<name>` for the type of its operands, which is f32 or f64."""
    kind = values[0].type
    suffix = "f32" if isinstance(kind, ir.FloatType) else "f64"
    return _external_call(b, f"llvm.{name}.{suffix}", kind, *values, flags=flags)


def _external_call(
    b: ir.IRBuilder, name: str, result: ir.Type, *values: Any, flags: tuple[str, ...] = ()
) -> Any:
    kind = ir.FunctionType(result, [v.type for v in values])
    return b.call(declare(b.module, name, kind), values, fastmath=flags)


def _fold(emit: Callable[..., Any]) -> Any:
    """A function `(accumulator, x) -> accumulator` for one float type."""
    return numba_function("fold", lambda a, b: a(a, b), lambda b, values: emit(b, *values))


def _extreme_number(b: ir.IRBuilder, operator: str, total: Any, x: Any) -> Any:
    """The smaller or larger of two numbers that are not NaN: one instruction, which LLVM may fold
    in any order."""
    flags = ("nnan", "nsz")
    return b.select(b.fcmp_ordered(operator, x, total, flags=flags), x, total, flags=flags)


def _of_floats(name: str, scalar: Any, arity: int) -> Any:
    """`llvm.<name>` on `arity` floats."""
    signature = scalar(*[scalar] * arity)
    return numba_function("of_floats", signature, lambda b, values: _llvm_call(b, name, *values))


def _emit_format_float(b: ir.IRBuilder, values: Sequence[Any]) -> Any:
    text, digits, value = values
    kind = ir.FunctionType(I32, [BYTE_POINTER, I64, BYTE_POINTER], var_arg=True)
    pattern = bytearray(b"%.*g\0")
    constant = ir.Constant(ir.ArrayType(I8, len(pattern)), pattern)
    place = b.alloca(constant.type)
    b.store(constant, place)
    digits = b.trunc(digits, I32)
    given = [text, I64(32), b.bitcast(place, BYTE_POINTER), digits, value]
    return b.sext(b.call(declare(b.module, "snprintf", kind), given), I64)


def _parse(name: str, scalar: Any, result: ir.Type) -> Any:
    no_end = ir.Constant(BYTE_POINTER.as_pointer(), None)
    return numba_function(
        "parse", scalar(_TEXT), lambda b, values: _external_call(b, name, result, *values, no_end)
    )


def _emit_write_text(b: ir.IRBuilder, values: Sequence[Any]) -> Any:
    stream, text, length = values
    return _external_call(b, "write", I64, b.trunc(stream, I32), text, length)


def _emit_keep_text(b: ir.IRBuilder, values: Sequence[Any]) -> Any:
    return b.ptrtoint(_external_call(b, "strndup", BYTE_POINTER, *values), I64)


def _emit_poll(b: ir.IRBuilder, values: Sequence[Any]) -> Any:
    return _external_call(b, "flowc_interpreter_poll", I32, *values)


_EPILOGUE_TYPE = ir.FunctionType(
    VOID, [BYTE_POINTER.as_pointer(), I64.as_pointer(), I64, I64, I64, I64]
)


def _emit_epilogue(b: ir.IRBuilder, values: Sequence[Any]) -> None:
    function, buffers, ints, *block = values
    address = b.bitcast(function, _EPILOGUE_TYPE.as_pointer())
    table = b.bitcast(buffers, BYTE_POINTER.as_pointer())
    b.call(address, [table, b.bitcast(ints, I64.as_pointer()), *block])


_KERNEL_TYPE = ir.FunctionType(VOID, [BYTE_POINTER.as_pointer(), I64.as_pointer(), I64, I64, I64])


def _emit_kernel_call(b: ir.IRBuilder, values: Sequence[Any]) -> None:
    function, buffers, ints, begin, end = values
    address = b.bitcast(function, _KERNEL_TYPE.as_pointer())
    table = b.bitcast(buffers, BYTE_POINTER.as_pointer())
    b.call(address, [table, b.bitcast(ints, I64.as_pointer()), begin, end, I64(0)])


def _bitcast_to(result: Any) -> Any:
    def emit(b: ir.IRBuilder, values: Sequence[Any]) -> Any:
        return b.bitcast(values[0], contexts()[1].get_value_type(result))

    return numba_function("cast", lambda x: result(x), emit)


@cache
def base_globals() -> dict[str, Any]:
    """What every kernel's source may name beside the math functions that it lists."""
    found: dict[str, Any] = dict(_SCALARS)
    found |= {
        # Truncating division: what floor division is for indices, which are not negative.
        "idiv": numba_function("idiv", _INT(_INT, _INT), lambda b, values: b.sdiv(*values)),
        "offset": advance,
        # Calls an epilogue by its address, with its tables, on a block of rows x columns.
        "call_epilogue": numba_function(
            "call_epilogue", types.void(*[_TEXT] * 3, *[_INT] * 4), _emit_epilogue
        ),
        # Calls a kernel by its address, with its tables, for a part of its range. The scratch
        # memory in its table is the caller's own.
        "call_kernel": numba_function(
            "call_kernel", types.void(*[_TEXT] * 3, *[_INT] * 2), _emit_kernel_call
        ),
        "address_of": numba_function(
            "address_of", _INT(_TEXT), lambda b, values: b.ptrtoint(values[0], I64)
        ),
        # Writes a float with at most so many digits, and a zero behind it; how many bytes it has.
        "format_float": numba_function("format_float", _INT(_TEXT, _INT, _F64), _emit_format_float),
        "parse_f32": _parse("strtof", types.float32, ir.FloatType()),
        "parse_f64": _parse("strtod", _F64, ir.DoubleType()),
        # Writes bytes to a stream by its number; how many of them it took.
        "write_text": numba_function("write_text", _INT(_INT, _TEXT, _INT), _emit_write_text),
        # The address of a copy with a zero behind it, which its reader frees; 0 for none.
        "keep_text": numba_function("keep_text", _INT(_TEXT, _INT), _emit_keep_text),
        # Whether a signal ends the run; see flowc_runtime/native/interpreter.py.
        "poll": numba_function("poll", types.int32(types.CPointer(_INT)), _emit_poll),
        "inf": float("inf"),
        "nan": float("nan"),
        # Sums may be reassociated, which lets them vectorise; nothing else is assumed of floats.
        "fold_add": _fold(lambda b, x, y: b.fadd(x, y, flags=("reassoc",))),
        "fold_mul": _fold(lambda b, x, y: b.fmul(x, y, flags=("reassoc",))),
        "fold_max": _fold(lambda b, x, y: _llvm_call(b, "maximum", x, y)),
        "fold_min": _fold(lambda b, x, y: _llvm_call(b, "minimum", x, y)),
        # The element first: what tells whether it is NaN then does not wait for the total.
        "fold_max_either": _fold(lambda b, x, y: _llvm_call(b, "maximum", y, x, flags=("nsz",))),
        "fold_min_either": _fold(lambda b, x, y: _llvm_call(b, "minimum", y, x, flags=("nsz",))),
        "fold_max_number": _fold(lambda b, x, y: _extreme_number(b, ">", x, y)),
        "fold_min_number": _fold(lambda b, x, y: _extreme_number(b, "<", x, y)),
    }
    for name in ("f32", "f64"):
        found[f"abs_{name}"] = _of_floats("fabs", _SCALARS[name], 1)
        found[f"fma_{name}"] = _of_floats("fmuladd", _SCALARS[name], 3)
    for name, scalar in _SCALARS.items():
        found[f"as_{name}_pointer"] = _bitcast_to(types.CPointer(scalar))
        if name[0] in "fiu":
            found[f"bits_{name}"] = _bitcast_to(scalar)
    return found | number_functions()


def module_texts(kernel: Kernel) -> list[str]:
    """The LLVM IR of a kernel, and that of all that it calls."""
    texts, shared = separate_texts(kernel)
    return [*texts, *(routine.text for routine in shared)]


def separate_texts(kernel: Kernel) -> tuple[list[str], list[SharedRoutine]]:
    """The LLVM IR of a kernel and of the math functions that it calls, and the routines that other
    kernels call, too. Raises `InternalError` with the source if Numba rejects it."""
    if kernel.bound:
        function = _shared_function(kernel)
        routines = [function, *(x for x in kernel.bound if isinstance(x, SharedRoutine))]
        given = [x.symbol for x in kernel.bound if isinstance(x, SharedRoutine)]
        call = _Call.of_all(kernel, function.symbol)
        text = _declarations(kernel, [call], given) + _wrapper(kernel, [call])
        return [text], list(with_called(routines).values())
    pieces = pieces_of(kernel.nest) if kernel.nest is not None else ()
    if pieces:
        functions = [_shared_function(piece.kernel) for piece in pieces]
        calls = [_Call(f.symbol, p.buffers, p.ints) for f, p in zip(functions, pieces)]
        return [_declarations(kernel, calls) + _wrapper(kernel, calls)], list(
            with_called(functions).values()
        )
    lowered = _lowered(kernel, kernel.key)
    call = _Call.of_all(kernel, f"{kernel.key}_body")
    texts = [_body(kernel, lowered) + _wrapper(kernel, [call])]
    if kernel.functions:
        texts.append(vector_math.math_module_text(sorted(kernel.functions)))
    return texts, list(with_called(lowered.shared).values())


def kernel_text(kernel: Kernel) -> str:
    """LLVM IR text of one kernel, without what it calls. Raises as `separate_texts`."""
    return separate_texts(kernel)[0][0]


def body_text(kernel: Kernel) -> str:
    """LLVM IR text of `i32 <key>_body(i8** unused, i8** unused, *buffers, *ints, *ranges)`, which
    is internal to its module, and calls no shared routines."""
    lowered = _lowered(kernel, kernel.key)
    assert not lowered.shared, kernel.source
    return _body(kernel, lowered)


def _body(kernel: Kernel, lowered: Lowered) -> str:
    name = f"{kernel.key}_body"
    text = _internal(_clean(lowered.text, lowered.name, name), name)
    if not kernel.in_vectors:
        return text
    # No pass for vectors finds functions that are called once.
    text, functions = _FUNCTION.subn(r"\1 alwaysinline", text, count=1)
    assert functions == 1, text[:1000]
    return text


def _shared_function(kernel: Kernel) -> SharedRoutine:
    """The function of a kernel, to which others bind other things, or of which they call some."""
    assert not kernel.functions, kernel.source
    with compiler_lock.global_compiler_lock:
        found = _shared_functions.get(kernel.function_key)
        if found is None:
            symbol = f"r_{kernel.function_key}"
            lowered = _lowered(kernel, symbol)
            text = _clean(lowered.text, lowered.name, symbol)
            found = SharedRoutine(symbol, text, lowered.shared, kernel.in_vectors)
            _shared_functions[kernel.function_key] = found
        return found


# There are a few for each dtype.
_shared_functions: dict[str, SharedRoutine] = {}


def _lowered(kernel: Kernel, name: str) -> Lowered:
    with compiler_lock.global_compiler_lock:
        arguments = [types.int64 if isinstance(x, int) else _TEXT for x in kernel.bound]
        arguments += [types.CPointer(numba_type(b)) for b in kernel.buffers]
        arguments += [types.int64] * (kernel.ints + 2 * kernel.ranges)
        try:
            function, definition = _python_function(kernel, name)
            return lower(function, tuple(arguments), name, definition)
        except errors.NumbaError as error:
            raise InternalError(f"a kernel does not compile: {error}\n{kernel.source}") from error


def _python_function(kernel: Kernel, name: str) -> tuple[Any, ast.FunctionDef]:
    """The function of a kernel, and its definition."""
    space: dict[str, Any] = dict(base_globals())
    for function in kernel.functions:
        space[function] = vector_math.intrinsic(function)
    space.update(kernel.globals)
    if kernel.element is not None:
        space["elem"] = numba_type(kernel.element)
        space["as_elem_pointer"] = base_globals().get(f"as_{kernel.element}_pointer")
    for constant, value in kernel.constants.items():
        known = isinstance(value, (np.generic, int, float))
        space[constant] = value if known else np.asarray(value)
    tree = ast.parse(kernel.source)
    exec(compile(tree, f"<{name}>", "exec"), space)  # our own generated source
    (definition,) = (x for x in tree.body if getattr(x, "name", "") == kernel.entry)
    assert isinstance(definition, ast.FunctionDef)
    return space[kernel.entry], definition


_ENVIRONMENT = re.compile(r'^@"?_ZN08NumbaEnv[^\n]*\n', re.MULTILINE)
_PICKLED = re.compile(r'^@"\.const\.pickle[^\n]*\n', re.MULTILINE)
_RAISE = re.compile(
    r"^\s*store \{i8\*, i32, i8\*, i8\*, i32\}\* @\"\.const\.pickle[^\n]*\n", re.MULTILINE
)


_LEFT = re.compile(r"^.*(NumbaEnv|pickle|numba_exception).*$", re.MULTILINE)


def _clean(text: str, name: str, key: str) -> str:
    """Gives the function the stable name `key` and drops Numba's environment and exceptions. Raises
    `InternalError` where the text is not of the form that this Numba is known to write."""
    text, environments = _ENVIRONMENT.subn("", text)
    text = _RAISE.sub("", _PICKLED.sub("", text))
    left = _LEFT.search(text)
    if left is not None:
        raise InternalError(f"Numba's text has another form: {left[0].strip()[:200]}")
    if environments != 1 or text.count(f'define i32 @"{name}"(') != 1:
        raise InternalError(f"Numba's text has another form: {name} or its environment is missing")
    text = text.replace(f'@"{name}"', f"@{key}")
    return re.sub(r"^; ModuleID = .*$", f'; ModuleID = "{key}"', text, count=1, flags=re.MULTILINE)


_FUNCTION = re.compile(r"^(define internal i32 [^\n]*\))$", re.MULTILINE)


def _internal(text: str, key: str) -> str:
    return text.replace(f"define i32 @{key}", f"define internal i32 @{key}", 1)


@dataclass(frozen=True, slots=True)
class _Call:
    """A call of a function. Its arguments are some of the kernel's buffers and ints, given by their
    positions among these."""

    function: str
    buffers: Sequence[int]
    ints: Sequence[int]

    @classmethod
    def of_all(cls, kernel: Kernel, function: str) -> _Call:
        return cls(function, range(len(kernel.buffers)), range(kernel.ints))


def _declarations(kernel: Kernel, calls: Sequence[_Call], given: Sequence[str] = ()) -> str:
    """The module that calls functions, and binds to them what is bound, up to its own code."""
    lines = [f"declare void @{x}()" for x in dict.fromkeys(given)]
    for call in calls:
        kinds = [*_RETURNED, *(kind for kind, _ in _bound(kernel))]
        kinds += [f"{_llvm_element(kernel.buffers[i])}*" for i in call.buffers]
        kinds += ["i64"] * (len(call.ints) + 2 * kernel.ranges)
        lines.append(f"declare i32 @{call.function}({', '.join(kinds)})")
    return "\n".join([f'; ModuleID = "{kernel.key}"', *dict.fromkeys(lines), ""])


def _bound(kernel: Kernel) -> list[tuple[str, str]]:
    """Types and values of what is bound."""
    found: list[tuple[str, str]] = []
    for x in kernel.bound:
        if isinstance(x, int):
            found.append(("i64", f"{x}"))
        else:
            found.append(("i8*", "null" if x is None else f"bitcast (void ()* @{x.symbol} to i8*)"))
    return found


# Where Numba's functions leave what they return and raise.
_RETURNED = ("i8**", "{i8*, i32, i8*, i8*, i32}**")


def _wrapper(kernel: Kernel, calls: Sequence[_Call]) -> str:
    """`void key(i8**, i64*, i64, i64, i64)`: unpacks the tables and calls functions. An epilogue
    takes its second range where a launched kernel takes the number of its worker."""
    ranges = ["%begin", "%end", "%first", "%last"][: 2 * kernel.ranges]
    passed = ", ".join(f"i64 {name}" for name in (*ranges, *(["%worker"] * (kernel.ranges == 1))))
    lines = [
        f"\ndefine void @{kernel.key}(i8** %buffers, i64* %dims, {passed}) {{",
        "entry:",
        "  %ret = alloca i8*",
        "  %exc = alloca {i8*, i32, i8*, i8*, i32}*",
    ]
    first = [f"{kind} {name}" for kind, name in zip(_RETURNED, ("%ret", "%exc"))]
    first += [f"{kind} {value}" for kind, value in _bound(kernel)]
    pointers: list[str] = []
    for i, dtype in enumerate(kernel.buffers):
        kind = str(_llvm_element(dtype))
        lines.append(f"  %bp{i} = getelementptr i8*, i8** %buffers, i64 {i}")
        lines.append(f"  %b{i} = load i8*, i8** %bp{i}")
        value = f"%b{i}"
        if f"{dtype}" == "bytes":
            # Scratch: every worker has its own part; its size stands behind the kernel's ints.
            lines.append(f"  %sp = getelementptr i64, i64* %dims, i64 {kernel.ints}")
            lines.append("  %sb = load i64, i64* %sp")
            lines.append("  %so = mul i64 %sb, %worker")
            lines.append(f"  %s{i} = getelementptr i8, i8* %b{i}, i64 %so")
            value = f"%s{i}"
        lines.append(f"  %c{i} = bitcast i8* {value} to {kind}*")
        pointers.append(f"{kind}* %c{i}")
    for i in range(kernel.ints):
        lines.append(f"  %np{i} = getelementptr i64, i64* %dims, i64 {i}")
        lines.append(f"  %n{i} = load i64, i64* %np{i}")
    if len(calls) > 1:
        lines += _BLOCKS_BEGIN
        ranges = ["%first", "%last"]
    for number, call in enumerate(calls):
        given = [*first, *(pointers[i] for i in call.buffers), *(f"i64 %n{i}" for i in call.ints)]
        given += [f"i64 {name}" for name in ranges]
        lines.append(f"  %r{number} = call i32 @{call.function}({', '.join(given)})")
    if len(calls) > 1:
        lines += _BLOCKS_END
    lines += ["  ret void", "}", ""]
    return "\n".join(lines)


# Of several functions each is called for so many rows, which stay in the nearest cache until the
# last has done them.
_ROWS = 16
_BLOCKS_BEGIN = (
    "  br label %head",
    "head:",
    "  %first = phi i64 [ %begin, %entry ], [ %last, %block ]",
    "  %more = icmp slt i64 %first, %end",
    "  br i1 %more, label %block, label %done",
    "block:",
    f"  %next = add i64 %first, {_ROWS}",
    "  %whole = icmp slt i64 %next, %end",
    "  %last = select i1 %whole, i64 %next, i64 %end",
)
_BLOCKS_END = ("  br label %head", "done:")


def _llvm_element(dtype: DType | str) -> ir.Type:
    return contexts()[1].get_data_type(numba_type(dtype))
