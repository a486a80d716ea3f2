"""The types of a kernel's variables, by Numba's rules, each rule asked as often as it must be.

In: Numba's IR, and the types of the arguments. Out: the types of variables and of calls. Numba asks
every rule again until nothing changes, which for kernels is twice. Here a rule is asked again where
a variable that it names has another type since. Invariant: the result is Numba's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from numba.core import errors, types, utils
from numba.core import ir as numba_ir
from numba.core.typeinfer import TypeInferer


def infer_types(
    typing_context: Any, context: Any, kernel: Any, arguments: tuple[Any, ...]
) -> tuple[Any, Any]:
    """The types of the variables of a kernel, by name, and of its expressions. Raises Numba's
    `TypingError`."""
    if len(arguments) != kernel.arg_count:
        raise TypeError(f"{kernel.arg_count} arguments, and types of {len(arguments)}")
    warnings = cast(Any, errors).WarningsFixer(errors.NumbaWarning)
    inferer = _Inferer(typing_context, kernel, warnings)
    stack: Any = typing_context.callstack
    with stack.register(context.target, inferer, kernel.func_id, arguments):
        for index, (name, kind) in enumerate(zip(kernel.arg_names, arguments)):
            inferer.seed_argument(name, index, kind)
        inferer.seed_return(types.void)
        inferer.build_constraint()
        inferer.propagate()
        typemap, _, calltypes = inferer.unify()
    return typemap, calltypes


class _Inferer(TypeInferer):
    """`step` counts rules that were asked, `changed` says at which one a variable got its type."""

    def __init__(self, context: Any, kernel: Any, warnings: Any) -> None:
        super().__init__(context, kernel, warnings)
        self.step = 0
        self.changed: dict[str, int] = {}

    def add_type(self, var: str, tp: Any, loc: Any, unless_locked: bool = False) -> None:
        before = self.typevars[var].type
        super().add_type(var, tp, loc, unless_locked)
        self._note(var, before)

    def copy_type(self, src_var: str, dest_var: str, loc: Any) -> None:
        before = self.typevars[dest_var].type
        super().copy_type(src_var, dest_var, loc)
        self._note(dest_var, before)

    def _note(self, name: str, before: Any) -> None:
        now = self.typevars[name].type
        if now is not before and now != before:
            self.changed[name] = self.step

    def propagate(self, raise_errors: bool = True) -> list[Any] | None:
        rules: list[Any] = self.constraints.constraints
        asked = [0] * len(rules)
        found: dict[int, Any] = {}  # by the number of the rule
        left = list(range(len(rules)))
        while left:
            for i in left:
                self.step += 1
                asked[i] = self.step
                fault = self._fault(rules[i])
                if fault is not None:
                    found[i] = fault
                else:
                    found.pop(i, None)
            left = [
                i
                for i, rule in enumerate(rules)
                if any(self.changed.get(name, 0) > asked[i] for name in _names(rule))
            ]
        faults = [found[i] for i in sorted(found)]
        if faults and raise_errors:
            raise faults[0]
        return faults or None

    def _fault(self, rule: Any) -> Any:
        """What is wrong with what a rule was asked, or None."""
        try:
            rule(self)
        except errors.ForceLiteralArg as fault:
            return fault
        except errors.TypingError as fault:
            at_place = errors.TypingError(f"{fault}", loc=rule.loc, highlighting=False)
            return utils.chain_exception(at_place, fault)
        return None


def _names(rule: object) -> Iterator[str]:
    """The variables that a rule reads or types."""
    left = [*vars(rule).values()]
    while left:
        match left.pop():
            case str(name):
                yield name
            case numba_ir.Var(name=name):
                yield name
            case dict() as parts:
                left += parts.values()
            case list() | tuple() as parts:
                left += parts
            case _:
                pass
