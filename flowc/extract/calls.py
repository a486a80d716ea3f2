"""Which function a node calls, and whether it may.

In: a call's reference to a function, what it gives, the functions around it. Out: the Function.
Invariant: what is extracted in place ends: no function calls itself, and calls nest to a limit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flowc.errors import InvalidModelError, UnsupportedError, did_you_mean
from flowc.graph.function import Function

CALL_DEPTH = 60


def called_function(
    functions: Mapping[str, Function],
    name: str,
    reference: Any,
    given: int | None,
    callers: Sequence[str],
) -> Function:
    """The function that the node `name` calls with `given` values (None: not looked at).
    `callers`: the functions from which it is called, the innermost last.

    Raises `InvalidModelError` for a function that the graph lacks or that takes other numbers
    of arguments, and `UnsupportedError` for one that calls itself.
    """
    function = functions.get(reference.name)
    if function is None:
        raise InvalidModelError(
            f"node '{name}' calls the function {reference.name!r}, which the model lacks",
            node=name,
            hint=did_you_mean(reference.name, functions),
        )
    if reference.name in callers:
        shown = " -> ".join((*callers[callers.index(reference.name) :], reference.name))
        raise UnsupportedError(
            f"the function {reference.name!r} calls itself at '{name}': {shown}",
            node=name,
            hint="flowc compiles loops; write the recursion as one",
        )
    if len(callers) >= CALL_DEPTH:
        raise UnsupportedError(
            f"functions call one another more than {CALL_DEPTH} deep at '{name}'", node=name
        )
    if given is not None and given != len(function.args):
        raise InvalidModelError(
            f"'{name}' gives the function {reference.name!r} {given} values for "
            f"{len(function.args)} arguments",
            node=name,
        )
    return function
