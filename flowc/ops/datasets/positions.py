"""Where an iterator is, as bytes: what a checkpoint holds of it.

In: what `Items.position` says. Out: a message in the form of TensorFlow's `VariantTensorDataProto`,
whose text says how the tensors in it go together; and back. Invariants: bytes of strangers make
nothing but numbers, strings, arrays and lists of these; what is no position raises
`InvalidArgumentError`. TensorFlow cannot go on from it, as its datasets do not have these items.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from flowc import errors
from flowc.encoding.fields import bytes_field
from flowc.encoding.tensor_message import array_of, tensor_bytes
from flowc.encoding.wire import FileBytes, parts
from flowc.errors import FlowcError, InvalidArgumentError, UnimplementedError
from flowc.ir.host_run import HostValue, held
from flowc.ops.datasets.dataset import ElementList, Inner

TYPE_NAME = b"flowc::IteratorState"
_TYPE, _TEXT, _TENSORS = 1, 2, 3  # fields of the message


def position_bytes(position: Any) -> bytes:
    """Raises `UnimplementedError` where an element is of a kind that no file holds."""
    tensors: list[bytes] = []
    text = json.dumps(_coded(position, tensors), separators=(",", ":"))
    fields = [bytes_field(_TYPE, TYPE_NAME), bytes_field(_TEXT, text.encode())]
    return b"".join([*fields, *(bytes_field(_TENSORS, tensor) for tensor in tensors)])


def position_of(message: bytes) -> Any:
    """The position of a message. Raises `InvalidArgumentError` for what is none."""
    region = FileBytes(memoryview(message), "the state of an iterator")
    try:
        kind, text = ([bytes(p.view) for p in parts(region, field)] for field in (_TYPE, _TEXT))
        if kind != [TYPE_NAME]:
            raise ValueError(f"it is of the type {kind[0].decode('utf-8', 'replace')!r}")
        if len(text) != 1:
            raise ValueError("it has no text")
        tensors = [array_of(bytes(part.view)) for part in parts(region, _TENSORS)]
        return _decoded(json.loads(text[0]), tensors)
    except (FlowcError, ValueError, IndexError, TypeError, KeyError, RecursionError) as error:
        raise InvalidArgumentError(
            f"the checkpoint has no state of an iterator that flowc saved: {error}",
            hint="TensorFlow's own states say how its kernels came there: begin the epoch anew",
        ) from None


def _coded(value: Any, tensors: list[bytes]) -> Any:
    """As JSON has it: lists as they are, all else that JSON does not have by a letter."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, HostValue):
        return {"h": _coded(value.value, tensors)}
    if isinstance(value, bytes):
        return {"b": value.decode("latin-1")}
    if isinstance(value, complex):
        return {"c": [value.real, value.imag]}
    if isinstance(value, list):
        return [_coded(v, tensors) for v in value]
    if isinstance(value, tuple):
        return {"t": [_coded(v, tensors) for v in value]}
    if isinstance(value, dict):
        return {"d": [[_coded(k, tensors), _coded(v, tensors)] for k, v in value.items()]}
    if isinstance(value, np.ndarray | np.generic):
        return _coded_array(held(value), tensors)
    if isinstance(value, Inner):
        return {"i": [value.kind, _coded(value.position, tensors)]}
    if isinstance(value, ElementList):
        return {"e": _coded([*value.held], tensors)}
    if isinstance(value, FlowcError):
        return {"f": [type(value).__name__, value.message]}
    raise UnimplementedError(f"the state of an iterator that holds a {type(value).__name__}")


def _coded_array(array: np.ndarray, tensors: list[bytes]) -> Any:
    values = array.reshape(-1).tolist() if array.dtype.hasobject else ()
    if any(isinstance(v, HostValue) for v in values):
        return {"o": [list(array.shape), [_coded(v, tensors) for v in values]]}
    tensors.append(tensor_bytes(array))
    return {"a": len(tensors) - 1}


def _decoded(value: Any, tensors: list[np.ndarray]) -> Any:
    if isinstance(value, list):
        return [_decoded(v, tensors) for v in value]
    if not isinstance(value, dict):
        return value
    ((letter, content),) = value.items()
    match letter:
        case "h":
            return HostValue.of(_decoded(content, tensors))
        case "b":
            return content.encode("latin-1")
        case "c":
            return complex(*content)
        case "t":
            return tuple(_decoded(content, tensors))
        case "d":
            return {_decoded(k, tensors): _decoded(v, tensors) for k, v in content}
        case "a":
            return tensors[content]
        case "o":
            found = np.empty(len(content[1]), object)
            found[:] = [_decoded(v, tensors) for v in content[1]]
            return found.reshape(content[0])
        case "i":
            return Inner(content[0], _decoded(content[1], tensors))
        case "e":
            return ElementList(_decoded(content, tensors))
        case "f":
            kind = getattr(errors, content[0], None)
            is_known = isinstance(kind, type) and issubclass(kind, errors.OpError)
            return kind(content[1]) if kind and is_known else errors.UnknownError(content[1])
        case _:
            raise ValueError(f"it has the letter {letter!r}")
