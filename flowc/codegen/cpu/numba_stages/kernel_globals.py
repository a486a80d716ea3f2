"""What the source of a kernel may name: the types of elements, and functions of LLVM instructions.

In: names. Out: Numba's types, and intrinsics of Numba, each made when a kernel first names it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from typing import Any

from llvmlite import ir
from numba.core import types

from flowc import dtypes
from flowc.codegen.cpu.numba_stages.stages import contexts
from flowc.codegen.llvm.numba_functions import numba_function
from flowc.codegen.llvm.vector_ir import advance
from flowc.codegen.math.complex_numbers import number_functions
from flowc.dtypes import DType
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


TEXT, _INT, _F64 = types.CPointer(types.uint8), types.int64, types.float64


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
        "parse", scalar(TEXT), lambda b, values: _external_call(b, name, result, *values, no_end)
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


def base_globals(names: Iterable[str]) -> dict[str, Any]:
    """Of some names what every kernel's source may use beside the math functions that it lists."""
    makers = _base_makers()
    known = {name: _base_global(name) for name in names if name in makers}
    return {**_SCALARS, "offset": advance, "inf": float("inf"), "nan": float("nan"), **known}


@cache
def _base_global(name: str) -> Any:
    return _base_makers()[name]()


@cache
def _base_makers() -> dict[str, Callable[[], Any]]:
    """What makes the functions, of which a kernel calls a few."""
    found: dict[str, Callable[[], Any]] = {
        # Truncating division: what floor division is for indices, which are not negative.
        "idiv": partial(
            numba_function, "idiv", _INT(_INT, _INT), lambda b, values: b.sdiv(*values)
        ),
        # Calls an epilogue by its address, with its tables, on a block of rows x columns.
        "call_epilogue": partial(
            numba_function, "call_epilogue", types.void(*[TEXT] * 3, *[_INT] * 4), _emit_epilogue
        ),
        # Calls a kernel by its address, with its tables, for a part of its range. The scratch
        # memory in its table is the caller's own.
        "call_kernel": partial(
            numba_function, "call_kernel", types.void(*[TEXT] * 3, *[_INT] * 2), _emit_kernel_call
        ),
        "address_of": partial(
            numba_function, "address_of", _INT(TEXT), lambda b, values: b.ptrtoint(values[0], I64)
        ),
        # Writes a float with at most so many digits, and a zero behind it; how many bytes it has.
        "format_float": partial(
            numba_function, "format_float", _INT(TEXT, _INT, _F64), _emit_format_float
        ),
        "parse_f32": partial(_parse, "strtof", types.float32, ir.FloatType()),
        "parse_f64": partial(_parse, "strtod", _F64, ir.DoubleType()),
        # Writes bytes to a stream by its number; how many of them it took.
        "write_text": partial(
            numba_function, "write_text", _INT(_INT, TEXT, _INT), _emit_write_text
        ),
        # The address of a copy with a zero behind it, which its reader frees; 0 for none.
        "keep_text": partial(numba_function, "keep_text", _INT(TEXT, _INT), _emit_keep_text),
        # Whether a signal ends the run; see flowc_runtime/native/interpreter.py.
        "poll": partial(numba_function, "poll", types.int32(types.CPointer(_INT)), _emit_poll),
        # Sums may be reassociated, which lets them vectorise; nothing else is assumed of floats.
        "fold_add": partial(_fold, lambda b, x, y: b.fadd(x, y, flags=("reassoc",))),
        "fold_mul": partial(_fold, lambda b, x, y: b.fmul(x, y, flags=("reassoc",))),
        "fold_max": partial(_fold, lambda b, x, y: _llvm_call(b, "maximum", x, y)),
        "fold_min": partial(_fold, lambda b, x, y: _llvm_call(b, "minimum", x, y)),
        # The element first: what tells whether it is NaN then does not wait for the total.
        "fold_max_either": partial(
            _fold, lambda b, x, y: _llvm_call(b, "maximum", y, x, flags=("nsz",))
        ),
        "fold_min_either": partial(
            _fold, lambda b, x, y: _llvm_call(b, "minimum", y, x, flags=("nsz",))
        ),
        "fold_max_number": partial(_fold, lambda b, x, y: _extreme_number(b, ">", x, y)),
        "fold_min_number": partial(_fold, lambda b, x, y: _extreme_number(b, "<", x, y)),
    }
    for name in ("f32", "f64"):
        found[f"abs_{name}"] = partial(_of_floats, "fabs", _SCALARS[name], 1)
        found[f"fma_{name}"] = partial(_of_floats, "fmuladd", _SCALARS[name], 3)
    for name, scalar in _SCALARS.items():
        found[f"as_{name}_pointer"] = partial(_bitcast_to, types.CPointer(scalar))
        if name[0] in "fiu":
            found[f"bits_{name}"] = partial(_bitcast_to, scalar)
    return found | number_functions()
