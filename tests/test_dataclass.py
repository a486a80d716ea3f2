"""flowc's dataclasses beside the standard ones."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import weakref
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field
from typing import Any

import pytest

import flowc.dataclass as ours

FLAGS = [
    {},
    {"frozen": True},
    {"slots": True},
    {"frozen": True, "slots": True},
    {"frozen": True, "slots": True, "order": True},
    {"frozen": True, "slots": True, "eq": False},
    {"slots": True, "weakref_slot": True, "eq": False},
    {"repr": False},
]


def _made(decorate: Callable[..., Any], flags: dict[str, bool]) -> Any:
    class Point:
        """A place."""

        x: int
        y: tuple[int, ...] = ()
        _: dataclasses.KW_ONLY
        z: list[int] = field(default_factory=list)
        hidden: int = field(default=0, compare=False, repr=False)
        counted: int = field(init=False, default=7)

        def __post_init__(self) -> None:
            if self.x < 0:
                raise ValueError("x")

    return decorate(**flags)(Point)


def _seen(cls: Any) -> list[object]:
    """What the methods of a class do."""
    one, same, other = cls(1, (2,), z=[3]), cls(x=1, y=(2,), z=[3], hidden=5), cls(2)
    found: list[object] = [
        cls.__match_args__,
        [(f.name, f.init, f.kw_only) for f in dataclasses.fields(cls)],
        [getattr(one, f.name) for f in dataclasses.fields(cls)],
        one == same,
        one == other,
        one == (1, (2,)),
        one != same,
        cls(1).z is cls(1).z,
        dataclasses.asdict(same),
        dataclasses.replace(one, x=4).x,
        copy.copy(one).z is one.z,
        cls.__doc__,
    ]
    actions: list[Callable[[], object]] = [
        lambda: one < other,
        lambda: one >= other,
        lambda: len({*map(hash, [cls(1, z=()), cls(1, z=(), hidden=3)])}),  # both there at once
        lambda: setattr(one, "x", 5),
        lambda: delattr(one, "x"),
        lambda: cls(),
        lambda: cls(1, (), []),
        lambda: cls(1, nothing=2),
        lambda: cls(-1),
        lambda: weakref.ref(one)() is one,
    ]
    for action in actions:
        try:
            found.append(action())
        except Exception as error:
            found.append(type(error).__name__)
    return found


@pytest.mark.parametrize("flags", FLAGS, ids=lambda flags: "-".join(flags) or "plain")
def test_classes_do_what_standard_ones_do(flags: dict[str, bool]) -> None:
    standard, own = _made(dataclasses.dataclass, flags), _made(ours.dataclass, flags)
    assert _seen(own) == _seen(standard)
    if flags.get("repr", True):
        assert repr(own(1)) == repr(standard(1))


def test_initializers_are_compiled_for_the_first_instance() -> None:
    """Once, for those of a class that inherits from it, too; or for who asks what it takes."""
    cls, other = (_made(ours.dataclass, {"frozen": True}) for _ in range(2))

    class Further(cls):
        """No dataclass itself."""

    before = cls.__dict__["__init__"]
    assert Further(1, z=[2]).z == [2]
    compiled = cls.__dict__["__init__"]
    assert inspect.isfunction(compiled) and not inspect.isfunction(before)
    assert (cls(3).x, cls.__dict__["__init__"]) == (3, compiled)
    assert [*inspect.signature(other).parameters] == ["x", "y", "z", "hidden"]


@ours.dataclass(frozen=True, slots=True)
class Kept:
    """At the top of a module, where pickle finds it."""

    names: tuple[str, ...]
    inner: Kept | None = None


def test_frozen_classes_with_slots_are_pickled() -> None:
    kept = Kept(("a",), Kept(()))
    assert pickle.loads(pickle.dumps(kept)) == kept == copy.deepcopy(kept)
    assert {kept: 1}[Kept(("a",), Kept(()))] == 1


@ours.dataclass(frozen=True)
class Base:
    """A class with a method of its own in place of one that is made."""

    x: int

    def __repr__(self) -> str:
        return "base"

    def __hash__(self) -> int:
        return 3


@ours.dataclass(frozen=True)
class Derived(Base):
    """A field more."""

    y: int = 2


def test_own_methods_stay_and_fields_are_inherited() -> None:
    assert (repr(Base(1)), hash(Base(1))) == ("base", 3)
    assert repr(Derived(1)) == "Derived(x=1, y=2)"
    assert hash(Derived(1)) == hash((1, 2))
    assert Derived(1) != Base(1)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'y'"):
        Derived(1).y = 3  # pyright: ignore[reportAttributeAccessIssue]
