"""Constants that a run copies to its results, many in a row: one loop over a table of them.

In: steps of a plan. Out: the loop in the frame of the run; the table stands among the weights.
Invariant: the code is the same however many there are, so that a program which gives thousands of
variables their first values compiles as fast as one that gives a few.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np

from flowc.codegen.driver.frame import RunFrame
from flowc.codegen.driver.memory import Memory
from flowc.plan.plan import ConstantPlace, Copy, Output, Region, Step, bytes_of
from flowc_runtime.native.writer import I64, i64

MANY = 16  # copies in a row that are worth a table
Row = tuple[ConstantPlace, int, int]  # a constant, the result that it is, its bytes


def joined_copies(region: Region) -> Iterator[Step | list[Row]]:
    """The steps of a region in order, with many copies of constants as one."""
    rows = [(_copied_constant(region, step), step) for step in region.steps]
    for has_rows, found in groupby(rows, lambda pair: pair[0] is not None):
        pairs = list(found)
        if has_rows and len(pairs) >= MANY:
            yield [row for row, _ in pairs if row is not None]
        else:
            yield from (step for _, step in pairs)


def _copied_constant(region: Region, step: Step) -> Row | None:
    if not isinstance(step, Copy) or not isinstance(step.target, Output):
        return None
    place, size = region.place_of(step.value), bytes_of(step.value)
    if not isinstance(place, ConstantPlace) or not isinstance(size, int):
        return None
    return place, step.target.index, size


def copy_constants(frame: RunFrame, memory: Memory, rows: Sequence[Row]) -> None:
    """Copies constants to the buffers of results, whose sizes are known."""
    b = frame.b
    table = np.array([(memory.weight_offset(p.array), i, size) for p, i, size in rows], np.int64)
    words = b.bitcast(memory.weight(table), I64.as_pointer())
    before, body = b.block, frame.function.append_basic_block("copies")
    end = frame.function.append_basic_block("copied")
    b.branch(body)
    b.position_at_end(body)
    row = b.phi(I64)
    row.add_incoming(i64(0), before)
    first = b.gep(words, [b.mul(row, i64(3))])
    offset, output, size = (b.load(frame.element(first, i)) for i in range(3))
    target = b.load(b.gep(frame.outputs, [output]))
    memory.copy(target, b.gep(frame.weights, [offset]), size)
    following = b.add(row, i64(1))
    row.add_incoming(following, body)
    b.cbranch(b.icmp_signed("<", following, i64(len(rows))), body, end)
    b.position_at_end(end)
