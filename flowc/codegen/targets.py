"""The targets that have names: the one place that knows which folder implements which.

In: a name from the command line. Out: a Target.
"""

from __future__ import annotations

from functools import cache

from flowc.codegen.cpu.target import LEVELS, cpu_target
from flowc.codegen.target import Target
from flowc.errors import UsageError, did_you_mean

NAMES = ("native", *LEVELS)


@cache
def target_named(name: str) -> Target:
    """The target of a name in NAMES. Raises `UsageError` for any other."""
    if name not in NAMES:
        hint = did_you_mean(name, NAMES) or f"one of {', '.join(NAMES)}"
        raise UsageError(f"unknown target {name!r}", hint=hint)
    return cpu_target(name)
