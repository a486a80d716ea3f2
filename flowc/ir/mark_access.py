"""How ops read and change the marks of a list: the transfer functions of an analysis.

In: what an op's record states of it. Out: which marks may be in a list after a node, and whether
the node's check of them can fail. The marks of a TensorArray, `u8[rows]`, say of each element
whether it was written, and whether it was read and cleared since.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from flowc.dataclass import dataclass

UNWRITTEN, WRITTEN, CLEARED = 0, 1, 2

Marks = frozenset[int]  # what the marks of a list may be
ANY_MARKS: Marks = frozenset({UNWRITTEN, WRITTEN, CLEARED})


@dataclass(frozen=True, slots=True)
class MarkAccess:
    """`marks`: the input that holds them; None for an op that makes a list. `index`: the input that
    says which elements are looked at; None for all. `needs(attrs)`: what their marks have to be, or
    the run fails. `leaves(attrs)`: what they are afterwards, in output 0; None: as they were.
    `checked`: an output, and the input that it equals once the check has passed.
    """

    marks: int | None = 0
    index: int | None = None
    needs: Callable[[Mapping[str, Any]], Marks] | None = None
    leaves: Callable[[Mapping[str, Any]], int] | None = None
    checked: tuple[int, int] = (0, 0)

    def after(self, attrs: Mapping[str, Any], before: Marks) -> Marks:
        """The transfer function: what the marks in output 0 may be. `before`: those of the input,
        none for an op that makes a list."""
        return before if self.leaves is None else before | {self.leaves(attrs)}

    def passes(self, attrs: Mapping[str, Any], before: Marks) -> bool:
        """Whether a look at elements, none of them twice, finds what it needs."""
        return self.needs is None or before <= self.needs(attrs)

    def is_exclusive(self, attrs: Mapping[str, Any]) -> bool:
        """Whether a second look at the same element fails."""
        if self.needs is None or self.leaves is None:
            return False
        return self.leaves(attrs) not in self.needs(attrs)
