"""Python source of a kernel -> LLVM IR text, by Numba, before any optimisation.

In: a Kernel. Out: text that defines `void <key>(i8** buffers, i64* dims, i64 begin, i64 end,
i64 worker)`, the one kernel ABI. Nothing of the host is in the text: Numba's own optimiser and code
generator never run, so that any target can be compiled from it.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import compiler_lock, errors, types
from numba.extending import intrinsic

from flowc.codegen import math as vector_math
from flowc.codegen.cpu.numba_stages import contexts, lower
from flowc.codegen.kernels.kernel import Kernel
from flowc.dtypes import DType
from flowc.errors import InternalError

BYTE_POINTER = ir.IntType(8).as_pointer()
I64 = ir.IntType(64)

_CARRIERS: dict[str, Any] = {
    "f16": types.int16,
    "bf16": types.int16,
    "bool": types.uint8,
    "bytes": types.uint8,
    "string": types.int64,
}
_SCALARS: dict[str, Any] = {
    "f32": types.float32,
    "f64": types.float64,
    "i8": types.int8,
    "i16": types.int16,
    "i32": types.int32,
    "i64": types.int64,
    "u8": types.uint8,
    "u16": types.uint16,
    "u32": types.uint32,
    "u64": types.uint64,
    "c64": types.complex64,
    "c128": types.complex128,
}


def numba_type(dtype: DType | str) -> Any:
    """The Numba type of one element in memory."""
    name = str(dtype)
    return _CARRIERS.get(name) or _SCALARS[name]


@intrinsic
def idiv(typing_context: Any, a: Any, b: Any) -> Any:
    """Truncating int64 division: what floor division is for indices, which are not negative."""

    def emit(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        return builder.sdiv(*args)

    return types.int64(types.int64, types.int64), emit


def _float_fold(name: str, emit_fold: Any) -> Any:
    """An intrinsic `(accumulator, x) -> accumulator` for one float type."""

    @intrinsic
    def fold(typing_context: Any, a: Any, b: Any) -> Any:
        def emit(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
            return emit_fold(builder, *args)

        return a(a, b), emit

    return fold


def _declared(builder: ir.IRBuilder, name: str, kind: ir.Type) -> ir.Function:
    found = builder.module.globals.get(name)
    return found or ir.Function(builder.module, ir.FunctionType(kind, [kind, kind]), name)


def _extremum(which: str) -> Any:
    def emit(builder: ir.IRBuilder, a: Any, b: Any) -> ir.Value:
        suffix = "f32" if isinstance(a.type, ir.FloatType) else "f64"
        return builder.call(_declared(builder, f"llvm.{which}.{suffix}", a.type), [a, b])

    return emit


# Sums may be reassociated, which is what lets them vectorise; nothing else is assumed of floats.
fold_add = _float_fold("fold_add", lambda b, x, y: b.fadd(x, y, flags=("reassoc",)))
fold_mul = _float_fold("fold_mul", lambda b, x, y: b.fmul(x, y, flags=("reassoc",)))
fold_max = _float_fold("fold_max", _extremum("maximum"))
fold_min = _float_fold("fold_min", _extremum("minimum"))


def _llvm_call(name: str, arity: int, scalar: Any, suffix: str) -> Any:
    """An intrinsic for `llvm.<name>.<suffix>` on `arity` floats."""

    def emit(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        full = f"llvm.{name}.{suffix}"
        kind = args[0].type
        found = builder.module.globals.get(full)
        function = found or ir.Function(builder.module, ir.FunctionType(kind, [kind] * arity), full)
        return builder.call(function, args)

    if arity == 1:

        @intrinsic
        def call_one(typing_context: Any, x: Any) -> Any:
            return scalar(scalar), emit

        return call_one

    @intrinsic
    def call_three(typing_context: Any, x: Any, y: Any, z: Any) -> Any:
        return scalar(scalar, scalar, scalar), emit

    return call_three


@intrinsic
def offset(typing_context: Any, pointer: Any, count: Any) -> Any:
    """pointer + count elements."""

    def emit(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        return builder.gep(args[0], [args[1]])

    return pointer(pointer, types.int64), emit


def _external(builder: ir.IRBuilder, name: str, kind: ir.FunctionType) -> ir.Function:
    return builder.module.globals.get(name) or ir.Function(builder.module, kind, name)


@intrinsic
def format_float(typing_context: Any, text: Any, digits: Any, value: Any) -> Any:
    """Writes a float with at most so many digits, and a zero behind it; how many bytes it has."""

    def emit(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        kind = ir.FunctionType(ir.IntType(32), [BYTE_POINTER, I64, BYTE_POINTER], var_arg=True)
        pattern = bytearray(b"%.*g\0")
        constant = ir.Constant(ir.ArrayType(ir.IntType(8), len(pattern)), pattern)
        place = builder.alloca(constant.type)
        builder.store(constant, place)
        digits = builder.trunc(args[1], ir.IntType(32))
        written = builder.call(
            _external(builder, "snprintf", kind),
            [args[0], I64(32), builder.bitcast(place, BYTE_POINTER), digits, args[2]],
        )
        return builder.sext(written, I64)

    return types.int64(types.CPointer(types.uint8), types.int64, types.float64), emit


def _parse(name: str, scalar: Any) -> Any:
    @intrinsic
    def parse(typing_context: Any, text: Any) -> Any:
        def emit(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
            kind = ir.FunctionType(
                context.get_value_type(scalar), [BYTE_POINTER, BYTE_POINTER.as_pointer()]
            )
            no_end = ir.Constant(BYTE_POINTER.as_pointer(), None)
            return builder.call(_external(builder, name, kind), [args[0], no_end])

        return scalar(types.CPointer(types.uint8)), emit

    return parse


@intrinsic
def write_text(typing_context: Any, stream: Any, text: Any, length: Any) -> Any:
    """Writes bytes to a stream by its number; how many of them it took."""

    def emit(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        kind = ir.FunctionType(I64, [ir.IntType(32), BYTE_POINTER, I64])
        stream = builder.trunc(args[0], ir.IntType(32))
        return builder.call(_external(builder, "write", kind), [stream, args[1], args[2]])

    return types.int64(types.int64, types.CPointer(types.uint8), types.int64), emit


@intrinsic
def keep_text(typing_context: Any, text: Any, length: Any) -> Any:
    """The address of a copy with a zero behind it, to be freed by whoever reads it; 0 for none."""

    def emit(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        kind = ir.FunctionType(BYTE_POINTER, [BYTE_POINTER, I64])
        copy = builder.call(_external(builder, "strndup", kind), args)
        return builder.ptrtoint(copy, I64)

    return types.int64(types.CPointer(types.uint8), types.int64), emit


@intrinsic
def poll(typing_context: Any, words: Any) -> Any:
    """Whether a signal ends the run; see flowc_runtime/native/interpreter.py."""

    def emit(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        kind = ir.FunctionType(ir.IntType(32), [I64.as_pointer()])
        return builder.call(_external(builder, "flowc_interpreter_poll", kind), args)

    return types.int32(types.CPointer(types.int64)), emit


_EPILOGUE_TYPE = ir.FunctionType(
    ir.VoidType(), [BYTE_POINTER.as_pointer(), I64.as_pointer(), I64, I64, I64, I64]
)


@intrinsic
def call_epilogue(
    typing_context: Any,
    function: Any,
    buffers: Any,
    ints: Any,
    row_begin: Any,
    row_end: Any,
    column_begin: Any,
    column_end: Any,
) -> Any:
    """Calls an epilogue by its address, with its tables, on a block of rows x columns."""

    def emit(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        address = builder.bitcast(args[0], _EPILOGUE_TYPE.as_pointer())
        table = builder.bitcast(args[1], BYTE_POINTER.as_pointer())
        builder.call(address, [table, builder.bitcast(args[2], I64.as_pointer()), *args[3:]])
        return context.get_dummy_value()

    table = types.CPointer(types.uint8)
    return types.void(table, table, table, *[types.int64] * 4), emit


def _pointer_cast(element: Any) -> Any:
    @intrinsic
    def cast(typing_context: Any, pointer: Any) -> Any:
        def emit(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
            return builder.bitcast(args[0], context.get_value_type(signature.return_type))

        return types.CPointer(element)(pointer), emit

    return cast


def _bitcast_to(result: Any) -> Any:
    @intrinsic
    def cast(typing_context: Any, x: Any) -> Any:
        def emit(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
            return builder.bitcast(args[0], context.get_value_type(result))

        return result(x), emit

    return cast


@cache
def base_globals() -> dict[str, Any]:
    """What every kernel's source may name beside the math functions that it lists."""
    found: dict[str, Any] = dict(_SCALARS)
    found |= {
        "idiv": idiv,
        "offset": offset,
        "call_epilogue": call_epilogue,
        "format_float": format_float,
        "parse_f32": _parse("strtof", types.float32),
        "parse_f64": _parse("strtod", types.float64),
        "write_text": write_text,
        "keep_text": keep_text,
        "poll": poll,
        "inf": float("inf"),
        "nan": float("nan"),
    }
    found |= {
        "fold_add": fold_add, "fold_mul": fold_mul, "fold_max": fold_max, "fold_min": fold_min
    }  # fmt: skip
    for name in ("f32", "f64"):
        found[f"abs_{name}"] = _llvm_call("fabs", 1, _SCALARS[name], name)
        found[f"fma_{name}"] = _llvm_call("fmuladd", 3, _SCALARS[name], name)
    for name, scalar in _SCALARS.items():
        found[f"as_{name}_pointer"] = _pointer_cast(scalar)
        if name[0] in "fiu":
            found[f"bits_{name}"] = _bitcast_to(scalar)
    return found


def kernel_text(kernel: Kernel) -> str:
    """LLVM IR text of one kernel. Raises `InternalError` with the source if Numba rejects it."""
    with compiler_lock.global_compiler_lock:
        arguments = [types.CPointer(numba_type(b)) for b in kernel.buffers]
        arguments += [types.int64] * (kernel.ints + 2 * kernel.ranges)
        try:
            lowered = lower(_python_function(kernel), tuple(arguments), kernel.key)
        except errors.NumbaError as error:
            raise InternalError(f"a kernel does not compile: {error}\n{kernel.source}") from error
        return _clean(lowered.text, lowered.name, kernel.key) + _wrapper(kernel)


def _python_function(kernel: Kernel) -> Any:
    space: dict[str, Any] = dict(base_globals())
    for name in kernel.functions:
        space[name] = vector_math.intrinsic(name)
    space.update(kernel.globals)
    if kernel.element is not None:
        space["elem"] = numba_type(kernel.element)
    for name, value in kernel.constants.items():
        space[name] = value if isinstance(value, (np.generic, int, float)) else np.asarray(value)
    exec(compile(kernel.source, f"<{kernel.key}>", "exec"), space)  # our own generated source
    return space[kernel.entry]


_ENVIRONMENT = re.compile(r'^@"?_ZN08NumbaEnv[^\n]*\n', re.MULTILINE)
_PICKLED = re.compile(r'^@"\.const\.pickle[^\n]*\n', re.MULTILINE)
_RAISE = re.compile(
    r"^\s*store \{i8\*, i32, i8\*, i8\*, i32\}\* @\"\.const\.pickle[^\n]*\n", re.MULTILINE
)


def _clean(text: str, name: str, key: str) -> str:
    """Gives the function a stable internal name and drops Numba's environment and exceptions."""
    text = _RAISE.sub("", _PICKLED.sub("", _ENVIRONMENT.sub("", text)))
    text = text.replace(f'@"{name}"', f"@{key}_body")
    text = re.sub(r"^; ModuleID = .*$", f'; ModuleID = "{key}"', text, count=1, flags=re.MULTILINE)
    return text.replace(f"define i32 @{key}_body", f"define internal i32 @{key}_body", 1)


def _wrapper(kernel: Kernel) -> str:
    """`void key(i8**, i64*, i64, i64, i64)`: unpacks the tables and calls the body. An epilogue
    takes its second range where a launched kernel takes the number of its worker."""
    ranges = ["%begin", "%end", "%first", "%last"][: 2 * kernel.ranges]
    passed = ", ".join(f"i64 {name}" for name in (*ranges, *(["%worker"] * (kernel.ranges == 1))))
    lines = [
        f"\ndefine void @{kernel.key}(i8** %buffers, i64* %dims, {passed}) {{",
        "entry:",
        "  %ret = alloca i8*",
        "  %exc = alloca {i8*, i32, i8*, i8*, i32}*",
    ]
    arguments = ["i8** %ret", "{i8*, i32, i8*, i8*, i32}** %exc"]
    for i, dtype in enumerate(kernel.buffers):
        kind = str(_llvm_element(dtype))
        lines.append(f"  %bp{i} = getelementptr i8*, i8** %buffers, i64 {i}")
        lines.append(f"  %b{i} = load i8*, i8** %bp{i}")
        value = f"%b{i}"
        if str(dtype) == "bytes":
            # Scratch: every worker has its own part; its size stands behind the kernel's ints.
            lines.append(f"  %sp = getelementptr i64, i64* %dims, i64 {kernel.ints}")
            lines.append("  %sb = load i64, i64* %sp")
            lines.append("  %so = mul i64 %sb, %worker")
            lines.append(f"  %s{i} = getelementptr i8, i8* %b{i}, i64 %so")
            value = f"%s{i}"
        lines.append(f"  %c{i} = bitcast i8* {value} to {kind}*")
        arguments.append(f"{kind}* %c{i}")
    for i in range(kernel.ints):
        lines.append(f"  %np{i} = getelementptr i64, i64* %dims, i64 {i}")
        lines.append(f"  %n{i} = load i64, i64* %np{i}")
        arguments.append(f"i64 %n{i}")
    arguments += [f"i64 {name}" for name in ranges]
    lines.append(f"  %r = call i32 @{kernel.key}_body({', '.join(arguments)})")
    lines += ["  ret void", "}", ""]
    return "\n".join(lines)


def _llvm_element(dtype: DType | str) -> ir.Type:
    numba_kind = numba_type(dtype)
    return contexts()[1].get_data_type(numba_kind)
