"""`tf.make_template`: a function that makes its variables once and shares them in later calls."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from flowc.api.variables.variable_ops import (
    global_variables,
    local_variables,
    trainable_variables,
)
from flowc.api.variables.variable_scope import VariableScope, variable_scope


class Template:
    """A function whose `get_variable` calls stand in one variable scope: the first call makes the
    variables, later ones get them."""

    def __init__(
        self,
        name: str,
        func: Callable[..., Any],
        create_scope_now: bool = False,
        unique_name: str | None = None,
        custom_getter: Callable[..., Any] | None = None,
    ) -> None:
        if name is None:
            raise ValueError("name cannot be None.")
        self.name, self.func = name, func
        self._unique_name = unique_name
        self._options = {} if custom_getter is None else {"custom_getter": custom_getter}
        self._called = False
        self.variable_scope: VariableScope | None = None
        if create_scope_now:
            with self._new_scope(auxiliary_name_scope=False) as scope:
                self.variable_scope = scope

    @property
    def var_scope(self) -> VariableScope | None:
        """The scope of its variables; None before the first call makes it."""
        return self.variable_scope

    def _new_scope(self, **options: Any) -> Any:
        return variable_scope(self._unique_name, self.name, **self._options, **options)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raises `ValueError` where a later call makes a trainable variable: one that does not come
        from `get_variable`."""
        if self.variable_scope is None:
            with self._new_scope() as scope:
                self.variable_scope = scope
                return self._first_call(args, kwargs)
        if not self._called:
            with variable_scope(self.variable_scope):
                return self._first_call(args, kwargs)
        with variable_scope(self.variable_scope, reuse=True):
            before = len(trainable_variables())
            result = self.func(*args, **kwargs)
            made = trainable_variables()[before:]
        if made:
            raise ValueError(
                "Trainable variable created when calling a template after the first time, perhaps "
                f"you used tf.Variable when you meant tf.get_variable: {made}"
            )
        return result

    def _first_call(self, args: Any, kwargs: Any) -> Any:
        result = self.func(*args, **kwargs)
        self._called = True
        return result

    @property
    def variable_scope_name(self) -> str | None:
        """The name of the scope, with a slash at its end; None before there is one."""
        if self.variable_scope is None:
            return None
        name = self.variable_scope.name
        return name if not name or name.endswith("/") else f"{name}/"

    @property
    def global_variables(self) -> list[Any]:
        return global_variables(self.variable_scope_name) if self._called else []

    @property
    def local_variables(self) -> list[Any]:
        return local_variables(self.variable_scope_name) if self._called else []

    @property
    def trainable_variables(self) -> list[Any]:
        return trainable_variables(self.variable_scope_name) if self._called else []

    @property
    def non_trainable_variables(self) -> list[Any]:
        trained = {id(v) for v in self.trainable_variables}
        return [v for v in self.global_variables if id(v) not in trained]

    @property
    def variables(self) -> list[Any]:
        return self.global_variables + self.local_variables

    weights = variables
    trainable_weights = trainable_variables
    non_trainable_weights = non_trainable_variables


def make_template(
    name_: str,
    func_: Callable[..., Any],
    create_scope_now_: bool = False,
    unique_name_: str | None = None,
    custom_getter_: Callable[..., Any] | None = None,
    **kwargs: Any,
) -> Template:
    """A function that makes its variables in its first call and shares them in all later ones.

    `kwargs` are given to `func_` in each call. `unique_name_`: the very name of the scope; `name_`
    is made unique. `create_scope_now_`: the scope's name is taken now, not at the first call.
    Calling it raises `ValueError` where it makes variables outside of `get_variable` twice, or a
    scope is taken.
    """
    function = partial(func_, **kwargs) if kwargs else func_
    return Template(name_, function, create_scope_now_, unique_name_, custom_getter_)
