"""What is known of a linear operator beside its numbers: whether it is square, non-singular,
self-adjoint, positive definite.

In: what the program says, and what the parts of an operator are. Out: what follows. Invariant: None
says that nothing is known; what contradicts itself is a `ValueError`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Protocol

from flowc.dataclass import dataclass


class Hinted(Protocol):
    """What has hints: an operator."""

    @property
    def is_square(self) -> bool | None: ...
    @property
    def is_non_singular(self) -> bool | None: ...
    @property
    def is_self_adjoint(self) -> bool | None: ...
    @property
    def is_positive_definite(self) -> bool | None: ...


NAMES = ("is_non_singular", "is_self_adjoint", "is_positive_definite", "is_square")


@dataclass(frozen=True)
class Hints:
    """What is known, as the arguments that every operator takes."""

    is_non_singular: bool | None = None
    is_self_adjoint: bool | None = None
    is_positive_definite: bool | None = None
    is_square: bool | None = None

    def arguments(self) -> dict[str, Any]:
        return asdict(self)

    def named(self, name: str | None, parameters: dict[str, Any]) -> dict[str, Any]:
        """All arguments of `LinearOperator` but the dtype."""
        return {**self.arguments(), "name": name, "parameters": parameters}


def arguments_of(given: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a class among the local names at the start of its `__init__`."""
    return {name: value for name, value in given.items() if name not in ("self", "__class__")}


def always(given: bool | None, message: str) -> bool:
    """True, as far as the program does not deny it. Raises `ValueError` where it does."""
    if given is False:
        raise ValueError(message)
    return True


def of_all(name: str, parts: Sequence[Hinted], given: bool | None, message: str) -> bool | None:
    """True where all parts have the property, else what the program says. Raises `ValueError` where
    it denies what follows."""
    return always(given, message) if all(getattr(part, name) for part in parts) else given


def as_of(operator: Hinted, given: Hints, what: str) -> Hints:
    """The hints of an operator that has the properties of another one (`what` it is: its adjoint).
    Raises `ValueError` where the program says otherwise."""
    told = {
        "is_square": "square",
        "is_non_singular": "non-singular",
        "is_self_adjoint": "self-adjoint",
        "is_positive_definite": "positive-definite",
    }
    found: dict[str, bool | None] = {}
    for name, text in told.items():
        own, said = getattr(operator, name), getattr(given, name)
        if None not in (own, said) and bool(own) != bool(said):
            raise ValueError(f"An operator is {text} if and only if its {what} is {text}.")
        found[name] = said if own is None else own
    return Hints(**found)


def of_commuting(one: Hinted, other: Hinted) -> Hints:
    """The hints of the product of two operators whose order does not matter."""
    adjoint = (one.is_self_adjoint, other.is_self_adjoint)
    is_self_adjoint = True if all(adjoint) else (False if set(adjoint) == {True, False} else None)
    definite = all((*adjoint, one.is_positive_definite, other.is_positive_definite))
    return Hints(
        both_non_singular(one, other), is_self_adjoint, True if definite else None, True
    )  # fmt: skip


def of_product(one: Any, other: Any) -> Hints:
    """The hints of a product of any two operators."""
    is_square = _is_square(one, other)
    if is_square:
        return Hints(both_non_singular(one, other), is_square=True)
    no = None if is_square is None else False
    return Hints(no, no, no, is_square)


def both_non_singular(one: Hinted, other: Hinted) -> bool | None:
    if one.is_non_singular is False or other.is_non_singular is False:
        return False
    return one.is_non_singular and other.is_non_singular


def _is_square(one: Any, other: Any) -> bool | None:
    if one.is_square and other.is_square:
        return True
    if one.is_square is False and other.is_square is False:
        rows, columns = one.range_dimension.value, other.domain_dimension.value
        return None if None in (rows, columns) else rows == columns
    return None if None in (one.is_square, other.is_square) else False
