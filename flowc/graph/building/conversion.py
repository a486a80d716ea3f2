"""Python and NumPy values -> tensors of the graph, by TensorFlow's rules.

In: numbers, strings, lists (of tensors too), arrays, shapes, dtypes. Out: NumPy arrays for
constants, and tensors. Invariant: Python floats become f32 and ints i32 unless a dtype is asked
for; what an array says of its dtype holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.graph.building.new_operation import add_operation, different_types
from flowc.graph.default import get_default_graph
from flowc.graph.operation import Operation
from flowc.graph.shape import Dimension, TensorShape
from flowc.graph.tensor import Tensor

_PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "bool": (bool, np.bool_),
    "int": (int, np.integer, Dimension),
    "uint": (int, np.integer, Dimension),
    "quantized": (int, np.integer),
    "float": (int, float, np.integer, np.floating),
    "narrow": (int, float, np.integer, np.floating),
    "complex": (int, float, complex, np.number),
    "string": (str, bytes, np.str_, np.bytes_),
}


def as_tensor(
    value: Any,
    dtype: DType | None = None,
    name: str | None = None,
    preferred: DType | None = None,
) -> Tensor:
    """`value` as a tensor: itself, or a new constant (or a Pack of tensors) named `name`.

    `dtype` must hold; `preferred` is taken where the value allows it. Raises `ValueError` for a
    tensor of another dtype and for values that are no tensors, `TypeError` for a value that the
    dtype does not hold.
    """
    dtype = None if dtype is None else dtype.base_dtype
    preferred = None if preferred is None else preferred.base_dtype
    if not isinstance(value, Tensor | Operation):
        if hasattr(value, "_as_tensor"):  # a variable
            value = value._as_tensor()
        elif hasattr(value, "_as_graph_element"):
            value = value._as_graph_element()
        elif _CONVERSIONS:
            value = _converted(value, dtype, name)
    if isinstance(value, Tensor):
        if dtype is not None and value.base_dtype is not dtype:
            raise ValueError(
                f"Tensor conversion requested dtype {dtype.name} for Tensor with dtype "
                f"{dtypes.name_of(value.dtype)}: {value!r}"
            )
        graph = get_default_graph()
        return value if value.graph is graph else graph.capture(value)
    if isinstance(value, Operation):
        raise TypeError(f"Can't convert Operation '{value.name}' to Tensor (it has no value)")
    if isinstance(value, list | tuple):
        value = _with_leaves_converted(value)
    if isinstance(value, list | tuple) and any(isinstance(v, Tensor) for v in _leaves(value)):
        return _packed(value, dtype, name or "packed")
    if isinstance(value, TensorShape):
        name = name or "shape_as_tensor"
        if dtype not in (None, dtypes.i32, dtypes.i64):
            raise TypeError(
                f"Cannot convert TensorShape {value} to dtype {dtype.name}. Allowed dtypes are "
                "int32 and int64."
            )
    if dtype is None and preferred is not None:
        try:
            return constant_tensor(constant_array(value, preferred), name or "Const")
        except (TypeError, ValueError):
            pass
    return constant_tensor(constant_array(value, dtype), name or "Const")


Conversion = Callable[..., Any]

_CONVERSIONS: dict[int, list[tuple[tuple[type, ...], Conversion]]] = {}  # by priority
_NO_OWN = (int, float, complex, str, bytes, bool, list, tuple, np.ndarray, np.generic)


def register_tensor_conversion_function(
    base_type: Any, conversion_func: Conversion, priority: int = 100
) -> None:
    """Lets values of `base_type`, a type or a tuple of types, stand for tensors.

    `conversion_func(value, dtype=, name=, as_ref=False)` makes a tensor of the dtype (None: its
    own), or gives `NotImplemented`, so that the next function is asked: those of lower `priority`
    first, then those that were registered first. Raises `TypeError` for what is no type or no
    function and for types that have a conversion: numbers, strings, lists, arrays.
    """
    types = base_type if isinstance(base_type, tuple) else (base_type,)
    if not types or not all(isinstance(t, type) for t in types):
        raise TypeError(f"base_type must be a type or a tuple of types. Received: {base_type!r}")
    if any(issubclass(t, _NO_OWN) and t in _NO_OWN for t in types):
        raise TypeError(
            "Cannot register conversions for Python numeric types and NumPy scalars and arrays."
        )
    if not callable(conversion_func):
        raise TypeError(f"conversion_func must be callable. Received: {conversion_func!r}")
    _CONVERSIONS.setdefault(priority, []).append((types, conversion_func))


def _converted(value: Any, dtype: DType | None, name: str | None) -> Any:
    """What a registered function makes of the value, or the value. Raises `RuntimeError` where that
    is no tensor or has another dtype."""
    for priority in sorted(_CONVERSIONS):
        for types, function in _CONVERSIONS[priority]:
            if not isinstance(value, types):
                continue
            found = function(value, dtype=dtype, name=name, as_ref=False)
            if found is NotImplemented:
                continue
            if not isinstance(found, Tensor):
                raise RuntimeError(
                    f"Error converting {value!r}: Conversion function {function!r} for type "
                    f"{types} returned non-Tensor: {found!r}"
                )
            if dtype is not None and found.base_dtype is not dtype:
                raise RuntimeError(
                    f"Error converting {value!r}: Conversion function {function!r} for type "
                    f"{types} returned incompatible dtype: requested = {dtype.name}, actual = "
                    f"{dtypes.name_of(found.dtype)}"
                )
            return found
    return value


def _with_leaves_converted(values: Any) -> Any:
    """Nested lists, with variables read and tensors for what a registered function converts."""
    if any(_converts(v) for v in _leaves(values)):
        return [
            _with_leaves_converted(v)
            if isinstance(v, list | tuple)
            else (as_tensor(v) if _converts(v) else v)
            for v in values
        ]
    return values


def _converts(value: Any) -> bool:
    registered = (types for pairs in _CONVERSIONS.values() for types, _ in pairs)
    return hasattr(value, "_as_tensor") or any(isinstance(value, t) for t in registered)


def _leaves(values: Any) -> Iterator[Any]:
    stack = [values]
    while stack:
        item = stack.pop()
        if isinstance(item, list | tuple):
            stack.extend(item)
        else:
            yield item


def _packed(values: Any, dtype: DType | None, name: str) -> Tensor:
    """A list that holds tensors: its elements, made tensors of one dtype, packed."""
    found = dtype
    for leaf in _leaves(values):
        if found is None and isinstance(leaf, Tensor):
            found = leaf.base_dtype
    graph = get_default_graph()
    with graph.name_scope(name) as scope:
        parts = []
        for i, value in enumerate(values):
            if isinstance(value, Tensor):
                parts.append(value)
            elif isinstance(value, list | tuple) and any(
                isinstance(v, Tensor) for v in _leaves(value)
            ):
                parts.append(_packed(value, found, str(i)))
            else:
                parts.append(constant_tensor(constant_array(value, found), str(i)))
        if any(part.base_dtype is not parts[0].base_dtype for part in parts):
            names = [dtypes.name_of(part.base_dtype) for part in parts]
            raise different_types("values", "Pack", names)
        attrs = {"N": len(parts), "T": parts[0].base_dtype, "axis": 0}
        return add_operation("Pack", parts, attrs, scope).outputs[0]


def constant_tensor(array: np.ndarray, name: str, dtype: DType | None = None) -> Tensor:
    """A Const operation of the default graph."""
    dtype = dtypes.as_dtype(array.dtype if dtype is None else dtype)
    attrs = {"dtype": dtype, "value": array}
    types = [(dtype, array.shape)]
    op = get_default_graph().add_operation("Const", (), attrs, name, output_types=types)
    return op.outputs[0]


def constant_array(value: Any, dtype: DType | None = None, shape: Any = None) -> np.ndarray:
    """`value` as a read-only array of `dtype` (TensorFlow's choice, if None); a `shape` is filled
    with the last element. Raises `TypeError` for values of another kind, `ValueError` for lists
    that are no array and for too many elements."""
    array = _array(_plain(value), None if dtype is None else dtype.base_dtype)
    if shape is not None:
        wanted = TensorShape(shape)
        if wanted.num_elements() == 0 and not isinstance(value, np.ndarray):
            array = array.reshape(-1)[:0]  # a number may stand for no elements, too
        array = _filled(array, wanted)
    if array.flags.writeable:
        array = array.copy() if isinstance(value, np.ndarray) else array
        array.flags.writeable = False
    return array


def _plain(value: Any) -> Any:
    if value is None:
        raise ValueError("None values not supported.")
    if isinstance(value, TensorShape):
        if not value.is_fully_defined():
            raise ValueError(f"Cannot convert a partially known TensorShape {value} to a Tensor.")
        return np.array(value.as_list(), dtype=_fits_i32(value.as_list()))
    if isinstance(value, Dimension):
        size = _plain_dimension(value)
        return np.array(size, dtype=_fits_i32([size]))
    if isinstance(value, list | tuple) and any(isinstance(v, Dimension) for v in _leaves(value)):
        return type(value)(_plain_dimension(v) for v in value)
    if isinstance(value, Mapping | Set):
        raise TypeError(
            f"Failed to convert elements of {value!r} to Tensor. Consider casting elements to a "
            "supported type."
        )
    if isinstance(value, Iterable) and not isinstance(value, list | tuple | str | bytes):
        return value if hasattr(value, "__array__") else list(value)
    return value


def _plain_dimension(value: Any) -> Any:
    if isinstance(value, Dimension):
        if value.value is None:
            raise ValueError("Cannot convert an unknown Dimension to a Tensor.")
        return value.value
    return value


def _fits_i32(sizes: Iterable[Any]) -> type:
    return np.int64 if any(s > 2**31 - 1 for s in sizes) else np.int32


def _array(value: Any, dtype: DType | None) -> np.ndarray:
    if isinstance(value, np.ndarray | np.generic) or hasattr(value, "__array__"):
        array = np.asarray(value)
        if dtype is not None and dtype.kind != "string" and array.dtype.kind not in "SUO":
            return array.astype(dtype.numpy)
        return _bytes_array(array) if array.dtype.kind in "SUO" else _known(array)
    if dtype is not None:
        _check_leaves(value, dtype)
    try:
        if dtype is not None and dtype.kind == "string":
            return _bytes_array(np.array(value, dtype=object))
        array = np.array(value, dtype=None if dtype is None else dtype.numpy)
    except ValueError as error:
        raise ValueError(
            f"Can't convert non-rectangular Python sequence to Tensor. ({error})"
        ) from None
    except OverflowError:
        array = _wrapped(value, dtype)
    _check_nesting(array, value)
    return array if dtype is not None else _narrowed(array, value)


def _check_nesting(array: np.ndarray, value: Any) -> None:
    """Raises `ValueError` where the elements of a list are arrays: only lists have axes."""
    nested: list[int] = []
    inner = value
    while isinstance(inner, list | tuple):
        nested.append(len(inner))
        inner = inner[0] if inner else None
    if array.ndim > len(nested):
        raise ValueError(
            f"Expected values {value!r} to be a dense tensor with shape {nested}, but got shape "
            f"{list(array.shape)}. Pack arrays with np.stack or tf.stack."
        )


def _wrapped(value: Any, dtype: DType | None) -> np.ndarray:
    """Integers that are too large for `dtype`, cut to its bits as TensorFlow does. Raises
    `TypeError` for those of more than 64 bits."""
    array = np.array(value, dtype=object)
    fits = all(-(2**63) <= leaf < 2**64 for leaf in array.reshape(-1))
    if dtype is None or dtype.kind not in ("int", "uint") or not fits:
        raise TypeError(f"{value!r} does not fit into {dtype.name if dtype else None}")
    return np.asarray(array % 2**64, dtype=np.uint64).astype(dtype.numpy)


def _check_leaves(value: Any, dtype: DType) -> None:
    """Raises `TypeError` for Python values that are not of the dtype's kind; truth values count as
    0 and 1, as TensorFlow 2 takes them."""
    allowed = _PYTHON_TYPES.get(dtype.kind)
    for leaf in _leaves(value):
        if allowed is not None and not isinstance(leaf, (*allowed, np.ndarray)):
            raise TypeError(
                f"Expected {dtype.name}, but got {leaf!r} of type '{type(leaf).__name__}'."
            )


def _narrowed(array: np.ndarray, value: Any) -> np.ndarray:
    """The dtype that TensorFlow gives Python numbers: f32, and i32 where the numbers fit."""
    if array.dtype == np.float64:
        return array.astype(np.float32)
    if array.dtype == np.int64:
        small = array.astype(np.int32)
        return small if np.array_equal(small, array) else array
    if array.dtype.kind in "SU":
        return _bytes_array(np.array(value, dtype=object))
    if array.dtype.kind == "O":
        _check_strings(array, value)
        return _bytes_array(array)
    return array


def _check_strings(array: np.ndarray, value: Any) -> None:
    bad = next((x for x in array.reshape(-1) if not isinstance(x, str | bytes)), None)
    if bad is not None or array.size == 0:
        raise TypeError(
            f"Failed to convert elements of {value!r} to Tensor. Consider casting elements to a "
            "supported type."
        )


def _known(array: np.ndarray) -> np.ndarray:
    dtypes.as_dtype(array.dtype)
    return array


def _bytes_array(array: np.ndarray) -> np.ndarray:
    """Strings as TensorFlow holds them: objects, each of bytes."""
    found = np.empty(array.shape, dtype=object)
    for index in np.ndindex(array.shape):
        item = array[index]
        if not isinstance(item, str | bytes):
            raise TypeError(f"Expected string, but got {item!r} of type '{type(item).__name__}'.")
        found[index] = item.encode() if isinstance(item, str) else bytes(item)
    return found


def _filled(array: np.ndarray, shape: TensorShape) -> np.ndarray:
    sizes = tuple(size for size in shape.as_list() if size is not None)
    count = shape.num_elements()
    if count is None:
        raise ValueError(f"A constant needs a complete shape, found {shape}")
    if array.size == count:
        return array.reshape(sizes)
    if array.size > count:
        raise ValueError(
            f"Too many elements provided. Takes at most {count:d}, but got {array.size:d}"
        )
    if not array.size:  # TensorFlow fills with what an empty message stands for
        return np.full(sizes, b"" if array.dtype.hasobject else 0, array.dtype)
    if array.size == 1:
        return np.broadcast_to(array.reshape(()), sizes)  # written as one element
    flat = np.full(count, array.reshape(-1)[-1], dtype=array.dtype)
    flat[: array.size] = array.reshape(-1)
    return flat.reshape(sizes)
