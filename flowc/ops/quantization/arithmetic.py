"""One way to write arithmetic down: over NumPy arrays, and as nodes of a Computation.

In: formulas `f(k, ...)` over operands with Python's operators, `k` being ARRAYS or a
NodeArithmetic. Out: arrays, or NodeTerms. Invariant: both do the same operations, in the same order
and dtypes; a Python number has the dtype of the operand beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError
from flowc.ir.builder import Builder
from flowc.ir.computation import Value
from flowc.ir.dims import Dim
from flowc.ir.lowering import Elementwise
from flowc.ir.op import call_reference, define, op_named
from flowc.ops.math.casts import cast_array
from flowc.ops.math.elementwise import same_dims

Array = np.ndarray


class ArrayArithmetic:
    """Over NumPy arrays."""

    def dtype(self, x: Array) -> DType:
        return dtypes.as_dtype(x.dtype)

    def dims(self, x: Array) -> tuple[int, ...]:
        return x.shape

    def const(self, value: Any, dtype: DType) -> Array:
        return np.asarray(value, dtype.numpy)

    def cast(self, x: Any, dtype: DType) -> Array:
        return cast_array(np.asarray(x), dtype)

    def floor(self, x: Array) -> Array:
        return np.asarray(np.floor(x))

    def rint(self, x: Array) -> Array:
        return np.asarray(np.rint(x))

    def sqrt(self, x: Array) -> Array:
        return np.asarray(np.sqrt(x))

    def where(self, condition: Array, x: Any, y: Any) -> Array:
        return np.where(condition, x, y)

    def maximum(self, x: Array, y: Any) -> Array:
        return np.asarray(np.where(x > y, x, y), np.asarray(x).dtype)

    def minimum(self, x: Array, y: Any) -> Array:
        return np.asarray(np.where(x < y, x, y), np.asarray(x).dtype)

    def shift_right(self, x: Array, bits: int) -> Array:
        return x >> bits

    def truncated_quotient(self, x: Array, y: Array) -> Array:
        quotient = abs(x) // abs(y)
        return np.asarray(np.where((x < 0) == (y < 0), quotient, -quotient), x.dtype)

    def equal(self, x: Array, y: Array) -> Array:
        return x == y

    def reshape(self, x: Array, dims: Sequence[Dim]) -> Array:
        return x.reshape(tuple(int(d) for d in dims))

    def least(self, x: Array, axes: Sequence[int] | None = None) -> Array:
        return np.asarray(np.min(x, axis=_axes(axes), initial=_end(x, "max")))

    def largest(self, x: Array, axes: Sequence[int] | None = None) -> Array:
        return np.asarray(np.max(x, axis=_axes(axes), initial=_end(x, "min")))

    def mean(self, x: Array, axes: Sequence[int]) -> Array:
        return np.asarray(np.mean(x, axis=tuple(axes), keepdims=True, dtype=x.dtype))

    def apply(self, op: str, *operands: Any, **attrs: Any) -> Any:
        """The one output of another op; operands may be sizes."""
        record = op_named(op)
        arrays = [np.asarray(x) for x in operands]
        kinds = [dtypes.as_dtype(a.dtype) for a in arrays]
        assert record.reference is not None
        return call_reference(record, record.reference, arrays, attrs, kinds)[0]

    def numbers(self, x: Array) -> Array:
        """The elements of what must be known when the program is compiled."""
        return x

    def ordered(self, low: Array, high: Array, message: str, strict: bool) -> Array:
        """`low`, once it is seen that `high` is not below it (or, `strict`, is above it)."""
        if not np.all(high > low if strict else ~(high < low)):
            raise InvalidArgumentError(message)
        return low


def _axes(axes: Sequence[int] | None) -> tuple[int, ...] | None:
    return None if axes is None else tuple(axes)


def _end(x: Array, which: str) -> Any:
    if x.dtype.kind == "f":
        return np.inf if which == "max" else -np.inf
    return getattr(np.iinfo(x.dtype), which)


ARRAYS = ArrayArithmetic()


class NodeTerm:
    """A value in a formula: operators build nodes."""

    __array_ufunc__ = None  # so that numbers of NumPy leave the operators to terms

    def __init__(self, k: NodeArithmetic, value: Value) -> None:
        self.k = k
        self.value = value

    def __add__(self, other: Any) -> NodeTerm:
        return self.k.made("add", self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> NodeTerm:
        return self.k.made("sub", self, other)

    def __rsub__(self, other: Any) -> NodeTerm:
        return self.k.made("sub", other, self)

    def __mul__(self, other: Any) -> NodeTerm:
        return self.k.made("mul", self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> NodeTerm:
        return self.k.made("real_div", self, other)

    def __rtruediv__(self, other: Any) -> NodeTerm:
        return self.k.made("real_div", other, self)

    def __neg__(self) -> NodeTerm:
        return self.k.made("neg", self)

    def __abs__(self) -> NodeTerm:
        return self.k.made("abs", self)

    def __lt__(self, other: Any) -> NodeTerm:
        return self.k.made("less", self, other)

    def __gt__(self, other: Any) -> NodeTerm:
        return self.k.made("greater", self, other)

    def __ge__(self, other: Any) -> NodeTerm:
        return self.k.made("greater_equal", self, other)


class NodeArithmetic:
    """As nodes that `b` emits."""

    def __init__(self, b: Builder) -> None:
        self.b = b

    def term(self, value: Value) -> NodeTerm:
        """A value, quantised elements as integers."""
        dtype = value.type.dtype
        plain = self.b.bitcast(value, type=dtype.carrier) if dtype.is_quantized else value
        return NodeTerm(self, plain)

    def made(self, op: str, *operands: Any, **attrs: Any) -> NodeTerm:
        plain = [x.value if isinstance(x, NodeTerm) else x for x in operands]
        first = next(x for x in plain if isinstance(x, Value))
        kind = first.type.dtype
        # A NumPy number would keep its own dtype.
        given = [x if isinstance(x, Value) else self.b.const(x, kind) for x in plain]
        return NodeTerm(self, getattr(self.b, op)(*given, **attrs))

    def dtype(self, x: NodeTerm) -> DType:
        return x.value.type.dtype

    def dims(self, x: NodeTerm) -> tuple[Dim, ...]:
        return x.value.dims

    def const(self, value: Any, dtype: DType) -> NodeTerm:
        return NodeTerm(self, self.b.const(value, dtype))

    def cast(self, x: NodeTerm, dtype: DType) -> NodeTerm:
        return self.made("cast", x, DstT=dtype)

    def floor(self, x: NodeTerm) -> NodeTerm:
        return self.made("floor", x)

    def rint(self, x: NodeTerm) -> NodeTerm:
        return self.made("rint", x)

    def sqrt(self, x: NodeTerm) -> NodeTerm:
        return self.made("sqrt", x)

    def where(self, condition: NodeTerm, x: Any, y: Any) -> NodeTerm:
        kind = next(v.value.type.dtype for v in (x, y) if isinstance(v, NodeTerm))
        x, y = (v if isinstance(v, NodeTerm) else self.const(v, kind) for v in (x, y))
        return self.made("select_v2", condition, x, y)

    def maximum(self, x: NodeTerm, y: Any) -> NodeTerm:
        return self.made("maximum", x, y)

    def minimum(self, x: NodeTerm, y: Any) -> NodeTerm:
        return self.made("minimum", x, y)

    def shift_right(self, x: NodeTerm, bits: int) -> NodeTerm:
        return self.made("right_shift", x, bits)

    def truncated_quotient(self, x: NodeTerm, y: NodeTerm) -> NodeTerm:
        return self.made("truncate_div", x, y)

    def equal(self, x: NodeTerm, y: Any) -> NodeTerm:
        return self.made("equal", x, y)

    def reshape(self, x: NodeTerm, dims: Sequence[Dim]) -> NodeTerm:
        return NodeTerm(self, self.b.reshape(x.value, tuple(dims)))

    def least(self, x: NodeTerm, axes: Sequence[int] | None = None) -> NodeTerm:
        return self._folded("min", x, axes)

    def largest(self, x: NodeTerm, axes: Sequence[int] | None = None) -> NodeTerm:
        return self._folded("max", x, axes)

    def mean(self, x: NodeTerm, axes: Sequence[int]) -> NodeTerm:
        return self._folded("mean", x, axes, keep_dims=True)

    def _folded(self, op: str, x: NodeTerm, axes: Sequence[int] | None, **attrs: Any) -> NodeTerm:
        along = range(x.value.type.rank) if axes is None else axes
        found = getattr(self.b, op)(x.value, np.array(list(along), np.int32), **attrs)
        return NodeTerm(self, found)

    def apply(self, op: str, *operands: Any, **attrs: Any) -> NodeTerm:
        plain = [x.value if isinstance(x, NodeTerm) else x for x in operands]
        return NodeTerm(self, getattr(self.b, op)(*plain, **attrs))

    def numbers(self, x: NodeTerm) -> Array:
        known = self.b.content(x.value)
        assert known is not None  # `infer` asked for it
        return known

    def ordered(self, low: NodeTerm, high: NodeTerm, message: str, strict: bool) -> NodeTerm:
        return self.made("ordered", low, high, message=message, strict=strict)


def _checked(message: str, strict: bool) -> Elementwise:
    def body(k: Any, low: Any, high: Any) -> Any:
        k.check(k.gt(high, low) if strict else k.logical_not(k.lt(high, low)), message)
        return low

    return Elementwise(body)


define(
    "ordered",
    "_Ordered(low: f32, high: f32; message: string, strict: bool) -> checked: f32",
    infer=same_dims,
    lowering=lambda node: _checked(node.attrs["message"], node.attrs["strict"]),
    reference=lambda low, high, *, message, strict: ARRAYS.ordered(low, high, message, strict),
    examples=('f32[]=1.0 f32[]=2.0; message="text", strict=True',),
)
