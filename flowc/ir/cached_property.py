"""Attributes that are computed when they are first asked for.

In: a method without arguments. Out: an attribute of the object. Invariant: no lock. That of
`functools.cached_property` in Python 3.11 is one for all objects, and a child that is forked while
another thread holds it never gets it. Two threads may compute an attribute at once: equal values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class cached_property(Generic[T]):
    """As that of `functools`."""

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self.compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> cached_property[T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> cached_property[T] | T:
        if instance is None:
            return self
        found = instance.__dict__[self.name] = self.compute(instance)
        return found
