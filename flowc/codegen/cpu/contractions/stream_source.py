"""A kernel that calls others for a block of rows at a time: what one computes and the next reads
stands in scratch memory.

In: what the tables of the called kernels hold. Out: a kernel. The called ones are those that run by
themselves elsewhere: their tables say where operands are, and their ranges which tasks to do. The
rows of a block stand at the beginning of their value's place in scratch, so that a table says where
row 0 would be.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, chain
from typing import Literal

from flowc import dtypes
from flowc.codegen.cpu.tile_shape import TileShape
from flowc.codegen.kernels.kernel import EPILOGUE_BUFFERS, SCRATCH, CalledPart, Kernel, Operand
from flowc.codegen.llvm.vector_ir import least
from flowc.dataclass import dataclass
from flowc.dtypes import DType

WORD = 8
# What a caller is given of each kernel.
_PARTS: tuple[tuple[CalledPart.Name, DType], ...] = (
    ("function", dtypes.u8),
    ("buffers", dtypes.i64),
    ("ints", dtypes.u8),
    ("epilogue_buffers", dtypes.i64),
)
Entry = int | str | None
Walked = Literal["panels", "tasks", "rows"]


@dataclass(frozen=True, slots=True)
class CalledKernel:
    """A kernel as its caller sees it. `buffers` and those of its epilogue say of each entry what
    the caller writes there: the number of a streamed value's place, the address of SCRATCH or of
    EPILOGUE_BUFFERS, None for what the driver wrote. `range`: its tasks are the panels of
    `each_block`, or those of a block of rows follow each other, or its range is rows."""

    range: Walked
    buffers: tuple[Entry, ...]
    epilogue_buffers: tuple[Entry, ...]

    @property
    def tables(self) -> tuple[tuple[str, tuple[Entry, ...]], ...]:
        return ("buffers", self.buffers), ("epilogue_buffers", self.epilogue_buffers)


def stream_kernel(calls: Sequence[CalledKernel], streamed: int, shape: TileShape) -> Kernel:
    """The kernel that makes `calls`, with so many streamed values between them. How many operands
    these have, and which of them are streamed, its launch says (`Tables`).

    Buffers: scratch, which begins with `table_bytes`, `Tables.places`, then `buffers_of`. Ints:
    `rows` of a batch entry, `block_rows` and `blocks` of these, `free` (where in scratch the called
    kernels have theirs); `place` in scratch and `row_bytes` of each value; `panels` of each
    product, or how many `tasks` of a kernel are a block; `Tables.ints`. The range is blocks of
    rows, entry by entry.
    """
    ints = ["rows", "block_rows", "blocks", "free"]
    ints += [f"{name}{i}" for i in range(streamed) for name in ("place", "row_bytes")]
    ints += [f"{call.range}{i}" for i, call in enumerate(calls) if call.range != "rows"]
    ints += [f"{name}{i}" for i, call in enumerate(calls) for name in _ints_of(call)]
    ints += [f"end{i}" for i in range(streamed + 1)]
    given = [f"{part}{i}" for i, call in enumerate(calls) for part, _ in _parts_of(call)]
    lines = [
        f"def streamed({', '.join(['scratch', 'places', *given, *ints, 'begin', 'end'])}):",
        "    words = as_i64_pointer(scratch)",
        "    base = address_of(scratch)",
        *(line for i, call in enumerate(calls) for line in _table_lines(i, call)),
        "    for j in range(end0):",
        "        words[places[j]] = base + free",
        "    for unit in range(begin, end):",
        "        entry = idiv(unit, blocks)",
        "        block = unit - entry * blocks",
        "        first = entry * rows + block * block_rows",
        "        last = least(first + block_rows, (entry + 1) * rows)",
    ]
    for i in range(streamed):
        lines.append(f"        for j in range(end{i}, end{i + 1}):")
        lines.append(f"            words[places[j]] = base + place{i} - first * row_bytes{i}")
    for i, call in enumerate(calls):
        match call.range:
            case "panels":
                lines += _product_lines(i, shape)
            case "tasks":
                begin, end = f"unit * tasks{i}", f"(unit + 1) * tasks{i}"
                lines.append(f"        {_call(i, begin, end)}")
            case "rows":
                lines.append(f"        {_call(i, 'first', 'last')}")
    kinds = (kind for call in calls for _, kind in _parts_of(call))
    return Kernel(
        "\n".join(lines) + "\n",
        ("bytes", dtypes.i64, *kinds),
        len(ints),
        globals={"least": least},
        entry="streamed",
        as_written=True,
    )


@dataclass(frozen=True, slots=True)
class Tables:
    """What the caller is told of the tables of what it calls. `ints`: of each where its tables
    begin in scratch, in words, how long they are, and which word is the address of its epilogue's;
    then how many of `places` are words for SCRATCH, and for those and each value up to it."""

    ints: tuple[int, ...]
    places: tuple[int, ...]

    @classmethod
    def of(cls, calls: Sequence[CalledKernel], streamed: int) -> Tables:
        """Those of `calls`, with so many streamed values between them."""
        ints: list[int] = []
        found: list[list[int]] = [[] for _ in range(1 + streamed)]
        start = 0
        for call in calls:
            ints += [start, len(call.buffers)]
            if call.epilogue_buffers:
                late = call.buffers.index(EPILOGUE_BUFFERS)
                ints += [len(call.epilogue_buffers), start + late]
            for word, entry in enumerate((*call.buffers, *call.epilogue_buffers), start):
                if entry == SCRATCH:
                    found[0].append(word)
                elif isinstance(entry, int):
                    found[1 + entry].append(word)
            start += len(call.buffers) + len(call.epilogue_buffers)
        ends = accumulate(map(len, found))
        return cls((*ints, *ends), tuple(chain.from_iterable(found)))


def buffers_of(calls: Sequence[CalledKernel]) -> list[Operand]:
    """The operands of the kernel behind scratch and the places."""
    return [CalledPart(i, part) for i, call in enumerate(calls) for part, _ in _parts_of(call)]


def table_bytes(calls: Sequence[CalledKernel]) -> int:
    """Scratch for the tables of what is called."""
    return WORD * sum(len(entries) for call in calls for _, entries in call.tables)


def _parts_of(call: CalledKernel) -> Sequence[tuple[CalledPart.Name, DType]]:
    return _PARTS if call.epilogue_buffers else _PARTS[:-1]


def _ints_of(call: CalledKernel) -> Sequence[str]:
    return ("table", "buffers_of", "late_of", "late_word")[: 4 if call.epilogue_buffers else 2]


def _table_lines(i: int, call: CalledKernel) -> list[str]:
    """Copies the tables that the driver wrote; that of an epilogue stands behind its caller's."""
    lines = [
        f"    for j in range(buffers_of{i}):",
        f"        words[table{i} + j] = buffers{i}[j]",
    ]
    if call.epilogue_buffers:
        lines += [
            f"    late{i} = table{i} + buffers_of{i}",
            f"    for j in range(late_of{i}):",
            f"        words[late{i} + j] = epilogue_buffers{i}[j]",
            f"    words[late_word{i}] = base + {WORD} * late{i}",
        ]
    return lines


def _call(i: int, begin: str, end: str) -> str:
    return f"call_kernel(function{i}, offset(scratch, {WORD} * table{i}), ints{i}, {begin}, {end})"


def _product_lines(i: int, shape: TileShape) -> list[str]:
    """The tasks of a block of rows follow each other in each block of columns."""
    return [
        "        panel = 0",
        f"        while panel < panels{i}:",
        f"            width = least(panels{i} - panel, {shape.block_columns // shape.columns})",
        f"            task = blocks * (entry * panels{i} + panel) + block * width",
        f"            {_call(i, 'task', 'task + width')}",
        "            panel += width",
    ]
