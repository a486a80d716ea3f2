"""TensorMaps: EmptyTensorMap, TensorMapInsert, Lookup, Erase, HasKey, Size, StackKeys.

In: variants that hold a map, keys and values, which are tensors of any dtype and shape. Out:
variants that hold another map, values and keys. Invariant: a map is not changed; keys are equal
where their bytes are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flowc.dataclass import dataclass
from flowc.dtypes import DType, as_dtype
from flowc.errors import InvalidArgumentError
from flowc.ir.host_run import HostValue, held
from flowc.ir.inference import Inference
from flowc.ir.op import Attrs
from flowc.ir.text.shape_text import shown_dims
from flowc.ir.types import Dims
from flowc.ops.gradients import Forward, Gradient, GradientBuilder
from flowc.ops.lists.host_variants import (
    Shape,
    define_variant_step,
    held_in,
    kind_of,
    variant_of,
)
from flowc.ops.lists.list_values import dtype_shown
from flowc.ops.strings.printing import summarized

Array = np.ndarray[Any, Any]
Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True, eq=False)
class TensorMap:
    """Keys with values, by what makes keys equal."""

    items: dict[Key, tuple[Array, Array]]

    kind = "tensorflow::TensorMap"

    def zeros(self) -> TensorMap:
        return TensorMap({})

    def plus(self, other: TensorMap) -> TensorMap:
        """Values of the same key are added."""
        found = dict(self.items)
        for key, (array, value) in other.items.items():
            own = found.get(key)
            found[key] = (array, value if own is None else _added(own[1], value))
        return TensorMap(found)


def _added(one: Array, other: Array) -> Array:
    if one.dtype == object and other.dtype == object and not one.ndim:
        maps = [held_in(x[()], TensorMap) for x in (one, other)]
        if maps[0] is not None and maps[1] is not None:
            return variant_of(maps[0].plus(maps[1]))
    if one.dtype != other.dtype or one.shape != other.shape or one.dtype == object:
        raise InvalidArgumentError(
            f"values {shown_dims(one.shape)} and {shown_dims(other.shape)} of one key have no sum"
        )
    return np.asarray(one + other)


def _key(array: Array) -> Key:
    if array.dtype != object:
        return array.dtype.str, array.shape, array.tobytes()
    if any(isinstance(item, HostValue) for item in array.reshape(-1)):
        raise InvalidArgumentError("Key must not be a variant")
    return "", array.shape, tuple(array.reshape(-1))


def _map_of(given: Any) -> TensorMap:
    array = held(given)
    if array.ndim:
        raise InvalidArgumentError(f"Input map must be a scalar. Saw: {shown_dims(array.shape)}")
    found = held_in(array[()], TensorMap)
    if found is None:
        raise InvalidArgumentError(f"Input handle is not a map. Saw: '{kind_of(array[()])}'")
    return found


def _missing(verb: str, key: Array) -> InvalidArgumentError:
    shown = summarized(key, -1)
    return InvalidArgumentError(
        f"Trying to {verb} non-existent {'item' if verb == 'erase' else 'key'}. Could not find key "
        f'"{shown}".'
    )


# -- steps

_Types = Sequence[DType]


def _empty(inputs: Sequence[Any], _: _Types) -> list[Array]:
    return [variant_of(TensorMap({}))]


def _insert(inputs: Sequence[Any], _: _Types) -> list[Array]:
    found = _map_of(inputs[0])
    key, value = (held(x).copy() for x in inputs[1:])
    return [variant_of(TensorMap({**found.items, _key(key): (key, value)}))]


def _lookup(inputs: Sequence[Any], types: _Types) -> list[Array]:
    key = held(inputs[1])
    found = _map_of(inputs[0]).items.get(_key(key))
    if found is None:
        raise _missing("lookup", key)
    if found[1].dtype != types[0].numpy:
        shown = dtype_shown(as_dtype(found[1].dtype))
        raise InvalidArgumentError(
            f"the value is of dtype {shown}, and not of the requested {dtype_shown(types[0])}"
        )
    return [found[1].copy()]


def _erase(inputs: Sequence[Any], _: _Types) -> list[Array]:
    items, key = _map_of(inputs[0]).items, held(inputs[1])
    own = _key(key)
    if own not in items:
        raise _missing("erase", key)
    return [variant_of(TensorMap({k: item for k, item in items.items() if k != own}))]


def _has_key(inputs: Sequence[Any], _: _Types) -> list[Array]:
    return [np.array(_key(held(inputs[1])) in _map_of(inputs[0]).items)]


def _size(inputs: Sequence[Any], _: _Types) -> list[Array]:
    return [np.array(len(_map_of(inputs[0]).items), np.int32)]


def _stack_keys(inputs: Sequence[Any], types: _Types) -> list[Array]:
    keys = [key for key, _ in _map_of(inputs[0]).items.values()]
    if not keys:
        raise InvalidArgumentError("TensorMapStackKeys cannot be called on empty map.")
    if any(key.dtype != types[0].numpy for key in keys):
        raise InvalidArgumentError("Key does not match requested dtype.")
    if any(key.shape != keys[0].shape for key in keys):
        raise InvalidArgumentError("Keys must all have the same shape.")
    return [np.stack(keys)]


# -- gradients: of a map a map, which has the gradients of values that were read


def _insert_gradient(b: GradientBuilder, node: Forward, dmap: Any) -> Any:
    """What was put in has the gradient of its key; none where nobody read it."""
    _, key, value = node.inputs
    given = {"value_dtype": value.dtype}
    padded = b.tensor_map_insert(b.empty_tensor_map(), key, b.zeros_like(value))
    both = b.add_n(padded, dmap)
    dvalue = b.tensor_map_lookup(both, key, **given)
    return b.tensor_map_erase(both, key, **given), None, dvalue


def _lookup_gradient(b: GradientBuilder, node: Forward, dvalue: Any) -> Any:
    return b.tensor_map_insert(b.empty_tensor_map(), node.inputs[1], dvalue), None


def _erase_gradient(b: GradientBuilder, node: Forward, dmap: Any) -> Any:
    return dmap, None


# -- records


def _scalar(c: Inference) -> Dims:
    return ()


def _shape_of_value(attrs: Attrs) -> list[Shape | None]:
    return [None]


_KEY = "input_handle: variant, key: key_dtype"
_Step = Callable[[Sequence[Any], _Types], list[Array]]
_RECORDS: tuple[tuple[str, str, _Step, Gradient | None], ...] = (
    ("empty_tensor_map", "EmptyTensorMap() -> handle: variant", _empty, None),
    (
        "tensor_map_insert",
        f"TensorMapInsert({_KEY}, value: value_dtype; key_dtype: type, value_dtype: type)"
        " -> output_handle: variant",
        _insert,
        _insert_gradient,
    ),
    (
        "tensor_map_lookup",
        f"TensorMapLookup({_KEY}; key_dtype: type, value_dtype: type) -> value: value_dtype",
        _lookup,
        _lookup_gradient,
    ),
    (
        "tensor_map_erase",
        f"TensorMapErase({_KEY}; key_dtype: type, value_dtype: type) -> output_handle: variant",
        _erase,
        _erase_gradient,
    ),
    (
        "tensor_map_has_key",
        f"TensorMapHasKey({_KEY}; key_dtype: type) -> has_key: bool",
        _has_key,
        None,
    ),
    ("tensor_map_size", "TensorMapSize(input_handle: variant) -> size: i32", _size, None),
    (
        "tensor_map_stack_keys",
        "TensorMapStackKeys(input_handle: variant; key_dtype: type) -> keys: key_dtype",
        _stack_keys,
        None,
    ),
)
for _name, _tf, _step, _gradient in _RECORDS:
    _open = _shape_of_value if _step in (_lookup, _stack_keys) else None
    define_variant_step(
        _name, _tf, _step, _scalar, open_shapes=_open, gradient=_gradient, not_a="map"
    )
