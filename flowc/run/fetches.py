"""What a caller of a Session names and gives: structures of fetches, arrays for feeds.

In: tensors, operations and names, nested as TensorFlow takes them; values of any kind. Out: each
tensor and operation once, a way to put results back in place; arrays of the tensors' dtypes. Raises
what TensorFlow raises, with its words.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.errors import did_you_mean
from flowc.graph import Graph, Operation, Tensor
from flowc.graph.shape import sizes_text
from flowc.run.device_buffers import DeviceArray, found_on_gpu, is_on_gpu
from flowc_runtime.element_types import check_range

MOST_ELEMENTS = 64  # of a feed that may be a constant

Rebuild = Callable[[Sequence[Any]], Any]


class Fetches:
    """A structure of fetches: its tensors and operations once each; `rebuild` puts results back."""

    def __init__(self, graph: Graph, structure: Any) -> None:
        self.graph = graph
        self.tensors: dict[Tensor, int] = {}
        self.operations: dict[Operation, None] = {}
        self.rebuild = self._map(structure)

    def _map(self, item: Any) -> Rebuild:
        if isinstance(item, Mapping):
            inner = {k: self._map(v) for k, v in item.items()}
            kind: Any = type(item)
            if isinstance(item, defaultdict):
                kind = partial(kind, item.default_factory)
            return lambda values: kind((k, f(values)) for k, f in inner.items())
        if isinstance(item, (list, tuple)):
            parts = [self._map(v) for v in item]
            if hasattr(item, "_fields"):
                named: Any = type(item)
                return lambda values: named(*[f(values) for f in parts])
            sequence: Any = type(item)
            return lambda values: sequence([f(values) for f in parts])
        if hasattr(item, "components"):  # made of several tensors, as a SparseTensor
            pieces = [self._map(c) for c in item.components()]
            value_type: Any = item.value_type
            return lambda values: value_type(*[f(values) for f in pieces])
        element = self._element(item)
        if isinstance(element, Operation):
            self.operations[element] = None
            return lambda values: None
        position = self.tensors.setdefault(element, len(self.tensors))
        return lambda values: values[position]

    def _element(self, item: Any) -> Tensor | Operation:
        if item is None or isinstance(item, (bool, int, float, np.ndarray)):
            raise TypeError(
                f"Fetch argument {item!r} has invalid type {type(item).__name__!r}, must be a "
                "string or Tensor. (Can not convert a "
                f"{type(item).__name__} into a Tensor or Operation.)"
            )
        found = as_element(self.graph, item, "Fetch")
        op = found.op if isinstance(found, Tensor) else found
        if not self.graph.is_fetchable(op):
            raise ValueError(
                f"Operation {op.name!r} has been marked as not fetchable: it is inside a loop or a "
                "branch, where it has a value in each iteration or none. Fetch what the loop or "
                "the conditional returns."
            )
        return found


def make_nameable(graph: Graph, item: Any) -> None:
    """Has the graph know the name `item` where it is one in functions that the graph calls."""
    if isinstance(item, str) and "/" in item and item.partition(":")[0] not in graph:
        from flowc.extract.expand_calls import expand_calls_to  # late: loads the op records

        expand_calls_to(graph, item)


def as_element(graph: Graph, item: Any, role: str) -> Tensor | Operation:
    """The tensor or operation meant by a name or object. Raises as TensorFlow does: `ValueError`
    for unknown names and other graphs, `TypeError` for other types."""
    try:
        make_nameable(graph, item)
        found = graph.as_graph_element(item, allow_tensor=True, allow_operation=True)
    except KeyError as error:
        near = near_tensors(graph, str(item))
        hint = f" ({near})" if near else ""
        raise ValueError(
            f"{role} argument {item!r} cannot be interpreted as a Tensor. ({error.args[0]}){hint}"
        ) from None
    except ValueError as error:
        raise ValueError(
            f"{role} argument {item!r} cannot be interpreted as a Tensor. ({error})"
        ) from None
    except TypeError as error:
        raise TypeError(
            f"{role} argument {item!r} has invalid type {type(item).__name__!r}, must be a string "
            f"or Tensor. ({error})"
        ) from None
    return found


def near_tensors(graph: Graph, name: str) -> str | None:
    """`did you mean 'ids:0'?` for the name of a tensor or operation that is not there; what it
    stands for where a signature has the name."""
    for signature, ports in graph.signatures.items():
        for side, infos in (("input", ports.inputs), ("output", ports.outputs)):
            if name in infos and infos[name].name:
                return f"the {side} {name!r} of the signature {signature} is {infos[name].name!r}"
    typed, colon, index = name.partition(":")
    asked = int(index) if colon and index.isdigit() else 0

    def shown(op: Operation) -> str:
        """The output that was asked for, or the first one where there is none such."""
        count = len(op.outputs)
        return op.name + (f":{asked if asked < count else 0}" if count else "")

    return did_you_mean(f"{typed}:{asked}", map(shown, graph.get_operations()))


def only(values: Sequence[Any]) -> Any:
    return values[0]


def feed_array(tensor: Tensor, value: Any) -> np.ndarray:
    """A value as an array that may be fed. Raises as `feed_value` and `check_feed_shape`."""
    array = feed_value(tensor, value)
    check_feed_shape(tensor, array)
    return array


def flat_feeds(feeds: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
    """(key, value) of each tensor that is fed, where keys may be structures of tensors, such as the
    state of a recurrent network, and their values structures of as many leaves. Raises `ValueError`
    for another number of values, and for a tensor that is fed twice."""
    found: list[tuple[Any, Any]] = []
    for key, value in feeds.items():
        if not isinstance(key, tuple):
            found.append((key, value))
            continue
        keys, values = _leaves(key), _leaves(value)
        if len(keys) != len(values):
            raise ValueError(
                f"Could not flatten dictionary. Key had {len(keys)} elements, but value had "
                f"{len(values)} elements. Key: {keys}, value: {values}."
            )
        found += zip(keys, values)
    met: set[Any] = set()
    for key, _ in found:
        if key in met:
            raise ValueError(f"Cannot flatten dict because this key is not unique: {key}")
        met.add(key)
    return found


def fed_parts(key: Any, value: Any) -> dict[Any, Any]:
    """The tensors of which `key` is made, such as a SparseTensor, with the parts of `value` for
    them. Raises `ValueError` for another number of parts, `TypeError` for a value without any."""
    tensors = key.components()
    names = ", ".join(getattr(t, "name", str(t)) for t in tensors)
    wanted = f"a {type(key).__name__} takes a {key.value_type.__name__}: values for {names}"
    if not hasattr(value, "__iter__") and not hasattr(value, "row_splits"):
        raise TypeError(f"Cannot feed {value!r}: {wanted}")
    parts = [value.values, value.row_splits] if hasattr(value, "row_splits") else list(value)
    if len(parts) != len(tensors):
        raise ValueError(f"Cannot feed a value of {len(parts)} parts: {wanted}")
    return dict(zip(tensors, parts))


def _leaves(structure: Any) -> list[Any]:
    """What lies in lists, tuples and dicts, these by their sorted keys."""
    if isinstance(structure, Mapping):
        structure = [structure[k] for k in sorted(structure)]
    if not isinstance(structure, list | tuple):
        return [structure]
    return [leaf for part in structure for leaf in _leaves(part)]


def feed_value(tensor: Tensor, value: Any) -> np.ndarray:
    """A value, maybe an array of another library on a GPU, as an array of a tensor's dtype. Raises
    `TypeError` for a Tensor, and that, `ValueError` or `OverflowError`, as NumPy does, for a value
    that does not convert."""
    dtype = tensor.base_dtype
    if type(value) is np.ndarray and dtype is not None and value.dtype == dtype.numpy:
        return value
    if isinstance(value, (Tensor, Operation)):
        raise TypeError(
            "The value of a feed cannot be a tf.Tensor object. Acceptable feed values include "
            "Python scalars, strings, lists, numpy ndarrays. For reference, the tensor object was "
            f"{value} which was passed to the argument `feed_dict` with key {tensor}."
        )
    if is_on_gpu(value):
        value = found_on_gpu(value).numpy()
    if isinstance(value, np.ndarray) and dtype is not None and dtype.is_integer:
        try:
            check_range(value, dtype.numpy)
        except TypeError as error:
            raise TypeError(
                f"The array that is fed to {tensor.name} is not compatible with Tensor type "
                f"{dtype.name}: {error}"
            ) from None
    if isinstance(value, int) and dtype is not None and dtype.is_integer:
        limits = np.iinfo(dtype.numpy)
        if not limits.min <= value <= limits.max:
            raise TypeError(
                f"Type of feed value {value} with type {type(value)} is not compatible with Tensor "
                f"type {dtype.name}. Try explicitly setting the type of the feed tensor to a "
                "larger type (e.g. int64)."
            )
    try:
        array = np.asarray(value, dtype=None if dtype is None else dtype.numpy)
    except (OverflowError, TypeError, ValueError) as error:
        kind = next(k for k in (OverflowError, TypeError, ValueError) if isinstance(error, k))
        wanted = "an array" if dtype is None else f"an array of {dtype.name}"
        raise kind(f"The value that is fed to {tensor.name} is not {wanted}: {error}") from error
    if dtype is dtypes.bool_ or dtype is dtypes.string:
        _check_kind(tensor, value, array)
    return array


def _check_kind(tensor: Tensor, value: Any, array: np.ndarray) -> None:
    """Raises `TypeError` where NumPy would make a truth value of any number, or keep anything as
    an object beside strings."""
    if array.dtype.hasobject:
        bad = next((v for v in array.reshape(-1).tolist() if not isinstance(v, str | bytes)), "")
    else:
        bad = value if isinstance(value, int) and value not in (0, 1) else ""
    if bad != "":
        raise TypeError(
            f"Type of feed value {bad!r} with type {type(bad)} is not compatible with Tensor type "
            f"{dtypes.name_of(tensor.base_dtype)} of {tensor.name}."
        )


def device_feed(tensor: Tensor, value: Any) -> np.ndarray | DeviceArray:
    """`feed_value`, which leaves an array of the tensor's dtype on the GPU that it is on. Small
    integers are brought: their values may decide what a program is."""
    if not is_on_gpu(value):
        return feed_value(tensor, value)
    found = found_on_gpu(value)
    is_data = found.dtype.kind not in "iub" or found.size > MOST_ELEMENTS
    is_taken = tensor.base_dtype is not None and found.dtype == tensor.base_dtype.numpy
    return found if is_data and is_taken else feed_value(tensor, found)


def as_left(result: Any, stays: bool) -> Any:
    """A result where it is to be left: on a GPU, strings aside, or on the host."""
    if not stays:
        return result if result.ndim else result[()]
    if isinstance(result, DeviceArray):
        return result
    array = np.asarray(result)
    return array if array.dtype.hasobject else DeviceArray.of(array)


def check_feed_shape(tensor: Tensor, array: np.ndarray | DeviceArray) -> None:
    """Raises `ValueError` for a shape that does not fit."""
    sizes = tensor.shape.sizes
    if sizes is None or sizes == array.shape:
        return
    fits = len(sizes) == array.ndim
    for size, found in zip(sizes, array.shape):
        fits &= size is None or size == found
    if not fits:
        raise ValueError(
            f"Cannot feed value of shape {array.shape} for Tensor {tensor.name}, "
            f"which has shape {sizes_text(tensor.shape)}"
        )


def check_feed_shapes(fed: Mapping[Tensor, np.ndarray | DeviceArray]) -> None:
    for tensor, array in fed.items():
        check_feed_shape(tensor, array)


def feed_arrays(graph: Graph, feeds: Mapping[Any, Any]) -> dict[Tensor, np.ndarray]:
    """The arrays of a `feed_dict`, by the tensors that they are for."""
    return {tensor: feed_value(tensor, value) for tensor, value in feed_items(graph, feeds)}


def feed_items(graph: Graph, feeds: Mapping[Any, Any]) -> Iterator[tuple[Tensor, Any]]:
    """The tensors that are fed, with what was given for them."""
    if not isinstance(feeds, Mapping):
        raise TypeError(f"feed_dict must be a dict, found {type(feeds).__name__}")
    for key, value in flat_feeds(feeds):
        if hasattr(key, "components"):
            yield from feed_items(graph, fed_parts(key, value))
        else:
            yield feed_key(graph, key), value


def feed_key(graph: Graph, key: Any) -> Tensor:
    """The tensor that a key of a `feed_dict` names."""
    try:
        make_nameable(graph, key)
        tensor = graph.as_graph_element(key, allow_tensor=True, allow_operation=False)
    except (KeyError, ValueError, TypeError) as error:
        near = near_tensors(graph, key) if isinstance(key, str) else None
        text = error.args[0] if error.args else str(error)
        raise TypeError(
            f"Cannot interpret feed_dict key as Tensor: {text}" + (f" ({near})" if near else "")
        ) from None
    if not graph.is_feedable(tensor):
        raise ValueError(f"Tensor {tensor} may not be fed.")
    return tensor
