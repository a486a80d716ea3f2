"""Protocol messages of settings, in Python: programs that give a Session its settings need not wait
until protobuf is imported.

In: classes whose fields are `kept`, made messages by `message`. Out: objects that do what protocol
messages do, their texts and bytes. Invariants: as in protobuf, a field that there is not and a
value of another type are errors; fields stand in the order of their numbers; what bytes say of
fields that there are not stays, and is written again.
"""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable
from copy import deepcopy
from dataclasses import field, fields
from functools import wraps
from typing import Any, NamedTuple, TypeVar, dataclass_transform

from flowc.dataclass import dataclass
from flowc.encoding.fields import bytes_field, double_field, varint_field
from flowc.encoding.wire import BYTES, FIXED64, VARINT, FileBytes, varint
from flowc.encoding.wire import fields as wire_fields
from flowc.errors import InvalidModelError

_T = TypeVar("_T")
_INDENT = "  "
_DEEPEST = 100  # messages in messages, as protobuf reads them


class Counts(dict[str, int]):
    """A map to numbers: a key that is asked for and not there gets 0."""

    def __missing__(self, key: str) -> int:
        self[key] = 0
        return 0


class NamedNumbers:
    """The numbers of an enumeration, by name. Raises `ValueError` for one that it does not have."""

    def __init__(self, name: str, names: str) -> None:
        first = -1 if names.startswith("-1:") else 0
        self._name = name
        self._numbers = {n: k for k, n in enumerate(names.removeprefix("-1:").split(), first)}

    def Value(self, name: str) -> int:
        if name not in self._numbers:
            raise ValueError(f"Enum {self._name} has no value defined for name {name!r}")
        return self._numbers[name]

    def Name(self, number: int) -> str:
        for name, found in self._numbers.items():
            if found == number:
                return name
        raise ValueError(f"Enum {self._name} has no name defined for value {number!r}")

    def keys(self) -> list[str]:
        return list(self._numbers)

    def values(self) -> list[int]:
        return list(self._numbers.values())

    def items(self) -> list[tuple[str, int]]:
        return list(self._numbers.items())


class FieldName(NamedTuple):
    """A field as `ListFields` tells it."""

    name: str
    number: int


def kept(number: int, default: Any, names: NamedNumbers | None = None) -> Any:
    """A field of this number. `default`: its value, or the type of a message, list or map. `names`:
    those of its numbers."""
    about = {"number": number, "names": names}
    if isinstance(default, type):
        return field(default_factory=default, metadata=about)
    return field(default=default, metadata=about)


class SettingsMessage:
    """What protocol messages do. Raises nothing."""

    _types: dict[str, type]
    _unknown: bytes

    def __str__(self) -> str:
        return "".join(_lines(self, ""))

    __repr__ = __str__

    def SerializeToString(self, deterministic: bool | None = None) -> bytes:
        """The message as bytes, as protobuf writes it."""
        known = (_field_bytes(f.metadata, getattr(self, f.name)) for f in _given(self))
        return b"".join(known) + self._unknown

    SerializePartialToString = SerializeToString

    def ByteSize(self) -> int:
        """How many bytes the message takes."""
        return len(self.SerializeToString())

    def IsInitialized(self) -> bool:
        """True: no field is required."""
        return True

    @classmethod
    def FromString(cls: type[_T], data: bytes) -> _T:
        """A message of bytes. Raises as `ParseFromString`."""
        made: Any = cls()
        made.MergeFromString(data)
        return made

    def ParseFromString(self, data: bytes) -> int:
        """Takes the fields of bytes, and no others; returns how many bytes there were. Raises
        `TypeError` for no bytes, and protobuf's `DecodeError` for what is no such message."""
        found = type(self).FromString(data)
        self.CopyFrom(found)
        return len(data)

    def MergeFromString(self, data: bytes) -> int:
        """Takes the fields of bytes besides its own. Raises as `ParseFromString`."""
        if not isinstance(data, bytes | bytearray | memoryview):
            raise TypeError(f"expected bytes, {type(data).__name__} found")
        try:
            _merge_bytes(self, memoryview(data).cast("B"), 0)
        except (InvalidModelError, UnicodeDecodeError) as error:
            from google.protobuf.message import DecodeError  # late: hardly ever needed

            kind = f"tensorflow.{type(self).__name__}"
            told = f"Error parsing message with type '{kind}': Wire format was corrupt"
            raise DecodeError(told) from error
        return len(data)

    def MergeFrom(self, other: Any) -> None:
        """Takes what another message says: lists are joined, messages merged. Raises `TypeError`
        for one of another type."""
        self._same_kind(other, "MergeFrom")
        for f in _given(other):
            mine, theirs = getattr(self, f.name), getattr(other, f.name)
            if isinstance(mine, SettingsMessage):
                mine.MergeFrom(theirs)
            elif isinstance(mine, dict):
                mine.update(theirs)
            elif isinstance(mine, list):
                mine.extend(theirs)
            else:
                setattr(self, f.name, theirs)
        object.__setattr__(self, "_unknown", self._unknown + other._unknown)

    def CopyFrom(self, other: Any) -> None:
        """Takes the fields of another message, and no others. Raises `TypeError` for one of another
        type."""
        self._same_kind(other, "CopyFrom")
        for name, value in deepcopy(vars(other)).items():
            object.__setattr__(self, name, value)

    def _same_kind(self, other: Any, method: str) -> None:
        if type(other) is not type(self):
            raise TypeError(
                f"Parameter to {method}() must be instance of same class: expected "
                f"{type(self)} got {type(other)}."
            )

    def Clear(self) -> None:
        """All fields as they are by default."""
        self.CopyFrom(type(self)())

    def ClearField(self, field_name: str) -> None:
        """A field as it is by default. Raises `ValueError` for one that there is not."""
        if field_name not in self._types:
            raise ValueError(_missing(type(self), field_name))
        object.__setattr__(self, field_name, getattr(type(self)(), field_name))

    def ListFields(self) -> list[tuple[FieldName, Any]]:
        """The fields that are not as they are by default, in the order of their numbers."""
        return [
            (FieldName(f.name, f.metadata["number"]), getattr(self, f.name)) for f in _given(self)
        ]

    def HasField(self, field_name: str) -> bool:
        """Whether the message of a field is another one than that of all defaults. Raises
        `ValueError` for a field that there is not, and for one that is no message."""
        if field_name not in self._types:
            raise ValueError(_missing(type(self), field_name))
        found = getattr(self, field_name)
        if not isinstance(found, SettingsMessage):
            full = f"tensorflow.{type(self).__name__}.{field_name}"
            raise ValueError(f"Field {full} does not have presence.")
        return found != type(found)()


def _missing(kind: type, name: str) -> str:
    return f'Protocol message {kind.__name__} has no "{name}" field.'


def _given(message: Any) -> list[Any]:
    """The fields that are not as they are by default."""
    plain = type(message)()
    return [f for f in fields(message) if getattr(message, f.name) != getattr(plain, f.name)]


def _lines(message: Any, indent: str) -> list[str]:
    found: list[str] = []
    for f in _given(message):
        value = getattr(message, f.name)
        if isinstance(value, dict):
            for key, number in value.items():
                inner = f"{indent}{_INDENT}key: {_text(key)}\n{indent}{_INDENT}value: {number}\n"
                found += [f"{indent}{f.name} {{\n", inner, f"{indent}}}\n"]
        elif isinstance(value, SettingsMessage):
            inside = _lines(value, indent + _INDENT)
            found += [f"{indent}{f.name} {{\n", *inside, f"{indent}}}\n"]
        else:
            items = value if isinstance(value, list) else [value]
            found += [f"{indent}{f.name}: {_shown(item, f.metadata)}\n" for item in items]
    return found


def _text(text: str) -> str:
    return '"' + text.encode("unicode_escape").decode().replace('"', '\\"') + '"'


def _shown(value: Any, about: Any) -> str:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool):
        return str(value).lower()
    names: NamedNumbers | None = about["names"]
    if names is not None and value in names.values():
        return names.Name(value)
    return str(value)


def _field_bytes(about: Any, value: Any) -> bytes:
    number = about["number"]
    if isinstance(value, dict):
        pairs = [bytes_field(1, k.encode()) + varint_field(2, v) for k, v in value.items()]
        return b"".join(bytes_field(number, pair) for pair in pairs)
    if isinstance(value, list):
        return b"".join(_field_bytes(about, item) for item in value)
    if isinstance(value, SettingsMessage):
        return bytes_field(number, value.SerializeToString())
    if isinstance(value, str):
        return bytes_field(number, value.encode())
    if isinstance(value, float):
        return double_field(number, value)
    return varint_field(number, int(value))


def _merge_bytes(message: Any, data: memoryview, depth: int) -> None:
    """Raises `InvalidModelError`, `UnicodeDecodeError`."""
    region = FileBytes(data, "message")
    if depth > _DEEPEST:
        raise region.fail(0, f"messages in more than {_DEEPEST} messages")
    numbered = {f.metadata["number"]: f.name for f in fields(message)}
    for number, kind, start, begin, end in wire_fields(region):
        name = numbered.get(number, "")
        value = getattr(message, name, None)
        if isinstance(value, str | list | dict | SettingsMessage):
            fits = kind == BYTES
        else:
            fits = kind == (FIXED64 if isinstance(value, float) else VARINT)
        if not name or not fits:
            unknown = message._unknown + bytes(data[start:end])
            object.__setattr__(message, "_unknown", unknown)
        elif isinstance(value, SettingsMessage):
            _merge_bytes(value, data[begin:end], depth + 1)
        elif isinstance(value, dict):
            value.update([_entry(FileBytes(data[begin:end], "message"))])
        elif isinstance(value, list):
            value.append(str(data[begin:end], "utf-8"))
        else:
            setattr(message, name, _scalar(value, data[begin:end]))


def _entry(region: FileBytes) -> tuple[str, int]:
    """A key of a map and its number."""
    key, number = "", 0
    for n, kind, _, begin, end in wire_fields(region):
        if n == 1 and kind == BYTES:
            key = str(region.view[begin:end], "utf-8")
        elif n == 2 and kind == VARINT:
            number = _scalar(0, region.view[begin:end])
    return key, number


def _scalar(like: Any, content: memoryview) -> Any:
    if isinstance(like, str):
        return str(content, "utf-8")
    if isinstance(like, float):
        return struct.unpack("<d", content)[0]
    number, _ = varint(content, 0)
    return bool(number) if isinstance(like, bool) else number - (number >> 63 << 64)


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
def message(kind: type[_T]) -> type[_T]:
    """A dataclass whose fields keep their types."""
    made: Any = dataclass(repr=False)(kind)
    kept_fields: Any = {f.name: f for f in fields(made)}
    makers: dict[str, Callable[[], Any]] = {
        name: f.default_factory if callable(f.default_factory) else lambda f=f: f.default
        for name, f in kept_fields.items()
    }
    types = {name: type(make()) for name, make in makers.items()}

    def checked(name: str, value: Any) -> Any:
        about = kept_fields[name].metadata
        return _converted(value, types[name], f"{kind.__name__}.{name}", about["names"])

    def set_field(self: Any, name: str, value: Any) -> None:
        if name not in types:
            raise AttributeError(_missing(kind, name))
        if issubclass(types[name], SettingsMessage | list | dict):
            of = "message" if issubclass(types[name], SettingsMessage) else "map, or repeated"
            told = f'Assignment not allowed to {of} field "{name}" in protocol message object.'
            raise AttributeError(told)
        object.__setattr__(self, name, checked(name, value))

    filled: Callable[..., None] = made.__init__

    @wraps(filled)
    def init(self: Any, *positional: Any, **given: Any) -> None:
        if positional:
            raise TypeError("No positional arguments allowed")
        for name in given:
            if name not in types:
                raise ValueError(_missing(kind, name))
        object.__setattr__(self, "_unknown", b"")
        for name, make in makers.items():
            value = given.get(name)
            object.__setattr__(self, name, make() if value is None else checked(name, value))

    made.__setattr__, made.__init__, made._types = set_field, init, types
    return made


def _converted(value: Any, wanted: type, field_name: str, names: NamedNumbers | None) -> Any:
    """`value` as a field of a type keeps it: a copy of messages, lists and maps. Raises `TypeError`
    for another type, `ValueError` for a name that no number has."""
    if names is not None and isinstance(value, str):
        return names.Value(value)
    inside: Callable[[Any, type], Any] = lambda v, kind: _converted(v, kind, field_name, None)
    if wanted is Counts and isinstance(value, dict):
        return Counts({inside(key, str): inside(n, int) for key, n in value.items()})
    if issubclass(wanted, SettingsMessage) and isinstance(value, dict):
        return wanted(**value)
    if wanted is list and isinstance(value, list | tuple):
        return [inside(item, str) for item in value]
    try:
        if wanted in (bool, int):
            return wanted(operator.index(value))
        if wanted is float:
            return float(value)
    except (TypeError, ValueError):
        pass
    if not isinstance(value, wanted):
        raise TypeError(f"{field_name} takes {wanted.__name__}, found {value!r}")
    return deepcopy(value)
