"""Attribute values of operations, as plain Python and NumPy values.

| TensorFlow's AttrValue | here |
| --- | --- |
| `s i f b` | `bytes int float bool` |
| `type` | `DType` |
| `shape` | tuple of ints and Nones; None for an unknown rank |
| `tensor` | read-only `np.ndarray` (strings and handles as objects) |
| `func` | `FunctionRef` |
| `placeholder` | `AttrPlaceholder` (only inside functions) |
| `list(...)` | list of these |

Invariant: an attribute that came from a file keeps its encoded form until it is replaced, so that
it is written back byte for byte; it is decoded when first read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from dataclasses import field
from typing import Any

from flowc.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class FunctionRef:
    """The value of a `func` attr: a function's name and the attrs that it is called with."""

    name: str
    attrs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AttrPlaceholder:
    """Inside a function's body: the value of the function's own attr `name`."""

    name: str


Decode = Callable[[str, Any], Any]  # (attr name, encoded value) -> plain value


class Attrs(MutableMapping[str, Any]):
    """The attributes of one operation: name -> plain value, decoded when first asked for."""

    __slots__ = ("_decode", "_encoded", "_plain")

    def __init__(
        self,
        plain: Mapping[str, Any] | None = None,
        encoded: Mapping[str, Any] | None = None,
        decode: Decode | None = None,
    ) -> None:
        self._plain: dict[str, Any] = dict(plain) if plain else {}
        self._encoded: Mapping[str, Any] = encoded if encoded is not None else {}
        self._decode = decode

    def encoded(self, name: str) -> Any:
        """The attribute as its file has it, or None once it was replaced or if no file has it."""
        return self._encoded[name] if name in self._encoded else None  # noqa: SIM401

    def __getitem__(self, name: str) -> Any:
        if name in self._plain:
            return self._plain[name]
        if self._decode is None or name not in self._encoded:
            raise KeyError(name)
        value = self._decode(name, self._encoded[name])
        self._plain[name] = value
        return value

    def __setitem__(self, name: str, value: Any) -> None:
        self._forget(name)
        self._plain[name] = value

    def __delitem__(self, name: str) -> None:
        if name not in self:
            raise KeyError(name)
        self._forget(name)
        self._plain.pop(name, None)

    def _forget(self, name: str) -> None:
        if name in self._encoded:
            self._encoded = {k: v for k, v in self._encoded.items() if k != name}

    def __contains__(self, name: object) -> bool:
        return name in self._plain or name in self._encoded

    def __iter__(self) -> Iterator[str]:
        yield from sorted(self._encoded)  # a message's map has no order of its own
        yield from (name for name in self._plain if name not in self._encoded)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"Attrs({dict(self)!r})"
