"""What operators that are made of others have in common: the others, their hints, and a name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from flowc.api.framework.assertions import assert_proper_iterable
from flowc.api.framework.scopes import name_scope
from flowc.api.linear_operators.hints import Hints, arguments_of, of_all
from flowc.api.linear_operators.linear_operator import LinearOperator


class CombinedOperator(LinearOperator):
    """An operator that is made of `operators`, of one dtype. Raises `ValueError` for no operators
    and hints that they contradict, `TypeError` for several dtypes."""

    _between: ClassVar[str]  # the names of the operators, in the name

    def __init__(
        self,
        operators: Sequence[LinearOperator],
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        parameters = arguments_of(locals())
        self._operators = _checked(operators)
        given = Hints(is_non_singular, is_self_adjoint, is_positive_definite, is_square)
        hints = self._hints(given)
        if name is None:
            name = self._between.join(operator.name for operator in self._operators)
        with name_scope(name):
            super().__init__(self._operators[0].dtype, **hints.named(name, parameters))

    @property
    def operators(self) -> list[LinearOperator]:
        """The operators, in order."""
        return self._operators

    def _hints(self, given: Hints) -> Hints:
        """What is known of the whole. Raises `ValueError` where the program denies what follows
        from the operators."""
        raise NotImplementedError

    def _as_all(self, given: Hints, whole: str, definite: str) -> Hints:
        """`given`, and each property that every one of the operators has. For messages: `whole` is
        what they make, `definite` how positive definite is written."""
        texts = {
            "is_non_singular": "non-singular",
            "is_self_adjoint": "self-adjoint",
            "is_positive_definite": definite,
        }
        found = {
            hint: of_all(
                hint,
                self._operators,
                getattr(given, hint),
                f"The {whole} of {text} operators is always {text}.",
            )
            for hint, text in texts.items()
        }
        return Hints(**found, is_square=given.is_square)


def _checked(operators: Sequence[LinearOperator]) -> list[LinearOperator]:
    assert_proper_iterable(operators)
    found = list(operators)
    if not found:
        raise ValueError(f"Expected a non-empty list of operators. Found: {found}")
    if any(operator.dtype != found[0].dtype for operator in found):
        told = "   ".join(str((operator.name, operator.dtype)) for operator in found)
        raise TypeError(f"Expected all operators to have the same dtype.  Found {told}")
    return found
