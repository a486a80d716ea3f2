"""`tf.make_template`: a function that shares the variables of its first call."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from flowc.api.variables.scope_state import VariableScope
from flowc.api.variables.variable_scope import variable_scope


class Template:
    """Calls a function in a variable scope of its own: the first call makes the variables, and
    later ones share them. Raises `ValueError` where a later call asks for a new variable."""

    def __init__(self, name: str, function: Callable[..., Any], unique_name: str | None) -> None:
        self._name, self._unique_name = name, unique_name
        self._function = function
        self._scope: VariableScope | None = None

    @property
    def variable_scope(self) -> VariableScope | None:
        return self._scope

    @property
    def variables(self) -> list[Any]:
        return [] if self._scope is None else self._scope.global_variables()

    @property
    def trainable_variables(self) -> list[Any]:
        return [] if self._scope is None else self._scope.trainable_variables()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._scope is not None:
            with variable_scope(self._scope, reuse=True):
                return self._function(*args, **kwargs)
        opened = variable_scope(self._unique_name, default_name=self._name)
        with opened as scope:
            found = self._function(*args, **kwargs)
        self._scope = scope
        return found


def make_template(
    name_: str,
    func_: Callable[..., Any],
    create_scope_now_: bool = False,
    unique_name_: str | None = None,
    custom_getter_: Any = None,
    **kwargs: Any,
) -> Template:
    """`func_` with the variables of its first call, in a scope `name_` (`unique_name_`: of exactly
    that name). `kwargs`: arguments of every call."""
    return Template(name_, partial(func_, **kwargs) if kwargs else func_, unique_name_)
