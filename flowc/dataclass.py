"""Dataclasses that are cheap to make.

In: a class with annotated fields. Out: what `dataclasses.dataclass` makes of it, of which this is
the part that flowc uses: `fields`, `replace`, `asdict` and patterns work on it. Classes that
inherit from it are made here, too. Invariant: the same methods with the same results, but that no
instance of a frozen class takes attributes, of a class that inherits from it neither. The standard
decorator compiles the text of six methods for a frozen class, which takes 0.3 ms; a first result
imports some two hundred classes. Here only `__init__` is compiled, when the first instance is made,
which of half of the classes is never; the others are made of functions that all classes share.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError, field
from operator import attrgetter, ge, gt, le, lt
from operator import eq as same
from reprlib import recursive_repr
from types import MethodType
from typing import Any, TypeVar, dataclass_transform

_C = TypeVar("_C", bound=type)


@dataclass_transform(field_specifiers=(field,))
def dataclass(
    *,
    frozen: bool = False,
    slots: bool = False,
    repr: bool = True,
    eq: bool = True,
    order: bool = False,
    weakref_slot: bool = False,
) -> Callable[[_C], _C]:
    """The decorator. `frozen`: assigning raises `FrozenInstanceError`, and instances that compare
    equal have one hash. `eq`, `order`: they compare as tuples of their fields do. `repr`: they are
    shown with their fields. `slots`, `weakref_slot`: memory for the fields alone, and for weak
    references."""

    def made(cls: _C) -> _C:
        own = set(cls.__dict__)
        hashes = "__hash__" in own and not (cls.__hash__ is None and "__eq__" in own)
        cls.__doc__ = cls.__doc__ or cls.__name__  # else the standard one looks for a signature
        known: Any = dataclasses.dataclass(
            init=False, repr=False, eq=False, slots=slots, weakref_slot=weakref_slot
        )(cls)
        fields: Sequence[Field[Any]] = dataclasses.fields(known)
        methods: dict[str, Any] = {"__init__": _Initializer(known, frozen)}
        if repr:
            methods["__repr__"] = _repr
        compared = _values([f.name for f in fields if f.compare])
        if order:
            methods |= {f"__{x.__name__}__": _comparison(x, compared) for x in (lt, le, gt, ge)}
        if eq:
            methods["__eq__"] = _comparison(same, compared)
            if frozen:
                hashed = [f.name for f in fields if (f.compare if f.hash is None else f.hash)]
                methods["__hash__"] = _hash_of(_values(hashed))
            else:
                methods["__hash__"] = None
        if frozen:
            methods |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
            if slots:
                methods |= {"__getstate__": _state, "__setstate__": _set_state}
        for name, method in methods.items():
            if name not in own or (name == "__hash__" and not hashes):
                setattr(known, name, method)
        return known

    return made


class _Initializer:
    """`__init__` of a class until someone asks for it, which leaves the compiled one behind."""

    def __init__(self, cls: Any, frozen: bool) -> None:
        self._cls, self._frozen = cls, frozen

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        compiled = self._cls.__init__ = _initializer(self._cls, self._frozen)
        return compiled if instance is None else MethodType(compiled, instance)


def _initializer(cls: Any, frozen: bool) -> Callable[..., None]:
    """`__init__` of a class, compiled from its fields."""
    fields: Sequence[Field[Any]] = dataclasses.fields(cls)
    names: dict[str, Any] = {"_set": object.__setattr__, "_missing": MISSING}
    given: list[str] = []
    by_name: list[str] = []
    body: list[str] = []
    for f in fields:
        value = f.name
        if f.default_factory is not MISSING:
            names[f"_make_{f.name}"] = f.default_factory
            value = f"_make_{f.name}()"
            if f.init:
                value = f"{value} if {f.name} is _missing else {f.name}"
        elif f.default is not MISSING:
            names[f"_default_{f.name}"] = f.default
            value = f.name if f.init else f"_default_{f.name}"
        elif not f.init:
            continue
        if f.init:
            default = ""
            if f.default_factory is not MISSING:
                default = "=_missing"
            elif f.default is not MISSING:
                default = f"=_default_{f.name}"
            (by_name if f.kw_only else given).append(f"{f.name}{default}")
        body.append(f"_set(self, {f.name!r}, {value})" if frozen else f"self.{f.name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    taken = ", ".join(["self", *given, *(["*", *by_name] if by_name else [])])
    lines = "\n ".join(body or ["pass"])
    made: dict[str, Any] = {}
    exec(f"def __init__({taken}):\n {lines}", names, made)  # the text of field names alone
    return made["__init__"]


def _values(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    """The values of fields as a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    if not names:
        return lambda _: ()
    one = attrgetter(names[0])
    return lambda x: (one(x),)


def _comparison(
    operator: Callable[[Any, Any], Any], values: Callable[[Any], tuple[Any, ...]]
) -> Callable[[Any, Any], Any]:
    def compared(self: Any, other: Any) -> Any:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return operator(values(self), values(other))

    return compared


def _hash_of(values: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any], int]:
    def __hash__(self: Any) -> int:
        return hash(values(self))

    return __hash__


@recursive_repr("...")
def _repr(self: Any) -> str:
    shown = (f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if f.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse_to_set(self: Any, name: str, value: Any) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, f.name) for f in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for f, value in zip(dataclasses.fields(self), state):
        object.__setattr__(self, f.name, value)
