"""The scalar primitives over NumPy arrays: the ScalarBuilder that tests evaluate lowerings with.

In: calls of the primitives by lowerings; a scalar is an array over the whole index space. Out: such
scalars. Invariant: f16 and bf16 values are computed in f32 and rounded after every primitive,
operands of one primitive have one dtype, and a primitive refuses dtypes that the table of
primitives does not give it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import special

from flowc import dtypes
from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError
from flowc.ir.dims import Dim, Expr, Extremum, FloorDiv, Symbol, symbol
from flowc.ir.scalar import PRIMITIVES
from flowc.ops.math.casts import cast_array

Array = np.ndarray
_KIND_LETTER = {"int": "i", "uint": "u", "float": "f", "complex": "c", "bool": "b"}
NARROW = (dtypes.f16, dtypes.bf16)


@dataclass(frozen=True)
class ArrayScalar:
    """A lowering's scalar: its value at every index, an array that broadcasts to the output."""

    dtype: DType
    data: Array


def _trunc_divide(x: Array, y: Array) -> Array:
    quotient = np.floor_divide(x, y)
    inexact = np.fmod(x, y) != 0
    return quotient + (inexact & ((x < 0) != (y < 0))).astype(x.dtype)


def _floor_divide(x: Array, y: Array) -> Array:
    return np.floor_divide(x, y) if x.dtype.kind in "iu" else np.floor(x / y)


def _floor_mod(x: Array, y: Array) -> Array:
    if x.dtype.kind in "iu":
        return np.remainder(x, y)
    rest = np.fmod(x, y)
    return np.where((rest != 0) & ((y < 0) != (rest < 0)), rest + y, rest)


def _popcount(x: Array) -> Array:
    return np.bitwise_count(x.view(f"u{x.dtype.itemsize}")).astype(x.dtype)


def _lgamma(x: Array) -> Array:
    return np.where(np.isinf(x), np.inf, special.gammaln(x)).astype(x.dtype)


def _polygamma(n: Array, x: Array) -> Array:
    return special.polygamma(n, x)


def _fresnel(which: int, x: Array) -> Array:
    return special.fresnel(x)[which]


_FUNCTIONS: dict[str, Callable[..., Array]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.true_divide,
    "neg": np.negative,
    "abs": np.abs, "sign": np.sign,
    "floordiv": _floor_divide, "floormod": _floor_mod, "truncdiv": _trunc_divide,
    "truncmod": np.fmod,
    "max": np.maximum, "min": np.minimum,
    "max_select": lambda x, y: np.where(x > y, x, y),
    "min_select": lambda x, y: np.where(x < y, x, y),
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal,
    "logical_and": np.logical_and, "logical_or": np.logical_or, "logical_not": np.logical_not,
    "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor,
    "bitwise_not": np.invert, "shift_left": np.left_shift, "shift_right": np.right_shift,
    "popcount": _popcount,
    "is_nan": np.isnan, "is_inf": np.isinf, "is_finite": np.isfinite,
    "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "rint": np.rint,
    "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x),
    "exp": np.exp, "exp_negative": np.exp, "expm1": np.expm1, "log": np.log, "log1p": np.log1p,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "sigmoid": special.expit, "erf": special.erf, "erfc": special.erfc, "erfinv": special.erfinv,
    "ndtri": special.ndtri, "lgamma": _lgamma, "digamma": special.digamma,
    "igamma": special.gammainc, "igammac": special.gammaincc, "zeta": special.zeta,
    "polygamma": _polygamma, "betainc": special.betainc, "atan2": np.arctan2, "pow": np.power,
    "nextafter": np.nextafter, "fma": lambda x, y, z: x * y + z,
    "real": np.real, "imag": np.imag,
    "bessel_i0": special.i0, "bessel_i0e": special.i0e, "bessel_i1": special.i1,
    "bessel_i1e": special.i1e, "bessel_j0": special.j0, "bessel_j1": special.j1,
    "bessel_k0": special.k0, "bessel_k0e": special.k0e, "bessel_k1": special.k1,
    "bessel_k1e": special.k1e, "bessel_y0": special.y0, "bessel_y1": special.y1,
    "dawsn": special.dawsn, "expint": special.expi, "fresnel_sin": partial(_fresnel, 0),
    "fresnel_cos": partial(_fresnel, 1), "spence": special.spence,
}  # fmt: skip


class NumpyScalars:
    """A ScalarBuilder over arrays. `operands` are the node's inputs; `env` gives the value of every
    size and index symbol, an int or an array that broadcasts to the output."""

    def __init__(self, operands: Sequence[Array], env: Mapping[Symbol, Any] | None = None) -> None:
        self.operands = operands
        self.env: dict[Symbol, Any] = dict(env or {})

    def __getattr__(self, primitive: str) -> Callable[..., ArrayScalar]:
        if primitive not in PRIMITIVES:
            raise AttributeError(f"no scalar primitive is named {primitive!r}")
        return partial(self._apply, primitive)

    def _apply(self, name: str, *operands: Any) -> ArrayScalar:
        count, kinds, result, _ = PRIMITIVES[name]
        if len(operands) != count:
            raise TypeError(f"{name} takes {count} operands, found {len(operands)}")
        dtype = next(x.dtype for x in operands if isinstance(x, ArrayScalar))
        scalars = [self._same_dtype(name, x, dtype) for x in operands]
        if _KIND_LETTER[dtype.kind] not in kinds:
            raise TypeError(f"{name} does not take {dtype}")
        arrays = [_widen(x) for x in scalars]
        with np.errstate(all="ignore"):
            found = np.asarray(_FUNCTIONS[name](*arrays))
        kind = {"same": dtype, "bool": dtypes.bool_, "real": dtype.real_dtype}[result]
        return ArrayScalar(kind, _round(found, kind))

    def _same_dtype(self, name: str, x: Any, dtype: DType) -> ArrayScalar:
        if not isinstance(x, ArrayScalar):
            return self.const(x, dtype)
        if x.dtype is not dtype:
            raise TypeError(f"{name} of {dtype} and {x.dtype}")
        return x

    def const(self, value: Any, dtype: DType) -> ArrayScalar:
        return ArrayScalar(dtype, np.asarray(value, dtype.numpy))

    def cast(self, x: ArrayScalar, dtype: DType) -> ArrayScalar:
        return ArrayScalar(dtype, cast_array(x.data, dtype))

    def bitcast(self, x: ArrayScalar, dtype: DType) -> ArrayScalar:
        if x.dtype.size != dtype.size:
            raise TypeError(f"bitcast of {x.dtype} to {dtype}")
        return ArrayScalar(
            dtype, np.ascontiguousarray(x.data).view(dtype.numpy).reshape(x.data.shape)
        )

    def select(self, condition: Any, x: Any, y: Any) -> ArrayScalar:
        if x.dtype is not y.dtype:
            raise TypeError(f"select of {x.dtype} and {y.dtype}")
        return ArrayScalar(x.dtype, np.where(self._bool(condition), x.data, y.data))

    def _bool(self, condition: Any) -> Array:
        if isinstance(condition, ArrayScalar):
            if condition.dtype is not dtypes.bool_:
                raise TypeError(f"a condition of dtype {condition.dtype}")
            return condition.data
        return np.asarray(bool(condition))

    def complex(self, real: Any, imag: Any) -> ArrayScalar:
        if real.dtype is not imag.dtype:
            raise TypeError(f"complex of {real.dtype} and {imag.dtype}")
        kind = {"f32": dtypes.c64, "f64": dtypes.c128}[real.dtype.short]
        shape = np.broadcast_shapes(real.data.shape, imag.data.shape)
        found = np.empty(shape, kind.numpy)
        found.real, found.imag = real.data, imag.data
        return ArrayScalar(kind, found)

    # -- reads of views

    def load(self, operand: int, index: tuple[Dim, ...]) -> ArrayScalar:
        array = self.operands[operand]
        where = self._index(array, index)
        for axis, (at, size) in enumerate(zip(where, array.shape)):
            if at.size and not (at.min() >= 0 and at.max() < size):
                raise AssertionError(
                    f"operand {operand} axis {axis}: index {index[axis]} outside {size}"
                )
        return ArrayScalar(dtypes.as_dtype(array.dtype), array[tuple(where)])

    def load_if(self, condition: Any, operand: int, index: tuple[Dim, ...], otherwise: Any) -> Any:
        array = self.operands[operand]
        dtype = dtypes.as_dtype(array.dtype)
        holds = self._bool(condition)
        other = otherwise
        if other.dtype is not dtype:
            raise TypeError(f"load_if of {dtype} and {other.dtype}")
        where = self._index(array, index)
        inside = np.asarray(True)
        for at, size in zip(where, array.shape):
            inside = inside & (at >= 0) & (at < size)
        if np.any(holds & ~inside):
            raise AssertionError(f"operand {operand}: {index} outside {array.shape}")
        if array.size == 0:
            shape = np.broadcast_shapes(holds.shape, other.data.shape, inside.shape)
            return ArrayScalar(dtype, np.broadcast_to(other.data, shape))
        clipped = tuple(np.where(holds, at, 0) for at in where)
        return ArrayScalar(dtype, np.where(holds, array[clipped], other.data))

    def _index(self, array: Array, index: tuple[Dim, ...]) -> list[Array]:
        if len(index) != array.ndim:
            raise AssertionError(f"{len(index)} indices into rank {array.ndim}")
        return [self.dim(i) for i in index]

    def dim(self, value: Dim) -> Array:
        """The value of a size or index at every element."""
        if isinstance(value, (int, np.integer)):
            return np.asarray(int(value), np.int64)
        total = np.zeros((), np.int64)
        for monomial, coefficient in value.terms:
            term = np.asarray(coefficient, np.int64)
            for atom in monomial:
                term = term * self._atom(atom)
            total = total + term
        return total

    def _atom(self, atom: Any) -> Array:
        match atom:
            case Symbol():
                return np.asarray(self.env[atom], np.int64)
            case FloorDiv(numerator=top, denominator=bottom):
                return self.dim(top) // self.dim(bottom)
            case Extremum(kind=kind, left=left, right=right):
                pick = np.maximum if kind == "max" else np.minimum
                return pick(self.dim(left), self.dim(right))
        raise AssertionError(f"not an atom: {atom!r}")

    def in_range(self, value: Dim, low: Dim, high: Dim) -> ArrayScalar:
        at = self.dim(value)
        return ArrayScalar(dtypes.bool_, (self.dim(low) <= at) & (at < self.dim(high)))

    def index_value(self, value: Dim, dtype: DType) -> ArrayScalar:
        return ArrayScalar(dtype, self.dim(value).astype(dtype.numpy))

    def as_index(self, x: ArrayScalar, extent: Dim) -> Expr:
        name = f"x{len(self.env)}"
        self.env[Symbol(name)] = x.data.astype(np.int64)
        return symbol(name, extent)

    def checked_index(
        self, x: ArrayScalar, extent: Dim, message: str, place: tuple[Dim, ...] = ()
    ) -> Expr:
        limit = self.dim(extent)
        bad = (x.data < 0) | (x.data >= limit)
        if np.any(bad):
            first = np.broadcast_to(x.data, bad.shape)[bad][0]
            at = [np.broadcast_to(self.dim(p), bad.shape)[bad][0] for p in place]
            where = ",".join(map(str, at))
            raise InvalidArgumentError(message.format(value=first, extent=int(limit), place=where))
        return self.as_index(x, extent)

    def check(self, condition: Any, message: str) -> None:
        if not np.all(self._bool(condition)):
            raise InvalidArgumentError(message)


def _widen(x: ArrayScalar) -> Array:
    return x.data.astype(np.float32) if x.dtype in NARROW else x.data


def _round(found: Array, dtype: DType) -> Array:
    with np.errstate(all="ignore"):
        return found.astype(dtype.numpy)
