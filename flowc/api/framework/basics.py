"""Constants, placeholders, identities and dtypes, as TensorFlow's functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from flowc import dtypes
from flowc.api.framework.raw_ops import call, named
from flowc.api.framework.scopes import name_scope
from flowc.dtypes import DType
from flowc.graph import Tensor, TensorShape
from flowc.graph.building.conversion import as_tensor, constant_array, constant_tensor
from flowc.graph.building.creation import output
from flowc.graph.indexed_slices import IndexedSlices


def constant(
    value: Any,
    dtype: Any = None,
    shape: Any = None,
    name: str = "Const",
    verify_shape: bool = False,
) -> Tensor:
    """A tensor that always holds `value`: a number, text, a nested list of one kind, an array. The
    dtype is that of the value, of Python's numbers int32 and float32; a `shape` with more elements
    repeats the last one.

    Raises `TypeError` where the value has a tensor in it, does not fit the dtype, or with
    `verify_shape` another shape, and `ValueError` for ragged lists and too many elements."""
    if any(isinstance(part, Tensor) for part in _parts(value)):
        raise TypeError(
            f"Expected any non-tensor type, but got a tensor instead: {value!r}. A run gives the "
            "values of tensors: join them with `stack` or `concat`"
        )
    wanted = None if dtype is None else dtypes.as_dtype(dtype)
    if verify_shape and shape is not None:
        found = constant_array(value, wanted)
        if found.shape != tuple(TensorShape(shape).as_list()):
            raise TypeError(
                f"Expected Tensor's shape: {tuple(TensorShape(shape).as_list())}, got "
                f"{found.shape}."
            )
    return constant_tensor(constant_array(value, wanted, shape), name, wanted)


def _parts(value: Any) -> Iterator[Any]:
    """The leaves of nested lists."""
    if isinstance(value, list | tuple):
        for part in value:
            yield from _parts(part)
    else:
        yield value


def convert_to_tensor(
    value: Any,
    dtype: Any = None,
    name: str | None = None,
    preferred_dtype: Any = None,
    dtype_hint: Any = None,
) -> Tensor:
    """`value` (a tensor, a variable, a number, a nested list, an array) as a tensor of `dtype`; of
    `preferred_dtype`, where that can be. Raises `ValueError` for a tensor of another dtype and for
    None, `TypeError` for values that do not fit the dtype."""
    preferred = dtype_hint if dtype_hint is not None else preferred_dtype
    return as_tensor(
        value,
        None if dtype is None else dtypes.as_dtype(dtype),
        name,
        None if preferred is None else dtypes.as_dtype(preferred),
    )


def convert_to_tensor_or_indexed_slices(
    value: Any, dtype: Any = None, name: str | None = None
) -> Tensor | IndexedSlices:
    """`value` as it is where it is an `IndexedSlices`, and otherwise as a tensor. Raises
    `ValueError` for another dtype than `dtype`, and as `convert_to_tensor` does."""
    if isinstance(value, IndexedSlices):
        if dtype is not None and value.dtype is not dtypes.as_dtype(dtype):
            raise ValueError(
                f"Incompatible tensor conversion requested to `dtype` "
                f"{dtypes.as_dtype(dtype).name} for `value` ({value}) with dtype "
                f"{dtypes.name_of(value.dtype)}."
            )
        return value
    return convert_to_tensor(value, dtype, name)


def placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> Tensor:
    """A tensor that every run must feed with values of `dtype`, or the run raises
    `InvalidArgumentError`. `shape`: sizes, None for those that differ between runs; None for any
    shape. Raises `TypeError` for what is no dtype."""
    return output("Placeholder", name=name, dtype=dtype, shape=shape)


def placeholder_with_default(input: Any, shape: Any, name: str | None = None) -> Tensor:
    """A tensor that a run may feed; where it does not, it is `input`. `shape`: sizes, None for
    those that may differ between runs. Of any dtype. Raises `ValueError` where the default does not
    have that shape."""
    return output("PlaceholderWithDefault", input, name=name, shape=TensorShape(shape).sizes)


def identity(input: Any, name: str | None = None) -> Tensor:
    """`input` again, as an operation of its own: of any dtype and shape. A `SparseTensor` or
    `IndexedSlices` gets one for each of its tensors, without `name`. Raises `TypeError` and
    `ValueError` for what is no tensor and cannot be made one."""
    if hasattr(input, "with_components"):
        return input.with_components([output("Identity", part) for part in input.components()])
    return output("Identity", input, name=name)


def identity_n(input: Sequence[Any], name: str | None = None) -> list[Tensor]:
    """Tensors again, of any dtypes and shapes, as the outputs of one operation. Raises nothing for
    tensors."""
    return call("IdentityN", list(input), name=name)


def stop_gradient(input: Any, name: str | None = None) -> Tensor:
    """`input` again, which gradients take for a constant. Of any dtype and shape, or a sparse or
    ragged one, each of whose tensors is stopped. Raises nothing for tensors."""
    if hasattr(input, "with_components"):
        return input.with_components([stop_gradient(part, name) for part in input.components()])
    return output("StopGradient", input, name=name)


def check_numerics(tensor: Any, message: str, name: str | None = None) -> Tensor:
    """`tensor` again, of floats; a run raises `InvalidArgumentError` with `message` where it has an
    Inf or NaN. Raises `TypeError` for other dtypes."""
    return output("CheckNumerics", tensor, name=name, message=message)


def ensure_shape(x: Any, shape: Any, name: str | None = None) -> Tensor:
    """`x` again, of the static shape that it and `shape` (with None for any size) make together.
    Raises `ValueError` where they contradict each other; a run raises `InvalidArgumentError`."""
    return output("EnsureShape", x, name=name, shape=TensorShape(shape).sizes)


def cast(x: Any, dtype: Any, name: str | None = None) -> Tensor:
    """The elements in another dtype, of a `SparseTensor` or `IndexedSlices` too: floats become
    integers by cutting off, numbers bools by being other than 0. Raises `TypeError` to and from
    strings."""
    wanted: DType = dtypes.as_dtype(dtype)
    replaced = _with_other_values(x)
    if replaced is not None:
        return x if x.dtype is wanted else replaced(cast(x.values, wanted, name))
    if isinstance(x, Tensor) and x.dtype is wanted:
        return x
    with name_scope(name, "Cast", [x]) as scope:
        tensor = as_tensor(x, name="x")
        if tensor.dtype is wanted:
            return tensor
        if wanted.kind == "string" or tensor.base_dtype is dtypes.string:
            found = dtypes.name_of(tensor.dtype)
            raise TypeError(f"Cast {found} to {wanted.name} is not supported")
        return output("Cast", tensor, name=scope, DstT=wanted)


def _with_other_values(x: Any) -> Callable[[Tensor], Any] | None:
    """What makes the like of a composite `x` of other values."""
    return x.with_rows if isinstance(x, IndexedSlices) else getattr(x, "with_values", None)


def _cast_to(dtype: DType, function_name: str, default: str) -> Callable[..., Tensor]:
    def function(x: Any, name: str = default) -> Tensor:
        return cast(x, dtype, name)

    doc = f"`x` as {dtype.name}, by `cast`. Raises `TypeError` for strings."
    return named(function, function_name, doc)


to_float = _cast_to(dtypes.f32, "to_float", "ToFloat")
to_double = _cast_to(dtypes.f64, "to_double", "ToDouble")
to_int32 = _cast_to(dtypes.i32, "to_int32", "ToInt32")
to_int64 = _cast_to(dtypes.i64, "to_int64", "ToInt64")
to_bfloat16 = _cast_to(dtypes.bf16, "to_bfloat16", "ToBFloat16")
to_complex64 = _cast_to(dtypes.c64, "to_complex64", "ToComplex64")
to_complex128 = _cast_to(dtypes.c128, "to_complex128", "ToComplex128")


def bitcast(input: Any, type: Any, name: str | None = None) -> Tensor:
    """The same bytes as another dtype of numbers, `type`. To a smaller one there is a new last
    axis, to a larger one the last axis goes. Raises `ValueError` where that does not have the right
    size, `TypeError` for strings and bools."""
    return output("Bitcast", input, name=name, type=dtypes.as_dtype(type))
