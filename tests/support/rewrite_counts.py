"""The rewrites of the passes, and how often each applies.

In: modules of passes whose `RULES` are rewrites. Out: what each of them did in a run of the passes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from unittest import mock

from flowc.ir.pattern import Match, Result, Rewrite
from flowc.passes import decompose, prune, simplify

FAMILIES = (prune, simplify, decompose)
RULES: dict[str, Rewrite] = {rule.name: rule for family in FAMILIES for rule in family.RULES}


def counted(rule: Rewrite, fired: Counter[str]) -> Rewrite:
    """The rewrite, which counts by its name how often it changes something."""

    def result(m: Match) -> Result:
        new = m[rule.result] if isinstance(rule.result, str) else rule.result(m)
        fired[rule.name] += new is not None
        return new

    return replace(rule, result=result)


@contextmanager
def counting_rewrites() -> Iterator[Counter[str]]:
    """Counts what the rewrites of all passes do meanwhile."""
    fired: Counter[str] = Counter()
    with ExitStack() as stack:
        for family in FAMILIES:
            rules = tuple(counted(rule, fired) for rule in family.RULES)
            stack.enter_context(mock.patch.object(family, "RULES", rules))
        yield fired
