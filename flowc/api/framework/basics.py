"""Constants, placeholders, identities and dtypes, as TensorFlow's functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flowc import dtypes
from flowc.api.framework.raw_ops import call, named
from flowc.api.framework.scopes import name_scope
from flowc.dtypes import DType
from flowc.graph import Tensor, TensorShape
from flowc.graph.building.conversion import as_tensor, constant_array, constant_tensor
from flowc.graph.building.creation import output


def constant(
    value: Any,
    dtype: Any = None,
    shape: Any = None,
    name: str = "Const",
    verify_shape: bool = False,
) -> Tensor:
    """A tensor that always holds `value`; a `shape` with more elements repeats the last one.

    Raises `TypeError` where the value has a tensor in it, does not fit the dtype, or with
    `verify_shape` another shape."""
    if isinstance(value, Tensor):
        raise TypeError(f"List of Tensors when single Tensor expected: {value!r}")
    wanted = None if dtype is None else dtypes.as_dtype(dtype)
    if verify_shape and shape is not None:
        found = constant_array(value, wanted)
        if found.shape != tuple(TensorShape(shape).as_list()):
            raise TypeError(
                f"Expected Tensor's shape: {tuple(TensorShape(shape).as_list())}, got "
                f"{found.shape}."
            )
    return constant_tensor(constant_array(value, wanted, shape), name, wanted)


def convert_to_tensor(
    value: Any,
    dtype: Any = None,
    name: str | None = None,
    preferred_dtype: Any = None,
    dtype_hint: Any = None,
) -> Tensor:
    """`value` as a tensor. Raises `ValueError` for a tensor of another dtype and for None."""
    preferred = dtype_hint if dtype_hint is not None else preferred_dtype
    return as_tensor(
        value,
        None if dtype is None else dtypes.as_dtype(dtype),
        name,
        None if preferred is None else dtypes.as_dtype(preferred),
    )


def placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> Tensor:
    """A tensor that every run must feed. Sizes that differ between runs are None in `shape`."""
    return output("Placeholder", name=name, dtype=dtype, shape=shape)


def placeholder_with_default(input: Any, shape: Any, name: str | None = None) -> Tensor:
    """A tensor that a run may feed; where it does not, it is `input`."""
    return output("PlaceholderWithDefault", input, name=name, shape=TensorShape(shape).sizes)


def identity(input: Any, name: str | None = None) -> Tensor:
    return output("Identity", input, name=name)


def identity_n(input: Sequence[Any], name: str | None = None) -> list[Tensor]:
    return call("IdentityN", list(input), name=name)


def stop_gradient(input: Any, name: str | None = None) -> Tensor:
    return output("StopGradient", input, name=name)


def prevent_gradient(input: Any, message: str = "", name: str | None = None) -> Tensor:
    return output("PreventGradient", input, name=name, message=message)


def check_numerics(tensor: Any, message: str, name: str | None = None) -> Tensor:
    return output("CheckNumerics", tensor, name=name, message=message)


def ensure_shape(x: Any, shape: Any, name: str | None = None) -> Tensor:
    return output("EnsureShape", x, name=name, shape=TensorShape(shape).sizes)


def cast(x: Any, dtype: Any, name: str | None = None) -> Tensor:
    """The elements in another dtype, of a `SparseTensor` too. Raises `TypeError` for dtypes that do
    not convert."""
    wanted: DType = dtypes.as_dtype(dtype)
    if hasattr(x, "with_values"):
        return x if x.dtype is wanted else x.with_values(cast(x.values, wanted, name))
    if isinstance(x, Tensor) and x.dtype is wanted:
        return x
    with name_scope(name, "Cast", [x]) as scope:
        tensor = as_tensor(x, name="x")
        if tensor.dtype is wanted:
            return tensor
        if wanted.kind == "string" or tensor.dtype is dtypes.string:
            found = dtypes.name_of(tensor.dtype)
            raise TypeError(f"Cast {found} to {wanted.name} is not supported")
        return output("Cast", tensor, name=scope, DstT=wanted)


def _cast_to(dtype: DType, function_name: str, default: str) -> Callable[..., Tensor]:
    def function(x: Any, name: str = default) -> Tensor:
        return cast(x, dtype, name)

    return named(function, function_name)


to_float = _cast_to(dtypes.f32, "to_float", "ToFloat")
to_double = _cast_to(dtypes.f64, "to_double", "ToDouble")
to_int32 = _cast_to(dtypes.i32, "to_int32", "ToInt32")
to_int64 = _cast_to(dtypes.i64, "to_int64", "ToInt64")
to_bfloat16 = _cast_to(dtypes.bf16, "to_bfloat16", "ToBFloat16")
to_complex64 = _cast_to(dtypes.c64, "to_complex64", "ToComplex64")
to_complex128 = _cast_to(dtypes.c128, "to_complex128", "ToComplex128")


def bitcast(input: Any, type: Any, name: str | None = None) -> Tensor:
    return output("Bitcast", input, name=name, type=dtypes.as_dtype(type))
