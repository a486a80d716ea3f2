"""Functions of numbers that may be complex or real: what kernels of matrices are written with.

In: the types of operands. Out: what makes intrinsics of Numba, by name. Invariant: of a real number
`conj` and `real_of` are the number itself, so that one source serves both kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from llvmlite import ir
from numba.core import types

from flowc.codegen.llvm.numba_functions import numba_function
from flowc_runtime.native.writer import declare

Emit = Callable[[ir.IRBuilder, Sequence[Any]], Any]


def _real_type(x: Any) -> Any:
    return x.underlying_float if isinstance(x, types.Complex) else x


def _is_complex(value: Any) -> bool:
    return isinstance(value.type, ir.BaseStructType)


def _parts(b: ir.IRBuilder, value: Any) -> tuple[Any, Any]:
    return b.extract_value(value, 0), b.extract_value(value, 1)


def _joined(b: ir.IRBuilder, kind: Any, real: Any, imag: Any) -> Any:
    found = b.insert_value(ir.Constant(kind, ir.Undefined), real, 0)
    return b.insert_value(found, imag, 1)


def _call(b: ir.IRBuilder, name: str, *values: Any) -> Any:
    kind = values[0].type
    suffix = "f32" if isinstance(kind, ir.FloatType) else "f64"
    function = ir.FunctionType(kind, [kind] * len(values))
    return b.call(declare(b.module, f"llvm.{name}.{suffix}", function), values)


def _conj(b: ir.IRBuilder, values: Sequence[Any]) -> Any:
    (x,) = values
    if not _is_complex(x):
        return x
    return b.insert_value(x, b.fneg(b.extract_value(x, 1)), 1)


def _real_of(b: ir.IRBuilder, values: Sequence[Any]) -> Any:
    return b.extract_value(values[0], 0) if _is_complex(values[0]) else values[0]


def _imag_of(b: ir.IRBuilder, values: Sequence[Any]) -> Any:
    if _is_complex(values[0]):
        return b.extract_value(values[0], 1)
    return ir.Constant(values[0].type, 0.0)


def _magnitude(b: ir.IRBuilder, values: Sequence[Any]) -> Any:
    """|x|, or the sum of the magnitudes of both parts."""
    (x,) = values
    if not _is_complex(x):
        return _call(b, "fabs", x)
    real, imag = _parts(b, x)
    return b.fadd(_call(b, "fabs", real), _call(b, "fabs", imag))


def _norm(b: ir.IRBuilder, values: Sequence[Any]) -> Any:
    """The square of |x|."""
    (x,) = values
    if not _is_complex(x):
        return b.fmul(x, x)
    real, imag = _parts(b, x)
    return b.fadd(b.fmul(real, real), b.fmul(imag, imag))


def _scaled(b: ir.IRBuilder, values: Sequence[Any]) -> Any:
    """x times a real number."""
    x, factor = values
    if not _is_complex(x):
        return b.fmul(x, factor)
    real, imag = _parts(b, x)
    return _joined(b, x.type, b.fmul(real, factor), b.fmul(imag, factor))


def _quotient(b: ir.IRBuilder, values: Sequence[Any]) -> Any:
    """x / y; the parts of a complex y are first divided by the larger of them."""
    x, y = values
    if not _is_complex(x):
        return b.fdiv(x, y)
    (a, c), (u, v) = _parts(b, x), _parts(b, y)
    size = _call(b, "maxnum", _call(b, "fabs", u), _call(b, "fabs", v))
    u, v = b.fdiv(u, size), b.fdiv(v, size)
    divisor = b.fmul(b.fadd(b.fmul(u, u), b.fmul(v, v)), size)
    real = b.fadd(b.fmul(a, u), b.fmul(c, v))
    imag = b.fsub(b.fmul(c, u), b.fmul(a, v))
    return _joined(b, x.type, b.fdiv(real, divisor), b.fdiv(imag, divisor))


def _of_inexact(x: Any, y: Any) -> Any:
    return x(x, x) if isinstance(x, types.Float | types.Complex) else None


def _root(b: ir.IRBuilder, values: Sequence[Any]) -> Any:
    return _call(b, "sqrt", values[0])


def number_functions() -> dict[str, Callable[[], Any]]:
    """What makes the functions, by the names that kernels call them."""

    def function(name: str, signature: Callable[..., Any], emit: Emit) -> Callable[[], Any]:
        return partial(numba_function, name, signature, emit)

    return {
        "conj": function("conj", lambda x: x(x), _conj),
        "real_of": function("real_of", lambda x: _real_type(x)(x), _real_of),
        "imag_of": function("imag_of", lambda x: _real_type(x)(x), _imag_of),
        "magnitude": function("magnitude", lambda x: _real_type(x)(x), _magnitude),
        "norm": function("norm", lambda x: _real_type(x)(x), _norm),
        "root": function("root", lambda x: x(x), _root),
        "scaled": function("scaled", lambda x, y: x(x, _real_type(x)), _scaled),
        "quotient": function("quotient", _of_inexact, _quotient),
    }
