"""Rows that are a stride apart, read at the same place in each step of a loop.

In: the stride and the number of rows. Out: pointers to them, from one to the first. Invariant: all
but one in seven are what an address of an instruction adds up: the first, and 1, 2 or 4 times a
number that stays in a register.

LLVM derives each pointer from the one before by an addition, as it sees that they are as far apart.
These take ports of a core that its multiply-adds need, so it is not told how the numbers are
related.
"""

from __future__ import annotations

from llvmlite import ir

from flowc.codegen.llvm.vector_ir import Index, Value, byte_offset, opaque

GROUP = 7
# A row of a group: how many strides are in the register, and how often it is added.
FORMS = ((0, 0), (1, 1), (1, 2), (3, 1), (1, 4), (5, 1), (3, 2))


class StridedRows:
    """Up to `count` rows, `stride` elements of `size` bytes apart."""

    def __init__(self, b: ir.IRBuilder, stride: Index, count: int, size: int) -> None:
        def apart(rows: int) -> Index:
            return Index(b, opaque(b, (stride * (rows * size)).value))

        self._b = b
        self._steps = {n: apart(n) for n in {strides for strides, _ in FORMS[1:count]}}
        self._starts = [apart(n) for n in range(GROUP, count, GROUP)]

    def at(self, first: Value, count: int) -> list[Value]:
        """Pointers to so many, of which `first` is the first."""
        starts = self._starts[: (count - 1) // GROUP]
        bases = [opaque(self._b, x) for x in (first, *(byte_offset(first, n) for n in starts))]
        found: list[Value] = []
        for row in range(count):
            strides, times = FORMS[row % GROUP]
            base = bases[row // GROUP]
            found.append(byte_offset(base, self._steps[strides] * times) if times else base)
        return found
