"""Elementwise functions under TensorFlow's names.

In: tensors or Python values; the first tensor's dtype decides for numbers. Out: tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import Parameter, Signature
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.api.framework.raw_ops import named, snake_case
from flowc.api.framework.scopes import name_scope
from flowc.api.math.meanings import MEANINGS
from flowc.dtypes import DType
from flowc.graph import Tensor, TensorShape
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.creation import output
from flowc.graph.building.operators import (
    absolute,
    exclusive_or,
    pair_of_one_dtype,
    quotient_dtype,
    true_quotient,
)
from flowc.graph.indexed_slices import IndexedSlices

Unary = Callable[..., Tensor]
# Functions that are not called as their ops are.
_CALLED = {
    "FloorDiv": "floordiv",
    "FloorMod": "floormod",
    "Mul": "multiply",
    "MulNoNan": "multiply_no_nan",
    "RealDiv": "realdiv",
    "TruncateDiv": "truncatediv",
    "TruncateMod": "truncatemod",
}


def unary(op_type: str, argument: str = "x", name: str | None = None) -> Unary:
    """The function of an op with one input, called `argument`."""
    return _function(op_type, (argument,), "for other dtypes", name)


def binary(op_type: str, left: str = "x", right: str = "y", name: str | None = None) -> Unary:
    """The function of an op with two inputs, called `left` and `right`."""
    errors = "for other dtypes and two different ones, `ValueError` where shapes do not broadcast"
    return _function(op_type, (left, right), errors, name)


def _function(op_type: str, inputs: Sequence[str], errors: str, default: str | None) -> Unary:
    names = (*inputs, "name")
    taken = f"({', '.join(inputs)}, name=None)"

    def function(*args: Any, **kwargs: Any) -> Tensor:
        given = dict(zip(names, args))
        unknown = [n for n in kwargs if n in given or n not in names]
        given |= kwargs
        if len(args) > len(names) or unknown or any(n not in given for n in inputs):
            raise TypeError(f"expected {taken}, found {args} {kwargs}")
        operands, scope = [given[n] for n in inputs], given.get("name") or default
        ragged = next((x for x in operands if hasattr(x, "with_flat_values")), None)
        if ragged is not None:
            return ragged.mapped(function, operands, scope)
        if op_type in _OF_SPARSE and hasattr(operands[0], "with_values"):
            return of_values(operands[0], function, scope)
        return output(op_type, *operands, name=scope)

    meaning = MEANINGS.get(op_type, f"TensorFlow's `{op_type}`")
    doc = f"{meaning}.\n\nTakes `{taken}`. Raises `TypeError` {errors}."
    described: Any = named(function, _CALLED.get(op_type) or snake_case(op_type), doc)
    described.__signature__ = _signature(inputs)
    return function


def of_values(sparse: Any, function: Unary, name: str | None) -> Any:
    """A `SparseTensor` of what a function makes of the values that another one keeps."""
    return sparse.with_values(function(sparse.values, name=name))


def _signature(inputs: Sequence[str]) -> Signature:
    """What `help` and editors show of a function of these inputs."""
    either = Parameter.POSITIONAL_OR_KEYWORD
    taken = [Parameter(name, either, annotation="Any") for name in inputs]
    name = Parameter("name", either, default=None, annotation="str | None")
    return Signature([*taken, name], return_annotation="Tensor")


# The functions of these ops have the ops' own names: `is_nan` is that of `IsNan`.
_UNARY = """
acos acosh asin asinh atan atanh bessel_i0 bessel_i0e bessel_i1 bessel_i1e ceil cos cosh
digamma erf erfc erfinv exp expm1 floor invert invert_permutation is_finite is_inf is_nan lgamma
log log1p logical_not ndtri neg reciprocal rint rsqrt sigmoid sign sin sinh sqrt square
tan tanh
"""
_BINARY = """
bitwise_and bitwise_or bitwise_xor equal floor_div greater greater_equal left_shift less
less_equal logical_and logical_or maximum minimum mul not_equal pow right_shift
squared_difference sub xdivy xlog1py xlogy
"""

# Those that a `SparseTensor` may be given to, too: they are 0 at 0, but for `bessel_i0e`.
_OF_SPARSE = ("BesselI0e", "BesselI1e", "Erf", "Neg", "Sign", "Sqrt", "Square", "Tanh")


def __getattr__(name: str) -> Unary:
    is_unary = name in _UNARY.split()
    if not is_unary and name not in _BINARY.split():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    op_type = "".join(word.capitalize() for word in name.split("_"))
    found = globals()[name] = unary(op_type) if is_unary else binary(op_type)
    return found


inv = unary("Reciprocal")
negative = unary("Neg")
_add_numbers = binary("AddV2", name="Add")
_add_strings = binary("Add", name="Add")


def add(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x + y, of numbers; strings are put together, elementwise.

    Takes tensors of one dtype whose shapes broadcast. Raises `TypeError` for other dtypes and two
    different ones, `ValueError` where shapes do not broadcast.
    """
    dtype = getattr(_first(x), "dtype", None)
    if dtype is None:
        is_text = isinstance(_first(x), str | bytes)
    else:
        is_text = dtypes.as_dtype(dtype).base_dtype is dtypes.string
    return (_add_strings if is_text else _add_numbers)(x, y, name)


def _first(value: Any) -> Any:
    """The first element of nested sequences."""
    return _first(value[0]) if isinstance(value, list | tuple) and value else value


atan2 = binary("Atan2", "y", "x")
floordiv = binary("FloorDiv", name="floordiv")
floormod = mod = binary("FloorMod")
igamma = binary("Igamma", "a", "x")
igammac = binary("Igammac", "a", "x")
multiply = binary("Mul")
multiply_no_nan = binary("MulNoNan", name="multiply_no_nan")
polygamma = binary("Polygamma", "a", "x")
realdiv = binary("RealDiv")
subtract = binary("Sub")
truncatediv = binary("TruncateDiv")
truncatemod = binary("TruncateMod")
zeta = binary("Zeta", "x", "q")


def truediv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Python 3's division, of shapes that broadcast: integers of 8 and 16 bits are divided as
    float32, larger ones as float64. Raises `TypeError` where the dtypes differ, `ValueError` where
    shapes do not broadcast."""
    with name_scope(name, "truediv", [x, y]) as scope:
        return true_quotient(x, y, scope)


def div_no_nan(x: Any, y: Any, name: str | None = None) -> Tensor:
    """`truediv`, of shapes that broadcast, and 0 where `y` is 0. Raises `TypeError` where the
    dtypes differ, `ValueError` where shapes do not broadcast."""
    with name_scope(name, "div_no_nan", [x, y]) as scope:
        left, right = pair_of_one_dtype(x, y)
        wide = quotient_dtype(left.base_dtype)
        if wide is not None:
            left, right = (output("Cast", v, DstT=wide) for v in (left, right))
        return output("DivNoNan", left, right, name=scope)


def divide(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Division in the style of Python 3, as `truediv`. Raises `TypeError` where the dtypes differ,
    `ValueError` where shapes do not broadcast."""
    return truediv(x, y, name)


def div(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Division in the style of Python 2, of shapes that broadcast: integers round towards minus
    infinity. Raises `ValueError` where the dtypes differ or shapes do not broadcast."""
    with name_scope(name, "div", [x, y]) as scope:
        left = as_tensor(x, name="x")
        right = as_tensor(y, left.base_dtype, name="y")
        real = left.dtype is not None and (left.dtype.is_floating or left.dtype.is_complex)
        return output("RealDiv" if real else "FloorDiv", left, right, name=scope)


def logical_xor(x: Any, y: Any, name: str = "LogicalXor") -> Tensor:
    """Whether exactly one of two bools holds, of shapes that broadcast. Raises `TypeError` for
    other dtypes, `ValueError` where shapes do not broadcast."""
    return exclusive_or(x, y, name)


def scalar_mul(scalar: Any, x: Any, name: str | None = None) -> Any:
    """`scalar * x`, of the values of an `IndexedSlices` too. Raises `ValueError` where `scalar` is
    no scalar."""
    if isinstance(x, IndexedSlices):
        return x.with_rows(scalar_mul(scalar, x.values, name))
    tensor = as_tensor(x, name="x")
    factor = as_tensor(scalar, tensor.dtype, name="scalar")
    if factor.shape.ndims not in (None, 0):
        raise ValueError(f"The input scalar must be a 0-D value. Received shape {factor.shape}.")
    return output("Mul", factor, tensor, name=name)


def add_n(inputs: Sequence[Any], name: str | None = None) -> Tensor:
    """The sum of a list of tensors of one dtype and shape. Raises `ValueError` for an empty list
    and other shapes, `TypeError` for other dtypes."""
    if not inputs or not isinstance(inputs, list | tuple):
        raise ValueError("Inputs must be an iterable of at least one Tensor/IndexedSlices with the "
                         "same dtype and shape.")  # fmt: skip
    tensors = [as_tensor(x, name=f"inputs_{i}") for i, x in enumerate(inputs)]
    if len(tensors) == 1:
        return output("Identity", tensors[0], name=name) if name else tensors[0]
    return output("AddN", tensors, name=name)


def accumulate_n(
    inputs: Sequence[Any], shape: Any = None, tensor_dtype: Any = None, name: str | None = None
) -> Tensor:
    """The sum of a list of tensors of one dtype and shape, as `add_n`, which is `shape` if that is
    given. Raises `ValueError` for no tensors, other dtypes and other shapes, `TypeError` where
    `tensor_dtype` is another dtype than theirs."""
    alike = "inputs must be a list of at least one Tensor with the same dtype and shape"
    if not inputs or not isinstance(inputs, list | tuple):
        raise ValueError(alike)
    tensors = [as_tensor(one) for one in inputs]
    if any(one.base_dtype is not tensors[0].base_dtype for one in tensors):
        raise ValueError(alike)
    stated = TensorShape(shape)
    for one in tensors:
        stated = stated.merge_with(one.shape)
    wanted = None if tensor_dtype is None else dtypes.as_dtype(tensor_dtype)
    if wanted is not None and tensors[0].base_dtype is not wanted:
        raise TypeError(
            f"The `tensor_dtype` argument is {wanted!r}, but `inputs` are of type "
            f"{tensors[0].dtype!r}. These must be equal."
        )
    return add_n(tensors, name)


def complex(real: Any, imag: Any, name: str | None = None) -> Tensor:
    """Complex numbers of two parts of one dtype, float32 or float64, whose shapes broadcast. Raises
    `TypeError` for other dtypes."""
    with name_scope(name, "Complex", [real, imag]) as scope:
        left, right = as_tensor(real, name="real"), as_tensor(imag, name="imag")
        wide = {"f32": dtypes.c64, "f64": dtypes.c128}.get(f"{left.base_dtype}")
        if wide is None or left.base_dtype is not right.base_dtype:
            raise TypeError(
                f"The `real` and `imag` components have incompatible types: {left.dtype!r} "
                f"{right.dtype!r}. They must be consistent, and one of [tf.float32, tf.float64]"
            )
        return output("Complex", left, right, name=scope, Tout=wide)


def _part(op_type: str) -> Unary:
    def function(input: Any, name: str | None = None) -> Tensor:
        tensor = as_tensor(input, name="input")
        if tensor.dtype is None or not tensor.dtype.is_complex:
            if op_type == "Real":
                if tensor.dtype is not None and not tensor.dtype.is_numeric:
                    raise TypeError(
                        "input must be a numeric tensor, but got tensor with dtype "
                        f"{tensor.dtype!r}"
                    )
                return tensor
            return output("ZerosLike", tensor, name=name)
        return output(op_type, tensor, name=name, Tout=tensor.dtype.real_dtype)

    doc = (
        f"The {'real' if op_type == 'Real' else 'imaginary'} part of complex numbers, as floats of "
        f"half their width; of real ones, {'the tensor itself' if op_type == 'Real' else 'zeros'}. "
        "Of any shape. Raises nothing for tensors."
    )
    return named(function, op_type.lower(), doc)


def round(x: Any, name: str | None = None) -> Tensor:
    """The nearest integers, of two as near the even one; integers are what they are. Raises
    `TypeError` for other dtypes than numbers."""
    number = as_tensor(x, name="x")
    if number.base_dtype is not None and number.base_dtype.is_integer:
        return number
    return output("Round", number, name=name)


real, imag = _part("Real"), _part("Imag")


def _to_real(op_type: str, tensor: Tensor, name: str | None) -> Tensor:
    dtype = tensor.dtype.real_dtype if tensor.dtype is not None else None
    return output(op_type, tensor, name=name, Tout=dtype)


def angle(input: Any, name: str | None = None) -> Tensor:
    """The argument in (-pi, pi] of complex numbers, as floats of half their width; of real numbers,
    0 or pi. Raises `TypeError` for other dtypes."""
    number = as_tensor(input, name="input")
    if number.base_dtype is None or number.base_dtype.is_complex:
        return _to_real("Angle", number, name)
    with name_scope(name, "Angle", [number]):
        halves = multiply(np.pi, output("OnesLike", number))
        return output("Select", output("Less", number, 0), halves, output("ZerosLike", number))


def complex_abs(x: Any, name: str | None = None) -> Tensor:
    """The absolute values of complex64 as float32, of complex128 as float64. Raises `TypeError` for
    real numbers."""
    return _to_real("ComplexAbs", as_tensor(x, name="x"), name)


def abs(x: Any, name: str | None = None) -> Tensor:
    """The absolute value in the dtype of `x`; of complex numbers as floats of half their width.
    Raises `TypeError` for other dtypes."""
    if hasattr(x, "with_flat_values"):
        return x.mapped(abs, [x], name)
    if hasattr(x, "with_values"):
        return of_values(x, abs, name)
    return absolute(as_tensor(x, name="x"), name)


def conj(x: Any, name: str | None = None) -> Tensor:
    """The complex conjugate; a tensor of real numbers is itself. Raises `TypeError` for others."""
    x = as_tensor(x, name="x")
    dtype = x.dtype
    if dtype is None or dtype.is_complex or dtype is dtypes.variant:
        return output("Conj", x, name=name or "Conj")
    if not (dtype.is_floating or dtype.is_integer):
        raise TypeError(f"Expected numeric or variant tensor, got dtype {dtype!r}")
    return x


def log_sigmoid(x: Any, name: str | None = None) -> Tensor:
    """log(sigmoid(x)) of floats, without overflow. Raises `TypeError` for other dtypes."""
    with name_scope(name, "LogSigmoid", [x]) as scope:
        return output("Neg", output("Softplus", output("Neg", as_tensor(x, name="x"))), name=scope)


def approximate_equal(x: Any, y: Any, tolerance: float = 1e-05, name: str | None = None) -> Tensor:
    """Whether `abs(x - y) < tolerance`, of float32 or float64 tensors of one shape. Raises
    `ValueError` where the shapes differ."""
    return output("ApproximateEqual", x, y, tolerance=tolerance, name=name)


def betainc(a: Any, b: Any, x: Any, name: str | None = None) -> Tensor:
    """The regularised incomplete beta function I_x(a, b), of float32 or float64 tensors of one
    shape, or scalars. Raises `TypeError` for other dtypes, `ValueError` for other shapes."""
    return output("Betainc", a, b, x, name=name)


def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None) -> Any:
    """`t` (a tensor, or `IndexedSlices`, whose values count) with its elements no less than the
    minimum and no more than the maximum: scalars, or tensors of its dtype that broadcast to its
    shape. Raises `ValueError` where they do not."""
    if hasattr(t, "with_flat_values"):
        found = clip_by_value(t.flat_values, clip_value_min, clip_value_max, name)
        return t.with_flat_values(found)
    with name_scope(name, "clip_by_value", [t]) as scope:
        tensor = as_tensor(t.values if isinstance(t, IndexedSlices) else t, name="t")
        low = output("Minimum", tensor, clip_value_max)
        tensor.shape.assert_is_compatible_with(low.shape)
        found = output("Maximum", low, clip_value_min, name=scope)
        tensor.shape.assert_is_compatible_with(found.shape)
        if isinstance(t, IndexedSlices):
            return IndexedSlices(found, t.indices, t.dense_shape)
        return found


def saturate_cast(value: Any, dtype: Any, name: str | None = None) -> Tensor:
    """`cast` that takes values beyond the dtype's range to its ends, in the shape of `value`.
    Raises as it does."""
    from flowc.api.framework.basics import cast

    wanted = dtypes.as_dtype(dtype)
    with name_scope(name, "saturate_cast", [value]) as scope:
        tensor = as_tensor(value, name="value")
        kind = tensor.base_dtype
        if kind in (dtypes.string, dtypes.bool_):
            raise TypeError(f"Cannot find minimum value of {tensor.dtype!r}.")
        assert kind is not None
        if kind.is_complex and wanted.is_complex:
            tensor = _clamped_parts(tensor, kind, wanted)
        elif kind.is_complex:
            tensor, kind = real(tensor), kind.real_dtype
        if kind.is_floating or kind.is_integer:
            low, high = _common_range(kind, wanted.real_dtype)
            tensor = output("ClipByValue", tensor, low, high, name="clamp")
        return cast(tensor, wanted, name=scope)


def _clamped_parts(tensor: Tensor, kind: DType, wanted: DType) -> Tensor:
    """Complex numbers of one dtype whose parts are in the range of another."""
    low, high = _common_range(kind.real_dtype, wanted.real_dtype)
    parts = [output("ClipByValue", part, low, high) for part in (real(tensor), imag(tensor))]
    return output("Complex", *parts, Tout=kind, name="clamp")


def _common_range(mine: DType, other: DType) -> tuple[Any, Any]:
    """The least and largest number of `mine` that `other` holds; next to its ends, towards zero,
    where these are no numbers of `mine`."""
    import numpy as np

    if mine.is_integer:
        return max(mine.min, int(float(other.min))), min(mine.max, int(float(other.max)))
    kind = mine.numpy.type
    low = kind(max(float(mine.min), float(other.min)))
    high = kind(min(float(mine.max), float(other.max)))
    if float(low) < float(other.min):
        low = np.nextafter(low, kind(0))
    if float(high) > float(other.max):  # 2^63 is not beyond 2^63 - 1 there, nor in TensorFlow
        high = np.nextafter(high, kind(0))
    return low, high
